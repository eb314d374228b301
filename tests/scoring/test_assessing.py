"""The score and the assessment."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import microveil as mv
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError, UnknownNameError
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.microaggregation.iamat import IAMAT
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.pram import PRAM
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.registry import find, names
from microveil.scoring import Score, assess, score, score_index
from microveil.scoring.rules.index import ScoreIndex


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
    categorical = sum(result.losses[name].value for name in ("ctbil", "dbil", "ebil")) / 3
    assert result.score.loss == pytest.approx((2 * result.losses["il"].value + categorical) / 3)


def test_what_labels_leave_open_is_weighted_by_the_attributes_that_have_them() -> None:
    data = Microdata.of({
        "age": [20, 22, 41, 43, 61, 65, 70, 71], "pay": [1, 3, 2, 9, 8, 7, 5, 4], "rent": [4.0, 9, 1, 3, 7, 2, 6, 5],
    })  # fmt: skip
    labelled = Mondrian(k=4, publish="interval").mask(data, ["age", "pay"], seed=1)
    open_cells = assess(data, labelled).losses["generalisation"].per_attribute
    assert set(open_cells) == {"age", "pay"}
    assert assess(data, labelled).score.loss == pytest.approx(sum(open_cells.values()) / 2)
    both = assess(data, MDAV(k=2).mask(labelled, ["rent"], seed=1))
    assert both.score.loss == pytest.approx((sum(open_cells.values()) + both.losses["il"].value) / 3)


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


def test_a_rule_adds_what_it_needs_to_the_usual_measures() -> None:
    data = survey(200, seed=4)
    release = MDAV(k=4).mask(data, ["age", "wealth"], seed=1)
    usual, classic = assess(data, release), assess(data, release, score="classic")
    assert set(usual.risks) < set(classic.risks)
    assert set(classic.risks) - set(usual.risks) == {"distance-linkage (DLD)", "probabilistic-linkage"}
    # IL and the intervals were measured already
    assert set(classic.losses) == set(usual.losses)
    assert classic.parts["id"] == usual.risks["interval-disclosure"].value
    assert classic.to_plain()["score"]["rule"] == "classic"
    assert classic.to_plain()["score"]["parts"] == classic.parts
    assert usual.rule == score("mean")
    assert classic.rows()[-3][:2] == ("score", "classic")
    assert "classic" in str(classic)


def test_a_rule_alone_measures_nothing_else() -> None:
    data = survey(200, seed=4)
    release = MDAV(k=4).mask(data, ["age", "wealth"], seed=1)
    alone = score("classic").assess(data, release)
    assert set(alone.losses) == {"il"}
    assert set(alone.risks) == {"distance-linkage", "probabilistic-linkage", "interval-disclosure"}
    assert alone.score == assess(data, release, score="classic").score


def test_an_unknown_rule_is_named_with_the_nearest_one() -> None:
    data = Microdata.of({"a": [1.0, 2.0, 3.0]})
    with pytest.raises(UnknownNameError, match="unknown score 'clasic'; did you mean 'classic'"):
        assess(data, data, score="clasic")


def test_the_worst_attack_of_all_counts_where_that_is_asked_for() -> None:
    data = survey(200, seed=4)
    release = RankSwapping(p=3).mask(data, ["age", "wealth", "income"], seed=1)
    found = assess(data, release, score="worst")
    assert found.battery is not None
    assert found.score.risk == found.battery.value
    assert found.score.risk == max(r.value for r in found.risks.values() if "linkage" in r.name)
    assert found.score.risk > assess(data, release).risks["distance-linkage"].value
    named = assess(data, release, score="worst", attacks=["distance-linkage"])
    assert named.battery is None
    assert named.score.risk == named.risks["distance-linkage"].value


def test_a_rule_goes_with_all_attacks_too() -> None:
    data = survey(100, seed=4)
    release = MDAV(k=4).mask(data, ["age", "wealth"], seed=1)
    found = assess(data, release, score="classic", attacks="all")
    assert found.battery is not None
    assert found.score == score("classic").assess(data, release).score
    assert all(found.risks[label] is risk for label, risk in found.battery.risks.items())


def test_the_text_form_names_every_number_and_its_direction() -> None:
    data = survey(100, seed=4)
    result = assess(data, data, ["age"])
    told = str(result)
    assert all(f" {name} " in told and f" {value:.2f} %" in told for _, name, value, _ in result.rows())
    assert told.endswith("lower is safer (risks) and better (losses, scores)")
    assert max(map(len, told.splitlines())) <= 80
    by_rule = assess(data, data, ["age"], score="classic")
    assert all(f" {name} " in str(by_rule) for _, name, _, _ in by_rule.rows())
    assert len(by_rule.rows()) > len(result.rows())
    assert result._repr_html_().count("<tr>") == len(result.headline.rows()) + len(result.rows()) + 2
    assert " ".join(told.split()).startswith(result.heading)
    frame = result.to_frame()
    assert frame["measure"].tolist() == [name for _, name, _, _ in result.rows()]
    assert list(frame.columns) == ["kind", "measure", "percent", "low", "high", "meaning"]


def test_the_numbers_of_the_summary_stand_under_the_ends_of_their_titles() -> None:
    data = survey(100, seed=4)
    result = assess(data, MDAV(k=5).mask(data, ["age"]))
    lines = str(result).splitlines()
    titles = next(line for line in lines if line.split() == ["before", "after"])
    for name, before, after in result.headline.rows():
        line = next(line for line in lines if line.startswith(f"{name}  "))
        assert line[: titles.index("before") + len("before")].endswith(f" {before}")
        assert line.endswith(f" {after}")


@pytest.mark.spec("02:LM20")
def test_the_index_weighs_loss_against_risk() -> None:
    made = Score(loss=28.61, risk=31.34739)
    assert made.weighted(0.5) == pytest.approx(made.mean)
    assert made.weighted(1.0) == 28.61
    assert made.weighted(0.0) == 31.34739
    assert made.weighted(0.2) == pytest.approx(0.2 * 28.61 + 0.8 * 31.34739)
    assert Score(28.61, 31.34739, share=0.2).value == made.weighted(0.2)
    assert Score(28.61, 31.34739, by="max").value == made.max
    assert made.to_plain()["value"] == made.mean
    with pytest.raises(ParameterError, match=r"share = 1\.5 is not allowed"):
        made.weighted(1.5)


@pytest.mark.spec("02:LM20")
def test_the_score_index_is_made_of_g_il_linkage_and_intervals(reference) -> None:  # type: ignore[no-untyped-def]
    census = reference("census")
    known = [census.names[number - 1] for number in (1, 2, 3, 5, 10, 11, 12)]
    index = score_index(census, IAMAT(k=3).mask(census), known=known, decimals=4)
    rld, inside = index.risks["distance-linkage"], index.risks["interval-disclosure"]
    assert index.score.loss == pytest.approx(22.15)
    assert inside.value == pytest.approx(202 / 108)
    assert rld.known == tuple(known)
    assert inside.known == census.names
    assert index.score.risk == pytest.approx((rld.value + inside.value) / 2)
    assert index.score.weighted(0.5) == pytest.approx((22.15 + index.score.risk) / 2)
    # by default at least four attributes are known, so leaving out the small choices raises the risk
    assert (
        score_index(census, IAMAT(k=3).mask(census), known=known, known_sizes=range(1, 8)).score.risk < index.score.risk
    )


def test_the_score_index_works_on_few_attributes_and_on_numbers_only() -> None:
    data = survey(120, seed=4)
    release = MDAV(k=3).mask(data, ["age", "wealth"], seed=1)
    assert 0 <= score_index(data, release).score.risk <= 100
    with pytest.raises(DataError, match="'sex' is nominal"):
        score_index(data, release, ["age", "sex"])


@pytest.mark.parametrize(("attributes", "sizes"), [(6, [4, 5, 6]), (4, [4]), (3, [3])])
def test_the_intruder_of_the_score_index_knows_four_attributes_or_more(attributes: int, sizes: list[int]) -> None:
    data = Microdata.of({f"x{j}": [1.0, 2.0, 3.0] for j in range(attributes)})
    pair = Pair.of(data, data, data.names)
    assert ScoreIndex().scenarios(pair, pair)["rld"].attack.parameters()["known_sizes"] == sizes


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_bare_frames_of_every_library_are_assessed(library: str) -> None:
    frames = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
    make_frame = getattr(pytest.importorskip(library), frames[library])
    frame = make_frame({"a": [1, 2, 3, 4], "b": [1.0, 2.0, 5.0, 3.0]})
    assert assess(frame, frame).risks["distance-linkage"].value == 100.0


def test_a_score_without_linkage_has_the_risk_that_was_measured() -> None:
    data = Microdata.of({"a": [1.0, 2.0, 3.0, 9.0], "b": [1.0, 2.0, 5.0, 3.0]})
    found = assess(data, data, attacks=["uniqueness"])
    assert found.score.risk == found.risks["uniqueness"].value > 0


def test_two_attacks_of_one_name_are_both_kept() -> None:
    data = Microdata.of({"a": [1.0, 2.0, 3.0, 9.0]})
    found = assess(data, data, attacks=[DistanceLinkage(), DistanceLinkage(metric="manhattan")])
    assert list(found.risks) == ["distance-linkage (1)", "distance-linkage (2)"]
    assert len(found.rows()) == len(found.losses) + 4


def test_the_interval_of_interval_disclosure_holds_its_value() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=40)
    b = np.where(rng.random(40) < 0.9, np.nan, rng.normal(size=40))
    before = Microdata.of({"a": a, "b": b})
    after = Microdata.of({"a": rng.normal(size=40), "b": b})
    risk = assess(before, after, attacks=["interval-disclosure"]).risks["interval-disclosure"]
    assert risk.low <= risk.value <= risk.high


def test_the_examples_of_the_page_on_scores_work(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "deciding.md").read_text(encoding="utf-8")
    scope: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(example, scope)
    assert "a record is disclosed with probability" in capsys.readouterr().out


@pytest.mark.parametrize("rule", ["mean", "max", "worst"])
def test_nothing_measured_is_not_nothing_lost_or_risked(rule: str) -> None:
    data = survey(50, seed=4)
    with pytest.raises(ParameterError, match="no loss was measured, so there is no score"):
        assess(data, data, ["age"], losses=[], attacks=["distance-linkage"], score=rule)
    with pytest.raises(ParameterError, match="no attack was run, so there is no score"):
        assess(data, data, ["age"], losses=["il"], attacks=[], score=rule)
    # a formula measures what it needs by itself
    assert assess(data, data, ["age"], losses=[], attacks=[], score="classic").score.risk > 0


def test_a_score_is_a_mean_or_a_maximum() -> None:
    with pytest.raises(ParameterError, match="by = 'median' is not allowed; it must be one of mean, max"):
        Score(3, 4, by="median")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="share = 7 is not allowed"):
        Score(3, 4, by="max", share=7)


def test_notes_say_what_the_measures_leave_out() -> None:
    table = {"age": [20, 22, 41, 43, 61, 65, 70, 71], "job": list("aabbccdd")}
    people = mv.Microdata.of(table, keys=["age", "job"])
    (sampled,) = mv.assess(people, mv.Sampling(size=6).mask(people, seed=1)).notes
    assert sampled.startswith("6 of 8 records were released")
    (labelled,) = mv.assess(people, mv.Mondrian(k=4, publish="interval").mask(people, seed=1)).notes
    assert "released as labels that stand for several values" in labelled
    assert mv.assess(people, mv.MDAV(k=2).mask(people, ["age"], seed=1)).notes == ()


def test_a_loss_is_usual_only_if_it_says_so_itself() -> None:
    """A new measure does not become part of every assessment because somebody forgot to say that it is none."""
    assert mv.LossMeasure.usual is False
    usual = [name for name in names("loss") if find("loss", name).usual]
    numeric = ["sse", "il", "il1", "il2", "il3", "il4", "il5", "distribution"]
    series = ["series-il", "series-il1", "series-il2", "series-il3", "spectrum", "peaks", "aggregate-curve"]
    graphs = ["aamil", "cdil", "profile-dbil", "semantic-il", "structure"]
    assert usual == [*numeric, "generalisation", "dbil", "ctbil", "ebil", *series, *graphs]
    assert graphs == [name for name in names("loss") if find("loss", name).of_graph]
    assert series == [name for name in names("loss") if find("loss", name).of_series]
    assert all("usual" in vars(find("loss", name)) for name in usual)


def test_an_attack_is_general_only_if_it_is_said_to_be() -> None:
    """Every assessment runs the general attacks, so that none is added or lost unnoticed."""
    assert mv.Attack.general is False
    linkage = ["distance-linkage", "rank-alignment-linkage", "frequency-alignment-linkage"]
    general = [name for name in names("attack") if find("attack", name).general]
    series = ["series-linkage", "series-intervals", "fragment-linkage", "extremes-linkage", "period-linkage"]
    graphs = ["neighbourhood-matching", "degree-linkage"]
    assert general == [*linkage, "interval-disclosure", "uniqueness", *series, *graphs]
    assert [*graphs, "seed-expansion", "friends-inference"] == [
        name for name in names("attack") if find("attack", name).of_graph
    ]
    assert series == [name for name in names("attack") if find("attack", name).of_series]


def test_a_loss_that_is_named_must_fit_and_of_all_losses_those_are_taken_that_do() -> None:
    jobs = Microdata.of({"job": ["cook", "nurse", "cook", "nurse"]})
    with pytest.raises(DataError, match="there is no numeric attribute for il1 to work on"):
        assess(jobs, jobs, losses=["il1"])
    assert "il1" not in assess(jobs, jobs, losses="all").losses


def test_a_loss_that_is_named_is_about_series_too_and_one_that_is_not_leaves_them_to_losses_of_series() -> None:
    rng = np.random.default_rng(1)
    cells = {"area": rng.normal(80, 20, 30), **{f"t{i}": rng.normal(5, 1, 30) for i in range(6)}}
    data = Microdata.of(cells, series="wide,load=t*")
    release = MDAV(k=3).mask(data, ["area", "load"], seed=1)
    assert assess(data, release, losses=["sse"]).losses["sse"].attributes == data.names
    assert assess(data, release, losses="all").losses["sse"].attributes == ("area",)
