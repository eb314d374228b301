"""Suppression and its audit against brute force on small random tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import microveil as mv
from microveil.tables import ProtectedTable, Respondents
from microveil.typing import FloatArray

from .business_data import random_firms


def attacked(made: ProtectedTable, cell: int, fixed: dict[int, float] | None = None) -> tuple[float, float]:
    """The interval of a cell, by a linear program over all cells of the table, published ones fixed."""
    equations = made.cells.structure.equations.toarray()
    bounds: list[tuple[float | None, float | None]] = [(0, None) if v != v else (v, v) for v in made.values]
    for known, value in (fixed or {}).items():
        bounds[known] = (value, value)
    ends = []
    for sign in (1, -1):
        aim = np.zeros(len(made.cells))
        aim[cell] = sign
        found = linprog(aim, A_eq=equations, b_eq=np.zeros(len(equations)), bounds=bounds, method="highs")
        ends.append(np.inf if found.status == 3 else sign * found.fun)
    return ends[0], ends[1]


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), method=st.sampled_from(["elimination", "optimal"]), three=st.booleans())
def test_every_primary_cell_is_protected_against_a_full_linear_program(seed: int, method: str, three: bool) -> None:
    data = random_firms(seed, 40, (2, 3, 2) if three else (3, 4))
    by = [name for name in data if name != "value"]
    made = mv.table(data, by, "value", rules=["frequency 3", "dominance 1 80"], method=method, time_limit=20)
    assert made.passed
    for cell in np.flatnonzero(made.primary):
        low, high = attacked(made, int(cell))
        value = made.cells.values[cell]
        assert low <= 0.9 * value + 1e-4
        assert high >= 1.1 * value - 1e-4


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), singletons=st.booleans())
def test_the_optimum_costs_no_more_than_elimination(seed: int, singletons: bool) -> None:
    data = random_firms(seed, 35, (3, 4))
    made = [
        mv.table(data, ["d0", "d1"], "value", method=method, singletons=singletons, time_limit=20)
        for method in ("elimination", "optimal")
    ]
    assert made[1].counts["secondary"] <= made[0].counts["secondary"]
    assert all(one.passed for one in made)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_the_audit_never_passes_a_pattern_in_which_a_primary_cell_is_pinned(seed: int, data: st.DataObject) -> None:
    """Random patterns: intervals are those of a linear program over the whole table, and so is the verdict."""
    firms = random_firms(seed, 14, (3, 3))
    plain = mv.table(firms, ["d0", "d1"], "value", rules=["frequency 2"], method="none", singletons=False)
    others = [cell for cell in range(len(plain.cells)) if not plain.primary[cell]]
    chosen = data.draw(st.sets(st.sampled_from(others), max_size=6)) if others else set()
    made = mv.table(
        firms, ["d0", "d1"], "value", rules=["frequency 2"], method="none", singletons=False,
        suppressed=[plain.name(cell) for cell in chosen],
    )  # fmt: skip
    fine = True
    for cell in np.flatnonzero(made.primary).tolist():
        low, high = attacked(made, cell)
        found = made.interval(**made.name(cell))
        assert found.low == pytest.approx(low, abs=1e-5)
        assert found.high == pytest.approx(high, abs=1e-5)
        value = made.cells.values[cell]
        fine &= low <= 0.9 * value + 1e-6 and high >= 1.1 * value - 1e-6
    assert made.passed == fine


def integer_tables(rows: list[int], columns: list[int], known: dict[tuple[int, int], int]) -> list[FloatArray]:
    """Every 3 x 3 table of whole numbers with these margins and these known cells."""
    found = []
    for guess in itertools.product(range(max(rows) + 1), repeat=4):
        inner = np.reshape(guess, (2, 2))
        whole = np.zeros((3, 3))
        whole[:2, :2] = inner
        whole[:2, 2] = np.array(rows[:2]) - inner.sum(axis=1)
        whole[2] = np.array(columns) - whole[:2].sum(axis=0)
        if (whole >= 0).all() and all(whole[place] == value for place, value in known.items()):
            found.append(whole)
    return found


def test_no_whole_number_table_outside_the_intervals_of_a_count_table_exists() -> None:
    """All tables of counts with the published margins are listed: each primary count can still be several numbers."""
    counts = np.array([[1, 4, 3], [3, 2, 4], [5, 4, 3]])
    places = [(r, c) for r, c in itertools.product(range(3), range(3)) for _ in range(counts[r, c])]
    data = {"row": [f"r{r}" for r, _ in places], "column": [f"c{c}" for _, c in places]}
    made = mv.table(data, ["row", "column"], rules=["frequency 3"], method="optimal")
    hidden = {tuple(made.name(i).values()) for i in np.flatnonzero(np.isnan(made.values))}
    known = {
        (r, c): int(counts[r, c]) for r, c in itertools.product(range(3), range(3)) if (f"r{r}", f"c{c}") not in hidden
    }
    assert len(known) <= 5
    tables = integer_tables(counts.sum(axis=1).tolist(), counts.sum(axis=0).tolist(), known)
    assert all("Total" not in cell for cell in hidden)
    for r, c in ((0, 0), (1, 1)):
        possible = {int(table[r, c]) for table in tables}
        assert len(possible) >= 3
        found = made.interval(row=f"r{r}", column=f"c{c}")
        assert found.low <= min(possible)
        assert max(possible) <= found.high


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6))
def test_no_single_contributor_pins_another_primary_cell(seed: int) -> None:
    data = random_firms(seed, 22, (3, 4), whole=False)
    made = mv.table(data, ["d0", "d1"], "value", rules=["frequency 2"])
    assert made.passed
    single = made.cells.single
    for who in {int(s) for s in single if s >= 0}:
        own = np.flatnonzero((single == who) & np.isnan(made.values))
        known = {int(cell): float(made.cells.values[cell]) for cell in own}
        for cell in np.flatnonzero(made.primary & (single != who)).tolist():
            low, high = attacked(made, cell, known)
            assert high - low > 1e-6


def test_a_contributor_alone_in_several_cells_is_one_insider() -> None:
    """The only firm of activity x is alone in (x, Total) too; that it knows its own total discloses nobody."""
    data = {
        "activity": ["x", *["y"] * 6, *["z"] * 6],
        "size": ["s", *["s", "s", "s", "t", "t", "t"] * 2],
        "value": [7.0, *np.arange(10.0, 22.0)],
    }
    made = mv.table(data, ["activity", "size"], "value", rules=["frequency 3"])
    assert made.passed
    assert {tuple(made.name(i).values()) for i in np.flatnonzero(made.primary)} == {("x", "Total"), ("x", "s")}


def test_a_table_of_one_cell_and_one_of_primary_cells_only() -> None:
    one = mv.table({"kind": ["a"], "value": [5.0]}, ["kind"], "value")
    assert one.counts["published"] == 0
    assert one.passed  # nothing is published, so nothing can be computed
    assert one.interval(kind="a").high == np.inf


def test_equal_cells_have_the_same_status() -> None:
    """A total with one part is that part, so publishing one of them would disclose the other."""
    data = {
        "group": ["g"] * 4 + ["h"] * 8,
        "leaf": ["g1"] * 4 + ["h1"] * 4 + ["h2"] * 4,
        "value": [95.0, 2, 2, 1, *[10.0] * 8],
    }
    tree = mv.Hierarchy.of([("g1", "g"), ("h1", "h"), ("h2", "h")])
    made = mv.table(data, ["leaf"], "value", rules=["dominance 1 85"], hierarchies={"leaf": tree})
    status = {made.name(i)["leaf"]: made.status[i] for i in range(len(made.cells))}
    assert status["g"] == status["g1"] == "primary"
    assert made.passed


def test_negative_values_drop_the_assumption_that_values_are_positive() -> None:
    data = {"a": ["x", "x", "y", "y"] * 4, "b": ["u", "v", "u", "v"] * 4, "value": [5.0, -3.0, 8.0, 2.0] * 4}
    data["a"] += ["x"]
    data["b"] += ["w"]
    data["value"] += [4.0]
    made = mv.table(data, ["a", "b"], "value")
    assert any("negative" in note for note in made.notes)
    assert made.passed


def test_what_cannot_be_protected_is_said() -> None:
    """Everyone knows contributions to within one unit: no suppression makes them uncertain by half of their value."""
    data = {"a": ["x", "y", "z"] * 3, "value": [50.0, 50.2, 50.4] * 3}
    data["a"].append("w")
    data["value"].append(50.1)
    made = mv.table(data, ["a"], "value", known=(49.9, 50.5), protection="50%")
    narrow = made.interval(a="w")
    assert narrow.low >= 49.9 - 1e-9
    assert narrow.needed == pytest.approx((49.9, 50.5))


def test_zeros_can_be_sensitive() -> None:
    data = {"a": [*["x"] * 8, *["y"] * 4], "b": ["u", "v"] * 4 + ["u"] * 4}
    assert mv.table(data, ["a", "b"], rules=["frequency 2"]).counts["primary"] == 0
    made = mv.table(data, ["a", "b"], rules=["frequency 2", "zeros"])
    assert made.counts["primary"] == 1
    assert made.passed
    assert made.interval(a="y", b="v").high >= 1


def test_holdings_are_the_insiders() -> None:
    data = {"a": ["x", "x", "y", "y", "z", "z", "z"], "value": [1.0, 2, 3, 4, 5, 6, 7], "firm": list("ppqqrst")}
    made = mv.table(data, ["a"], "value", rules=["frequency 2"], source=Respondents(holding="firm"))
    assert made.counts["primary"] == 2
    assert made.passed
    assert made.counts["secondary"] >= 1  # x and y alone would tell their only contributors about each other
