"""PRAM: the post-randomisation method for categorical attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from microveil.errors import DataError, ParameterError, nearest_name
from microveil.masking.base import Masked, Method
from microveil.masking.notes import DIAGONAL_NOT_KEPT, Note
from microveil.masking.randomising.matrices import JOINT, GivenMatrices, label_of, matrix_for
from microveil.masking.ranges import Interval, OneOf, Ranges, ranges
from microveil.microdata import Categories, Microdata
from microveil.microdata.schema import CATEGORICAL
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

_MOST_CATEGORIES = 5000


@dataclass(frozen=True)
class Variable:
    """What one matrix works on: an attribute, or several joined to one whose categories are their combinations.

    `members` holds for each category its codes in the columns; `codes` is -1 for a record that is left alone.
    """

    columns: tuple[Categories, ...]
    codes: IntArray
    members: IntArray

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

    @property
    def frequencies(self) -> IntArray:
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.members)).astype(np.int64)

    def drawn(self, codes: IntArray) -> list[Categories]:
        """The columns when the records have these categories instead."""
        return [
            Categories(column.name, np.where(codes >= 0, self.members[codes, j], -1), column.domain)
            for j, column in enumerate(self.columns)
        ]


def variable_of(data: Microdata, attributes: tuple[str, ...], *, exclude_missing: bool = False) -> Variable:
    """An attribute with its domain, or several with the combinations that occur, in the order of their domains."""
    from microveil.numerics.counting.distinct_rows import number_rows

    columns = tuple(_categories(data, name, exclude_missing) for name in attributes)
    if len(columns) == 1:
        return Variable(columns, columns[0].codes, np.arange(len(columns[0].domain))[:, None])
    complete = np.flatnonzero(np.all([column.present for column in columns], axis=0))
    within = [column.codes[complete] for column in columns]
    rows, first = number_rows(within, [len(column.domain) for column in columns])
    codes = np.full(len(data), -1, dtype=np.int64)
    codes[complete] = rows
    return Variable(columns, codes, np.column_stack([column[first] for column in within]))


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
    keeps the frequencies in expectation where no category is empty. Or matrices are `given` for some attributes: as
    rows of numbers in the order of the domain, by category ({"f": {"f": 0.9, "m": 0.1}}; a category that is left out
    stays), or as the name of a CSV file with the published categories in its first line and the original ones in its
    first column. In a compound, names and categories are joined by "+".

    `invariant` makes of any of them the two-stage matrix that keeps the frequencies in expectation; more records
    change in it. `diagonal` asks for a range such as 0.55 to 0.75: an invariant matrix is raised towards the identity
    as far as the range allows (a note says where it cannot be kept); without `invariant`, rows are raised and lowered
    one by one. The release holds the matrices. Whoever publishes them lets analysts correct their tables:
    `microveil.numerics.perturbing.transition_matrices.estimated_frequencies`.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": ["f", "m", "f", "f"]})
    >>> PRAM(p=1.0).mask(people, seed=1).frame["sex"].to_pylist()
    ['f', 'm', 'f', 'f']
    >>> PRAM(given={"sex": {"f": {"m": 1.0}}}).mask(people, seed=1).frame["sex"].to_pylist()
    ['m', 'm', 'm', 'm']
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
    source: ClassVar[str] = "Gouweleeuw et al. (1998); Marés (2013), sections 2.3.1 and 4.1.4; corrects its Eq. 4.7"
    searched: ClassVar[Ranges] = ranges(
        p=Interval(0.05, 0.98), matrix=OneOf(("frequency", "proportional", "entropy")), invariant=OneOf((False, True))
    )

    p: float = parameter(
        default=0.8, help="probability that a category stays as it is (frequency, proportional, entropy)", ge=0, le=1
    )
    matrix: Literal["frequency", "proportional", "uniform", "entropy"] = parameter(
        default="frequency", help="how a transition matrix is made where none is given"
    )
    theta: float = parameter(default=0.5, help="share of the rarest category that changes (uniform)", ge=0, le=1)
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
    lowering: Literal["corrected", "printed"] = parameter(
        default="corrected",
        help="how a diagonal is lowered without `invariant`: rows above the range alone, or all rows by one factor as "
        "Eq. 4.7 is printed",
    )
    exclude_missing: bool = parameter(
        default=False, help="never change missing cells, even where missing is a category of its own"
    )
    compound: bool = parameter(
        default=False, help="treat all attributes as one, whose categories are their combinations"
    )

    def __post_init__(self) -> None:
        if self.diagonal is not None and not 0 <= self.diagonal[0] <= self.diagonal[1] <= 1:
            raise ParameterError(f"{self.name}: diagonal = {self.diagonal} is not allowed; it is a range within 0 to 1")

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        from microveil.numerics.perturbing.transition_matrices import draw_categories

        blocks = [attributes] if self.compound else [(name,) for name in attributes]
        self._check_given([JOINT.join(block) for block in blocks])
        columns: dict[str, pa.Array] = {}
        matrices: dict[tuple[str, ...], FloatArray] = {}
        notes: list[Note] = []
        for block, part in zip(blocks, parts(progress, len(blocks)), strict=True):
            variable = variable_of(data, block, exclude_missing=self.exclude_missing)
            drawn = variable.codes
            if len(variable.members):
                matrices[block] = self._matrix(variable, notes)
                drawn = draw_categories(variable.codes, matrices[block], streams.generator(*block))
            columns |= {column.name: data.category_column(column) for column in variable.drawn(drawn)}
            part(1.0, f"{self.name}: {variable.name}")
        return Masked(columns, matrices=matrices, notes=tuple(notes))

    def _check_given(self, names: list[str]) -> None:
        for name in self.given or ():
            if name not in names:
                raise ParameterError(
                    f"{self.name}: a matrix is given for '{name}', which is not masked{nearest_name(name, names)}"
                )

    def _matrix(self, variable: Variable, notes: list[Note]) -> FloatArray:
        """The matrix of one variable: given or made, then invariant, then with its diagonal in range."""
        from microveil.numerics.perturbing.transition_matrices import (
            invariant_matrix,
            invariant_within_range,
            within_range,
        )

        if len(variable.members) > _MOST_CATEGORIES:
            raise DataError(
                f"attribute '{variable.name}' has {len(variable.members):,} categories, and pram's matrix has room for "
                f"{_MOST_CATEGORIES:,}; recode it first"
            )
        made = self._made(variable)
        if self.invariant and self.diagonal is not None:
            made, _, in_range = invariant_within_range(made, variable.frequencies, *self.diagonal)
            if not in_range:
                low, high = self.diagonal
                notes.append(DIAGONAL_NOT_KEPT(method=self.name, matrix=variable.name, low=low, high=high))
        elif self.invariant:
            made = invariant_matrix(made, variable.frequencies)
        elif self.diagonal is not None:
            made = within_range(made, *self.diagonal, printed=self.lowering == "printed")
        return made

    def _made(self, variable: Variable) -> FloatArray:
        from microveil.numerics.perturbing.transition_matrices import (
            entropy_matrix,
            frequency_matrix,
            proportional_matrix,
            uniform_matrix,
        )

        if self.given and variable.name in self.given:
            return matrix_for(variable.name, self.given[variable.name], variable.labels)
        if self.matrix == "uniform":
            return uniform_matrix(variable.frequencies, self.theta)
        if self.matrix == "entropy":
            return entropy_matrix(len(variable.members), self.p)
        make = frequency_matrix if self.matrix == "frequency" else proportional_matrix
        return make(variable.frequencies, self.p)
