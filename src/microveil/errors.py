"""The one family of exceptions. A message says what was wrong and where, and never repeats a record's value."""

from __future__ import annotations

import difflib
import errno
import json
import math
import os
import re
import reprlib
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

_SIGNS_OF_SHORT_MEMORY = (
    "cannot allocate memory",
    "failed to map segment",
    "can't start new thread",
    "failed to launch worker thread",
    "out of memory",
    "buffer allocation failed",
)


_LONGEST_PATH = 500  # characters of a path in an error; longer ones are nobody's
_LONGEST_MESSAGE = 1500


class MicroveilError(Exception):
    """Anything Microveil refuses to do, in one sentence; of what a user wrote at length it shows the beginning."""

    def __str__(self) -> str:
        told = re.sub(rf"\S{{{_LONGEST_PATH + 100},}}", lambda word: f"{word[0][:77]}...", super().__str__())
        return told if len(told) <= _LONGEST_MESSAGE else f"{told[:_LONGEST_MESSAGE]}..."

    def __reduce__(self) -> tuple[Any, ...]:
        """So that a worker can send it, whatever it was made of."""
        return _as_it_was, (type(self), self.args, self.__dict__)


def _as_it_was(kind: type[MicroveilError], told: tuple[Any, ...], state: dict[str, Any]) -> MicroveilError:
    error = kind.__new__(kind)
    error.args = told
    error.__dict__.update(state)
    return error


class ParameterError(MicroveilError, ValueError):
    """A parameter of a method, attack or loss has a value that is not allowed."""


class UnknownNameError(MicroveilError, LookupError):
    """A method, measure, parameter, attribute or data set that does not exist was asked for."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        self.name = name
        super().__init__(f"unknown {what} '{shortened(name)}'{nearest_name(name, list(known))}")


class SchemaError(MicroveilError, ValueError):
    """The schema contradicts itself or the table it describes."""


class DataError(MicroveilError, ValueError):
    """The data cannot be treated in the way that was asked for."""


class TooFewRecordsError(DataError):
    """A table, or a part of it, has fewer records than what is asked for needs."""

    def __init__(self, records: int, at_least: int, why: str, *, where: str = "the table") -> None:
        self.records, self.at_least, self.why = records, at_least, why
        held = "1 record" if records == 1 else f"{records:,} records"
        super().__init__(f"{where} has {held}, but {why} needs at least {at_least}")


class GuaranteeError(DataError):
    """A release does not guarantee what was required of it."""


class FileError(MicroveilError, ValueError):
    """A file cannot be read or written: names the file and, where known, line and column."""

    def __init__(self, path: object, problem: str, *, line: int | None = None, column: str | None = None) -> None:
        self.path, self.problem, self.line, self.column = str(path), problem, line, column
        where = "".join([f", line {line}" if line else "", f", column '{column}'" if column else ""])
        told = str(path) if len(str(path)) <= _LONGEST_PATH else f"{str(path)[:_LONGEST_PATH]}..."
        super().__init__(f"{told}{where}: {problem}")


_DEEPEST = 100  # lists and tables in each other that anything here reads


def parsed(read: Callable[[str], Any], text: str) -> Any:
    """What a reader of JSON or TOML makes of a text; what later work could not stand is refused here, once for all."""
    try:
        content = read(text)
    except RecursionError:
        raise ParameterError("is nested too deeply") from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError):
        raise
    except ValueError:
        raise ParameterError("has a number with too many digits") from None
    open_ends = [(0, content)]
    while open_ends:
        depth, value = open_ends.pop()
        if depth > _DEEPEST:
            raise ParameterError("is nested too deeply")
        if isinstance(value, str) and not value.isascii() and value.encode("utf-8", "ignore").decode() != value:
            raise ParameterError("has a text that is not valid Unicode")
        inside = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
        open_ends += [(depth + 1, item) for item in inside]
    return content


def toml_of(plain: Mapping[str, Any]) -> str:
    """Tables, lists and values as TOML; what TOML cannot express is refused."""
    import tomli_w

    try:
        return tomli_w.dumps(plain)
    except (TypeError, ValueError, RecursionError):  # a value of another type, a number of 5,000 digits, deep nesting
        raise ParameterError("there is a value that TOML cannot express, or a number with too many digits") from None


@contextmanager
def errors_of_file(path: object, form: str = "is not a TOML file") -> Iterator[None]:
    """Whatever is wrong with a file or what it says becomes an error that names it."""
    if "\0" in str(path):
        raise FileError(brief(str(path)), "is not a valid file name")
    try:
        yield
    except FileError:
        raise
    except MicroveilError as problem:
        raise FileError(path, str(problem)) from None
    except OSError as problem:
        raise FileError(path, f"cannot be read ({problem.strerror})") from None
    except UnicodeEncodeError:
        raise FileError(brief(str(path)), "is not a valid file name") from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as problem:
        raise FileError(path, f"{form} ({problem})") from None


def shortened(name: str) -> str:
    """A name as an error shows it: the beginning of a very long one."""
    return name if len(name) <= 80 else f"{name[:77]}..."


def brief(value: object) -> str:
    """A value as an error shows it: never longer than a line, however long, deep or large the value is.

    >>> brief("five"), brief(10**5000), brief([[1, 2], "x" * 100])
    ("'five'", 'a number of 5,001 digits', "[[1, 2], 'xxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxx']")
    """
    return _SHORT.repr(value)


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxother = self.maxlong = 42

    def repr_int(self, value: int, level: int) -> str:
        # Python refuses to write out very long numbers
        digits = int(abs(value).bit_length() * math.log10(2)) + 1
        return f"a number of {digits:,} digits" if digits > self.maxlong else repr(value)

    def repr_instance(self, value: object, level: int) -> str:
        shown = super().repr_instance(value, level)
        return shown if "\n" not in shown else f"a value of type {type(value).__name__}"


_SHORT = _Short()


class OutputExistsError(FileError):
    """An output would overwrite a file and nobody asked for that."""

    def __init__(self, path: object) -> None:
        super().__init__(path, "this file exists already; choose another name or force overwriting (--force)")


class PluginError(MicroveilError, ImportError):
    """A method, attack, loss or score of another package cannot be used: names the package and says why."""


class OutputError(MicroveilError):
    """What is printed goes nowhere: its reader has gone away, or the disk is full."""


class Cancelled(MicroveilError):  # noqa: N818 - the user's wish, not an error
    """Raised by a progress callback to stop the work; nothing has been written."""


def is_short_of_memory(problem: BaseException) -> bool:
    """Whether an error says that memory ran out, in whatever way a library says so."""
    if isinstance(problem, MemoryError) or getattr(problem, "errno", None) == errno.ENOMEM:
        return True
    # a library that could not be loaded, or a thread that could not be started; another error may stand before it
    if any(sign in str(problem).lower() for sign in _SIGNS_OF_SHORT_MEMORY):
        return True
    before = problem.__cause__ or problem.__context__
    return before is not None and is_short_of_memory(before)


def is_near_memory_limit() -> bool:
    """Whether this process has had more than half of the memory that it is allowed; no more was left than it had."""
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            sizes = {name: size for name, _, size in (line.partition(":") for line in lines)}
        taken = [1024 * int(sizes[name].split()[0]) for name in ("VmPeak", "VmData")]
    except (OSError, ValueError, LookupError):  # another system: no limit is seen from here
        return False
    return any(size > limit / 2 for size, limit in zip(taken, memory_limits(), strict=True))


def memory_limits() -> tuple[float, float]:
    """The most bytes of addresses and of data that this process may have, as set by `ulimit -v` and `ulimit -d`."""
    try:
        import resource
    except ImportError:  # Windows
        return math.inf, math.inf
    soft = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    addresses, data = (math.inf if limit == resource.RLIM_INFINITY else limit for limit in soft)
    return addresses, data


def check_path(given: object, asker: str, otherwise: str) -> None:
    """Refuse, in a sentence that says what to call, what is no path of a file."""
    if not isinstance(given, str | os.PathLike):
        raise ParameterError(f"{asker} takes the path of a file, not {type(given).__name__}; {otherwise}")


def nearest_name(name: str, known: Sequence[str]) -> str:
    """The end of a sentence that helps: the nearest known name, else all of them.

    >>> nearest_name("mdva", ["mdav", "pram"])
    "; did you mean 'mdav'?"
    """
    close = difflib.get_close_matches(name.lower(), [k.lower() for k in known], n=1, cutoff=0.6)
    if close:
        original = next(k for k in known if k.lower() == close[0])
        return f"; did you mean '{shortened(original)}'?"
    if not known:
        return "; there are none"
    listed = ", ".join(map(shortened, sorted(known)[:12])) + (", ..." if len(known) > 12 else "")
    return f"; there are: {listed}"
