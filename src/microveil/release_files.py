"""Releases as they lie in files: a masked table is read back with the manifest and the private file beside it."""

from __future__ import annotations

from dataclasses import replace
from os.path import isdir, isfile
from pathlib import Path
from typing import Any

from microveil.errors import FileError, check_path
from microveil.masking import Release
from microveil.masking.manifest import Manifest, read_manifest
from microveil.masking.private_file import private_path, read_private_file
from microveil.masking.release import file_digest, release_from
from microveil.microdata.files import read
from microveil.microdata.files.graph_files import graph_in
from microveil.microdata.files.inputs import check_regular
from microveil.microdata.microdata import as_microdata
from microveil.progress import Progress, silent


def read_release(
    path: str | Path,
    original: Any = None,
    *,
    manifest: Manifest | str | Path | None = None,
    private: str | Path | None = None,
    progress: Progress = silent,
    **reading: Any,
) -> Release:
    """Read a released file with its provenance, from the manifest beside it or the one given, and with the groups,
    matrices and record numbers that attacks by an intruder who knows the method need, from the private file beside the
    table or the manifest, or the one given.

    A private file that was not written with this release is refused. Without it the release is `incomplete`: attacks
    that need it are not run, and records in random order can be compared only as far as they can be matched.

    A graph is read from the folder it was saved to. With the `original` columns are read as they are there. `reading`
    are options of `read`: delimiter, encoding, decimal and sheet.
    """
    check_path(path, "read_release", "such as read_release('safe.csv')")
    path = Path(path)
    graph = None
    if isdir(path):
        path, graph = graph_in(path)
    found = manifest if isinstance(manifest, Manifest) else _manifest_of(path, manifest)
    folder = None if manifest is None or isinstance(manifest, Manifest) else Path(manifest).parent
    if graph is not None and not found.is_of_edges(graph):
        raise FileError(graph, "is not the file its manifest was written for")
    found_file = _private_file(path, found, folder, private)  # a wrong one is refused before any long work
    like = found.plan.schema if original is None else as_microdata(original)
    data = read(path, like=like, neutralised=found.neutralised, progress=progress, graph=graph, **reading)
    release = release_from(data, found.plan, found.content)
    if found.private_digest is None:
        return release
    if found_file is None:
        return replace(release, missing_file=private_path(path).name)
    content = read_private_file(
        found_file, digest=found.digest, records=len(release), input_records=release.provenance.input_records
    )
    return replace(
        release,
        partitions=content.partitions,
        matrices=content.matrices,
        rows=content.rows,
        agreed=content.agreed,
        key_tables=content.key_tables,
    )


def _manifest_of(path: Path, given: str | Path | None) -> Manifest:
    """The manifest of a file, which must be its own."""
    found = Manifest.beside(path) if given is None else read_manifest(given)
    if found is None:
        if not path.is_file():
            raise FileError(path, "there is no such file")
        raise FileError(path, "has no manifest beside it; read(path) reads a table whose origin is not known")
    if not found.is_of(path):
        raise FileError(path, "is not the file its manifest was written for")
    return found


def _private_file(path: Path, manifest: Manifest, folder: Path | None, given: str | Path | None) -> Path | None:
    """Where the private file of a release lies, which must be its own; None if there is none."""
    beside = private_path(path)
    candidates = [beside, *([] if folder is None else [folder / beside.name])]
    found_file = Path(given) if given is not None else next((one for one in candidates if isfile(one)), None)
    if found_file is None or (manifest.private_digest is None and given is None):
        return None
    check_regular(found_file)
    try:
        own = file_digest(found_file) == manifest.private_digest
    except OSError as problem:
        raise FileError(found_file, f"cannot be read ({problem.strerror})") from None
    if not own:
        raise FileError(
            found_file,
            f"is damaged, or was not written together with {path.name}; put back the file that was, or take this one "
            "away: attacks that need it are then not run",
        )
    return found_file
