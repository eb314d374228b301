"""What every attack on a statistical database is: a component that asks questions and ends with claims."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from microveil.parameters import Parameterised
from microveil.queries.red_team.intruder import Intruder, OutOfQuestionsError
from microveil.queries.red_team.readings import Claim, Reading

Sought = Literal["value", "missing"]


class QueryAttack(Parameterised, ABC):
    """A way of asking for what must not be known. It sees answers, refusals and public facts, and nothing else."""

    kinds: ClassVar[tuple[str, ...]] = ("numeric", "ordinal", "nominal")
    missing: ClassVar[str] = "records in which the value is missing are no targets"
    seeks: ClassVar[Sought] = "value"  # or whether it is missing

    @abstractmethod
    def attempt(self, intruder: Intruder) -> list[Claim]:
        """What the attack claims about the targets."""

    def why_not(self, intruder: Intruder) -> str | None:
        """Why the attack cannot be tried, if it cannot."""
        return None


class TargetAttack(QueryAttack):
    """An attack on one target after the other; one that runs out of questions keeps the claims that it has made."""

    def attempt(self, intruder: Intruder) -> list[Claim]:
        claims: list[Claim] = []
        try:
            self.prepare(intruder)
            for target in intruder.knowledge.targets:
                claim = self.on(intruder, target)
                claims += [] if claim is None else [claim]
        except OutOfQuestionsError:
            pass
        return claims

    def prepare(self, intruder: Intruder) -> None:
        """What is asked once, before the first target."""

    @abstractmethod
    def on(self, intruder: Intruder, target: int) -> Claim | None:
        """The claim about one person; None where nothing was learnt."""


def claimed(intruder: Intruder, target: int, reading: Reading | None) -> Claim | None:
    """The claim that a reading makes, sure where the answers are exact."""
    return None if reading is None else Claim(target, reading.value, is_certain=intruder.is_certain)


def needs_register(intruder: Intruder) -> str | None:
    return None if intruder.knowledge.scope == "register" else "the intruder knows nobody but the target"


def needs_numbers(intruder: Intruder) -> str | None:
    return None if intruder.secret.place is None else "the confidential attribute has categories"
