"""Releases are read back from their files as what they were made as."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import microveil as mv
from microveil.attacks.pram_disclosure import ExpectedRatio
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


def test_a_manifest_that_lies_elsewhere_finds_the_private_file_beside_it_or_where_it_is_said_to_be(
    saved: Path, tmp_path: Path
) -> None:
    safe = tmp_path / "vault"
    safe.mkdir()
    manifest = Path(f"{saved}.manifest.json").rename(safe / "safe.csv.manifest.json")
    private = Path(f"{saved}.private.json").rename(safe / "safe.csv.private.json")
    assert mv.read_release(saved, manifest=manifest).partition is not None
    assert mv.read_release(saved, manifest=mv.read_manifest(manifest)).partition is None
    assert mv.read_release(saved, manifest=mv.read_manifest(manifest), private=private).partition is not None


def test_a_release_read_without_its_private_file_says_so_and_what_to_do(saved: Path) -> None:
    Path(f"{saved}.private.json").unlink()
    back = mv.read_release(saved, people())
    assert back.partitions == {}
    assert "'safe.csv.private.json' is missing" in back.incomplete
    assert "microveil protect ORIGINAL --plan MANIFEST" in back.incomplete
    found = mv.assess(people(), back, attacks="all")
    assert found.warnings == (back.incomplete,)
    assert mv.run_battery(people(), back).warnings == (back.incomplete,)
    assert "Note" not in mv.DistanceLinkage().assess(people(), back).scenario


def test_an_attack_that_needs_the_matrix_says_that_the_private_file_is_missing(tmp_path: Path) -> None:
    place = mv.PRAM(p=0.8).mask(people(), ["zip"]).save(tmp_path / "safe.csv").table
    assert "expected-ratio" in mv.run_battery(people(), mv.read_release(place, people())).risks
    Path(f"{place}.private.json").unlink()
    back = mv.read_release(place, people())
    reason = "it needs the private file 'safe.csv.private.json', which is missing"
    passed_over = mv.run_battery(people(), back).passed_over
    assert passed_over["expected-ratio"] == reason
    assert passed_over["rank-swapping-linkage"] == "not applicable to this release"  # with the file or without it
    assert back.incomplete in ExpectedRatio().assess(people(), back, ["zip"]).scenario


def test_a_release_that_lacks_its_groups_still_lacks_them_when_it_is_saved_or_masked_again(saved: Path) -> None:
    Path(f"{saved}.private.json").unlink()
    back = mv.read_release(saved)
    assert mv.read_release(back.save(saved.parent / "copy.csv").table).missing_file == "copy.csv.private.json"
    assert mv.Noise().mask(back, ["pay"]).missing_file


def test_a_release_whose_masking_used_nothing_has_no_private_file_and_lacks_nothing(tmp_path: Path) -> None:
    saved = mv.Noise().mask(people(), ["age"]).save(tmp_path / "safe.csv")
    assert saved.private is None
    assert sorted(os.listdir(tmp_path)) == ["safe.csv", "safe.csv.manifest.json"]
    assert mv.read_release(saved.table).incomplete == ""
    (tmp_path / "safe.csv.private.json").write_bytes(b"of something else")
    assert mv.read_release(saved.table).incomplete == ""
    with pytest.raises(FileError, match=r"was not written together with safe\.csv"):
        mv.read_release(saved.table, private=tmp_path / "safe.csv.private.json")


def test_a_private_file_of_another_release_is_refused(saved: Path, tmp_path: Path) -> None:
    other = mv.MDAV(k=5).mask(people(), ["age"]).save(tmp_path / "other.csv")
    assert other.private is not None
    other.private.replace(f"{saved}.private.json")
    with pytest.raises(FileError, match=r"safe\.csv\.private\.json: is damaged, or was not written together with safe"):
        mv.read_release(saved)


def shuffled(tmp_path: Path) -> tuple[mv.Release, Path]:
    made = mv.MDAV(k=4).mask(people(), ["age"], seed=1_000_001).shuffled()
    return made, made.save(tmp_path / "safe.csv").table


def test_the_order_of_a_shuffled_release_comes_from_its_private_file(tmp_path: Path) -> None:
    made, place = shuffled(tmp_path)
    back = mv.read_release(place)
    assert back.rows is not None
    assert made.rows is not None
    assert (back.rows == made.rows).all()
    assert mv.assess(people(), back, losses=["il1"]).losses == mv.assess(people(), made, losses=["il1"]).losses
    with pytest.raises(DataError, match="was made from a table of 40 records, and this original has 41"):
        mv.assess(people(41), back)
    with pytest.raises(DataError, match="was made from a table of 40 records, and this original has 30"):
        mv.IL1().measure(people(30), back)


def test_records_of_a_shuffled_release_without_its_private_file_are_matched_by_what_they_hold(tmp_path: Path) -> None:
    _, place = shuffled(tmp_path)
    Path(f"{place}.private.json").unlink()
    back = mv.read_release(place, people())
    matched, missing = mv.assess(people(), back, losses=["il1"]).warnings
    assert "'pay', which both have, differs in 97.5 % of the records; they were matched by it" in matched
    assert missing == back.incomplete
    with pytest.raises(DataError, match=r"are in random order, and 'safe\.csv\.private\.json', which says"):
        mv.IL1().measure(people(), back)


def test_a_shuffled_release_is_refused_where_its_records_cannot_be_matched(tmp_path: Path) -> None:
    few = people(6)
    place = mv.MDAV(k=3).mask(few, ["age", "pay"]).shuffled().save(tmp_path / "safe.csv").table
    Path(f"{place}.private.json").unlink()
    with pytest.raises(DataError, match="the records of this release are in random order, and 'safe"):
        mv.assess(few, mv.read_release(place, few))


def test_a_shuffled_release_is_refused_beside_another_original_it_cannot_be_matched_with() -> None:
    few = people(6)
    release = mv.MDAV(k=3).mask(few, ["age", "pay"], seed=1_000_001).shuffled()
    with pytest.raises(DataError, match="in random order, and this original is not the table it was made from"):
        mv.assess(few.take(np.arange(6)[::-1]), release)


def test_a_sample_without_its_private_file_is_refused(tmp_path: Path) -> None:
    made = mv.protect(people(), mv.Plan((mv.Step("sampling", {"share": 0.5}, ("age",)),), 4))
    place = made.save(tmp_path / "safe.csv").table
    back = mv.read_release(place, people())
    assert back.rows is not None
    assert made.rows is not None
    assert (back.rows == made.rows).all()
    assert back.is_sample
    mv.assess(people(), back, losses=["il1"])
    Path(f"{place}.private.json").unlink()
    with pytest.raises(DataError, match=r"are a sample of the original's, and 'safe\.csv\.private\.json', which"):
        mv.assess(people(), mv.read_release(place, people()))


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
    written = again.save(saved.parent / "again.csv").table
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


def test_a_release_says_which_codes_were_masked_like_amounts() -> None:
    data = mv.Microdata.of({"zip": [8010 + 7 * (i % 9) for i in range(60)], "age": [20 + i % 40 for i in range(60)]})
    told = mv.MDAV(k=3).mask(data, seed=7).cautions(data)
    assert [caution.partition(";")[0] for caution in told if "amount" in caution] == [
        "column 'zip' was masked like an amount"
    ]
