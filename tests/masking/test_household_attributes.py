"""Attributes that the schema declares as ones of the household, masked by methods of every kind."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from microveil import Microdata, assess, datasets, describe
from microveil.cli.app import app
from microveil.errors import DataError, ParameterError, SchemaError
from microveil.masking import Plan, Release, Step
from microveil.masking.coarsening.generalise import Generalise
from microveil.microdata import Schema
from microveil.protection import protect
from microveil.registry import method

SIZES = [1, 2, 3, 4, 2, 3] * 20


def homes(**declared: object) -> Microdata:
    """A hundred and twenty households: rent and region are theirs, age and sex their members'."""
    rng = np.random.default_rng(7)
    home = np.repeat(np.arange(len(SIZES)), SIZES)
    table = {
        "home": home + 100,
        "region": np.array(["north", "south", "east", "west", "isle"])[
            rng.choice(5, len(SIZES), p=[0.4, 0.3, 0.2, 0.08, 0.02])
        ][home],
        "rent": rng.integers(300, 900, len(SIZES))[home],
        "age": rng.integers(0, 90, len(home)) // 10 * 10,
        "sex": rng.choice(["f", "m"], len(home)),
        "w": rng.integers(1, 9, len(SIZES))[home] * 1.0,
    }
    usual: dict[str, object] = {"household_attributes": ["region", "rent"], "household": "home", "weight": "w"}
    return Microdata.of(table, keys=["region", "age", "sex"], **{**usual, **declared})  # type: ignore[arg-type]


def differing(release: Release, name: str) -> int:
    """The households whose members have different released values."""
    pairs = set(zip(release.data.arrow("home").to_pylist(), release.data.arrow(name).to_pylist(), strict=True))
    return len(pairs) - len(set(release.data.arrow("home").to_pylist()))


def test_the_level_goes_through_schema_files_and_plans() -> None:
    schema = homes().schema
    assert schema.household_attributes == ("region", "rent")
    assert Schema.from_plain(tomllib.loads(schema.to_toml())) == schema
    assert 'level = "household"' in schema.to_toml()
    assert "level" not in homes(household_attributes=None).schema.to_toml()
    plan = protect(homes(), Plan((Step("pram", {"p": 0.5}, ("region",)),), seed=1)).plan
    again = protect(Microdata.of(homes().frame), Plan.from_plain(tomllib.loads(plan.to_toml())))
    assert differing(again, "region") == 0


def test_what_cannot_be_declared_is_refused() -> None:
    with pytest.raises(SchemaError, match="not the household number"):
        homes(household=None)
    with pytest.raises(SchemaError, match=r"level: .*record.*household"):
        Schema.from_plain({"attributes": {"rent": {"kind": "numeric", "level": "family"}}})
    home = {"kind": "nominal", "role": "household", "level": "household"}
    with pytest.raises(SchemaError, match="the household number is no attribute of the household"):
        Schema.from_plain({"attributes": {"home": home}})


def test_noise_is_drawn_once_for_a_household_and_once_for_every_person() -> None:
    release = method("noise", alpha=0.5).mask(homes(), ["rent", "age"], seed=1)
    assert differing(release, "rent") == 0
    assert differing(release, "age") > 50
    assert "masked alike for all members of 120 households: rent" in release.provenance.notes
    undeclared = method("noise", alpha=0.5).mask(homes(household_attributes=None), ["rent", "age"], seed=1)
    assert differing(undeclared, "rent") > 50


def test_groups_of_shared_attributes_are_groups_of_households() -> None:
    release = method("mdav", k=3).mask(homes(), ["rent"], seed=1)
    values = release.data.numbers("rent").values
    for value in np.unique(values):
        assert len(np.unique(np.array(release.data.arrow("home").to_pylist())[values == value])) >= 3


@pytest.mark.parametrize("empty", ["wildcard", "own category"])
def test_a_cell_is_suppressed_for_all_members_and_k_holds_over_the_records(empty: str) -> None:
    data = homes()
    alone = method("suppress", k=4, suppressed=empty).mask(homes(household_attributes=None), seed=1)
    assert differing(alone, "region") > 0  # members show what was emptied in another record
    release = method("suppress", k=4, suppressed=empty).mask(data, seed=1)
    assert differing(release, "region") == 0
    assert release.guarantees.k >= 4
    before, after = (np.array(table.arrow("region").to_pylist()) for table in (data, release.data))
    kept = after != None  # noqa: E711
    assert (before[kept] == after[kept]).all()
    assert any("of other members of the same household emptied, too (region" in n for n in release.provenance.notes)


def test_generalise_suppresses_whole_households_and_k_holds_over_the_records() -> None:
    release = method("generalise", k=9, suppression=1.0, passes=3).mask(homes(), seed=1)
    assert differing(release, "region") == 0
    assert release.guarantees.k >= 9
    home, empty = (
        np.array(release.data.arrow("home").to_pylist()),
        release.data.arrow("sex").is_null().to_numpy(False),
    )
    assert 0 < empty.sum() < 300
    assert set(home[empty]).isdisjoint(home[~empty])


def test_suppressed_households_take_what_they_make_rare_with_them() -> None:
    household = np.array([0, 0, 1, 1, 2, 2, 3, 4, 5, 6])
    classes = np.array([-1, 0, 0, 1, 1, 2, 2, 2, 2, 2])
    labels, notes = Generalise(k=2)._by_households(classes, household, ("region",))
    # household 0 goes with its suppressed member, then classes 0 and 1, one after the other, and households 1 and 2
    assert labels.tolist() == [-1, -1, -1, -1, -1, -1, 2, 2, 2, 2]
    assert str(notes[0]).startswith("generalise: 5 records more suppressed")
    kept, none = Generalise(k=2)._by_households(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3]), ("region",))
    assert (kept.tolist(), none) == ([0, 0, 1, 1], ())
    with pytest.raises(DataError, match="would have to suppress 6 records to suppress whole households"):
        Generalise(k=2, suppression=0.5)._by_households(classes, household, ("region",))


def test_recode_and_microaggregation_of_all_attributes_keep_members_alike() -> None:
    for name, settings in (("recode", {"k": 3}), ("mondrian", {"k": 3}), ("synthetic", {}), ("shuffling", {})):
        chosen = ["region", "age", "sex"] if name in ("recode", "mondrian") else ["rent", "age"]
        release = method(name, **settings).mask(homes(), chosen, seed=1)
        assert differing(release, chosen[0]) == 0, name


def test_sampling_draws_whole_households_and_weighs_them() -> None:
    data = homes()
    release = method("sampling", share=0.25).mask(data, ["region"], seed=1)
    assert release.rows is not None
    drawn = np.array(data.arrow("home").to_pylist())[release.rows]
    assert len(np.unique(drawn)) == 30
    whole = np.isin(np.array(data.arrow("home").to_pylist()), drawn)
    assert release.rows.tolist() == np.flatnonzero(whole).tolist()
    assert release.data.numbers("w").values == pytest.approx(4 * data.numbers("w").values[release.rows])
    assert any("whole households were drawn, 30 of 120" in note for note in release.provenance.notes)
    with pytest.raises(ParameterError, match="the table has 120 households"):
        method("sampling", size=121).mask(data, ["region"], seed=1)
    persons = method("sampling", share=0.25).mask(homes(household_attributes=None), ["region"], seed=1)
    assert len(persons) == 75


def test_a_sample_inside_another_method_is_refused_in_a_sentence() -> None:
    inside = method("within", method=method("sampling", share=0.5), clusters=2)
    with pytest.raises(ParameterError, match="releases only some of the records"):
        inside.mask(homes(), ["region", "rent"], seed=1)


def test_record_swapping_moves_households_whatever_else_it_swaps() -> None:
    release = method("record-swapping", share=0.5).mask(homes(), ["region", "sex"], seed=1)
    assert differing(release, "region") == 0
    assert release.data.arrow("region").to_pylist() != homes().arrow("region").to_pylist()


def test_every_step_of_a_plan_keeps_members_alike() -> None:
    steps = (Step("pram", {"p": 0.6}, ("region",)), Step("noise", {}, ("rent",)), Step("suppress", {"k": 3}))
    release = protect(homes(), Plan(steps, seed=2**90, shuffle=True))
    assert differing(release, "region") == differing(release, "rent") == 0
    assert release.guarantees.k >= 3
    assert not release.provenance.warnings


def test_members_who_differ_are_told_and_treated_as_households_apart() -> None:
    cells = homes().arrow("rent").to_pylist()
    cells[2] += 1  # the second member of the second household
    data = homes().with_columns({"rent": pa.array(cells)})
    told = next(row for row in describe(data).attributes if row["name"] == "rent")
    assert "members of 1 household differ" in told["hint"]
    assert told["level"] == "household"
    assert "of household" in str(describe(data))
    assert "differ" not in next(row for row in describe(homes()).attributes if row["name"] == "rent")["hint"]
    release = method("noise").mask(data, ["rent"], seed=1)
    assert differing(release, "rent") == 1
    assert any("members of 1 household differ in rent" in note for note in release.provenance.notes)


def test_without_household_numbers_every_record_is_masked_by_itself_and_both_say_so() -> None:
    data = homes().without(["home"])
    assert "--household NAME" in next(row["hint"] for row in describe(data).attributes if row["name"] == "rent")
    release = method("noise").mask(data, ["rent"], seed=1)
    assert "no attribute is the household number" in release.provenance.notes[0]


def test_a_release_of_households_is_assessed() -> None:
    data = datasets.survey(200, seed=4)
    data = Microdata.of(data, household_attributes=["region"])
    release = method("pram", p=0.5).mask(data, ["region", "sex"], seed=2**90)
    found = assess(data, release, attacks=["likelihood-linkage", "distance-linkage"], losses=["ctbil"])
    assert 0 <= found.risks["likelihood-linkage"].value <= 100


def test_what_one_member_shows_of_another_is_gone() -> None:
    """An intruder averages what the members of a household show of its rent."""
    errors = {}
    for declared in (None, ["rent"]):
        data = homes(household_attributes=declared)
        release = method("noise", alpha=1.0).mask(data, ["rent"], seed=3)
        home = np.unique(np.array(data.arrow("home").to_pylist()), return_inverse=True)[1]
        guessed = (np.bincount(home, release.data.numbers("rent").values) / np.bincount(home))[home]
        large = np.bincount(home)[home] == 4
        errors[declared is None] = np.abs(guessed - data.numbers("rent").values)[large].mean()
    assert errors[True] < 0.75 * errors[False]


def test_the_option_of_the_command(tmp_path: Path) -> None:
    homes().frame.write_csv(tmp_path / "homes.csv")
    table, out = str(tmp_path / "homes.csv"), tmp_path / "safe.csv"
    options = ["--household", "home", "--household-attributes", "region,rent", "--attributes", "rent"]
    done = CliRunner().invoke(app, ["protect", table, *options, "--method", "noise", "--out", str(out)])
    assert done.exit_code == 0, done.output
    rows = [line.split(",") for line in out.read_text().splitlines()[1:]]
    assert len({(row[0], row[2]) for row in rows}) == 120
    refused = CliRunner().invoke(app, ["describe", table, "--household-attributes", "rent"])
    assert "not the household number" in str(refused.exception)
