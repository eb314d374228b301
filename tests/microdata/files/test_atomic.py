"""Files are written whole or not at all, also when the process is killed in the middle."""

from __future__ import annotations

import gc
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from microveil.errors import FileError, MicroveilError, OutputExistsError, ParameterError
from microveil.microdata import Microdata
from microveil.microdata.files import write
from microveil.microdata.files.atomic import check_apart, check_output, recover, text_writer, write_text, write_together

# a script that writes a release, as a pair, with its private file, or in the place of one that had a private file, and
# kills itself at the n-th call of one of the functions that change the folder
KILLED = """
import os, signal, sys
from pathlib import Path
from microveil.microdata.files import atomic

folder, at, kind = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
calls = 0

def dying(real):
    def call(*given, **named):
        global calls
        calls += 1
        if calls == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **named)
    return call

for name in ("open", "replace", "write", "unlink", "chmod", "close"):
    setattr(os, name, dying(getattr(os, name)))
Path.unlink = dying(Path.unlink)
release, manifest, private = (folder / f"safe.csv{ending}" for ending in ("", ".manifest.json", ".private.json"))
writers = {release: atomic.text_writer("new release"), manifest: atomic.text_writer("new seed")}
if kind == "with groups":
    writers[private] = atomic.text_writer("new groups")
remove = [private] if kind == "without groups" else []
atomic.write_together(writers, force=True, private=[manifest, private], remove=remove)
os._exit(7)
"""
NAMES = ("safe.csv", "safe.csv.manifest.json", "safe.csv.private.json")
NOTHING = (None, None, None)
OLD, NEW = ("old release", "old seed", None), ("new release", "new seed", None)
OLD_GROUPS, NEW_GROUPS = (*OLD[:2], "old groups"), (*NEW[:2], "new groups")
Files = tuple[str | None, ...]


def killed(folder: Path, at: int, kind: str = "pair") -> int:
    return subprocess.run([sys.executable, "-c", KILLED, folder, str(at), kind], check=False).returncode


def release_in(folder: Path) -> Files:
    """The texts of the release, the manifest and the private file."""
    return tuple((folder / name).read_text() if (folder / name).exists() else None for name in NAMES)


def names(folder: Path) -> set[str]:
    return set(os.listdir(folder))


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("pair", NOTHING, NEW),
        ("pair", OLD, NEW),
        ("with groups", NOTHING, NEW_GROUPS),
        ("with groups", OLD, NEW_GROUPS),
        ("with groups", OLD_GROUPS, NEW_GROUPS),
        ("without groups", OLD_GROUPS, NEW),
    ],
)
def test_a_release_survives_a_kill_at_every_step(tmp_path: Path, kind: str, before: Files, after: Files) -> None:
    seen = set()
    for at in range(1, 150):
        folder = tmp_path / str(at)
        folder.mkdir()
        for name, text in zip(NAMES, before, strict=True):
            if text is not None:
                (folder / name).write_text(text)
                (folder / name).chmod(0o644 if name == "safe.csv" else 0o600)
        status = killed(folder, at, kind)
        for name in names(folder):
            if name.startswith("."):
                assert stat.S_IMODE((folder / name).stat().st_mode) in (0o600, 0o644), name
                secret = any(word in (folder / name).read_text() for word in ("seed", "groups"))
                if secret or ".json" in name:
                    assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
        recover(folder)
        seen.add(release_in(folder))
        assert release_in(folder) in (before, after), f"killed at call {at}"
        assert names(folder) <= set(NAMES), f"killed at call {at}"
        if status == 7:
            break
        assert status == -signal.SIGKILL
    else:
        pytest.fail("the script never came to its end")
    assert seen == {before, after}


def test_the_next_writing_cleans_the_folder(tmp_path: Path) -> None:
    killed(tmp_path, 6)
    assert any(name.startswith(".microveil-") for name in names(tmp_path))
    write_text(tmp_path / "other.txt", "x")
    assert names(tmp_path) - {"safe.csv", "safe.csv.manifest.json"} == {"other.txt"}


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    def put(unfinished: Path) -> None:
        recover(tmp_path)
        unfinished.write_text("complete")

    write_together({tmp_path / "a.txt": put, tmp_path / "b.txt": put}, force=False)
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text() == "complete"


def test_recovery_does_not_overwrite_what_somebody_put_there_since(tmp_path: Path) -> None:
    left_behind = set()
    for at in range(1, 60):
        folder = tmp_path / str(at)
        folder.mkdir()
        status = killed(folder, at)
        (folder / "safe.csv.manifest.json").unlink(missing_ok=True)
        (folder / "safe.csv.manifest.json").write_text("of somebody else")
        left_behind |= {release_in(folder)[0]}
        recover(folder)
        assert release_in(folder)[1] == "of somebody else"
        assert not [name for name in names(folder) if name.startswith(".")]
        if status == 7:
            break
    assert left_behind == {None, "new release"}


def test_recovery_leaves_what_somebody_put_in_the_place_of_a_file_that_was_to_go(tmp_path: Path) -> None:
    seen = set()
    for at in range(1, 100):
        folder = tmp_path / str(at)
        folder.mkdir()
        for name, text in zip(NAMES, OLD_GROUPS, strict=True):
            (folder / name).write_text(str(text))
        status = killed(folder, at, "without groups")
        (folder / NAMES[2]).unlink(missing_ok=True)
        (folder / NAMES[2]).write_text("of somebody else")
        recover(folder)
        seen.add(release_in(folder))
        assert release_in(folder)[2] == "of somebody else"
        assert not [name for name in names(folder) if name.startswith(".")]
        if status == 7:
            break
    assert seen == {(*OLD[:2], "of somebody else"), (*NEW[:2], "of somebody else")}


def refuse_moves(monkeypatch: pytest.MonkeyPatch, *, of: Path | None = None, to: Path | None = None) -> None:
    """No file can be moved from one place, or to the other."""
    real = os.replace

    def failing(source: Path, target: Path) -> None:
        if Path(source) == of or Path(target) == to:
            raise PermissionError(1, "Operation not permitted")
        real(source, target)

    monkeypatch.setattr(os, "replace", failing)


def test_if_a_file_cannot_be_taken_away_the_others_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("old one")
    two.write_text("old two")
    refuse_moves(monkeypatch, of=two)
    with pytest.raises(FileError, match=r"cannot be written \(Operation not permitted\)"):
        write_together({one: text_writer("new one")}, force=True, remove=[two])
    assert (one.read_text(), two.read_text()) == ("old one", "old two")
    assert names(tmp_path) == {"one.txt", "two.txt"}


def test_a_file_goes_only_by_force_and_need_not_be_there(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    two.write_text("mine")
    with pytest.raises(OutputExistsError, match=r"two\.txt"):
        write_together({one: text_writer("new one")}, force=False, remove=[two])
    assert names(tmp_path) == {"two.txt"}
    write_together({one: text_writer("new one")}, force=True, remove=[two, tmp_path / "three.txt"])
    assert names(tmp_path) == {"one.txt"}


def test_if_the_second_file_cannot_be_moved_the_first_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("old one")
    refuse_moves(monkeypatch, to=two)
    with pytest.raises(FileError, match=r"two.txt: cannot be written \(Operation not permitted\)"):
        write_together({one: text_writer("new one"), two: text_writer("new two")}, force=True)
    assert one.read_text() == "old one"
    assert names(tmp_path) == {"one.txt"}


def test_private_files_are_for_their_owner_and_others_have_the_usual_mode(tmp_path: Path) -> None:
    private = tmp_path / "private"
    before = os.umask(0o027)
    try:
        write_together(
            {tmp_path / "public": text_writer("x"), private: text_writer("y")}, force=False, private=[private]
        )
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "public").stat().st_mode) == 0o640
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


@pytest.mark.parametrize("link", ["same", "symbolic", "hard"])
def test_an_output_that_is_an_input_is_refused_under_any_name(tmp_path: Path, link: str) -> None:
    data, out = tmp_path / "z.csv", tmp_path / "out.csv"
    data.write_text("a\n1\n")
    if link == "same":
        out = tmp_path / "folder" / ".." / "z.csv"
        (tmp_path / "folder").mkdir()
    elif link == "symbolic":
        out.symlink_to(data)
    else:
        out.hardlink_to(data)
    with pytest.raises(ParameterError, match="would overwrite the input"):
        check_output(out, force=True, inputs=[None, data])
    check_apart([tmp_path / "free.csv"], [data])


def test_pipes_and_devices_are_no_outputs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileError, match="pipe or a device"):
        check_output(tmp_path / "pipe.csv", force=True)
    (tmp_path / "nothing.csv").symlink_to(tmp_path / "gone")
    with pytest.raises(OutputExistsError):
        check_output(tmp_path / "nothing.csv", force=False)


def test_a_name_that_is_too_long_is_refused_and_the_longest_one_is_not(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="File name too long"):
        write_text(tmp_path / ("n" * 300), "x")
    longest = tmp_path / ("n" * 251 + ".txt")
    write_text(longest, "x")
    assert longest.read_text() == "x"


TABLE = Microdata.of(pa.table({"number": [float(i) for i in range(5000)], "text": [f"text {i}" for i in range(5000)]}))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "xlsx", "sav", "zsav", "dta"])
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, ending: str) -> None:
    """A limit on the size of files fails like a full disk, in the middle of writing."""
    places = tmp_path / "places"
    out, scratch = places / f"t.{ending}", tmp_path / "scratch"
    places.mkdir()
    scratch.mkdir()
    if ending == "parquet":
        import pyarrow.parquet  # noqa: F401 - before the limit
    process = os.fork()
    if process == 0:
        status = 1
        try:
            os.environ["TMPDIR"] = str(scratch)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
            write(TABLE, out)
        except FileError as problem:
            told = str(problem)
            status = 42 if told.startswith(f"{out}: cannot be written (") and "\n" not in told else 2
        except MicroveilError:
            status = 3
        finally:
            os._exit(status)
    _, ended = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(ended) == 42
    assert names(places) == set()
    assert names(scratch) == set()


FEW = Microdata.of(pa.table({"number": [1.5, 2.5, 3.5], "text": ["a", "b", "c"]}))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "xlsx", "sav", "zsav", "dta"])
def test_a_disk_that_is_full_after_any_byte_is_noticed(tmp_path: Path, ending: str) -> None:
    """Also where it is full exactly between two steps of a library, which then sees no difference."""
    out = tmp_path / f"t.{ending}"
    write(FEW, out)
    size, whole = out.stat().st_size, out.read_bytes()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            complaints: list[type[BaseException]] = []  # of libraries, which Python would print after the sentence
            sys.unraisablehook = lambda ignored: complaints.append(ignored.exc_type)
            for most in range(0, size, 1 if size < 2000 else 7):
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
                with pytest.raises(FileError, match=r": cannot be written \((the disk may be full|File too large)\)$"):
                    write(FEW, out, force=True)
            gc.collect()
            status = 42 if all(issubclass(complaint, Warning) for complaint in complaints) else 2
        finally:
            os._exit(status)
    _, ended = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(ended) == 42
    assert out.read_bytes() == whole
    assert names(tmp_path) == {out.name}


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that every user can enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        if any(not stat.S_IMODE(above.stat().st_mode) & stat.S_IXOTH for above in Path(folder).resolve().parents):
            pytest.skip("the folder for temporary files cannot be entered by other users")
        yield Path(folder)


def test_a_folder_without_permission_is_refused_in_a_sentence(reachable: Path) -> None:
    new, old = reachable / "new.txt", reachable / "t.csv"
    old.write_text("a\n1\n")
    told = _as_another_user(f"write_text({str(new)!r}, 'x')")
    assert told == f"FileError: {new}: nothing can be written into the folder '{reachable}'"
    reachable.chmod(0o000)
    assert _as_another_user(f"read({str(old)!r})") == f"FileError: {old}: you do not have the permission to read it"
    told = _as_another_user(f"write_text({str(new)!r}, 'x')")
    assert told == f"FileError: {new}: cannot be written (Permission denied)"
    reachable.chmod(0o755)


def _as_another_user(statement: str) -> str:
    """What a statement raises when somebody without special rights carries it out."""
    script = f"""
import os
from microveil.microdata.files import read
from microveil.microdata import Microdata
from microveil.microdata.files.delimited import reader
from microveil.microdata.files.atomic import write_text
if os.getuid() == 0:
    os.setuid(65534)
try:
    {statement}
except Exception as problem:
    print(f"{{type(problem).__name__}}: {{problem}}")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
