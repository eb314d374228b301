"""The page of a study: the risk-utility map, the ranking, curves over parameters, and the best release in detail."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import microveil
from microveil.microdata.microdata import count
from microveil.registry import find, make
from microveil.reporting.charts import Line, bars, histogram, lines
from microveil.reporting.pages import render
from microveil.reporting.report_findings import Masthead
from microveil.reporting.risk_utility import Spot, risk_utility_chart
from microveil.scoring import Score

if TYPE_CHECKING:
    from microveil.study.measuring import Value
    from microveil.study.results import Result, Study

_IN_A_NOTEBOOK = 15  # rows of the ranking
_COMPARED = 3  # candidates whose losses are shown attribute by attribute
_HALF_PAGE = 430.0


@dataclass(frozen=True)
class Figure:
    """A chart with what stands below it."""

    svg: str
    caption: str


def study_page(study: Study, *, again: str, lead: str | None = None, tried: Sequence[Spot] = ()) -> str:
    """One self-contained HTML page; `again` are the commands that make the best release again, `tried` what a search
    has tried on its way."""
    best = study.chosen
    masthead = Masthead(study.organisation, study.author, datetime.date.today().isoformat())
    return render(
        "study.html",
        study=study,
        masthead=masthead.line,
        lead=lead or _lead(study),
        best=best,
        map=_map(study, tried),
        tried=len(tried),
        has_equal_score=score_of_the_best(study) is not None,
        rule=make("score", study.score.name, study.score.parameters),
        rows=_ranking(study),
        parts=any(map(study.is_part, study.results)),
        repeated=any(len(result.runs) > 1 for result in study.results),
        curves=_curves(study),
        attribute_losses=_attribute_losses(study, best) if best else [],
        record_risks=_record_risks(best) if best else None,
        measures=_measures(best) if best else [],
        again=again,
        version=microveil.__version__,
    )


def study_fragment(study: Study) -> str:
    """The map and the head of the ranking, for a notebook."""
    rows = _ranking(study)
    return render(
        "study_fragment.html",
        study=study,
        lead=", ".join([*_counts(study), *([count(len(study.failures), "failed cell")] if study.failures else [])]),
        map=_map(study),
        rows=rows[:_IN_A_NOTEBOOK],
        more=len(rows[_IN_A_NOTEBOOK:]),
    )


def risk_utility_map(study: Study, tried: Sequence[Spot] = ()) -> str:
    """The map of a study: its candidates by rank, the front, the best, the knee and what is admissible; behind them,
    what was tried on the way."""
    spots = [
        Spot(r.candidate.label, r.risk, r.loss, r.candidate.family, r.spread("risk"), r.spread("loss"), r.score)
        for r in study.results
    ]
    positions = {id(result): position for position, result in enumerate(study.results)}
    best = study.chosen
    return risk_utility_chart(
        spots,
        tried=tried,
        front=[positions[id(result)] for result in study.front],
        best=None if best is None else positions[id(best)],
        knee=None if study.knee is None else positions[id(study.knee)],
        risk_below=study.risk_bound,
        equal_score=score_of_the_best(study),
    )


def score_of_the_best(study: Study) -> Score | None:
    """The best candidate's point on the map as the study's rule scores it; none where the mean of the scores over
    repeats is not the score of the point, as for the larger of loss and risk."""
    if not study.admissible:
        return None
    rule = make("score", study.score.name, study.score.parameters)
    if rule.by == "max" and any(len(result.runs) > 1 for result in study.results):
        return None
    return Score(study.best.loss, study.best.risk, rule.by, rule.share)


def _lead(study: Study) -> str:
    cells = sum(len(result.runs) for result in study.results) + len(study.failures)
    candidates, records = _counts(study)
    known = "" if study.knowledge is None else f"; {study.knowledge}"
    return f"{records}; {candidates} in {count(cells, 'cell')}; compared on {', '.join(study.attributes)}{known}."


def _counts(study: Study) -> tuple[str, str]:
    return count(len(study.results), "candidate"), count(study.records, "record")


def _map(study: Study, tried: Sequence[Spot] = ()) -> str:
    return risk_utility_map(study, tried) if study.results else ""


def _ranking(study: Study) -> list[dict[str, Any]]:
    """One row for each candidate, the best score first."""
    front, admissible = set(map(id, study.front)), set(map(id, study.admissible))
    best = study.chosen
    return [
        {
            "label": result.candidate.label,
            **{name: result.mean(name) for name in ("loss", "risk", "score")},
            "deviation": result.deviation("score"),
            "repeats": len(result.runs),
            "seconds": result.seconds,
            "is_best": result is best,
            "is_knee": result is study.knee,
            "on_front": id(result) in front,
            "is_admissible": id(result) in admissible,
            "part": f"{result.records:,} of {count(study.records, 'record')}" if study.is_part(result) else "",
        }
        for result in study.results
    ]


def _measures(best: Result) -> list[tuple[str, str, float, str]]:
    """Kind, label, value and meaning of every number of a candidate."""
    entries = {"loss": "loss", "risk": "attack"}
    return [(v.kind, v.label, v.value, find(entries[v.kind], v.measure).meaning) for v in best.values]


def _curves(study: Study) -> list[Figure]:
    """Loss and risk against the one parameter in which the candidates of a series differ, if it is a number."""
    series: dict[tuple[str, str], list[Result]] = {}
    for result in study.results:
        on = str([step.attributes for step in result.candidate.steps])
        series.setdefault((result.candidate.series, on), []).append(result)
    figures = []
    for members in series.values():
        names = {tuple(result.candidate.varied) for result in members}
        if len(members) < 2 or len(names) != 1 or len(next(iter(names))) != 1:
            continue
        ((name,),) = names
        if all(_is_number(result.candidate.varied[name]) for result in members):
            figures.append(_curve(members, name))
    return figures


def _curve(members: Sequence[Result], parameter: str) -> Figure:
    ordered = sorted(members, key=lambda result: result.candidate.varied[parameter])
    name = ordered[0].candidate.series
    svg = lines(
        [
            Line(
                measure,
                [(float(result.candidate.varied[parameter]), result.mean(measure)) for result in ordered],
                [result.spread(measure) or (result.mean(measure),) * 2 for result in ordered],
            )
            for measure in ("loss", "risk")
        ],
        title=f"{name}: loss and risk against {parameter}",
        description=f"How information loss and disclosure risk change with the parameter {parameter} of {name}.",
        x_title=parameter,
        y_title="%",
        width=_HALF_PAGE,
        height=200.0,
    )
    return Figure(svg, f"{name}: loss and risk against {parameter}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _attribute_losses(study: Study, best: Result) -> list[Figure]:
    """The first loss that has a value for each of some attributes, for the best candidate beside the next ones."""
    shown = [best, *(result for result in study.results if result is not best)][:_COMPARED]
    first: dict[tuple[str, ...], Value] = {}
    for value in best.values:
        if value.kind == "loss" and value.per_attribute:
            first.setdefault(tuple(value.per_attribute), value)
    figures = []
    for names, value in first.items():
        series = {
            result.candidate.label: [_per_attribute(result, value.label).get(name, 0.0) for name in names]
            for result in shown
        }
        svg = bars(
            names,
            series,
            title=f"{value.label} by attribute",
            description=f"The loss {value.label} of each attribute, for the candidates with the best scores.",
            x_title=f"{value.label}, %",
            x_limits=(0.0, 100.0) if max(map(max, series.values())) > 100 else None,
        )
        figures.append(Figure(svg, f"{value.label}: {find('loss', value.measure).meaning}"))
    return figures


def _per_attribute(result: Result, label: str) -> dict[str, float]:
    return next((dict(value.per_attribute) for value in result.values if value.label == label), {})


def _record_risks(best: Result) -> Figure | None:
    """How many records have which risk of being identified."""
    counts = best.histogram
    if not counts:
        return None
    edges = [100 * i / len(counts) for i in range(len(counts) + 1)]
    total = sum(counts) or 1.0
    svg = histogram(
        edges,
        {"records": [100 * count / total for count in counts]},
        title="Risk of single records",
        description="The share of the records whose probability of being identified lies between the edges.",
        x_title="probability of being identified, %",
        y_title="records, %",
        width=860.0,
    )
    certain = 100 * counts[-1] / total
    caption = f"{best.candidate.label}: by the attack most dangerous to each record; {certain:.1f} % are nearly sure"
    return Figure(svg, caption)
