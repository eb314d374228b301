"""Reading the tables that a command works on, and what lies beside them."""

from __future__ import annotations

from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microveil.cli.printing import note

if TYPE_CHECKING:
    from microveil.cli.options import TableOptions
    from microveil.masking import Release
    from microveil.masking.manifest import Manifest
    from microveil.microdata import Microdata, Schema
    from microveil.progress import Progress


def read_table(path: Path, schema: Any, progress: Progress, *, flat: bool = False, **options: Any) -> Microdata:
    from microveil.microdata.files import read
    from microveil.microdata.files.atomic import recover

    recover(path.parent)  # a run that was killed may have left the table, or a seed, under another name
    described = schema if flat else None
    if flat:
        schema = _of_nodes(schema)
    data = read(path, schema=schema, progress=progress, **options)
    for told in () if data.edges is None else data.edges.notes:
        note(told)
    for name in options.get("location") or ():
        from microveil.microdata.locations.attaching import places_found

        places = places_found(data.frame, data[name])
        if places is not None and (places.unknown or places.ambiguous):
            note(f"{name}: {places.note}")
    if not flat:
        return data
    from microveil.graphs.extraction import extract_microdata

    made = extract_microdata(data)
    return made if described is None else made.with_schema(_whole(described))


def _whole(schema: Any) -> Schema:
    from microveil.microdata.schema import Schema

    return schema if isinstance(schema, Schema) else Schema.read(schema)


def _of_nodes(schema: Any) -> Schema | None:
    """What the schema of an extracted table says of the nodes: all but the number of their links."""
    from microveil.graphs.extraction import DEGREE
    from microveil.microdata.schema import Schema

    return None if schema is None else Schema(a for a in _whole(schema) if a.name != DEGREE)


def holds_graph(path: Path, table: TableOptions) -> bool:
    """Whether the input is taken as a graph."""
    from microveil.microdata.files.graph_files import names_a_graph_file

    return not table.flat and (table.graph is not None or isdir(path) or names_a_graph_file(path))


def table_of(masked: Path) -> Path:
    """The file that a manifest lies beside: of a graph in a folder the table of its nodes."""
    from microveil.microdata.files.graph_files import nodes_file

    return nodes_file(masked) if isdir(masked) else masked


def read_original(path: Path, table: TableOptions, manifest: Manifest | None, progress: Progress) -> Microdata:
    """The table that was masked, with its schema from the manifest where none is given."""
    schema = table.schema or (manifest.plan.schema if manifest else None)
    return read_table(path, schema, progress, **table.reading, **table.described)


def read_masked(
    path: Path, before: Microdata, manifest: Manifest | None, progress: Progress, **options: Any
) -> Microdata | Release:
    """A masked table, as the release it was made as where its manifest is there, with what its private file holds."""
    from microveil.release_files import read_release

    if manifest is None:
        return read_table(path, None, progress, like=before, **options)
    return read_release(path, before, manifest=manifest, progress=progress, **options)


def read_control(path: Path | None, before: Microdata, progress: Progress, **options: Any) -> Microdata | None:
    """A control group, read as the original was; none where none is given."""
    return None if path is None else read_table(path, None, progress, like=before, **options)


def manifest_beside(masked: Path) -> Manifest | None:
    """The manifest beside a released file, or of a graph in a folder, if it belongs to that file."""
    from microveil.masking.manifest import Manifest

    masked = table_of(masked)
    found = Manifest.beside(masked)
    if found is not None and not found.is_of(masked):
        note(f"{masked.name} is not the file its manifest was written for, so the manifest is not used")
        return None
    return found


def words_of(path: Path, table: TableOptions) -> list[str]:
    """The words of a command line that name and describe a table, as they were given."""
    words = [str(path)]
    for name, value in vars(table).items():
        if value is True:
            words.append(f"--{name}")
        elif value not in (None, False):
            words += [f"--{name}", str(value)]
    return words
