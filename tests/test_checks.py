"""The checks that a third party runs on its own methods, attacks and losses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest

from microveil.checks import check_score, checks_of
from microveil.errors import ParameterError, UnknownNameError
from microveil.losses import SSE
from microveil.masking import MDAV, Masked, Method
from microveil.microdata import Microdata
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress
from microveil.randomness import Streams
from microveil.scoring import Mean

from .plugin_packages import EXAMPLE, install_example


@parameterised
class Careless(Method):
    """Publishes zeros in place of all values, missing or not, and breaks off at a column of 30 records."""

    name: ClassVar[str] = "careless"
    family: ClassVar[str] = "coarsening"
    summary: ClassVar[str] = "every value becomes zero"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "missing cells become zero"
    source: ClassVar[str] = "nobody"

    strength: float = parameter(default=1.0, help="a number without an upper bound")

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        if len(data) == 30:
            raise ZeroDivisionError("division by zero")
        return Masked({name: pa.array([0.0] * len(data)) for name in attributes})


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ("it_is_found_by_its_name", "unknown method 'careless'.*; declare it as an entry point of the group"),
        ("every_number_has_an_upper_bound", "parameter strength has no upper bound"),
        ("only_random_methods_depend_on_the_seed", "what it declares as `random` is True where False was expected"),
        ("missing_cells_stay_missing_unless_missing_is_a_category", "missing cells of 'income' have become something"),
        ("missing_cells_are_refused_where_the_schema_says_so", "a missing cell is not refused with DataError"),
        ("constant_attributes_are_handled", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_failure_names_the_class_the_check_and_what_is_wrong(check: str, sentence: str) -> None:
    with pytest.raises(AssertionError, match=f"careless: {check.replace('_', ' ')}: {sentence}"):
        dict(checks_of("method", Careless))[check]()


def test_what_the_method_does_right_passes() -> None:
    checks = dict(checks_of("method", Careless))
    for check in ("the_same_seed_gives_the_same_release", "identifiers_are_left_out_of_the_release", "it_is_frozen"):
        checks[check]()


def test_all_failures_of_a_class_are_told_together() -> None:
    class Odd(Mean):
        name: ClassVar[str] = "odd-score"
        source: ClassVar[str] = ""

    with pytest.raises(AssertionError) as failure:
        check_score(Odd)
    told = str(failure.value).splitlines()
    assert [line.split(": ")[1] for line in told] == ["it is found by its name", "it describes itself"]


def test_a_class_of_another_kind_is_refused() -> None:
    with pytest.raises(ParameterError, match="the checks of a loss take a class of LossMeasures"):
        list(checks_of("loss", MDAV))
    with pytest.raises(UnknownNameError, match="kind of entry"):
        list(checks_of("lossy", SSE))  # type: ignore[arg-type]


def test_the_checks_need_neither_pytest_nor_hypothesis() -> None:
    script = "import sys, microveil.checks\nprint(sorted({'pytest', 'hypothesis'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_example_package_passes_its_own_tests(tmp_path: Path) -> None:
    folders = [*map(str, install_example(tmp_path / "site")), os.environ.get("PYTHONPATH", "")]
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--doctest-modules", str(EXAMPLE)]
    done = subprocess.run(words, capture_output=True, text=True, env=settings, cwd=tmp_path, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
