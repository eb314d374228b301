"""Proposed hierarchies: round intervals, periods of dates, prefixes of codes, neighbours of ordered categories."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.microdata import Hierarchy, Intervals, Microdata
from microveil.microdata.proposals import propose_hierarchy, with_proposals, write_hierarchies


def test_numbers_are_put_in_round_intervals_that_double() -> None:
    found = propose_hierarchy(Microdata.of({"income": [1200.0, 1850.5, 3300.0, 5210.0, 9800.0]}), "income")
    assert isinstance(found, Intervals)
    widths = [np.diff(level).min() for level in found.cuts if len(level) > 1]
    assert widths[0] in (200.0, 500.0, 1000.0)
    assert all(wide == 2 * narrow for narrow, wide in itertools.pairwise(widths))
    assert found.cuts[-1] == ()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=30))
def test_whatever_the_numbers_the_levels_nest_and_end_with_all(numbers: list[float]) -> None:
    found = propose_hierarchy(Microdata.of({"x": numbers}), "x")
    assert isinstance(found, Intervals)
    assert found.problem() is None
    assert found.categories(found.levels - 1) == ("*",)


def test_dates_codes_and_orders_are_recognised() -> None:
    data = Microdata.of(
        {
            "born": ["1990-01-31", "1990-02-01", "2001-12-24"],
            "job": ["2111", "2112", "3115"],
            "school": ["low", "middle", "high"],
            "name": ["Ada", "Ben", "Cleo"],
        },
        ordinal={"school": ["low", "middle", "high"]},
        nominal=["born", "job", "name"],
    )
    paths = {}
    for name in data.names:
        found = propose_hierarchy(data, name)
        assert isinstance(found, Hierarchy)
        paths[name] = found.paths[0]
    assert paths["born"] == ("1990-01-31", "1990-01", "1990-Q1", "1990", "1990s", "*")
    assert paths["job"] == ("2111", "211", "21", "2", "*")
    assert paths["school"] == ("low", "low to middle", "*")
    assert paths["name"] == ("Ada", "*")


def test_a_hierarchy_of_the_schema_stays_and_files_can_be_read_back(tmp_path: Path) -> None:
    own = Hierarchy.of([("Graz", "South", "*"), ("Linz", "North", "*")])
    data = Microdata.of({"town": ["Graz", "Linz"], "age": [31, 58]}, keys=["town", "age"])
    data = data.with_schema(data.schema.replacing(data["town"].changed(hierarchy=own)))
    assert with_proposals(data, ["town", "age"])["town"].hierarchy == own
    town, age = write_hierarchies(data, ["town", "age"], tmp_path / "made")
    assert Hierarchy.read(town) == own
    assert Hierarchy.read(age).is_numeric


def test_a_column_without_values_gets_a_hierarchy_too() -> None:
    data = Microdata.of({"x": [None, None], "y": ["a", "a"]}, numeric=["x"])
    assert propose_hierarchy(data, "x").levels == 2
    assert propose_hierarchy(data, "y").levels == 2
