"""The solution space of full-domain generalisation as a page: which nodes were checked, and what each would keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import microveil
from microveil.masking.coarsening.generalise import Generalise
from microveil.microdata.microdata import as_microdata, resolve_attributes
from microveil.numerics.lattice.checking import Solution
from microveil.numerics.lattice.search import Outcome
from microveil.progress import Progress, silent
from microveil.reporting.charts import Mark, Style, scatter
from microveil.reporting.charts.layout import Axis
from microveil.reporting.pages import render

_SHOWN = 100  # nodes in the table
_DRAWN = 1_500  # nodes in the chart
_FULFILLED, _OTHERS = "fulfils what is asked", "does not"
_STYLES = {_FULFILLED: Style("circle", "#2563a8"), _OTHERS: Style("cross", "#9aa1a9")}


def solution_space_page(
    method: Generalise, data: Any, attributes: Sequence[str] | None = None, progress: Progress = silent
) -> str:
    """One HTML page with the nodes that the search of a method checks in a table, the chosen one and the best others.

    >>> from microveil.microdata import Microdata
    >>> page = solution_space_page(Generalise(k=2), Microdata.of({"age": [20, 21, 34, 35]}))
    >>> page.count("<h2>")
    2
    """
    table = as_microdata(data)
    names = resolve_attributes(table, attributes, method.takes, method.name)
    outcome = method.solutions(table, names, progress)
    return render(
        "solution_space.html",
        title="Solution space of full-domain generalisation",
        outcome=outcome,
        attributes=names,
        measure=method.utility,
        records=len(table),
        chart=_chart(outcome),
        shown=outcome.solutions[:_SHOWN],
        version=microveil.__version__,
    )


def _chart(outcome: Outcome) -> str:
    drawn = outcome.solutions[:_DRAWN]
    heights = [sum(solution.levels) for solution in drawn]
    return scatter(
        [_mark(solution, chosen=solution == outcome.best) for solution in reversed(drawn)],
        title="Nodes of the lattice",
        description="Each mark is a combination of levels that was checked; the sum of its levels grows to the right, "
        "what a release at these levels keeps upwards.",
        x=Axis("sum of the levels", 0.0, float(max(heights, default=0) + 1)),
        y=Axis("utility, % of the original", 0.0, 100.0),
        styles=_STYLES,
    )


def _mark(solution: Solution, *, chosen: bool) -> Mark:
    levels = ", ".join(map(str, solution.levels))
    return Mark(
        float(sum(solution.levels)),
        100.0 * solution.utility,
        _FULFILLED if solution.satisfies else _OTHERS,
        f"levels {levels}: keeps {100 * solution.utility:.2f} %, {solution.suppressed:,} records suppressed",
        "chosen" if chosen else "",
        "ring" if chosen else "",
    )
