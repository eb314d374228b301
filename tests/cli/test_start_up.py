"""What a command imports: each package takes time before the first word of an answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from microveil.cli.without_pandas import _needs_none
from microveil.microdata import files
from microveil.microdata.datasets.sample_survey import survey

# what is looked at: packages that take long, and parts of SciPy (other than what numba takes)
HEAVY = {
    "duckdb", "jinja2", "narwhals", "networkx", "numba", "numpy", "openpyxl", "pandas", "polars", "pyarrow", "pydantic",
    "pyreadstat", "pyspark", "rich", "scipy.optimize", "scipy.spatial", "scipy.special", "scipy.stats", "sqlglot",
    "statsmodels",
}  # fmt: skip
ARRAYS = {"narwhals", "numpy", "pyarrow", "pydantic"}  # no numba: kernels are interpreted on short tables
PROTECT = ("protect", "people.csv", "--attributes", "age,income", "--seed", "1", "--out", "safe.csv", "--method")
CODES = ("protect", "people.csv", "--attributes", "sex,region", "--seed", "1", "--out", "safe.csv", "--method")
TREE = {
    ("--help",): set[str](),
    (*PROTECT, "mdav"): ARRAYS,
    (*PROTECT, "rank-swapping"): ARRAYS,
    (*PROTECT, "mdav-generic"): ARRAYS,
    (*PROTECT, "individual-ranking"): ARRAYS,
    (*PROTECT, "mondrian"): ARRAYS,
    (*PROTECT, "noise"): ARRAYS | {"scipy.special"},  # normal quantiles
    (*CODES, "pram"): ARRAYS,
    (*CODES, "recode"): ARRAYS,
    (*CODES, "suppress"): ARRAYS | {"scipy.optimize", "scipy.spatial", "scipy.special"},  # a bound
}
SCRIPT = """
import json, sys
sys.argv = ["microveil", *json.loads(sys.argv[1])]
from microveil.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
finally:
    print(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("start-up")
    files.write(survey(100, seed=1), made / "people.csv")
    return made


def imported(arguments: tuple[str, ...], folder: Path) -> set[str]:
    """The modules that a process of its own has when it is done."""
    command = [sys.executable, "-c", SCRIPT, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(("arguments", "heavy"), TREE.items(), ids=[arguments[-1] for arguments in TREE])
def test_a_command_imports_no_more_than_it_needs(arguments: tuple[str, ...], heavy: set[str], folder: Path) -> None:
    for path in folder.glob("safe.csv*"):
        path.unlink()
    assert imported(arguments, folder) & HEAVY == heavy


PLAIN = ("protect", "people.csv", "--out", "safe.parquet")


@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        (PLAIN, True),
        ((), False),
        (("assess", "people.csv", "safe.csv"), False),
        (("protect", "people.SAV", "--out", "safe.csv"), False),
        ((*PLAIN, "--engine", "spark"), False),
        (("protect", "--help"), False),
    ],
)
def test_pandas_is_left_out_only_where_nothing_can_have_a_use_for_it(
    words: tuple[str, ...], left_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    assert _needs_none(words) is left_out
    monkeypatch.setitem(sys.modules, "pandas", sys)  # imported before: nothing is to be won
    assert not _needs_none(words)


def test_pandas_is_not_left_out_beside_methods_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    monkeypatch.setattr("microveil.plugins.declared", lambda kind: ({"acme": None} if kind == "method" else {}, ()))
    assert not _needs_none(PLAIN)
