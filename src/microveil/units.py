"""Units: shares are per cent, risks of single records are probabilities, and a number that may be either is refused."""

from __future__ import annotations

import math

from microveil.errors import ParameterError

THRESHOLD = 0.09  # what health authorities accept for the risk of a single record of a public release


def percentage(given: object, what: str) -> float:
    """A percentage from 0 to 100: `5`, `"5"` or `"5%"`. A number between 0 and 1 could be meant as a share of 1, so it
    needs the sign: `"0.5%"`.

    >>> percentage("5", "the limit"), percentage("0.5%", "the limit")
    (5.0, 0.5)
    """
    value, signed = _number(given)
    if not 0 <= value <= 100:
        raise ParameterError(f"{what} is a percentage from 0 to 100, such as 5, not '{_short(given)}'")
    if 0 < value < 1 and not signed:
        raise ParameterError(
            f"{what} is a percentage, and {value:g} could also be meant as a share of 1: write {value:g}% for "
            f"{value:g} per cent, or {100 * value:g} for {100 * value:g} per cent"
        )
    return value


def probability(given: object, what: str) -> float:
    """A limit that is a probability from 0 to below 1: `0.09`, `"0.09"` or, with its sign, `"9%"`. One of 1 could be
    meant as 1 per cent, and would hold whatever is measured.

    >>> probability("0.09", "the risk"), probability("9%", "the risk")
    (0.09, 0.09)
    """
    value, signed = _number(given)
    if signed:
        value /= 100
    if not 0 <= value <= 1:
        hint = f"; write {value:g}% for {value:g} per cent" if 1 < value <= 100 else ""
        raise ParameterError(f"{what} is a probability from 0 to 1, such as 0.09, not '{_short(given)}'{hint}")
    if value == 1:
        meant = "" if signed else "write 0.01 or 1% for 1 per cent; "
        raise ParameterError(
            f"{what} is a probability below 1, such as 0.09, not '{_short(given)}': {meant}no probability is above "
            "100 per cent, so such a limit always holds"
        )
    return value


def _number(given: object) -> tuple[float, bool]:
    """The number, and whether it is said to be per cent; NaN if it is none."""
    if isinstance(given, bool):
        return math.nan, False
    if isinstance(given, int | float):
        return (float(given) if abs(given) <= 1e300 else math.inf), False
    text = str(given).strip()
    signed = text.endswith("%")
    try:
        return float(text.removesuffix("%")), signed
    except ValueError:
        return math.nan, signed


def _short(given: object) -> str:
    text = str(given) if not isinstance(given, int) or abs(given) < 10**20 else "a very long number"
    return text if len(text) <= 40 else text[:37] + "..."
