"""Releases: saved together with their manifest, or not at all; made again from a plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from microveil.errors import FileError, OutputExistsError, ParameterError, UnknownNameError
from microveil.masking import Partition, Plan, Step
from microveil.masking.plan import read_plan
from microveil.masking.randomising.noise import Noise
from microveil.masking.release import check_destination
from microveil.microdata import Attribute, Microdata, Schema, files
from microveil.microdata.datasets.sample_survey import survey
from microveil.protection import protect

DATA = Microdata.of({"age": [20, 30, 40, 50, 60], "job": list("abcab")})


def test_a_release_is_saved_with_its_manifest(tmp_path: Path) -> None:
    release = Noise().mask(DATA, seed=4)
    table, manifest, *_ = release.save(tmp_path / "safe.csv")
    content = json.loads(manifest.read_text())
    assert manifest.name == "safe.csv.manifest.json"
    assert content["plan"]["seed"] == 4
    assert content["output"]["digest"] == release.data.digest()
    assert files.read(table).digest() == release.data.digest()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["safe.csv", "safe.csv.manifest.json"]


def test_a_manifest_names_identifiers_and_none_of_their_values(tmp_path: Path) -> None:
    people = Schema(
        [
            Attribute(
                name="name", kind="nominal", roles=("identifier",), domain=("Ada", "Ben"), missing_codes=("Eve",)
            ),
            Attribute(name="file", kind="numeric", roles=("identifier",), range=(4711.0, 4712.0)),
            Attribute(name="age", kind="numeric", roles=("key",), range=(0.0, 99.0)),
        ]
    )
    data = Microdata.of({"name": ["Ada", "Ben"], "file": [4711, 4712], "age": [20, 30]}, people)
    _, manifest, *_ = Noise().mask(data, seed=4).save(tmp_path / "safe.csv")
    text = manifest.read_text()
    assert not any(told in text for told in ("Ada", "Ben", "X0", "4711", "4712"))
    plan, _ = read_plan(manifest)
    assert plan.schema is not None
    assert plan.schema["name"] == Attribute(name="name", kind="nominal", roles=("identifier",))
    assert plan.schema["file"] == Attribute(name="file", kind="numeric", roles=("identifier",))
    assert plan.schema["age"].range == (0.0, 99.0)


@pytest.mark.parametrize("existing", ["safe.csv", "safe.csv.manifest.json"])
def test_neither_file_is_written_when_one_of_them_exists(tmp_path: Path, existing: str) -> None:
    (tmp_path / existing).write_text("mine")
    with pytest.raises(OutputExistsError, match=existing):
        Noise().mask(DATA, seed=4).save(tmp_path / "safe.csv")
    assert [p.name for p in tmp_path.iterdir()] == [existing]
    assert (tmp_path / existing).read_text() == "mine"


def test_a_failure_while_writing_leaves_nothing_behind(tmp_path: Path) -> None:
    data = Microdata.of({"age": [20, 30], "job": ["cook", "漢字"]})
    (tmp_path / "safe.csv").write_text("before")
    with pytest.raises(FileError, match="job"):
        Noise().mask(data, seed=4).save(tmp_path / "safe.csv", force=True, encoding="latin-1")
    assert [p.name for p in tmp_path.iterdir()] == ["safe.csv"]
    assert (tmp_path / "safe.csv").read_text() == "before"


def test_the_same_release_gives_the_same_bytes(tmp_path: Path) -> None:
    paths = [Noise().mask(survey(50), ["income"], seed=4).save(tmp_path / f"{name}.csv") for name in ("one", "two")]
    (one, one_manifest, *_), (two, two_manifest, *_) = paths
    assert one.read_bytes() == two.read_bytes()
    assert one_manifest.read_bytes() == two_manifest.read_bytes()


def test_steps_have_streams_of_their_own() -> None:
    both = Plan((Step("noise", {}, ("age",)), Step("pram", {"p": 0.3}, ("job",))), seed=9)
    first = protect(DATA, Plan(both.steps[:1], seed=9))
    assert protect(DATA, both).data.arrow("age").equals(first.data.arrow("age"))


def test_a_plan_with_a_wrong_last_step_does_no_work() -> None:
    plan = Plan((Step("noise", {}, ("age",)), Step("mdav", {"k": 1}, ("age",))), seed=9)
    reports: list[float] = []
    with pytest.raises(ParameterError, match="k = 1"):
        protect(DATA, plan, progress=lambda fraction, label: reports.append(fraction))
    assert reports == []


def test_a_seed_given_with_the_data_goes_before_the_plans() -> None:
    plan = Plan((Step("noise", {}, ("age",)),), seed=9)
    assert protect(DATA, plan, seed=10).provenance.seed == 10
    assert protect(DATA, plan).provenance.seed == 9


def test_plans_are_read_with_their_schema(tmp_path: Path) -> None:
    DATA.schema.with_roles(key=["age"]).write(tmp_path / "schema.toml")
    (tmp_path / "plan.toml").write_text("schema = 'schema.toml'\nsteps = [{ method = 'noise' }]\n")
    plan, manifest = read_plan(tmp_path / "plan.toml")
    assert manifest is None
    assert protect(DATA, plan, seed=1).provenance.attributes == ("age",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seed = 1\n", "at least one"),
        ("steps = []\n", "at least one"),
        ("steps = [{ parameters = { k = 3 } }]\n", "method"),
        ("steps = [{ method = 'noise', parameter = { k = 3 } }]\n", "no entry 'parameter'; did you mean 'parameters'"),
        ("steps = [{ method = 'noise', parameters = 3 }]\n", "a table such as"),
        ("steps = [{ method = 'noise', attributes = 'age' }]\n", "a list of column names"),
        ("sed = 1\nsteps = [{ method = 'noise' }]\n", "no entry 'sed'; did you mean 'seed'"),
        ("seed = -1\nsteps = [{ method = 'noise' }]\n", "seed must be"),
        ("seed = true\nsteps = [{ method = 'noise' }]\n", "seed must be"),
        ("schema = 'none.toml'\nsteps = [{ method = 'noise' }]\n", "none.toml"),
        ("steps = [\n", "neither a plan"),
        ("{ not json", "neither a plan"),
    ],
)
def test_a_malformed_plan_is_refused_in_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    with pytest.raises(FileError, match=says):
        read_plan(path)


def test_an_unknown_method_in_a_plan_is_suggested() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'noise'"):
        protect(DATA, Plan((Step("noize"),)))


def test_partitions_are_numbered_by_first_appearance() -> None:
    assert Partition.of([5, 5, 1, 5]) == Partition.of(["x", "x", "a", "x"])
    assert [g.tolist() for g in Partition.of([5, 1, 5]).groups] == [[0, 2], [1]]
    assert Partition.of([]).smallest == 0


def test_a_place_that_is_taken_is_refused_unless_forced(tmp_path: Path) -> None:
    taken = tmp_path / "safe.csv"
    taken.write_text("a\n1\n")
    with pytest.raises(OutputExistsError):
        check_destination(taken)
    assert check_destination(taken, force=True) == taken
