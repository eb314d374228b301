"""An original table beside its masked version, so that measures can compare them cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from microveil.errors import DataError
from microveil.microdata.microdata import Categories, Microdata, Numbers, as_microdata, count, resolve_attributes
from microveil.microdata.schema import KINDS


@dataclass(frozen=True)
class Pair:
    """Record i of `masked` is the masked version of record i of `original`; both are read by the original's schema."""

    original: Microdata
    masked: Microdata
    attributes: tuple[str, ...]

    @classmethod
    def of(cls, original: Any, release: Any, attributes: Sequence[str] | None = None) -> Pair:
        """Compare these attributes; by default those a release masked, else the keys, else all numeric ones."""
        before, after = as_microdata(original), as_microdata(release)
        chosen = _chosen(before, release, attributes)
        for name in chosen:
            if name not in after.names:
                raise DataError(f"the masked table has no column '{name}', so it cannot be compared with the original")
        if len(before) != len(after):
            raise DataError(
                f"the original has {count(len(before), 'record')} and the masked table {len(after):,}; "
                "they must describe the same records in the same order"
            )
        if len(before) == 0:
            raise DataError("the tables have no records, so there is nothing to measure")
        columns = after.frame.select(*chosen)
        return cls(before, Microdata(columns, before.schema.select(chosen)), chosen)

    def of_kinds(self, kinds: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in self.attributes if self.original[name].kind in kinds)

    def __len__(self) -> int:
        return len(self.original)

    def numbers(self, name: str) -> tuple[Numbers, Numbers]:
        return self.original.numbers(name), self.masked.numbers(name)

    def categories(self, name: str) -> tuple[Categories, Categories]:
        """Both columns as positions in one domain; new categories of the masked table come after the original's."""
        domain = self.original.domain(name)
        if self.original[name].domain is None:
            new = [value for value in self.masked.domain(name) if value not in domain]
            domain = (*(v for v in (*domain, *new) if v is not None), *([None] if None in (*domain, *new) else []))
        return self.original.categories(name, domain), self.masked.categories(name, domain)


def _chosen(original: Microdata, release: Any, attributes: Sequence[str] | None) -> tuple[str, ...]:
    if attributes is None and hasattr(release, "provenance"):
        attributes = release.provenance.attributes
    return resolve_attributes(original, attributes, KINDS, "a comparison")
