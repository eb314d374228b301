"""The parent's side: a child process that is asked for attempts, and replaced when it crashes or does not answer."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

_CHILD = Path(__file__).with_name("child.py")
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

    def attempt(self, kind: str, number: int) -> dict[str, Any]:
        """How the attempt ended; a crash and a hang are findings too."""
        if self._process is None:
            self._start()
        assert self._process is not None
        os.write(self._questions, f"{kind} {number}\n".encode())
        answer = b""
        while not answer.endswith(b"\n"):
            ready, _, _ = select.select([self._answers], [], [], self.seconds)
            piece = os.read(self._answers, 1 << 16) if ready else b""
            if not piece:
                status = self._process.poll() if not ready else self._process.wait()
                self.stop()
                what = f"no answer after {self.seconds:g} s" if not ready else f"the process ended with status {status}"
                return {"ended": "finding", "what": what, "told": ""}
            answer += piece
        ended: dict[str, Any] = json.loads(answer)
        return ended
