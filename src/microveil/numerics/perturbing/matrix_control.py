"""What is asked of a transition matrix before it is used: to keep the frequencies, and a range of its diagonal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.numerics.perturbing.transition_matrices import (
    Controlled,
    Lowering,
    Scope,
    invariant_matrix,
    invariant_within_range,
    is_within,
    within_range,
)
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Control:
    """Whether matrices are made invariant, and the range that their diagonals are brought into.

    >>> Control(diagonal=(0.55, 0.75)).of(np.array([[0.9, 0.1], [0.7, 0.3]]), np.array([1, 1])).matrix.round(6).tolist()
    [[0.75, 0.25], [0.45, 0.55]]
    """

    invariant: bool = False
    diagonal: tuple[float, float] | None = None
    lowering: Lowering = "corrected"
    scope: Scope = "row"

    def of(self, matrix: FloatArray, frequencies: IntArray) -> Controlled:
        """The matrix as it is used; a matrix without any control is used as it is."""
        if self.invariant and self.diagonal is not None:
            return invariant_within_range(matrix, frequencies, *self.diagonal, lowering=self.lowering, scope=self.scope)
        if self.invariant:
            return Controlled(invariant_matrix(matrix, frequencies), 1.0, in_range=True)
        if self.diagonal is not None:
            made = within_range(matrix, *self.diagonal, scope=self.scope, printed=self.lowering == "printed")
            in_range = len(made) == 1 or is_within(np.diag(made), *self.diagonal)
            return Controlled(made, 1.0, in_range, is_invariant=False)
        return Controlled(matrix, 1.0, in_range=True, is_invariant=False)
