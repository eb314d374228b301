"""The panel of meters has the shape it promises: size, times, habits, weather, gaps, and both forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import microveil as mv
from microveil.errors import MicroveilError
from microveil.microdata import Microdata
from microveil.microdata.datasets.metering_panel import DWELLINGS, HEATINGS, metering
from microveil.typing import FloatArray


@pytest.fixture(scope="module")
def day() -> Microdata:
    return metering(3000, seed=3)


def curves(data: Microdata, variable: str = "load") -> FloatArray:
    found = data.series_among(data.schema.panel.all_columns)  # type: ignore[union-attr]
    return next(one.values for one in found if one.name == variable)


def having(data: Microdata, name: str, value: str) -> Any:
    return np.array([cell == value for cell in data.arrow(name).to_pylist()])


@pytest.mark.parametrize(
    ("options", "shape", "first", "last"),
    [
        ({}, (50, 96), "load 00:00", "load 23:45"),
        ({"step": "hour"}, (50, 168), "load 2025-01-06 00:00", "load 2025-01-12 23:00"),
        ({"step": "quarter-hour", "periods": 2}, (50, 192), "load 2025-01-06 00:00", "load 2025-01-07 23:45"),
        ({"step": "month"}, (50, 24), "load 2025-01", "load 2026-12"),
    ],
)
def test_it_has_the_meters_and_the_times_asked_for(
    options: dict[str, Any], shape: tuple[int, int], first: str, last: str
) -> None:
    data = mv.datasets.metering(50, **options)
    assert curves(data).shape == shape
    columns = data.schema.panel.all_columns  # type: ignore[union-attr]
    assert (columns[0], columns[-1]) == (first, last)
    assert data.schema.keys == columns
    assert data.schema.confidential == ("persons", "arrears")


def test_the_same_seed_gives_the_same_panel_and_another_seed_another() -> None:
    one = metering(300, seed=5, gaps=0.1)
    assert one.digest() == metering(300, seed=5, gaps=0.1).digest()
    assert one.digest() != metering(300, seed=6, gaps=0.1).digest()


def test_long_panels_are_drawn_in_chunks_and_every_meter_has_a_number_of_its_own() -> None:
    data = metering(25_000, step="quarter-hour")  # more than one chunk
    assert len(data) == 25_000
    assert pc.count_distinct(data.arrow("meter")).as_py() == 25_000
    values = curves(data)
    assert len(np.unique(values[:, :4], axis=0)) > 24_900
    assert values[:20_000].mean() == pytest.approx(values[20_833:].mean(), rel=0.1)


def test_the_long_form_has_a_row_for_every_meter_and_time_and_reads_back(tmp_path: Path) -> None:
    long, wide = (metering(40, seed=2, step="hour", gaps=0.2, form=form) for form in ("long", "wide"))
    np.testing.assert_array_equal(curves(long), curves(wide))
    table = long.native
    assert table.num_rows == int((~np.isnan(curves(long))).sum())
    assert table.column_names[-2:] == ["time", "load"]
    mv.write(long, tmp_path / "meters.csv")
    again = mv.read(tmp_path / "meters.csv", series="id=meter,time=time,value=load")
    np.testing.assert_allclose(curves(again)[:, : curves(long).shape[1]], curves(long))
    mv.write(wide, tmp_path / "wide.csv")
    assert mv.read(tmp_path / "wide.csv", series="wide,id=meter,load=load *").schema.panel.all_columns == (  # type: ignore[union-attr]
        wide.schema.panel.all_columns  # type: ignore[union-attr]
    )


def test_two_variables_stand_beside_each_other() -> None:
    data = metering(500, variables=("load", "water"))
    load, water = curves(data), curves(data, "water")
    assert load.shape == water.shape == (500, 96)
    assert np.corrcoef(load.mean(axis=1), water.mean(axis=1))[0, 1] > 0.05


def test_values_are_positive_skewed_and_autocorrelated(day: Microdata) -> None:
    values = curves(day)
    assert values.min() > 0
    levels = values.mean(axis=1)
    assert levels.mean() > 1.3 * np.median(levels)
    rest = values - levels[:, None]
    assert ((rest[:, 1:] * rest[:, :-1]).sum(axis=1) / (rest**2).sum(axis=1)).mean() > 0.5


def test_households_peak_in_the_evening_and_shops_during_the_day(day: Microdata) -> None:
    values = curves(day)
    gas = having(day, "heating", "gas")
    home, shop = (values[having(day, "customer", who) & gas].mean(axis=0) for who in ("household", "shop"))
    hour = np.arange(96) / 4
    assert 17 <= hour[home.argmax()] <= 21
    assert shop[(hour >= 10) & (hour < 17)].mean() > 1.8 * shop[(hour >= 0) & (hour < 3)].mean()
    assert home[(hour >= 18) & (hour < 21)].mean() > 2 * home[(hour >= 2) & (hour < 5)].mean()


def test_weekends_differ_from_working_days() -> None:
    data = metering(2000, step="hour", seed=9)
    values = curves(data)[having(data, "customer", "household") & having(data, "heating", "gas")]
    working, weekend = values[:, : 5 * 24].reshape(-1, 5, 24), values[:, 5 * 24 :].reshape(-1, 2, 24)
    noon = [part[:, :, 10:16].mean() for part in (working, weekend)]
    assert noon[1] > 1.15 * noon[0]


def test_electric_heating_follows_the_weather_and_storage_heaters_the_night(day: Microdata) -> None:
    months = metering(3000, step="month", seed=4)
    values = curves(months)
    for heating, ratio in (("heat pump", 1.8), ("electric storage", 2.5)):
        rows = values[having(months, "heating", heating)].mean(axis=0)
        assert rows[0] > ratio * rows[6]
    gas = values[having(months, "heating", "gas")].mean(axis=0)
    assert 1.05 < gas[0] / gas[6] < 1.6
    stored = curves(day)[having(day, "heating", "electric storage")].mean(axis=0)
    assert stored[: 5 * 4].mean() > 3 * stored[10 * 4 : 16 * 4].mean()


def test_larger_households_use_more(day: Microdata) -> None:
    persons, levels = day.numbers("persons").values, curves(day).mean(axis=1)
    means = [levels[persons == number].mean() for number in (1, 2, 4)]
    assert means[0] < means[1] < means[2]
    assert (np.isnan(persons) == having(day, "customer", "shop")).all()


def test_static_attributes_are_in_their_domains(day: Microdata) -> None:
    assert set(day.arrow("dwelling").to_pylist()) == set(DWELLINGS)
    assert set(day.arrow("heating").to_pylist()) == set(HEATINGS)
    assert (having(day, "dwelling", "business premises") == having(day, "customer", "shop")).all()
    assert day.domain("region") == mv.datasets.survey(10).domain("region")


@pytest.mark.parametrize("gaps", [0.02, 0.1, 0.4])
def test_gaps_are_about_as_many_as_asked_for_in_runs_and_at_the_beginning(gaps: float) -> None:
    data = metering(2000, gaps=gaps)
    missing = np.isnan(curves(data))
    assert missing.mean() == pytest.approx(gaps, rel=0.35)
    after_gap = missing[:, 1:][missing[:, :-1]].mean()
    assert after_gap > 0.7
    assert not missing.all()
    assert (missing[:, 0] & missing[:, :10].all(axis=1)).any()  # installed late


def test_no_meters_are_an_empty_panel() -> None:
    assert len(metering(0)) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"meters": -1}, "meters must be a whole number from 0"),
        ({"meters": True}, "meters must be a whole number"),
        ({"periods": 0}, "periods must be a whole number from 1"),
        ({"gaps": 1.5}, "gaps must be a share from 0 to 0.9"),
        ({"step": "minute"}, "step.*minute"),
        ({"form": "deep"}, "form.*deep"),
        ({"variables": ("heat",)}, "variable.*heat"),
        ({"variables": ("load", "load")}, "each of them once"),
        ({"variables": ()}, "must name load or water"),
        ({"meters": 10_000_000, "step": "hour"}, "ask for fewer"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(MicroveilError, match=words) as refusal:
        metering(**options)
    assert "\n" not in str(refusal.value)


def test_meters_of_a_frame_library_can_be_masked_and_come_back_long() -> None:
    data = metering(60, step="month", form="long")
    release = mv.method("time-aggregation", window=3).mask(data, ["load"])
    assert isinstance(release.frame, pa.Table)
    assert release.frame.column_names == data.native.column_names
    assert release.frame.num_rows == 60 * 24
