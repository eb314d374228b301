"""What masking has to know of households: who belongs together, which attributes all members share, new numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError
from microveil.masking.notes import MEMBERS_MADE_DIFFERENT, MEMBERS_MADE_DIFFERENT_STILL, MEMBERS_OF_HOUSEHOLDS, Note
from microveil.masking.partition import Partition
from microveil.microdata import Attribute, Microdata
from microveil.microdata.microdata import as_categories, encoded
from microveil.microdata.schema import Category
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.typing import BoolArray, IntArray

_FEWEST_DIGITS, _MOST_DIGITS = 9, 15  # of an identifier that is drawn
_DRAWS = 10
_LARGEST_NUMBER = 2.0**53  # household numbers beyond are not looked for
BY_HOUSEHOLD = "by-household"  # the method that masks members alike


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
    """Those of the attributes that belong to households: members share them far more often than chance would have it.

    All households of two or more may agree, or more than half of those that would not by chance: a typing error in some
    records does not make a rent personal, and a category that nearly everybody has does not make an illness shared.
    There are none without households of two. Attributes that the schema declares as ones of the household are among
    them, whatever is counted.

    >>> table = {"home": [1, 1, 2, 2, 3, 3], "rent": [500, 500, 620, 620, 710, 711], "age": [30, 31, 52, 50, 8, 8]}
    >>> shared_attributes(Microdata.of(table, household="home"), ["rent", "age"])
    ('rent',)
    """
    household = household_of(data)
    if household is None or len(np.unique(household)) == len(data):
        return ()
    return tuple(
        name for name in attributes if data[name].level == "household" or _is_shared(_codes(data, name), household)
    )


def _is_shared(codes: IntArray, household: IntArray) -> bool:
    sizes, several = np.unique(np.bincount(household), return_counts=True)
    sizes, several = sizes[sizes > 1], several[sizes > 1]
    households = int(several.sum())
    differing = len(np.unique(household[_differs(codes, household)]))
    if differing == 0:
        return True
    # so many would if members were drawn at random; values of the same frequency are summed at once
    frequencies, values = np.unique(np.unique(codes, return_counts=True)[1], return_counts=True)
    by_chance = float(several @ np.array([values @ (frequencies / len(codes)) ** size for size in sizes]))
    return households - differing - by_chance > (households - by_chance) / 2


def agreement(data: Microdata, name: str) -> BoolArray:
    """For every record, whether all members of its household have the same cell of an attribute; alone one agrees."""
    household = household_of(data)
    assert household is not None
    differing = np.unique(household[_differs(_codes(data, name), household)])
    return ~np.isin(household, differing)


def units_of(data: Microdata, household: IntArray, attributes: Iterable[str]) -> IntArray:
    """The members of every household who agree in all these attributes as one number from 0: mostly the household.

    >>> homes = Microdata.of({"home": [1, 1, 1, 2, 2], "rent": [500, 501, 500, 620, 620]}, household="home")
    >>> units_of(homes, np.array([0, 0, 0, 1, 1]), ["rent"]).tolist()
    [0, 1, 0, 2, 2]
    """
    units = household
    for name in attributes:
        codes = _codes(data, name)
        units = Partition.of(units * (int(codes.max(initial=0)) + 1) + codes).labels
    return units


def compositions(units: IntArray, codes: IntArray) -> IntArray:
    """A number for each household, equal where as many members have the same codes, whichever member has which.

    >>> compositions(np.array([0, 0, 1, 1, 2]), np.array([7, 8, 8, 7, 7])).tolist()
    [1, 1, 0]
    """
    sizes = np.bincount(units)
    ordered = codes[np.lexsort((codes, units))]
    begins = np.cumsum(sizes) - sizes
    found, used = np.zeros(len(sizes), dtype=np.int64), 0
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        numbers, distinct = number_rows([ordered[begins[alike] + member] for member in range(size)])
        found[alike] = used + numbers
        used += len(distinct)
    return found


def _differs(codes: IntArray, household: IntArray) -> BoolArray:
    """Which records have another cell than the first of their household."""
    _, first = np.unique(household, return_index=True)
    return np.asarray(codes != codes[first][household])


def note_of(differing: Mapping[str, int], *, by_household: bool) -> tuple[Note, ...]:
    """What to say of household attributes that members no longer share; nothing if there is none."""
    found = tuple(
        MEMBERS_OF_HOUSEHOLDS(attribute=name, households=number) for name, number in differing.items() if number
    )
    if not found:
        return ()
    if by_household:
        return (MEMBERS_MADE_DIFFERENT_STILL(attributes=found),)
    return (MEMBERS_MADE_DIFFERENT(attributes=found, method=BY_HOUSEHOLD),)


def renumbered(
    data: Microdata, name: str, rng: np.random.Generator, *, unguessable: bool = False
) -> tuple[pa.Array, Attribute]:
    """A column of household numbers with new numbers from 1 in random order; missing cells stay as they are.

    With `unguessable` the numbers are drawn from all with nine digits or more, and none is an original one. Whole
    numbers stay whole numbers, texts become digits of equal length. Missing codes are no household's number.
    """
    column, present = data.arrow(name), ~_absent(data, name)
    _, position = np.unique(_codes(data, name)[present], return_inverse=True)
    wanted = int(position.max(initial=-1)) + 1
    if unguessable:
        free = _drawn_numbers(data[name], encoded(column)[0], wanted, rng)
    else:
        free = _free_numbers(data[name], wanted)
    largest = int(free.max(initial=0))
    numbers = np.zeros(len(data), dtype=np.int64)
    numbers[present] = rng.permutation(free)[position]
    new: pa.Array = pa.array(numbers, mask=column.is_null().to_numpy(zero_copy_only=False))
    if pa.types.is_floating(column.type) or _fits(column.type, largest):
        new = new.cast(column.type)
    elif not pa.types.is_integer(column.type):
        digits, inverse = np.unique(numbers, return_inverse=True)
        texts = pa.array([str(number).zfill(len(str(largest))) for number in digits.tolist()])
        new = pc.if_else(new.is_null(), pa.scalar(None, texts.type), texts.take(pa.array(inverse)))
    coded = ~present & ~new.is_null().to_numpy(zero_copy_only=False)
    if coded.any():  # missing codes
        kept = as_categories(column)
        kept = kept.cast(new.type) if kept.type != new.type else kept
        new = pc.if_else(pa.array(coded), kept, new)
    before = data[name]
    kind = "nominal" if before.kind == "ordinal" else before.kind
    return new, before.changed(kind=kind, domain=None, range=None, hierarchy=None, value_labels={})


def _free_numbers(attribute: Attribute, households: int) -> IntArray:
    """So many whole numbers from 1 on that do not say that a cell is missing.

    >>> home = Attribute(name="home", kind="numeric", missing_codes=(2,), missing_ranges=((4, 8),))
    >>> _free_numbers(home, 4).tolist()
    [1, 3, 9, 10]
    """
    codes = [float(code) for code in attribute.missing_codes if _is_whole_number(code)]
    numbers = np.arange(1, households + 1, dtype=np.int64)
    for low, high in sorted([*((code, code) for code in codes), *attribute.missing_ranges]):
        first = max(1.0, np.ceil(low))
        if first <= high < _LARGEST_NUMBER:
            numbers[numbers >= first] += int(high - first) + 1
    return numbers


def _drawn_numbers(attribute: Attribute, held: list[Category], wanted: int, rng: np.random.Generator) -> IntArray:
    """So many whole numbers of equal length, drawn at random, that no cell holds and that say of none that it is
    missing."""
    taken = np.array(
        [int(str(cell)) for cell in (*held, *attribute.missing_codes) if str(cell).isdecimal()], dtype=object
    )
    for digits in range(max(_FEWEST_DIGITS, len(str(wanted)) + 4), _MOST_DIGITS + 1):
        drawn = np.empty(0, dtype=np.int64)
        for _ in range(_DRAWS):
            more = rng.integers(10 ** (digits - 1), 10**digits, wanted + 10)
            for low, high in attribute.missing_ranges:
                more = more[(more < low) | (more > high)]
            drawn = np.unique(np.append(drawn, more))
            drawn = drawn[~np.isin(drawn, taken[taken < 10**_MOST_DIGITS].astype(np.int64))]
            if len(drawn) >= wanted:
                return np.sort(rng.permutation(drawn)[:wanted])
    raise DataError(
        f"attribute '{attribute.name}' leaves no numbers free for new identifiers: its missing codes take all"
    )


def _is_whole_number(code: Category) -> bool:
    return str(code).removesuffix(".0").isdecimal() and float(code) < _LARGEST_NUMBER


def _fits(kind: pa.DataType, largest: int) -> bool:
    return bool(pa.types.is_integer(kind)) and largest < 2 ** (kind.bit_width - 1)


def _codes(data: Microdata, name: str) -> IntArray:
    """The cells as numbers, equal where the cells are; a missing cell has one of its own."""
    return encoded(data.arrow(name))[1]


def _absent(data: Microdata, name: str) -> BoolArray:
    """Where a number is missing; read as categories, for household numbers may be longer than a double holds."""
    states = replace(data, schema=data.schema.with_kinds(nominal=[name])).missing_states(name)
    return np.asarray(states > 0)
