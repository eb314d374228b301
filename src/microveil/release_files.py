"""Releases as they lie in files: a masked table is read back together with the manifest beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from microveil.errors import DataError, FileError, MicroveilError, check_path
from microveil.masking import Release
from microveil.masking.manifest import Manifest, read_manifest
from microveil.masking.release import release_from
from microveil.microdata import Microdata
from microveil.microdata.files import read
from microveil.microdata.microdata import as_microdata
from microveil.progress import Progress, silent
from microveil.protection import protect


def read_release(
    path: str | Path,
    original: Any = None,
    *,
    manifest: Manifest | str | Path | None = None,
    whole: bool = True,
    progress: Progress = silent,
    **reading: Any,
) -> Release:
    """Read a released file with its provenance, from the manifest beside it or the one given.

    With the `original` columns are read as they are there, and what no manifest holds (the groups, matrices and records
    used, which attacks of an intruder who knows the method need) is found by carrying out the plan again. Without
    `whole` this is done only where the records cannot be compared otherwise, because some were left out or their order
    is random. If the plan gives another table, the release comes without them. `reading` are options of `read`:
    delimiter, encoding, decimal and sheet.
    """
    check_path(path, "read_release", "such as read_release('safe.csv')")
    found = manifest if isinstance(manifest, Manifest) else _manifest_of(Path(path), manifest)
    before = None if original is None else as_microdata(original)
    like = found.plan.schema if before is None else before
    data = read(path, like=like, neutralised=found.neutralised, progress=progress, **reading)
    release = release_from(data, found.plan, found.content)
    if before is None:
        return release
    return _made_again(release, before, found) if whole or _needs_rows(release, before) else release


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


def _needs_rows(release: Release, before: Microdata) -> bool:
    """Whether its records correspond to those of the original only by what the plan gives when carried out again."""
    return release.provenance.shuffled or len(release) < len(before)


def _made_again(release: Release, before: Microdata, manifest: Manifest) -> Release:
    """The release with the groups, matrices and records that its plan uses; without them where the plan gives another
    table, unless the order is lost with them."""
    try:
        again = protect(before, replace(manifest.plan, schema=None, require={}))
    except MicroveilError:
        again = None
    if again is None or again.data.digest() != manifest.digest:
        if release.provenance.shuffled:
            raise DataError(
                "the records of this release are in random order, and its manifest does not make the same release of "
                "this original again, so they cannot be compared with it; give the original and the versions it names"
            )
        return release
    return replace(release, partitions=again.partitions, matrices=again.matrices, rows=again.rows)
