"""Interval disclosure against worked examples."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.attacks.intervals import IntervalDisclosure, _between_ranks, _middle_ranks, _ranks_by_record
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError
from microveil.masking.coarsening.recode import Recode
from microveil.masking.microaggregation.projection import Projection
from microveil.microdata import Microdata
from microveil.microdata.datasets.reference import data_folder
from microveil.microdata.datasets.selections import load_selection
from microveil.scoring import assess

from .linkage.test_distance_linkage import toy


@pytest.mark.spec("05:DR-01")
@pytest.mark.parametrize(("width", "expected"), [(1.0, 75.0), (20.0, 75.0), (30.0, 100 * 11 / 12)])
def test_the_categorical_example(width: float, expected: float) -> None:
    """Computed independently: (4/6, 5/6) up to a width of 20, (1, 5/6) at 30."""
    original, masked = toy()
    risk = IntervalDisclosure(widths=(width,), counted="all").assess(original, masked)
    assert risk.value == pytest.approx(expected)


@pytest.mark.spec("01:DR-2", "03:ME-6", "05:DR-01")
def test_the_interval_is_spanned_by_the_released_values_at_the_two_ranks() -> None:
    original = Microdata.of({"x": [1.0, 5.5, 3.0, 9.0, 20.0, 6.0, 7.0, 8.0, 9.0, 10.0]})
    masked = Microdata.of({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]})
    # with a width of 20 % the intervals reach two ranks: record 2 has [1, 4], record 4 [2, 6], record 5 [3, 7]
    risk = IntervalDisclosure(widths=(20.0,)).assess(original, masked)
    assert risk.per_record.tolist() == [1, 0, 1, 0, 0, 1, 1, 1, 1, 1]
    assert risk.value == pytest.approx(70)


@pytest.mark.spec("03:ME-6")
def test_the_other_windows() -> None:
    original = Microdata.of({"x": [0.0, 10.0, 20.0, 30.0]})
    masked = Microdata.of({"x": [4.0, 10.0, 26.0, 20.0]})
    windows = {
        "sd": [0.0, 1.0, 0.0, 0.0],  # deviation 11.2, a third of it 3.7
        "range": [1.0, 1.0, 1.0, 0.0],  # range 30, a third of it 10
        "value": [0.0, 1.0, 1.0, 0.0],
        "rank-difference": [1.0, 1.0, 1.0, 1.0],
    }
    for window, disclosed in windows.items():
        risk = IntervalDisclosure(widths=(33.0,), window=window).assess(original, masked)  # type: ignore[arg-type]
        assert risk.per_record.tolist() == disclosed, window


def test_by_default_the_mean_over_widths_of_1_to_10_per_cent() -> None:
    data = Microdata.of({"x": np.arange(100.0)})
    moved = Microdata.of({"x": np.roll(np.arange(100.0), 5)})
    widths = [IntervalDisclosure(widths=(float(p),)).assess(data, moved).value for p in range(1, 11)]
    assert IntervalDisclosure().assess(data, moved).value == pytest.approx(np.mean(widths))
    assert widths[3] < 10 < 90 < widths[4]


@pytest.mark.spec("01:DR-2")
def test_the_extremes_bound_their_own_intervals() -> None:
    original = Microdata.of({"x": [0.0, 5.0, 10.5]})
    masked = Microdata.of({"x": [1.0, 5.0, 10.0]})
    # a width of 40 % is one rank: [1, 5], [1, 10] and [5, 10]
    assert IntervalDisclosure(widths=(40.0,)).assess(original, masked).per_record.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.spec("01:DR-2", "03:ME-6")
@pytest.mark.parametrize("window", ["rank", "sd"])
def test_each_attribute_has_its_own_share_and_records_need_all_of_them(window: str) -> None:
    data = Microdata.of({"x": [0.0, 10.0, 20.0, 30.0], "y": [0.0, 10.0, 20.0, 30.0]})
    masked = Microdata.of({"x": [0.0, 10.0, 20.0, 30.0], "y": [0.0, 10.0, 30.0, 20.0]})
    cells, records = (
        IntervalDisclosure(widths=(10.0,), window=window, mode=mode, counted="all").assess(data, masked, ["x", "y"])  # type: ignore[arg-type]
        for mode in ("cells", "records")
    )
    assert cells.per_attribute == records.per_attribute == {"x": 100.0, "y": 50.0}
    assert (cells.value, records.value) == (75.0, 50.0)


@pytest.mark.spec("03:ME-6")
@pytest.mark.parametrize(
    ("order", "k", "known"),
    [
        ("123456789", 5, (60.65, 67.20, 86.27, 39.92)),
        ("123456789", 10, (55.82, 65.82, 83.13, 32.24)),
        ("123456789", 20, (52.85, 63.72, 80.08, 27.24)),
        ("147258369", 10, (25.39, 42.73, 55.39, 11.66)),
        ("147258369", 20, (23.44, 42.19, 53.35, 11.09)),
    ],
)
def test_four_windows_on_the_water_files(order: str, k: int, known: tuple[float, ...]) -> None:
    """Section 9.5: differences on the border of an interval need the tolerance; none of these is the printed value."""
    if data_folder() is None:
        pytest.skip("reference data not found: set MICROVEIL_DATA to the folder that holds it")
    water = load_selection("water-nine")
    release = Projection(k=k, axis="z-sum", partition="fixed", remainder="middle", block=3).mask(
        water, [water.names[int(j) - 1] for j in order]
    )
    windows = ("rank-difference", "value", "range", "sd")
    found = [IntervalDisclosure(window=window).assess(water, release).value for window in windows]  # type: ignore[arg-type]
    assert found == pytest.approx(known, abs=0.5)


def test_records_are_disclosed_when_all_their_values_are() -> None:
    data = Microdata.of({"x": [1.0, 50.0, 99.0] * 10, "y": [1.0, 50.0, 99.0] * 10})
    masked = Microdata.of({"x": [1.0, 50.0, 99.0] * 10, "y": [99.0, 50.0, 1.0] * 10})
    for mode, expected in (("cells", 100 * 2 / 3), ("records", 100 / 3)):
        attack = IntervalDisclosure(mode=mode, counted="all")  # type: ignore[arg-type]
        assert attack.assess(data, masked, ["x", "y"]).value == pytest.approx(expected)


def test_a_nominal_value_is_disclosed_when_it_is_unchanged() -> None:
    original, masked = Microdata.of({"j": ["a", "b", "c", "a"]}), Microdata.of({"j": ["a", "c", "c", "b"]})
    assert IntervalDisclosure(widths=(100.0,), counted="all").assess(original, masked).value == 50


def test_missing_originals_are_left_out_and_suppressed_cells_disclose_nothing() -> None:
    original = Microdata.of({"x": [1.0, 2.0, None, 4.0]})
    masked = Microdata.of({"x": [1.0, None, 3.0, 4.0]})
    risk = IntervalDisclosure().assess(original, masked)
    assert risk.value == pytest.approx(100 * 2 / 3)
    assert np.isnan(risk.per_record[2])
    assert risk.per_record[1] == 0


@pytest.mark.parametrize("widths", [(), (-1.0,), (101.0,), "5"])
def test_widths_are_percentages(widths: object) -> None:
    with pytest.raises(ParameterError, match="interval-disclosure: widths"):
        IntervalDisclosure(widths=widths)  # type: ignore[arg-type]


def mixed() -> tuple[Microdata, Microdata]:
    data = {"x": [0.0, 10.0, 20.0, 30.0], "y": [0.0, 10.0, 20.0, 30.0], "j": ["a", "b", "b", "a"]}
    masked = {**data, "y": [0.0, 10.0, 30.0, 20.0], "j": ["a", "a", "b", "b"]}
    return Microdata.of(data), Microdata.of(masked)


@pytest.mark.parametrize("mode", ["cells", "records"])
def test_only_masked_attributes_with_an_order_move_the_risk(mode: str) -> None:
    attack = IntervalDisclosure(widths=(10.0,), mode=mode)  # type: ignore[arg-type]
    risk = attack.assess(*mixed(), ["x", "y", "j"])
    assert risk.value == 50.0
    assert risk.per_record.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert risk.per_attribute == {"x": 100.0, "y": 50.0, "j": 50.0}
    assert risk.scenario.endswith(
        "guesses that the true values of y lie in an interval around the released ones. "
        "Left out of the risk: x (released unchanged); "
        "j (categories without an order)."
    )


def test_all_attributes_move_the_risk_where_that_is_asked_for() -> None:
    risk = IntervalDisclosure(widths=(10.0,), counted="all").assess(*mixed(), ["x", "y", "j"])
    assert risk.value == pytest.approx(100 * 8 / 12)
    assert "Left out" not in risk.scenario


def test_an_attribute_with_one_suppressed_cell_was_masked() -> None:
    data, masked = Microdata.of({"x": [1.0, 2.0, 3.0, 4.0]}), Microdata.of({"x": [1.0, 2.0, 3.0, None]})
    other = {"y": [4.0, 3.0, 2.0, 1.0]}
    both = [Microdata.of({"x": table.frame["x"].to_list(), **other}) for table in (data, masked)]
    assert IntervalDisclosure().assess(*both, ["x", "y"]).value == 75.0


def test_a_file_that_is_not_masked_at_all_is_disclosed_and_says_so() -> None:
    data, _ = mixed()
    pair = Pair.of(data, data, ["x", "j"])
    assert IntervalDisclosure.suited(pair)
    risk = IntervalDisclosure().assess_pair(pair)
    assert risk.value == 100.0
    assert risk.scenario.endswith("Nothing was masked, so every value is disclosed as it is.")


@pytest.mark.parametrize("names", [["j"], ["x", "j"]])
def test_without_a_masked_attribute_that_has_an_order_the_attack_is_not_suited(names: list[str]) -> None:
    pair = Pair.of(*mixed(), names)
    assert IntervalDisclosure.suited(pair) == ()
    assert IntervalDisclosure.why_not(pair) == "no attribute with an order was masked"
    with pytest.raises(DataError, match="no attribute with an order was masked, so interval-disclosure has nothing"):
        IntervalDisclosure().assess_pair(pair)


@pytest.mark.parametrize("made", [True, False])
def test_attributes_released_as_labels_were_masked_so_untouched_ones_are_not_all_there_is(made: bool) -> None:
    columns = {"age": [20.0, 30.0, 40.0, 50.0], "sex": ["f", "m", "f", "m"], "size": [1.0, 2.0, 3.0, 4.0]}
    data = Microdata.of(columns, keys=list(columns))
    release = Recode(by="cuts", cuts=(35.0,), publish="label").mask(data, ["age"])
    masked = release if made else Microdata.of(release.data.frame)
    pair = Pair.of(data, masked, list(columns))
    assert pair.labelled == ("age",)
    assert IntervalDisclosure.suited(pair) == ()
    assert IntervalDisclosure.why_not(pair) == "no attribute with an order was masked"
    assert "interval-disclosure" not in assess(data, masked, list(columns)).risks


# --- ranks, by hand -----------------------------------------------------------------------------------------------


def test_of_equal_values_the_earlier_record_has_the_lower_rank() -> None:
    assert _ranks_by_record(np.array([5.0, 2.0, 5.0, 1.0, 2.0])).tolist() == [4, 2, 5, 1, 3]


def test_values_lie_between_the_released_ones_so_many_ranks_away() -> None:
    ordered = np.array([10.0, 20.0, 30.0, 40.0, 50.0])
    values, ranks = np.array([20.0, 40.0, 19.9, 40.1, 10.0, 50.0]), np.array([3.0, 3.0, 3.0, 3.0, 1.0, 5.0])

    def inside(x: np.ndarray, rank: np.ndarray, reach: int) -> np.ndarray:
        below, not_above = np.searchsorted(ordered, x, side="left"), np.searchsorted(ordered, x, side="right")
        return _between_ranks(below, not_above, rank, reach, len(ordered))

    assert inside(values, ranks, 1).tolist() == [True, True, False, False, True, True]
    assert inside(values, ranks, 0).tolist() == [False, False, False, False, True, True]
    assert inside(np.array([20.0, 40.0]), np.array([2.5, 3.5]), 0).tolist() == [True, True]
    assert inside(np.array([9.0, 51.0]), np.array([1.0, 5.0]), 9).tolist() == [False, False]


def test_a_category_has_the_mean_of_its_ranks() -> None:
    assert _middle_ranks(np.array([0, 2, 2, 0, 0]), 4).tolist() == [2.0, 3.5, 4.5, 5.5]


@pytest.mark.parametrize("window", ["sd", "range", "value"])
def test_an_interval_includes_its_ends(window: str) -> None:
    before = np.array([0.0, 10.0, 20.0, 30.0])
    spread = {"sd": before.std(), "range": 30.0}.get(window)
    after = before + (0.5 * spread if spread else 0.0)
    if window == "value":
        after = np.array([0.0, 20.0, 40.0, 60.0])  # the true values are half of these
    disclosure = IntervalDisclosure(window=window, widths=(50.0,))  # type: ignore[arg-type]
    assert disclosure.assess({"x": before}, {"x": after}, ["x"]).value == 100.0
    narrower = IntervalDisclosure(window=window, widths=(49.9,))  # type: ignore[arg-type]
    assert narrower.assess({"x": before}, {"x": after}, ["x"]).value == (25.0 if window == "value" else 0.0)
