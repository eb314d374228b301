"""Sampling weights in groups: who shares one, what totals stay, and what an intruder reads from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil import Microdata, assess
from microveil.errors import DataError, ParameterError, SchemaError, TooFewRecordsError
from microveil.masking import Plan, Release, Step
from microveil.masking.microaggregation.weight_microaggregation import WeightMicroaggregation
from microveil.protection import protect
from microveil.rules import check
from microveil.typing import FloatArray


def weights_of(release: Release, name: str = "w") -> FloatArray:
    return release.data.numbers(name).values


def design(seed: int = 3) -> Microdata:
    """A stratified sample: the weight is that of the stratum, and two large firms stand for themselves."""
    rng = np.random.default_rng(seed)
    stratum = np.repeat(np.arange(6), [40, 30, 20, 15, 10, 2])
    weight = np.array([50.0, 31.5, 18.25, 12.0, 7.5, 1.0])[stratum]
    table = {
        "stratum": stratum,
        "region": np.where(stratum < 3, "n", "s"),
        "turnover": rng.lognormal(3, 1, 117),
        "w": weight,
    }
    return Microdata.of(table, weight="w", strata=["stratum"], keys=["region"], nominal=["stratum"])


@given(
    st.lists(st.one_of(st.floats(1, 1e6), st.sampled_from([1.0, 2.5, 40.0])), min_size=6, max_size=60),
    st.integers(1, 6),
)
def test_k_records_share_every_weight_and_the_total_is_kept(weights: list[float], k: int) -> None:
    after = weights_of(WeightMicroaggregation(k=k).mask(Microdata.of({"w": weights}, weight="w")))
    assert np.unique(after, return_counts=True)[1].min() >= k
    assert after.sum() == pytest.approx(sum(weights), rel=1e-12)
    order = np.argsort(weights, kind="stable")
    assert (np.diff(after[order]) >= 0).all()
    assert min(weights) <= after.min() <= after.max() <= max(weights)


@given(st.integers(0, 2**32), st.integers(2, 5))
def test_k_households_share_every_weight_and_members_who_shared_one_still_do(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(15), rng.integers(1, 5, 15))
    weights = rng.integers(1, 12, 15)[home] * 1.0
    odd = rng.random(len(home)) < 0.1
    weights[odd] += rng.integers(1, 5, odd.sum())
    data = Microdata.of({"home": home, "w": weights}, weight="w", household="home")
    after = weights_of(WeightMicroaggregation(k=k).mask(data, seed=1))
    for value in np.unique(after):
        assert len(np.unique(home[after == value])) >= k
    pairs = {(h, b): a for h, b, a in zip(home, weights, after, strict=True)}
    assert all(pairs[h, b] == a for h, b, a in zip(home, weights, after, strict=True))
    assert after.sum() == pytest.approx(weights.sum(), rel=1e-12)


def test_the_total_of_every_named_combination_is_kept() -> None:
    data = design()
    after = weights_of(WeightMicroaggregation(k=5, within=("region",)).mask(data))
    region, before = np.array(data.arrow("region").to_pylist()), data.numbers("w").values
    for name in ("n", "s"):
        assert after[region == name].sum() == pytest.approx(before[region == name].sum(), rel=1e-12)
    assert np.unique(after, return_counts=True)[1].min() >= 5


def test_combinations_of_too_few_are_pooled_and_a_note_says_so() -> None:
    release = WeightMicroaggregation(k=5, within=("stratum",)).mask(design())
    assert any("1 combination of stratum had too few records" in note for note in release.provenance.notes)
    after = weights_of(release)
    assert np.unique(after, return_counts=True)[1].min() >= 5
    assert after.sum() == pytest.approx(design().numbers("w").values.sum(), rel=1e-12)


def test_missing_weights_stay_and_replicate_weights_are_grouped_each_by_itself() -> None:
    table = {"w": [1.0, None, 2.0, 3.0, 9.0], "r1": [5.0, 1.0, 2.0, 8.0, 1.0]}
    release = WeightMicroaggregation(k=2).mask(Microdata.of(table, weight="w"), ["w", "r1"])
    assert release.data.arrow("w").to_pylist() == [1.5, None, 1.5, 6.0, 6.0]
    assert np.unique(weights_of(release, "r1"), return_counts=True)[1].min() >= 2
    assert release.provenance.attributes == ("w", "r1")


def test_it_works_as_a_step_of_a_plan_and_the_rule_on_weights_sees_it() -> None:
    data = design()
    before = protect(data, Plan((Step("noise", {}, ("turnover",)),), seed=1))
    after = protect(data, Plan((Step("noise", {}, ("turnover",)), Step("weight-microaggregation", {"k": 5})), seed=1))
    assert after.provenance.steps[1].attributes == ("w",)
    rules = {"weights": {"at_least": 5}}
    found = [check(table.data, rules).findings for table in (before, after)]
    assert [each[0].outcome for each in found] == ["failed", "passed"]
    assert "weight-microaggregation with k = 5" in found[0][0].advice


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(SchemaError, match="no attribute is the sampling weight"):
        WeightMicroaggregation().mask(Microdata.of({"w": [1.0, 2.0, 3.0]}, keys=["w"]))
    with pytest.raises(TooFewRecordsError, match="k = 9"):
        WeightMicroaggregation(k=9).mask(Microdata.of({"w": [1.0, 2.0, 3.0]}, weight="w"))
    homes = Microdata.of({"h": [1, 1, 1, 2], "w": [1.0, 2.0, 3.0, 4.0]}, weight="w", household="h")
    with pytest.raises(DataError, match="fewer than 3 households"):
        WeightMicroaggregation(k=3).mask(homes)
    with pytest.raises(ParameterError, match="no attribute has the role stratum"):
        WeightMicroaggregation(strata=2).mask(Microdata.of({"w": [1.0, 2.0, 3.0]}, weight="w"))
    with pytest.raises(DataError, match="fewer than 7 strata"):
        WeightMicroaggregation(strata=7).mask(design())
    with pytest.raises(ParameterError, match="for it is masked"):
        WeightMicroaggregation(within=("w",)).mask(design())
    mixed = {"h": [1, 1, 2, 2], "sex": list("fmfm"), "w": [1.0, 1.0, 2.0, 2.0]}
    with pytest.raises(ParameterError, match="members of 2 households with one weight differ"):
        WeightMicroaggregation(k=1, within=("sex",)).mask(Microdata.of(mixed, weight="w", household="h"))


# What an intruder reads from the weights


def told(weights: FloatArray, stratum: FloatArray) -> float:
    """The share of the records whose stratum is known from the weight: all records with it are of one stratum."""
    known = [len(np.unique(stratum[weights == value])) == 1 for value in weights]
    return float(np.mean(known))


def test_original_weights_tell_stratum_and_unit_and_released_ones_do_not_below_k() -> None:
    data = design()
    stratum, before = np.array(data.arrow("stratum").to_pylist()), data.numbers("w").values
    assert told(before, stratum) == 1.0
    assert (before == 1.0).sum() == 2  # the two large firms
    release = WeightMicroaggregation(k=5).mask(data)
    after = weights_of(release)
    firms = after[stratum == 5]
    assert (after == firms[0]).sum() >= 5
    assert len(np.unique(stratum[after == firms[0]])) == 2
    # strata of k records and more keep a weight of their own, and a note says so
    assert told(after, stratum) > 0.5
    assert any("still tell the stratum" in note for note in release.provenance.notes)
    mixed = WeightMicroaggregation(k=5, strata=2).mask(data)
    assert told(weights_of(mixed), stratum) == 0.0
    assert not any("still tell" in note for note in mixed.provenance.notes)


def test_linkage_on_weights_falls_below_one_in_k() -> None:
    rng = np.random.default_rng(1)
    table = {"age": rng.integers(20, 60, 300), "w": rng.lognormal(3, 0.5, 300)}
    calibrated = Microdata.of(table, weight="w", keys=["age"])
    release = WeightMicroaggregation(k=5).mask(calibrated, seed=1)
    found = assess(
        calibrated, release, attributes=["w"], known=["w"], attacks=["distance-linkage"], losses=["il"]
    ).risks["distance-linkage"]
    assert found.value <= 20.0 + 1e-9
    same = assess(
        calibrated, calibrated, attributes=["w"], known=["w"], attacks=["distance-linkage"], losses=["il"]
    ).risks["distance-linkage"]
    assert same.value == 100
