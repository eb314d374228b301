"""A control group: records of the same population that are not in the release, read as the original is.

What an attack finds out about them is true of everybody; what it finds out about the released persons beyond that, the
release has leaked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from microveil.comparison.common_codes import common_codes
from microveil.errors import DataError
from microveil.microdata.frames import open_frame
from microveil.microdata.microdata import Microdata, as_categories, as_microdata, count
from microveil.microdata.ordered import numbers_in
from microveil.numerics.counting.distinct_rows import number_rows

FEWEST = 30  # records, with which a share is known to within some 18 percentage points
# roles of attributes that are no one's values
_NOBODYS = {"identifier", "weight", "household", "series", "node"}
_DESIGN = {"weight", "household", "stratum"}


@dataclass(frozen=True)
class ControlGroup:
    """The records, by the original's schema, and what to be wary of: `warnings` are sentences without values."""

    data: Microdata
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.data)


def control_group(control: Any, original: Microdata, masked: Microdata) -> ControlGroup:
    """Records that are not in the release, with the attributes of persons that it has; anything else is refused.

    Records that equal an original one, and identifiers of the original, are counted in a warning: the same persons are
    no control group.
    """
    if original.edges is not None or original.schema.panel is not None:
        raise DataError("a control group can be given for tables of persons, not for graphs or series")
    given = as_microdata(control)
    names = compared_names(original, masked)
    lacking = [name for name in names if name not in given.names]
    if lacking:
        others = f" ({len(lacking):,} columns are missing)" if len(lacking) > 1 else ""
        raise DataError(
            f"the control group has no column '{lacking[0]}'{others}; it needs the columns of the original that the "
            "release has"
        )
    if len(given) == 0:
        raise DataError("the control group has no records")
    if len(given) < FEWEST:
        raise DataError(
            f"the control group has {count(len(given), 'record')}, and at least {FEWEST} are needed to estimate a share"
        )
    _read(original, names)
    # weights and households are nothing to find somebody by, but a plan that is carried out again may need them
    needed = (n for n in original.names if set(original[n].roles) & _DESIGN and n in given.names and n not in names)
    held = (*names, *needed)
    data = Microdata(given.frame.select(*held), original.schema.select(held))
    try:
        _read(data, names)
        joined(original, data, names)
    except DataError as problem:
        raise DataError(f"the control group cannot be read like the original: {problem}") from None
    return ControlGroup(data, _overlap(original, given, names))


def compared_names(original: Microdata, masked: Microdata) -> tuple[str, ...]:
    """The attributes of persons that both tables have."""
    return tuple(n for n in original.names_to_compare(masked) if not set(original[n].roles) & _NOBODYS)


def joined(original: Microdata, control: Microdata, names: Sequence[str]) -> Microdata:
    """The persons of the original, and after them those of the control group."""
    columns = {name: _joined_column(original, control, name) for name in names}
    return Microdata(open_frame(pa.table(columns)), original.schema.select(names))


def _joined_column(original: Microdata, control: Microdata, name: str) -> pa.Array:
    one, other = original.arrow(name), control.arrow(name)
    if original[name].kind == "numeric":
        numbers = [numbers_in(column) for column in (one, other)]
        return pa.array(np.concatenate([column for column in numbers if column is not None]), from_pandas=True)
    one, other = as_categories(one), as_categories(other)
    try:
        return pa.concat_arrays([one, other if other.type == one.type else other.cast(one.type)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(f"attribute '{name}' holds {other.type} in place of {one.type}") from None


def _read(data: Microdata, names: Sequence[str]) -> None:
    """Refuse what the schema refuses."""
    for name in names:
        if data[name].kind == "numeric":
            data.numbers(name)
        else:
            data.categories(name)


def _overlap(original: Microdata, control: Microdata, names: Sequence[str]) -> tuple[str, ...]:
    """Warnings of records that may be of the same persons."""
    told = []
    equal = _equal_records(original, control, names)
    if equal:
        told.append(
            f"{equal:,} of the {count(len(control), 'record')} of the control group equal an original record in all "
            f"attributes; if {'they are' if equal > 1 else 'it is'} of the same persons, the leak is understated"
        )
    for name in original.schema.having("identifier"):
        if name in control.names:
            known, found = common_codes(original.arrow(name), control.arrow(name))
            same = int(np.isin(found[found >= 0], known).sum())
            if same:
                told.append(
                    f"{count(same, 'record')} of the control group {'has' if same == 1 else 'have'} a '{name}' that "
                    "the original has too; the same persons are no control group, and the leak is then understated"
                )
    return tuple(told)


def _equal_records(original: Microdata, control: Microdata, names: Sequence[str]) -> int:
    if not names:
        return 0
    columns = [np.concatenate(common_codes(original.arrow(n), control.arrow(n))) + 1 for n in names]
    rows, _ = number_rows(columns)
    return int(np.isin(rows[len(original) :], rows[: len(original)]).sum())
