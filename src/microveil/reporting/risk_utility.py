"""The risk-utility map: every candidate a point, risk to the right, loss upwards, the ideal at the origin.

After Duncan, Keller-McNulty and Stokes (2001), with loss in the place of utility as in Marés (2013), section 3.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from microveil.reporting.charts import Guide, Mark, Region, Style, scatter
from microveil.reporting.charts.layout import Axis
from microveil.scoring import Score

_RISK = "disclosure risk, % (what an intruder gains)"
_LOSS = "information loss, % (what an analyst loses)"
_DOTTED, _GREY = "2 4", "#9aa1a9"
_ALL_NUMBERED = 40  # more numbers than this would cover each other: only the front keeps its own
# an optimiser's candidates before and after it worked on them
_GENERATIONS = {"initial": Style("cross", "#6b727a"), "final": Style("circle", "#2563a8")}


@dataclass(frozen=True)
class Spot:
    """A candidate on the map, with its score if it has one; the spreads are the ends of error bars, such as over
    repeats."""

    label: str
    risk: float
    loss: float
    family: str
    risk_spread: tuple[float, float] | None = None
    loss_spread: tuple[float, float] | None = None
    score: float | None = None
    href: str = ""


def risk_utility_chart(
    spots: Sequence[Spot],
    *,
    tried: Sequence[Spot] = (),
    front: Sequence[int] = (),
    best: int | None = None,
    knee: int | None = None,
    risk_below: float | None = None,
    loss_below: float | None = None,
    equal_score: Score | None = None,
    balance: bool = False,
    styles: Mapping[str, Style] | None = None,
    numbered: bool = True,
    title: str = "Risk-utility map",
) -> str:
    """The map as SVG text. `front`, `best` and `knee` are positions in `spots`, which are numbered from 1 as they come.

    `risk_below` and `loss_below` shade what is admissible; `equal_score` draws where loss and risk have the same score
    as this one, so that all below and left of it would be better; `balance` draws the line on which loss and risk are
    the same. What an optimiser has `tried` on its way lies faintly behind the candidates.

    >>> risk_utility_chart([Spot("mdav k=3", 20.0, 10.0, "mdav")], best=0).count("<circle")
    3
    """
    every = [*spots, *tried]
    risk_top, loss_top = _top([s.risk for s in every]), _top([s.loss for s in every])
    guides = [Guide([(spots[i].risk, spots[i].loss) for i in front])] if front else []
    if equal_score is not None:
        guides.append(Guide(_equal_score_line(equal_score, risk_top, loss_top), _DOTTED, _GREY))
    if balance:
        end = min(risk_top, loss_top)
        guides.append(Guide([(0.0, 0.0), (end, end)], _DOTTED, _GREY))
    with_number = set(range(len(spots)) if len(spots) <= _ALL_NUMBERED else front) if numbered else set()
    marks = [
        Mark(
            spot.risk, spot.loss, spot.family, _hint(position, spot),
            _label(position, spot, chosen=position in (best, knee), numbered=position in with_number),
            "ring" if position == best else "box" if position == knee else "",
            spot.risk_spread, spot.loss_spread, spot.href,
        )
        for position, spot in enumerate(spots)
    ]  # fmt: skip
    return scatter(
        marks,
        title=title,
        description="Each mark is a candidate release; disclosure risk grows to the right, information loss upwards; "
        "the best balance is near the lower left corner.",
        x=Axis(_RISK, 0.0, risk_top),
        y=Axis(_LOSS, 0.0, loss_top),
        faint=[(spot.risk, spot.loss, f"{spot.label}: {_told(spot)}") for spot in tried],
        guides=guides,
        region=_admissible(risk_below, loss_below, risk_top),
        styles=styles,
    )


def generations_map(initial: Sequence[tuple[float, float]], final: Sequence[tuple[float, float]]) -> str:
    """What an optimiser made of its candidates, as (loss, risk): the first ones as crosses, the last as circles, with
    the line on which loss and risk are the same.
    """
    spots = [
        Spot(f"{family} {number}", risk, loss, family)
        for family, pairs in (("initial", initial), ("final", final))
        for number, (loss, risk) in enumerate(pairs, start=1)
    ]
    return risk_utility_chart(
        spots, balance=True, styles=_GENERATIONS, numbered=False, title="Initial and final candidates"
    )


def _admissible(risk_below: float | None, loss_below: float | None, risk_top: float) -> Region | None:
    """What lies within the bounds, as far as there are any."""
    if risk_below is None and loss_below is None:
        return None
    named = (("risk", risk_below), ("loss", loss_below))
    words = " and ".join(f"{name} below {bound:g}" for name, bound in named if bound is not None)
    return Region(risk_top if risk_below is None else risk_below, f"admissible: {words}", loss_below)


def _top(values: Sequence[float]) -> float:
    return max(10.0, 10.0 * ceil((max(values, default=0.0) + 2.0) / 10.0))


def _label(position: int, spot: Spot, *, chosen: bool, numbered: bool) -> str:
    if chosen:
        return f"{position + 1} {spot.label}"
    return str(position + 1) if numbered else ""


def _hint(position: int, spot: Spot) -> str:
    score = "" if spot.score is None else f", score {spot.score:.1f}"
    return f"{position + 1}. {spot.label}: {_told(spot)}{score}"


def _told(spot: Spot) -> str:
    return f"risk {spot.risk:.1f}, loss {spot.loss:.1f}"


def _equal_score_line(score: Score, risk_top: float, loss_top: float) -> list[tuple[float, float]]:
    """Where loss and risk have this score, from end to end of the map, as (risk, loss)."""
    if score.by == "max":
        worst = score.max
        left = [(0.0, worst)] if worst <= loss_top else []
        right = [(worst, 0.0)] if worst <= risk_top else []
        return [*left, (min(worst, risk_top), min(worst, loss_top)), *right]
    of_loss, of_risk = score.share, 1.0 - score.share
    loss, risk = _reach(score.value, of_loss, loss_top), _reach(score.value, of_risk, risk_top)
    return [
        (_rest(score.value - of_loss * loss, of_risk), loss),
        (risk, _rest(score.value - of_risk * risk, of_loss)),
    ]


def _reach(score: float, weight: float, top: float) -> float:
    """How far a line of this score goes along an axis that counts with this weight."""
    return min(top, score / weight) if weight else top


def _rest(score: float, weight: float) -> float:
    return max(0.0, score) / weight if weight else 0.0
