"""Sampling: which records are released, how many, and what becomes of their weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.masking.coarsening.sampling import Sampling
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey


@pytest.mark.spec("01:MK-7")
@settings(max_examples=40, deadline=None)
@given(records=st.integers(1, 60), share=st.floats(0.01, 1.0))
def test_a_share_is_rounded_up(records: int, share: float) -> None:
    release = Sampling(share=share).mask(Microdata.of({"a": ["x"] * records}), seed=1)
    assert len(release) == math.ceil(share * records * (1 - 1e-12))
    assert release.rows is not None
    assert (np.diff(release.rows) > 0).all()


@pytest.mark.spec("01:MK-7")
def test_released_records_are_untouched_and_in_order() -> None:
    people = survey(100)
    release = Sampling(share=0.3, adjust=False).mask(people, ["sex"], seed=3, keep_household_ids=True)
    assert release.rows is not None
    assert len(release) == 30
    assert release.data.digest() == people.take(release.rows).without(["person"]).digest()


@pytest.mark.spec("01:MK-7")
def test_every_record_is_as_likely_as_any_other() -> None:
    """In 2,000 strata 2 of 8 records are drawn: each place is in 500 +- 5 standard deviations of 19.4."""
    data = Microdata.of({"s": [f"s{i // 8}" for i in range(16000)]}, strata=["s"])
    release = Sampling(share=0.25, stratified=True).mask(data, ["s"], seed=1)
    assert release.rows is not None
    hits = np.bincount(release.rows % 8)
    assert (np.abs(hits - 500) < 5 * 19.4).all()


@pytest.mark.spec("01:MK-7")
def test_a_stratified_sample_has_the_share_of_every_stratum() -> None:
    people = survey(400)
    release = Sampling(share=0.25, stratified=True).mask(people, ["sex"], seed=1)
    whole, part = people.arrow("region").to_pylist(), release.data.arrow("region").to_pylist()
    for region in set(whole):
        assert part.count(region) == math.ceil(0.25 * whole.count(region) * (1 - 1e-12))


def test_a_number_is_divided_among_strata_by_their_size() -> None:
    data = Microdata.of({"s": ["a"] * 50 + ["b"] * 30 + ["c"] * 20, "x": ["y"] * 100}, strata=["s"])
    released = Sampling(size=10, stratified=True).mask(data, ["x"], seed=1).data.arrow("s").to_pylist()
    assert [released.count(s) for s in "abc"] == [5, 3, 2]
    assert len(Sampling(size=7, stratified=True).mask(data, ["x"], seed=1)) == 7


@pytest.mark.spec("01:MK-7")
def test_weights_are_divided_by_the_probability_of_being_released() -> None:
    data = Microdata.of({"s": ["a"] * 4 + ["b"] * 10, "w": [1.0] * 4 + [2.0] * 10}, strata=["s"], weight="w")
    release = Sampling(share=0.5, stratified=True).mask(data, ["s"], seed=1)
    assert release.data.arrow("w").to_pylist() == [2.0] * 2 + [4.0] * 5
    assert release.data.numbers("w").values.sum() == data.numbers("w").values.sum()
    kept = Sampling(share=0.5, adjust=False).mask(data, ["s"], seed=1)
    assert set(kept.data.arrow("w").to_pylist()) <= {1.0, 2.0}


@pytest.mark.spec("01:MK-7")
def test_weights_go_by_the_probability_of_the_own_stratum() -> None:
    """Half of 3 is 2 and half of 5 is 3, rounded up, so 2 of 3 and 3 of 5 records are released."""
    data = Microdata.of({"s": ["a"] * 3 + ["b"] * 5, "w": [2.0] * 3 + [3.0] * 5}, strata=["s"], weight="w")
    released = Sampling(share=0.5, stratified=True).mask(data, ["s"], seed=1).data
    assert released.numbers("w").values == pytest.approx([2 * 3 / 2] * 2 + [3 * 5 / 3] * 3)
    assert released.numbers("w").values.sum() == pytest.approx(2 * 3 + 3 * 5)
    simple = Sampling(share=0.5).mask(data, ["s"], seed=1)
    assert simple.rows is not None
    assert simple.data.numbers("w").values == pytest.approx(np.where(simple.rows < 3, 4.0, 6.0))


def test_a_declared_range_does_not_cut_the_weights_of_a_sample() -> None:
    data = Microdata.of({"a": ["x"] * 10, "w": [5.0] * 10}, weight="w")
    data = data.with_schema(data.schema.replacing(data["w"].changed(range=(0.0, 6.0))))
    release = Sampling(share=0.1).mask(data, ["a"], seed=1)
    assert release.data.numbers("w").values.tolist() == [50.0]


@pytest.mark.spec("01:MK-7")
def test_numbers_released_as_they_are_are_warned_of() -> None:
    people = survey(50)
    assert "matched exactly" in Sampling().mask(people, ["age", "sex"], seed=1).provenance.notes[0]
    assert Sampling().mask(people, ["sex"], seed=1).provenance.step_notes == ()


def test_a_sample_of_a_release_knows_the_original_records() -> None:
    people = survey(100)
    first = Sampling(share=0.5).mask(people, ["sex"], seed=3)
    second = Sampling(share=0.5).mask(first, ["sex"])
    assert second.rows is not None
    assert len(second) == 25
    assert second.data.arrow("region").equals(people.take(second.rows).arrow("region"))


def test_what_cannot_be_done_is_refused() -> None:
    data = Microdata.of({"a": ["x", "y"]})
    with pytest.raises(ParameterError, match="stratified = True is not allowed; no attribute has the role stratum"):
        Sampling(stratified=True).mask(data)
    with pytest.raises(ParameterError, match="size = 3 is not allowed; the table has 2 records"):
        Sampling(size=3).mask(data)
    with pytest.raises(ParameterError, match="share"):
        Sampling(share=0.0)
