"""Mondrian: allowed cuts only, regions of at least k records, and what they publish."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import DataError
from microveil.losses.numeric.sse import SSE
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.microdata import Attribute, Hierarchy, Microdata, Schema
from microveil.microdata.datasets.sample_survey import survey
from microveil.numerics.grouping.mondrian import mondrian_regions
from microveil.progress import silent

PUBLISHED = ["median", "mean", "middle", "mode", "interval", "set"]


def points(pairs: list[tuple[int, str]]) -> Microdata:
    """X of three ordered categories, Y of four."""
    x = Attribute(name="X", kind="ordinal", roles=("key",), domain=(1, 2, 3))
    y = Attribute(name="Y", kind="ordinal", roles=("key",), domain=("A", "B", "C", "D"))
    return Microdata.of({"X": [p[0] for p in pairs], "Y": [p[1] for p in pairs]}, Schema([x, y]))


SIX = points([(1, "A"), (1, "B"), (3, "A"), (2, "B"), (1, "C"), (2, "D")])


@pytest.mark.spec("05:PM-08")
def test_the_worked_example_of_six_points() -> None:
    release = Mondrian(k=2, publish="interval").mask(SIX)
    assert release.data.arrow("X").to_pylist() == ["[1, 1]", "[1, 1]", "[2, 3]", "[2, 3]", "[1, 2]", "[1, 2]"]
    assert release.data.arrow("Y").to_pylist() == ["[A, B]"] * 4 + ["[C, D]"] * 2
    assert release.data["X"].domain == ("[1, 1]", "[1, 2]", "[2, 3]")
    assert release.guarantees.k == 2


@pytest.mark.parametrize(
    ("publish", "x", "y"),
    [
        ("median", [1, 1, 2, 2, 1, 1], ["A", "A", "A", "A", "C", "C"]),
        ("middle", [1, 1, 2, 2, 1, 1], ["A", "A", "A", "A", "C", "C"]),
        ("mode", [1, 1, 2, 2, 1, 1], ["A", "A", "A", "A", "C", "C"]),
        ("set", ["{1}"] * 2 + ["{2, 3}"] * 2 + ["{1, 2}"] * 2, ["{A, B}"] * 4 + ["{C, D}"] * 2),
    ],
)
def test_what_the_six_points_publish(publish: str, x: list[object], y: list[object]) -> None:
    release = Mondrian(k=2, publish=publish).mask(SIX)  # type: ignore[arg-type]
    assert release.data.arrow("X").to_pylist() == x
    assert release.data.arrow("Y").to_pylist() == y


def test_numbers_publish_what_they_are_asked_for() -> None:
    data = Microdata.of({"age": [20, 20, 24, 30]})
    published = {p: Mondrian(k=4, publish=p).mask(data).data.arrow("age")[0].as_py() for p in PUBLISHED}  # type: ignore[arg-type]
    assert published == {
        "median": 22.0,
        "mean": 23.5,
        "middle": 25.0,
        "mode": 20.0,
        "interval": "[20, 30]",
        "set": "{20, 24, 30}",
    }


def test_an_attribute_published_as_intervals_is_ordinal_with_the_intervals_as_its_domain() -> None:
    data = Microdata.of({"age": [20.5, 22, 41, 43], "sex": list("fmfm")}, keys=["age"])
    released = Mondrian(k=2, publish="interval").mask(data).data
    assert released["age"].kind == "ordinal"
    assert released["age"].domain == ("[20.5, 22]", "[41, 43]")
    assert released["age"].roles == ("key",)
    assert released["sex"].kind == "nominal"


TREE = Hierarchy.of(
    [
        ("Graz", "South", "Austria"),
        ("Linz", "North", "Austria"),
        ("Wels", "North", "Austria"),
        ("Bern", "Midland", "Switzerland"),
    ]
)


def towns(names: list[str]) -> Microdata:
    attribute = Attribute(name="town", kind="nominal", roles=("key",), hierarchy=TREE)
    return Microdata.of({"town": names}, Schema([attribute]))


@pytest.mark.parametrize("publish", ["interval", "mode"])
def test_a_hierarchy_is_cut_into_the_children_of_its_nodes(publish: str) -> None:
    data = towns(["Linz", "Graz", "Wels", "Bern", "Graz", "Bern"])
    release = Mondrian(k=2, publish=publish).mask(data)  # type: ignore[arg-type]
    assert release.partition is not None
    assert release.partition.labels.tolist() == [0, 1, 0, 2, 1, 2]
    expected = {
        "interval": ["North", "Graz", "North", "Bern", "Graz", "Bern"],
        "mode": ["Linz", "Graz", "Linz", "Bern", "Graz", "Bern"],
    }
    assert release.data.arrow("town").to_pylist() == expected[publish]


def test_a_node_is_not_cut_where_a_child_would_have_too_few_records() -> None:
    release = Mondrian(k=2, publish="interval").mask(towns(["Linz", "Graz", "Wels", "Bern", "Bern"]))
    assert release.data.arrow("town").to_pylist() == ["Austria"] * 3 + ["Bern"] * 2
    release = Mondrian(k=2, publish="interval").mask(towns(["Linz", "Linz", "Wels", "Bern"]))
    assert release.data.arrow("town").to_pylist() == ["*"] * 4  # the two countries have no common node


def test_a_category_that_the_hierarchy_lacks_is_refused() -> None:
    with pytest.raises(DataError, match="'town' has categories that its hierarchy lacks"):
        Mondrian(k=2).mask(towns(["Linz", "Graz", "Paris"]))


def test_strict_cuts_keep_equal_values_together_and_relaxed_ones_divide_them() -> None:
    data = Microdata.of({"x": [1, 1, 1, 1, 1, 1, 9, 9]})
    strict, relaxed = (Mondrian(k=3, cut=cut).mask(data) for cut in ("strict", "relaxed"))  # type: ignore[arg-type]
    assert strict.partition is not None
    assert relaxed.partition is not None
    assert strict.partition.sizes.tolist() == [8]  # two nines are too few
    assert relaxed.partition.sizes.tolist() == [4, 4]
    assert relaxed.partition.labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def allowed_cuts(values: np.ndarray, k: int) -> list[float]:
    return [x for x in np.unique(values) if (values <= x).sum() >= k and (values > x).sum() >= k]


TABLES = st.integers(2, 60).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3)), min_size=n, max_size=n)
)


@pytest.mark.spec("05:PM-08")
@given(TABLES, st.integers(2, 6))
def test_regions_have_k_records_and_no_cut_left(rows: list[tuple[int, int]], k: int) -> None:
    matrix = np.array(rows, dtype=float)
    labels = mondrian_regions(matrix, np.array([8.0, 4.0]), [None, None], k, silent, "")
    for region in range(int(labels.max()) + 1):
        inside = matrix[labels == region]
        assert len(inside) >= min(k, len(matrix))
        assert not any(allowed_cuts(column, k) for column in inside.T)
    assert len({(*row, label) for row, label in zip(rows, labels.tolist(), strict=True)}) == len(set(rows))


@given(TABLES, st.integers(2, 6))
def test_relaxed_regions_have_k_records_and_cannot_be_halved(rows: list[tuple[int, int]], k: int) -> None:
    matrix = np.array(rows, dtype=float)
    labels = mondrian_regions(matrix, np.array([8.0, 4.0]), [None, None], k, silent, "", strict=False)
    for region in range(int(labels.max()) + 1):
        inside = matrix[labels == region]
        assert len(inside) >= min(k, len(matrix))
        assert len(inside) < 2 * k or (inside == inside[0]).all()


@pytest.mark.parametrize("publish", PUBLISHED)
@pytest.mark.parametrize("cut", ["strict", "relaxed"])
@pytest.mark.parametrize("k", [2, 7])
def test_k_records_share_every_combination_whatever_is_published(k: int, publish: str, cut: str) -> None:
    """With missing cells of every meaning among the keys."""
    release = Mondrian(k=k, publish=publish, cut=cut).mask(survey(200, seed=k))  # type: ignore[arg-type]
    assert release.guarantees.k >= k
    assert release.partition is not None
    assert release.partition.smallest >= k


def test_the_widest_attribute_is_cut_first_relative_to_its_range() -> None:
    data = Microdata.of({"small": [0.0, 0.1, 0.9, 1.0], "large": [0.0, 100.0, 0.0, 100.0]}, keys=["small", "large"])
    schema = data.schema.replacing(data["large"].changed(range=(0.0, 1000.0)))
    release = Mondrian(k=2).mask(data.with_schema(schema))
    assert release.partition is not None
    assert release.partition.labels.tolist() == [0, 0, 1, 1]


def test_missing_codes_of_numbers_become_missing_codes_of_the_text() -> None:
    age = Attribute(name="age", kind="numeric", roles=("key",), missing="not applicable", missing_codes=(-9,))
    data = Microdata.of({"age": [20, 22, -9, -9, 41, 43, None, None]}, Schema([age]))
    released = Mondrian(k=2, publish="interval").mask(data).data
    assert released.arrow("age").to_pylist() == ["[20, 22]"] * 2 + ["-9"] * 2 + ["[41, 43]"] * 2 + [None, None]
    assert released["age"].missing_codes == ("-9",)
    assert released.missing_states("age").tolist() == data.missing_states("age").tolist()


def test_a_column_without_any_value_is_published_empty() -> None:
    empty = pa.nulls(4, pa.float64())
    data = Microdata.of(pa.table({"x": [1.0, 2.0, 3.0, 4.0], "y": empty}), numeric=["y"], keys=["x", "y"])
    released = Mondrian(k=2, publish="interval").mask(data).data
    assert released.arrow("y").null_count == 4
    assert released["y"].domain == ()
    untyped = Microdata.of({"x": [1.0, 2.0, 3.0, 4.0], "y": [None] * 4}, numeric=["y"], keys=["x", "y"])
    assert Mondrian(k=2, publish="interval").mask(untyped).data.arrow("y").null_count == 4


def test_few_records_are_one_region_and_fewer_than_k_are_refused() -> None:
    data = Microdata.of({"x": [1, 2, 3]})
    assert len(Mondrian(k=2).mask(data).partition or ()) == 1
    with pytest.raises(DataError, match="mondrian with k = 4 needs at least 4"):
        Mondrian(k=4).mask(data)


def test_a_release_of_intervals_is_not_measured_as_if_it_were_numbers() -> None:
    data = Microdata.of({"x": [1.0, 2.0, 8.0, 9.0], "y": [4.0, 4.5, 1.0, 1.5]})
    assert SSE().measure(data, Mondrian(k=2).mask(data)).value < 10
    with pytest.raises(DataError):
        SSE().measure(data, Mondrian(k=2, publish="interval").mask(data))


def test_progress_rises_to_one_and_every_region_has_k_records() -> None:
    rng = np.random.default_rng(5)
    matrix = np.column_stack([rng.normal(size=3000), rng.integers(0, 40, 3000)])
    span = np.ptp(matrix, axis=0)
    reports: list[float] = []
    labels = mondrian_regions(matrix, span, [None, None], 5, lambda fraction, label: reports.append(fraction), "")
    assert reports[-1] == 1.0
    assert np.bincount(labels).min() >= 5


def test_a_set_of_the_only_category_there_is() -> None:
    data = Microdata.of({"town": ["x"] * 4, "age": [20.0, 21.0, 60.0, 61.0]}, nominal=["town"])
    released = Mondrian(k=2, publish="set").mask(data, ["town", "age"]).data
    assert released.arrow("town").to_pylist() == ["{x}"] * 4
    assert released.arrow("age").to_pylist() == ["{20, 21}"] * 2 + ["{60, 61}"] * 2


def test_a_group_without_any_value_has_no_set_and_takes_none_from_the_next() -> None:
    data = Microdata.of({"town": [None, None, "x", "y"], "age": [20.0, 21.0, 60.0, 61.0]}, nominal=["town"])
    released = Mondrian(k=2, publish="set").mask(data, ["town", "age"]).data
    assert released.arrow("town").to_pylist() == [None, None, "{x, y}", "{x, y}"]
