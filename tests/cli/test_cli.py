"""The command line as a user meets it: a few commands in processes of their own, the others in this one, which saves
the time to start them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow.csv
import pytest

from microveil.cli import app
from microveil.microdata import files
from microveil.microdata.datasets.sample_survey import survey
from microveil.registry import find, names


def microveil(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command line run in this process, as if in one of its own."""
    told, noted = io.StringIO(), io.StringIO()
    with (
        mock.patch.dict(os.environ, {"COLUMNS": "160", **environment}),
        mock.patch.object(sys, "argv", ["microveil", *map(str, arguments)]),
        mock.patch.object(app, "speak_of_compiling"),  # only the first run of all has it
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(told),
        contextlib.redirect_stderr(noted),
        pytest.raises(SystemExit) as ended,
    ):
        app.main()
    return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), told.getvalue(), noted.getvalue())


def process(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "microveil.cli", *map(str, arguments)]
    settings = {**os.environ, "COLUMNS": "160", **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=settings, timeout=120, check=False)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A small numeric and text file."""
    rows = "\n".join(f"{20 + i % 50},{1000 + 37 * i % 900},{'abc'[i % 3]},person {i}" for i in range(60))
    path = tmp_path / "people.csv"
    path.write_text("age,income,job,name\n" + rows + "\n")
    return path


def test_protect_assess_and_protect_again(people: Path, tmp_path: Path) -> None:
    out, again = tmp_path / "safe.csv", tmp_path / "again.csv"
    done = process("protect", people, "--method", "mdav", "--set", "k=5", "--seed", 7, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "12 groups, the smallest of 5 records" in done.stdout
    masked = pyarrow.csv.read_csv(out).to_pandas()
    assert masked.groupby(["age", "income"]).size().min() >= 5

    measured = process("assess", people, out, "--json")
    result = json.loads(measured.stdout)
    assert {"sse", "il", "il1", "il2", "il3", "il4", "il5"} <= set(result["losses"])
    assert not {"dbil", "ctbil"} & set(result["losses"])
    assert set(result["risks"]) == {"distance-linkage", "interval-disclosure", "uniqueness"}
    assert result["score"]["mean"] == pytest.approx((result["score"]["loss"] + result["score"]["risk"]) / 2)
    assert result["risks"]["distance-linkage"]["value"] <= 20

    redone = process("protect", people, "--plan", f"{out}.manifest.json", "--out", again)
    assert redone.returncode == 0
    assert "the same bytes" in redone.stderr
    assert again.read_bytes() == out.read_bytes()


def test_no_name_of_an_attack_is_broken_in_80_columns(people: Path) -> None:
    names_ = ("frequency-alignment-linkage", "rank-alignment-linkage")
    shown = microveil("assess", people, people, "--attributes", "age,job", "--attacks", ",".join(names_), COLUMNS="80")
    assert shown.returncode == 0, shown.stderr
    assert all(f"│  {name}" in shown.stdout for name in names_)
    table = [line for line in shown.stdout.splitlines() if line.startswith(("│", "┏", "└"))]
    assert max(map(len, table)) <= 80


def test_the_table_of_an_assessment_explains_every_number(people: Path) -> None:
    shown = microveil("assess", people, people, "--attributes", "age,income")
    assert shown.returncode == 0, shown.stderr
    chosen = [find("loss", name) for name in names("loss")]
    of_records = [loss for loss in chosen if loss.usual and not (loss.reads_labels or loss.of_series or loss.of_graph)]
    numeric = [loss for loss in of_records if "numeric" in loss.kinds]
    attacks = [find("attack", name) for name in names("attack")]
    general = [each for each in attacks if each.general and "noticed" not in vars(each)]
    general = [each for each in general if not (each.of_series or each.of_graph)]
    for measure in (*numeric, *general):
        meaning = measure.meaning.partition("; lower is ")[0]
        assert any(measure.name in line and meaning in line for line in shown.stdout.splitlines()), measure.name
    assert "lower is safer (risks) and better (losses, scores)" in shown.stdout


@pytest.mark.parametrize("words", ["assess {0} {0}", "risk {0} --keys age,income", "describe {0}", "methods"])
def test_tables_fit_80_columns_in_a_pipe(people: Path, words: str) -> None:
    shown = microveil(*words.format(people).split(), COLUMNS="")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()[1:]  # the first names the file
    assert len(lines) > 5
    assert max(map(len, lines)) <= 80


def test_keys_of_several_kinds_with_a_plan(people: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "seed = 3\n[[steps]]\nmethod = 'rank-swapping'\nattributes = ['age', 'income']\nparameters = { p = 10 }\n"
        "[[steps]]\nmethod = 'pram'\nattributes = ['job']\n"
    )
    done = microveil(
        "protect", people, "--plan", plan, "--identifiers", "name", "--out", tmp_path / "o.parquet", "--json"
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [step["method"] for step in report["plan"]["steps"]] == ["rank-swapping", "pram"]
    assert report["left_out"] == ["name"]
    measured = json.loads(microveil("assess", people, tmp_path / "o.parquet", "--json").stdout)
    assert measured["attributes"] == ["age", "income", "job"]
    assert {"dbil", "ctbil", "sse"} <= set(measured["losses"])


def test_methods_as_json_list_everything_a_program_needs() -> None:
    for kind in ("method", "attack", "loss"):
        entries = json.loads(microveil("methods", "--kind", kind, "--json").stdout)
        for entry in entries:
            assert {"name", "family", "summary", "kinds", "parameters", "source"} <= set(entry)
            for parameter in entry["parameters"]:
                assert {"name", "type", "default", "help"} <= set(parameter)
    assert "mdav" in microveil("methods").stdout
    assert "smallest size of a group" in microveil("methods", "mdav").stdout


def test_describe_writes_a_schema_that_can_be_used(people: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.toml"
    shown = microveil("describe", people, "--keys", "age,income", "--identifiers", "name", "--schema-out", schema)
    assert shown.returncode == 0, shown.stderr
    assert "60 records, 4 attributes" in shown.stdout
    written = tomllib.loads(schema.read_text())
    assert written["attributes"]["job"]["domain"] == ["a", "b", "c"]
    done = microveil(
        "protect", people, "--schema", schema, "--method", "noise", "--seed", 1, "--out", tmp_path / "o.csv"
    )
    assert done.returncode == 0
    assert "left out (identifiers): name" in done.stdout


def test_a_column_that_looks_like_an_identifier_is_pointed_out(people: Path, tmp_path: Path) -> None:
    done = microveil("protect", people, "--method", "noise", "--seed", 1, "--out", tmp_path / "o.csv")
    assert "column 'name' is released as it was; every value is distinct: an identifier?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says", "status"),
    [
        (["--method", "mdva"], "unknown method 'mdva'; did you mean 'mdav'?", 2),
        (["--method", "mdav", "--set", "kk=3"], "mdav has no parameter 'kk'; did you mean 'k'?", 2),
        (["--method", "mdav", "--set", "k=1"], "k = 1 is not allowed", 2),
        (["--method", "mdav", "--set", "k=three"], "k = 'three' is not allowed; it must be a whole number", 2),
        (["--method", "mdav", "--set", "k=61"], "the table has 60 records, but mdav with k = 61 needs at least 61", 1),
        (["--method", "mdav", "--attributes", "agge"], "unknown column 'agge'; did you mean 'age'?", 2),
        (["--method", "mdav", "--attributes", "job"], "attribute 'job' is nominal, but mdav works on numeric", 1),
        (["--method", "mdav", "--keys", "age,job"], "attribute 'job' is nominal, but mdav works on numeric", 1),
        (["--method", "pram", "--attributes", "age"], "attribute 'age' is numeric, but pram works on", 1),
        (["--method", "mdav", "--seed", "-4"], "seed must be a whole number", 2),
        (["--method", "mdav", "--schema", "none.toml"], "none.toml: cannot be read", 1),
        (["--plan", "none.toml"], "none.toml: cannot be read", 1),
        (["--method", "mdav", "--plan", "p.toml"], "either --method NAME or --plan FILE", 2),
        ([], "either --method NAME or --plan FILE", 2),
        (["--method", "mdav", "--set", "k"], "--set takes name=value", 2),
    ],
)
def test_bad_usage_ends_in_one_sentence_and_writes_nothing(
    people: Path, arguments: list[str], says: str, status: int
) -> None:
    done = microveil("protect", people.name, *arguments, "--out", "out.csv", cwd=people.parent)
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert done.returncode == status
    assert sorted(p.name for p in people.parent.iterdir()) == ["people.csv"]


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("exists.csv", "exists.csv: this file exists already"),
        ("there/is/none.csv", "does not exist"),
        ("out.odd", "the ending '.odd' is not one Microveil knows"),
        ("out.sas7bdat", ".sas7bdat"),
        (".", "folder"),
        ("people.csv", "would overwrite the input"),
    ],
)
def test_a_bad_output_is_refused_before_the_work(people: Path, out: str, says: str) -> None:
    (people.parent / "exists.csv").write_text("mine")
    force = ["--force"] if out == "people.csv" else []
    before = people.read_bytes()
    done = microveil("protect", people.name, "--method", "mdav", "--out", out, *force, cwd=people.parent)
    assert done.returncode in (1, 2)
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(p.name for p in people.parent.iterdir()) == ["exists.csv", "people.csv"]
    assert (people.parent / "exists.csv").read_text() == "mine"
    assert people.read_bytes() == before


def test_force_overwrites(people: Path) -> None:
    (people.parent / "out.csv").write_text("old")
    done = microveil("protect", people, "--method", "noise", "--seed", 1, "--out", people.parent / "out.csv", "--force")
    assert done.returncode == 0
    assert (people.parent / "out.csv").read_text() != "old"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("people.parquet", b"age,income\n1,2\n", "is a text file, not Parquet"),
        ("people.csv", b"PK\x03\x04" + bytes(50), "people.csv: is"),
        ("people.csv", b"a,b\n1,2\n3\n", "line 3"),
        ("people.csv", b"a,a\n1,2\n", "'a'"),
        ("people.csv", b"", "empty"),
        ("people.csv", b"a,b\n", "no records"),
        ("people.sav", b"hello", "people.sav"),
        ("people.xlsx", b"hello", "people.xlsx"),
        ("people.dta", b"hello", "people.dta"),
        ("people.sas7bdat", b"hello", "people.sas7bdat"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    done = microveil("protect", name, "--method", "mdav", "--out", "out.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_assess_refuses_tables_that_do_not_belong_together(people: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("age,income\n1,2\n")
    done = microveil("assess", people, other)
    assert done.returncode == 1
    assert "they must describe the same records" in done.stderr


def test_help_cuts_no_summary_of_a_command() -> None:
    shown = microveil("--help").stdout
    assert "  describe        Show the kind, role and summary statistics of each column." in shown
    assert "..." not in shown.partition("Commands:")[2]


def test_help_and_version_answer_without_heavy_imports() -> None:
    script = (
        "import sys\nsys.argv = ['microveil', '--help']\nfrom microveil.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'numba', 'pyarrow', 'scipy', 'pandas', 'narwhals', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
    assert microveil("--version").stdout == "microveil 0.1.0\n"
    for command in ("methods", "describe", "protect", "assess", "demo"):
        shown = microveil(command, "--help")
        assert shown.returncode == 0
        assert "Example: microveil" in shown.stdout


def test_the_first_run_says_that_it_compiles_and_the_next_does_not(people: Path, tmp_path: Path) -> None:
    attributes = ("--method", "rank-swapping-buckets", "--attributes", "age")
    arguments = ("protect", people, *attributes, "--seed", 1, "--force", "--out", tmp_path / "o.csv")
    first = process(*arguments, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    second = process(*arguments, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert "compiling the kernels" in first.stderr
    assert "compiling" not in second.stderr


def test_the_demo_ranks_candidates_and_writes_a_page_without_a_network(tmp_path: Path) -> None:
    done = microveil("demo", "--out", tmp_path / "demo", "--records", 150, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    means = [row["mean"] for row in report["ranking"]]
    assert means == sorted(means)
    assert len(means) == 26
    page = (tmp_path / "demo" / "risk-utility.html").read_text()
    assert page.count("<svg") >= 1
    outside = page.replace("http://www.w3.org/2000/svg", "")
    assert "http" not in outside
    assert "src=" not in outside
    assert sorted(p.name for p in (tmp_path / "demo").iterdir()) == [
        "release.csv", "release.csv.manifest.json", "release.csv.private.json", "risk-utility.html", "survey.csv",
        "survey.toml",
    ]  # fmt: skip
    again = microveil(
        "protect", tmp_path / "demo" / "survey.csv", "--plan", tmp_path / "demo" / "release.csv.manifest.json",
        "--out", tmp_path / "again.csv",
    )  # fmt: skip
    assert "the same bytes" in again.stderr
    refused = microveil("demo", "--out", tmp_path / "demo", "--records", 150)
    assert refused.returncode == 1
    assert "exists already" in refused.stderr


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "xlsx", "sav", "dta"])
def test_every_output_format_is_made_again_byte_for_byte(tmp_path: Path, ending: str) -> None:
    data = survey(80, seed=2)
    files.write(data, tmp_path / "survey.csv")
    data.schema.write(tmp_path / "survey.toml")
    out, again = tmp_path / f"one.{ending}", tmp_path / f"two.{ending}"
    done = microveil(
        "protect", tmp_path / "survey.csv", "--schema", tmp_path / "survey.toml", "--method", "noise",
        "--attributes", "income,wealth", "--seed", 4, "--out", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    redone = microveil("protect", tmp_path / "survey.csv", "--plan", f"{out}.manifest.json", "--out", again)
    assert redone.returncode == 0, redone.stderr
    assert again.read_bytes() == out.read_bytes()


def test_options_go_on_top_of_the_schema_of_a_plan(people: Path, tmp_path: Path) -> None:
    first = tmp_path / "one.csv"
    assert microveil("protect", people, "--method", "noise", "--seed", 1, "--out", first).returncode == 0
    again = microveil(
        "protect", people, "--plan", f"{first}.manifest.json", "--identifiers", "name", "--out", tmp_path / "two.csv"
    )
    assert "left out (identifiers): name" in again.stdout
    assert "person 3" not in (tmp_path / "two.csv").read_text()


def test_a_replay_reads_the_file_as_the_first_run_did(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("zip;x\n" + "\n".join(f"{i % 3 + 1};{i},5" for i in range(60)) + "\n")
    (tmp_path / "s.toml").write_text("[attributes.zip]\nkind = 'nominal'\nrole = 'key'\ndomain = ['1', '2', '3']\n")
    done = microveil(
        "protect", "d.csv", "--schema", "s.toml", "--method", "pram", "--seed", 1, "--out", "o.csv", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    redone = microveil("protect", "d.csv", "--plan", "o.csv.manifest.json", "--out", "p.csv", cwd=tmp_path)
    assert "the same bytes" in redone.stderr


def test_the_masked_file_is_read_like_the_original(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("zip\n0123\n4567\n4568\n4567\n")
    (tmp_path / "b.csv").write_text("zip\n4567\n4567\n4568\n4567\n")
    result = json.loads(microveil("assess", "a.csv", "b.csv", "--json", cwd=tmp_path).stdout)
    assert result["losses"]["dbil"]["value"] == 25


def test_the_schema_of_the_manifest_is_used_whatever_attributes_are_named(tmp_path: Path) -> None:
    rows = "\n".join(f"{20 + i},{-9 if i % 6 == 0 else 100 * i}" for i in range(60))
    (tmp_path / "a.csv").write_text(f"age,income\n{rows}\n")
    (tmp_path / "s.toml").write_text("[attributes.income]\nkind = 'numeric'\nmissing_codes = [-9]\n")
    microveil("protect", "a.csv", "--schema", "s.toml", "--method", "mdav", "--out", "b.csv", cwd=tmp_path)
    by_default = json.loads(microveil("assess", "a.csv", "b.csv", "--json", cwd=tmp_path).stdout)
    named = json.loads(
        microveil("assess", "a.csv", "b.csv", "--attributes", "age,income", "--json", cwd=tmp_path).stdout
    )
    assert named["losses"]["sse"] == by_default["losses"]["sse"]
    (tmp_path / "b.csv").write_text((tmp_path / "a.csv").read_text())
    assert "is not the file its manifest was written for" in microveil("assess", "a.csv", "b.csv", cwd=tmp_path).stderr


def test_a_release_measures_alike_in_every_format(tmp_path: Path) -> None:
    data = survey(120, seed=2)
    files.write(data, tmp_path / "a.csv")
    data.schema.write(tmp_path / "a.toml")
    values = set()
    for ending in ("csv", "sav", "dta", "parquet"):
        out = tmp_path / f"o.{ending}"
        microveil(
            "protect", tmp_path / "a.csv", "--schema", tmp_path / "a.toml", "--method", "mdav",
            "--attributes", "age,income", "--out", out,
        )  # fmt: skip
        (tmp_path / f"o.{ending}.manifest.json").unlink()
        measured = microveil(
            "assess", tmp_path / "a.csv", out, "--schema", tmp_path / "a.toml", "--attributes", "age,income", "--json"
        )
        assert measured.stderr == ""
        values.add(round(json.loads(measured.stdout)["risks"]["distance-linkage"]["value"], 9))
    assert len(values) == 1


def test_a_column_that_is_text_for_one_bad_cell_is_pointed_out(tmp_path: Path) -> None:
    rows = [f"{20 + i},{1000 + i}" for i in range(30)]
    rows[6] = "26,1 200"
    (tmp_path / "a.csv").write_text("age,income\n" + "\n".join(rows) + "\n")
    done = microveil("protect", "a.csv", "--method", "noise", "--seed", 1, "--out", "b.csv", cwd=tmp_path)
    assert "released as they were: income" in done.stdout
    assert "column 'income' is released as it was; all but 1 values are numbers (see record 7)" in done.stderr
    assert "1 200" not in done.stderr


def test_describe_shows_a_bad_column_instead_of_failing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,id\n1,900719925474099301\ninf,900719925474099302\n")
    shown = microveil("describe", "a.csv", "--json", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    hints = {row["name"]: row["hint"] for row in json.loads(shown.stdout)["attributes"]}
    assert "infinite" in hints["x"]
    assert "beyond 2^53" in hints["id"]


def test_the_manifest_is_private(people: Path, tmp_path: Path) -> None:
    done = microveil("protect", people, "--method", "noise", "--seed", 1, "--out", tmp_path / "o.csv")
    manifest = tmp_path / "o.csv.manifest.json"
    assert "keep it private" in done.stdout
    assert manifest.stat().st_mode & 0o077 == 0
    assert "Do not publish" in json.loads(manifest.read_text())["private"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["protect", "people.csv", "--method", "mdav"],
        ["protect", "people.csv", "--seed", "1.5"],
        ["protct"],
        ["demo", "--records", "3"],
    ],
)
def test_what_the_parser_refuses_is_one_sentence_too(people: Path, arguments: list[str]) -> None:
    done = microveil(*arguments, cwd=people.parent)
    assert done.returncode == 2
    assert done.stderr.startswith("microveil: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--set", "k=3", "--set", "k=4"], ["--attributes", ""], ["--set", "k=inf"]])
def test_contradictions_are_refused(people: Path, arguments: list[str]) -> None:
    done = microveil("protect", people, "--method", "mdav", *arguments, "--out", people.parent / "o.csv")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_a_terminated_run_leaves_nothing_half_written(tmp_path: Path) -> None:
    files.write(survey(60_000, seed=2), tmp_path / "a.csv")
    command = [sys.executable, "-m", "microveil.cli", "protect", "a.csv", "--method", "noise", "--out", "b.csv.gz"]
    for wait in (1.0, 1.6, 2.2):
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        time.sleep(wait)
        process.terminate()
        process.communicate(timeout=60)
        left = sorted(p.name for p in tmp_path.iterdir())
        assert left in (["a.csv"], ["a.csv", "b.csv.gz", "b.csv.gz.manifest.json"])
        if left == ["a.csv"]:
            assert process.returncode != 0
            continue
        break


def test_parameters_of_attacks_are_set_by_their_names(people: Path) -> None:
    attack = ("assess", people, people, "--attributes", "age,income", "--json", "--attacks", "distance-linkage")
    done = microveil(*attack, "--set", "distance-linkage.metric=manhattan")
    assert done.returncode == 0, done.stderr
    for setting, problem in (
        ("metric=manhattan", "measure.name=value"),
        ("uniqueness.seed=1", "uniqueness to be named"),
        ("distance-linkage.metric=x", "metric"),
    ):
        refused = microveil(*attack, "--set", setting)
        assert refused.returncode == 2
        assert problem in refused.stderr


def test_all_attacks_know_what_a_release_was_made_with(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "swapped.csv"
    common = ("--attributes", "age,income")
    made = microveil(
        "protect", people, *common, "--method", "rank-swapping", "--set", "p=10", "--seed", 1, "--out", out
    )
    assert made.returncode == 0, made.stderr
    shown = microveil("assess", people, out, "--attacks", "all", "--explain")
    assert shown.returncode == 0, shown.stderr
    for words in ("rank-swapping-linkage", "worst linkage", "can prove to be right", "Scenario:", "Example: record"):
        assert words in shown.stdout


def test_an_attack_that_is_named_knows_what_a_release_was_made_with(people: Path, tmp_path: Path) -> None:
    out, bare = tmp_path / "swapped.csv", tmp_path / "bare.csv"
    wish = ("--attributes", "age,income", "--method", "rank-swapping", "--set", "p=5", "--seed", 1)
    microveil("protect", people, *wish, "--out", out)
    bare.write_bytes(out.read_bytes())
    attack = ("--attributes", "age,income", "--attacks", "rank-swapping-linkage", "--json")
    told, assumed, given = (
        json.loads(microveil("assess", people, path, *attack, *more).stdout)["risks"]["rank-swapping-linkage"]
        for path, *more in ((out,), (bare,), (bare, "--set", "rank-swapping-linkage.p=5"))
    )
    assert told["counters"] == given["counters"]
    assert told["counters"]["candidates"] < assumed["counters"]["candidates"]  # 5 %, not the 20 % assumed

    grouped = tmp_path / "grouped.csv"
    microveil("protect", people, "--attributes", "age,income", "--method", "mdav", "--seed", 1, "--out", grouped)
    groups = ("--attacks", "class-disclosure", "--set", "class-disclosure.groups=partition", "--confidential", "job")
    measured = microveil("assess", people, grouped, *groups)  # the groups are made again
    assert measured.returncode == 0, measured.stderr


def test_published_intervals_are_assessed_by_what_can_read_them(people: Path, tmp_path: Path) -> None:
    out, foreign = tmp_path / "spans.csv", tmp_path / "foreign.csv"
    wish = ("--method", "mondrian", "--set", "publish=interval", "--set", "k=5", "--seed", 1)
    made = microveil("protect", people, "--attributes", "age,job", *wish, "--out", out)
    assert made.returncode == 0, made.stderr
    foreign.write_bytes(out.read_bytes())
    for path in (out, foreign):
        measured = microveil("assess", people, path, "--attributes", "age,job,income", "--json")
        assert measured.returncode == 0, measured.stderr
        assert "age, job: released as labels that stand for several values" in measured.stderr
        result = json.loads(measured.stdout)
        assert result["risks"]["distance-linkage"]["known"] == ["age", "job", "income"]
        assert "interval-disclosure" not in result["risks"]  # income was left alone, and labels have no place
        assert set(result["losses"]["sse"]["per_attribute"]) <= {"income"}

        nothing_else = microveil("assess", people, path, "--attributes", "age,job", "--json")
        assert nothing_else.returncode == 0, nothing_else.stderr
        result = json.loads(nothing_else.stdout)
        assert list(result["losses"]) == ["generalisation"]
        assert result["score"]["loss"] == result["losses"]["generalisation"]["value"] > 0
        assert 0 < result["risks"]["distance-linkage"]["value"] <= 20
    shown = microveil("assess", people, out, "--attributes", "age,job", "--attacks", "all")
    assert shown.returncode == 0, shown.stderr
    assert "age, job: released as labels, which only these attacks could use: distance-linkage" in shown.stdout
    assert "nan" not in shown.stdout
    together = microveil("assess", people, out, "--also", foreign, "--attributes", "age,income")
    assert together.returncode == 1
    assert "versions of labels cannot be put together" in together.stderr


def test_every_risk_can_be_explained(people: Path) -> None:
    tables = ("assess", people, people, "--attributes", "age,income")
    named = ("--attacks", "distance-linkage", "--set", "distance-linkage.metric=manhattan")
    shown = microveil(*tables, *named, "--explain")
    assert shown.returncode == 0, shown.stderr
    for words in ("Scenario:", "assumed to know", "Example: record"):
        assert words in shown.stdout
    refused = microveil(*tables, "--explain", "--json")
    assert refused.returncode == 2
    assert "--json" in refused.stderr


@pytest.mark.parametrize(("option", "what"), [("--attacks", "one attack"), ("--losses", "one loss")])
def test_an_empty_list_of_measures_is_refused_as_such(people: Path, option: str, what: str) -> None:
    refused = microveil("assess", people, people, "--attributes", "age,income", option, " ,")
    assert refused.returncode == 2
    assert f"{option} must name at least {what}" in refused.stderr


def test_versions_of_one_table_are_attacked_together(people: Path, tmp_path: Path) -> None:
    versions = [tmp_path / f"version{seed}.csv" for seed in range(3)]
    for seed, out in enumerate(versions):
        microveil("protect", people, "--method", "noise", "--set", "alpha=0.3", "--seed", seed, "--out", out)
    also = [part for path in versions[1:] for part in ("--also", path)]
    done = microveil("assess", people, versions[0], *also, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    found = result["versions"]
    assert found["files"] == [path.name for path in versions]
    alone = [risk["value"] for risk in found["risks"]["distance-linkage"]["alone"]]
    assert len(alone) == 3
    assert alone[0] == result["risks"]["distance-linkage"]["value"]
    tables = [files.read(path) for path in (people, *versions)]
    for name, gain in found["gains"].items():
        truth, *noisy = (table.numbers(name).values for table in tables)
        error = np.sqrt(((np.mean(noisy, axis=0) - truth) ** 2).mean())
        assert gain["error"] == pytest.approx(100 * error / truth.std())
    tried = [*alone, found["risks"]["distance-linkage"]["together"]["value"]]
    assert found["risks"]["distance-linkage"]["risk"]["value"] == max(tried)

    every = microveil("assess", people, versions[0], *also, "--attacks", "all")
    assert "attacked by distance-linkage only" in every.stderr
    shown = microveil("assess", people, versions[0], *also, "--attacks", "interval-disclosure", "--link", "nearest")
    assert "3 versions combined" in shown.stdout
    assert "income: error of the intruder's estimate" in shown.stdout
    assert "every value lies" not in shown.stdout  # noise keeps no order


def test_versions_masked_in_order_narrow_the_values_down(people: Path, tmp_path: Path) -> None:
    for k in (3, 4):
        microveil(
            *("protect", people, "--method", "individual-ranking", "--set", f"k={k}", "--seed", 1),
            *("--attributes", "income", "--out", tmp_path / f"k{k}.csv"),
        )
    shown = microveil("assess", people, tmp_path / "k3.csv", "--also", tmp_path / "k4.csv", "--attributes", "income")
    assert shown.returncode == 0, shown.stderr
    assert "income: mean width of the intervals that hold every value" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "says", "status"),
    [
        (("--also", "people.csv"), "names a file that is already given", 2),
        (("--link", "nearest"), "it needs --also", 2),
        (("--also", "other.csv", "--link", "guess"), "is not one of", 2),
        (("--also", "none.csv"), "none.csv", 1),
        (("--also", "short.csv"), "60 records and the masked table 1", 1),
    ],
)
def test_versions_that_make_no_sense_are_refused(
    people: Path, arguments: tuple[str, ...], says: str, status: int
) -> None:
    (people.parent / "other.csv").write_text(people.read_text())
    (people.parent / "short.csv").write_text("age,income,job,name\n1,2,a,b\n")
    done = microveil("assess", "people.csv", "people.csv", "--attributes", "age,income", *arguments, cwd=people.parent)
    assert done.returncode == status
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_a_method_is_strengthened_until_an_attack_gains_little(people: Path, tmp_path: Path) -> None:
    out, again = tmp_path / "safe.csv", tmp_path / "again.csv"
    wish = ("--method", "mdav", "--attributes", "age,income", "--seed", 3)
    loop = ("--vary", "k=2,5,10,20", "--until", "distance-linkage=15")
    done = microveil("protect", people, *wish, *loop, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    until = json.loads(done.stdout)["until"]
    risks = [tried["risk"] for tried in until["tried"]]
    assert [tried["value"] for tried in until["tried"]] == ["2", "5", "10", "20"][: len(risks)]
    assert risks[-1] <= 15 < min(risks[:-1])
    measured = json.loads(microveil("assess", people, out, "--json").stdout)
    assert measured["risks"]["distance-linkage"]["value"] == pytest.approx(risks[-1])
    strength = f"k={until['tried'][-1]['value']}"
    assert json.loads(done.stdout)["guarantees"]["k"] >= int(strength[2:])

    microveil("protect", people, *wish, "--set", strength, "--out", again)
    assert again.read_bytes() == out.read_bytes()
    shown = microveil("protect", people, *wish, *loop, "--out", out, "--force")
    assert f"tried {strength}: distance-linkage {risks[-1]:.2f} % (95 % interval " in shown.stdout


def test_a_method_is_strengthened_until_the_requirements_are_met_too(people: Path, tmp_path: Path) -> None:
    wish = ("--method", "mdav", "--attributes", "age,income", "--seed", 3, "--out", tmp_path / "safe.csv")
    loop = ("--vary", "k=5,10,20", "--until", "distance-linkage=50")
    done = microveil("protect", people, *wish, *loop, "--require", "k=20")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("but not what is required") == 2
    assert "tried k=20" in done.stdout
    short = microveil("protect", people, *wish, *loop, "--require", "k=50", "--force")
    assert short.returncode == 1
    assert "brought to 50 %, but the release was to have k at least 50" in short.stderr


@pytest.mark.parametrize(
    ("arguments", "says", "status"),
    [
        (("--method", "mdav", "--until", "distance-linkage=5"), "must be given together", 2),
        (("--method", "mdav", "--vary", "k=3"), "must be given together", 2),
        (("--plan", "p.toml", "--vary", "k=3", "--until", "distance-linkage=5"), "only with --method", 2),
        (("--method", "mdav", "--vary", "k=", "--until", "distance-linkage=5"), "such as --vary k=3,5,10", 2),
        (("--method", "mdav", "--vary", "k=3", "--until", "distance-link=5"), "did you mean 'distance-linkage'", 2),
        (("--method", "mdav", "--vary", "k=3", "--until", "distance-linkage"), "such as --until distance-linkage=5", 2),
        (("--method", "mdav", "--vary", "k=3", "--until", "distance-linkage=nan"), "is a percentage from 0 to 100", 2),
        (("--method", "mdav", "--vary", "k=3,1", "--until", "distance-linkage=5"), "k = 1 is not allowed", 2),
        (("--method", "mdav", "--vary", "kk=3", "--until", "distance-linkage=5"), "no parameter 'kk'", 2),
        (("--method", "mdav", "--set", "k=3", "--vary", "k=3", "--until", "uniqueness=5"), "give it once", 2),
        (("--method", "mdav", "--vary", "k=3", "--until", "distance-linkage.best=5"), "no counter 'best'", 2),
        (("--method", "mdav", "--vary", "k=2,3", "--until", "distance-linkage=0.5%"), "the lowest risk was", 1),
        (("--method", "mdav", "--vary", "k=2,3", "--until", "distance-linkage=0.5"), "as a share of 1", 2),
    ],
)
def test_a_loop_that_makes_no_sense_or_never_ends_well_writes_nothing(
    people: Path, tmp_path: Path, arguments: tuple[str, ...], says: str, status: int
) -> None:
    done = microveil("protect", people, *arguments, "--out", tmp_path / "safe.csv")
    assert done.returncode == status
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_an_attack_that_breaks_off_ends_in_a_status_after_everything_is_printed(people: Path) -> None:
    script = (
        "import sys\nfrom microveil.cli import main\nfrom microveil.attacks.singling_out import SinglingOut\n"
        "def broken(*_): raise ZeroDivisionError('income 123456')\nSinglingOut._assess = broken\n"
        f"sys.argv = ['microveil', 'assess', {str(people)!r}, {str(people)!r}, '--attributes', 'age,income', "
        "'--attacks', 'all', *sys.argv[1:]]\nmain()"
    )

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", script, *arguments]
        settings = {**os.environ, "COLUMNS": "160", **environment}
        return subprocess.run(command, capture_output=True, text=True, env=settings, timeout=120, check=False)

    shown, plain, debugged = run(), run("--json"), run(MICROVEIL_DEBUG="1")
    assert [done.returncode for done in (shown, plain, debugged)] == [1, 1, 1]
    assert "distance-linkage" in shown.stdout
    assert "failed (internal error; the risk may be higher): singling-out" in shown.stdout
    assert "singling-out (ZeroDivisionError)" in shown.stderr
    assert json.loads(plain.stdout)["battery"]["failed"] == {"singling-out": "ZeroDivisionError"}
    assert "123456" not in shown.stdout + shown.stderr + plain.stdout + plain.stderr
    assert "Traceback" in debugged.stderr
