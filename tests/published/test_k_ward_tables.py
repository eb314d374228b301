"""Tables 3.1 to 3.11 of the k-Ward family, as they are rebuilt; every printed value that comes out must."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType

import pytest

from reproduction.base import Row

Rebuilt = Callable[[str], ModuleType]


@pytest.fixture(scope="module")
def k_ward(rebuilt: Rebuilt) -> ModuleType:
    return rebuilt("k_ward")


def missed(rows: Iterable[Row]) -> dict[str, float]:
    """The rows that do not come out to every digit known, with their differences from print."""
    found = list(rows)
    assert found
    return {r.label: r.difference or 0.0 for r in found if r.verdict in ("near print", "differs")}


@pytest.mark.spec("01:EX-1")
@pytest.mark.parametrize("file", ["tarragona", "census"])
def test_the_files_are_those_of_the_source(k_ward: ModuleType, file: str) -> None:
    """Tables 3.1 and 3.2: six figures of thirteen columns each, to every printed digit."""
    lines = list(k_ward.summaries(file))
    assert len(lines) == 6 * 13
    assert missed(lines) == {}


@pytest.mark.spec("01:EX-2")
@pytest.mark.parametrize("file", ["tarragona", "census"])
@pytest.mark.parametrize("method", ["kw", "kwd"])
def test_table_3_3_comes_out_in_all_columns(k_ward: ModuleType, file: str, method: str) -> None:
    lines = list(k_ward.table("3.3", file, method))
    assert len(lines) == 13
    assert missed(lines) == {}


@pytest.mark.spec("01:EX-2", "01:EX-3", "01:EX-4")
@pytest.mark.parametrize("file", ["tarragona", "census"])
def test_the_distances_that_each_version_computes(k_ward: ModuleType, file: str) -> None:
    """What stands for the printed times: merges and distances of kW, kWD and kWR, as recomputed independently."""
    lines = list(k_ward.efforts(file))
    assert len(lines) == 5 * 13
    assert missed(lines) == {}
    measured = {row.label: row.measured or 0.0 for row in lines}
    for column in range(1, 14):
        every_pair = measured[f"{file} Var{column} kw"]
        assert measured[f"{file} Var{column} kwd"] < 0.01 * every_pair
        assert measured[f"{file} Var{column} kwr_dynamic"] < 0.4 * every_pair


@pytest.mark.spec("01:EX-2", "01:EX-3", "01:EX-4", "01:EX-5")
def test_every_printed_improvement_is_the_share_of_time_saved(k_ward: ModuleType) -> None:
    found = list(k_ward.savings())
    assert len(found) == 7 * 13
    assert all(abs(row.difference) <= 0.0111 for row in found)


def test_times_are_taken_of_every_version(k_ward: ModuleType) -> None:
    taken = k_ward.times("tarragona", (11,))
    assert list(taken) == ["kw", "kwd", "kwr-fixed", "kwr-dynamic", "kwdr-fixed", "kwdr-dynamic"]
    assert min(taken.values()) > 0


@pytest.mark.spec("01:EX-3")
def test_table_3_4_comes_out_but_for_three_columns_that_nobody_has_reproduced(k_ward: ModuleType) -> None:
    off = missed(k_ward.table("3.4", "tarragona", "kwr-fixed"))
    assert sorted(off) == [f"tarragona kwr-fixed Var{column}" for column in (10, 11, 7)]
    assert max(map(abs, off.values())) < 0.005


@pytest.mark.spec("01:EX-3")
def test_the_lost_table_3_5_has_the_computed_losses(k_ward: ModuleType) -> None:
    assert missed(k_ward.lost_table()) == {}


@pytest.mark.spec("01:EX-4")
def test_tables_3_6_and_3_7_come_out_but_for_one_column(k_ward: ModuleType) -> None:
    assert missed(k_ward.table("3.6", "tarragona", "kwr-dynamic")) == {}
    # printed 0.005, against the source's own claim that it equals kW (0.003)
    lines = {row.label: row.verdict for row in k_ward.table("3.7", "census", "kwr-dynamic")}
    assert [label for label, verdict in lines.items() if verdict != "as printed"] == ["census kwr-dynamic Var10"]
    assert lines["census kwr-dynamic Var10"] == "recomputed"


@pytest.mark.spec("01:EX-5")
def test_tables_3_8_and_3_9_come_out_but_for_columns_full_of_ties(k_ward: ModuleType) -> None:
    off = missed(k_ward.table("3.8", "tarragona", "kwdr-fixed"))
    assert sorted(off) == ["tarragona kwdr-fixed Var10", "tarragona kwdr-fixed Var11"]
    ties = missed(k_ward.table("3.9", "census", "kwdr-dynamic"))
    assert list(ties) == [f"census kwdr-dynamic Var{column}" for column in (10, 11, 12, 13)]
    assert max(map(abs, (*off.values(), *ties.values()))) < 0.005


@pytest.mark.spec("01:EX-6")
def test_the_projected_tables_come_out_but_for_one_value(k_ward: ModuleType) -> None:
    off = missed(k_ward.projected("tarragona"))
    assert list(off) == ["tarragona component kwr 0.8"]
    assert abs(off["tarragona component kwr 0.8"]) < 0.015
    # of the lost Table 3.11 independent recomputations
    assert missed(k_ward.projected("census")) == {}


@pytest.mark.spec("01:EX-3", "01:EX-4")
def test_columns_are_divided_as_in_the_independent_recomputation(k_ward: ModuleType) -> None:
    found = list(k_ward.trees())
    assert len(found) == 4 * 13
    assert missed(found) == {}
