"""Evolution of whole masked files, from masks by other methods to better ones."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import pydantic

from microveil.errors import DataError, MicroveilError, ParameterError
from microveil.masking import Method, Plan, Step
from microveil.masking.base import Masked, MethodBesideOriginal, Tables
from microveil.masking.notes import EVOLVED, NOT_EVOLVED, START_LEFT_OUT, Note
from microveil.microdata import Microdata
from microveil.microdata.schema import KINDS
from microveil.numerics.choices import BitRange, By, Cut, Operators
from microveil.numerics.evolution.selection import Weighting
from microveil.parameters import parameter, parameterised, shown
from microveil.progress import Part, Progress, parts, silent
from microveil.protection import protect
from microveil.randomness import Streams, derived_seed
from microveil.registry import make
from microveil.search.file_evolution import FilePopulation, Preset, split_by_kind

_FEWEST = 2  # complete records that evolve
_CHUNK = 5_000  # records that microaggregation takes at once when it makes a starting file
_NUMBERS: tuple[dict[str, Any], ...] = (
    *({"method": "rank-swapping", "parameters": {"p": float(p)}} for p in range(2, 17, 2)),
    *({"method": "mdav", "parameters": {"k": k, "chunk": _CHUNK}} for k in range(3, 11)),
)
_CATEGORIES: tuple[dict[str, Any], ...] = (
    *({"method": "mdav-generic", "parameters": {"k": k, "chunk": _CHUNK}} for k in (2, 3, 5, 8)),
    *({"method": "rank-swapping", "parameters": {"p": float(p)}} for p in (2, 5, 10, 20)),
    *({"method": "pram", "parameters": {"p": p}} for p in (0.2, 0.4, 0.6, 0.8)),
    {"method": "recode", "parameters": {"by": "rare", "p": 2}},
    {"method": "top-code", "parameters": {"p": 2}},
    {"method": "bottom-code", "parameters": {"p": 2}},
)


def _checked_start(given: Any) -> Any:
    """A start as a plan holds it: a step, or a table with several steps; methods and parameters are looked at now."""
    if not isinstance(given, Mapping):
        raise ParameterError("a start is a table with a method, or with steps that each have one")
    steps = _steps(given)
    for step in steps:
        make("method", step.method, step.parameters)
        if step.attributes is not None:
            raise ParameterError("a start names no attributes; it masks those that evolve")
    return dict(given)


def _steps(start: Mapping[str, Any]) -> tuple[Step, ...]:
    return Plan.from_plain(start).steps if "steps" in start else (Step.from_plain(start),)


Start = Annotated[dict[str, Any], pydantic.BeforeValidator(_checked_start)]


@parameterised
class Evolved(MethodBesideOriginal):
    """Masked versions of the table, made by other methods, evolve; the one with the best score is released.

    In every generation either one cell of one file is changed, or one of the best files and another exchange a stretch
    of their cells; a child takes the place of its parent if it has a better score. Numbers change by one bit of the
    Gray code of their difference to the original, categories to any other of their domain. The score is the mean, or
    the greater, of loss and risk: for numbers IL, and half interval disclosure with half linkage by distance (each
    released record to the nearest original, on the original's scale); for categories the mean of CTBIL, DBIL and EBIL,
    and half interval disclosure with half linkage by distance. Probabilistic linkage counts only with `relink`, because
    it takes longer than all else together.

    Numeric and categorical attributes evolve apart, each kind by its own score; a linkage by both together is not in
    it, and the records of the best numeric and the best categorical file are joined. An attribute with only one value
    stays as it is. Scores are all that evolution
    sees: other properties may suffer, and attacks that are not in the score may succeed, so assess the release with
    all attacks.

    `start` lists how starting files are made: tables with a method and its parameters, or with several steps. Without
    it numbers start from rank swapping and MDAV, categories from MDAV-generic, rank swapping, PRAM, recoding and
    top and bottom coding.

    >>> people = Microdata.of({"job": list("aabbccddaabb"), "sex": list("fmfmfmfmfmfm")})
    >>> start = [{"method": "pram", "parameters": {"p": p}} for p in (0.3, 0.8)]
    >>> release = Evolved(start=start, generations=200).mask(people, seed=1)
    >>> release.provenance.notes[0].startswith("job, sex: of 2 starting files the best had the score")
    True
    """

    name: ClassVar[str] = "evolved"
    family: ClassVar[str] = "combining"
    summary: ClassVar[str] = "lets masked files evolve by mutation and crossover to a better score of loss and risk"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "records without a missing cell evolve; the others, and where fewer than two are complete all, are as the "
        "starting file of the released one has them; where missing is a category, it evolves like others"
    )
    weights: ClassVar[str] = "not used by the scores; otherwise as the methods of the start treat them"
    source: ClassVar[str] = "Marés (2013), chapter 3, Algorithm 5, Eq. 3.1 to 3.4 (Eq. 3.3 turned round)"
    random: ClassVar[bool] = True
    joint: ClassVar[bool] = True
    suppresses: ClassVar[bool] = True
    quick: ClassVar[MappingProxyType[str, Any]] = MappingProxyType(
        {
            "start": (
                {"method": "rank-swapping", "parameters": {"p": 2.0}},
                {"method": "rank-swapping", "parameters": {"p": 5.0}},
            ),
            "generations": 60,
        }
    )

    start: tuple[Start, ...] | None = parameter(
        default=None,
        help="how the starting files are made: a list of tables with a method and its parameters, or with steps; "
        "unset: a grid of usual methods for each kind",
        min_length=1,
        max_length=10_000,
    )
    by: By = parameter(default="mean", help="how loss and risk are combined: their mean, or the larger of the two")
    share: float = parameter(
        default=0.5, help="weight of the loss in the mean; the risk has 1 minus this weight", ge=0, le=1
    )
    generations: int = parameter(default=2000, help="number of generations", ge=0, le=100_000_000)
    leaders: int = parameter(
        default=2, help="size of the leader group, from which one file of every crossing comes", ge=1, le=10_000
    )
    selection: Weighting = parameter(
        default="inverse",
        help="weight with which a file is drawn: one over its score, how far its score is below the worst, its rank, "
        "or the score itself as Eq. 3.3 prints it",
    )
    cut: Cut = parameter(
        default="printed",
        help="cells that are exchanged: from a random cell to a random later one (printed), or between two random "
        "cells (symmetric)",
    )
    bit_range: BitRange = parameter(
        default="genome",
        help="numbers: which bit is flipped: one within the length of the difference to the original (genome), or "
        "any that the attribute has (word)",
    )
    operators: Operators = parameter(
        default="one",
        help="mutation or crossover in each generation (one), or both with their rates, where mutation is tried in "
        "all cells or in one",
    )
    crossover: float = parameter(default=0.9, help="with both operators: probability of crossover", ge=0, le=1)
    mutation: float = parameter(
        default=0.01, help="with both operators: probability of mutation, of each cell or of one", ge=0, le=1
    )
    accept_equal: bool = parameter(default=False, help="let a child replace its parent also if it is only as good")
    decimals: int | None = parameter(
        default=None,
        help="numbers: decimals that are kept; unset: as many as the original has, up to six digits of its range",
        ge=0,
        le=9,
    )
    clamp: bool = parameter(default=False, help="numbers: stay between the least and the greatest original value")
    relink: int = parameter(
        default=0,
        help="generations after which probabilistic linkage is measured again, which then counts in the risk; 0: it "
        "does not count",
        ge=0,
        le=100_000_000,
    )
    preset: Preset | None = parameter(
        default=None, help="categories: conventions that come nearest to printed tables; unset: the usual ones"
    )

    def _mask_beside(self, tables: Tables, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        data = tables.data
        beside = data if tables.original is None else tables.original
        groups = split_by_kind(beside, attributes)
        columns = {name: data.arrow(name) for name in attributes}
        notes: list[Note] = []
        for names, part in zip(groups, parts(progress, len(groups)), strict=True):
            made, told = self._evolved(beside, data, names, streams, part)
            columns |= made
            notes += told
        return Masked(columns, notes=tuple(notes))

    def _evolved(
        self, original: Microdata, data: Microdata, names: tuple[str, ...], streams: Streams, progress: Progress
    ) -> tuple[dict[str, Any], list[Note]]:
        """The columns of the best file of one kind of attributes, and what is to be said about it."""
        population, notes = self._population(original, data, names, streams, Part(progress, 0.0, 0.4))
        label = f"{self.name}: generations"
        complete = int(population.complete.sum())
        if complete < _FEWEST:
            made = {name: population.files[0].arrow(name) for name in names}
            return made, [*notes, NOT_EVOLVED(attributes=names, complete=complete)]
        generator = streams.generator("generations", *names)
        evolved = population.evolve(
            self._rules, self.generations, generator, Part(progress, 0.4, 0.95), label, other_linkage_every=self.relink
        )
        run = evolved.run
        loss, risk = evolved.measured_again(run.best)
        told = EVOLVED(
            attributes=names,
            files=len(run.scores),
            first=float(run.first_scores.min()),
            generations=self.generations,
            children=run.evaluations,
            last=float(run.scores.min()),
            loss=loss,
            risk=risk,
        )
        return evolved.columns(data, run.best), [*notes, told]

    @property
    def _rules(self) -> Any:
        from microveil.numerics.evolution.file_evolution import Rules

        return Rules(
            self.by, self.share, self.leaders, self.selection, self.cut, self.bit_range, self.operators, self.crossover,
            self.mutation, self.accept_equal,
        )  # fmt: skip

    def _population(
        self, original: Microdata, data: Microdata, names: tuple[str, ...], streams: Streams, progress: Progress
    ) -> tuple[FilePopulation, list[Note]]:
        """The starting files. What the usual grid cannot make of this table is left out; a start that was given is
        not."""
        usual = _NUMBERS if original[names[0]].kind == "numeric" else _CATEGORIES
        starts = [start for start in self.start or usual if _suited(start, data, names)]
        if not starts:
            raise ParameterError(f"{self.name}: none of the starts masks attributes such as '{names[0]}'")
        made: dict[str, Microdata] = {}
        refused: dict[str, MicroveilError] = {}
        for number, (start, part) in enumerate(zip(starts, parts(progress, len(starts)), strict=True)):
            label = " then ".join(f"{step.method} {shown(step.parameters)}".strip() for step in _steps(start))
            seed = derived_seed(streams.seed, "start", number, *names)
            try:
                made[f"{number + 1}: {label}"] = self._start(start, original, data, names, seed)
            except MicroveilError as problem:
                if self.start is not None:
                    raise
                refused[label] = problem
            part(1.0, f"{self.name}: starting files")
        if not made:
            raise next(iter(refused.values()))
        notes = [START_LEFT_OUT(attributes=names, starts=tuple(refused))] if refused else []
        files = tuple(made.values())
        return FilePopulation(original, files, names, self.decimals, self.clamp, self.preset, tuple(made)), notes

    def _start(
        self, start: Mapping[str, Any], original: Microdata, data: Microdata, names: tuple[str, ...], seed: int
    ) -> Microdata:
        """One starting file, if every cell of it can be read as one of the original."""
        steps = tuple(Step(step.method, step.parameters, _masked_by(step, data, names)) for step in _steps(start))
        release = protect(data, Plan(tuple(step for step in steps if step.attributes), seed), progress=silent)
        if release.rows is not None:
            raise DataError(f"{self.name}: a start must keep all records, and {steps[0].method} does not")
        table = release.data
        one = FilePopulation(original, (table,), names, names=(" then ".join(step.method for step in steps),))
        assert len(one.cells)  # which refuses cells that are no longer there, or hold labels
        return table


def _masked_by(step: Step, data: Microdata, names: tuple[str, ...]) -> tuple[str, ...]:
    method: Method = make("method", step.method, step.parameters)
    return tuple(name for name in names if data[name].kind in method.takes)


def _suited(start: Mapping[str, Any], data: Microdata, names: tuple[str, ...]) -> bool:
    return any(_masked_by(step, data, names) for step in _steps(start))
