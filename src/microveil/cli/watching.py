"""Where the memory of the process is limited, a command works in a second process that this one watches.

Libraries written in other languages answer a lack of memory by ending the process, or by trying again for ever, and
neither can be helped from inside. The watching process says in a sentence what has happened, and ends the other one
when it is told to end itself.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from microveil.cli.app import main as work
from microveil.cli.printing import NO_MEMORY, fail
from microveil.errors import memory_limits

# every thread and every allocator reserves addresses, long before it uses them
_FRUGAL = {
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MICROVEIL_THREADS"), "1"),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_NEEDED = 1 << 30, 1 << 29  # bytes of addresses and of data with which every command works on a small table
_SECONDS_TO_END = 5  # for a process that was told to
_DIE_WITH_PARENT = 1  # Linux: PR_SET_PDEATHSIG


def main() -> None:
    """Run the command line."""
    limits = memory_limits()
    only_words = len(sys.argv) == 1 or {"--help", "--version"} & set(sys.argv)
    if not hasattr(os, "fork") or min(limits) == math.inf or only_words:
        work()
        return
    if any(limit < need for limit, need in zip(limits, _NEEDED, strict=True)):
        fail(
            f"the memory of this process is limited (ulimit), and a command needs {_NEEDED[0] >> 20:,} MB of addresses "
            f"and {_NEEDED[1] >> 20:,} MB of data before it reads anything"
        )
    for name, value in _FRUGAL.items():
        os.environ.setdefault(name, value)
    try:
        working = os.fork()
    except OSError:
        fail(NO_MEMORY)
    if working:
        _watch(working)
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    _take_what_waits_for_ever()
    work()


def _take_what_waits_for_ever() -> None:
    """Linear algebra takes its memory once, and tries for ever where there is none: so before any table does."""
    try:
        import numpy as np
        import scipy.linalg

        scipy.linalg.inv(np.eye(64) @ np.eye(64))
    except Exception:
        fail(NO_MEMORY)


def _watch(working: int) -> NoReturn:
    """End as the working process does, or with a sentence if it did not come to its own end."""
    told: list[int] = []

    def pass_on(number: int, frame: object) -> None:
        told.append(number)
        if number != signal.SIGINT:  # which the terminal sends to both
            os.kill(working, number)
        signal.alarm(_SECONDS_TO_END)

    signal.signal(signal.SIGALRM, lambda number, frame: os.kill(working, signal.SIGKILL))
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, pass_on)
    status = os.waitstatus_to_exitcode(os.waitpid(working, 0)[1])
    signal.alarm(0)
    if status >= 0:
        sys.exit(status)
    fail("cancelled; no file is left half written" if told else NO_MEMORY)
