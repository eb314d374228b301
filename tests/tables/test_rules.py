"""Primary rules, by hand."""

from __future__ import annotations

from typing import Any

import pytest

import microveil as mv
from microveil.errors import MicroveilError
from microveil.tables import Aggregated, Respondents, rule_of


def cell(values: list[float], rule: str, **options: Any) -> bool:
    """Whether a rule makes a cell of these contributions primary, beside one that is safe under all rules."""
    data = {"kind": ["a"] * len(values) + ["b"] * 50, "value": [*values, *[10.0] * 50]}
    for name, column in list(options.items()):
        if isinstance(column, list):
            data[name] = column + [f"other {i}" for i in range(50)]
            options[name] = name
    made = mv.table(data, ["kind"], "value", rules=[rule], method="none", source=Respondents(**options))
    return bool(made.primary[[made.name(i)["kind"] for i in range(3)].index("a")])


@pytest.mark.spec("01:DAT-1")
@pytest.mark.parametrize(
    ("values", "rule", "primary"),
    [
        ([5, 5], "frequency 3", True),
        ([5, 5, 5], "frequency 3", False),
        ([86, 7, 7], "dominance 1 85", True),
        ([85, 8, 7], "dominance 1 85", False),
        ([50, 40, 10], "dominance 2 85", True),
        ([50, 30, 10, 10], "dominance 2 85", False),
        ([100, 50, 9], "p-percent 10", True),  # the second can estimate the first as 159 - 50 = 109
        ([100, 50, 11], "p-percent 10", False),
        ([100, 50, 11], "p-q 10 50", True),
        ([100, 50, 21], "p-q 10 50", False),
        ([0, 0, 0], "zeros", True),
    ],
)
def test_a_rule_finds_cells_that_disclose_a_contributor(values: list[float], rule: str, primary: bool) -> None:
    assert cell(values, rule) is primary


def test_records_of_one_holding_are_one_contributor() -> None:
    assert not cell([5, 5, 5], "frequency 3")
    assert cell([5, 5, 5], "frequency 3", holding=["x", "x", "y"])
    assert cell([45, 45, 5, 5], "dominance 1 85", holding=["x", "x", "y", "z"])


def test_contributors_who_consent_need_no_protection() -> None:
    assert not cell([5, 5], "frequency 3", waiver=["yes", "yes"])
    assert cell([5, 5], "frequency 3", waiver=["yes", "no"])
    assert not cell([90, 5, 5], "dominance 1 85", waiver=["yes", "no", "no"])
    assert cell([90, 5, 5], "dominance 1 85", waiver=["no", "yes", "yes"])
    # the second contributor is in danger from the first, who consents but still looks
    assert cell([100, 50, 2], "p-percent 10", waiver=["yes", "no", "no"])


def test_negative_contributions_count_by_their_size() -> None:
    assert cell([-86, 7, 7], "dominance 1 85")


def test_rules_are_read_from_text() -> None:
    texts = ("frequency 4", "dominance 2 75.5", "p% 15", "p-q 10 100", "(n,k) 1 80")
    assert [rule_of(text).text for text in texts] == [
        "frequency 4", "dominance 2 75.5", "p-percent 15", "p-q 10 100", "dominance 1 80",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("dominanz 1 85", "did you mean 'dominance'"),
        ("dominance 1 85 3", "is written 'dominance N K'"),
        ("frequency three", "is not a number"),
        ("frequency 0", "greater than or equal to 1"),
        ("dominance 1 100", "less than 100"),
        ("frequency 2.5", "whole number"),
        ("", "a rule is a text"),
    ],
)
def test_what_is_no_rule_is_refused_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(MicroveilError, match=sentence.replace("'", ".")):
        rule_of(text)


def test_levels_can_come_from_the_rules() -> None:
    """For p % the cell must be able to hold what is lacking: 10 % of 100 less the 4 of the others."""
    data = {"kind": ["a"] * 3 + ["b"] * 3 + ["c"] * 9, "value": [100.0, 50, 4, 30, 30, 30, *[20.0] * 9]}
    made = mv.table(data, ["kind"], "value", rules=["p-percent 10"], protection=None)
    assert made.interval(kind="a").needed == pytest.approx((154 - 6, 154 + 6))
    assert made.passed


def test_rules_on_contributions_need_columns_that_hold_them() -> None:
    cells = {"kind": ["a", "b"], "n": [5, 5], "value": [10.0, 20.0], "first": [3.0, 3.0]}
    with pytest.raises(MicroveilError, match="2 largest contributions"):
        mv.table(cells, ["kind"], "value", rules=["p-percent 10"], source=Aggregated("n", ("first",)))
    with pytest.raises(MicroveilError, match="magnitude tables"):
        mv.table({"kind": ["a"]}, ["kind"], rules=["dominance 1 85"])
