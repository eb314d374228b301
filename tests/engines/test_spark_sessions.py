"""Which cluster Spark works on, whose session it is, and what its workers can reach."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microveil as mv
from microveil.engines.spark_engine import SparkEngine

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

_MASTERS = """
import sys
import microveil as mv

def master(engine):
    return engine._session.sparkContext.master

with mv.open(sys.argv[1], "spark", keys=["sex"]) as first:
    print(master(first.engine))
    with mv.open(sys.argv[1], "spark", keys=["sex"]) as second:
        assert second.engine._session is first.engine._session
    assert first.equivalence_classes().k == 2, "the second table leaves the session to the first"
from pyspark.sql import SparkSession
assert SparkSession.getActiveSession() is None, "a session that was started here is stopped"
mine = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
with mv.open(sys.argv[1], "spark", keys=["sex"]) as people:
    print(master(people.engine))
    assert people.engine._session is mine
assert mine.range(3).count() == 3, "a session of the caller is left to the caller"
mine.stop()
"""


def _a_table(folder: Path) -> Path:
    pq.write_table(pa.table({"sex": ["f", "m", "f", "m"], "age": [20.0, 30.0, 40.0, 50.0]}), folder / "people.parquet")
    return folder / "people.parquet"


def _environment() -> dict[str, str]:
    """What a process of its own needs to start Spark on this machine."""
    pyspark = pytest.importorskip("pyspark", reason="Spark tests need pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark tests need Java")
    others = {"SPARK_HOME": str(Path(pyspark.__file__).parent), "SPARK_LOCAL_IP": "127.0.0.1"}
    others |= {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return {k: v for k, v in os.environ.items() if k != "PYSPARK_SUBMIT_ARGS"} | others


@pytest.mark.parametrize(("named", "expected"), [("--master local[1] pyspark-shell", "local[1]"), (None, "local[*]")])
def test_the_master_is_the_named_one_and_a_session_of_the_caller_is_never_stopped(
    named: str | None, expected: str, tmp_path: Path
) -> None:
    environment = _environment() | ({} if named is None else {"PYSPARK_SUBMIT_ARGS": named})
    words = [sys.executable, "-c", _MASTERS, str(_a_table(tmp_path))]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [expected, "local[2]"]


def test_relative_paths_are_those_of_whoever_asked(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where the workers are not, which have folders of their own
    _a_table(tmp_path)
    with mv.open("people.parquet", "spark", keys=["sex"], session=spark) as people:
        release = people.protect(mv.Plan((mv.Step("noise", {}, ("age",)),), seed=2**90), "out")
        assert people.assess("out", losses=["il"], attacks=[]).records == 4
    assert release.folder == Path("out")
    assert len(pq.read_table(tmp_path / "out")) == 4


class _Session:
    """What a session says of its cluster."""

    def __init__(self, master: str) -> None:
        self.conf = {"spark.master": master}


def test_csv_files_are_refused_where_workers_cannot_read_copies_of_them(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="Spark tests need pyspark")
    (tmp_path / "people.csv").write_text("sex\nf\nm\n", encoding="utf-8")
    with pytest.raises(mv.MicroveilError, match="give Parquet files on storage that all machines share"):
        mv.open(tmp_path / "people.csv", "spark", session=_Session("spark://somewhere:7077"))
    for master in ("local[*]", "local-cluster[2,1,768]"):
        SparkEngine(_Session(master)).refuse_copies(tmp_path / "people.csv")
    with mv.open(_a_table(tmp_path), "spark", session=_Session("yarn")) as people:
        assert len(people) == 4


def test_a_command_that_is_cancelled_says_so_without_a_stack_trace(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": np.random.default_rng(0).normal(size=2_000_000)}), tmp_path / "people.parquet")
    words = ["protect", str(tmp_path / "people.parquet"), "--engine", "spark", "--method", "rank-swapping",
             "--out", str(tmp_path / "out")]  # fmt: skip
    started = subprocess.Popen(
        [sys.executable, "-m", "microveil.cli", *words], env=_environment(), stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    while started.poll() is None and not list(tmp_path.glob(".microveil-scratch-*/step-*")):
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGINT)  # as a terminal does it
    told = started.communicate()[1]
    assert "cancelled; nothing was written" in told
    assert "Traceback (most recent call last)" not in told
    assert not [path for path in tmp_path.iterdir() if path.name != "people.parquet"]
