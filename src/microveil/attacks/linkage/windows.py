"""How far rank swapping can have moved a value, and the released values within that reach."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from microveil.attacks.base import Attack
from microveil.attacks.linkage.candidates import MISSING
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.masking.plan import Step
from microveil.masking.replaying import changes_values, class_of, method_of
from microveil.masking.swapping.ranks import KINDS, Reach, SwapByRank, Unit, check_ranks, ranks
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.neighbours.range_search import Order

ASSUMED = 20.0  # per cent of the records: the bound that is taken where nothing is known of a table


def is_swapped(pair: Pair) -> bool:
    """Whether the provenance says that some attribute was rank-swapped."""
    return pair.release is not None and any(map(_swaps_by_rank, pair.release.provenance.steps))


def _swaps_by_rank(step: Step) -> bool:
    cls = class_of(step)
    return cls is not None and issubclass(cls, SwapByRank)


class WindowLinkage(Attack):
    """Linkage by how far rank swapping can have moved values; a subclass has the parameters `p` and `unit`."""

    family: ClassVar[str] = "linkage"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = MISSING
    p: float | None
    unit: Unit

    def __post_init__(self) -> None:
        if self.p is not None:
            check_ranks(self.name, self.p, self.unit)

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        return super().suited(pair) if is_swapped(pair) else ()


def reaches(pair: Pair, attributes: tuple[str, ...], p: float | None, unit: Unit, name: str) -> list[Reach]:
    """The reach in each attribute: from p where it is given, else from the provenance, else what is assumed of tables.

    A release without rank swapping has no reach, so p must be given.
    """
    if p is None and pair.release is not None and not is_swapped(pair):
        raise ParameterError(f"{name}: p must be given, for the release was not made by rank swapping")
    made = []
    for attribute in attributes:
        values = int((pair.masked.missing_states(attribute) == 0).sum())
        true = None if pair.release is None else _reach(pair.release, attribute, values)
        if p is not None:
            wanted = ceil(ranks(p, unit, values) - 1e-9)
            known = true is None or (true.bound and true.ranks is not None and true.ranks <= wanted)
            made.append(Reach(wanted, known))
        else:
            made.append(Reach(ceil(ranks(ASSUMED, "percent", values)), False) if true is None else true)
    return made


def reach_text(pair: Pair, p: float | None, unit: Unit) -> str:
    """What an intruder knows or assumes of the reach, for the scenario: only the provenance tells it."""
    if p is None and pair.release is not None:
        return "knows how far rank swapping moved values"
    if p is None:
        return f"assumes, without provenance, that rank swapping moved values by at most {ASSUMED:g} % of the ranks"
    return f"assumes that rank swapping moved values by at most {p:g}{' % of the' if unit == 'percent' else ''} ranks"


def _reach(release: Any, attribute: str, values: int) -> Reach:
    """From the steps that changed the attribute; an attribute that none did has not moved."""
    steps = [
        step
        for step in release.provenance.steps
        if attribute in release.provenance.masked_by(step) and changes_values(step)
    ]
    # where only some records are released, a share of all is no less than a share of those, and ranks among fewer
    # records are no farther apart
    full = release.provenance.input_records if release.is_sample else values
    each = [_reach_of(step, full) for step in steps]
    if any(reach.ranks is None for reach in each):
        return Reach(None, False)
    return Reach(sum(reach.ranks or 0 for reach in each), all(reach.bound for reach in each))


def _reach_of(step: Step, values: int) -> Reach:
    method = method_of(step) if _swaps_by_rank(step) else None
    return method.reach(values) if isinstance(method, SwapByRank) else Reach(None, False)


def window(order: Order, column: FloatArray, reach: int | None) -> tuple[IntArray, IntArray]:
    """For each original value the range of positions of released values at most so many ranks away, with all their
    equals.

    A value that is not released counts from the position where it would stand. A missing value can be anything.
    """
    n = len(order.values)
    unknown = np.isnan(column) | (reach is None)
    if n == 0 or unknown.all():
        return np.zeros(len(column), dtype=np.int64), np.full(len(column), n)
    lowest, highest = order.between(column, column)
    highest = np.where(highest > lowest, highest - 1, lowest)
    low = order.values[np.clip(lowest - (reach or 0), 0, n - 1)]
    high = order.values[np.clip(highest + (reach or 0), 0, n - 1)]
    first, last = order.between(low, high)
    return np.where(unknown, 0, first), np.where(unknown, n, last)


def shares_of(ranges: list[tuple[IntArray, IntArray]], records: int) -> list[float]:
    """The mean share of the file in the ranges of each attribute."""
    return [float((last - first).mean()) / records for first, last in ranges]
