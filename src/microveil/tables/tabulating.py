"""Making a protected table, from the data to the audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from microveil.errors import DataError, ParameterError, UnknownNameError
from microveil.microdata.microdata import as_microdata
from microveil.parameters import LARGEST_NUMBER, Parameterised, parameter, parameterised
from microveil.progress import Part, Progress, Rising, silent
from microveil.randomness import check_seed, draw_seed
from microveil.tables.aggregation import Cells, with_empty_cells
from microveil.tables.audit import audit
from microveil.tables.cell_key import CellKey, averaging_attack
from microveil.tables.elimination import eliminate
from microveil.tables.optimal import optimal_suppression
from microveil.tables.problem import Cost, Problem, problem_of
from microveil.tables.protected import ProtectedTable
from microveil.tables.reinforcement import reinforced, trimmed
from microveil.tables.rounding import controlled_rounding
from microveil.tables.rules import Rule, Zeros, primary_cells, rule_of
from microveil.tables.sources import Aggregated, Hierarchies, Respondents, Source, from_cells, from_records
from microveil.typing import BoolArray
from microveil.units import percentage

METHODS = ("elimination", "optimal", "cell-key", "rounding", "none")
_SUPPRESSING = ("elimination", "optimal", "none")


@parameterised
class Rounding(Parameterised):
    """Controlled rounding to multiples of a base."""

    name: ClassVar[str] = "rounding"
    base: float = parameter(default=5.0, help="every value becomes a multiple of this number", gt=0, le=LARGEST_NUMBER)


def table(
    data: Any,
    by: Sequence[str] | Sequence[Sequence[str]],
    value: str | None = None,
    *,
    rules: Sequence[str | Rule] = ("frequency 3",),
    method: str | CellKey | Rounding = "elimination",
    hierarchies: Hierarchies | None = None,
    source: Respondents | Aggregated | None = None,
    protection: str | float | None = "10%",
    known: tuple[float, float] | None = None,
    singletons: bool = True,
    cost: Cost = "cells",
    suppressed: Iterable[Mapping[str, str]] = (),
    seed: int | str | None = None,
    time_limit: float = 300.0,
    progress: Progress = silent,
) -> ProtectedTable:
    """A frequency table, or with `value` a magnitude table, protected and audited.

    `by` names its dimensions; several lists of names make linked tables, which are protected together. A dimension has
    the hierarchy given for it, else that of the schema. `source` says whether the data are records (`Respondents`, the
    default) or cells that were added up already (`Aggregated`).

    `rules` say which cells are primary. `method` is one of `elimination` (fast), `optimal` (the fewest further cells,
    or with `cost` the least value or contributors), `cell-key`, `rounding`, and `none` (nothing but primary cells and
    those in `suppressed`, for an audit of them). Every primary cell is to stay uncertain by `protection` per cent of
    its value on either side; None takes what the rules ask for. An attacker knows that values are not negative, or the
    range in which each contribution is `known` to lie. With `singletons` a contributor who is alone in a cell must not
    be able to compute another primary cell from its own value.

    >>> made = table({"job": ["cook", "cook", "cook", "nurse", "nurse", "nurse", "smith"]}, ["job"])
    >>> made.counts
    {'cells': 4, 'primary': 1, 'secondary': 1, 'published': 2}
    >>> made.passed
    True
    """
    if not 0 < time_limit <= 1e6:
        raise ParameterError("the time limit must be a positive number of seconds")
    report = Rising(progress)
    chosen = _method(method)
    asked = [rule_of(rule) for rule in ([rules] if isinstance(rules, str | Rule) else rules)]
    share = None if protection is None else percentage(protection, "the protection") / 100
    groups = _groups(by)
    if isinstance(chosen, CellKey):
        seed = draw_seed() if seed is None else check_seed(seed)
    elif seed is not None:
        raise ParameterError("only the cell-key method takes a seed")
    read = _source(data, groups, value, hierarchies or {}, source, asked, chosen, seed, Part(report, 0.0, 0.1))
    cells = read.cells
    if any(isinstance(rule, Zeros) for rule in asked):
        cells = with_empty_cells(cells)
    notes = read.notes
    if (cells.values < 0).any() and known is None:
        notes = (*notes, "some values are negative, so an attacker is not assumed to know that values are positive")
    primary = primary_cells(asked, cells)
    label = chosen if isinstance(chosen, str) else chosen.name
    texts = tuple(rule.text for rule in asked)
    if isinstance(chosen, CellKey):
        values = chosen.perturbed(cells)
        nobody = np.zeros(len(cells), dtype=bool)
        facts: dict[str, Any] = dict(chosen.parameters())
        if cells.is_count:
            attack = averaging_attack(cells.structure, cells.values, values, cells.contributors > 0)
            facts["averaging"] = {"totals": attack.totals, "alone": attack.alone, "averaged": attack.averaged}
        report(1.0, label)
        return ProtectedTable(
            cells, label, values, primary, nobody, texts, value, notes=notes, facts=facts, seed=check_seed(seed)
        )
    problem = problem_of(cells, primary, rules=asked, share=share, known=known, cost=cost, singletons=singletons)
    if isinstance(chosen, Rounding):
        return _rounded(cells, problem, primary, chosen, texts, value, notes, time_limit, report)
    marked = _marked(cells, read.marked if cells is read.cells else np.zeros(len(cells), dtype=bool), suppressed)
    if marked.any() and chosen != "none":
        raise ParameterError("a suppression of your own is audited with the method 'none'")
    columns, facts = _suppression(problem, chosen, marked, time_limit, Part(report, 0.1, 0.8))
    found = audit(problem, columns, progress=Part(report, 0.8, 1.0))
    hidden = problem.spread(columns)
    values = np.where(hidden, np.nan, cells.values)
    return ProtectedTable(
        cells, label, values, primary, hidden & ~primary, texts, value, audit=found, notes=notes, facts=facts
    )


def _method(method: str | CellKey | Rounding) -> str | CellKey | Rounding:
    if isinstance(method, CellKey | Rounding):
        return method
    if method not in METHODS:
        raise UnknownNameError("method for tables", str(method), METHODS)
    return {"cell-key": CellKey, "rounding": Rounding}[method]() if method not in _SUPPRESSING else method


def _groups(by: Any) -> list[list[str]]:
    listed = [by] if isinstance(by, str) else list(by)
    groups = [[listed]] if not listed else [listed] if all(isinstance(name, str) for name in listed) else listed
    made = [[group] if isinstance(group, str) else list(group) for group in groups]
    if not listed or not all(group and all(isinstance(name, str) for name in group) for group in made):
        raise ParameterError("by names the dimensions of a table, such as ['activity', 'size']")
    for group in made:
        if len(set(group)) < len(group):
            raise ParameterError("a dimension of a table is named twice")
    if len({frozenset(group) for group in made}) < len(made):
        raise ParameterError("two of the linked tables have the same dimensions")
    return made


def _source(
    data: Any,
    groups: list[list[str]],
    value: str | None,
    hierarchies: Hierarchies,
    source: Respondents | Aggregated | None,
    rules: Sequence[Rule],
    method: str | CellKey | Rounding,
    seed: int | str | None,
    progress: Progress,
) -> Source:
    names = {name for group in groups for name in group}
    for name in hierarchies:
        if name not in names:
            raise UnknownNameError("dimension", name, sorted(names))
    if value is not None and value in names:
        raise ParameterError(f"'{value}' is a dimension of the table, so it cannot be its value, too")
    tops = max((rule.tops for rule in rules), default=0)
    if value is None and tops:
        raise ParameterError("rules on the largest contributions are for magnitude tables; name a value")
    tables = [as_microdata(one) for one in (data if isinstance(data, list | tuple) else [data])]
    for one in tables:
        if not len(one):
            raise DataError("the table has no rows, so there is nothing to protect")
    if isinstance(source, Aggregated):
        if isinstance(method, CellKey):
            raise ParameterError("the cell-key method needs records: cells that were added up have no keys")
        return from_cells(tables, groups, value, hierarchies, source, tops=tops)
    if len(tables) != 1:
        raise ParameterError("several tables can be given only of cells; records are one table")
    tops = max(tops, 1 if isinstance(method, CellKey) else 0)
    key = check_seed(seed) if isinstance(method, CellKey) else None
    return from_records(
        tables[0], groups, value, hierarchies, source or Respondents(), tops=tops, seed=key, progress=progress
    )


def _marked(cells: Cells, marked: BoolArray, named: Iterable[Mapping[str, str]]) -> BoolArray:
    """The cells that are to be suppressed whatever the rules say."""
    trees = cells.structure.trees
    made = marked.copy()
    for cell in named:
        for name in cell:
            if name not in {tree.name for tree in trees}:
                raise UnknownNameError("dimension", name, [tree.name for tree in trees])
        codes = np.array([[tree.codes([str(cell[tree.name])])[0] if tree.name in cell else 0 for tree in trees]])
        [at] = cells.structure.find(codes)
        if at < 0:
            raise DataError("a cell that is to be suppressed is not in the table")
        made[at] = True
    return made


def _suppression(
    problem: Problem, method: Any, marked: BoolArray, time_limit: float, progress: Progress
) -> tuple[BoolArray, dict[str, Any]]:
    """The columns to suppress, and what there is to tell about how good they are."""
    if method == "none":
        columns = problem.primary.copy()
        columns[problem.column[marked]] = True
        return columns, {}
    share = 1.0 if method == "elimination" else 0.3
    progress(0.0, "eliminating")
    start = reinforced(problem, eliminate(problem), Part(progress, 0.1 * share, 0.7 * share))
    start = trimmed(problem, start, Part(progress, 0.7 * share, share))
    if method == "elimination":
        return start, {}
    best = optimal_suppression(problem, start, time_limit=time_limit, progress=Part(progress, share, 1.0))
    elimination = int(problem.spread(start & ~problem.primary).sum())
    told = {"proved_optimal": best.proved, "gap": round(best.gap, 6), "secondary_by_elimination": elimination}
    return best.suppressed, told


def _rounded(
    cells: Cells,
    problem: Problem,
    primary: BoolArray,
    method: Rounding,
    rules: tuple[str, ...],
    value: str | None,
    notes: tuple[str, ...],
    time_limit: float,
    progress: Progress,
) -> ProtectedTable:
    """Controlled rounding, and what can be computed from what everyone knows of it."""
    progress(0.1, "rounding")
    found = controlled_rounding(problem, method.base, time_limit=time_limit)
    if found.steps > 1:
        notes = (
            *notes,
            f"no table of adjacent multiples adds up, so cells are up to {found.steps} times the base away",
        )
    reach = found.steps * found.base
    lower = np.maximum(problem.lower, found.values - reach - problem.values)
    upper = np.minimum(problem.upper, found.values + reach - problem.values)
    bounded = replace(problem, lower=lower, upper=upper)
    everything = np.ones(len(problem), dtype=bool)
    attacked = audit(bounded, everything, progress=Part(progress, 0.5, 1.0))
    nobody = np.zeros(len(cells), dtype=bool)
    facts = {"base": found.base, "steps": found.steps}
    values = found.values[problem.column] + 0.0
    return ProtectedTable(
        cells, method.name, values, primary, nobody, rules, value, audit=attacked, notes=notes, facts=facts
    )
