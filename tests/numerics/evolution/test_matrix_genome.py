"""The genome of a transition matrix against the printed figures, and what its operators keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.numerics.evolution.gray import from_gray, gray
from microveil.numerics.evolution.matrix_genome import crossed, decoded, encoded, exchanged, flipped, mutated

MATRIX = np.array([[0.185, 0.283, 0.532], [0.609, 0.089, 0.302], [0.002, 0.277, 0.721]])
THOUSANDTHS = [[185, 283, 532], [609, 89, 302], [2, 277, 721]]
WORDS = [
    ["0011100101", "0110010110", "1100011110"],
    ["1101010001", "0001110101", "0110111001"],
    ["0000000011", "0110011111", "1110111001"],
]


@pytest.mark.spec("05:PE-02", "05:EA-03")
def test_a_matrix_is_thousandths_in_gray_code() -> None:
    """Marés (2013), Figure 4.1."""
    genome = encoded(MATRIX)
    assert from_gray(genome).tolist() == THOUSANDTHS
    assert [[f"{word:010b}" for word in row] for row in genome.tolist()] == WORDS
    assert decoded(genome) == pytest.approx(MATRIX, abs=1e-12)


@pytest.mark.spec("05:PE-02")
def test_a_product_a_little_below_a_whole_number_is_that_number() -> None:
    stays = 1 - 0.066
    assert 1000 * stays < 934
    assert from_gray(encoded(np.array([[stays, 0.066]]))).tolist() == [[934, 66]]


@pytest.mark.spec("05:PE-02")
def test_a_row_without_any_cell_above_0_has_no_matrix() -> None:
    assert decoded(gray(np.array([[1, 0], [0, 0]]))) is None
    assert decoded(gray(np.array([[1, 1], [0, 3]]))) == pytest.approx(np.array([[0.5, 0.5], [0, 1]]))


@pytest.mark.spec("05:PE-03")
def test_the_printed_mutation_of_one_bit() -> None:
    """Marés (2013), Figure 4.2: bit 4 from the right of cell (2, 1) makes 622 of 609."""
    changed = flipped(encoded(MATRIX), 3, 3)
    assert f"{changed[1, 0]:010b}" == "1101011001"
    assert from_gray(changed).tolist() == [[185, 283, 532], [622, 89, 302], [2, 277, 721]]
    found = decoded(changed)
    assert found is not None
    assert found[1].round(6).tolist() == [0.614018, 0.087858, 0.298124]


@pytest.mark.spec("05:PE-04")
def test_the_printed_crossover_of_two_ranges() -> None:
    """Marés (2013), Figure 4.3: cells 4 and 5 change places with cells 8 and 9."""
    changed = exchanged(encoded(MATRIX), 3, 7, 2)
    cells = from_gray(changed)
    assert cells.tolist() == [[185, 283, 532], [277, 721, 302], [2, 609, 89]]
    assert cells.sum(axis=1).tolist() == [1000, 1300, 700]


@settings(max_examples=200, deadline=None)
@given(size=st.integers(2, 6), seed=st.integers(0, 9999))
@pytest.mark.spec("05:PE-03", "05:PE-04")
def test_mutation_changes_one_bit_and_crossover_moves_cells(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    genome = gray(rng.integers(0, 1000, (size, size)))
    before = genome.copy()
    apart = mutated(genome, rng, 10) ^ genome
    assert sum(int(word).bit_count() for word in apart.ravel()) == 1
    assert apart.max() < 1024
    moved = crossed(genome, rng)
    assert sorted(moved.ravel().tolist()) == sorted(genome.ravel().tolist())
    assert (genome == before).all()  # the parent stays as it was


@pytest.mark.spec("05:PE-03")
def test_every_bit_of_every_cell_can_be_flipped() -> None:
    genome, rng = np.zeros((2, 2), dtype=np.int64), np.random.default_rng(1)
    found = {tuple(mutated(genome, rng, 10).ravel().tolist()) for _ in range(600)}
    assert len(found) == 4 * 10


@pytest.mark.spec("05:PE-04")
def test_every_range_that_does_not_overlap_can_be_exchanged() -> None:
    """Of four cells: single ones in all 6 ways, and the two halves in the only one."""
    genome, rng = np.arange(4).reshape(2, 2), np.random.default_rng(1)
    found = {tuple(crossed(genome, rng).ravel().tolist()) for _ in range(300)}
    single = {(1, 0, 2, 3), (2, 1, 0, 3), (3, 1, 2, 0), (0, 2, 1, 3), (0, 3, 2, 1), (0, 1, 3, 2)}
    assert found == single | {(2, 3, 0, 1)}


@settings(max_examples=100, deadline=None)
@given(size=st.integers(2, 6), seed=st.integers(0, 9999))
def test_cells_that_are_not_allowed_stay_0(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = np.arange(size)
    allowed = np.abs(places[:, None] - places) <= 1
    genome = np.where(allowed, gray(rng.integers(0, 1000, (size, size))), 0)
    for _ in range(5):
        genome = crossed(mutated(genome, rng, 10, allowed), rng, allowed)
    assert (genome[~allowed] == 0).all()


def test_a_finer_scale_has_longer_words() -> None:
    assert from_gray(encoded(np.array([[0.00125, 0.99875]]), 10_000)).tolist() == [[12, 9987]]
