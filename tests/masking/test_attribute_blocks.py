"""Which attributes go together in blocks, and what it matters on a circle and on a sphere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.attacks.anonymity import real_anonymity
from microveil.attacks.intervals import IntervalDisclosure
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.losses.numeric.moments import IL
from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.preparation.attribute_blocks import correlated_blocks, spread_blocks
from microveil.microdata import Microdata
from microveil.microdata.datasets.reference import COLUMNS
from reproduction.artificial_files import circle_file, sphere_file


def values(data: Microdata) -> np.ndarray:
    return np.column_stack([data.numbers(name).values for name in data.names])


@pytest.mark.spec("03:GR-1")
def test_the_blocks_chosen_by_hand_for_water_are_found(reference) -> None:  # type: ignore[no-untyped-def]
    table = reference("water_treatment", COLUMNS["water"])
    complete = values(table)
    complete = complete[~np.isnan(complete).any(axis=1)]
    shuffled = np.random.default_rng(1).permutation(9)
    names = [COLUMNS["water"][j] for j in shuffled]
    together = correlated_blocks(complete[:, shuffled], names, 3)
    by_hand = [COLUMNS["water"][start : start + 3] for start in (0, 3, 6)]
    assert sorted(map(sorted, together.blocks)) == sorted(map(sorted, by_hand))
    spread = spread_blocks(complete[:, shuffled], names, 3)
    for block in spread.blocks:
        assert sorted(next(i for i, b in enumerate(by_hand) if name in b) for name in block) == [0, 1, 2]
    assert together.within > 0.8
    assert together.within > spread.within
    assert together.between < spread.between


def test_spread_blocks_hold_correlated_attributes_in_the_same_place() -> None:
    spread = spread_blocks(values(sphere_file()), sphere_file().names, 3)
    assert spread.blocks == (("a1", "a2", "a3"), ("a4", "a5", "a6"), ("a7", "a8", "a9"))
    assert spread.order == list(sphere_file().names)
    assert spread.within == pytest.approx(0.0, abs=1e-9)
    assert spread.between == pytest.approx(1 / 3)
    together = correlated_blocks(values(sphere_file()), sphere_file().names, 3)
    assert together.blocks == (("a1", "a4", "a7"), ("a2", "a5", "a8"), ("a3", "a6", "a9"))
    assert together.within == pytest.approx(1.0)


@settings(max_examples=50, deadline=None)
@given(d=st.integers(1, 11), size=st.integers(1, 6), n=st.integers(1, 8), seed=st.integers(0, 99))
def test_every_attribute_is_in_one_block_and_no_block_is_larger_than_asked(
    d: int, size: int, n: int, seed: int
) -> None:
    matrix = np.random.default_rng(seed).integers(0, 3, size=(n, d)).astype(float)  # ties, constants, d > n
    names = [f"x{j}" for j in range(d)]
    for blocks in (correlated_blocks(matrix, names, size), spread_blocks(matrix, names, size)):
        assert sorted(blocks.order) == sorted(names)
        assert max(len(block) for block in blocks.blocks) <= size
        assert len(blocks.blocks) == -(-d // size)


def plain_correlations(matrix: np.ndarray) -> np.ndarray:
    return np.abs(np.corrcoef(matrix, rowvar=False))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [2, 3])
def test_no_exchange_of_two_attributes_puts_more_correlation_within_blocks(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(30, 7)) @ rng.normal(size=(7, 7))
    together = correlated_blocks(matrix, [str(j) for j in range(7)], size)
    blocks = [[int(name) for name in block] for block in together.blocks]
    correlations = plain_correlations(matrix)

    def within(layout: list[list[int]]) -> float:
        return float(sum(correlations[a, b] for block in layout for a in block for b in block if a < b))

    for a in range(7):
        for b in range(a):
            swap = {a: b, b: a}
            assert within([[swap.get(x, x) for x in block] for block in blocks]) <= within(blocks) + 1e-9
    # whole blocks come first, in order, and every block is in order
    assert [len(block) for block in blocks] == [size] * (7 // size) + [7 % size]
    assert all(block == sorted(block) for block in blocks)
    assert blocks[:-1] == sorted(blocks[:-1])


def test_the_means_are_those_of_the_pairs_within_and_across_blocks() -> None:
    matrix = np.random.default_rng(3).normal(size=(20, 5)) @ np.random.default_rng(4).normal(size=(5, 5))
    correlations = plain_correlations(matrix)
    for blocks in (correlated_blocks(matrix, list("01234"), 2), spread_blocks(matrix, list("01234"), 2)):
        block_of = {int(name): number for number, block in enumerate(blocks.blocks) for name in block}
        pairs = [(a, b) for a in range(5) for b in range(a)]
        within = [correlations[pair] for pair in pairs if block_of[pair[0]] == block_of[pair[1]]]
        between = [correlations[pair] for pair in pairs if block_of[pair[0]] != block_of[pair[1]]]
        assert (blocks.within, blocks.between) == pytest.approx((np.mean(within), np.mean(between)))
    alone = correlated_blocks(matrix, list("01234"), 1)
    assert np.isnan(alone.within)
    assert np.isnan(correlated_blocks(matrix, list("01234"), 5).between)


@pytest.mark.parametrize(
    ("data", "k", "linked"),
    [(circle_file(), 2, [50, 100]), (sphere_file(), 4, [15, 50, 100])],
    ids=["circle", "sphere"],
)
def test_correlated_blocks_of_the_files_change_nothing(data: Microdata, k: int, linked: list[float]) -> None:
    size = len(linked)
    blocks = correlated_blocks(values(data), data.names, size)
    release = MDAV(k=k, block=size).mask(data, blocks.order)
    assert values(release.data) == pytest.approx(values(data), abs=1e-12)
    assert IL().measure(data, release).value == pytest.approx(0, abs=1e-9)
    assert real_anonymity(release).average == 1.0
    assert IntervalDisclosure().assess(data, release).value == 100.0
    known = [DistanceLinkage().assess(data, release, [f"a{j + 1}" for j in range(t)]).value for t in range(1, size + 1)]
    assert known == pytest.approx(linked)
    assert np.mean(known) == pytest.approx({2: 75.0, 3: 55.0}[size])


@pytest.mark.parametrize(("data", "k"), [(circle_file(), 2), (sphere_file(), 4)], ids=["circle", "sphere"])
def test_spread_blocks_of_the_files_make_every_record_share_all_blocks(data: Microdata, k: int) -> None:
    size = {4: 2, 9: 3}[len(data.names)]
    blocks = spread_blocks(values(data), data.names, size)
    release = MDAV(k=k, block=size).mask(data, blocks.order)
    assert real_anonymity(release).average == k
    assert SSE().measure(data, release).value > 0


def test_numbers_that_agree_to_eight_decimals_look_alike() -> None:
    assert real_anonymity(np.array([[1.0], [1.0 + 4e-9]])).average == 2.0
    assert real_anonymity(np.array([[1.0], [1.0 + 6e-9]])).average == 1.0
    assert real_anonymity(Microdata.of({"a": [1.0, 1.0 + 6e-9]}), decimals=7).average == 2.0
