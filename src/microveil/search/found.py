"""What a search found: the front as a study, what was explored on the way, and why the best is the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from microveil.display import paragraph
from microveil.microdata.files.atomic import make_folder, text_writer, write_together
from microveil.microdata.microdata import count
from microveil.numerics.evolution.pareto import hypervolume
from microveil.reporting.risk_utility import Spot
from microveil.search.aims import Aim
from microveil.search.measuring import Trial
from microveil.search.samplers import Point
from microveil.search.space import key_of
from microveil.study import Result, Study
from microveil.study.measuring import Measured, Outcome
from microveil.study.results import PAGE, PLAN, SUMMARY, TABLE, csv_text

FRONT, EXPLORED, PLANS = "front.csv", "explored.csv", "plans"
_IN_FRONT = ("loss", "risk", "candidate", "plan")
_TRIED = ("loss", "risk", "complete", "records", "candidate", "reason")


@dataclass(frozen=True)
class Explored:
    """A pipeline that was tried: what was found of it, and how."""

    trial: Trial
    point: Point
    outcome: Outcome


@dataclass(frozen=True)
class Found:
    """The front of a search as a `study`, measured with `fresh` seeds unless the search was cancelled.

    `explored` is all that was tried, on a long table first on a sample, and what was measured again; `trajectory` has,
    after each try, how many these were and the hypervolume of the front, which falls where a member was only lucky.
    """

    study: Study
    explored: tuple[Explored, ...]
    aim: Aim
    trajectory: tuple[tuple[int, float], ...]
    fresh: bool = True

    @property
    def front(self) -> tuple[Result, ...]:
        """The pipelines that no other beats in both loss and risk, by rising risk."""
        return self.study.front

    @property
    def best(self) -> Result:
        """The least loss within the bound on the risk; without a bound, the least mean of loss and risk."""
        return self.study.best

    @property
    def tried(self) -> int:
        """How many pipelines were tried."""
        return tried_of(self.explored)

    @property
    def hypervolume(self) -> float:
        """The share of the area of loss and risk, both up to 100 %, that the front dominates, in per cent."""
        return hypervolume(np.array([(r.loss, r.risk) for r in self.front], dtype=np.float64).reshape(-1, 2))

    def plan_of(self, number: int) -> Any:
        """The plan of a member of the front, counted from 1 by rising risk."""
        return self.study.plan(self.front[number - 1])

    @property
    def explanation(self) -> tuple[str, ...]:
        """Why the best was chosen, and what its neighbours on the front would give and cost."""
        best, front = self.best, list(self.front)
        tried = count(self.tried, "pipeline")
        told = [
            f"'{best.candidate.label}' is chosen: it loses {best.loss:.2f} % and the worst attack links "
            f"{best.risk:.2f} % of the records ({worst_attack(best)})."
        ]
        if self.aim.risk_below is not None:
            told.append(f"Of {tried} tried it loses least among those that keep to {self.aim.words}.")
        else:
            kept = f" among those that keep to {self.aim.words}" if self.aim.words else ""
            told.append(f"Of {tried} tried it has the least mean of loss and risk{kept}.")
        if best is self.study.knee:
            told.append("It is the knee of the front: beyond it, a little less of one side costs much of the other.")
        at = next((i for i, result in enumerate(front) if result is best), None)
        if at is not None and at > 0:
            told.append(_neighbour("A safer choice", front[at - 1], best))
        if at is not None and at + 1 < len(front):
            told.append(_neighbour("One that loses less", front[at + 1], best))
        if not self.fresh:
            told.append(
                "The search was cancelled before the front was measured with fresh seeds, so losses and risks are "
                "those by which it chose, and may be too low."
            )
        return tuple(told)

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "front": [{"loss": r.loss, "risk": r.risk, "candidate": r.candidate.label} for r in self.front],
            "best": self.best.candidate.label,
            "hypervolume": self.hypervolume,
            "explored": self.tried,
            "fresh": self.fresh,
            "explanation": list(self.explanation),
        }

    def __str__(self) -> str:
        lines = [line for sentence in self.explanation for line in paragraph(sentence)]
        return "\n".join([str(self.study), "", *lines])

    def save(self, folder: str | Path) -> dict[str, Path]:
        """Write what a study writes, the front with a plan for each of its members, and all that was tried."""
        folder = make_folder(folder)
        paths = self.study.save(folder, lead=" ".join(self.explanation), tried=self._spots())
        plans = make_folder(folder / PLANS)
        _remove_plans(plans)  # of an earlier run
        texts = {
            folder / FRONT: csv_text(_IN_FRONT, self._front_rows()),
            folder / EXPLORED: csv_text(_TRIED, self._tried_rows()),
        }
        named = {plans / _plan_name(i): self.plan_of(i).to_toml() for i in range(1, len(self.front) + 1)}
        write_together({path: text_writer(text) for path, text in texts.items()}, force=True)
        # seeds of plans help to undo the masking
        write_together({path: text_writer(text) for path, text in named.items()}, force=True, private=list(named))
        return {**paths, **{path.name: path for path in texts}}

    def _spots(self) -> list[Spot]:
        """What was tried on all records, for the map."""
        whole = ((one, one.outcome.measured) for one in self.explored if one.trial.sample is None)
        return [
            Spot(one.trial.candidate.label, measured.risk, measured.loss, one.trial.candidate.family)
            for one, measured in whole
            if measured is not None
        ]

    def _front_rows(self) -> list[dict[str, Any]]:
        return [
            {**_numbers(r), "candidate": r.candidate.label, "plan": f"{PLANS}/{_plan_name(i)}"}
            for i, r in enumerate(self.front, start=1)
        ]

    def _tried_rows(self) -> list[dict[str, Any]]:
        return [
            {
                **({} if one.outcome.measured is None else _numbers(one.outcome.measured)),
                "complete": one.outcome.measured is not None and one.outcome.measured.complete,
                "records": "all" if one.trial.sample is None else one.trial.sample,
                "candidate": one.trial.candidate.label,
                "reason": one.outcome.reason,
            }
            for one in self.explored
        ]


def tried_of(explored: Sequence[Explored]) -> int:
    """How many pipelines these are; one that was raced on a sample and then measured on all records counts once."""
    return len({key_of(one.point.pipeline) for one in explored})


def remove_results(folder: Path) -> None:
    """Remove what an earlier search has written; its measurements stay, so the same search writes it again."""
    for name in (PLAN, FRONT, EXPLORED, PAGE, TABLE, SUMMARY):
        (folder / name).unlink(missing_ok=True)
    _remove_plans(folder / PLANS)


def _remove_plans(folder: Path) -> None:
    for old in folder.glob("plan-[0-9][0-9].toml"):
        old.unlink()


def _numbers(found: Result | Measured) -> dict[str, str]:
    return {"loss": f"{found.loss:.6g}", "risk": f"{found.risk:.6g}"}


def _plan_name(number: int) -> str:
    return f"plan-{number:02}.toml"


def worst_attack(result: Result) -> str:
    """The attack that links most records, by its label."""
    risks = [value for value in result.values if value.kind == "risk" and value.measure.endswith("linkage")]
    return max(risks, key=lambda value: value.value).label if risks else "no linkage was run"


def _neighbour(what: str, other: Result, best: Result) -> str:
    return (
        f"{what} is '{other.candidate.label}': loss {other.loss:.2f} % ({other.loss - best.loss:+.2f}), risk "
        f"{other.risk:.2f} % ({other.risk - best.risk:+.2f})."
    )
