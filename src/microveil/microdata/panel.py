"""Tables whose records are series: which columns are the values of a variable, and at which times.

In memory a record is a unit with its series, and every time of every variable is a numeric attribute (the wide form).
A file may have a row for every unit and time instead (the long form); it is read into the wide form and written back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from microveil.errors import ParameterError, SchemaError, nearest_name, shortened
from microveil.typing import FloatArray

Form = Literal["long", "wide"]
USUAL_VARIABLE = "series"  # what the one variable of a wide table is called unless it has a name
LONGEST = 1_000_000  # points of a series
_HOW = (
    "'id=shop,time=month,value=sales' for a file with a row for every series and time, or 'wide' for one with a row "
    "for every series"
)
_OPTIONS = ("length", "fill", "keep-ids")


class Series(NamedTuple):
    """The series of one variable: `values` has a row for each record and a column for each time, NaN where a cell is
    missing; `positions` are the times, counted from the first in units of the usual spacing."""

    name: str
    columns: tuple[str, ...]
    positions: FloatArray
    values: FloatArray


@dataclass(frozen=True)
class Panel:
    """What is declared of a table of series, and, once it was read, which columns are which variable at which time.

    `values` are the columns of a long file that hold the values of the series, one for each variable; of a wide file
    they are the names of the variables, with patterns of their columns (`load=h*`) in `patterns`. With `length` every
    series is resampled to so many equidistant points; with `fill = "linear"` gaps are filled by straight lines.
    A release has new numbers in the column `id` unless `keep_ids` is set.

    `columns` has, for each variable, its columns with the position of their time among `times`.
    """

    form: Form
    id: str | None = None
    time: str | None = None
    values: tuple[str, ...] = (USUAL_VARIABLE,)
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    length: int | None = None
    fill: Literal["none", "linear"] = "none"
    keep_ids: bool = False
    columns: Mapping[str, Mapping[str, int]] = field(default_factory=dict, compare=False)
    positions: tuple[float, ...] = field(default=(), compare=False)
    times: pa.Array | None = field(default=None, compare=False, repr=False)
    order: tuple[str, ...] = field(default=(), compare=False, repr=False)  # columns of the long table

    # --- what is declared ------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, given: Any) -> Panel:
        """From a text such as 'id=shop,time=month,value=sales', a mapping as a schema has it, or a panel.

        >>> Panel.of("id=shop,time=month,value=sales,value=visits").values
        ('sales', 'visits')
        >>> Panel.of("wide").form
        'wide'
        """
        if isinstance(given, Panel):
            return given.declared
        if isinstance(given, str):
            return cls.from_plain(_plain_of_text(given))
        if isinstance(given, Mapping):
            return cls.from_plain(given)
        raise ParameterError(f"series takes {_HOW}, not {type(given).__name__}")

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Panel:
        """From the table [series] of a schema."""
        known = ("form", "id", "time", "values", "columns", "length", "fill", "keep_ids")
        for name in plain:
            if name not in known:
                raise SchemaError(f"series: '{shortened(str(name))}' is not known{nearest_name(str(name), known)}")
        form = plain.get("form", "long")
        if form not in ("long", "wide"):
            raise SchemaError("series: the form is 'long' or 'wide'")
        if form == "wide" and plain.get("time") is not None:
            raise SchemaError("series: a wide table has a column for each time, not one of times")
        values = _texts(plain.get("values"), "values")
        patterns = plain.get("columns") or {}
        if not isinstance(patterns, Mapping):
            raise SchemaError("series: columns is a table with the columns of each variable, such as { load = ['h*'] }")
        if form == "long":
            if patterns:
                raise SchemaError("series: a long table has no columns of times")
            for name in ("id", "time"):
                if not isinstance(plain.get(name), str):
                    raise SchemaError(f"series: the {name} of a long table is the name of a column, as in {_HOW}")
            if not values:
                raise SchemaError(f"series: a long table needs a column of values, as in {_HOW}")
            named = (plain["id"], plain["time"], *values)
            if len(set(named)) < len(named):
                raise SchemaError("series: id, time and values must be different columns")
        length, fill, keep = plain.get("length"), plain.get("fill", "none"), plain.get("keep_ids", False)
        if length is not None and not (isinstance(length, int) and not isinstance(length, bool)):
            raise SchemaError("series: length is a whole number of points")
        if length is not None and not 1 <= length <= LONGEST:
            raise SchemaError(f"series: length = {length} is not allowed; it must be from 1 to {LONGEST:,}")
        if fill not in ("none", "linear"):
            raise SchemaError("series: fill is 'none' or 'linear'")
        if not isinstance(keep, bool):
            raise SchemaError("series: keep_ids is true or false")
        if plain.get("id") is not None and not isinstance(plain["id"], str):
            raise SchemaError("series: id is the name of a column")
        by_variable = {str(name): _texts(listed, f"columns of {name}") for name, listed in patterns.items()}
        if form == "wide":
            values = tuple(by_variable) or values or (USUAL_VARIABLE,)
            if len(values) > 1 and not by_variable:
                raise SchemaError("series: several variables of a wide table need their columns, such as load=h*")
        return cls(form, plain.get("id"), plain.get("time"), values, by_variable, length, fill, keep)

    @property
    def declared(self) -> Panel:
        """What was said of the table, without what was found in it."""
        return replace(self, columns={}, positions=(), times=None, order=())

    @property
    def is_read(self) -> bool:
        """Whether it is known which columns are which variable at which time."""
        return bool(self.columns)

    def to_plain(self) -> dict[str, Any]:
        """As a schema holds it: only what differs from the defaults."""
        plain: dict[str, Any] = {"form": self.form}
        plain |= {name: getattr(self, name) for name in ("id", "time", "length") if getattr(self, name) is not None}
        plain["values"] = list(self.values)
        if self.patterns:
            plain["columns"] = {name: list(listed) for name, listed in self.patterns.items()}
            del plain["values"]
        if self.fill != "none":
            plain["fill"] = self.fill
        if self.keep_ids:
            plain["keep_ids"] = True
        return plain

    @property
    def text(self) -> str:
        """As it is typed on a command line."""
        named = [f"{name}={text}" for name, text in (("id", self.id), ("time", self.time)) if text is not None]
        if self.form == "long":
            named += [f"value={name}" for name in self.values]
        else:
            named.insert(0, "wide")
            named += [f"{name}={'+'.join(listed)}" for name, listed in self.patterns.items()]
            if not self.patterns and self.values != (USUAL_VARIABLE,):
                named.append(f"value={self.values[0]}")
        if self.length is not None:
            named.append(f"length={self.length}")
        named += ["fill=linear"] if self.fill == "linear" else []
        named += ["keep-ids"] if self.keep_ids else []
        return ",".join(named)

    # --- what was read ---------------------------------------------------------------------------------------------

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The columns of all variables."""
        return tuple(name for columns in self.columns.values() for name in columns)

    def restricted(self, names: Iterable[str]) -> Panel:
        """The same for a table that has only these columns."""
        kept = set(names)
        columns = {
            variable: {name: at for name, at in listed.items() if name in kept}
            for variable, listed in self.columns.items()
        }
        return replace(self, columns={variable: listed for variable, listed in columns.items() if listed})

    def expanded(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names with every variable replaced by its columns."""
        found = (self.columns.get(name, (name,)) for name in names)
        return tuple(dict.fromkeys(column for columns in found for column in columns))

    def collapsed(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names with all columns of a variable replaced by its name, where all of them are there."""
        held = set(names)
        whole = {
            name: v for v, columns in self.columns.items() if columns and columns.keys() <= held for name in columns
        }
        return tuple(dict.fromkeys(whole.get(name, name) for name in names))

    def with_whole_series(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names with all columns of a variable where any of them is there."""
        found = ((name, self.variable_of(name)) for name in names)
        return tuple(
            dict.fromkeys(
                column
                for name, variable in found
                for column in ((name,) if variable is None else self.columns[variable])
            )
        )

    def variable_of(self, column: str) -> str | None:
        """The variable that a column is a value of."""
        return next((variable for variable, columns in self.columns.items() if column in columns), None)

    def matching(self, variable: str, columns: Iterable[str]) -> tuple[str, ...]:
        """The columns of a wide table that a variable's patterns name, in the order of the table."""
        patterns = self.patterns[variable]
        return tuple(name for name in columns if any(fnmatchcase(name, pattern) for pattern in patterns))


def _texts(given: Any, what: str) -> tuple[str, ...]:
    """A list of texts; one may stand alone."""
    listed = [given] if isinstance(given, str) else list(given) if isinstance(given, list | tuple) else given
    if listed is None:
        return ()
    if not isinstance(listed, list) or not all(isinstance(text, str) and text for text in listed):
        raise SchemaError(f"series: {shortened(what)} must be a list of names")
    if len(set(listed)) < len(listed):
        raise SchemaError(f"series: {shortened(what)} has a name twice")
    return tuple(listed)


def _plain_of_text(text: str) -> dict[str, Any]:
    """What `--series` says: id=shop,time=month,value=sales or wide, with options after further commas."""
    plain: dict[str, Any] = {"form": "long"}
    values: list[str] = []
    patterns: dict[str, list[str]] = {}
    for entry in (part.strip() for part in text.split(",")):
        name, equals, given = (part.strip() for part in entry.partition("="))
        if entry in ("wide", "long"):
            plain["form"] = entry
        elif entry == "keep-ids":
            plain["keep_ids"] = True
        elif not equals or not name or not given:
            raise ParameterError(f"--series takes {_HOW}, not '{shortened(text)}'")
        elif name in ("value", "values"):
            values += [one.strip() for one in given.split("+")]
        elif name in ("id", "time", "fill"):
            if name in plain:
                raise ParameterError(f"--series gives {name} twice")
            plain[name] = given
        elif name == "length":
            if not given.isdecimal() or len(given) > 9:
                raise ParameterError(f"--series: length is a whole number of points, not '{shortened(given)}'")
            plain[name] = int(given)
        elif plain["form"] == "wide":
            patterns[name] = [one.strip() for one in given.split("+")]
        else:
            known = ("id", "time", "value", *_OPTIONS)
            raise ParameterError(f"--series does not know '{shortened(name)}'{nearest_name(name, known)}")
    if values:
        plain["values"] = values
    if patterns:
        plain["columns"] = patterns
    return plain
