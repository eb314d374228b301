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
from microveil.errors import DataError
from microveil.masking import Plan, Release
from microveil.masking.guarantees import RISK
from microveil.microdata import Microdata
from microveil.progress import Part, Progress
from microveil.protection import protect
from microveil.randomness import Streams
from microveil.registry import find, make, names, usual_names
from microveil.scoring.assessing import assess_pair
from microveil.scoring.assessment import Assessment
from microveil.study.cells import Cell
from microveil.study.measuring import Measured, Outcome, carefully, made_of

ADVERSARY = ("likelihood-linkage",)  # an intruder who knows the plan, whom a search fears unless told otherwise
Stairs = tuple[tuple[float, float], ...]  # loss and risk of the members of a front


@dataclass(frozen=True)
class Trial(Cell):
    """A candidate to be measured, on a sample of so many records or on all of them.

    Where its loss and the risk by the attacks that were run so far are dominated by a member of `front`, no further
    attack is run. `required` are the guarantees to be counted.
    """

    required: tuple[str, ...] = ()
    front: Stairs = ()
    sample: int | None = None
    sample_seed: int = 0


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
    first, later = _stages(trial, pair)
    if not first:
        raise DataError("no attack applies to the release")
    assessment = assess_pair(
        pair, matched, attacks=first, losses=made_of("loss", trial.measures.losses), score=rule,
        progress=Part(progress, 0.4, 0.7),
    )  # fmt: skip
    risks, complete = assessment.risks, True
    if later:
        complete = not _is_dominated(assessment, trial.front)
        if complete:
            risks = {**risks, **_by(later, pair, Part(progress, 0.7, 1.0))}
            values = rule.values(pair, assessment.losses, risks, {})
            assessment = replace(assessment, risks=risks, score=rule.combine(values), parts=values)
    if RISK in trial.required:
        guarantees |= {RISK: assessment.headline.after.largest}
    return replace(Measured.of(assessment), guarantees=guarantees, complete=complete)


def _stages(trial: Trial, pair: Pair) -> tuple[list[Attack], list[str]]:
    """The attacks to run at once and, by their names, those to run where a candidate could enter the front."""
    named = trial.measures.attacks
    if named is not None and named != "all":
        return [attack for attack in made_of("attack", named) or [] if type(attack).suited(attack.facing(pair))], []
    later = names("attack") if named == "all" else ADVERSARY
    usual = [name for name in usual_names("attack") if _is_suited(name, pair)]
    return [make("attack", name) for name in usual], [name for name in later if _is_suited(name, pair)]


def _is_suited(name: str, pair: Pair) -> bool:
    cls: type[Attack] = find("attack", name)
    return bool(cls.suited(cls.facing(pair)))


def _by(attacks: Sequence[str], pair: Pair, progress: Progress) -> Mapping[str, Risk]:
    return battery_of(pair, attacks=attacks, contributions=False, progress=progress).risks


def _is_dominated(assessment: Assessment, front: Stairs) -> bool:
    loss, risk = assessment.score.loss, assessment.score.risk
    return any(other[0] <= loss and other[1] <= risk for other in front)


def _guarantees(release: Release, required: Sequence[str]) -> dict[str, float]:
    return {name: release.guarantees.value(name) for name in required if name != RISK}
