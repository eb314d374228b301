"""The experiments on linkage without common attributes, against an independent computation of them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

NEAR = 3.0  # records of 100: near, with 10 draws
DRAWS = 10


def links(script: ModuleType, name: str, scale: str, operator: str, *families: str) -> float:
    file = script.File.of(name).scaled(scale)
    return float(script.measured(file, "DB-RL", DRAWS, operator, *families).mean())


@pytest.mark.spec("04:FZ-EXP", "04:FZ-N1N2")
@pytest.mark.parametrize("column", [2, 3])  # ordered averages with thresholds, Sugeno integrals with exponents
@pytest.mark.parametrize(("name", "scale"), [("census", "N1"), ("census", "N2"), ("wdbc", "N1"), ("wdbc", "N2")])
def test_right_links_of_100_are_near_what_is_known(
    rebuilt: Callable[[str], ModuleType], name: str, scale: str, column: int
) -> None:
    script = rebuilt("representatives")
    found = links(script, name, scale, *script.COLUMNS[column])
    assert found == pytest.approx(script.KNOWN[name, scale][column], abs=NEAR)


@pytest.mark.spec("04:FZ-EXP")
@pytest.mark.parametrize(("name", "scale", "two"), [("census", "N1", "QeQs"), ("wdbc", "N2", "QsQt")])
def test_twofold_integrals_are_near_what_is_known(
    rebuilt: Callable[[str], ModuleType], name: str, scale: str, two: str
) -> None:
    script = rebuilt("representatives")
    found = links(script, name, scale, "twofold", two[:2], two[2:])
    assert found == pytest.approx(script.KNOWN_TWOFOLD[name, scale][two], abs=NEAR)


@pytest.mark.spec("04:FZ-EXP")
def test_the_conclusions_of_the_source_hold_on_wdbc(rebuilt: Callable[[str], ModuleType]) -> None:
    """Ordered averages beat Sugeno integrals, thresholds beat exponents, and standardising beats ranging."""
    script = rebuilt("representatives")
    best = links(script, "wdbc", "N2", "owa", "Qt")
    for scale, operator, family in (("N2", "sugeno", "Qt"), ("N2", "owa", "Qe"), ("N1", "owa", "Qt")):
        assert best > links(script, "wdbc", scale, operator, family)


@pytest.mark.spec("04:FZ-BASE")
def test_simple_scores_link_few_records_of_census(rebuilt: Callable[[str], ModuleType]) -> None:
    """5 of 90 in the literature by either; by chance it is one."""
    script = rebuilt("representatives")
    file = script.File.of("census")
    for score in ("component", "z-sum"):
        attack = script.attack("representative-linkage", operator=score, released=tuple(file.names("b")))
        right = [file.drawn(draw).links(attack).value for draw in range(1, DRAWS + 1)]
        assert 2 < sum(right) / DRAWS < 15
