"""How a check says what it expects; an `assert` would say nothing without pytest, and is left out by `python -O`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

_THREADS = "MICROVEIL_THREADS"


def expect(holds: object, otherwise: str) -> None:
    """Fail with a sentence unless the condition holds."""
    if not holds:
        raise AssertionError(otherwise)


def expect_equal(found: Any, expected: Any, what: str) -> None:
    expect(found == expected, f"{what} is {_brief(found)} where {_brief(expected)} was expected")


def expect_close(
    found: npt.ArrayLike, expected: npt.ArrayLike, what: str, *, relative: float = 1e-6, absolute: float = 1e-12
) -> None:
    """Numbers, or arrays of them, that agree but for rounding; what is missing in one is missing in the other."""
    near = np.allclose(found, expected, rtol=relative, atol=absolute, equal_nan=True)
    expect(near, f"{what} is {_brief(found)} where {_brief(expected)} was expected")


def expect_all_close(found: Mapping[str, float], expected: Mapping[str, float], what: str) -> None:
    expect_equal(list(found), list(expected), f"the names of {what}")
    for name, value in expected.items():
        expect_close(found[name], value, f"{what}: {name}", relative=1e-9)


@contextmanager
def refused(problem: type[Exception], words: str, why: str) -> Iterator[None]:
    """What is inside must raise this error, whose message has these words (a regular expression)."""
    try:
        yield
    except problem as refusal:
        expect(re.search(words, str(refusal)), f"{why} is refused, but not with the words '{words}': {refusal}")
        return
    raise AssertionError(f"{why} is not refused with {problem.__name__}")


@contextmanager
def threads(number: int) -> Iterator[None]:
    """What is inside runs on so many threads."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = str(number)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before


def _brief(value: object) -> str:
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= 200 else f"{shown[:197]}..."
