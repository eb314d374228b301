"""Masking some attributes at a time: which go together, what becomes of those left over, and one step for each part.

The more segments, the less is lost and the more a release gives away: k records share a segment, but hardly any share
all of them. A release made so is a plan of several steps, so it can be made again like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Method
from microveil.masking.release import Release
from microveil.microdata.microdata import as_microdata
from microveil.progress import Progress, parts, silent
from microveil.randomness import draw_seed

Leftover = Literal["own", "merge", "drop"]


def segments_of(
    attributes: Sequence[str], sizes: int | Sequence[int], leftover: Leftover = "own"
) -> list[tuple[str, ...]]:
    """Attributes in their order, so many in each segment; one size is repeated as often as it fits.

    Those left over make a segment of their own, join the last one, or are dropped: then leave them out of the file and
    of all measures too.

    >>> segments_of("abcdefg", 3)
    [('a', 'b', 'c'), ('d', 'e', 'f'), ('g',)]
    >>> segments_of("abcdefg", 3, "merge")
    [('a', 'b', 'c'), ('d', 'e', 'f', 'g')]
    >>> segments_of("abcdefg", (3, 2), "drop")
    [('a', 'b', 'c'), ('d', 'e')]
    """
    given = list(sizes) if isinstance(sizes, Sequence) else [sizes]
    if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in given):
        raise ParameterError(f"sizes = {sizes!r} is not allowed; a segment has at least one attribute, a whole number")
    if leftover not in get_args(Leftover):
        raise ParameterError(f"leftover = {leftover!r} is not allowed; it must be {' or '.join(get_args(Leftover))}")
    wanted = given * (len(attributes) // sizes) if isinstance(sizes, int) else given
    if sum(wanted) > len(attributes):
        raise ParameterError(f"the segments need {sum(wanted)} attributes, but only {len(attributes)} are given")
    made, used = [], 0
    for size in wanted:
        made.append(tuple(attributes[used : used + size]))
        used += size
    left = tuple(attributes[used:])
    if left and leftover == "merge" and made:
        made[-1] += left
    elif left and leftover != "drop":
        made.append(left)
    return made


def mask_in_segments(
    method: Method,
    data: Any,
    segments: Sequence[Sequence[str]],
    *,
    seed: int | None = None,
    progress: Progress = silent,
) -> Release:
    """Mask each segment by itself, one step after another; the release has a partition for each.

    A key that is in no segment would be released as it is, so it is refused.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> people = {"age": [20, 22, 41, 43], "height": [160, 180, 161, 181], "weight": [60, 80, 61, 81]}
    >>> release = mask_in_segments(MDAV(k=2), people, [["age"], ["height", "weight"]])
    >>> release.frame["age"].to_pylist(), release.frame["height"].to_pylist()
    ([21.0, 21.0, 42.0, 42.0], [160.5, 180.5, 160.5, 180.5])
    """
    table = as_microdata(data)
    if isinstance(segments, str) or any(isinstance(segment, str) for segment in segments):
        raise ParameterError("segments are lists of names, such as [['age'], ['height', 'weight']], not texts")
    named = [name for segment in segments for name in segment]
    if not named or not all(segments):
        raise ParameterError("every segment needs at least one attribute, and there must be one segment or more")
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(f"attribute '{twice}' is in more than one segment, so it would be masked twice")
    bare = next((name for name in table.schema.keys if name not in named), None)
    if bare is not None:
        raise DataError(f"the key '{bare}' is in no segment and would be released as it is; add it or leave it out")
    chosen = draw_seed() if seed is None else seed
    release: Any = table
    for segment, part in zip(segments, parts(progress, len(segments)), strict=True):
        release = method.mask(release, list(segment), seed=chosen, progress=part)
    made: Release = release
    return made
