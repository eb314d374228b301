"""Cells carried out by several processes side by side; those finished earlier are not repeated."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from microveil.errors import Cancelled, MicroveilError
from microveil.microdata import Microdata
from microveil.numerics.core.compiled import threads
from microveil.progress import Progress, Rising, silent
from microveil.study.cells import Cell
from microveil.study.measuring import Outcome, Seen, Tried, measure_cell, unseen
from microveil.study.store import Store
from microveil.study.worker import READY, packed, unpacked

# sums of BLAS may differ in the last digit with the number of its threads
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
# modules are found where this process finds them, and never in the folder it happens to be in
_START = "import sys; sys.path += sys.argv[1:]; from microveil.study.worker import main; main()"


Measure = Callable[[Microdata, Any, Progress], Outcome]


def run_cells(
    cells: Sequence[Cell], table: Microdata, store: Store, *, workers: int | Workers | None = None,
    progress: Progress = silent, seen: Seen = unseen,
) -> None:  # fmt: skip
    """Carry out the cells that have no numbers yet, and keep each outcome as soon as it is there; all are shown.

    As many processes as `workers` says, by default one for each processor; with 0 the work is done in this process.
    The numbers do not depend on it.
    """
    known, kept = store.outcomes(cells), store.finished(cells)
    for cell in cells:
        if cell.digest in kept:
            seen(Tried.of(cell, known[cell.digest]))
    waiting = [cell for cell in cells if cell.digest not in kept]
    tally = Tally(len(cells), len(cells) - len(waiting), Rising(progress))
    tally.report("")
    with Crew(table, workers_of(workers).at_most(len(waiting))) as crew:
        for cell, outcome in crew.outcomes(waiting, tally):
            store.keep(cell, outcome)
            seen(Tried.of(cell, outcome))
            tally.end(cell)


@dataclass(frozen=True)
class Workers:
    """Who carries out cells: so many processes of this machine, or what a subclass starts. Without any, this process
    does."""

    count: int

    def started(self, content: bytes) -> CellWorker:
        """One of them, given the table in its packed form."""
        return Worker(content, max(1, threads() // self.count))

    def at_most(self, most: int) -> Workers:
        return replace(self, count=min(self.count, most))


def workers_of(workers: int | Workers | None) -> Workers:
    """Who works: as many processes as were asked for, by default one for each processor."""
    return workers if isinstance(workers, Workers) else Workers(threads() if workers is None else workers)


class Tally:
    """How many cells are done, and how far those are that are being worked on."""

    def __init__(self, cells: int, done: int, progress: Progress) -> None:
        self.cells, self.done, self.progress = cells, done, progress
        self.under_way: dict[str, float] = {}

    def step(self, cell: Cell, fraction: float) -> None:
        self.under_way[cell.digest] = fraction
        self.report(cell.candidate.label)

    def end(self, cell: Cell) -> None:
        self.under_way.pop(cell.digest, None)
        self.done += 1
        self.report(cell.candidate.label)

    def report(self, label: str) -> None:
        share = (self.done + sum(self.under_way.values())) / max(1, self.cells)
        self.progress(min(1.0, share), f"cell {self.done:,} of {self.cells:,}{': ' + label if label else ''}")


class Crew:
    """The processes that carry out cells of one table, for as long as it is open; without any, this process does.

    `measure` makes the outcome of a cell; worker processes find it by its name, so it is a function of a module.
    """

    def __init__(self, table: Microdata, workers: Workers, measure: Measure = measure_cell) -> None:
        self.measure = measure
        content = packed(table)
        # in the same form as a process of its own would have it
        self.table = None if workers.count else unpacked(content)
        self.workers = [workers.started(content) for _ in range(workers.count)]

    def __enter__(self) -> Crew:
        return self

    def line(self, tally: Tally) -> Line:
        """A line of cells that are handed in one by one, and done in this order."""
        return _LineOfWorkers(self, tally) if self.workers else _LineHere(self, tally)

    def __exit__(self, *raised: object) -> None:
        for worker in self.workers:
            worker.stop()
        for worker in self.workers:
            worker.close()

    def outcomes(
        self, cells: Sequence[Cell], tally: Tally, until: float | None = None
    ) -> Iterator[tuple[Cell, Outcome]]:
        """Each cell with its outcome, in the order in which they are ready; of those that are not ready at a time of
        the monotonic clock, none, and with that the crew has done its work."""
        with self.line(tally) as line:  # also if the user stops it, no process is left behind
            for cell in cells:
                line.hand_in(cell)
            for _ in cells:
                found = line.next(until)
                if found is None:
                    return
                yield found


class Line(ABC):
    """Cells that are handed in one by one, in the order in which they are to be done."""

    def __init__(self, crew: Crew, tally: Tally) -> None:
        self.crew, self.tally = crew, tally

    def __enter__(self) -> Line:
        return self

    @abstractmethod
    def __exit__(self, *raised: object) -> None:
        """Break off what is not finished."""

    @abstractmethod
    def hand_in(self, cell: Cell) -> None:
        """One cell more, to be done after the others."""

    @abstractmethod
    def next(self, until: float | None) -> tuple[Cell, Outcome] | None:
        """The next cell that is finished, with its outcome; none if none is at a time of the monotonic clock, and with
        that the crew has done its work."""


class _LineHere(Line):
    """In this process, when an outcome is asked for."""

    def __init__(self, crew: Crew, tally: Tally) -> None:
        super().__init__(crew, tally)
        self.waiting: deque[Cell] = deque()

    def __exit__(self, *raised: object) -> None:
        self.waiting.clear()

    def hand_in(self, cell: Cell) -> None:
        self.waiting.append(cell)

    def next(self, until: float | None) -> tuple[Cell, Outcome] | None:
        cell, table = self.waiting.popleft(), self.crew.table
        watch = _Watch(cell, self.tally, until)
        assert table is not None
        try:
            return cell, self.crew.measure(table, cell, watch)
        except Cancelled:
            if watch.is_late:
                return None
            raise


class _LineOfWorkers(Line):
    """A thread for each process hands it one cell after another."""

    def __init__(self, crew: Crew, tally: Tally) -> None:
        super().__init__(crew, tally)
        self.waiting: queue.SimpleQueue[Cell | None] = queue.SimpleQueue()
        self.reports: queue.SimpleQueue[tuple[Cell | None, Any]] = queue.SimpleQueue()
        self.missing = 0
        self.attendants = [
            threading.Thread(target=_attend, args=(worker, crew.measure, self.waiting, self.reports), daemon=True)
            for worker in crew.workers
        ]
        for attendant in self.attendants:
            attendant.start()

    def __exit__(self, *raised: object) -> None:
        if self.missing:
            for worker in self.crew.workers:
                worker.stop()
        for _ in self.attendants:
            self.waiting.put(None)
        for attendant in self.attendants:
            attendant.join()

    def hand_in(self, cell: Cell) -> None:
        self.missing += 1
        self.waiting.put(cell)

    def next(self, until: float | None) -> tuple[Cell, Outcome] | None:
        while True:
            try:
                left = None if until is None else max(0.0, until - time.monotonic())
                served, message = self.reports.get(timeout=left)
            except queue.Empty:
                return None
            if served is None:
                raise message
            if isinstance(message, Outcome):
                self.missing -= 1
                return served, message
            self.tally.step(served, message)


class _Watch:
    """Progress of a cell that is measured in this process; it breaks the work off when the time is up."""

    def __init__(self, cell: Cell, tally: Tally, until: float | None) -> None:
        self.cell, self.tally, self.until = cell, tally, until

    @property
    def is_late(self) -> bool:
        return self.until is not None and time.monotonic() >= self.until

    def __call__(self, fraction: float, label: str, /) -> None:
        if self.is_late:
            raise Cancelled("the time is up")
        self.tally.step(self.cell, fraction)


def _attend(
    worker: CellWorker,
    measure: Measure,
    waiting: queue.SimpleQueue[Cell | None],
    reports: queue.SimpleQueue[tuple[Cell | None, Any]],
) -> None:
    while (cell := waiting.get()) is not None and not worker.stopped:
        try:
            reports.put((cell, worker.outcome(measure, cell, lambda part, cell=cell: reports.put((cell, part)))))  # type: ignore[misc]
        except BaseException as problem:
            reports.put((None, problem))
            return


class CellWorker(ABC):
    """Who measures cells, one after the other."""

    stopped: bool = False

    @abstractmethod
    def outcome(self, measure: Measure, cell: Cell, progress: Callable[[float], None]) -> Outcome:
        """What came out of a cell; where the worker dies of it, that."""

    @abstractmethod
    def stop(self) -> None:
        """End the work, whatever it is; whoever waits for its answer gets none."""

    @abstractmethod
    def close(self) -> None:
        """Give back what it used; nobody may wait for its answers any more."""


class Worker(CellWorker):
    """A process that measures cells; if it dies, the cell it had fails, and the next one gets a new process."""

    def __init__(self, content: bytes, share_of_threads: int) -> None:
        self.content = content
        self.settings = {"MICROVEIL_THREADS": str(share_of_threads), **dict.fromkeys(_ONE_THREAD, "1")}
        self.process: subprocess.Popen[bytes] | None = None
        self.stopped = False
        self.lock = threading.Lock()

    def outcome(self, measure: Measure, cell: Cell, progress: Callable[[float], None]) -> Outcome:
        process = self._running()
        with suppress(BrokenPipeError, ValueError):
            _send(process, (measure, cell))
        while True:
            message = _received(process)
            if message is None:
                return Outcome(None, _cause_of_death(process.wait()))
            if isinstance(message, Outcome):
                return message
            progress(message)

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            if self.process is not None:
                self.process.kill()

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                with suppress(BrokenPipeError):
                    assert pipe is not None
                    pipe.close()

    def _running(self) -> subprocess.Popen[bytes]:
        with self.lock:
            if self.process is not None and self.process.poll() is None:
                return self.process
            self.close()
            if self.stopped:
                raise MicroveilError("the study was stopped")
            self.process = process = _started(self.settings)
        with suppress(BrokenPipeError, ValueError):
            _send(process, self.content)
        if _received(process) != READY and not self.stopped:
            raise MicroveilError(
                f"no worker process could be started (status {process.wait()}); with workers = 0 the study does without"
            )
        return process


def _started(settings: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _START, *filter(None, sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("MICROVEIL_DEBUG") else subprocess.DEVNULL,
        env={**os.environ, **settings},
        start_new_session=True,  # Ctrl-C is for the one who started the study
    )


def _send(process: subprocess.Popen[bytes], message: Any) -> None:
    assert process.stdin is not None
    pickle.dump(message, process.stdin)
    process.stdin.flush()


def _received(process: subprocess.Popen[bytes]) -> Any:
    """The next message, or None if none will come any more."""
    assert process.stdout is not None
    try:
        return pickle.load(process.stdout)
    except (EOFError, pickle.UnpicklingError, OSError, ValueError):
        return None


def _cause_of_death(status: int) -> str:
    if status < 0:
        with suppress(ValueError):
            name = signal.Signals(-status).name
            return f"its process was ended from outside ({name}), perhaps because memory ran short"
    return f"its process ended unexpectedly (status {status})"
