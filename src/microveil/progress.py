"""How long work reports its progress, and how it is cancelled.

A progress callback takes the fraction done, in [0, 1], and a few words on what is being done. To cancel the work the
callback raises `Cancelled`: it passes through the method, which holds no state, and out to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol


class Progress(Protocol):
    """What a caller passes as `progress`."""

    def __call__(self, fraction: float, label: str, /) -> None: ...


def silent(fraction: float, label: str, /) -> None:
    """The progress of a caller who does not want to know."""


class Part:
    """A stretch of a longer job: a fraction reported here arrives as its place within the whole.

    >>> seen = []
    >>> Part(lambda fraction, label: seen.append(fraction), 0.5, 1.0)(0.5, "second half")
    >>> seen
    [0.75]
    """

    def __init__(self, whole: Progress, start: float, end: float) -> None:
        self.whole, self.start, self.end = whole, start, end

    def __call__(self, fraction: float, label: str, /) -> None:
        self.whole(self.start + (self.end - self.start) * min(max(fraction, 0.0), 1.0), label)


class Rising:
    """Never goes back: work whose length shows only on the way may find that it was too hopeful.

    >>> seen = []
    >>> report = Rising(lambda fraction, label: seen.append(fraction))
    >>> for fraction in (0.2, 0.6, 0.5, 0.9):
    ...     report(fraction, "searching")
    >>> seen
    [0.2, 0.6, 0.6, 0.9]
    """

    def __init__(self, whole: Progress) -> None:
        self.whole, self.highest = whole, 0.0

    def __call__(self, fraction: float, label: str, /) -> None:
        self.highest = max(self.highest, fraction)
        self.whole(self.highest, label)


def reported(names: Sequence[str], whole: Progress, label: str) -> Iterator[str]:
    """Names, to be worked on one after the other; when a name is finished, the progress tells so.

    >>> told = []
    >>> for name in reported(["age", "sex"], lambda fraction, label: told.append((fraction, label)), "mean"):
    ...     told.append(name)
    >>> told
    ['age', (0.5, 'mean: age'), 'sex', (1.0, 'mean: sex')]
    """
    for name, part in zip(names, parts(whole, len(names)), strict=True):
        yield name
        part(1.0, f"{label}: {name}")


def parts(whole: Progress, count: int) -> list[Part]:
    """Divide a job into equal parts."""
    return [Part(whole, i / count, (i + 1) / count) for i in range(count)]
