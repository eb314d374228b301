"""Models of how many units of a population are unique: populations drawn from them, and sums by hand."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nbinom

from microveil.numerics.statistics.superpopulation import MODELS, dankar, pitman, slide_negative_binomial, zayatz
from microveil.typing import IntArray


def sampled(sizes: IntArray, share: float, seed: int) -> tuple[IntArray, int, float]:
    """The sizes of the classes of a simple random sample; how many of its uniques are population uniques, and the
    number of its uniques."""
    rng = np.random.default_rng(seed)
    of_unit = np.repeat(np.arange(len(sizes)), sizes)
    drawn = np.bincount(rng.choice(of_unit, round(share * len(of_unit)), replace=False), minlength=len(sizes))
    return drawn[drawn > 0], int((sizes[drawn == 1] == 1).sum()), float((drawn == 1).sum())


def chinese_restaurant(alpha: float, theta: float, size: int, seed: int) -> IntArray:
    """A population drawn from Pitman's model, one unit after the other."""
    rng = np.random.default_rng(seed)
    seat, sizes, of_unit = rng.random((size, 2)), [1], [0]
    for n in range(1, size):
        new = (theta + alpha * len(sizes)) / (theta + n)
        if seat[n, 0] < new:
            of_unit.append(len(sizes))
            sizes.append(1)
            continue
        while True:  # a unit at random, kept with probability 1 - alpha / size, has a class with weight size - alpha
            chosen = of_unit[int(seat[n, 1] * n)]
            if rng.random() >= alpha / sizes[chosen]:
                break
            seat[n, 1] = rng.random()
        of_unit.append(chosen)
        sizes[chosen] += 1
    return np.array(sizes)


@pytest.mark.parametrize(("alpha", "theta"), [(0.3, 50.0), (0.6, 200.0), (0.0, 400.0)])
def test_pitman_finds_the_uniques_of_populations_drawn_from_the_model(alpha: float, theta: float) -> None:
    population = chinese_restaurant(alpha, theta, 20_000, 1)
    sizes, both, alone = sampled(population, 0.1, 2)
    found = pitman(sizes, 20_000.0)
    true = int((population == 1).sum())
    assert found.converged
    assert found.chance == pytest.approx(both / alone, abs=4 * (0.25 / alone) ** 0.5)
    assert found.population == pytest.approx(true, rel=0.25)


def test_the_uniques_pitman_expects_are_those_of_the_next_unit_being_new() -> None:
    """E(K_n) by recursion; a unit is alone as often as the last one is new."""
    sizes = np.array([1] * 40 + [2] * 15 + [3] * 6 + [5, 8, 13, 40])
    n, total = int(sizes.sum()), 1500
    found = pitman(sizes, float(total))
    assert found.population / total < 0.5
    # a population of the sample's size: the expected number of uniques is near the observed one, and all stay unique
    same = pitman(sizes, float(n))
    assert same.chance == pytest.approx(1.0)
    assert same.population == pytest.approx(40, rel=0.15)
    chances = [pitman(sizes, float(size)).chance for size in (n, 2 * n, 5 * n, 50 * n)]
    assert chances == sorted(chances, reverse=True)


@pytest.mark.parametrize(("r", "p"), [(0.5, 0.2), (2.0, 0.4), (1.0, 0.05)])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_the_slide_negative_binomial_finds_the_uniques_of_populations_drawn_from_it(
    r: float, p: float, share: float
) -> None:
    """One small sample says little, so the median of eleven is compared, by how much they vary."""
    population = 1 + np.random.default_rng(4).negative_binomial(r, p, 12_000)
    samples = [sampled(population, share, seed) for seed in range(11)]
    found = [slide_negative_binomial(sizes, float(population.sum())) for sizes, _, _ in samples]
    assert all(each.converged for each in found)
    uniques, chances = [each.population for each in found], [each.chance for each in found]
    assert np.median(uniques) == pytest.approx((population == 1).sum(), abs=4 * np.std(uniques) / 11**0.5)
    true = np.mean([both / alone for _, both, alone in samples])
    assert np.median(chances) == pytest.approx(true, abs=4 * np.std(chances) / 11**0.5)


def test_the_slide_negative_binomial_meets_its_three_equations() -> None:
    """The chance and the number of uniques by summation over the population's sizes, for known r, p and K."""
    r, p, rate, combinations = 1.5, 0.3, 0.2, 10_000
    size = np.arange(1, 400)
    mass = nbinom.pmf(size - 1, r, p)
    one = float((mass * size * rate * (1 - rate) ** (size - 1)).sum())
    several = [
        float((mass * np.array([comb(int(s), j) * rate**j * (1 - rate) ** max(int(s) - j, 0) for s in size])).sum())
        for j in range(2, 30)
    ]
    counts = np.round(combinations * np.array([one, *several])).astype(int)
    sizes = np.repeat(np.arange(1, 30), counts)
    found = slide_negative_binomial(sizes, combinations * float((mass * size).sum()))
    assert found.population == pytest.approx(combinations * p**r, rel=0.02)
    assert found.chance == pytest.approx(rate * p**r / one, rel=0.02)


@given(sizes=st.lists(st.integers(1, 6), min_size=2, max_size=12), beyond=st.integers(0, 40))
def test_zayatz_is_bayes_rule_with_hypergeometric_probabilities(sizes: list[int], beyond: int) -> None:
    n = sum(sizes)
    total = n + beyond
    found = zayatz(np.array(sizes), float(total))
    drawn = {j: j * comb(total - j, n - 1) / comb(total, n) if n - 1 <= total - j else 0.0 for j in set(sizes)}
    weight = sum(drawn[j] for j in sizes)
    expected = sizes.count(1) * drawn[1] / weight if 1 in sizes else 0.0
    assert found.chance == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert found.population == pytest.approx(sizes.count(1) * expected * total / n, rel=1e-8)


def test_the_rule_takes_pitman_for_small_samples_and_the_smaller_of_the_others_for_large_ones() -> None:
    population = 1 + np.random.default_rng(1).negative_binomial(0.5, 0.1, 4000)
    total = float(population.sum())
    few = sampled(population, 0.05, 1)[0]
    assert dankar(few, total) == pitman(few, total)
    many = sampled(population, 0.5, 1)[0]
    both = [slide_negative_binomial(many, total), zayatz(many, total)]
    assert dankar(many, total) == min(both, key=lambda found: found.population)


def test_a_model_that_does_not_converge_says_so_and_the_rule_goes_on() -> None:
    sizes = np.ones(30, dtype=np.int64)  # nothing but uniques: any number of classes is possible
    assert not pitman(sizes, 1000.0).converged
    assert not slide_negative_binomial(sizes, 100.0).converged
    for total in (100.0, 1000.0):
        assert dankar(sizes, total) == zayatz(sizes, total)


def test_without_sample_uniques_no_model_expects_any() -> None:
    for model in MODELS.values():
        found = model(np.array([2, 2, 5]), 90.0)
        assert (found.chance, found.population, found.converged) == (0.0, 0.0, True)
