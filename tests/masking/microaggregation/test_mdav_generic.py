"""MDAV-generic and its relatives: the steps as written, exact examples, categories and numbers side by side."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError
from microveil.masking.guarantees import guarantees_of
from microveil.masking.microaggregation.individual_ranking import IndividualRanking
from microveil.masking.microaggregation.k_modes import KModes
from microveil.masking.microaggregation.mdav_generic import MDAVGeneric
from microveil.masking.partition import Partition
from microveil.masking.preparation.missing_patterns import rows_by_pattern
from microveil.masking.publishing.aggregate import aggregate_columns
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.datasets.sample_survey import survey
from microveil.microdata.mixed import mixed_columns
from microveil.numerics.grouping.mdav_generic import mdav_generic
from microveil.numerics.neighbours.mixed_distance import MEAN, MEDIAN, MODE, Axes, distance
from microveil.progress import silent

FloatArray = npt.NDArray[np.float64]
SEVEN = [(0, 0), (0, 0), (1, 0), (2, 1), (4, 2), (4, 2), (3, 2)]


def table(rows: list[tuple[int, int]], sizes: tuple[int, int] = (5, 3)) -> Microdata:
    """A an ordered attribute, B a nominal one, with declared domains."""
    schema = Schema(
        [
            Attribute(name="A", kind="ordinal", roles=("key",), domain=tuple(range(sizes[0]))),
            Attribute(name="B", kind="nominal", roles=("key",), domain=tuple(range(sizes[1]))),
        ]
    )
    a, b = zip(*rows, strict=True)
    return Microdata.of({"A": list(a), "B": list(b)}, schema)


def values(data: Microdata) -> list[tuple[object, ...]]:
    return list(zip(*(data.arrow(name).to_pylist() for name in data.names), strict=True))


@pytest.mark.spec("05:PM-07", "01:MA-20")
def test_the_worked_example_of_seven_records() -> None:
    release = MDAVGeneric(k=2).mask(table(SEVEN))
    assert release.partition is not None
    assert release.partition.labels.tolist() == [0, 0, 1, 1, 2, 2, 1]
    assert values(release.data) == [(0, 0), (0, 0), (2, 0), (2, 0), (4, 2), (4, 2), (2, 0)]


def test_published_categories_go_by_the_weights_of_their_records() -> None:
    """Three of five say b and 2 at the median; weighed, a has 7 of 10 and half the weight lies at 1 or below."""
    schema = Schema(
        [
            Attribute(name="job", kind="nominal", roles=("key",), domain=("a", "b")),
            Attribute(name="level", kind="ordinal", roles=("key",), domain=(1, 2, 3)),
            Attribute(name="w", kind="numeric", roles=("weight",)),
        ]
    )
    columns = {"job": ["b", "b", "b", "a", "a"], "level": [2, 3, 2, 1, 1], "w": [1.0, 1.0, 1.0, 3.0, 4.0]}
    data = Microdata.of(columns, schema)
    plain = MDAVGeneric(k=5).mask(data).data
    assert [set(plain.arrow(name).to_pylist()) for name in ("job", "level")] == [{"b"}, {2}]
    weighed = MDAVGeneric(k=5, weighted=True).mask(data).data
    assert [set(weighed.arrow(name).to_pylist()) for name in ("job", "level")] == [{"a"}, {1}]


def test_missing_categories_have_no_vote_in_what_their_group_publishes() -> None:
    cells = {"job": ["b", None, None, "a"], "level": [2, None, None, 1]}
    data = Microdata.of(cells, nominal=["job"], ordinal={"level": (1, 2)})
    none = dict.fromkeys(data.names, np.zeros(4, dtype=np.bool_))
    columns = aggregate_columns(data, Partition.of([0, 0, 0, 1]), none, "mean")
    assert {name: column.to_pylist() for name, column in columns.items()} == cells


def test_chunks_of_mixed_attributes_are_divided_by_categories_before_numbers_that_are_no_wider() -> None:
    """By age, the younger half would be three cooks and a nurse, of whom one group of two has both."""
    jobs = ["cook", "cook", "cook", "nurse", "cook", "nurse", "nurse", "nurse"]
    data = Microdata.of({"job": jobs, "age": [20, 21, 22, 23, 37, 38, 39, 40]})
    release = MDAVGeneric(k=2, chunk=4).mask(data, ["job", "age"])
    assert release.frame["job"].to_pylist() == jobs


def plain_mdav(matrix: FloatArray, axes: Axes, k: int) -> list[int]:
    """The steps as they are written down, record by record."""
    labels = [-1] * len(matrix)
    left = list(range(len(matrix)))

    def centre() -> FloatArray:
        made = []
        for j, column in enumerate(matrix[left].T):
            if axes.centre[j] == MEAN:
                made.append(column.mean())
            elif axes.centre[j] == MEDIAN:
                made.append(np.sort(column)[(len(column) - 1) // 2])
            else:
                found, counts = np.unique(column, return_counts=True)
                made.append(found[counts.argmax()])
        return np.array(made)

    def farthest(point: FloatArray, among: list[int]) -> int:
        return max(among, key=lambda i: (distance(matrix[i], point, axes), -i))

    def gather(first: int, among: list[int], label: int) -> None:
        near = sorted((i for i in among if i != first), key=lambda i: (distance(matrix[i], matrix[first], axes), i))
        for i in [first, *near[: k - 1]]:
            labels[i] = label
            left.remove(i)

    made = 0
    while len(left) >= 3 * k:
        r = farthest(centre(), left)
        s = farthest(matrix[r], [i for i in left if i != r])
        gather(r, [i for i in left if i != s], made)
        gather(s, left, made + 1)
        made += 2
    if len(left) >= 2 * k:
        gather(farthest(centre(), left), left, made)
        made += 1
    for i in left:
        labels[i] = made
    return labels


MIXED = st.integers(2, 40).flatmap(
    lambda n: st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([0.0, 0.5, 2.0, 3.25])), min_size=n, max_size=n
    )
)


@pytest.mark.spec("05:PM-07")
@settings(deadline=None)
@given(MIXED, st.integers(2, 5), st.booleans(), st.booleans())
def test_the_fast_way_makes_the_groups_of_the_plain_steps(
    rows: list[tuple[int, int, float]], k: int, squared: bool, exact: bool
) -> None:
    matrix = np.array(rows, dtype=float)
    axes = Axes(np.array([1.0, 0.0, 0.0]), np.array([4.0, 0.0, 3.25]), np.array([MEDIAN, MODE, MEAN]), squared, exact)
    assert mdav_generic(matrix, axes, k, silent, "").tolist() == plain_mdav(matrix, axes, k)


@pytest.mark.spec("05:PM-07")
@settings(max_examples=25, deadline=None)
@given(MIXED, st.integers(2, 4))
def test_every_group_has_k_to_2k_minus_1_records(rows: list[tuple[int, int, float]], k: int) -> None:
    a, b, c = zip(*rows, strict=True)
    data = Microdata.of(
        {"a": list(a), "b": list(map(str, b)), "c": list(c)}, ordinal=["a"], nominal=["b"], keys=["a", "b", "c"]
    )
    if len(rows) < k:
        with pytest.raises(DataError, match=f"mdav-generic with k = {k} needs at least {k}"):
            MDAVGeneric(k=k).mask(data)
        return
    release = MDAVGeneric(k=k).mask(data)
    assert release.partition is not None
    assert release.partition.smallest >= k
    assert release.partition.sizes.max() <= 2 * k - 1
    assert release.guarantees.k >= k


@pytest.mark.spec("05:PM-07")
def test_groups_publish_median_plurality_and_mean() -> None:
    data = Microdata.of(
        {"grade": [1, 2, 5, 5], "job": ["cook", "nurse", "nurse", "smith"], "age": [20.0, 30.0, 40.0, 50.0]},
        ordinal=["grade"],
        keys=["grade", "job", "age"],
    )
    released = MDAVGeneric(k=4).mask(data).data
    assert set(values(released)) == {(2, "nurse", 35.0)}


@pytest.mark.spec("05:PM-07")
@pytest.mark.parametrize(("block", "blocks"), [(1, 3), (2, 2), (None, 1)])
def test_attributes_are_masked_one_at_a_time_in_blocks_or_together(block: int | None, blocks: int) -> None:
    data = survey(150, seed=2)
    names = [name for name in data.schema.keys if data[name].kind != "location"][:3]
    release = MDAVGeneric(k=4, block=block).mask(data, names)
    assert len(release.partitions) == blocks
    for block_of, partition in release.partitions.items():
        assert partition.smallest >= 4
        assert guarantees_of(release.data, block_of).k >= 4


def test_equal_distances_are_equal_however_they_add_up() -> None:
    """2/5 + 3/6 and 4/5 + ... in computed numbers differ in the last digit; by default that decides nothing."""
    rows = np.array([[0, 0, 0], [1, 2, 0], [0, 2, 1], [1, 0, 2], [4, 5, 5], [4, 5, 4]], dtype=float)
    axes = Axes(np.ones(3), np.array([5.0, 6.0, 6.0]), np.full(3, MEDIAN))
    one = [distance(row, rows[0], axes) for row in rows]
    assert one[1] == pytest.approx(0.9)
    assert one[1] == one[3]
    computed = axes._replace(exact=False)
    swapped = Axes(np.ones(3), np.array([6.0, 6.0, 5.0]), np.full(3, MEDIAN), exact=False)
    assert distance(rows[3], rows[0], computed) == pytest.approx(distance(rows[3][::-1], rows[0], swapped))


def test_random_ties_depend_on_the_seed_and_nothing_else() -> None:
    data = table([(i % 2, i % 3) for i in range(40)])
    first = MDAVGeneric(k=3, ties="random").mask(data, seed=1)
    again = MDAVGeneric(k=3, ties="random").mask(data, seed=1)
    other = MDAVGeneric(k=3, ties="random").mask(data, seed=2)
    assert first.partition == again.partition != other.partition
    assert first.guarantees.k >= 3


@pytest.mark.parametrize("form", ["inclusive", "half-open", "unit", "nominal"])
def test_the_distance_of_ordered_categories_can_be_chosen(form: str) -> None:
    columns, axes = mixed_columns(table(SEVEN), ("A",), form)  # type: ignore[arg-type]
    expected = {"inclusive": 3 / 5, "half-open": 2 / 5, "unit": 2 / 4, "nominal": 1.0}[form]
    assert distance(columns[0], columns[3], axes) == pytest.approx(expected)
    assert MDAVGeneric(k=2, ordinal_distance=form).mask(table(SEVEN)).guarantees.k >= 2  # type: ignore[arg-type]


@pytest.mark.spec("01:MA-20")
def test_numbers_are_compared_over_their_range_or_deviation_and_may_be_squared() -> None:
    data = Microdata.of({"x": [0.0, 1.0, 4.0], "y": ["a", "b", "a"]}, nominal=["y"], keys=["x", "y"])
    columns, axes = mixed_columns(data, ("x", "y"))
    assert distance(columns[0], columns[1], axes) == pytest.approx(0.25 + 1)
    columns, axes = mixed_columns(data, ("x", "y"), squared=True)
    assert distance(columns[0], columns[1], axes) == pytest.approx(0.0625 + 1)
    columns, axes = mixed_columns(data, ("x",), deviations=True)
    assert distance(columns[0], columns[2], axes) == pytest.approx(4 / np.std([0.0, 1.0, 4.0]))


def test_missing_cells_stay_and_records_with_the_same_ones_are_grouped() -> None:
    grades = [1, 2, None, None, None, 5, 4, 5]
    data = Microdata.of({"grade": grades, "job": list("aabbbccc")}, ordinal=["grade"], keys=["grade", "job"])
    release = MDAVGeneric(k=3).mask(data)
    assert [value is None for value in release.data.arrow("grade").to_pylist()][2:5] == [True] * 3
    assert release.guarantees.k >= 3


def test_rare_patterns_are_pooled_with_those_that_no_missing_cell_tells_apart() -> None:
    states = np.array([[0, 0]] * 4 + [[0, 1]] * 2 + [[2, 0]] * 4 + [[2, 1]] * 2, dtype=np.uint8)
    blocks = rows_by_pattern(states, 3, np.array([True, False]))
    assert [sorted({tuple(row) for row in states[rows].tolist()}) for rows in blocks] == [
        [(0, 0), (0, 1)],
        [(2, 0), (2, 1)],
    ]
    together = rows_by_pattern(states, 3, np.array([False, False]))  # as wildcards they could be any
    assert [len(rows) for rows in together] == [4, 4, 4]


@pytest.mark.parametrize("seed", range(4))
def test_k_records_share_every_combination_with_missing_cells_of_every_meaning(seed: int) -> None:
    assert MDAVGeneric(k=3).mask(survey(150, seed=seed)).guarantees.k >= 3


def test_parameters_that_mean_nothing_here_are_refused() -> None:
    with pytest.raises(ParameterError, match="polish"):
        MDAVGeneric(polish=3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="ties = 'last' is not allowed"):
        MDAVGeneric(ties="last")  # type: ignore[arg-type]


# --- other ways of grouping categories ----------------------------------------------------------------------------


@pytest.mark.spec("01:MA-20")
def test_individual_ranking_of_ordered_categories_publishes_medians() -> None:
    data = Microdata.of({"grade": [5, 1, 2, 4, 1, 5, 5]}, ordinal=["grade"])
    released = IndividualRanking(k=3).mask(data).data
    assert released.arrow("grade").to_pylist() == [5, 1, 1, 5, 1, 5, 5]


@pytest.mark.spec("01:MA-20")
@settings(max_examples=25, deadline=None)
@given(MIXED, st.integers(2, 5))
def test_k_modes_keeps_equal_records_together_in_groups_of_at_least_k(
    rows: list[tuple[int, int, float]], k: int
) -> None:
    data = table([(a, b) for a, b, _ in rows])
    if len(rows) < k:
        return
    release = KModes(k=k).mask(data)
    assert release.partition is not None
    assert release.partition.smallest >= k
    groups_of = {pair: set() for pair in values(data)}  # type: ignore[var-annotated]
    for pair, label in zip(values(data), release.partition.labels.tolist(), strict=True):
        groups_of[pair].add(label)
    assert all(len(groups) == 1 for groups in groups_of.values())


@pytest.mark.spec("01:MA-20")
def test_k_modes_changes_nothing_where_k_records_are_always_equal() -> None:
    data = table([(0, 0)] * 4 + [(4, 2)] * 5 + [(2, 1)] * 3)
    assert values(KModes(k=3).mask(data).data) == values(data)
