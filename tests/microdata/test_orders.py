"""Ordered categories: which orders are seen, and that others are asked for."""

from __future__ import annotations

import random

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from microveil.errors import SchemaError
from microveil.microdata import Microdata
from microveil.microdata.orders import in_order

KNOWN = [
    ("0-9", "10-49", "50-249", "250+"),
    ("(0,5]", "(5,9]", "(9,12]"),
    ("[0,10)", "[10,20)", "[20,inf)"),
    ("<18", "18-64", "65+"),
    ("<=18", ">18"),
    ("E20", "E200", "E1000"),
    ("0-999 EUR", "1000-1999 EUR", "2000+ EUR"),
    ("$0-$10", "$10-$20"),
    ("0 to 4", "5 to 9", "10 to 14"),
    ("under 5 years", "5 years", "6 years and over"),
    ("0", "1-2", "3+"),
    ("1", "2", "10"),
    ("999-1,000", "1,001-20,000"),
    ("-5-0", "0-5"),
    ("0-1.5", "1.5-2.5"),
    ("age 5-9", "age 10-49"),
    ("grade 2", "grade 11"),
    ("9th", "10th", "11th"),
    ("1st", "2nd", "3rd", "4th"),
    ("1 low", "2 middle", "3 high"),
    ("2. middle", "4. high", "11. highest"),
    ("2019-11", "2020-02"),
    ("low", "medium", "high"),
    ("S", "M", "L", "XL"),
    ("poor", "fair", "good", "very good", "excellent"),
    ("Strongly disagree", "Disagree", "Agree"),
    ("March", "April", "December"),
    (1, 2, 10),
    (0.5, 2.0),
    (False, True),
]
UNKNOWN = [
    ("red", "green"),
    ("odd", "small", "large"),
    ("a", "b", "c"),
    ("a1", "b2"),
    ("6 months", "2 years"),
    ("L", "M", "H"),
    ("10", "10.0"),
    ("Mon", "Tue"),
]


@pytest.mark.parametrize("expected", KNOWN, ids=lambda categories: str(categories[-1]))
def test_categories_that_say_their_order_come_in_it(expected: tuple[str, ...]) -> None:
    mixed = list(expected)
    random.Random(3).shuffle(mixed)
    assert in_order(mixed) == expected
    assert in_order(mixed[::-1]) == expected


@pytest.mark.parametrize("categories", UNKNOWN, ids=lambda categories: str(categories[-1]))
def test_an_order_that_cannot_be_seen_is_asked_for_in_one_sentence(categories: tuple[str, ...]) -> None:
    assert in_order(categories) is None
    with pytest.raises(SchemaError, match="'v' is ordinal, but the order of its categories is not known") as refusal:
        Microdata.of({"v": list(categories)}, ordinal=["v"])
    assert '--ordinal "v=low<medium<high"' in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_order_found_is_that_of_the_domain_and_of_the_codes() -> None:
    data = Microdata.of({"size": ["250+", "10-49", "0-9", "50-249", None]}, ordinal=["size"])
    assert data.domain("size") == ("0-9", "10-49", "50-249", "250+", None)
    assert data.categories("size").codes.tolist() == [3, 1, 0, 2, 4]


def test_missing_codes_do_not_disturb_the_order() -> None:
    data = Microdata.of({"size": ["10-49", "refused", "0-9"]})
    coded = data.schema.replacing(data["size"].changed(kind="ordinal", missing_codes=("refused",)))
    assert data.with_schema(coded).domain("size") == ("0-9", "10-49", "refused")


def test_a_schema_without_a_domain_is_asked_for_it_too() -> None:
    data = Microdata.of({"size": ["odd", "even"]})
    with pytest.raises(SchemaError, match="domain in the schema"):
        data.with_schema(data.schema.replacing(data["size"].changed(kind="ordinal")))


def test_an_order_can_be_given_with_the_names() -> None:
    data = Microdata.of({"v": ["b", "a", "c"], "n": [3, 1, 2]}, ordinal={"v": ["c", "a", "b"], "n": None})
    assert data.domain("v") == ("c", "a", "b")
    assert data.domain("n") == (1, 2, 3)
    # typed on a command line, numbers are texts
    assert Microdata.of({"n": [3, 1, 2]}, ordinal={"n": ["2", "3", "1"]}).domain("n") == (2, 3, 1)
    with pytest.raises(SchemaError, match="a list of categories"):
        Microdata.of({"v": ["b", "a"]}, ordinal={"v": "ba"})


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"v": pd.Categorical(["b", "a"], categories=["b", "c", "a"], ordered=True)}),
        pl.DataFrame({"v": ["b", "a"]}, schema={"v": pl.Enum(["b", "c", "a"])}),
        pa.table({"v": pa.DictionaryArray.from_arrays([0, 2], ["b", "c", "a"], ordered=True)}),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_ordered_categories_of_a_frame_keep_their_order(table: object) -> None:
    assert Microdata.of(table).domain("v") == ("b", "c", "a")
    assert Microdata.of(table, ordinal=["v"]).domain("v") == ("b", "c", "a")


def test_ordered_numbers_of_pandas_keep_their_order() -> None:
    frame = pd.DataFrame({"v": pd.Categorical([1, 2], categories=[3, 1, 2], ordered=True)})
    assert Microdata.of(frame).domain("v") == (3, 1, 2)


def test_categories_of_a_frame_without_order_are_asked_for_one() -> None:
    with pytest.raises(SchemaError, match="order"):
        Microdata.of(pd.DataFrame({"v": pd.Categorical(["b", "a"])}), ordinal=["v"])
