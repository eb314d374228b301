"""Survey estimates and their standard errors, against the textbook's formulas worked out record by record."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError
from microveil.losses.analytical.estimates import SurveyEstimates
from microveil.losses.analytical.validity import Validity
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.numerics.statistics.survey_estimates import Design


def _error_by_units(contributions: np.ndarray, strata: np.ndarray, units: np.ndarray) -> float:
    """The root of sum_h n_h / (n_h - 1) sum_u (z_u - mean_h)^2 over the units u of the strata h."""
    pairs = sorted(set(zip(strata.tolist(), units.tolist(), strict=True)))
    sums = {pair: contributions[(strata == pair[0]) & (units == pair[1])].sum() for pair in pairs}
    everyone = np.mean(list(sums.values()))
    variance = 0.0
    for stratum in set(strata.tolist()):
        z = np.array([total for (h, _), total in sums.items() if h == stratum])
        variance += ((z - z.mean()) ** 2).sum() * len(z) / (len(z) - 1) if len(z) > 1 else (z[0] - everyone) ** 2
    return float(np.sqrt(variance))


@settings(max_examples=60, deadline=None)
@given(n=st.integers(2, 40), strata=st.integers(1, 4), units=st.integers(1, 12), seed=st.integers(0, 9999))
def test_standard_errors_are_those_of_stratified_units(n: int, strata: int, units: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    h, u = rng.integers(0, strata, n), rng.integers(0, units, n)
    w, y, code = rng.uniform(0.5, 5, n), rng.normal(size=n), rng.integers(0, 3, n)
    inside = rng.random(n) < 0.8
    design = Design.of(w, h, u).within(np.flatnonzero(inside))
    mean, total = design.mean_and_total(y[inside])
    wi = w * inside
    held = wi.sum()
    if held == 0:
        assert mean.values[0] == total.values[0] == 0
        return
    average = (wi * y).sum() / held
    assert mean.values[0] == pytest.approx(average)
    assert mean.errors[0] == pytest.approx(_error_by_units(wi * (y - average), h, u) / held, abs=1e-9)
    assert total.errors[0] == pytest.approx(_error_by_units(wi * y, h, u), abs=1e-9)
    found = design.proportions(code[inside], 3)
    for c in range(3):
        share = wi[code == c].sum() / held
        assert found.values[c] == pytest.approx(share)
        expected = _error_by_units(wi * ((code == c) - share), h, u) / held
        assert found.errors[c] == pytest.approx(expected, abs=1e-6)


def test_without_a_design_the_error_of_a_mean_is_that_of_a_simple_sample() -> None:
    y = np.random.default_rng(1).normal(size=50)
    mean, total = Design.of(np.ones(50)).mean_and_total(y)
    assert mean.errors[0] == pytest.approx(y.std(ddof=1) / np.sqrt(50))
    assert total.errors[0] == pytest.approx(y.std(ddof=1) * np.sqrt(50))


def test_the_error_is_the_spread_of_estimates_over_samples() -> None:
    """Households drawn again and again from strata of a population: squared errors are unbiased for the variance.

    The mean is that of two stratum means of 20 households each, drawn with replacement, so its variance is a quarter of
    the sum of the variances of the household means over 20. Both checks allow five standard errors.
    """
    rng = np.random.default_rng(8)
    households, size = 400, 3
    stratum = np.repeat(np.arange(2), households // 2)
    level = rng.normal(size=households) + 2 * stratum
    pays = level[:, None] + 0.5 * rng.normal(size=(households, size))
    estimates, errors = [], []
    for _ in range(300):
        drawn = np.concatenate([rng.choice(np.flatnonzero(stratum == h), 20) for h in (0, 1)])
        y = pays[drawn].reshape(-1)
        units, strata = np.repeat(np.arange(len(drawn)), size), np.repeat(stratum[drawn], size)
        mean, _ = Design.of(np.full(len(y), 10.0), strata, units).mean_and_total(y)
        estimates.append(mean.values[0])
        errors.append(mean.errors[0])
    variance = sum(pays[stratum == h].mean(axis=1).var() / 20 for h in (0, 1)) / 4
    squares = np.square(errors)
    assert squares.mean() == pytest.approx(variance, abs=5 * squares.std(ddof=1) / np.sqrt(300))
    moved = (np.array(estimates) - pays.mean()) ** 2
    assert moved.mean() == pytest.approx(variance, abs=5 * moved.std(ddof=1) / np.sqrt(300))


def test_weights_strata_and_households_come_from_the_schema() -> None:
    people = survey(1000, seed=4)
    income = people.numbers("expenditure").values
    present = ~np.isnan(income)
    weights = people.numbers("weight").values
    region, household = people.categories("region").codes, people.categories("household").codes
    average = (weights * income)[present].sum() / weights[present].sum()
    residual = np.where(present, weights * (np.nan_to_num(income) - average), 0.0)
    error = _error_by_units(residual, region, household) / weights[present].sum()
    shifted = people.with_columns({"expenditure": people.number_column("expenditure", income + error)})
    loss = SurveyEstimates().measure(people, shifted, ["expenditure"])
    # a shift by one standard error leaves 1 - 1 / (2 * 1.96) of both intervals in common
    assert loss.details["means"] == pytest.approx(100 / (2 * 1.959964), rel=1e-3)


def test_several_attributes_with_the_role_stratum_make_strata_together() -> None:
    rng = np.random.default_rng(3)
    area, size = rng.integers(0, 3, 60), rng.integers(0, 2, 60)
    pay = 5.0 * area + 9 * size + rng.normal(size=60)
    crossed = Microdata.of({"pay": pay, "area": area, "size": size, "both": 2 * area + size})
    changed = Microdata.of({"pay": pay + 0.1})
    found = []
    for names in (("area", "size"), ("size", "area"), ("both",), ("area",)):
        roles = [crossed[name].changed(kind="nominal", roles=("stratum",)) for name in names]
        people = crossed.with_schema(crossed.schema.replacing(*roles))
        found.append(SurveyEstimates().measure(people, changed, ["pay"]).value)
    assert found[0] == found[1] == pytest.approx(found[2])
    assert found[3] < found[2] - 1  # within the areas pay varies by size, so that the error is larger


def test_the_weights_of_a_release_are_its_own_where_it_has_them() -> None:
    ages, ones = [1.0, 2.0, 3.0, 6.0], [1.0] * 4
    people = Microdata.of({"age": ages, "w": ones}, keys=["age"], weight="w")
    error = np.std(ages, ddof=1) / 2
    other_weights = Microdata.of({"age": ages, "w": [0.0, 0.0, 0.0, 4.0]})
    # the mean moves from 3 to 6 and the total from 12 to 24
    moved = SurveyEstimates().measure(people, other_weights, ["age"]).details["standardised_difference"]
    assert moved == pytest.approx(3 / error)
    without = Microdata.of({"age": [a + 1 for a in ages]})
    moved = SurveyEstimates().measure(people, without, ["age"]).details["standardised_difference"]
    assert moved == pytest.approx(1 / error)


def test_proportions_and_sub_domains() -> None:
    sex = ["f", "m"] * 50
    job = (["cook"] * 60) + (["smith"] * 40)
    people = Microdata.of({"sex": sex, "job": job})
    other = Microdata.of({"sex": sex, "job": ["smith"] * 50 + ["cook"] * 50})
    loss = SurveyEstimates().measure(people, other, ["job"])
    one, two = (np.sqrt(p * (1 - p) / 99) for p in (0.6, 0.5))
    common = (0.5 + 1.959964 * two) - (0.6 - 1.959964 * one)
    expected = 1 - (common / (2 * 1.959964 * one) + common / (2 * 1.959964 * two)) / 2
    assert loss.value == pytest.approx(100 * expected, rel=1e-6)
    # in all, nothing changes when men and women change jobs with each other; by sex it does
    crossed = Microdata.of({"sex": sex, "job": ["cook"] * 50 + ["smith"] * 50})
    turned = Microdata.of({"sex": sex, "job": ["smith"] * 50 + ["cook"] * 50})
    assert SurveyEstimates().measure(crossed, turned, ["job"]).value == 0
    by_sex = Microdata.of({"sex": sex, "job": ["cook", "smith"] * 50})
    swapped = Microdata.of({"sex": sex, "job": ["smith", "cook"] * 50})
    assert SurveyEstimates().measure(by_sex, swapped, ["job"]).value == 0
    assert SurveyEstimates(by="sex").measure(by_sex, swapped, ["job"]).value == 100


def test_a_category_that_is_gone_is_lost_and_one_that_never_was_does_not_count() -> None:
    from microveil.microdata.schema import Attribute, Schema

    schema = Schema([Attribute(name="job", kind="nominal", domain=("cook", "smith", "king"))])
    people = Microdata.of({"job": ["cook", "smith"] * 50}, schema)
    loss = SurveyEstimates().measure(people, Microdata.of({"job": ["cook"] * 100}, schema), ["job"])
    assert loss.value == 100


def test_bad_weights_and_sub_domains_are_refused() -> None:
    people = Microdata.of({"age": [1.0, 2.0], "w": [1.0, -1.0]}, keys=["age"], weight="w")
    with pytest.raises(DataError, match="weight 'w' must be a number of at least 0"):
        SurveyEstimates().measure(people, people)
    nobody = Microdata.of({"age": [1.0, 2.0], "w": [0.0, 0.0]}, keys=["age"], weight="w")
    with pytest.raises(DataError, match="not all 0"):
        SurveyEstimates().measure(nobody, nobody)
    plain = Microdata.of({"age": [1.0, 2.0], "job": ["a", "b"]})
    with pytest.raises(DataError, match="'age' is numeric"):
        SurveyEstimates(by="age").measure(plain, plain, ["job"])
    with pytest.raises(DataError, match="no column 'job'"):
        SurveyEstimates(by="job").measure(plain, plain.select(["age"]), ["age"])


def test_estimates_of_which_no_record_is_left_are_lost_whole() -> None:
    rng = np.random.default_rng(1)
    age, job = rng.normal(size=200), np.array(["cook", "smith"])[rng.integers(0, 2, 200)]
    people = Microdata.of({"age": age, "job": job})
    nothing = Microdata.of({"age": np.full(200, np.nan), "job": np.full(200, None)}, people.schema)
    loss = SurveyEstimates().measure(people, nothing, ["age", "job"])
    assert loss.per_attribute == {"age": 100, "job": 100}
    assert loss.details["means"] == loss.details["totals"] == loss.details["proportions"] == 100
    # one of two sub-domains is gone: its half of the means and totals
    cooks = Microdata.of({"age": np.where(job == "cook", age, np.nan), "job": job})
    assert SurveyEstimates(by="job").measure(people, cooks, ["age"]).value == pytest.approx(50)
    # what the original does not have cannot be lost
    assert SurveyEstimates().measure(nothing, nothing, ["age"]).value == 0


@settings(max_examples=30, deadline=None)
@given(strata=st.integers(1, 5), units=st.integers(1, 15), seed=st.integers(0, 9999))
def test_estimates_of_sub_domains_are_those_of_records_outside_counted_as_0(strata: int, units: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    h, u, w, y = rng.integers(0, strata, 40), rng.integers(0, units, 40), rng.uniform(0.5, 5, 40), rng.normal(size=40)
    domain = rng.integers(0, 4, 40)
    design = Design.of(w, h, u)
    for d in np.unique(domain):
        rows = np.flatnonzero(domain == d)
        _, total = design.within(rows).mean_and_total(y[rows])
        _, zeros = design.mean_and_total(np.where(domain == d, y, 0.0))
        assert total.values == pytest.approx(zeros.values)
        assert total.errors == pytest.approx(zeros.errors)


def test_many_sub_domains_of_a_long_table_take_a_moment_and_little_memory() -> None:
    rng = np.random.default_rng(1)
    x, place = rng.normal(size=40_000), rng.integers(0, 500, 40_000)
    people, masked = (Microdata.of({"x": c, "zip": place}, nominal=["zip"]) for c in (x, x + 0.1))
    measures = SurveyEstimates(by="zip"), Validity(subdomains=("zip",))
    tracemalloc.start()
    for measure in measures:
        assert measure.measure(people, masked, ["x"]).value > 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # masks for each of the categories would be 40 MB
