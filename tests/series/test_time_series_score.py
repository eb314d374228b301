"""The score of time series, and what an assessment of a table of series measures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from microveil.microdata import Microdata
from microveil.registry import find, make, usual_names
from microveil.scoring import score
from microveil.scoring.assessing import assess
from reproduction.price_indices import cells, group_means, indices

PRICES, MEANS = cells("6.1"), group_means()
SERIES_LOSSES = [name for name in usual_names("loss") if find("loss", name).of_series]
PLAIN_LOSSES = [name for name in usual_names("loss") if not find("loss", name).of_series]


def two_variables(seed: int = 1, records: int = 40, keys: list[str] | None = None, **more: Any) -> Microdata:
    rng = np.random.default_rng(seed)
    sales, visits = (10 + rng.normal(size=(records, 6)).cumsum(axis=1) for _ in range(2))
    columns = {f"{v}{j}": m[:, j] for v, m in (("s", sales), ("v", visits)) for j in range(6)}
    return Microdata.of(columns | more, keys=keys, series="wide,sales=s*,visits=v*")


def disturbed(data: Microdata, names: list[str]) -> Microdata:
    rng = np.random.default_rng(9)
    return data.with_columns(
        {n: data.number_column(n, data.numbers(n).values + rng.normal(size=len(data))) for n in names}
    )


# --- the example of four price indices ------------------------------------------------------------------------------


@pytest.mark.spec("04:TS-DR", "04:TS-SC", "04:TS-RL", "04:TS-ID")
@pytest.mark.parametrize("normalise", ["none", "series"])
@pytest.mark.parametrize(("basis", "loss", "value"), [("lag", 17.1648, 28.0963), ("time", 18.4865, 28.7571)])
def test_loss_risk_and_score_of_four_price_indices(basis: str, loss: float, value: float, normalise: str) -> None:
    found = score("time-series", basis=basis, normalise=normalise).assess(indices(PRICES), indices(MEANS))
    assert found.parts["euld"] == found.parts["stsld"] == 37.5
    assert found.parts["id"] == pytest.approx(40.5556, abs=5.0001e-5)
    assert found.score.loss == pytest.approx(loss, abs=5.0001e-5)
    assert found.score.risk == pytest.approx(39.0278, abs=5.0001e-5)
    assert found.score.value == pytest.approx(value, abs=5.0001e-5)


@pytest.mark.spec("04:TS-ID")
def test_the_intervals_of_four_price_indices() -> None:
    found = make("attack", "series-intervals").assess(indices(PRICES), indices(MEANS)).counters
    right = (5.5556, 16.6667, 27.7778, 38.8889, 38.8889, 38.8889, 44.4444, 55.5556, 66.6667, 72.2222)
    assert [found[f"p={p}"] for p in range(1, 11)] == pytest.approx(right, abs=5.0001e-5)


# --- what the rule measures ------------------------------------------------------------------------------------------


@pytest.mark.spec("04:TS-DR", "04:TS-SC")
def test_linkage_is_that_of_intruders_who_know_more_and_more_variables() -> None:
    before = two_variables()
    after = disturbed(before, list(before.names))
    found = score("time-series", normalise="global").assess(before, after)
    for symbol, distance in (("euld", "euclidean"), ("stsld", "sts")):
        attack = make("attack", "series-linkage", {"distance": distance, "normalise": "global"})
        first, both = (attack.assess(before, after, before.names[:count]).value for count in (6, 12))
        assert found.parts[symbol] == pytest.approx((first + both) / 2)
    assert found.parts["id"] == make("attack", "series-intervals").assess(before, after).value
    for symbol in ("il1", "il2", "il3"):
        assert found.parts[symbol] == make("loss", f"series-{symbol}").measure(before, after).value


def test_an_identical_release_loses_nothing_and_discloses_everything() -> None:
    data = two_variables()
    found = score("time-series").assess(data, data).score
    assert (found.loss, found.risk, found.value) == (0.0, 100.0, 50.0)


def test_an_intruder_who_knows_no_series_is_taken_to_know_those_compared() -> None:
    data = two_variables(keys=["age"], age=np.arange(40) % 7)
    found = score("time-series").assess(data, data, [name for name in data.names if name != "age"])
    assert found.parts["euld"] == 100.0


# --- what an assessment measures -------------------------------------------------------------------------------------


def test_the_losses_of_a_table_of_series_are_those_of_series() -> None:
    before = two_variables()
    found = assess(before, disturbed(before, list(before.names)))
    assert list(found.losses) == SERIES_LOSSES
    assert found.score.loss == found.losses["series-il"].value


def test_other_attributes_of_such_a_table_have_the_losses_of_theirs() -> None:
    """A series counts as one attribute: three of them, two of which are series."""
    before = two_variables(age=np.random.default_rng(2).integers(20, 60, 40))
    found = assess(before, disturbed(before, list(before.names)), list(before.names))
    assert set(SERIES_LOSSES) < set(found.losses)
    assert "il" in found.losses
    for name, loss in found.losses.items():
        assert ("age" in loss.attributes) != (name in SERIES_LOSSES)
        assert len(loss.attributes) == (12 if name in SERIES_LOSSES else 1)
    parts = 2 * found.losses["series-il"].value + found.losses["il"].value
    assert found.score.loss == pytest.approx(parts / 3)


def test_a_loss_asked_for_by_name_is_about_all_attributes() -> None:
    before = two_variables()
    after = disturbed(before, list(before.names))
    found = assess(before, after, losses=["il", "series-il2"])
    assert list(found.losses) == ["il", "series-il2"]
    assert found.losses["il"] == make("loss", "il").measure(before, after)
    assert found.score.loss == found.losses["il"].value


def test_a_formula_of_plain_tables_is_about_all_attributes_of_a_table_of_series_too() -> None:
    before = two_variables()
    after = disturbed(before, list(before.names))
    found = assess(before, after, score="classic", attacks=["distance-linkage"])
    assert found.losses["il"] == make("loss", "il").measure(before, after)
    assert set(found.losses) == {*SERIES_LOSSES, "il"}


def test_nothing_is_measured_twice_for_the_score_of_series() -> None:
    before = two_variables(age=np.arange(40))
    found = assess(before, disturbed(before, list(before.names)), list(before.names), score="time-series")
    assert [name for name in found.losses if name.startswith("series-il")] == [
        "series-il",
        "series-il1",
        "series-il2",
        "series-il3",
    ]


def test_series_released_as_labels_are_measured_by_the_width_of_the_labels() -> None:
    before = Microdata.of({f"t{j}": [1, 2, 3, 4, 5, 6, 7, 8] for j in range(4)}, series="wide")
    release = make("method", "mondrian", {"k": 4, "publish": "interval"}).mask(before, ["t0", "t1"])
    found = assess(before, release)
    assert "generalisation" in found.losses
    assert 0 < found.score.loss <= 100


def test_plain_tables_are_assessed_as_ever() -> None:
    before = two_variables()
    plain = Microdata.of({name: before.numbers(name).values for name in before.names})
    found = assess(plain, disturbed(plain, list(plain.names)))
    assert not set(SERIES_LOSSES) & set(found.losses)
    assert set(found.losses) <= set(PLAIN_LOSSES)
    assert found.score.loss == found.losses["il"].value
