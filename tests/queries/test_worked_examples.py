"""The sixteen worked examples of the reference database, to every printed digit."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from microveil.errors import DataError
from microveil.microdata import Microdata
from microveil.queries import QueryServer

Serve = Callable[..., QueryServer]
WOMEN_IN_B = "sex = 'F' AND dept = 'B'"
OTHER_WOMEN = "sex = 'F' AND dept <> 'B'"


def ask(server: QueryServer, where: str = "", statistic: str = "SUM(salary)", analyst: str = "analyst") -> float:
    answer = server.ask(f"SELECT {statistic} FROM data{' WHERE ' if where else ''}{where}", analyst)
    assert answer.reason is None
    assert answer.value is not None
    return answer.value


def refusal(server: QueryServer, where: str = "", statistic: str = "SUM(salary)", analyst: str = "analyst") -> str:
    answer = server.ask(f"SELECT {statistic} FROM data{' WHERE ' if where else ''}{where}", analyst)
    assert answer.value is None
    assert answer.interval is None
    assert answer.control is not None
    return answer.control


def interval(server: QueryServer, where: str) -> tuple[float, float]:
    found = server.ask(f"SELECT SUM(salary) FROM data WHERE {where}").interval
    assert found is not None
    return found


def test_the_sums_of_the_reference_database(serve: Serve) -> None:
    server = serve(engine="duckdb")
    asked = ["", "sex='F'", "sex='M'", "dept='A'", "dept='B'", "dept='C'", "age='Y'", "age='O'"]
    assert [ask(server, where) for where in asked] == [530, 268, 262, 158, 190, 182, 193, 337]
    assert server.database.deviation("salary") == pytest.approx(12.844151, abs=5e-7)


@pytest.mark.spec("01:SDB-6")
def test_1_size_control_refuses_small_and_large_sets(serve: Serve) -> None:
    server = serve("set-size k=3")
    for where in (WOMEN_IN_B, f"NOT ({WOMEN_IN_B})", ""):
        assert refusal(server, where, "COUNT(*)") == "set-size"
    assert ask(server, "sex = 'F'", "COUNT(*)") == 6


@pytest.mark.spec("01:SDB-2")
@pytest.mark.parametrize("k", [3, 4])
def test_2_the_individual_tracker_passes_size_control(serve: Serve, k: int) -> None:
    server = serve(f"set-size k={k}")
    counts = ask(server, "sex = 'F'", "COUNT(*)"), ask(server, OTHER_WOMEN, "COUNT(*)")
    sums = ask(server, "sex = 'F'"), ask(server, OTHER_WOMEN)
    assert (counts, sums) == ((6, 5), (268, 204))
    assert (counts[0] - counts[1], sums[0] - sums[1]) == (1, 64)


@pytest.mark.spec("01:SDB-3")
def test_3_the_general_tracker_passes_size_control(serve: Serve) -> None:
    server = serve("set-size k=3")
    young, old = ask(server, "age = 'Y'"), ask(server, "age <> 'Y'")
    with_young = ask(server, f"({WOMEN_IN_B}) OR age = 'Y'")
    with_old = ask(server, f"({WOMEN_IN_B}) OR age <> 'Y'")
    assert (young + old, with_young, with_old) == (530, 257, 337)
    assert ask(server, f"({WOMEN_IN_B}) OR age = 'Y'", "COUNT(*)") == 7
    assert ask(server, f"({WOMEN_IN_B}) OR age <> 'Y'", "COUNT(*)") == 6
    assert with_young + with_old - (young + old) == 64
    assert 2 * (young + old) - with_young - with_old == 466


@pytest.mark.spec("01:SDB-3")
def test_4_the_double_tracker_passes_larger_limits(serve: Serve) -> None:
    server = serve("set-size k=4")
    of_u, of_t = ask(server, "dept IN ('A', 'B')"), ask(server, "dept = 'B'")
    with_t = ask(server, f"({WOMEN_IN_B}) OR dept = 'B'")
    rest = ask(server, f"dept IN ('A', 'B') AND NOT ({WOMEN_IN_B} AND dept = 'B')")
    assert (of_u, with_t, of_t, rest) == (348, 190, 190, 284)
    assert of_u + with_t - of_t - rest == 64
    # for the complement of {8}, where not C is {8} itself: q(~U) - q(~C or T) + q(T) + q(U and ~(~C and T))
    assert ask(server, "dept NOT IN ('A', 'B')") - with_t + of_t + rest == 182 - 190 + 190 + 284 == 466


@pytest.mark.spec("01:SDB-4", "01:SDB-6")
def test_5_the_overlap_attack_needs_five_questions_and_determines_one_record(
    serve: Serve, listed_employees: Microdata
) -> None:
    sets = [(8, 1, 2), (8, 3, 4), (8, 5, 6), (1, 3, 5), (2, 4, 6)]
    server = serve("overlap limit=1", data=listed_employees)
    sums = [ask(server, f"id IN {members}") for members in sets]
    assert sums == [123, 163, 157, 113, 138]
    assert (sum(sums[:3]) - sums[3] - sums[4]) / 3 == 64
    audited = serve("audit", data=listed_employees)
    outcomes = [audited.ask(f"SELECT SUM(salary) FROM data WHERE id IN {members}").control for members in sets]
    assert outcomes == [None, None, None, None, "audit"]


@pytest.mark.spec("01:SDB-5")
def test_6_the_difference_of_two_means(serve: Serve) -> None:
    server = serve("set-size k=3")
    means = ask(server, "dept = 'B'", "AVG(salary)"), ask(server, "sex = 'M' AND dept = 'B'", "AVG(salary)")
    assert means == (47.5, 42)
    assert 4 * means[0] - 3 * means[1] == 64


@pytest.mark.spec("01:SDB-6")
def test_7_overlap_control_for_one_analyst_and_for_all(serve: Serve) -> None:
    server = serve("overlap limit=1")
    assert ask(server, "sex = 'F'") == 268
    assert ask(server, "dept = 'B'") == 190
    assert refusal(server, OTHER_WOMEN) == "overlap"
    assert ask(server, "sex = 'F'") == 268  # the same set again tells nothing new
    assert refusal(server, OTHER_WOMEN, analyst="another") == "overlap"
    alone = serve("overlap limit=1 analysts=each")
    ask(alone, "sex = 'F'")
    assert ask(alone, OTHER_WOMEN, analyst="another") == 204
    assert refusal(alone, OTHER_WOMEN) == "overlap"


@pytest.mark.spec("01:SDB-6")
def test_8_the_audit_refuses_exactly_what_determines_a_record(serve: Serve) -> None:
    server = serve("audit")

    def rank() -> int:
        return int(server.guards[0].known["salary", ""].rank)  # type: ignore[attr-defined]

    for where in ("dept = 'B'", "sex = 'F'", "age = 'Y'"):
        ask(server, where)
    assert rank() == 3
    for where in ("sex = 'M' AND dept = 'B'", OTHER_WOMEN, f"age = 'Y' OR ({WOMEN_IN_B})"):
        assert refusal(server, where) == "audit"
        assert refusal(server, where, "AVG(salary)") == "audit"
    ask(server, "dept = 'A'")
    ask(server, "dept = 'C'")
    assert rank() == 5
    assert ask(server, "sex = 'M'") == 262
    assert rank() == 5


@pytest.mark.spec("01:SDB-6")
def test_9_partitioning_refuses_or_snaps_and_changes_come_in_batches(serve: Serve, employees: Microdata) -> None:
    server = serve("partition by=dept k=3")
    assert ask(server, "dept = 'B'") == 190
    assert refusal(server, WOMEN_IN_B) == "partition"
    snapping = serve("partition by=dept k=3 snap=outer")
    assert ask(snapping, WOMEN_IN_B) == 190
    assert ask(snapping, WOMEN_IN_B, "COUNT(*)") == 4
    changing = serve("partition by=dept k=2")
    with pytest.raises(DataError, match="at least two records of each population"):
        changing.update(
            employees.take(np.array([0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]))
        )  # without record 6: 190 - 132 = 58
    assert ask(changing, "dept = 'B'") == 190
    changing.update(employees.take(np.array([0, 1, 2, 3, 4, 7, 8, 9, 10, 11])))  # without 6 and 7
    assert ask(changing, "dept = 'B'") == 99


@pytest.mark.spec("01:SDB-6", "01:DAT-1")
def test_10_cell_suppression(serve: Serve) -> None:
    server = serve("cell-suppression by=dept,sex minimum=2 singletons=false")
    table = server.ask("SELECT dept, sex, SUM(salary) FROM data GROUP BY dept, sex")
    assert [cell.value for _, cell in table.cells] == [83, 75, None, None, None, None]
    assert [ask(server, where) for where in ("", "sex = 'F'", "dept = 'B'")] == [530, 268, 190]
    for where in (OTHER_WOMEN, "dept IN ('A', 'B')", "age = 'Y'", f"NOT ({WOMEN_IN_B})"):
        assert refusal(server, where) == "cell-suppression"
    # the one woman in B and the one man in C know their own salaries, and with 64 - 61 = 3 each other's
    insiders = serve("cell-suppression by=dept,sex minimum=2")
    assert refusal(insiders, "dept = 'A' AND sex = 'F'") == "cell-suppression"
    assert ask(insiders, "dept = 'A'") == 158


@pytest.mark.spec("01:SDB-7")
def test_11_random_sample_queries(serve: Serve) -> None:
    server = serve("set-size k=3", "random-sample share=0.75 keyed_by=set")
    women = server.understood("SELECT SUM(salary) FROM data WHERE sex = 'F'")
    sample = server.guards[1].sample  # type: ignore[attr-defined]
    from microveil.queries.controls import Asked

    assert (sample(Asked(server.database, women, "analyst")) + 1).tolist() == [1, 8, 9, 10, 12]
    assert ask(server, "sex = 'F'", "COUNT(*)") == pytest.approx(6.6667, abs=5e-5)
    assert ask(server, "sex = 'F'") == 288
    assert ask(server, "sex = 'F'", "AVG(salary)") == pytest.approx(43.2)
    assert ask(server, OTHER_WOMEN) == 192
    assert ask(server, "sex = 'F'") - ask(server, OTHER_WOMEN) == 96
    assert refusal(server, WOMEN_IN_B) == "set-size"  # the size of the true set counts


@pytest.mark.spec("01:SDB-7", "01:SDB-9")
def test_12_output_perturbation_and_rounding(serve: Serve) -> None:
    server = serve("output-noise c=0.25 keyed_by=set")
    women = server.ask("SELECT SUM(salary) FROM data WHERE sex = 'F'")
    assert women.value == pytest.approx(265.2712, abs=5e-5)
    assert women.deviation == 7.9  # of 7.8654, two digits are told
    assert 0.25 * server.database.deviation("salary") * math.sqrt(6) == pytest.approx(7.8654, abs=5e-5)
    assert ask(server, OTHER_WOMEN) == pytest.approx(202.8268, abs=5e-5)
    assert ask(server, "sex = 'F'") - ask(server, OTHER_WOMEN) == pytest.approx(62.4444, abs=5e-5)
    assert 0.25 * server.database.deviation("salary") * math.sqrt(11) == pytest.approx(10.6498, abs=5e-5)
    assert ask(server, "sex='F'") + ask(server, "sex='M'") - ask(server) == pytest.approx(-15.9821, abs=5e-5)
    rounded = serve("rounding base=10")
    assert (ask(rounded, "sex = 'F'"), ask(rounded, OTHER_WOMEN)) == (270, 200)


@pytest.mark.spec("01:SDB-7", "01:SDB-9")
def test_13_the_microaggregated_proxy(serve: Serve) -> None:
    server = serve("proxy method='individual-ranking k=3'")
    assert ask(server, "sex = 'F'") == pytest.approx(257.3333, abs=5e-5)
    assert ask(server, OTHER_WOMEN) == pytest.approx(196.3333, abs=5e-5)
    assert ask(server, "sex = 'F'") - ask(server, OTHER_WOMEN) == pytest.approx(61)
    truth, sets = serve(), ("sex='F'", "sex='M'", "dept='A'", "dept='B'", "dept='C'", "age='Y'", "age='O'")
    errors = [ask(server, where, "AVG(salary)") - ask(truth, where, "AVG(salary)") for where in sets]
    assert np.mean(errors) == pytest.approx(0, abs=1e-12)
    assert np.var(errors) == pytest.approx(1.2919, abs=5e-5)


@pytest.mark.spec("01:SDB-8")
def test_14_the_lattice_model(serve: Serve) -> None:
    server = serve("lattice k=3", "audit")
    smallest = server.guards[0].smallest_cell  # type: ignore[attr-defined]
    nodes = [
        (),
        ("sex",),
        ("dept",),
        ("age",),
        ("sex", "age"),
        ("dept", "age"),
        ("sex", "dept"),
        ("sex", "dept", "age"),
    ]
    assert [smallest(frozenset(node)) for node in nodes] == [12, 6, 4, 6, 3, 2, 1, 1]
    asked = ["", "sex='F'", "dept='A'", "age='Y'", "sex='F' AND age='Y'", "dept='A' AND age='Y'", WOMEN_IN_B]
    answered = [server.ask(f"SELECT SUM(salary) FROM data{' WHERE ' if w else ''}{w}").control for w in asked]
    assert answered == [None, None, None, None, None, "lattice", "lattice"]


@pytest.mark.spec("01:DAT-2", "01:SDB-7")
def test_15_interval_answers(serve: Serve, employees: Microdata) -> None:
    server = serve("intervals k=3 base=5")
    assert interval(server, "sex = 'F'") == (225, 285)
    assert interval(server, OTHER_WOMEN) == (170, 220)
    assert interval(server, WOMEN_IN_B) == (55, 65)
    women, others = interval(server, "sex = 'F'"), interval(server, OTHER_WOMEN)
    assert (women[0] - others[1], women[1] - others[0]) == (5, 115)
    for _ in range(3):
        assert interval(server, WOMEN_IN_B) == (55, 65)
    server.update(employees.take(np.array([0, 1, 2, 3, 6, 7, 8, 9, 10, 11])))
    low, high = interval(server, WOMEN_IN_B)
    assert low <= 64 <= high
    assert high - low >= 5


@pytest.mark.spec("01:SDB-8")
def test_16_query_modification_and_what_it_leaves_open(serve: Serve) -> None:
    server = serve("access where=\"dept IN ('A', 'C')\"")
    assert ask(server, "sex = 'F'", "AVG(salary)") == pytest.approx(40.8)
    assert ask(serve(), "sex = 'F'", "AVG(salary)") == pytest.approx(44.6667, abs=5e-5)
    assert ask(server, "", "AVG(salary)") == pytest.approx(44.1667, abs=5e-5)
    assert ask(server) - (ask(server, "dept = 'A'") + ask(server, "dept = 'C'")) == 190
    closed = serve("access where=\"dept IN ('A', 'C')\" everywhere=true")
    assert ask(closed) == 158 + 182
