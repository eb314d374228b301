"""Kernels that are interpreted on short tables: the same to the last bit as compiled, and only as long as that is
sooner done."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import microveil as mv
from microveil import numerics
from microveil.numerics.core import compiled, exact_sums
from microveil.numerics.core.compiled import kernel
from microveil.numerics.grouping.mdav import mdav_groups
from microveil.numerics.grouping.univariate import optimal_groups
from microveil.numerics.perturbing.swapping import holdings_by_range, swap_partners
from microveil.numerics.statistics.moment_sums import MomentSums
from microveil.registry import make
from microveil.typing import FloatArray

# methods that between them use all kernels that may be interpreted
METHODS = {
    "mdav": {"k": 3},
    "mdav literal": {"k": 3, "remainder": "literal"},
    "mdav-generic": {"k": 3},
    "mondrian": {"k": 3},
    "mondrian relaxed": {"k": 3, "cut": "relaxed"},
    "individual-ranking": {"k": 3},
    "optimal-univariate": {"k": 3},
    "rank-swapping": {"p": 10},
    "noise": {},
    "pram": {"p": 0.8},
    "recode": {"k": 2, "leave": 0.5},
    "suppress": {"k": 2},
}
IMPORTED = """
import sys
import numpy as np
from microveil.numerics.core.exact_sums import exact_total
exact_total(np.ones(({rows}, 2)))
print("numba" in sys.modules)
"""


def tables() -> Iterator[mv.Microdata]:
    yield mv.datasets.survey(80, seed=3)
    rng = np.random.default_rng(1)
    awkward = {
        "ties": rng.integers(0, 3, 60).astype(float),
        "constant": np.full(60, -0.0),
        "apart": rng.choice([1e149, -1e149, 1.0, 5e-324, 0.0], 60),
        "letter": rng.choice(list("abc"), 60),
    }
    letters = mv.Attribute(name="letter", kind="nominal", domain=("b", "c", "a"))
    made = mv.Microdata.of({name: column.tolist() for name, column in awkward.items()})
    yield replace(made, schema=mv.Schema([letters if one.name == "letter" else one for one in made.schema]))


def assert_same_bits(one: Any, other: Any, where: str) -> None:
    assert type(one) is type(other), where
    if isinstance(one, tuple):
        assert len(one) == len(other), where
        for a, b in zip(one, other, strict=True):
            assert_same_bits(a, b, where)
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        if one.dtype.kind == "f":  # one NaN is like another
            one, other = (np.where(np.isnan(a), np.nan, a) for a in (one, other))
        assert one.tobytes() == other.tobytes(), where
    elif isinstance(one, float):
        assert_same_bits(np.array(one), np.array(other), where)
    else:
        assert one == other, where


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the kernels that were called as interpreted ones, each of which was compared with its compiled
    self: what it returned, and what became of its arguments."""
    names: set[str] = set()

    def both(self: Any, *given: Any, **named: Any) -> Any:
        if self._steps is None:
            return self.compiled(*given, **named)
        assert self._steps(*given, **named) >= 0
        again = copy.deepcopy(given)
        with np.errstate(all="ignore"):
            result = compiled._as_of_numba(self.interpreted(*given, **named))
        assert_same_bits(result, self.compiled(*again, **named), self.__name__)
        assert_same_bits(given, again, self.__name__)
        names.add(f"{self.__module__}.{self.__name__}")
        return result

    monkeypatch.setattr(compiled._Kernel, "__call__", both)
    return names


def interpretable() -> set[str]:
    """All kernels that may be interpreted."""
    names = [module.name for module in pkgutil.walk_packages(numerics.__path__, "microveil.numerics.")]
    modules = [importlib.import_module(name) for name in names]
    kernels = [one for module in modules for one in vars(module).values() if isinstance(one, compiled._Kernel)]
    return {f"{one.__module__}.{one.__name__}" for one in kernels if one._steps is not None}


def matrices() -> Iterator[FloatArray]:
    rng = np.random.default_rng(5)
    yield rng.normal(size=(70, 3)) * 10.0 ** rng.integers(-200, 200, size=(70, 1))
    yield rng.integers(0, 3, size=(40, 2)).astype(np.float64)
    yield np.where(rng.random((30, 1)) < 0.5, 0.0, -0.0)


def test_what_is_interpreted_is_the_same_to_the_last_bit(compared: set[str]) -> None:
    for people in tables():
        for label, parameters in METHODS.items():
            method = make("method", label.split()[0], parameters)
            attributes = [name for name in people.schema.keys or people.names if people[name].kind in method.takes]
            method.mask(people, attributes, seed=7)
    for matrix in matrices():
        for k in (1, 2, 5):
            mdav_groups(matrix, k)
            mdav_groups(matrix[:, :1], k)
            optimal_groups(matrix[:, 0], k, matrix)
            swap_partners(k, np.random.default_rng(k).random(len(matrix)))
            list(holdings_by_range(k, len(matrix), lambda positions: np.random.default_rng(7).random(len(positions))))
        sums = MomentSums.of(matrix) + MomentSums.of(np.where(matrix > 1.0, np.nan, matrix))
        assert sums.covariance.shape == sums.sample_covariance.shape
    assert compared == interpretable()


def test_kernels_are_compiled_where_that_is_sooner_done() -> None:
    for rows, loaded in ((100, "False"), (1_000_000, "True")):
        done = subprocess.run([sys.executable, "-c", IMPORTED.format(rows=rows)], capture_output=True, text=True)
        assert (done.stdout.strip(), done.stderr) == (loaded, "")


def test_many_short_tables_are_at_last_worth_compiled_kernels() -> None:
    allowance = compiled._Allowance(100)
    assert [allowance.covers(steps) for steps in (40, 40, 40, 20, 1)] == [True, True, False, True, False]


@kernel
def halved(number: int) -> int:
    return number // 2


@kernel(steps=lambda number: number)
def halvings(number: int) -> tuple[int, bool]:
    """How often a number can be halved."""
    found = 0
    while number > 1:
        number = halved(number)
        found += 1
    return np.int64(found), np.bool_(number == 1)


def test_what_an_interpreted_kernel_calls_is_interpreted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "allowance", compiled._Allowance(1000))
    interpreted = halvings(1000)
    assert not {"compiled"} & (vars(halvings).keys() | vars(halved).keys())
    assert halvings(100_000) == (16, True)  # which is compiled, with what it calls
    assert {"compiled"} <= vars(halvings).keys() & vars(halved).keys()
    again = halvings(1000)
    assert interpreted == again == (9, True)
    assert [type(one) for one in interpreted] == [type(one) for one in again] == [int, bool]


@kernel
def doubled(number: int) -> int:
    return 2 * number


def test_threads_that_come_at_once_share_one_compiled_kernel() -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: (doubled(number), id(vars(doubled)["compiled"])), range(8)))
    assert [number for number, _ in found] == list(range(0, 16, 2))
    assert len({compiled_once for _, compiled_once in found}) == 1


def test_a_kernel_is_known_by_its_name_and_words() -> None:
    assert (halvings.__name__, halvings.__doc__) == ("halvings", "How often a number can be halved.")
    assert pickle.loads(pickle.dumps(exact_sums.add_exactly)) is exact_sums.add_exactly
