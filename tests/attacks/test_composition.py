"""Several releases with the same persons, each made without regard to the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.attacks.composition import Composition
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.versions import attack_versions
from microveil.errors import DataError, ParameterError
from microveil.masking.coarsening.generalise import Generalise
from microveil.masking.guarantees import guarantees_of
from microveil.microdata import Hierarchy, Microdata

VALUES = ["flu", "gout", "cold", "asthma", "HIV", "gastritis"]


def grid() -> Microdata:
    """Nine persons, one for each row and column; those of a row and of a column have three different illnesses."""
    # a Latin square would leave two; here each row shares exactly one value with each column
    ill = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
    row = np.repeat(["r1", "r2", "r3"], 3)
    column = np.tile(["c1", "c2", "c3"], 3)
    return Microdata.of({"row": row, "column": column, "ill": ill}, keys=["row", "column"], confidential=["ill"])


def without(data: Microdata, name: str) -> Microdata:
    return Microdata.of({n: ["*"] * len(data) if n == name else data.arrow(n).to_pylist() for n in data.names},
                        keys=["row", "column"], confidential=["ill"])  # fmt: skip


def test_two_releases_that_are_3_anonymous_and_3_diverse_give_everybody_away() -> None:
    data = grid()
    releases = [without(data, "column"), without(data, "row")]
    for release in releases:
        guarantees_of(release, ["row", "column"]).check({"k": 3, "l": 3})
        alone = Composition().assess(data, release)
        assert (alone.value, alone.counters["chance"]) == (0.0, pytest.approx(100 / 3))
    found = attack_versions(data, releases, attack=Composition())
    assert [risk.value for risk in found.alone] == [0.0, 0.0]
    assert found.together.value == 100.0
    assert found.together.per_record.tolist() == [1.0] * 9
    assert found.together.counters["gain"] == 100.0
    assert found.together.counters["alone"] == 0.0
    assert found.risk.value == 100.0
    assert "2 releases" in found.together.scenario


def test_the_same_release_twice_tells_no_more() -> None:
    data = grid()
    found = attack_versions(data, [without(data, "column"), without(data, "column")], attack=Composition())
    assert found.together.value == 0.0
    assert found.together.counters["gain"] == 0.0


def test_values_that_were_changed_contradict_each_other() -> None:
    data = grid()
    one, two = without(data, "column"), without(data, "row")
    ill = two.arrow("ill").to_pylist()
    moved = Microdata.of({"row": two.arrow("row").to_pylist(), "column": two.arrow("column").to_pylist(),
                          "ill": ill[1:] + ill[:1]})  # fmt: skip
    found = attack_versions(data, [one, moved], attack=Composition()).together
    assert found.value < 100.0
    assert found.counters["misled"] + found.counters["empty"] + found.value == pytest.approx(100)


def test_a_class_with_a_suppressed_value_rules_nothing_out() -> None:
    data = grid()
    two = without(data, "row")
    ill = [None if i == 0 else value for i, value in enumerate(two.arrow("ill").to_pylist())]
    emptied = Microdata.of({"row": ["*"] * 9, "column": two.arrow("column").to_pylist(), "ill": ill})
    found = attack_versions(data, [without(data, "column"), emptied], attack=Composition()).together
    # three persons of the first column keep the three values of their row
    assert found.per_record.tolist() == [0.0, 1.0, 1.0] * 3
    assert found.counters["chance"] == pytest.approx(100 * (6 + 3 / 3) / 9)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(4, 25), st.integers(2, 3))
def test_the_values_left_agree_with_brute_force(seed: int, records: int, releases: int) -> None:
    rng = np.random.default_rng(seed)
    groups = [rng.integers(0, 3, records) for _ in range(releases)]
    ill = rng.choice(VALUES, records)
    names = [f"g{r}" for r in range(releases)]
    cells = {name: np.array(["x", "y", "z"])[group] for name, group in zip(names, groups, strict=True)}
    data = Microdata.of({**cells, "ill": ill}, keys=names, confidential=["ill"])
    made = [Microdata.of({**{n: ["*"] * records for n in names}, name: cells[name], "ill": ill}) for name in names]
    found = attack_versions(data, made, attack=Composition()).together
    left = [
        set.intersection(*({ill[j] for j in range(records) if g[j] == g[i]} for g in groups)) for i in range(records)
    ]
    assert found.per_record.tolist() == [float(one == {ill[i]}) for i, one in enumerate(left)]
    assert found.counters["chance"] == pytest.approx(100 * float(np.mean([1 / len(one) for one in left])))


def hospital(records: int, seed: int) -> Microdata:
    rng = np.random.default_rng(seed)
    zips = [f"{a}{b}{c}" for a in "12" for b in "012" for c in "0123"]
    tree = Hierarchy.of([(z, z[:2] + "*", z[:1] + "**", "*") for z in zips])
    data = Microdata.of(
        {"id": np.arange(records), "age": rng.integers(20, 80, records), "zip": rng.choice(zips, records),
         "ill": rng.choice([f"d{i}" for i in range(30)], records)},
        identifiers=["id"], keys=["age", "zip"], confidential=["ill"],
    )  # fmt: skip
    return data.with_schema(data.schema.replacing(data["zip"].changed(hierarchy=tree)))


def test_releases_of_two_tables_with_persons_in_common() -> None:
    town = hospital(600, 1)
    one, two = town.take(np.arange(400)), town.take(np.arange(200, 600))
    first = Generalise(k=3, l=3, utility="loss").mask(one, ["age", "zip"])
    other = Generalise(k=4, l=3, utility="class size", suppression=0.05).mask(two, ["age", "zip"])
    found = attack_versions(one, [first], others=[other], attack=Composition())
    assert len(found.alone) == 2
    assert found.alone[0].value == 0.0
    assert found.together.attacked == 400  # who is in both is not known
    shared = np.arange(400) >= 200
    right = found.together.per_record
    assert right[shared].mean() > 5 * max(right[~shared].mean(), 0.01)
    # whoever is in the first only is found in classes of others, which mostly leave no value or none that is theirs
    assert found.together.counters["empty"] + found.together.counters["misled"] > 10
    # the same with the table alone, whose labels can be read as they are written
    bare = attack_versions(one, [first], others=[other.data], attack=Composition()).together
    assert bare.value == pytest.approx(found.together.value)


def test_an_identifier_tells_who_is_in_both() -> None:
    town = hospital(300, 2)
    one, two = town.take(np.arange(200)), town.take(np.arange(100, 300))
    made = [Generalise(k=3).mask(part, ["age", "zip"]).data for part in (one, two)]
    with_id = [
        Microdata.of(
            {"id": np.array(part.arrow("id")), **{n: table.arrow(n).to_pylist() for n in ("age", "zip", "ill")}}
        )
        for part, table in zip((one, two), made, strict=True)
    ]
    found = attack_versions(one, [with_id[0]], others=[with_id[1]], attack=Composition(), match_by="id").together
    assert found.attacked == 100
    assert np.isnan(found.per_record[:100]).all()
    assert found.counters["misled"] == found.counters["empty"] == 0.0
    assert found.value > found.counters["alone"] == 0.0
    assert found.counters["chance"] > 1.2 * found.counters["chance alone"]


def test_several_attributes_and_numbers() -> None:
    rng = np.random.default_rng(1)
    data = Microdata.of(
        {"row": np.repeat(["r1", "r2", "r3"], 4), "column": np.tile(["c1", "c2", "c3", "c4"], 3),
         "ill": rng.choice(["flu", "gout"], 12), "income": rng.integers(1000, 9000, 12)},
        keys=["row", "column"], confidential=["ill", "income"],
    )  # fmt: skip
    tables = [
        Microdata.of({n: ["*"] * 12 if n == hidden else data.arrow(n).to_pylist() for n in data.names})
        for hidden in ("row", "column")
    ]
    found = attack_versions(data, tables, attack=Composition()).together
    assert found.per_attribute["income"] == 100.0
    assert found.per_attribute["ill"] < 100.0


def test_labels_that_do_not_say_what_they_mean_are_refused_in_other_tables() -> None:
    data = grid()
    coded = {"row": [f"code {i % 2}" for i in range(9)], "column": ["*"] * 9, "ill": data.arrow("ill").to_pylist()}
    with pytest.raises(DataError, match="do not say what they stand for"):
        attack_versions(data, [without(data, "row")], others=[Microdata.of(coded)], attack=Composition())


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"row": ["r1"], "column": ["c1"]}, None),
        ({"place": ["r1"], "ill": ["a"]}, "none of the known attributes"),
        ({"row": [], "column": [], "ill": []}, "has no records"),
    ],
)
def test_other_tables_that_cannot_be_used(others: dict[str, list[str]], message: str | None) -> None:
    data = grid()
    if message is None:  # it has no illness, so it rules nothing out
        with pytest.raises(DataError, match="nothing to intersect"):
            attack_versions(data, [without(data, "row")], others=[Microdata.of(others)], attack=Composition())
        return
    with pytest.raises(DataError, match=message):
        attack_versions(data, [without(data, "row")], others=[Microdata.of(others)], attack=Composition())


def test_other_tables_are_for_composition_only() -> None:
    data = grid()
    with pytest.raises(ParameterError, match="composition only"):
        attack_versions(data, [without(data, "row")], others=[data], attack=DistanceLinkage())
    with pytest.raises(ParameterError, match="at least two"):
        attack_versions(data, [without(data, "row")], attack=Composition())


def test_the_order_of_the_records_of_another_table_plays_no_part() -> None:
    town = hospital(300, 3)
    one, two = town.take(np.arange(200)), town.take(np.arange(100, 300))
    first, other = (Generalise(k=3).mask(part, ["age", "zip"]) for part in (one, two))
    order = np.random.default_rng(1).permutation(200)
    before = attack_versions(one, [first], others=[other.data], attack=Composition()).together
    after = attack_versions(one, [first], others=[other.data.take(order)], attack=Composition()).together
    assert after.per_record.tolist() == before.per_record.tolist()


def test_the_command_line_takes_versions_and_other_tables(run: Callable[..., Any], tmp_path: Any) -> None:
    data = grid()
    for name, table in (("people", data), ("one", without(data, "column")), ("two", without(data, "row"))):
        _write(tmp_path / f"{name}.csv", table)
    roles = ("--keys", "row,column", "--confidential", "ill", "--json")
    versions = run("assess", "people.csv", "one.csv", "--also", "two.csv", "--attacks", "composition", *roles)
    assert versions.status == 0, versions.stderr
    found = json.loads(versions.stdout)["versions"]["risks"]["composition"]
    assert (found["together"]["value"], [one["value"] for one in found["alone"]]) == (100.0, [0.0, 0.0])
    other = run("assess", "people.csv", "one.csv", "--other", "two.csv", *roles)
    assert other.status == 0, other.stderr
    assert json.loads(other.stdout)["versions"]["risks"]["composition"]["together"]["value"] == 100.0
    shown = run("assess", "people.csv", "one.csv", "--other", "two.csv", *roles[:-1])
    assert "composition" in shown.stdout
    twice = run("assess", "people.csv", "one.csv", "--other", "one.csv", *roles)
    assert twice.status == 2
    assert "--other names a file that is already given" in twice.stderr


def _write(path: Any, table: Microdata) -> None:
    columns = {name: table.arrow(name).to_pylist() for name in table.names}
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
