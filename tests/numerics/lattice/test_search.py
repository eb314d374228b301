"""The search over the lattice of levels finds what trying every node finds, and says truly what it has proven."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.lattice.checking import Demands, Utility, check
from microveil.numerics.lattice.classes import Levels, Records
from microveil.numerics.lattice.neighbourhood import Neighbourhood
from microveil.numerics.lattice.search import search
from microveil.typing import BoolArray, FloatArray, IntArray


def tables_of(rng: np.random.Generator, attributes: int) -> tuple[IntArray, ...]:
    """Random hierarchies: at each level some branches of the level before are joined, at the last one all."""
    tables = []
    for _ in range(attributes):
        size, levels = int(rng.integers(2, 6)), int(rng.integers(2, 5))
        table = [np.arange(size)]
        for _ in range(levels - 2):
            table.append(rng.integers(0, max(1, int(table[-1].max())) + 1, table[-1].max() + 1)[table[-1]])
        tables.append(np.array([*table, np.zeros(size, dtype=np.int64)], dtype=np.int64))
    return tuple(tables)


class Case:
    """A small random problem, and what a plain trial of a node finds."""

    def __init__(self, seed: int, *, k: int = 3, suppression: float = 1.0, distinct: int = 0, sized: bool = False):
        rng = np.random.default_rng(seed)
        self.tables = tables_of(rng, int(rng.integers(1, 5)))
        self.n = int(rng.integers(5, 60))
        self.cells = np.column_stack([rng.integers(0, table.shape[1], self.n) for table in self.tables])
        self.ill = rng.integers(0, 4, self.n)
        codes, row, counts = np.unique(self.cells, axis=0, return_inverse=True, return_counts=True)
        self.row = row.reshape(-1)
        held = np.zeros((len(codes), 1), dtype=np.uint64)
        np.bitwise_or.at(held[:, 0], self.row, np.uint64(1) << self.ill.astype(np.uint64))
        self.records = Records(codes.astype(np.int64), self.tables, counts.astype(np.float64)[:, None], held)
        self.k, self.suppression, self.distinct = k, suppression, distinct
        kept = [
            1.0 - np.array([np.bincount(level)[level] for level in table]) / table.shape[1] for table in self.tables
        ]
        self.kept = [part / (2 * self.n * len(self.tables)) for part in kept]
        self.of_size = 0.5 / self.n / (np.arange(self.n + 1) + 1.0) if sized else None
        self.utility = Utility(np.concatenate([part.ravel() for part in self.kept]), self.of_size)
        self.demands = Demands(
            np.array([float(k)]), np.array([distinct]), np.zeros(1, dtype=np.int64), suppression=suppression
        )

    @property
    def nodes(self) -> list[Levels]:
        return list(itertools.product(*(range(len(table)) for table in self.tables)))

    def plain(self, node: Levels) -> tuple[float, int] | None:
        """What a node keeps, and how many records it suppresses; None where it does not satisfy the demands."""
        classes: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for i, record in enumerate(self.cells):
            classes[tuple(int(t[lv][c]) for t, lv, c in zip(self.tables, node, record, strict=True))].append(i)

        def holds(members: list[int]) -> bool:
            return len(members) >= self.k and len({int(self.ill[i]) for i in members}) >= self.distinct

        suppressed = [i for members in classes.values() if not holds(members) for i in members]
        order = {key: min(self.row[i] for i in members) for key, members in classes.items()}
        left = sorted((key for key in classes if holds(classes[key])), key=lambda key: (len(classes[key]), order[key]))
        while suppressed and not holds(suppressed):
            if not left:
                return None
            suppressed += classes[left.pop(0)]
        if len(suppressed) > self.suppression * self.n + 1e-9:
            return None
        value = 0.0
        for key in left:
            for i in classes[key]:
                value += sum(float(part[lv][c]) for part, lv, c in zip(self.kept, node, self.cells[i], strict=True))
                value += 0.0 if self.of_size is None else float(self.of_size[len(classes[key])])
        return value, len(suppressed)

    def best(self) -> float | None:
        found = [result[0] for result in map(self.plain, self.nodes) if result is not None]
        return max(found) if found else None


cases = st.builds(
    Case,
    st.integers(0, 100_000),
    k=st.integers(1, 6),
    suppression=st.sampled_from([0.0, 0.1, 0.4, 1.0]),
    distinct=st.integers(0, 3),
    sized=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(cases)
def test_the_optimum_is_that_of_an_exhaustive_search(case: Case) -> None:
    outcome, best = search(case.records, case.utility, case.demands), case.best()
    assert outcome.proven
    if best is None:
        assert outcome.best is None
    else:
        assert outcome.best is not None
        assert outcome.best.utility == pytest.approx(best, abs=1e-9)
        assert outcome.bound == outcome.best.utility


@settings(max_examples=40, deadline=None)
@given(cases)
def test_every_node_that_was_checked_is_what_a_plain_trial_finds(case: Case) -> None:
    for solution in search(case.records, case.utility, case.demands).solutions:
        plain = case.plain(solution.levels)
        assert solution.satisfies == (plain is not None)
        if plain is not None:
            assert (solution.utility, solution.suppressed) == (pytest.approx(plain[0], abs=1e-9), plain[1])


@settings(max_examples=40, deadline=None)
@given(cases, st.integers(1, 40))
def test_a_search_that_ends_early_never_claims_too_much(case: Case, budget: int) -> None:
    outcome, best = search(case.records, case.utility, case.demands, budget), case.best()
    found = -1.0 if outcome.best is None else outcome.best.utility
    assert outcome.bound >= (best or 0.0) - 1e-9
    assert found <= outcome.bound + 1e-9
    if outcome.proven:
        assert found == pytest.approx(-1.0 if best is None else best, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(cases, st.data())
def test_a_move_of_one_attribute_is_bounded_by_what_a_whole_grouping_finds(case: Case, data: st.DataObject) -> None:
    node = data.draw(st.sampled_from(case.nodes))
    j = data.draw(st.integers(0, len(node) - 1))
    level = data.draw(st.integers(0, len(case.tables[j]) - 1))
    around = Neighbourhood(case.records, case.utility, float(case.k), node)
    kept, suppressed = around.moved(j, level)
    there = (*node[:j], level, *node[j + 1 :])
    exact = check(case.records, case.utility, case.demands, there).solution
    assert kept >= exact.utility - 1e-9
    assert suppressed <= exact.suppressed + 1e-9
    if case.distinct < 2 and (suppressed == 0 or suppressed >= case.k):
        assert (kept, suppressed) == (pytest.approx(exact.utility, abs=1e-9), exact.suppressed)
    assert around.at(j, level).moved(j, level) == pytest.approx((kept, suppressed), abs=1e-9)


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(8, k=4)
    monkeypatch.setattr("microveil.numerics.lattice.search._FEW", 0)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("MICROVEIL_THREADS", threads)
        found.append(search(case.records, case.utility, case.demands, 15))
    assert found[0] == found[1]


def test_the_same_budget_always_gives_the_same_outcome() -> None:
    case = Case(5, k=2)
    assert search(case.records, case.utility, case.demands, 12) == search(case.records, case.utility, case.demands, 12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 100_000), st.sampled_from([0.0, 0.3, 1.0]))
def test_demands_that_a_class_may_lose_are_respected_too(seed: int, suppression: float) -> None:
    """No value may make up more than 60 % of a class, which further records can spoil."""
    case = Case(seed, k=2, suppression=suppression)
    shares = np.zeros((len(case.records.codes), 4))
    np.add.at(shares, (case.row, case.ill), 1.0)

    def further(labels: IntArray, number: int) -> BoolArray:
        sums = np.zeros((number, 4))
        np.add.at(sums, labels, shares)
        most: FloatArray = sums.max(axis=1) / np.maximum(sums.sum(axis=1), 1.0)
        return np.asarray(most <= 0.6 + 1e-12)

    demands = Demands(np.array([2.0]), further=further, suppression=suppression)
    tried = [check(case.records, case.utility, demands, node).solution for node in case.nodes]
    best = max((solution.utility for solution in tried if solution.satisfies), default=None)
    found = search(case.records, case.utility, demands)
    assert found.proven
    assert (None if found.best is None else found.best.utility) == (best if best is None else pytest.approx(best))


def test_the_average_risk_is_reached_by_suppressing_the_smallest_classes() -> None:
    codes = np.array([[0], [1], [2]])
    tables = (np.array([[0, 1, 2], [0, 0, 0]]),)
    records = Records(codes, tables, np.array([[2.0], [3.0], [9.0]]), np.empty((3, 0), dtype=np.uint64))
    utility = Utility(np.array([1 / 14] * 3 + [0.0] * 3))
    at = check(records, utility, Demands(np.array([1.0]), average=0.2), (0,)).solution
    # three classes of 14 records have 3/14 > 0.2, those without the smallest 2/12; the two suppressed ones are too few
    assert (at.suppressed, at.classes, at.utility) == (5, 1, pytest.approx(9 / 14))
    assert check(records, utility, Demands(np.array([1.0]), average=0.25), (0,)).solution.suppressed == 0


def test_fewer_records_than_k_satisfy_nothing() -> None:
    records = Records(np.array([[0]]), (np.array([[0], [0]]),), np.array([[2.0]]), np.empty((1, 0), dtype=np.uint64))
    outcome = search(records, Utility(np.zeros(2)), Demands(np.array([3.0])))
    assert outcome.best is None
    assert outcome.proven
