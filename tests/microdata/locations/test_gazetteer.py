"""The extract of the gazetteer: what it holds, how places are found by name, and that it loads quickly."""

from __future__ import annotations

import gzip
import subprocess
import sys
from importlib.resources import files

import pytest

from microveil.microdata.locations import gazetteer as module
from microveil.microdata.locations.gazetteer import Places, continents, gazetteer, places_of_extract
from microveil.microdata.locations.tree import LEVELS, folded

AREA = "Administrative area level 1"


def chains(name: str) -> list[list[str]]:
    places = gazetteer()
    return [[value for value, _ in places.chain(code)] for code in places.named(name)]


def test_the_extract_holds_what_its_page_says() -> None:
    places = gazetteer()
    page = files("microveil.microdata.locations").joinpath("GAZETTEER.md").read_text(encoding="utf-8")
    cities = places.types.count("Locality")
    names = sum(map(len, places.alternatives))
    counts = (
        f"{places.types.count('Continent')} continents, {places.types.count('Country')} countries, "
        f"{places.types.count(AREA):,} first-level regions, {cities:,} cities above 15,000 inhabitants, "
        f"and {names:,} alternative names"
    )
    assert counts in " ".join(page.split())
    assert "Creative Commons Attribution 4.0" in page
    assert cities > 30_000


def test_every_place_lies_in_a_larger_one() -> None:
    places = gazetteer()
    for code, parent in enumerate(places.parents):
        if places.types[code] == "Continent":
            assert parent == -1
        else:
            assert parent < code
            assert LEVELS[places.types[parent]] > LEVELS[places.types[code]]


def test_every_place_has_a_path_of_its_own() -> None:
    places = gazetteer()
    assert len(set(zip(places.names, places.types, places.parents, strict=True))) == len(places.names)


def test_alternative_names_are_stored_as_they_are_compared() -> None:
    places = gazetteer()
    large = [others for others in places.alternatives if others]
    assert len(large) > 2_000
    assert all(folded(other) == other != "" for others in large[::20] for other in others)


def test_cities_have_at_least_15_000_inhabitants_and_regions_the_sum_of_their_cities() -> None:
    places = gazetteer()
    sums: dict[int, int] = {}
    for code, kind in enumerate(places.types):
        if kind == "Locality":
            assert places.populations[code] >= 15_000
            sums[places.parents[code]] = sums.get(places.parents[code], 0) + places.populations[code]
    regions = [code for code, kind in enumerate(places.types) if kind == AREA]
    assert [places.populations[code] for code in regions] == [sums[code] for code in regions]


@pytest.mark.parametrize(
    ("name", "chain"),
    [
        ("Graz", ["Graz", "Styria", "Austria", "Europe"]),
        ("  gRAZ ", ["Graz", "Styria", "Austria", "Europe"]),
        ("NYC", ["New York City", "New York", "United States", "North America"]),
        ("New York, NY", ["New York City", "New York", "United States", "North America"]),
        ("Springfield, Illinois", ["Springfield", "Illinois", "United States", "North America"]),
        ("Springfield, IL", ["Springfield", "Illinois", "United States", "North America"]),
        ("springfield / illinois (USA)", ["Springfield", "Illinois", "United States", "North America"]),
        ("Washington, D.C.", ["Washington", "District of Columbia", "United States", "North America"]),
        ("Washington, D.C., US", ["Washington", "District of Columbia", "United States", "North America"]),
        ("Zanzibar Urban/West, Tanzania", ["Zanzibar Urban/West", "Tanzania", "Africa"]),
        ("Misato, Saitama, Japan", ["Misato, Saitama", "Saitama", "Japan", "Asia"]),
        ("Paris, France", ["Paris", "Île-de-France", "France", "Europe"]),
        ("Paris, Ile de France", ["Paris", "Île-de-France", "France", "Europe"]),
        ("Toronto, ON", ["Toronto", "Ontario", "Canada", "North America"]),
        ("Cologne", ["Köln", "North Rhine-Westphalia", "Germany", "Europe"]),
        ("KOELN, Deutschland", ["Köln", "North Rhine-Westphalia", "Germany", "Europe"]),
        ("Österreich", ["Austria", "Europe"]),
        ("UK", ["United Kingdom", "Europe"]),
        ("Москва", ["Moscow", "Russia", "Europe"]),
        ("東京", ["Tokyo", "Japan", "Asia"]),
        ("Europe", ["Europe"]),
        ("Springfield, Bavaria", []),
        ("Illinois, Springfield", []),
        ("Middle-earth", []),
        (", ;", []),
        ("", []),
    ],
)
def test_places_are_found_by_name_region_and_country(name: str, chain: list[str]) -> None:
    assert chains(name) == ([chain] if chain else [])


def test_every_hundredth_place_is_found_by_its_own_path() -> None:
    places = gazetteer()
    for code in range(0, len(places.names), 100):
        found = places.named(", ".join(name for name, _ in places.chain(code)))
        assert set(found) & set(places.around(code))


def test_a_name_of_several_places_finds_them_all() -> None:
    assert len(chains("Springfield")) == len(chains("Springfield, US")) == 8
    assert chains("Georgia") == [["Georgia", "Asia"], ["Georgia", "United States", "North America"]]
    assert chains("CA") == [["Canada", "North America"], ["California", "United States", "North America"]]


@pytest.mark.parametrize("name", ["Wien", "Vienna, Austria", "wien", "Viedeň"])
def test_of_places_in_each_other_with_one_name_the_largest_is_meant(name: str) -> None:
    places = gazetteer()
    (found,) = places.named(name)
    assert places.chain(found)[:2] == [("Vienna", AREA), ("Austria", "Country")]


def test_the_most_populous_of_several_places_and_what_holds_them_all() -> None:
    places = gazetteer()
    springfields = places.named("Springfield")
    largest = places.most_populous(springfields)
    assert places.chain(largest)[1] == ("Missouri", AREA)
    assert places.common_chain(springfields) == [("United States", "Country"), ("North America", "Continent")]
    assert places.common_chain(places.named("Georgia")) == []
    assert places.most_populous([5, 5]) == 5


def test_of_equally_populous_places_the_first_is_taken() -> None:
    places = Places(("A", "B"), ("Country", "Country"), (-1, -1), (7, 7), ((), ()))
    assert places.most_populous([1, 0]) == 0


def test_lines_of_the_extract_are_nested_by_their_order() -> None:
    lines = [
        "C\tAsia\t0\t",
        "N\tChina\t9\tcn|chn",
        "L\tX\t1\t",
        "R\tHebei\t1\t",
        "L\tY\t1\t",
        "N\tIran\t8\tir",
        "C\tEurope\t0\t",
    ]
    places = places_of_extract("\n".join(lines) + "\n")
    assert places.parents == (-1, 0, 1, 1, 3, 0, -1)
    assert places.populations[1] == 9_000
    assert places.alternatives[1] == ("cn", "chn")


def test_every_country_has_a_continent() -> None:
    known = continents()
    assert known["austria"] == "Europe"
    assert known["usa"] == "North America"
    assert known["deutschland"] == "Europe"


def test_the_file_is_small_and_names_no_time_of_making() -> None:
    packed = files("microveil.microdata.locations").joinpath("gazetteer.csv.gz").read_bytes()
    assert len(packed) < 700_000
    assert packed[4:8] == b"\0\0\0\0"
    assert gzip.decompress(packed).decode("utf-8").endswith("\n")


def test_the_gazetteer_is_read_when_it_is_first_needed_and_quickly() -> None:
    gazetteer.cache_clear()
    program = (
        "import time\n"
        f"from {module.__name__} import gazetteer\n"
        "from microveil.microdata.locations import GazetteerProvider, LocationTree\n"
        "provider = GazetteerProvider()\n"
        "assert gazetteer.cache_info().currsize == 0\n"
        "began = time.process_time()\n"
        "provider.chain('Graz')\n"
        "print(time.process_time() - began)\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(answer.stdout) < 1.0  # half a second on an idle machine
