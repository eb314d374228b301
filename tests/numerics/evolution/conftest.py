from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from microveil.numerics.evolution.category_files import CategoryFiles
from microveil.numerics.evolution.file_evolution import _cross, _take_children
from microveil.numerics.evolution.number_files import NumberFiles

Cross = Callable[[NumberFiles | CategoryFiles, np.random.Generator], None]


@pytest.fixture
def cross_at_random() -> Cross:
    """Cross two files at random points; each child is accepted or not at random."""

    def cross(state: NumberFiles | CategoryFiles, generator: np.random.Generator) -> None:
        files, cells = len(state.cells) - 2, state.original.size
        one, other = generator.choice(files, size=2, replace=False)
        first = generator.integers(cells)
        last = generator.integers(first, cells)
        into_one, into_other = bool(generator.integers(2)), bool(generator.integers(2))
        _cross(state, one, other, first, last, files, files + 1)
        _take_children(state, one, other, first, last, into_one, into_other)

    return cross
