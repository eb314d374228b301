"""What a study is to do, as its file says: the table, the ways of protecting it, and what is measured."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from microveil.errors import (
    Cancelled,
    FileError,
    MicroveilError,
    ParameterError,
    UnknownNameError,
    brief,
    errors_of_file,
    nearest_name,
    parsed,
    shortened,
)
from microveil.masking import Step
from microveil.microdata import Microdata, Schema, datasets, files
from microveil.microdata.files.inputs import read_text
from microveil.microdata.microdata import as_microdata
from microveil.microdata.panel import Panel
from microveil.parameters import shown
from microveil.progress import Progress, silent
from microveil.randomness import check_seed
from microveil.registry import find, make
from microveil.scoring.assessing import SEVERAL, Several
from microveil.study.cells import MEAN, Candidate, Named
from microveil.units import percentage

_ROLES = ("keys", "confidential", "identifiers", "strata")
_ROLES_OF_ONE = ("weight", "household", "node")
_KINDS = ("numeric", "ordinal", "nominal", "location")
_READING = ("delimiter", "encoding", "decimal", "sheet")
_MEASURING = ("attributes", "known", "attacks", "losses", "score", "accept")
_WORK = ("seed", "repeats", "workers")
_TABLE = ("data", "dataset", "schema", "series", "graph", *_ROLES, *_ROLES_OF_ONE, *_KINDS, *_READING)
MOST_REPEATS, MOST_WORKERS, MOST_CANDIDATES = 10_000, 1_000, 100_000
ENTRIES = ("title", "organisation", "author", "method", *_TABLE, *_MEASURING, *_WORK)
_METHOD_ENTRIES = ("name", "set", "grid", "attributes", "label", "steps")
_STEP_ENTRIES = ("name", "set", "grid", "attributes")


@dataclass(frozen=True)
class Design:
    """A study as data. `candidates` are the ways of protecting the table, the grids unfolded, in the order of the file.

    >>> design = Design.from_plain({"method": [{"name": "mdav", "grid": {"k": [3, 5]}}, {"name": "noise"}]})
    >>> [candidate.label for candidate in design.candidates]
    ['mdav k=3', 'mdav k=5', 'noise']
    """

    candidates: tuple[Candidate, ...]
    title: str = "Study"
    organisation: str = ""
    author: str = ""
    data: Path | None = None
    dataset: str | None = None
    schema: Schema | None = None
    roles_and_kinds: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None
    repeats: int = 1
    workers: int | None = None
    attributes: tuple[str, ...] | None = None
    known: tuple[str, ...] | None = None
    attacks: tuple[Named, ...] | Several | None = None
    losses: tuple[Named, ...] | None = None
    score: Named = MEAN
    risk_bound: float | None = None
    file: Path | None = None

    @classmethod
    def from_plain(cls, plain: Any, folder: Path | None = None) -> Design:
        """Build from the content of a TOML file; paths in it are relative to `folder`."""
        if not isinstance(plain, Mapping):
            raise ParameterError("a study is a table with at least one [[method]] entry")
        _only_known(plain, ENTRIES, "a study")
        folder = folder or Path()
        data, dataset = _text(plain, "data"), _text(plain, "dataset")
        if data is not None and dataset is not None:
            raise ParameterError("a study has either data, a file, or dataset, a reference data set, not both")
        listed = (*_ROLES, "numeric", "nominal", "location")
        roles_and_kinds: dict[str, Any] = {name: _texts(plain, name) for name in listed}
        roles_and_kinds |= {name: _text(plain, name) for name in _ROLES_OF_ONE}
        roles_and_kinds["ordinal"] = _orders(plain)
        roles_and_kinds["series"] = None if plain.get("series") is None else Panel.of(plain["series"])
        edges = _text(plain, "graph")
        roles_and_kinds["graph"] = None if edges is None else folder / edges
        reading = {name: _text(plain, name) for name in _READING}
        workers = plain.get("workers")
        return cls(
            candidates=tuple(_candidates(plain.get("method"))),
            title=_words(plain, "title") or cls.title,
            organisation=_words(plain, "organisation") or "",
            author=_words(plain, "author") or "",
            data=None if data is None else folder / data,
            dataset=dataset,
            schema=_schema(plain.get("schema"), folder),
            roles_and_kinds={name: given for name, given in roles_and_kinds.items() if given is not None},
            reading={name: given for name, given in reading.items() if given is not None},
            seed=None if plain.get("seed") is None else check_seed(plain["seed"]),
            repeats=check_whole("repeats", plain.get("repeats", cls.repeats), 1, MOST_REPEATS),
            workers=None if workers is None else check_whole("workers", workers, 0, MOST_WORKERS),
            attributes=_texts(plain, "attributes"),
            known=_texts(plain, "known"),
            attacks=_several(plain.get("attacks")) or _measures(plain, "attack"),
            losses=_measures(plain, "loss"),
            score=MEAN if plain.get("score") is None else _measure("score", "score", plain["score"]),
            risk_bound=_risk_bound(plain.get("accept")),
        )

    def table(self, data: Any = None, progress: Progress = silent) -> Microdata:
        """The table to protect: `data` if given (a frame or the path of a file), else the file that the study names."""
        with self.naming_its_file():
            try:
                return self._table(self.data if data is None else data, progress)
            except UnknownNameError as problem:
                raise ParameterError(f"{self._entry_with(problem.name)}{problem}") from None

    @contextmanager
    def naming_its_file(self) -> Iterator[None]:
        """Whatever is wrong with what the study says becomes an error that names its file, if it has one."""
        try:
            yield
        except (FileError, Cancelled):
            raise
        except MicroveilError as problem:
            if self.file is None:
                raise
            raise FileError(self.file, str(problem)) from None

    def _entry_with(self, column: str) -> str:
        columns = {entry: given for entry, given in self.roles_and_kinds.items() if entry != "graph"}
        named = {entry: [given] if isinstance(given, str) else given for entry, given in columns.items()}
        panel = self.roles_and_kinds.get("series")
        named["series"] = [] if panel is None else [panel.id, panel.time, *panel.values]
        return next((f"{entry}: " for entry, names in named.items() if column in names), "")

    def _table(self, source: Any, progress: Progress) -> Microdata:
        options: dict[str, Any] = {**self.reading, **self.roles_and_kinds}
        if isinstance(source, str | Path):
            return files.read(source, schema=self.schema, progress=progress, **options)
        if source is not None:
            table = as_microdata(source)
            return Microdata.of(table, self.schema, origin=table.origin, **self.roles_and_kinds)
        if self.dataset is not None:
            return datasets.load(self.dataset, schema=self.schema, progress=progress, **options)
        raise ParameterError("the study names no table: give data = 'people.csv', or a table when you start it")


def _orders(plain: Mapping[str, Any]) -> Any:
    """The ordinal columns: a list of their names, or a table with the categories of each from the lowest."""
    given = plain.get("ordinal")
    if not isinstance(given, Mapping):
        return _texts(plain, "ordinal")
    if not all(isinstance(categories, list) and categories for categories in given.values()):
        raise ParameterError("ordinal is a list of columns or a table such as { size = ['small', 'large'] }")
    return dict(given)


def read_design(path: str | Path) -> Design:
    """Read a study's file (TOML)."""
    path = Path(path)
    with errors_of_file(path):
        content = parsed(tomllib.loads, read_text(path))
        return replace(Design.from_plain(content, path.parent), file=path)


# --- the ways of protecting the table ------------------------------------------------------------------------------


def _candidates(entries: Any) -> Iterator[Candidate]:
    """Every [[method]] entry with every combination of its grids."""
    if not isinstance(entries, list) or not entries:
        raise ParameterError("a study needs at least one [[method]] entry, such as name = 'mdav'")
    seen: dict[str, int] = {}
    for number, entry in enumerate(entries, start=1):
        try:
            for candidate in _unfolded(entry):
                if candidate.label in seen:
                    before = seen[candidate.label]
                    where = "twice" if before == number else f"already in method {before}"
                    raise ParameterError(f"the candidate '{candidate.label}' stands {where}; give each its own label")
                seen[candidate.label] = number
                yield replace(candidate, entry=number)
        except MicroveilError as problem:
            raise ParameterError(f"method {number}: {problem}") from None


def _unfolded(entry: Any) -> Iterator[Candidate]:
    if not isinstance(entry, Mapping):
        raise ParameterError("an entry is a table such as { name = 'mdav', grid = { k = [3, 5] } }")
    _only_known(entry, _METHOD_ENTRIES, "a method")
    label = _words(entry, "label")
    steps = entry.get("steps")
    if steps is not None:
        if set(entry) - {"steps", "label"}:
            raise ParameterError("an entry with steps has name, set, grid and attributes inside each step")
        if not isinstance(steps, list) or not steps:
            raise ParameterError("steps are a list of tables such as { name = 'mdav', set = { k = 5 } }")
    parts = [_part(step) for step in (steps if steps is not None else [entry])]
    combinations = math.prod(len(values) for part in parts for values in part.grid.values())
    if combinations > MOST_CANDIDATES:
        raise ParameterError(f"its grids have {combinations:,} combinations, more than {MOST_CANDIDATES:,}")
    for combination in itertools.product(*(_settings(part) for part in parts)):
        chain = tuple(
            Step(part.name, make("method", part.name, {**part.fixed, **varied}).parameters(), part.attributes)
            for part, varied in zip(parts, combination, strict=True)
        )
        turns = list(zip(parts, combination, strict=True))
        varied = {
            f"{prefix}{name}": value
            for prefix, values in zip(_prefixes(parts), combination, strict=True)
            for name, value in values.items()
        }
        if label is not None:
            told = f"{label} " + ", ".join(
                _in_words(part.name if len(parts) > 1 else "", values) for part, values in turns if values
            )
        else:
            told = ", ".join(_in_words(part.name, {**part.fixed, **values}) for part, values in turns)
        series = label or ", ".join(_in_words(part.name, part.fixed) for part in parts)
        yield Candidate(told.strip(), chain, varied, series)


def _prefixes(parts: Sequence[_Part]) -> list[str]:
    """What stands before the parameters of each step: its method where there are several, and its number where that
    method occurs again."""
    if len(parts) == 1:
        return [""]
    times = Counter(part.name for part in parts)
    return [
        f"{number}.{part.name}." if times[part.name] > 1 else f"{part.name}."
        for number, part in enumerate(parts, start=1)
    ]


@dataclass(frozen=True)
class _Part:
    name: str
    fixed: Mapping[str, Any]
    grid: Mapping[str, list[Any]]
    attributes: tuple[str, ...] | None


def _part(step: Any) -> _Part:
    if not isinstance(step, Mapping) or not isinstance(step.get("name"), str):
        raise ParameterError("the name of a method must be given, such as name = 'mdav'")
    _only_known(step, (*_STEP_ENTRIES, "label"), "a step")
    find("method", step["name"])
    fixed, grid = _table(step, "set"), _table(step, "grid")
    for name, values in grid.items():
        if name in fixed:
            raise ParameterError(f"{step['name']}: {name} stands both in set and in grid")
        if not isinstance(values, list) or not values:
            raise ParameterError(f"{step['name']}: the grid of {name} must be a list of values such as [3, 5, 10]")
    return _Part(step["name"], fixed, grid, _texts(step, "attributes"))


def _settings(part: _Part) -> list[dict[str, Any]]:
    """Every combination of the grid's values; one without any where there is no grid."""
    return [dict(zip(part.grid, values, strict=True)) for values in itertools.product(*part.grid.values())]


def _in_words(name: str, values: Mapping[str, Any]) -> str:
    return " ".join([*([name] if name else []), *(f"{key}={shown(value)}" for key, value in values.items())])


# --- single entries, each refused in one sentence that names it ----------------------------------------------------


def _only_known(plain: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in plain:
        if key not in known:
            raise ParameterError(f"{what} has no entry '{shortened(str(key))}'{nearest_name(str(key), list(known))}")


def _entry(plain: Mapping[str, Any], name: str, fits: Callable[[Any], bool], allowed: str) -> Any:
    value = plain.get(name)
    if value is not None and not fits(value):
        raise ParameterError(f"{name} = {brief(value)} is not allowed; it must be {allowed}")
    return value


def _text(plain: Mapping[str, Any], name: str) -> str | None:
    found: str | None = _entry(plain, name, lambda value: isinstance(value, str) and bool(value), "a text")
    return found


def _words(plain: Mapping[str, Any], name: str) -> str | None:
    """A text that people read."""
    found: str | None = _entry(
        plain, name, lambda value: isinstance(value, str) and bool(value.strip()), "a text that is not blank"
    )
    return None if found is None else found.strip()


def _texts(plain: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    def fits(value: Any) -> bool:
        return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)

    found = _entry(plain, name, fits, "a list of column names such as ['age', 'income']")
    if found is None:
        return None
    repeated = next((column for column, times in Counter(found).items() if times > 1), None)
    if repeated is not None:
        raise ParameterError(f"{name} names '{repeated}' twice")
    return tuple(found)


def _table(plain: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] | None = _entry(plain, name, lambda v: isinstance(v, Mapping), "a table such as { k = 5 }")
    return found or {}


def check_whole(name: str, value: Any, at_least: int, at_most: int) -> int:
    """A whole number that is large enough, and not larger than anybody can want."""
    if isinstance(value, bool) or not isinstance(value, int) or not at_least <= value <= at_most:
        allowed = f"a whole number of at least {at_least} and at most {at_most:,}"
        raise ParameterError(f"{name} = {brief(value)} is not allowed; it must be {allowed}")
    return value


def _schema(given: Any, folder: Path) -> Schema | None:
    if given is None or isinstance(given, Schema):
        return given
    if isinstance(given, str):
        return Schema.read(folder / given)
    if not isinstance(given, Mapping):
        raise ParameterError(f"schema = {brief(given)} is not allowed; it must be a file or have [schema.attributes]")
    return Schema.from_plain(given, folder)


def _measures(plain: Mapping[str, Any], kind: str) -> tuple[Named, ...] | None:
    """Attacks or losses: names, or tables of a name and what is set."""
    entry = {"attack": "attacks", "loss": "losses"}[kind]
    given = plain.get(entry)
    if given is None:
        return None
    if not isinstance(given, list) or not given:
        every = " or 'all'" if kind == "attack" else ""
        raise ParameterError(f"{entry} = {brief(given)} is not allowed; it must be a list of names{every}")
    return tuple(_measure(kind, entry, item) for item in given)


def _measure(kind: str, entry: str, given: Any) -> Named:
    name: Any = given
    settings: Mapping[str, Any] = {}
    if isinstance(given, Mapping):
        _only_known(given, ("name", "set"), f"an entry of {entry}")
        name, settings = given.get("name"), _table(given, "set")
    if not isinstance(name, str):
        raise ParameterError(f"{entry}: an entry is a name or a table such as {{ name = '...', set = {{ ... }} }}")
    try:
        return Named(name, make(kind, name, settings).parameters())
    except MicroveilError as problem:
        raise ParameterError(f"{entry}: {problem}") from None


def _several(given: Any) -> Several | None:
    return next((name for name in SEVERAL if given == name), None)


def _risk_bound(given: Any) -> float | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or set(given) != {"risk"}:
        raise ParameterError("accept is a table such as { risk = 10 }, the risk in per cent below which it must stay")
    bound = percentage(given["risk"], "accept: risk")
    if bound <= 0:
        raise ParameterError("accept: risk = 0 is not allowed; it must be a percentage above 0")
    return bound
