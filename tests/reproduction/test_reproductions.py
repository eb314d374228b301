"""Every reproduction that is quick runs, and what came out once must come out again."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from reproduction.base import AGAINST_PRINT
from reproduction.catalogue import reproductions
from reproduction.running import Outcome, run

KNOWN = reproductions()
SHORT = 2.0  # seconds, whole or quick
# what tells two readings or runs of the same printed number apart
READING = re.compile(r",? (three lowest|all four|source form|column form|file order|seed \d+)|\(c=.*\)")
TIMED = ("k-ward-times", "class-restricted-seconds", "evolved-numbers-seconds")  # differ from run to run
# tables of which every value is as printed, near print or recomputed
COMPLETE = {
    *(f"k-ward-{number}" for number in ("3.1", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "3.10", "3.11")),
    *("k-ward-trees", "k-ward-improvements", "k-ward-effort"),
    *("multivariate-variants", "multivariate-order", "learning-warm", "learning-arithmetic", "learning-6.5"),
    *("learning-6.6", "learning-errors", "learning-5.1", "blocks-random", "swapping-4.2"),
    *("representatives-5.2", "scores-3", "scores-4.3", "scores-4.8", "scores-6.5"),
    *("series-6.2", "series-6.3"),
    *("pram-4.1", "pram-4.7", "pram-4.8", "class-restricted-groupings", "evolved-matrices-arithmetic"),
}
RUN = [name for name, table in KNOWN.items() if table.extent(True)[1] <= SHORT and name not in TIMED]


@pytest.mark.usefixtures("reference_folder")
@pytest.mark.parametrize("name", RUN)
def test_it_runs_in_its_quick_form(name: str) -> None:
    table = KNOWN[name]
    outcome = run(table, quick=True)
    assert len(outcome.rows) == table.extent(True)[0]
    assert_one_verdict_each(outcome)
    if name in COMPLETE:
        assert [row.label for row in outcome.rows if row.verdict in ("differs", "disagrees")] == []


def test_the_complete_tables_are_among_those_that_are_run() -> None:
    assert set(RUN) >= COMPLETE, COMPLETE - set(RUN)


@pytest.mark.slow
@pytest.mark.usefixtures("reference_folder")
@pytest.mark.parametrize("name", sorted(set(KNOWN) - set(RUN)))
def test_long_ones_run_in_their_quick_form(name: str) -> None:
    table = KNOWN[name]
    outcome = run(table, quick=True)
    assert len(outcome.rows) == table.extent(True)[0]
    assert_one_verdict_each(outcome)


def assert_one_verdict_each(outcome: Outcome) -> None:
    """No printed number of a table is measured against print twice, and none at all where another table judges it."""
    assert len({row.label for row in outcome.rows}) == len(outcome.rows), "two rows have the same label"
    judged = [READING.sub("", row.label) for row in outcome.rows if row.verdict in AGAINST_PRINT]
    assert len(set(judged)) == len(judged), [label for label, times in Counter(judged).items() if times > 1]
    if judged:
        assert outcome.reproduction.judges
        assert not outcome.reproduction.source.startswith("recomputed")


def test_a_printed_table_is_judged_by_one_reproduction() -> None:
    judged = Counter(table for made in KNOWN.values() if made.judges for table in made.tables)
    assert {table: times for table, times in judged.items() if times > 1} == {}
    assert len(judged) > 40
    assert judged["Nin (2008) 4.11"] == 1


def test_scores_from_printed_parts_and_second_readings_judge_no_table() -> None:
    arithmetic = {"k-ward-improvements", "learning-arithmetic", *(name for name in KNOWN if name.startswith("scores-"))}
    second = {"learning-errors", "blocks-triples", "projected-order", "representatives-rescaled", "linkage-agreement"}
    assert not any(KNOWN[name].judges for name in arithmetic | second)
