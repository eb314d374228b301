"""The cells of a study: each is one candidate made once, with a seed of its own, and measured."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from microveil.errors import MicroveilError, ParameterError
from microveil.masking import Step
from microveil.masking.release import versions
from microveil.microdata import Microdata
from microveil.microdata.microdata import resolve_attributes
from microveil.registry import find, make, names

if TYPE_CHECKING:
    from microveil.study.design import Design


@dataclass(frozen=True)
class Candidate:
    """A way of making the release: one or more steps, with a label people recognise.

    `varied` are the parameters in which it differs from the others of its `series`, which is named by what they share.
    """

    label: str
    steps: tuple[Step, ...]
    varied: Mapping[str, Any] = field(default_factory=dict)
    series: str = ""

    @property
    def family(self) -> str:
        """What candidates are told apart by: the methods they use."""
        return " + ".join(step.method for step in self.steps)

    @property
    def is_random(self) -> bool:
        return any(find("method", step.method).random for step in self.steps)


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
    attacks: tuple[Named, ...] | Literal["all"] | None = None
    losses: tuple[Named, ...] | None = None
    score: Named = MEAN

    def to_plain(self) -> dict[str, Any]:
        """As a digest needs it: the usual measures are written out, for they may be others tomorrow."""
        every = [Named(name) for name in names("attack")]
        attacks = every if self.attacks == "all" else self.attacks or _usual("attack", "general")
        return {
            "attributes": self.attributes,
            "known": self.known,
            "attacks": [_written_out("attack", named) for named in attacks],
            "losses": [_written_out("loss", named) for named in self.losses or _usual("loss", "usual")],
            "score": _written_out("score", self.score),
        }


def _usual(sort: str, flag: str) -> list[Named]:
    return [Named(name) for name in names(sort) if getattr(find(sort, name), flag)]


def _written_out(sort: str, named: Named) -> tuple[str, dict[str, Any]]:
    """With every parameter, also those left as they usually are."""
    return named.name, make(sort, named.name, named.parameters).parameters()


@dataclass(frozen=True)
class Cell:
    """One candidate, made once. Cells with the same digest have the same numbers."""

    candidate: Candidate
    repeat: int
    seed: int
    measures: Measures
    digest: str


def unfold(design: Design, table: Microdata) -> tuple[Cell, ...]:
    """The cells of a study on a table, in the order of its file. What random methods make is made `repeats` times."""
    candidates = bound_to(design.candidates, table)
    attributes = design.attributes or compared(candidates)
    for name in (*attributes, *(design.known or ())):
        resolve_attributes(table, [name], (table[name].kind,), "a comparison")
    measures = Measures(attributes, design.known, design.attacks, design.losses, design.score)
    turns = [
        (candidate, repeat)
        for candidate in candidates
        for repeat in range(1, 1 + (design.repeats if candidate.is_random else 1))
    ]
    seeds = [derived_seed(design.seed, candidate, repeat) for candidate, repeat in turns]
    return cells_of(table, turns, seeds, measures)


def cells_of(
    table: Microdata, turns: Sequence[tuple[Candidate, int]], seeds: Sequence[int], measures: Measures
) -> tuple[Cell, ...]:
    """Cells with their digests: of the table, its schema, the steps, the seed, what is measured, and the versions."""
    shared = _digest({
        "data": table.digest(),
        "schema": table.schema.to_plain(),
        "measures": measures.to_plain(),
        "versions": versions(),
    })  # fmt: skip
    return tuple(
        Cell(candidate, repeat, seed, measures, _digest([shared, _plain_steps(candidate), seed]))
        for (candidate, repeat), seed in zip(turns, seeds, strict=True)
    )


def derived_seed(seed: int, candidate: Candidate, repeat: int) -> int:
    """A seed that depends on the study's seed, the steps and the repeat alone, not on what else is in the study."""
    return int(_digest([seed, _plain_steps(candidate), repeat])[:8], 16)


def compared(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """The attributes that any candidate masks: all candidates are measured over the same."""
    touched = (name for candidate in candidates for step in candidate.steps for name in step.attributes or ())
    return tuple(dict.fromkeys(touched))


def bound_to(candidates: Sequence[Candidate], table: Microdata) -> list[Candidate]:
    """Candidates whose steps name the attributes of this table that they mask."""
    return [_bound(candidate, table) for candidate in candidates]


def _bound(candidate: Candidate, table: Microdata) -> Candidate:
    steps = []
    for place, step in enumerate(candidate.steps):
        kinds = find("method", step.method).kinds
        chosen: tuple[str, ...] | None
        try:
            chosen = resolve_attributes(table, step.attributes, kinds, step.method)
        except MicroveilError as problem:
            if place == 0:
                raise ParameterError(f"candidate '{candidate.label}': {problem}") from None
            chosen = step.attributes  # an earlier step may have changed what kind it is
        steps.append(replace(step, attributes=chosen))
    return replace(candidate, steps=tuple(steps))


def _plain_steps(candidate: Candidate) -> list[dict[str, Any]]:
    return [step.to_plain() for step in candidate.steps]


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
