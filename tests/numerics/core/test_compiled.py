"""Compiling: cached on disk, announced once, and never failing for want of a cache."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

from microveil.errors import Cancelled
from microveil.numerics.core.compiled import by_type, calling, kernel, over_chunks, threads
from microveil.numerics.core.exact_sums import add_exactly
from microveil.numerics.evolution.number_files import save_number_sums, take_number_sums
from microveil.typing import IntArray

SCRIPT = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
import numpy as np
from microveil.numerics.core.compiled import allowance
from microveil.numerics.perturbing.swapping import swap_partners
allowance.end()
print(swap_partners(1, np.zeros(4)).tolist())
"""


def run(cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)


def test_only_the_first_run_compiles_and_it_says_so(tmp_path: Path) -> None:
    first, second = run(tmp_path), run(tmp_path)
    assert first.stderr.count("compiling the kernels; this happens only in the first run") == 1
    assert second.stderr == ""
    assert first.stdout == second.stdout == "[1, 0, 3, 2]\n"


def test_an_unwritable_cache_folder_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert run(tmp_path / "file" / "cache").stdout == "[1, 0, 3, 2]\n"


def test_what_an_earlier_version_left_in_the_cache_is_compiled_anew(tmp_path: Path) -> None:
    """As where it names a class that there is no longer."""
    run(tmp_path)
    left = list(tmp_path.rglob("*.nbi"))
    for index in left:
        stamp, _, overloads = index.read_bytes().partition(b"numba")
        assert overloads
        index.write_bytes(stamp + b"numbb" + overloads)
    again, third = run(tmp_path), run(tmp_path)
    assert left
    assert again.stderr.count("compiling the kernels; this happens only in the first run") == 1
    assert third.stderr == ""
    assert again.stdout == third.stdout == "[1, 0, 3, 2]\n"


def test_chunks_come_back_in_order_and_cover_everything() -> None:
    assert over_chunks(lambda start, end: (start, end), 10, 4, lambda f, t: None, "") == [(0, 4), (4, 8), (8, 10)]


def test_what_fits_into_one_chunk_is_done_by_the_thread_that_asks() -> None:
    told: list[tuple[float, str]] = []
    found = over_chunks(
        lambda start, end: threading.current_thread(), 4, 4, lambda fraction, label: told.append((fraction, label)), "a"
    )
    assert found == [threading.current_thread()]
    assert told == [(1.0, "a")]


def test_cancelling_stops_the_chunks_that_have_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MICROVEIL_THREADS", "1")
    begun: list[int] = []

    def stop(fraction: float, label: str) -> None:
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        over_chunks(lambda start, end: (begun.append(start), time.sleep(0.002)), 300, 1, stop, "")
    assert len(begun) < 300


def test_the_number_of_threads_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MICROVEIL_THREADS", "3")
    assert threads() == 3
    monkeypatch.setenv("MICROVEIL_THREADS", "many")
    assert threads() >= 1


class Square(NamedTuple):
    side: float


class Circle(NamedTuple):
    radius: float


@kernel
def square_area(shape: Square, factor: float) -> float:
    return shape.side * shape.side * factor


@kernel
def circle_area(shape: Circle, factor: float) -> float:
    return 3.0 * shape.radius * shape.radius * factor


area = by_type({Square: square_area, Circle: circle_area})


@kernel
def both_areas(one: Square, other: Circle) -> float:
    return float(area(one, 1.0) + area(other, 10.0))


def test_a_function_by_type_is_that_of_its_first_argument_in_python_and_in_kernels() -> None:
    assert (area(Square(2.0), 1.0), area(Circle(2.0), 0.5)) == (4.0, 6.0)
    assert both_areas(Square(2.0), Circle(1.0)) == 34.0


@kernel
def tripled(number: int, up: bool) -> int:
    return 3 * number if up else -3 * number


@numba.njit  # not cached, so that what it calls is asked for in every run
def tripled_often(short: IntArray) -> int:
    last = -1
    for number in short:
        last = tripled(last, False) + tripled(number, True) + tripled(2, True)
    return last


def test_a_kernel_is_not_compiled_again_for_constants_and_short_numbers() -> None:
    assert tripled_often(np.array([1, 2**31 - 1], dtype=np.int32)) == 3 * (2**31 - 1) + 6 - 3 * (3 + 3 + 6)
    assert [str(one) for one in tripled.compiled.nopython_signatures] == ["(int64, bool) -> int64"]


def test_what_calls_functions_of_the_same_types_has_names_of_its_own() -> None:
    """Else numba may take one that was loaded from the cache for another that was compiled in this process."""
    assert len({calling(function).__qualname__ for function in (save_number_sums, take_number_sums, add_exactly)}) == 3
