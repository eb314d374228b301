"""Sets of attributes that an intruder may know, from few to many."""

from __future__ import annotations

from collections.abc import Sequence


def first_attributes(attributes: Sequence[str], numbers: Sequence[int] | None = None) -> list[tuple[str, ...]]:
    """The first c attributes, for c from 1 to half of them (rounded up) unless other numbers are given.

    >>> first_attributes(["a", "b", "c"])
    [('a',), ('a', 'b')]
    """
    return [tuple(attributes[:c]) for c in numbers or range(1, (len(attributes) + 1) // 2 + 1)]


def first_blocks(blocks: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The attributes of the first g blocks, for g from 2 to all of them (a single block is known as a whole).

    >>> first_blocks([("a", "b"), ("c", "d")])
    [('a', 'b', 'c', 'd')]
    """
    known = [tuple(name for block in blocks[:g] for name in block) for g in range(2, len(blocks) + 1)]
    return known or [tuple(name for block in blocks for name in block)]
