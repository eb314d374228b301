"""Global-median k-anonymity: the middle of the domain between the lowest and the highest category of a region."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.losses.categorical.distance import DBIL
from microveil.masking.coarsening.global_median import GlobalMedian
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.microdata import Attribute, Microdata, Schema


def grades(values: list[int], domain: range = range(1, 11)) -> Microdata:
    attribute = Attribute(name="grade", kind="ordinal", roles=("key",), domain=tuple(domain))
    return Microdata.of({"grade": values}, Schema([attribute]))


@pytest.mark.spec("06:PC-07")
@pytest.mark.parametrize(
    ("values", "lower", "upper"), [([3, 7, 3], 5, 5), ([3, 8, 8], 5, 6), ([4, 4, 4], 4, 4), ([1, 2, 1], 1, 2)]
)
def test_the_middle_category_of_the_interval(values: list[int], lower: int, upper: int) -> None:
    assert set(GlobalMedian(k=3).mask(grades(values)).data.arrow("grade").to_pylist()) == {lower}
    assert set(GlobalMedian(k=3, even="upper").mask(grades(values)).data.arrow("grade").to_pylist()) == {upper}


@pytest.mark.spec("06:PC-07")
def test_the_point_of_the_figure() -> None:
    """Region X = [1, 2], Y = [C, D] publishes (1, C)."""
    x = Attribute(name="X", kind="ordinal", roles=("key",), domain=(1, 2, 3))
    y = Attribute(name="Y", kind="ordinal", roles=("key",), domain=("A", "B", "C", "D"))
    data = Microdata.of({"X": [1, 2], "Y": ["C", "D"]}, Schema([x, y]))
    released = GlobalMedian(k=2).mask(data).data
    assert set(zip(released.arrow("X").to_pylist(), released.arrow("Y").to_pylist(), strict=True)) == {(1, "C")}


@pytest.mark.spec("06:PC-07")
def test_the_published_category_may_be_one_that_nobody_has() -> None:
    a, b = (Attribute(name=n, kind="ordinal", roles=("key",), domain=tuple(range(5))) for n in "ab")
    schema = Schema([a, b])
    five = Microdata.of({"a": [0, 0, 1, 0, 1], "b": [0, 1, 0, 4, 4]}, schema)
    three = Microdata.of({"a": [4, 4, 3], "b": [4, 3, 4]}, schema)
    one, other = (GlobalMedian(k=3).mask(part) for part in (five, three))
    assert set(zip(*(one.data.arrow(n).to_pylist() for n in "ab"), strict=True)) == {(0, 2)}
    assert set(zip(*(other.data.arrow(n).to_pylist() for n in "ab"), strict=True)) == {(3, 3)}
    moved = [DBIL().measure(part, release).details["distance"] for part, release in ((five, one), (three, other))]
    assert sum(moved) == pytest.approx(5.2)
    half = DBIL(ordinal_distance="half-open")
    assert sum(half.measure(p, r).details["distance"] for p, r in ((five, one), (three, other))) == pytest.approx(3.0)


@pytest.mark.spec("06:PC-07")
@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 10), min_size=4, max_size=60), st.integers(2, 4))
def test_equal_records_are_masked_alike_and_k_share_every_value(values: list[int], k: int) -> None:
    release = GlobalMedian(k=k).mask(grades(values))
    published = release.data.arrow("grade").to_pylist()
    assert len(set(zip(values, published, strict=True))) == len(set(values))
    assert release.guarantees.k >= k


def test_it_has_the_regions_of_mondrian_and_numbers_publish_the_middle_of_their_interval() -> None:
    data = Microdata.of({"age": [20, 23, 24, 50, 58, 60]})
    release = GlobalMedian(k=3).mask(data)
    assert release.partition == Mondrian(k=3).mask(data).partition
    assert release.data.arrow("age").to_pylist() == [22.0] * 3 + [55.0] * 3


def test_nominal_attributes_and_other_ways_of_publishing_are_refused() -> None:
    with pytest.raises(DataError, match="'job' is nominal, but global-median works on numeric or ordinal"):
        GlobalMedian(k=2).mask(Microdata.of({"job": ["a", "b", "a"]}), ["job"])
    with pytest.raises(ParameterError, match="publish = 'mean' is not allowed"):
        GlobalMedian(publish="mean")  # type: ignore[arg-type]
