"""Stata's and SAS's missing values .a to .z as numbers.

Stata stores them as doubles beyond every valid number; we keep those very doubles in the column, so that each kind of
missing stays apart from the others and from the numbers.
"""

from __future__ import annotations

LETTERS = "abcdefghijklmnopqrstuvwxyz_"  # the underscore is SAS's 27th
_FIRST = 2.0**1023


def number_of(letter: str) -> float:
    """The double that stands for the extended missing value of a letter.

    >>> letter_of(number_of("c"))
    'c'
    """
    return _FIRST * (1 + (LETTERS.index(letter.lower()) + 1) / 4096)


_LETTER_OF = {number_of(letter): letter for letter in LETTERS}


def letter_of(value: object) -> str | None:
    """The letter a number stands for, if it is one of them."""
    return _LETTER_OF.get(value) if isinstance(value, float) else None
