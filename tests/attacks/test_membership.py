"""Was this person in the file? What the release tells, against persons who were not."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microveil as mv
from microveil.attacks.membership import MembershipInference
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError
from microveil.microdata import Microdata
from microveil.numerics.statistics.roc import area_interval, claims, placements
from microveil.typing import FloatArray

Score = Literal["density-ratio", "closest-record", "shadow"]
scores = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=12).map(np.array)


def persons(seed: int, records: int = 300) -> Microdata:
    rng = np.random.default_rng(seed)
    base = rng.normal(size=records)
    cells = {name: base + rng.normal(size=records) for name in "abc"}
    job = np.array(["cook", "judge", "nurse", "smith"])[np.digitize(base + rng.normal(size=records), [-1, 0, 1])]
    return Microdata.of({**cells, "job": job}, keys=["a", "b", "c", "job"])


INSIDE, OTHERS, OUTSIDE = (persons(seed) for seed in (1, 2, 3))


def test_an_undisguised_release_tells_everybody() -> None:
    risk = MembershipInference().assess(INSIDE, INSIDE, control=OUTSIDE)
    assert risk.value > 99
    assert risk.counters["tpr"] > 95
    assert risk.low > 97
    assert risk.high >= risk.value
    assert np.nanmin(risk.per_record) > 0.9


@pytest.mark.parametrize("score", ["density-ratio", "closest-record"])
def test_a_release_of_others_tells_nothing(score: Score) -> None:
    found = [
        MembershipInference(score=score).assess_pair(
            Pair.of(persons(3 * s), persons(3 * s + 1), control=persons(3 * s + 2))
        )
        for s in range(10, 18)
    ]
    assert sum(risk.low == 0 for risk in found) >= 6
    assert np.mean([risk.counters["auc"] for risk in found]) == pytest.approx(50, abs=3)
    assert np.mean([risk.counters["tpr"] for risk in found]) < 3


@pytest.mark.parametrize("score", ["density-ratio", "shadow"])
def test_noise_hides_the_more_the_stronger_it_is(score: Score) -> None:
    weak, strong = (
        MembershipInference(score=score).assess(
            INSIDE, mv.Noise(alpha=alpha).mask(INSIDE, ["a", "b", "c"], seed=4), control=OUTSIDE
        )
        for alpha in (0.005, 2.0)
    )
    assert weak.low > 50
    assert strong.value < 25


@pytest.mark.parametrize("score", ["density-ratio", "shadow"])
def test_an_overfitted_synthetic_release_is_found_and_a_sound_one_is_not(score: Score) -> None:
    attack = MembershipInference(score=score)
    sound, overfitted = (
        attack.assess(INSIDE, made.mask(INSIDE, ["a", "b", "c", "job"], seed=4), control=OUTSIDE)
        for made in (mv.Synthetic(), mv.Synthetic(leaf=1, evidence=0.0))
    )
    assert overfitted.low > 40
    assert sound.value < 20


def test_far_from_everybody_is_no_proof_of_safety() -> None:
    """All numbers moved by one and the same amount: no released record is close to its own, yet each tells its person.

    By the distance to the closest record the release seems safer than one of other persons.
    """
    moved = {name: INSIDE.numbers(name).values + 50.0 for name in "abc"}
    release = Microdata.of({**moved, "job": INSIDE.arrow("job")})
    assert MembershipInference(score="closest-record").assess(INSIDE, release, control=OUTSIDE).value < 20
    near = mv.masking.synthesis.closeness.closeness(INSIDE, release, ["a", "b", "c"])
    assert near.closer == 0
    assert near.distance_ratio > 10
    assert MembershipInference(scale="separate").assess(INSIDE, release, control=OUTSIDE).value > 99


def test_numbers_in_another_unit_are_seen_through() -> None:
    release = Microdata.of({**{n: 1000 * INSIDE.numbers(n).values for n in "abc"}, "job": INSIDE.arrow("job")})
    assert MembershipInference(scale="separate").assess(INSIDE, release, control=OUTSIDE).value > 99


def test_keys_left_alone_tell_who_is_in_the_file_whatever_happens_to_the_rest() -> None:
    released = INSIDE.with_columns({"job": INSIDE.arrow("job").take(np.random.default_rng(1).permutation(300))})
    assert MembershipInference().assess(INSIDE, released, ["a", "b", "c"], control=OUTSIDE).value > 99


def test_a_sample_has_its_own_control_group() -> None:
    """Who was not drawn was not in the release."""
    sample = mv.method("sampling", share=0.5).mask(INSIDE, seed=3)
    assert sample.rows is not None
    risk = MembershipInference().assess(INSIDE, sample)
    assert risk.value > 99
    assert risk.attacked == 150
    assert "records that were not released" in risk.scenario
    assert "of all" not in risk.counters  # an advantage is no share of persons
    again = MembershipInference().assess(
        INSIDE.take(sample.rows), sample.data, control=INSIDE.take(np.setdiff1d(np.arange(300), sample.rows))
    )
    assert again.value == pytest.approx(risk.value)


def test_without_a_control_group_it_says_what_it_needs() -> None:
    with pytest.raises(DataError, match="needs a control group, records of the same population that are not in"):
        MembershipInference().assess(INSIDE, INSIDE)
    pair = Pair.of(INSIDE, INSIDE)
    assert MembershipInference.suited(pair) == ()
    assert "needs a control group" in MembershipInference.why_not(pair)


def test_shadow_models_need_a_plan_that_can_be_carried_out() -> None:
    attack = MembershipInference(score="shadow")
    with pytest.raises(DataError, match="needs the plan of the release"):
        attack.assess(INSIDE, INSIDE, control=OUTSIDE)
    release = mv.MDAV(k=5).mask(INSIDE, ["a", "b", "c"], seed=1)
    with pytest.raises(DataError, match="control group of at least 100 records"):
        attack.assess(INSIDE, release, control=OUTSIDE.take(np.arange(60)))
    coarse = mv.MDAV(k=100).mask(INSIDE, ["a", "b", "c"], seed=1)
    with pytest.raises(DataError, match="cannot be carried out on parts of the control group"):
        attack.assess(INSIDE, coarse, control=OUTSIDE)
    with pytest.raises(ParameterError, match="false_positives"):
        MembershipInference(false_positives=0.0)


def test_shadow_models_do_not_depend_on_the_order_of_the_files() -> None:
    release = mv.Noise(alpha=0.02).mask(INSIDE, ["a", "b", "c"], seed=4)
    rng = np.random.default_rng(5)
    attack = MembershipInference(score="shadow", shadows=2)
    one = attack.assess(INSIDE, release, control=OUTSIDE)
    other = attack.assess(INSIDE, release, control=OUTSIDE.take(rng.permutation(300)))
    assert other.value == pytest.approx(one.value)
    assert other.per_record == pytest.approx(one.per_record)


# --- the curve ----------------------------------------------------------------------------------------------------


@given(scores, scores)
def test_placements_count_pairs(positives: FloatArray, negatives: FloatArray) -> None:
    apart = positives[:, None] - negatives
    assert placements(positives, negatives) == pytest.approx(((apart > 0) + (apart == 0) / 2).mean(axis=1))


@given(scores, scores, st.floats(0.01, 0.99))
def test_just_the_rate_of_the_negatives_is_claimed(positives: FloatArray, negatives: FloatArray, rate: float) -> None:
    hits, false = claims(positives, negatives, rate)
    assert false.mean() == pytest.approx(rate)
    assert ((hits >= 0) & (hits <= 1 + 1e-9)).all()
    order = np.argsort(positives, kind="stable")
    assert (np.diff(hits[order]) >= -1e-12).all()  # a higher score is never claimed less


@given(st.floats(0, 1), st.integers(1, 400), st.integers(1, 400))
def test_the_interval_of_an_area_holds_it(area: float, positives: int, negatives: int) -> None:
    low, high = area_interval(area, positives, negatives)
    assert 0 <= low <= area <= high <= 1
    assert high > low
    lower, higher = area_interval(1 - area, positives, negatives)
    assert (1 - higher, 1 - lower) == pytest.approx((low, high), abs=1e-9)
