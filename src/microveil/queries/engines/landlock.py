"""Landlock: the kernel of Linux keeps a process from all files but a few, and from the network.

What a process gives up so it never gets back, whatever code runs in it. Other systems, and kernels before 5.13, have no
such thing; there the locks of DuckDB itself and the limits of the process stand alone.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from contextlib import suppress

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls; the same on all architectures
_ASK_VERSION, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_READ_FILE, _LIST_FOLDER = 1 << 2, 1 << 3
# how many rights on files there are by version: executing, writing, reading, listing, removing, making; then linking
# across folders, truncating, and control of devices
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_LATEST = 16
_WITH_NETWORK = 4  # the version that knows binding and connecting


def restrict_to(*paths: str) -> bool:
    """From here on, this thread and those it starts can read these files, and what is in these folders, and open
    nothing else; whether the kernel sees to it."""
    if not sys.platform.startswith("linux"):
        return False
    with suppress(OSError, AttributeError):
        return _restricted(ctypes.CDLL(None, use_errno=True), paths)
    return False


def _restricted(system: ctypes.CDLL, paths: tuple[str, ...]) -> bool:
    version = int(system.syscall(_CREATE, None, ctypes.c_size_t(0), _ASK_VERSION))
    if version < 1:
        return False
    files = (1 << _RIGHTS.get(version, _LATEST)) - 1
    told = struct.pack("=QQ", files, 3) if version >= _WITH_NETWORK else struct.pack("=Q", files)
    rules = int(system.syscall(_CREATE, told, ctypes.c_size_t(len(told)), 0))
    if rules < 0:
        return False
    try:
        if not all(_is_allowed(system, rules, path) for path in paths):
            return False
        if system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            return False
        return int(system.syscall(_RESTRICT, rules, 0)) == 0
    finally:
        os.close(rules)


def _is_allowed(system: ctypes.CDLL, rules: int, path: str) -> bool:
    """Except a file or a folder, for reading."""
    file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights = _READ_FILE | _LIST_FOLDER if os.path.isdir(path) else _READ_FILE
        told = struct.pack("=Qi", rights, file)
        return int(system.syscall(_ADD, rules, _PATH_BENEATH, told, 0)) == 0
    finally:
        os.close(file)
