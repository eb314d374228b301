"""Hierarchies: lookups, builders, files, and what is refused."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import FileError, MicroveilError, ParameterError, SchemaError, UnknownNameError
from microveil.microdata import Attribute, Hierarchy, Schema
from microveil.microdata.hierarchies import dates, equal_frequency, equal_width, from_bounds, prefixes, tree
from microveil.microdata.hierarchy import Intervals
from microveil.microdata.schema import make_attribute


def test_positions_stand_for_the_categories_of_a_level() -> None:
    towns = Hierarchy.of([("Graz", "South", "*"), ("Linz", "North", "*"), ("Wels", "North", "*")])
    assert towns.positions(["Wels", "Rome", "Graz"], 1).tolist() == [1, -1, 0]
    assert [towns.categories(1)[p] for p in towns.positions(["Wels", "Linz"], 1)] == ["North", "North"]


def test_looking_up_does_not_go_through_all_categories() -> None:
    """A hundred thousand lookups in a hundred thousand categories would take an hour by going through them."""
    size = 100_000
    codes = prefixes((f"{i:06d}" for i in range(size)), [3])
    assert codes.positions((f"{i:06d}" for i in range(size)), 1)[-1] == 99
    assert codes.generalise("099999", 1) == "099"


def test_numbers_are_found_among_listed_ones() -> None:
    ages = Hierarchy.of([(10, "young"), (40.0, "old"), ("25", "young")])
    assert ages.is_numeric
    assert ages.positions_of_numbers(np.array([25.0, 40.0, np.nan, 11.0]), 1).tolist() == [0, 1, -1, -1]
    with pytest.raises(SchemaError, match="not all numbers"):
        Hierarchy.of([("a", "*")]).positions_of_numbers(np.array([1.0]), 1)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30), st.integers(1, 4))
def test_every_number_lies_in_the_interval_that_its_label_says(numbers: list[int], width: int) -> None:
    intervals = equal_width(-20, 20, [width, 2 * width])
    for level in (1, 2):
        positions = intervals.positions_of_numbers(np.array(numbers, dtype=float), level)
        bounds = [-np.inf, *intervals.cuts[level - 1], np.inf]
        assert all(bounds[p] <= n < bounds[p + 1] for n, p in zip(numbers, positions, strict=True))
        assert [intervals.generalise(n, level) for n in numbers] == [intervals.categories(level)[p] for p in positions]


def test_equal_frequencies_follow_the_data_and_never_divide_ties() -> None:
    assert equal_frequency(np.arange(12), [4, 2]).cuts == ((3.0, 6.0, 9.0), (6.0,))
    assert equal_frequency([1, 1, 1, 1, 2], [5]).cuts == ((2.0,),)
    assert equal_frequency([7, 7, np.nan], [3]).categories(1) == ("*",)


def test_codes_are_shortened_level_by_level() -> None:
    diagnoses = prefixes(["I10.9", "I11.0", "J45.1"], [3, 1])
    assert diagnoses.paths[1] == ("I11.0", "I11", "I", "*")
    assert diagnoses.categories(2) == ("I", "J")
    assert prefixes([2221, 2222], [3, 2, 1], fill="*").paths[0] == ("2221", "222*", "22**", "2***", "*")


def test_dates_become_longer_periods() -> None:
    days = dates([datetime.date(2024, 5, 17), "1999-12-31", datetime.datetime(2024, 5, 17, 8)])
    assert days.paths[0] == ("2024-05-17", "2024-05", "2024-Q2", "2024", "2020s", "*")
    assert days.paths[1][1:5] == ("1999-12", "1999-Q4", "1999", "1990s")
    assert dates(["2024-05-17 08:30:00"], ["day", "year"]).paths[0] == (
        "2024-05-17 08:30:00",
        "2024-05-17",
        "2024",
        "*",
    )


def test_a_branch_that_ends_early_stands_for_itself() -> None:
    towns = tree({"South": {"Styria": ["Graz"]}, "Vienna": [], "East": ["Eisenstadt"]})
    assert towns.paths == (
        ("Graz", "Styria", "South", "*"),
        ("Vienna", "Vienna", "Vienna", "*"),
        ("Eisenstadt", "Eisenstadt", "East", "*"),
    )


def test_files_as_other_programs_write_them(tmp_path: Path) -> None:
    towns = Hierarchy.of([("Graz", "South; far", "*"), ("Linz", "North", "*")])
    towns.write(tmp_path / "h.csv", delimiter=";", header=False)
    assert (tmp_path / "h.csv").read_text() == 'Graz;"South; far";*\nLinz;North;*\n'
    assert Hierarchy.read(tmp_path / "h.csv") == towns


def test_intervals_are_written_number_by_number(tmp_path: Path) -> None:
    equal_width(0, 20, [5, 10]).over([3, 17, 9]).write(tmp_path / "ages.csv")
    assert (tmp_path / "ages.csv").read_text().splitlines()[:2] == ["level0,level1,level2", "3,< 5,< 10"]
    ages = Hierarchy.read(tmp_path / "ages.csv")
    assert ages.positions_of_numbers(np.array([9.0]), 2).tolist() == [0]


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=4, unique=True))
def test_any_category_comes_back_from_a_file(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    names = [name.encode("utf-8", "ignore").decode().replace("\0", "0") for name in names]
    written = Hierarchy.of([(f"{i}{name}", f"{name}{i}", "*") for i, name in enumerate(names)])
    path = tmp_path_factory.mktemp("hierarchy") / "h.csv"
    for delimiter in ",;\t":
        written.write(path, delimiter=delimiter, force=True)
        assert Hierarchy.read(path) == written


@pytest.mark.parametrize("name", ["two\nlines", "two\r\nlines", "two\rlines", "two\u2028lines", 'a;b;c"d;e'])
def test_line_breaks_and_separators_inside_a_category_stay(name: str, tmp_path: Path) -> None:
    towns = Hierarchy.of([(name, "South"), ("Linz", "North")])
    for header in (True, False):
        towns.write(tmp_path / "h.csv", header=header, force=True)
        assert Hierarchy.read(tmp_path / "h.csv") == towns


def test_levels_may_be_separated_by_tabs(tmp_path: Path) -> None:
    (tmp_path / "h.tsv").write_text("Graz\tSouth, far\t*\nLinz\tNorth\t*\n")
    assert Hierarchy.read(tmp_path / "h.tsv").generalise("Graz", 1) == "South, far"


def test_a_gap_in_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("Graz,South,*\nLinz,,*\n")
    with pytest.raises(FileError, match="category 'Linz' has a gap at level 1"):
        Hierarchy.read(tmp_path / "h.csv")


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: from_bounds([[(0, 10), (12, 20)]]), "level 1 leave a gap between 10 and 12"),
        (lambda: from_bounds([[(0, 10), (5, 20)]]), "level 1 overlap between 5 and 10"),
        (lambda: from_bounds([[(3, 3)]]), "ends where it begins, at 3"),
        (lambda: Intervals.of([[10, 20], [15]]), "an interval of level 1 overlaps two of level 2, at 15"),
        (lambda: Intervals.of([[20, 10]]), "the cut points of level 1 do not ascend"),
        (lambda: Intervals.of([[float("nan")]]), "not a finite number"),
        (lambda: Intervals.of([]), "no levels"),
        (lambda: Intervals.of([["x"]]), "a list of numbers"),
        (lambda: Hierarchy.of([()]), "no levels"),
        (lambda: Intervals.of([[1]]).categories(0), "level 0 are the numbers themselves"),
        (lambda: Intervals.of([[1]]).categories(2), "level 2 does not exist"),
        (lambda: equal_width(0, 20, [5, 7]), "each width must be a multiple"),
        (lambda: equal_width(5, 5, [1]), "smallest number below the largest"),
        (lambda: equal_width(0, 5, [0]), "above 0"),
        (lambda: equal_frequency([1, 2], [5, 2]), "2 must divide 5"),
        (lambda: equal_frequency([], [2]), "at least one number"),
        (lambda: prefixes(["a"], [1, 2]), "shorter from level to level"),
        (lambda: dates(["yesterday"]), "not a date"),
        (lambda: dates(["2024-01-01"], ["year", "month"]), "longer from level to level"),
        (lambda: tree({}), "no categories"),
        (lambda: tree({"South": ["Graz", None]}), "a category is empty"),
        (lambda: Hierarchy.of([(None, "*")]), "a category is empty"),
        (lambda: Hierarchy.of([("Graz", float("nan"))]), "a category is empty"),
        (lambda: Hierarchy.of([(" ", "*")]), "a category is empty"),
        (lambda: prefixes(["8010", None], [2]), "a category is empty"),
        (lambda: prefixes(["8010", ""], [2]), "a category is empty"),
        (lambda: from_bounds([[(0, 10, 20)]]), "every interval of level 1 needs two numbers"),
        (lambda: from_bounds([[(0, 10)], [("a", "b")]]), "every interval of level 2 needs two numbers"),
        (lambda: from_bounds([[5]]), "every interval of level 1 needs two numbers"),  # type: ignore[list-item]
        (lambda: equal_width(0, 1, [1e-9]), "would make more than 100,000 intervals"),
    ],
)
def test_what_contradicts_itself_is_refused_in_a_sentence(build, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises((SchemaError, ParameterError), match=says) as refusal:
        build()
    assert "\n" not in str(refusal.value)


def test_a_period_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'month'"):
        dates(["2024-01-01"], ["months"])  # type: ignore[list-item]


def test_numeric_attributes_have_hierarchies_too(tmp_path: Path) -> None:
    schema = Schema(
        [
            Attribute(name="age", kind="numeric", hierarchy=equal_width(0, 100, [5, 10])),
            Attribute(name="rooms", kind="numeric", hierarchy=Hierarchy.of([(1, "few"), (7, "many")])),
        ]
    )
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema
    assert schema.with_kinds(ordinal=["age"])["age"].hierarchy is None
    by_hand = "[attributes]\nage = { kind = 'numeric', hierarchy = { cuts = [[20, 40], [40]] } }"
    (tmp_path / "hand.toml").write_text(by_hand)
    assert Schema.read(tmp_path / "hand.toml")["age"].hierarchy == Intervals.of([[20, 40], [40]])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"kind": "nominal", "hierarchy": {"cuts": [[1]]}}, "intervals is for numeric attributes only"),
        ({"kind": "numeric", "hierarchy": [["a", "*"]]}, "categories that are not numbers"),
        ({"kind": "numeric", "hierarchy": {"widths": [1]}}, "a list of paths or cut points"),
        ({"kind": "numeric", "hierarchy": {"cuts": [[2, 1]]}}, "do not ascend"),
    ],
)
def test_a_hierarchy_that_does_not_fit_its_attribute_is_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(MicroveilError, match=says):
        make_attribute({"name": "x", **wrong})
