"""One candidate of a search, made and measured in stages: the losses and the cheap attacks first, the expensive attacks
only where it could still enter the front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from microveil.attacks import Attack, Risk
from microveil.attacks.correspondence import corresponding
from microveil.battery import battery_of
from microveil.comparison.pairs import Pair
from microveil.errors import Cancelled, DataError, MicroveilError
from microveil.losses import LossMeasure
from microveil.masking import Plan, Release
from microveil.masking.guarantees import RISK
from microveil.microdata import Microdata
from microveil.progress import Part, Progress, parts
from microveil.protection import protect
from microveil.randomness import Streams
from microveil.registry import find, make, names, usual_names
from microveil.scoring.assessing import INFORMED, assess_pair
from microveil.scoring.headline import HEADLINE_LOSSES
from microveil.scoring.rules.base import ScoreRule
from microveil.scoring.scores import Score
from microveil.study.cells import Cell
from microveil.study.measuring import Measured, Outcome, carefully, made_of

_NONE_APPLIES = "no attack applies to the release"
_LINKAGE = "linkage"
_ALL = 100.0 - 1e-9  # per cent: no attack links more
Stairs = tuple[tuple[float, float], ...]  # loss and risk of the members of a front


@dataclass(frozen=True)
class Trial(Cell):
    """A candidate to be measured, on a sample of so many records or on all of them.

    Where its loss and the risk by the attacks that were run so far are dominated by a member of `front`, no further
    attack is run. `required` are the guarantees to be counted, `bounded` the losses and attacks with bounds. What is
    measured in `brief` is what decides: the losses that the one loss is made of, the attacks that link records, and
    what is bounded. At most so many records are `attacked`, drawn at random, each as one of all.
    """

    required: tuple[str, ...] = ()
    front: Stairs = ()
    sample: int | None = None
    sample_seed: int = 0
    brief: bool = False
    bounded: tuple[str, ...] = ()
    attacked: int | None = None


def measure_trial(table: Microdata, trial: Trial, progress: Progress) -> Outcome:
    """Make the release of a candidate and measure it; whatever goes wrong with it is the outcome."""
    return carefully(lambda: _measured(_drawn(table, trial), trial, progress))


def _drawn(table: Microdata, trial: Trial) -> Microdata:
    return table if trial.sample is None else _sample(table, trial.sample, trial.sample_seed)


@lru_cache(maxsize=2)
def _sample(table: Microdata, records: int, seed: int) -> Microdata:
    """The same records for all candidates, so that they can be compared."""
    return table.take(Streams(seed).some_of(len(table), records, "search"))


def _measured(table: Microdata, trial: Trial, progress: Progress) -> Measured:
    release = protect(table, Plan(trial.candidate.steps, trial.seed), progress=Part(progress, 0.0, 0.4))
    guarantees = _guarantees(release, trial.required)
    matched = corresponding(table, release)
    pair = Pair.of(matched.original, matched.release, trial.measures.attributes, known=trial.measures.known)
    rule = make("score", trial.measures.score.name, trial.measures.score.parameters)
    if trial.brief and RISK not in trial.required:
        return replace(_briefly(pair, trial, rule, Part(progress, 0.4, 1.0)), guarantees=guarantees)
    first, later = _stages(trial, pair)
    if not first:
        raise DataError(_NONE_APPLIES)
    limited = [attack.on_at_most(trial.attacked) for attack in first]
    assessment = assess_pair(
        pair, matched, attacks=limited, losses=made_of("loss", trial.measures.losses), score=rule,
        progress=Part(progress, 0.4, 0.7),
    )  # fmt: skip
    risks, complete = assessment.risks, True
    if later:
        complete = not _is_dominated(assessment.score, trial.front)
        if complete:
            part = Part(progress, 0.7, 1.0)
            found = battery_of(
                pair, attacks=later, done=first, records=trial.attacked, contributions=False, progress=part
            )
            risks = {**risks, **found.risks}
            values = rule.values(pair, assessment.losses, risks, {})
            assessment = replace(assessment, risks=risks, score=rule.combine(values), parts=values)
    if RISK in trial.required:
        guarantees |= {RISK: assessment.headline.after.largest}
    return replace(Measured.of(assessment), guarantees=guarantees, complete=complete)


def _stages(trial: Trial, pair: Pair) -> tuple[list[Attack], list[str]]:
    """The attacks to run at once and, by their names, those to run where a candidate could enter the front."""
    named = trial.measures.attacks
    if named is not None and not isinstance(named, str):
        return [attack for attack in made_of("attack", named) or [] if type(attack).suited(attack.facing(pair))], []
    later = names("attack") if named == "all" else INFORMED
    usual = [form for name in usual_names("attack") for form in _usual_forms(name, pair)]
    return usual, [name for name in later if _is_suited(name, pair)]


def _usual_forms(name: str, pair: Pair) -> tuple[Attack, ...]:
    cls: type[Attack] = find("attack", name)
    return cls.usual_forms(cls.facing(pair))


def _briefly(pair: Pair, trial: Trial, rule: ScoreRule, progress: Progress) -> Measured:
    """Loss and risk alone: one attack after the other, until what was found is dominated or nothing is left to link."""
    losses = {measure.name: measure.measure_pair(pair) for measure in _deciding_losses(trial, pair)}
    attacks = _deciding_attacks(trial, pair)
    if not attacks:
        raise DataError(_NONE_APPLIES)
    risks: dict[str, Risk] = {}
    score, complete = None, True
    for (number, attack), part in zip(enumerate(attacks), parts(progress, len(attacks)), strict=True):
        try:
            risks[_label(attack, risks)] = attack.assess_pair(attack.facing(pair), progress=part)
        except MicroveilError as problem:
            if isinstance(problem, Cancelled) or not risks:
                raise
            continue  # it cannot treat this release; others have
        score = rule.combine(rule.values(pair, losses, risks, {}))
        left = attacks[number + 1 :]
        if not any(other.name in trial.bounded for other in left):
            complete = not (left and _is_dominated(score, trial.front))
            if not complete or score.risk >= _ALL:
                break
    assert score is not None
    return replace(Measured.by(losses, risks, score, len(pair)), complete=complete)


def _deciding_losses(trial: Trial, pair: Pair) -> list[LossMeasure]:
    named = made_of("loss", trial.measures.losses)
    if named is not None:
        return named
    suited = [name for name in usual_names("loss") if find("loss", name).suited(pair)]
    deciding = [name for name in suited if name in HEADLINE_LOSSES]
    return [make("loss", name) for name in suited if not deciding or name in deciding or name in trial.bounded]


def _deciding_attacks(trial: Trial, pair: Pair) -> list[Attack]:
    """The attacks of a trial that decide, those of an intruder who knows the plan last: they take longest."""
    first, later = _stages(trial, pair)
    others = [other for name in later for other in find("attack", name).suited(find("attack", name).facing(pair))]
    others = [other for other in others if other not in first]
    every = [*first, *sorted(others, key=lambda attack: attack.name in INFORMED)]
    deciding = [attack for attack in every if attack.family == _LINKAGE]
    bounded = [attack for attack in every if attack.name in trial.bounded and attack not in deciding]
    return [attack.on_at_most(trial.attacked) for attack in ([*bounded, *deciding] if deciding else every)]


def _label(attack: Attack, taken: Mapping[str, Risk]) -> str:
    """The name of an attack; of several forms of it, with a number."""
    same = sum(risk.name == attack.name for risk in taken.values())
    return f"{attack.name} ({same + 1})" if same else attack.name


def _is_suited(name: str, pair: Pair) -> bool:
    cls: type[Attack] = find("attack", name)
    return bool(cls.suited(cls.facing(pair)))


def _is_dominated(score: Score, front: Stairs) -> bool:
    return any(loss <= score.loss and risk <= score.risk for loss, risk in front)


def _guarantees(release: Release, required: Sequence[str]) -> dict[str, float]:
    return {name: release.guarantees.value(name) for name in required if name != RISK}
