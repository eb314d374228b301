"""The parent's side: a child process that is asked for attempts, and replaced when it crashes or does not answer."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_CHILD = Path(__file__).with_name("child.py")
_PATIENCE = 10  # an attempt that waits for something, not for the processor, may take so many times as long
_SOURCE = Path(__file__).resolve().parents[2] / "src"


class Child:
    """Ask it with `ended = child.attempt("frames", 7)`; it is started when it is first needed."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    def _start(self) -> None:
        their_questions, self._questions = os.pipe()
        self._answers, their_answers = os.pipe()
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(_SOURCE), os.environ.get("PYTHONPATH")])),
            "MICROVEIL_DEBUG": "1",
            "MICROVEIL_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "POLARS_MAX_THREADS": "1",
            "PYTHONHASHSEED": "0",
        }
        self._process = subprocess.Popen(
            [sys.executable, str(_CHILD), str(their_questions), str(their_answers)],
            pass_fds=(their_questions, their_answers),
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_questions)
        os.close(their_answers)

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        os.close(self._questions)
        os.close(self._answers)
        self._process = None

    def _work_of_child(self) -> float:
        """The seconds a processor has worked for it: on a busy machine a long wait alone means nothing."""
        assert self._process is not None
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # no such file system here: the wait has to do
            return time.monotonic()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def attempt(self, kind: str, number: int) -> dict[str, Any]:
        """How the attempt ended; a crash and a hang are findings too."""
        if self._process is None:
            self._start()
        assert self._process is not None
        os.write(self._questions, f"{kind} {number}\n".encode())
        answer, began, spent = b"", time.monotonic(), self._work_of_child()
        while not answer.endswith(b"\n"):
            ready, _, _ = select.select([self._answers], [], [], 1.0)
            if ready:
                piece = os.read(self._answers, 1 << 16)
                answer += piece
                if piece:
                    continue
                what = f"the process ended with status {self._process.wait()}"
            elif self._work_of_child() - spent > self.seconds or time.monotonic() - began > _PATIENCE * self.seconds:
                what = f"no answer after {self.seconds:g} s of work"
            else:
                continue
            self.stop()
            return {"ended": "finding", "what": what, "told": ""}
        ended: dict[str, Any] = json.loads(answer)
        return ended
