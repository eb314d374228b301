"""Cells carried out by several processes side by side; those finished earlier are not repeated."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from typing import Any

from microveil.errors import MicroveilError
from microveil.microdata import Microdata
from microveil.numerics.core.compiled import threads
from microveil.progress import Progress, Rising, silent
from microveil.study.cells import Cell
from microveil.study.measuring import Outcome, measure_cell
from microveil.study.store import Store
from microveil.study.worker import READY, packed, unpacked

# sums of BLAS may differ in the last digit with the number of its threads
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
# modules are found where this process finds them, and never in the folder it happens to be in
_START = "import sys; sys.path += sys.argv[1:]; from microveil.study.worker import main; main()"


def run_cells(
    cells: Sequence[Cell], table: Microdata, store: Store, *, workers: int | None = None, progress: Progress = silent
) -> None:
    """Carry out the cells that have no numbers yet, and keep each outcome as soon as it is there.

    As many processes as `workers` says, by default one for each processor; with 0 the work is done in this process.
    The numbers do not depend on it.
    """
    kept = store.finished(cells)
    waiting = [cell for cell in cells if cell.digest not in kept]
    count = min(threads() if workers is None else workers, len(waiting))
    tally = _Tally(len(cells), len(cells) - len(waiting), Rising(progress))
    tally.report("")
    outcomes = _in_processes(waiting, table, count, tally) if count else _here(waiting, table, tally)
    with closing(outcomes):  # also if the user stops it: no process is left behind
        for cell, outcome in outcomes:
            store.keep(cell, outcome)
            tally.end(cell)


class _Tally:
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


def _here(cells: Sequence[Cell], table: Microdata, tally: _Tally) -> Generator[tuple[Cell, Outcome]]:
    table = unpacked(packed(table))  # the same form of the table as a process of its own would have
    for cell in cells:
        yield cell, measure_cell(table, cell, lambda fraction, _, cell=cell: tally.step(cell, fraction))


def _in_processes(
    cells: Sequence[Cell], table: Microdata, count: int, tally: _Tally
) -> Generator[tuple[Cell, Outcome]]:
    """A thread for each process hands it one cell after another; outcomes come in the order in which they are ready."""
    content = packed(table)
    waiting: queue.SimpleQueue[Cell] = queue.SimpleQueue()
    for cell in cells:
        waiting.put(cell)
    reports: queue.SimpleQueue[tuple[Cell | None, Any]] = queue.SimpleQueue()
    crew = [Worker(content, max(1, threads() // count)) for _ in range(count)]
    attendants = [threading.Thread(target=_attend, args=(worker, waiting, reports), daemon=True) for worker in crew]
    try:
        for attendant in attendants:
            attendant.start()
        missing = len(cells)
        while missing:
            served, message = reports.get()
            if served is None:
                raise message
            if isinstance(message, Outcome):
                missing -= 1
                yield served, message
            else:
                tally.step(served, message)
    finally:
        for worker in crew:
            worker.stop()
        for attendant in attendants:
            attendant.join()
        for worker in crew:
            worker.close()


def _attend(
    worker: Worker, waiting: queue.SimpleQueue[Cell], reports: queue.SimpleQueue[tuple[Cell | None, Any]]
) -> None:
    while not worker.stopped:
        try:
            cell = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            reports.put((cell, worker.measure(cell, lambda fraction, cell=cell: reports.put((cell, fraction)))))  # type: ignore[misc]
        except BaseException as problem:
            reports.put((None, problem))
            return


class Worker:
    """A process that measures cells; if it dies, the cell it had fails, and the next one gets a new process."""

    def __init__(self, content: bytes, share_of_threads: int) -> None:
        self.content = content
        self.settings = {"MICROVEIL_THREADS": str(share_of_threads), **dict.fromkeys(_ONE_THREAD, "1")}
        self.process: subprocess.Popen[bytes] | None = None
        self.stopped = False
        self.lock = threading.Lock()

    def measure(self, cell: Cell, progress: Callable[[float], None]) -> Outcome:
        process = self._running()
        with suppress(BrokenPipeError, ValueError):
            _send(process, cell)
        while True:
            message = _received(process)
            if message is None:
                return Outcome(None, _cause_of_death(process.wait()))
            if isinstance(message, Outcome):
                return message
            progress(message)

    def stop(self) -> None:
        """End the process, whatever it is doing; whoever waits for its answer gets none."""
        with self.lock:
            self.stopped = True
            if self.process is not None:
                self.process.kill()

    def close(self) -> None:
        """Give back what the process used; nobody may wait for its answers any more."""
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
