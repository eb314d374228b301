"""Reading a table from a file of any known format."""

from __future__ import annotations

from collections.abc import Iterable
from os.path import isdir
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import FileError, MicroveilError, check_path
from microveil.microdata.files.delimited.reader import Wishes, read_delimited
from microveil.microdata.files.delimited.type_inference import Declared
from microveil.microdata.files.formats import check_readable
from microveil.microdata.files.graph_files import GRAPH_FORMATS, graph_in, read_graph_file
from microveil.microdata.files.optional import check_installed
from microveil.microdata.files.origin import Origin
from microveil.microdata.microdata import Microdata, as_categories
from microveil.microdata.orders import in_order
from microveil.microdata.panel import Panel
from microveil.microdata.schema import Attribute, Schema, category_key, make_attribute
from microveil.progress import Progress, silent


def read(
    path: str | Path,
    *,
    schema: Schema | str | Path | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    like: Microdata | Schema | None = None,
    graph: Any = None,
    neutralised: bool = False,
    progress: Progress = silent,
    **roles_and_kinds: Any,
) -> Microdata:
    """Read microdata; the file's ending tells its format.

    Delimiter, encoding and decimal mark of a text file are detected unless they are given. What a statistics package
    stored about the variables (labels, missing codes, measurement level) becomes the schema; what the given schema says
    of an attribute replaces it. Columns that are text in the table `like`, or whose categories are texts in the
    schema `like`, are read as text.
    With `graph`, the path of a table of edges or such a table, the records are the nodes of a graph. GraphML and GML
    files hold both, and so does a folder with nodes.csv and edges.csv.
    With `neutralised`, texts of a CSV file lose the apostrophe that `neutralise_formulas` put before them.
    Roles and kinds go to `Microdata.of`: `read("people.csv", keys=["age", "zip"])`.
    """
    check_path(path, "read", "Microdata.of(frame) wraps a table that is in memory")
    path = Path(path)
    if isdir(path):
        path, graph = graph_in(path)
    known = check_readable(path)
    given = Schema.read(schema) if isinstance(schema, str | Path) else schema
    described: list[Attribute] = []
    try:
        if known.name in ("csv", "tsv"):
            declared = {**_text_columns(like), **declared_types(given, roles_and_kinds.get("numeric"))}
            wishes = Wishes(delimiter, encoding, decimal, declared, neutralised)
            table, origin = read_delimited(path, known.name, wishes, progress)
        elif known.name in GRAPH_FORMATS:
            table, graph = read_graph_file(path, known.name)
            origin = Origin(str(path), known.name)
            if given is None or given.node is None:
                roles_and_kinds["node"] = roles_and_kinds.get("node") or next(iter(table))
        else:
            table, described = _read_other(path, known.name, encoding, sheet)
            described = [_with_known_order(attribute, table) for attribute in described]
            origin = Origin(str(path), known.name)
        progress(1.0, "reading the file")
        if roles_and_kinds.get("series") is None and (given is None or given.panel is None):
            roles_and_kinds["series"] = _panel(like)
        if graph is not None and roles_and_kinds.get("node") is None and (given is None or given.node is None):
            roles_and_kinds["node"] = _node(like)
        if isinstance(graph, str | Path):
            graph = read(graph, progress=progress).frame
        return Microdata.of(table, _merged(described, given), origin=origin, graph=graph, **roles_and_kinds)
    except MemoryError:
        raise FileError(path, "there is not enough memory for this table") from None


def _read_other(path: Path, name: str, encoding: str | None, sheet: str | None) -> tuple[pa.Table, list[Attribute]]:
    if name == "parquet":
        from microveil.microdata.files.parquet import read_parquet

        return read_parquet(path), []
    from microveil.microdata.files.isolation import read_isolated

    if name == "excel":
        check_installed("python_calamine", path, "reading a workbook")
        return read_isolated(path, name, sheet=sheet)[0], []
    check_installed("pyreadstat", path, "reading this format")
    table, described = read_isolated(path, name, encoding=encoding)
    return table, [_attribute(path, plain) for plain in described]


def _attribute(path: Path, plain: dict[str, Any]) -> Attribute:
    """An attribute from what a file of a statistics package says about it."""
    try:
        return make_attribute(plain)
    except MicroveilError as problem:
        raise FileError(
            path, f"the file's description of this variable is wrong: {problem}", column=plain["name"]
        ) from None


def _with_known_order(attribute: Attribute, table: pa.Table) -> Attribute:
    """What the file calls ordinal is that only where its order is known, too."""
    if attribute.kind != "ordinal" or attribute.domain is not None:
        return attribute
    codes = set(map(category_key, attribute.missing_codes))
    found = pc.unique(as_categories(table[attribute.name].combine_chunks())).drop_null().to_pylist()
    known = in_order([value for value in found if category_key(value) not in codes])
    return attribute if known is not None else attribute.changed(kind="nominal")


def _text_columns(like: Microdata | Schema | None) -> dict[str, Declared]:
    """The text columns of another table or a schema, for a file that is to be compared with it."""
    if like is None:
        return {}
    if isinstance(like, Schema):
        return {name: kind for name, kind in declared_types(like).items() if kind == "text"}
    return {name: "text" for name in like.names if like.frame.schema[name] == nw.String}


def _panel(like: Microdata | Schema | None) -> Panel | None:
    """The series that another table or a schema declares, for a file that is to be compared with it."""
    schema = like.schema if isinstance(like, Microdata) else like
    return None if schema is None or schema.panel is None else schema.panel.declared


def _node(like: Microdata | Schema | None) -> str | None:
    """The column that another table or a schema has for the nodes of its graph."""
    schema = like.schema if isinstance(like, Microdata) else like
    return None if schema is None else schema.node


def declared_types(schema: Schema | None, numeric: Iterable[str] | None = None) -> dict[str, Declared]:
    """What columns of a text file must be: numbers where that is said, text where the categories listed are text."""
    declared: dict[str, Declared] = {}
    for attribute in schema or ():
        if attribute.kind == "numeric":
            declared[attribute.name] = "numeric"
        elif attribute.domain and any(isinstance(category, str) for category in attribute.domain):
            declared[attribute.name] = "text"
    declared.update(dict.fromkeys(numeric or (), "numeric"))
    return declared


def _merged(described: list[Attribute], given: Schema | None) -> Schema | None:
    """The file's own description of its columns, under what the user says."""
    if given is None:
        return Schema(described) if described else None
    return Schema([*(a for a in described if a.name not in given), *given], given.panel)
