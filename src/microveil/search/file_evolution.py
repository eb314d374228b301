"""Masked versions of one table evolve together: their cells as arrays, the run, and the cells back as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.losses.categorical.aggregate import SOURCE_CH4_2
from microveil.microdata import Microdata
from microveil.microdata.microdata import Categories
from microveil.progress import Progress
from microveil.registry import make
from microveil.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.evolution.categorical_measures import CategoricalMeasures
    from microveil.numerics.evolution.file_evolution import Evolution, OtherLinkage, Rules

Preset = Literal["source-ch4-2"]
CellArray = npt.NDArray[Any]  # numbers or category codes
_FINEST = 6  # decimals are kept up to so many digits of the range
_MOST_BYTES = 2 * 10**9  # of the counts of all files


@dataclass(frozen=True)
class FilePopulation:
    """Masked versions of some attributes of a table, which are all numeric or all categorical.

    Only the records without a missing cell in these attributes evolve; the others keep what each file had at first.
    `decimals` is how many numbers keep; unset, as many as the original has, and at most so many that its range has six
    digits. Numbers stay inside a declared range, and with `clamp` inside that of the original. Categories are measured
    by the usual conventions or by a `preset`.
    """

    original: Microdata
    files: tuple[Microdata, ...]
    attributes: tuple[str, ...]
    decimals: int | None = None
    clamp: bool = False
    preset: Preset | None = None
    names: tuple[str, ...] = field(default=())

    @property
    def numeric(self) -> bool:
        return self.original[self.attributes[0]].kind == "numeric"

    @cached_property
    def before(self) -> CellArray:
        return self._cells(self.original)

    @cached_property
    def complete(self) -> BoolArray:
        """The records without a missing cell in the original."""
        missing = np.isnan(self.before) if self.numeric else self.before < 0
        return np.asarray(~missing.any(axis=1))

    @cached_property
    def cells(self) -> CellArray:
        """Of all files, with their incomplete records."""
        cells = np.stack([self._cells(file) for file in self.files])
        lost = np.isnan(cells) if self.numeric else cells < 0
        emptied = np.flatnonzero(lost[:, self.complete].any(axis=(1, 2)))
        if emptied.size:
            raise DataError(
                f"{self._name(int(emptied[0]))} empties cells, and files that evolve have a value in each of them"
            )
        return cells

    def evolve(
        self,
        rules: Rules,
        generations: int,
        generator: np.random.Generator,
        progress: Progress,
        label: str,
        *,
        other_linkage_every: int = 0,
    ) -> EvolvedFiles:
        """Run so many generations; with `other_linkage_every` the probabilistic linkage counts in the risk, and is
        measured anew after so many."""
        from microveil.numerics.evolution.file_evolution import Grid, evolve_categories, evolve_numbers

        before, cells = self.before[self.complete], self.cells[:, self.complete]
        every = other_linkage_every
        if not self.numeric:
            measures = self.measures
            run = evolve_categories(
                measures, cells, rules, generations, generator, progress, label, other=measures.prl, every=every
            )
            return EvolvedFiles(self, run)
        decimals = _decimals(before) if self.decimals is None else np.full(before.shape[1], self.decimals)
        grid = Grid.of(before, cells, decimals, self._limits(before))
        run = evolve_numbers(
            before, cells, grid, rules, generations, generator, progress, label, other=self._other(before), every=every
        )
        return EvolvedFiles(self, run)

    @cached_property
    def measures(self) -> CategoricalMeasures:
        """How files of categories are measured."""
        from microveil.numerics.evolution.categorical_measures import BY_EQUALITY, CategoricalMeasures, Conventions

        domains = [self.original.domain(name) for name in self.attributes]
        sizes = np.array([len(domain) for domain in domains])
        ordinal = np.array([self.original[name].kind == "ordinal" for name in self.attributes])
        conventions, extra = Conventions(), np.zeros(len(sizes), dtype=np.int64)
        if self.preset is not None:
            conventions = Conventions(SOURCE_CH4_2["dimension"], SOURCE_CH4_2["ordinal_distance"], BY_EQUALITY)
            extra = np.array([not self._counts_missing(name) for name in self.attributes], dtype=np.int64)
        measures = CategoricalMeasures(self.before[self.complete], sizes, ordinal, conventions, extra)
        counts = sum(int(np.prod(sizes[list(subset)])) for subset in measures.subsets) + int((sizes**2).sum())
        if 8 * counts * (len(self.files) + 2) > _MOST_BYTES:
            raise DataError(
                "the attributes have too many categories for all their tables to be counted in every file; recode "
                "them first, or let fewer attributes or files evolve"
            )
        return measures

    def _counts_missing(self, name: str) -> bool:
        """Whether a domain has a category for missing cells already."""
        attribute = self.original[name]
        return attribute.missing == "own category" and (
            None in self.original.domain(name) or len(attribute.missing_codes) > 0
        )

    def _cells(self, table: Microdata) -> CellArray:
        if self.numeric:
            return table.matrix(self.attributes)
        return np.column_stack([table.categories(name, self.original.domain(name)).codes for name in self.attributes])

    def _limits(self, before: FloatArray) -> FloatArray:
        """The least and the greatest value that each attribute may have."""
        unlimited = (-np.inf, np.inf)
        declared = np.array([self.original[name].range or unlimited for name in self.attributes]).T
        if not self.clamp:
            return np.asarray(declared)
        return np.array([np.maximum(declared[0], before.min(axis=0)), np.minimum(declared[1], before.max(axis=0))])

    def _other(self, before: FloatArray) -> OtherLinkage:
        attack = make("attack", "probabilistic-linkage")

        def risk(cells: CellArray) -> float:
            one, other = (Microdata.of(dict(zip(self.attributes, c.T, strict=True))) for c in (before, cells))
            pair = Pair.of(one, other, self.attributes, known=self.attributes)
            return float(attack.assess_pair(pair, explicit=True).value)

        return risk

    def _name(self, file: int) -> str:
        return self.names[file] if self.names else f"file {file + 1}"


@dataclass(frozen=True)
class EvolvedFiles:
    """A population after its run."""

    population: FilePopulation
    run: Evolution

    def columns(self, table: Microdata, file: int) -> dict[str, pa.Array]:
        """The columns of one file, as those of a table; incomplete records are as that file had them at first."""
        population = self.population
        cells = population.cells[file].copy()
        cells[population.complete] = self.run.cells[file]
        return self._columns(table, cells)

    def measured_again(self, file: int) -> tuple[float, float]:
        """Loss and risk of one file by the registered measures."""
        numeric, preset = self.population.numeric, self.population.preset
        parameters = {} if numeric or preset is None else {"preset": preset}
        widths = {} if preset is None else {"widths": (0.0,)}
        scale = {"standardisation": "joint"} if numeric else {}
        before, after = self._complete(file)
        loss = make("loss", "il" if numeric else "il-categorical", parameters)
        attacks = (
            make("attack", "interval-disclosure", {"counted": "all", **widths}),
            make("attack", "distance-linkage", {"direction": "masked", **scale}),
        )
        names = self.population.attributes
        pair = Pair.of(before, after, names, known=names)
        risks = [attack.assess_pair(pair, explicit=True).value for attack in attacks]
        return loss.measure_pair(pair, explicit=True).value, sum(risks) / len(risks)

    def _complete(self, file: int) -> tuple[Microdata, Microdata]:
        """The original and one file, with the complete records alone."""
        population = self.population
        before = population.original.select(population.attributes).take(np.flatnonzero(population.complete))
        return before, before.with_columns(self._columns(before, self.run.cells[file]))

    def _columns(self, table: Microdata, cells: CellArray) -> dict[str, pa.Array]:
        """Cells as columns of a table."""
        made = {}
        for name, column in zip(self.population.attributes, cells.T, strict=True):
            if self.population.numeric:
                made[name] = table.number_column(name, column)
            else:
                domain = self.population.original.domain(name)
                made[name] = table.category_column(Categories(name, column.astype(np.int64), domain))
        return made


def _decimals(values: FloatArray) -> IntArray:
    """How many decimals the values of each attribute have, at most so many that their range has six digits.

    >>> _decimals(np.array([[1.0, 0.25], [20.0, 1 / 3]])).tolist()
    [0, 7]
    """
    found = []
    for column in values.T:
        width = float(np.ptp(column))
        most = max(0, _FINEST - int(np.floor(np.log10(width))) - 1) if width > 0 else _FINEST
        exact = (d for d in range(most) if np.array_equal(np.round(column, d), column))
        found.append(next(exact, most))
    return np.array(found, dtype=np.int64)


def split_by_kind(data: Microdata, attributes: Sequence[str]) -> list[tuple[str, ...]]:
    """The numeric and the categorical ones of some attributes, without those that have only one value, or none."""
    groups: dict[bool, list[str]] = {True: [], False: []}
    for name in attributes:
        numeric = data[name].kind == "numeric"
        cells = data.numbers(name).values if numeric else data.categories(name).codes
        if len(np.unique(cells[~np.isnan(cells)] if numeric else cells[cells >= 0])) > 1:
            groups[numeric].append(name)
    return [tuple(names) for names in groups.values() if names]
