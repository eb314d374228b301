"""Two tables of the same attributes, compared cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeVar

from microveil.microdata.microdata import Categories, Microdata, Numbers
from microveil.progress import Progress, silent


class Addable(Protocol):
    """What is found of a part of the records, and can be added to what is found of another."""

    def __add__(self, other: Any, /) -> Any: ...


Sum = TypeVar("Sum", bound=Addable)


@dataclass(frozen=True)
class Several:
    """Several such findings, each of its own kind."""

    found: tuple[Any, ...]

    def __add__(self, other: Self) -> Several:
        return Several(tuple(one + more for one, more in zip(self.found, other.found, strict=True)))


@dataclass(frozen=True)
class Tables:
    """An original and a masked table. `attributes` are those that a measure is about; `recoded` are attributes whose
    masked cells are labels that stand for several values, such as intervals in the place of numbers."""

    original: Microdata
    masked: Microdata
    attributes: tuple[str, ...]
    recoded: tuple[str, ...] = ()
    # whether the records come in parts, so that nothing but sums over all of them can be asked
    in_parts: ClassVar[bool] = False

    def summed(self, find: Callable[[Tables], Sum], progress: Progress = silent, label: str = "") -> Sum:
        """What is found of all records: at once, or of tables longer than memory part by part and added up.

        What is done to a part must not hold the tables themselves, for it may be sent to other machines.
        """
        return find(self)

    def __len__(self) -> int:
        return len(self.original)

    def numbers(self, name: str) -> tuple[Numbers, Numbers]:
        return self.original.numbers(name), self.masked.numbers(name)

    def categories(self, name: str) -> tuple[Categories, Categories]:
        """Both columns as positions in one domain; new categories of the masked table come after the original's."""
        domain = self.original.domain(name)
        if self.original[name].domain is None or name in self.recoded:
            known = set(domain)
            new = [value for value in self.masked.domain(name) if value not in known]
            domain = (*(v for v in (*domain, *new) if v is not None), *([None] if None in (*domain, *new) else []))
        return self.original.categories(name, domain), self.masked.categories(name, domain)
