"""What an intruder is assumed to know of persons: the declared keys or, if there are none, the masked attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from microveil.errors import DataError
from microveil.masking.release import Release
from microveil.microdata.microdata import Microdata, as_microdata, resolve_attributes
from microveil.microdata.schema import KINDS, Schema

Source = Literal["given", "keys", "masked", "changed", "compared", "all", "links"]
_REASONS = {
    "given": "as given",
    "keys": "the declared keys",
    "masked": "the masked attributes, because no keys are declared",
    "changed": "the attributes that were changed, because no keys are declared",
    "compared": "the attributes compared, because no keys are declared",
    "all": "all attributes, because no keys are declared and no attribute was changed",
    "links": "the nodes of the graph have no attributes",
}


@dataclass(frozen=True)
class Knowledge:
    """The attributes whose true values an intruder is assumed to know, and why these.

    `source` is "given" where the user named them and "keys" where they are the declared keys. Where no keys are
    declared, other attributes stand in for them: "masked", those that the release's provenance says were masked;
    "changed", those whose values differ in a release without provenance; "all", if none does; or "compared", those that
    were to be compared. Of a graph whose nodes have no attributes nothing but "links" is known. `withheld` are declared
    keys that the release does not have: the intruder knows them but finds nothing to compare them with. `named` are the
    attributes as they are told to people: a series by its name.
    """

    attributes: tuple[str, ...]
    source: Source
    withheld: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        return _REASONS[self.source]

    def __str__(self) -> str:
        known = ", ".join(self.named or self.attributes) or "nothing but links"
        told = f"the intruder is assumed to know {known} ({self.reason})"
        return f"{told}; not released: {', '.join(self.withheld)}" if self.withheld else told

    def to_plain(self) -> dict[str, Any]:
        return {"attributes": list(self.attributes), "source": self.source, "withheld": list(self.withheld)}


def declared_keys(original: Microdata, release: Any) -> tuple[str, ...]:
    """The keys that the original's schema declares, else those of the schema a release was made with, else those of the
    released table itself."""
    provenance = release.provenance if isinstance(release, Release) else None
    schemas: list[Schema] = [original.schema, *([provenance.schema] if provenance is not None else [])]
    if provenance is not None or isinstance(release, Microdata):
        schemas.append(as_microdata(release).schema)
    found = (tuple(name for name in schema.keys if name in original.names) for schema in schemas)
    return next((keys for keys in found if keys), ())


def knowledge_of(
    original: Microdata,
    release: Any,
    stand_in: tuple[Sequence[str], Source] | None,
    known: Sequence[str] | None = None,
) -> Knowledge:
    """What an intruder is assumed to know: `known` if given, else all declared keys and nothing else, else the
    attributes that stand in for them, with their source; not those that are confidential, if there are others."""
    found = _knowledge(original, release, stand_in, known)
    return replace(found, named=original.schema.collapsed(found.attributes))


def _knowledge(
    original: Microdata, release: Any, stand_in: tuple[Sequence[str], Source] | None, known: Sequence[str] | None
) -> Knowledge:
    released = as_microdata(release).names
    if known is not None:
        return Knowledge(resolve_attributes(original, known, KINDS, "an attack"), "given")
    keys = declared_keys(original, release)
    if not keys:
        others, source = stand_in or ((), "masked")
        open_to_all = tuple(name for name in others if "confidential" not in original[name].roles)
        return Knowledge(open_to_all or tuple(others), source)
    found = tuple(name for name in resolve_attributes(original, keys, KINDS, "an attack") if name in released)
    if not found:
        raise DataError(
            f"none of the keys {', '.join(keys)} is in the masked table, so there is nothing to link by; say what the "
            "intruder knows (known)"
        )
    return Knowledge(found, "keys", tuple(name for name in keys if name not in found))
