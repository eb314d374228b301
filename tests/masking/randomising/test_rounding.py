"""Rounding: nearest, random without bias, controlled with the sum kept, and bases chosen from the data."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from microveil.errors import DataError, ParameterError
from microveil.masking.randomising.rounding import Rounding
from microveil.microdata import Microdata
from microveil.numerics.perturbing.rounding import round_to_base

numbers = arrays(np.float64, st.integers(2, 60), elements=st.floats(-1e6, 1e6).map(lambda x: round(x, 3)))


def rounded(values: object, seed: int = 1, **parameters: object) -> list[float]:
    return Rounding(**parameters).mask(Microdata.of({"x": values}), seed=seed).frame["x"].to_pylist()


@pytest.mark.spec("01:MK-4")
def test_halves_go_away_from_zero() -> None:
    assert rounded([-15.0, -5.0, 5.0, 14.9, 15.0, 25.0], base=10.0) == [-20.0, -10.0, 10.0, 10.0, 20.0, 30.0]


@pytest.mark.spec("01:MK-4")
def test_decimal_bases_give_decimal_numbers_and_see_decimal_halves() -> None:
    assert rounded([0.15, 0.25, 0.349, -0.35, 2.0], base=0.1) == [0.2, 0.3, 0.3, -0.4, 2.0]
    assert rounded([0.8, 0.5, 1.1], base=0.3) == [0.9, 0.6, 1.2]


@pytest.mark.spec("01:MK-4")
@settings(deadline=None, max_examples=50)
@given(numbers, st.sampled_from([0.5, 1.0, 25.0, 1000.0]))
def test_the_nearest_multiple_is_never_farther_than_half_a_base(values: np.ndarray, base: float) -> None:
    if np.ptp(values) > 0:
        after = np.array(rounded(values, base=base))
        assert (np.abs(after - values) <= base / 2 * (1 + 1e-9)).all()
        np.testing.assert_array_equal(after % base, 0.0)


@pytest.mark.spec("01:MK-4")
@pytest.mark.parametrize("mode", ["random", "controlled"])
def test_random_rounding_has_no_bias(mode: str) -> None:
    """The mean over 40,000 records of equal value: five standard errors."""
    for true in (3.0, -3.0):
        values = np.append(np.full(40_000, true), 1e4)
        after = np.array(rounded(values, base=10.0, mode=mode))[:-1]
        low = 10.0 * np.floor(true / 10)
        assert set(after) == {low, low + 10.0}
        assert abs(after.mean() - true) < 5 * 10 * np.sqrt(0.3 * 0.7 / 40_000)


@pytest.mark.spec("01:MK-4")
def test_every_record_is_rounded_without_bias_when_the_sum_is_kept() -> None:
    values = np.array([1.0, 4.0, 8.0, 12.0])
    rng = np.random.default_rng(1)
    mean = np.mean([round_to_base(values, 10.0, "controlled", None, rng) for _ in range(2000)], axis=0)
    assert (np.abs(mean - values) < 5 * 10 * 0.5 / np.sqrt(2000)).all()


@pytest.mark.spec("01:MK-4")
@settings(deadline=None, max_examples=50)
@given(numbers, st.integers(0, 1000))
def test_controlled_rounding_changes_the_sum_by_less_than_a_base(values: np.ndarray, seed: int) -> None:
    if np.ptp(values) > 0:
        after = np.array(rounded(values, seed, base=100.0, mode="controlled"))
        assert abs(after.sum() - values.sum()) < 100.0 + 1e-6
        assert (np.abs(after - values) < 100.0 + 1e-9).all()


@pytest.mark.spec("01:MK-4")
@pytest.mark.parametrize("mode", ["nearest", "random", "controlled"])
def test_multiples_stay_as_they_are(mode: str) -> None:
    values = np.round(np.arange(-30, 30) * 0.1, 1)
    assert rounded(values, base=0.1, mode=mode) == values.tolist()


@pytest.mark.spec("01:MK-4")
def test_points_take_the_place_of_multiples() -> None:
    points = (100.0, 0.0, 10.0)
    assert rounded([-3.0, 4.9, 5.0, 54.9, 55.0, 900.0], points=points) == [0.0, 0.0, 10.0, 10.0, 100.0, 100.0]
    assert rounded([-7.5, -2.5], points=(-5.0, 0.0, -10.0)) == [-10.0, -5.0]  # away from zero below it as well
    drawn = np.array(rounded(np.append(np.full(20_000, 37.0), 0.0), points=points, mode="random"))[:-1]
    assert set(drawn) == {10.0, 100.0}
    assert abs(drawn.mean() - 37.0) < 5 * 90 * np.sqrt(0.3 * 0.7 / 20_000)


def test_a_single_point_takes_everything() -> None:
    assert rounded([1.0, 5.0], points=(3.0,)) == [3.0, 3.0]


@pytest.mark.spec("01:MK-4")
@settings(deadline=None, max_examples=50)
@given(numbers, st.integers(2, 6))
def test_with_k_every_published_value_is_shared_by_k_records(values: np.ndarray, k: int) -> None:
    if len(values) >= k and np.ptp(values) > 0:
        _, counts = np.unique(rounded(values, k=k), return_counts=True)
        assert counts.min() >= k


def test_the_base_for_k_is_the_least_that_will_do() -> None:
    release = Rounding(k=3).mask(Microdata.of({"x": [1.0, 2.0, 3.0, 11.0, 12.0, 13.0]}))
    assert release.frame["x"].to_pylist() == [0.0, 0.0, 0.0, 10.0, 10.0, 10.0]
    assert release.provenance.notes == ("rounding: the base is 10 for x",)


def test_the_base_follows_the_deviation_unless_given() -> None:
    data = Microdata.of({"x": np.arange(100.0), "y": np.arange(100.0) / 1e5})
    release = Rounding().mask(data)
    assert release.provenance.notes == ("rounding: the base is 10 for x, 0.0001 for y",)
    assert release.frame["y"].to_pylist()[6] == 0.0001


@pytest.mark.parametrize("given", [{"base": 10.0}, {"points": (0.0, 50.0)}])
def test_what_was_given_is_not_noted_as_a_base_of_its_own(given: dict[str, object]) -> None:
    assert Rounding(**given).mask(Microdata.of({"x": np.arange(100.0)})).provenance.notes == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["nearest", "random", "controlled"])
def test_multiples_stay_inside_a_declared_range(mode: str) -> None:
    data = Microdata.of({"age": np.arange(3.0, 100.0)})
    data = data.with_schema(data.schema.replacing(data["age"].changed(range=(3, 99))))
    after = set(Rounding(base=10.0, mode=mode).mask(data, seed=1).frame["age"].to_pylist())
    assert after == set(range(10, 100, 10))


def in_range(values: list[float], low: float, high: float) -> Microdata:
    data = Microdata.of({"x": values})
    return data.with_schema(data.schema.replacing(data["x"].changed(range=(low, high))))


def test_a_range_without_a_multiple_is_refused() -> None:
    data = in_range([1.0, 4.0, 7.0], 1, 7)
    with pytest.raises(DataError, match="the declared range of attribute 'x' holds no multiple of 10; round it"):
        Rounding(base=10.0).mask(data)
    with pytest.raises(DataError, match="none of the points of rounding lies in the declared range of attribute 'x'"):
        Rounding(points=(0.0, 10.0)).mask(data)
    assert Rounding(points=(0.0, 5.0, 6.5)).mask(data).frame["x"].to_pylist() == [5.0, 5.0, 6.5]


@given(
    st.lists(st.integers(0, 100), min_size=4, max_size=12),
    st.integers(-50, 300).map(lambda tenths: tenths / 10),
    st.integers(1, 40).map(lambda tenths: tenths / 10),
)
def test_with_k_and_a_range_only_multiples_are_published_or_none(shares: list[int], low: float, width: float) -> None:
    cells = [round(low + width * share / 100, 3) for share in shares]
    data = in_range(cells, min(cells), max(cells))
    try:
        release = Rounding(k=3).mask(data)
    except DataError as problem:
        assert "holds no multiple" in str(problem)  # noqa: PT017
        return
    base = float(release.provenance.notes[0].split("the base is ")[1].split(" ")[0])
    after = np.array(release.frame["x"].to_pylist())
    assert len(set(cells)) == 1 or np.allclose(after / base, np.round(after / base), atol=1e-6)


def test_a_multiple_at_the_end_of_a_range_is_published() -> None:
    assert Rounding(base=0.1).mask(in_range([0.1, 0.7], 0, 0.7)).frame["x"].to_pylist() == [0.1, 0.7]


def test_points_at_the_ends_of_a_range_are_published_and_others_are_not() -> None:
    rounding = Rounding(points=(-10.0, 0.0, 10.0, 20.0))
    assert rounding.mask(in_range([1.0, 9.0], 0, 10)).frame["x"].to_pylist() == [0.0, 10.0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-310, 5e-324, 1e-200])
def test_numbers_next_to_nothing_are_rounded_without_warnings(size: float) -> None:
    cells = [size * place for place in (1, 2, 3, 10, 11, 30)]
    for parameters in ({}, {"k": 2}, {"base": 1.0}, {"mode": "random"}):
        assert np.isfinite(rounded(cells, **parameters)).all()
    assert rounded(cells, base=1.0) == [0.0] * 6
    assert rounded([1e20, 3e20], base=1e-300) == [1e20, 3e20]


@pytest.mark.parametrize("mode", ["nearest", "random", "controlled"])
def test_missing_cells_stay(mode: str) -> None:
    after = rounded(pa.array([1.0, None, 19.0, None, 30.0]), base=10.0, mode=mode)
    assert [x is None for x in after] == [False, True, False, True, False]


def test_large_numbers_are_rounded_exactly() -> None:
    assert rounded([9_007_199_254_740_991.0, 4_503_599_627_370_497.0], base=1.0) == [2.0**53 - 1, 2.0**52 + 1]


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"base": 0.0}, "base = 0.0 is not allowed"),
        ({"base": 5.0, "k": 3}, "k is not allowed with a base"),
        ({"k": 3, "mode": "random"}, "k is not allowed"),
        ({"points": (1.0,), "base": 2.0}, "points are not allowed together with a base"),
        ({"points": (1.0,), "mode": "controlled"}, "needs a base"),
        ({"points": ()}, "points"),
    ],
)
def test_what_does_not_fit_together_is_refused(parameters: dict[str, object], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        Rounding(**parameters)


def test_fewer_values_than_k_are_refused() -> None:
    with pytest.raises(DataError, match="'x' has 2 values, but rounding with k = 3"):
        rounded([1.0, 2.0], k=3)
