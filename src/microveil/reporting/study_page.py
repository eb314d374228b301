"""The page of a study: the risk-utility map, the ranking, and the best release in detail."""

from __future__ import annotations

import microveil
from microveil.reporting.pages import render
from microveil.reporting.risk_utility import risk_utility_map
from microveil.study import Study


def study_page(study: Study, *, title: str, lead: str, again: str) -> str:
    """One self-contained HTML page; `again` are the commands that make the best release again."""
    rows = [
        {
            "label": result.candidate.label,
            **result.assessment.score.to_plain(),
            "links": result.assessment.risks["distance-linkage"].value,
        }
        for result in study.results
    ]
    return render(
        "study.html",
        title=title,
        lead=lead,
        chart=risk_utility_map(study),
        rows=rows,
        measures=study.best.assessment.rows(),
        again=again,
        version=microveil.__version__,
    )
