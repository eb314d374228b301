"""A look at what a method would do, on a small sample of the table, while its form is filled in."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

from microveil.workbench.jobs import Process

_PATIENCE = 5.0  # seconds that a page waits for a preview
_LONGEST = 60.0  # seconds after which a preview is given up; kernels may have to be compiled the first time
_MOST_KEPT = 50
SLOW = "It takes a while even on a small sample; run it to see what it does."


class Preview:
    """A process of its own for previews, so that they do not wait for what runs. The newest question counts; what was
    found for others is kept, in case that somebody asks again."""

    def __init__(self, folder: Path) -> None:
        self._worker = Process(folder)
        self._lock = threading.Lock()
        self._found: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._under_way: dict[str, tuple[str, float]] = {}  # of each job what was asked, and when
        self._newest = 0

    def ask(self, request: dict[str, Any], patience: float = _PATIENCE) -> dict[str, Any]:
        """The answer, or the reason why there is none."""
        self._newest += 1
        mine, until = self._newest, time.monotonic() + patience
        asked = json.dumps(request, sort_keys=True)
        with self._lock:
            if asked not in self._found and mine == self._newest:
                self._hand_in(f"p{mine}", asked, request)
            while asked not in self._found and mine == self._newest and (left := until - time.monotonic()) > 0:
                self._take(left)
            return self._found.get(asked, {"failed": SLOW if mine == self._newest else ""})

    def _hand_in(self, job: str, asked: str, request: dict[str, Any]) -> None:
        now = time.monotonic()
        if any(now - since > _LONGEST for _, since in self._under_way.values()):
            self._worker.end()
            self._under_way.clear()
        if asked not in [each for each, _ in self._under_way.values()]:
            for other in self._under_way:  # what is asked for no longer ends at its next report of progress
                self._worker.send({"cancel": other})
            self._under_way[job] = asked, now
            self._worker.ask({"job": job, **request})

    def _take(self, seconds: float) -> None:
        """Take in an answer, if one comes in time."""
        try:
            answer = self._worker.answers.get(timeout=min(seconds, 0.2))
        except queue.Empty:
            return
        if answer is None:  # the process has gone
            self._worker.end()
            self._under_way.clear()
        elif "fraction" not in answer and answer["job"] in self._under_way:
            asked, _ = self._under_way.pop(answer["job"])
            if "cancelled" not in answer:
                self._found[asked] = answer
                while len(self._found) > _MOST_KEPT:
                    self._found.popitem(last=False)

    def close(self) -> None:
        self._worker.end()
