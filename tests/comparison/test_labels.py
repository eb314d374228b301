"""Linkage to releases whose cells stand for several values: intervals, sets, nodes of a hierarchy."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.attacks.linkage import comparison
from microveil.attacks.linkage.base import Linkage, unit_of
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.linkage.probabilistic import ProbabilisticLinkage
from microveil.comparison.labels import labels_of
from microveil.comparison.pairs import Pair
from microveil.comparison.written_numbers import number_of, region_of
from microveil.errors import ParameterError
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.coarsening.recode import Recode
from microveil.microdata import Hierarchy, Microdata
from microveil.microdata.distances import Regions
from microveil.numerics.neighbours.mixed_distance import Table

LINKAGES = [DistanceLinkage(), ProbabilisticLinkage()]


def people() -> Microdata:
    return Microdata.of({"age": [20, 22, 30, 41, 43], "job": ["cook", "cook", "nurse", "clerk", "nurse"]})


def released(ages: list[str | None], jobs: list[str | None]) -> Microdata:
    return Microdata.of({"age": ages, "job": jobs}, nominal=["age", "job"])


@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
def test_a_record_is_hidden_among_those_of_its_class(attack: Linkage) -> None:
    release = released(["[20, 30]"] * 3 + ["[41, 43]"] * 2, ["{cook, nurse}"] * 3 + ["{clerk, nurse}"] * 2)
    risk = attack.assess(people(), release, ["age", "job"])
    assert risk.per_record.tolist() == pytest.approx([1 / 3] * 3 + [1 / 2] * 2)


def test_a_value_outside_is_as_far_as_from_the_nearest_end() -> None:
    """Age 35 is 5 from [20, 30] and 6 from [41, 43]; 36 is 6 and 5. A nurse is in both sets, a clerk in the second."""
    release = released(["[20, 30]", "[41, 43]"], ["{cook, nurse}", "{clerk, nurse}"])
    attack = DistanceLinkage(metric="manhattan", standardisation="none")
    for age, job, right in ((35, "nurse", 1.0), (36, "nurse", 0.0), (35, "clerk", 0.5), (35, "cook", 1.0)):
        known = Microdata.of({"age": [age, 99], "job": [job, "nurse"]})
        schema = known.schema.replacing(known["job"].changed(domain=("cook", "nurse", "clerk")))
        assert attack.assess(known.with_schema(schema), release, ["age", "job"]).per_record[0] == right


@pytest.mark.parametrize(
    ("how", "unit"), [("none", 1.0), ("minmax", 4.0), ("joint", (8 / 3) ** 0.5), ("separate", (8 / 3) ** 0.5)]
)
def test_numbers_beside_labels_are_in_units_of_their_range_or_deviation(how: Any, unit: float) -> None:
    assert unit_of(np.array([1.0, 3.0, np.nan, 5.0]), how) == pytest.approx(unit)
    assert unit_of(np.array([3.0, 3.0]), how) == 1.0
    assert unit_of(np.full(2, np.nan), how) == 1.0


def test_distances_to_intervals_are_in_the_units_of_the_attribute() -> None:
    """Two attributes whose numbers differ only in their unit count the same after standardising."""
    known = Microdata.of({"a": [0.0, 10.0, 20.0, 30.0], "b": [0.0, 1000.0, 2000.0, 3000.0]})
    release = Microdata.of({"a": ["[0, 10]", "[0, 10]", "[4, 5]", "[29, 40]"], "b": ["[2000, 3000]"] * 4})
    for metric in ("euclidean", "manhattan", "gower"):
        for scale in ("separate", "joint", "minmax"):
            attack = DistanceLinkage(metric=metric, standardisation=scale)  # type: ignore[arg-type]
            # 10 is inside the first two, 5 from the third and 19 from the fourth, for all of which b adds the same
            assert attack.assess(known, release, ["a", "b"]).per_record.tolist() == [0.5, 0.5, 0.0, 1.0]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "gower"])
def test_a_hair_outside_is_outside(metric: str) -> None:
    known = Microdata.of({"pay": [0, 1, 1_000_000]})
    release = Microdata.of({"pay": ["[0, 0.5]", "[0.8, 1]", "[1000000, 1000000]"]})
    attack = DistanceLinkage(metric=metric)  # type: ignore[arg-type]
    assert attack.assess(known, release, ["pay"]).per_record.tolist() == [1, 1, 1]


@pytest.mark.parametrize("publish", ["interval", "set"])
@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 6))
def test_no_record_of_a_k_anonymous_release_is_linked_with_more_than_one_in_k(
    attack: Linkage, publish: str, seed: int, k: int
) -> None:
    """All values lie in their class, so that all records of the class are nearest."""
    data = mixed(60, seed)
    release = Mondrian(k=k, publish=publish).mask(data, data.names)  # type: ignore[arg-type]
    risk = attack.assess(data, release)
    assert risk.known == data.names
    assert risk.counters["optimistic"] == pytest.approx(100)
    assert 0 < risk.value <= 100 / k + 1e-9
    assert risk.per_record.max() <= 1 / k + 1e-12


def mixed(n: int, seed: int) -> Microdata:
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(18, 90, n),
        "pay": rng.normal(size=n).round(2),
        "job": rng.choice(["cook", "nurse", "clerk", "smith, tin"], n),
        "grade": rng.choice(["low", "mid", "high"], n),
    }
    data = Microdata.of(columns, nominal=["job"], ordinal=["grade"])
    return data.with_schema(data.schema.replacing(data["grade"].changed(domain=("low", "mid", "high"))))


@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
def test_neither_the_order_nor_the_provenance_decides(attack: Linkage) -> None:
    data = mixed(80, 3)
    release = Mondrian(k=3, publish="set").mask(data, data.names)
    order = np.random.default_rng(5).permutation(80)
    risk = attack.assess(data, release)
    other = attack.assess(data.take(order), release.data.take(order), data.names)
    assert other.per_record == pytest.approx(risk.per_record[order])


def test_records_of_a_recoded_file_are_hidden_among_those_with_the_same_labels() -> None:
    data = mixed(100, 7)
    release = Recode(by="frequency", groups=4, publish="label").mask(data, ["age", "pay"])
    release = Recode(by="map", map={"hands": ["cook", "smith, tin"]}, publish="label").mask(release, ["job"])
    for attack in LINKAGES:
        risk = attack.assess(data, release)
        labels = list(zip(*(release.frame[name].to_pylist() for name in ("age", "pay", "job")), strict=True))
        assert risk.per_record.tolist() == pytest.approx([1 / labels.count(one) for one in labels])


# --- how labels are read ----------------------------------------------------------------------------------------------


def regions(known: Microdata, name: str, texts: list[str | None]) -> list[list[list[float]]]:
    """What each of these labels, one for each record, is read as."""
    found = labels_of(Pair.of(known, Microdata.of({name: texts}, nominal=[name]), [name]), name)
    assert found is not None
    return [found.regions.segments[code].tolist() for code in found.codes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("25", [[25, 25]]),
        ("[20, 35]", [[20, 35]]),
        ("[-5.5, 1e3]", [[-5.5, 1000]]),
        ("[30, 60)", [[30, 60]]),
        ("(31,60]", [[31, 60]]),
        ("[30, 60[", [[30, 60]]),
        ("]30; 60]", [[30, 60]]),
        ("(-inf, 45]", [[-np.inf, 45]]),
        ("[45, Inf)", [[45, np.inf]]),
        ("< 60", [[-np.inf, 60]]),
        ("<60", [[-np.inf, 60]]),
        ("≤ 60", [[-np.inf, 60]]),
        ("<= 60", [[-np.inf, 60]]),
        (">= 60", [[60, np.inf]]),
        ("> 45", [[45, np.inf]]),
        ("30+", [[30, np.inf]]),
        ("20-29", [[20, 29]]),
        ("20 - 29", [[20, 29]]),
        ("20–29", [[20, 29]]),
        ("-5-0", [[-5, 0]]),
        ("-5--1", [[-5, -1]]),
        ("-5 to 0", [[-5, 0]]),
        ("−5 – 0", [[-5, 0]]),
        ("1e-3-2", [[0.001, 2]]),
        ("29-20", [[-np.inf, np.inf]]),  # turned round, so not read
        ("1_0", [[-np.inf, np.inf]]),
        ("{20, 60}", [[20, 20], [60, 60]]),
        ("20, 45", [[20, 20], [45, 45]]),
        ("20 to 45", [[20, 45]]),
        ("*", [[-np.inf, np.inf]]),
        ("young", [[-np.inf, np.inf]]),  # of a single record, so that it tells nothing
    ],
)
def test_labels_of_numbers(text: str, expected: list[list[float]]) -> None:
    known = Microdata.of({"age": [20, 30, 45, 60]})
    assert regions(known, "age", [text, "30", "45", "60"])[0] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{low, high}", [[0, 0], [2, 2]]),
        ("[low, mid]", [[0, 1]]),
        ("low to high", [[0, 2]]),
        ("mid, high", [[1, 2]]),
        ("*", [[0, 3]]),
        ("{mid, very, very high}", [[1, 1], [3, 3]]),
        ("low-high", [[0, 2]]),
        ("low – mid", [[0, 1]]),
        ("not small", [[-np.inf, np.inf]]),  # of a single record, so that it tells nothing
    ],
)
def test_labels_of_ordered_categories(text: str, expected: list[list[float]]) -> None:
    domain = ("low", "mid", "high", "very, very high")
    known = Microdata.of({"size": ["mid", "low", "high", "very, very high"]}, ordinal={"size": domain})
    assert regions(known, "size", [text, "low", "high", "mid"])[0] == expected


@pytest.mark.parametrize(("text", "expected"), [("[20,40)", [[0, 1]]), ("30+", [[1, 2]]), ("20-30", [[0, 1]])])
def test_ordered_categories_that_are_numbers_are_read_like_numbers(text: str, expected: list[list[float]]) -> None:
    known = Microdata.of({"age": ["20", "30", "40"]}, ordinal=["age"])
    assert regions(known, "age", [text, "30", "40"])[0] == expected


FORMS = {
    "[{0}, {1}]": (True, True), "[{0},{1})": (True, False), "({0}, {1}]": (False, True), "]{0};{1}[": (False, False),
    "{0}-{1}": (True, True), "{0} – {1}": (True, True), "{0} to {1}": (True, True),
}  # fmt: skip
ENDS = st.integers(-200, 200) | st.floats(-1e6, 1e6, allow_nan=False)


@settings(max_examples=200, deadline=None)
@given(form=st.sampled_from(sorted(FORMS)), ends=st.tuples(ENDS, ENDS).map(sorted), value=ENDS)
def test_what_is_written_is_read_again(form: str, ends: list[float], value: float) -> None:
    (low, high), (from_low, to_high) = ends, FORMS[form]
    region = region_of(form.format(low, high))
    assert region is not None
    assert region.segments == ((low, high),)
    for number in (low, high, value):
        inside = (low <= number if from_low else low < number) and (number <= high if to_high else number < high)
        assert (number in region) == inside


@settings(max_examples=50, deadline=None)
@given(end=ENDS, value=ENDS)
def test_numbers_up_to_one_or_from_one_on_are_read_again(end: float, value: float) -> None:
    truths = {"<{}": value < end, "<= {}": value <= end, ">{}": value > end, "≥ {}": value >= end, "{}+": value >= end}
    for form, truth in truths.items():
        region = region_of(form.format(end))
        assert region is not None
        assert (value in region) == truth


@pytest.mark.parametrize("text", ["1e999", "-1e999", "inf"])
def test_what_is_beyond_all_numbers_is_none(text: str) -> None:
    assert number_of(text) is None
    assert number_of("1e308") == 1e308


@pytest.mark.parametrize("form", ["[{0}, {1})", "({0}, {1}]", "[{0}, {1}]", "({0}, {1})"])
def test_an_end_that_is_left_out_moves_no_gap(form: str) -> None:
    """Narrow intervals around values that are far apart: the gap is to the end as it is written, by hand 68 %."""
    rng = np.random.default_rng(3)
    known = np.sort(rng.choice(10_000, 50, replace=False)).astype(float)
    low = (known + rng.normal(0, 60, 50)) // 20 * 20
    gaps = np.maximum(np.maximum(low[None] - known[:, None], known[:, None] - low[None] - 20), 0)
    tied = gaps == gaps.min(axis=1, keepdims=True)
    by_hand = np.where(np.diag(tied), 1 / tied.sum(axis=1), 0)
    labels = [form.format(int(one), int(one) + 20) for one in low]
    risk = DistanceLinkage().assess({"x": known}, {"x": labels}, ["x"])
    assert risk.per_record.tolist() == pytest.approx(by_hand.tolist())


@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
def test_an_end_that_is_left_out_is_outside(attack: Linkage) -> None:
    known = Microdata.of({"age": [19, 20, 20, 30]})
    for texts in (["[10, 20)", "[20, 30)", "[20, 30)", "[30, 40)"], ["<20", "20-29", "20-29", "30+"]):
        assert attack.assess(known, {"age": texts}, ["age"]).per_record.tolist() == [1, 0.5, 0.5, 1]


# --- labels that no grammar reads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
def test_texts_that_nobody_shares_give_nobody_away(attack: Linkage) -> None:
    """Each record a random text: a code book of these would link every record to itself."""
    rng = np.random.default_rng(8)
    known = Microdata.of({"pay": rng.normal(size=200), "job": rng.choice(["cook", "nurse", "clerk"], 200)})
    texts = [f"x{number:08x}" for number in rng.integers(0, 2**31, 200)]
    risk = attack.assess(known, {"pay": texts, "job": texts[::-1]}, ["pay", "job"])
    assert risk.value == pytest.approx(100 / 200)
    assert "code book" not in risk.scenario


@pytest.mark.parametrize("attack", LINKAGES, ids=lambda attack: attack.name)
def test_the_scenario_names_what_was_read_by_a_code_book(attack: Linkage) -> None:
    release = released(["young", "young", "[30, 30]", "old", "old"], ["cook", "cook", "nurse", "clerk", "nurse"])
    risk = attack.assess(people(), release, ["age", "job"])
    assert "Some labels of age could not be read" in risk.scenario
    assert regions(people(), "age", ["young", "young", "30", "old", "old"])[3] == [[41, 43]]


def test_a_code_book_lists_the_categories_of_each_label() -> None:
    known = Microdata.of({"job": ["cook", "nurse", "clerk", "cook", None]})
    assert regions(known, "job", ["P", "P", "Q", "P", "Q"])[0] == [[1, 2]]
    assert regions(known, "job", ["P", "P", "Q", "P", "Q"])[2] == [[-np.inf, np.inf]]  # one of the two is not known


def test_nodes_of_a_hierarchy_stand_for_the_categories_below_them() -> None:
    tree = Hierarchy.of([("Graz", "South", "*"), ("Linz", "North", "*"), ("Wels", "North", "*")])
    known = Microdata.of({"town": ["Graz", "Linz", "Wels", "Linz"]})
    known = known.with_schema(known.schema.replacing(known["town"].changed(hierarchy=tree)))
    assert regions(known, "town", ["North", "South", "*", "Wels"]) == [[[1, 2]], [[0, 0]], [[0, 2]], [[2, 2]]]
    release = Recode(by="hierarchy", level=1, publish="label").mask(known, ["town"])
    assert DistanceLinkage().assess(known, release).per_record.tolist() == pytest.approx([1, 1 / 3, 1 / 3, 1 / 3])


def test_nodes_of_a_hierarchy_of_numbers_stand_for_the_numbers_below_them() -> None:
    tree = Hierarchy.of([("20", "young", "*"), ("30", "young", "*"), ("45", "old", "*"), ("60", "old", "*")])
    known = Microdata.of({"age": [20, 30, 45, 60]})
    known = known.with_schema(known.schema.replacing(known["age"].changed(hierarchy=tree)))
    # a label of a single record tells nothing but what the hierarchy says of it
    assert regions(known, "age", ["young", "30", "old", "60"]) == [
        *([[20, 20], [30, 30]], [[30, 30]]),
        *([[45, 45], [60, 60]], [[60, 60]]),
    ]


def test_values_that_are_no_labels_are_compared_as_values() -> None:
    known = Microdata.of({"a": [1, 2, 3], "job": ["x", "y", "x"]})
    assert labels_of(Pair.of(known, known, ["a", "job"]), "a") is None
    assert labels_of(Pair.of(known, known, ["a", "job"]), "job") is None
    declared = known.with_schema(known.schema.replacing(known["job"].changed(domain=("x", "y", "z"))))
    masked = Microdata.of({"a": [1, 2, 3], "job": ["x", "z", "x"]})
    assert labels_of(Pair.of(declared, masked, ["a", "job"]), "job") is None


def test_dates_and_missing_cells_are_no_labels() -> None:
    import polars as pl

    days = [datetime(2020, 1, 1, 12), datetime(2021, 5, 4), datetime(2020, 1, 1, 12)]
    known = Microdata.of(pl.DataFrame({"day": days, "code": [1.0, float("nan"), 2.0]}), nominal=["day", "code"])
    pair = Pair.of(known, known, ["day", "code"])
    assert labels_of(pair, "day") is None
    assert labels_of(pair, "code") is None


def test_missing_codes_stay_missing_among_labels() -> None:
    known = Microdata.of({"age": [20, 30, -9, 60]})
    known = known.with_schema(
        known.schema.replacing(known["age"].changed(missing_codes=(-9,), missing="not applicable"))
    )
    release = Recode(by="cuts", cuts=(40,), publish="label").mask(known, ["age"])
    assert release.frame["age"].to_pylist() == ["< 40", "< 40", "-9", ">= 40"]
    assert DistanceLinkage().assess(known, release).per_record.tolist() == [0.5, 0.5, 1, 1]
    assert ProbabilisticLinkage().assess(known, release).per_record.tolist() == [0.5, 0.5, 1, 1]


def test_nothing_released_and_empty_texts_are_no_obstacle() -> None:
    known = people()
    nothing = known.with_columns({"age": pa.array([None] * 5, pa.string())})
    assert DistanceLinkage().assess(known, nothing, ["age"]).per_record.tolist() == [0.2] * 5
    assert ProbabilisticLinkage().assess(known, nothing, ["age"]).value <= 20 + 1e-9
    # 30 is 8 years from the span of "" (20 to 22); a missing cell costs the mean, a fifth of the square of that
    ages = Microdata.of({"age": [20, 22, 30, 43, 43]})
    empty = released(["", "", None, "43", "43"], ["cook"] * 5)
    assert DistanceLinkage().assess(ages, empty, ["age"]).per_record.tolist() == [0.5, 0.5, 1, 0.5, 0.5]


def test_an_emptied_label_could_be_any_value_but_one_that_fits_is_nearer() -> None:
    ages: list[str | None] = ["[20, 30]", "[20, 30]", None, "[41, 43]", "[41, 43]"]
    release = released(ages, ["cook", "cook", "nurse", "clerk", "nurse"])
    risk = DistanceLinkage().assess(people(), release, ["age", "job"])
    assert risk.per_record.tolist() == [0.5, 0.5, 1, 1, 1]
    with pytest.raises(ParameterError, match="missing_cells = 'left out' is not allowed where"):
        DistanceLinkage(missing_cells="left out").assess(people(), release, ["age", "job"])


def test_an_emptied_label_costs_what_the_labels_of_nearest_records_that_have_one_are_off() -> None:
    """All labels fit, so an emptied one costs nothing, and a difference of 1 elsewhere decides."""
    known = Microdata.of({"age": [20, 22, 60, 70, 20], "x": [1.0, 2.0, 50.0, 90.0, 500.0]})
    labels = ["[20, 30]", None, "[60, 70]", "[60, 70]", None]
    release = Microdata.of({"age": labels, "x": [1.0, 2.0, 50.0, 90.0, 500.0]}, nominal=["age"])
    risk = DistanceLinkage(metric="manhattan", standardisation="none").assess(known, release, ["age", "x"])
    assert risk.per_record.tolist() == [1] * 5


@pytest.mark.parametrize(
    ("ages", "emptied"),
    [(["[20, 30]"] * 5, False), (["[20, 30]"] * 4 + [None], True), ([None] * 5, True)],
)
def test_that_nothing_is_known_is_a_level_of_agreement_only_where_labels_were_emptied(
    ages: list[str | None], emptied: bool
) -> None:
    known = people().with_columns({"age": pa.array([20, 22, 30, 25, 24])})
    release = released(ages, ["cook", "cook", "nurse", "clerk", "nurse"])
    files = ProbabilisticLinkage()._files(Pair.of(known, release, ["age", "job"]), ("age", "job"))
    assert files.scheme.wildcard.tolist() == [emptied, False]


def test_chunks_of_pairs_make_the_same_links(monkeypatch: pytest.MonkeyPatch) -> None:
    known, masked, _ = overlapping()
    emptied = masked.with_columns({"a": pa.array([None, *masked.frame["a"].to_list()[1:]])})
    attacks = (ProbabilisticLinkage(), DistanceLinkage(), DistanceLinkage(one_to_one=True))
    at_once = [attack.assess(known, emptied, ["a", "b"]).per_record for attack in attacks]
    monkeypatch.setattr(comparison, "_AT_ONCE", 400)  # six or seven records at a time
    for attack, per_record in zip(attacks, at_once, strict=True):
        assert attack.assess(known, emptied, ["a", "b"]).per_record == pytest.approx(per_record, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(
    ends=st.lists(st.integers(-20, 20), min_size=2, max_size=8, unique=True).filter(lambda ends: len(ends) % 2 == 0),
    value=st.integers(-30, 30),
)
def test_a_gap_is_the_way_to_the_nearest_value_inside(ends: list[int], value: int) -> None:
    pairs = list(zip(sorted(ends)[::2], sorted(ends)[1::2], strict=True))
    inside = [x for low, high in pairs for x in range(low, high + 1)]
    gaps = Regions.of([[(0, 0)], pairs]).gaps(np.array([float(value)]), np.array([1, 0]))
    assert gaps.tolist() == [[min(abs(value - x) for x in inside), abs(value)]]


# --- all that linkage can do ------------------------------------------------------------------------------------------


def overlapping(seed: int = 4, n: int = 60) -> tuple[Microdata, Microdata, np.ndarray]:
    """Numbers released as overlapping intervals that do not always hold them, beside plain numbers."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 50, n), rng.integers(0, 50, n)
    low = a + rng.integers(-6, 3, n)
    high, moved = low + rng.integers(0, 9, n), b + rng.integers(-3, 4, n)
    gaps = np.maximum(np.maximum(low[None] - a[:, None], a[:, None] - high[None]), 0)
    masked = Microdata.of({"a": [f"[{x}, {y}]" for x, y in zip(low, high, strict=True)], "b": moved})
    return Microdata.of({"a": a, "b": b}), masked, gaps + np.abs(b[:, None] - moved[None])


def shares(apart: np.ndarray, neighbours: int = 1) -> list[float]:
    """The chance of each record's own among so many that are nearest."""
    own = np.diag(apart)
    closer, ties = (apart < own[:, None]).sum(axis=1), (apart == own[:, None]).sum(axis=1)
    return list(np.clip((neighbours - closer) / ties, 0, 1))


@pytest.mark.parametrize("neighbours", [1, 2, 5])
@pytest.mark.parametrize("direction", ["original", "masked"])
def test_links_are_those_of_a_search_over_all_pairs(neighbours: int, direction: str) -> None:
    known, masked, apart = overlapping()
    attack = DistanceLinkage(
        metric="manhattan",
        standardisation="none",
        neighbours=neighbours,
        direction=direction,  # type: ignore[arg-type]
    )
    risk = attack.assess(known, masked, ["a", "b"])
    assert risk.per_record.tolist() == pytest.approx(shares(apart if direction == "original" else apart.T, neighbours))
    order = np.argsort(apart if direction == "original" else apart.T, axis=1, kind="stable")[:, :neighbours]
    assert risk.counters["first"] == pytest.approx(100 * (order == np.arange(60)[:, None]).any(axis=1).mean())


def test_squared_and_weighted_gaps_add_up() -> None:
    known, masked, _ = overlapping()
    low, high = np.array([label[1:-1].split(", ") for label in masked.frame["a"].to_list()], dtype=float).T
    a, b = (known.numbers(name).values for name in ("a", "b"))
    gaps = np.maximum(np.maximum(low[None] - a[:, None], a[:, None] - high[None]), 0)
    apart = 3 * gaps**2 + (b[:, None] - masked.numbers("b").values[None]) ** 2
    attack = DistanceLinkage(standardisation="none", weights=(3.0, 1.0))
    assert attack.assess(known, masked, ["a", "b"]).per_record.tolist() == pytest.approx(shares(apart))


def test_one_to_one_gives_every_record_of_a_class_to_its_class() -> None:
    data = mixed(60, 11)
    release = Mondrian(k=3, publish="set").mask(data, data.names)
    for attack in (DistanceLinkage(one_to_one=True), ProbabilisticLinkage(assignment="one-to-one")):
        risk = attack.assess(data, release)
        assert 0 < risk.value <= 100 / 3 + 1e-6


def test_levels_of_knowledge_blocking_and_interactions_work_with_labels() -> None:
    data = mixed(60, 12)
    release = Mondrian(k=3, publish="interval").mask(data, data.names)
    whole = DistanceLinkage().assess(data, release).value
    assert DistanceLinkage(known_sizes=(1, 4)).assess(data, release).value < whole
    # all own records lie inside, so that blocking only takes others away
    assert DistanceLinkage(block=("job", "age")).assess(data, release).value == pytest.approx(whole)
    blocked = ProbabilisticLinkage(block=("job",)).assess(data, release)
    assert blocked.per_record.max() <= 1 / 3 + 1e-12
    assert 0 < ProbabilisticLinkage(interactions="different").assess(data, release).value <= 100 / 3 + 1e-9


def test_who_has_no_record_in_the_block_is_linked_to_none() -> None:
    known = Microdata.of({"age": [20, 22], "job": ["judge", "cook"]})
    release = released(["[20, 30]", "[20, 30]"], ["cook", "cook"])
    risk = DistanceLinkage(block=("job",)).assess(known, release, ["age", "job"])
    assert risk.per_record.tolist() == [0, 0.5]
    assert risk.counters["first"] == 0  # the first cook is not the second person, and there is no judge


def test_the_battery_runs_both_linkages_on_intervals() -> None:
    from microveil.battery import run_battery

    data = mixed(40, 2)
    found = run_battery(data, Mondrian(k=4, publish="interval").mask(data, data.names), contributions=False)
    for name in ("distance-linkage", "probabilistic-linkage"):
        assert found.risks[name].known == data.names


@pytest.mark.parametrize("direction", ["original", "masked"])
def test_the_records_that_are_searched_are_laid_out_once(direction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known, masked, _ = overlapping(n=400)
    monkeypatch.setattr(comparison, "_AT_ONCE", 4000)  # ten records at a time
    laid: list[int] = []
    records = comparison._records

    def counting(table: Table, these: np.ndarray) -> Table:
        laid.append(len(these))
        return records(table, these)

    monkeypatch.setattr(comparison, "_records", counting)
    DistanceLinkage(direction=direction).assess(known, masked, ["a", "b"])  # type: ignore[arg-type]
    assert sorted(laid)[-2] < 20 < max(laid)


def test_released_numbers_in_a_range_of_missing_codes_are_missing_from_its_first_to_its_last() -> None:
    known = Microdata.of({"age": [20, 30, 90, 95, 99, 60]})
    known = known.with_schema(known.schema.replacing(known["age"].changed(missing_ranges=((90.0, 99.0),))))
    pair = Pair.of(known, Microdata.of({"age": ["[20, 30]", "[20, 30]", "90", "95", "99", "100"]}), ["age"])
    found = labels_of(pair, "age")
    assert found is not None
    assert found.codes.tolist() == [0, 0, -2, -2, -2, 1]
    assert found.states.tolist() == [0, 0, 2, 2, 2, 0]


def test_of_whom_nothing_is_known_nobody_is_linked() -> None:
    known = Microdata.of({"age": [20, 30, None]})
    release = Microdata.of({"age": ["[20, 25]", "[28, 35]", "[50, 60]"]})
    risk = DistanceLinkage().assess(known, release, ["age"])
    assert risk.per_record.tolist() == [1.0, 1.0, 0.0]
    assert risk.counters["optimistic"] == pytest.approx(200 / 3)


def test_labels_are_labels_although_the_domain_was_declared_for_the_release() -> None:
    known = Microdata.of({"job": ["cook", "nurse", "clerk"]}, nominal=["job"])
    domain = ("clerk", "cook", "nurse", "judge", "{cook, nurse}")
    known = known.with_schema(known.schema.replacing(known["job"].changed(domain=domain)))
    release = Microdata.of({"job": ["{cook, nurse}", "{cook, nurse}", "clerk"]}, nominal=["job"])
    found = labels_of(Pair.of(known, release, ["job"]), "job")
    assert found is not None
    assert found.size == 4  # the judge has a position, the set has none
    assert found.values.tolist() == [1.0, 2.0, 0.0]
    assert DistanceLinkage().assess(known, release, ["job"]).per_record.tolist() == [0.5, 0.5, 1.0]


def test_missing_codes_have_no_position_among_the_categories_that_labels_stand_for() -> None:
    known = Microdata.of({"job": ["cook", "nurse", "-9", "clerk", None]}, nominal=["job"])
    described = known["job"].changed(missing_codes=("-9",), missing="own category")
    known = known.with_schema(known.schema.replacing(described))
    release = Microdata.of({"job": ["{cook, nurse}", "{cook, nurse}", "-9", "clerk", None]}, nominal=["job"])
    found = labels_of(Pair.of(known, release, ["job"]), "job")
    assert found is not None
    assert found.size == 3
    assert found.values == pytest.approx([1.0, 2.0, np.nan, 0.0, np.nan], nan_ok=True)
    assert found.states.tolist() == [0, 0, 2, 0, 1]
    assert found.codes.tolist() == [0, 0, -2, 1, -1]
