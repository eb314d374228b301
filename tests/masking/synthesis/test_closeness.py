"""How close a release comes to its original."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.masking.synthesis.closeness import closeness
from microveil.microdata import Microdata


def mixed(seed: int, n: int) -> Microdata:
    """Records of one population."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    columns = {"x": x, "y": x + rng.standard_normal(n), "job": rng.choice(["cook", "nurse", "smith"], n)}
    return Microdata.of(columns, keys=["x", "y", "job"])


@pytest.mark.spec("01:MK-11")
def test_copies_are_told_from_copies_of_records_that_are_unique() -> None:
    original = Microdata.of({"age": [30, 30, 40, 50], "job": ["a", "a", "b", None]}, keys=["age", "job"])
    release = Microdata.of({"age": [30, 40, 50, 50], "job": ["a", "b", None, "b"]}, keys=["age", "job"])
    found = closeness(original, release)
    assert (found.copies, found.unique_copies) == (75.0, 50.0)


@pytest.mark.spec("01:MK-11")
def test_the_original_itself_is_as_close_as_can_be() -> None:
    original = mixed(1, 300)
    found = closeness(original, original)
    assert (found.copies, found.unique_copies, found.closer) == (100.0, 100.0, 100.0)
    assert (found.distance_ratio, found.neighbour_ratio) == (0.0, 0.0)


@pytest.mark.spec("01:MK-11")
def test_new_records_of_the_same_population_are_as_far_as_originals_from_each_other() -> None:
    """Then 5 % are closer than the closest 5 %, within four standard errors of two samples of 2,000."""
    found = closeness(mixed(1, 2000), mixed(2, 2000))
    assert found.copies == 0.0
    assert abs(found.closer - 5.0) < 400 * np.sqrt(2 * 0.05 * 0.95 / 2000)
    assert found.distance_ratio == pytest.approx(1.0, abs=0.1)


def test_records_beside_an_original_are_noticed() -> None:
    original = mixed(1, 1000)
    beside = original.with_columns(
        {name: original.number_column(name, original.numbers(name).values + 1e-4) for name in ("x", "y")}
    )
    found = closeness(original, beside)
    assert found.copies == 0.0
    assert found.closer > 90
    assert found.distance_ratio < 0.01
    assert found.neighbour_ratio < 0.01


def test_distances_are_multiples_of_those_between_originals() -> None:
    original = Microdata.of({"x": [0.0, 1.0, 2.0, 3.0]})
    found = closeness(original, Microdata.of({"x": [0.25, 1.25, 2.25, 3.25]}))
    assert found.distance_ratio == pytest.approx(0.25)
    assert found.neighbour_ratio == pytest.approx(0.25 / 0.75)
    assert found.closer == 100.0


def test_a_sample_is_seeded_and_says_that_it_is_one() -> None:
    one, other = mixed(1, 400), mixed(2, 400)
    found = closeness(one, other, records=50)
    assert found == closeness(one, other, records=50)
    assert found.compared == 50
    assert "in a sample of 50 of 400" in str(found.notes[1])
    assert "sample" not in str(closeness(one, other).notes[1])


def test_a_missing_cell_is_near_to_those_of_its_state_only() -> None:
    data = Microdata.of({"x": [1.0, 1.0, -9.0, -9.0, None, None]})
    data = data.with_schema(data.schema.replacing(data["x"].changed(missing_codes=(-9.0,))))
    found = closeness(data, data.take(np.array([2, 3, 4, 5, 0, 1])))
    assert (found.copies, found.unique_copies, found.closer) == (100.0, 0.0, 0.0)


def test_a_single_record_has_no_distance_to_compare_with() -> None:
    one = Microdata.of({"x": [1.0]})
    found = closeness(one, one)
    assert found.copies == 100.0
    assert len(found.notes) == 1


def test_ratios_are_those_of_plain_distances_to_the_nearest() -> None:
    """All pairs of records, in standard deviations of the original."""
    rng = np.random.default_rng(9)
    before = rng.normal(size=(25, 2)) * [1.0, 50.0]
    after = before + 0.3 * rng.normal(size=(25, 2)) * [1.0, 50.0]
    one, other = (Microdata.of({"a": cells[:, 0], "b": cells[:, 1]}) for cells in (before, after))
    found = closeness(one, other)
    z, masked = ((cells - before.mean(axis=0)) / before.std(axis=0) for cells in (before, after))
    between = np.sort(np.linalg.norm(z[:, None] - z, axis=2), axis=1)[:, 1:3]  # but for the record itself
    beside = np.sort(np.linalg.norm(masked[:, None] - z, axis=2), axis=1)[:, :2]
    assert found.distance_ratio == pytest.approx(np.median(beside[:, 0]) / np.median(between[:, 0]))
    assert found.neighbour_ratio == pytest.approx(np.median(beside[:, 0] / beside[:, 1]))
    closest = np.quantile(between[:, 0], 0.05)
    assert found.closer == pytest.approx(100 * (beside[:, 0] < closest).mean())
    assert (found.copies, found.unique_copies, found.compared, found.records) == (0, 0, 25, 25)


def test_a_release_of_fewer_or_more_records_can_be_compared() -> None:
    numbers = {"x": np.arange(40.0) ** 1.5, "y": np.arange(40.0) % 7}
    original = Microdata.of(numbers)
    some, twice = (original.take(np.tile(np.arange(rows), times)) for rows, times in ((15, 1), (40, 2)))
    found = closeness(original, some)
    assert (found.copies, found.compared, found.records) == (100.0, 15, 15)
    found = closeness(original, twice)
    assert (found.copies, found.unique_copies, found.compared, found.records) == (100.0, 100.0, 80, 80)
    assert closeness(original, twice, records=50).compared == 50
