"""Simulated files on which published experiments compare methods: independent uniform or normal attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from microveil.errors import ParameterError, UnknownNameError
from microveil.microdata.microdata import Microdata
from microveil.randomness import PublicStreams, check_seed


@dataclass(frozen=True)
class Recipe:
    """A kind of file: its distribution with two parameters (bounds, or mean and standard deviation), its shape and its
    keys."""

    distribution: Literal["uniform", "normal"]
    first: float
    second: float
    records: int
    attributes: int
    keys: int = 0
    whole: bool = False


# the B files are of whole numbers, so that values repeat; their lengths can be divided by 3, 4, 5 and 6
RECIPES = {
    "uniform-a": Recipe("uniform", 0, 1000, 10_000, 10),
    "normal-a": Recipe("normal", 0, 0.05, 10_000, 10),
    "uniform-b": Recipe("uniform", 0, 40_000, 4_800, 16, keys=3, whole=True),
    "normal-b": Recipe("normal", 500, 150, 1_560, 16, keys=5, whole=True),
}


def simulated(name: str, records: int | None = None, attributes: int | None = None, *, seed: int = 0) -> Microdata:
    """A file of one of the recipes, of their length and width unless told otherwise.

    Where the recipe has keys, they are the attributes with the fewest repeated values.

    >>> data = simulated("normal-b", records=300, seed=1)
    >>> len(data), len(data.names), len(data.schema.keys)
    (300, 16, 5)
    """
    if name not in RECIPES:
        raise UnknownNameError("simulated file", name, RECIPES)
    recipe = RECIPES[name]
    n = recipe.records if records is None else records
    d = recipe.attributes if attributes is None else attributes
    for word, value, least in (("records", n, 1), ("attributes", d, max(1, recipe.keys))):
        if value < least:
            raise ParameterError(f"{name}: {word} = {value} is not allowed; it must be at least {least}")
    rng = PublicStreams(check_seed(seed)).generator("simulated", name)
    cells = getattr(rng, recipe.distribution)(recipe.first, recipe.second, size=(n, d))
    cells = np.rint(cells) if recipe.whole else cells
    data = Microdata.of({f"var{j + 1}": cells[:, j] for j in range(d)})
    return Microdata.of(data, keys=fewest_repeats(data, recipe.keys)) if recipe.keys else data


def fewest_repeats(data: Microdata, count: int, among: Sequence[str] | None = None) -> tuple[str, ...]:
    """The attributes whose values tell most records apart: so many with the fewest repeated values, in file order.

    Where two have equally many, the first is taken. A missing cell counts as one more value.

    >>> fewest_repeats(Microdata.of({"a": [1, 1, 1, 2], "b": [1, 2, 3, 4], "c": [1, 1, 2, 3]}), 2)
    ('b', 'c')
    """
    names = data.names if among is None else tuple(among)
    if not 1 <= count <= len(names):
        raise ParameterError(f"count = {count} is not allowed; there are {len(names)} attributes to choose from")
    repeats = [len(data) - len(data.arrow(name).unique()) for name in names]
    chosen = sorted(np.argsort(repeats, kind="stable")[:count].tolist())
    return tuple(names[j] for j in chosen)
