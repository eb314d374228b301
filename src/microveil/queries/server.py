"""The guarded statistical database: it answers questions as far as its controls allow."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from microveil.errors import DataError, MicroveilError, ParameterError, brief
from microveil.microdata.microdata import Microdata, as_microdata
from microveil.queries.answers import EMPTY_SET, LANGUAGE, Answer, Estimate
from microveil.queries.conditions import attributes_of
from microveil.queries.controls import Control, control_of
from microveil.queries.controls.base import Asked, Change, Guard, refused_statistic
from microveil.queries.database import Database, EngineName
from microveil.queries.log import Log
from microveil.queries.questions import COMPUTED, ORDER_STATISTICS, Question
from microveil.queries.sql import question_of
from microveil.queries.stored import StoredTable

DEFAULT_CONTROLS = ("set-size k=5", "audit")
_LONGEST_NAME = 100
_SHOWN = 2_000  # characters of a question in the log that is none


class QueryServer:
    """A table that answers counts, sums, means and tables, guarded by controls.

    Questions are asked in SQL, in the JSON form or as `Question`. Controls are given as components or as texts such as
    "set-size k=5"; they stand in the order in which they are applied. With a `log` file, questions of earlier sessions
    count too. `key` is the secret of the random numbers; it is drawn, and kept in the log. A `StoredTable` is asked in
    its Parquet file, which may be larger than memory.

    >>> import microveil as mv
    >>> people = mv.datasets.survey(200, seed=1)
    >>> with mv.QueryServer(people, controls=["set-size k=5"], engine="arrays") as server:
    ...     print(server.ask("SELECT COUNT(*) FROM data WHERE age >= 60"))
    ...     print(server.ask("SELECT COUNT(*) FROM data WHERE age >= 200"))
    27
    refused: the query set must have at least 5 records, and at most 5 fewer than all
    """

    def __init__(
        self,
        data: Any,
        controls: Sequence[Control | str] | None = None,
        *,
        log: str | Path | None = None,
        key: str | None = None,
        engine: EngineName = "duckdb",
    ) -> None:
        chosen = DEFAULT_CONTROLS if controls is None else [controls] if isinstance(controls, str) else controls
        self.controls: tuple[Control, ...] = tuple(map(control_of, chosen))
        table = _given(data)
        self.log = Log(log, data=table.digest(), key=key)
        self.engine: EngineName = engine
        self._lock = threading.Lock()
        try:
            self.database, self.guards = self._opened(table, self.log.version)
            self._remember()
        except BaseException:
            self.close()
            raise

    def _opened(self, table: Microdata | StoredTable, version: str) -> tuple[Database, list[Guard]]:
        """The database of a table, and the controls at work on it; a changed table has random numbers of its own."""
        key = hashlib.sha256(f"{self.log.key}|{version}".encode()).hexdigest() if version else self.log.key
        proxies = [proxy for control in self.controls for proxy in control.proxies(key)]
        database = Database(table, engine=self.engine, proxies=proxies)
        try:
            return database, [control.guard(database, key) for control in self.controls]
        except BaseException:
            database.close()
            raise

    def update(self, data: Any) -> None:
        """Answer from a changed table from now on; refused where the change itself would give somebody away.

        Records are recognised by their identifier, or by their place.
        """
        table = _given(data)
        with self._lock:
            database, guards = self._opened(table, table.digest())
            try:
                change = Change(self.database, database)
                for guard in self.guards:
                    reason = guard.change_objection(change)
                    if reason is not None:
                        raise DataError(f"{guard.control.name}: {reason}")
                self.log.changed(table.digest())
            except BaseException:
                database.close()
                raise
            self.database.close()
            self.database, self.guards = database, guards

    def ask(
        self, asked: str | Mapping[str, Any] | Question, analyst: str = "analyst", *, exact: bool = False
    ) -> Answer:
        """Answer a question, or say why not; with `exact`, an answer that a control would change is refused."""
        with self._lock:
            return self._ask(asked, checked_name(analyst), exact)

    def _ask(self, asked: str | Mapping[str, Any] | Question, analyst: str, exact: bool) -> Answer:
        try:
            question = self.understood(asked)
        except MicroveilError as problem:
            answer = Answer(_shortened(asked), reason=str(problem), control=LANGUAGE)
            self._write(analyst, answer.question, None, answer)
            return answer
        changing = [control.name for control in self.controls if not control.gives_exact_answers]
        if exact and changing:
            told = self.database.fields.told(question)
            answer = Answer(told, reason=f"answers are not exact here ({', '.join(changing)})", control=changing[0])
        else:
            answer = self._answer(question, analyst)
        self._write(analyst, asked if isinstance(asked, str) else self.database.fields.told(question), question, answer)
        return answer

    def understood(self, asked: str | Mapping[str, Any] | Question) -> Question:
        """The question in canonical form; what is none raises an error that holds public facts only."""
        fields = self.database.fields
        if isinstance(asked, Question):
            return fields.checked(asked)
        if isinstance(asked, str):
            return question_of(asked, fields)
        return fields.from_plain(asked)

    def _answer(self, question: Question, analyst: str) -> Answer:
        if not question.by:
            return self._single(question, analyst)
        told = self.database.fields.told(question)
        cells = [
            (names, self._single(single, analyst, table=question))
            for names, single in self.database.fields.cells(question)
        ]
        if all(cell.is_refused for _, cell in cells):
            first = cells[0][1] if cells else Answer("", reason="the table has no cells", control=LANGUAGE)
            return Answer(told, reason=first.reason, control=first.control)
        return Answer(told, cells=tuple(cells))

    def _single(self, question: Question, analyst: str, table: Question | None = None) -> Answer:
        told = self.database.fields.told(question)
        asked = self._asked(question, analyst, table)
        reason = refused_statistic(question, self.controls) or self._refused_conditions(asked)
        if reason is not None:
            return Answer(told, reason=reason, control=LANGUAGE)
        for guard in self.guards:
            reason = guard.objection(asked)
            if reason is not None:
                return Answer(told, reason=reason, control=guard.control.name)
        estimate: Estimate | None = self._exact(asked)
        for guard in self.guards:
            estimate = None if estimate is None else guard.estimate(asked, estimate)
        shown = None if estimate is None else estimate.shown
        if estimate is None or (shown is None and estimate.interval is None):
            return Answer(told, reason="there is no record that this could be computed from", control=EMPTY_SET)
        answer = Answer(told, shown, estimate.interval, estimate.deviation)
        for guard in self.guards:
            guard.noted(asked, answer)
        return answer

    def _asked(self, question: Question, analyst: str, table: Question | None) -> Asked:
        """A single question as the guards see it: replaced where they answer another one, and in one form."""
        for guard in self.guards:
            question = guard.replaced(question)
        return Asked(self.database, self.database.normalised(question), analyst, table)

    def _refused_conditions(self, asked: Asked) -> str | None:
        """Statistics over records that are chosen by what is to be protected tell who they are, and a public condition
        beside a confidential one in an OR would choose records unseen by the controls."""
        if not self.controls or not asked.has_secret:
            return None
        if all(control.decides_without_data for control in self.controls):
            return None
        if attributes_of(asked.secret) - self.database.secret_attributes(asked.question):
            return "conditions on confidential attributes stand by themselves, joined to others by AND"
        if asked.question.statistic == "count":
            return None
        return (
            f"a {asked.question.statistic} is taken over records that are chosen by public attributes; those with "
            "conditions on confidential attributes can be counted only"
        )

    def _exact(self, asked: Asked) -> Estimate:
        question = asked.question
        if question.statistic not in ORDER_STATISTICS:
            return Estimate(question.statistic, *asked.exact)
        assert question.value is not None
        values = self.database.values(question.value)[asked.members]
        value = float(COMPUTED[question.statistic](values)) if len(values) else None
        return Estimate(question.statistic, len(values), float(np.sum(values)), value)

    def _write(self, analyst: str, text: str, question: Question | None, answer: Answer) -> None:
        entry: dict[str, Any] = {"analyst": analyst, "asked": text, "outcome": "answered"}
        if question is not None:
            entry["question"] = self.database.fields.to_plain(question)
        if answer.is_refused:
            entry |= {"outcome": "refused", "reason": answer.reason, "control": answer.control}
        else:
            given = [cell for _, cell in answer.cells] or [answer]
            entry["answers"] = [None if cell.is_refused else [cell.value, cell.interval] for cell in given]
        self.log.append(entry)

    def _remember(self) -> None:
        """Tell the guards what was answered in earlier sessions."""
        for entry in self.log.questions():
            if entry["outcome"] != "answered":
                continue
            question = self.database.fields.from_plain(entry["question"])
            singles = self.database.fields.cells(question)
            for (_, single), given in zip(singles, entry["answers"], strict=True):
                if given is None:
                    continue
                asked = self._asked(single, entry["analyst"], question if question.by else None)
                interval = None if given[1] is None else (given[1][0], given[1][1])
                for guard in self.guards:
                    guard.noted(asked, Answer(str(asked.question), given[0], interval))

    def public_facts(self) -> dict[str, Any]:
        """What an analyst may know: the attributes, the number of records and the controls."""
        fields = self.database.fields
        return {
            "records": self.database.records,
            "attributes": [fields[name].to_plain() for name in fields],
            "confidential": sorted(self.database.confidential),
            "controls": [guard.control.to_plain() | guard.public_facts() for guard in self.guards],
        }

    def note_rejected(self, analyst: str, request: str, reason: str) -> None:
        """Log a request that was not a question."""
        with self._lock:
            self.log.append({"analyst": analyst, "request": _shortened(request), "reason": reason})

    def close(self) -> None:
        """Forget the data and end the process of the engine."""
        if hasattr(self, "database"):
            self.database.close()
        self.log.close()

    def __enter__(self) -> QueryServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _given(data: Any) -> Microdata | StoredTable:
    return data if isinstance(data, StoredTable) else as_microdata(data)


def _shortened(asked: object) -> str:
    text = asked if isinstance(asked, str) else brief(asked)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def checked_name(analyst: object) -> str:
    if not isinstance(analyst, str) or not analyst.strip() or len(analyst) > _LONGEST_NAME:
        raise ParameterError(f"an analyst has a name of 1 to {_LONGEST_NAME} characters")
    return analyst
