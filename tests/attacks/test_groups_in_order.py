"""The attacks on groups of neighbouring values are run after every method that makes such groups."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from microveil.attacks.linkage.alignment import AlignmentLinkage
from microveil.attacks.ranking_intervals import RankingIntervals
from microveil.comparison.pairs import Pair
from microveil.masking import Method
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.microdata import Microdata
from microveil.registry import find, names

GROUPING = [name for name in names("method") if find("method", name).family == "microaggregation"]
# published is not what the groups have in common, or there are no groups
NOT_IN_ORDER = {"moving-average", "secure-k-ward", "fuzzy", "mic1d", "camp-crest"}


def incomes(attributes: int = 1) -> Microdata:
    rng = np.random.default_rng(5)
    return Microdata.of({f"x{j}": rng.lognormal(8, 1, 60).round(2) for j in range(attributes)})


def is_suited(data: Microdata, method: Method) -> tuple[bool, bool]:
    pair = Pair.of(data, method.mask(data, seed=987_654_321))
    return bool(AlignmentLinkage.suited(pair)), bool(RankingIntervals.suited(pair))


@pytest.mark.parametrize("name", GROUPING)
def test_the_attacks_are_suited_where_one_attribute_was_grouped_in_order(name: str) -> None:
    cls = find("method", name)
    data, method = incomes(), cls(**cls.quick)
    assert is_suited(data, method) == (name not in NOT_IN_ORDER,) * 2
    release = method.mask(data, seed=987_654_321)
    values = np.array(data.frame["x0"].to_list())
    for partition in release.partitions.values():
        ends = sorted((values[group].min(), values[group].max()) for group in partition.groups)
        assert all(one[1] <= other[0] for one, other in pairwise(ends))


def test_methods_that_order_by_several_attributes_are_known_too() -> None:
    assert {"best", "k-ward", "cbfs", "kwdr"} <= set(GROUPING) - NOT_IN_ORDER


@pytest.mark.parametrize(("method", "expected"), [(MDAV(k=3), False), (MDAV(k=3, block=1), True)])
def test_groups_of_several_attributes_together_are_not_in_order(method: Method, expected: bool) -> None:
    assert is_suited(incomes(2), method) == (expected, expected)


def test_groups_inside_strata_are_in_order_in_each_stratum_only() -> None:
    table = {"x": np.arange(12.0), "s": ["a", "b"] * 6}
    data = Microdata.of(table, keys=["x"], strata=["s"])
    assert is_suited(data, MDAV(k=3)) == (True, True)
    assert is_suited(data, MDAV(k=3, strata=True)) == (False, False)


def test_noise_keeps_no_order_and_has_no_groups() -> None:
    assert is_suited(incomes(), Noise()) == (False, False)
