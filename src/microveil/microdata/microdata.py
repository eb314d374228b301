"""`Microdata`: an immutable table of records with a schema, read by algorithms as plain numpy columns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import DataError, ParameterError, SchemaError, TooFewRecordsError
from microveil.microdata.frames import (
    Frame,
    arrow_column,
    holds_raw_bytes,
    open_frame,
    own_frame,
    type_words,
    with_arrow_columns,
)
from microveil.microdata.hierarchy import node_text
from microveil.microdata.kind_inference import infer_schema
from microveil.microdata.ordered import cells_from, numbers_in
from microveil.microdata.orders import in_order
from microveil.microdata.panel import USUAL_VARIABLE, Panel, Series
from microveil.microdata.record_ids import ContentSum, numbers_of_ids, refuse_repeated
from microveil.microdata.schema import Attribute, Category, Schema, category_key
from microveil.typing import Bits, BoolArray, FloatArray, IntArray, Places

if TYPE_CHECKING:
    from microveil.microdata.edges import Edges
    from microveil.microdata.facts import Facts, Part
    from microveil.microdata.files import Origin


PRESENT, SYSTEM_MISSING, FIRST_CODE = 0, 1, 2
BLOCK = 2**20  # records of a long table whose digest is taken at a time, so that parts can be worked on side by side
_EXACT_IN_DOUBLE = 2**53
_LARGEST_TO_SQUARE = 1e150
_KEPT_RECORDS = 100_000  # up to which columns are read once, for memory is no matter there


@dataclass(frozen=True)
class Numbers:
    """A numeric column: `values` with NaN where missing; `state` is 0 where present, else which kind of missing."""

    name: str
    values: FloatArray
    state: npt.NDArray[np.uint8]

    @property
    def present(self) -> BoolArray:
        return np.asarray(self.state == PRESENT)

    @property
    def has_missing(self) -> bool:
        return bool(self.state.any())


@dataclass(frozen=True)
class Categories:
    """A categorical column: `codes` are positions in `domain`; -1 where missing is not a category of its own."""

    name: str
    codes: IntArray
    domain: tuple[Category | None, ...]

    @property
    def present(self) -> BoolArray:
        return self.codes >= 0

    @property
    def frequencies(self) -> IntArray:
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.domain)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Microdata:
    """A table with a schema. Nothing that is done with it changes it, or the frame it came from. With `edges` between
    its records it is a graph. As a `part` of a longer table it knows which records of that it has. Where ids of records
    were declared, `ids` are their numbers, which it keeps when the column is left out.

    >>> people = Microdata.of({"age": [31, 45, 62], "job": ["cook", "nurse", "cook"]}, keys=["age", "job"])
    >>> people.schema.keys, people["age"].kind, people.domain("job")
    (('age', 'job'), 'numeric', ('cook', 'nurse'))
    """

    frame: Frame
    schema: Schema
    origin: Origin | None = None
    edges: Edges | None = None
    part: Part | None = None
    ids: Bits | None = None

    @classmethod
    def of(
        cls,
        table: Any,
        schema: Schema | None = None,
        *,
        keys: Sequence[str] | None = None,
        confidential: Sequence[str] | None = None,
        identifiers: Sequence[str] | None = None,
        weight: str | None = None,
        household: str | None = None,
        strata: Sequence[str] | None = None,
        record_id: str | None = None,
        household_attributes: Sequence[str] | None = None,
        numeric: Sequence[str] | None = None,
        ordinal: Sequence[str] | Mapping[str, Sequence[Category] | None] | None = None,
        nominal: Sequence[str] | None = None,
        location: Sequence[str] | None = None,
        series: str | Mapping[str, Any] | Panel | None = None,
        graph: Any = None,
        node: str | None = None,
        origin: Origin | None = None,
    ) -> Microdata:
        """Wrap a table. Kinds are guessed where the schema is silent; roles are never guessed.

        With `series` its records are series: "id=shop,time=month,value=sales" for a table with a row for every series
        and time, "wide" for one with a row for every series.
        With `graph`, a table of edges, its records are nodes, which the edges name as the column `node` does; where
        none is declared, that is a column called node or id, else the first one.
        The `record_id` is an identifier by which random numbers are drawn, so that the order of the records changes
        nothing; every record has one of its own.
        The `household_attributes` belong to the household, not to the person: members get one released value.
        Attributes of the kind `location` hold names of places; where they have no hierarchy, the gazetteer gives one.
        Ordinal attributes have the order of their domain, of numbers, ranges or a usual scale; where there is none,
        it must be given: `ordinal={"size": ["small", "medium", "large"]}`.
        """
        if isinstance(table, Microdata):
            frame, schema, origin = table.frame, schema or table.schema, origin or table.origin
            graph = table.edges if graph is None else graph
        else:
            frame = open_frame(table)
        if schema is not None and not isinstance(schema, Schema):
            call = "Schema.from_plain(...) makes one of a dict" if isinstance(schema, Mapping) else "Schema.read(path)"
            raise ParameterError(f"the schema must be a Schema, not {type(schema).__name__}; {call}")
        panel = Panel.of(series) if series is not None else None if schema is None else schema.panel
        held = table.schema.panel if isinstance(table, Microdata) else None
        if panel is not None and held is not None and held.is_read and not panel.is_read:
            if panel != held:
                raise SchemaError("the schema declares other series than the table has")
            panel = held
            schema = None if schema is None else schema.read_as(table.schema)
        if panel is not None and not panel.is_read and panel.form == "long":
            from microveil.microdata.panel_forms import expanded_schema, to_wide

            frame, panel = to_wide(frame, panel)
            schema = expanded_schema(schema, panel, frame.columns)
        declared = () if schema is None else schema.names
        complete = infer_schema(frame, schema)
        domains = {name: domain for name, domain in ordinal.items() if domain} if isinstance(ordinal, Mapping) else {}
        named = list(ordinal) if isinstance(ordinal, Mapping) else ordinal
        complete = complete.with_kinds(numeric=numeric, ordinal=named, nominal=nominal, location=location)
        if location:
            from microveil.microdata.locations.attaching import with_places

            complete = with_places(frame, complete, location)
        complete = complete.replacing(*(_with_domain(frame, complete[n], domain) for n, domain in domains.items()))
        complete = complete.with_roles(
            key=keys,
            confidential=confidential,
            identifier=identifiers,
            weight=weight,
            household=household,
            stratum=strata,
            node=node,
            record=record_id,
        )
        complete = complete.with_household_attributes(household_attributes)
        if household_attributes and complete.household is None:
            raise SchemaError(
                "attributes of the household are declared, but not the household number; declare it with --household "
                "NAME or household="
            )
        if panel is not None and not panel.is_read:
            from microveil.microdata.panel_forms import read_wide

            frame, complete, panel = read_wide(frame, complete, panel)
        if panel is not None:
            # everyone sees at which times a series has no value, so it is no wildcard
            points = (complete[name] for name in panel.all_columns if name in complete and name not in declared)
            complete = complete.replacing(*(point.changed(missing="own category") for point in points))
        made = cls(frame, complete, origin, ids=table.ids if isinstance(table, Microdata) else None)
        made._check_ids(linked=graph is not None)
        for attribute in complete:
            made._ask_for_an_order(attribute)
        return made if graph is None else made._linked(graph)

    def _linked(self, graph: Any) -> Microdata:
        """The table as the nodes of a graph."""
        from microveil.microdata.edges import Edges, edges_of, node_column

        if self.schema.panel is not None:
            raise SchemaError("a table of series cannot have links between its records, too")
        named = self.schema.node
        if named is None and isinstance(graph, Edges):
            return replace(self, edges=graph.between(len(self)))
        node = named or node_column(self.frame)
        roles = self.schema[node].roles
        if set(roles) - {"node"}:
            raise SchemaError(
                f"attribute '{node}' is the node, which gets another number in a release, so it cannot be the "
                f"{roles[0]} too; another column is named as the node with --node or node="
            )
        edges = edges_of(graph, self.arrow(node), node)
        return replace(self, schema=self.schema.with_roles(node=node), edges=edges)

    def _ask_for_an_order(self, attribute: Attribute) -> None:
        """Refuse an ordinal attribute whose categories have no order that is declared or that they show themselves."""
        if (
            attribute.kind == "ordinal"
            and attribute.domain is None
            and in_order(self.occurring(attribute.name)) is None
        ):
            name = attribute.name
            raise SchemaError(
                f"attribute '{name}' is ordinal, but the order of its categories is not known; list them from the "
                f"lowest to the highest, by --ordinal \"{name}=low<medium<high\", by ordinal={{'{name}': [...]}} in "
                "Python or as its domain in the schema"
            )

    def _check_ids(self, *, linked: bool) -> None:
        """Refuse ids of records that are missing or come twice, and such of series and nodes."""
        name = self.schema.record_id
        if name is None:
            return
        if linked or self.schema.panel is not None:
            raise SchemaError(f"attribute '{name}' is the id of a record, but series and nodes have ids of their own")
        self._numbers_of_ids  # noqa: B018 - which refuses what is no id
        refuse_repeated(self.arrow(name), name)

    @property
    def places(self) -> Places:
        """The places of its records in a random stream: those in the whole table, or what their ids say."""
        by_id = self._numbers_of_ids
        return self.range_of_places if by_id is None else by_id

    @property
    def range_of_places(self) -> range:
        """The places of its records in the whole table."""
        return range(len(self)) if self.part is None else self.part.places

    @cached_property
    def _numbers_of_ids(self) -> Bits | None:
        name = self.schema.record_id
        return self.ids if self.ids is not None or name is None else numbers_of_ids(self.arrow(name), name)

    @property
    def content_sum(self) -> ContentSum | None:
        """The contents of its records in any order, where they have ids that are declared."""
        numbers = self._numbers_of_ids
        return None if numbers is None else ContentSum.of(numbers, [self._plain(name) for name in self.names])

    def _plain(self, name: str) -> pa.Array:
        try:
            return self.arrow(name)
        except DataError:  # a column that Arrow cannot hold passes through
            return pa.array([repr(cell) for cell in self.frame[name].to_list()], pa.large_string())

    @property
    def counts(self) -> IntArray:
        """How many records of the whole table each record stands for: itself, as a rule."""
        counts = None if self.part is None else self.part.counts
        return np.ones(len(self), dtype=np.int64) if counts is None else counts

    @property
    def facts(self) -> Facts:
        """What is known of all records of the table."""
        if self.part is not None:
            return self.part.facts
        from microveil.microdata.facts import FactsAtHand

        return FactsAtHand(self)

    def occurring(self, name: str) -> list[Category]:
        """The categories that occur in these records, as they come; missing codes are none."""
        attribute = self.schema[name]
        held: list[Category] = pc.unique(as_categories(self.arrow(name)).drop_null()).to_pylist()
        if not _has_codes(attribute):
            return held
        return [value for value in held if not _category_state(attribute, value)]

    def has_empty(self, name: str) -> bool:
        """Whether any of these records has an empty cell in a column of categories."""
        return bool(as_categories(self.arrow(name)).null_count)

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, name: str) -> Attribute:
        return self.schema[name]

    def __repr__(self) -> str:
        return f"Microdata({len(self):,} records, {self.schema!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the attributes with their kinds and roles, and no record."""
        rows = "".join(
            f"<tr><td>{escape(a.name)}</td><td>{a.kind}</td><td>{', '.join(a.roles)}</td></tr>" for a in self.schema
        )
        head = "<tr><th>attribute</th><th>kind</th><th>role</th></tr>"
        return f"<table><caption>{len(self):,} records</caption>{head}{rows}</table>"

    @property
    def names(self) -> tuple[str, ...]:
        return self.schema.names

    @property
    def native(self) -> Any:
        """The table as the frame type it came in; what is done to it does not reach back here."""
        return own_frame(self.as_filed().frame).to_native()

    def with_schema(self, schema: Schema) -> Microdata:
        return Microdata.of(self.frame, schema.read_as(self.schema), origin=self.origin, graph=self.edges)

    def as_filed(self) -> Microdata:
        """The table in the form in which a file has it: of a long table of series, with a row for every series and
        time."""
        panel = self.schema.panel
        if panel is None or panel.form == "wide" or not panel.is_read:
            return self
        from microveil.microdata.panel_forms import to_long

        frame, schema = to_long(self.frame, self.schema)
        return replace(self, frame=frame, schema=schema)

    def series_among(self, names: Sequence[str]) -> tuple[Series, ...]:
        """The series that some attributes are values of, each with its values at those times.

        In a table that is not declared to have series, numeric attributes are one, in their order.
        """
        panel = self.schema.panel
        if panel is None:
            columns = tuple(name for name in names if self.schema[name].kind == "numeric")
            positions = np.arange(len(columns), dtype=np.float64)
            return (Series(USUAL_VARIABLE, columns, positions, self.matrix(columns)),) if columns else ()
        held = set(names)
        found = []
        for variable, listed in panel.columns.items():
            columns = tuple(name for name in listed if name in held)
            if columns:
                positions = np.array([panel.positions[listed[name]] for name in columns])
                found.append(Series(variable, columns, positions, self.matrix(columns)))
        return tuple(found)

    def select(self, names: Sequence[str]) -> Microdata:
        """Only these columns, in this order."""
        return replace(
            self, frame=self.frame.select(*names), schema=self.schema.select(names), ids=self._numbers_of_ids
        )

    def without(self, names: Iterable[str]) -> Microdata:
        left_out = set(names)
        return self.select([name for name in self.names if name not in left_out]) if left_out else self

    # --- columns out ---------------------------------------------------------------------------------------------

    @cached_property
    def _read(self) -> dict[Any, Any]:
        """Columns that were read before."""
        return {}

    def _once(self, what: Any, read: Callable[[], Any]) -> Any:
        """What is read of a table; of one that is not long, once: measures ask for the same columns hundreds of times,
        and there reading takes longer than measuring."""
        if len(self) > _KEPT_RECORDS:
            return read()
        if what not in self._read:
            self._read[what] = read()
        return self._read[what]

    def arrow(self, name: str) -> pa.Array:
        self.schema[name]
        return self._once(("arrow", name), lambda: arrow_column(self.frame, name))

    def numbers(self, name: str) -> Numbers:
        """A numeric attribute as numbers; dates count in days, times and durations in seconds.

        Infinite values and text are refused.
        """
        read: Numbers = self._once(("numbers", name), lambda: self._numbers(name))
        return Numbers(name, read.values.copy(), read.state.copy())

    def _numbers(self, name: str) -> Numbers:
        attribute = self.schema[name]
        if attribute.kind != "numeric":
            raise DataError(f"attribute '{name}' is {attribute.kind}, not numeric")
        column = self.arrow(name)
        values = numbers_in(column)
        if values is None:
            raise DataError(f"attribute '{name}' should be numeric, but its column holds {type_words(column.type)}")
        state = self._missing_state(attribute, column, values)
        values[state != PRESENT] = np.nan
        whole = pa.types.is_integer(column.type) or (pa.types.is_decimal(column.type) and column.type.scale <= 0)
        self._refuse_unusable(attribute, values, state, whole=whole)
        return Numbers(name, values, state)

    def matrix(self, names: Sequence[str]) -> FloatArray:
        """The numbers of some attributes side by side, a column for each; NaN where a cell is missing."""
        return np.column_stack([self.numbers(name).values for name in names])

    def _missing_state(self, attribute: Attribute, column: pa.Array, values: FloatArray) -> npt.NDArray[np.uint8]:
        state = np.zeros(len(values), dtype=np.uint8)
        state[np.isnan(values)] = SYSTEM_MISSING
        codes = [c for c in attribute.missing_codes if isinstance(c, int | float)]
        for position, code in enumerate(codes):
            state[values == code] = FIRST_CODE + position
        for position, (low, high) in enumerate(attribute.missing_ranges):
            inside = (values >= low) & (values <= high) & (state == PRESENT)
            state[inside] = FIRST_CODE + len(codes) + position
        return state

    def _refuse_unusable(
        self, attribute: Attribute, values: FloatArray, state: npt.NDArray[np.uint8], *, whole: bool
    ) -> None:
        infinite = np.flatnonzero(np.isinf(values))
        if infinite.size:
            raise DataError(
                f"attribute '{attribute.name}' has {count(infinite.size, 'infinite value')} (the first in record "
                f"{self._record(infinite[0])}); correct them or declare them as missing codes"
            )
        if values.size and np.nanmax(np.abs(values), initial=0.0) > _LARGEST_TO_SQUARE:
            raise DataError(f"attribute '{attribute.name}' has numbers beyond 1e150, too large to calculate with")
        if whole and values.size and np.nanmax(np.abs(values), initial=0.0) > _EXACT_IN_DOUBLE:
            raise DataError(
                f"attribute '{attribute.name}' has whole numbers beyond 2^53, too long to calculate with exactly"
            )
        if attribute.range is not None:
            low, high = attribute.range
            outside = np.flatnonzero((values < low) | (values > high))
            if outside.size:
                raise DataError(
                    f"attribute '{attribute.name}' has {count(outside.size, 'value')} outside its range "
                    f"(the first in record {self._record(outside[0])})"
                )
        if attribute.missing == "refuse" and state.any():
            self._refuse_missing(attribute, np.flatnonzero(state))

    def _record(self, number: int) -> int:
        """The number of a record in the whole table, from 1, for those who look for it."""
        return int(number) + 1 + self.range_of_places.start

    def _refuse_missing(self, attribute: Attribute, records: IntArray) -> None:
        raise DataError(
            f"attribute '{attribute.name}' has {count(records.size, 'missing value')} (the first in record "
            f"{self._record(records[0])}) and its schema refuses them; choose another missing-value policy for it"
        )

    def domain(self, name: str) -> tuple[Category | None, ...]:
        """The valid categories in order: the declared ones, else those found in this table.

        Where missing is a category of its own, the missing codes and, as None, the empty cell (if any) come last.
        """
        found: tuple[Category | None, ...] = self._once(("domain", name), lambda: self._domain(name))
        return found

    def _domain(self, name: str) -> tuple[Category | None, ...]:
        attribute = self.schema[name]
        self._refuse_numeric(attribute)
        if attribute.domain is not None:
            valid: list[Category | None] = list(attribute.domain)
        else:
            found = sorted(self.facts.occurring(name), key=category_key)
            # a released table may have labels without a position in the order; they are read by the original's
            valid = list((in_order(found) if attribute.kind == "ordinal" else None) or found)
        if attribute.missing == "own category":
            valid += list(attribute.missing_codes)
            if self.facts.has_empty(name):
                valid.append(None)
        return tuple(valid)

    def categories(self, name: str, domain: Sequence[Category | None] | None = None) -> Categories:
        """A categorical attribute as positions in its domain."""
        self._refuse_numeric(self.schema[name])
        of = tuple(self.domain(name) if domain is None else domain)
        told_apart = tuple((type(value), value) for value in of)  # 1 and True are not the same category
        read: Categories = self._once(("categories", name, told_apart), lambda: self._categories(name, of))
        return Categories(name, read.codes.copy(), read.domain)

    def _categories(self, name: str, domain: tuple[Category | None, ...]) -> Categories:
        attribute = self.schema[name]
        held, indices = encoded(self.arrow(name))
        unknown, missing = -2, -1
        lookup = np.append(_positions(held, domain, unknown), domain.index(None) if None in domain else missing)
        for i in np.flatnonzero(lookup[:-1] == unknown) if _has_codes(attribute) else ():
            if _category_state(attribute, held[i]):
                lookup[i] = missing
        codes = lookup[indices]
        outside = np.flatnonzero(codes == unknown)
        if outside.size:
            raise DataError(
                f"attribute '{name}' has {count(outside.size, 'value')} outside its domain "
                f"(the first in record {self._record(outside[0])}); correct them or add them to the domain"
            )
        if attribute.missing == "refuse" and (codes == missing).any():
            self._refuse_missing(attribute, np.flatnonzero(codes == missing))
        return Categories(name, codes, domain)

    def _refuse_numeric(self, attribute: Attribute) -> None:
        if attribute.kind == "numeric":
            raise DataError(f"attribute '{attribute.name}' is numeric, not ordinal or nominal")

    def missing_states(self, name: str) -> npt.NDArray[np.uint8]:
        """For an attribute of any kind: 0 where present, else which kind of missing it is."""
        read: npt.NDArray[np.uint8] = self._once(("states", name), lambda: self._states(name))
        return read.copy()

    def _states(self, name: str) -> npt.NDArray[np.uint8]:
        attribute = self.schema[name]
        if attribute.kind == "numeric":
            return self.numbers(name).state
        if not _has_codes(attribute):
            empty = as_categories(self.arrow(name)).is_null().to_numpy(zero_copy_only=False)
            return np.where(empty, np.uint8(SYSTEM_MISSING), np.uint8(PRESENT))
        held, indices = encoded(self.arrow(name))
        states = [_category_state(attribute, value) for value in held]
        return np.asarray(np.array([*states, SYSTEM_MISSING], dtype=np.uint8)[indices])

    # --- columns in ----------------------------------------------------------------------------------------------

    def with_columns(self, columns: Mapping[str, pa.Array], attributes: Sequence[Attribute] = ()) -> Microdata:
        """The table with some columns replaced, and the descriptions of attributes that change with them."""
        for name in columns:
            self.schema[name]
        return replace(self, frame=with_arrow_columns(self.frame, columns), schema=self.schema.replacing(*attributes))

    def take(self, rows: IntArray) -> Microdata:
        """Only these records, in this order, and the links among them."""
        if self.part is not None:
            raise ParameterError("of a part of a table no records are taken: they would lose their places in the whole")
        edges = None if self.edges is None else self.edges.take(rows)
        ids = None if self.ids is None else self.ids[rows]
        return replace(self, frame=self.frame[rows.tolist()], edges=edges, ids=ids)

    def without_index(self) -> Microdata:
        """The table with its records numbered from 0; only pandas keeps names of records beside them."""
        return replace(self, frame=nw.maybe_reset_index(self.frame))

    def number_column(self, name: str, values: FloatArray, suppressed: BoolArray | None = None) -> pa.Array:
        """Masked numbers as a column: missing cells keep what they held, suppressed cells become empty.

        Numbers stay inside the declared range; decimals, dates, times and durations come back in their own type.
        """
        attribute, before = self.schema[name], self.arrow(name)
        state = self.numbers(name).state
        held = numbers_in(before)
        assert held is not None
        if attribute.range is not None:
            values = np.clip(values, *attribute.range)
        cells = np.where(state == PRESENT, values, held)
        empty = before.is_null().to_numpy(zero_copy_only=False) | np.isnan(cells)
        if suppressed is not None:
            empty = empty | suppressed
        return cells_from(cells, empty, before)

    def category_column(self, masked: Categories) -> pa.Array:
        """Masked categories as a column of the former type; cells with code -1 keep what they held."""
        before = self.arrow(masked.name)
        if pa.types.is_null(before.type) or not masked.domain:  # nothing but missing cells
            return before
        text = as_categories(before)
        values = pa.array(list(masked.domain), type=text.type)
        column = values.take(pa.array(np.where(masked.codes >= 0, masked.codes, 0)))
        kept = masked.codes < 0
        if kept.any():
            column = pc.if_else(pa.array(kept), text, column)
        return column if column.type == before.type else self._in_former_type(column, text, before)

    def _in_former_type(self, column: pa.Array, text: pa.Array, before: pa.Array) -> pa.Array:
        """Categories as cells of the original column, each as the first record with it has it."""
        first = pc.index_in(column, value_set=text)
        if first.null_count == column.null_count:
            return before.take(first)
        try:
            return column.cast(before.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # not every type can be written as text and read again
            return column

    def reordered_column(self, name: str, order: IntArray) -> pa.Array:
        """The column's own cells in another order: record i gets the cell of record `order[i]`."""
        return self.arrow(name).take(pa.array(order))

    def same_cells(self, other: Microdata, name: str) -> bool:
        """Whether both tables hold the same cells in a column, record by record, whatever the frame types."""
        return len(self) == len(other) and _canonical(self.arrow(name)) == _canonical(other.arrow(name))

    def names_to_compare(self, other: Microdata) -> tuple[str, ...]:
        """The columns that both tables have, without those of lists, records, objects or raw bytes, which only pass
        through.
        """
        both = (name for name in self.names if name in other.names)
        return tuple(name for name in both if self._has_values(name) and other._has_values(name))

    def _has_values(self, name: str) -> bool:
        try:
            kind = self.arrow(name).type
        except DataError:  # Arrow cannot hold it
            return False
        return not (pa.types.is_nested(kind) or holds_raw_bytes(kind))

    def digest(self) -> str:
        """A SHA-256 over names, cells and links, the same for every frame type and file format."""
        return self._digest

    @cached_property
    def _digest(self) -> str:  # nothing changes the table, and every attack asks for it
        if len(self) > BLOCK:
            blocks = range(0, len(self), BLOCK)
            whole = digest_of_blocks(
                [replace(self, frame=self.frame[i : i + BLOCK], edges=None, ids=None).digest() for i in blocks]
            )
            return whole if self.edges is None else hashlib.sha256((whole + self.edges.digest()).encode()).hexdigest()
        seal = hashlib.sha256()
        for name in self.names:
            seal.update(f"{len(name)}:{name}:{len(self)}".encode())
            for part in self._parts_of_digest(name):
                seal.update(part)
        if self.edges is not None:
            seal.update(self.edges.digest().encode())
        return seal.hexdigest()

    def content_digest(self) -> str:
        """The digest of its records in any order, where they have ids that are declared; else empty."""
        found = self.content_sum
        return "" if found is None else found.digest(self.names)

    def _parts_of_digest(self, name: str) -> list[bytes]:
        try:
            return _canonical(self.arrow(name))
        except DataError:  # a column that Arrow cannot hold passes through, and counts by how its cells are shown
            return [repr(cell).encode("utf-8", "backslashreplace") for cell in self.frame[name].to_list()]


def digest_of_blocks(digests: Sequence[str]) -> str:
    """The digest of a table of more than one block of records, from those of its blocks."""
    return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _with_domain(frame: Frame, attribute: Attribute, domain: Sequence[Category]) -> Attribute:
    """The attribute with this domain; a category that was typed as text is the one in the table that reads the same."""
    if isinstance(domain, str):
        raise SchemaError(f"attribute '{attribute.name}': its domain is a list of categories, not a text")
    occurring = pc.unique(as_categories(arrow_column(frame, attribute.name)).drop_null()).to_pylist()
    by_text = {node_text(value): value for value in occurring}
    return attribute.changed(domain=tuple(by_text.get(node_text(value), value) for value in domain))


class HasMicrodata:
    """What has microdata as its `data` and can be given in their place, such as a release."""

    data: Microdata


def as_microdata(table: Any) -> Microdata:
    """Microdata as it is, a release as its masked table, anything else wrapped with a guessed schema."""
    if isinstance(table, Microdata):
        return table
    return table.data if isinstance(table, HasMicrodata) else Microdata.of(table)


def both_as_microdata(one: Any, other: Any) -> tuple[Microdata, Microdata]:
    """Two tables that are compared; where only one of them says that its records are series, so are the other's."""
    declared = [table for table in (one, other) if isinstance(table, Microdata | HasMicrodata)]
    panel = as_microdata(declared[0]).schema.panel if len(declared) == 1 else None
    if panel is None:
        return as_microdata(one), as_microdata(other)
    made = [as_microdata(t) if t is declared[0] else Microdata.of(t, series=panel.declared) for t in (one, other)]
    return made[0], made[1]


def check_records(data: Sized, at_least: int, why: str) -> None:
    """Refuse a table that is too short for what is asked."""
    if len(data) < at_least:
        raise TooFewRecordsError(len(data), at_least, why)


def count(number: int, noun: str, several: str | None = None) -> str:
    """`3 records`, `1 record`; `several` is the plural where an s does not make it."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def as_categories(column: pa.Array) -> pa.Array:
    """A column in a type whose values can be categories: text, numbers or truth values; anything else as text."""
    kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    simple: tuple[Callable[[pa.DataType], bool], ...] = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_integer,
        pa.types.is_boolean,
    )
    if any(test(kind) for test in simple):
        return column
    if pa.types.is_floating(kind):
        # NaN is a missing value, not a category
        return pc.if_else(pc.is_nan(column).fill_null(False), pa.scalar(None, kind), column)
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(f"columns of {type_words(kind)} cannot be used as categories") from None


def encoded(column: pa.Array) -> tuple[list[Any], IntArray]:
    """The distinct categories of a column, and which of them each record has; where it is empty, the number after the
    last.

    >>> encoded(pa.array(["b", None, "a", "b"]))
    (['b', 'a'], array([0, 2, 1, 0]))
    """
    made = pc.dictionary_encode(as_categories(column), null_encoding="mask")
    indices = made.indices.fill_null(len(made.dictionary)).to_numpy(zero_copy_only=False)
    return made.dictionary.to_pylist(), indices.astype(np.int64)


def _positions(values: list[Any], domain: tuple[Category | None, ...], unknown: int) -> IntArray:
    """Where each value is in a domain. Of texts alone the value itself is its key, which is much quicker."""
    if all(type(value) is str for value in values):
        of_texts = {value: i for i, value in enumerate(domain) if type(value) is str}
        return np.array([of_texts.get(value, unknown) for value in values], dtype=np.int64)
    code_of = {category_key(value): i for i, value in enumerate(domain) if value is not None}
    return np.array([code_of.get(category_key(value), unknown) for value in values], dtype=np.int64)


def _has_codes(attribute: Attribute) -> bool:
    return bool(attribute.missing_codes or attribute.missing_ranges)


def _category_state(attribute: Attribute, value: Category) -> int:
    """0 for a category, else which missing code or range it is."""
    for position, code in enumerate(attribute.missing_codes):
        if category_key(code) == category_key(value):
            return FIRST_CODE + position
    if isinstance(value, int | float) and not isinstance(value, bool):
        for position, (low, high) in enumerate(attribute.missing_ranges):
            if low <= value <= high:
                return FIRST_CODE + len(attribute.missing_codes) + position
    return PRESENT


def _canonical(column: pa.Array) -> list[bytes]:
    """The bytes of a column that do not depend on how the frame stores it."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        values = np.where(np.isnan(values), np.nan, values) + 0.0
        parts = [np.ascontiguousarray(values, dtype="<f8").tobytes()]
        if pa.types.is_integer(column.type) and np.nanmax(np.abs(values), initial=0.0) >= _EXACT_IN_DOUBLE:
            parts += _canonical(column.cast(pa.large_string()))  # digits that a double cannot tell apart
        return parts
    if pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    try:
        text = column.cast(pa.large_string()) if not pa.types.is_large_string(column.type) else column
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists, records and the like have no text form in Arrow
        text = pa.array([None if cell is None else repr(cell) for cell in column.to_pylist()], pa.large_string())
    lengths = pc.binary_length(text).fill_null(-1).to_numpy(zero_copy_only=False)
    return [np.ascontiguousarray(lengths, dtype="<i8").tobytes(), _text_bytes(text.fill_null(""))]


def _text_bytes(text: pa.Array) -> bytes:
    """All texts of a large_string column, one after another."""
    _, offsets, data = text.buffers()
    if data is None or len(text) == 0:
        return b""
    bounds = np.frombuffer(offsets, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    return memoryview(data)[bounds[0] : bounds[-1]].tobytes()


def resolve_attributes(
    data: Microdata, attributes: Sequence[str] | None, kinds: Sequence[str], asker: str
) -> tuple[str, ...]:
    """Which attributes are meant: those named; else the keys; else, without any roles, all numeric ones; else all.
    In a table of series a variable stands for its values at all times, and where none are named, series are meant; of
    the nodes of a graph all attributes are.

    Attributes of a kind the asker cannot treat are refused, never passed over.
    """
    if isinstance(attributes, str):
        attributes = [attributes]
    if attributes is not None:
        if not isinstance(attributes, Iterable) or not all(isinstance(name, str) for name in attributes):
            raise ParameterError("attributes are a list of column names, such as ['age', 'income']")
        named = data.schema.expanded(dict.fromkeys(attributes))
    elif data.schema.panel is not None and "numeric" in kinds:
        named = data.schema.panel.all_columns
    elif data.schema.keys:
        named = data.schema.keys
    elif data.schema.has_roles:
        raise SchemaError("some attributes have roles but none is a key; name the keys or the attributes to use")
    elif data.edges is not None:
        named = tuple(name for name in data.schema.of_kind(*kinds) if name != data.schema.node)
    else:
        named = ("numeric" in kinds and data.schema.of_kind("numeric")) or data.schema.of_kind(*kinds)
    for name in named:
        attribute = data.schema[name]
        if "identifier" in attribute.roles:
            raise SchemaError(
                f"attribute '{name}' is an identifier: it is left out of every release, so it cannot be used"
            )
        if attribute.kind not in kinds:
            raise DataError(
                f"attribute '{name}' is {attribute.kind}, but {asker} works on {' or '.join(kinds)} attributes only"
            )
    if not named:
        raise DataError(f"the table has no {' or '.join(kinds)} attribute for {asker} to work on")
    return named
