"""Releases are read back from their files as what they were made as."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import microveil as mv
from microveil.errors import DataError, FileError, ParameterError


def people(records: int = 40) -> mv.Microdata:
    rng = np.random.default_rng(3)
    return mv.Microdata.of(
        {
            "name": [f"person {i}" for i in range(records)],
            "zip": rng.choice(["0801", "0802", "9020"], records),
            "age": rng.integers(18, 90, records),
            "pay": rng.integers(900, 9000, records),
        },
        keys=["zip", "age"],
        identifiers=["name"],
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    mv.MDAV(k=4).mask(people(), ["age"], seed=1_000_001).save(tmp_path / "safe.csv")
    return tmp_path / "safe.csv"


def test_a_release_is_read_back_with_its_provenance(saved: Path) -> None:
    made = mv.MDAV(k=4).mask(people(), ["age"], seed=1_000_001)
    back = mv.read_release(saved)
    assert isinstance(back, mv.Release)
    assert back.plan.to_plain() == made.plan.to_plain()
    assert back.provenance.seed == 1_000_001
    assert back.provenance.left_out == ("name",)
    assert back.data.schema.keys == ("zip", "age")
    assert back.partitions == {}


def test_with_the_original_the_groups_come_back_too(saved: Path) -> None:
    made = mv.MDAV(k=4).mask(people(), ["age"], seed=1_000_001)
    back = mv.read_release(saved, people())
    assert back.partition is not None
    assert made.partition is not None
    assert (back.partition.labels == made.partition.labels).all()
    assert mv.read_release(saved, people(), whole=False).partition is None
    assert mv.assess(people(), back).score == mv.assess(people(), made).score


def test_another_original_gives_no_groups(saved: Path) -> None:
    assert mv.read_release(saved, people(30)).partition is None


def test_the_order_of_a_shuffled_release_comes_from_its_original_alone(tmp_path: Path) -> None:
    made = mv.MDAV(k=4).mask(people(), ["age"], seed=1_000_001).shuffled()
    made.save(tmp_path / "safe.csv")
    back = mv.read_release(tmp_path / "safe.csv", people(), whole=False)
    assert back.rows is not None
    assert made.rows is not None
    assert (back.rows == made.rows).all()
    with pytest.raises(DataError, match="the records of this release are in random order"):
        mv.read_release(tmp_path / "safe.csv", people(41))


def test_codes_that_look_like_numbers_stay_texts(tmp_path: Path) -> None:
    data = people()
    data = data.with_schema(data.schema.replacing(data["zip"].changed(domain=("0801", "0802", "9020"))))
    mv.MDAV(k=4).mask(data, ["age"], seed=1_000_001).save(tmp_path / "safe.csv")
    assert set(mv.read_release(tmp_path / "safe.csv").frame["zip"].to_pylist()) == {"0801", "0802", "9020"}


def test_formulas_that_were_neutralised_are_read_as_they_were(tmp_path: Path) -> None:
    data = mv.Microdata.of({"age": [20, 30, 40, 50], "note": ["=1", "=2", "a", "b"]})
    mv.MDAV(k=2).mask(data, ["age"]).save(tmp_path / "safe.csv", neutralise_formulas=True)
    assert mv.read_release(tmp_path / "safe.csv").frame["note"].to_pylist() == ["=1", "=2", "a", "b"]


def test_a_manifest_may_lie_elsewhere(saved: Path, tmp_path: Path) -> None:
    place = tmp_path / "private.json"
    Path(f"{saved}.manifest.json").rename(place)
    assert mv.read_release(saved, manifest=place).provenance.seed == 1_000_001
    assert mv.read_release(saved, manifest=mv.read_manifest(place)).provenance.seed == 1_000_001


def test_a_file_without_its_own_manifest_is_refused(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("age\n20\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"has no manifest beside it"):
        mv.read_release(tmp_path / "other.csv")
    with pytest.raises(FileError, match=r"is not the file its manifest was written for"):
        mv.read_release(tmp_path / "other.csv", manifest=f"{saved}.manifest.json")
    with pytest.raises(FileError, match=r"there is no such file"):
        mv.read_release(tmp_path / "nothing.csv")
    with pytest.raises(ParameterError, match="read_release takes the path of a file, not dict"):
        mv.read_release({})  # type: ignore[arg-type]
    (tmp_path / "plan.toml").write_text('steps = [{method = "mdav"}]', encoding="utf-8")
    with pytest.raises(FileError, match="is a plan and not the manifest of a release"):
        mv.read_manifest(tmp_path / "plan.toml")


def test_a_manifest_makes_the_same_release_again_and_another_of_another_table(saved: Path) -> None:
    manifest = mv.read_manifest(f"{saved}.manifest.json")
    again = mv.protect(people(), manifest.plan_for(people()))
    written, _ = again.save(saved.parent / "again.csv")
    assert manifest.was_made_from(people())
    assert manifest.compare(again, written) == "the same bytes as the release this manifest came with"
    assert not manifest.was_made_from(people(30))
    assert manifest.plan_for(people(30)).seed is None
    new = mv.protect(people(30), manifest.plan_for(people(30)))
    assert "is a new one, with another seed" in manifest.compare(new, new.save(saved.parent / "new.csv")[0])


def test_a_release_says_what_to_look_at_before_it_is_published() -> None:
    data = mv.Microdata.of({"email": [f"p{i}@example.org" for i in range(12)], "age": list(range(20, 32))})
    release = mv.MDAV(k=3).mask(data, ["age"], seed=7)
    assert release.untouched == ("email",)
    assert any("column 'email' is released as it was" in caution for caution in release.cautions(data))
    assert release.provenance.seed_is_guessable
    assert not mv.MDAV(k=3).mask(data, ["age"]).provenance.seed_is_guessable
