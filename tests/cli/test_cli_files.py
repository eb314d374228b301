"""The command line at its edges: names with markup, outputs over inputs, streams that fail, little memory."""

from __future__ import annotations

import errno
import io
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from microveil.cli.printing import note, warn


def microveil(*arguments: object, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "160", **options.pop("env", {})}
    if "stdout" not in options:
        options["stdout"] = subprocess.PIPE
    return subprocess.run(
        [sys.executable, "-m", "microveil.cli", *map(str, arguments)], cwd=cwd, env=environment,
        stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace", timeout=120, check=False, **options,
    )  # fmt: skip


def failed_with_a_sentence(done: subprocess.CompletedProcess[str], words: str, status: int = 1) -> None:
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith("microveil: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert words in done.stderr


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [f"{20 + i % 50},{1000 + 37 * i % 900},[red]{'abc'[i % 3]}" for i in range(60)]
    path = tmp_path / "[bold]z[b].csv"
    path.write_text("age[/bold],:smile:,ém\x1b[2J\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_names_with_markup_are_shown_as_they_are(data: Path, tmp_path: Path) -> None:
    done = microveil("describe", data, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("[bold]z[b].csv: 60 records", "\nage[/bold] ", "\n:smile: ", "\ném\ufffd[2J "):
        assert name in done.stdout
    out = tmp_path / "[dim].csv"
    made = microveil("protect", data, "--method", "mdav", "--attributes", "age[/bold]", "-o", out, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    shown = microveil("assess", data, out, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "age[/bold]" in shown.stdout


def test_no_output_replaces_an_input(data: Path, tmp_path: Path) -> None:
    before = data.read_bytes()
    (tmp_path / "link.csv").symlink_to(data)
    (tmp_path / "safe.csv.manifest.json").hardlink_to(data)
    (tmp_path / "s.toml").write_text("[attributes]\n")
    commands: list[list[object]] = [
        ["describe", data, "--schema-out", data],
        ["describe", data, "--schema", "s.toml", "--schema-out", "s.toml"],
        ["describe", data, "--schema-out", "link.csv"],
        ["protect", data, "--method", "mdav", "--out", "link.csv"],
        ["protect", data, "--method", "mdav", "--out", "safe.csv"],
        ["report", data, "safe.csv", "--out", "link.csv"],
    ]
    for command in commands:
        failed_with_a_sentence(microveil(*command, "--force", cwd=tmp_path), "would overwrite the input", 2)
    assert data.read_bytes() == before


def test_a_schema_does_not_replace_a_table(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_bytes(data.read_bytes())
    made = microveil("describe", data, "--schema-out", "other.csv", "--force", cwd=tmp_path)
    failed_with_a_sentence(made, "is the name of a table; a schema is written to a file that ends in .toml", 1)
    assert other.read_bytes() == data.read_bytes()


def test_a_study_does_not_replace_its_table(tmp_path: Path) -> None:
    from microveil.errors import ParameterError
    from microveil.study import run_study

    (tmp_path / "summary.csv").write_text("a,b\n" + "\n".join(f"{i},{i * i}" for i in range(12)) + "\n")
    (tmp_path / "study.sqlite").touch()
    with pytest.raises(ParameterError, match="would overwrite the input"):
        run_study({"method": [{"name": "mdav"}]}, tmp_path / "summary.csv", out=tmp_path, workers=0)


def test_a_release_does_not_replace_its_original(data: Path) -> None:
    from microveil.errors import ParameterError
    from microveil.masking.microaggregation.mdav import MDAV
    from microveil.microdata.files import read

    release = MDAV(k=3).mask(read(data), ["age[/bold]"], seed=1)
    with pytest.raises(ParameterError, match="would overwrite the input"):
        release.save(data, force=True)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_characters_that_the_output_lacks_are_replaced(data: Path, tmp_path: Path, encoding: str) -> None:
    done = microveil("describe", data, cwd=tmp_path, env={"PYTHONIOENCODING": encoding})
    assert done.returncode == 0, done.stderr
    assert "age[/bold]" in done.stdout
    plain = microveil("describe", data, "--json", cwd=tmp_path, env={"PYTHONIOENCODING": encoding})
    assert json.loads(plain.stdout)["attributes"][2]["name"] == "ém\x1b[2J"


@pytest.mark.parametrize("arguments", [["methods"], ["methods", "--json"], ["--version"]])
def test_an_output_that_is_full_ends_in_a_sentence(tmp_path: Path, arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = microveil(*arguments, cwd=tmp_path, stdout=full)
    failed_with_a_sentence(done, "the output cannot be written (No space left on device)")


@pytest.mark.parametrize("remark", [note, warn])
def test_a_remark_that_finds_no_room_does_not_end_the_command(
    remark: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(sys, "stderr", Full())
    remark("the records were in another order")


def test_an_output_that_nobody_reads_ends_in_a_sentence(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = microveil("methods", "--json", cwd=tmp_path, stdout=theirs)
    os.close(theirs)
    failed_with_a_sentence(done, "the output was cut off because the program that read it has ended")


def test_an_output_that_is_closed_is_noticed_before_the_work(data: Path, tmp_path: Path) -> None:
    done = microveil(
        "protect", data, "--method", "mdav", "--out", "out.csv", cwd=tmp_path, preexec_fn=lambda: os.close(1)
    )
    failed_with_a_sentence(done, "the standard output is closed")
    assert sorted(os.listdir(tmp_path)) == [data.name]


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        ("reading.read_delimited = lambda *given: pa.allocate_buffer(1 << 60)", "not enough memory for this table"),
        ("reading.read_delimited = lambda *given: np.empty(1 << 58)", "not enough memory for this table"),
        ("protection.protect = lambda *given, **named: np.empty(1 << 58)", "there is not enough memory for this"),
        ("protection.protect = lambda *given, **named: failing_import()", "there is not enough memory for this"),
    ],
)
def test_memory_that_runs_out_ends_in_a_sentence(data: Path, tmp_path: Path, patch: str, says: str) -> None:
    script = f"""
import numpy as np
import pyarrow as pa
from microveil import protection
from microveil.cli.app import main
from microveil.microdata.files import reading

def failing_import():
    try:
        raise ImportError("x.so: failed to map segment from shared object")
    except ImportError:
        raise OSError("a library cannot be loaded")

{patch}
main()
"""
    command = [sys.executable, "-c", script, "protect", data, "--method", "mdav", "--out", "out.csv"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    failed_with_a_sentence(done, says)
    assert os.listdir(tmp_path) == [data.name]


RUN = "from microveil.cli import main; main()"


def limited(data: Path, kilobytes: int, script: str = RUN) -> tuple[int, str]:
    """The status of a command that may take so much memory, and what it says."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1024 * kilobytes, 1024 * kilobytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    words = ["protect", data.name, "--method", "noise", "--out", "out.csv", "--force"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words], cwd=data.parent, text=True, preexec_fn=limit, timeout=60, check=False,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
@pytest.mark.parametrize("kilobytes", [200_000, 600_000, 900_000, 1_050_000, 1_200_000])
def test_a_limit_of_memory_ends_in_a_sentence_or_not_at_all(data: Path, kilobytes: int) -> None:
    status, told = limited(data, kilobytes)
    assert "Traceback" not in told
    assert "internal error" not in told
    assert status in (0, 1)
    if status:
        last = told.splitlines()[-1]
        assert "not enough memory for this" in last or "the memory of this process is limited" in last
    assert [name for name in os.listdir(data.parent) if name.startswith(".")] == []
    assert (data.parent / "out.csv").exists() == (data.parent / "out.csv.manifest.json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("os.abort()", "there is not enough memory for this; no file is left half written"),
        (
            "time.sleep(0.2); signal.signal(15, signal.SIG_IGN); os.kill(os.getppid(), 15); time.sleep(60)",
            "cancelled; no file is left",
        ),
    ],
    ids=["crash", "hang"],
)
def test_a_library_that_crashes_or_hangs_for_want_of_memory_ends_in_a_sentence(
    data: Path, what: str, says: str
) -> None:
    script = f"""
import os, signal, time
from microveil.cli import main, watching

def work():
    {what}

watching.work, watching._SECONDS_TO_END = work, 1
main()
"""
    status, told = limited(data, 2_000_000, script)
    assert status == 1
    assert told.splitlines()[-1].startswith(f"microveil: {says}")


def test_a_release_with_neutralised_formulas_is_assessed_and_made_again(tmp_path: Path) -> None:
    rows = [f"{i % 7},{'+-='[i % 3]}{i % 2}x" for i in range(60)]
    (tmp_path / "t.csv").write_text("n,code\n" + "\n".join(rows) + "\n")
    made = microveil(
        "protect", "t.csv", "--keys", "n,code", "--method", "suppress", "--seed", "123456789", "--neutralise-formulas",
        "--out", "safe.csv", cwd=tmp_path,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert "'+0x" in (tmp_path / "safe.csv").read_text()
    again = microveil("protect", "t.csv", "--plan", "safe.csv.manifest.json", "--out", "again.csv", cwd=tmp_path)
    assert "the same bytes" in again.stderr
    assessed = microveil(
        "assess", "t.csv", "safe.csv", "--attributes", "code", "--losses", "dbil", "--json", cwd=tmp_path
    )
    assert assessed.returncode == 0, assessed.stderr
    assert json.loads(assessed.stdout)["losses"]["dbil"]["value"] == 0


@pytest.mark.parametrize("command", ["assess t.csv safe.csv", "describe t.csv", "risk safe.csv --keys a"])
def test_the_next_command_completes_a_release_whose_process_was_killed(tmp_path: Path, command: str) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(f"{i % 17},{i * i % 23}" for i in range(60)) + "\n")
    script = """
import os, signal
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata.files import read
real, calls = os.replace, []

def replace(*names):
    calls.append(names)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    real(*names)

release = MDAV(k=3).mask(read("t.csv"), seed=123456789)
os.replace = replace
release.save("safe.csv")
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False, timeout=120)
    assert (tmp_path / "safe.csv").exists()
    assert not (tmp_path / "safe.csv.manifest.json").exists()
    done = microveil(*command.split(), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "is not used" not in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["safe.csv", "safe.csv.manifest.json", "safe.csv.private.json", "t.csv"]
    assert json.loads((tmp_path / "safe.csv.manifest.json").read_text())["plan"]["seed"] == 123456789


def test_the_risks_of_records_are_private_and_never_replace_the_table(data: Path, tmp_path: Path) -> None:
    done = microveil("risk", data, "--records", data, "--force", cwd=tmp_path)
    failed_with_a_sentence(done, "would overwrite the input", 2)
    made = microveil("risk", data, "--records", "risks.csv", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "risks.csv").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("long", ["x" * 300 + ".csv", "9" * 5000])
def test_names_that_no_file_can_have_end_in_a_short_sentence(long: str, data: Path, run: Callable[..., Any]) -> None:
    for command in (
        ["assess", data, long],
        ["describe", data, "--schema-out", long],
        ["report", data, long, "-o", "r.html"],
    ):
        done = run(*command)
        assert done.status in (1, 2)
        assert "internal error" not in done.stderr
        assert len(done.stderr) < 1000


def test_a_table_does_not_replace_the_file_it_was_read_from(data: Path, tmp_path: Path) -> None:
    from microveil.errors import ParameterError
    from microveil.microdata.files import read, write

    before = data.read_bytes()
    (tmp_path / "link.csv").symlink_to(data)
    for name in (data, tmp_path / "link.csv"):
        with pytest.raises(ParameterError, match="would overwrite the input"):
            write(read(data).take(np.arange(2)), name, force=True)
    assert data.read_bytes() == before
    write(read(data), tmp_path / "copy.csv")
    write(read(data), tmp_path / "copy.csv", force=True)
