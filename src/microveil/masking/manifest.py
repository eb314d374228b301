"""The manifest beside a released file: the plan that made it, and which files it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os.path import isfile
from pathlib import Path
from typing import Any, Protocol

from microveil.errors import FileError, check_path
from microveil.masking.plan import Plan, read_plan
from microveil.masking.release import Release, file_digest, manifest_path
from microveil.microdata import Microdata
from microveil.microdata.files.atomic import recover


class HasDigest(Protocol):
    """A table, in memory or longer."""

    def digest(self) -> str: ...

    def content_digest(self) -> str: ...


@dataclass(frozen=True)
class Manifest:
    """What is known of a released file: the plan that made it and, as `content`, all that its manifest holds."""

    plan: Plan
    content: Mapping[str, Any] = field(repr=False)

    @classmethod
    def beside(cls, path: str | Path) -> Manifest | None:
        """The manifest that lies beside a released file; none where there is no file or no manifest."""
        path = Path(path)
        recover(path.parent)  # a run that was killed may have left the manifest under another name
        file = manifest_path(path)
        if not (isfile(file) and isfile(path)):  # of a name that is too long there is no file
            return None
        plan, content = read_plan(file)
        return cls(plan, content or {})

    @property
    def neutralised(self) -> bool:
        """Whether texts of the released file carry an apostrophe against spreadsheets."""
        return bool(self._part("output").get("neutralised_formulas"))

    @property
    def dialect(self) -> dict[str, str]:
        """How the original was read: delimiter, encoding, decimal mark, sheet, as far as they are known."""
        return dict(self._part("input").get("dialect") or {})

    @property
    def digest(self) -> str | None:
        """The digest of the released table."""
        return self._part("output").get("digest")

    @property
    def private_digest(self) -> str | None:
        """The SHA-256 of the private file that was written with the release; none where none was needed."""
        return self._part("output").get("private_sha256")

    def is_of(self, path: str | Path) -> bool:
        """Whether it was written for this very file."""
        return bool(self._part("output").get("file_sha256") == file_digest(Path(path)))

    def is_of_edges(self, path: str | Path) -> bool:
        """Whether it was written for a graph with this table of edges."""
        return bool(self._part("output").get("edges_sha256") == file_digest(Path(path)))

    def was_made_from(self, data: HasDigest) -> bool:
        """Whether this table is the original of the release; with ids of records, whatever their order."""
        content = self._part("input").get("content_digest")
        return bool(content == data.content_digest() if content else self._part("input").get("digest") == data.digest())

    def plan_for(self, data: Microdata) -> Plan:
        """The plan to carry out on a table: that of the release if it was made from this one, else one without its
        seed. The random numbers would be others anyway; but whoever gets one manifest must not have the seed of both.
        """
        return self.plan if self.was_made_from(data) else replace(self.plan, seed=None)

    def compare(self, release: Release, path: str | Path) -> str:
        """In a sentence, how a release that was made with this plan and saved differs from the one of this manifest."""
        known, made = self._part("input"), release.provenance
        alike = made.content_digest and known.get("content_digest") == made.content_digest
        if not alike and known.get("digest") != made.input_digest:
            return (
                "the input is not the one this manifest was made from, so the release is a new one, with another seed"
            )
        if self.is_of(path):
            return "the same bytes as the release this manifest came with"
        if self.digest == release.data.digest():
            return "the same values as the release this manifest came with, written in another form"
        made_with = self.content.get("versions")
        return f"the values differ from the release this manifest came with; it was made with {made_with}"

    def _part(self, name: str) -> Mapping[str, Any]:
        return self.content.get(name) or {}


def read_manifest(path: str | Path) -> Manifest:
    """Read the manifest of a release, such as `safe.csv.manifest.json`.

    `protect(people, read_manifest(path).plan_for(people))` makes the release again from the same table; from another
    one it makes a new release, with a seed that is drawn anew.
    """
    check_path(path, "read_manifest", "such as read_manifest('safe.csv.manifest.json')")
    plan, content = read_plan(path)
    if content is None:
        raise FileError(path, "is a plan and not the manifest of a release; read_plan reads it")
    return Manifest(plan, content)
