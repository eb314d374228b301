"""The export: the release made again from its plan, with everything about it, packed and with digests."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import microveil as mv
from microveil.applications import DataError, Part, Progress
from microveil.workbench.recipes import command_file, protect_command, script_file


def export(
    request: Mapping[str, Any], data: mv.Microdata, plan: mv.Plan, folder: Path, progress: Progress
) -> dict[str, Any]:
    """Make the release again from its plan, write it with everything about it, and pack all of it.

    What may leave the house is in the folder `public`, what makes the release again, or could undo it, in `internal`.
    """
    release = mv.protect(data, plan, progress=Part(progress, 0.0, 0.35))
    if release.data.digest() != request["digest"]:
        raise DataError("the plan did not make the same release again, so nothing was exported; please report this")
    unfinished = folder.with_name(f"{folder.name}unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    public, internal = unfinished / "public", unfinished / "internal"
    for each in (unfinished, public, internal):
        each.mkdir(mode=0o700, parents=True)
    saved = release.save(public / request["release_file"])
    for beside in (saved.manifest, saved.private):
        if beside is not None:
            beside.rename(internal / beside.name)
    (internal / "plan.toml").write_text(release.provenance.plan.to_toml(), encoding="utf-8")
    (internal / "make_release.py").write_text(script_file(request), encoding="utf-8")
    (internal / "make_release.sh").write_text(command_file(request), encoding="utf-8")
    if request["reports"]:
        pages = mv.reports(
            data, release, threshold=request["threshold"], again=protect_command(request), date=request["date"],
            progress=Part(progress, 0.35, 0.95),
        )  # fmt: skip
        (internal / "report_internal.html").write_text(pages[0], encoding="utf-8")
        (public / "report_public.html").write_text(pages[1], encoding="utf-8")
    progress(0.96, "packing")
    files = sorted(path for path in unfinished.rglob("*") if path.is_file())
    digests = {path.relative_to(unfinished).as_posix(): _digest(path) for path in files}
    listed = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    (unfinished / "SHA256SUMS").write_text(listed, encoding="utf-8")
    archive = unfinished / f"{request['stem']}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in [*digests, "SHA256SUMS"]:
            packed.write(unfinished / name, name)
    unfinished.rename(folder)
    progress(1.0, "exporting")
    sizes = {name: (folder / name).stat().st_size for name in [*digests, "SHA256SUMS", archive.name]}
    return {"files": sizes, "digests": {**digests, archive.name: _digest(folder / archive.name)},
            "archive": archive.name, "released": f"public/{request['release_file']}"}  # fmt: skip


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
