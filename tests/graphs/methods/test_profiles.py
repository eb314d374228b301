"""Profiles of nodes: worked examples of the source, what groups publish, and that every profile has k nodes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microveil as mv
from microveil.errors import DataError, ParameterError
from microveil.graphs.methods.profile_columns import profiles_of, ranked_lists
from microveil.microdata.ancestry import HierarchyTree
from microveil.numerics.grouping.k_member import k_member, refined_k_member
from microveil.numerics.grouping.profiles import profile_loss

USA = [("United States", "Country"), ("North America", "Continent")]
NEW_YORK = [("New York City", "Locality"), ("New York State", "Administrative area level 1"), *USA]
CAPITAL = [("Washington DC", "Locality"), ("District of Columbia", "Administrative area level 1"), *USA]
CHAINS = [
    [("Brooklyn", "Sublocality"), *NEW_YORK],
    [("Manhattan", "Sublocality"), *NEW_YORK],
    [("Central Park", "Natural feature"), *NEW_YORK],
    CAPITAL,
]
TREE = mv.locations.LocationTree.of(CHAINS)


def silent(fraction: float, label: str) -> None: ...


def places(names: list[str]) -> mv.Attribute:
    distinct = list(dict.fromkeys(names))
    codes = [TREE.names.index(name) for name in distinct]
    return mv.Attribute(name="place", kind="location", hierarchy=TREE.hierarchy(codes, distinct))


def located(names: list[str], **columns: Any) -> mv.Microdata:
    return mv.Microdata.of({"place": names, **columns}, mv.Schema([places(names)]))


def three_users() -> mv.Microdata:
    """The graph of three users of Marés (2013), figures 6.3 to 6.5, as far as it can be rebuilt."""
    nodes = {
        "id": [1, 2, 3],
        "place": ["Washington DC", "United States", "New York City"],
        "topic1": ["Politics", "Technology", "Technology"],
        "topic2": ["Sports", "Sports", "Politics"],
        "topic3": ["Weather", "Religion", "Culture"],
    }
    return mv.Microdata.of(
        nodes, mv.Schema([places(nodes["place"])]), graph={"source": [2, 2], "target": [1, 3]}, node="id"
    )


@pytest.mark.spec("06:SG-07", "06:SG-09")
def test_the_distance_of_places_is_that_of_the_source() -> None:
    names = ["New York City", "Washington DC", "Brooklyn", "United States"]
    tree = HierarchyTree.of(places(names).hierarchy)
    city, capital, brooklyn, country = (np.array([tree.code(name)]) for name in names)
    assert tree.distances(city, capital) == 1.0
    assert tree.distances(brooklyn, country) == pytest.approx(5 / 7)
    assert tree.distances(country, brooklyn) == pytest.approx(5 / 7)
    assert tree.distances(city, country) == pytest.approx(4 / 7)
    assert tree.distances(country, brooklyn, strict=True) == 1.0


@pytest.mark.spec("06:SG-08", "06:SG-12")
@pytest.mark.parametrize(
    ("names", "published"),
    [(["Brooklyn", "Washington DC"], "United States"), (["Manhattan", "Central Park"], "New York City")],
)
def test_a_group_publishes_the_place_that_holds_its_places(names: list[str], published: str) -> None:
    release = mv.GraphProfiles(k=2).mask(located(names), ["place"], seed=1)
    assert release.frame["place"].to_pylist() == [published] * 2


@pytest.mark.spec("06:SG-10", "06:SG-12")
def test_the_three_users_publish_the_printed_profile() -> None:
    release = mv.GraphProfiles(k=3).mask(three_users(), seed=1)
    columns = release.frame.to_pydict()
    assert {name: set(cells) for name, cells in columns.items() if name != "id"} == {
        "place": {"anywhere in United States"},
        "topic1": {"Technology"},
        "topic2": {"Politics"},
        "topic3": {"Sports"},
    }
    assert sorted(columns["id"]) == [1, 2, 3]
    assert release.data.edges == three_users().edges


def topics_of(rows: list[tuple[str | None, ...]], **parameters: Any) -> tuple[str | None, ...]:
    columns = {f"topic{i + 1}": [row[i] for row in rows] for i in range(3)}
    data = mv.Microdata.of(columns, nominal=list(columns))
    release = mv.GraphProfiles(k=len(rows), ranked=tuple(columns), **parameters).mask(data, list(columns), seed=1)
    found = {name: set(cells) for name, cells in release.frame.to_pydict().items()}
    assert all(len(cells) == 1 for cells in found.values())
    return tuple(cells.pop() for cells in found.values())


@pytest.mark.spec("06:SG-10")
@pytest.mark.parametrize(
    ("rows", "published"),
    [
        # 6, 5, 4 points, and 1 for each of the others
        ([("P", "S", "W"), ("T", "S", "R"), ("T", "P", "C")], ("T", "P", "S")),
        # as many points, but more first places
        ([("a", "b", "c"), ("b", "c", "a"), ("a", "c", "b"), ("c", "b", "a")], ("a", "b", "c")),
        # fewer than three topics
        ([("a", None, None), ("a", "b", None)], ("a", "b", None)),
        ([(None, None, None), (None, None, None)], (None, None, None)),
    ],
)
def test_topics_are_ranked_by_borda(rows: list[tuple[str | None, ...]], published: tuple[str | None, ...]) -> None:
    assert topics_of(rows) == published


@pytest.mark.spec("06:SG-10")
def test_modes_of_each_rank_take_no_topic_twice_unless_they_may() -> None:
    rows = [("a", "a", "c"), ("a", "a", "d"), ("a", "b", "c")]
    assert topics_of(rows, topics="mode-distinct") == ("a", "b", "c")
    columns = {f"topic{i + 1}": [row[i] for row in rows] for i in range(3)}
    release = mv.GraphProfiles(k=3, topics="mode").mask(mv.Microdata.of(columns), list(columns), seed=1)
    assert {name: cells[0] for name, cells in release.frame.to_pydict().items()} == {
        "topic1": "a",
        "topic2": "a",
        "topic3": "c",
    }


def test_the_most_frequent_topic_in_the_file_decides_between_equal_ones() -> None:
    rows = [("b", "x"), ("a", "x"), ("a", "y"), ("a", "y")]
    columns = {"t1": [row[0] for row in rows], "t2": [row[1] for row in rows]}
    data = mv.Microdata.of(columns)
    (found,) = ranked_lists(data, ["t1", "t2"], ["t1", "t2"], "test")
    assert [found.topics[i] for i in np.argsort(found.priority)] == ["a", "x", "y", "b"]


def test_lists_are_found_by_their_numbers_where_they_share_topics() -> None:
    columns = {"topic1": ["a", "b"], "topic_2": ["b", "c"], "zip1": ["x", "y"], "zip2": ["v", "w"], "t2": ["a", "b"]}
    data = mv.Microdata.of(columns)
    assert [one.names for one in ranked_lists(data, list(columns), (), "test")] == [("topic1", "topic_2")]


@pytest.mark.spec("06:SG-11")
@pytest.mark.parametrize(
    ("nodes", "k", "sizes"),
    [
        (9, 3, {3: 3}),
        (10, 3, {3: 2, 4: 1}),
        (11, 3, {3: 2, 5: 1}),
        (5, 3, {5: 1}),
        (7, 4, {7: 1}),
        (306, 7, {7: 42, 12: 1}),
    ],
)
def test_clusters_have_the_printed_sizes(nodes: int, k: int, sizes: dict[int, int]) -> None:
    data = mv.Microdata.of({"x": np.arange(nodes)}, numeric=["x"])
    profiles = profiles_of(data, ["x"], [], borda=True, place_weight=1.0)
    labels = k_member(profiles, k, np.random.default_rng(1), silent, "")
    assert Counter(np.bincount(labels).tolist()) == sizes


@pytest.mark.spec("06:SG-11")
def test_the_nearest_of_a_seed_join_it_and_the_first_of_equals() -> None:
    data = mv.Microdata.of({"x": ["a", "b", "a", "c", "b", "a"]})
    profiles = profiles_of(data, ["x"], [], borda=True, place_weight=1.0)

    class Drawn:
        def permutation(self, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
            return np.array([3, 1, 0, 2, 4, 5])

    labels = k_member(profiles, 2, Drawn(), silent, "")  # type: ignore[arg-type]
    assert labels.tolist() == [0, 1, 2, 0, 1, 2]


@pytest.mark.spec("06:FW-01")
@pytest.mark.parametrize("k", [2, 3, 7])
def test_refined_groups_lose_less_than_the_printed_ones(k: int) -> None:
    network = mv.datasets.social_network(300, seed=4)
    names = ["home", "topic1", "topic2", "topic3"]
    lists = ranked_lists(network, names, (), "test")
    profiles = profiles_of(network, names, lists, borda=True, place_weight=1.0)
    losses = []
    for group in (k_member, refined_k_member):
        labels = group(profiles, k, np.random.default_rng(5), silent, "")
        assert np.bincount(labels).min() >= k
        losses.append(profile_loss(profiles, labels))
    assert losses[1] < 0.85 * losses[0]


def naive_loss(rows: list[list[str]], labels: list[int]) -> float:
    """Nominal attributes: how many cells are not the mode of their group."""
    total = 0
    for group in set(labels):
        members = [row for row, label in zip(rows, labels, strict=True) if label == group]
        total += sum(len(members) - Counter(column).most_common(1)[0][1] for column in zip(*members, strict=True))
    return total


@given(
    st.lists(st.tuples(*[st.sampled_from("abc")] * 2), min_size=4, max_size=30),
    st.integers(2, 4),
    st.integers(0, 9),
)
@settings(max_examples=30, deadline=None)
def test_what_is_lost_is_the_distance_to_what_is_published(rows: list[Any], k: int, seed: int) -> None:
    data = mv.Microdata.of({"x": [row[0] for row in rows], "y": [row[1] for row in rows]})
    profiles = profiles_of(data, ["x", "y"], [], borda=True, place_weight=1.0)
    labels = refined_k_member(profiles, k, np.random.default_rng(seed), silent, "")
    assert np.bincount(labels).min() >= k
    assert profile_loss(profiles, labels) == pytest.approx(naive_loss(rows, labels.tolist()))


@pytest.mark.spec("06:SG-12")
@given(st.integers(5, 60), st.integers(2, 5), st.sampled_from(["refined", "k-member"]), st.booleans())
@settings(max_examples=15, deadline=None)
def test_every_published_profile_is_shared_by_k_nodes(nodes: int, k: int, partition: str, gaps: bool) -> None:
    network = mv.datasets.social_network(nodes, seed=nodes, gaps=gaps)
    release = mv.GraphProfiles(k=k, partition=partition).mask(network, seed=3)
    rows = zip(*(release.data.arrow(name).to_pylist() for name in network.schema.keys), strict=True)
    assert min(Counter(rows).values()) >= (k if not gaps else 1)
    assert release.guarantees.k >= k
    assert release.data.edges == network.edges


@pytest.mark.spec("06:SG-13")
def test_true_degrees_break_the_anonymity_of_profiles_and_masking_restores_it() -> None:
    release = mv.GraphProfiles(k=3).mask(three_users(), seed=1)
    flat = mv.graphs.extract_microdata(release)
    assert flat.native.to_pydict()["degree"] == [1, 2, 1]
    assert mv.guarantees_of(flat, flat.schema.keys).k == 1
    again = mv.GraphProfiles(k=3, numbers="lower-median").mask(flat, seed=1)
    assert again.frame.to_pydict()["degree"] == [1, 1, 1]
    assert again.guarantees.k == 3


@pytest.mark.spec("06:SG-13")
def test_the_extracted_table_has_profiles_and_degrees_and_no_ids() -> None:
    flat = mv.graphs.extract_microdata(three_users())
    assert flat.names == ("place", "topic1", "topic2", "topic3", "degree")
    assert flat.edges is None
    assert flat.schema.keys == flat.names
    with pytest.raises(DataError, match="no links"):
        mv.graphs.extract_microdata(flat)
    with pytest.raises(DataError, match="has a column 'place' already"):
        mv.graphs.extract_microdata(three_users(), "place")


def test_a_search_tries_it_on_the_nodes_of_graphs_only() -> None:
    network = mv.datasets.social_network(20)
    assert [name for name in network.names if mv.GraphProfiles.suits(network, name)] == [*network.names[1:]]
    assert not mv.GraphProfiles.suits(mv.Microdata.of({"x": [1, 2]}), "x")


def test_too_few_nodes_are_refused() -> None:
    with pytest.raises(DataError, match="3 records"):
        mv.GraphProfiles(k=4).mask(three_users(), seed=1)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"strict": True}, "k-member"),
        ({"topics": "mode", "ranked": ("topic1",)}, "no use"),
    ],
)
def test_settings_that_exclude_each_other_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        mv.GraphProfiles(**parameters)


def test_a_list_of_attributes_that_are_not_masked_or_not_nominal_is_refused() -> None:
    with pytest.raises(ParameterError, match="'vote', which is not among"):
        mv.GraphProfiles(k=2, ranked=("vote",)).mask(mv.datasets.social_network(20), seed=1)
    with pytest.raises(DataError, match="'age', which is numeric"):
        mv.GraphProfiles(k=2, ranked=("age",)).mask(mv.datasets.social_network(20), seed=1)


def test_a_place_that_the_hierarchy_lacks_is_refused() -> None:
    data = mv.Microdata.of({"place": ["Brooklyn", "Graz"]}, mv.Schema([places(["Brooklyn"])]))
    with pytest.raises(DataError, match="categories that its hierarchy lacks"):
        mv.GraphProfiles(k=2).mask(data, ["place"], seed=1)


def test_the_printed_distance_is_near_only_towards_the_world() -> None:
    names = ["United States", "Brooklyn", "Washington DC", "Brooklyn"]
    data = located(names)
    profiles = profiles_of(data, ["place"], [], borda=True, place_weight=1.0)

    class Drawn:
        def permutation(self, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
            return np.arange(4)

    near = k_member(profiles, 2, Drawn(), silent, "")  # type: ignore[arg-type]
    printed = k_member(profiles, 2, Drawn(), silent, "", strict=True)  # type: ignore[arg-type]
    assert near.tolist() == [0, 1, 0, 1]  # Washington is nearer to the country than Brooklyn is
    assert printed.tolist() == [0, 0, 1, 1]  # from the country all are equally far, and the first is taken


def test_places_count_as_much_as_they_are_told_to() -> None:
    names = ["Brooklyn", "Brooklyn", "Washington DC", "Washington DC"]
    topics = {"x": ["a", "b", "a", "b"], "y": ["a", "b", "a", "b"]}
    data = located(names, **topics)
    by_topic = mv.GraphProfiles(k=2).mask(data, ["place", "x", "y"], seed=1)
    by_place = mv.GraphProfiles(k=2, place_weight=9).mask(data, ["place", "x", "y"], seed=1)
    assert set(by_topic.frame["place"].to_pylist()) == {"United States"}
    assert by_place.frame["place"].to_pylist() == names


def test_the_release_says_what_was_a_list_and_where_no_place_is_left() -> None:
    data = mv.Microdata.of({"home": ["Graz", "Osaka, Japan"], "t1": ["a", "b"], "t2": ["b", "a"]}, location=["home"])
    notes = mv.GraphProfiles(k=2).mask(data, ["home", "t1", "t2"], seed=1).provenance.notes
    assert "t1, t2: taken for a ranked list" in notes
    assert any(note.startswith("home: 2 records published at the coarsest level") for note in notes)
