"""Numbers far too large: every numeric parameter has an upper bound, and none starts work without end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from microveil.errors import ParameterError
from microveil.parameters import describe_parameters
from microveil.registry import find, make, names

CHILD = Path(__file__).with_name("limits_child.py")
KINDS = ("method", "attack", "loss", "score")
ENTRIES = [(kind, name) for kind in KINDS for name in names(kind)]


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_every_number_has_an_upper_bound(kind: str, name: str) -> None:
    for parameter in describe_parameters(find(kind, name)):
        if parameter["type"] in ("int", "float", "int or none", "float or none"):
            assert "maximum" in parameter or "below" in parameter, parameter["name"]


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
@pytest.mark.parametrize("digits", [200, 4000, 5000])
def test_a_number_beyond_all_limits_is_refused_in_one_sentence(kind: str, name: str, digits: int) -> None:
    for parameter in describe_parameters(find(kind, name)):
        if parameter["type"].split(" or ")[0] in ("int", "float"):
            with pytest.raises(ParameterError, match=f"{parameter['name']} = a number of .* digits is not allowed"):
                make(kind, name, {parameter["name"]: 10**digits})


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_far_too_large_are_refused_or_do_no_more_work_than_the_table_gives(kind: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", str(CHILD), kind], capture_output=True, text=True, timeout=900, check=False
    )
    assert ended.returncode == 0, f"{ended.stdout.splitlines()[-1]}: {ended.stderr[-2000:]}"
    assert ended.stdout.splitlines()[-1] == "done"
