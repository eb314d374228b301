"""Joint counts of two attributes, and their chi-square, against an example computed independently."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from microveil.errors import DataError, ParameterError, UnknownNameError
from microveil.losses.categorical.association import BivariateCounts, ChiSquare
from microveil.losses.categorical.tables import CTBIL
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata
from microveil.numerics.counting.contingency import Cells


def table(counts: list[list[int]]) -> Microdata:
    cells = [(x, z) for x, row in enumerate(counts) for z, count in enumerate(row) for _ in range(count)]
    x, z = zip(*cells, strict=True)
    return Microdata.of({"x": x, "z": z}, nominal=["x", "z"])


ORIGINAL, PERTURBED = table([[10, 20], [30, 40]]), table([[15, 18], [25, 42]])


@pytest.mark.spec("05:IL-06")
def test_the_joint_counts_of_the_example() -> None:
    loss = BivariateCounts(crossed_with=("z",)).measure(ORIGINAL, PERTURBED, ["x"])
    assert loss.value == pytest.approx(7.0)
    assert loss.details["pairs"] == 1
    assert BivariateCounts().measure(ORIGINAL, PERTURBED, ["x", "z"]).value == pytest.approx(7.0)
    assert BivariateCounts().measure(ORIGINAL, PERTURBED, ["x"]).value == pytest.approx(7.0)  # with all others


@pytest.mark.spec("05:IL-07")
def test_the_chi_square_of_the_example() -> None:
    codes = [[data.categories(name).codes for name in ("x", "z")] for data in (ORIGINAL, PERTURBED)]
    assert [Cells.of([list(both)]).chi_squares[0] for both in codes] == pytest.approx([0.793651, 0.610583], abs=5e-7)
    loss = ChiSquare(crossed_with=("z",)).measure(ORIGINAL, PERTURBED, ["x"])
    assert loss.value == pytest.approx(23.0665, abs=5e-5)
    assert loss.per_attribute == pytest.approx({"x": 23.0665}, abs=5e-5)


@pytest.mark.spec("05:IL-07")
def test_chi_square_is_that_of_pearson_without_empty_rows() -> None:
    rng = np.random.default_rng(3)
    one, other = rng.integers(0, 7, 400), rng.integers(0, 5, 400)
    one[one == 4] = 0
    counts = np.zeros((7, 5))
    np.add.at(counts, (one, other), 1)
    known = chi2_contingency(counts[counts.sum(axis=1) > 0], correction=False).statistic
    assert Cells.of([[one, other]]).chi_squares == pytest.approx([known])


def test_what_was_not_associated_is_left_out_and_counted() -> None:
    before = Microdata.of({"a": list("xxyy"), "b": list("pqpq"), "c": list("ssst")})
    after = Microdata.of({"a": list("xxyy"), "b": list("ppqq"), "c": list("ssst")})
    loss = ChiSquare().measure(before, after, ["a", "b", "c"])
    assert loss.details == {"pairs": 3.0, "undefined": 1.0}
    assert ChiSquare().measure(before, before, ["a", "b"]).value == 0
    with pytest.raises(DataError, match="a and b are not associated in the original"):
        ChiSquare().measure(before, after, ["a", "b"])


def test_the_joint_counts_are_a_part_of_ctbil() -> None:
    data = table([[5, 9, 2], [8, 3, 3]])
    release = PRAM(p=0.6).mask(data, ["x", "z"], seed=2)
    singles, both = (CTBIL(dimension=d).measure(data, release).details["ctbil"] for d in (1, 2))
    assert BivariateCounts().measure(data, release).value == pytest.approx(100 * (both - singles) / (2 * len(data)))


def test_an_attribute_alone_in_its_table_is_measured_by_its_own_counts() -> None:
    before, after = Microdata.of({"a": list("xxyy")}), Microdata.of({"a": list("xyyy")})
    assert BivariateCounts().measure(before, after, ["a"]).value == 25


def test_attributes_to_cross_with_must_be_categorical_and_released() -> None:
    data = Microdata.of({"a": list("xxyy"), "b": list("pqpq"), "n": [0.5, 1.5, 2.5, 3.5]})
    with pytest.raises(DataError, match="'n' is numeric"):
        ChiSquare(crossed_with=("n",)).measure(data, data, ["a"])
    with pytest.raises(ParameterError, match="'b', which was not released"):
        BivariateCounts(crossed_with=("b",)).measure(data, data.select(["a"]), ["a"])
    with pytest.raises(UnknownNameError, match="'zz'"):
        ChiSquare(crossed_with=("zz",)).measure(data, data, ["a"])


@pytest.mark.parametrize("measure", [BivariateCounts(), ChiSquare()], ids=lambda m: m.name)
@pytest.mark.parametrize("seed", range(3))
def test_more_exchanges_weaken_a_strong_association_more(measure: BivariateCounts | ChiSquare, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, 1500)
    data = Microdata.of(
        {"a": a, "b": np.where(rng.random(1500) < 0.8, a, rng.integers(0, 4, 1500))}, nominal=["a", "b"]
    )
    releases = [PRAM(p=p, matrix="proportional").mask(data, ["a", "b"], seed=seed) for p in (1.0, 0.95, 0.8, 0.5)]
    values = [measure.measure(data, release).value for release in releases]
    assert values[0] == 0
    assert values == sorted(set(values))


def test_pairs_without_association_in_either_table_lose_nothing() -> None:
    """Sex tells nothing of being ill, and job tells it all."""
    before = Microdata.of({"sex": list("ffmm"), "ill": list("ynyn"), "job": list("abab")})
    found = ChiSquare(crossed_with=("ill",)).measure(before, before, ["sex", "job"])
    assert (found.raw, found.details) == (0.0, {"pairs": 2.0, "undefined": 0.0})
    assert found.per_attribute == {"sex": 0.0, "job": 0.0}
    with pytest.raises(ParameterError, match="crossed_with"):
        ChiSquare(crossed_with=())


def test_an_association_that_only_the_release_has_is_undefined() -> None:
    before = Microdata.of({"sex": list("ffmm"), "ill": list("ynyn"), "job": list("abab")})
    after = Microdata.of({"sex": list("fmfm"), "ill": list("ynyn"), "job": list("abab")})
    found = ChiSquare(crossed_with=("ill",)).measure(before, after, ["sex", "job"])
    assert (found.raw, found.details) == (0.0, {"pairs": 2.0, "undefined": 1.0})
    with pytest.raises(DataError, match="sex and ill are not associated in the original"):
        ChiSquare(crossed_with=("ill",)).measure(before, after, ["sex"])
