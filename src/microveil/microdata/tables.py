"""Two tables of the same attributes, compared cell by cell."""

from __future__ import annotations

from dataclasses import dataclass

from microveil.microdata.microdata import Categories, Microdata, Numbers


@dataclass(frozen=True)
class Tables:
    """An original and a masked table. `attributes` are those that a measure is about; `recoded` are attributes whose
    masked cells are labels that stand for several values, such as intervals in the place of numbers."""

    original: Microdata
    masked: Microdata
    attributes: tuple[str, ...]
    recoded: tuple[str, ...] = ()

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
