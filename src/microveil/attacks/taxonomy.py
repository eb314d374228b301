"""The kinds of disclosure there are, and which of them an attack looks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from microveil.errors import UnknownNameError

if TYPE_CHECKING:
    from microveil.attacks.base import Attack

View = Literal["identity", "attribute"]
Way = Literal["uniqueness", "re-identification", "prediction"]
Certainty = Literal["deterministic", "probabilistic"]
Precision = Literal["exact", "approximate"]


@dataclass(frozen=True)
class Disclosure:
    """Who or what is disclosed, how, and how surely: a deterministic disclosure names one value or interval, a
    probabilistic one is right with some chance. What is exact is `true`; an approximate value only seems so. All
    attacks here are about the unit itself, which is called positive, and not about all others."""

    view: View
    way: Way
    certainty: Certainty
    precision: Precision

    @property
    def truth(self) -> Literal["true", "apparent"]:
        return "true" if self.precision == "exact" else "apparent"


FAMILIES: dict[str, Disclosure] = {
    "linkage": Disclosure("identity", "re-identification", "probabilistic", "exact"),
    "uniqueness": Disclosure("identity", "uniqueness", "probabilistic", "exact"),
    "intervals": Disclosure("attribute", "prediction", "deterministic", "approximate"),
    "inference": Disclosure("attribute", "prediction", "probabilistic", "approximate"),
}


def disclosure_of(attack: type[Attack] | Attack) -> Disclosure:
    """The kind of disclosure an attack looks for: what its class says, else what attacks of its family do.

    >>> from microveil.attacks.intervals import IntervalDisclosure
    >>> disclosure_of(IntervalDisclosure).view, disclosure_of(IntervalDisclosure).truth
    ('attribute', 'apparent')
    """
    if attack.disclosure is not None:
        return attack.disclosure
    if attack.family not in FAMILIES:
        raise UnknownNameError("family of attacks", attack.family, FAMILIES)
    return FAMILIES[attack.family]
