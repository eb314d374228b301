"""Reading the tables that a command works on, and what lies beside them."""

from __future__ import annotations

from collections.abc import Mapping
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microveil.cli.printing import note

if TYPE_CHECKING:
    from microveil.masking import Plan, Release
    from microveil.microdata import Microdata
    from microveil.progress import Progress

    # the plan and the manifest of a released file, where there are any
    Made = tuple[Plan | None, dict[str, Any] | None]


def read_table(path: Path, schema: Any, progress: Progress, **options: Any) -> Microdata:
    from microveil.microdata.files import read
    from microveil.microdata.files.atomic import recover

    recover(path.parent)  # a run that was killed may have left the table, or a seed, under another name
    return read(path, schema=schema, progress=progress, **options)


def read_release(
    path: Path, before: Microdata, made: Made, progress: Progress, *, whole: bool, **options: Any
) -> Microdata | Release:
    """A masked table, as the release it was made as where its manifest is there; groups, matrices and the choice of
    records come with it only if it is wanted whole, does not have all records or has them in random order.
    """
    from microveil.masking.release import release_from

    plan, manifest = made
    neutralised = is_neutralised(manifest)
    after = read_table(path, None, progress, like=before, neutralised=neutralised, **options)
    if plan is None or manifest is None:
        return after
    if whole or plan.shuffle or len(after) < len(before):
        return read_back(before, after, plan, manifest)
    return release_from(after, plan, manifest)


def is_neutralised(manifest: Mapping[str, Any] | None) -> bool:
    """Whether texts of a released file carry an apostrophe against spreadsheets."""
    output = (manifest or {}).get("output")
    return isinstance(output, Mapping) and bool(output.get("neutralised_formulas"))


def from_manifest(masked: Path) -> Made:
    """The plan and the manifest beside a released file, if it belongs to that file."""
    from microveil.masking.plan import read_plan
    from microveil.masking.release import file_digest, manifest_path
    from microveil.microdata.files.atomic import recover

    recover(masked.parent)  # a run that was killed may have left the manifest under another name
    beside = manifest_path(masked)
    if not (isfile(beside) and isfile(masked)):  # of a name that is too long there is no file
        return None, None
    plan, manifest = read_plan(beside)
    if manifest is None or (manifest.get("output") or {}).get("file_sha256") != file_digest(masked):
        note(f"{masked.name} is not the file its manifest was written for, so the manifest is not used")
        return None, None
    return plan, manifest


def read_back(before: Microdata, after: Microdata, plan: Plan, manifest: dict[str, Any]) -> Release:
    """The release as it was made. What its manifest does not hold, the groups, matrices and records used, is found by
    carrying out the plan again; where that gives another table, it is done without, unless the order is lost with it.
    """
    from dataclasses import replace

    from microveil.errors import DataError, MicroveilError
    from microveil.masking.release import release_from
    from microveil.protection import protect

    release = release_from(after, plan, manifest)
    try:
        again = protect(before, replace(plan, schema=None, require={}))
    except MicroveilError:
        again = None
    if again is None or again.data.digest() != (manifest.get("output") or {}).get("digest"):
        if plan.shuffle:
            raise DataError(
                "the records of this release are in random order, and its manifest does not make the same release of "
                "this original again, so they cannot be compared with it; give the original and the versions it names"
            )
        return release
    return replace(release, partitions=again.partitions, matrices=again.matrices, rows=again.rows)
