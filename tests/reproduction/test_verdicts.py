"""What is said about a value: exact, within, as the specification found, differs, or nothing to compare."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.reproduction.base import MEANINGS, VERDICTS, Reproduction, Row, row
from microveil.reproduction.page import number, shown
from microveil.reproduction.running import Outcome


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (Row("a", 28.18, 28.1849), "exact"),
        (Row("a", 28.18, 28.1851), "differs"),
        (Row("a", 28.18, 28.1851, tolerance=0.01), "within"),
        (Row("a", 28.18, 28.30, tolerance=0.12), "within"),
        (Row("a", 28.18, 28.31, tolerance=0.12), "differs"),
        (Row("a", 28.18, 30.004, found=30.0), "as the specification found"),
        (Row("a", 28.18, 30.006, found=30.0), "differs"),
        (Row("a", 28.18, 31.4, found=30.0, near=1.5), "as the specification found"),
        (Row("a", 28.18, 28.18, found=30.0), "exact"),
        (Row("a", None, 30.0, found=30.0), "as specified"),
        (Row("a", None, 31.0, found=30.0), "differs"),
        (Row("a", None, 31.0), "no printed value"),
        (Row("a", 28.18, None), "not measured"),
        (Row("a", 28.18, math.nan), "differs"),
        (Row("a", 7, 7.4, 0), "exact"),
        (Row("a", 7, 7.6, 0), "differs"),
    ],
)
def test_the_verdict_follows_from_print_tolerance_and_specification(value: Row, verdict: str) -> None:
    assert value.verdict == verdict
    assert value.comes_out == (verdict in ("exact", "within", "as the specification found", "as specified"))


def test_every_verdict_has_a_meaning() -> None:
    assert tuple(MEANINGS) == ("exact", "within", "as the specification found", "as specified", "differs",
                               "no printed value", "not measured")  # fmt: skip
    assert set(MEANINGS) == set(VERDICTS)


@given(st.integers(0, 10**6), st.integers(0, 6))
def test_a_value_that_rounds_to_print_is_exact(thousandths: int, decimals: int) -> None:
    value = thousandths / 1000
    assert row("a", f"{value:.{decimals}f}", value).verdict == "exact"


@given(st.floats(-1e6, 1e6), st.floats(0, 1e3), st.floats(-1e3, 1e3))
def test_a_larger_tolerance_never_makes_a_verdict_worse(printed: float, tolerance: float, off: float) -> None:
    narrow = Row("a", printed, printed + off, tolerance=tolerance)
    wide = Row("a", printed, printed + off, tolerance=2 * tolerance + 1)
    assert wide.comes_out or not narrow.comes_out


def test_the_digits_of_a_printed_value_are_those_of_its_text() -> None:
    assert row("a", "5.6500", 5.65004).verdict == "exact"
    assert row("a", "5.6500", 5.6504).verdict == "differs"
    assert row("a", "5.65", 5.6504).verdict == "exact"
    assert row("a", "", 5.65).verdict == "no printed value"


def test_numbers_are_shown_with_one_digit_more_than_print() -> None:
    assert shown(Row("a", 5.6, 5.61, decimals=2)) == "5.60"
    assert number(5.6123, 2) == "5.612"
    assert number(0.0, 2) == "0.000"
    assert number(2.8132e-13, 4) == "2.81e-13"


def test_an_outcome_counts_printed_values_and_those_not_in_print_apart() -> None:
    rows = (
        Row("a", 1.0, 1.0),
        Row("b", 1.0, 2.0),
        Row("c", None, 2.0),
        Row("d", 1.0, None),
        Row("e", 1.0, 3.0, found=3.0),
        Row("f", None, 3.0, found=3.0),
        Row("g", None, 4.0, found=3.0),
    )
    made = Reproduction("some-1", "Some", "nowhere", lambda quick: iter(rows), 7, 1)
    outcome = Outcome(made, rows, False, 1.0)
    assert (outcome.right, outcome.compared) == (2, 3)
    assert outcome.summary == (
        "2 of 3 printed values come out (1 exact, 1 as the specification found, 1 differs, 1 not measured); "
        "1 of 2 without print as specified; 1 with nothing to compare"
    )
    assert (outcome.as_specified, outcome.specified) == (1, 2)
    assert outcome.to_plain()["summary"]["without print"] == {
        "right": 1, "compared": 2, "as specified": 1, "differs": 1, "no printed value": 1,
    }  # fmt: skip
    assert made.family == "some"
