"""The cells of a study: each is one candidate made once, with a seed of its own, and measured."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import microveil
from microveil.comparison.pairs import Pair, fitting
from microveil.errors import DataError, MicroveilError, ParameterError
from microveil.masking import Step
from microveil.masking.release import versions
from microveil.microdata import Microdata
from microveil.microdata.microdata import resolve_attributes
from microveil.microdata.schema import KINDS
from microveil.plugins import Plugin, plugins_used
from microveil.randomness import derived_seed, draw_seed
from microveil.registry import find, make, names, usual_names
from microveil.scoring.assessing import INFORMED, Several, known_by

if TYPE_CHECKING:
    from microveil.study.design import Design


@dataclass(frozen=True)
class Candidate:
    """A way of making the release: one or more steps, with a label people recognise.

    `varied` are the parameters in which it differs from the others of its `series`, which is named by what they share;
    `entry` is the number of its [[method]] in the file.
    """

    label: str
    steps: tuple[Step, ...]
    varied: Mapping[str, Any] = field(default_factory=dict)
    series: str = ""
    entry: int | None = None

    @property
    def family(self) -> str:
        """The methods that the candidate uses, by which candidates are grouped."""
        return " + ".join(step.method for step in self.steps)

    @property
    def is_random(self) -> bool:
        return any(make("method", step.method, step.parameters).draws for step in self.steps)


@dataclass(frozen=True)
class Named:
    """An attack, a loss or a score by its name, with its parameters."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


MEAN = Named("mean")


@dataclass(frozen=True)
class Measures:
    """What is measured of every release: over which attributes, by which attacks and losses, summed up how."""

    attributes: tuple[str, ...]
    known: tuple[str, ...] | None = None
    attacks: tuple[Named, ...] | Several | None = None
    losses: tuple[Named, ...] | None = None
    score: Named = MEAN

    def to_plain(self) -> dict[str, Any]:
        """As a digest needs it: the usual measures are written out, for they may be others tomorrow."""
        several = {"all": names("attack"), "informed": (*usual_names("attack"), *INFORMED), None: usual_names("attack")}
        if self.attacks is None or isinstance(self.attacks, str):
            attacks: Sequence[Named] = [Named(name) for name in several[self.attacks]]
        else:
            attacks = self.attacks or [Named(name) for name in usual_names("attack")]
        losses = self.losses or [Named(name) for name in usual_names("loss")]
        return {
            "attributes": self.attributes,
            "known": self.known,
            "attacks": [_written_out("attack", named) for named in attacks],
            "losses": [_written_out("loss", named) for named in losses],
            "score": _written_out("score", self.score),
            **_plugins([("attack", attacks), ("loss", losses), ("score", [self.score])]),
        }


def _written_out(kind: str, named: Named) -> tuple[str, dict[str, Any]]:
    """With every parameter, also those left as they usually are."""
    return named.name, make(kind, named.name, named.parameters).parameters()


def _plugins(named: Iterable[tuple[str, Iterable[Named]]]) -> dict[str, Any]:
    """The packages that methods and measures come from, other than Microveil, with their versions and their source."""
    made = (make(kind, item.name, item.parameters) for kind, items in named for item in items)
    used = {(plugin.package, plugin.version, _source_of(plugin)) for part in made for plugin in plugins_used(part)}
    return {"plugins": sorted(used)} if used else {}


def _source_of(plugin: Plugin) -> str:
    """Of the package that the entry is in, or of the one module that it is."""
    file = importlib.import_module(plugin.entry_point.module.partition(".")[0]).__file__
    return "" if file is None else source_digest(Path(file).parent if Path(file).stem == "__init__" else Path(file))


PLANNED = 0  # the repeat of the cell that measures what the plan of the best makes


@dataclass(frozen=True)
class Cell:
    """One candidate, made once. Cells with the same digest have the same numbers."""

    candidate: Candidate
    repeat: int
    seed: int
    measures: Measures
    digest: str


def unfold(design: Design, table: Microdata, secret: int | None = None) -> tuple[Cell, ...]:
    """The cells of a study on a table, in the order of its file. What random methods make is made `repeats` times.

    Their seeds are derived from the seed of the study or, where its file names none, from the `secret` of its store or,
    without that, from one drawn here.
    """
    with design.naming_its_file():
        candidates = bound_to(design.candidates, table)
        attributes = design.attributes or compared(candidates)
        for entry, names in (("attributes", attributes), ("known", design.known or ())):
            if names:
                with _errors_in(entry):
                    resolve_attributes(table, names, KINDS, "a comparison")
        measures = Measures(attributes, design.known, design.attacks, design.losses, design.score)
        with _errors_in("score"):
            _check_score(measures, table)
    turns = [
        (candidate, repeat)
        for candidate in candidates
        for repeat in range(1, 1 + (design.repeats if candidate.is_random else 1))
    ]
    seed = next((given for given in (design.seed, secret) if given is not None), None)
    seed = draw_seed() if seed is None else seed
    # each depends on the steps and the repeat alone, not on what else is in the study
    seeds = [derived_seed(seed, "cell", _plain_steps(candidate), repeat) for candidate, repeat in turns]
    return cells_of(table, turns, seeds, measures)


def _check_score(measures: Measures, table: Microdata) -> None:
    """A formula that cannot treat the attributes would fail in every cell."""
    rule = make("score", measures.score.name, measures.score.parameters)
    if not rule.usual:
        pair = Pair.of(table, table, measures.attributes, known=measures.known)
        fitting(pair, rule, explicit=True)
        rule.losses(pair)
        rule.scenarios(pair, known_by(pair.about(pair.knowledge.attributes), rule))


def cells_of(
    table: Microdata, turns: Sequence[tuple[Candidate, int]], seeds: Sequence[int], measures: Measures
) -> tuple[Cell, ...]:
    """Cells with their digests: of the table, its schema, the steps, the seed, what is measured, and the software."""
    shared = shared_digest(table, measures)
    return tuple(
        cell_of(shared, candidate, repeat, seed, measures)
        for (candidate, repeat), seed in zip(turns, seeds, strict=True)
    )


def shared_digest(table: Microdata, measures: Measures) -> str:
    """What the digests of all cells of a table have in common."""
    return digest_of({
        "data": table.digest(),
        "schema": table.schema.to_plain(),
        "measures": measures.to_plain(),
        "versions": versions(),
        "source": source_digest(Path(microveil.__file__).parent),
    })  # fmt: skip


def cell_of(shared: str, candidate: Candidate, repeat: int, seed: int, measures: Measures) -> Cell:
    """One cell, given what the digests of all of them have in common."""
    return Cell(candidate, repeat, seed, measures, digest_of([shared, _steps_and_plugins(candidate), seed]))


def planned_cell(table: Microdata, candidate: Candidate, measures: Measures, secret: int) -> Cell:
    """A candidate made once more, with the seed that its plan has: it follows from the secret alone, whatever the seed
    of the study, and is another one for every table."""
    seed = derived_seed(secret, "plan", table.digest(), _plain_steps(candidate))
    (cell,) = cells_of(table, [(candidate, PLANNED)], [seed], measures)
    return cell


@cache
def source_digest(root: Path) -> str:
    """Of the modules of a package: one that was edited without a new version may find other numbers."""
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
        found.update(f"{path.relative_to(root).as_posix()} {path.stat().st_size}\n".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def compared(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """The attributes that any candidate masks: all candidates are measured over the same."""
    touched = (name for candidate in candidates for step in candidate.steps for name in step.attributes or ())
    return tuple(dict.fromkeys(touched))


def bound_to(candidates: Sequence[Candidate], table: Microdata) -> list[Candidate]:
    """Candidates whose steps name the attributes of this table that they mask."""
    return [_bound(candidate, table) for candidate in candidates]


def _bound(candidate: Candidate, table: Microdata) -> Candidate:
    entry = "" if candidate.entry is None else f"method {candidate.entry}, "
    steps = []
    for position, step in enumerate(candidate.steps):
        number = f", step {position + 1}" if len(candidate.steps) > 1 else ""
        with _errors_in(f"{entry}candidate '{candidate.label}'{number}"):
            steps.append(replace(step, attributes=_masked_by(step, table, is_first=position == 0)))
    return replace(candidate, steps=tuple(steps))


def _masked_by(step: Step, table: Microdata, *, is_first: bool) -> tuple[str, ...] | None:
    try:
        chosen = resolve_attributes(table, step.attributes, find("method", step.method).kinds, step.method)
        return table.schema.collapsed(chosen)
    except DataError:
        if is_first:
            raise
        return step.attributes  # an earlier step may have changed what kind it is


@contextmanager
def _errors_in(where: str) -> Iterator[None]:
    try:
        yield
    except MicroveilError as problem:
        raise ParameterError(f"{where}: {problem}") from None


def _plain_steps(candidate: Candidate) -> list[dict[str, Any]]:
    return [step.to_plain() for step in candidate.steps]


def _steps_and_plugins(candidate: Candidate) -> list[dict[str, Any]]:
    plugins = _plugins([("method", [Named(step.method, step.parameters) for step in candidate.steps])])
    return [*_plain_steps(candidate), *([plugins] if plugins else [])]


def digest_of(content: Any) -> str:
    """Of anything that JSON can hold, or can hold as text."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
