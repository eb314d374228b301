"""Global recoding: by hierarchy, intervals, frequency or map, and by itself until no combination is rare."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError, SchemaError
from microveil.losses import LossMeasure
from microveil.masking import Plan
from microveil.masking.coarsening.recode import Recode, rare_groups
from microveil.masking.coarsening.suppress import Suppress
from microveil.masking.guarantees import guarantees_of
from microveil.microdata import Attribute, Hierarchy, Microdata, Schema
from microveil.microdata.datasets.sample_survey import survey
from microveil.microdata.hierarchies import equal_width, tree
from microveil.protection import protect
from microveil.registry import loss

TOWNS = ["Graz", "Linz", "Linz", "Wels", "Bonn"]
PLACES = tree({"Austria": {"South": ["Graz"], "North": ["Linz", "Wels"]}, "Germany": {"Rhine": ["Bonn"]}})


def towns(*found: str | None, kind: str = "nominal", **more: object) -> Microdata:
    attribute = Attribute(name="t", kind=kind, domain=("Graz", "Linz", "Wels", "Bonn"), hierarchy=PLACES, **more)
    return Microdata.of({"t": list(found or TOWNS)}, Schema([attribute]))


def values(data: Microdata, method: Recode, name: str) -> list[object]:
    cells: list[object] = method.mask(data).data.arrow(name).to_pylist()
    return cells


@pytest.mark.spec("01:MK-8")
def test_a_level_of_the_hierarchy_is_published_as_label_or_by_its_most_frequent_category() -> None:
    labels = values(towns(), Recode(by="hierarchy", level=1, publish="label"), "t")
    assert labels == ["South", "North", "North", "North", "Rhine"]
    assert values(towns(), Recode(by="hierarchy", level=1), "t") == ["Graz", "Linz", "Linz", "Linz", "Bonn"]
    assert values(towns(), Recode(by="hierarchy", level=2), "t") == ["Linz"] * 4 + ["Bonn"]
    assert values(towns(), Recode(by="hierarchy", level=0), "t") == TOWNS


@pytest.mark.spec("05:PM-10")
def test_an_ordered_group_is_represented_by_its_median_category() -> None:
    data = towns("Graz", "Graz", "Linz", "Wels", "Bonn", kind="ordinal")
    assert values(data, Recode(by="hierarchy", level=2), "t") == ["Graz"] * 4 + ["Bonn"]
    data = towns("Graz", "Linz", "Wels", "Wels", "Wels", kind="ordinal")
    assert values(data, Recode(by="hierarchy", level=2), "t") == ["Wels"] * 5


@pytest.mark.spec("05:PM-10")
def test_the_least_frequent_categories_become_one_the_later_first_among_equals() -> None:
    data = Microdata.of({"c": ["a"] * 3 + ["b"] + ["c"] * 2 + ["d"]})
    assert values(data, Recode(by="rare", p=2, publish="label"), "c") == ["a"] * 3 + ["b, d"] + ["c"] * 2 + ["b, d"]
    assert rare_groups(np.array([4, 2, 2, 2]), 2).tolist() == [0, 1, 2, 2]
    assert rare_groups(np.array([1, 1, 1]), 9).tolist() == [0, 0, 0]
    assert rare_groups(np.array([], dtype=np.int64), 2).tolist() == []


@pytest.mark.spec("05:PM-10")
@pytest.mark.parametrize("p", [0, 1])
def test_fewer_than_two_categories_change_nothing(p: int) -> None:
    data = Microdata.of({"c": ["a", "b", "b"]})
    assert Recode(by="rare", p=p).mask(data).data.digest() == data.digest()


@pytest.mark.spec("05:PM-10", "01:MK-8")
@settings(max_examples=40, deadline=None)
@given(codes=st.lists(st.integers(0, 6), min_size=1, max_size=40), p=st.integers(2, 8), ordinal=st.booleans())
def test_the_domain_shrinks_and_all_records_are_treated_alike(codes: list[int], p: int, ordinal: bool) -> None:
    data = Microdata.of({"c": [f"c{code}" for code in codes]}, ordinal=["c"] if ordinal else None)
    after = values(data, Recode(by="rare", p=p), "c")
    before = data.arrow("c").to_pylist()
    assert len(set(zip(before, after, strict=True))) == len(set(before))
    assert len(set(after)) == max(1, len(set(before)) - p + 1)
    assert set(after) <= set(before)


@pytest.mark.spec("05:PM-10")
def test_a_recoded_release_is_measurable_and_keeps_its_labels_beside_it() -> None:
    release = Recode(by="hierarchy", level=1).mask(towns())
    measure: LossMeasure = loss("dbil")
    assert measure.measure(towns(), release).value == pytest.approx(100 / 5)
    assert release.data["t"].value_labels == {"Graz": "South", "Linz": "North", "Bonn": "Rhine"}


@pytest.mark.spec("01:MK-8")
def test_a_map_of_the_user_is_followed_and_the_rest_stays() -> None:
    method = Recode(by="map", map={"Upper Austria": ["Linz", "Wels"]}, publish="label")
    assert values(towns(), method, "t") == ["Graz", *["Upper Austria"] * 3, "Bonn"]
    release = method.mask(towns(), seed=1)
    again = protect(towns(), Plan.from_plain(release.plan.to_plain()))
    assert again.data.digest() == release.data.digest()
    assert release.data["t"].domain == ("Graz", "Upper Austria", "Bonn")
    with pytest.raises(DataError, match="no category 'Rome'"):
        Recode(by="map", map={"x": ["Rome"]}).mask(towns())
    with pytest.raises(ParameterError, match="'Graz' twice"):
        Recode(by="map", map={"x": ["Graz"], "y": ["Graz"]}).mask(towns())


@pytest.mark.spec("01:MK-8")
def test_numbers_become_intervals_of_equal_width_or_frequency_or_at_cuts() -> None:
    data = Microdata.of({"x": [0.0, 1.0, 2.0, 3.0, 10.0]})
    assert values(data, Recode(by="width", groups=2), "x") == [1.5] * 4 + [10.0]
    assert values(data, Recode(by="width", width=2.0), "x") == [0.5, 0.5, 2.5, 2.5, 10.0]
    assert values(data, Recode(by="frequency", groups=2), "x") == [0.5, 0.5, 5.0, 5.0, 5.0]
    assert values(data, Recode(by="cuts", cuts=(1, 3)), "x") == [0.0, 1.5, 1.5, 6.5, 6.5]
    assert values(data, Recode(by="cuts", cuts=2.0, publish="label"), "x") == ["< 2"] * 2 + [">= 2"] * 3


@pytest.mark.parametrize("by", ["automatic", "frequency"])
def test_one_group_of_numbers_is_their_mean(by: str) -> None:
    data = Microdata.of({"x": [0.0, 1.0, 5.0]})
    assert values(data, Recode(by=by, k=2, groups=1), "x") == [2.0] * 3


def test_only_an_attribute_whose_values_are_all_equal_is_a_single_interval() -> None:
    for cells in ([1.0, 1.0, 9.0], [1.0, 9.0, 9.0]):
        assert values(Microdata.of({"x": cells}), Recode(by="width", groups=2), "x") == cells
    assert values(Microdata.of({"x": [7.0, 7.0]}), Recode(by="width", groups=2, publish="label"), "x") == ["*"] * 2


def test_intervals_of_equal_width_do_not_depend_on_where_zero_is() -> None:
    spread = np.array([0.0, 1.0, 2.0, 3.0, 10.0])
    for moved_by in (10.0, -4.0, -30.0):
        found = values(Microdata.of({"x": spread + moved_by}), Recode(by="width", groups=2), "x")
        assert np.array(found) - moved_by == pytest.approx([1.5] * 4 + [10.0])


@pytest.mark.spec("01:MK-8")
def test_an_interval_is_represented_by_mean_median_or_midpoint() -> None:
    data = Microdata.of({"x": [1.0, 2.0, 6.0, 10.0, 12.0, 19.0]})
    assert values(data, Recode(by="cuts", cuts=(10, 20)), "x")[0] == 3.0
    assert values(data, Recode(by="cuts", cuts=(10, 20), centre="median"), "x")[0] == 2.0
    assert values(data, Recode(by="cuts", cuts=(10, 20), centre="midpoint"), "x") == [5.5] * 3 + [15.0] * 3


def test_the_median_of_an_even_number_of_values_lies_halfway_between_the_two_in_the_middle() -> None:
    data = Microdata.of({"x": [9.0, 1.0, 2.0, 6.0, 12.0, 19.0, 13.0]})
    median = values(data, Recode(by="cuts", cuts=(10, 20), centre="median"), "x")
    assert median == [4.0] * 4 + [13.0] * 3


def test_labels_turn_numbers_into_ordered_categories_with_their_missing_codes() -> None:
    schema = Schema([Attribute(name="x", kind="numeric", missing_codes=(-9,), missing_ranges=((900.0, 999.0),))])
    data = Microdata.of({"x": [5, 25, -9, None, 901]}, schema)
    release = Recode(by="cuts", cuts=(20,), publish="label").mask(data)
    assert release.data.arrow("x").to_pylist() == ["< 20", ">= 20", "-9", None, "901"]
    described = release.data["x"]
    assert (described.kind, described.domain, described.missing_codes) == ("ordinal", ("< 20", ">= 20"), ("-9", "901"))
    assert (release.data.missing_states("x") > 0).tolist() == [False, False, True, True, True]


def test_value_labels_stay_with_the_codes_that_are_still_there() -> None:
    named = {-9: "refused", 5: "five", 25: "twenty-five"}
    schema = Schema([Attribute(name="x", kind="numeric", missing_codes=(-9,), value_labels=named)])
    release = Recode(by="cuts", cuts=(20,), publish="label").mask(Microdata.of({"x": [5, 25, -9]}, schema))
    assert release.data["x"].value_labels == {"-9": "refused"}


@pytest.mark.spec("01:MK-8")
def test_numbers_are_recoded_by_their_hierarchy_too() -> None:
    ages = [3, 17, 18, 41]
    intervals = Attribute(name="age", kind="numeric", hierarchy=equal_width(0, 60, [10, 20]))
    data = Microdata.of({"age": ages}, Schema([intervals]))
    assert values(data, Recode(by="hierarchy", level=2, publish="label"), "age") == ["< 20"] * 3 + [">= 40"]
    listed = intervals.changed(hierarchy=Hierarchy.of([(a, "young" if a < 18 else "old") for a in ages]))
    data = Microdata.of({"age": ages}, Schema([listed]))
    assert values(data, Recode(by="hierarchy", publish="label"), "age") == ["young", "young", "old", "old"]
    assert values(data, Recode(by="hierarchy", level=0), "age") == ages
    assert values(data, Recode(by="hierarchy", level=0, publish="label"), "age") == [str(age) for age in ages]
    with pytest.raises(DataError, match=r"1 value that its hierarchy has no place for \(the first in record 2\)"):
        Recode(by="hierarchy").mask(Microdata.of({"age": [3, 4]}, Schema([listed])))


@pytest.mark.spec("01:MK-8", "05:PM-12")
@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 40)), min_size=6, max_size=60),
    k=st.integers(2, 5),
)
def test_by_itself_it_merges_until_every_combination_has_k_records(rows: list[tuple[int, ...]], k: int) -> None:
    a, b, c = zip(*rows, strict=True)
    data = Microdata.of({"a": [f"a{v}" for v in a], "b": [f"b{v}" for v in b], "c": list(c)}, ordinal=["b"])
    release = Recode(k=k).mask(data, ["a", "b", "c"])
    assert release.guarantees.k >= k


def test_what_is_safe_already_is_not_merged() -> None:
    data = Microdata.of({"a": ["x"] * 5 + ["y"] * 5 + ["z"] * 5, "b": ["u"] * 15})
    assert Recode(k=5).mask(data).data.digest() == data.digest()


def test_only_neighbours_of_ordered_categories_merge_and_the_rarest_of_others() -> None:
    cells = ["a"] * 9 + ["b"] + ["c"] * 6 + ["d"] * 2
    ordered = Recode(k=2, publish="label").mask(Microdata.of({"x": cells}, ordinal={"x": list("abcd")}))
    assert ordered.data["x"].domain == ("a", "b, c", "d")
    nominal = Recode(k=2, publish="label").mask(Microdata.of({"x": cells}))
    assert nominal.data["x"].domain == ("a", "b, d", "c")


def test_whole_branches_of_a_hierarchy_merge_under_their_name() -> None:
    found = ["Graz"] * 3 + ["Linz"] + ["Wels"] * 2 + ["Bonn"] * 5
    release = Recode(k=3, publish="label").mask(towns(*found))
    assert release.data["t"].domain == ("Graz", "North", "Bonn")
    both = Recode(k=4, publish="label").mask(towns(*found))
    assert both.data["t"].domain == ("Austria", "Bonn")


def test_intervals_of_a_hierarchy_merge_as_it_says() -> None:
    attribute = Attribute(name="age", kind="numeric", hierarchy=equal_width(0, 40, [10, 20]))
    data = Microdata.of({"age": [1, 11, 12, 13, 14, 22, 23, 33, 34]}, Schema([attribute]))
    release = Recode(k=2, publish="label").mask(data)
    assert release.data["age"].domain == ("< 20", "[20, 30)", ">= 30")


def test_numbers_listed_in_a_hierarchy_merge_by_its_branches() -> None:
    branches = {3: "child", 9: "child", 17: "teen", 41: "adult", 70: "aged"}
    rows = [(age, branch, "young" if age < 18 else "old") for age, branch in branches.items()]
    attribute = Attribute(name="age", kind="numeric", hierarchy=Hierarchy.of(rows))
    data = Microdata.of({"age": [3, 9, 17, 17, 41, 41, 70, 70]}, Schema([attribute]))
    release = Recode(k=2, publish="label").mask(data)
    assert release.data["age"].domain == ("child", "17", "41", "70")


def test_some_records_can_be_left_for_suppression() -> None:
    people = survey(300)
    keys = ["region", "age", "sex", "education"]
    release = Recode(k=3, leave=0.1).mask(people, keys)
    left = guarantees_of(release.data, keys).below(3)
    assert 0 < left <= 30
    assert f"{left} records left below k = 3" in release.provenance.notes[0]
    assert guarantees_of(Suppress(k=3).mask(release, keys).data, keys).k >= 3


def test_missing_cells_alone_can_make_k_impossible() -> None:
    data = Microdata.of({"a": ["x"] * 9 + [None]})
    with pytest.raises(DataError, match="1 record share their pattern of missing values"):
        Recode(k=2).mask(data)
    wild = data.with_schema(data.schema.replacing(data["a"].changed(missing="wildcard")))
    assert Recode(k=2).mask(wild).data.digest() == data.digest()


def test_columns_of_whole_numbers_can_be_categories() -> None:
    data = Microdata.of(pa.table({"c": [1, 1, 2, 3]}), nominal=["c"])
    assert values(data, Recode(by="rare", p=2, publish="label"), "c") == ["1", "1", "2, 3", "2, 3"]
    assert values(data, Recode(by="rare", p=2), "c") == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("method", "says"),
    [
        (Recode(by="width"), "'t' is nominal, but recoding by width is for numbers only"),
        (Recode(by="cuts", cuts=(1,)), "recoding by cuts is for numbers only"),
        (Recode(k=9), "5 records, but recode with k = 9"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(method: Recode, says: str) -> None:
    with pytest.raises(DataError, match=says):
        method.mask(towns())


def test_more_that_is_refused() -> None:
    with pytest.raises(SchemaError, match="level 5 does not exist"):
        Recode(by="hierarchy", level=5).mask(towns())
    with pytest.raises(DataError, match="'x' has no hierarchy"):
        Recode(by="hierarchy").mask(Microdata.of({"x": [1, 2]}))
    with pytest.raises(DataError, match="recoding by rare is for categories only"):
        Recode(by="rare").mask(Microdata.of({"x": [1, 2]}))
    with pytest.raises(ParameterError, match="cuts must be given"):
        Recode(by="cuts")
    with pytest.raises(ParameterError, match="cuts must ascend"):
        Recode(by="cuts", cuts=(2, 1))
    for width in (1e-9, 1e-320):
        with pytest.raises(ParameterError, match="would make more than 100,000 intervals; choose a larger one"):
            Recode(by="width", width=width).mask(Microdata.of({"x": [1.0, 2.0, 3.5]}))
    with pytest.raises(ParameterError, match="recode: groups = 1000000 is not allowed"):
        Recode(by="width", groups=1_000_000)
    with pytest.raises(ParameterError, match="map must be given"):
        Recode(by="map")


def test_a_category_without_a_place_in_the_hierarchy_is_refused() -> None:
    undeclared = Attribute(name="t", kind="nominal", hierarchy=PLACES)
    with pytest.raises(DataError, match=r"1 value that its hierarchy has no place for \(the first in record 2\)"):
        Recode(by="hierarchy").mask(Microdata.of({"t": ["Graz", "Rome"]}, Schema([undeclared])))
