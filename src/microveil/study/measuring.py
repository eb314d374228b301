"""One cell of a study: its release is made and measured; only the measurements are kept, no value of any record."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from microveil.attacks import Risk
from microveil.battery import vulnerability_of
from microveil.errors import Cancelled, MicroveilError
from microveil.losses import Loss
from microveil.masking import Plan
from microveil.microdata import Microdata
from microveil.progress import Part, Progress, silent
from microveil.protection import protect
from microveil.registry import make
from microveil.scoring import Assessment, assess
from microveil.scoring.scores import Score
from microveil.study.cells import Candidate, Cell, Measures, Named

BINS = 20  # of the distribution of the risk of single records


@dataclass(frozen=True)
class Value:
    """One number of one release, in per cent: a loss or a risk, by its label, with its interval and its parts."""

    kind: str
    label: str
    measure: str
    value: float
    low: float | None = None
    high: float | None = None
    per_attribute: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """The numbers of one release. `histogram` counts records by their risk of being identified, from 0 to 1.

    `guarantees` are those that a search counted in it. It is not `complete` where a search left out attacks, because
    those that were run showed already that it is dominated.
    """

    values: tuple[Value, ...]
    loss: float
    risk: float
    score: float
    records: int
    histogram: tuple[int, ...] = ()
    guarantees: Mapping[str, float] = field(default_factory=dict)
    complete: bool = True

    @classmethod
    def of(cls, assessment: Assessment) -> Measured:
        found = cls.by(assessment.losses, assessment.risks, assessment.score, assessment.records)
        return replace(found, histogram=_histogram(assessment))

    @classmethod
    def by(cls, losses: Mapping[str, Loss], risks: Mapping[str, Risk], score: Score, records: int) -> Measured:
        """What some losses and attacks say of so many records."""
        values = [
            Value("loss", label, loss.name, loss.value, per_attribute=dict(loss.per_attribute))
            for label, loss in losses.items()
        ]
        values += [
            Value("risk", label, risk.name, risk.value, risk.low, risk.high, dict(risk.per_attribute))
            for label, risk in risks.items()
        ]
        return cls(tuple(values), score.loss, score.risk, score.value, records)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Measured:
        plain = json.loads(text)
        values = tuple(Value(**value) for value in plain.pop("values"))
        return cls(values, **{**plain, "histogram": tuple(plain["histogram"])})


@dataclass(frozen=True)
class Outcome:
    """How a cell ended: with numbers, or with the reason why there are none."""

    measured: Measured | None
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Tried:
    """A candidate that was measured while a study or a search goes on: its loss and risk in per cent on all records, or
    the reason why there are none. Of a random one this is a single release; of one that is not `complete` only some
    attacks were run, because with their risk it was beaten already."""

    candidate: Candidate
    loss: float | None
    risk: float | None
    reason: str = ""
    complete: bool = True

    @classmethod
    def of(cls, cell: Cell, outcome: Outcome) -> Tried:
        measured = outcome.measured
        if measured is None:
            return cls(cell.candidate, None, None, outcome.reason)
        return cls(cell.candidate, measured.loss, measured.risk, "", measured.complete)


Seen = Callable[[Tried], None]


def unseen(tried: Tried, /) -> None:
    """Nobody looks on."""


def measure_cell(table: Microdata, cell: Cell, progress: Progress = silent) -> Outcome:
    """Make the cell's release and measure it; whatever goes wrong with it is the outcome."""

    def work() -> Measured:
        release = protect(table, Plan(cell.candidate.steps, cell.seed), progress=Part(progress, 0.0, 0.5))
        return Measured.of(_assessed(table, release, cell.measures, Part(progress, 0.5, 1.0)))

    return carefully(work)


def carefully(work: Callable[[], Measured]) -> Outcome:
    """What some work measures, and how long it takes; or why it cannot."""
    began = time.perf_counter()
    measured, reason = None, ""
    try:
        measured = work()
    except Cancelled:
        raise
    except MicroveilError as problem:
        reason = str(problem)
    except MemoryError:
        reason = "there was not enough memory for it"
    except Exception as problem:  # the text of an unforeseen error may hold values of records
        reason = f"internal error ({type(problem).__name__})"
    return Outcome(measured, reason, time.perf_counter() - began)


def _assessed(table: Microdata, release: Any, measures: Measures, progress: Progress) -> Assessment:
    attacks: Any = measures.attacks if isinstance(measures.attacks, str) else made_of("attack", measures.attacks)
    return assess(
        table,
        release,
        measures.attributes,
        known=measures.known,
        attacks=attacks,
        losses=made_of("loss", measures.losses),
        score=make("score", measures.score.name, measures.score.parameters),
        progress=progress,
    )


def made_of(kind: str, named: Sequence[Named] | None) -> list[Any] | None:
    """Measures by their names and parameters; none where the usual ones are meant."""
    return None if named is None else [make(kind, item.name, item.parameters) for item in named]


def _histogram(assessment: Assessment) -> tuple[int, ...]:
    """How many records have which risk of being identified by the attack that is most dangerous to them."""
    found = vulnerability_of(assessment.risks.values(), assessment.records)
    attacked = found[~np.isnan(found)]
    return tuple(np.histogram(attacked, bins=BINS, range=(0.0, 1.0))[0].tolist()) if len(attacked) else ()


def mean_values(measured: Sequence[Measured]) -> tuple[Value, ...]:
    """Each value as its mean over several releases; intervals are those of single releases and do not come along."""
    by_label: dict[tuple[str, str], list[Value]] = {}
    for each in measured:
        for value in each.values:
            by_label.setdefault((value.kind, value.label), []).append(value)
    return tuple(_mean(values) for values in by_label.values())


def _mean(values: Sequence[Value]) -> Value:
    if len(values) == 1:
        return values[0]
    names = values[0].per_attribute
    parts = {n: float(np.mean([v.per_attribute[n] for v in values if n in v.per_attribute])) for n in names}
    mean = float(np.mean([value.value for value in values]))
    return replace(values[0], value=mean, low=None, high=None, per_attribute=parts)
