"""What attacks share that first find the candidates for each record and then take the nearest of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from microveil.attacks.base import Risk
from microveil.comparison.drawing import drawn
from microveil.comparison.pairs import Pair
from microveil.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.neighbours.range_search import Inside

METRIC = "distance of numbers, for the nearest of the candidates"
SCALE = "scale of numbers, for the nearest of the candidates: each file's own z-scores, or the original's"
RECORDS = "number of records that are attacked, drawn at random; unset: all, or as many as take about 20 seconds"
MISSING = "a cell missing in either file fits every window; distances leave it out and scale up the rest"
_AFFORDABLE_STEPS = 1e11  # ranges compared: about twenty seconds on two processors
_STEPS_OF_A_DISTANCE = 40


def attacked(pair: Pair, attributes: Sequence[str], wanted: int | None, steps: float, seed: int, name: str) -> IntArray:
    """The records that are attacked, where each takes so many steps of work; drawn by these attributes."""
    return drawn(pair, attributes, affordable(wanted, steps), seed, name)


def affordable(wanted: int | None, steps: float) -> int:
    """How many records are attacked, where each takes so many steps of work: as many as are wanted, if it is said."""
    return wanted or max(1000, int(_AFFORDABLE_STEPS / max(steps, 1.0)))


def steps_of(shares: Sequence[float], records: int, every: bool) -> float:
    """The work for one record whose ranges hold these shares of the file, as far as it can be foreseen."""
    seen = min(shares) if every else 1.0
    left = float(np.prod(shares)) if every else 0.0
    return records * (len(shares) * seen + _STEPS_OF_A_DISTANCE * left)


def risk_of(
    name: str, pair: Pair, attributes: tuple[str, ...], own: IntArray, inside: Inside, scenario: str, **details: Any
) -> Risk:
    """The risk of links to the nearest candidates, with all ways of counting; shares of records are percentages.

    `alone`: the only candidate is the right one; `misled`: it is a wrong one; `lost`: the right one is no candidate;
    `candidates`: the share of the file that is left.
    """
    single = inside.candidates == 1
    shares = {
        "expected": np.where(inside.nearest, 1.0 / np.maximum(inside.ties, 1), 0.0),
        "first": inside.first == own,
        "optimistic": inside.nearest,
        "strict": inside.nearest & (inside.ties == 1),
        "alone": single & inside.own,
        "misled": single & ~inside.own,
        "lost": ~inside.own,
        "candidates": inside.candidates / len(pair),
    }
    return shared_risk(name, pair, attributes, own, shares, scenario, **details)


def shared_risk(
    name: str,
    pair: Pair,
    attributes: tuple[str, ...],
    own: IntArray,
    shares: Mapping[str, FloatArray | BoolArray],
    scenario: str,
    **details: Any,
) -> Risk:
    """The risk of the records that are attacked, of which every share is counted; the `expected` ones are the risk."""
    per_record = np.full(len(pair), np.nan)
    per_record[own] = shares["expected"]
    counters = {key: 100 * float(np.mean(share)) for key, share in shares.items()}
    return Risk.of(name, per_record, attributes, scenario, counters=counters, **details)
