"""Reading a file in a process of its own, because the libraries that read SPSS, Stata, SAS and Excel files are written
in other languages: a damaged file can crash them, or make them ask for more memory than there is. Then that process
ends, and this one says so in a sentence. The table comes back through a pipe; nothing is left on the disk.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NoReturn

import pyarrow as pa

from microveil.errors import FileError

# modules are found where this process finds them, and never in the folder it happens to be in
_START = "import sys; sys.path += sys.argv[1:]; from microveil.microdata.files.isolation import main; main()"
_TABLE, _REFUSAL = b"T", b"R"
_DESCRIPTION = b"description"
_GIB = 1 << 30
# what reading may take at most, in bytes and in seconds: a fixed part, and one for each byte of the file
_MEMORY, _MEMORY_BY_BYTE = 4 * _GIB, 256
_SECONDS, _SECONDS_BY_BYTE = 120.0, 1e-5
_KILLED = getattr(signal, "SIGKILL", 9)  # what a system does that runs out of memory
_NO_MEMORY = "there is not enough memory for this table"
_DAMAGED = {"excel": "the workbook is damaged or cut off; save it again"}
_ANY_DAMAGED = "the file is damaged, cut off, protected or in an unknown encoding"


def read_isolated(path: Path, format_name: str, **options: Any) -> tuple[pa.Table, list[dict[str, Any]]]:
    """The table of a file, and in plain form what the file says about each of its columns."""
    size = path.stat().st_size
    request = {"path": str(path), "format": format_name, "memory": _memory_for(size), **options}
    with _Reading(path, format_name, request, _SECONDS + _SECONDS_BY_BYTE * size) as reading:
        return reading.result()


class _Reading:
    """A process that reads; it ends with the `with` block, whatever happens."""

    def __init__(self, path: Path, format_name: str, request: dict[str, Any], seconds: float) -> None:
        self.path, self.format_name, self.seconds = path, format_name, seconds
        self.process = _started(request)
        self.too_slow = False
        self.timer = threading.Timer(seconds, self._give_up)
        self.timer.daemon = True

    def __enter__(self) -> _Reading:
        self.timer.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.timer.cancel()
        self.timer.join()
        self.process.end()

    def _give_up(self) -> None:
        self.too_slow = True
        self.process.kill()

    def result(self) -> tuple[pa.Table, list[dict[str, Any]]]:
        try:
            return self._answer(self.process.answers)
        except FileError:
            raise
        except MemoryError:
            raise FileError(self.path, _NO_MEMORY) from None
        except (pa.ArrowException, EOFError, OSError, ValueError):
            raise FileError(self.path, self._why_it_ended(self.process.wait())) from None

    def _answer(self, stream: IO[bytes]) -> tuple[pa.Table, list[dict[str, Any]]]:
        mark = stream.read(1)
        if mark == _REFUSAL:
            raise FileError(self.path, **json.loads(stream.read()))
        if mark != _TABLE:
            raise EOFError
        table = pa.ipc.open_stream(stream).read_all()
        return table.replace_schema_metadata(None), json.loads(table.schema.metadata[_DESCRIPTION])

    def _why_it_ended(self, status: int) -> str:
        if self.too_slow:
            return f"reading was given up after {self.seconds:,.0f} seconds; the file is probably damaged"
        if status == -_KILLED:
            return _NO_MEMORY
        if self.format_name == "excel":
            return (
                "the workbook is damaged, or its cells lie so far apart that no memory holds the sheet; "
                "delete what stands outside the table and save it again"
            )
        return f"{_ANY_DAMAGED}: the library that reads it crashed"


def _started(request: dict[str, Any]) -> _Spawned | _Forked:
    """A copy of this process starts at once, but is safe only where there is one thread and the system is Linux."""
    if sys.platform == "linux" and threading.active_count() == 1:
        with suppress(OSError):
            return _Forked(request)
    return _Spawned(request)


class _Spawned:
    """A new interpreter."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, *filter(None, sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("MICROVEIL_DEBUG") else subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for this process, which then ends the other
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.answers: IO[bytes] = self._process.stdout
        with suppress(OSError), self._process.stdin as requests:
            requests.write(json.dumps(request).encode("ascii"))

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        return self._process.wait()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self.answers.close()


class _Forked:
    """A copy of this process."""

    def __init__(self, request: dict[str, Any]) -> None:
        _import_readers(request["format"])  # a copy must not import: another thread may have been at it
        ours, theirs = os.pipe()
        self._status: int | None = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # idle threads of libraries are no danger
                self._pid = os.fork()
        except OSError:
            os.close(ours)
            os.close(theirs)
            raise
        if self._pid == 0:
            os.close(ours)
            _work_in_copy(request, theirs)
        os.close(theirs)
        self.answers: IO[bytes] = os.fdopen(ours, "rb")

    def kill(self) -> None:
        if self._status is None:
            os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._status is None:
            _, status = os.waitpid(self._pid, 0)
            self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def end(self) -> None:
        self.kill()
        self.wait()
        self.answers.close()


def _memory_for(size: int) -> int:
    """How much memory reading a file of this size may take: no more than there is, and no more than is sensible."""
    return min(_MEMORY + _MEMORY_BY_BYTE * size, max(_free_memory(), _GIB))


def _free_memory() -> int:
    with suppress(OSError, ValueError), open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return sys.maxsize


# --- in the other process --------------------------------------------------------------------------------------------


def main() -> None:
    """What a new interpreter does: read the file that it is asked for on its standard input."""
    answers = taken_stdout()
    request = json.loads(sys.stdin.buffer.read())
    _import_readers(request["format"])  # what these take is no part of what the file may take
    _serve(request, answers)


def taken_stdout() -> IO[bytes]:
    """Standard output for answers alone: what a library prints must not get between them, and goes to errors."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _work_in_copy(request: dict[str, Any], pipe: int) -> NoReturn:
    """What a copy of the process does; it ends at once, so that nothing of the other's is written or given back."""
    try:
        faulthandler.disable()  # what goes wrong here is told in a sentence
        os.setsid()  # Ctrl-C is for the other process, which then ends this one
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        if not os.environ.get("MICROVEIL_DEBUG"):
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
        _serve(request, os.fdopen(pipe, "wb"))
    except BaseException:
        os._exit(1)
    os._exit(0)


def _serve(request: dict[str, Any], answers: IO[bytes]) -> None:
    """Send the table of a file, or the reason why there is none."""
    _limit(request.pop("memory"))
    gc.disable()  # the process lives for one file only
    path, format_name = Path(request.pop("path")), request.pop("format")
    with suppress(BrokenPipeError), answers:
        try:
            with _refusals(path, format_name):
                table, description = _read(path, format_name, **request)
                table = table.replace_schema_metadata({_DESCRIPTION: json.dumps(description)})
        except FileError as problem:
            told = {"problem": problem.problem, "column": problem.column}
            answers.write(_REFUSAL + json.dumps(told).encode("ascii"))
        else:
            answers.write(_TABLE)
            with pa.ipc.new_stream(answers, table.schema) as stream:
                stream.write_table(table)


def _import_readers(format_name: str) -> None:
    importlib.import_module(f"microveil.microdata.files.{'excel' if format_name == 'excel' else 'labelled.reader'}")
    with suppress(ImportError):
        importlib.import_module("python_calamine" if format_name == "excel" else "pyreadstat")


def _read(path: Path, format_name: str, **options: Any) -> tuple[pa.Table, list[dict[str, Any]]]:
    if format_name == "excel":
        from microveil.microdata.files.excel import read_excel

        return read_excel(path, **options), []
    from microveil.microdata.files.labelled.reader import read_labelled

    return read_labelled(path, format_name, **options)


@contextmanager
def _refusals(path: Path, format_name: str) -> Iterator[None]:
    """Whatever goes wrong in a library is the file's fault."""
    try:
        yield
    except FileError:
        raise
    except MemoryError:
        raise FileError(path, _NO_MEMORY) from None
    except BaseException:  # also what Rust calls a panic, which is no Exception
        if os.environ.get("MICROVEIL_DEBUG"):
            raise
        raise FileError(path, _DAMAGED.get(format_name, _ANY_DAMAGED)) from None


def _limit(memory: int) -> None:
    """No more memory than this, and no copy of the memory on the disk after a crash; where the system can do that."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        allowed = [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit != resource.RLIM_INFINITY]
        most = min([memory + _taken(), *allowed])
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _taken() -> int:
    """The addresses that the process has taken before it reads anything."""
    with suppress(OSError, ValueError), open("/proc/self/statm", encoding="ascii") as numbers:
        return int(numbers.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0
