"""Writing a table to a file of any format that can be written; the same table always gives the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from microveil.errors import check_path
from microveil.microdata.files.atomic import Writer, check_output, make_folder, write_together
from microveil.microdata.files.delimited.writer import dialect_for, write_delimited
from microveil.microdata.files.formats import check_writable
from microveil.microdata.files.graph_files import (
    GRAPH_FORMATS,
    edge_table,
    edges_file,
    graph_destination,
    names_a_graph_file,
    write_graph_file,
)
from microveil.microdata.microdata import Microdata, as_microdata


def write(
    data: Microdata,
    path: str | Path,
    *,
    force: bool = False,
    private: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    neutralise_formulas: bool = False,
) -> None:
    """Write microdata; the ending tells the format. Never half a file; nothing is overwritten without `force`.

    The file that a table was read from is never overwritten by it, for that may be the only original.
    A `private` file can be read by its owner alone.

    A graph is written to a folder, as nodes.csv and edges.csv, or to a GraphML or GML file.

    A CSV file is written like the one the table came from, unless delimiter, encoding or decimal mark are given.
    A spreadsheet takes texts that begin with = + - @, a tab or a line end for formulas: with `neutralise_formulas`
    they, and names of columns, get an apostrophe before them in a CSV file. In a workbook texts are never formulas.
    """
    check_path(path, "write", "the table comes first: write(data, 'people.csv')")
    path, data = Path(path), as_microdata(data)
    origin = data.origin.path if data.origin else None
    if data.edges is not None:
        path = graph_destination(path, origin)
    made = writers(
        data,
        path,
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        neutralise_formulas=neutralise_formulas,
    )
    if edges_file(path) in made:
        make_folder(path.parent)
    for one in made:
        check_output(one, force=force, inputs=[origin])
    write_together(made, force=force, private=list(made) if private else ())


def writers(data: Microdata, path: Path, **dialect: Any) -> dict[Path, Writer]:
    """What `write_together` needs to write this table as `path`, and the edges of a graph beside its nodes."""
    made = {path: writer(data, path, **dialect)}
    if data.edges is not None and not names_a_graph_file(path):
        made[edges_file(path)] = writer(edge_table(data), edges_file(path), **dialect)
    return made


def writer(
    data: Microdata,
    path: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    neutralise_formulas: bool = False,
) -> Writer:
    """What `write_together` needs to write this table as `path`, next to other files."""
    path, data = Path(path), data.as_filed()
    known = check_writable(path)
    if known.name in ("csv", "tsv"):
        dialect = dialect_for(
            path,
            known,
            data.origin,
            delimiter=delimiter,
            encoding=encoding,
            decimal=decimal,
            neutralise_formulas=neutralise_formulas,
        )
        return lambda staged: write_delimited(data, path, staged, dialect)
    if known.name in GRAPH_FORMATS:
        return lambda staged: write_graph_file(data, path, staged, known.name)
    if known.name == "parquet":
        from microveil.microdata.files.parquet import write_parquet

        return lambda staged: write_parquet(data, path, staged)
    if known.name == "excel":
        from microveil.microdata.files.excel import write_excel

        return lambda staged: write_excel(data, path, staged)
    from microveil.microdata.files.labelled.writer import write_labelled

    return lambda staged: write_labelled(data, path, staged)
