"""A table that stays in its Parquet file, which may be larger than memory: DuckDB reads of it what a question needs.

The file is gone through once, in parts, to learn the categories and to refuse what a table in memory would be refused
for. Whatever depends on how values are read is decided by `Microdata` over the distinct values of a column, so that the
same file gives the same answers in both ways.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError, FileError, check_path, is_short_of_memory
from microveil.microdata.files import read
from microveil.microdata.files.formats import check_readable
from microveil.microdata.files.inputs import check_regular, unreadable
from microveil.microdata.microdata import Categories, Microdata, Numbers
from microveil.microdata.schema import CATEGORICAL, Attribute, Category, Schema
from microveil.progress import Progress, silent
from microveil.queries.questions import Field, Fields

HIDDEN_ROLES = ("identifier", "household", "series", "node")
_BATCH = 262_144  # records that are looked at together
_DESCRIBING = ("series", "graph", "node")  # descriptions that change the table itself
_PATTERN = frozenset("*?[]{}")  # with these DuckDB takes a path for many files


class StoredTable:
    """A Parquet file with a schema, of which columns are read when they are needed.

    Roles and kinds are those of `microveil.read`. A file that cannot be asked where it is, for the type of a column or
    because its records are series or nodes, is read into memory; `why_in_memory` says so.

    >>> import tempfile, pyarrow.parquet as pq, microveil as mv
    >>> people = mv.datasets.survey(200, seed=1)
    >>> folder = tempfile.TemporaryDirectory()
    >>> pq.write_table(people.frame.to_arrow(), folder.name + "/people.parquet")
    >>> table = StoredTable(folder.name + "/people.parquet", confidential=["benefit"])
    >>> len(table), table.why_in_memory
    (200, None)
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | Path,
        *,
        schema: Schema | str | Path | None = None,
        progress: Progress = silent,
        **roles_and_kinds: Any,
    ) -> None:
        check_path(path, "read", "a table that is in memory is given to QueryServer as it is")
        self.path = Path(os.path.abspath(path))
        if check_readable(self.path).name != "parquet":
            raise FileError(path, "only Parquet files can be asked where they are")
        check_regular(self.path)
        self._given = Schema.read(schema) if isinstance(schema, str | Path) else schema
        self._described = {name: value for name, value in roles_and_kinds.items() if value is not None}
        self._seen = self._state()
        self._file_schema, self._records = self._head()
        self.why_in_memory = self._objection()
        self._kept: tuple[tuple[str, ...], Microdata] | None = None
        self._distinct: dict[str, pa.Array] = {}
        if self.why_in_memory is not None:
            self.schema = self.whole.schema
            return
        self._look(progress)
        self.sketch = self._sketched()
        self.schema = self.sketch.schema

    # --- what a table has -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._records if self.why_in_memory is None else len(self.whole)

    def __getitem__(self, name: str) -> Attribute:
        return self.schema[name]

    @property
    def names(self) -> tuple[str, ...]:
        return self.schema.names

    @cached_property
    def whole(self) -> Microdata:
        """The table in memory."""
        return read(self.path, schema=self._given, **self._described)

    def select(self, names: Sequence[str]) -> Microdata:
        """Some columns, in memory; those that were asked for last are kept."""
        wanted = tuple(names)
        if self.why_in_memory is not None:
            return self.whole.select(wanted)
        if self._kept is None or self._kept[0] != wanted:
            self._kept = None
            table = pa.Table.from_batches(self._batches(wanted), self._schema_of(wanted))
            self._kept = wanted, Microdata.of(table, self.schema.select(wanted))
        return self._kept[1]

    def arrow(self, name: str) -> pa.Array:
        return self.select([name]).arrow(name)

    def numbers(self, name: str) -> Numbers:
        return self.select([name]).numbers(name)

    def categories(self, name: str, domain: Sequence[Category | None] | None = None) -> Categories:
        return self.select([name]).categories(name, domain)

    def domain(self, name: str) -> tuple[Category | None, ...]:
        return self.whole.domain(name) if self.why_in_memory is not None else self.sketch.domain(name)

    def digest(self) -> str:
        """A SHA-256 of the file."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        with self.path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        self.check_unchanged()
        return found

    def check_unchanged(self) -> None:
        """Refuse a file that is no longer the one that was opened: answers about two tables would be mixed."""
        if self._state() != self._seen:
            raise FileError(self.path, "the file has changed since it was opened, so it is not asked any more")

    # --- what the engine reads ------------------------------------------------------------------------------------

    def columns(self, fields: Fields) -> Iterator[tuple[dict[str, Any], pa.Table | None]]:
        """How each attribute is read from the file: a description and, for categories, the place of every value."""
        for name in fields:
            kind, attribute = self._type(name), self.schema[name]
            if fields[name].is_numeric:
                codes = [float(c) for c in attribute.missing_codes if isinstance(c, int | float)]
                reads = "date" if pa.types.is_date(kind) else "number"
                yield {"column": name, "reads": reads, "missing": codes, "ranges": attribute.missing_ranges}, None
            else:
                yield {"column": name, "reads": "category"}, self._places(fields[name])

    def _places(self, field: Field) -> pa.Table:
        """Every value of a column that is not missing, and its place in the domain."""
        values = self._distinct[field.name]
        try:
            codes = self.sketch.categories(field.name, field.domain).codes[: len(values)]
        except DataError:
            self.categories(field.name, field.domain)  # says the same, counted over all records
            raise
        present = pa.array((codes >= 0) & values.is_valid().to_numpy(zero_copy_only=False))
        found = pa.table({"value": values, "place": pa.array(codes)}).filter(present)
        return found.sort_by("place")

    # --- reading --------------------------------------------------------------------------------------------------

    def _state(self) -> tuple[int, ...]:
        try:
            found = os.stat(self.path)
        except OSError as problem:
            raise unreadable(self.path, problem) from None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def _head(self) -> tuple[pa.Schema, int]:
        with self._opened() as file:
            return file.schema_arrow.remove_metadata(), file.metadata.num_rows

    def _opened(self) -> Any:
        import pyarrow.parquet as parquet

        try:
            return parquet.ParquetFile(self.path)
        except PermissionError as problem:
            raise unreadable(self.path, problem) from None
        except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
            raise self._damaged(problem) from None

    def _damaged(self, problem: BaseException) -> BaseException:
        if is_short_of_memory(problem):
            return FileError(self.path, "there is not enough memory for this table")
        return FileError(self.path, "the Parquet file is damaged or cut off; fetch it again")

    def _batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Some columns of all records, part by part."""
        self.check_unchanged()
        with self._opened() as file:
            try:
                for group in range(file.num_row_groups):  # over several at once, pages of all of them stay in memory
                    for batch in file.iter_batches(_BATCH, [group], list(names), use_threads=False):
                        yield pa.RecordBatch.from_arrays([batch.column(name) for name in names], list(names))
            except (pa.ArrowException, OSError) as problem:
                raise self._damaged(problem) from None
        self.check_unchanged()

    def _type(self, name: str) -> pa.DataType:
        return self._file_schema.field(name).type

    def _schema_of(self, names: Sequence[str]) -> pa.Schema:
        return pa.schema([(name, self._type(name)) for name in names])

    def _objection(self) -> str | None:
        """Why the file must be read into memory, if it must."""
        names = self._file_schema.names
        if any(name in self._described for name in _DESCRIBING) or (self._given is not None and self._given.panel):
            return "its records are series or nodes"
        if any(sign in _PATTERN for sign in str(self.path)):
            return "its name looks like a pattern for many files"
        if len({name.casefold() for name in names}) < len(names) or "file_row_number" in names:
            return "names of columns differ in capital letters alone"
        for name in names:
            if name not in self._hidden and not self._is_readable(name):
                return f"of the type of column '{name}'"
        return None

    @cached_property
    def _hidden(self) -> frozenset[str]:
        """Columns that nobody can ask about, which are therefore not looked at."""
        named = self._described.get("identifiers") or ()
        chosen = {named} if isinstance(named, str) else set(named)
        declared = {a.name for a in self._given or () if set(a.roles) & set(HIDDEN_ROLES)}
        return frozenset(map(str, chosen | {self._described.get("household")} | declared))

    @cached_property
    def _kinds(self) -> Mapping[str, bool]:
        """Whether a column that somebody has described has categories."""
        kinds = {a.name: a.kind in CATEGORICAL for a in self._given or ()}
        for kind in ("numeric", *CATEGORICAL):
            named = self._described.get(kind) or ()
            kinds |= dict.fromkeys([named] if isinstance(named, str) else named, kind in CATEGORICAL)
        return kinds

    def _has_categories(self, name: str) -> bool:
        kind = self._type(name)
        guess = not (_is_plain_number(kind) or pa.types.is_temporal(kind) or pa.types.is_decimal(kind))
        return self._kinds.get(name, guess)

    def _is_readable(self, name: str) -> bool:
        """Whether DuckDB reads a column as we do."""
        kind = self._type(name)
        if not self._has_categories(name):
            return _is_plain_number(kind) or pa.types.is_date32(kind)
        if pa.types.is_dictionary(kind):
            return not kind.ordered and _is_text(kind.value_type)
        return _is_text(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind)

    def _look(self, progress: Progress) -> None:
        """Go through the file once, column by column: the distinct values of categories are kept, numbers are
        checked."""
        names = [name for name in self._file_schema.names if name not in self._hidden]
        for done, name in enumerate(names, 1):
            if self._has_categories(name):
                self._distinct[name] = self._occurring(name)
            else:
                self._check_numbers(name)
            progress(done / len(names), "reading the file")

    def _occurring(self, name: str) -> pa.Array:
        """The distinct values of a column."""
        found = pa.array([], _plain_type(self._type(name)))
        for batch in self._batches([name]):
            values = batch.column(0).unique().cast(found.type)
            found = pc.unique(pa.concat_arrays([found, values]))
        return found

    def _check_numbers(self, name: str) -> None:
        """Refuse what cannot be calculated with; what is said counts over all records."""
        given = [self._given[name]] if self._given is not None and name in self._given else []
        schema = Schema(a.changed(kind="numeric", roles=()) for a in given)
        for batch in self._batches([name]):
            try:
                Microdata.of(pa.Table.from_batches([batch]), schema).numbers(name)
            except DataError:
                table = pa.Table.from_batches(self._batches([name]), self._schema_of([name]))
                Microdata.of(table, schema).numbers(name)
                raise

    def _sketched(self) -> Microdata:
        """A table with every category of the file, from which the schema and the domains follow."""
        length = max(map(len, self._distinct.values()), default=0)
        columns = {}
        for name in self._file_schema.names:
            values = self._distinct.get(name)
            if values is None:
                columns[name] = pa.nulls(length, _plain_type(self._type(name)))
            else:
                filled = values.take(pa.array([0] * (length - len(values)), pa.int64())) if len(values) else values
                columns[name] = pa.concat_arrays([values, filled])
        return Microdata.of(pa.table(columns), self._given, **self._described)


def _is_plain_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
