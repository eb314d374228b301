"""Random new identifiers: the same for all records of a unit, and unrelated to the old ones and to their order."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import spearmanr
from typer.testing import CliRunner

from microveil import Microdata, assess, datasets, read_release
from microveil.cli.app import app
from microveil.errors import FileError, ParameterError
from microveil.masking import Plan, Release, Step
from microveil.protection import protect

NOISE = (Step("noise", {}, ("age",)),)


def people(records: int = 60, **roles: object) -> Microdata:
    table = {
        "person": [f"P{number:04d}" for number in range(records)],
        "home": [10 * (number // 3) for number in range(records)],
        "age": [20 + number % 50 for number in range(records)],
    }
    return Microdata.of(table, identifiers=["person"], household="home", keys=["age"], **roles)  # type: ignore[arg-type]


def released(data: Microdata, **switches: bool) -> Release:
    return protect(data, Plan(NOISE, seed=2**90, new_ids=True, **switches))


def test_identifiers_come_back_with_numbers_of_equal_length_that_are_all_new() -> None:
    release = released(people())
    assert release.data.names == ("person", "home", "age")
    new = release.data.arrow("person").to_pylist()
    assert len(set(new)) == 60
    assert all(len(one) == 9 and one.isdecimal() and one[0] != "0" for one in new)
    homes = release.data.arrow("home")
    assert pa.types.is_integer(homes.type)
    assert not set(homes.to_pylist()) & set(people().arrow("home").to_pylist())
    assert [homes[i].as_py() for i in range(0, 60, 3)] == [homes[i + 2].as_py() for i in range(0, 60, 3)]
    assert len(set(homes.to_pylist())) == 20
    assert release.provenance.left_out == ()
    assert "person" not in release.untouched
    assert any("person: random new identifiers" in note for note in release.provenance.notes)


@pytest.mark.parametrize("name", ["person", "home"])
def test_new_identifiers_have_nothing_to_do_with_the_order(name: str) -> None:
    data = people(3_000)
    for seed in (2**90, 2**91, 2**92):
        release = protect(data, Plan(NOISE, seed=seed, new_ids=True))
        numbers = np.array([int(str(cell)) for cell in release.data.arrow(name).to_pylist()])
        first = numbers if name == "person" else numbers[::3]
        assert abs(spearmanr(np.arange(len(first)), first).statistic) < 4 / np.sqrt(len(first))
        assert abs(spearmanr(np.arange(len(first) - 1), np.diff(first)).statistic) < 4 / np.sqrt(len(first))


def test_other_seeds_and_other_tables_give_other_ones_and_the_same_plan_the_same() -> None:
    data = people()
    one, again = released(data), released(data)
    assert one.data.digest() == again.data.digest()
    other = protect(data, Plan(NOISE, seed=2**91, new_ids=True))
    shorter = released(people(57))
    held = [set(release.data.arrow("person").to_pylist()) for release in (one, other, shorter)]
    assert not held[0] & held[1]
    assert not held[0] & held[2]


def test_the_key_table_is_in_the_private_file_and_nowhere_else(tmp_path: Path) -> None:
    data = people()
    files = released(data, shuffle=True).save(tmp_path / "safe.csv")
    assert files.private is not None
    for file in (files.table, files.manifest):
        assert "P0007" not in file.read_text()
    assert "P0007" in files.private.read_text()
    assert files.private.stat().st_mode & 0o077 == 0
    back = read_release(files.table, data)
    key = back.key_tables["person"].as_dict
    assert len(key) == 60
    assert back.rows is not None
    for row, new in zip(back.rows.tolist(), back.data.arrow("person").to_pylist(), strict=True):
        assert str(key[f"P{row:04d}"]) == str(new)
    homes = back.key_tables["home"].as_dict
    assert sorted(homes) == [10 * number for number in range(20)]
    files.private.unlink()
    assert read_release(files.table, data).key_tables == {}


def test_shuffled_before_or_after_it_is_the_same_release() -> None:
    data = people()
    masked = protect(data, Plan(NOISE, seed=2**90))
    one, other = masked.with_new_ids(data).shuffled(), masked.shuffled().with_new_ids(data)
    assert one.data.digest() == other.data.digest()
    assert dict(one.key_tables) == dict(other.key_tables)


def test_repeated_and_missing_identifiers_and_samples() -> None:
    data = Microdata.of(
        {"person": ["a", None, "b", "a", "c", "b"], "age": [1, 2, 3, 4, 5, 6]}, identifiers=["person"], keys=["age"]
    )
    new = released(data).data.arrow("person").to_pylist()
    assert new[1] is None
    assert (new[0], new[2]) == (new[3], new[5])
    assert len({new[0], new[2], new[4]}) == 3
    sample = protect(data, Plan((Step("sampling", {"share": 0.5}, ("age",)),), seed=2**90, new_ids=True))
    assert len(sample) == 3
    assert len(sample.key_tables["person"]) <= 3  # of the persons in the sample only


def test_what_was_a_missing_code_stays_and_no_new_number_is_one() -> None:
    schema = people().schema
    schema = schema.replacing(schema["home"].changed(missing_codes=(0,), missing_ranges=((1e8, 9.9e8),)))
    homes = released(people().with_schema(schema)).data.arrow("home").to_pylist()
    assert homes[:3] == [0, 0, 0]
    assert all(number > 9.9e8 for number in homes[3:])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_every_library_get_them_in_the_first_place(library: str) -> None:
    module = pytest.importorskip(library)
    frame = module.DataFrame({name: people().arrow(name).to_pylist() for name in people().names})
    if library == "pandas":
        frame.index = [f"r{number}" for number in range(60)]
    release = released(Microdata.of(frame, people().schema), shuffle=True)
    assert list(release.frame.columns) == ["person", "home", "age"]
    assert release.data.digest() == released(people(), shuffle=True).data.digest()


def test_nodes_and_edges_agree(tmp_path: Path) -> None:
    nodes = {"id": [1, 2, 3, 4, 5, 6], "age": [30, 41, 52, 33, 44, 55]}
    data = Microdata.of(nodes, graph={"source": [1, 2, 3, 5], "target": [2, 3, 4, 6]}, node="id")
    release = protect(data, Plan((Step("noise", {}, ("age",)),), seed=2**90, new_ids=True))
    files = release.save(tmp_path / "graph")
    assert files.edges is not None
    ends = {cell for line in files.edges.read_text().split()[1:] for cell in line.split(",")}
    assert ends == {str(number) for number in release.data.arrow("id").to_pylist()}
    assert min(release.data.arrow("id").to_pylist()) > 10**8


def test_series_are_numbered_too() -> None:
    table = {"shop": ["a", "a", "b", "b", "c", "c"], "month": [1, 2, 1, 2, 1, 2], "sales": [1.0, 2, 3, 4, 5, 6]}
    data = Microdata.of(table, series="id=shop,time=month,value=sales")
    release = protect(data, Plan((Step("noise", {}, ("sales",)),), seed=2**90, new_ids=True))
    shops = release.frame["shop"].to_pylist()
    assert shops[::2] == shops[1::2]
    assert len(set(shops)) == 3
    assert all(len(shop) == 9 for shop in shops)


def test_measures_are_those_of_the_release_without_new_identifiers() -> None:
    data = datasets.survey(150, seed=2)
    plan = Plan((Step("mdav", {"k": 3}, ("age", "income")),), seed=2**90)
    plain = assess(data, protect(data, plan))
    numbered = assess(data, protect(data, Plan(plan.steps, seed=2**90, new_ids=True, shuffle=True)))
    assert {name: risk.value for name, risk in plain.risks.items()} == pytest.approx(
        {name: risk.value for name, risk in numbered.risks.items()}
    )


def test_what_contradicts_it_is_refused() -> None:
    with pytest.raises(ParameterError, match="cannot be kept"):
        released(people(), keep_household_ids=True)
    with pytest.raises(ParameterError, match="need an attribute"):
        released(Microdata.of({"age": [1, 2, 3]}))
    masked = protect(people(), Plan(NOISE, seed=2**90))
    with pytest.raises(ParameterError, match="not the table"):
        masked.with_new_ids(people(57))
    from microveil.registry import method

    with pytest.raises(ParameterError, match="new identifiers already"):
        method("noise").mask(released(people()), ["age"])


def test_a_damaged_key_table_is_refused(tmp_path: Path) -> None:
    from microveil.masking.private_file import read_private_file

    files = released(people()).save(tmp_path / "safe.csv")
    assert files.private is not None
    content = json.loads(files.private.read_text())
    for wrong in ([], {"person": {"old": ["a"], "new": []}}, {"person": {"old": [["a"]], "new": [1]}}, {"person": 3}):
        files.private.write_text(json.dumps({**content, "key_tables": wrong}))
        with pytest.raises(FileError, match="damaged"):
            read_private_file(files.private, digest=content["digest"], records=60, input_records=60)


def test_the_command_and_its_manifest_make_the_same_release(tmp_path: Path) -> None:
    people().frame.write_csv(tmp_path / "people.csv")
    options = ["--identifiers", "person", "--household", "home", "--keys", "age", "--method", "noise", "--new-ids"]
    run = CliRunner()
    first = run.invoke(app, ["protect", str(tmp_path / "people.csv"), *options, "--out", str(tmp_path / "a.csv")])
    assert first.exit_code == 0, first.output
    assert "random new identifiers" in first.output
    plan = ["--plan", str(tmp_path / "a.csv.manifest.json"), "--out", str(tmp_path / "b.csv")]
    second = run.invoke(app, ["protect", str(tmp_path / "people.csv"), *plan])
    assert second.exit_code == 0, second.output
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert "person" in (tmp_path / "a.csv").read_text().splitlines()[0]
