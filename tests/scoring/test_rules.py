"""What holds for every score rule, and what each formula needs and makes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.linkage.rank_swapping import RankSwappingLinkage
from microveil.errors import Cancelled, DataError, ParameterError
from microveil.losses.numeric.moments import IL
from microveil.masking import Release
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.microaggregation.projection import Projection
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.datasets.sample_survey import survey
from microveil.registry import describe, find, make, names
from microveil.scoring import score

RULES = names("score")
NUMBERS = ("age", "income", "wealth", "expenditure")
CATEGORIES = ("sex", "education")


@pytest.fixture(scope="module")
def people() -> Microdata:
    return survey(150, seed=3)


def released(people: Microdata, rule: str) -> Release:
    """A release that the rule is made for."""
    if find("score", rule).kinds == ("numeric",):
        method = RankSwapping(p=5) if "swapping" in rule else MDAV(k=3, block=2)
        return method.mask(people, NUMBERS, seed=1)
    return PRAM(p=0.7).mask(people, CATEGORIES, seed=1)


# --- what holds for all ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_describes_itself(rule: str) -> None:
    entry = describe("score", rule)
    json.dumps(entry)
    assert entry["name"] == rule
    assert all(entry[field] for field in ("family", "summary", "source", "missing", "meaning", "kinds", "formula"))
    assert entry["meaning"].endswith("lower is better")
    assert all(parameter["help"] for parameter in entry["parameters"])
    assert make("score", rule, {p["name"]: p["default"] for p in entry["parameters"]}) == score(rule)


@pytest.mark.parametrize("rule", RULES)
@given(data=st.data())
def test_a_score_lies_within_its_parts_and_rises_with_each(rule: str, data: st.DataObject) -> None:
    made = score(rule)
    part = st.floats(0, 100)
    values = {symbol: data.draw(part) for symbol in made.symbols}
    found = made.combine(values)
    low, high = min(values.values()), max(values.values())
    for figure in (found.loss, found.risk, found.value):
        # the weights that were stated for rank swapping add up to 0.998
        assert 0.998 * low - 1e-9 <= figure <= high + 1e-9
    for symbol in made.symbols:
        worse = made.combine({**values, symbol: values[symbol] + 1})
        assert worse.value >= found.value - 1e-9


@pytest.mark.parametrize(
    ("rule", "loss", "risk"),
    [
        ("mean", 1, 2),
        ("max", 1, 2),
        ("worst", 1, 2),
        ("classic", 1, 2 / 4 + 4 / 4 + 8 / 2),
        ("projected", 1, (2 + 4 + 8) / 6 + 16 / 2),
        ("projected-used", 1, (2 + 4) / 4 + 8 / 2),
        ("projected-max", 1, 8 / 2 + 16 / 2),
        ("swapping", 1, 2 / 3 + 4 / 6 + 8 / 6 + 16 / 3),
        ("swapping-stated", 1, 0.166 * (2 + 4 + 8) + 16 / 2),
        ("score-index", 1, (2 + 4) / 2),
        ("categorical", (1 + 2 + 4) / 3, (8 + 32) / 2),
        ("categorical-source", (1 + 2 + 4) / 3, (8 + 32) / 2),
        ("clustering", 1, (2 + 8) / 2),
        ("time-series", (1 + 2 + 4) / 3, (8 + 16) / 4 + 32 / 2),
    ],
)
def test_a_rule_combines_its_parts_as_its_formula_says(rule: str, loss: float, risk: float) -> None:
    """The symbols have the values 1, 2, 4, 8, ... in their order."""
    made = score(rule)
    found = made.combine({symbol: 2.0**position for position, symbol in enumerate(made.symbols)})
    assert (found.loss, found.risk) == pytest.approx((loss, risk))
    assert found.value == pytest.approx(max(loss, risk) if rule == "max" else (loss + risk) / 2)


def test_every_rule_has_its_formula_checked() -> None:
    checked = test_a_rule_combines_its_parts_as_its_formula_says.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert sorted(rule for rule, _, _ in checked) == sorted(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_part_that_is_missing_or_no_number_is_named(rule: str) -> None:
    made = score(rule)
    values = dict.fromkeys(made.symbols, 10.0)
    assert made.combine({**values, "printed": 5.0}).value == pytest.approx(10, rel=0.002)
    last = made.symbols[-1]
    with pytest.raises(ParameterError, match=f"{rule} needs .*, and '{last}' is not given"):
        made.combine(dict.fromkeys(made.symbols[:-1], 10.0))
    for odd in (float("nan"), "10", True, None):
        with pytest.raises(
            ParameterError, match=f"{rule}: {last} = {odd!r} is not allowed; it must be a finite number"
        ):
            made.combine({**values, last: odd})  # type: ignore[dict-item]


@pytest.mark.parametrize("rule", RULES)
def test_an_assessment_by_a_rule_is_the_rule_on_its_parts(rule: str, people: Microdata) -> None:
    made = score(rule)
    found = made.assess(people, released(people, rule))
    assert set(found.parts) == set(made.symbols)
    assert found.score == made.combine(found.parts)
    assert found.rule is made
    assert found.score.loss > 0
    assert 0 < found.score.risk <= 100
    json.dumps(found.to_plain())


@pytest.mark.parametrize("rule", RULES)
def test_a_table_released_as_it_is_loses_nothing_and_risks_most(rule: str, people: Microdata) -> None:
    release = released(people, rule)
    attributes = release.provenance.attributes
    as_it_is = score(rule).assess(people, people, attributes, known=attributes)
    assert as_it_is.score.loss == pytest.approx(0, abs=1e-9)
    assert as_it_is.score.risk > score(rule).assess(people, release, known=attributes).score.risk


# in the score index equal released values have ranks by record, as its source has it
@pytest.mark.parametrize("rule", [name for name in RULES if name != "score-index"])
def test_the_order_of_the_records_never_decides(rule: str, people: Microdata) -> None:
    release = released(people, rule)
    order = np.random.default_rng(1).permutation(len(people))
    attributes = release.provenance.attributes
    one = score(rule).assess(people, release.data, attributes).score
    other = score(rule).assess(people.take(order), release.data.take(order), attributes).score
    assert other.value == pytest.approx(one.value, rel=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_progress_rises_to_one_and_cancels(rule: str, people: Microdata) -> None:
    fractions: list[float] = []
    release = released(people, rule)
    score(rule).assess(people, release, progress=lambda fraction, label: fractions.append(fraction))
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0

    def stop(fraction: float, label: str) -> None:
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        score(rule).assess(people, release, progress=stop)


@pytest.mark.parametrize("rule", [name for name in RULES if not find("score", name).usual])
def test_a_formula_is_refused_for_attributes_it_is_not_made_for(rule: str, people: Microdata) -> None:
    odd = "sex" if find("score", rule).kinds == ("numeric",) else "age"
    with pytest.raises(DataError, match=rf"'{odd}' is \w+, but {rule} works on"):
        score(rule).assess(people, people, [*released(people, rule).provenance.attributes, odd])


@pytest.mark.parametrize("rule", RULES)
def test_one_record_gives_a_number(rule: str) -> None:
    data = Microdata.of({"a": [4.0], "b": [7.0]})
    if find("score", rule).kinds != ("numeric",):
        data = Microdata.of({"a": ["x"], "b": ["y"]}, nominal=["a", "b"])
    found = score(rule).assess(data, data, ["a", "b"])
    assert np.isfinite(found.score.value)


def test_the_larger_one_may_count_in_every_rule() -> None:
    values = {"il": 10.0, "dld": 30.0, "pld": 30.0, "id": 30.0}
    assert score("classic", by="max").combine(values).value == 30
    assert score("classic", share=0.9).combine(values).value == pytest.approx(12)
    assert score("max", by="mean").combine({"il": 10, "dr": 30}).value == 20
    assert score("classic").stated == score("classic").formula
    assert score("classic", by="max").stated.endswith("here the larger of the two")
    assert score("max", by="mean").stated.endswith("here the mean of the two")
    assert score("classic", share=0.9).stated.endswith("here IL has the share 0.9")
    with pytest.raises(ParameterError, match=r"share = 1\.2 is not allowed"):
        score("classic", share=1.2)


# --- numeric rules -----------------------------------------------------------------------------------------------


@pytest.mark.spec("03:ME-7")
def test_the_classic_risk_is_the_mean_over_what_the_intruder_knows(people: Microdata) -> None:
    release = MDAV(k=3).mask(people, NUMBERS, seed=1)
    found = score("classic").assess(people, release)
    levels = [DistanceLinkage().assess(people, release, NUMBERS[:c]).value for c in (1, 2)]
    assert found.parts["dld"] == pytest.approx(np.mean(levels))
    assert found.risks["distance-linkage"].known == NUMBERS[:2]
    each = score("classic", knowledge="each").assess(people, release)
    levels = [DistanceLinkage().assess(people, release, NUMBERS[:c]).value for c in (1, 2, 3, 4)]
    assert each.parts["dld"] == pytest.approx(np.mean(levels))
    at_once = score("classic", knowledge="all").assess(people, release)
    assert at_once.parts["dld"] == pytest.approx(levels[-1])


def test_attributes_masked_in_blocks_are_known_in_blocks(people: Microdata) -> None:
    attributes = (*NUMBERS, "benefit")
    release = Projection(k=3, block=2).mask(people, attributes, seed=1)  # the last block has one
    found = score("projected").assess(people, release, known=attributes)
    levels = [DistanceLinkage().assess(people, release, attributes[:c]).value for c in (4, 5)]
    assert found.parts["dld"] == pytest.approx(np.mean(levels))
    half = score("projected", knowledge="half").assess(people, release, known=attributes)
    assert half.parts["dld"] != pytest.approx(found.parts["dld"])


def test_the_intruder_may_know_other_attributes_than_were_compared(people: Microdata) -> None:
    release = MDAV(k=3).mask(people, NUMBERS, seed=1)
    found = score("classic").assess(people, release, NUMBERS, known=["wealth"])
    assert found.risks["distance-linkage"].known == ("wealth",)
    assert found.risks["interval-disclosure"].known == NUMBERS


@pytest.mark.spec("01:TR-1")
def test_a_loss_beyond_a_hundred_is_bounded_unless_the_printed_form_is_wanted() -> None:
    data = Microdata.of({"a": [0.001, 1.0, 2.0, 3.0, 4.0, 5.0], "b": [3.0, 1.0, 2.0, 5.0, 4.0, 6.0]})
    masked = Microdata.of({"a": [9.0, 1.0, 2.0, 3.0, 4.0, 5.0], "b": [3.0, 1.0, 2.0, 5.0, 4.0, 6.0]})
    loss = IL().measure(data, masked)
    assert loss.raw > 100 >= loss.value
    assert score("classic").assess(data, masked).score.loss == loss.value
    assert score("classic", bounded=False).assess(data, masked).score.loss == loss.raw


def test_the_loss_may_be_the_probabilistic_one(people: Microdata) -> None:
    release = MDAV(k=3).mask(people, NUMBERS, seed=1)
    found = score("classic", il="pil").assess(people, release)
    assert set(found.losses) == {"pil"}
    assert found.parts["il"] == found.losses["pil"].value


@pytest.mark.spec("04:SC-RS")
def test_the_score_of_rank_swapping_counts_the_attack_that_knows_it(people: Microdata) -> None:
    release = RankSwapping(p=5).mask(people, NUMBERS, seed=1)
    found = score("swapping").assess(people, release)
    levels = [RankSwappingLinkage().assess(people, release, NUMBERS[:c]).value for c in (1, 2)]
    assert found.parts["rsld"] == pytest.approx(np.mean(levels))
    linked = found.risks["rank-swapping-linkage"]
    assert "2 levels of knowledge" in linked.scenario
    assert linked.known == NUMBERS[:2]
    assert linked.low <= linked.value <= linked.high
    assert linked.value == pytest.approx(100 * linked.per_record.mean())
    assert found.score.risk == pytest.approx(
        (2 * found.parts["rsld"] + found.parts["dld"] + found.parts["pld"] + 2 * found.parts["id"]) / 6
    )
    with pytest.raises(ParameterError, match="not made by rank swapping"):
        score("swapping").assess(people, MDAV(k=3).mask(people, NUMBERS, seed=1))


@pytest.mark.parametrize("rule", ["swapping", "swapping-stated"])
def test_the_intruder_may_guess_how_far_values_were_swapped(people: Microdata, rule: str) -> None:
    release = RankSwapping(p=5).mask(people, NUMBERS, seed=1)
    wide = score(rule, p=40.0).assess(people, release)
    levels = [RankSwappingLinkage(p=40.0).assess(people, release, NUMBERS[:c]).value for c in (1, 2)]
    assert wide.parts["rsld"] == pytest.approx(np.mean(levels))
    assert wide.parts["rsld"] < score(rule).assess(people, release).parts["rsld"]
    assert wide.parts["dld"] == score(rule).assess(people, release).parts["dld"]
    # then it does not matter who made the release
    assert score(rule, p=10.0).assess(people, MDAV(k=3).mask(people, NUMBERS, seed=1)).score.risk > 0
    with pytest.raises(ParameterError, match=rf"{rule}: p = 101\.0 is not allowed"):
        score(rule, p=101.0)


@pytest.mark.spec("04:SC-MAX", "04:SC-NEW")
def test_the_best_linkage_alone_gives_the_highest_of_the_new_scores(people: Microdata) -> None:
    release = Projection(k=3, block=2).mask(people, NUMBERS, seed=1)
    found = {rule: score(rule).assess(people, release) for rule in ("projected", "projected-used", "projected-max")}
    parts = found["projected-max"].parts
    assert found["projected"].parts == parts
    assert found["projected-max"].score.risk == pytest.approx(
        (max(parts[name] for name in ("dld", "pld", "projld")) + parts["id"]) / 2
    )
    assert found["projected"].score.value < found["projected-max"].score.value


def test_more_noise_loses_more_and_risks_less(people: Microdata) -> None:
    weak, strong = (Noise(alpha=alpha).mask(people, NUMBERS, seed=1) for alpha in (0.01, 0.9))
    for rule in ("classic", "projected-max", "score-index"):
        one, other = (score(rule).assess(people, release).score for release in (weak, strong))
        assert one.loss < other.loss
        assert one.risk > other.risk


# --- categorical rules -------------------------------------------------------------------------------------------

# an example computed independently
BEFORE = ((0, 0), (0, 1), (1, 1), (2, 1), (3, 2), (3, 2))
AFTER = ((0, 0), (1, 1), (1, 1), (2, 0), (3, 2), (2, 2))


def toy(cells: tuple[tuple[int, int], ...]) -> Microdata:
    a, b = zip(*cells, strict=True)
    schema = Schema(
        [
            Attribute(name="a", kind="ordinal", domain=("0", "1", "2", "3")),
            Attribute(name="b", kind="nominal", domain=("0", "1", "2")),
        ]
    )
    return Microdata.of({"a": list(map(str, a)), "b": list(map(str, b))}, schema)


@pytest.mark.spec("05:DR-05", "06:PC-09", "06:PC-10")
def test_the_score_of_the_toy_of_categories() -> None:
    found = score("categorical").assess(toy(BEFORE), toy(AFTER), ["a", "b"])
    assert found.score.loss == pytest.approx(25.727, abs=5e-4)
    assert found.parts["id"] == pytest.approx(75.0)
    assert found.parts["dbrl"] == pytest.approx(50.0)
    best = max(found.parts["dbrl"], found.parts["prl"])
    assert found.score.risk == pytest.approx((75.0 + best) / 2)
    assert found.score.value == pytest.approx((found.score.loss + found.score.risk) / 2)


def test_the_conventions_of_published_tables_ignore_the_order_and_wide_tables() -> None:
    found = score("categorical-source").assess(toy(BEFORE), toy(AFTER), ["a", "b"])
    assert found.parts["ctbil"] == pytest.approx(25.0)
    assert found.parts["dbil"] == pytest.approx(100 * 3 / 12)
    # entropies of 4 and 2 bits over 6 records, with one category more in each domain
    assert found.parts["ebil"] == pytest.approx(100 * (4 / (6 * np.log2(5)) + 2 / (6 * 2)) / 2)
    assert found.parts["id"] == pytest.approx(100 * 9 / 12)
    plain = score("categorical-source", add_missing_category=False).assess(toy(BEFORE), toy(AFTER), ["a", "b"])
    assert plain.parts["ebil"] == pytest.approx(27.182, abs=5e-4)


def test_records_may_be_linked_each_for_itself() -> None:
    together = score("categorical").scenarios(*[_pair()] * 2)["prl"].attack
    alone = score("categorical", assignment="best").scenarios(*[_pair()] * 2)["prl"].attack
    assert together.parameters()["assignment"] == "one-to-one"
    assert alone.parameters()["assignment"] == "best"


def _pair():  # type: ignore[no-untyped-def]
    from microveil.comparison.pairs import Pair

    return Pair.of(toy(BEFORE), toy(AFTER), ["a", "b"])


@pytest.mark.spec("06:PC-09", "05:DR-05")
def test_the_risk_of_german_credit_as_it_is(reference) -> None:  # type: ignore[no-untyped-def]
    """Unchanged cells 100 %, linkage 8.5 %: the share of different combinations."""
    german = reference("german_credit")
    names_ = ["checking_status", "savings", "employment"]
    data = Microdata.of(german.select(names_), nominal=names_)
    found = score("categorical-source").assess(data, data, names_)
    assert found.score.risk == pytest.approx(54.25)
    assert found.parts["dbrl"] == pytest.approx(8.5)
    assert found.parts["prl"] == pytest.approx(8.5)


def test_the_rule_of_published_tables_has_the_loss_of_the_preset() -> None:
    found = score("categorical-source").assess(toy(BEFORE), toy(AFTER), ["a", "b"])
    preset = make("loss", "il-categorical", {"preset": "source-ch4-2"}).measure(toy(BEFORE), toy(AFTER), ["a", "b"])
    assert found.score.loss == pytest.approx(preset.value)


def test_the_score_index_needs_a_width_of_intervals() -> None:
    assert score("score-index", widths=(5.0,)).widths == (5.0,)
    with pytest.raises(ParameterError, match="widths"):
        score("score-index", widths=())
