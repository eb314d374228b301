"""What is said about a value: measured against print, arithmetic, not in print, or without a verdict."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.base import GROUPS, MEANINGS, VERDICTS, Reproduction, Row, claim, row
from reproduction.page import number, shown
from reproduction.running import Outcome


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (Row("a", 28.18, 28.1849), "as printed"),
        (Row("a", 28.18, 28.1851), "differs"),
        (Row("a", 28.18, 28.1851, tolerance=0.01), "near print"),
        (Row("a", 28.18, 28.30, tolerance=0.12), "near print"),
        (Row("a", 28.18, 28.31, tolerance=0.12), "differs"),
        (Row("a", 28.18, 30.004, recomputed=30.0), "recomputed"),
        (Row("a", 28.18, 30.006, recomputed=30.0), "differs"),
        (Row("a", 28.18, 31.4, recomputed=30.0, near=1.5), "recomputed"),
        (Row("a", 28.18, 28.18, recomputed=30.0), "as printed"),
        (Row("a", None, 30.0, recomputed=30.0), "agrees"),
        (Row("a", None, 31.0, recomputed=30.0), "disagrees"),
        (Row("a", None, 31.0), "no comparison"),
        (Row("a", 28.18, None), "not measured"),
        (Row("a", 28.18, None, kind="fitted"), "not measured"),
        (Row("a", 28.18, math.nan), "differs"),
        (Row("a", 7, 7.4, 0), "as printed"),
        (Row("a", 7, 7.6, 0), "differs"),
        (Row("a", 28.18, 28.18, kind="arithmetic"), "adds up"),
        (Row("a", 28.18, 28.19, tolerance=0.01, kind="arithmetic"), "adds up"),
        (Row("a", 28.18, 30.0, recomputed=30.0, kind="arithmetic"), "does not add up"),
        (Row("a", None, 28.18, kind="claim", holds=True), "holds"),
        (Row("a", None, 28.18, kind="claim"), "does not hold"),
        (Row("a", None, None, kind="claim", holds=True), "not measured"),
        (Row("a", 28.18, 28.18, kind="fitted"), "fitted"),
        (Row("a", 28.18, 28.18, kind="another reading"), "another reading"),
    ],
)
def test_the_verdict_follows_from_print_tolerance_recomputation_and_kind(value: Row, verdict: str) -> None:
    assert value.verdict == verdict


def test_every_verdict_has_a_meaning_and_is_counted_in_one_group() -> None:
    assert set(MEANINGS) == set(VERDICTS)
    counted = [verdict for verdicts in GROUPS.values() for verdict in verdicts]
    assert sorted(counted) == sorted(VERDICTS)
    assert GROUPS["measured against print"] == ("as printed", "near print", "recomputed", "differs")


@given(st.integers(0, 10**6), st.integers(0, 6))
def test_a_value_that_rounds_to_print_is_as_printed(thousandths: int, decimals: int) -> None:
    value = thousandths / 1000
    assert row("a", f"{value:.{decimals}f}", value).verdict == "as printed"


@given(st.floats(-1e6, 1e6), st.floats(0, 1e3), st.floats(-1e3, 1e3))
def test_a_larger_tolerance_never_makes_a_verdict_worse(printed: float, tolerance: float, off: float) -> None:
    narrow = Row("a", printed, printed + off, tolerance=tolerance)
    wide = Row("a", printed, printed + off, tolerance=2 * tolerance + 1)
    near = ("as printed", "near print")
    assert wide.verdict in near or narrow.verdict not in near


def test_the_digits_of_a_printed_value_are_those_of_its_text() -> None:
    assert row("a", "5.6500", 5.65004).verdict == "as printed"
    assert row("a", "5.6500", 5.6504).verdict == "differs"
    assert row("a", "5.65", 5.6504).verdict == "as printed"
    assert row("a", "", 5.65).verdict == "no comparison"


def test_numbers_are_shown_with_one_digit_more_than_print() -> None:
    assert shown(Row("a", 5.6, 5.61, decimals=2)) == "5.60"
    assert number(5.6123, 2) == "5.612"
    assert number(0.0, 2) == "0.000"
    assert number(2.8132e-13, 4) == "2.81e-13"


def test_an_outcome_never_mixes_measurement_arithmetic_and_values_not_in_print() -> None:
    rows = (
        Row("a", 1.0, 1.0),
        Row("b", 1.0, 2.0),
        Row("c", None, 2.0),
        Row("d", 1.0, None),
        Row("e", 1.0, 3.0, recomputed=3.0),
        Row("f", None, 3.0, recomputed=3.0),
        Row("g", None, 4.0, recomputed=3.0),
        Row("h", 1.0, 1.0, kind="arithmetic"),
        Row("i", 1.0, 2.0, kind="arithmetic"),
        Row("j", 1.0, 1.0, kind="fitted"),
        Row("k", 1.0, 1.0, kind="another reading"),
        claim("l", True, 1.0),
        claim("m", False, 1.0),
        claim("n", False, 1.0),
    )
    made = Reproduction("some-1", "Some", "nowhere", lambda quick: iter(rows), 14, 1)
    outcome = Outcome(made, rows, False, 1.0)
    assert outcome.summary == (
        "measured against print: 1 of 3 as printed, 1 recomputed, 1 differs; arithmetic: 1 of 2 adds up, 1 does not "
        "add up; not in print: 1 of 2 agrees, 1 disagrees; claims: 1 of 3 holds, 2 does not hold; 1 not measured; "
        "1 fitted; 1 another reading; 1 no comparison"
    )
    assert outcome.to_plain()["summary"] == {
        "measured against print": {"as printed": 1, "recomputed": 1, "differs": 1},
        "arithmetic on printed values": {"adds up": 1, "does not add up": 1},
        "recomputed, not in print": {"agrees": 1, "disagrees": 1},
        "claims of the text": {"holds": 1, "does not hold": 2},
        "without a verdict": {"not measured": 1, "fitted": 1, "another reading": 1, "no comparison": 1},
    }
    assert made.family == "some"
