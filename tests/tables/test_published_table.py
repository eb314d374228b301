"""The published tables of turnover: 414 and 406 cells with a hierarchy, and both linked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import linprog

from microveil.tables import ProtectedTable
from microveil.tables.neighbourhood import Neighbourhood
from microveil.typing import IntArray

from .business_data import turnover


@pytest.fixture(scope="module")
def by_elimination() -> ProtectedTable:
    return turnover("SIZE")


@pytest.fixture(scope="module")
def optimum() -> ProtectedTable:
    return turnover("SIZE", method="optimal", time_limit=600)


@pytest.mark.spec("01:DAT-1")
def test_primary_cells_are_the_published_ones(by_elimination: ProtectedTable) -> None:
    assert by_elimination.counts["cells"] == 414
    assert by_elimination.counts["primary"] == 77


@pytest.mark.spec("01:DAT-1")
def test_optimal_suppression_needs_no_more_secondary_cells_than_published(optimum: ProtectedTable) -> None:
    counts = optimum.counts
    assert counts["secondary"] <= 64
    assert counts["published"] == 414 - 77 - counts["secondary"] >= 273
    assert optimum.passed


def test_without_protection_against_single_contributors_sixty_cells_are_proved_to_be_the_least() -> None:
    made = turnover("SIZE", method="optimal", singletons=False, time_limit=600)
    assert made.counts["secondary"] == 60
    assert made.facts["proved_optimal"]
    assert made.passed


def test_elimination_passes_the_audit_and_is_not_better_than_the_optimum(
    by_elimination: ProtectedTable, optimum: ProtectedTable
) -> None:
    assert by_elimination.passed
    assert optimum.counts["secondary"] <= by_elimination.counts["secondary"] <= 90


def test_nothing_can_be_computed_from_the_published_cells_alone(optimum: ProtectedTable) -> None:
    """The attack that everyone can make, on all cells at once and without anything of ours but the equations."""
    frame = optimum.frame()
    values = frame.numbers("TOT").values
    equations, hidden = optimum.cells.structure.equations.toarray(), np.isnan(values)
    right = -(equations[:, ~hidden] @ values[~hidden])
    unknown = np.flatnonzero(hidden)
    for cell in np.flatnonzero(optimum.primary)[::11]:
        aim = (unknown == cell).astype(float)
        ends = [linprog(sign * aim, A_eq=equations[:, hidden], b_eq=right, method="highs") for sign in (1, -1)]
        low, high = ends[0].fun, np.inf if ends[1].status == 3 else -ends[1].fun
        true = optimum.cells.values[cell]
        assert low <= 0.9 * true + 0.01
        assert high >= 1.1 * true - 0.01


@pytest.mark.spec("01:DAT-1")
def test_linked_tables_give_common_cells_the_same_status() -> None:
    linked = turnover("SIZE", "CJ")
    assert linked.passed
    size, cj = linked.frame(0), linked.frame(1)
    read = [
        {
            activity: value
            for activity, other, value in zip(*(f.frame[n].to_list() for n in ("ACTIVITY", name, "TOT")), strict=True)
            if other == "Total"
        }
        for f, name in ((size, "SIZE"), (cj, "CJ"))
    ]
    assert len(read[0]) == len(read[1]) > 80
    for activity, value in read[0].items():
        assert value == read[1][activity] or (value != value and read[1][activity] != read[1][activity])
    assert linked.counts["cells"] == 414 + 406 - len(read[0])


def test_tables_protected_apart_give_away_what_linked_ones_do_not() -> None:
    """Differencing: what one table suppresses of the common margins the other one publishes."""
    apart = [turnover("SIZE"), turnover("CJ")]
    linked = turnover("SIZE", "CJ", method="none")
    hidden = np.ones(len(linked.cells), dtype=bool)
    for table, made in enumerate(apart):
        here = linked.cells.of_table(table)
        hidden[here] &= np.isnan(made.values)  # known from either table
    from microveil.tables.audit import audit

    assert linked.audit is not None
    columns = np.zeros(len(linked.audit.problem), dtype=bool)
    columns[linked.audit.problem.column[hidden]] = True
    columns[linked.audit.problem.column[~hidden]] = False
    assert not audit(linked.audit.problem, columns).passed


def test_a_box_that_climbs_has_the_groups_above_a_cell_and_those_beside_them() -> None:
    """Around an activity others of its group are too small to take up what it deviates by; other groups are not."""
    made = turnover("SIZE", method="none")
    assert made.audit is not None
    problem = made.audit.problem
    activities, codes = problem.structure.trees[0], problem.structure.codes
    depth = [sum(1 for _ in above(activities.parents, node)) for node in range(len(activities.nodes))]
    for cell in np.flatnonzero(np.array(depth)[codes[:, 0]] == max(depth))[::40].tolist():
        column, size = int(problem.column[cell]), codes[cell, 1]
        boxes = [
            set(Neighbourhood(problem).box(column, 1.0, problem.cost, 6, climbs=climbs).tolist())
            for climbs in (False, True)
        ]
        groups = list(above(activities.parents, int(codes[cell, 0])))
        columns = [problem.column[problem.structure.find(np.array([[group, size]]))[0]] for group in groups]
        assert boxes[0] < boxes[1]
        assert set(columns) <= boxes[1]
        assert columns[-1] not in boxes[0]


def above(parents: IntArray, node: int) -> Iterator[int]:
    while node:
        node = int(parents[node])
        yield node
