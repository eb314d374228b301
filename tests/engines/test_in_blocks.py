"""Microaggregation of tables longer than memory: in blocks of similar records, with k kept at their borders."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microveil as mv
from microveil.engines import in_blocks
from microveil.engines.finding import files_in
from microveil.engines.large import LargeMicrodata
from microveil.engines.masking import Job, carried_out
from microveil.engines.opening import EngineName
from microveil.engines.stored import StoredTable
from microveil.errors import GuaranteeError, ParameterError, TooFewRecordsError
from microveil.masking.microaggregation.base import Records
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.notes import Note
from microveil.masking.preparation import Preparation
from microveil.microdata import Microdata, Schema
from microveil.microdata.equivalence_classes import equivalence_classes_of
from microveil.microdata.facts import FactsAtHand, Part
from microveil.numerics.grouping.median_tree import MedianTree
from microveil.numerics.statistics.scaling import Scale, standardise
from microveil.progress import Progress, silent
from microveil.randomness import Streams
from microveil.registry import make
from microveil.typing import FloatArray, IntArray

Stored = Callable[..., LargeMicrodata]
GROUPING = ("mdav", "v-mdav", "cbfs", "iamat", "mst", "mu-approx", "two-approx")


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Stored]:
    """Tables written to a folder and opened by an engine, in parts of so many records."""
    opened: list[LargeMicrodata] = []

    def write_and_open(
        data: Microdata,
        *,
        records_of_part: int = 256,
        files: int = 2,
        engine: EngineName = "duckdb",
        session: Any = None,
    ) -> LargeMicrodata:
        folder = tmp_path / f"in-{len(opened)}"
        folder.mkdir()
        table = pa.table({name: data.arrow(name) for name in data.names})
        edges = np.linspace(0, len(data), files + 1).astype(int).tolist()
        for number, (first, last) in enumerate(pairwise(edges)):
            pq.write_table(table.slice(first, last - first), folder / f"{number}.parquet", row_group_size=100)
        large = mv.open(folder, engine, data.schema, session=session)
        opened.append(large)
        return replace(large, table=StoredTable.of_files(files_in(folder), records_of_part))

    yield write_and_open
    for large in opened:
        large.close()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of some 200 records, whose tree is made of two thirds of them."""
    monkeypatch.setattr(in_blocks, "BLOCK_RECORDS", 200)
    monkeypatch.setattr(in_blocks, "BLOCK_GROUPS", 10)
    monkeypatch.setattr(in_blocks, "SAMPLED", 130)


def table_of(columns: FloatArray, **roles: Any) -> Microdata:
    return Microdata.of({f"x{number}": column for number, column in enumerate(columns.T)}, **roles)


def normal(records: int, attributes: int = 3, seed: int = 1) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((records, attributes))


def plan_of(data: Microdata, method: str = "mdav", attributes: Sequence[str] = (), **parameters: Any) -> mv.Plan:
    return mv.Plan((mv.Step(method, parameters, tuple(attributes or data.names)),), seed=20071)


class Released:
    """A release of an engine: its cells, and what was said."""

    def __init__(self, large: LargeMicrodata, plan: mv.Plan, folder: Path, seed: int | None = None) -> None:
        shutil.rmtree(folder / "out", ignore_errors=True)
        made = large.protect(plan, folder / "out", seed=seed, force=True)
        self.table: pa.Table = pq.read_table(folder / "out")
        self.data = Microdata.of(self.table, made.schema)
        self.notes: tuple[Note, ...] = made.provenance.step_notes

    @property
    def in_blocks(self) -> Mapping[str, Any]:
        (note,) = (note for note in self.notes if note.kind.name == "in-blocks")
        return note.values

    def matrix(self) -> FloatArray:
        return self.data.matrix(self.data.names)


def loss(before: FloatArray, after: FloatArray) -> float:
    spread = before.std(axis=0)
    return float((((before - after) / spread) ** 2).sum())


def with_gaps(columns: FloatArray, share: float = 0.1) -> FloatArray:
    gaps = np.random.default_rng(5).random(columns.shape) < share
    return np.where(gaps, np.nan, columns)


# --- one block -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", GROUPING)
def test_a_table_of_one_block_is_masked_as_in_memory(method: str, stored: Stored, tmp_path: Path) -> None:
    data = table_of(with_gaps(normal(700)))
    plan = plan_of(data, method, k=2 if method == "two-approx" else 3)
    expected = mv.protect(data, plan)
    released = Released(stored(data), plan, tmp_path)
    for name in data.names:
        assert released.table[name].combine_chunks().equals(expected.data.arrow(name))
    assert [str(note) for note in released.notes] == [str(note) for note in expected.provenance.step_notes]


@pytest.mark.parametrize("parameters", [{"block": 2}, {"scale": "minmax"}, {"publish": "median"}, {"chunk": 100}])
def test_the_settings_of_the_preparation_are_those_of_memory(
    parameters: dict[str, Any], stored: Stored, tmp_path: Path
) -> None:
    data = table_of(normal(500, 4))
    plan = plan_of(data, k=4, **parameters)
    released = Released(stored(data), plan, tmp_path)
    assert np.array_equal(released.matrix(), mv.protect(data, plan).data.matrix(data.names))


def test_fewer_records_than_two_groups_are_one_group(stored: Stored, tmp_path: Path) -> None:
    data = table_of(normal(7, 2))
    released = Released(stored(data), plan_of(data, k=5), tmp_path).matrix()
    assert len(np.unique(released, axis=0)) == 1


def test_fewer_records_than_k_are_refused(stored: Stored, tmp_path: Path) -> None:
    data = table_of(normal(4, 2))
    with pytest.raises(TooFewRecordsError):
        Released(stored(data), plan_of(data, k=5), tmp_path)


# --- many blocks ---------------------------------------------------------------------------------------------------


def _one_far_out() -> FloatArray:
    columns = normal(900)
    columns[17] = 1e6
    return columns


TABLES: dict[str, Callable[[], FloatArray]] = {
    "normal": lambda: normal(1500, 4),
    "ties": lambda: np.random.default_rng(2).integers(0, 3, (1200, 3)).astype(float),
    "mostly zero": lambda: np.where(np.random.default_rng(3).random((1500, 3)) < 0.9, 0.0, normal(1500)),
    "a constant": lambda: np.column_stack([normal(900, 2), np.full(900, 7.0)]),
    "all constant": lambda: np.full((900, 3), 7.0),
    "missing cells": lambda: with_gaps(normal(1200)),
    "mostly missing": lambda: with_gaps(normal(1200), 0.8),
    "an empty attribute": lambda: np.column_stack([normal(900, 2), np.full(900, np.nan)]),
    "long tails": lambda: np.exp(2 * normal(1500)),
    "one far out": _one_far_out,
    "one attribute": lambda: normal(900, 1),
    "in order": lambda: np.sort(normal(1200), axis=0),
}
WITH_MISSING = ("missing cells", "mostly missing", "an empty attribute")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("shape", "missing"),
    [*((shape, "wildcard") for shape in TABLES), *((shape, "own category") for shape in WITH_MISSING)],
)
def test_every_combination_has_k_records_over_many_blocks(
    shape: str, missing: str, stored: Stored, tmp_path: Path
) -> None:
    columns = TABLES[shape]()
    names = [f"x{number}" for number in range(columns.shape[1])]
    data = Microdata.of(
        pa.table({name: pa.array(column, from_pandas=True) for name, column in zip(names, columns.T, strict=True)}),
        numeric=names,
    )
    data = data.with_schema(Schema([a.changed(missing=missing) for a in data.schema]))
    released = Released(stored(data), plan_of(data, k=4), tmp_path)
    assert equivalence_classes_of(released.data, data.names).frequencies.min() >= 4
    assert released.in_blocks["blocks"] > 1
    assert released.in_blocks["smallest"] >= 12
    if not np.isnan(columns).any():
        assert np.allclose(released.matrix().mean(axis=0), columns.mean(axis=0))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("method", GROUPING)
def test_every_method_that_groups_by_distances_masks_in_blocks(method: str, stored: Stored, tmp_path: Path) -> None:
    data = table_of(normal(1100))
    k = 2 if method == "two-approx" else 3
    released = Released(stored(data), plan_of(data, method, k=k), tmp_path)
    sizes = np.unique(released.matrix(), axis=0, return_counts=True)[1]
    assert sizes.min() >= k
    assert len(sizes) > 1100 / (3 * k)
    assert released.in_blocks["blocks"] >= 5


def test_leaves_with_fewer_records_than_a_few_groups_join_others(
    stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_blocks, "BLOCK_RECORDS", 8)
    monkeypatch.setattr(in_blocks, "BLOCK_GROUPS", 1)
    data = table_of(normal(100, 2))
    released = Released(stored(data, records_of_part=30), plan_of(data, k=5), tmp_path)
    assert np.unique(released.matrix(), axis=0, return_counts=True)[1].min() >= 5
    assert released.in_blocks["smallest"] >= 15


@pytest.mark.usefixtures("small_blocks")
def test_records_that_are_all_alike_are_cut_too_and_stay_as_they_are(stored: Stored, tmp_path: Path) -> None:
    data = table_of(np.full((1000, 2), 3.5))
    released = Released(stored(data), plan_of(data, k=5), tmp_path)
    assert released.in_blocks["blocks"] >= 5
    assert released.in_blocks["extra"] == 0
    assert (released.matrix() == 3.5).all()


@pytest.mark.usefixtures("small_blocks")
def test_attributes_that_are_not_masked_together_have_blocks_of_their_own(stored: Stored, tmp_path: Path) -> None:
    data = table_of(normal(700, 4))
    released = Released(stored(data), plan_of(data, k=3, block=2), tmp_path)
    pairs = [("x0", "x1"), ("x2", "x3")]
    assert [note.values["attributes"] for note in released.notes if note.kind.name == "in-blocks"] == pairs
    for names in pairs:
        assert np.unique(released.data.matrix(names), axis=0, return_counts=True)[1].min() >= 3
    assert np.unique(released.matrix(), axis=0, return_counts=True)[1].min() == 1


@pytest.mark.usefixtures("small_blocks")
def test_means_are_weighted_where_asked_for(stored: Stored, tmp_path: Path) -> None:
    columns = np.column_stack([normal(900, 2), np.random.default_rng(4).uniform(1, 9, 900)])
    data = table_of(columns, weight="x2")
    plan = plan_of(data, attributes=["x0", "x1"], k=3, weighted=True)
    released = Released(stored(data), plan, tmp_path).matrix()
    kept, before = (np.average(each[:, :2], axis=0, weights=columns[:, 2]) for each in (released, columns))
    assert np.allclose(kept, before)
    assert np.array_equal(released[:, 2], columns[:, 2])


# --- nothing but the records decides ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_blocks")
def test_neither_parts_nor_files_nor_the_seed_change_the_release(stored: Stored, tmp_path: Path) -> None:
    data = table_of(with_gaps(np.exp(normal(1300)), 0.05))
    plan = plan_of(data, k=4)
    first = Released(stored(data, records_of_part=64, files=1), plan, tmp_path)
    other = Released(stored(data, records_of_part=500, files=4), plan, tmp_path, seed=5)
    assert first.table.equals(other.table)
    assert first.notes == other.notes


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_makes_the_same_release(spark: Any, stored: Stored, tmp_path: Path) -> None:
    data = table_of(with_gaps(normal(600), 0.05))
    plan = plan_of(data, k=4)
    alone = Released(stored(data), plan, tmp_path)
    together = Released(stored(data, engine="spark", session=spark, records_of_part=350), plan, tmp_path)
    assert alone.table.equals(together.table)
    assert alone.notes == together.notes


@pytest.mark.usefixtures("small_blocks")
def test_nothing_in_between_is_left_behind(stored: Stored, tmp_path: Path) -> None:
    data = table_of(normal(500))
    Released(stored(data), plan_of(data, k=3), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in-0", "out", "out.manifest.json"]


# --- what it costs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tails", ["short", "long"])
def test_the_extra_loss_is_told_as_it_is_where_all_records_are_compared(
    tails: str, stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_blocks, "BLOCK_RECORDS", 500)
    columns = normal(3000, 3) if tails == "short" else np.exp(normal(3000, 3))
    data = table_of(columns)
    plan = plan_of(data, k=5)
    released = Released(stored(data, records_of_part=1000), plan, tmp_path)
    unblocked = loss(columns, mv.protect(data, plan).data.matrix(data.names))
    extra = 100 * (loss(columns, released.matrix()) / unblocked - 1)
    assert released.in_blocks["extra"] == pytest.approx(extra, abs=0.006)
    assert released.in_blocks["compared"] == 3000
    assert released.in_blocks["error"] == 0


def test_the_extra_loss_is_near_where_a_sample_is_compared(
    stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_blocks, "BLOCK_RECORDS", 2000)
    monkeypatch.setattr(in_blocks, "COMPARED", 4000)
    columns = normal(16_000, 3)
    data = table_of(columns)
    plan = plan_of(data, k=5)
    released = Released(stored(data, records_of_part=5000), plan, tmp_path)
    unblocked = loss(columns, mv.protect(data, plan).data.matrix(data.names))
    extra = 100 * (loss(columns, released.matrix()) / unblocked - 1)
    assert abs(released.in_blocks["compared"] - 4000) < 200
    assert extra > 1
    assert extra / 2 < released.in_blocks["extra"] < 2 * extra


@pytest.mark.parametrize("attributes", [2, 3])
def test_the_extra_loss_is_within_the_error_that_is_told(
    attributes: int, stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the standard error, which one in twenty may miss; the extra loss of all records is left to chance, too."""
    monkeypatch.setattr(in_blocks, "BLOCK_RECORDS", 800)
    monkeypatch.setattr(in_blocks, "COMPARED", 1600)
    missed, errors = [], []
    for seed in range(5):
        columns = normal(6000, attributes, seed=10 * attributes + seed)
        data = table_of(columns)
        released = Released(stored(data, records_of_part=4000), plan_of(data, k=5), tmp_path)
        unblocked = loss(columns, mv.protect(data, plan_of(data, k=5)).data.matrix(data.names))
        extra = 100 * (loss(columns, released.matrix()) / unblocked - 1)
        errors.append(released.in_blocks["error"])
        missed.append(abs(released.in_blocks["extra"] - extra) > errors[-1])
    assert sum(missed) <= 1
    assert 0.5 < np.median(errors) < 8


def test_the_error_of_a_ratio_is_that_of_many_repetitions() -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(400), 5)

    def trial() -> tuple[float, float]:
        of_group, level = rng.exponential(size=400), rng.exponential(size=400)
        other = level[groups] * rng.exponential(size=2000)
        return in_blocks._larger(other + 0.3 * of_group[groups], other, groups)

    trials = np.array([trial() for _ in range(400)])
    assert trials[:, 1].mean() == pytest.approx(trials[:, 0].std(), rel=0.15)
    assert in_blocks._larger(np.zeros(2000), np.zeros(2000), groups) == (0.0, 0.0)


def test_records_far_out_are_a_block_of_their_own_where_this_loses_less(
    stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_blocks, "BLOCK_RECORDS", 1000)
    data = table_of(np.exp(normal(8000, 4)))
    large = stored(data, records_of_part=5000)
    chosen = Released(large, plan_of(data, k=5), tmp_path).in_blocks["extra"]
    monkeypatch.setattr(in_blocks, "_best_tree", lambda sample, largest, d, k: MedianTree.of(sample, largest, d))
    plain = Released(large, plan_of(data, k=5), tmp_path).in_blocks["extra"]
    assert chosen < 20 < 40 < plain


# --- distances, and what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["z", "minmax", "none"])
def test_a_part_has_the_coordinates_that_its_records_have_in_the_whole(scale: Scale) -> None:
    data = table_of(np.column_stack([with_gaps(5 + 3 * normal(400)), np.full(400, 2.0)]))
    whole, _ = Preparation(scale=scale).coordinates(data, data.names)
    some = Microdata(data.take(np.arange(100, 150)).frame, data.schema, part=Part(range(100, 150), FactsAtHand(data)))
    part, _ = Preparation(scale=scale).coordinates(some, data.names)
    assert np.allclose(part, whole[100:150], rtol=0, atol=1e-12, equal_nan=True)
    assert scale != "z" or np.allclose(whole[:, 3], standardise(np.full((400, 1), 2.0))[:, 0])


@pytest.mark.parametrize(
    "parameters",
    [
        {"strata": True},
        {"publish": "perturb"},
        {"publishing": "span"},
        {"polish": 10},
        {"remainder": "literal"},
        {"arrange": "correlated", "block": 2},
        {"select": "exhaustive"},
        {"distance": "sts"},
    ],
)
def test_what_needs_all_records_at_once_is_refused(parameters: dict[str, Any], stored: Stored, tmp_path: Path) -> None:
    data = table_of(normal(100, 4))
    assert make("method", "mdav", parameters).works_over == "whole table"
    with pytest.raises(ParameterError, match="has to see all records at once"):
        Released(stored(data), plan_of(data, **parameters), tmp_path)


class _Pairs(MDAV):
    """Groups of two, whatever k is, that publish their means."""

    def _fewest(self) -> int:
        return 1

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        return np.arange(len(columns)) // 2


@pytest.mark.usefixtures("small_blocks")
def test_k_is_counted_again_in_what_is_released(stored: Stored, tmp_path: Path) -> None:
    large = stored(table_of(normal(600)))
    job = Job(
        _Pairs(k=3), large.schema.names, large.table, large.schema, Streams(1), large.engine, tmp_path / "step", silent
    )
    with pytest.raises(GuaranteeError, match="fewer than k = 3"):
        carried_out(job)


def test_no_name_of_a_column_is_taken_for_a_place_or_leaf(stored: Stored, small_blocks: None, tmp_path: Path) -> None:
    cells = normal(1_000)
    plain = Released(stored(table_of(cells)), plan_of(table_of(cells), k=4), tmp_path)
    names = ("place", "leaf", "place'")
    named = Microdata.of(dict(zip(names, cells.T, strict=True)))
    assert np.array_equal(Released(stored(named), plan_of(named, k=4), tmp_path).matrix(), plain.matrix())
