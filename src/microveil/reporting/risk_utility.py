"""The risk-utility map: every candidate release as a point, risk to the right, loss upwards, the ideal at the origin."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from microveil.reporting.pages import render
from microveil.study import Result, Study

_WIDTH, _HEIGHT = 860, 520
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 20, 56
# told apart also without colour: each family has a shape
_FAMILY_LOOKS = (("circle", "#2563a8"), ("square", "#b4531f"), ("triangle", "#3b7d3c"), ("diamond", "#7a3e93"))
_LABEL_GAP = 14.0


@dataclass(frozen=True)
class Point:
    """A candidate placed on the map."""

    x: float
    y: float
    shape: str
    colour: str
    label: str
    hint: str
    is_best: bool
    is_named: bool
    label_y: float
    anchor: str


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
    points = [_point(r, x(r.risk), y(r.loss), looks[family_of(r)], r is study.best, r in front) for r in study.results]
    score = study.best.assessment.score.mean
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
        best_line=_equal_score_line(score, risk_top, loss_top, x, y),
        points=_without_overlaps(points),
        legend=[(family, *looks[family]) for family in families],
    )


def family_of(result: Result) -> str:
    """What a candidate is told apart by: the methods it uses."""
    return " + ".join(step.method for step in result.candidate.steps)


def _point(result: Result, x: float, y: float, look: tuple[str, str], is_best: bool, on_front: bool) -> Point:
    hint = f"{result.candidate.label}: risk {result.risk:.1f}, loss {result.loss:.1f}, score {result.assessment.score.mean:.1f}"
    near_the_edge = x > 0.75 * _WIDTH
    return Point(
        x, y, *look, result.candidate.label, hint, is_best, is_best or on_front, y + 4, "end" if near_the_edge else "start"
    )


def _without_overlaps(points: list[Point]) -> list[Point]:
    """Move the names of named points apart, from the top down."""
    placed: list[Point] = []
    for point in sorted(points, key=lambda p: p.y):
        label_y = point.label_y
        for other in placed:
            close = abs(other.x - point.x) < 190 and other.is_named and point.is_named
            if close and abs(other.label_y - label_y) < _LABEL_GAP:
                label_y = other.label_y + _LABEL_GAP
        placed.append(Point(**{**vars(point), "label_y": round(label_y, 1)}))
    return placed


def _ticks(top: float) -> list[int]:
    step = 10 if top <= 60 else 20
    return list(range(0, int(top) + 1, step))


def _equal_score_line(score, risk_top, loss_top, x, y):  # type: ignore[no-untyped-def]
    """Where loss + risk is the best candidate's: anything below and left of this line would be better."""
    total = 2 * score
    start = (max(0.0, total - loss_top), min(loss_top, total))
    end = (min(risk_top, total), max(0.0, total - risk_top))
    return x(start[0]), y(start[1]), x(end[0]), y(end[1])
