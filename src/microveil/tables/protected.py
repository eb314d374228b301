"""A protected table: what may be published, and, for its owner alone, how it was protected and what the audit found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from microveil.errors import ParameterError
from microveil.microdata import Microdata
from microveil.microdata.files.writing import write
from microveil.randomness import plain_seed
from microveil.tables.aggregation import Cells
from microveil.tables.audit import Audit
from microveil.tables.relations import Relation
from microveil.typing import BoolArray, FloatArray, IntArray

Status = Literal["published", "primary", "secondary"]
SUPPRESSED = "suppressed"


@dataclass(frozen=True)
class CellInterval:
    """What an attacker can compute of a suppressed cell: its least and largest value, and what they should be at
    least (`needed`). Where it is not `exact`, the interval reaches at least so far."""

    cell: Mapping[str, str]
    status: str
    low: float
    high: float
    needed: tuple[float, float]
    protected: bool
    exact: bool


@dataclass(frozen=True, eq=False)
class ProtectedTable:
    """One table, or several linked ones, after protection.

    `values` has what is published, NaN where a cell is suppressed. `audit` attacks what is published; it is there for
    suppression and rounding. What `interval`, `frame(private=True)` and the audit tell is for the owner alone.
    """

    cells: Cells = field(repr=False)
    method: str
    values: FloatArray = field(repr=False)
    primary: BoolArray = field(repr=False)
    secondary: BoolArray = field(repr=False)
    rules: tuple[str, ...]
    value: str | None
    audit: Audit | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = field(default=None, repr=False)

    @property
    def suppressed(self) -> BoolArray:
        return self.primary & np.isnan(self.values) | self.secondary

    @property
    def passed(self) -> bool | None:
        """Whether the audit found every primary cell protected; None where there is no audit."""
        return None if self.audit is None else self.audit.passed

    @property
    def counts(self) -> dict[str, int]:
        """How many cells are primary, secondary and published; those that linked tables have in common once."""
        published = ~np.isnan(self.values)
        return {
            "cells": len(self.cells),
            "primary": int(self.primary.sum()),
            "secondary": int(self.secondary.sum()),
            "published": int(published.sum()),
        }

    def dimensions(self, table: int = 0) -> tuple[str, ...]:
        """The names of the dimensions of one of the tables."""
        self._check(table)
        return tuple(self.cells.structure.trees[d].name for d in self.cells.used[table])

    def _check(self, table: int) -> None:
        if not 0 <= table < len(self.cells.used):
            raise ParameterError(f"there is no table {table}; they are numbered from 0 to {len(self.cells.used) - 1}")

    def frame(self, table: int = 0, *, private: bool = False, tell: bool = False) -> Microdata:
        """The cells of a table as rows: the categories, the value, and whether it is suppressed.

        Which of the suppressed cells are primary helps an attacker, so it is told only if asked for (`tell`). With
        `private` there are the true values, contributors, and the intervals of the audit.
        """
        self._check(table)
        here = self.cells.of_table(table)
        trees, codes = self.cells.structure.trees, self.cells.structure.codes[here]
        columns: dict[str, Any] = {
            trees[d].name: [trees[d].nodes[c] for c in codes[:, d]] for d in self.cells.used[table]
        }
        name = _free_name(self.value or "count", columns)
        whole = self.cells.is_count and not np.isnan(self.values).any() and (self.values % 1 == 0).all()
        shown = [None if np.isnan(v) else int(v) if whole else float(v) for v in self.values[here]]
        columns[name] = shown if any(v is not None for v in shown) else np.full(len(here), np.nan)
        if private:
            return Microdata.of(columns | self._private_columns(here, set(columns)), nominal=self.dimensions(table))
        flags = self._statuses(here) if tell else ["" if not np.isnan(v) else SUPPRESSED for v in self.values[here]]
        columns[_free_name("flag", columns)] = flags
        return Microdata.of(columns, nominal=self.dimensions(table))

    def _statuses(self, here: IntArray) -> list[str]:
        return [str(self.status[cell]) for cell in here]

    @cached_property
    def status(self) -> list[Status]:
        """Of each cell: published, primary or secondary; a primary cell that is perturbed instead is published."""
        hidden = np.isnan(self.values)
        return [
            "published" if not h else "primary" if p else "secondary" for h, p in zip(hidden, self.primary, strict=True)
        ]

    def _private_columns(self, here: IntArray, taken: set[str]) -> dict[str, Any]:
        intervals = {cell: self._interval(cell) for cell in here[self._attacked[here]].tolist()}

        def of(read: Any) -> list[Any]:
            return [read(intervals[cell]) if cell in intervals else None for cell in here.tolist()]

        made: dict[str, Any] = {
            "true_value": self.cells.values[here],
            "contributors": self.cells.contributors[here],
            "status": self._statuses(here),
            "primary": self.primary[here],
            "low": of(lambda found: found.low),
            "high": of(lambda found: found.high),
            "needed_low": of(lambda found: found.needed[0]),
            "needed_high": of(lambda found: found.needed[1]),
            "protected": of(lambda found: found.protected),
        }
        made = {_free_name(name, taken): column for name, column in made.items()}
        return {n: np.full(len(here), np.nan) if all(v is None for v in c) else c for n, c in made.items()}

    @cached_property
    def _attacked(self) -> BoolArray:
        if self.audit is None:
            return np.zeros(len(self.cells), dtype=bool)
        known = self.audit.exact | self.audit.problem.primary
        return np.asarray((np.isnan(self.values) | self.primary) & known[self.audit.problem.column])

    def interval(self, **cell: str) -> CellInterval:
        """What an attacker can compute of a cell, named by its categories: `table.interval(dept="B", sex="F")`."""
        trees = self.cells.structure.trees
        for name in cell:
            if name not in {tree.name for tree in trees}:
                raise ParameterError(f"the table has no dimension '{name}'")
        code = np.array([[tree.codes([cell[tree.name]])[0] if tree.name in cell else 0 for tree in trees]])
        [found] = self.cells.structure.find(code)
        if found < 0 or not self._attacked[found]:
            raise ParameterError("the audit has no interval of this cell: it is published, or there is no such cell")
        return self._interval(int(found))

    def intervals(self) -> list[CellInterval]:
        """What an attacker can compute of every cell that the audit looked at."""
        return [self._interval(cell) for cell in np.flatnonzero(self._attacked).tolist()]

    def _interval(self, cell: int) -> CellInterval:
        assert self.audit is not None
        column = int(self.audit.problem.column[cell])
        problem, value = self.audit.problem, float(self.cells.values[cell])
        needed = (value - float(problem.down[column]), value + float(problem.up[column]))
        return CellInterval(
            self.name(cell), self.status[cell], value + float(self.audit.low[column]),
            value + float(self.audit.high[column]), needed, not bool(self.audit.short[column]),
            bool(self.audit.exact[column]),
        )  # fmt: skip

    def name(self, cell: int) -> dict[str, str]:
        """The categories of a cell."""
        trees, codes = self.cells.structure.trees, self.cells.structure.codes[cell]
        return {tree.name: tree.nodes[code] for tree, code in zip(trees, codes, strict=True)}

    def relations(self, most: int = 20) -> list[str]:
        """Exact relations between two primary cells: whoever learns one of them knows the other, too."""
        if self.audit is None:
            return []
        return [self._relation(relation) for relation in self.audit.relations[:most]]

    def _relation(self, relation: Relation) -> str:
        assert self.audit is not None
        first, second = (
            int(np.flatnonzero(self.audit.problem.column == column)[0]) for column in (relation.one, relation.other)
        )
        names = [self.cells.structure.name(cell) for cell in (first, second)]
        if not relation.factor:
            return f"({names[0]}) and ({names[1]}) determine each other"
        one, other = relation.factor, -relation.other_factor
        total = one * self.cells.values[first] + other * self.cells.values[second]
        sign, size = ("+", other) if other > 0 else ("-", -other)
        return f"{_times(one)}({names[0]}) {sign} {_times(size)}({names[1]}) = {round(float(total), 6):.12g}"

    def to_plain(self) -> dict[str, Any]:
        """What was done and found, as JSON can hold it; for the owner."""
        audit = None
        if self.audit is not None:
            audit = {
                "passed": self.audit.passed,
                "short": int(self.audit.short.sum()),
                "found_out_by_contributors": len(self.audit.found_out),
                "determined": len(self.audit.determined),
                "relations": self.relations(),
                "intervals": [
                    {
                        "cell": dict(found.cell),
                        "status": found.status,
                        "low": found.low,
                        "high": found.high,
                        "needed": list(found.needed),
                        "protected": found.protected,
                        "exact": found.exact,
                    }
                    for found in self.intervals()
                ],
            }
        return {
            "method": self.method,
            "tables": [list(self.dimensions(table)) for table in range(len(self.cells.used))],
            "value": self.value,
            "rules": list(self.rules),
            **self.counts,
            **self.facts,
            "audit": audit,
            "notes": list(self.notes),
        }

    def private_text(self) -> dict[str, Any]:
        """What the owner needs to make tables that go with this one: with it the perturbation can be undone."""
        seed = None if self.seed is None else plain_seed(self.seed)
        return {"private": "keep this file private", "method": self.method, "seed": seed, **self.facts}

    def write(
        self, path: str | Path, table: int = 0, *, private: bool = False, tell: bool = False, force: bool = False
    ) -> None:
        """Write a table to a file: what may be published, or, with `private`, all of it for the owner alone to read."""
        write(self.frame(table, private=private, tell=tell), path, force=force, private=private)


def _free_name(name: str, taken: Sequence[str] | set[str] | Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name


def _times(factor: int) -> str:
    return "" if factor == 1 else f"{factor} x "
