"""Links that are confirmed: what a right link can mean for a person of whom nobody knows whether they are in the file.

A person who is not in the release has no record of their own there, so that no link is right. What can be compared is
whether a link looks right to somebody who knows more: after Giomi et al. (2023) the attributes are parted in two, the
person is linked by each part alone, and the link counts if both lead to the same record. Here the one part is what the
intruder knows and the other is all else that the release has of a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from microveil.comparison.control_group import compared_names
from microveil.comparison.drawing import drawn_beside
from microveil.comparison.pairs import Pair
from microveil.microdata.schema import KINDS
from microveil.progress import Part, Progress
from microveil.typing import FloatArray

if TYPE_CHECKING:
    from microveil.attacks.linkage.base import Linkage

_AFFORDABLE_TERMS = 5e9  # differences of two cells: about twenty seconds on two processors
_AT_ONCE = 1 << 21  # pairs of records
_FEWEST = 1000  # persons of each group that are linked, where there are so many


def confirmed_links(
    attack: Linkage, pair: Pair, attributes: tuple[str, ...], progress: Progress
) -> tuple[FloatArray, FloatArray] | None:
    """For persons of the original and of the control group the chance that the link by what is known is confirmed: the
    share, among the released records nearest by what is known, of those that are also nearest by the other attributes.

    Nothing where there is only one attribute, or the attack with its parameters links in another way.
    """
    from microveil.attacks.linkage.distance import DistanceLinkage

    assert pair.control is not None
    known, others = two_parts(pair, attributes)
    if not known or not others or (known != attributes and not _is_free(attack)):
        return None
    everyone = pair.with_control(pair.control).reading_labels()
    by_known = attack.compared(everyone.about(known), known, Part(progress, 0.0, 0.2))
    by_others = DistanceLinkage().compared(everyone.about(others), others, Part(progress, 0.2, 0.3))
    if by_known is None or by_others is None:
        return None
    terms = len(pair) * (len(known) + len(others))
    wanted = attack.records or max(_FEWEST, int(_AFFORDABLE_TERMS / terms))
    groups = drawn_beside(pair, pair.control, known, wanted, attack.seed, attack.name)
    persons, rest = np.concatenate(groups), Part(progress, 0.3, 1.0)
    success, chunk = np.zeros(len(persons)), max(1, _AT_ONCE // len(pair))
    for start in range(0, len(persons), chunk):
        some = persons[start : start + chunk]
        linked = by_known.nearest_released(some)
        both = (linked & by_others.nearest_released(some)).sum(axis=1)
        success[start : start + chunk] = both / np.maximum(linked.sum(axis=1), 1)
        rest(min(1.0, (start + chunk) / len(persons)), f"{attack.name}: linking twice, control group")
    return success[: len(groups[0])], success[len(groups[0]) :]


def two_parts(pair: Pair, attributes: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is known, and what else the release has of a person; where it has nothing else, every second attribute."""
    released = compared_names(pair.original, pair.masked)
    others = tuple(name for name in released if name not in attributes and pair.original[name].kind in KINDS)
    return (attributes, others) if others else (attributes[::2], attributes[1::2])


def _is_free(attack: Linkage) -> bool:
    """Whether an attack can take any attributes: its parameters name none, and give none a weight."""
    return attack.block is None and getattr(attack, "weights", None) is None
