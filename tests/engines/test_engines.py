"""The release of a table in parts is that of the table in memory, cell by cell, whoever works on it."""

from __future__ import annotations

import errno
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microveil as mv
from microveil.engines import stored
from microveil.engines.spark_engine import SparkEngine
from microveil.microdata import microdata
from microveil.registry import find, names

pytestmark = [
    pytest.mark.usefixtures("small_parts"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

SEED = 2**100 + 7
NUMBERS, CATEGORIES = ("age", "income", "wealth"), ("region", "sex", "education", "occupation")
PLANS: Mapping[str, tuple[mv.Step, ...]] = {
    "noise": (mv.Step("noise", {}, NUMBERS),),
    "correlated noise": (mv.Step("noise", {"form": "correlated"}, NUMBERS),),
    "linear noise": (mv.Step("noise", {"form": "linear"}, NUMBERS),),
    "multiplicative noise": (mv.Step("noise", {"form": "multiplicative"}, NUMBERS),),
    "pram": (mv.Step("pram", {}, CATEGORIES),),
    "compound pram": (mv.Step("pram", {"compound": True, "invariant": True}, CATEGORIES[:2]),),
    "rounding": (mv.Step("rounding", {}, NUMBERS),),
    "random rounding": (mv.Step("rounding", {"mode": "random", "base": 50.0}, NUMBERS),),
    "rounding to points": (mv.Step("rounding", {"points": (0.0, 20.0, 40.0, 1000.0), "mode": "random"}, NUMBERS),),
    "top-code": (mv.Step("top-code", {}, (*NUMBERS, "education")),),
    "bottom-code by count": (mv.Step("bottom-code", {"by": "count", "k": 40}, NUMBERS),),
    "recode to intervals": (mv.Step("recode", {"by": "width"}, NUMBERS),),
    "recode to labels": (mv.Step("recode", {"by": "frequency", "publish": "label"}, NUMBERS[:2]),),
    "automatic recode": (mv.Step("recode", {"k": 6, "leave": 0.02}, ("age", "income", *CATEGORIES[:3])),),
    "automatic recode to labels": (
        mv.Step(
            "recode", {"combinations": ("every pair >= 9", "sex >= 50 population"), "publish": "label"}, CATEGORIES
        ),
    ),
    "recode rare categories": (mv.Step("recode", {"by": "rare", "p": 3}, CATEGORIES),),
    "sampling": (mv.Step("sampling", {"share": 0.3}, CATEGORIES),),
    "stratified sampling": (mv.Step("sampling", {"size": 1_001, "stratified": True}, CATEGORIES),),
    "rank-swapping": (mv.Step("rank-swapping", {}, (*NUMBERS, "education")),),
    "rank-swapping in buckets": (mv.Step("rank-swapping-buckets", {}, NUMBERS),),
    "individual-ranking": (mv.Step("individual-ranking", {"k": 5}, NUMBERS),),
    "optimal-univariate": (mv.Step("optimal-univariate", {"k": 4}, NUMBERS[:2]),),
    "suppress": (mv.Step("suppress", {"k": 3, "suppressed": "wildcard"}, CATEGORIES),),
    "suppress to a category": (mv.Step("suppress", {"k": 4, "suppressed": "own category"}, CATEGORIES),),
    "one after the other": (
        mv.Step("recode", {"by": "rare", "p": 3}, CATEGORIES[:1]),
        mv.Step("pram", {}, CATEGORIES),
        mv.Step("sampling", {"share": 0.6}, CATEGORIES),
        mv.Step("noise", {}, NUMBERS),
        mv.Step("rank-swapping", {}, NUMBERS),
        mv.Step("suppress", {"k": 3, "suppressed": "wildcard"}, CATEGORIES),
    ),
}


def survey_without_households(records: int, seed: int = 3) -> mv.Microdata:
    """The sample survey with missing cells and codes, without its household number."""
    data = mv.datasets.survey(records, seed=seed)
    names = [name for name in data.names if name != "household"]
    schema = mv.Schema([data[name].changed(level="record") for name in names])
    return mv.Microdata.of(pa.table({name: data.arrow(name) for name in names}), schema)


def write_in_files(data: mv.Microdata, folder: Path, cuts: tuple[float, ...] = (0.3, 0.55)) -> Path:
    """The records of a table in several Parquet files."""
    folder.mkdir(exist_ok=True)
    table = pa.table({name: data.arrow(name) for name in data.names})
    ends = [0, *(int(cut * len(data)) for cut in cuts), len(data)]
    for number, (first, last) in enumerate(itertools.pairwise(ends)):
        pq.write_table(table.slice(first, last - first), folder / f"{number}.parquet", row_group_size=411)
    return folder


def assert_same_cells(release: mv.Release, folder: Path) -> None:
    written = pq.read_table(folder)
    assert written.column_names == list(release.data.names)
    for name in release.data.names:
        expected, found = release.data.arrow(name), written[name].combine_chunks()
        assert found.type == expected.type, name
        if pa.types.is_floating(expected.type):
            pair = (column.to_numpy(zero_copy_only=False) for column in (found, expected))
            np.testing.assert_allclose(*pair, rtol=1e-12, atol=0, err_msg=name)
        else:
            assert found.equals(expected), name


@pytest.fixture(scope="module")
def people() -> mv.Microdata:
    return survey_without_households(3_000)


@pytest.fixture(scope="module")
def folder(people: mv.Microdata, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_in_files(people, tmp_path_factory.mktemp("in") / "people")


@pytest.mark.parametrize("label", PLANS)
def test_duckdb_releases_what_memory_releases(label: str, people: mv.Microdata, folder: Path, tmp_path: Path) -> None:
    plan = mv.Plan(PLANS[label], seed=SEED)
    expected = mv.protect(people, plan)
    with mv.open(folder, "duckdb", people.schema) as large:
        release = large.protect(plan, tmp_path / "out")
    assert_same_cells(expected, tmp_path / "out")
    assert release.provenance.notes == expected.provenance.notes
    assert release.provenance.input_digest == expected.provenance.input_digest
    manifest = json.loads(release.manifest.read_text(encoding="utf-8"))
    assert manifest["output"]["digest"] == expected.data.digest()


def test_every_method_that_says_so_is_released_alike() -> None:
    """So that a method that is declared to work in parts is among the plans above."""
    planned = {step.method for steps in PLANS.values() for step in steps}
    declared = {
        name for name in names("method") if find("method", name).over_records in ("per record", "per combination")
    }
    assert declared <= planned
    in_order = {name for name in names("method") if find("method", name).over_records == "ordered"}
    assert {"rank-swapping", "individual-ranking", "optimal-univariate"} <= in_order


def test_the_number_of_files_and_records_of_a_part_change_nothing(
    people: mv.Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = mv.Plan(PLANS["one after the other"], seed=SEED)
    written = []
    for number, (cuts, records) in enumerate([((0.5,), 700), ((0.1, 0.2, 0.9), 700), ((), 350)]):
        monkeypatch.setattr(stored, "BLOCK", records)
        source = write_in_files(people, tmp_path / f"in-{number}", cuts)
        with mv.open(source, "duckdb", people.schema) as large:
            monkeypatch.setattr(type(large), "digest", lambda *_: people.digest())
            large.protect(plan, tmp_path / f"out-{number}")
            monkeypatch.undo()
        written.append(pq.read_table(tmp_path / f"out-{number}"))
    assert written[0].equals(written[1])
    assert written[0].equals(written[2])


def test_spark_releases_what_memory_releases(spark: Any, people: mv.Microdata, folder: Path, tmp_path: Path) -> None:
    large = mv.open(folder, "spark", people.schema, session=spark)
    for number, label in enumerate(("correlated noise", "automatic recode", "one after the other")):
        plan = mv.Plan(PLANS[label], seed=SEED)
        large.protect(plan, tmp_path / str(number))
        assert_same_cells(mv.protect(people, plan), tmp_path / str(number))


def test_a_study_and_a_search_on_spark_find_what_processes_find(spark: Any, tmp_path: Path) -> None:
    people = mv.datasets.survey(200, seed=1)
    design = {
        "keys": list(NUMBERS),
        "seed": 5,
        "method": [{"name": "mdav", "grid": {"k": [3, 5]}}, {"name": "noise", "grid": {"alpha": [0.1]}}],
        "losses": ["il"],
        "attacks": ["distance-linkage"],
    }
    workers = mv.engines.SparkWorkers(2, spark)
    found = [mv.run_study(design, people, out=tmp_path / str(n), workers=w) for n, w in enumerate((workers, 0))]
    of_spark, of_process = ([[r.candidate.label, r.value("il")] for r in one.results] for one in found)
    assert of_spark == of_process
    fronts = [
        mv.search(people, attributes=NUMBERS, only=["mdav", "noise"], evaluations=4, seed=3, workers=w)
        for w in (workers, 0)
    ]
    first, second = ([(one.loss, one.risk) for one in found.front] for found in fronts)
    assert first == second


class KillingEngine(SparkEngine):
    """Kills the worker that is at a part in some pass for the first time, with all of its processes."""

    def __init__(self, session: Any, marker: Path, label: str, passes: int) -> None:
        super().__init__(session)
        self.marker, self.label, self.passes = marker, label, passes

    def map(self, work: Callable[[int], Any], parts: int, progress: Any, label: str) -> list[Any]:
        self.passes -= label == self.label
        marker, deadly = self.marker, label == self.label and self.passes == 0

        def worker_of(process: int) -> int:  # in here, because it goes to the worker with the function below
            while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_bytes():
                process = int(Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1])
            return process

        def killed_once(part: int) -> Any:
            if deadly and part == 1 and not marker.exists():
                marker.touch()
                os.kill(worker_of(os.getpid()), signal.SIGKILL)
                time.sleep(60)
            return work(part)

        return super().map(killed_once, parts, progress, label)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for the worker in /proc")
@pytest.mark.parametrize(("label", "passes"), [("noise", 1), ("rank-swapping", 3)], ids=["noise", "while sorting"])
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    label: str, passes: int, spark: Any, people: mv.Microdata, folder: Path, tmp_path: Path
) -> None:
    from dataclasses import replace

    plan = mv.Plan((mv.Step(label, {}, NUMBERS[1:]),), seed=SEED)
    large = mv.open(folder, "spark", people.schema, session=spark)
    killing = replace(large, engine=KillingEngine(spark, tmp_path / "killed", label, passes))
    killing.protect(plan, tmp_path / "out")
    assert (tmp_path / "killed").exists()
    assert_same_cells(mv.protect(people, plan), tmp_path / "out")
    assert not list(tmp_path.glob(".*")), "nothing is left behind"


def test_a_process_that_is_killed_leaves_nothing_half_written(
    people: mv.Microdata, folder: Path, tmp_path: Path
) -> None:
    people.schema.write(tmp_path / "people.toml")
    (tmp_path / "plan.toml").write_text(mv.Plan(PLANS["one after the other"], seed=SEED).to_toml(), encoding="utf-8")
    arguments = ["protect", str(folder), "--engine", "duckdb", "--schema", str(tmp_path / "people.toml"), "--plan",
                 str(tmp_path / "plan.toml"), "--out", str(tmp_path / "out")]  # fmt: skip
    started = subprocess.Popen([sys.executable, "-m", "microveil.cli", *arguments], stderr=subprocess.DEVNULL)
    while started.poll() is None and not list(tmp_path.glob(".microveil-scratch-*/step-*")):
        time.sleep(0.02)
    started.kill()
    started.wait()
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.glob(".microveil-scratch-*"))
    with mv.open(folder, "duckdb", people.schema) as large:
        large.protect(mv.Plan(PLANS["noise"], seed=SEED), tmp_path / "out")
    assert (tmp_path / "out").is_dir()
    assert not list(tmp_path.glob(".microveil-scratch-*"))


def test_the_command_line_takes_a_pattern_and_an_engine(
    people: mv.Microdata, folder: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    schema, plan, out = tmp_path / "people.toml", tmp_path / "plan.toml", tmp_path / "out"
    people.schema.write(schema)
    plan.write_text(mv.Plan(PLANS["pram"], seed=SEED).to_toml(), encoding="utf-8")
    words = ["protect", f"{folder}/*.parquet", "--engine", "duckdb", "--schema", str(schema), "--out", str(out)]
    told = json.loads(run(*words, "--plan", str(plan), "--json").stdout)
    assert told["records"] == len(people)
    assert "seed" not in told["plan"]
    assert_same_cells(mv.protect(people, mv.Plan(PLANS["pram"], seed=SEED)), out)
    measured = run("assess", f"{folder}/*.parquet", str(out), "--engine", "duckdb", "--losses", "ctbil", "--json")
    assert json.loads(measured.stdout)["records"] == len(people)
    described = run("describe", f"{folder}/*.parquet", "--engine", "duckdb", "--schema", str(schema))
    assert "3,000 records" in described.stdout
    again = run(*words, "--plan", f"{out}.manifest.json", "--force")
    assert again.status == 0
    assert "records written to" in again.stdout
    assert_same_cells(mv.protect(people, mv.Plan(PLANS["pram"], seed=SEED)), out)
    for wrong, sentence in (
        (["--engine", "hadoop"], "duckdb or spark"),
        (["--household", "sex"], "--household is for tables in memory"),
        (["--neutralise-formulas"], "--neutralise-formulas is for tables in memory"),
    ):
        refused = run(*words, "--plan", str(plan), "--force", *wrong)
        assert refused.status == 2
        assert sentence in refused.stderr


def test_csv_files_are_read_as_the_reader_reads_them(tmp_path: Path) -> None:
    table = {"age": [20, 31, 45, 62], "job": ["cook", "nurse", "cook", ""]}
    source = tmp_path / "in"
    source.mkdir()
    for number in range(3):
        mv.write(mv.Microdata.of(table), source / f"{number}.csv")
    plan = mv.Plan((mv.Step("noise", {}, ("age",)),), seed=SEED)
    with mv.open(source / "*.csv", "duckdb") as large:
        assert len(large) == 12
        large.protect(plan, tmp_path / "out")
    whole = mv.Microdata.of({name: cells * 3 for name, cells in table.items()})
    assert pq.read_table(tmp_path / "out")["age"].to_pylist() == mv.protect(whole, plan).frame["age"].to_pylist()


def test_what_needs_all_records_at_once_is_refused_in_a_sentence(
    people: mv.Microdata, folder: Path, tmp_path: Path
) -> None:
    with mv.open(folder, "duckdb", people.schema) as large:
        for step, words in (
            (mv.Step("synthetic", {}, NUMBERS), "has to see all records at once"),
            (mv.Step("noise", {"exact": True}, NUMBERS), "has to see all records at once"),
        ):
            with pytest.raises(mv.MicroveilError, match=words):
                large.protect(mv.Plan((step,), seed=SEED), tmp_path / "out")
        with pytest.raises(mv.MicroveilError, match="to have k at least 3"):
            large.protect(mv.Plan(PLANS["pram"], seed=SEED, require={"k": 3}), tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("second", "require", "words"),
    [
        (mv.Step("synthetic", {}, NUMBERS), {}, "has to see all records at once"),
        (mv.Step("suppress", {"weighted": True, "risk": 0.2}, CATEGORIES), {}, "with sampling weights"),
        (mv.Step("noise", {}, ("nothing",)), {}, "nothing"),
        (mv.Step("noise", {}, ("born",)), {}, "dates, times and decimals"),
        (mv.Step("noise", {}, ("name",)), {}, "left out of every release"),
        (mv.Step("noise", {}, ("age",)), {"k": 2}, "k is required, but no attribute is a key"),
        (mv.Step("noise", {}, ("age",)), {"l": 2}, "l is required, but no attribute is a key"),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_step_begins(
    second: mv.Step, require: dict[str, float], words: str, tmp_path: Path
) -> None:
    columns = {"age": np.arange(2_000.0), "name": [f"p{n}" for n in range(2_000)]}
    born = pa.array(np.arange(2_000), pa.int32()).cast(pa.date32())
    pq.write_table(
        pa.table(columns | dict.fromkeys(CATEGORIES, ["a", "b"] * 1_000) | {"born": born}), tmp_path / "in.pq"
    )
    told: list[str] = []
    with mv.open(tmp_path / "in.pq", "duckdb", identifiers=["name"]) as large:
        plan = mv.Plan((mv.Step("noise", {}, ("age",)), second), seed=SEED, require=require)
        with pytest.raises(mv.MicroveilError, match=words):
            large.protect(plan, tmp_path / "out", progress=lambda _, label: told.append(label))
    with mv.open(tmp_path / "in.pq", "duckdb", keys=CATEGORIES) as large:
        plan = mv.Plan((mv.Step("noise", {}, ("age",)),), seed=SEED, require={"l": 2})
        with pytest.raises(mv.MicroveilError, match="'l' is about confidential attributes, and none is declared"):
            large.protect(plan, tmp_path / "out", progress=lambda _, label: told.append(label))
    assert not told


def test_the_command_line_says_of_a_release_what_it_says_of_one_in_memory(
    tmp_path: Path, run: Callable[..., Any]
) -> None:
    people = survey_without_households(500)
    table = pa.table({name: people.arrow(name) for name in people.names})
    table = table.append_column("name", pa.array([f"Person {n}" for n in range(500)]))
    pq.write_table(table.append_column("case", pa.array(range(1000, 1500))), tmp_path / "in.parquet")
    words = ["protect", str(tmp_path / "in.parquet"), "--identifiers", "name", "--keys", "region,sex,education",
             "--method", "suppress", "--set", "k=3", "--set", "suppressed=wildcard", "--seed", "5"]  # fmt: skip
    done = run(*words, "--engine", "duckdb", "--out", str(tmp_path / "out"))
    expected = run(*words, "--out", str(tmp_path / "out.parquet"))
    assert "k-anonymity without wildcards: 1" in expected.stdout
    assert "left out (identifiers): name" in expected.stdout
    told, meant = done.stdout.splitlines(), expected.stdout.splitlines()
    assert told[:-2] == meant[:-2], "all but the names of the files"
    assert "column 'case' is released as it was" in expected.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("note: column")] == [
        line for line in expected.stderr.splitlines() if line.startswith("note: column")
    ]
    told_of = run(*words, "--engine", "duckdb", "--confidential", "health", "--weight", "weight", "--out",
                  str(tmp_path / "more"))  # fmt: skip
    assert "not counted, because not required: population, l-diversity and t-closeness of health" in told_of.stdout
    plain = json.loads(run(*words, "--engine", "duckdb", "--out", str(tmp_path / "json"), "--json").stdout)
    assert plain["guarantees"]["k-without-wildcards"] == 1
    assert "easily guessed" in plain["warnings"][0]


def test_bad_input_is_refused_in_a_sentence(people: mv.Microdata, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(mv.MicroveilError, match="no such file or folder"):
        mv.open(tmp_path / "nothing", "duckdb")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(mv.MicroveilError, match="is no Parquet file"):
        mv.open(tmp_path / "broken.parquet", "duckdb")
    with pytest.raises(mv.MicroveilError, match="'duckdb' or 'spark'"):
        mv.open(folder, "hadoop", people.schema)  # type: ignore[arg-type]
    other = write_in_files(people, tmp_path / "other")
    pq.write_table(pa.table({"age": [1]}), other / "9.parquet")
    with pytest.raises(mv.MicroveilError, match="has other columns"):
        mv.open(other, "duckdb")
    household = mv.datasets.survey(50, seed=1)
    pq.write_table(pa.table({n: household.arrow(n) for n in household.names}), tmp_path / "household.parquet")
    with pytest.raises(mv.MicroveilError, match="role household"):
        mv.open(tmp_path / "household.parquet", "duckdb", household.schema)
    (tmp_path / "out").mkdir()
    with mv.open(folder, "duckdb", people.schema) as large, pytest.raises(mv.MicroveilError, match="exists"):
        large.protect(mv.Plan(PLANS["noise"], seed=SEED), tmp_path / "out")


def test_neither_the_input_nor_a_folder_with_other_files_is_replaced(
    people: mv.Microdata, folder: Path, tmp_path: Path
) -> None:
    plan = mv.Plan(PLANS["pram"], seed=SEED)
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear", encoding="utf-8")
    with mv.open(folder, "duckdb", people.schema) as large:
        for out, words in (
            (folder, "overwrite the input"),
            (folder.parent, "overwrite the input"),
            (other, "other files"),
        ):
            with pytest.raises(mv.MicroveilError, match=words):
                large.protect(plan, out, force=True)
        large.protect(plan, tmp_path / "out")
        large.protect(plan, tmp_path / "out", force=True)
    assert (other / "letter.txt").exists()
    assert len(list(folder.iterdir())) == 3


def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    people: mv.Microdata, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with mv.open(folder, "duckdb", people.schema) as large:
        monkeypatch.setattr("microveil.engines.stored.pq.write_table", full)
        with pytest.raises(mv.MicroveilError, match="no space left on the disk; nothing was released"):
            large.protect(mv.Plan(PLANS["noise"], seed=SEED), tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_manifest_of_another_table_lends_its_plan_but_not_its_seed(
    people: mv.Microdata, folder: Path, tmp_path: Path, run: Callable[..., Any]
) -> None:
    people.schema.write(tmp_path / "people.toml")
    with mv.open(folder, "duckdb", people.schema) as large:
        large.protect(mv.Plan(PLANS["noise"], seed=SEED), tmp_path / "out")
    fewer = write_in_files(people.take(np.arange(1_500)), tmp_path / "fewer")
    words = ["--engine", "duckdb", "--plan", str(tmp_path / "out.manifest.json"), "--out", str(tmp_path / "again")]
    done = run("protect", str(fewer), "--schema", str(tmp_path / "people.toml"), *words)
    assert "with another seed" in done.stderr
    assert json.loads((tmp_path / "again.manifest.json").read_text(encoding="utf-8"))["plan"]["seed"] != hex(SEED)


@pytest.mark.parametrize("place", ["b[1]", "job=cook", "a b's"])
def test_only_the_files_that_are_meant_are_counted(place: str, tmp_path: Path) -> None:
    """DuckDB reads patterns and names of folders in the names of files."""
    table = {"job": ["cook"] * 9 + ["judge"], "sex": ["f", "m"] * 5}
    people = mv.Microdata.of(table, keys=["job", "sex"])
    decoy = mv.Microdata.of({"job": ["cook"] * 10, "sex": ["f", "m"] * 5})
    (tmp_path / "b1").mkdir()
    write_in_files(decoy, tmp_path / "b1" / "in", ())
    (tmp_path / place).mkdir(exist_ok=True)
    folder = write_in_files(people, tmp_path / place / "in", ())
    with mv.open(folder, "duckdb", people.schema) as large:
        assert large.equivalence_classes().k == 1
        plan = mv.Plan((mv.Step("pram", {"p": 1.0}, ("sex",)),), seed=SEED, require={"k": 2})
        with pytest.raises(mv.MicroveilError, match="to have k at least 2"):
            large.protect(plan, tmp_path / "out")


def test_columns_that_differ_in_their_case_are_told_apart(tmp_path: Path) -> None:
    people = mv.Microdata.of({"C": ["a"] * 10, "c": ["a"] * 9 + ["b"]}, keys=["c"])
    folder = write_in_files(people, tmp_path / "in", ())
    with mv.open(folder, "duckdb", people.schema) as large:
        assert large.equivalence_classes().k == 1


def test_a_plan_brings_its_schema_and_it_is_checked(people: mv.Microdata, folder: Path, tmp_path: Path) -> None:
    step = mv.Step("noise", {}, NUMBERS)
    household = mv.Schema([people["region"].changed(roles=("household",)), *(people[name] for name in NUMBERS)])
    some = mv.Schema([people[name] for name in NUMBERS])
    with mv.open(folder, "duckdb", people.schema) as large:
        with pytest.raises(mv.MicroveilError, match="role household"):
            large.protect(mv.Plan((step,), seed=SEED, schema=household), tmp_path / "out")
        with pytest.raises(mv.MicroveilError, match="at least one step"):
            large.protect(mv.Plan((), seed=SEED), tmp_path / "out")
        large.protect(mv.Plan((step,), seed=SEED, schema=some), tmp_path / "out")
    assert_same_cells(mv.protect(people, mv.Plan((step,), seed=SEED, schema=some)), tmp_path / "out")


def test_codes_that_only_some_parts_have_are_codes_everywhere(tmp_path: Path) -> None:
    incomes = [float(i % 90) for i in range(2_000)]
    incomes[5], incomes[1_900] = -90.0, -92.0
    schema = mv.Schema([mv.Attribute(name="income", kind="numeric", missing_ranges=((-99.0, -90.0),), roles=("key",))])
    people = mv.Microdata.of({"income": incomes}, schema)
    folder = write_in_files(people, tmp_path / "in")
    recode = mv.Step("recode", {"by": "width", "publish": "label"}, ("income",))
    plan = mv.Plan((recode, mv.Step("pram", {}, ("income",))), seed=SEED)
    with mv.open(folder, "duckdb", people.schema) as large:
        release = large.protect(plan, tmp_path / "out")
    expected = mv.protect(people, plan)
    assert release.schema["income"] == expected.data["income"]
    assert_same_cells(expected, tmp_path / "out")


def test_numeric_keys_are_suppressed_in_the_type_of_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    people = mv.Microdata.of(
        {"age": rng.geometric(0.2, 2_000), "sex": rng.choice(["f", "m"], 2_000)}, keys=["age", "sex"]
    )
    folder = write_in_files(people, tmp_path / "in")
    plan = mv.Plan((mv.Step("suppress", {"k": 12, "suppressed": "wildcard"}, ("age", "sex")),), seed=SEED)
    with mv.open(folder, "duckdb", people.schema) as large:
        large.protect(plan, tmp_path / "out")
    assert_same_cells(mv.protect(people, plan), tmp_path / "out")


def _suppressed_as_in_memory(people: mv.Microdata, k: int, folder: Path) -> None:
    plan = mv.Plan((mv.Step("suppress", {"k": k}, people.names),), seed=SEED)
    given = write_in_files(people, folder / "in")
    with mv.open(given, "duckdb", people.schema) as large:
        release = large.protect(plan, folder / "out")
    expected = mv.protect(people, plan)
    assert expected.provenance.notes == release.provenance.notes
    assert_same_cells(expected, folder / "out")


def _keys(own: tuple[str, ...], names: tuple[str, ...]) -> mv.Schema:
    kinds = {True: "own category", False: "wildcard"}
    attributes = [mv.Attribute(name=n, kind="nominal", roles=("key",), missing=kinds[n in own]) for n in names]
    return mv.Schema(attributes)


@pytest.mark.parametrize("seed", range(6))
def test_cells_are_emptied_to_categories_and_to_wildcards_as_in_memory(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    names = tuple("abcd"[: rng.integers(2, 5)])
    columns = {}
    for name in names:
        cells = rng.choice(list("nesw"), 3_000, p=rng.dirichlet(np.full(4, 0.4))).astype(object)
        cells[rng.random(3_000) < 0.02] = None
        columns[name] = pa.array(cells.tolist(), pa.string())
    people = mv.Microdata.of(pa.table(columns), _keys(names[: 1 + seed % 3], names))
    _suppressed_as_in_memory(people, int(rng.integers(2, 15)), tmp_path)


@pytest.mark.parametrize("own", ["acd", "acdb"])
def test_more_of_a_frequent_combination_change_than_were_looked_at_first(own: str, tmp_path: Path) -> None:
    """Three rare records each take nine with them out of the same frequent combination, whose second half has another
    value in the last column."""
    second = "b" if own == "acdb" else "e"
    rows = [("x", "c", "d", "b")] * 100 + [("x", "c", "d", second)] * 100
    rows += [("x", "c", "z", "b"), ("x", "z", "d", "b"), ("z", "c", "d", "b")]
    table = pa.table({name: list(column) for name, column in zip("acdb", zip(*rows, strict=True), strict=True)})
    people = mv.Microdata.of(table, _keys(tuple(own), tuple("acdb")))
    released = mv.protect(people, mv.Plan((mv.Step("suppress", {"k": 10}, people.names),), seed=SEED)).data
    emptied = np.any([released.arrow(name).is_null().to_numpy(zero_copy_only=False) for name in "acd"], axis=0)
    assert np.flatnonzero(emptied).tolist() == [*range(27), 200, 201, 202]
    _suppressed_as_in_memory(people, 10, tmp_path)


def _three_rare_beside(*frequent: tuple[str, int]) -> pa.Table:
    """Records (x, c, y) with so many of each value y, and three that differ from them in one value each."""
    rows = [("x", "c", value) for value, records in frequent for _ in range(records)]
    rows += [("x", "z", "d"), ("z", "c", "d"), ("x", "c", "u")]
    return pa.table({name: list(column) for name, column in zip("abc", zip(*rows, strict=True), strict=True)})


def test_of_combinations_that_become_equally_frequent_the_first_records_change(tmp_path: Path) -> None:
    """The first combination has given 18 of its 100 records; then both have 82."""
    people = mv.Microdata.of(_three_rare_beside(("d", 100), ("e", 82)), _keys(tuple("abc"), tuple("abc")))
    _suppressed_as_in_memory(people, 10, tmp_path)


@pytest.mark.parametrize("own", ["", "a"])
@pytest.mark.parametrize("cells", [[1.0, 2.0], [0.0, -0.0, 5.0], [3.0, np.nan]])
def test_few_combinations_of_numbers_zeros_and_what_is_no_number(cells: list[float], own: str, tmp_path: Path) -> None:
    numbers = pa.array(np.resize(cells, 500), pa.float64())
    others = pa.array(["rare", *["often"] * 499])
    table = pa.table({"a": others, "b": numbers}) if own or len(cells) == 3 else pa.table({"b": numbers})
    kinds = {"a": "nominal", "b": "numeric"}
    policies = {"a": "own category" if own else "wildcard", "b": "own category" if own else "wildcard"}
    schema = mv.Schema(
        [mv.Attribute(name=n, kind=kinds[n], roles=("key",), missing=policies[n]) for n in table.column_names]
    )
    _suppressed_as_in_memory(mv.Microdata.of(table, schema), 5, tmp_path)


def test_empty_cells_and_codes_are_one_wildcard_where_combinations_are_counted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {}
    for name in "abcde":
        cells = np.array([f"v{i}" for i in range(12)], dtype=object)[rng.integers(0, 12, 12_000)]
        share = rng.random(12_000)
        cells[share < 0.08], cells[share > 0.92] = None, "NA"
        columns[name] = cells.tolist()
    attributes = [
        mv.Attribute(name=n, kind="nominal", roles=("key",), missing="wildcard", missing_codes=("NA",)) for n in columns
    ]
    _suppressed_as_in_memory(mv.Microdata.of(pa.table(columns), mv.Schema(attributes)), 2, tmp_path)


@pytest.mark.parametrize("method", ["pram", "suppress", "recode"])
def test_texts_of_any_type_of_arrow_are_keys(method: str, tmp_path: Path) -> None:
    columns = {"town": pa.array(["Linz", "Wels", "Enns"] * 40, pa.string_view()), "sex": ["f", "m"] * 60}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    plan = mv.Plan((mv.Step(method, {}, ("town", "sex")),), seed=SEED)
    with mv.open(tmp_path / "in.parquet", "duckdb", keys=["town", "sex"]) as large:
        large.protect(plan, tmp_path / "out")
    assert_same_cells(mv.protect(mv.Microdata.of(pa.table(columns), keys=["town", "sex"]), plan), tmp_path / "out")


@pytest.mark.parametrize("method", ["noise", "rounding", "mdav", "rank-swapping", "individual-ranking", "recode"])
def test_numbers_of_two_bytes_are_masked_as_those_of_four(method: str, tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).normal(size=120).astype(np.float16)
    for kind in (np.float16, np.float32):
        pq.write_table(pa.table({"x": numbers.astype(kind)}), tmp_path / "in.parquet")
        with mv.open(tmp_path / "in.parquet", "duckdb", keys=["x"]) as large:
            large.protect(mv.Plan((mv.Step(method, {}, ("x",)),), seed=SEED), tmp_path / kind.__name__)
    assert pq.read_table(tmp_path / "float16").equals(pq.read_table(tmp_path / "float32"))


@pytest.mark.parametrize("masked", ["town", "x"])
def test_lists_are_refused_as_keys_before_any_work(masked: str, tmp_path: Path) -> None:
    columns = {"town": [["Linz"], ["Wels", "Enns"]] * 20, "x": np.arange(40.0)}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    step = mv.Step("pram" if masked == "town" else "noise", {}, (masked,))
    told: list[str] = []
    with mv.open(tmp_path / "in.parquet", "duckdb", keys=["town"]) as large:
        with pytest.raises(mv.MicroveilError, match="columns of lists, records or the like cannot be used as categor"):
            large.protect(mv.Plan((step,), seed=SEED), tmp_path / "out", progress=lambda _, label: told.append(label))
        with pytest.raises(mv.MicroveilError, match="columns of lists, records or the like cannot be used as categor"):
            large.equivalence_classes(["town"])
    assert not told


def test_a_run_does_not_touch_what_another_has_in_between(tmp_path: Path) -> None:
    from microveil.engines.scratch import scratch_beside

    with scratch_beside(tmp_path / "release-3999999") as other, scratch_beside(tmp_path / "release"):
        assert other.exists()
    assert not list(tmp_path.iterdir())


def test_a_release_that_cannot_be_put_in_place_leaves_the_earlier_one(
    people: mv.Microdata, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, manifest, replace = tmp_path / "out", tmp_path / "out.manifest.json", os.replace
    with mv.open(folder, "duckdb", people.schema) as large:
        large.protect(mv.Plan(PLANS["noise"], seed=SEED), out)
        before, told = pq.read_table(out), manifest.read_bytes()
        moved_to: list[str] = []

        def failing(source: Any, target: Any) -> None:
            if Path(target).name in moved_to and Path(source).name in ("complete", "manifest"):
                raise OSError(errno.EIO, "Input/output error")
            replace(source, target)

        monkeypatch.setattr("microveil.engines.scratch.os.replace", failing)
        for name in ("out", "out.manifest.json"):
            moved_to[:] = [name]
            with pytest.raises(mv.MicroveilError, match="cannot be written"):
                large.protect(mv.Plan(PLANS["noise"], seed=SEED + 1), out, force=True)
            assert pq.read_table(out).equals(before)
            assert manifest.read_bytes() == told
        for name in ("new", "new.manifest.json"):
            moved_to[:] = [name]
            with pytest.raises(mv.MicroveilError, match="cannot be written"):
                large.protect(mv.Plan(PLANS["noise"], seed=SEED), tmp_path / "new")
            assert {one.name for one in tmp_path.iterdir()} == {"out", "out.manifest.json"}


def test_a_manifest_is_never_replaced_unasked_nor_a_release_without_one(
    people: mv.Microdata, folder: Path, tmp_path: Path
) -> None:
    plan, manifest = mv.Plan(PLANS["pram"], seed=SEED), tmp_path / "out.manifest.json"
    (tmp_path / "other.manifest.json").mkdir()
    with mv.open(folder, "duckdb", people.schema) as large:
        large.protect(plan, tmp_path / "out")
        told = manifest.read_bytes()
        os.replace(tmp_path / "out", tmp_path / "moved")
        with pytest.raises(mv.MicroveilError, match=r"out\.manifest\.json: this file exists already"):
            large.protect(plan, tmp_path / "out")
        for force in (False, True):
            with pytest.raises(mv.MicroveilError, match=r"other\.manifest\.json: this is a folder"):
                large.protect(plan, tmp_path / "other", force=force)
        assert manifest.read_bytes() == told
        assert not (tmp_path / "out").exists()
        assert not (tmp_path / "other").exists()

        def made_meanwhile(fraction: float, label: str) -> None:
            if label == "writing the release":
                (tmp_path / "late.manifest.json").write_text("{}", encoding="utf-8")

        with pytest.raises(mv.MicroveilError, match=r"late\.manifest\.json"):
            large.protect(plan, tmp_path / "late", progress=made_meanwhile)
        assert (tmp_path / "late.manifest.json").read_text(encoding="utf-8") == "{}"
        assert not (tmp_path / "late").exists()
        large.protect(plan, tmp_path / "out", force=True)
    assert (tmp_path / "out").is_dir()


_KILLED = """
import os, sys
from pathlib import Path
from microveil.engines.scratch import MANIFEST, put_in_place, scratch_beside
at, replace, out = int(sys.argv[1]), os.replace, Path(sys.argv[2])
def counted(*names):
    global at
    at -= 1
    if at < 0:
        os._exit(1)
    replace(*names)
os.replace = counted
with scratch_beside(out) as scratch:
    (scratch / "release").mkdir()
    (scratch / "release" / "part").write_text("new")
    (scratch / MANIFEST).write_text("new")
    put_in_place(scratch / "release", scratch, out, Path(f"{out}.manifest.json"))
"""


@pytest.mark.parametrize("earlier", [True, False])
def test_wherever_the_moving_is_killed_a_release_has_its_own_manifest(earlier: bool, tmp_path: Path) -> None:
    from microveil.engines.scratch import put_right

    for at in range(5 if earlier else 3):
        out = tmp_path / str(at) / "out"
        out.parent.mkdir()
        part, manifest = out / "part", Path(f"{out}.manifest.json")
        if earlier:
            out.mkdir()
            part.write_text("old", encoding="utf-8")
            manifest.write_text("old", encoding="utf-8")
        assert subprocess.run([sys.executable, "-c", _KILLED, str(at), str(out)], check=False).returncode == 1
        if out.exists():
            assert part.read_text(encoding="utf-8") == manifest.read_text(encoding="utf-8")
        put_right(out, manifest)
        is_new = at == (4 if earlier else 2)
        assert out.exists() == manifest.exists() == (earlier or is_new)
        if out.exists():
            expected = "new" if is_new else "old"
            assert part.read_text(encoding="utf-8") == manifest.read_text(encoding="utf-8") == expected
        assert not list(out.parent.glob(".*"))


def test_a_column_that_is_text_in_one_csv_file_is_the_text_it_was_in_all(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("a\nabc\nabd\n", encoding="utf-8")
    (tmp_path / "2.csv").write_text("a\n2.50\n1e3\n", encoding="utf-8")
    with mv.open(tmp_path / "*.csv", "duckdb") as large:
        assert large.table.column("a").to_pylist() == ["abc", "abd", "2.50", "1e3"]


def test_errors_reach_whoever_asked_from_a_worker() -> None:
    import pickle

    from microveil import errors

    made: list[mv.MicroveilError] = [
        errors.FileError("people.parquet", "is damaged", line=3),
        errors.TooFewRecordsError(2, 5, "suppress"),
        errors.UnknownNameError("method", "mdaf", ["mdav"]),
        errors.OutputExistsError("out"),
        errors.DataError("the table has no records"),
    ]
    for error in made:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_combinations_are_counted_as_in_memory(people: mv.Microdata, folder: Path) -> None:
    from microveil.microdata.equivalence_classes import equivalence_classes_of

    with mv.open(folder, "duckdb", people.schema) as large:
        for attributes in (CATEGORIES, ("age", "sex"), ("education", "health")):
            found, expected = large.equivalence_classes(attributes), equivalence_classes_of(people, attributes)
            assert found.k == expected.frequencies.min()
            assert found.unique == int((expected.per_record == 1).sum())
            assert sorted(found.frequencies) == sorted(expected.frequencies)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_hundred_thousand_records_are_released_as_in_memory(
    engine: Any, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (microdata, stored):  # each part is a task, and a task of Spark takes a moment to begin
        monkeypatch.setattr(module, "BLOCK", 20_000)
    people = survey_without_households(100_000)
    folder = write_in_files(people, tmp_path / "in")
    session = request.getfixturevalue("spark") if engine == "spark" else None
    with mv.open(folder, engine, people.schema, session=session) as large:
        for number, steps in enumerate(PLANS.values()):
            plan = mv.Plan(steps, seed=SEED)
            large.protect(plan, tmp_path / str(number))
            assert_same_cells(mv.protect(people, plan), tmp_path / str(number))
