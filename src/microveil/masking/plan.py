"""A plan says what to do, as data: methods, parameters, attributes and seed. Plans are TOML; manifests hold one too."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from microveil.errors import ParameterError, brief, errors_of_file, nearest_name, parsed, shortened, toml_of
from microveil.masking.guarantees import check_requirements
from microveil.masking.notes import Note
from microveil.microdata.files.inputs import read_text
from microveil.microdata.schema import Schema
from microveil.randomness import check_seed, plain_seed

PRIVATE = (
    "Keep this file: it makes the release again. Do not publish it: whoever has the seed and the method can undo much "
    "of the masking."
)
_SWITCHES = ("shuffle", "keep_household_ids", "new_ids")
_PLAN_KEYS = ("seed", "schema", "require", *_SWITCHES, "steps")
_STEP_KEYS = ("method", "parameters", "attributes")


@dataclass(frozen=True)
class Step:
    """One method with its parameters, applied to some attributes; no attributes means the usual ones."""

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    attributes: tuple[str, ...] | None = None

    def to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"method": self.method}
        if self.attributes is not None:
            plain["attributes"] = list(self.attributes)
        # TOML has no null: a parameter that is not set is left out
        plain["parameters"] = {k: v for k, v in self.parameters.items() if v is not None}
        return plain

    @classmethod
    def from_plain(cls, plain: Any) -> Step:
        if not isinstance(plain, Mapping) or not isinstance(plain.get("method"), str):
            raise ParameterError("each step of a plan is a table with a method, such as method = 'mdav'")
        _only_known(plain, _STEP_KEYS, "a step")
        attributes = plain.get("attributes")
        if attributes is not None and not (
            isinstance(attributes, list) and all(isinstance(name, str) for name in attributes)
        ):
            raise ParameterError("the attributes of a step are a list of column names")
        parameters = plain.get("parameters", {})
        if not isinstance(parameters, Mapping):
            raise ParameterError("the parameters of a step are a table such as { k = 5 }")
        return cls(plain["method"], dict(parameters), None if attributes is None else tuple(attributes))


@dataclass(frozen=True)
class Plan:
    """The steps that make a release, with the seed, what it must guarantee and, where one was declared, the schema.

    With `shuffle` the records come in random order; household numbers are new ones unless `keep_household_ids` is set.
    With `new_ids` all identifiers are released, as random new ones.
    """

    steps: tuple[Step, ...]
    seed: int | None = None
    schema: Schema | None = None
    require: Mapping[str, float] = field(default_factory=dict)
    shuffle: bool = False
    keep_household_ids: bool = False
    new_ids: bool = False

    def to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {} if self.seed is None else {"seed": plain_seed(self.seed)}
        plain |= {name: True for name in _SWITCHES if getattr(self, name)}
        if self.require:
            plain["require"] = dict(self.require)
        plain["steps"] = [step.to_plain() for step in self.steps]
        if self.schema is not None:
            plain["schema"] = self.schema.to_plain()
        return plain

    def to_toml(self) -> str:
        warning = "" if self.seed is None else f"# {PRIVATE}\n"
        return warning + toml_of(self.to_plain())

    @classmethod
    def from_plain(cls, plain: Any, folder: Path | None = None) -> Plan:
        if not isinstance(plain, Mapping) or not isinstance(plain.get("steps"), list) or not plain["steps"]:
            raise ParameterError("a plan needs at least one [[steps]] entry with a method")
        _only_known(plain, _PLAN_KEYS, "a plan")
        schema = plain.get("schema")
        if isinstance(schema, str):
            schema = Schema.read((folder or Path()) / schema)
        elif isinstance(schema, Mapping):
            schema = Schema.from_plain(schema, folder)
        elif schema is not None:
            raise ParameterError("the schema of a plan is the name of a file or a table, [schema.attributes]")
        seed = None if plain.get("seed") is None else check_seed(plain["seed"])
        require = plain.get("require", {})
        if not isinstance(require, Mapping):
            raise ParameterError("what a plan requires is a table such as { k = 5 }")
        for name in _SWITCHES:
            if not isinstance(plain.get(name, False), bool):
                raise ParameterError(f"{name} in a plan is true or false, not {plain[name]!r}")
        steps = tuple(Step.from_plain(step) for step in plain["steps"])
        switches = {name: plain.get(name, False) for name in _SWITCHES}
        return cls(steps, seed, schema, check_requirements(require), **switches)


def _only_known(plain: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in plain:
        if key not in known:
            raise ParameterError(f"{what} has no entry '{shortened(str(key))}'{nearest_name(str(key), list(known))}")


def read_plan(path: str | Path) -> tuple[Plan, dict[str, Any] | None]:
    """Read a plan (TOML) or the plan inside a manifest (JSON); with the latter comes the whole manifest."""
    path = Path(path)
    with errors_of_file(path, "is neither a plan (TOML) nor a manifest (JSON)"):
        text = read_text(path)
        content = parsed(json.loads if text.lstrip().startswith("{") else tomllib.loads, text)
        manifest = content if "plan" in content else None
        if manifest is not None:
            check_manifest(manifest)
            # null is as good as absent
            manifest = {name: part for name, part in content.items() if part is not None or name == "plan"}
        return Plan.from_plain(manifest["plan"] if manifest else content, path.parent), manifest


_TABLES = ("input", "output", "versions", "members_differ")
_OUTPUT_DIGESTS = ("digest", "file_sha256", "edges_sha256", "private_sha256")
_DIGESTS = (("input", "digest"), ("input", "content_digest"), *(("output", name) for name in _OUTPUT_DIGESTS))
_COUNTS = (("input", "records"), ("output", "records"), ("output", "edges"))
_DIALECT = ("delimiter", "encoding", "decimal", "sheet")


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest that no release can have written: parts of other types than those of `Release.manifest`.

    Parts may be absent, for nothing but the plan is needed to make a release again.
    """
    for name in _TABLES:
        _of_type(manifest, name, Mapping, "a table")
    _of_type(manifest, "left_out", list, "a list of texts")
    for text in manifest.get("left_out") or ():
        _fits(isinstance(text, str), "left_out", text, "a list of texts")
    _of_type(manifest, "notes", list, "a list of notes")
    for note in manifest.get("notes") or ():
        Note.from_plain(note)
    _of_type(manifest.get("output") or {}, "schema", Mapping, "a table", "output")
    for table, name in _DIGESTS:
        _of_type(manifest.get(table) or {}, name, str, "a text", table)
    for table, name in _COUNTS:
        _of_type(manifest.get(table) or {}, name, int, "a whole number", table)
    for package, version in (manifest.get("versions") or {}).items():
        _fits(isinstance(version, str), f"versions.{package}", version, "a text")
    for attribute, households in (manifest.get("members_differ") or {}).items():
        whole = isinstance(households, int) and not isinstance(households, bool)
        _fits(whole, f"members_differ.{attribute}", households, "a whole number")
    dialect = (manifest.get("input") or {}).get("dialect") or {}
    _fits(isinstance(dialect, Mapping), "input.dialect", dialect, "a table")
    _only_known(dialect, _DIALECT, "the dialect in a manifest")
    for name, text in dialect.items():
        _fits(isinstance(text, str), f"input.dialect.{name}", text, "a text")


def _of_type(table: Mapping[str, Any], name: str, kind: type, allowed: str, where: str = "") -> None:
    value = table.get(name)
    fits = value is None or (isinstance(value, kind) and not isinstance(value, bool))
    _fits(fits, f"{where}.{name}" if where else name, value, allowed)


def _fits(fits: bool, name: str, value: Any, allowed: str) -> None:
    if not fits:
        raise ParameterError(f"{shortened(name)} = {brief(value)} is no part of a manifest; it must be {allowed}")
