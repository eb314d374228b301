"""The audit never lets a compromised set of answers through: against exact arithmetic, and against enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import microveil as mv
from microveil.microdata import Microdata
from microveil.numerics.auditing.row_space import RowSpace, prime_from
from microveil.numerics.auditing.value_intervals import (
    atoms_of,
    chords,
    confine_somebody,
    consistent_sums,
    intervals_of_members,
    rows_of,
)
from microveil.queries import QueryServer
from microveil.typing import FloatArray, IntArray

Serve = Callable[..., QueryServer]
PRIMES = (prime_from(123_456_789), prime_from(987_654_321))
SEQUENCES = 10_000


def reduced(rows: list[list[int]]) -> list[list[int]]:
    """The reduced row echelon form up to factors of its rows, in whole numbers without end."""
    held = [list(row) for row in rows]
    done = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((r for r in range(done, len(held)) if held[r][column]), None)
        if pivot is None:
            continue
        held[done], held[pivot] = held[pivot], held[done]
        for r in range(len(held)):
            if r != done and held[r][column]:
                one, other = held[done][column], held[r][column]
                held[r] = [a * one - b * other for a, b in zip(held[r], held[done], strict=True)]
                factor = math.gcd(*held[r]) or 1
                held[r] = [value // factor for value in held[r]]
        done += 1
    return held[:done]


def determined(rows: list[list[int]]) -> list[int]:
    return sorted(
        next(column for column, value in enumerate(row) if value)
        for row in reduced(rows)
        if sum(value != 0 for value in row) == 1
    )


@pytest.mark.spec("01:SDB-6", "01:SDB-4")
def test_the_row_space_agrees_with_exact_arithmetic_in_ten_thousand_sequences() -> None:
    rng = np.random.default_rng(5)
    refused = answered = 0
    for _ in range(SEQUENCES):
        records = int(rng.integers(2, 7))
        space, rows = RowSpace.of(records, PRIMES), []
        for _ in range(int(rng.integers(1, 6))):
            members = np.flatnonzero(rng.random(records) < rng.choice([0.3, 0.5, 0.8]))
            row = [int(record in members) for record in range(records)]
            after = space.with_answer(members)
            truth = determined([*rows, row])
            assert after.determined().tolist() == truth
            if truth:
                refused += 1
                continue
            space, rows, answered = after, [*rows, row], answered + 1
        assert space.rank == len(reduced(rows))
        assert not determined(rows)
    assert min(refused, answered) > SEQUENCES / 4


def test_longer_sequences_agree_too() -> None:
    rng = np.random.default_rng(6)
    for _ in range(40):
        records = 14
        space, rows = RowSpace.of(records, PRIMES), []
        for _ in range(12):
            members = np.flatnonzero(rng.random(records) < 0.5)
            after = space.with_answer(members)
            row = [int(record in members) for record in range(records)]
            truth = determined([*rows, row])
            assert after.determined().tolist() == truth
            if not truth:
                space, rows = after, [*rows, row]


def table(records: int, rng: np.random.Generator) -> Microdata:
    columns = {
        "a": rng.integers(0, 3, records).astype(str),
        "b": rng.integers(0, 3, records).astype(str),
        "income": rng.integers(10, 99, records).astype(float),
        "illness": rng.choice(["none", "flu", "cancer"], records),
    }
    return Microdata.of(pa.table(columns), nominal=["a", "b", "illness"], confidential=["income", "illness"])


@pytest.mark.spec("01:SDB-6")
def test_no_sequence_of_questions_to_a_server_determines_an_income() -> None:
    rng = np.random.default_rng(8)
    conditions = [f"{name} {op} '{value}'" for name in "ab" for value in "012" for op in ("=", "<>")]
    refused = 0
    for _ in range(25):
        data = table(8, rng)
        with mv.QueryServer(data, ["audit"], engine="arrays") as server:
            rows = []
            for _ in range(25):
                where = str(rng.choice([" AND ", " OR "])).join(rng.choice(conditions, 2))
                answer = server.ask(f"SELECT SUM(income) FROM data WHERE {where}")
                members = server.database.members(
                    server.understood(f"SELECT COUNT(*) FROM data WHERE {where}").where, None
                )
                row = [int(record in members) for record in range(8)]
                assert answer.is_refused == bool(determined([*rows, row]))
                if not answer.is_refused:
                    rows.append(row)
                refused += answer.is_refused
    assert refused > 25


def test_counts_of_a_confidential_category_tell_no_small_group_apart(serve: Serve) -> None:
    data = table(40, np.random.default_rng(9))
    server = serve("audit smallest=5", data=data)
    of_a, of_b = (np.array(data.arrow(name).to_pylist()) for name in "ab")
    assert server.ask("SELECT COUNT(*) FROM data WHERE illness = 'flu'").control is None
    answered = 0
    for a, b in itertools.product("012", repeat=2):
        answer = server.ask(f"SELECT COUNT(*) FROM data WHERE illness <> 'none' AND a = '{a}' AND b = '{b}'")
        small = int(((of_a == a) & (of_b == b)).sum()) < 5
        assert answer.is_refused or not small
        answered += not answer.is_refused
    assert answered
    sizes = np.bincount(server.guards[0].atoms[""])  # type: ignore[attr-defined]
    assert sizes.min() >= 5
    again = server.ask("SELECT COUNT(*) FROM data WHERE illness = 'cancer'")  # another category of the same people
    assert again.value is not None
    assert server.ask("SELECT COUNT(*) FROM data WHERE illness = 'flu' OR a = '1'").control == "language"
    assert server.ask("SELECT COUNT(*) FROM data WHERE income > 50").control == "audit"
    assert (
        server.ask("SELECT COUNT(*) FROM data WHERE a = '0' AND b = '0'").value is not None
    )  # what everybody may know
    assert server.ask("SELECT SUM(income) FROM data WHERE illness = 'flu'").control == "language"


def test_random_sets_do_not_reconstruct_a_category(serve: Serve) -> None:
    """Of zeros and ones far fewer sums than unknowns tell all; the audit ends such questions early."""
    rng = np.random.default_rng(12)
    columns = {"id": np.arange(60).astype(str), "ill": rng.integers(0, 2, 60).astype(float),
               "illness": rng.choice(["none", "flu"], 60)}  # fmt: skip
    data = Microdata.of(pa.table(columns), nominal=["id", "illness"], confidential=["ill", "illness"])
    for asked in ("SUM(ill) FROM data WHERE", "COUNT(*) FROM data WHERE illness = 'flu' AND"):
        server = serve("audit", data=data)
        answered = 0
        for _ in range(40):
            chosen = ", ".join(f"'{record}'" for record in np.flatnonzero(rng.random(60) < 0.5))
            answered += not server.ask(f"SELECT {asked} id IN ({chosen})").is_refused
        assert 1 <= answered <= np.log2(60 / 5) + 1


def test_whether_a_confidential_value_is_missing_is_audited(serve: Serve) -> None:
    columns = {"g": list("aaaaaabbbbbbc"), "x": [1.0, None, None, 4.0, 5.0, 6.0, 7.0, None, 9.0, 1.0, 2.0, 3.0, 4.0]}
    data = Microdata.of(pa.table(columns), nominal=["g"], confidential=["x"])
    for asked in ("COUNT(x) FROM data", "COUNT(*) FROM data WHERE x IS NULL", "COUNT(*) FROM data WHERE x IS NOT NULL"):
        joined = "AND" if "WHERE" in asked else "WHERE"
        server = serve("audit", data=data)
        assert server.ask(f"SELECT {asked}").value is not None
        assert server.ask(f"SELECT {asked} {joined} g = 'c'").control == "audit"
        assert server.ask(f"SELECT {asked} {joined} g IN ('a', 'b')").control == "audit"
        assert server.ask(f"SELECT {asked} {joined} g = 'a'").value is not None


@pytest.mark.spec("01:SDB-6")
def test_whose_value_is_missing_is_not_told_by_a_refusal_of_a_sum(serve: Serve) -> None:
    """A set, and the set without one person, have the same records with a value if that person's is missing."""
    rng = np.random.default_rng(3)
    values, told = rng.lognormal(7, 1, 40), []
    for missing in (7, 23, 39):
        absent = np.arange(40) == missing
        columns = {"number": np.arange(40.0), "pay": pa.array(values, mask=absent)}
        server = serve("set-size k=5", "audit", data=Microdata.of(pa.table(columns), confidential=["pay"]))
        assert server.public_facts()["controls"][1]["in_groups"] == ["pay"]
        asked = [f"SELECT {what}(pay) FROM data WHERE number < 30{but}" for what in ("SUM", "AVG")
                 for but in ("", " AND number <> 7", " AND number < 20", " AND number < 17")]  # fmt: skip
        told.append([server.ask(text).reason for text in asked])
    assert told[0] == told[1] == told[2]
    assert [reason is None for reason in told[0]] == [True, False, True, False] * 2


@pytest.mark.spec("01:SDB-6")
def test_a_refusal_depends_on_questions_and_public_attributes_only() -> None:
    """The same questions to tables that differ in what is protected are refused alike."""
    rng = np.random.default_rng(10)
    data = table(12, rng)
    other = data.with_columns({"income": pa.array(rng.integers(10, 99, 12).astype(float)),
                               "illness": pa.array(rng.choice(["none", "flu", "cancer"], 12))})  # fmt: skip
    values = ["SUM(income)", "AVG(income)", "COUNT(*)"]
    conditions = [f"{name} {op} '{value}'" for name in "ab" for value in "012" for op in ("=", "<>")]
    conditions += ["illness = 'flu'", "illness <> 'none'"]
    for controls in (
        ["set-size k=3", "audit"], ["overlap limit=3"], ["partition by=a k=3"], ["lattice k=2"], ["random-sample"],
        ["set-size k=2", "output-noise", "rounding base=5"], ["differential-privacy budget=0.5"],
    ):  # fmt: skip
        with (
            mv.QueryServer(data, controls, engine="arrays", key="k") as one,
            mv.QueryServer(other, controls, engine="arrays", key="k") as two,
        ):
            for _ in range(60):
                where = " AND ".join(rng.choice(conditions, 2))
                text = f"SELECT {rng.choice(values)} FROM data WHERE {where}"
                assert one.ask(text).reason == two.ask(text).reason, (controls, text)


def sums_of_atom(
    atom: int, matrix: FloatArray, totals: FloatArray, sizes: IntArray, low: float, high: float
) -> tuple[float, float]:
    """The least and the largest sum of an atom, by a linear program for each."""
    bounds, ends = np.column_stack([sizes * low, sizes * high]), []
    for sign in (1.0, -1.0):
        cost = sign * np.eye(len(sizes))[atom]
        ends.append(sign * linprog(cost, A_eq=matrix, b_eq=totals, bounds=bounds, method="highs").fun)
    return ends[0], ends[1]


def test_intervals_by_linear_programming_agree_with_enumeration() -> None:
    rng = np.random.default_rng(11)
    for _ in range(12):
        records, low, high = 5, 0, 4
        values = rng.integers(low, high + 1, records)
        sets = [np.flatnonzero(rng.random(records) < 0.6) for _ in range(3)]
        totals = np.array([values[members].sum() for members in sets], dtype=float)
        matrix, sizes, atoms = atoms_of(sets, records)
        sums = np.array([sums_of_atom(atom, matrix, totals, sizes, low, high) for atom in range(len(sizes))])
        found = intervals_of_members(sums, sizes, low, high)
        agreeing = np.array([
            candidate for candidate in itertools.product(range(low, high + 1), repeat=records)
            if all(sum(candidate[m] for m in members) == total for members, total in zip(sets, totals, strict=True))
        ])  # fmt: skip
        for record in range(records):
            inside = found[atoms[record]]
            # whole numbers lie within what all numbers allow; a unimodular corner is reached often, not always
            assert inside[0] <= agreeing[:, record].min() + 1e-9
            assert inside[1] >= agreeing[:, record].max() - 1e-9
        drawn = consistent_sums(matrix, totals, sizes, low, high, 5, rng)
        assert np.allclose(drawn @ matrix.T, totals)
        assert (drawn >= sizes * low - 1e-9).all()
        assert (drawn <= sizes * high + 1e-9).all()
        lengths = found[:, 1] - found[:, 0]
        for width in (0.5, 1.5, 2.5, 3.5):
            confined = {confine_somebody(matrix, sums, sizes, low, high, width) for sums in drawn}
            assert confined == {bool((lengths < width - 1e-9).any())}


def test_shortcuts_of_the_interval_audit_decide_as_a_linear_program_for_every_atom() -> None:
    rng, low, high, decided = np.random.default_rng(12), 2.0, 7.0, []
    for _ in range(30):
        records = int(rng.integers(8, 30))
        sets = [np.flatnonzero(rng.random(records) < rng.uniform(0.2, 0.9)) for _ in range(rng.integers(1, 9))]
        matrix, sizes, _ = atoms_of(sets, records)
        sums = rng.uniform(sizes * low, sizes * high)
        ends = [sums_of_atom(atom, matrix, matrix @ sums, sizes, low, high) for atom in range(len(sizes))]
        found = intervals_of_members(np.array(ends), sizes, low, high)
        shortest = float((found[:, 1] - found[:, 0]).min())
        for width in (0.99 * shortest, 1.01 * shortest + 1e-6):
            decided.append(confine_somebody(matrix, sums, sizes, low, high, width))
            assert decided[-1] == (shortest < width)
    assert any(decided)


def test_sums_at_the_ends_of_lines_agree_with_all_totals_and_bounds() -> None:
    """Also where an atom is determined, so that its line is but rounding, and where sums are at their bounds."""
    rng, low, high, moved, stayed = np.random.default_rng(13), 0.0, 1e6, 0, 0
    for _ in range(12):
        records = int(rng.integers(4, 20))
        sets = [np.flatnonzero(rng.random(records) < rng.uniform(0.1, 0.9)) for _ in range(rng.integers(0, 14))]
        matrix, sizes, _ = atoms_of(sets, records)
        values = np.where(rng.random(records) < 0.3, rng.choice((low, high), records), rng.uniform(low, high, records))
        sums = np.array([values[atom] * size for atom, size in enumerate(sizes)])
        everyone, (lower, upper) = np.arange(len(sizes)), np.outer([low, high], sizes)
        found = chords(sums, everyone, matrix, rows_of(matrix), lower, upper)
        assert np.allclose(found @ matrix.T, matrix @ sums, rtol=1e-9, atol=1e-4)
        assert ((found >= lower) & (found <= upper)).all()
        reached = np.ptp(found.reshape(len(sizes), 2, len(sizes)), axis=1).diagonal()
        for atom, length in enumerate(reached):
            least, largest = sums_of_atom(atom, matrix, matrix @ sums, sizes, low, high)
            assert length <= largest - least + 1e-3
        moved, stayed = moved + int((reached > 1.0).sum()), stayed + int((reached == 0.0).sum())
    assert min(moved, stayed) > 5


def test_the_interval_audit_refuses_what_would_confine_a_value(employees: Microdata, serve: Serve) -> None:
    ranged = employees.with_schema(employees.schema.replacing(employees["salary"].changed(range=(20.0, 100.0))))
    server = serve("interval-audit width=0.2", data=ranged)
    assert server.ask("SELECT SUM(salary) FROM data WHERE dept = 'B'").value == 190
    assert server.ask("SELECT SUM(salary) FROM data WHERE sex = 'M' AND dept = 'B'").control == "interval-audit"
    assert server.ask("SELECT COUNT(*) FROM data WHERE sex = 'M' AND dept = 'B'").value == 3
    assert server.ask("SELECT COUNT(*) FROM data WHERE salary > 30").control == "interval-audit"
    with pytest.raises(mv.MicroveilError, match="needs the range"):
        serve("interval-audit")


def test_the_interval_audit_decides_before_it_looks(employees: Microdata, serve: Serve) -> None:
    """Another answer to the question that is refused changes nothing in the refusal."""
    ranged = employees.with_schema(employees.schema.replacing(employees["salary"].changed(range=(20.0, 100.0))))
    salaries = np.array(employees.arrow("salary").to_pylist(), dtype=float)
    salaries[[5, 7]] = salaries[[7, 5]]  # records 6 and 8 of department B, a man and a woman
    swapped = ranged.with_columns({"salary": pa.array(salaries)})
    outcomes = []
    for data in (ranged, swapped):
        server = serve("interval-audit width=0.2", data=data)
        asked = ["dept = 'B'", "sex = 'M' AND dept = 'B'", "dept = 'A'", "age = 'Y' AND dept = 'A'"]
        outcomes.append([server.ask(f"SELECT SUM(salary) FROM data WHERE {where}").control for where in asked])
    assert outcomes[0] == outcomes[1]
