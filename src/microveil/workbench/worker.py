"""The process that does the long work of the workbench, so that its pages answer meanwhile.

It is started as a program of its own. Requests come as lines of JSON, and answers go back in the same form; it ends
when nobody listens any more, also in the middle of its work.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
import time
from typing import IO, Any

import microveil as mv
from microveil.applications import MicroveilError, is_near_memory_limit, is_short_of_memory, taken_stdout
from microveil.workbench.tasks import Worker

_PAUSE = 0.1  # seconds between two reports of progress
NO_MEMORY = "there is not enough memory for this; try it on fewer attributes or records"


def main() -> None:
    """Serve until the other side goes away."""
    answers = taken_stdout()
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    cancelled: set[str] = set()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests, cancelled), daemon=True).start()
    worker = Worker(sys.argv[1])
    while True:
        request = requests.get()
        _tell(answers, {"job": request["job"], **_outcome(worker, request, cancelled, answers)})


def _outcome(worker: Worker, request: dict[str, Any], cancelled: set[str], answers: IO[bytes]) -> dict[str, Any]:
    last = 0.0

    def progress(fraction: float, label: str, /) -> None:
        nonlocal last
        if request["job"] in cancelled:
            raise mv.Cancelled("cancelled")
        now = time.monotonic()
        if now - last >= _PAUSE:
            last = now
            _tell(answers, {"job": request["job"], "fraction": fraction, "label": label})

    def notice(told: Any) -> None:
        _tell(answers, {"job": request["job"], "noticed": told})

    try:
        return {"done": worker.run(request, progress, notice)}
    except mv.Cancelled:
        return {"cancelled": True}
    except MicroveilError as problem:
        return {"failed": str(problem)}
    except Exception as problem:
        if is_short_of_memory(problem) or is_near_memory_limit():
            return {"failed": NO_MEMORY}
        if os.environ.get("MICROVEIL_DEBUG"):
            sys.excepthook(type(problem), problem, problem.__traceback__)
        # the text of an unforeseen error may hold values of records
        return {"failed": f"an internal error ({type(problem).__name__}); the history is as it was before"}


def _listen(source: IO[bytes], requests: queue.SimpleQueue[dict[str, Any]], cancelled: set[str]) -> None:
    with contextlib.suppress(ValueError, OSError):
        for line in source:
            request = json.loads(line)
            if "cancel" in request:
                cancelled.add(request["cancel"])
            else:
                requests.put(request)
    os._exit(0)  # nobody waits for the work any more


def _tell(stream: IO[bytes], message: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):
        stream.write(json.dumps(message).encode() + b"\n")
        stream.flush()


if __name__ == "__main__":
    main()
