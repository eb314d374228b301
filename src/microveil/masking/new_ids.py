"""Random new identifiers in a release, and the key tables that lead from the old ones to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from microveil.errors import ParameterError
from microveil.masking.households import renumbered
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.microdata import encoded
from microveil.microdata.schema import Category
from microveil.randomness import Streams
from microveil.typing import IntArray

_ROLES = ("identifier", "household", "series", "node")


@dataclass(frozen=True)
class KeyTable:
    """Old identifiers of one attribute and, in the same order, the new ones that a release has in their place.

    It holds original identifiers: whoever has it can say whose record is whose.
    """

    old: tuple[Category, ...]
    new: tuple[Category, ...]

    def __len__(self) -> int:
        return len(self.old)

    def __repr__(self) -> str:
        return f"KeyTable({len(self):,} identifiers)"

    @property
    def as_dict(self) -> dict[Category, Category]:
        """The new identifier of every old one."""
        return dict(zip(self.old, self.new, strict=True))

    def to_plain(self) -> dict[str, Any]:
        return {"old": list(self.old), "new": list(self.new)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> KeyTable:
        old, new = plain["old"], plain["new"]
        fits = isinstance(old, list) and isinstance(new, list) and len(old) == len(new)
        if not fits or not all(isinstance(one, str | int | float) for one in (*old, *new)):
            raise ValueError("a key table has two lists of the same length")
        return cls(tuple(old), tuple(new))


def id_attributes(schema: Schema) -> tuple[str, ...]:
    """The attributes that tell which unit a record is: identifiers, household numbers, ids of series, nodes."""
    return tuple(a.name for a in schema if not set(_ROLES).isdisjoint(a.roles))


def check_new_ids(schema: Schema, *, keep_household_ids: bool) -> None:
    """Refuse a table without identifiers, and the wish to keep some of them as they are."""
    if not id_attributes(schema):
        raise ParameterError(
            "new identifiers need an attribute to give them in: an identifier (--identifiers), a household number "
            "(--household), the id of a series or a node"
        )
    if keep_household_ids and schema.household is not None:
        raise ParameterError(
            "new identifiers are for household numbers too, so these cannot be kept (keep-household-ids)"
        )
    if schema.panel is not None and schema.panel.keep_ids and schema.having("series"):
        raise ParameterError("new identifiers are for series too, so their ids cannot be kept (keep-ids)")


def with_new_ids(
    data: Microdata, original: Microdata, rows: IntArray | None, names: tuple[str, ...], streams: Streams
) -> tuple[Microdata, dict[str, KeyTable]]:
    """A released table with new identifiers, and the key tables; `rows` are its records in the original.

    They are drawn in the order of the original, so that the same come out before and after records are shuffled.
    """
    here = np.arange(len(original)) if rows is None else np.argsort(np.argsort(rows))
    original = original if rows is None else original.take(np.sort(rows))
    columns: dict[str, pa.Array] = {}
    attributes: dict[str, Attribute] = {}
    keys = {}
    for name in names:
        rng = streams.generator("new identifiers", name)
        column, attributes[name] = renumbered(original, name, rng, unguessable=True)
        columns[name] = column.take(pa.array(here))
        keys[name] = _key_table(original.arrow(name), column)
    back = [name for name in names if name not in data.names]  # identifiers were left out
    frame = data.frame
    for name in back:
        made = nw.DataFrame.from_arrow(pa.table({name: columns[name]}), backend=frame.implementation)
        frame = frame.with_columns(made[name])
    schema = Schema((*data.schema, *(attributes[name] for name in back)), data.schema.panel)
    order = [name for name in original.names if name in schema]
    order += [name for name in schema.names if name not in order]
    whole = replace(data, frame=frame, schema=schema).select(order)
    kept = [name for name in names if name not in back]
    return whole.with_columns({n: columns[n] for n in kept}, [attributes[n] for n in kept]), keys


def _key_table(old: pa.Array, new: pa.Array) -> KeyTable:
    """Every identifier once, in the order of the new ones; missing ones and missing codes, which stay, are none."""
    (olds, of_old), (news, of_new) = encoded(old), encoded(new)
    pairs = np.unique(np.column_stack([of_old, of_new]), axis=0)
    known = [(olds[a], news[b]) for a, b in pairs.tolist() if a < len(olds) and b < len(news)]
    known = sorted((pair for pair in known if str(pair[0]) != str(pair[1])), key=lambda pair: str(pair[1]))
    return KeyTable(tuple(a for a, _ in known), tuple(b for _, b in known))
