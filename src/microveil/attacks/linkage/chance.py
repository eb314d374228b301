"""How many links are right by chance alone, to compare with the links of an attack."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import factorial
from typing import Literal

from microveil.errors import ParameterError

Matching = Literal["one-to-one", "independent"]
_TERMS = 40  # of the series of 1/e: the rest is below 1e-47
_NEVER = 200  # so many right links have a probability that no double can hold


@dataclass(frozen=True)
class Chance:
    """The probability of so many right links, and of at least so many."""

    exactly: float
    at_least: float


def chance_of_links(right: int, records: int, matching: Matching = "one-to-one", attacked: int | None = None) -> Chance:
    """The chance of so many right links when two files of the same records are linked at random.

    One-to-one, one of all assignments of the one file to the other is drawn; independently, a record of the other file
    is drawn for each record `attacked` (unset: all), as linkage to the nearest does.

    >>> chance_of_links(10, 100).exactly
    1.0137771196302974e-07
    """
    trials = records if attacked is None else attacked
    if not (0 <= right <= trials <= records) or records < 1:
        raise ParameterError(f"{right} right links are not possible with {trials} of {records} records attacked")
    if matching == "independent":
        from scipy.stats import binom

        drawn = binom(trials, 1.0 / records)
        return Chance(float(drawn.pmf(right)), float(drawn.sf(right - 1)))
    if trials < records:
        raise ParameterError("the chance of one-to-one links is known only where all records are attacked")
    last = min(records, right + _TERMS)
    shares = [_exactly(count, records) for count in range(right, last + 1)]
    return Chance(float(shares[0]), float(sum(shares)))


def _exactly(right: int, records: int) -> Fraction:
    """Among all permutations, the share of those with so many fixed points."""
    if right > _NEVER:
        return Fraction(0)
    return _derangements(min(records - right, _TERMS)) / factorial(right)


@cache
def _derangements(size: int) -> Fraction:
    """The share of permutations without a fixed point."""
    return sum((Fraction((-1) ** v, factorial(v)) for v in range(size + 1)), start=Fraction(0))
