"""How categories of an original became those of a release: the matrices that are known, given or observed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError, nearest_name
from microveil.masking.randomising.matrices import JOINT, Given, matrix_for
from microveil.masking.randomising.pram import Variable, variable_of
from microveil.numerics.perturbing.posterior import observed_matrix
from microveil.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Transitions:
    """A variable before and after masking: true and published categories (-1 is left out), and their matrix."""

    name: str
    before: IntArray
    after: IntArray
    matrix: FloatArray

    @property
    def frequencies(self) -> IntArray:
        return np.bincount(self.before[self.before >= 0], minlength=len(self.matrix)).astype(np.int64)

    @property
    def attacked(self) -> BoolArray:
        return (self.before >= 0) & (self.after >= 0)

    def over(self, values: FloatArray) -> FloatArray:
        """The value of each record's pair (published, true), NaN where it is left out."""
        found = np.full(len(self.before), np.nan)
        found[self.attacked] = values[self.after[self.attacked], self.before[self.attacked]]
        return found


def transitions_of(
    pair: Pair, attributes: tuple[str, ...], given: Mapping[str, Given] | None, asker: str
) -> Iterator[Transitions]:
    """Every variable with its matrix: attributes that were drawn together are one, the others stand alone."""
    matrices = {} if pair.release is None else dict(pair.release.matrices)
    joint = [block for block in matrices if len(block) > 1 and set(block) <= set(attributes)]
    within = {member for block in joint for member in block}
    blocks = joint + [(name,) for name in attributes if name not in within]
    names = [JOINT.join(block) for block in blocks]
    for name in given or ():
        if name not in names:
            raise ParameterError(
                f"{asker}: a matrix is given for '{name}', which is not known{nearest_name(name, names)}"
            )
    for block, name in zip(blocks, names, strict=True):
        wanted = matrices.get(block)
        variable, after = variable_in(pair, block, None if given and name in given else wanted)
        size = len(variable.members)
        if given and name in given:
            matrix = matrix_for(name, given[name], variable.labels)
        elif wanted is not None and len(wanted) == size:
            matrix = wanted
        else:
            both = (variable.codes >= 0) & (after >= 0)
            matrix = observed_matrix(variable.codes[both], after[both], size)
        yield Transitions(name, variable.codes, after, matrix)


def variable_in(pair: Pair, block: tuple[str, ...], matrix: FloatArray | None) -> tuple[Variable, IntArray]:
    """The categories of the original, and those published; missing is left out if the matrix has no room for it."""
    variable = variable_of(pair.original, block)
    if matrix is not None and len(matrix) < len(variable.members):
        fewer = variable_of(pair.original, block, exclude_missing=True)
        variable = fewer if len(fewer.members) == len(matrix) else variable
    if len(block) == 1:
        both = pair.categories(block[0])
        size = len(variable.members) if matrix is not None and len(matrix) == len(variable.members) else None
        codes = [np.where(column.codes < (size or len(column.domain)), column.codes, -1) for column in both]
        domain = both[0].domain[:size]
        held = np.bincount(codes[0][codes[0] >= 0], minlength=len(domain)).astype(np.int64)
        return Variable((both[0],), codes[0], np.arange(len(domain))[:, None], held), codes[1]
    return variable, _compound_codes(variable, np.column_stack([pair.categories(name)[1].codes for name in block]))


def _compound_codes(variable: Variable, published: IntArray) -> IntArray:
    """Which of a compound's categories each row of codes is; -1 for one that the original does not have."""
    from microveil.numerics.counting.distinct_rows import number_rows

    rows = np.vstack([variable.members, published]) + 1
    numbers, _ = number_rows(list(rows.T))
    known = len(variable.members)
    code_of = np.full(int(numbers.max()) + 1, -1, dtype=np.int64)
    code_of[numbers[:known]] = np.arange(known)
    return np.asarray(code_of[numbers[known:]])
