"""From written names to a tree of locations: providers, types of geocoders, and what is said of names not found."""

from __future__ import annotations

from pathlib import Path

import pytest

from microveil.errors import DataError, FileError, ParameterError, UnknownNameError
from microveil.microdata.locations.resolving import (
    Ambiguous,
    Chain,
    GazetteerProvider,
    TableProvider,
    completed_chain,
    location_tree,
    typed_chain,
)

AREA = "Administrative area level 1"
POLITICAL = "political"


class StoredAnswers:
    """A geocoder's stored answers, which counts how often it is asked."""

    def __init__(self, **answers: Chain | Ambiguous) -> None:
        self.answers, self.asked = answers, list[str]()

    def chain(self, name: str) -> Chain | Ambiguous | None:
        self.asked.append(name)
        return self.answers.get(name)


US: Chain = [("New York State", ["administrative_area_level_1", POLITICAL]), ("United States", ["country", POLITICAL])]
ANSWERS = StoredAnswers(
    Brooklyn=[("Brooklyn", [POLITICAL, "sublocality", "sublocality_level_1"]), ("New York City", ["locality"]), *US],
    NYC=[("New York City", ["locality", POLITICAL]), *US],
    Springfield=Ambiguous(8),
)


@pytest.mark.spec("06:SG-05")
def test_the_tree_has_the_whole_path_of_every_value_that_occurs() -> None:
    found = location_tree(["Brooklyn", "NYC"], ANSWERS)
    tree = found.tree
    assert dict(zip(tree.names, tree.types, strict=True)) == {
        "World": "World",
        "North America": "Continent",
        "United States": "Country",
        "New York State": AREA,
        "New York City": "Locality",
        "Brooklyn": "Sublocality",
    }
    path = ("Brooklyn", "New York City", "New York State", "United States", "North America", "World")
    assert tree.path(found.of_name["Brooklyn"]) == path
    for start in range(len(path)):
        assert tree.path(tree.code(path[start:])) == path[start:]
    assert tree.alternatives[found.of_name["NYC"]] == ("NYC",)


@pytest.mark.spec("06:SG-05")
def test_names_not_found_are_at_world_and_counted() -> None:
    column = ["Brooklyn", "Middle-earth", None, "Springfield", "Middle-earth", " ", float("nan"), "Brooklyn"]
    found = location_tree(column, ANSWERS)
    assert found.unknown == ("Middle-earth",)
    assert found.ambiguous == {"Springfield": 8}
    assert (found.missing, found.records_at_world) == (3, 6)
    root, brooklyn = found.tree.root, found.of_name["Brooklyn"]
    assert found.codes(column).tolist() == [brooklyn, root, root, root, root, root, root, brooklyn]
    assert found.note == (
        "found 1 of 3 names, at 1 location; unknown: 1; more than one place: 1; at World: 6 records, of these without "
        "a name: 3"
    )


def test_each_name_is_asked_for_once() -> None:
    provider = StoredAnswers(**ANSWERS.answers)
    location_tree(["NYC", "Brooklyn", "NYC", None, "Middle-earth"], provider)
    assert provider.asked == ["NYC", "Brooklyn", "Middle-earth"]


def test_a_column_without_names_gives_the_world_alone() -> None:
    found = location_tree([None, ""], ANSWERS)
    assert found.tree.names == ("World",)
    assert found.records_at_world == 2
    assert location_tree([], ANSWERS).codes([]).tolist() == []


def test_a_name_that_was_not_resolved_is_refused_later() -> None:
    with pytest.raises(ParameterError, match="resolve all names"):
        location_tree(["NYC"], ANSWERS).codes(["Brooklyn"])


@pytest.mark.spec("06:SG-06")
@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        (["locality", POLITICAL], "Locality"),
        ([POLITICAL, "sublocality", "sublocality_level_1"], "Sublocality"),
        ([POLITICAL], "Political"),
        (POLITICAL, "Political"),
        ("country", "Country"),
        (["establishment", "point_of_interest"], "Point of interest"),
        (["establishment"], None),
        ([POLITICAL, "ward"], None),
        ([], None),
    ],
)
def test_the_first_type_other_than_political_counts(given: str | list[str], chosen: str | None) -> None:
    above = [("Austria", "Country")] if chosen != "Country" else []
    whole = typed_chain([("Spot", "route"), ("X", given), *above])
    assert whole == [("Spot", "Route"), *([("X", chosen)] if chosen else []), *above]


@pytest.mark.spec("06:SG-06")
def test_a_location_of_unknown_type_is_kept_at_level_0_and_told() -> None:
    provider = StoredAnswers(Tower=[("Tower", "establishment"), ("Ward 1", "ward"), ("Graz", "locality")])
    found = location_tree(["Tower"], provider)
    assert found.untyped == ("Tower",)
    assert found.tree.path(found.of_name["Tower"]) == ("Tower", "Graz", "World")
    assert found.tree.level[found.of_name["Tower"]] == 0


def test_levels_that_fall_are_refused() -> None:
    provider = StoredAnswers(Odd=[("Austria", "country"), ("Graz", "locality")])
    with pytest.raises(DataError, match="levels must not fall towards World"):
        location_tree(["Odd"], provider)


@pytest.mark.parametrize(
    ("chain", "above"),
    [
        ([("Österreich", "Country")], [("Europe", "Continent"), ("World", "World")]),
        ([("Nowhere", "Country")], [("World", "World")]),
        ([("Graz", "Locality")], [("World", "World")]),
        ([("Austria", "Country"), ("Old World", "Continent")], [("World", "World")]),
        ([("Austria", "Country"), ("Europe", "Continent"), ("World", "World")], []),
    ],
)
def test_continent_and_world_are_appended_where_they_are_missing(
    chain: list[tuple[str, str]], above: list[tuple[str, str]]
) -> None:
    assert completed_chain(chain, None) == [*chain, *above]


def test_continents_of_ones_own_replace_those_of_the_gazetteer() -> None:
    found = location_tree(["Brooklyn"], ANSWERS, continent_of={"united states": "Americas"})
    assert "Americas" in found.tree.names
    assert "North America" not in found.tree.names


def test_a_hierarchy_has_the_names_of_the_column_as_categories() -> None:
    found = location_tree(["NYC", "Brooklyn", "Middle-earth"], ANSWERS)
    by_level = found.hierarchy()
    assert by_level.categories(0) == ("NYC", "Brooklyn", "Middle-earth")
    assert by_level.categories(1) == ("New York City", "World")
    assert by_level.categories(5) == ("United States", "World")
    assert found.hierarchy(fill="world").paths[2] == ("Middle-earth",) + ("World",) * 6


def test_the_gazetteer_says_how_many_places_a_name_has_and_takes_one_only_when_asked() -> None:
    assert GazetteerProvider().chain("Springfield") == Ambiguous(8)
    assert GazetteerProvider().chain("Middle-earth") is None
    populous = GazetteerProvider("most populous").chain("Springfield")
    assert populous is not None
    assert not isinstance(populous, Ambiguous)
    assert populous[1] == ("Missouri", AREA)
    above = location_tree(["Springfield", "Georgia", "NYC"], GazetteerProvider("common ancestor"))
    assert {name: above.tree.names[code] for name, code in above.of_name.items()} == {
        "Springfield": "United States",
        "Georgia": "World",
        "NYC": "New York City",
    }
    assert above.records_at_world == 0
    with pytest.raises(UnknownNameError, match="did you mean 'most populous'"):
        GazetteerProvider("most popular")  # type: ignore[arg-type]


PARENTS = """name,type,parent,population,alternatives
Austria,Country,,9000000,Österreich|AT
Styria,administrative_area_level_1,Austria,,
Graz,locality,styria,290000,Gradec
Neustadt,Locality,Styria,500,
Neustadt,Locality,Austria,700,
"""
PATHS = """Country;Locality;Administrative area level 1;alternatives;population
Austria;Graz;Styria;Gradec;290000
Austria;Neustadt;Styria;;500
Austria;Neustadt;;;700
Austria;;;Österreich|AT;9000000
"""


@pytest.mark.parametrize("text", [PARENTS, PATHS, PARENTS.replace(",", "\t"), "\ufeff" + PATHS])
def test_a_table_of_ones_own_has_a_parent_or_a_path_in_each_row(text: str) -> None:
    table = TableProvider.of_csv(text)
    graz = [("Graz", "Locality"), ("Styria", AREA), ("Austria", "Country")]
    assert table.chain("Gradec") == table.chain("graz, AT") == graz
    assert table.chain("österreich") == graz[2:]
    assert table.chain("Neustadt") == Ambiguous(2)
    assert table.chain("Neustadt, Styria") == [("Neustadt", "Locality"), *graz[1:]]
    assert table.chain("Linz") is None
    assert TableProvider.of_csv(text, ambiguous="most populous").chain("Neustadt") == [
        ("Neustadt", "Locality"),
        graz[2],
    ]
    assert location_tree(["Graz"], table).tree.names[1] == "Europe"


def test_a_table_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "places.csv"
    file.write_text(PATHS, encoding="utf-8")
    assert TableProvider.read(file) == TableProvider.of_csv(PATHS)
    assert TableProvider.read(file, ambiguous="common ancestor").chain("Neustadt") == [
        ("Austria", "Country"),
        ("World", "World"),
    ]
    file.write_bytes(b"Locality,Country\n\xff,Austria\n")
    with pytest.raises(FileError, match=r"places.csv: is not UTF-8 text"):
        TableProvider.read(file)
    file.write_text("name,type,parent\nGraz,Town,\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"places.csv: line 2: the type is not known"):
        TableProvider.read(file)
    with pytest.raises(FileError, match="no such file"):
        TableProvider.read(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a table of places has no rows"),
        ("name,parent\nGraz,\n", "needs the columns name and type; type is not there"),
        ("name,kind\nGraz,Locality\n", "or columns named after types: Route"),
        ("alternatives\nGraz\n", "or columns named after types"),
        ("name,type,parent\n,Locality,\n", "line 2: the place has no name"),
        ("name,type,parent\nGraz,Locality,Styria\n", "line 2: the parent has no row of its own"),
        ("name,type,parent\nGraz,World,\n", "line 2: the type is not known"),
        ("name,type,parent\nA,Country,\na,Country,\nB,Locality,A\n", "line 4: 2 rows have the name of the parent"),
        ("name,type,parent\nA,Country,\nB,Route,A\nB,Locality,A\n", "line 4: name and parent are those of line 3"),
        ("name,type,parent\nA,Country,B\nB,Country,A\n", "line 2: the parents of this place lead back"),
        ("name,type,parent\nA,Locality,\nB,Country,A\n", "line 3: the type Country is larger than Locality"),
        ("name,type,parent,population\nA,Locality,,many\n", "line 2: the population is not a whole number"),
        ("Locality,Country\nGraz,Austria\nGraz,Austria\n", "line 3: this path stands in line 2 already"),
        ("Locality,population\n,5\n", "line 2: the path has no places"),
        ("Locality,Country\nGraz\n", "line 2: it has 1 cells where the first has 2"),
    ],
)
def test_a_table_that_is_wrong_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        TableProvider.of_csv(text)


def test_errors_do_not_repeat_what_stands_in_a_table() -> None:
    with pytest.raises(DataError) as told:
        TableProvider.of_csv("name,type,parent\nSecretville,Locality,Hiddenland\n")
    assert "Secretville" not in str(told.value)
    assert "Hiddenland" not in str(told.value)
