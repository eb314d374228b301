"""The risk-utility map: every candidate a point, risk to the right, loss upwards, the ideal at the origin."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from microveil.reporting.pages import render
from microveil.study import Result, Study

_WIDTH, _HEIGHT = 860, 520
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 20, 56
# told apart also without colour: each family has a shape
_FAMILY_LOOKS = (("circle", "#2563a8"), ("square", "#b4531f"), ("triangle", "#3b7d3c"), ("diamond", "#7a3e93"))


@dataclass(frozen=True)
class Point:
    """A candidate placed on the map, named by its place in the ranking."""

    x: float
    y: float
    shape: str
    colour: str
    place: int
    label: str
    hint: str
    is_best: bool


def _top_of_axis(values: list[float]) -> float:
    return max(10.0, 10.0 * ceil((max(values, default=0.0) + 2.0) / 10.0))


def risk_utility_map(study: Study) -> str:
    """The map as SVG text."""
    risk_top = _top_of_axis([r.risk for r in study.results])
    loss_top = _top_of_axis([r.loss for r in study.results])

    def x(risk: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * risk / risk_top, 1)

    def y(loss: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * loss / loss_top, 1)

    families = list(dict.fromkeys(family_of(r) for r in sorted(study.results, key=lambda r: family_of(r))))
    looks = {family: _FAMILY_LOOKS[i % len(_FAMILY_LOOKS)] for i, family in enumerate(families)}
    front = study.front
    points = [
        Point(
            x(result.risk), y(result.loss), *looks[family_of(result)], place, result.candidate.label,
            _hint(result, place), is_best=place == 1,
        )
        for place, result in enumerate(study.results, start=1)
    ]  # fmt: skip
    from_risk, from_loss, to_risk, to_loss = _equal_score_line(study.best.assessment.score.mean, risk_top, loss_top)
    return render(
        "risk_utility.svg",
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        right=_WIDTH - _RIGHT,
        top=_TOP,
        bottom=_HEIGHT - _BOTTOM,
        x_ticks=[(x(t), t) for t in _ticks(risk_top)],
        y_ticks=[(y(t), t) for t in _ticks(loss_top)],
        front=" ".join(f"{x(r.risk)},{y(r.loss)}" for r in front),
        best_line=(x(from_risk), y(from_loss), x(to_risk), y(to_loss)),
        points=points,
        legend=[(family, *looks[family]) for family in families],
    )


def family_of(result: Result) -> str:
    """What a candidate is told apart by: the methods it uses."""
    return " + ".join(step.method for step in result.candidate.steps)


def _hint(result: Result, place: int) -> str:
    score = result.assessment.score
    return f"{place}. {result.candidate.label}: risk {score.risk:.1f}, loss {score.loss:.1f}, score {score.mean:.1f}"


def _ticks(top: float) -> list[int]:
    step = 10 if top <= 60 else 20
    return list(range(0, int(top) + 1, step))


def _equal_score_line(score: float, risk_top: float, loss_top: float) -> tuple[float, float, float, float]:
    """Where loss + risk is the best candidate's (risk, loss, risk, loss): all below and left of it would be better."""
    total = 2 * score
    return max(0.0, total - loss_top), min(loss_top, total), min(risk_top, total), max(0.0, total - risk_top)
