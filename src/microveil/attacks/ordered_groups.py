"""What attacks share that use groups of neighbouring values: which attributes were masked so, and whom they suit."""

from __future__ import annotations

from typing import ClassVar

from microveil.attacks.base import Attack
from microveil.comparison.columns import Columns
from microveil.comparison.pairs import Pair
from microveil.numerics.core.ordering import keeps_order
from microveil.parameters import parameterised

_CENTRES = ("mean", "median")  # what groups of records are published as
_ROUNDING = 1e-9  # of the released range: by so much a mean may be off


@parameterised
class OrderedGroupsAttack(Attack):
    """An attack on attributes that were masked one at a time, in groups of neighbouring values."""

    needs_private_file: ClassVar[bool] = True

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        in_order = any(masked_in_order(pair, name) for name in pair.of_kinds(cls.kinds))
        return super().suited(pair) if in_order else ()


def masked_in_order(pair: Pair, attribute: str) -> bool:
    """Whether an attribute was masked by itself, in groups of neighbouring values that are published in order.

    That a step made groups of this attribute alone is in the release's partitions, or, where these are not known, in
    its provenance; that the groups are neighbours shows in the values: whoever has the larger one before masking never
    has the smaller one after it.
    """
    if pair.release is None or pair.release.is_sample or attribute not in pair.of_kinds(("numeric", "ordinal")):
        return False
    provenance = pair.release.provenance
    steps = [step for step in provenance.steps if attribute in provenance.masked_by(step)]
    if len(steps) != 1:
        return False
    parameters = steps[0].parameters
    alone = parameters.get("block") == 1 or provenance.masked_by(steps[0]) == (attribute,)
    grouped = alone and parameters.get("publish") in _CENTRES
    if pair.release.partitions:
        grouped = (attribute,) in pair.release.partitions
    if not grouped:
        return False
    columns = Columns.of(pair, (attribute,))
    return keeps_order(columns.before[0], columns.after[0], _ROUNDING)
