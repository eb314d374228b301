"""What a table longer than memory guarantees, counted over the combinations that occur in it.

Every combination of the keys and one confidential attribute is a record that stands for all that have it, with the sum
of their sampling weights; guarantees are counted on these by the code for tables in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.engines.base import COUNT
from microveil.engines.stored_facts import StoredFacts
from microveil.errors import DataError, ParameterError
from microveil.masking.guarantees import Diversity, Guarantees, guarantees_of
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.equivalence_classes import weights_of
from microveil.microdata.facts import Part
from microveil.microdata.frames import open_frame

if TYPE_CHECKING:
    from microveil.engines.large import LargeMicrodata

OF_CLASSES = ("l", "entropy-l", "recursive-l", "t", "delta", "beta")  # which need the confidential attributes, too
REQUIRABLE = ("k", "population", "average-risk", *OF_CLASSES)
MOST_VALUES = 100_000  # of a confidential number; of more, nearly every record is a combination of its own


def check_requirable(required: Mapping[str, float]) -> None:
    """Refuse requirements that cannot be counted by combinations."""
    for name in required:
        if name not in REQUIRABLE:
            listed = ", ".join(REQUIRABLE)
            raise ParameterError(f"'{name}' can be required of tables in memory only; with an engine, {listed} can")


def guaranteed(data: LargeMicrodata, keys: Sequence[str] | None, confidential: Sequence[str] | None) -> Guarantees:
    """What a stored table guarantees over its keys for its confidential attributes."""
    names, facts = tuple(keys or data.schema.keys), data.facts
    if not names:
        raise ParameterError("no attribute is a key; declare keys, or name the attributes whose combinations to count")
    found = replace(guarantees_of(_standing(data, facts, names), names, ()), table=None)
    diversity: dict[str, Diversity] = {}
    for name in data.schema.confidential if confidential is None else confidential:
        if name not in names:
            _refuse_many_values(data, facts, name)
            diversity |= guarantees_of(_standing(data, facts, (*names, name)), names, (name,)).diversity
    return replace(found, diversity=diversity)


def _standing(data: LargeMicrodata, facts: StoredFacts, names: tuple[str, ...]) -> Microdata:
    """A record for each combination of these attributes, with the sum of the weights of those that it stands for."""
    weight = data.schema.weight
    if weight is None or weight in names:
        return facts.counted(names).data

    def weighed(part: Microdata) -> pa.Table:
        cells = pa.table({name: part.arrow(name) for name in names} | {weight: weights_of(part, weight)})
        return _summed(cells.append_column(COUNT, pa.array(np.ones(len(part), dtype=np.int64))), names, weight)

    def together(parts: Sequence[pa.Table]) -> pa.Table:
        whole = _summed(pa.concat_tables(parts), names, weight)
        return whole.sort_by([(name, "ascending") for name in names])

    table = facts.gathered(f"weights of {', '.join(names)}", (*names, weight), weighed, together)
    described = Attribute(name=weight, kind="numeric", roles=("weight",))
    schema = Schema([*(data.schema[name] for name in names), described])
    counts = table[COUNT].to_numpy().astype(np.int64)
    return Microdata(open_frame(table.select([*names, weight])), schema, part=Part(range(0), facts, counts))


def _summed(table: pa.Table, names: Sequence[str], weight: str) -> pa.Table:
    found = table.group_by(list(names), use_threads=False).aggregate([(weight, "sum"), (COUNT, "sum")])
    return found.select([*names, f"{weight}_sum", f"{COUNT}_sum"]).rename_columns([*names, weight, COUNT])


def _refuse_many_values(data: LargeMicrodata, facts: StoredFacts, name: str) -> None:
    if data.schema[name].kind != "numeric":
        return

    def few(columns: Sequence[pa.Array | None]) -> pa.Array | None:
        held = [column for column in columns if column is not None]
        distinct = pc.unique(pa.concat_arrays(held)) if len(held) == len(columns) else None
        return None if distinct is None or len(distinct) > MOST_VALUES else distinct

    def of_part(part: Microdata) -> pa.Array | None:
        return few([part.arrow(name)])

    if facts.gathered(f"values of {name}", (name,), of_part, few) is None:
        raise DataError(
            f"attribute '{name}' is a confidential number with more than {MOST_VALUES:,} distinct values, so that its "
            "combinations with the keys are nearly all records; recode it, or count a sample of the records in memory"
        )
