"""What masking has to know of households: who belongs together, which attributes all members share, new numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from microveil.masking.partition import Partition
from microveil.microdata import Attribute, Microdata
from microveil.microdata.microdata import as_categories, count

IntArray = npt.NDArray[np.int64]


def household_of(data: Microdata) -> IntArray | None:
    """The household of every record as a number from 0; a record without a household number is one of its own.

    >>> household_of(Microdata.of({"home": [7, 3, None, 7, None]}, household="home")).tolist()
    [0, 1, 2, 0, 3]
    """
    name = data.schema.household
    if name is None:
        return None
    numbers = _codes(data, name)
    absent = np.flatnonzero(_absent(data, name))
    numbers[absent] = len(data) + np.arange(len(absent))
    return Partition.of(numbers).labels


def shared_attributes(data: Microdata, attributes: Iterable[str]) -> tuple[str, ...]:
    """Those of the attributes that are the same for all members of every household; none without households of two."""
    household = household_of(data)
    if household is None or len(np.unique(household)) == len(data):
        return ()
    return tuple(name for name in attributes if households_that_differ(data, household, name) == 0)


def households_that_differ(data: Microdata, household: IntArray, name: str) -> int:
    """In how many households the members' cells of an attribute are not all the same."""
    codes = _codes(data, name)
    _, first = np.unique(household, return_index=True)
    return len(np.unique(household[codes != codes[first][household]]))


def sentence_of(differing: Mapping[str, int]) -> tuple[str, ...]:
    """What to say of household attributes that members no longer share; nothing if there is none."""
    found = [f"{name} (in {count(number, 'household')})" for name, number in differing.items() if number]
    if not found:
        return ()
    return (
        f"masking made members of the same household differ in {', '.join(found)}, which they had in common, so they "
        "give each other away; the method by-household changes all members of a household alike, but its k counts "
        "households: k over records is not kept",
    )


def renumbered(data: Microdata, name: str, rng: np.random.Generator) -> tuple[pa.Array, Attribute]:
    """A column of household numbers with new numbers from 1 in random order; missing cells stay as they are.

    Whole numbers stay whole numbers, texts become digits of equal length.
    """
    column, present = data.arrow(name), ~_absent(data, name)
    _, position = np.unique(_codes(data, name)[present], return_inverse=True)
    households = int(position.max(initial=-1)) + 1
    numbers = np.zeros(len(data), dtype=np.int64)
    numbers[present] = 1 + rng.permutation(households)[position]
    new: pa.Array = pa.array(numbers, mask=column.is_null().to_numpy(zero_copy_only=False))
    if pa.types.is_floating(column.type) or _fits(column.type, households):
        new = new.cast(column.type)
    elif not pa.types.is_integer(column.type):
        texts = pa.array([str(number).zfill(len(str(households))) for number in range(households + 1)])
        new = texts.take(new)
    coded = ~present & ~new.is_null().to_numpy(zero_copy_only=False)
    if coded.any():  # missing codes
        kept = as_categories(column)
        kept = kept.cast(new.type) if kept.type != new.type else kept
        new = pc.if_else(pa.array(coded), kept, new)
    before = data[name]
    kind = "nominal" if before.kind == "ordinal" else before.kind
    return new, before.changed(kind=kind, domain=None, range=None, hierarchy=None, value_labels={})


def _fits(kind: pa.DataType, largest: int) -> bool:
    return bool(pa.types.is_integer(kind)) and largest < 2 ** (kind.bit_width - 1)


def _codes(data: Microdata, name: str) -> IntArray:
    """The cells as numbers, equal where the cells are; a missing cell has one of its own."""
    encoded = pc.dictionary_encode(as_categories(data.arrow(name)), null_encoding="mask")
    codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    return np.array(codes, dtype=np.int64)


def _absent(data: Microdata, name: str) -> npt.NDArray[np.bool_]:
    """Where a number is missing; read as categories, for household numbers may be longer than a double holds."""
    states = Microdata(data.frame, data.schema.with_kinds(nominal=[name]), data.origin).missing_states(name)
    return np.asarray(states > 0)
