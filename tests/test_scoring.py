"""The score and the assessment."""

from __future__ import annotations

import pytest

from microveil.errors import UnknownNameError
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.pram import PRAM
from microveil.microdata.sample import survey
from microveil.scoring import Score, assess


@pytest.mark.spec("05:SC-01", "05:SC-02")
def test_releases_with_the_same_mean_score_are_told_apart_by_the_maximum() -> None:
    """The text's triple: (DR, IL) = (30, 10), (20, 20), (2, 38) all have mean score 20."""
    scores = [Score(loss, risk) for risk, loss in ((30, 10), (20, 20), (2, 38))]
    assert [score.mean for score in scores] == [20, 20, 20]
    assert [score.max for score in scores] == [30, 20, 38]


def test_the_score_of_a_numeric_release_is_made_of_il_linkage_and_intervals() -> None:
    data = survey(300, seed=4)
    result = assess(data, MDAV(k=4).mask(data, ["age", "wealth"], seed=1))
    risk = (result.risks["distance-linkage"].value + result.risks["interval-disclosure"].value) / 2
    assert result.score.loss == result.losses["il"].value
    assert result.score.risk == pytest.approx(risk)
    assert "dbil" not in result.losses


def test_kinds_are_weighted_by_their_attributes() -> None:
    data = survey(300, seed=4)
    release = PRAM(p=0.5).mask(MDAV(k=4).mask(data, ["age", "wealth"], seed=1), ["sex"])
    result = assess(data, release)
    categorical = (result.losses["ctbil"].value + result.losses["dbil"].value) / 2
    assert result.score.loss == pytest.approx((2 * result.losses["il"].value + categorical) / 3)


def test_the_intruder_may_know_less_than_was_masked() -> None:
    data = survey(300, seed=4)
    release = MDAV(k=3).mask(data, ["age", "income", "wealth", "expenditure"], seed=1)
    less = assess(data, release, known=["age"])
    assert less.risks["distance-linkage"].known == ("age",)
    assert less.risks["distance-linkage"].value < assess(data, release).risks["distance-linkage"].value
    assert less.losses["sse"].attributes == ("age", "income", "wealth", "expenditure")


def test_measures_can_be_chosen_by_name() -> None:
    data = survey(100, seed=4)
    result = assess(data, data, ["age"], attacks=["interval-disclosure"], losses=["sse"])
    assert list(result.losses) == ["sse"]
    assert list(result.risks) == ["interval-disclosure"]
    assert result.score.risk == 100
    with pytest.raises(UnknownNameError, match="did you mean 'sse'"):
        assess(data, data, ["age"], losses=["ssse"])


def test_the_text_form_names_every_number_and_its_direction() -> None:
    data = survey(100, seed=4)
    result = assess(data, data, ["age"])
    assert str(result).count("lower is") == len(result.rows())
    assert result._repr_html_().count("<tr>") == len(result.rows()) + 1
