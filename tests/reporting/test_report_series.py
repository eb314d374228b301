"""Reports on tables of series."""

from __future__ import annotations

import numpy as np
import pytest

import microveil as mv
from microveil.comparison.pairs import Pair
from microveil.microdata import Microdata
from microveil.reporting.report_series import names_apart, released_series_pictures, series_pictures


def panel(series: int = 60, points: int = 12) -> Microdata:
    rng = np.random.default_rng(5)
    values = rng.uniform(50, 500, size=(series, 1)) + 10 * rng.normal(size=(series, points)).cumsum(axis=1)
    table = {
        "shop": np.repeat(np.arange(series), points),
        "month": np.tile(np.arange(points), series),
        "region": np.repeat(rng.integers(0, 3, size=series), points),
        "sales": values.ravel(),
    }
    return Microdata.of(table, series="id=shop,time=month,value=sales", nominal=["region"])


@pytest.fixture(scope="module")
def compared() -> Pair:
    data = panel()
    return Pair.of(data, mv.MDAV(k=5).mask(data, seed=1))


def test_a_variable_has_the_whole_file_its_autocorrelation_and_some_series(compared: Pair) -> None:
    ((name, whole, singles),) = series_pictures(compared)
    assert name == "sales"
    assert [picture.caption.split(":")[1][:20] for picture in whole] == [" median of all serie", " mean autocorrelatio"]
    assert len(singles) == 6
    assert all(picture.svg.count("<polyline") == 2 for picture in singles)


def test_the_internal_page_tells_of_series_by_their_name(compared: Pair) -> None:
    assert compared.release is not None
    page = mv.report(compared.original, compared.release)
    assert "Series: sales" in page
    assert "sales 3, sales 4" not in page
    assert "series of 12" in page
    assert "the intruder is assumed to know sales (" in page


def test_the_public_page_shows_no_original_and_no_single_series(compared: Pair) -> None:
    assert compared.release is not None
    page = mv.report(compared.original, compared.release, public=True)
    assert "median of the released series at each time" in page
    assert "original</text>" not in page
    assert "whose mean is above" not in page


def test_few_series_give_no_public_picture() -> None:
    data = panel(series=20)
    assert released_series_pictures(data, data.schema.panel.all_columns, 5) == []  # type: ignore[union-attr]


def test_long_series_are_drawn_without_marks() -> None:
    data = panel(series=10, points=300)
    pair = Pair.of(data, mv.MDAV(k=5).mask(data, seed=1))
    ((_, whole, _),) = series_pictures(pair)
    assert "<title>original:" not in whole[0].svg


def test_attributes_beside_the_series_are_told_one_by_one(compared: Pair) -> None:
    assert names_apart(compared.original, compared.original.names) == ("shop", "region")
    plain = Microdata.of({"a": [1, 2], "b": [3, 4]})
    assert names_apart(plain, plain.names) == ("a", "b")
    assert series_pictures(Pair.of(plain, plain)) == []
