"""Grouping times publishing, with and without missing cells."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.microaggregation.omma import OMMA
from microveil.masking.partition import Partition
from microveil.masking.preparation.missing_patterns import rows_by_pattern
from microveil.masking.publishing import Published
from microveil.masking.publishing.aggregate import modes_by_group
from microveil.microdata import Microdata
from microveil.numerics.grouping.groups import means_by_group


def test_every_published_combination_stands_for_at_least_k_records() -> None:
    rng = np.random.default_rng(2)
    data = Microdata.of({"a": rng.normal(size=101), "b": rng.normal(size=101)})
    frame = MDAV(k=4).mask(data).frame.to_pandas()
    assert frame.groupby(["a", "b"]).size().min() >= 4


def test_the_groups_of_a_partition_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Partition.of([0, 0, 1]).labels[0] = 1


def test_means_and_the_total_of_every_attribute_are_kept() -> None:
    rng = np.random.default_rng(2)
    data = Microdata.of({"a": rng.lognormal(size=300), "b": rng.normal(size=300)})
    release = MDAV(k=5).mask(data)
    for name in data.names:
        assert release.data.numbers(name).values.sum() == pytest.approx(data.numbers(name).values.sum())


def test_the_lost_variance_is_the_variance_within_the_groups() -> None:
    values = np.random.default_rng(3).normal(size=200)
    data = Microdata.of({"a": values})
    masked = MDAV(k=3).mask(data).data.numbers("a").values
    assert masked.var() == pytest.approx(values.var() - ((values - masked) ** 2).mean())


def test_categories_lose_no_squares_whatever_is_left_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Microdata.of({"job": ["a", "b", "b"]})
    published = Published({"job": pa.array(["b", "b", "b"])})
    empty, left = np.empty, count(1)

    def used_before(*shape: Any, **more: Any) -> Any:
        made = empty(*shape, **more)
        made[...] = next(left)
        return made

    monkeypatch.setattr(np, "empty", used_before)
    assert published.lost(data) == 0.0


def test_the_scale_decides_what_counts_as_near() -> None:
    data = Microdata.of({"euros": [0.0, 1000.0, 10.0, 1010.0], "years": [1.0, 1.0, 9.0, 9.0]})
    assert MDAV(k=2, scale="none").mask(data).partition == Partition.of([0, 1, 0, 1])
    tilted = Microdata.of({"euros": [0.0, 990.0, 10.0, 1000.0], "years": [1.0, 1.0, 90.0, 90.0]})
    assert MDAV(k=2, scale="z").mask(tilted).partition != Partition.of([0, 0, 0, 0])


def test_n_below_2k_makes_one_group() -> None:
    release = MDAV(k=3).mask(Microdata.of({"a": [1.0, 2.0, 3.0, 6.0, 8.0]}))
    assert release.frame["a"].to_pylist() == [4.0] * 5


def test_more_records_than_there_are_cannot_be_asked_for() -> None:
    with pytest.raises(DataError, match="the table has 3 records, but mdav with k = 4 needs at least 4"):
        MDAV(k=4).mask(Microdata.of({"a": [1, 2, 3]}))


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, True, "3", None])
def test_k_is_a_whole_number_from_2_up(k: object) -> None:
    with pytest.raises(ParameterError, match="mdav: k = "):
        MDAV(k=k)  # type: ignore[arg-type]


def test_a_numpy_integer_is_a_whole_number() -> None:
    assert MDAV(k=np.int64(4)).parameters()["k"] == 4


def test_a_group_of_equal_values_publishes_exactly_that_value() -> None:
    means = means_by_group(np.array([[0.1], [0.1], [0.1], [0.7]]), np.array([0, 0, 0, 1]))
    assert means[:, 0].tolist() == [0.1, 0.1, 0.1, 0.7]


def test_codes_for_missing_stay_and_do_not_enter_the_means() -> None:
    data = Microdata.of({"income": [10, -9, 30, -9, 50, 70]})
    data = data.with_schema(data.schema.replacing(data["income"].changed(missing_codes=(-9,))))
    release = MDAV(k=2).mask(data)
    assert release.frame["income"].to_pylist() == [20.0, -9.0, 20.0, -9.0, 60.0, 60.0]


def test_a_value_that_too_few_of_its_group_have_is_suppressed() -> None:
    # three patterns: nobody shares the middle record's, so it is pooled, and its income would be published bare
    columns = {"age": [20, 21, 60, 61, 40], "income": [1.0, 2.0, 8.0, 9.0, None]}
    release = MDAV(k=2).mask(Microdata.of(columns))
    income = release.frame["income"].to_pylist()
    assert income[4] is None
    published = [value for value in income if value is not None]
    assert all(published.count(value) >= 2 for value in published)
    lonely = {"age": [20, 21, None, None], "income": [None, None, 5.0, None]}
    release = MDAV(k=2).mask(Microdata.of(lonely))
    assert release.frame["income"].to_pylist() == [None] * 4
    assert "1 cell suppressed" in release.provenance.notes[0]


@settings(max_examples=80, deadline=None)
@given(
    n=st.integers(4, 60), k=st.integers(2, 4), d=st.integers(1, 4), share=st.floats(0, 0.7), seed=st.integers(0, 999)
)
@pytest.mark.parametrize("policy", ["wildcard", "own category", "not applicable"])
def test_whatever_is_missing_no_value_is_published_for_fewer_than_k(
    policy: str, n: int, k: int, d: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    cells = np.where(rng.random((n, d)) < share, np.nan, rng.normal(size=(n, d)))
    data = Microdata.of({f"x{j}": cells[:, j] for j in range(d)})
    data = data.with_schema(type(data.schema)(a.changed(missing=policy) for a in data.schema))
    release = MDAV(k=k).mask(data)
    assert release.partition is not None
    assert release.partition.smallest >= k
    published = np.column_stack([release.data.numbers(name).values for name in data.names])
    assert np.isnan(published[np.isnan(cells)]).all()
    for group in release.partition.groups:
        having = (~np.isnan(published[group])).sum(axis=0)
        least = k if policy == "wildcard" else len(group)
        assert ((having == 0) | (having >= least)).all()


def test_blocks_cover_all_records_and_have_at_least_k() -> None:
    states = np.array([[0, 0]] * 5 + [[1, 0]] * 3 + [[0, 1]] + [[2, 0]], dtype=np.uint8)
    blocks = rows_by_pattern(states, 3)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(10))
    assert [len(b) for b in blocks] == [7, 3]


def correlated_table() -> Microdata:
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(2, 60))
    noise = 0.1 * rng.normal(size=(4, 60))
    return Microdata.of({"x1": x + noise[0], "y1": y + noise[1], "x2": x + noise[2], "y2": y + noise[3]})


def test_attributes_can_be_masked_in_blocks() -> None:
    release = MDAV(k=3, block=2).mask(correlated_table())
    assert list(release.partitions) == [("x1", "y1"), ("x2", "y2")]
    assert release.partition is None
    correlated = MDAV(k=3, block=2, arrange="correlated").mask(correlated_table())
    assert list(correlated.partitions) == [("x1", "x2"), ("y1", "y2")]
    spread = MDAV(k=3, block=2, arrange="spread").mask(correlated_table())
    assert all({name[0] for name in block} == {"x", "y"} for block in spread.partitions)


@pytest.mark.parametrize("block", [2, 3])
def test_a_single_block_needs_no_arranging(block: int) -> None:
    """So it is made of records that have no correlations, too: only one of these has both attributes."""
    data = Microdata.of({"x": [1.0, 2.0, 3.0, None, None], "y": [None, None, 5.0, 6.0, 7.0]})
    given, arranged = (MDAV(k=2, block=block, arrange=a).mask(data, seed=1) for a in ("given", "correlated"))  # type: ignore[arg-type]
    assert list(arranged.partitions) == [("x", "y")]
    assert arranged.data.digest() == given.data.digest()


def test_correlated_attributes_together_lose_less() -> None:
    from microveil.losses.numeric.sse import SSE

    data = correlated_table()
    losses = {a: SSE().measure(data, MDAV(k=3, block=2, arrange=a).mask(data)).value for a in ("correlated", "spread")}
    assert losses["correlated"] < losses["spread"]


@pytest.mark.parametrize(("select", "width"), [("normal", None), ("emim", 0.5), ("chi2", 0.5)])
def test_distances_can_be_taken_on_the_attributes_others_depend_on(select: str, width: float | None) -> None:
    data = correlated_table()
    release = MDAV(k=3, select=select, selected=2, width=width).mask(data)  # type: ignore[arg-type]
    assert release.partition is not None
    assert release.partition.smallest >= 3
    assert release.provenance.attributes == data.names
    assert release.partition != MDAV(k=3).mask(data).partition


def test_groups_stay_within_their_stratum() -> None:
    rng = np.random.default_rng(1)
    region = ["north", "south", "west"] * 20
    data = Microdata.of(
        {"x": rng.normal(size=60), "y": rng.normal(size=60), "region": region}, strata=["region"], keys=["x", "y"]
    )
    release = MDAV(k=4, strata=True).mask(data)
    assert release.partition is not None
    for group in release.partition.groups:
        assert len({region[i] for i in group}) == 1
    with pytest.raises(DataError, match="3 strata have fewer than 21 records"):
        MDAV(k=21, strata=True).mask(data)
    with pytest.raises(ParameterError, match="no attribute has the role stratum"):
        MDAV(strata=True).mask(correlated_table())


def test_progress_rises_from_stratum_to_stratum() -> None:
    data = Microdata.of({"x": np.arange(60.0), "region": np.repeat(list("abc"), 20)}, strata=["region"], keys=["x"])
    reports: list[float] = []
    MDAV(k=4, strata=True).mask(data, progress=lambda fraction, _: reports.append(fraction))
    assert reports == sorted(reports)
    assert len({int(3 * fraction) for fraction in reports if fraction < 1}) == 3  # each third has reports of its own


def test_group_means_can_be_weighted() -> None:
    data = Microdata.of({"x": [1.0, 3.0], "w": [3.0, 1.0]}, keys=["x"], weight="w")
    assert MDAV(k=2, weighted=True).mask(data).frame["x"].to_pylist() == [1.5, 1.5]
    assert MDAV(k=2).mask(data).frame["x"].to_pylist() == [2.0, 2.0]
    with pytest.raises(ParameterError, match="no attribute has the role weight"):
        MDAV(weighted=True).mask(correlated_table())


def test_medians_can_be_published() -> None:
    assert MDAV(k=3, publish="median").mask(Microdata.of({"x": [1.0, 2.0, 30.0]})).frame["x"].to_pylist() == [2.0] * 3


def test_any_grouping_can_publish_draws_around_its_means() -> None:
    data = correlated_table()
    groups = MDAV(k=3).mask(data)
    drawn = MDAV(k=3, publish="perturb").mask(data, seed=1)
    assert drawn.partition is not None
    assert drawn.partition == groups.partition
    assert drawn.data.digest() != MDAV(k=3, publish="perturb").mask(data, seed=2).data.digest()
    for name in data.names:  # centred noise leaves the mean of every group where it was
        means = means_by_group(drawn.data.numbers(name).values[:, None], drawn.partition.labels)
        assert means[:, 0] == pytest.approx(groups.data.numbers(name).values)


def test_long_files_are_divided_into_similar_parts() -> None:
    data = Microdata.of({"x": np.arange(200.0), "y": np.zeros(200)})
    partition = MDAV(k=3, chunk=50).mask(data).partition
    assert partition is not None
    assert partition.smallest >= 3
    assert all(np.ptp(group) < 50 for group in partition.groups)


def test_polishing_any_partition_loses_no_more() -> None:
    from microveil.losses.numeric.sse import SSE

    data = correlated_table()
    assert (
        SSE().measure(data, MDAV(k=3, polish=500).mask(data, seed=1)).value
        < SSE().measure(data, MDAV(k=3).mask(data)).value
    )


@pytest.mark.parametrize("seed", [1, 2, 10])
def test_groups_whose_medians_lose_more_once_polished_are_published_as_they_were(seed: int) -> None:
    """Polishing lowers what is lost with means; here the medians of the polished groups lose more."""
    x, y = np.round(np.random.default_rng(seed).lognormal(0, 1.5, size=(12, 2)), 1).T
    data = Microdata.of({"x": x, "y": y})
    means = [MDAV(k=3, polish=steps).mask(data, seed=1).partition for steps in (0, 300)]
    medians = [MDAV(k=3, polish=steps, publish="median").mask(data, seed=1) for steps in (0, 300)]
    assert means[0] != means[1]
    assert medians[0].data.digest() == medians[1].data.digest()


@pytest.mark.parametrize("publish", ["median", "mode", "perturb", "hybrid"])
def test_only_means_can_be_weighted(publish: str) -> None:
    with pytest.raises(ParameterError, match="mdav: weighted = True is not allowed with"):
        MDAV(k=3, weighted=True, publish=publish)


@settings(max_examples=100, deadline=None)
@given(
    cells=st.lists(st.tuples(st.integers(0, 3), st.sampled_from([1.0, 2.0, 3.0, 7.0, np.nan])), min_size=1, max_size=40)
)
def test_the_mode_of_a_group_is_the_first_of_its_most_frequent_values(cells: list[tuple[int, float]]) -> None:
    labels = np.unique([group for group, _ in cells], return_inverse=True)[1].reshape(-1)
    values = np.array([value for _, value in cells])
    modes = modes_by_group(values, labels)
    for group in range(labels.max() + 1):
        having = values[(labels == group) & ~np.isnan(values)].tolist()
        most = max((having.count(value) for value in having), default=0)
        expected = np.nan if not having else np.median(having) if most == 1 else Counter(having).most_common(1)[0][0]
        assert np.array_equal(modes[labels == group], np.full((labels == group).sum(), expected), equal_nan=True)


def test_the_first_record_of_the_file_may_have_the_mode() -> None:
    assert modes_by_group(np.array([1.0, 1.0, 2.0, 8.0, 9.0]), np.zeros(5, dtype=np.int64)).tolist() == [1.0] * 5


@pytest.mark.parametrize("option", [{"select": "normal", "selected": 1}, {"arrange": "correlated", "block": 1}])
def test_an_option_for_numbers_is_named_where_keys_are_categories(option: dict[str, object]) -> None:
    data = Microdata.of({"age": [1, 2, 3, 4], "region": list("nnss")}, keys=["age", "region"])
    name, value = next(iter(option.items()))
    with pytest.raises(ParameterError, match=f"omma: {name} = '{value}' is not allowed with attribute 'region'"):
        OMMA(k=2, **option).mask(data)  # type: ignore[arg-type]
