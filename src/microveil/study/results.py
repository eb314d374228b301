"""What a study found: the ranking of its candidates, the front and the knee, and tables of all numbers."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from microveil.comparison.knowledge import Knowledge
from microveil.display import paragraph, text_table
from microveil.errors import DataError
from microveil.masking import Plan
from microveil.masking.release import Provenance
from microveil.microdata import Schema
from microveil.microdata.files.atomic import make_folder, text_writer, write_together
from microveil.microdata.microdata import count
from microveil.scoring import Assessment, decisions
from microveil.study.cells import MEAN, Candidate, Cell, Named
from microveil.study.measuring import Measured, Outcome, Value, mean_values

if TYPE_CHECKING:
    from microveil.reporting.risk_utility import Spot

PLAN, TABLE, SUMMARY, PAGE, STORE = "plan-best.toml", "table.csv", "summary.csv", "study.html", "study.sqlite"
SETTING = "set."  # before the name of a parameter, so that no column of a measure has the same
_SCORED = ("score", "loss", "risk")
_IN_TABLE = ("candidate", "methods", "repeat", "kind", "measure", "value", "low", "high")
_IN_SUMMARY = (
    *("rank", "candidate", "methods", "records", "repeats", "failed"),
    *(column for name in _SCORED for column in (name, f"{name}_deviation")),
    *("front", "best"),
    *(f"again_{name}" for name in _SCORED),
)


@dataclass(frozen=True)
class Run:
    """A candidate made once, with this seed, and measured."""

    measured: Measured
    repeat: int = 1
    seed: int = 0
    seconds: float = 0.0

    @property
    def loss(self) -> float:
        return self.measured.loss

    @property
    def risk(self) -> float:
        return self.measured.risk

    @property
    def score(self) -> float:
        return self.measured.score


@dataclass(frozen=True)
class Result:
    """A candidate with what was measured; `loss`, `risk` and `score` are means over its runs.

    `number` is its position in the order in which candidates were named; `failed` counts the runs without numbers.
    `again` is the release that its plan makes, if that was measured: once, with a seed of its own, after the choice.
    """

    candidate: Candidate
    runs: tuple[Run, ...]
    number: int = 0
    failed: int = 0
    again: Run | None = None

    @property
    def loss(self) -> float:
        return self.mean("loss")

    @property
    def risk(self) -> float:
        return self.mean("risk")

    @property
    def score(self) -> float:
        return self.mean("score")

    def mean(self, name: str) -> float:
        """The mean of the loss, the risk or the score over the runs."""
        return float(np.mean([getattr(run, name) for run in self.runs]))

    def deviation(self, name: str) -> float:
        """Their standard deviation over the runs; 0 if there is only one."""
        values = [getattr(run, name) for run in self.runs]
        return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0

    def spread(self, name: str) -> tuple[float, float] | None:
        """The mean less and plus one standard deviation; none with a single run."""
        if len(self.runs) < 2:
            return None
        return self.mean(name) - self.deviation(name), self.mean(name) + self.deviation(name)

    @property
    def values(self) -> tuple[Value, ...]:
        """Every loss and risk, as its mean over the runs."""
        return mean_values([run.measured for run in self.runs])

    def value(self, label: str) -> float | None:
        """One loss or risk by its label."""
        return next((value.value for value in self.values if value.label == label), None)

    @property
    def histogram(self) -> tuple[float, ...]:
        """Records by their risk of being identified, from 0 to 1, as means over the runs."""
        counts = [run.measured.histogram for run in self.runs if run.measured.histogram]
        return tuple(np.mean(counts, axis=0).tolist()) if counts else ()

    @property
    def records(self) -> int:
        """How many records the release has; the fewest of all runs."""
        return min(run.measured.records for run in self.runs)

    @property
    def highest_risk(self) -> float:
        """The mean over the runs, or the risk of the release that the plan makes if that is higher."""
        return self.risk if self.again is None else max(self.risk, self.again.risk)

    @property
    def seconds(self) -> float:
        return float(np.mean([run.seconds for run in self.runs]))


@dataclass(frozen=True)
class Failure:
    """A cell without numbers, and why; repeat 0 is what the plan makes."""

    candidate: Candidate
    repeat: int
    reason: str
    number: int = 0


@dataclass(frozen=True)
class Started:
    """How a study was started from its file: on the table at `source`, which `given_data` instead of the file names, if
    that is so, and how that table is read."""

    file: str
    source: str
    given_data: bool = False
    reading: Mapping[str, str] = field(default_factory=dict)

    def commands(self, folder: Path, *, has_plan: bool) -> list[list[str]]:
        """The words of the commands that carry out the study again and make the best release."""
        data = ["--data", self.source] if self.given_data else []
        words = [["study", self.file, *data, "--out", str(folder)]]
        if has_plan:
            reading = [word for name, value in self.reading.items() for word in (f"--{name}", value)]
            plan = ["--plan", str(folder / PLAN), *reading]
            words.append(["protect", self.source, *plan, "--out", "safe.csv"])
        return words


@dataclass(frozen=True)
class Study:
    """Results from the best score to the worst. With a bound on the risk, the best is what loses least within it.

    `call` is the function of Python that made it, and what it was given.
    """

    results: tuple[Result, ...]
    failures: tuple[Failure, ...] = ()
    title: str = "Study"
    organisation: str = ""
    author: str = ""
    attributes: tuple[str, ...] = ()
    records: int = 0
    score: Named = MEAN
    risk_bound: float | None = None
    schema: Schema | None = field(default=None, repr=False)
    started: Started | None = None
    knowledge: Knowledge | None = None
    call: tuple[str, ...] = ("run_study", "design", "data")

    @classmethod
    def of(cls, measured: Iterable[tuple[Candidate, Assessment]], **about: Any) -> Study:
        """A study of releases that were made and measured elsewhere."""
        results = [
            Result(candidate, (Run(Measured.of(assessment)),), number)
            for number, (candidate, assessment) in enumerate(measured)
        ]
        return cls(_ranked(results), **about)

    @property
    def best(self) -> Result:
        """The best score or, where the risk is bounded, the least loss within the bound."""
        return self._measured[0] if self.risk_bound is None else self.least_loss(self.risk_bound)

    @property
    def chosen(self) -> Result | None:
        """The best, where a candidate is within the bound."""
        return self.best if self.admissible else None

    @property
    def _measured(self) -> tuple[Result, ...]:
        """The results, of which there must be at least one."""
        if not self.results:
            reason = self.failures[0].reason if self.failures else "there is none"
            raise DataError(f"no candidate of the study could be measured ({reason})")
        return self.results

    @property
    def admissible(self) -> tuple[Result, ...]:
        """Those within the bound on the risk; all of them without one."""
        return self.results if self.risk_bound is None else tuple(self._below(self.risk_bound))

    def _below(self, bound: float) -> list[Result]:
        """Those whose mean risk is below a bound, and also the risk of their plan's release where it was measured."""
        return [result for result in decisions.admissible(self.results, bound) if result.highest_risk < bound]

    def least_loss(self, risk_below: float) -> Result:
        """The least loss among those whose risk is below the bound: on average, and in the release of their plan where
        it was measured."""
        lowest = min(self._measured, key=lambda result: result.highest_risk)
        found = decisions.least_loss(self._below(risk_below), risk_below)
        if found is None:
            raise DataError(
                f"no candidate has a risk below {risk_below:g} %; the lowest is {lowest.highest_risk:.2f} % "
                f"({lowest.candidate.label})"
            )
        return found

    @property
    def front(self) -> tuple[Result, ...]:
        """The results that no other beats in both loss and risk, by rising risk."""
        return tuple(decisions.front(self.results))

    @property
    def knee(self) -> Result | None:
        """The knee of the front, beyond which a little less of one side costs much of the other; a front of fewer than
        three points has none."""
        points = {(result.loss, result.risk) for result in self.front}
        return decisions.knee(self.results) if len(points) > 2 else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of the ranking: a bound that nobody meets, releases of some records only, and what failed."""
        told = []
        if self.results and not self.admissible:
            told.append(
                f"no candidate has a risk below {self.risk_bound:g} %, so there is no best one and no plan of it"
            )
        if any(map(self.is_part, self.results)):
            told.append(
                "for candidates that release only some of the records, losses and risks refer to the released records"
            )
        for failure in self.failures:
            run = f"repeat {failure.repeat}" if failure.repeat else "the release of its plan"
            told.append(f"{failure.candidate.label} ({run}) failed: {failure.reason}")
        return tuple(told)

    def is_part(self, result: Result) -> bool:
        """Whether its releases have only some of the records, so that losses say nothing about the others."""
        return result.records < self.records

    def plan(self, result: Result | None = None) -> Plan:
        """The plan of a result (by default the best): with the seed of the release that was measured `again`, so that
        it makes that one; without any seed where none was, so that one is drawn."""
        chosen = self.best if result is None else result
        steps, seed = chosen.candidate.steps, None if chosen.again is None else chosen.again.seed
        return Plan(steps, seed) if self.schema is None else Provenance(steps, seed, "", self.records, self.schema).plan

    def with_planned(self, cell: Cell, outcome: Outcome) -> Study:
        """The same study, with what became of the release that a candidate's plan makes."""
        if outcome.measured is None:
            number = next(result.number for result in self.results if result.candidate is cell.candidate)
            failed = Failure(cell.candidate, cell.repeat, outcome.reason, number)
            return replace(self, failures=(*self.failures, failed))
        again = Run(outcome.measured, cell.repeat, cell.seed, outcome.seconds)
        results = (replace(r, again=again) if r.candidate is cell.candidate else r for r in self.results)
        return replace(self, results=tuple(results))

    # --- tables --------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each cell and measure: the candidate, what varies, the repeat, the measure and its value.

        The columns of parameters begin with `set.`, for a parameter may be called `risk` too."""
        return [
            {**_identifying(self, result.candidate), "repeat": run.repeat, **row}
            for result in _as_designed(self.results)
            for run in result.runs
            for row in _measures_of(run.measured)
        ]

    @property
    def table(self) -> pa.Table:
        """The rows as a table, which pandas, polars and narwhals take too."""
        return _table(_columns_of(self, _IN_TABLE, self.rows), self.rows)

    @property
    def summary_rows(self) -> list[dict[str, Any]]:
        """One row for each candidate, the best score first: means and standard deviations over its repeats;
        `again_score` and so on are those of the release that the plan makes."""
        chosen = self.chosen
        front = set(map(id, self.front))
        rows = []
        for rank, result in enumerate(self.results, start=1):
            row = {"rank": rank, **_identifying(self, result.candidate), "records": result.records}
            row |= {"repeats": len(result.runs), "failed": result.failed}
            for name in _SCORED:
                row |= {name: result.mean(name), f"{name}_deviation": result.deviation(name)}
            row |= {"front": id(result) in front, "best": result is chosen}
            row |= {f"again_{name}": result.again and getattr(result.again, name) for name in _SCORED}
            rows.append(row | {f"{value.kind} {value.label}": value.value for value in result.values})
        return rows

    @property
    def summary(self) -> pa.Table:
        return _table(_columns_of(self, _IN_SUMMARY, self.summary_rows), self.summary_rows)

    def __str__(self) -> str:
        lines = [f"{self.title}: {count(len(self.results), 'candidate')}, {count(self.records, 'record')}"]
        if self.knowledge is not None:
            lines += paragraph(str(self.knowledge))
        head = ("", "loss %", "risk %", "score", "candidate")
        ranked = [
            (str(rank), f"{result.loss:.2f}", f"{result.risk:.2f}", f"{result.score:.2f}", result.candidate.label)
            for rank, result in enumerate(self.results, start=1)
        ]
        lines += text_table([head, *ranked], right={0, 1, 2, 3})
        lines += [f"failed: {failure.candidate.label}: {failure.reason}" for failure in self.failures]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from microveil.study.page import study_fragment

        return study_fragment(self)

    def _again(self, folder: Path) -> str:
        """The commands that carry out the study and make the best release, or the lines of Python."""
        has_plan = bool(self.admissible)
        if self.started is not None:
            return "\n".join(
                shlex.join(["microveil", *words]) for words in self.started.commands(folder, has_plan=has_plan)
            )
        function, *given = self.call
        lines = [f'{function}({", ".join(given)}, out="{folder}")']
        lines += [f'protect(data, read_plan("{folder / PLAN}")[0])'] * has_plan
        return "\n".join(lines)

    def save(self, folder: str | Path, *, lead: str | None = None, tried: Sequence[Spot] = ()) -> dict[str, Path]:
        """Write the tables, the page and the plan of the best into a folder, all or none; return their paths. The page
        begins with the `lead`, if there is one, and its map shows what a search has `tried`."""
        from microveil.study.page import study_page

        folder = make_folder(folder)
        rows, summary = self.rows, self.summary_rows
        texts = {
            TABLE: csv_text(_columns_of(self, _IN_TABLE, rows), rows),
            SUMMARY: csv_text(_columns_of(self, _IN_SUMMARY, summary), summary),
            PAGE: study_page(self, again=self._again(folder), lead=lead, tried=tried),
        }
        if self.admissible:
            texts[PLAN] = self.plan().to_toml()
        else:
            (folder / PLAN).unlink(missing_ok=True)  # of an earlier run
        paths = {name: folder / name for name in texts}
        # the seed of the plan helps to undo the masking
        private = [folder / PLAN]
        write_together({paths[name]: text_writer(text) for name, text in texts.items()}, force=True, private=private)
        return paths


def study_of(cells: Sequence[Cell], outcomes: Mapping[str, Outcome], **about: Any) -> Study:
    """Gather the outcomes of cells by candidate, and rank."""
    by_candidate: dict[str, list[Cell]] = {}
    for cell in cells:
        by_candidate.setdefault(cell.candidate.label, []).append(cell)
    results, failures = [], []
    for number, own in enumerate(by_candidate.values()):
        runs = []
        for cell in own:
            outcome = outcomes[cell.digest]
            if outcome.measured is None:
                failures.append(Failure(cell.candidate, cell.repeat, outcome.reason, number))
            else:
                runs.append(Run(outcome.measured, cell.repeat, cell.seed, outcome.seconds))
        if runs:
            results.append(Result(own[0].candidate, tuple(runs), number, len(own) - len(runs)))
    return Study(_ranked(results), tuple(failures), **about)


def _ranked(results: Iterable[Result]) -> tuple[Result, ...]:
    """By the score; of the same scores the one whose loss and risk are nearest to each other comes first."""
    return tuple(sorted(results, key=lambda r: (r.score, abs(r.loss - r.risk), r.candidate.label)))


def _measures_of(measured: Measured) -> list[dict[str, Any]]:
    summary = [Value("score", name, name, getattr(measured, name)) for name in ("loss", "risk", "score")]
    return [
        {"kind": value.kind, "measure": value.label, "value": value.value, "low": value.low, "high": value.high}
        for value in (*measured.values, *summary)
    ]


def _as_designed(results: Sequence[Result]) -> list[Result]:
    """In the order in which the candidates were named, which no number changes."""
    return sorted(results, key=lambda result: result.number)


def _identifying(study: Study, candidate: Candidate) -> dict[str, Any]:
    """The columns that tell candidates apart; a parameter that a candidate does not have is empty."""
    settings = {f"{SETTING}{name}": candidate.varied.get(name) for name in _varied(study)}
    return {"candidate": candidate.label, "methods": candidate.family, **settings}


def _varied(study: Study) -> list[str]:
    """Every parameter that varies, also of candidates that failed."""
    candidates: list[Result | Failure] = [*study.results, *study.failures]
    tried = sorted(candidates, key=lambda one: one.number)
    return list(dict.fromkeys(name for one in tried for name in one.candidate.varied))


def _columns_of(study: Study, fixed: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns of a table, which has them even if it has no rows."""
    first = fixed.index("methods") + 1
    settings = [f"{SETTING}{name}" for name in _varied(study)]
    return list(dict.fromkeys([*fixed[:first], *settings, *fixed[first:], *(name for row in rows for name in row)]))


def _table(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # numbers beside words: a parameter that takes both
        return pa.array([None if value is None else str(value) for value in values])


def csv_text(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as the text of a CSV file with these columns; what a row does not have is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
