"""Attempts that go wrong on purpose, one for each thing that the fuzzers look for."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

from attempt import Attempt


def make(rng: random.Random, folder: Path) -> Attempt:
    (folder / "people.csv").write_text("age\n1\n", encoding="utf-8")
    acts = {str(random.Random(f"broken {number}").random()): act for number, act in enumerate(_ACTS)}
    return Attempt("on purpose", acts[str(rng.random())])


def _raise() -> None:
    raise KeyError("age")


def _crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _hang() -> None:
    while True:
        pass


def _leave() -> None:
    Path("left.txt").write_text("", encoding="utf-8")


def _change() -> None:
    Path("people.csv").write_text("", encoding="utf-8")


_ACTS = (_raise, _crash, _hang, _leave, _change)
