"""PRAM: the post-randomisation method for categorical attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from microveil.errors import DataError, ParameterError, nearest_name
from microveil.masking.base import Masked, Method, OverRecords
from microveil.masking.likelihood import Statement, Transition
from microveil.masking.notes import DIAGONAL_NOT_KEPT, DIAGONAL_OUT_OF_RANGE, FREQUENCIES_NOT_KEPT, Note
from microveil.masking.randomising.evolution import Evolution, what_evolved
from microveil.masking.randomising.matrices import JOINT, GivenMatrices, label_of, matrix_for
from microveil.masking.ranges import Interval, OneOf, Ranges, ranges
from microveil.microdata import Categories, Microdata
from microveil.microdata.schema import CATEGORICAL
from microveil.numerics.core.draws import generator_at
from microveil.numerics.evolution.formulas import LeastFrequency, formula_matrix, parsed
from microveil.numerics.perturbing.matrix_control import Control
from microveil.numerics.perturbing.transition_matrices import Controlled, Lowering, Scope
from microveil.parameters import parameter, parameterised
from microveil.progress import Part, Progress, parts, silent
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

_MOST_CATEGORIES = 5000


@dataclass(frozen=True)
class Variable:
    """What one matrix works on: an attribute, or several joined to one whose categories are their combinations.

    `members` holds for each category its codes in the columns; `codes` is -1 for a record that is left alone.
    `frequencies` are those in the whole table.
    """

    columns: tuple[Categories, ...]
    codes: IntArray
    members: IntArray
    frequencies: IntArray

    @property
    def name(self) -> str:
        return JOINT.join(column.name for column in self.columns)

    @property
    def labels(self) -> list[str]:
        """The names of the categories, as a given matrix has them."""
        return [
            JOINT.join(label_of(c.domain[code]) for c, code in zip(self.columns, row, strict=True))
            for row in self.members
        ]

    def drawn(self, codes: IntArray) -> list[Categories]:
        """The columns when the records have these categories instead."""
        if len(self.members) == 0:
            return list(self.columns)
        return [
            Categories(column.name, np.where(codes >= 0, self.members[codes, j], -1), column.domain)
            for j, column in enumerate(self.columns)
        ]


def variable_of(data: Microdata, attributes: tuple[str, ...], *, exclude_missing: bool = False) -> Variable:
    """An attribute with its domain, or several with the combinations that occur, in the order of their domains."""
    counted = data.facts.counted(attributes)
    columns, held = (
        tuple(_categories(table, name, exclude_missing) for name in attributes) for table in (data, counted.data)
    )
    members = _members(held)
    codes, of_counted = (_codes_in(members, table) for table in (columns, held))
    present = of_counted >= 0
    frequencies = np.bincount(of_counted[present], weights=counted.counts[present], minlength=len(members))
    return Variable(columns, codes, members, frequencies.astype(np.int64))


def _members(columns: Sequence[Categories]) -> IntArray:
    """The categories of a variable, each by its codes in the columns: a domain, or the combinations that occur."""
    if len(columns) == 1:
        return np.arange(len(columns[0].domain))[:, None]
    from microveil.numerics.counting.distinct_rows import number_rows

    complete = np.all([column.present for column in columns], axis=0)
    within = [column.codes[complete] for column in columns]
    _, first = number_rows(within, [len(column.domain) for column in columns])
    return np.column_stack([codes[first] for codes in within])


def _codes_in(members: IntArray, columns: Sequence[Categories]) -> IntArray:
    """Which category of a variable each record has; -1 where a cell is missing."""
    if len(columns) == 1:
        return columns[0].codes
    from microveil.numerics.counting.distinct_rows import number_rows

    complete = np.all([column.present for column in columns], axis=0)
    codes = np.full(len(complete), -1, dtype=np.int64)
    # members come first and have all combinations, in their order, so a combination has the number of its member
    beside = [np.concatenate([of, column.codes[complete]]) for of, column in zip(members.T, columns, strict=True)]
    codes[complete] = number_rows(beside, [len(column.domain) for column in columns])[0][len(members) :]
    return codes


def _categories(data: Microdata, name: str, exclude_missing: bool) -> Categories:
    column = data.categories(name)
    attribute = data[name]
    if exclude_missing and attribute.missing == "own category":
        missing = len(attribute.missing_codes) + (None in column.domain)
        return data.categories(name, column.domain[: len(column.domain) - missing])
    return column


@parameterised
class PRAM(Method):
    """Each record publishes a category drawn from the row of a transition matrix that belongs to its true category.

    Each attribute is drawn by itself with a matrix of its own; `compound` joins all of them to one attribute whose
    categories are the combinations that occur, so that no new combination arises. Ways to make the matrix: `frequency`
    keeps a category with probability p and otherwise prefers rare ones; `proportional` prefers frequent ones; `entropy`
    prefers none; `uniform` changes as many records of each category, theta times the number of the rarest, and so
    keeps the frequencies in expectation where no category is empty; `formula` fills every cell by a formula of the
    number of records N, the largest and least frequency of a category (freq_max, freq_min), and those of the true and
    the published category (freq_i, freq_j), and divides rows by their sums. Or matrices are `given` for some
    attributes: as rows of numbers in the order of the domain, by category ({"f": {"f": 0.9, "m": 0.1}}; a category that
    is left out stays), or as the name of a CSV file with the published categories in its first line and the original
    ones in its first column. In a compound, names and categories are joined by "+".

    With `evolved` the matrices of all attributes are changed a little at a time, by mutation and crossover of their
    cells, and a change is kept if it makes them fitter: less information loss and disclosure risk in `repeats`
    perturbations of the table, or less change of joint counts with attributes that are not masked. Such a fitness
    knows no intruder who has the matrix, and likes matrices that are nearly permutations; so, unless `guard` says
    otherwise, no matrix may let that intruder name more true categories than the matrix at the start did. A note tells
    the fitness by which the matrices were chosen, and the one to expect: that of fresh perturbations.

    `invariant` makes of any of them the two-stage matrix that keeps the frequencies in expectation; more records
    change in it. `diagonal` asks for a range such as 0.55 to 0.75: an invariant matrix is moved towards the identity or
    away from it by one factor, as far as the range allows (a note says where it cannot be kept); without `invariant`,
    rows are raised and lowered one by one, or all by one factor (`scope`). The release holds the matrices. Whoever
    publishes them lets analysts correct their tables:
    `microveil.numerics.perturbing.transition_matrices.estimated_frequencies`.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": ["f", "m", "f", "f"]})
    >>> PRAM(p=1.0).mask(people, seed=1).frame["sex"].to_pylist()
    ['f', 'm', 'f', 'f']
    >>> PRAM(given={"sex": {"f": {"m": 1.0}}}).mask(people, seed=1).frame["sex"].to_pylist()
    ['m', 'm', 'm', 'm']
    >>> PRAM(matrix="formula", formula="freq_j / (freq_j - freq_i)").mask(people, seed=1).frame["sex"].to_pylist()
    ['f', 'm', 'f', 'f']
    """

    name: ClassVar[str] = "pram"
    family: ClassVar[str] = "randomising"
    summary: ClassVar[str] = "post-randomisation: categories are changed at random by a known transition matrix"
    kinds: ClassVar[tuple[str, ...]] = CATEGORICAL
    missing: ClassVar[str] = (
        "a category like the others where missing is a category of its own, unless exclude_missing; otherwise missing "
        "cells stay as they are and are not counted (in a compound: records with any)"
    )
    weights: ClassVar[str] = "sampling weights are not used: frequencies count records"
    over_records: ClassVar[OverRecords] = "per record"
    source: ClassVar[str] = (
        "Gouweleeuw et al. (1998); Marés (2013), sections 2.3.1, 4.1 and 4.2, Algorithm 6; corrects its Eq. 4.7"
    )
    searched: ClassVar[Ranges] = ranges(
        p=Interval(0.05, 0.98), matrix=OneOf(("frequency", "proportional", "entropy")), invariant=OneOf((False, True))
    )

    p: float = parameter(
        default=0.8, help="probability that a category stays as it is (frequency, proportional, entropy)", ge=0, le=1
    )
    matrix: Literal["frequency", "proportional", "uniform", "entropy", "formula", "evolved"] = parameter(
        default="frequency", help="how a transition matrix is made where none is given"
    )
    theta: float = parameter(default=0.5, help="share of the rarest category that changes (uniform)", ge=0, le=1)
    formula: str | None = parameter(
        default=None,
        help="what fills the cells of the matrix (formula), such as freq_j * freq_min / (N - freq_i); negative cells "
        "become 0",
    )
    freq_min: LeastFrequency | None = parameter(
        default=None,
        help="least frequency in a formula: of all categories, 0 if one is empty (literal), or of those with records "
        "(positive); unset: literal",
    )
    given: GivenMatrices | None = parameter(
        default=None, help="for attributes by name, a matrix: rows of numbers, tables by category, or a CSV file"
    )
    invariant: bool = parameter(
        default=False,
        help="make the matrix invariant (two-stage PRAM), so that frequencies are preserved in expectation",
    )
    diagonal: tuple[float, float] | None = parameter(
        default=None, help="lowest and highest probability that a category stays, such as 0.55, 0.75"
    )
    lowering: Lowering = parameter(
        default="corrected",
        help="how a diagonal is lowered: by Eq. 4.7 with rows that sum to 1, and an invariant matrix by a factor that "
        "keeps it invariant (corrected); the latter by Eq. 4.7 too, which loses the invariance (eq-4.7); all rows by "
        "one factor as Eq. 4.7 is printed (printed)",
    )
    scope: Scope | None = parameter(
        default=None,
        help="whether Eq. 4.6 and 4.7 raise and lower the diagonal row by row, or all rows of a matrix by one factor; "
        "unset: row by row",
    )
    exclude_missing: bool = parameter(
        default=False, help="never change missing cells, even where missing is a category of its own"
    )
    compound: bool = parameter(
        default=False, help="treat all attributes as one, whose categories are their combinations"
    )
    evolution: Evolution = parameter(default=Evolution(), help="how evolved matrices are found")

    def __post_init__(self) -> None:
        if self.diagonal is not None and not 0 <= self.diagonal[0] <= self.diagonal[1] <= 1:
            raise ParameterError(f"{self.name}: diagonal = {self.diagonal} is not allowed; it is a range within 0 to 1")
        asked = [name for name, value in self.evolution.parameters().items() if value is not None]
        if asked and self.matrix != "evolved":
            raise ParameterError(f"{self.name}: {asked[0]} is not allowed without matrix = 'evolved'")
        if "reach" in asked and (self.invariant or self.diagonal is not None):
            raise ParameterError(
                f"{self.name}: reach is not allowed with invariant or diagonal, which move categories further"
            )
        self._check_formula()

    @property
    def works_over(self) -> OverRecords:
        return "whole table" if self.matrix == "evolved" else "per record"

    @property
    def is_joint(self) -> bool:
        """Matrices evolve together."""
        return self.matrix == "evolved"

    def _check_formula(self) -> None:
        if (self.formula is not None) != (self.matrix == "formula"):
            raise ParameterError(f"{self.name}: matrix = 'formula' and a formula need each other")
        if self.freq_min is not None and self.formula is None:
            raise ParameterError(f"{self.name}: freq_min is not allowed without matrix = 'formula'")
        if self.formula is not None:
            try:
                parsed(self.formula)
            except ParameterError as problem:
                raise ParameterError(f"{self.name}: {problem}") from None

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        from microveil.numerics.perturbing.transition_matrices import draw_categories

        blocks = [attributes] if self.compound else [(name,) for name in attributes]
        self._check_given([JOINT.join(block) for block in blocks])
        evolving, drawing = Part(progress, 0.0, 0.9), Part(progress, 0.9, 1.0)
        variables = {block: variable_of(data, block, exclude_missing=self.exclude_missing) for block in blocks}
        found, notes = self._matrices(data, [v for v in variables.values() if len(v.members)], streams, evolving)
        matrices = dict(zip([block for block, v in variables.items() if len(v.members)], found, strict=True))
        columns: dict[str, pa.Array] = {}
        for (block, variable), part in zip(variables.items(), parts(drawing, len(blocks)), strict=True):
            drawn = variable.codes
            if block in matrices:
                drawn = draw_categories(variable.codes, matrices[block], generator_at(streams, data.places, *block))
            columns |= {column.name: data.category_column(column) for column in variable.drawn(drawn)}
            part(1.0, f"{self.name}: {variable.name}")
        return Masked(columns, matrices=matrices, notes=tuple(notes))

    def _matrices(
        self, data: Microdata, variables: list[Variable], streams: Streams, progress: Progress
    ) -> tuple[list[FloatArray], list[Note]]:
        """The matrices of all variables: given or made, then as the diagonal and the frequencies ask for."""
        made = [self._made(variable) for variable in variables]
        if self.matrix == "evolved" and variables:
            return self._evolved(data, variables, made, streams, progress)
        controlled = [self._control.of(m, v.frequencies) for m, v in zip(made, variables, strict=True)]
        return [found.matrix for found in controlled], self._not_kept(variables, controlled)

    def _evolved(
        self,
        data: Microdata,
        variables: list[Variable],
        start: list[FloatArray],
        streams: Streams,
        progress: Progress,
    ) -> tuple[list[FloatArray], list[Note]]:
        """Matrices evolved from those at the start, but for the given ones."""
        evolving = [variable.name not in (self.given or ()) for variable in variables]
        rng = streams.generator("", "evolution")
        found = self.evolution.of(data, variables, start, evolving, self._control, rng, progress, self.name)
        raw = [evolved if e else given for evolved, given, e in zip(found.genomes, start, evolving, strict=True)]
        controlled = [self._control.of(m, v.frequencies) for m, v in zip(raw, variables, strict=True)]
        return list(found.matrices), [what_evolved(found, self.name), *self._not_kept(variables, controlled)]

    @property
    def _control(self) -> Control:
        return Control(self.invariant, self.diagonal, self.lowering, self.scope or "row")

    def _not_kept(self, variables: list[Variable], controlled: list[Controlled]) -> list[Note]:
        """What matrices were asked to keep and do not."""
        notes = []
        for variable, found in zip(variables, controlled, strict=True):
            if self.invariant and not found.is_invariant:
                notes.append(FREQUENCIES_NOT_KEPT(method=self.name, matrix=variable.name))
            if self.diagonal is not None and not found.in_range:
                kind = DIAGONAL_NOT_KEPT if found.is_invariant else DIAGONAL_OUT_OF_RANGE
                low, high = self.diagonal
                notes.append(kind(method=self.name, matrix=variable.name, low=low, high=high))
        return notes

    def likelihood(
        self, data: Microdata, attributes: tuple[str, ...], streams: Streams
    ) -> Mapping[tuple[str, ...], Statement]:
        blocks = [attributes] if self.compound else [(name,) for name in attributes]
        if self.compound and self.given and JOINT.join(attributes) not in self.given:
            return {}  # of a compound of which only a part is known no matrix was given
        if self.matrix == "evolved":
            return {}  # which matrix evolved depends on the seed
        found = {block: variable_of(data, block, exclude_missing=self.exclude_missing) for block in blocks}
        held = {block: variable for block, variable in found.items() if len(variable.members)}
        matrices, _ = self._matrices(data, list(held.values()), streams, silent)
        return {block: Transition(matrix) for block, matrix in zip(held, matrices, strict=True)}

    def _check_given(self, names: list[str]) -> None:
        for name in self.given or ():
            if name not in names:
                raise ParameterError(
                    f"{self.name}: a matrix is given for '{name}', which is not masked{nearest_name(name, names)}"
                )

    def _made(self, variable: Variable) -> FloatArray:
        from microveil.numerics.perturbing.transition_matrices import (
            entropy_matrix,
            frequency_matrix,
            proportional_matrix,
            uniform_matrix,
        )

        if len(variable.members) > _MOST_CATEGORIES:
            raise DataError(
                f"attribute '{variable.name}' has {len(variable.members):,} categories, and pram's matrix has room for "
                f"{_MOST_CATEGORIES:,}; recode it first"
            )
        if self.given and variable.name in self.given:
            return matrix_for(variable.name, self.given[variable.name], variable.labels)
        if self.matrix == "evolved":
            return self.evolution.start_of(variable.frequencies, invariant=self.invariant)
        if self.matrix == "uniform":
            return uniform_matrix(variable.frequencies, self.theta)
        if self.formula is not None:
            return formula_matrix(parsed(self.formula), variable.frequencies, self.freq_min or "literal")
        if self.matrix == "entropy":
            return entropy_matrix(len(variable.members), self.p)
        make = frequency_matrix if self.matrix == "frequency" else proportional_matrix
        return make(variable.frequencies, self.p)
