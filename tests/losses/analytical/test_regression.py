"""Regressions before and after, against least squares by numpy; and regression on grouped data."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.comparison.pairs import Pair
from microveil.errors import DataError, UnknownNameError
from microveil.losses.analytical import regression
from microveil.losses.analytical.regression import Regression, _Terms
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Attribute, Microdata, Schema
from microveil.numerics.statistics.interval_overlap import confidence_overlap, interval_overlap
from microveil.numerics.statistics.regression import CrossProducts, grouped


def _least_squares(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    design = np.column_stack([np.ones(len(x)), x])
    coefficients = np.linalg.lstsq(design, y, rcond=None)[0]
    residuals = y - design @ coefficients
    variance = float(residuals @ residuals) / (len(x) - design.shape[1])
    return coefficients, np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design))), variance


def _linear(n: int = 300, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)) + [5, 0, -3]
    return x, x @ [2.0, -1.0, 0.0] + rng.normal(size=n)


def test_a_fit_from_cross_products_is_least_squares() -> None:
    x, y = _linear()
    fit = CrossProducts.of(np.column_stack([x, y])).fit(3, np.arange(3))
    coefficients, errors, variance = _least_squares(x, y)
    assert fit.coefficients == pytest.approx(coefficients)
    assert fit.errors == pytest.approx(errors)
    assert fit.residual_variance == pytest.approx(variance)
    chunks = CrossProducts.of(np.column_stack([x, y])[:100]) + CrossProducts.of(np.column_stack([x, y])[100:])
    assert chunks.fit(3, np.arange(3)).coefficients == pytest.approx(coefficients)


def test_predictors_that_depend_on_each_other_give_the_same_fitted_values() -> None:
    x, y = _linear()
    twice = np.column_stack([x, x[:, 0], y])
    fit = CrossProducts.of(twice).fit(4, np.arange(4))
    fitted = fit.coefficients[0] + twice[:, :4] @ fit.coefficients[1:]
    coefficients, _, variance = _least_squares(x, y)
    assert fitted == pytest.approx(coefficients[0] + x @ coefficients[1:])
    assert fit.residual_variance == pytest.approx(variance)


@pytest.mark.spec("01:AP-2")
def test_regression_on_grouped_data_is_weighted_least_squares_on_group_means() -> None:
    x, y = _linear(60)
    labels = np.sort(np.random.default_rng(3).integers(0, 15, 60))
    means, sizes = grouped(np.column_stack([x, y]), labels)
    fit = CrossProducts.of(means, sizes).fit(3, np.arange(3))
    design, weights = np.column_stack([np.ones(len(means)), means[:, :3]]), np.diag(sizes)
    beta = np.linalg.solve(design.T @ weights @ design, design.T @ weights @ means[:, 3])
    residuals = means[:, 3] - design @ beta
    variance = float(sizes @ residuals**2) / (len(means) - 4)
    assert fit.coefficients == pytest.approx(beta)
    assert fit.residual_variance == pytest.approx(variance)
    assert fit.errors == pytest.approx(np.sqrt(variance * np.diag(np.linalg.inv(design.T @ weights @ design))))


@pytest.mark.spec("01:AP-2")
def test_grouping_on_the_predictors_loses_little_and_the_analyst_sees_fewer_observations() -> None:
    """Group means of the response: the coefficients are those of the records, the errors honest for the groups."""
    x, y = _linear(600, seed=5)
    data = Microdata.of({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y})
    release = MDAV(k=3).mask(data, ["a", "b", "c"])
    assert release.partition is not None
    plain = Regression(response="y", predictors=("a", "b", "c"))
    by_group = Regression(response="y", predictors=("a", "b", "c"), grouped=True)
    assert by_group.measure(data, release).value < 25
    # the same coefficients, so the same differences from the original; only the residual variance is another
    one, other = (measure.measure(data, release).details for measure in (plain, by_group))
    assert other["standardised_difference"] == pytest.approx(one["standardised_difference"])
    masked = np.column_stack([release.data.numbers(name).values for name in "abc"])
    means, sizes = grouped(np.column_stack([masked, y]), release.partition.labels)
    _, _, variance = _least_squares(x, y)
    fit = CrossProducts.of(means, sizes).fit(3, np.arange(3))
    assert other["residual_variance"] == pytest.approx(100 * abs(fit.residual_variance / variance - 1))


@pytest.mark.spec("01:AP-2")
def test_without_a_partition_records_with_the_same_released_values_are_a_group() -> None:
    data = Microdata.of({"x": [1.0, 2.0, 3.0, 5.0, 7.0, 9.0], "y": [1.0, 3.0, 2.0, 6.0, 6.0, 9.0]})
    masked = Microdata.of({"x": [1.5, 1.5, 4.0, 4.0, 8.0, 8.0], "y": [2.0, 2.0, 4.0, 4.0, 7.5, 7.5]})
    measure = Regression(response="y", predictors=("x",), grouped=True)
    x, y = (masked.numbers(name).values for name in "xy")
    _, _, variance = _least_squares(data.numbers("x").values[:, None], data.numbers("y").values)
    _, _, of_records = _least_squares(x[:, None], y)
    grouped_variance = of_records * 4 / 1  # six records less two coefficients, three groups less two
    found = measure.measure(data, masked).details["residual_variance"]
    assert found == pytest.approx(100 * abs(grouped_variance / variance - 1))


def test_the_loss_is_what_the_intervals_lack_of_each_other() -> None:
    x, y = _linear()
    rng = np.random.default_rng(9)
    masked = x + rng.normal(0, 0.05, x.shape)
    table = [Microdata.of({"a": c[:, 0], "b": c[:, 1], "c": c[:, 2], "y": y}) for c in (x, masked)]
    loss = Regression(response="y", predictors=("a", "b", "c")).measure(*table)
    one, other = (_least_squares(c, y) for c in (x, masked))
    overlap = confidence_overlap(one[0][1:], one[1][1:], other[0][1:], other[1][1:], 0.95)
    assert loss.value == pytest.approx(100 * (1 - overlap.clip(0, 1).mean()))
    assert loss.details["standardised_difference"] == pytest.approx(np.abs((other[0] - one[0]) / one[1])[1:].mean())


def test_intervals_that_are_apart_are_lost_whole_and_kept_raw() -> None:
    x, y = _linear()
    data, reversed_ = (Microdata.of({"x": c, "y": y}) for c in (x[:, 0], -x[:, 0]))
    loss = Regression(response="y", predictors=("x",)).measure(data, reversed_)
    assert loss.value == 100
    assert loss.raw > 500
    assert loss.details["sign_changes"] == 100


def test_each_numeric_attribute_is_explained_in_turn_and_categories_have_indicators() -> None:
    rng = np.random.default_rng(2)
    job = rng.integers(0, 3, 400)
    age = rng.normal(40, 10, 400)
    pay = 10 * job + age + rng.normal(0, 1, 400)
    names = np.array(["cook", "nurse", "smith"])
    data = Microdata.of({"job": names[job], "age": age, "pay": pay})
    everything = ["job", "age", "pay"]
    assert Regression().measure(data, data, everything).per_attribute == {"age": 0, "pay": 0}
    shuffled = Microdata.of({"job": names[rng.permutation(job)], "age": age, "pay": pay})
    loss = Regression().measure(data, shuffled, everything)
    assert loss.value > 90
    # the two indicators carry all of it once the release is read by age alone
    assert Regression(response="pay", predictors=("age",)).measure(data, shuffled, everything).value == 0


def test_records_with_a_missing_cell_are_left_out() -> None:
    x, y = _linear(50)
    gaps = x[:, 0].copy()
    gaps[:5] = np.nan
    data = Microdata.of({"x": gaps, "y": y})
    masked = Microdata.of({"x": np.where(np.arange(50) < 8, np.nan, x[:, 0]), "y": y})
    loss = Regression(response="y", predictors=("x",)).measure(data, masked)
    one, other = (_least_squares(x[start:, :1], y[start:]) for start in (5, 8))
    overlap = confidence_overlap(one[0][1:], one[1][1:], other[0][1:], other[1][1:], 0.95)
    assert loss.value == pytest.approx(100 * (1 - overlap.mean()))


def test_long_tables_are_read_chunk_by_chunk_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = _linear(50)
    data, masked = Microdata.of({"x": x[:, 0], "y": y}), Microdata.of({"x": x[:, 0].round(), "y": y})
    whole = Regression(response="y", predictors=("x",)).measure(data, masked)
    for chunk in (7, 25, 49, 50, 51):
        monkeypatch.setattr(regression, "_CHUNK", chunk)
        found = Regression(response="y", predictors=("x",)).measure(data, masked)
        assert found.value == pytest.approx(whole.value)
        assert found.details == pytest.approx(whole.details)


def test_a_missing_category_has_no_indicator() -> None:
    job = ["a"] * 4 + ["b"] * 5 + ["c"] * 6 + [None] * 3
    pay = np.array([1, 2, 4, 3, 9, 8, 6, 7, 9, 12, 15, 11, 14, 13, 15, 3, 8, 1], dtype=np.float64)
    masked = pay + np.tile([1.0, -1.0, 0.5], 6)
    schema = Schema([Attribute(name="job", kind="nominal", missing="wildcard"), Attribute(name="pay", kind="numeric")])
    losses = [
        Regression(response="pay", predictors=("job",)).measure(
            Microdata.of({"job": job[:n], "pay": pay[:n]}, schema), Microdata.of({"job": job[:n], "pay": masked[:n]})
        )
        for n in (15, 18)
    ]
    assert losses[0].value > 0
    assert losses[1].value == pytest.approx(losses[0].value)
    assert losses[1].details == pytest.approx(losses[0].details)


def test_the_most_frequent_category_is_the_one_that_others_are_compared_with() -> None:
    job = ["rare", "common", "common", "common", "middle", "middle"]
    data = Microdata.of({"job": job, "pay": [1.0, 5.0, 6.0, 7.0, 3.0, 4.0]})
    pair = Pair.of(data, data, data.names)
    (indicators,) = _Terms.of(pair, ["job"]).categories
    assert indicators is not None
    domain = pair.categories("job")[0].domain
    assert [domain[int(code)] for code in indicators] == ["middle", "rare"]


def test_only_the_most_frequent_categories_have_indicators(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a single indicator, that of the second most frequent category, the rare ones are one with the first."""
    monkeypatch.setattr(regression, "_MOST_DUMMIES", 1)
    job = np.array(["a"] + ["b"] * 2 + ["c"] * 5 + ["d"] * 7)
    pay = np.array([1, 2, 4, 3, 9, 8, 6, 7, 9, 12, 15, 11, 14, 13, 15], dtype=np.float64)
    masked = pay + np.tile([1.0, -1.0, 0.5], 5)
    joined = np.where(job == "c", "c", "d")
    found, expected = (
        Regression(response="pay", predictors=("job",)).measure(
            Microdata.of({"job": jobs, "pay": pay}), Microdata.of({"job": jobs, "pay": masked})
        )
        for jobs in (job, joined)
    )
    assert found.value > 0
    assert found.value == pytest.approx(expected.value)


def test_an_exact_relation_that_stays_exact_loses_nothing() -> None:
    x = np.arange(30.0)
    data, masked = (Microdata.of({"x": c, "y": 2 * c + 1}) for c in (x, x[::-1] * 1.01))
    assert Regression(response="y", predictors=("x",)).measure(data, masked).value == pytest.approx(0, abs=1e-9)


def test_bad_wishes_are_refused_in_one_sentence() -> None:
    data = Microdata.of({"job": ["a", "b", "a"], "age": [1.0, 2.0, 4.0], "pay": [2.0, 1.0, 3.0]})
    with pytest.raises(DataError, match="'job' is not numeric"):
        Regression(response="job").measure(data, data, ["age"])
    with pytest.raises(UnknownNameError, match="'wage'"):
        Regression(response="wage").measure(data, data, ["age"])
    with pytest.raises(DataError, match="no numeric attribute"):
        Regression().measure(data, data, ["job"])
    with pytest.raises(DataError, match="no column 'pay'"):
        Regression(response="pay").measure(data, data.select(["job", "age"]), ["age"])


def test_the_overlap_of_intervals() -> None:
    zero, one = np.zeros(1), np.ones(1)
    assert interval_overlap(zero, one, zero, one) == 1
    assert interval_overlap(zero, zero, zero, one) == pytest.approx(0.5)  # a point lies in the other whole
    assert interval_overlap(one, one, one, one) == 1
    assert interval_overlap(zero, zero, one, one) == 0


def test_attributes_that_do_not_vary_are_left_out() -> None:
    """As predictors and as responses: what rounding makes of a constant has no coefficient."""
    rng = np.random.default_rng(1)
    for constant in (0.1, 3.0):
        x = rng.normal(10, 1, size=200)
        y = x + rng.normal(size=200)
        data = Microdata.of({"c": np.full(200, constant), "x": x, "y": y})
        masked = Microdata.of({"c": np.full(200, constant), "x": x + 1e-3 * rng.normal(size=200), "y": y})
        loss, without = (Regression().measure(data, masked, names) for names in (["c", "x", "y"], ["x", "y"]))
        assert loss.per_attribute == without.per_attribute
        assert (loss.value, loss.raw) == (without.value, without.raw)
        assert (loss.details["left_out"], without.details["left_out"]) == (1, 0)
        with pytest.raises(DataError, match="'c' does not vary in the original"):
            Regression(response="c").measure(data, masked, ["c", "x", "y"])
    nothing = Microdata.of({"a": [4.0, 4.0], "b": [0.1, 0.1]})
    assert Regression().measure(nothing, nothing).value == 0


def test_a_direction_without_observations_has_coefficient_0_exactly() -> None:
    x, y = _linear(50)
    empty = np.column_stack([x[:, 0], np.zeros(50), y])
    fit = CrossProducts.of(empty).fit(2, np.arange(2))
    assert (fit.coefficients[2], fit.errors[2]) == (0, 0)
    assert fit.found.tolist() == [True, True, False]
    # of two copies neither coefficient is determined, and two observations leave no error to estimate
    twice = CrossProducts.of(np.column_stack([x[:, 0], x[:, 0], y])).fit(2, np.arange(2))
    assert twice.found.tolist() == [True, False, False]
    assert not CrossProducts.of(np.column_stack([x[:2, 0], y[:2]])).fit(1, np.arange(1)).found.any()


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e7])
def test_what_is_rounding_depends_on_the_scale_of_the_response(scale: float) -> None:
    x, y = _linear(50)
    fit = CrossProducts.of(np.column_stack([x[:, 0], scale * y])).fit(1, np.arange(1))
    assert fit.residual_variance == pytest.approx(scale**2 * _least_squares(x[:, :1], y)[2])
    exact = CrossProducts.of(np.column_stack([x[:, 0], scale * (2 * x[:, 0] + 1)])).fit(1, np.arange(1))
    assert exact.residual_variance == 0


@pytest.mark.parametrize("left", [0, 1, 2, "constant"])
def test_a_coefficient_that_the_release_leaves_open_is_lost_whole(left: int | str) -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 500))
    seen = np.full(500, x.mean()) if left == "constant" else np.where(np.arange(500) < int(left), x, np.nan)
    data, masked = (Microdata.of({"x": c, "y": y}) for c in (x, seen))
    loss = Regression(response="y", predictors=("x",)).measure(data, masked, ["x", "y"])
    assert (loss.value, loss.raw) == (100, 100)


def test_without_records_everything_is_lost_also_where_predictors_are_copies() -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 500))
    data, masked = (Microdata.of({"x": c, "copy": x, "y": y}) for c in (x, np.full(500, np.nan)))
    measure = Regression(response="y", predictors=("x", "copy"))
    assert measure.measure(data, data, ["x", "y"]).value == 0
    assert measure.measure(data, masked, ["x", "y"]).value == 100
