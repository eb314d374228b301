"""Choosing among candidates, and whether to publish at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.errors import ParameterError
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata.datasets.sample_survey import survey
from microveil.scoring import assess
from microveil.scoring.decisions import (
    Outcome,
    admissible,
    front,
    knee,
    least_loss,
    least_score,
    most_balanced,
    publish_decision,
)

TRIPLE = [Outcome("a", 10, 30), Outcome("b", 20, 20), Outcome("c", 38, 2)]
percent = st.integers(0, 100).map(float)
outcomes = st.lists(st.builds(Outcome, st.just("x"), percent, percent), min_size=1, max_size=30)


def beats(one: Outcome, other: Outcome) -> bool:
    no_worse = one.loss <= other.loss and one.risk <= other.risk
    return no_worse and (one.loss < other.loss or one.risk < other.risk)


# --- a bound on the risk -----------------------------------------------------------------------------------------


@pytest.mark.spec("01:SDC-1")
@given(outcomes, percent)
def test_the_least_loss_below_the_bound_is_admissible_and_least(candidates: list[Outcome], bound: float) -> None:
    found = least_loss(candidates, risk_below=bound)
    below = [c for c in candidates if c.risk < bound]
    assert admissible(candidates, bound) == below
    if found is None:
        assert below == []
    else:
        assert found.risk < bound
        assert found.loss == min(c.loss for c in below)
        assert not any(beats(c, found) for c in candidates)


@pytest.mark.spec("01:SDC-1")
def test_a_risk_that_is_the_bound_is_not_below_it() -> None:
    assert least_loss(TRIPLE, risk_below=20) == TRIPLE[2]
    assert least_loss(TRIPLE, risk_below=20.001) == TRIPLE[1]
    assert least_loss(TRIPLE, risk_below=2) is None
    assert least_loss([], risk_below=50) is None


# --- scores ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("01:TR-1", "06:PC-10")
def test_of_the_same_mean_the_balanced_candidate_is_preferred() -> None:
    """The text's triple: (DR, IL) = (30, 10), (20, 20), (2, 38) all have mean score 20."""
    for order in (TRIPLE, TRIPLE[::-1]):
        assert least_score(order) == Outcome("b", 20, 20)
    # means that differ by rounding only are the same
    assert least_score([Outcome("a", 0.1, 0.2), Outcome("b", 0.15, 0.15)]) == Outcome("b", 0.15, 0.15)
    assert least_score(TRIPLE, share=1.0) == TRIPLE[0]
    assert least_score(TRIPLE, share=0.0) == TRIPLE[2]
    assert least_score([]) is None


@pytest.mark.spec("06:PC-10")
@given(outcomes)
def test_the_most_balanced_candidate_has_the_least_maximum(candidates: list[Outcome]) -> None:
    found = most_balanced(candidates)
    by_max = least_score(candidates, by="max")
    assert found is not None
    assert by_max is not None
    assert max(found.loss, found.risk) == min(max(c.loss, c.risk) for c in candidates)
    assert max(by_max.loss, by_max.risk) == max(found.loss, found.risk)
    assert not any(beats(c, found) for c in candidates)


# --- the front ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("01:TR-1")
@given(outcomes)
def test_the_front_is_what_no_other_beats(candidates: list[Outcome]) -> None:
    found = front(candidates)
    assert sorted(found) == sorted(c for c in candidates if not any(beats(other, c) for other in candidates))
    assert [c.risk for c in found] == sorted(c.risk for c in found)
    assert [c.loss for c in found] == sorted((c.loss for c in found), reverse=True)


@given(outcomes)
def test_the_knee_lies_on_the_front_and_knows_no_units(candidates: list[Outcome]) -> None:
    found = knee(candidates)
    assert found in front(candidates)
    # powers of two, so that nothing is rounded
    scaled = [Outcome(c.label, 4 * c.loss, c.risk / 8) for c in candidates]
    again = knee(scaled)
    assert found is not None
    assert again is not None
    kept = front(candidates)
    if _height(kept, found) > 1e-9:
        assert _height(front(scaled), again) == pytest.approx(_height(kept, found))
        assert _height(kept, found) == pytest.approx(max(_height(kept, c) for c in kept))


def _height(kept: list[Outcome], c: Outcome) -> float:
    """How far below the line between the ends of the front a candidate lies, in shares of its width and height."""
    safest, truest = kept[0], kept[-1]
    width, height = truest.risk - safest.risk, safest.loss - truest.loss
    if width <= 0 or height <= 0:
        return 0.0
    return 1 - (c.risk - safest.risk) / width - (c.loss - truest.loss) / height


def test_the_knee_of_a_hyperbola_is_its_middle() -> None:
    curve = [Outcome(str(x), 100 / x, float(x)) for x in range(1, 101)]
    found = knee(curve)
    assert found is not None
    assert found.label == "10"
    # candidates that are beaten change nothing
    assert knee([*curve, Outcome("bad", 500, 500)]) == found


def test_without_a_bend_the_most_balanced_of_the_front_is_taken() -> None:
    line = [Outcome("a", 0, 100), Outcome("b", 60, 40), Outcome("c", 100, 0)]
    assert knee(line) == line[1]
    outwards = [Outcome("a", 0, 100), Outcome("b", 90, 90), Outcome("c", 100, 0)]
    assert knee(outwards) == outwards[1]
    one = Outcome("a", 3, 4)
    assert knee([one]) == one
    assert knee([]) is None
    assert front([one, one]) == [one, one]


# --- to publish or not -------------------------------------------------------------------------------------------


@pytest.mark.spec("01:TR-4")
def test_the_posterior_and_the_decision_by_hand() -> None:
    """Beta(1, 1) and 3 right links in 100 trials: Beta(4, 98), mean 4/102."""
    decision = publish_decision((3, 100), disclosure_loss=50, withholding_loss=2)
    assert decision.posterior == (4, 98)
    assert decision.probability == pytest.approx(4 / 102)
    assert decision.expected_loss == pytest.approx(200 / 102)
    assert decision.publish
    assert decision.bearable == pytest.approx(0.04)
    assert decision.confidence == pytest.approx(stats.beta(4, 98).cdf(0.04))
    assert decision.interval() == pytest.approx(stats.beta(4, 98).interval(0.95))
    assert decision.interval(0.5) == pytest.approx(stats.beta(4, 98).interval(0.5))
    assert str(decision).startswith("Publish: a record is disclosed with probability 0.0392 (95 % interval")
    assert set(decision.to_plain()) >= {"publish", "probability", "confidence", "interval"}


@pytest.mark.spec("01:TR-4")
def test_equal_harms_do_not_suffice_to_publish() -> None:
    decision = publish_decision((0, 8), disclosure_loss=10, withholding_loss=1)  # Beta(1, 9): mean 1/10
    assert decision.expected_loss == pytest.approx(1.0)
    assert not decision.publish
    assert publish_decision((0, 9), disclosure_loss=10, withholding_loss=1).publish
    assert str(decision).startswith("Do not publish")


@pytest.mark.spec("01:TR-4")
@given(st.integers(0, 200), st.integers(1, 200), st.floats(0.1, 100), st.floats(0.1, 100))
def test_more_right_links_make_publishing_less_wise(matches: int, trials: int, harm: float, cost: float) -> None:
    matches = min(matches, trials)
    decision = publish_decision((matches, trials), disclosure_loss=harm, withholding_loss=cost)
    low, high = decision.interval()
    assert 0 <= low <= high <= 1
    assert 0 <= decision.confidence <= 1
    assert decision.publish == (decision.probability * harm < cost)
    if matches < trials:
        worse = publish_decision((matches + 1, trials), disclosure_loss=harm, withholding_loss=cost)
        assert worse.expected_loss > decision.expected_loss
        assert worse.confidence <= decision.confidence + 1e-12
        assert decision.publish or not worse.publish


@pytest.mark.spec("01:TR-4")
def test_the_experiments_may_be_attacks_and_the_best_of_them_counts() -> None:
    data = survey(200, seed=2)
    release = MDAV(k=5).mask(data, ["age", "wealth"], seed=1)
    weak, strong = (DistanceLinkage().assess(data, release, known) for known in (["age"], ["age", "wealth"]))
    alone = publish_decision(strong, disclosure_loss=1, withholding_loss=1)
    assert alone.trials == 200
    assert alone.matches == pytest.approx(np.nansum(strong.per_record))
    both = publish_decision([weak, strong], disclosure_loss=1, withholding_loss=1)
    worst = max((weak, strong), key=lambda risk: risk.value)
    assert both.matches == pytest.approx(np.nansum(worst.per_record))
    as_it_is = DistanceLinkage().assess(data, data, ["wealth", "expenditure", "income"])
    assert publish_decision(as_it_is, disclosure_loss=1, withholding_loss=1).matches <= 200


@pytest.mark.spec("01:TR-4")
def test_a_strong_prior_outweighs_a_small_experiment() -> None:
    careful = publish_decision((0, 10), disclosure_loss=1, withholding_loss=0.3, prior=(50, 50))
    assert not careful.publish
    assert careful.probability == pytest.approx(50 / 110)
    nothing_known = publish_decision((0, 0), disclosure_loss=1, withholding_loss=0.6)
    assert nothing_known.probability == 0.5
    assert nothing_known.publish
    harmless = publish_decision((5, 10), disclosure_loss=0, withholding_loss=1)
    assert (harmless.publish, harmless.bearable, harmless.confidence) == (True, 1.0, 1.0)
    useless = publish_decision((5, 10), disclosure_loss=0, withholding_loss=0)
    assert (useless.publish, useless.bearable) == (False, 0.0)


@pytest.mark.parametrize(
    ("experiments", "options", "told"),
    [
        ((3, 2), {}, "3 right links in 2 trials are not possible"),
        ((-1, 2), {}, "-1 right links in 2 trials are not possible"),
        ((1, 2), {"prior": (0.0, 1.0)}, r"prior = \(0\.0, 1\.0\) is not allowed"),
        ((1, 2), {"disclosure_loss": -1.0}, "disclosure_loss = -1.0 is not allowed"),
        ((1, 2), {"withholding_loss": float("nan")}, "withholding_loss = nan is not allowed"),
        ((1, 2, 3), {}, "the experiments are risks of attacks, or the number of right links"),
        ((), {}, "the experiments are risks of attacks"),
        (("3", "100"), {}, "the experiments are risks of attacks"),
        ((True, 2), {}, "the experiments are risks of attacks"),
        ((1, 100.9), {}, r"100\.9 trials are not possible; they must be a whole number"),
        ((1, float("inf")), {}, "inf trials are not possible"),
        ((1, float("nan")), {}, "nan trials are not possible"),
        ((float("nan"), 2), {}, "nan right links in 2 trials are not possible"),
        (
            (1, 2),
            {"prior": (float("nan"), 1.0)},
            r"prior = \(nan, 1\.0\) is not allowed; it must be two finite numbers",
        ),
        ((1, 2), {"prior": (1.0, 1.0, 1.0)}, "it must be two finite numbers above 0"),
        ((1, 2), {"prior": "ab"}, "prior = 'ab' is not allowed"),
        ((1, 2), {"disclosure_loss": "5"}, "disclosure_loss = '5' is not allowed; it must be a finite number"),
    ],
)
def test_impossible_experiments_and_harms_are_refused(experiments, options, told) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match=told):
        publish_decision(experiments, **{"disclosure_loss": 1.0, "withholding_loss": 1.0, **options})
    with pytest.raises(ParameterError, match="level = 1 is not allowed"):
        publish_decision((1, 2), disclosure_loss=1, withholding_loss=1).interval(1)


def test_counts_may_be_numbers_of_numpy() -> None:
    wanted = publish_decision((3, 100), disclosure_loss=50, withholding_loss=2)
    for counts in ((np.int64(3), np.int64(100)), (np.float64(3), np.int32(100)), (3.0, 100.0)):
        assert publish_decision(counts, disclosure_loss=np.int64(50), withholding_loss=2) == wanted  # type: ignore[arg-type]


@pytest.mark.spec("01:TR-4")
def test_of_an_assessment_only_linkages_count() -> None:
    data = survey(200, seed=2)
    release = MDAV(k=5).mask(data, ["age", "wealth"], seed=1)
    risks = assess(data, release, known=["age", "wealth"]).risks
    assert risks["interval-disclosure"].value > risks["distance-linkage"].value
    decision = publish_decision(list(risks.values()), disclosure_loss=1, withholding_loss=1)
    assert decision.matches == pytest.approx(np.nansum(risks["distance-linkage"].per_record))
    with pytest.raises(ParameterError, match="none of the risks is that of a linkage"):
        publish_decision(risks["interval-disclosure"], disclosure_loss=1, withholding_loss=1)


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_a_candidate_that_was_not_measured_is_never_chosen(odd: float) -> None:
    """Wherever it stands among the others."""
    strange = [Outcome("x", odd, 1), Outcome("y", 1, odd)]
    for candidates in ([*strange, *TRIPLE], [*TRIPLE, *strange], [TRIPLE[0], *strange, *TRIPLE[1:]]):
        assert front(candidates) == front(TRIPLE)
        assert knee(candidates) == knee(TRIPLE)
        assert least_loss(candidates, risk_below=25) == TRIPLE[1]
        assert least_score(candidates) == TRIPLE[1]
        assert most_balanced(candidates) == TRIPLE[1]
    assert front(strange) == []
    assert least_score(strange) is None
    assert least_loss(strange, risk_below=50) is None
