"""Which released columns hold labels for several values, and what measures make of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from microveil.attacks.attribute_disclosure import AttributeDisclosure
from microveil.attacks.class_disclosure import ClassDisclosure
from microveil.attacks.inference import Inference
from microveil.attacks.intervals import IntervalDisclosure
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.singling_out import SinglingOut
from microveil.attacks.uniqueness import Uniqueness
from microveil.comparison.label_detection import holds_labels
from microveil.comparison.labels import labels_of
from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.losses.categorical.distance import DBIL
from microveil.losses.numeric.sse import SSE
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.coarsening.recode import Recode
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Attribute, Hierarchy, Microdata


@pytest.mark.parametrize(
    ("text", "nominal", "ordinal"),
    [
        ("a low", False, False),
        ("{a low}", True, True),
        ("{a low, b, c}", True, True),
        ("[a low, b, c]", True, True),
        ("[a low]", False, False),
        ("a low to d", False, True),
        ("a low, d", True, True),
        ("a low, d, e and 3 more", True, True),
        ("a low, nobody", False, False),
        ("b, c", False, False),  # the name of one
        ("South", True, True),
        ("*", True, True),
        ("a low or d", False, False),
        ("9", False, False),
    ],
)
def test_labels_are_told_from_categories_in_a_domain_that_lists_both(text: str, nominal: bool, ordinal: bool) -> None:
    tree = Hierarchy.of([("a low", "South"), ("b, c", "South"), ("d", "North"), ("e", "North")])
    before, after = pa.array(["a low", "b, c", "d", "e"]), pa.array(["d", text])
    known = ("a low", "b, c", "9")
    for kind, expected in (("nominal", nominal), ("ordinal", ordinal)):
        attribute = Attribute(name="x", kind=kind, hierarchy=tree, missing_codes=("9",))  # type: ignore[arg-type]
        assert holds_labels(attribute, before, after) == (text not in known)
        listed = tuple(dict.fromkeys(["a low", "b, c", "d", "e", *({text} - {"9"})]))
        declared = attribute.model_copy(update={"domain": listed})  # unchecked: the tree has no place for labels
        assert not holds_labels(declared, before, after)
        assert holds_labels(declared, before, after, declared_before=False) == expected


def test_a_declared_category_is_no_label_unless_it_was_declared_for_the_release() -> None:
    before, after = pa.array(["a", "b"]), pa.array(["a, b", "a, b"])
    attribute = Attribute(name="x", kind="nominal", domain=("a", "b", "a, b"))
    assert not holds_labels(attribute, before, after)
    assert holds_labels(attribute, before, after, declared_before=False)


def people(records: int = 90) -> Microdata:
    rng = np.random.default_rng(3)
    columns = {
        "age": rng.integers(18, 80, records),
        "pay": rng.normal(2000, 400, records).round(),
        "job": rng.choice(["cook", "nurse", "clerk"], records),
        "grade": rng.choice(["a low", "b mid", "c high"], records),
    }
    return Microdata.of(columns, nominal=["job"], ordinal={"grade": ["a low", "b mid", "c high"]})


def as_file(release: Microdata) -> Microdata:
    """The table as a reader without the release's schema sees it."""
    return Microdata.of(release.frame)


@pytest.mark.parametrize("made", [True, False])
def test_measures_pass_labels_over_and_linkages_read_them_with_and_without_provenance(made: bool) -> None:
    data = people()
    release = Mondrian(k=4, publish="interval").mask(data, ["age", "job", "grade"])
    masked = release if made else as_file(release.data)
    pair = Pair.of(data, masked, ["age", "job", "grade", "pay"])
    assert pair.labelled == ("age", "job", "grade")
    assert SSE().measure_pair(pair).attributes == ("pay",)
    for attack in (IntervalDisclosure(counted="all"), SinglingOut()):
        assert attack.assess_pair(pair).known == ("pay",)
    assert DistanceLinkage().assess_pair(pair).known == pair.attributes
    words = "'job' is released as labels that stand for several values, so dbil cannot compare it"
    with pytest.raises(DataError, match=words):
        DBIL().measure(data, masked, ["job"])
    with pytest.raises(DataError, match=r"for dbil to work on that is not released as labels \(age, job, grade\)"):
        DBIL().measure_pair(pair)
    with pytest.raises(DataError, match="'age' is released as labels"):
        IntervalDisclosure().assess(data, masked, ["age"])


def test_numbers_that_are_codes_of_categories_are_no_labels() -> None:
    data = Microdata.of({"c": [1, 2, 3, 1], "x": [1.0, 2.0, 3.0, 4.0]}, nominal=["c"])
    release = MDAV(k=2).mask(data, ["x"])
    read = Microdata.of({"c": [1, 3, 3, 1], "x": release.frame["x"].to_pylist()})  # a file does not say what c is
    assert Pair.of(data, read, ["c", "x"]).recoded == ()


@pytest.mark.parametrize("publish", ["interval", "set"])
@pytest.mark.parametrize("made", [True, False])
def test_records_are_unique_by_their_labels(publish: str, made: bool) -> None:
    data = people()
    release = Mondrian(k=4, publish=publish).mask(data, data.names)  # type: ignore[arg-type]
    risk = Uniqueness().assess(data, release if made else as_file(release.data), data.names)
    rows = list(zip(*(release.frame[name].to_pylist() for name in data.names), strict=True))
    assert risk.per_record.tolist() == pytest.approx([1 / rows.count(row) for row in rows])
    assert risk.counters["unique"] == 0.0
    assert 0 < risk.value <= 25


def test_a_suppressed_label_is_found_as_its_missing_policy_says() -> None:
    data = Microdata.of({"age": [20, 30, 40, None]})
    masked = Microdata.of({"age": ["[20, 30]", "[20, 30]", None, None]}, nominal=["age"])
    wild = data.with_schema(data.schema.replacing(data["age"].changed(missing="wildcard")))
    own = data.with_schema(data.schema.replacing(data["age"].changed(missing="own category")))
    assert Uniqueness().assess(own, masked, ["age"]).per_record.tolist() == [0.5, 0.5, 0.0, 0.5]
    assert Uniqueness().assess(wild, masked, ["age"]).per_record.tolist() == [0.25, 0.25, 0.5, 0.25]


def towns() -> Microdata:
    return Microdata.of({"town": ["Graz", "Linz", "Wels", "Linz", "Graz"], "sex": list("ffmfm")})


def test_nodes_of_a_hierarchy_and_named_groups_are_labels() -> None:
    tree = Hierarchy.of([("Graz", "South"), ("Linz", "North"), ("Wels", "North")])
    data = towns()
    data = data.with_schema(data.schema.replacing(data["town"].changed(hierarchy=tree)))
    up = Recode(by="hierarchy", level=1, publish="label").mask(data, ["town"])
    assert Pair.of(data, up).recoded == ("town",)
    assert Uniqueness().assess(data, up).per_record.tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 3, 1 / 3, 1 / 2])
    named = Recode(by="map", map={"Upper Austria": ["Linz", "Wels"]}, publish="label").mask(data, ["town"])
    assert Pair.of(data, named).recoded == ("town",)
    assert Uniqueness().assess(data, named).per_record.tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 3, 1 / 3, 1 / 2])


def test_a_named_group_stands_for_the_categories_that_the_provenance_names() -> None:
    data = towns()
    first = Recode(by="map", map={"Upper Austria": ["Linz", "Wels"]}, publish="label").mask(data, ["town"])
    labels = labels_of(Pair.of(data, first), "town")
    assert labels is not None
    assert not labels.by_code_book
    assert labels.codes.tolist() == [0, 1, 1, 1, 0]
    assert [segments.tolist() for segments in labels.regions.segments] == [[[0.0, 0.0]], [[1.0, 2.0]]]
    second = Recode(by="map", map={"Austria": ["Graz", "Upper Austria"]}, publish="label").mask(first, ["town"])
    both = labels_of(Pair.of(data, second), "town")
    assert both is not None
    assert not both.by_code_book
    assert [segments.tolist() for segments in both.regions.segments] == [[[0.0, 2.0]]]


def test_a_named_group_without_provenance_stands_for_the_categories_of_its_records() -> None:
    data = towns()
    data = data.with_schema(data.schema.replacing(data["town"].changed(domain=("Graz", "Linz", "Wels"))))
    named = Recode(by="map", map={"Upper Austria": ["Linz", "Wels"]}, publish="label").mask(data, ["town"])
    foreign = as_file(named.data)
    labels = labels_of(Pair.of(data, foreign, ["town"]), "town")
    assert labels is not None
    assert labels.by_code_book
    assert [segments.tolist() for segments in labels.regions.segments] == [[[0.0, 0.0]], [[1.0, 2.0]]]
    assert Uniqueness().assess(data, foreign, ["town", "sex"]).per_record.tolist() == [1, 0.5, 1, 0.5, 1]


@pytest.mark.parametrize("made", [True, False])
def test_confidential_values_are_disclosed_by_the_records_with_the_same_label(made: bool) -> None:
    data = Microdata.of(
        {"town": ["Graz", "Linz", "Wels", "Linz", "Graz"], "ill": ["flu", "gout", "gout", "gout", "cold"]},
        keys=["town"],
        confidential=["ill"],
    )
    named = Recode(by="map", map={"Upper Austria": ["Linz", "Wels"]}, publish="label").mask(data)
    release = named if made else as_file(named.data)
    assert AttributeDisclosure().assess(data, release, ["town"]).per_record.tolist() == [0.5, 1, 1, 1, 0.5]
    assert ClassDisclosure().assess(data, release, ["town"]).per_record.tolist() == [0, 1, 1, 1, 0]
    assert Inference(leaf=1, evidence=0).assess(data, release, ["town"]).per_record[1:4].tolist() == [1, 1, 1]
