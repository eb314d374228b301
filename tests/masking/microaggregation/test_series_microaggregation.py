"""Microaggregation of series: by level, by shape, after warping, jointly or a variable at a time, with any grouping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.errors import ParameterError
from microveil.masking.preparation.coordinates import coordinates
from microveil.numerics.series.barycentre import barycentre
from microveil.numerics.series.distances import slopes
from microveil.numerics.statistics.scaling import standardise
from microveil.registry import describe, find, make, names
from microveil.typing import FloatArray, IntArray

SHAPES = np.array([[1.0, 2, 3, 4, 5], [5, 4, 3, 2, 1], [11, 12, 13, 14, 15], [15, 14, 13, 12, 11]])
PRICES = np.array(
    [
        [106.5, 110.3, 114.9, 117.9, 119.3, 121, 122.2, 124.1, 129],
        [102.7, 119.8, 147.8, 178.7, 130.8, 116.2, 133.6, 123.5, 114.4],
        [95.6, 101.9, 110.8, 116.4, 114.2, 119, 124.6, 126.4, 133.9],
        [101.1, 133.6, 162.8, 123.8, 121.3, 140.4, 149.8, 148.6, 177.6],
    ]
)  # bread, oil, vegetables, potatoes
GROUPINGS = [
    name
    for name in names("method")
    if any(p["name"] == "distance" and "dtw" in p.get("choices", ()) for p in describe("method", name)["parameters"])
]


def table(values: FloatArray, **given: Any) -> mv.Microdata:
    return mv.Microdata.of({f"t{j}": values[:, j] for j in range(values.shape[1])}, **given)


def panel(**variables: FloatArray) -> mv.Microdata:
    """A wide table of series; of two variables a cell is named after the variable and the time."""
    cells = {f"{name}_{j}": values[:, j] for name, values in variables.items() for j in range(values.shape[1])}
    return mv.Microdata.of(cells, series="wide," + ",".join(f"{name}={name}_*" for name in variables))


def released(release: mv.Release) -> FloatArray:
    return release.data.matrix([name for name in release.data.names if release.data[name].kind == "numeric"])


def plain_mdav(columns: FloatArray, k: int) -> IntArray:
    """As it is printed, with the usual remainder: ties go to the first record."""
    left, labels, group = list(range(len(columns))), np.empty(len(columns), dtype=np.int64), 0

    def square(a: FloatArray, b: FloatArray) -> float:
        return float(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))

    def gather(seed: int) -> None:
        nonlocal group
        others = sorted((i for i in left if i != seed), key=lambda i: (square(columns[i], columns[seed]), i))
        for i in (seed, *others[: k - 1]):
            labels[i] = group
            left.remove(i)
        group += 1

    while len(left) >= 2 * k:
        centre = columns[left].mean(axis=0)
        first = max(left, key=lambda i: (square(columns[i], centre), -i))
        three = len(left) >= 3 * k
        far = sorted(left, key=lambda i: (-square(columns[i], columns[first]), i))
        gather(first)
        if three:
            gather(next(i for i in far if i in left))
    labels[left] = group
    return labels


def means(values: FloatArray, labels: IntArray) -> FloatArray:
    return np.array([values[labels == label].mean(axis=0) for label in labels])


@pytest.mark.spec("04:TS-EX61", "04:TS-MIC")
@pytest.mark.parametrize("made", [table, lambda values: panel(price=values)], ids=["table", "panel"])
def test_euclidean_distances_group_by_level_and_slopes_by_shape(made: Callable[[FloatArray], mv.Microdata]) -> None:
    series = made(SHAPES)
    for distance in (None, "euclidean"):
        by_level = mv.MDAV(k=2, distance=distance).mask(series, seed=1)
        assert [rows.tolist() for rows in by_level.partition.groups] == [[0, 1], [2, 3]]
        assert released(by_level).tolist() == [[3.0] * 5] * 2 + [[13.0] * 5] * 2
    by_shape = mv.MDAV(k=2, distance="sts").mask(series, seed=1)
    assert [rows.tolist() for rows in by_shape.partition.groups] == [[0, 2], [1, 3]]
    up, down = [6.0, 7, 8, 9, 10], [10.0, 9, 8, 7, 6]
    assert released(by_shape).tolist() == [up, down, up, down]


@pytest.mark.spec("04:TS-MIC")
@pytest.mark.parametrize("distance", [None, "sts"])
def test_bread_goes_with_potatoes_and_oil_with_vegetables(distance: str | None) -> None:
    release = mv.MDAV(k=2, distance=distance).mask(panel(price=PRICES), seed=1)
    assert [rows.tolist() for rows in release.partition.groups] == [[0, 3], [1, 2]]
    assert np.allclose(released(release), means(PRICES, np.array([0, 1, 1, 0])))


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([None, "sts"]), st.integers(2, 4), st.booleans())
def test_mdav_is_that_of_raw_values_or_of_their_slopes(seed: int, distance: str | None, k: int, whole: bool) -> None:
    """Also with whole numbers, where many distances are equal and rounding would decide."""
    rng = np.random.default_rng(seed)
    n, length = int(rng.integers(k, 25)), int(rng.integers(2, 6))
    values = rng.integers(0, 4, size=(n, length)) * 1.0 if whole else rng.normal(size=(n, length)).cumsum(axis=1)
    labels = plain_mdav(slopes(values) if distance else values, k)
    release = mv.MDAV(k=k, distance=distance).mask(panel(v=values), seed=1)
    if whole and distance is None:  # values are moved, and the rounding of their mean decides about equal distances
        assert release.partition.sizes.min() >= k
        return
    assert np.allclose(released(release), means(values, labels))


def test_slopes_of_whole_numbers_are_exact_so_that_ties_go_to_the_first_record() -> None:
    values = np.array([[0.0, 3], [1, 4], [2, 5], [7, 7], [8, 8], [9, 9], [20, 10], [21, 11], [22, 12]]) + 1 / 3
    columns, _ = coordinates(panel(v=values), ["v_0", "v_1"], "z", "sts")
    assert np.unique(np.round(columns, 9)).size == 3
    release = mv.MDAV(k=3, distance="sts").mask(panel(v=np.round(values)), seed=1)
    assert sorted(rows.tolist() for rows in release.partition.groups) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_times_that_are_farther_apart_have_smaller_slopes() -> None:
    cells = {"id": [1, 1, 1, 2, 2, 2] * 2, "day": [0, 1, 11] * 4, "v": [0.0, 1, 1, 0, 1, 2, 0, 1, 1, 0, 1, 2]}
    cells["id"] = [i + 2 * (j >= 6) for j, i in enumerate(cells["id"])]
    data = mv.Microdata.of(cells, series="id=id,time=day,value=v")
    (series,) = data.series_among(data.names)
    columns, _ = coordinates(data, list(series.columns), "none", "sts")
    assert np.allclose(columns, slopes(series.values, series.positions))
    assert np.ptp(columns[:, 1]) < np.ptp(columns[:, 0]) + 1


@pytest.mark.spec("04:TS-MIC")
@pytest.mark.parametrize("distance", ["sts", "dtw"])
@pytest.mark.parametrize("name", GROUPINGS)
def test_every_grouping_makes_groups_of_at_least_k_series(name: str, distance: str) -> None:
    values = np.random.default_rng(4).normal(size=(30, 6)).cumsum(axis=1)
    k = 2 if name == "two-approx" else 3
    cells = {f"v_{j}": values[:, j] for j in range(6)} | {"ill": ["no", "yes", "no"] * 10}
    data = mv.Microdata.of(cells, series="wide,v=v_*", keys=[f"v_{j}" for j in range(6)], confidential=["ill"])
    extra = {"crisp": True} if name == "fuzzy" else {}
    method = make("method", name, {**find("method", name).quick, "k": k, "distance": distance, **extra})
    release = method.mask(data, seed=5)
    assert release.partition.sizes.min() >= k
    if name not in ("camp-crest", "secure-k-ward"):
        assert np.allclose(released(release), means(values, release.partition.labels))
    assert method.mask(data, seed=5).data.digest() == release.data.digest()


def test_plain_tables_and_their_random_numbers_are_what_they_were() -> None:
    """A parameter that is not set does not show in the seeds of a release."""
    people = mv.datasets.survey(80, seed=3)
    release = mv.MDAV(k=3, publish="perturb").mask(people, ["age", "income"], seed=7)
    assert "distance" not in release.plan.to_plain()["steps"][0]["parameters"]
    columns, which = coordinates(people, ["age", "income"], "z", "euclidean")
    assert np.array_equal(columns, standardise(people.matrix(["age", "income"])), equal_nan=True)
    assert which == [[0], [1]]


def test_a_variable_has_one_scale_for_all_its_times() -> None:
    rng = np.random.default_rng(8)
    load, heat = rng.normal(size=(20, 4)) * [1, 10, 1, 1], 1000 * rng.normal(size=(20, 4))
    data = panel(load=load, heat=heat)
    columns, which = coordinates(data, data.names, "z")
    assert np.allclose(columns[:, :4], (load - load.mean()) / load.std())
    assert np.allclose(columns[:, 4:], (heat - heat.mean()) / heat.std())
    assert which == [[j] for j in range(8)]
    ranged, _ = coordinates(data, data.names, "minmax", "sts")
    assert np.allclose(ranged, np.hstack([slopes(load / np.ptp(load)), slopes(heat / np.ptp(heat))]))
    warped, which = coordinates(data, data.names, "none", "dtw")
    assert sorted(column for listed in which for column in listed) == list(range(warped.shape[1]))


def test_attributes_beside_series_are_scaled_by_themselves() -> None:
    rng = np.random.default_rng(8)
    load, age = rng.normal(size=(20, 3)), rng.integers(18, 90, size=20)
    cells = {"age": age, "sex": ["f", "m"] * 10, **{f"h{j}": load[:, j] for j in range(3)}}
    data = mv.Microdata.of(cells, series="wide,load=h*")
    columns, which = coordinates(data, ["age", "h0", "h1", "sex", "h2"], "z", "sts")
    assert [len(listed) for listed in which] == [1, 2, 0, 2, 0]
    assert np.allclose(columns[:, 0], (age - age.mean()) / age.std())
    assert np.allclose(columns[:, 1:3], slopes(load / load.std()))


@pytest.mark.spec("04:TS-MIC")
def test_variables_are_masked_jointly_or_each_as_a_block() -> None:
    rng = np.random.default_rng(6)
    load, heat = rng.normal(size=(2, 24, 4)).cumsum(axis=2)
    data = panel(load=load, heat=heat)
    jointly = mv.MDAV(k=4, distance="sts").mask(data, seed=1)
    assert list(jointly.partitions) == [data.names]
    apart = mv.MDAV(k=4, distance="sts", arrange="series").mask(data, seed=1)
    assert list(apart.partitions) == [data.names[:4], data.names[4:]]
    for values, block, name in ((load, data.names[:4], "load"), (heat, data.names[4:], "heat")):
        alone = mv.MDAV(k=4, distance="sts").mask(panel(**{name: values}), seed=1)
        assert np.array_equal(released(alone), apart.data.matrix(block))
    mixed = mv.Microdata.of({"a": [1, 2, 3], "h0": [1.0, 2, 3], "b": [3, 4, 5], "h1": [1.0, 2, 4]}, series="wide,v=h*")
    release = mv.MDAV(k=3, arrange="series").mask(mixed, mixed.names, seed=1)
    assert set(release.partitions) == {("a", "b"), ("h0", "h1")}


def test_series_of_other_lengths_gaps_and_no_points_are_grouped() -> None:
    values = np.random.default_rng(3).normal(size=(20, 5)).cumsum(axis=1)
    values[:5, 3:] = np.nan
    values[5:10, :2] = np.nan
    values[10:13, 2] = np.nan
    values[13:16] = np.nan
    for distance in ("euclidean", "sts", "dtw"):
        release = mv.MDAV(k=3, distance=distance).mask(panel(v=values), seed=1)
        made = released(release)
        assert release.partition.sizes.min() >= 3
        assert np.isnan(made[np.isnan(values)]).all()
        full = ~np.isnan(values).any(axis=1)
        assert not np.isnan(made[full]).all(axis=1).any()


def test_series_of_one_point_have_no_shape_and_are_still_grouped() -> None:
    release = mv.MDAV(k=2, distance="sts").mask(panel(v=np.arange(7.0)[:, None]), seed=1)
    assert release.partition.sizes.tolist() == [2, 2, 3]


@pytest.mark.parametrize("distance", ["sts", "dtw"])
def test_the_order_of_the_records_plays_no_part(distance: str) -> None:
    values = np.random.default_rng(2).normal(size=(40, 8)).cumsum(axis=1)
    order = np.random.default_rng(3).permutation(40)
    one = mv.MDAV(k=3, distance=distance).mask(panel(v=values), seed=1)
    other = mv.MDAV(k=3, distance=distance).mask(panel(v=values[order]), seed=1)
    assert np.allclose(released(one)[order], released(other))


def test_polished_groups_are_better_on_the_slopes() -> None:
    values = np.random.default_rng(2).normal(size=(60, 6)).cumsum(axis=1)
    plain = mv.MDAV(k=4, distance="sts").mask(panel(v=values), seed=1)
    polished = mv.MDAV(k=4, distance="sts", polish=500).mask(panel(v=values), seed=1)

    def lost(release: mv.Release) -> float:
        return float(((slopes(values) - slopes(released(release))) ** 2).sum())

    assert lost(polished) < lost(plain)


@pytest.mark.spec("04:TS-MIC")
def test_a_group_publishes_its_barycentre() -> None:
    rng = np.random.default_rng(5)
    load, heat = rng.normal(size=(2, 18, 6)).cumsum(axis=2)
    load[2, :2] = np.nan
    cells = {f"load_{j}": load[:, j] for j in range(6)} | {f"heat_{j}": heat[:, j] for j in range(6)}
    cells |= {"age": rng.integers(18, 90, size=18).astype(float)}
    data = mv.Microdata.of(cells, series="wide,load=load_*,heat=heat_*")
    method = mv.MDAV(k=3, distance="dtw", publishing="barycentre")
    release = method.mask(data, data.names, seed=1)
    for rows in release.partition.groups:
        assert np.allclose(release.data.matrix(["age"])[rows], cells["age"][rows].mean())
        for values, name in ((load, "load"), (heat, "heat")):
            block = [n for n in data.names if n.startswith(name)]
            made, curve = release.data.matrix(block)[rows], barycentre(values[rows]).curve
            held = ~np.isnan(made)
            assert np.array_equal(made[held], np.broadcast_to(curve, made.shape)[held])
    again = mv.protect(data, mv.Plan.from_plain(release.plan.to_plain()))
    assert again.data.digest() == release.data.digest()


def test_settings_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ParameterError, match="band = 3 is not allowed without distance = 'dtw'"):
        mv.MDAV(band=3)
    with pytest.raises(ParameterError, match="block = 2 is not allowed with arrange = 'series'"):
        mv.MDAV(block=2, arrange="series")
    with pytest.raises(ParameterError, match="select = 'normal' is not allowed with distance = 'sts'"):
        mv.MDAV(select="normal", distance="sts")
    for name in ("individual-ranking", "mdav-generic"):
        with pytest.raises(ParameterError, match="distance = 'sts' is not allowed"):
            make("method", name, {"distance": "sts"})


def test_a_band_limits_warping() -> None:
    values = np.random.default_rng(2).normal(size=(12, 8)).cumsum(axis=1)
    data = panel(v=values)
    free, _ = coordinates(data, data.names, "z", "dtw")
    narrow, _ = coordinates(data, data.names, "z", "dtw", 0)
    euclidean, _ = coordinates(data, data.names, "z", "euclidean")

    def squares(points: FloatArray) -> FloatArray:
        return np.asarray(((points[:, None] - points) ** 2).sum(axis=2)[np.triu_indices(12, 1)])

    # without any shift the order of the distances is that of Euclidean ones
    assert np.argsort(squares(narrow)).tolist() == np.argsort(squares(euclidean)).tolist()
    assert np.argsort(squares(free)).tolist() != np.argsort(squares(euclidean)).tolist()


def test_the_command_line_masks_series_by_their_slopes(run: Callable[..., Any], tmp_path: Any) -> None:
    rng = np.random.default_rng(1)
    lines = ["shop,month,sales"]
    for shop in range(12):
        lines += [
            f"{shop},2024-{month:02},{100 * shop + value:.2f}" for month, value in enumerate(rng.normal(size=6), 1)
        ]
    (tmp_path / "panel.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = run(
        "protect", "panel.csv", "--series", "id=shop,time=month,value=sales", "--method", "mdav",
        "--set", "distance=sts", "--set", "k=5", "--out", "safe.csv",
    )  # fmt: skip
    assert done.status == 0, done.stderr
    written = mv.Microdata.of(mv.read(tmp_path / "safe.csv", series="id=shop,time=month,value=sales"))
    (series,) = written.series_among(written.names)
    _, counts = np.unique(series.values, axis=0, return_counts=True)
    assert counts.min() >= 5
