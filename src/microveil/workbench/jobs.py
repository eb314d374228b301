"""Long work in processes of its own, with progress and cancel. There are two lines: in one a piece follows the other,
and beside it a study or a search may run for long.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WAITING, RUNNING = "waiting", "running"
SHORT, LONG = "short", "long"
_GRACE = {SHORT: 3.0, LONG: 30.0}  # seconds that a task has to notice that it is cancelled; a search keeps its best
_DIED = "the process that did the work ended unexpectedly, perhaps for lack of memory; the history is as it was before"
_LOOK = 0.2  # seconds after which it is looked whether the work was cancelled
logger = logging.getLogger(__name__)
Outcome = Mapping[str, Any]  # done: the result; failed: why; or cancelled


@dataclass
class Job:
    """A piece of work: what it is called, what the worker is asked, and how far it is. What is `noticed` on the way is
    told at once."""

    name: str
    title: str
    request: dict[str, Any] = field(repr=False)
    ended: Callable[[Outcome], None] = field(repr=False)
    noticed: Callable[[Any], None] | None = field(default=None, repr=False)
    line: str = SHORT
    state: str = WAITING
    fraction: float = 0.0
    label: str = ""
    since: float = 0.0
    cancelled: float | None = None
    is_over: bool = False  # its answer has come, and is being kept

    def to_plain(self) -> dict[str, Any]:
        """As the page shows it, with the time left as far as it can be guessed."""
        spent = time.monotonic() - self.since if self.state == RUNNING else 0.0
        known = self.state == RUNNING and self.fraction > 0.02 and spent > 1.0
        left = spent * (1 - self.fraction) / self.fraction if known else None
        return {"job": self.name, "title": self.title, "state": self.state, "fraction": round(self.fraction, 3),
                "label": self.label, "spent": round(spent), "left": None if left is None else round(left),
                "cancelled": self.cancelled is not None}  # fmt: skip


class Jobs:
    """The two lines together."""

    def __init__(self, folder: Path) -> None:
        self._lines = {name: _Line(folder, _GRACE[name]) for name in (SHORT, LONG)}

    def add(self, job: Job) -> None:
        """Put a job at the end of its line."""
        self._lines[job.line].add(job)

    def listed(self) -> list[dict[str, Any]]:
        """What runs and what waits."""
        return [job for line in self._lines.values() for job in line.listed()]

    def is_asked(self, **wanted: Any) -> bool:
        """Whether a job with such a request runs or waits already."""
        return any(line.is_asked(**wanted) for line in self._lines.values())

    def cancel(self, name: str) -> bool:
        """Cancel a job: one that waits is taken out, one that runs is told so, and ended if it does not listen."""
        return any(line.cancel(name) for line in self._lines.values())

    def close(self) -> None:
        """End the processes; what runs is lost."""
        for line in self._lines.values():
            line.close()


class _Line:
    """A queue, and the thread that sees to it."""

    def __init__(self, folder: Path, grace: float) -> None:
        self._jobs: list[Job] = []
        self._grace = grace
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._closed = False
        self._worker = Process(folder)
        self._thread = threading.Thread(target=self._serve, name="workbench jobs", daemon=True)
        self._thread.start()

    def add(self, job: Job) -> None:
        with self._lock:
            self._jobs.append(job)
        self._wake.set()

    def listed(self) -> list[dict[str, Any]]:
        with self._lock:
            return [job.to_plain() for job in self._jobs]

    def is_asked(self, **wanted: Any) -> bool:
        with self._lock:
            return any(all(job.request.get(k) == v for k, v in wanted.items()) for job in self._jobs)

    def cancel(self, name: str) -> bool:
        with self._lock:
            job = next((job for job in self._jobs if job.name == name), None)
            if job is None or job.is_over or job.cancelled is not None:
                return False
            job.cancelled = time.monotonic()
            if job.state == RUNNING:
                self._worker.send({"cancel": name})
            else:
                self._jobs.remove(job)
        if job.state == WAITING:
            job.ended({"cancelled": True})
        return True

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        self._worker.end()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=10)

    # --- the thread --------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        while not self._closed:
            with self._lock:
                job = self._jobs[0] if self._jobs else None
                if job is not None:
                    job.state, job.since = RUNNING, time.monotonic()
            if job is None:
                self._wake.wait()
                self._wake.clear()
                continue
            outcome = self._run(job)
            if self._closed:
                return
            try:
                job.ended(outcome)
            except Exception as problem:  # the queue goes on, whatever becomes of one result
                # the text of an unforeseen error may hold values of records
                logger.error("what %s gave could not be kept (%s)", job.request["task"], type(problem).__name__)
                if os.environ.get("MICROVEIL_DEBUG"):
                    sys.excepthook(type(problem), problem, problem.__traceback__)
            with self._lock:
                self._jobs.remove(job)

    def _run(self, job: Job) -> Outcome:
        self._worker.ask({"job": job.name, **job.request})
        with self._lock:
            if job.cancelled is not None:  # before there was a process to tell
                self._worker.send({"cancel": job.name})
        outcome = None
        while outcome is None:
            outcome = self._next_answer(job)
        with self._lock:
            job.is_over = True
            # a search keeps its best; whatever else was cancelled is not done, even if it was quicker than the cancel
            return outcome if job.cancelled is None or job.line == LONG else {"cancelled": True}

    def _next_answer(self, job: Job) -> Outcome | None:
        """What the worker tells last; nothing as long as it goes on."""
        if self._closed:
            return {"cancelled": True}
        if job.cancelled is not None and time.monotonic() - job.cancelled > self._grace:
            self._worker.end()
            return {"cancelled": True}
        try:
            answer = self._worker.answers.get(timeout=_LOOK)
        except queue.Empty:
            return None
        if answer is None:
            self._worker.end()
            return {"cancelled": True} if job.cancelled is not None else {"failed": _DIED}
        if answer["job"] != job.name:
            return None
        if "noticed" in answer:
            if job.noticed is not None:
                job.noticed(answer["noticed"])
            return None
        if "fraction" in answer:
            with self._lock:
                job.fraction, job.label = max(job.fraction, answer["fraction"]), answer["label"]
            return None
        return answer


class Process:
    """The worker of a line: started when there is something to do, and again where it has ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, message: dict[str, Any]) -> None:
        """Send a request, to a new process if there is none."""
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-m", "microveil.workbench.worker", str(self.folder)]
            self.answers = queue.SimpleQueue()
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
            threading.Thread(target=_listen, args=(self._process, self.answers), daemon=True).start()
        self.send(message)

    def send(self, message: dict[str, Any]) -> None:
        process = self._process
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):  # that it has gone shows in what it answers
                process.stdin.write(json.dumps(message).encode() + b"\n")
                process.stdin.flush()

    def end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


def _listen(process: subprocess.Popen[bytes], answers: queue.SimpleQueue[dict[str, Any] | None]) -> None:
    assert process.stdout is not None
    with contextlib.suppress(ValueError, OSError):
        for line in process.stdout:
            answers.put(json.loads(line))
    answers.put(None)
