"""Masking some attributes at a time, one step for each block of them.

The more blocks, the less is lost and the more a release gives away: k records share a block, but hardly any share all
of them. A release made so is a plan of several steps, so it can be made again like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Method
from microveil.masking.release import Release
from microveil.microdata.microdata import as_microdata
from microveil.progress import Progress, parts, silent
from microveil.randomness import draw_seed


def mask_in_blocks(
    method: Method,
    data: Any,
    blocks: Sequence[Sequence[str]],
    *,
    seed: int | None = None,
    progress: Progress = silent,
) -> Release:
    """Mask each block by itself, one step after another; the release has a partition for each.

    A key that is in no block would be released as it is, so it is refused.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> people = {"age": [20, 22, 41, 43], "height": [160, 180, 161, 181], "weight": [60, 80, 61, 81]}
    >>> release = mask_in_blocks(MDAV(k=2), people, [["age"], ["height", "weight"]])
    >>> release.frame["age"].to_pylist(), release.frame["height"].to_pylist()
    ([21.0, 21.0, 42.0, 42.0], [160.5, 180.5, 160.5, 180.5])
    """
    table = as_microdata(data)
    if isinstance(blocks, str) or any(isinstance(block, str) for block in blocks):
        raise ParameterError("blocks are lists of names, such as [['age'], ['height', 'weight']], not texts")
    named = [name for block in blocks for name in block]
    if not named or not all(blocks):
        raise ParameterError("every block needs at least one attribute, and there must be one block or more")
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(f"attribute '{twice}' is in more than one block, so it would be masked twice")
    bare = next((name for name in table.schema.keys if name not in named), None)
    if bare is not None:
        raise DataError(f"the key '{bare}' is in no block and would be released as it is; add it or leave it out")
    chosen = draw_seed() if seed is None else seed
    release: Any = table
    for block, part in zip(blocks, parts(progress, len(blocks)), strict=True):
        release = method.mask(release, list(block), seed=chosen, progress=part)
    made: Release = release
    return made
