"""The bound on the loss of a microaggregation, of whole tables, and what `best` tells about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microveil.errors import MicroveilError, ParameterError
from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.best import Best
from microveil.masking.microaggregation.bound import microaggregation_bound
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.microaggregation.optimal_univariate import OptimalUnivariate
from microveil.masking.notes import LEAST_LOSS
from microveil.masking.partition import Partition
from microveil.masking.publishing import Aggregate
from microveil.microdata import Microdata
from microveil.progress import silent
from microveil.randomness import Streams

TABLE = {"age": [20.0, 22, 41, 43, 61, 65, 30, 52], "pay": [1.0, 2, 4, 5, 8, 9, 3, 30]}


def noted(method: Best, data: Microdata) -> list[dict[str, object]]:
    masked = method._mask(data, ("age", "pay"), Streams(1), silent)
    return [dict(note.values) for note in masked.notes if note.kind == LEAST_LOSS]


def test_the_loss_of_the_proven_optimum_is_what_the_loss_measure_says() -> None:
    data = Microdata.of(TABLE)
    found = microaggregation_bound(data, k=2)
    assert found.optimal
    assert found.gap() < 1e-3
    labels, columns = found.partition.labels, {}
    for name in TABLE:
        values = data.numbers(name).values
        columns[name] = data.number_column(name, np.array([values[labels == label].mean() for label in labels]))
    release = data.with_columns(columns)
    assert SSE().measure(data, release).value == pytest.approx(found.known, rel=1e-12)
    assert found.least == pytest.approx(found.known, abs=2e-4)
    assert found.least <= found.known


def test_a_single_attribute_has_the_bound_of_the_univariate_optimum() -> None:
    data = Microdata.of({"age": np.random.default_rng(1).gamma(2.0, size=50)})
    least = SSE().measure(data, OptimalUnivariate(k=3).mask(data)).value
    for effort in ("fast", "tight"):
        found = microaggregation_bound(data, k=3, effort=effort)
        assert found.optimal
        assert found.least == pytest.approx(least, rel=1e-9)


def test_parts_that_are_kept_apart_are_bounded_apart() -> None:
    data = Microdata.of({"region": list("aabbaabb"), **TABLE}, strata=["region"])
    together = microaggregation_bound(data, 2, ["age", "pay"])
    apart = microaggregation_bound(data, 2, ["age", "pay"], strata=True)
    assert together.least < apart.least
    regions = np.array(list("aabbaabb"))
    assert all(len(set(regions[group])) == 1 for group in apart.partition.groups)
    gaps = Microdata.of({"age": [20, 22, None, None, 61, 65, 30, 52], "pay": TABLE["pay"]})
    by_pattern = microaggregation_bound(gaps, 2)
    assert by_pattern.optimal
    assert any(set(group) == {2, 3} for group in by_pattern.partition.groups)
    assert by_pattern.least <= SSE().measure(gaps, MDAV(k=2).mask(gaps)).value


def test_records_fewer_than_two_groups_and_constants_are_exact() -> None:
    few = microaggregation_bound({"age": [1.0, 2.0, 4.0]}, k=2)
    assert few.optimal
    assert few.known == pytest.approx(100.0)
    assert few.least == pytest.approx(100.0)
    constant = microaggregation_bound({"age": [5.0] * 6}, k=3)
    assert (constant.optimal, constant.known, constant.least, constant.gap()) == (True, 0.0, 0.0, 0.0)


def test_what_is_not_allowed_is_said() -> None:
    with pytest.raises(ParameterError, match="effort"):
        microaggregation_bound(TABLE, 2, effort="slow")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="rounds"):
        microaggregation_bound(TABLE, 2, rounds=0)
    with pytest.raises(ParameterError, match="at least 3 of the 8 records"):
        microaggregation_bound(TABLE, 3, start=Partition.of([0, 0, 1, 1, 2, 2, 3, 3]))
    with pytest.raises(MicroveilError):
        microaggregation_bound(TABLE, 1)
    with pytest.raises(MicroveilError):
        microaggregation_bound({"job": ["cook", "nurse"]}, 2)


@pytest.mark.parametrize("settings", [{}, {"publish": "median"}, {"scale": "minmax"}, {"block": 1}, {"chunk": 4}])
def test_best_tells_its_loss_and_a_bound_below_it(settings: dict[str, Any]) -> None:
    data = Microdata.of(TABLE)
    told = noted(Best(k=2, polish=50, **settings), data)
    assert len(told) == (2 if "block" in settings else 1)
    for note in told:
        assert 0 <= note["bound"] <= note["loss"]  # type: ignore[operator]
        assert note["gap"] == pytest.approx(100 * (1 - note["bound"] / note["loss"]), abs=0.01)  # type: ignore[operator]
    if len(told) == 1:
        released = Best(k=2, polish=50, **settings)._mask(data, ("age", "pay"), Streams(1), silent)
        loss = SSE().measure(data, data.with_columns(released.columns)).value
        assert told[0]["loss"] == pytest.approx(loss, abs=1e-4)


def test_the_bound_of_best_is_chosen_and_needs_one_value_for_a_group() -> None:
    data = Microdata.of(TABLE)
    assert noted(Best(k=2, polish=50, bound="none"), data) == []
    assert noted(Best(k=2, polish=50, publishing=Aggregate(publish="perturb")), data) == []
    fast, tight = (noted(Best(k=2, polish=50, bound=bound), data)[0] for bound in ("fast", "tight"))
    assert fast["bound"] < tight["bound"] <= tight["loss"]  # type: ignore[operator]
    assert tight["gap"] < 0.01  # type: ignore[operator]
