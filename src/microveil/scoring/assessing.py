"""Measure a release: the usual losses and attacks, or those asked for, and the score that sums them up.

By default an assessment runs the attacks that need no knowledge of the method, because all that apply take many times
as long; the risk in the score is then half that of the best linkage among them. With `attacks="all"` the best of all
that apply counts, and the rule `worst` takes it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from microveil.attacks import Attack, Risk
from microveil.attacks.correspondence import Correspondence, corresponding
from microveil.attacks.reidentification import check_threshold, headline_of
from microveil.attacks.uniqueness import Uniqueness
from microveil.battery import battery_of, variant_label
from microveil.comparison.pairs import Pair, Workings, fitting
from microveil.losses import Loss, LossMeasure
from microveil.progress import Part, Progress, parts, silent
from microveil.registry import find, make, names, usual_names
from microveil.scoring.assessment import Assessment
from microveil.scoring.headline import is_linkage
from microveil.units import THRESHOLD

if TYPE_CHECKING:
    from microveil.scoring.rules.base import Scenario, ScoreRule

Several = Literal["informed", "all"]  # the usual attacks and those who know the plan, or every one that applies
SEVERAL: tuple[Several, ...] = get_args(Several)
INFORMED = ("likelihood-linkage",)  # by an intruder who knows the plan but not the seed
_LINKAGE = "linkage"
Levels = tuple[tuple[str, ...], ...]  # the attributes an intruder knows, level by level


def assess(
    original: Any,
    release: Any,
    attributes: Sequence[str] | None = None,
    *,
    attacks: Sequence[Attack | str] | Several | None = None,
    losses: Sequence[LossMeasure | str] | Literal["all"] | None = None,
    known: Sequence[str] | None = None,
    score: ScoreRule | str = "mean",
    threshold: float = THRESHOLD,
    match_by: str | None = None,
    control: Any = None,
    progress: Progress = silent,
) -> Assessment:
    """Measure a release with the usual losses and every general attack that fits its attributes, or with those named.

    `attributes` are those to compare: by default those the release masked; of a table without provenance the keys and
    whatever else was changed, or without keys all numeric ones. `known` are those the intruder knows: by default all
    declared keys and nothing else, or without any the attributes that were masked or changed. The headline counts
    records whose risk of re-identification exceeds the `threshold`. `attacks="informed"` runs the usual ones and
    likelihood linkage by an intruder who knows the plan but not the seed, `attacks="all"` every attack that applies to
    the release; `losses="all"` measures every loss that fits.
    `score` is the rule that makes one number of it all; what a rule needs is measured besides, and `rule.assess`
    measures that alone.

    `control` is a table of records of the same population that are not in the release. With it, the attacks that can be
    run on such persons too are among the usual ones, and the `leak` of their risks says what the release discloses of
    its own records beyond what is true of everybody.

    Record i of both tables is taken for the same person, unless `match_by` names an identifier that both have. If the
    records are seen not to correspond, they are matched by what they hold, as an intruder would, and the `warnings` of
    the assessment say so.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65]})
    >>> round(assess(people, MDAV(k=2).mask(people)).losses["sse"].value, 2)
    0.68
    """
    check_threshold(threshold)
    matched = corresponding(original, release, match_by)
    pair = Pair.of(matched.original, matched.release, attributes, known=known, control=control)
    return assess_pair(
        pair, matched, attacks=attacks, losses=losses, score=score, threshold=threshold, progress=progress
    )


def assess_pair(
    pair: Pair,
    matched: Correspondence,
    *,
    attacks: Sequence[Attack | str] | Several | None = None,
    losses: Sequence[LossMeasure | str] | Literal["all"] | None = None,
    score: ScoreRule | str = "mean",
    threshold: float = THRESHOLD,
    progress: Progress = silent,
) -> Assessment:
    """The same on a pair that was made of tables whose records correspond."""
    rule: ScoreRule = make("score", score) if isinstance(score, str) else score
    check_threshold(threshold)
    if isinstance(attacks, str) and attacks not in SEVERAL:
        attacks = [attacks]
    if isinstance(losses, str) and losses != "all":
        losses = [losses]
    known_pair = pair.about(pair.knowledge.attributes)
    if not rule.usual:  # a formula is about all of the attributes or none
        fitting(pair, rule, explicit=True)
        known_pair = known_by(known_pair, rule)
    first_half, second_half, last = Part(progress, 0.0, 0.45), Part(progress, 0.45, 0.9), Part(progress, 0.9, 1.0)
    named = losses is not None and losses != "all"
    loss_by_label, own_losses = _losses(pair, chosen_losses(losses, pair), named, rule.losses(pair), first_half)
    scenarios = rule.scenarios(pair, known_pair)
    battery = None
    chosen: Mapping[str, Attack] = {}
    if attacks == "all" or (attacks is None and rule.every_attack):
        until = 0.5 if scenarios else 1.0
        battery = battery_of(pair, progress=Part(second_half, 0.0, until))
        risk_by_label, own_risks = _risks(known_pair, {}, scenarios, Part(second_half, until, 1.0))
        risk_by_label = {**battery.risks, **_apart(risk_by_label, battery.risks)}
        chosen = battery.attacks
    else:
        chosen = chosen_attacks(None if attacks == "informed" else attacks, pair)
        informed = informed_attacks(pair) if attacks == "informed" else ()
        until = 0.5 if informed else 1.0
        risk_by_label, own_risks = _risks(known_pair, chosen, scenarios, Part(second_half, 0.0, until))
        if informed:  # one that cannot treat this release breaks off, and the others count
            done, part = tuple(chosen.values()), Part(second_half, until, 1.0)
            found = battery_of(pair, attacks=informed, done=done, contributions=False, progress=part)
            risk_by_label |= found.risks
    linked = [risk for risk in risk_by_label.values() if is_linkage(risk)]
    unique = next((risk for risk in risk_by_label.values() if risk.name == Uniqueness.name), None)
    unmasked = _by_links_as_they_are(pair, chosen.values(), Part(last, 0.0, 0.5))
    last = Part(last, 0.5, 1.0)
    headline = headline_of(matched.whole, pair, linked, unique, unmasked=unmasked, threshold=threshold, progress=last)
    progress(1.0, "assessing")
    values = rule.values(pair, loss_by_label, risk_by_label, {**own_losses, **own_risks})
    warnings = matched.warnings + (() if pair.control is None else pair.control.warnings)
    return Assessment(
        loss_by_label, risk_by_label, rule.combine(values), pair.attributes, len(pair), pair.knowledge, headline,
        battery, rule, values, warnings, pair.labelled, pair.original.schema.collapsed(pair.attributes),
    )  # fmt: skip


def known_by(pair: Pair, rule: ScoreRule) -> Pair:
    """What the intruder of a formula knows: all that was given, or the keys of the kinds that the formula is about."""
    if pair.knowledge.source != "keys":
        fitting(pair, rule, explicit=True)
        return pair
    return pair.about(pair.of_kinds(rule.kinds) or pair.compared)


def score_index(
    original: Any,
    release: Any,
    attributes: Sequence[str] | None = None,
    *,
    known: Sequence[str] | None = None,
    known_sizes: Sequence[int] | None = None,
    widths: Sequence[float] = tuple(range(1, 11)),
    decimals: int | None = None,
    progress: Progress = silent,
) -> Assessment:
    """The score index SI of a numeric release, by the rule `score-index` with these parameters.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65]})
    >>> score_index(people, MDAV(k=2).mask(people)).score.risk
    50.0
    """
    sizes = None if known_sizes is None else tuple(known_sizes)
    parameters = {"known_sizes": sizes, "widths": tuple(map(float, widths)), "decimals": decimals}
    rule: ScoreRule = make("score", "score-index", parameters)
    return rule.assess(original, release, attributes, known=known, progress=progress)


def _losses(
    pair: Pair, chosen: Sequence[LossMeasure], named: bool, own: Mapping[str, LossMeasure], progress: Progress
) -> tuple[dict[str, Loss], dict[str, Loss]]:
    """The losses by label, those of the rule after the chosen ones, and the rule's by symbol. Those that nobody named
    are about the attributes that they face."""
    labelled = {label: (measure, _about(measure, pair, named)) for label, measure in _labelled(chosen).items()}
    label_of = {}
    for symbol, measure in own.items():
        wanted = (measure, _about(measure, pair, True))
        same = next((label for label, other in labelled.items() if other == wanted), None)
        label_of[symbol] = same or _free_label(measure.name, symbol, labelled)
        labelled[label_of[symbol]] = wanted
    stretches = parts(progress, max(1, len(labelled)))
    found = {
        label: measure.measure_pair(pair.about(attributes), progress=part)
        for (label, (measure, attributes)), part in zip(labelled.items(), stretches, strict=False)
    }
    return found, {symbol: found[label] for symbol, label in label_of.items()}


def _about(measure: LossMeasure, pair: Pair, named: bool) -> tuple[str, ...]:
    """The attributes that a loss is measured over."""
    faced = measure.facing(pair)
    return pair.attributes if named and not (measure.of_series and faced.attributes) else faced.attributes


def _risks(
    pair: Pair, chosen: Mapping[str, Attack], own: Mapping[str, Scenario], progress: Progress
) -> tuple[dict[str, Risk], dict[str, Risk]]:
    """The same with risks: the chosen attacks know all that is assumed, those of the rule what its scenarios say."""
    labelled: dict[str, tuple[Attack, Levels]] = {
        label: (attack, (attack.facing(pair).attributes,)) for label, attack in chosen.items()
    }
    label_of = {}
    for symbol, scenario in own.items():
        wanted = (scenario.attack, scenario.levels)
        same = next((label for label, other in labelled.items() if other == wanted), None)
        label_of[symbol] = same or _free_label(scenario.attack.name, symbol, labelled)
        labelled[label_of[symbol]] = wanted
    stretches = parts(progress, max(1, len(labelled)))
    found = {
        label: _over_levels(pair, attack, levels, part)
        for (label, (attack, levels)), part in zip(labelled.items(), stretches, strict=False)
    }
    return found, {symbol: found[label] for symbol, label in label_of.items()}


def _over_levels(pair: Pair, attack: Attack, levels: Levels, progress: Progress) -> Risk:
    """The mean risk over what the intruder may know."""
    risks = [
        attack.assess_pair(pair.about(known), progress=part)
        for known, part in zip(levels, parts(progress, len(levels)), strict=True)
    ]
    if len(risks) == 1:
        return risks[0]
    stacked = np.stack([risk.per_record for risk in risks])
    attacked = ~np.isnan(stacked)
    per_record = np.where(attacked, stacked, 0.0).sum(axis=0) / np.maximum(attacked.sum(axis=0), 1)
    per_record = np.where(attacked.any(axis=0), per_record, np.nan)
    counters = {
        name: float(np.mean([risk.counters[name] for risk in risks]))
        for name in risks[-1].counters
        if all(name in risk.counters for risk in risks)
    }
    most = max(risks, key=lambda risk: len(risk.known))
    scenario = f"{most.scenario} (Mean over {len(risks)} levels of knowledge; this is the highest.)"
    return Risk.of(attack.name, per_record, most.known, scenario, counters=counters)


def _by_links_as_they_are(pair: Pair, attacks: Iterable[Attack], progress: Progress) -> list[Risk]:
    """What the linkages of graphs among the attacks gain if the original is released as it is."""
    of_links = [attack for attack in attacks if attack.of_graph and attack.family == _LINKAGE]
    if not pair.is_graph or not of_links:
        return []
    as_it_is = replace(pair, masked=pair.original, recoded=(), release=None, workings=Workings())
    stretches = parts(progress, len(of_links))
    return [
        attack.assess_pair(attack.facing(as_it_is), progress=part)
        for attack, part in zip(of_links, stretches, strict=True)
    ]


def _made(kind: str, wanted: Sequence[Any]) -> list[Any]:
    return [make(kind, item) if isinstance(item, str) else item for item in wanted]


def chosen_losses(wanted: Sequence[Any] | Literal["all"] | None, pair: Pair) -> list[LossMeasure]:
    """The losses asked for; without a wish the usual ones that have an attribute to work on, with "all" every one. What
    is a value of a series is for losses of series, unless another one is asked for."""
    if wanted is not None and wanted != "all":
        return _made("loss", wanted)
    chosen = names("loss") if wanted == "all" else usual_names("loss")
    return [make("loss", name) for name in chosen if find("loss", name).suited(find("loss", name).facing(pair))]


def chosen_attacks(wanted: Sequence[Attack | str] | None, pair: Pair) -> dict[str, Attack]:
    """The attacks asked for, by their labels; without a wish the usual ones."""
    return _usual_attacks(pair) if wanted is None else _labelled(_made("attack", wanted))


def _usual_attacks(pair: Pair) -> dict[str, Attack]:
    """The general attacks that have an attribute to work on, by their labels; with a control group also those that can
    be run on it."""
    chosen: dict[str, Attack] = {}
    for name in usual_names("attack"):
        cls: type[Attack] = find("attack", name)
        faced = cls.facing(pair)
        forms = cls.usual_forms(faced) if cls.noticed(faced) else ()
        chosen |= {variant_label(form, forms[0]): form for form in forms}
    for name in names("attack") if pair.control is not None else ():
        cls = find("attack", name)
        forms = cls.usual_forms(cls.facing(pair)) if cls.success else ()
        if forms:
            chosen.setdefault(name, forms[0])
    return chosen


def informed_attacks(pair: Pair) -> tuple[str, ...]:
    """The attacks on this release by an intruder who knows the plan but not the seed."""
    classes: list[type[Attack]] = [find("attack", name) for name in INFORMED]
    return tuple(cls.name for cls in classes if cls.suited(cls.facing(pair)))


def _labelled(measures: Sequence[Any]) -> dict[str, Any]:
    """Measures by their names; those of the same name with a number."""
    same = {m.name: [other for other in measures if other.name == m.name] for m in measures}
    return {
        name if len(group) == 1 else f"{name} ({number})": measure
        for name, group in same.items()
        for number, measure in enumerate(group, start=1)
    }


def _free_label(name: str, symbol: str, taken: Mapping[str, Any]) -> str:
    return f"{name} ({symbol.upper()})" if name in taken else name


def _apart(own: Mapping[str, Risk], taken: Mapping[str, Risk]) -> dict[str, Risk]:
    """Risks of a rule beside those of the battery, none of which they may hide."""
    return {f"{label} (score)" if label in taken else label: risk for label, risk in own.items()}
