"""Probabilistic information loss, against its formulas worked out one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from microveil.errors import ParameterError
from microveil.losses.numeric.probabilistic import PIL
from microveil.losses.numeric.quantiles import Quantiles
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata
from microveil.numerics.statistics.distribution_distances import density_at


def _table(cells: np.ndarray) -> Microdata:
    return Microdata.of({f"x{j}": cells[:, j] for j in range(cells.shape[1])})


def _surprise(change: float, variance: float) -> float:
    return float(2 * stats.norm.cdf(abs(change) / np.sqrt(variance)) - 1)


@pytest.mark.spec("01:IL-3")
def test_every_class_follows_its_formula() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    y = x + 0.3 * rng.normal(size=x.shape)
    n = len(x)
    found = PIL().measure(_table(x), _table(y)).details
    centred = x - x.mean(axis=0)
    means = [_surprise(*pair) for pair in zip((y - x).mean(axis=0), x.var(axis=0, ddof=1) / n, strict=True)]
    assert found["mean"] == pytest.approx(100 * np.mean(means))
    fourth = (centred**4).mean(axis=0) - x.var(axis=0) ** 2
    spread = y.var(axis=0, ddof=1) - x.var(axis=0, ddof=1)
    assert found["variance"] == pytest.approx(
        100 * np.mean([_surprise(*pair) for pair in zip(spread, fourth / n, strict=True)])
    )
    mu22, mu11 = (centred[:, 0] ** 2 * centred[:, 1] ** 2).mean(), (centred[:, 0] * centred[:, 1]).mean()
    change = np.cov(y, rowvar=False)[0, 1] - np.cov(x, rowvar=False)[0, 1]
    assert found["covariance"] == pytest.approx(100 * _surprise(change, (mu22 - mu11**2) / n))
    r, r_masked = np.corrcoef(x, rowvar=False)[0, 1], np.corrcoef(y, rowvar=False)[0, 1]
    assert found["correlation"] == pytest.approx(100 * _surprise(r_masked - r, (1 - r**2) ** 2 / n))
    quantiles = []
    for j in range(2):
        q25, q75 = np.quantile(x[:, j], [0.25, 0.75])
        width = 0.9 * min(x[:, j].std(ddof=1), (q75 - q25) / 1.34) * n**-0.2
        kde = stats.gaussian_kde(x[:, j], bw_method=width / x[:, j].std(ddof=1))
        for q in np.arange(0.05, 0.96, 0.05):
            before, after = np.quantile(x[:, j], q), np.quantile(y[:, j], q)
            quantiles.append(_surprise(after - before, q * (1 - q) / (n * kde(before)[0] ** 2)))
    assert found["quantile"] == pytest.approx(100 * np.mean(quantiles))


@pytest.mark.spec("01:IL-3", "03:ME-9")
def test_it_is_bounded_by_itself_and_the_mean_of_its_classes(reference) -> None:  # type: ignore[no-untyped-def]
    census = reference("census")
    gentle, strong = (PIL().measure(census, MDAV(k=k).mask(census)) for k in (3, 50))
    assert 0 < gentle.value < strong.value < 100
    for loss in (gentle, strong):
        assert loss.raw == loss.value == pytest.approx(np.mean(list(loss.details.values())))
        assert all(0 <= share <= 100 for share in loss.details.values())
        assert loss.details["mean"] == pytest.approx(0, abs=1e-6)  # group means keep the mean


@pytest.mark.spec("03:ME-9")
def test_a_statistic_without_sampling_error_is_lost_whole_or_not_at_all() -> None:
    constant, moved = Microdata.of({"a": [4.0, 4.0, 4.0]}), Microdata.of({"a": [5.0, 5.0, 5.0]})
    assert PIL().measure(constant, constant).value == 0
    found = PIL().measure(constant, moved).details
    assert (found["mean"], found["variance"], found["quantile"]) == (100, 0, 100)


def test_one_attribute_has_no_covariances() -> None:
    data = Microdata.of({"a": [1.0, 2.0, 5.0, 9.0]})
    assert set(PIL().measure(data, data).details) == {"mean", "variance", "quantile"}


def test_the_density_is_that_of_a_normal_kernel_also_where_values_lie_far_apart() -> None:
    rng = np.random.default_rng(2)
    values = np.sort(np.exp(2 * rng.normal(size=3000)))
    points = np.quantile(values, [0.01, 0.3, 0.9, 0.999])
    q25, q75 = np.quantile(values, [0.25, 0.75])
    width = 0.9 * min(values.std(ddof=1), (q75 - q25) / 1.34) * len(values) ** -0.2
    expected = [stats.norm.pdf(point, values, width).mean() for point in points]
    assert density_at(points, values) == pytest.approx(expected)


def test_a_constant_or_a_copy_that_is_not_exact_in_binary_loses_nothing() -> None:
    x = np.random.default_rng(4).normal(10, 1, size=300)
    data = Microdata.of({"c": np.full(300, 0.1), "x": x, "copy": 0.3 * x})
    masked = Microdata.of({"c": np.full(300, 0.1), "x": np.where(np.arange(300) == 0, np.nan, x), "copy": 0.3 * x})
    assert PIL().measure(data, masked).per_attribute["c"] == 0
    moved = Microdata.of({"x": 0.7 * x, "copy": 0.1 * x})
    assert PIL().measure(data, moved, ["x", "copy"]).details["correlation"] == 0


@pytest.mark.parametrize("percent", [-5.0, 150.0])
@pytest.mark.parametrize("measure", [PIL, Quantiles])
def test_a_quantile_lies_between_0_and_100_per_cent(measure: type, percent: float) -> None:
    with pytest.raises(ParameterError, match=f"percents = {percent} is not allowed; it must be"):
        measure(percents=(50.0, percent))
    data = Microdata.of({"a": [1.0, 2.0, 3.0]})
    assert measure(percents=(0.0, 100.0)).measure(data, Microdata.of({"a": [1.0, 2.0, 4.0]})).value > 0


@pytest.mark.parametrize("measure", [PIL, Quantiles])
def test_one_quantile_can_be_compared_but_not_none(measure: type) -> None:
    data, shifted = Microdata.of({"a": [1.0, 2.0, 3.0]}), Microdata.of({"a": [2.0, 3.0, 4.0]})
    assert measure(percents=(50.0,)).measure(data, shifted).value > 0
    with pytest.raises(ParameterError, match="percents"):
        measure(percents=())


def test_the_lowest_and_the_highest_quantile_are_so_by_value() -> None:
    data, masked = Microdata.of({"x": [1.0, 2.0, 3.0, 7.0]}), Microdata.of({"x": [3.0, 2.0, 3.0, 9.0]})
    down, up = (Quantiles(percents=p).measure(data, masked).details for p in ((90.0, 10.0, 50.0), (10.0, 50.0, 90.0)))
    assert down == pytest.approx(up)
    assert up["lowest"] != up["highest"]


def test_attributes_that_no_record_has_both_of_have_no_covariance_to_lose() -> None:
    nothing = [None] * 3
    before = Microdata.of({"x": [1.0, 2.0, 4.0, *nothing], "y": [*nothing, 3.0, 5.0, 6.0]})
    after = Microdata.of({"x": [1.0, 2.0, 4.0, *nothing], "y": [*nothing, 3.0, 5.0, 6.0]})
    found = PIL().measure(before, after)
    assert found.value == 0
    assert found.details["covariance"] == 0
