"""Trees of locations: what they refuse, how far locations are apart, and what holds several of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import DataError, ParameterError, SchemaError, UnknownNameError
from microveil.microdata.locations.tree import LEVELS, LocationTree, folded, known_type

AREA_1, AREA_2, AREA_3 = (f"Administrative area level {level}" for level in (1, 2, 3))
COUNTRY = [("United States", "Country"), ("North America", "Continent"), ("World", "World")]
NEW_YORK_CITY = [("New York City", "Locality"), ("New York State", AREA_1), *COUNTRY]
WASHINGTON = [("Washington DC", "Locality"), ("District of Columbia", AREA_1), *COUNTRY]


def printed_tree() -> LocationTree:
    """The example of Marés (2013), section 6.2."""
    inside = [("Brooklyn", "Sublocality"), ("Manhattan", "Sublocality"), ("Central Park", "Natural feature")]
    return LocationTree.of([*([place, *NEW_YORK_CITY] for place in inside), WASHINGTON])


TREE = printed_tree()


def code(name: str) -> int:
    return TREE.names.index(name)


@pytest.mark.spec("06:SG-06")
def test_types_have_the_levels_of_the_printed_table() -> None:
    by_level = {level: [kind for kind in LEVELS if LEVELS[kind] == level and kind != "Other"] for level in range(8)}
    assert by_level == {
        0: ["Route", "Sublocality", "Natural feature", "Point of interest", "Neighborhood"],
        1: ["Locality", "Colloquial area"],
        2: [AREA_3],
        3: [AREA_2],
        4: [AREA_1],
        5: ["Country", "Political"],
        6: ["Continent"],
        7: ["World"],
    }


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("administrative_area_level_1", AREA_1),
        ("POINT_OF_INTEREST", "Point of interest"),
        ("Neighbourhood", "Neighborhood"),
        (" locality ", "Locality"),
        ("establishment", None),
        ("", None),
    ],
)
def test_the_words_of_geocoders_are_understood(word: str, kind: str | None) -> None:
    assert known_type(word) == kind


@pytest.mark.spec("06:SG-07")
@pytest.mark.parametrize(
    ("first", "second", "distance", "printed"),
    [
        ("New York City", "Washington DC", 1, 1),
        ("Brooklyn", "United States", 5 / 7, 5 / 7),
        ("United States", "Brooklyn", 5 / 7, 1),
        ("New York City", "United States", 4 / 7, 4 / 7),
        ("Brooklyn", "World", 1, 1),
        ("Brooklyn", "Brooklyn", 0, 0),
        ("Manhattan", "Central Park", 1, 1),
    ],
)
def test_distances_are_those_of_the_source(first: str, second: str, distance: float, printed: float) -> None:
    assert TREE.distances(code(first), code(second)) == distance
    assert TREE.distances(code(first), code(second), strict=True) == printed


@pytest.mark.spec("06:SG-08")
@pytest.mark.parametrize(
    ("locations", "ancestor"),
    [
        (["Brooklyn", "Washington DC"], "United States"),
        (["Manhattan", "Central Park"], "New York City"),
        (["Washington DC", "United States", "New York City"], "United States"),
        (["Brooklyn"], "Brooklyn"),
        (["Brooklyn", "Manhattan", "World"], "World"),
    ],
)
def test_locations_are_aggregated_as_in_the_source(locations: list[str], ancestor: str) -> None:
    assert TREE.common_ancestor([code(name) for name in locations]) == code(ancestor)


@pytest.mark.spec("06:SG-07")
def test_the_distance_is_not_a_metric() -> None:
    district = [("District", AREA_3), ("County", AREA_2)]
    tree = LocationTree.of([[("A", "Locality"), *district], [("B", "Locality"), *district]])
    a, b, held_by, county = (tree.names.index(name) for name in ("A", "B", "District", "County"))
    assert tree.distances(a, b) == 1
    assert tree.distances(a, held_by) == tree.distances(held_by, b) == 1 / 7
    assert tree.distances(a, county) == 2 / 7


def test_the_common_ancestor_need_not_be_the_nearest_location() -> None:
    cities = [code("New York City")] * 4 + [code("Washington DC")]
    assert TREE.distances(cities, TREE.common_ancestor(cities)).sum() == pytest.approx(20 / 7)
    assert TREE.distances(cities, code("New York City")).sum() == 1


def test_locations_of_one_path_with_one_level_are_apart_by_eps() -> None:
    tree = LocationTree.of([[("Broadway", "Route"), ("Manhattan", "Sublocality")], [("Bowery", "Route")]])
    street, quarter, other = (tree.names.index(name) for name in ("Broadway", "Manhattan", "Bowery"))
    assert tree.distances(street, quarter) == 0
    assert tree.distances([street, quarter, street, street], [quarter, street, street, other], eps=0.1).tolist() == [
        0.1,
        0.1,
        0,
        1,
    ]
    assert tree.distances([street, quarter], [quarter, street], eps=0.1, strict=True).tolist() == [0.1, 1]


@pytest.mark.parametrize("eps", [-0.1, 1 / 7, 1.0, float("nan")])
def test_an_eps_that_would_reach_a_level_is_refused(eps: float) -> None:
    with pytest.raises(ParameterError, match="below 1/7"):
        TREE.distances(0, 1, eps=eps)


def test_names_need_not_be_unique_but_paths_are() -> None:
    chains = [[("Springfield", "Locality"), (state, AREA_1), *COUNTRY] for state in ("Illinois", "Ohio")]
    tree = LocationTree.of([*chains, chains[0]])
    assert tree.names.count("Springfield") == 2
    first, second = (
        tree.code(["Springfield", state, "United States", "North America"]) for state in ("Illinois", "Ohio")
    )
    assert first != second
    assert tree.path(second) == ("Springfield", "Ohio", "United States", "North America", "World")
    assert (tree.labels[first], tree.labels[second]) == ("Springfield, Illinois", "Springfield, Ohio")
    assert tree.names[tree.common_ancestor([first, second])] == "United States"


def test_labels_are_unique_even_if_names_have_commas() -> None:
    tree = LocationTree.of([[("A, B", "Locality")], [("A", "Locality"), ("B", "Country")], [("A", "Country")]])
    assert len(set(tree.labels)) == len(tree)
    assert all(label.startswith(name) for label, name in zip(tree.labels, tree.names, strict=True))


def test_a_region_and_its_city_of_the_same_name_are_two_locations() -> None:
    tree = LocationTree.of([[("Vienna", "Locality"), ("Vienna", AREA_1), ("Austria", "Country")]])
    assert tree.labels == ("World", "Austria", "Vienna, Austria", "Vienna, Vienna")
    assert tree.distances(3, 2) == 3 / 7


def test_arrays_say_parents_levels_and_depths() -> None:
    tree = LocationTree.of([WASHINGTON])
    assert tree.parent.tolist() == [-1, 0, 1, 2, 3]
    assert tree.level.tolist() == [7, 6, 5, 4, 1]
    assert tree.depth.tolist() == [0, 1, 2, 3, 4]
    assert tree.paths.tolist()[2] == [0, 1, 2, -1, -1]
    assert LocationTree.from_arrays(tree.names, tree.types, tree.parent) == tree
    with pytest.raises(ValueError, match="read-only"):
        tree.parent[0] = 1


def test_a_tree_is_read_back_from_its_rows() -> None:
    path: tuple[str, ...] = ("Washington DC", "District of Columbia", "United States", "North America")
    tree = LocationTree.of([WASHINGTON, NEW_YORK_CITY], {path: ["D.C.", 'the "District"']})
    assert tree.alternatives[4] == ("D.C.", 'the "District"')
    assert LocationTree.from_csv(tree.to_csv()) == tree


def test_rows_may_stand_in_any_order_with_any_ids_and_delimiter() -> None:
    tree = LocationTree.from_csv("name;id;parent;type\nGraz;g;a;locality\nAustria;a;w;COUNTRY\n\nWorld;w;;World\n")
    assert tree.names == ("Graz", "Austria", "World")
    assert (tree.root, tree.parents, tree.path(0)) == (2, (1, 2, -1), ("Graz", "Austria", "World"))
    assert tree.common_ancestor([0, 1]) == 1
    assert tree.tables([0, 1]).ancestors.tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "needs the columns id, parent, name, type; id, parent, name, type is not there"),
        ("id,parent,name,type\n", "has no rows"),
        ("id,parent,name\n1,,World\n", "type is not there"),
        ("id,parent,name,type,type\n1,,World,World,World\n", "two columns have the same name"),
        ("id,parent,name,type\n1,,World,World\n1,1,Austria,Country\n", "line 3: this id stands in it twice"),
        ("id,parent,name,type\n1,,World,World\n2,7,Austria,Country\n", "line 3: there is no location with the id"),
        ("id,parent,name,type\n1,,World,World\n2,1,Austria,Land\n", "line 3: the type is not known"),
        ("id,parent,name,type\n1,,World,World\n2,1\n", "line 3: it has 2 cells where the first has 4"),
        ("id,parent,name,type\n1,,World,World\n2,1,,Country\n", "location 1 has no name"),
        ("id,parent,name,type\n1,,Austria,Country\n", "exactly one location has no parent, which is World"),
        ("id,parent,name,type\n1,,World,World\n2,,World,World\n", "exactly one location has no parent"),
        ("id,parent,name,type\n1,,World,World\n2,1,Mars,World\n", "only the root has the type World"),
        ("id,parent,name,type\n1,,World,World\n2,3,A,Country\n3,2,B,Country\n", "2 locations have no way to World"),
        ("id,parent,name,type\n1,,World,World\n2,1,A,Country\n3,1,A,Continent\n", "two locations have the same path"),
        ("id,parent,name,type\n1,,World,World\n2,1,A,Locality\n3,2,B,Country\n", "levels must not fall towards World"),
    ],
)
def test_rows_that_are_no_tree_are_refused(text: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        LocationTree.from_csv(text)


@pytest.mark.parametrize(
    ("chains", "problem"),
    [
        ([[("Graz", "City")]], "chain 1 has a type that is not known"),
        ([["Graz"]], "chain 1 must be a list of pairs"),
        ([[("Graz", "Locality", "x")]], "chain 1 must be a list of pairs"),
        ([[("World", "World"), ("Austria", "Country")]], "chain 1 has World before its end"),
        ([[("Austria", "Country"), ("Graz", "Locality")]], "levels must not fall"),
        ([[("A", "Country")], [("A", "Political")]], "a value of chain 2 has the type Country in another chain"),
        ([[(" ", "Country")]], "location 1 has no name"),
    ],
)
def test_chains_that_make_no_tree_are_refused(chains: list[list[tuple[str, str]]], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        LocationTree.of(chains)


def test_other_bad_input_is_refused() -> None:
    with pytest.raises(DataError, match="a list of whole numbers"):
        LocationTree.from_arrays(["World"], ["World"], [0.5])
    with pytest.raises(DataError, match="must be equally many"):
        LocationTree(("World",), ("World",), (-1, 0))
    with pytest.raises(DataError, match="a parent must be a location from 0 to 1"):
        LocationTree(("World", "Asia"), ("World", "Continent"), (-1, 2))
    with pytest.raises(DataError, match=r"must not hold the character \|"):
        LocationTree(("World",), ("World",), (-1,), (("a|b",),))
    with pytest.raises(DataError, match="a path that is in no chain"):
        LocationTree.of([WASHINGTON], {("Atlantis",): ["A"]})
    for wrong in ([99], [-1]):
        with pytest.raises(ParameterError, match="a location's code is from 0 to 9"):
            TREE.distances(wrong, 0)
    with pytest.raises(ParameterError, match="whole numbers"):
        TREE.common_ancestor([0.5])
    with pytest.raises(ParameterError, match="give at least one"):
        TREE.common_ancestor([])
    for groups in ([0, 2], [0], [1, 1]):
        with pytest.raises(ParameterError, match="without gaps"):
            TREE.common_ancestors_of_groups([1, 2], groups)
    with pytest.raises(UnknownNameError, match="unknown location"):
        TREE.code(["Brooklyn"])
    with pytest.raises(ParameterError, match="by its path"):
        TREE.code("Brooklyn")


def test_the_world_alone_is_a_tree() -> None:
    tree = LocationTree.of([])
    assert tree.names == ("World",)
    assert tree.distances(0, 0) == tree.common_ancestor([0, 0]) == 0
    assert tree.hierarchy().paths == (("World",) * 8,)
    assert tree.hierarchy(fill="world").paths == (("World", "World"),)


def test_tables_hold_the_distinct_locations_of_a_file() -> None:
    file = [code(name) for name in ("Washington DC", "Brooklyn", "Washington DC", "United States")]
    tables = TREE.tables(file, strict=True)
    assert [TREE.names[c] for c in tables.codes] == ["United States", "Brooklyn", "Washington DC"]
    assert tables.positions.tolist() == [2, 1, 2, 0]
    np.testing.assert_array_equal(tables.distances, [[0, 1, 1], [5 / 7, 0, 1], [4 / 7, 1, 0]])
    assert [[TREE.names[c] for c in row] for row in tables.ancestors] == [
        ["United States", "United States", "United States"],
        ["United States", "Brooklyn", "United States"],
        ["United States", "United States", "Washington DC"],
    ]


def test_a_restricted_tree_has_what_holds_its_locations_and_nothing_else() -> None:
    small, codes = TREE.restricted_to([code("Washington DC"), code("Washington DC"), code("United States")])
    assert small == LocationTree.of([WASHINGTON])
    assert [small.names[c] for c in codes] == ["Washington DC", "Washington DC", "United States"]
    assert TREE.restricted_to([])[0] == LocationTree.of([])


def test_a_hierarchy_by_levels_repeats_what_is_missing() -> None:
    park = ("Central Park", "New York City", "New York City", "New York City", "New York State")
    above = ("United States", "North America", "World")
    hierarchy = TREE.hierarchy([code("Central Park"), code("Washington DC")])
    assert hierarchy.paths == ((*park, *above), ("Washington DC",) * 4 + ("District of Columbia", *above))


def test_a_hierarchy_by_steps_is_filled_up_with_the_world() -> None:
    hierarchy = TREE.hierarchy([code("Washington DC"), code("New York State")], fill="world")
    assert hierarchy.paths == (
        ("Washington DC", "District of Columbia", "United States", "North America", "World"),
        ("New York State", "United States", "North America", "World", "World"),
    )


def test_a_node_is_not_named_like_a_category_if_it_holds_others() -> None:
    codes = [code("Washington DC"), code("United States")]
    assert TREE.hierarchy(codes).paths == (
        ("Washington DC",) * 4 + ("District of Columbia", "anywhere in United States", "North America", "World"),
        ("United States",) * 5 + ("anywhere in United States", "North America", "World"),
    )
    assert TREE.hierarchy(codes, fill="world").paths == (
        ("Washington DC", "District of Columbia", "anywhere in United States", "North America", "World"),
        ("United States", "North America", "World", "World", "World"),
    )
    odd = TREE.hierarchy([*codes, code("Brooklyn")], ["DC", "United States", "anywhere in United States"])
    assert odd.categories(5) == ("anywhere in anywhere in United States",)


@pytest.mark.parametrize("fill", ["repeat", "world"])
def test_two_ways_to_write_a_place_meet_at_the_first_level(fill: str) -> None:
    twice = [code("New York City")] * 2
    hierarchy = TREE.hierarchy(twice, ["NYC", "New York"], fill=fill)  # type: ignore[arg-type]
    assert hierarchy.categories(0) == ("NYC", "New York")
    assert hierarchy.categories(1) == ("New York City",)


def test_a_hierarchy_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="there are: repeat, world"):
        TREE.hierarchy(fill="zero")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="1 categories are given for 2 locations"):
        TREE.hierarchy([0, 1], ["a"])
    with pytest.raises(SchemaError, match="no locations"):
        TREE.hierarchy([])
    with pytest.raises(SchemaError, match="stands in it twice"):
        TREE.hierarchy([0, 1], ["a", "a"])


@pytest.mark.parametrize(
    ("name", "compared"),
    [
        ("Besançon", "besancon"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("Tromsø", "tromso"),
        ("Aix-en-Provence ", "aix en provence"),
        ("St. John's", "st johns"),
        ("Москва", "москва"),
        ("दिल्ली", "दिल्ली"),
        ("Ｔｏｋｙｏ", "tokyo"),
        ("!?", ""),
    ],
)
def test_names_are_compared_without_case_accents_and_punctuation(name: str, compared: str) -> None:
    assert folded(name) == compared


@given(st.text(alphabet="aBÉßøİıǅµςЙガ뉴दिْ\u0301\u200dＡℌﬁ½Ω7 \u00a0-_./,'()", max_size=12))
def test_a_compared_name_is_compared_as_it_is(name: str) -> None:
    assert folded(folded(name)) == folded(name) == folded(f" {name}. ")


@st.composite
def trees(draw: st.DrawFn) -> LocationTree:
    """A tree with levels that do not fall towards World, names that repeat, and codes in any order."""
    kinds = sorted((kind for kind in LEVELS if kind != "World"), key=lambda kind: (LEVELS[kind], kind))
    types, parents = ["World"], [-1]
    for _ in range(draw(st.integers(0, 12))):
        parent = draw(st.integers(0, len(types) - 1))
        types.append(draw(st.sampled_from([kind for kind in kinds if LEVELS[kind] <= LEVELS[types[parent]]])))
        parents.append(parent)
    names = ["World"]
    for code in range(1, len(types)):
        taken = {names[other] for other in range(1, code) if parents[other] == parents[code]}
        names.append(next(name for name in draw(st.permutations("abcdefghijklm")) if name not in taken))
    order = draw(st.permutations(range(len(types))))
    new = {old: place for place, old in enumerate(order)}
    return LocationTree(
        tuple(names[old] for old in order),
        tuple(types[old] for old in order),
        tuple(new[parents[old]] if parents[old] >= 0 else -1 for old in order),
    )


def ancestors(tree: LocationTree, code: int) -> list[int]:
    """Plainly: the location itself, its parent, and so on."""
    return [code] if tree.parents[code] < 0 else [code, *ancestors(tree, tree.parents[code])]


@given(trees(), st.sampled_from([0.0, 0.05]))
def test_distances_are_those_of_the_equation(tree: LocationTree, eps: float) -> None:
    codes = np.arange(len(tree))
    table = tree.tables(codes, eps=eps).distances
    printed = tree.tables(codes, eps=eps, strict=True).distances
    for a, b in itertools.product(range(len(tree)), repeat=2):
        steps = abs(LEVELS[tree.types[a]] - LEVELS[tree.types[b]])
        near = eps if steps == 0 and a != b else steps / 7
        assert printed[a, b] == (near if b in ancestors(tree, a) else 1)
        assert table[a, b] == (near if b in ancestors(tree, a) or a in ancestors(tree, b) else 1)
    assert ((table >= 0) & (table <= 1)).all()
    assert (np.diag(table) == 0).all()
    np.testing.assert_array_equal(table, table.T)


@given(trees(), st.data())
def test_the_common_ancestor_is_the_deepest_one_that_holds_all(tree: LocationTree, data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.integers(0, len(tree) - 1), min_size=1, max_size=5))
    shared = set(range(len(tree))).intersection(*(ancestors(tree, code) for code in codes))
    found = tree.common_ancestor(codes)
    assert found in shared
    assert tree.depth[found] == max(len(ancestors(tree, code)) for code in shared) - 1
    assert tree.is_within(codes, found).all()
    folded_in_pairs = codes[0]
    for code in codes[1:]:
        folded_in_pairs = int(tree.common_ancestors(folded_in_pairs, code))
    assert folded_in_pairs == found


@given(trees(), st.data())
def test_every_group_has_its_own_common_ancestor(tree: LocationTree, data: st.DataObject) -> None:
    groups = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=9))
    groups = np.unique(groups, return_inverse=True)[1].tolist()
    codes = data.draw(st.lists(st.integers(0, len(tree) - 1), min_size=len(groups), max_size=len(groups)))
    members = [[c for c, g in zip(codes, groups, strict=True) if g == group] for group in range(max(groups) + 1)]
    found = tree.common_ancestors_of_groups(codes, groups)
    assert found.tolist() == [tree.common_ancestor(inside) for inside in members]


@given(trees(), st.data())
def test_a_restricted_tree_keeps_distances_and_paths(tree: LocationTree, data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.integers(0, len(tree) - 1), min_size=1, max_size=5))
    small, new = tree.restricted_to(codes)
    assert [small.path(code) for code in new.tolist()] == [tree.path(code) for code in codes]
    np.testing.assert_array_equal(small.distances(new[:, None], new), tree.distances(np.array(codes)[:, None], codes))


@given(trees())
def test_every_tree_is_read_back_and_becomes_a_hierarchy(tree: LocationTree) -> None:
    assert LocationTree.from_csv(tree.to_csv()) == tree
    assert len(set(tree.labels)) == len(tree)
    by_level, by_step = tree.hierarchy(), tree.hierarchy(fill="world")
    assert by_level.levels == 8
    top = {"World"} if len(tree) == 1 else {"anywhere in World"}
    assert set(by_level.categories(7)) == set(by_step.categories(by_step.levels - 1)) == top
    assert by_level.categories() == by_step.categories() == tree.labels
    for hierarchy in (by_level, by_step):
        for level in range(1, hierarchy.levels):
            for node in set(hierarchy.categories(level)) & set(tree.labels):
                assert [path[0] for path in hierarchy.paths if path[level] == node] == [node]
