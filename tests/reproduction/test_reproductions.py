"""Every reproduction that is quick runs, and what came out once must come out again."""

from __future__ import annotations

import pytest

from microveil.reproduction.catalogue import reproductions
from microveil.reproduction.running import run

KNOWN = reproductions()
SHORT = 2.0  # seconds, whole or quick
TIMED = ("k-ward-times", "class-restricted-seconds")  # differ from run to run
# tables of which every value comes out, as printed or as the specification has it
COMPLETE = {
    *(f"k-ward-{number}" for number in ("3.1", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "3.10", "3.11")),
    *("k-ward-trees", "k-ward-improvements", "k-ward-effort"),
    *("multivariate-variants", "multivariate-order", "learning-warm", "learning-arithmetic", "learning-6.5"),
    *("learning-6.6", "learning-errors", "learning-5.1", "blocks-random", "swapping-4.2"),
    *("representatives-5.2", "scores-3", "scores-4.3", "scores-4.8", "scores-6.5"),
    *("pram-4.1", "pram-4.7", "pram-4.8", "class-restricted-groupings"),
}
RUN = [name for name, table in KNOWN.items() if table.extent(True)[1] <= SHORT and name not in TIMED]


@pytest.mark.usefixtures("reference_folder")
@pytest.mark.parametrize("name", RUN)
def test_it_runs_in_its_quick_form(name: str) -> None:
    table = KNOWN[name]
    outcome = run(table, quick=True)
    assert len(outcome.rows) == table.extent(True)[0]
    assert len({row.label for row in outcome.rows}) == len(outcome.rows), "two rows have the same label"
    if name in COMPLETE:
        assert [row.label for row in outcome.rows if row.verdict == "differs"] == []


def test_the_complete_tables_are_among_those_that_are_run() -> None:
    assert set(RUN) >= COMPLETE, COMPLETE - set(RUN)


@pytest.mark.slow
@pytest.mark.usefixtures("reference_folder")
@pytest.mark.parametrize("name", sorted(set(KNOWN) - set(RUN)))
def test_long_ones_run_in_their_quick_form(name: str) -> None:
    table = KNOWN[name]
    assert len(run(table, quick=True).rows) == table.extent(True)[0]
