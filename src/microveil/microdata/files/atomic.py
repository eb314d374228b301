"""Files are never half written: they are made beside their place and moved there when all of them are complete.

Files that belong together (a release, its manifest and its private file) must survive a process that is killed in the
middle. Each writing has a hidden journal in the folder, locked as long as the process lives. It is empty until all
files are complete; then it lists them, and from this moment on they will be moved, if not by this process, by the next
one that writes into the folder or the next command that reads a table there. What a dead process left that is in no
list is deleted.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from microveil.errors import FileError, OutputExistsError, ParameterError

Writer = Callable[[Path], None]

_LEFT_BEHIND = re.compile(r"(\.microveil-(\d+)-[0-9a-f]{16})(?:-\d+\.tmp.*)?", re.DOTALL)
_UNDO, _DONE = b"undo\n", b"done\n"
_PRIVATE_MODE = 0o600
_BEFORE = ".before"


def check_output(path: str | Path, *, force: bool, inputs: Iterable[str | Path | None] = ()) -> Path:
    """Whether a file may be written here, and is none of the inputs; asked before any long work starts."""
    path = Path(path)
    with _errors_of(path):
        recover(path.parent)
        if path.is_dir():
            raise FileError(path, "this is a folder; name a file")
        check_apart([path], inputs)
        if path.exists() and not path.is_file():
            raise FileError(path, "this is a pipe or a device; name a file")
        if _exists(path) and not force:
            raise OutputExistsError(path)
        if not path.parent.is_dir():
            raise FileError(path, f"the folder '{path.parent}' does not exist")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise FileError(path, f"nothing can be written into the folder '{path.parent}'")
    return path


def check_apart(outputs: Iterable[str | Path], inputs: Iterable[str | Path | None]) -> None:
    """Refuse an output that is one of the inputs, also under another name (a link, or other letter cases)."""
    read = [Path(path) for path in inputs if path is not None]
    for output in map(Path, outputs):
        for path in read:
            if _is_same(output, path):
                raise ParameterError(f"the output {output} would overwrite the input {path}; choose another name")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them does not exist
        return os.path.abspath(one) == os.path.abspath(other)


def _exists(path: Path) -> bool:
    """Whether something has this name, also a link to nothing; what the system says against the name is raised."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def check_folder_path(path: str | Path) -> Path:
    """Whether a folder is or can be made here; asked before any long work starts."""
    path = Path(path)
    for part in (path, *path.parents):
        if os.path.isfile(part):
            raise FileError(part, "this is a file; name a folder")
    return path


def make_folder(path: str | Path) -> Path:
    """A folder for results, with those above it; one that exists already is taken as it is."""
    path = check_folder_path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(path, f"this folder cannot be made ({problem.strerror})") from None
    return path


def write_text(path: str | Path, text: str, *, force: bool = False, private: bool = False) -> None:
    """Write a text file at once, packed if its name ends in .gz; a private one only its owner can read."""
    path = Path(path)
    write_together({path: text_writer(text)}, force=force, private=[path] if private else ())


def text_writer(text: str) -> Writer:
    """What `write_together` needs to write a text."""
    return lambda unfinished: _put(unfinished, text)


def _put(path: Path, text: str) -> None:
    content = text.encode("utf-8", "backslashreplace")
    path.write_bytes(gzip.compress(content, mtime=0) if path.name.lower().endswith(".gz") else content)


def write_together(
    writers: dict[Path, Writer], *, force: bool, private: Collection[Path] = (), remove: Collection[Path] = ()
) -> None:
    """Write several files of one folder so that either all of them appear or none; private ones for the owner only.

    What is to `remove`, such as a file of an earlier release that the new one does not have, goes in the same step.
    """
    targets = {check_output(path, force=force): writer for path, writer in writers.items()}
    going = [check_output(path, force=force) for path in remove]
    under_way = next(iter(targets))
    if any(path.parent != under_way.parent for path in (*targets, *going)):
        raise ParameterError("files that are written together lie in one folder")
    try:
        with _Writing(under_way.parent) as writing:
            for under_way, writer in targets.items():
                writer(writing.place_for(under_way, private=under_way in private))
            for under_way in going:
                writing.remove(under_way)
            writing.commit()
    except (OSError, MemoryError) as problem:
        raise FileError(under_way, f"cannot be written ({_cause(problem)})") from None


def _cause(problem: OSError | MemoryError) -> str:
    if isinstance(problem, MemoryError):
        return "there is not enough memory"
    # in the system's words, for libraries add their own
    return os.strerror(problem.errno) if problem.errno else str(problem)


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise FileError(path, f"cannot be written ({_cause(problem)})") from None


# --- one writing -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Move:
    """A complete file and its place, as names within the folder, with what identifies the file and its predecessor.

    Of a file that only goes, nothing was made, and `new` is None.
    """

    made: str
    target: str
    new: list[int] | None = None
    old: list[int] | None = None

    @property
    def before(self) -> str:
        """Where the predecessor waits until all files are moved."""
        return self.made + _BEFORE


class _Writing:
    """Files on their way into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.moves: list[_Move] = []
        self._public: list[str] = []
        self._kept = False

    def __enter__(self) -> _Writing:
        while True:
            self.name = f".microveil-{os.getpid()}-{secrets.token_hex(8)}"
            self._journal = os.open(self.folder / self.name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
            self._usual_mode = os.fstat(self._journal).st_mode & 0o777  # what the user's mask leaves
            with suppress(OSError):
                os.chmod(self.folder / self.name, _PRIVATE_MODE)
            if _lock(self._journal) and _exists(self.folder / self.name):
                return self
            os.close(self._journal)  # taken for one left behind, before it was locked

    def __exit__(self, *raised: object) -> None:
        for move in self.moves:
            _remove(self.folder / move.made)
        os.close(self._journal)
        if not self._kept:
            _remove(self.folder / self.name)

    def place_for(self, target: Path, *, private: bool) -> Path:
        """Where to make a file; its ending stays, because some writers choose the format by it."""
        made = f"{self.name}-{len(self.moves)}.tmp{''.join(target.suffixes[-2:])[-32:]}"
        self.moves.append(_Move(made, target.name))
        os.close(os.open(self.folder / made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE_MODE))
        if not private:
            self._public.append(made)
        return self.folder / made

    def remove(self, target: Path) -> None:
        """Take a file away together with the moves, if it is there."""
        if _exists(target):
            self.moves.append(_Move(f"{self.name}-{len(self.moves)}.tmp", target.name))

    def commit(self) -> None:
        """Move every file to its place; if one cannot be moved, what was there before comes back."""
        for made in self._public:
            with suppress(OSError):
                os.chmod(self.folder / made, self._usual_mode)
        if len(self.moves) == 1:
            os.replace(self.folder / self.moves[0].made, self.folder / self.moves[0].target)
            return
        self.moves = [
            replace(move, new=_identity(self.folder / move.made), old=_identity(self.folder / move.target))
            for move in self.moves
        ]
        _append(self._journal, json.dumps([vars(move) for move in self.moves]).encode("ascii") + b"\n")
        try:
            for move in self.moves:
                if move.old is not None:
                    os.replace(self.folder / move.target, self.folder / move.before)
                if move.new is not None:
                    os.replace(self.folder / move.made, self.folder / move.target)
        except BaseException:  # also when the user interrupts in this moment
            self._kept = True  # until all is as it was
            _append(self._journal, _UNDO)
            _undo(self.folder, self.moves)
            self._kept = False
            raise
        with suppress(OSError):
            _append(self._journal, _DONE)  # from now on nothing can be undone, because predecessors go
        for move in self.moves:
            _remove(self.folder / move.before)


def _undo(folder: Path, moves: Sequence[_Move]) -> None:
    """What lay there before comes back, however far the files were moved."""
    for move in moves:
        if _exists(folder / move.before) and _identity(folder / move.target) in (None, move.new):
            os.replace(folder / move.before, folder / move.target)
        elif move.old is None and _identity(folder / move.target) == move.new:
            _remove(folder / move.target)


def _identity(path: Path) -> list[int] | None:
    """What tells a file from another that may take its name, and stays when it is moved."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def _append(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


# --- after a process that was killed ---------------------------------------------------------------------------------


def recover(folder: str | Path) -> None:
    """Complete what a process began to move into this folder before it was killed; delete what else it left behind.

    What living processes write is not touched, and where nothing may be changed, nothing is.
    """
    folder = Path(folder)
    with suppress(OSError):
        journals: dict[str, list[str]] = {}
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(".microveil-") and (found := _LEFT_BEHIND.fullmatch(entry.name)):
                    journals.setdefault(found[1], []).append(entry.name)
        for journal, names in journals.items():
            _recover_one(folder, journal, [name for name in names if name != journal])


def _recover_one(folder: Path, journal: str, names: Sequence[str]) -> None:
    if journal in os.listdir(folder):
        file = os.open(folder / journal, os.O_RDWR)
        try:
            if not (_lock(file, journal) and _exists(folder / journal)):
                return
            moves, mark = _listed(file)
            if mark != _DONE:
                _complete(folder, moves, undo=mark == _UNDO)
            for name in (*names, *(move.before for move in moves)):
                _remove(folder / name)
        finally:
            os.close(file)
        _remove(folder / journal)
        return
    for name in names:  # the journal goes last, so nobody is at work on these
        _remove(folder / name)


def _complete(folder: Path, moves: Sequence[_Move], *, undo: bool) -> None:
    """Move what is not yet in its place, unless somebody has put other files there since."""
    if undo or not all(_is_as_left(folder, move) for move in moves):
        _undo(folder, moves)
        return
    for move in moves:
        if move.new is None and _exists(folder / move.target):
            os.replace(folder / move.target, folder / move.before)
        if _exists(folder / move.made):
            os.replace(folder / move.made, folder / move.target)


def _is_as_left(folder: Path, move: _Move) -> bool:
    there = _identity(folder / move.target)
    if move.new is None:
        return there in (None, move.old)
    if not _exists(folder / move.made):
        return there == move.new
    return there == move.old if not _exists(folder / move.before) else there is None


def _listed(file: int) -> tuple[list[_Move], bytes]:
    """The moves that a journal lists, none if it was not written to its end; and the mark that stands after them."""
    content = b""
    while chunk := os.read(file, 1 << 16):
        content += chunk
    line, end, rest = content.partition(b"\n")
    try:
        moves = [_Move(**move) for move in json.loads(line)] if end else []
    except (ValueError, TypeError):
        return [], b""
    # a name with a folder in it was not written by us
    inside = all(os.path.basename(name) == name for move in moves for name in (move.made, move.target))
    return (moves, rest) if inside else ([], b"")


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int, journal: str = "") -> bool:
        """Hold a journal as long as the process lives; not if another one does. The content stays readable."""
        os.lseek(file, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _lock(file: int, journal: str = "") -> bool:
        """Hold a journal as long as the process lives; not if another one does."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: the number of the process must do
            return not journal or not _is_alive(journal)
        return True


def _is_alive(journal: str) -> bool:
    found = _LEFT_BEHIND.fullmatch(journal)
    assert found is not None
    return is_running(int(found[2]))


def is_running(process: int) -> bool:
    """Whether a process of this machine still lives."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        pass
    return True
