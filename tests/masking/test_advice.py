"""Advice before microaggregating, held against what the choices really cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.advice import advise, advise_k, share_far_out, skewness
from microveil.masking.microaggregation.fixed import Fixed
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata


@pytest.mark.spec("01:AP-4")
def test_the_advised_order_loses_least_where_there_is_a_tail(reference: Callable[..., Microdata]) -> None:
    tried = 0
    for file in ("tarragona", "census"):  # 7 divides neither number of records
        data = reference(file)
        for advice in advise(data):
            if abs(skewness(data.numbers(advice.attribute).values)) < 0.3:
                continue
            tried += 1
            losses = {
                direction: SSE().measure(data, Fixed(k=7, direction=direction).mask(data, [advice.attribute])).value
                for direction in ("ascending", "descending", "auto")
            }
            assert losses[advice.direction] == min(losses.values()) == losses["auto"], advice.attribute
    assert tried == 22


@pytest.mark.spec("01:AP-4")
def test_the_advised_aggregate_is_the_median_where_many_values_lie_far_out(reference: Callable[..., Microdata]) -> None:
    assert {advice.publish for advice in advise(reference("tarragona"))} == {"median"}
    far_out = {advice.attribute for advice in advise(reference("census")) if advice.publish == "median"}
    assert far_out == {"POTHVAL", "INTVAL"}


@pytest.mark.spec("01:AP-4")
def test_means_keep_totals_and_medians_the_typical_member() -> None:
    data = Microdata.of({"x": [1.0, 2.0, 300.0, 11.0, 12.0, 13.0], "w": [1, 1, 2, 1, 1, 1]}, keys=["x"], weight="w")
    published = {
        label: Fixed(k=3, **options).mask(data).data.numbers("x").values
        for label, options in {"mean": {}, "median": {"publish": "median"}, "weighted": {"weighted": True}}.items()
    }
    assert published["mean"].sum() == pytest.approx(339.0)
    assert published["median"].tolist() == [2.0, 2.0, 13.0, 2.0, 13.0, 13.0]
    assert published["weighted"] @ [1, 1, 2, 1, 1, 1] == pytest.approx(639.0)


def test_values_without_a_tail_or_with_a_slight_one_below_are_put_in_ascending_order() -> None:
    slight = np.array([1.0, 3.0, 4.0, 5.0, 5.0])
    assert -1 < skewness(slight) < 0
    found = advise({"even": [1.0, 2.0, 3.0, 4.0, 5.0], "below": slight, "above": 6 - slight})
    assert [advice.direction for advice in found] == ["ascending", "ascending", "descending"]


@pytest.mark.spec("01:AP-4")
@pytest.mark.parametrize("file", ["tarragona", "census"])
def test_a_larger_k_loses_more_and_protects_better(reference: Callable[..., Microdata], file: str) -> None:
    """The source says the reverse of both."""
    data = reference(file)
    releases = [MDAV(k=k).mask(data) for k in (3, 4, 5, 10, 20)]
    losses = [SSE().measure(data, release).value for release in releases]
    risks = [DistanceLinkage().assess(data, release).value for release in releases]
    assert losses == sorted(losses)
    assert risks == sorted(risks, reverse=True)


def test_k_is_commented_on_as_practice_does() -> None:
    assert advise_k(3) == "k = 3 is usual"
    assert "either knows the other" in advise_k(2)
    assert "regressions may suffer" in advise_k(5)


def test_poor_attributes_to_group_by_are_named() -> None:
    x = np.random.default_rng(1).normal(size=60)
    few, twin = advise({"x": x, "few": (x > 0).astype(int), "twin": 3 * x + 1})[1:]
    assert few.remarks == ("it has 2 distinct values: rather treat it as categories than group by it",)
    assert twin.remarks == ("'x' nearly determines it: one of the two is enough to group by",)


def test_constant_and_empty_attributes_are_no_trouble() -> None:
    constant, empty = advise(Microdata.of({"c": [4.0] * 5, "e": [np.nan] * 5}, numeric=["c", "e"]))
    assert constant.publish == empty.publish == "mean"
    assert "1 distinct value" in constant.remarks[0]
    assert "0 distinct values" in empty.remarks[0]


def test_one_value_in_a_hundred_far_out_is_many_and_one_in_more_is_not() -> None:
    publish = [advise({"x": [*range(size - 1), 10_000]})[0].publish for size in (100, 101)]
    assert publish == ["median", "mean"]


def test_a_value_is_far_out_beyond_three_interquartile_ranges() -> None:
    """Of 0 to 8 and one more the quartiles are 2.25 and 6.75, and three times their distance reaches to 20.25."""
    assert [share_far_out(np.array([*range(9), last], dtype=float)) for last in (20.25, 20.26)] == [0.0, 0.1]
    assert [share_far_out(np.array([*range(1, 10), low], dtype=float)) for low in (-11.25, -11.26)] == [0.0, 0.1]
    assert share_far_out(np.array([np.nan])) == 0.0
    assert share_far_out(np.array([*range(9), 20.26, np.nan])) == 0.1


@pytest.mark.parametrize(("k", "says"), [(2, "is small"), (3, "is usual"), (4, "is usual"), (5, "protects better")])
def test_three_and_four_are_usual_sizes(k: int, says: str) -> None:
    assert f"k = {k} {says}" in advise_k(k)
