"""Losses of series: an example computed independently, what they must and must not notice, gaps and unequal lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microveil.errors import DataError, ParameterError
from microveil.losses import Loss
from microveil.microdata import Microdata
from microveil.registry import make, names
from reproduction.price_indices import cells, group_means, indices

LOSSES = [name for name in names("loss") if make("loss", name).of_series]
PRICES, MEANS = cells("6.1"), group_means()


def wide(values: np.ndarray, **more: Any) -> Microdata:
    return Microdata.of({f"t{j}": values[:, j] for j in range(values.shape[1])} | more, series="wide,load=t*")


def measured(name: str, before: np.ndarray, after: np.ndarray, **parameters: Any) -> Loss:
    loss: Loss = make("loss", name, parameters).measure(wide(before), wide(after))
    return loss


def days(records: int = 60, points: int = 24, seed: int = 1) -> np.ndarray:
    """Positive curves with a daily shape, a peak in the evening, and a level of their own."""
    rng = np.random.default_rng(seed)
    time = np.arange(points)
    shape = 2 + np.sin(2 * np.pi * (time - 4) / points) + 3 * np.exp(-((time - rng.uniform(15, 21, (records, 1))) ** 2))
    return np.asarray(rng.lognormal(0, 0.6, (records, 1)) * shape * rng.lognormal(0, 0.1, (records, points)))


# --- the example of four price indices ------------------------------------------------------------------------------


@pytest.mark.spec("04:TS-IL")
@pytest.mark.parametrize(
    ("name", "parameters", "value"),
    [
        ("series-il1", {}, 34.6632),
        ("series-il1", {"signed": True}, 15.5400),
        ("series-il2", {}, 7.5010),
        ("series-il3", {}, 9.3303),
        ("series-il3", {"basis": "time"}, 13.2953),
        ("series-il", {}, 17.1648),
        ("series-il", {"basis": "time"}, 18.4865),
    ],
)
def test_the_losses_of_four_price_indices_in_two_groups(name: str, parameters: dict[str, Any], value: float) -> None:
    found = make("loss", name, parameters).measure(indices(PRICES), indices(MEANS))
    assert found.value == pytest.approx(value, abs=5.0001e-5)


@pytest.mark.spec("04:TS-IL")
def test_the_parts_of_il1_and_the_mean_of_the_file_that_microaggregation_keeps() -> None:
    found = make("loss", "series-il1").measure(indices(PRICES), indices(MEANS)).details
    assert (found["il_1.1"], found["il_1.2"]) == pytest.approx((6.7543, 62.5721), abs=5.0001e-5)
    assert found["file_mean"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.spec("04:TS-IL")
def test_il_is_the_mean_of_its_parts() -> None:
    whole = make("loss", "series-il").measure(indices(PRICES), indices(MEANS))
    single = {n: make("loss", f"series-{n}").measure(indices(PRICES), indices(MEANS)) for n in ("il1", "il2", "il3")}
    assert dict(whole.details) == {name: loss.raw for name, loss in single.items()}
    assert whole.value == pytest.approx(sum(whole.details.values()) / 3)
    assert whole.per_attribute["series"] == pytest.approx(whole.value)


@pytest.mark.spec("04:TS-IL")
def test_signs_cancel_only_where_they_are_kept() -> None:
    """One series doubles its mean, another halves it."""
    before, after = np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([[2.0, 2.0], [1.0, 1.0]])
    assert measured("series-il1", before, after).details["il_1.1"] == 50.0
    assert measured("series-il1", before, after, signed=True).details["il_1.1"] == 0.0


@pytest.mark.spec("04:TS-IL")
def test_values_of_opposite_sign_lose_all_and_no_more() -> None:
    assert measured("series-il2", np.array([[1.0, 2.0]]), np.array([[-1.0, 2.0]])).raw == 50.0


# --- what every one must notice ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES)
def test_an_identical_release_loses_nothing(name: str) -> None:
    assert measured(name, days(), days()).value == 0.0


# what a useless release leaves, at least, in per cent
SHUFFLED = {"series-il": 25, "series-il1": 30, "series-il2": 25, "series-il3": 20, "spectrum": 5, "peaks": 30}
SCRAMBLED = {"series-il1": 20, "series-il2": 25, "series-il3": 20, "series-il": 25, "spectrum": 30, "peaks": 40}
CONSTANT = {"series-il1": 50, "series-il2": 20, "series-il3": 10, "series-il": 25, "spectrum": 100, "peaks": 60}


@pytest.mark.parametrize("name", SHUFFLED)
def test_series_given_to_other_records_lose_much(name: str) -> None:
    before = days()
    assert measured(name, before, before[np.random.default_rng(2).permutation(len(before))]).value > SHUFFLED[name]


@pytest.mark.parametrize("name", SCRAMBLED)
def test_series_whose_times_are_mixed_up_lose_much(name: str) -> None:
    before = days()
    assert measured(name, before, np.random.default_rng(2).permuted(before, axis=1)).value > SCRAMBLED[name]


@pytest.mark.parametrize("name", CONSTANT)
def test_series_that_become_their_mean_lose_much(name: str) -> None:
    before = days()
    flat = np.repeat(before.mean(axis=1, keepdims=True), before.shape[1], axis=1)
    assert measured(name, before, flat).value >= CONSTANT[name]


@pytest.mark.parametrize("name", LOSSES)
def test_more_noise_loses_more(name: str) -> None:
    before = days()
    noise = np.random.default_rng(3).normal(0, 1, before.shape)
    found = [measured(name, before, before + strength * noise).value for strength in (0.001, 0.05, 0.5, 3.0)]
    assert found == sorted(found)
    assert found[0] < found[-1] / 5


def test_each_of_the_specific_losses_sees_what_it_is_for_and_nothing_else() -> None:
    before = days()
    levels = before * np.linspace(0.5, 2, len(before))[:, None]
    assert measured("spectrum", before, levels).value == pytest.approx(0.0, abs=1e-9)
    assert measured("peaks", before, levels).details["timing"] == 0.0
    assert measured("peaks", before, levels).details["height"] > 20
    assert measured("aggregate-curve", before, levels).value > 10
    swapped = before[np.random.default_rng(1).permutation(len(before))]
    assert measured("aggregate-curve", before, swapped).value == pytest.approx(0.0, abs=1e-9)
    late = np.roll(before, 3, axis=1)
    assert measured("peaks", before, late).details["height"] == 0.0
    assert measured("peaks", before, late).details["timing"] > 60
    assert measured("aggregate-curve", before, late).value > 10


# --- the specific ones by hand ------------------------------------------------------------------------------------


def test_a_shifted_cycle_keeps_its_spectrum_and_another_cycle_does_not() -> None:
    time = np.arange(24)
    slow, fast = (np.cos(2 * np.pi * cycles * time / 24)[None, :] for cycles in (1, 4))
    assert measured("spectrum", slow, np.roll(slow, 5, axis=1)).value == pytest.approx(0.0, abs=1e-9)
    assert measured("spectrum", slow, fast).value == pytest.approx(100.0)
    assert measured("spectrum", slow, 0.6 * slow + 0.8 * fast).value == pytest.approx(64.0)
    assert measured("spectrum", slow, 2 * slow).details["power"] == pytest.approx(75.0)


def test_peaks_by_hand() -> None:
    before, after = np.array([[1.0, 9.0, 2.0, 8.0, 0.0, 0.0]]), np.array([[1.0, 8.0, 9.0, 2.0, 0.0, 0.0]])
    two = measured("peaks", before, after, k=2)
    assert (two.details["timing"], two.details["maximum"]) == (50.0, 100.0)
    assert two.details["height"] == 0.0
    assert two.details["shift"] == pytest.approx(20.0)
    assert two.value == 25.0
    flat = measured("peaks", before, np.full((1, 6), 4.5), k=2)
    assert flat.details["timing"] == pytest.approx(100 * (1 - 2 / 6))
    assert flat.details["height"] == pytest.approx(100 * (0.5 + 3.5 / 8) / 2)


def test_the_aggregate_curve_by_hand() -> None:
    before, after = np.array([[1.0, 3.0], [2.0, 4.0]]), np.array([[2.0, 3.0], [2.0, 3.0]])
    found = measured("aggregate-curve", before, after)
    assert found.value == pytest.approx(20.0)
    assert found.details["total"] == 0.0
    assert found.details["largest"] == pytest.approx(25.0)
    assert found.details["peak"] == pytest.approx(100 / 7)


# --- gaps, unequal lengths, odd series ------------------------------------------------------------------------------


def ragged() -> np.ndarray:
    series = days(8)
    series[0, :5], series[1, 20:], series[2, 10:13], series[3] = np.nan, np.nan, np.nan, np.nan
    series[4, 1:], series[5] = np.nan, 0.1
    return series


@pytest.mark.parametrize("name", LOSSES)
def test_gaps_unequal_lengths_constants_and_empty_series_lose_nothing_by_themselves(name: str) -> None:
    assert measured(name, ragged(), ragged()).value == 0.0


@pytest.mark.parametrize("name", LOSSES)
def test_a_cell_that_was_missing_cannot_be_lost(name: str) -> None:
    """Whatever a release has in its place."""
    before, after = ragged(), ragged()
    after[np.isnan(before)] = 1e6
    assert measured(name, before, after).value == 0.0


@pytest.mark.parametrize("name", LOSSES)
def test_suppressed_series_are_lost(name: str) -> None:
    before = days()
    half, all_but_one = before.copy(), before.copy()
    half[::2], all_but_one[1:] = np.nan, np.nan
    some, most = (measured(name, before, after).value for after in (half, all_but_one))
    assert some == pytest.approx(50.0, abs=12.0)
    assert most > 90


def test_a_suppressed_cell_is_lost_among_the_values() -> None:
    before = np.array([[1.0, 2.0, 3.0, 4.0]])
    after = np.array([[1.0, np.nan, 3.0, 4.0]])
    assert measured("series-il2", before, after).value == 25.0
    assert measured("series-il3", before, after).value == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_duplicate_and_single_series_give_a_number(name: str) -> None:
    before = days(1)
    one, many = (
        measured(name, before, before * 1.1),
        measured(name, *(np.repeat(m, 5, 0) for m in (before, before * 1.1))),
    )
    assert many.value == pytest.approx(one.value, abs=1e-9)
    assert np.isfinite(measured(name, before[:, :1], before[:, :1] * 2).value)


@pytest.mark.parametrize("name", LOSSES)
def test_several_variables_count_by_their_series(name: str) -> None:
    """The first is kept, the second is spoilt, so half is lost."""
    a, b = days(seed=1), days(seed=2)
    columns = {f"{v}{j}": m[:, j] for v, m in (("a", a), ("b", b)) for j in range(24)}
    spoilt = columns | {f"b{j}": np.random.default_rng(j).permutation(b[:, j]) * (1 + j % 2) for j in range(24)}
    before, after = (Microdata.of(c, series="wide,first=a*,second=b*") for c in (columns, spoilt))
    found = make("loss", name).measure(before, after)
    alone = measured(name, b, np.column_stack([spoilt[f"b{j}"] for j in range(24)]))
    assert found.per_attribute["first"] == 0.0
    assert found.per_attribute["second"] == pytest.approx(alone.value)
    assert found.value == pytest.approx(alone.value / 2)


@pytest.mark.parametrize("name", LOSSES)
def test_other_attributes_of_a_table_of_series_play_no_part(name: str) -> None:
    before, after = days(), days() * 1.2
    ages = np.arange(60)
    one = make("loss", name).measure(wide(before), wide(after))
    both = make("loss", name).measure(wide(before, age=ages), wide(after, age=ages[::-1]))
    assert both.value == one.value
    assert both.attributes == one.attributes
    with pytest.raises(DataError, match=f"there is no series among the attributes for {name}"):
        make("loss", name).measure(wide(before, age=ages), wide(after, age=ages), ["age"])


@pytest.mark.parametrize("name", LOSSES)
def test_a_plain_table_is_one_series_when_asked_for_by_name(name: str) -> None:
    before, after = days(), days() + np.random.default_rng(4).normal(0, 0.3, (60, 24))
    plain = [Microdata.of({f"t{j}": m[:, j] for j in range(24)}) for m in (before, after)]
    assert make("loss", name).measure(*plain).value == measured(name, before, after).value


# --- parameters of the forecasts ------------------------------------------------------------------------------------


def test_models_and_horizons_can_be_chosen() -> None:
    before, after = days(), days() * 1.1
    one = measured("series-il3", before, after, models=("simple-smoothing",), horizons=(2,))
    assert set(one.details) == {"simple-smoothing"}
    assert one.value == pytest.approx(100 * (1 - 1 / 1.1))
    far = measured("series-il3", before, before + 1.0, horizons=(1, 12))
    assert far.value != measured("series-il3", before, before + 1.0, horizons=(1, 2)).value


@pytest.mark.parametrize("parameters", [{"horizons": (0,)}, {"horizons": (1001,)}, {"order": (1, 13, 1)}])
def test_impossible_horizons_and_orders_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"series-il3: {next(iter(parameters))} = .* is not allowed"):
        make("loss", "series-il3", parameters)


def test_a_series_that_runs_away_loses_no_more_than_everything() -> None:
    """Polynomial regression on previous values can leave every bound."""
    wild = np.array([[1.0, 3.0, -40.0, 900.0, -1e5, 1e8, -1e12, 1e17, 1e25]])
    found = measured("series-il3", wild, wild[:, ::-1], horizons=(1, 5, 50))
    assert 0 < found.value <= 100
    assert measured("series-il3", wild, wild, horizons=(1, 5, 50)).value == 0.0


def test_models_of_statsmodels() -> None:
    pytest.importorskip("statsmodels", reason='statsmodels is not installed: pip install "microveil[forecasts]"')
    before = days(3)
    assert measured("series-il3", before, before, models=("ets", "arima")).value == 0.0
    assert measured("series-il3", before, 2 * before, models=("ets", "arima")).value == pytest.approx(50.0, abs=2)


def test_without_statsmodels_its_models_are_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microveil.numerics.series.fitted_models.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r'arima needs the package statsmodels.*"microveil\[forecasts\]"'):
        measured("series-il3", days(3), days(3), models=("arima",))
