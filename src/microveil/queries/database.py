"""The statistical database: the attributes that may be asked about, and the engine that holds their values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import ParameterError
from microveil.microdata.hierarchy import node_text
from microveil.microdata.microdata import Microdata, as_microdata
from microveil.microdata.schema import CATEGORICAL
from microveil.queries.conditions import (
    Condition,
    Formula,
    all_of,
    attributes_of,
    conjuncts,
)
from microveil.queries.engines import ColumnArrays, Counted, Engine
from microveil.queries.engines.arrays import ArrayEngine
from microveil.queries.questions import Field, Fields, Question
from microveil.queries.stored import HIDDEN_ROLES, StoredTable
from microveil.typing import FloatArray, IntArray

EngineName = Literal["duckdb", "arrays"]
_NAMES_AT_ONCE = 1_000_000  # of records, as texts


class Database:
    """A table that is asked about.

    Identifiers, household numbers and the like cannot be asked about. `confidential` attributes are what the controls
    protect; the others count as known to everybody, so that what a control decides by them tells nothing.
    """

    def __init__(self, data: Any, *, engine: EngineName = "duckdb", proxies: Sequence[ProxyMaker] = ()) -> None:
        self.data = opened_table(data, in_memory=engine != "duckdb" or bool(proxies))
        self.records = len(self.data)
        offered = [a.name for a in self.data.schema if not set(a.roles) & set(HIDDEN_ROLES)]
        if not offered:
            raise ParameterError("there is no attribute that may be asked about; identifiers never are")
        self.fields = Fields([_field(self.data, name) for name in offered])
        self.confidential = frozenset(self.data.schema.confidential) & set(self.fields)
        self.columns: ColumnArrays
        self.engine: Engine
        if isinstance(self.data, StoredTable):
            self.columns = _StoredColumns(self.data, self.fields)
            self.engine = _stored_engine(self.data, self.fields)
            return
        columns = {name: _column(self.data, self.fields[name]) for name in self.fields}
        for proxy in proxies:
            columns = proxy(self.data, columns)
        self.columns = columns
        self.engine = _engine(engine, columns, self.records)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The names of the records: the identifier where there is exactly one without repetition, else their numbers
        from 1."""
        return self._identifiers or tuple(map(str, range(1, self.records + 1)))

    @cached_property
    def _identifiers(self) -> tuple[str, ...] | None:
        identifiers = self.data.schema.identifiers
        if len(identifiers) == 1:
            found = tuple(map(str, self.data.arrow(identifiers[0]).to_pylist()))
            if len(set(found)) == self.records:
                return found
        return None

    def fingerprint(self, members: IntArray) -> str:
        """The SHA-256 of the sorted names of some records: two questions about the same records have the same one."""
        seal = hashlib.sha256()
        for begin, names in self._sorted_names(members):
            joined = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(names)], pa.int32()), names), ",")
            seal.update(b"," if begin else b"")
            seal.update(joined[0].as_buffer())
        return seal.hexdigest()

    def _sorted_names(self, members: IntArray) -> Iterator[tuple[int, pa.Array]]:
        """The names of some records in order, part by part, and where each part begins."""
        places = None if self._identifiers is None else self._in_order[0]
        chosen = np.sort(members if places is None else places[members])
        for begin in range(0, max(len(chosen), 1), _NAMES_AT_ONCE):
            part = pa.array(chosen[begin : begin + _NAMES_AT_ONCE])
            yield begin, pc.add(part, 1).cast(pa.string()) if places is None else self._in_order[1].take(part)

    @cached_property
    def _in_order(self) -> tuple[IntArray, pa.Array]:
        """The place of every record in the order of their names, and these names in order; numbers go by size."""
        numbers = all(map(str.isdecimal, self.ids))
        order = sorted(range(self.records), key=lambda record: int(self.ids[record]) if numbers else self.ids[record])
        places = np.empty(self.records, dtype=np.int64)
        places[order] = np.arange(self.records)
        return places, pa.array([self.ids[record] for record in order], pa.string())

    @cached_property
    def _deviations(self) -> dict[str, float]:
        return {}

    def deviation(self, value: str) -> float:
        """The standard deviation of an attribute in the whole table."""
        if value not in self._deviations:
            self._deviations[value] = float(np.nanstd(np.asarray(self.columns[value], dtype=float)))
        return self._deviations[value]

    def values(self, name: str) -> FloatArray | IntArray:
        """The column as it is asked about."""
        return self.columns[name]

    def cells(self, name: str) -> npt.NDArray[np.object_]:
        """The cells of an attribute as texts, to be compared with those of another table."""
        field, column = self.fields[name], self.columns[name]
        if field.is_numeric:
            return np.array([repr(float(value)) for value in column], dtype=object)
        return np.array([*map(node_text, field.domain), ""], dtype=object)[np.asarray(column, dtype=np.int64)]

    def counted(self, where: Formula, value: str | None) -> Counted:
        return self.engine.counted(where, value)

    def members(self, where: Formula, value: str | None) -> IntArray:
        return self.engine.members(where, value)

    def normalised(self, question: Question) -> Question:
        """The same question in one form: that a confidential value is there is a condition on it like any other."""
        value = question.value
        if question.statistic != "count" or value is None or value not in self.confidential:
            return question
        present = Condition(value, self.fields[value].nothing.without())
        return replace(question, value=None).restricted(present)

    def categories_of(self, by: Sequence[str], control: str) -> tuple[str, ...]:
        """The attributes whose categories a control goes by: those named, or all that are public and have some."""
        public = [name for name in self.fields if name not in self.confidential]
        chosen = tuple(by) or tuple(name for name in public if not self.fields[name].is_numeric)
        if not chosen:
            raise ParameterError(f"{control}: there is no public attribute with categories")
        for name in chosen:
            if self.fields[name].is_numeric:
                raise ParameterError(f"{control} goes by categories, and '{name}' has numbers")
        return chosen

    def public_part(self, question: Question) -> tuple[Formula, Formula]:
        """The conditions of a question in two parts: on what everybody may know, and on confidential attributes."""
        secret = self.secret_attributes(question)
        parts = conjuncts(question.where)
        hidden = [part for part in parts if attributes_of(part) & secret]
        return all_of(part for part in parts if part not in hidden), all_of(hidden)

    def secret_attributes(self, question: Question) -> frozenset[str]:
        """What is protected in a question: the confidential attributes or, where none is declared, what it measures."""
        if self.data.schema.confidential:
            return self.confidential
        return frozenset() if question.value is None or question.statistic == "count" else frozenset([question.value])

    def close(self) -> None:
        self.engine.close()


def opened_table(data: Any, *, in_memory: bool) -> Microdata | StoredTable:
    """A table as it is asked: a stored one stays where it is unless it has to be in memory."""
    if not isinstance(data, StoredTable):
        return as_microdata(data)
    return data.whole if in_memory or data.why_in_memory is not None else data


class _StoredColumns(Mapping[str, FloatArray | IntArray]):
    """The columns of a stored table, each read when a control needs it; the one that was needed last is kept."""

    def __init__(self, table: StoredTable, fields: Fields) -> None:
        self.table, self.fields = table, fields
        self.last: tuple[str, FloatArray | IntArray] | None = None

    def __getitem__(self, name: str) -> FloatArray | IntArray:
        if self.last is None or self.last[0] != name:
            self.last = None
            self.last = name, _column(self.table, self.fields[name])
        return self.last[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


def _stored_engine(table: StoredTable, fields: Fields) -> Engine:
    from microveil.queries.engines.duckdb import DuckDBEngine, StoredSource

    return DuckDBEngine(StoredSource(table, fields))


Arrays: TypeAlias = dict[str, FloatArray | IntArray]
ProxyMaker: TypeAlias = Callable[[Microdata, Arrays], Arrays]


def _engine(name: EngineName, columns: ColumnArrays, records: int) -> Engine:
    if name == "arrays":
        return ArrayEngine(columns, records)
    if name != "duckdb":
        raise ParameterError("the engine is duckdb or arrays")
    from microveil.queries.engines.duckdb import ColumnSource, DuckDBEngine

    return DuckDBEngine(ColumnSource(columns, records))


def _field(data: Microdata | StoredTable, name: str) -> Field:
    attribute = data[name]
    if attribute.kind not in CATEGORICAL:
        return Field(name, range=attribute.range, hierarchy=attribute.hierarchy)
    domain = tuple(c for c in data.domain(name) if c is not None and c not in attribute.missing_codes)
    return Field(
        name,
        domain,
        is_numeric=False,
        is_ordered=attribute.has_order,
        is_declared=attribute.domain is not None,
        hierarchy=attribute.hierarchy,
    )


def _column(data: Microdata | StoredTable, field: Field) -> FloatArray | IntArray:
    return data.numbers(field.name).values if field.is_numeric else data.categories(field.name, field.domain).codes
