"""Clustering-based loss (Marés 2013, section 5.4.3)."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.comparison.columns import Columns
from microveil.comparison.drawing import in_drawn_order
from microveil.comparison.pairs import Pair
from microveil.losses.clustering.similarity import Clustering, _for_means, _for_medians
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata
from microveil.numerics.neighbours.mixed_distance import MEDIAN, MODE


def people(seed: int, size: int = 240) -> Microdata:
    """Four kinds of records, told apart by two categories and two numbers."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 4, size)
    return Microdata.of(
        {
            "a": [f"a{k}" for k in kind],
            "b": [f"b{k // 2}" for k in kind],
            "x": 10 * kind + rng.normal(size=size),
            "y": -5 * kind + rng.normal(size=size),
        }
    )


@pytest.mark.spec("06:PC-12")
def test_the_partitions_of_a_worked_example() -> None:
    """Three clusters: {1,2,3}, {4,5,6}, {7,8}; released, record 8 becomes record 4."""
    rows = [(0, 0), (0, 1), (1, 0), (4, 4), (4, 3), (3, 4), (0, 4), (1, 4)]
    v, w = zip(*rows, strict=True)
    before = Microdata.of({"v": v, "w": w}, ordinal=["v", "w"])
    schema = before.schema.replacing(*(before[name].changed(domain=(0, 1, 2, 3, 4)) for name in ("v", "w")))
    after = Microdata.of({"v": (*v[:7], 4), "w": w}, schema)
    loss = Clustering(clusters=3).measure(before.with_schema(schema), after, ["v", "w"])
    # together in both 3 + 3, only in the original {7,8}, only in the release 8 with 4, 5 and 6
    rand, jaccard, wallace = 24 / 28, 6 / 10, 6 / np.sqrt(7 * 9)
    assert loss.details["rand"] == pytest.approx(100 * rand)
    assert loss.details["jaccard"] == pytest.approx(100 * jaccard)
    assert loss.details["wallace"] == pytest.approx(100 * wallace)
    assert loss.value == pytest.approx(100 * (3 - rand - jaccard - wallace) / 3)
    alone = Clustering(clusters=3, index="jaccard").measure(before.with_schema(schema), after, ["v", "w"])
    assert alone.value == pytest.approx(100 * (1 - jaccard))


@pytest.mark.spec("06:PC-12", "05:CL-01")
@pytest.mark.parametrize("attributes", [("a", "b"), ("x", "y"), ("a", "b", "x", "y")])
@pytest.mark.parametrize("seed", [1, 2])
def test_more_noise_moves_the_clusters_more(attributes: tuple[str, ...], seed: int) -> None:
    data = people(seed)
    measure = Clustering(clusters=4, repeats=2)
    values = [measure.measure(data, data, attributes).value]
    for strength in (0.05, 0.3, 0.75):
        masked = data
        if "x" in attributes:
            masked = Noise(alpha=strength).mask(masked, ["x", "y"], seed=seed).data
        if "a" in attributes:
            masked = PRAM(p=1 - strength, matrix="proportional").mask(masked, ["a", "b"], seed=seed).data
        values.append(measure.measure(data, masked, attributes).value)
    assert values[0] == 0
    assert values == sorted(values)
    assert values[-1] > 20


def test_the_ways_of_clustering_can_be_chosen() -> None:
    data = people(3)
    masked = Noise(alpha=0.4).mask(data, ["x", "y"], seed=1).data
    means = Clustering().measure(data, masked, ["x", "y"])
    assert means.to_plain() == Clustering(method="k-means").measure(data, masked, ["x", "y"]).to_plain()
    assert means.value != Clustering(method="c-medians").measure(data, masked, ["x", "y"]).value
    masked = PRAM(p=0.5).mask(masked, ["a"], seed=1).data
    mixed = Clustering(method="k-means", clusters=4).measure(data, masked, ["a", "x", "y"])
    assert 0 < mixed.value < 100
    usual = Clustering(clusters=4).measure(data, masked, ["a", "x", "y"])
    assert (
        usual.to_plain() == Clustering(method="c-medians", clusters=4).measure(data, masked, ["a", "x", "y"]).to_plain()
    )
    assert usual.value != mixed.value


def test_another_seed_starts_elsewhere_and_repeats_average() -> None:
    data = people(4)
    masked = PRAM(p=0.6).mask(data, ["a", "b"], seed=1).data
    single = [Clustering(clusters=3, starts=1, seed=s).measure(data, masked, ["a", "b"]).value for s in range(6)]
    assert len(set(single)) > 1
    mean = Clustering(clusters=3, starts=1, repeats=6).measure(data, masked, ["a", "b"]).value
    assert min(single) - 25 < mean < max(single) + 25


def test_a_sample_of_a_long_file_comes_with_its_error() -> None:
    """Categories need no scale of the whole file, so that each of the five samples can be measured by itself."""
    data, known = people(5, 3000), ["a", "b"]
    masked = PRAM(p=0.8).mask(data, known, seed=1).data
    whole = Clustering(clusters=3).measure(data, masked, known)
    some = Clustering(clusters=3, sample=1000).measure(data, masked, known)
    assert whole.details["sampled"] == 3000
    assert "standard_error" not in whole.details
    assert some.details["sampled"] == 1000
    codes = np.vstack([table.categories(name, data.domain(name)).codes for table in (data, masked) for name in known])
    drawn = np.array_split(in_drawn_order(codes.astype(float), 0, "clustering")[:1000], 5)
    by_sample = [
        Clustering(clusters=3, sample=None).measure(data.take(rows), masked.take(rows), known).value for rows in drawn
    ]
    assert some.value == pytest.approx(np.mean(by_sample))
    assert some.details["standard_error"] == pytest.approx(np.std(by_sample, ddof=1) / np.sqrt(5))
    assert Clustering(clusters=3, sample=1000).measure(data, data, known).value == 0


def both_tables() -> Columns:
    """A number, a constant and a category; the third number is missing in the original, the last in the release."""
    before = Microdata.of({"x": [2.0, 10.0, None, 4.0], "c": [3.0] * 4, "a": list("pqpr")})
    after = Microdata.of({"x": [2.0, 9.0, 5.0, None], "c": [3.0] * 4, "a": list("pqqr")})
    return Columns.of(Pair.of(before, after, ["x", "c", "a"]), ("x", "c", "a"))


def test_numbers_lie_on_axes_as_long_as_their_range_and_missing_ones_in_their_middle() -> None:
    tables = _for_medians(both_tables(), "inclusive")
    assert tables.before.tolist() == [[2, 3, 0, 0], [10, 3, 1, 0], [4, 3, 0, 1], [4, 3, 2, 0]]
    assert tables.after.tolist() == [[2, 3, 0, 0], [9, 3, 1, 0], [5, 3, 1, 0], [4, 3, 2, 1]]
    assert tables.axes is not None
    assert tables.axes.offset.tolist() == [0, 0, 0, 0]
    assert tables.axes.size.tolist() == [8, 1, 0, 0]
    assert tables.axes.centre.tolist() == [MEDIAN, MEDIAN, MODE, MODE]


def test_for_means_all_columns_are_standardised_as_in_the_original() -> None:
    tables = _for_means(both_tables())
    present = np.array([2.0, 10.0, 4.0])

    def standard(values: list[float]) -> np.ndarray:
        return (np.array(values) - present.mean()) / present.std()

    assert tables.axes is None
    assert tables.before[[0, 1, 3], 0] == pytest.approx(standard([2, 10, 4]))
    assert tables.after[:3, 0] == pytest.approx(standard([2, 9, 5]))
    assert (tables.before[2, 0], tables.after[3, 0]) == (0, 0)
    assert (tables.before[:, 1] == 0).all()
    assert (tables.after[:, 1] == 0).all()
    shares = np.array([2, 1, 1]) / 4
    for cells, categories in ((tables.before, "pqpr"), (tables.after, "pqqr")):
        indicators = np.array([[c == d for d in "pqr"] for c in categories])
        assert cells[:, 2:5] == pytest.approx((indicators - shares) / np.sqrt(shares * (1 - shares)))
    assert tables.before[:, 5].tolist() == [0, 0, 1, 0]
    assert tables.after[:, 5].tolist() == [0, 0, 0, 1]


def test_missing_cells_are_a_state_of_their_own() -> None:
    before = Microdata.of({"a": [None] * 5 + ["p"] * 5 + ["q"] * 5})
    assert Clustering(clusters=3).measure(before, before).value == 0
    numbers = Microdata.of({"x": [1.0, 1.1, None, None, 9.0, 9.1]})
    filled = Microdata.of({"x": [1.0, 1.1, 1.0, 9.0, 9.0, 9.1]})
    assert Clustering(clusters=3).measure(numbers, filled).value > 0


def test_more_clusters_than_records_are_as_many_as_there_are() -> None:
    data = Microdata.of({"x": [1.0, 2.0, 3.0]})
    loss = Clustering(clusters=10).measure(data, data)
    assert loss.value == 0
    assert loss.details["clusters"] == 3
    assert Clustering(clusters=10, repeats=2).measure(data, data).details["clusters"] == 3
