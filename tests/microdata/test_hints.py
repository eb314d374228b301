"""Hints: what columns look like, whatever their type, and which option says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microveil.microdata import Microdata
from microveil.microdata.description import describe_attributes
from microveil.microdata.hints import hints

N = 200
RNG = np.random.default_rng(5)
HOMES = np.repeat(np.arange(80), RNG.integers(1, 5, 80))[:N]

LOOKS: list[tuple[str, Sequence[Any], str | None]] = [
    ("x1", range(1000, 1000 + N), "identifier"),  # numbers given one by one
    ("x1", RNG.permutation(N), "identifier"),
    ("x1", 100_000_000 + RNG.choice(800_000_000, N, replace=False), "identifier"),  # as many digits
    ("x1", [float(i) for i in range(N)], "identifier"),  # whole numbers with decimals
    ("x1", [f"case {i}" for i in range(N)], "identifier"),
    ("x1", [*(f"case {i}" for i in range(N - 1)), "case 0"], "identifier"),  # nearly all
    ("x1", [f"p{i % 50}@example.org" for i in range(N)], "identifier"),
    ("x1", [f"+43 316 {1000 + i % 50}" for i in range(N)], "identifier"),
    ("x1", [f"DE{10 + i % 50}37040044053201300{i % 50:02d}" for i in range(N)], "identifier"),
    ("patient_id", RNG.integers(0, 90, N), "identifier"),
    ("policyNumber", RNG.integers(0, 90, N), "identifier"),
    ("Kundennummer", RNG.integers(0, 90, N), "identifier"),
    ("surname", [f"name {i}" for i in RNG.integers(0, 90, N)], "identifier"),
    ("x1", RNG.normal(size=N), None),  # measurements
    ("x1", RNG.normal(50, 8, N).round(), None),
    ("id_check", RNG.normal(size=N), None),
    ("number_of_rooms", RNG.integers(1, 40, N), None),
    ("x1", [f"2020-01-{1 + i % 28:02d}" for i in range(N)], None),
    ("job", RNG.choice(["cook", "nurse"], N), None),
    ("weight", RNG.uniform(1, 90, N), "weight"),
    ("AFNLWGT", RNG.integers(1000, 9000, N), "weight"),
    ("w", RNG.uniform(1, 90, N), "weight"),
    ("normalised_weight", (weights := RNG.uniform(0.5, 1.5, N)) / weights.mean(), "weight"),
    ("x1", (np.array([1031, 988, 1200]) / 7)[np.arange(N) % 3], "weight"),  # the same decimals over and over
    ("ShellWeight", RNG.uniform(0, 0.4, N), None),
    ("weight", RNG.normal(size=N), None),  # no weight is negative
    ("x1", HOMES, "household"),
    ("x1", [f"H{home}" for home in HOMES], "household"),
    ("x1", RNG.choice(90_000, 80, replace=False)[HOMES], None),  # what members share, such as their rent
    ("hhid", RNG.integers(0, 90, N), "household"),
    ("ori_hid", RNG.integers(0, 90, N), "household"),
    ("Haushaltsnummer", RNG.integers(0, 90, N), "household"),
    ("hsize", RNG.integers(1, 9, N), "categories"),
    ("year", np.repeat(np.arange(1950, 2000), 4), None),  # small groups of records, too
    ("occupation", RNG.integers(0, 60, N), "code"),
    ("OCCUCODE", RNG.integers(0, 60, N), "code"),
    ("region", RNG.integers(1, 9, N), "code"),
    ("plz", RNG.integers(1000, 9000, 40)[np.arange(N) % 40], "code"),
    ("x1", RNG.integers(1000, 9999, 40)[np.arange(N) % 40], "code"),
    ("x1", 100 * RNG.integers(10, 99, N), None),  # rounded amounts
    ("x1", RNG.integers(140, 205, N), None),  # heights
    ("x1", RNG.integers(1, 4, N), "categories"),
    ("x1", [*["1200"] * (N - 3), "n/a", "n/a", "?"], "numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "cells", "looks_like"), LOOKS)
def test_columns_are_recognised_whatever_their_type(name: str, cells: Sequence[Any], looks_like: str | None) -> None:
    found = hints(Microdata.of({name: list(cells)}))
    assert (found[name].looks_like if found else None) == looks_like


def test_a_hint_names_the_option_to_use() -> None:
    data = Microdata.of({"case": range(50), "w": np.linspace(2, 9, 50), "hh": np.arange(50) // 2, "occ": [7] * 50})
    assert {name: hint.text for name, hint in hints(data).items()} == {
        "case": "every value is distinct: an identifier? --identifiers case",
        "w": "named like a sampling weight: --weight w?",
        "hh": "named like a household number: --household hh?",
    }


def test_a_second_household_number_is_to_be_left_out() -> None:
    data = Microdata.of({"hh": np.arange(50) // 2, "home": np.arange(50) // 2 + 900, "w": [3] * 50, "wgt": [3] * 50})
    data = Microdata.of(data, household="hh", weight="w")
    assert {name: hint.text for name, hint in hints(data).items()} == {
        "home": "the same for small groups of records: a household number? --identifiers home"
    }


def test_what_has_a_role_needs_no_hint_but_that_it_is_a_code() -> None:
    cells = {"case": range(50), "w": [3.0] * 50, "pay": range(50), "zip": [8010, 8020] * 25}
    data = Microdata.of(cells, identifiers=["case"], weight="w", keys=["zip", "pay"])
    assert {name: hint.looks_like for name, hint in hints(data).items()} == {"zip": "code"}


def test_columns_of_odd_types_are_passed_over() -> None:
    table = pa.table({"list": [[1], [2]] * 15, "record": [{"a": 1}] * 30, "none": pa.nulls(30), "raw": [b"\xff"] * 30})
    assert hints(Microdata.of(table)) == {}


def test_the_survey_of_income_shows_its_household_number_its_person_number_and_its_weights(
    reference: Callable[..., Microdata],
) -> None:
    found = {name: hint.looks_like for name, hint in hints(reference("eusilc")).items() if hint.grave}
    assert found == {"db030": "household", "rb030": "identifier", "db090": "weight", "rb050": "weight"}


def test_a_description_says_what_a_column_looks_like() -> None:
    data = Microdata.of({"case": range(50), "age": [20.5, 30.25] * 25})
    case, age = describe_attributes(data)
    assert (case["looks_like"], case["hint"]) == (
        "identifier",
        "every value is distinct: an identifier? --identifiers case",
    )
    assert age["distinct"] == 2
    assert age["standard_deviation"] == pytest.approx(4.875)


def test_codes_of_a_small_file_are_pointed_out_by_their_name_although_most_are_distinct() -> None:
    rng = np.random.default_rng(1)
    data = Microdata.of({"occ": rng.integers(1000, 2200, size=600)})
    assert 0.5 * 600 < len(set(data.arrow("occ").to_pylist())) < 0.99 * 600
    assert hints(data)["occ"].text.endswith("named like a code: --nominal occ?")


@pytest.mark.parametrize("name", ["finalwt", "expansion", "gew"])
def test_usual_names_of_sampling_weights_are_pointed_out(name: str) -> None:
    data = Microdata.of({name: np.random.default_rng(1).uniform(2, 90, size=60)})
    assert hints(data)[name].text == f"named like a sampling weight: --weight {name}?"
