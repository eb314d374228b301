"""Which attacks an assessment and a battery run on tables of series, and that they run none of them on other tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from microveil.battery import explain_risk, run_battery
from microveil.comparison.pairs import Pair
from microveil.errors import GuaranteeError
from microveil.microdata import Microdata
from microveil.protection import check_required
from microveil.registry import find, method, names
from microveil.scoring import assess

OF_SERIES = tuple(name for name in names("attack") if find("attack", name).of_series)


def panel(records: int = 60, points: int = 12, **more: Any) -> Microdata:
    rng = np.random.default_rng(1)
    columns = {f"{name}{t:02d}": rng.gamma(2.0, 1.0, records) for name in "ab" for t in range(points)}
    return Microdata.of({**columns, **more}, series="wide,load=a*,price=b*")


def plain(data: Microdata) -> Microdata:
    return Microdata.of({name: data.arrow(name) for name in data.names})


def test_there_are_five() -> None:
    assert set(OF_SERIES) == {
        "series-linkage", "series-intervals", "fragment-linkage", "extremes-linkage", "period-linkage"
    }  # fmt: skip


def test_an_assessment_of_series_runs_them_and_both_published_distances() -> None:
    data = panel()
    found = assess(data, method("mdav", k=4).mask(data))
    assert set(OF_SERIES) <= {risk.name for risk in found.risks.values()}
    assert {"series-linkage", "series-linkage (distance=sts)", "series-linkage (distance=dtw)"} <= set(found.risks)
    assert {"distance-linkage", "interval-disclosure", "uniqueness"} <= set(found.risks)


def test_an_assessment_of_another_table_runs_none_of_them() -> None:
    data = plain(panel())
    release = method("mdav", k=4).mask(data)
    for found in (assess(data, release), assess(data, release, attacks="all")):
        assert not set(OF_SERIES) & {risk.name for risk in found.risks.values()}
    battery = run_battery(data, release)
    assert not set(OF_SERIES) & {label.split()[0] for label in (*battery.risks, *battery.passed_over)}


@pytest.mark.parametrize("name", OF_SERIES)
def test_on_another_table_they_run_when_they_are_named(name: str) -> None:
    data = plain(panel())
    assert name in assess(data, method("mdav", k=4).mask(data), attacks=[name]).risks
    assert find("attack", name).why_not(Pair.of(data, data)) == "the table is not one of series"


def test_a_battery_of_series_runs_them_in_all_forms_and_tells_what_each_variable_contributes() -> None:
    data = panel(30, 6)
    found = run_battery(data, method("noise", alpha=0.3).mask(data, seed=1))
    labels = set(found.risks)
    assert {"fragment-linkage (kind=scattered)", "extremes-linkage (extremes=both)"} <= labels
    assert {"period-linkage (distance=sts)", "series-linkage (distance=quantiles)"} <= labels
    assert set(found.contributions) <= {"load", "price"}
    assert found.contributions
    assert not found.failed


def test_many_series_are_not_warped_unasked() -> None:
    data = panel(4000, 24)
    cls = find("attack", "series-linkage")
    pair = Pair.of(data, data, data.names, known=data.names)
    assert [attack.distance for attack in cls.suited(pair)] == ["euclidean", "sts", "quantiles"]
    assert "too long" in cls.too_long(pair)[0][1]


def test_the_largest_risk_of_a_record_counts_links_of_series() -> None:
    data = panel()
    release = method("mdav", k=4).mask(data)
    check_required(data, release, {"risk": 0.25})
    # every series at another level and in another unit, which attacks on single attributes do not see through
    rng = np.random.default_rng(1)
    unit, level = rng.uniform(0.1, 9, 60), rng.normal(0, 50, 60)
    moved = {name: data.number_column(name, unit * data.numbers(name).values + level) for name in data.names}
    with pytest.raises(GuaranteeError, match="60 records have one of up to 1"):
        check_required(data, replace(release, data=data.with_columns(moved)), {"risk": 0.25})


@pytest.mark.parametrize("name", OF_SERIES)
def test_what_a_risk_means_is_explained_without_a_hundred_values(name: str) -> None:
    data = panel(40, 48)
    release = method("mdav", k=4).mask(data)
    risk = assess(data, release, attacks=[name]).risks[name]
    told = explain_risk(name, risk, data, release)
    assert "Formula:" in told
    assert "is assumed to know" in told
    assert told.count("released as") <= 12
