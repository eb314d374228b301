"""`best` never loses more than `mdav` does with the same parameters, whatever is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.best import Best
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.microaggregation.v_mdav import VMDAV
from microveil.microdata import Microdata
from microveil.numerics.grouping.local_search import default_steps
from microveil.progress import silent
from microveil.randomness import Streams

ASKED: list[dict[str, Any]] = [
    {},
    {"scale": "minmax"},
    {"scale": "none"},
    {"publish": "median"},
    {"publish": "mode"},
    {"publish": "perturb"},
    {"weighted": True},
    {"strata": True},
    {"block": 2},
    {"chunk": 12},
    {"select": "exhaustive", "selected": 1},
]


def loss(data: Microdata, method: MDAV | Best | VMDAV, names: list[str]) -> float:
    """With the same random numbers for every method, which releases of different methods never have."""
    masked = method._mask(data, tuple(names), Streams(1), silent)
    return SSE().measure(data, data.with_columns(masked.columns, masked.attributes), names).value


@settings(max_examples=150, deadline=None)
@given(
    n=st.integers(20, 60),
    d=st.integers(1, 4),
    k=st.integers(2, 6),
    values=st.sampled_from([1, 2, 6, 10**6]),
    asked=st.sampled_from(ASKED),
    polish=st.sampled_from([0, 1, 30]),
    missing=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_best_loses_no_more_than_mdav(
    n: int, d: int, k: int, values: int, asked: dict[str, Any], polish: int, missing: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    columns = np.exp(3.0 * rng.integers(0, values, size=(n, d)) / values) * rng.choice([1.0, 1000.0], size=d)
    if missing:
        columns[rng.random((n, d)) < 0.15] = np.nan
        columns[:6] = np.exp(rng.random((6, d)))
    names = [f"x{j}" for j in range(d)]
    data = Microdata.of(
        {**dict(zip(names, columns.T, strict=True)), "w": rng.integers(1, 9, n), "s": np.arange(n) % 2},
        weight="w",
        strata=["s"],
    )
    mdav = loss(data, MDAV(k=k, **asked), names)
    assert loss(data, Best(k=k, polish=polish, **asked), names) <= mdav * (1 + 1e-12)


@pytest.mark.parametrize("n", [4999, 5000, 5001, 5300])
@pytest.mark.parametrize("polish", [0, 1, 3])
def test_best_loses_no_more_where_the_search_begins_to_work_in_regions(n: int, polish: int) -> None:
    columns = np.random.default_rng(n).lognormal(size=(n, 3)).round(1)
    data = Microdata.of({f"x{j}": column for j, column in enumerate(columns.T)})
    assert loss(data, Best(k=3, polish=polish), list(data.names)) <= loss(data, MDAV(k=3), list(data.names))


def test_best_loses_clearly_less_than_mdav_on_a_long_file(reference: Callable[..., Microdata]) -> None:
    """With hardly any of the work that it does by default."""
    data, names = reference("diamonds"), ["carat", "depth", "table", "price", "x", "y", "z"]
    mdav = loss(data, MDAV(k=3), names)
    assert mdav == pytest.approx(0.81655, abs=5e-6)
    assert loss(data, Best(k=3, polish=1), names) < 0.94 * mdav


def test_the_work_by_default_does_not_grow_with_the_file_until_every_record_has_the_least_of_it() -> None:
    assert default_steps(834) == default_steps(1080) == 200_000
    assert [n * default_steps(n) for n in (5_000, 10_000, 50_000, 500_000)] == [250_000_000] * 4
    assert default_steps(1_000_000) == default_steps(3_000_000) == 500


def test_blocks_of_attributes_share_the_work_by_default() -> None:
    assert default_steps(10_000, runs=5) == default_steps(10_000) // 5


def test_any_grouping_can_be_polished_as_long_as_best_is() -> None:
    data = Microdata.of({"x": np.random.default_rng(1).normal(size=9), "y": np.arange(9.0)})
    assert VMDAV(k=3, polish=None).mask(data, seed=1).data.digest() != data.digest()
    assert Best(k=3).mask(data, seed=1).partition == Best(k=3, polish=200_000).mask(data, seed=1).partition


def test_polishing_that_the_release_would_lose_by_is_not_kept() -> None:
    """Exchanges lower the loss of the means; the medians of skewed groups can lose more for it."""
    kept = 0
    for seed in range(12):
        columns = np.random.default_rng(seed).lognormal(sigma=2.0, size=(40, 2))
        data = Microdata.of({"x": columns[:, 0], "y": columns[:, 1]})
        plain = MDAV(k=5, publish="median").mask(data, seed=1)
        polished = MDAV(k=5, publish="median", polish=20).mask(data, seed=1)
        kept += polished.partition == plain.partition
        assert SSE().measure(data, polished).value <= SSE().measure(data, plain).value
    assert 0 < kept < 12


def test_the_budget_is_a_whole_number_or_none() -> None:
    with pytest.raises(ParameterError, match="polish"):
        Best(polish=-1)


@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_the_clock_ends_the_search_and_the_release_says_so(seconds: float) -> None:
    columns = np.random.default_rng(1).lognormal(size=(400, 3))
    data = Microdata.of({f"x{j}": column for j, column in enumerate(columns.T)})
    Best(k=3, polish=1).mask(data, seed=1)  # so that nothing is compiled below
    began = time.monotonic()
    release = Best(k=3, seconds=seconds, polish=10_000_000).mask(data, seed=1)
    assert time.monotonic() - began < 60  # without a limit it would be twenty minutes
    assert "limit of time" in " ".join(release.provenance.notes)
    assert loss(data, Best(k=3, seconds=seconds), list(data.names)) < loss(data, MDAV(k=3), list(data.names))
    assert "limit of time" not in " ".join(Best(k=3, polish=1).mask(data, seed=1).provenance.notes)


def test_a_time_below_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="seconds"):
        Best(seconds=-1.0)


@pytest.mark.parametrize("bound", ["none", "tight"])
def test_what_is_told_of_the_bound_changes_no_group(bound: str) -> None:
    points = np.random.default_rng(3).normal(size=(40, 3))
    table = {name: points[:, j].tolist() for j, name in enumerate("abc")}
    usual = Best(k=3, polish=50).mask(table, seed=5)
    other = Best(k=3, polish=50, bound=bound).mask(table, seed=5)
    assert other.partition.labels.tolist() == usual.partition.labels.tolist()
    assert any("SSE/SST" in note for note in usual.provenance.notes)
    assert any("SSE/SST" in note for note in other.provenance.notes) == (bound == "tight")
