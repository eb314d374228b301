"""Attributes of the household, masked once for each household, whichever method masks them.

The schema declares them (`level = "household"`). A method masks them on the table of households, one record each, and
every member gets what became of the household; the others it masks on the table of persons, in which the household's
attributes are those of the release already.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from microveil.errors import ParameterError
from microveil.masking.households import agreement, household_of, units_of
from microveil.masking.notes import HOUSEHOLDS_NOT_DECLARED, MASKED_ALIKE, MEMBERS_DIFFER, Note
from microveil.masking.partition import Partition
from microveil.microdata import Microdata
from microveil.progress import Part, Progress
from microveil.randomness import Streams
from microveil.typing import IntArray

if TYPE_CHECKING:
    from microveil.masking.base import Masked, Method, Tables


def masked_by_level(
    method: Method, tables: Tables, attributes: tuple[str, ...], streams: Streams, progress: Progress
) -> Masked:
    """What a method makes of some attributes, of which the schema declares some as ones of the household."""
    declared = tuple(name for name in attributes if tables.data[name].level == "household")
    household = household_of(tables.data) if declared else None
    if household is None or method.of_households == "itself":
        masked = method._mask_beside(tables, attributes, streams, progress)
        said = (HOUSEHOLDS_NOT_DECLARED(attributes=declared),) if declared and household is None else ()
        return replace(masked, notes=(*said, *masked.notes)) if said else masked
    own = tuple(name for name in attributes if name not in declared)
    first = Part(progress, 0.0, 0.5 if own else 1.0)
    if method.of_households == "members":
        masked = method._mask_beside(tables, declared, streams, first)
        masked = replace(masked, notes=(*said_of(tables.data, household, declared), *masked.notes))
    else:
        masked = of_households(method, tables, household, declared, streams, first)
    made = [masked]
    if own:
        released = replace(tables, data=tables.data.with_columns(masked.columns, masked.attributes))
        made.append(
            method._mask_beside(released, own, PersonStreams(streams.seed, streams.step), Part(progress, 0.5, 1.0))
        )
    if any(one.rows is not None for one in made):
        raise ParameterError(
            f"{method.name} releases only some of the records here, so it cannot mask {', '.join(declared)}, declared "
            "as attributes of the household; sampling by itself draws whole households"
        )
    return joined(made)


def of_households(
    method: Method,
    tables: Tables,
    household: IntArray,
    attributes: tuple[str, ...],
    streams: Streams,
    progress: Progress,
) -> Masked:
    """What a method makes of the table of households, given to every member."""
    units = units_of(tables.data, household, attributes)
    _, first = np.unique(units, return_index=True)
    masked = method._mask_beside(tables.take(first), attributes, streams, progress)
    members = pa.array(units)
    return replace(
        masked,
        columns={name: column.take(members) for name, column in masked.columns.items()},
        partitions={block: Partition.of(found.labels[units]) for block, found in masked.partitions.items()},
        notes=(*said_of(tables.data, household, attributes), *masked.notes),
    )


def joined(made: list[Masked]) -> Masked:
    """What became of households and of persons, as one."""
    return replace(
        made[0],
        columns={name: column for masked in made for name, column in masked.columns.items()},
        partitions={block: found for masked in made for block, found in masked.partitions.items()},
        matrices={block: matrix for masked in made for block, matrix in masked.matrices.items()},
        notes=tuple(note for masked in made for note in masked.notes),
        attributes=tuple(attribute for masked in made for attribute in masked.attributes),
    )


def said_of(data: Microdata, household: IntArray, attributes: tuple[str, ...]) -> tuple[Note, ...]:
    """How many households were masked as one, and how many not because their members differ."""
    agreeing = np.all([agreement(data, name) for name in attributes], axis=0)
    alike, differing = (len(np.unique(household[records])) for records in (agreeing, ~agreeing))
    said = MASKED_ALIKE(households=alike, attributes=attributes)
    return (said, MEMBERS_DIFFER(households=differing, attributes=attributes)) if differing else (said,)


class PersonStreams(Streams):
    """The random streams of the persons, other than those of the households."""

    def generator(self, *labels: str) -> np.random.Generator:
        return super().generator("persons", *labels)
