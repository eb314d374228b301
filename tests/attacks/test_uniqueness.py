"""Uniqueness in a file, in the population it is a sample of, and after masking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nbinom

from microveil.attacks.uniqueness import Uniqueness, unique_in_both
from microveil.errors import ParameterError
from microveil.masking.randomising.noise import Noise
from microveil.microdata import Microdata
from microveil.numerics.counting.individual_risk import expected_inverse

FILE = {"sex": ["f", "f", "m", "m", "m", "f"], "job": ["cook", "cook", "cook", "cook", "judge", "judge"]}


@pytest.mark.spec("01:DR-3")
def test_the_risk_of_a_record_in_a_population_is_one_over_its_frequency() -> None:
    data = Microdata.of(FILE)
    risk = Uniqueness().assess(data, data, ["sex", "job"])
    assert risk.per_record.tolist() == [0.5, 0.5, 0.5, 0.5, 1.0, 1.0]
    assert risk.counters["unique"] == pytest.approx(100 / 3)
    assert (risk.counters["still-unique"], risk.counters["population-unique"]) == (100.0, 100.0)
    # the re-identifications to expect: one of each combination
    assert risk.value / 100 * len(data) == pytest.approx(4)


@pytest.mark.spec("01:DR-3")
def test_in_a_sample_the_weights_estimate_the_population() -> None:
    data = Microdata.of({**FILE, "w": [10.0, 30.0, 5.0, 5.0, 20.0, 1.0]}, weight="w", keys=["sex", "job"])
    ratio = Uniqueness(estimate="ratio").assess(data, data)
    assert ratio.per_record == pytest.approx([1 / 40, 1 / 40, 1 / 10, 1 / 10, 1 / 20, 1.0])
    risk = Uniqueness().assess(data, data)
    p, q = 1 / 20, 19 / 20
    assert risk.per_record[4] == pytest.approx(p / q * np.log(1 / p))
    p, q = 2 / 10, 8 / 10
    assert risk.per_record[2] == pytest.approx(p / q - (p / q) ** 2 * np.log(1 / p))
    assert risk.counters["population-unique"] == pytest.approx(100 * (1 / 20 + 1) / 2)
    assert Uniqueness(estimate="none").assess(data, data).per_record[4] == 1.0


@pytest.mark.spec("01:DR-3")
def test_the_size_of_the_population_does_where_there_are_no_weights() -> None:
    data = Microdata.of(FILE)
    ratio = Uniqueness(estimate="ratio", population=60).assess(data, data, ["sex", "job"])
    assert ratio.per_record == pytest.approx([1 / 20] * 4 + [1 / 10] * 2)
    smaller = Uniqueness(estimate="ratio", population=3).assess(data, data, ["sex", "job"])
    assert smaller.per_record.max() == 1.0


@pytest.mark.spec("01:DR-3")
@settings(max_examples=60, deadline=None)
@given(sampled=st.integers(1, 60), rate=st.floats(0.02, 1.0))
def test_the_individual_risk_is_the_mean_of_the_negative_binomial(sampled: int, rate: float) -> None:
    population = np.arange(sampled, sampled + 20_000)
    exact = float((nbinom.pmf(population - sampled, sampled, rate) / population).sum())
    assert expected_inverse(sampled, rate) == pytest.approx(exact, rel=1e-9)


def test_the_individual_risk_falls_with_the_frequency_and_the_rate() -> None:
    assert (np.diff(expected_inverse(np.arange(1, 40), 0.1)) < 0).all()
    assert (np.diff(expected_inverse(3, np.linspace(0.001, 1, 50))) > 0).all()
    assert expected_inverse([1, 5], [1.0, 0.0]).tolist() == [1.0, 0.0]
    assert np.isfinite(expected_inverse(100_000, 1e-6))


@pytest.mark.spec("01:DR-3")
def test_uniques_of_a_sample_against_the_population_at_hand() -> None:
    population = {"job": ["cook", "cook", "judge", "baker", "baker", "smith"], "sex": ["f", "m", "f", "f", "f", "m"]}
    sample = {name: [values[i] for i in (0, 3, 5)] for name, values in population.items()}
    assert unique_in_both(sample, population, ["job"]) == pytest.approx(100 / 3)  # cook and baker are not alone
    assert unique_in_both(sample, population, ["job", "sex"]) == pytest.approx(200 / 3)
    assert unique_in_both({"job": ["cook", "cook"]}, population, ["job"]) == 0.0


@pytest.mark.spec("01:DR-3")
def test_a_masked_record_is_found_only_if_it_still_agrees() -> None:
    before = Microdata.of({"job": ["cook", "judge", "baker", "baker"]})
    after = Microdata.of({"job": ["judge", "cook", "baker", "smith"]})
    risk = Uniqueness().assess(before, after, ["job"])
    assert risk.per_record.tolist() == [0.0, 0.0, 1.0, 0.0]
    assert risk.counters["unique"] == 100.0
    # unique in both files: the released records of the first two persons only
    assert risk.counters["still-unique"] == 50.0


def test_a_wildcard_agrees_with_everything() -> None:
    before = Microdata.of({"job": ["cook", "judge", "baker"]})
    after = Microdata.of({"job": ["cook", None, "baker"]})
    wild = [
        data.with_schema(data.schema.replacing(data["job"].changed(missing="wildcard"))) for data in (before, after)
    ]
    assert Uniqueness().assess(*wild, ["job"]).per_record == pytest.approx([0.5, 1.0, 0.5])


def test_records_that_only_wildcards_hide_are_counted_as_unique_without_them() -> None:
    data = Microdata.of({"job": ["cook", None, "baker", "baker"]})
    wild = data.with_schema(data.schema.replacing(data["job"].changed(missing="wildcard")))
    counters = Uniqueness().assess(wild, wild, ["job"]).counters
    assert (counters["unique"], counters["unique-without-wildcards"]) == (0.0, 50.0)


def test_masked_numbers_are_compared_by_parts_of_the_file() -> None:
    data = Microdata.of({"income": np.arange(100.0), "age": np.arange(100.0) % 10})
    release = Noise(alpha=0.001).mask(data, ["income"], seed=1)
    assert Uniqueness().assess(data, data, ["income"]).value == 100.0
    rough = Uniqueness(classes=4).assess(data, release, ["income"])
    assert 2 < rough.value < 5  # about 25 records in each part
    assert Uniqueness().assess(data, release, ["age"]).value == pytest.approx(10)


def test_the_order_of_the_records_plays_no_part() -> None:
    rng = np.random.default_rng(1)
    data = Microdata.of({"a": rng.integers(0, 9, 80), "b": rng.choice(list("xyz"), 80)})
    release = Noise(alpha=0.5).mask(data, ["a"], seed=1).data
    order = rng.permutation(80)
    risks = (
        Uniqueness().assess(data, release, ["a", "b"]),
        Uniqueness().assess(data.take(order), release.take(order), ["a", "b"]),
    )
    assert risks[1].per_record.tolist() == risks[0].per_record[order].tolist()
    assert risks[1].to_plain() == risks[0].to_plain()


@pytest.mark.parametrize("parameters", [{"population": 0}, {"classes": 0}, {"estimate": "guess"}])
def test_wrong_parameters_are_refused(parameters: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="uniqueness"):
        Uniqueness(**parameters)  # type: ignore[arg-type]


def test_where_no_record_is_unique_none_is_expected_to_be_unique_in_the_population() -> None:
    data = Microdata.of({"sex": ["f", "f", "m", "m"]})
    counters = Uniqueness().assess(data, data, ["sex"]).counters
    assert counters == {"unique": 0.0, "still-unique": 0.0, "population-unique": 0.0}
