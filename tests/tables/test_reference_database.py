"""Cell suppression on the reference database of salaries, to every digit."""

from __future__ import annotations

import pytest

import microveil as mv

from .business_data import SALARIES

SUPPRESSION = [{"dept": "B", "sex": "M"}, {"dept": "C", "sex": "F"}]


def by_cell(made: mv.ProtectedTable) -> dict[str, tuple[float, float]]:
    return {found.cell["dept"] + found.cell["sex"]: (found.low, found.high) for found in made.intervals()}


@pytest.mark.spec("01:DAT-1", "01:SDB-6")
@pytest.mark.parametrize("method", ["elimination", "optimal"])
def test_sums_of_salaries_are_suppressed_as_in_the_worked_example(method: str) -> None:
    made = mv.table(SALARIES, ["dept", "sex"], "salary", rules=["frequency 2"], method=method, singletons=False)
    status = {"".join(made.name(i).values()): status for i, status in enumerate(made.status)}
    assert {cell for cell, found in status.items() if found == "primary"} == {"BF", "CM"}
    assert {cell for cell, found in status.items() if found == "secondary"} == {"BM", "CF"}
    assert by_cell(made) == {"BF": (3, 185), "BM": (5, 187), "CF": (0, 182), "CM": (0, 182)}
    assert made.relations() == ["(dept B, sex F) - (dept C, sex M) = 3"]
    assert made.passed


@pytest.mark.spec("01:DAT-1", "01:SDB-6")
def test_intervals_are_narrower_for_who_knows_the_range_of_salaries() -> None:
    made = mv.table(SALARIES, ["dept", "sex"], "salary", rules=["frequency 2"], singletons=False, known=(20, 100))
    expected = {"BF": (23, 100), "BM": (90, 167), "CF": (85, 162), "CM": (20, 97)}
    assert by_cell(made) == {cell: pytest.approx(ends) for cell, ends in expected.items()}


@pytest.mark.spec("01:DAT-1", "01:SDB-6")
def test_primary_cells_alone_protect_nothing() -> None:
    made = mv.table(SALARIES, ["dept", "sex"], "salary", rules=["frequency 2"], method="none")
    assert by_cell(made) == {"BF": (64, 64), "CM": (61, 61)}
    assert not made.passed


@pytest.mark.spec("01:DAT-1", "01:SDB-6")
def test_a_suppression_is_accepted_only_if_every_interval_is_wide_enough() -> None:
    """With salaries known in [20, 100] BF reaches from 23 to 100, so 30 on either side are kept and 40 are not."""

    def audited(protection: str) -> mv.ProtectedTable:
        return mv.table(
            SALARIES, ["dept", "sex"], "salary", rules=["frequency 2"], method="none", suppressed=SUPPRESSION,
            singletons=False, known=(20, 100), protection=protection,
        )  # fmt: skip

    assert audited("50%").passed
    assert not audited("60%").passed


def test_the_two_single_contributors_find_each_other_out_unless_singletons_are_protected() -> None:
    """BF and CM have one contributor each and differ by 3: whoever knows one of them knows the other."""
    naive = mv.table(SALARIES, ["dept", "sex"], "salary", rules=["frequency 2"], method="none", suppressed=SUPPRESSION)
    assert naive.audit is not None
    assert not naive.audit.short.any()  # an outsider learns too little
    assert len(naive.audit.found_out) == 2
    assert not naive.passed
    safe = mv.table(SALARIES, ["dept", "sex"], "salary", rules=["frequency 2"], method="optimal")
    assert safe.passed
    assert safe.relations() == []
    assert safe.counts["secondary"] == 4


def test_three_contributors_are_needed_unless_another_number_is_given() -> None:
    made = mv.table(SALARIES, ["dept", "sex"], "salary")
    assert made.counts["primary"] == 4
    assert made.passed
