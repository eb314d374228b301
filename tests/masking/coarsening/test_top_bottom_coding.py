"""Top and bottom coding of numbers and categories."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.errors import DataError, ParameterError
from microveil.losses import LossMeasure
from microveil.masking.coarsening.top_bottom_coding import BottomCode, TopCode
from microveil.microdata import Attribute, Microdata, Schema
from microveil.registry import loss

VALUES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 50.0, 60.0, 100.0]


def numbers(method: TopCode | BottomCode, values: list[float | None] = VALUES) -> list[float | None]:  # type: ignore[assignment]
    cells: list[float | None] = method.mask(Microdata.of({"x": values}, numeric=["x"])).data.arrow("x").to_pylist()
    return cells


def schools(*found: str | None, kind: str = "ordinal") -> Microdata:
    domain = ("none", "basic", "middle", "high")
    return Microdata.of({"s": list(found)}, Schema([Attribute(name="s", kind=kind, domain=domain)]))


@pytest.mark.spec("01:MK-9")
def test_values_beyond_a_threshold_become_it() -> None:
    assert numbers(TopCode(by="value", threshold=7)) == [*VALUES[:7], 7, 7, 7]
    assert numbers(BottomCode(by="value", threshold=3)) == [3, 3, *VALUES[2:]]


@pytest.mark.spec("01:MK-9")
def test_or_the_mean_or_median_of_what_is_coded() -> None:
    assert numbers(TopCode(by="value", threshold=7, code="mean")) == [*VALUES[:7], 70, 70, 70]
    assert numbers(TopCode(by="value", threshold=7, code="median")) == [*VALUES[:7], 60, 60, 60]
    assert numbers(BottomCode(by="value", threshold=4, code="mean")) == [2, 2, 2, *VALUES[3:]]


def test_the_mean_of_fewer_than_three_is_not_told() -> None:
    release = TopCode(by="value", threshold=50, code="mean").mask(Microdata.of({"x": VALUES}))
    assert release.data.arrow("x").to_pylist() == [*VALUES[:8], 50, 50]
    assert "would tell them" in release.provenance.notes[0]


@pytest.mark.spec("01:MK-9")
def test_the_usual_thresholds_are_the_outer_forty_thousandths() -> None:
    values = np.random.default_rng(1).normal(size=4000)
    data = Microdata.of({"x": values})
    top, bottom = TopCode().mask(data).data.numbers("x").values, BottomCode().mask(data).data.numbers("x").values
    assert top.max() == np.quantile(values, 0.975)
    assert bottom.min() == pytest.approx(np.quantile(values, 0.025), rel=1e-12)
    assert (top != values).sum() == (bottom != values).sum() == 100


@pytest.mark.spec("01:MK-9")
def test_at_least_k_records_are_coded_and_no_more_than_ties_make_it() -> None:
    assert numbers(TopCode(by="count", k=3)) == [*VALUES[:7], 7, 7, 7]
    assert numbers(BottomCode(by="count", k=2)) == [3, 3, *VALUES[2:]]
    tied = [1.0, 2.0, 9.0, 9.0, 9.0]
    assert numbers(TopCode(by="count", k=2), tied) == [1, 2, 2, 2, 2]


@pytest.mark.spec("05:PM-11")
def test_categories_at_the_end_become_one_of_themselves() -> None:
    data = schools("none", "basic", "middle", "high", "high")
    assert TopCode(p=2).mask(data).data.arrow("s").to_pylist() == ["none", "basic", "high", "high", "high"]
    assert BottomCode(p=3).mask(data).data.arrow("s").to_pylist() == ["basic"] * 3 + ["high"] * 2
    nominal = schools("none", "basic", "none", "high", kind="nominal")
    assert BottomCode(p=2).mask(nominal).data.arrow("s").to_pylist() == ["none", "none", "none", "high"]


@pytest.mark.spec("05:PM-11")
def test_the_source_calls_the_other_end_top() -> None:
    data = schools("none", "basic", "middle", "high")
    source = TopCode(p=2, naming="source").mask(data).data
    assert source.digest() == BottomCode(p=2).mask(data).data.digest()
    assert BottomCode(p=2, naming="source").mask(data).data.digest() == TopCode(p=2).mask(data).data.digest()
    assert numbers(TopCode(by="value", threshold=3, naming="source")) == [3, 3, *VALUES[2:]]


@pytest.mark.spec("05:PM-11")
@pytest.mark.parametrize("p", [0, 1])
def test_fewer_than_two_categories_change_nothing(p: int) -> None:
    data = schools("none", "basic", "middle", "high")
    for method in (TopCode(p=p), BottomCode(p=p)):
        assert method.mask(data).data.digest() == data.digest()


@pytest.mark.spec("05:PM-11")
@pytest.mark.parametrize("p", [4, 9])
def test_all_categories_make_a_constant(p: int) -> None:
    data = schools("none", "basic", "middle", "high", "basic")
    for method in (TopCode(p=p), BottomCode(p=p)):
        assert set(method.mask(data).data.arrow("s").to_pylist()) == {"basic"}


@pytest.mark.spec("05:PM-11")
def test_a_coded_release_is_measurable() -> None:
    data = schools("none", "basic", "middle", "high", "high")
    measure: LossMeasure = loss("dbil")
    assert measure.measure(data, TopCode(p=2).mask(data)).value > 0
    assert TopCode(p=2).mask(data).data["s"].value_labels == {"high": "middle, high"}


def test_labels_name_what_they_replace() -> None:
    release = BottomCode(p=3, publish="label").mask(schools("none", "basic", None, "high"))
    assert release.data.arrow("s").to_pylist() == ["none to middle", "none to middle", None, "high"]
    assert release.data["s"].domain == ("none to middle", "high")
    assert release.data["s"].kind == "ordinal"


def test_missing_cells_are_neither_coded_nor_counted() -> None:
    assert numbers(TopCode(by="count", k=1), [1.0, None, 3.0]) == [1, None, 1]
    schema = Schema([Attribute(name="x", kind="numeric", missing_codes=(999,))])
    release = TopCode(by="value", threshold=5).mask(Microdata.of({"x": [1, 7, 999]}, schema))
    assert release.data.arrow("x").to_pylist() == [1, 5, 999]


def test_what_has_no_ends_is_refused() -> None:
    with pytest.raises(DataError, match="no declared order"):
        TopCode().mask(Microdata.of({"town": ["Graz", "Linz"]}))
    with pytest.raises(DataError, match="2 values, but top-code is to code at least 5"):
        TopCode(by="count", k=5).mask(Microdata.of({"x": [1, 2]}))
    with pytest.raises(DataError, match="no value below"):
        TopCode(by="count", k=2).mask(Microdata.of({"x": [3, 3, 3]}))
    with pytest.raises(ParameterError, match="threshold must be given"):
        TopCode(by="value")
