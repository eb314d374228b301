from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import Cancelled
from microveil.numerics.evolution.categorical_measures import CategoricalMeasures, score_of
from microveil.numerics.evolution.exchanges import cut_points
from microveil.numerics.evolution.file_evolution import (
    Bits,
    Evolution,
    Grid,
    Rules,
    _select_pair,
    _Settings,
    evolve_categories,
    evolve_numbers,
    mutated_number,
    other_category,
    selection_weights,
)
from microveil.numerics.evolution.gray import from_gray, gray
from microveil.progress import silent
from microveil.typing import FloatArray, IntArray

USUAL = Rules()
FREE = np.array([[-np.inf], [np.inf]])


def categories(files: int = 6, n: int = 40) -> tuple[CategoricalMeasures, IntArray]:
    generator = np.random.default_rng(3)
    sizes = np.array([4, 3, 5])
    original = generator.integers(0, sizes, size=(n, 3))
    rates = np.linspace(0.1, 0.9, files)[:, None, None]
    masked = np.where(generator.random((files, n, 3)) < rates, generator.integers(0, sizes, (files, n, 3)), original)
    return CategoricalMeasures(original, sizes, np.array([True, False, True])), masked


def numbers(files: int = 5, n: int = 40) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(4)
    original = generator.integers(-20, 300, size=(n, 3)).astype(np.float64)
    noise = generator.normal(size=(files, n, 3)) * np.linspace(2, 90, files)[:, None, None]
    return original, np.rint(original + noise)


def run_categories(rules: Rules = USUAL, generations: int = 300, seed: int = 1, files: int = 6) -> Evolution:
    measures, masked = categories(files)
    return evolve_categories(measures, masked, rules, generations, np.random.default_rng(seed), silent, "")


def run_numbers(rules: Rules = USUAL, generations: int = 300, seed: int = 1, files: int = 5) -> Evolution:
    original, masked = numbers(files)
    grid = Grid.of(original, masked, np.zeros(3, dtype=np.int64), np.tile(FREE, 3))
    return evolve_numbers(original, masked, grid, rules, generations, np.random.default_rng(seed), silent, "")


# --- genomes -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("05:EP-02")
@pytest.mark.parametrize(
    ("masked", "original", "expected"),
    [(1500, 1000, 0b10100101110), (1500, 1900, 0b1111101000), (12, 7, 0b1110), (7, 12, 0b1110)],
)
def test_the_genome_is_the_difference_of_the_gray_codes(masked: int, original: int, expected: int) -> None:
    """Marés (2013), Table 3.1."""
    genome = gray(np.array([masked])) ^ gray(np.array([original]))
    assert genome.tolist() == [expected]
    assert from_gray(genome ^ gray(np.array([original]))).tolist() == [masked]


@pytest.mark.spec("05:EP-02")
def test_a_file_has_the_genome_that_is_printed() -> None:
    """Marés (2013), Fig. 3.1."""
    original = np.array([[1, 3, 1, 5, 9], [5, 2, 2, 6, 7], [4, 8, 3, 4, 9], [1, 6, 5, 8, 2], [4, 7, 2, 1, 2]])
    masked = np.array([[1, 2, 1, 5, 7], [9, 1, 2, 3, 5], [4, 1, 9, 8, 9], [1, 6, 7, 9, 1], [3, 1, 2, 7, 2]])
    printed = """0000 0001 0000 0000 1001  1010 0010 0000 0111 0011  0000 1101 1111 1010 0000
                 0000 0000 0011 0001 0010  0100 0101 0000 0101 0000"""
    expected = np.array([int(word, 2) for word in printed.split()]).reshape(5, 5)
    assert np.array_equal(gray(masked) ^ gray(original), expected)


def flipped(original: int, masked: int, word: int, seed: int, *, whole_word: bool = False, high: float = np.inf) -> int:
    whole = np.array([word], dtype=np.int64)
    bits = Bits(np.array([[original]]), np.ones(1), np.zeros(1, dtype=np.int64), whole, np.zeros(1), np.array([high]))
    return int(mutated_number(bits, 0, 0, float(masked), whole_word, np.array([seed], dtype=np.uint64)))


@pytest.mark.spec("05:EP-05")
@given(st.integers(0, 2**20), st.integers(0, 2**20), st.integers(0, 2**60))
def test_mutation_flips_one_bit_within_the_genome(original: int, masked: int, seed: int) -> None:
    genome = int((gray(np.array([masked])) ^ gray(np.array([original])))[0])
    changed = flipped(original, masked, 21, seed)
    difference = genome ^ int((gray(np.array([changed])) ^ gray(np.array([original])))[0])
    assert difference.bit_count() == 1
    assert difference.bit_length() <= max(1, genome.bit_length())


@pytest.mark.spec("05:EP-05")
def test_mutation_may_flip_any_bit_of_the_word() -> None:
    found = {flipped(9, 9, 4, seed, whole_word=True) for seed in range(200)}
    assert found == {9 ^ 1, 9 ^ 3, 9 ^ 7, 9 ^ 15}
    assert {flipped(9, 9, 4, seed) for seed in range(50)} == {8}  # a genome of 0 has one bit


def test_a_number_stays_below_the_greatest_that_is_allowed() -> None:
    assert max(flipped(9, 9, 6, seed, whole_word=True, high=20.0) for seed in range(200)) == 20


@pytest.mark.spec("05:EP-03")
@pytest.mark.spec("05:EP-05")
def test_a_category_becomes_any_other_one() -> None:
    state = np.array([1], dtype=np.uint64)
    found = [other_category(2, 5, state) for _ in range(400)]
    assert set(found) == {0, 1, 3, 4}
    assert min(np.bincount(found)[[0, 1, 3, 4]]) > 60


def test_numbers_are_coded_from_the_least_negative_value_on() -> None:
    grid = Grid.of(np.array([[-1.5], [3.0]]), np.array([[[-2.04], [0.0]]]), np.array([1]), FREE)
    assert (grid.offset.tolist(), grid.word.tolist()) == ([-20], [6])
    assert grid.rounded(np.array([[-2.04], [0.27]])).tolist() == [[-2.0], [0.3]]


# --- crossing and selection ----------------------------------------------------------------------------------------


@pytest.mark.spec("05:EP-04")
def test_cells_in_the_later_part_of_the_file_are_exchanged_most_often() -> None:
    """A position behind which the share u of the cells lies is exchanged with probability -u ln u."""
    state, cells = np.array([5], dtype=np.uint64), 200
    exchanged = np.zeros(cells)
    for _ in range(20_000):
        first, last = cut_points(cells, False, state)
        exchanged[first : last + 1] += 1
    share = exchanged / 20_000
    assert share.mean() == pytest.approx(0.25, abs=0.01)
    assert share[int(0.63 * cells)] == pytest.approx(0.368, abs=0.02)
    assert max(share[0], share[-1]) < 0.04


@pytest.mark.spec("05:EP-04")
def test_symmetric_points_exchange_the_middle_most_often() -> None:
    state, cells = np.array([5], dtype=np.uint64), 100
    exchanged = np.zeros(cells)
    for _ in range(20_000):
        first, last = cut_points(cells, True, state)
        assert 0 <= first <= last < cells
        exchanged[first : last + 1] += 1
    share = exchanged / 20_000
    assert share[50] == pytest.approx(0.5, abs=0.02)
    assert abs(share[10] - share[89]) < 0.02


@pytest.mark.spec("05:EP-06")
def test_weights_prefer_low_scores_except_as_printed() -> None:
    scores = np.array([10.0, 40.0, 20.0, 20.0])
    assert selection_weights(scores, 0) == pytest.approx([0.1, 0.025, 0.05, 0.05])
    assert selection_weights(scores, 1) == pytest.approx([30, 0, 20, 20], abs=1e-6)
    assert selection_weights(scores, 2).tolist() == [4, 1, 3, 2]
    assert selection_weights(scores, 3) == pytest.approx(scores)


@pytest.mark.spec("05:EP-06")
def test_one_parent_is_a_leader_and_the_other_any_other_file() -> None:
    """Leaders are the two least scores, of equal ones the first; weights count among the candidates alone."""
    settings, random = _Settings(False, 0.5, 2, 0, False, False, False), np.array([3], dtype=np.uint64)
    scores = np.array([30.0, 10.0, 20.0, 20.0])
    pairs = [_select_pair(settings, scores, random) for _ in range(6000)]
    ones, others = np.array(pairs).T
    assert np.bincount(ones, minlength=4) / 6000 == pytest.approx([0, 2 / 3, 1 / 3, 0], abs=0.03)
    assert (ones != others).all()
    weights = np.array([1 / 30, 0, 1 / 20, 1 / 20])
    found = np.bincount(others[ones == 1], minlength=4) / (ones == 1).sum()
    assert found == pytest.approx(weights / weights.sum(), abs=0.03)


# --- the loop ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("05:EP-01")
@pytest.mark.spec("05:EP-07")
@pytest.mark.parametrize("run", [run_numbers, run_categories])
@pytest.mark.parametrize("by", ["mean", "max"])
def test_no_score_ever_rises_and_the_best_falls(run: object, by: str) -> None:
    found: Evolution = run(Rules(by=by))  # type: ignore[operator]
    least, mean, greatest = found.trajectory.T
    assert all((np.diff(column) <= 1e-9).all() for column in (least, mean, greatest))
    assert (found.scores <= found.first_scores).all()
    assert least[-1] < least[0]
    assert found.trajectory[[0, -1]] == pytest.approx(
        np.array([[s.min(), s.mean(), s.max()] for s in (found.first_scores, found.scores)])
    )
    expected = [score_of(*both, by=by) for both in zip(found.losses, found.risks, strict=True)]  # type: ignore[arg-type]
    assert found.scores == pytest.approx(expected)


@pytest.mark.spec("05:EP-01")
def test_what_the_loop_reports_is_what_the_full_measures_find() -> None:
    measures, _ = categories()
    for rules in (Rules(), Rules(operators="both-all-cells"), Rules(operators="both-one-cell", mutation_rate=0.5)):
        found = run_categories(rules, generations=200)
        for file in range(len(found.scores)):
            full = measures.of(found.cells[file].astype(np.int64), probabilistic=False)
            assert (found.losses[file], found.risks[file]) == pytest.approx((full.loss, full.risk), abs=1e-9)


@pytest.mark.spec("05:EP-08")
@pytest.mark.parametrize("operators", ["both-all-cells", "both-one-cell"])
@pytest.mark.parametrize("run", [run_numbers, run_categories])
def test_both_operators_may_act_in_one_generation(run: object, operators: str) -> None:
    found: Evolution = run(Rules(operators=operators), generations=60)  # type: ignore[operator]
    assert found.evaluations == 120
    assert (found.scores <= found.first_scores).all()
    assert found.trajectory[-1, 0] < found.trajectory[0, 0]


@pytest.mark.parametrize("run", [run_numbers, run_categories])
def test_the_same_seed_gives_the_same_files(run: object) -> None:
    one, same, other = (run(seed=seed) for seed in (1, 1, 2))  # type: ignore[operator]
    assert np.array_equal(one.cells, same.cells)
    assert not np.array_equal(one.cells, other.cells)


@pytest.mark.parametrize("run", [run_numbers, run_categories])
def test_a_single_file_is_only_mutated(run: object) -> None:
    found: Evolution = run(files=1)  # type: ignore[operator]
    assert len(found.scores) == 1
    assert found.evaluations <= 300
    assert found.scores[0] < found.first_scores[0]


@settings(max_examples=5)
@given(st.sampled_from(["inverse", "range", "rank", "literal_eq_3_3"]), st.sampled_from(["printed", "symmetric"]))
def test_every_rule_of_selection_and_cut_leads_to_better_files(selection: str, cut: str) -> None:
    rules = Rules(selection=selection, cut=cut, leaders=50, bit_range="word")  # type: ignore[arg-type]
    for found in (run_numbers(rules), run_categories(rules)):
        assert found.scores.min() < found.first_scores.min()


def test_an_equal_child_replaces_its_parent_only_where_it_may() -> None:
    """By the risk alone one wrong category is as good as another, and the true one is worse."""
    measures = CategoricalMeasures(np.zeros((1, 1), dtype=np.int64), np.array([3]), np.array([False]))
    masked = np.array([[[1]]])

    def ends(may: bool) -> set[int]:
        rules = Rules(share=0.0, accept_equal=may)
        runs = (
            evolve_categories(measures, masked, rules, 20, np.random.default_rng(seed), silent, "")
            for seed in range(10)
        )
        return {int(run.cells[0, 0, 0]) for run in runs}

    assert ends(False) == {1}
    assert ends(True) == {1, 2}


def test_another_linkage_counts_as_it_was_last_measured() -> None:
    measures, masked = categories()
    asked: list[int] = []

    def certain(cells: FloatArray | IntArray) -> float:
        asked.append(len(cells))
        return 100.0

    found = evolve_categories(
        measures, masked, Rules(), 100, np.random.default_rng(1), silent, "", other=certain, every=50
    )
    assert len(asked) == 3 * len(masked)
    for file, risk in enumerate(found.risks):
        assert risk == pytest.approx((measures.interval(found.cells[file].astype(np.int64)) + 100) / 2)
    without = evolve_categories(measures, masked, Rules(), 100, np.random.default_rng(1), silent, "", other=certain)
    assert without.risks.max() < found.risks.min()


def test_a_run_can_be_cancelled() -> None:
    def stop(fraction: float, label: str) -> None:
        raise Cancelled("stopped")

    measures, masked = categories()
    with pytest.raises(Cancelled):
        evolve_categories(measures, masked, Rules(), 300, np.random.default_rng(1), stop, "")
