"""Dimensions: trees, hierarchies in several forms, missing categories, intervals, and totals that lack."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import microveil as mv
from microveil.errors import MicroveilError
from microveil.tables import Aggregated
from microveil.tables.tree import Tree, read_paths


def values_of(made: mv.ProtectedTable, name: str) -> dict[str, float]:
    return {made.name(i)[name]: float(made.cells.values[i]) for i in range(len(made.cells))}


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("csv", "a1,a\na2,a\nb1,b\n"),
        ("csv", "a,a1\na,a2\nb,b1\n"),
        ("csv", "level0;level1\na1;a\na2;a\nb1;b\n"),
        ("csv", "big,small\na,a1\na,a2\nb,b1\n"),
        ("hrc", "a\n@a1\n@a2\nb\n@b1\n"),
    ],
)
def test_a_hierarchy_file_is_read_in_every_form(tmp_path: Path, ending: str, text: str) -> None:
    path = tmp_path / f"tree.{ending}"
    path.write_text(text)
    tree = Tree.of("x", read_paths(path, ["a1", "a2", "b1"]))
    parents = {tree.nodes[i]: tree.nodes[tree.parents[i]] for i in range(1, len(tree.nodes))}
    assert parents == {"a": "Total", "b": "Total", "a1": "a", "a2": "a", "b1": "b"}


def test_a_node_at_two_places_is_refused() -> None:
    with pytest.raises(MicroveilError, match="two places"):
        Tree.of("x", [("a", "c"), ("b", "c")])


def test_totals_that_lack_are_computed_and_those_there_are_checked() -> None:
    cells = {
        "a": ["x", "x", "y", "y"],
        "b": ["u", "v", "u", "v"],
        "n": [5, 6, 7, 8],
        "v": [1.0, 2, 3, 4],
        "m": [1.0, 1, 1, 2],
    }
    made = mv.table(cells, ["a", "b"], "v", source=Aggregated("n", ("m",)), rules=["dominance 1 85"], method="none")
    whole = dict(zip([tuple(made.name(i).values()) for i in range(9)], made.cells.values, strict=True))
    assert whole["Total", "Total"] == 10
    assert whole["x", "Total"] == 3
    assert whole["Total", "v"] == 6
    assert made.cells.contributors.max() == 26
    assert made.cells.largest[:, 0].max() == 2


def test_missing_categories_are_one_of_their_own_and_missing_values_are_no_contributors() -> None:
    data = {"job": ["a", None, "a", None, "b", "b"], "pay": [1.0, 2, None, 4, 5, 6]}
    made = mv.table(data, ["job"], "pay", rules=["frequency 1"])
    assert values_of(made, "job") == {"Total": 18, "a": 1, "b": 11, "(missing)": 6}
    assert len(made.notes) == 2


def test_a_numeric_dimension_takes_intervals() -> None:
    data = {"age": [15.0, 25, 35, 45, np.nan]}
    made = mv.table(data, ["age"], hierarchies={"age": mv.Intervals.of([[20, 30, 40], [30]])}, rules=["frequency 1"])
    found = values_of(made, "age")
    assert found["< 30"] == 2
    assert found["[30, 40)"] == 1
    assert found["(missing)"] == 1
    assert found["Total"] == 5


def test_the_hierarchy_of_the_schema_is_used() -> None:
    tree = mv.Hierarchy.of([("a", "north", "*"), ("b", "north", "*"), ("c", "south", "*")])
    schema = mv.Schema([mv.Attribute(name="place", kind="nominal", hierarchy=tree)])
    made = mv.table(mv.Microdata.of({"place": list("aabbcc")}, schema), ["place"], rules=["frequency 1"])
    assert values_of(made, "place") == {"Total": 6, "north": 4, "a": 2, "b": 2, "south": 2, "c": 2}


def test_a_record_that_is_classified_no_finer_has_a_place_of_its_own() -> None:
    tree = mv.Hierarchy.of([("a", "north"), ("b", "north"), ("c", "south")])
    made = mv.table({"place": ["a", "b", "north", "c"]}, ["place"], hierarchies={"place": tree}, rules=["frequency 1"])
    assert values_of(made, "place")["north"] == 3
    assert values_of(made, "place")["north (other)"] == 1


def test_too_many_numbers_make_no_dimension() -> None:
    with pytest.raises(MicroveilError, match="hierarchy of intervals"):
        mv.table({"x": np.arange(5000.0)}, ["x"])


def test_weights_are_added_and_contributors_counted() -> None:
    data = mv.Microdata.of({"a": ["x", "x", "y"], "v": [1.0, 2, 3], "w": [10.0, 20, 30]}, weight="w")
    made = mv.table(data, ["a"], "v", rules=["frequency 1"])
    assert values_of(made, "a") == {"Total": 140, "x": 50, "y": 90}
    assert made.cells.contributors.max() == 3


def test_tables_that_do_not_agree_are_not_linked() -> None:
    cells = [{"a": ["x", "y"], "b": ["u", "u"], "n": [5, 5], "v": [1.0, v]} for v in (2.0, 3.0)]
    second = {"a": cells[1]["a"], "c": ["w", "w"], "n": cells[1]["n"], "v": cells[1]["v"]}
    first = {
        "a": [*cells[0]["a"], "y"], "b": ["u", "u", "Total"], "n": [5, 5, 5], "v": [1.0, 2.0, 2.0],
    }  # fmt: skip
    second = {"a": [*second["a"], "y"], "c": ["w", "w", "Total"], "n": [5, 5, 5], "v": [1.0, 3.0, 3.0]}
    with pytest.raises(MicroveilError, match="do not agree on a y"):
        mv.table([first, second], [["a", "b"], ["a", "c"]], "v", source=Aggregated("n"))


def test_every_part_of_the_table_is_shown_to_its_owner() -> None:
    made = mv.table({"a": list("xxxxyyyz")}, ["a"])
    private = made.frame(private=True)
    assert {"true_value", "contributors", "status", "low", "high"} <= set(private.names)
    assert made.frame(tell=True).frame["flag"].to_list().count("primary") == 1
    with pytest.raises(MicroveilError, match="there is no table 1"):
        made.frame(1)
    with pytest.raises(MicroveilError, match="no interval"):
        made.interval(a="x") if made.status[1] == "published" else made.interval(a="Total")


def test_of_cells_a_total_with_one_contributor_has_that_of_its_part() -> None:
    """The enterprise that is alone in (x, s) is alone in the total of x, too, so it learns nothing new from it."""
    cells = {
        "a": ["x", "x", "x", "y", "y", "z", "z"],
        "b": ["s", "t", "Total", "s", "t", "s", "t"],
        "n": [1, 0, 1, 9, 9, 9, 9],
        "v": [7.0, 0, 7, 30, 40, 50, 60],
    }
    made = mv.table(cells, ["a", "b"], "v", source=Aggregated("n"))
    single = {tuple(made.name(i).values()): int(made.cells.single[i]) for i in range(len(made.cells))}
    assert single["x", "s"] == single["x", "Total"] >= 0
    assert made.passed
