"""The files of a table: one, those of a folder, or those that a pattern fits.

What looks like a table and is not read is never left out in silence, for a release would lack its records.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from glob import glob
from itertools import islice
from pathlib import Path

from microveil.errors import FileError, ParameterError
from microveil.masking.release import manifest_path
from microveil.microdata.files.formats import FORMATS, ending_of

PARQUET = (".parquet", ".pq")
DELIMITED = tuple(ending for known in FORMATS if known.name in ("csv", "tsv") for ending in known.endings)
_TABLES = (*(e for known in FORMATS for e in known.endings), ".arrow", ".avro", ".feather", ".jsonl", ".orc")
_PACKED = (".gz", ".bz2", ".xz", ".zip", ".zst")
_COLUMN_IN_NAME = re.compile(r"[^=]+=.*")


def files_in(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files that are meant: one, those of a folder, or those that a pattern such as 'folder/*.parquet' fits."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    found = [path for one in map(str, given) for path in _files_of(one)]
    if not found:
        raise FileError(str(given[0]) if given else "", "there is no such file or folder with Parquet or CSV files")
    seen: set[Path] = set()
    for path in found:
        _check_readable(path)
        if path in seen:
            raise FileError(path, "is meant by two of the names that were given; name it once")
        seen.add(path)
    if len({ending_of(path) in DELIMITED for path in found}) > 1:
        raise ParameterError("the files of one table are all Parquet or all CSV")
    return found


def _files_of(given: str) -> list[Path]:
    place = Path(given)
    if place.is_file():
        return [place]
    if place.is_dir():
        folders, inside = [place], sorted(place.iterdir())
    else:
        fitting = sorted(map(Path, glob(given, recursive=True)))
        inside = [path for path in fitting if all(_is_shown(Path(p)) for p in path.parts if p not in place.parts)]
        folders = [path for path in inside if path.is_dir()]
    found = [path for path in inside if _is_table(path)]
    _check_all_are_meant(place, folders, found)
    return found


def _check_all_are_meant(given: Path, folders: Sequence[Path], found: Sequence[Path]) -> None:
    """Refuse what leaves out tables in inner folders, or a column that stands in the name of a folder alone."""
    meant = set(found)
    left_out = [path for folder in folders for path in islice((p for p in _tables_in(folder) if p not in meant), 1)]
    for path in (*found, *left_out):
        column = next((p for p in path.parts[:-1] if _COLUMN_IN_NAME.fullmatch(p) and p not in given.parts), None)
        if column is not None:
            raise FileError(
                path.parent,
                f"has the column '{column.partition('=')[0]}' in the name of the folder alone, where it would be lost; "
                "write it into the files",
            )
    if left_out:
        outer, kind = folders[0], f"*{ending_of((*found, *left_out)[0])}"
        raise FileError(
            left_out[0].parent,
            f"has tables that would be left out, for it is a folder in another; name '{outer}/**/{kind}' to have the "
            f"tables of all folders in '{outer}', or '{outer}/{kind}' to have those that are in none of them",
        )


def _tables_in(folder: Path) -> Iterator[Path]:
    """The tables in a folder and in all folders in it, but for releases, which have their manifests beside them."""
    seen = {os.path.realpath(folder)}  # a link may lead back
    for place, inner, names in os.walk(folder, followlinks=True):
        inside = [Path(place, name) for name in inner if _is_shown(Path(name))]
        shown = {os.path.realpath(path): path.name for path in inside if not manifest_path(path).is_file()}
        inner[:] = sorted(name for real, name in shown.items() if real not in seen)
        seen.update(shown)
        yield from (path for path in (Path(place, name) for name in sorted(names)) if _is_table(path))


def _is_shown(path: Path) -> bool:
    """Whether a file or folder is meant; programs put others beside them, named with a point or a line in front."""
    return path.name[:1] not in (".", "_")


def _is_table(path: Path) -> bool:
    """Whether a file looks like a table, be it one that is read here or not."""
    bare = Path(path.name.lower())
    ending = Path(bare.stem).suffix if bare.suffix in _PACKED else bare.suffix
    return ending in _TABLES and _is_shown(path) and path.is_file()


def _check_readable(path: Path) -> None:
    if ending_of(path) in (*PARQUET, *DELIMITED) or not _is_table(path):  # by another name it may be Parquet
        return
    instead = "unpack it" if path.suffix.lower() in _PACKED else "save it as one of these"
    raise FileError(
        path,
        f"engines read Parquet and CSV files (also .csv.gz) alone; {instead}, or leave it out with a pattern such as "
        "'folder/*.csv'",
    )
