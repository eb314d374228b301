"""Log-linear models of the population behind a sample: truth by simulation, and what a release gives away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest

import microveil as mv
from microveil.attacks.population.log_linear import LogLinearRisk
from microveil.errors import DataError, ParameterError
from microveil.microdata import Microdata

Cells = dict[str, list[object]]
SMALL = {"sex": ["f", "f", "m", "m", "m"], "job": ["cook", "cook", "cook", "cook", "judge"]}


def drawn(population: Cells, share: float, seed: int) -> tuple[Cells, float, float, int]:
    """A sample, with the true number of sample uniques that are population uniques, and sum of 1/F over uniques."""
    size = len(next(iter(population.values())))
    rows = np.sort(np.random.default_rng(seed).choice(size, round(share * size), replace=False))
    sample = {name: [values[i] for i in rows] for name, values in population.items()}
    held, found = (Counter(zip(*cells.values(), strict=True)) for cells in (population, sample))
    alone = [held[key] for key, count in found.items() if count == 1]
    return sample, float(sum(count == 1 for count in alone)), sum(1 / count for count in alone), len(alone)


def independent(seed: int, size: int = 20_000) -> Cells:
    rng = np.random.default_rng(seed)
    sizes = (12, 10, 8, 5)
    return {
        name: rng.choice(k, size, p=rng.dirichlet(np.full(k, 0.7))).tolist()
        for name, k in zip("abcd", sizes, strict=True)
    }


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_of_independent_attributes_both_measures_are_found(share: float) -> None:
    """Each estimate is a sum of chances, so its error has at most the variance of as many trials."""
    for seed in range(3):
        sample, tau1, tau2, uniques = drawn(independent(seed), share, seed)
        found = mv.log_linear_risk(sample, population=20_000, model="independence")
        assert found.uniques == uniques
        assert found.tau1 == pytest.approx(tau1, abs=4 * found.tau1**0.5)
        assert found.tau2 == pytest.approx(tau2, abs=4 * found.tau2**0.5)
        assert max(map(abs, found.standardised)) < 3


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("adult", ("age", "sex", "race", "education", "marital-status")),
        ("eusilc", ("db040", "hsize", "age", "rb090", "pb220a")),
        ("testdata", ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")),
    ],
)
def test_of_real_populations_none_overestimate_all_underestimate_and_stepwise_is_near(
    name: str, keys: tuple[str, ...], reference: Callable[..., Microdata]
) -> None:
    table = reference(name, keys)
    population: Cells = {key: table.arrow(key).to_pylist() for key in keys}
    sample, _, tau2, uniques = drawn(population, 0.1, 1)
    found = {
        model: mv.log_linear_risk(sample, list(keys), population=len(table), model=model)
        for model in ("independence", "stepwise", "two-way")
    }
    assert found["independence"].tau2 > tau2 > found["two-way"].tau2  # too few overestimate, too many underestimate
    assert found["independence"].standardised[1] > 2
    assert found["two-way"].standardised[1] < -1.9
    chosen = found["stepwise"]
    assert chosen.uniques == uniques
    assert chosen.tau2 == pytest.approx(tau2, rel=0.15)
    assert abs(chosen.standardised[1]) < 1


def test_where_combinations_vary_about_the_model_the_negative_binomial_form_is_nearer() -> None:
    rng = np.random.default_rng(5)
    cells = np.einsum("i,j,k->ijk", *(rng.dirichlet(np.full(size, 2.0)) for size in (14, 12, 10)))
    counts = rng.poisson(20_000 * cells * rng.gamma(0.6, 1 / 0.6, cells.shape))
    codes = np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0)
    population: Cells = {name: column.tolist() for name, column in zip("abc", codes.T, strict=True)}
    sample, tau1, tau2, _ = drawn(population, 0.1, 1)
    form = {
        name: mv.log_linear_risk(sample, population=len(codes), model="independence", distribution=name)
        for name in ("poisson", "negative-binomial")
    }
    assert form["negative-binomial"].shape == pytest.approx(0.6, rel=0.25)
    assert abs(form["negative-binomial"].tau2 - tau2) < abs(form["poisson"].tau2 - tau2)
    assert form["negative-binomial"].tau1 == pytest.approx(tau1, abs=4 * max(tau1, 1.0) ** 0.5)


def test_records_sampled_at_unequal_rates_are_weighted() -> None:
    """One sex sampled at 20 %, the other at 4 %: with the weights the measures are found."""
    population = independent(9, 30_000)
    rng = np.random.default_rng(2)
    rates = np.where(np.array(population["d"]) == 0, 0.2, 0.04)
    rows = np.flatnonzero(rng.random(30_000) < rates)
    held = Counter(zip(*population.values(), strict=True))
    sample: Cells = {name: [values[i] for i in rows] for name, values in population.items()}
    found = Counter(zip(*sample.values(), strict=True))
    true = sum(1 / held[key] for key, count in found.items() if count == 1)
    data = Microdata.of({**sample, "w": (1 / rates[rows]).tolist()}, weight="w", keys=list("abcd"))
    estimate = mv.log_linear_risk(data, model="independence")
    assert estimate.tau2 == pytest.approx(true, abs=4 * true**0.5)


def test_by_hand_two_attributes_without_interaction() -> None:
    found = mv.log_linear_risk(SMALL, ["sex", "job"], fraction=0.2, model="independence")
    unseen = 0.8 * 25 * 3 / 5 * 1 / 5  # of the judge
    assert (found.uniques, found.interactions, found.shape) == (1, (), None)
    assert found.tau1 == pytest.approx(np.exp(-unseen))
    assert found.tau2 == pytest.approx((1 - np.exp(-unseen)) / unseen)
    assert found.unique.tolist() == [0, 0, 0, 0, found.tau1]


def test_where_the_file_is_the_population_the_risk_is_one_over_the_frequency() -> None:
    data = Microdata.of(SMALL)
    for distribution in ("poisson", "negative-binomial"):
        risk = LogLinearRisk(distribution=distribution).assess(data, data, ["sex", "job"])  # type: ignore[arg-type]
        assert risk.per_record == pytest.approx([0.5, 0.5, 0.5, 0.5, 1.0])
        assert risk.counters == pytest.approx({"unique": 20.0, "tau1": 20.0, "tau2": 20.0, "population-unique": 100.0})


def test_an_interaction_that_is_named_makes_its_combinations_as_frequent_as_they_are() -> None:
    found = mv.log_linear_risk(SMALL, ["sex", "job"], fraction=0.2, interactions=["sex*job"])
    unseen = 0.8 * 25 / 5
    assert found.interactions == ("sex*job",)
    assert found.tau1 == pytest.approx(np.exp(-unseen))
    both = mv.log_linear_risk(SMALL, ["sex", "job"], fraction=0.2, model="two-way")
    assert both.tau1 == pytest.approx(found.tau1)


def shown(risk: mv.Risk) -> list[float]:
    return [risk.value, *risk.counters.values()]


def test_keys_left_alone_are_found_in_another_order_and_with_other_labels() -> None:
    sample, *_ = drawn(independent(1, 4000), 0.1, 1)
    cells: Cells = {name: [f"v{value}" for value in values] for name, values in sample.items()}
    data = Microdata.of(cells)
    attack = LogLinearRisk(population=4000)
    plain = attack.assess(data, data, list("abcd"))
    order = np.random.default_rng(1).permutation(len(data))
    assert shown(attack.assess(data, data.take(order), list("abcd"))) == pytest.approx(shown(plain))
    relabelled = Microdata.of(
        {name: [f"label {str(value)[::-1]}" for value in values] for name, values in cells.items()}
    )
    assert attack.assess(data, relabelled, list("abcd")).value == pytest.approx(plain.value, rel=0.1)


def test_keys_that_masking_left_alone_find_people_whatever_it_did_to_others() -> None:
    sample, *_ = drawn(independent(2, 4000), 0.1, 1)
    data = Microdata.of(sample)
    rng = np.random.default_rng(4)
    release = Microdata.of({**sample, "d": rng.integers(100, 200, len(data)).tolist()})
    attack = LogLinearRisk(population=4000, model="independence")
    assert attack.assess(data, release, list("abcd")).value >= attack.assess(data, data, list("abc")).value > 0


def test_a_record_whose_own_combination_no_longer_agrees_is_not_found() -> None:
    before, after = Microdata.of({"job": ["cook", "judge", "cook"]}), Microdata.of({"job": ["judge", "cook", "cook"]})
    assert LogLinearRisk(fraction=0.5).assess(before, after, ["job"]).per_record.round(6).tolist()[:2] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"population": 5, "fraction": 0.5}, "not both"),
        ({"fraction": 0.0}, "fraction"),
        ({"model": "saturated"}, "model"),
        ({"cells": 0}, "cells"),
        ({"distribution": "normal"}, "distribution"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=rf"log-linear-risk.*{words}"):
        LogLinearRisk(**parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize("interactions", [["sex"], ["sex*sex"], ["sex*job*age"], ["sex*jobb"]])
def test_interactions_are_two_different_known_attributes(interactions: Sequence[str]) -> None:
    with pytest.raises(ParameterError, match=r"log-linear-risk.*interactions"):
        mv.log_linear_risk(SMALL, ["sex", "job"], interactions=interactions)


def test_a_table_that_is_too_large_is_refused_with_what_to_do() -> None:
    data: Cells = {name: list(range(40)) for name in "abc"}
    with pytest.raises(DataError, match=r"a, b, c.*64,000 combinations.*recode"):
        mv.log_linear_risk(data, population=1000, model="two-way", cells=10_000)
    assert mv.log_linear_risk(data, population=1000, cells=10).interactions == ()


def test_weights_below_zero_are_refused() -> None:
    data = Microdata.of({"a": [1, 2], "w": [1.0, -1.0]}, weight="w", keys=["a"])
    with pytest.raises(DataError, match="below 0"):
        mv.log_linear_risk(data)
