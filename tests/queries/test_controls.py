"""What each control does beside the worked examples, and how controls go together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import microveil as mv
from microveil.errors import MicroveilError
from microveil.microdata import Microdata
from microveil.queries import QueryServer, control_of

Serve = Callable[..., QueryServer]
WOMEN = "SELECT SUM(salary) FROM data WHERE sex = 'F'"


def test_controls_are_given_as_texts_or_components(serve: Serve) -> None:
    assert control_of("set-size k=7 both_ways=false").parameters() == {"k": 7, "both_ways": False}
    assert control_of(control_of("audit")) == control_of("audit")
    for wrong in ("set-size 7", "", "nobody", "set-size k=x", "set-size k='1", 7):
        with pytest.raises(MicroveilError):
            control_of(wrong)


@pytest.mark.parametrize(
    ("control", "words"),
    [
        ("set-size k=7", "more than half"),
        ("partition by=salary", "has numbers"),
        ("partition by=nobody", "unknown attribute"),
        ("access where='nobody = 1'", "unknown attribute"),
        ("access where='1; DROP'", "one question|not SQL"),
        ("statistics allowed=variance", "there are"),
        ("intervals k=20", "at least 20"),
    ],
)
def test_a_control_that_does_not_fit_the_table_says_so(serve: Serve, control: str, words: str) -> None:
    with pytest.raises(MicroveilError, match=words):
        serve(control)


def test_without_a_word_the_default_controls_guard(employees: Microdata) -> None:
    with mv.QueryServer(employees, engine="arrays") as server:
        assert [control.name for control in server.controls] == ["set-size", "audit"]


def test_the_statistics_and_formulas_that_are_allowed(serve: Serve) -> None:
    server = serve("statistics allowed=count conjunctions=true")
    assert server.ask(WOMEN).control == "statistics"
    assert server.ask("SELECT COUNT(*) FROM data WHERE sex = 'F' AND dept = 'B'").value == 1
    assert server.ask("SELECT COUNT(*) FROM data WHERE sex = 'F' OR dept = 'B'").control == "statistics"


def test_medians_are_answered_only_where_they_are_no_single_value(serve: Serve) -> None:
    asked = "SELECT MEDIAN(salary) FROM data WHERE dept = 'B'"
    assert serve("set-size k=3").ask(asked).control == "language"
    assert serve("partition by=dept").ask(asked).value == 46.5
    assert serve("proxy").ask(asked).value == 48
    assert serve("intervals k=3 base=5").ask(asked).interval == (42.5, 52.5)
    assert serve("intervals k=3 base=5").ask(asked.replace("MEDIAN", "MAX")).interval == (55, 65)
    assert serve().ask(asked).value == 46.5


def test_interval_answers_are_of_groups_of_neighbours_of_which_the_last_has_the_rest(serve: Serve) -> None:
    values = [5.0, 1.0, None, 3.0, 9.0, 7.0, 2.0, 8.0]
    columns = {"name": list("abcdefgh"), "x": values, "nothing": pa.array([None] * 8, pa.float64())}
    server = serve("intervals k=3", data=Microdata.of(pa.table(columns), nominal=["name"], confidential=["x"]))
    found = [server.ask(f"SELECT SUM(x) FROM data WHERE name = '{name}'").interval for name in "abcdefgh"]
    assert found == [None if v is None else (1, 3) if v <= 3 else (5, 9) for v in values]
    assert server.ask("SELECT SUM(nothing) FROM data").value == 0
    assert serve("intervals k=8", data=server.database.data).ask("SELECT MAX(x) FROM data").interval == (1, 9)


def test_who_asks_again_or_in_other_words_gets_the_same_noise(serve: Serve) -> None:
    for control in ("output-noise", "random-sample share=0.7", "rounding base=20 unbiased=true"):
        server = serve(control)
        again = [
            server.ask(f"SELECT SUM(salary) FROM data WHERE {where}").value
            for where in ("sex = 'F'", "NOT sex = 'M'", "sex = 'F' AND dept IN ('A', 'B', 'C')", "sex IN ('F')")
        ]
        assert len(set(again)) == 1, control


def test_noise_of_two_attributes_is_not_the_same_unless_it_is_asked_for() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=40)
    columns = {"x": values, "y": values, "g": rng.choice(["a", "b"], 40)}
    data = Microdata.of(pa.table(columns), nominal=["g"], confidential=["x", "y"])

    def errors(control: str) -> list[float]:
        with (
            mv.QueryServer(data, [control], engine="arrays", key="k") as server,
            mv.QueryServer(data, [], engine="arrays") as truth,
        ):
            asked = [f"SELECT SUM({name}) FROM data WHERE g = 'a'" for name in "xy"]
            return [float(server.ask(text).value or 0) - float(truth.ask(text).value or 0) for text in asked]

    same, apart = errors("output-noise keyed_by=set"), errors("output-noise")
    assert same[0] == same[1]
    assert apart[0] != apart[1]


def test_the_noise_has_the_deviation_that_is_told() -> None:
    data = mv.datasets.survey(400, seed=5)
    with (
        mv.QueryServer(data, ["output-noise c=0.3"], engine="arrays", key="k") as server,
        mv.QueryServer(data, [], engine="arrays") as truth,
    ):
        scaled = []
        for age in range(20, 60):
            for width in (5, 9, 14):
                where = f"age >= {age} AND age < {age + width}"
                asked = f"SELECT AVG(income) FROM data WHERE {where}"
                given, exact = server.ask(asked), truth.ask(asked)
                assert given.deviation is not None
                scaled.append((float(given.value or 0) - float(exact.value or 0)) / given.deviation)
    assert np.mean(scaled) == pytest.approx(0, abs=0.3)
    assert np.std(scaled) == pytest.approx(1, abs=0.2)


def test_a_sum_over_records_chosen_by_what_is_protected_is_refused(serve: Serve) -> None:
    for asked in (
        "SELECT SUM(salary) FROM data WHERE salary > 50",
        "SELECT AVG(salary) FROM data WHERE NOT salary > 50",
    ):
        assert serve("set-size k=3").ask(asked).control == "language"
        assert serve().ask(asked).value is not None


def test_missing_values_are_no_part_of_the_query_set() -> None:
    columns = {"g": ["a", "a", "a", "b", "b", "b"], "x": [1.0, None, None, 4.0, 5.0, 6.0]}
    data = Microdata.of(pa.table(columns), nominal=["g"], confidential=["x"])
    with mv.QueryServer(data, ["set-size k=2"], engine="arrays") as server:
        assert server.ask("SELECT COUNT(*) FROM data WHERE g = 'a'").value == 3
        assert server.ask("SELECT SUM(x) FROM data WHERE g = 'a'").control == "set-size"  # of one known value
        assert server.ask("SELECT COUNT(x) FROM data WHERE g = 'a'").value == 1  # of three people, as a secret count
        # all known values less these would leave one
        assert server.ask("SELECT AVG(x) FROM data WHERE g = 'b'").control == "set-size"
        assert server.ask("SELECT SUM(x) FROM data").control == "set-size"


def test_missing_codes_of_the_schema_are_missing() -> None:
    columns = {"g": ["a", "a", "b", "9"], "x": [1.0, 999.0, 3.0, 4.0]}
    data = Microdata.of(pa.table(columns), nominal=["g"])
    schema = data.schema.replacing(data["x"].changed(missing_codes=(999,)), data["g"].changed(missing_codes=("9",)))
    with mv.QueryServer(data.with_schema(schema), [], engine="arrays") as server:
        assert server.ask("SELECT SUM(x) FROM data").value == 8
        assert server.ask("SELECT COUNT(*) FROM data WHERE g IS NULL").value == 1
        assert server.ask("SELECT COUNT(*) FROM data WHERE g <> 'a'").value == 1


@pytest.mark.spec("01:SDB-6")
def test_the_privacy_budget_is_kept_and_a_table_costs_once(serve: Serve) -> None:
    server = serve("differential-privacy epsilon=0.4 budget=1")
    table = server.ask("SELECT dept, sex, COUNT(*) FROM data GROUP BY dept, sex")
    assert all(cell.value is not None and cell.value >= 0 for _, cell in table.cells)
    again = server.ask("SELECT dept, sex, COUNT(*) FROM data GROUP BY dept, sex")
    assert [cell.value for _, cell in again.cells] == [cell.value for _, cell in table.cells]
    assert server.ask("SELECT COUNT(*) FROM data").value is not None
    refused = server.ask("SELECT COUNT(*) FROM data WHERE sex = 'F'")
    assert refused.reason == "the privacy budget of 1 is used up"
    assert server.ask("SELECT COUNT(*) FROM data").value is not None  # what was answered costs nothing
    assert server.ask(WOMEN).control == "differential-privacy"


@pytest.mark.spec("01:SDB-6")
def test_a_cell_that_was_answered_before_pays_for_no_other(serve: Serve) -> None:
    """The first cell of all these tables is the same empty question; the others are new ones, and have a price."""
    server = serve("differential-privacy epsilon=1 budget=1")
    assert server.ask("SELECT COUNT(*) FROM data WHERE dept = 'A' AND dept <> 'A'").value is not None
    for age in "YO":
        table = server.ask(f"SELECT dept, COUNT(*) FROM data WHERE dept <> 'A' AND age = '{age}' GROUP BY dept")
        assert [cell.is_refused for _, cell in table.cells] == [False, True, True]


def test_differential_privacy_needs_ranges_and_its_noise_is_laplace(employees: Microdata, serve: Serve) -> None:
    assert "range" in str(serve("differential-privacy").ask(WOMEN).reason)
    ranged = employees.with_schema(employees.schema.replacing(employees["salary"].changed(range=(20.0, 70.0))))
    server = serve("differential-privacy epsilon=1 budget=10000", data=ranged)
    guard = server.guards[0]
    drawn = []
    for _ in range(400):
        guard.given.clear()  # type: ignore[attr-defined]
        drawn.append(float(server.ask(WOMEN).value or 0))
    assert np.median(drawn) == pytest.approx(268, abs=20)
    assert np.std(drawn) == pytest.approx(np.sqrt(2) * 70, rel=0.35)
    mean = server.ask("SELECT AVG(salary) FROM data WHERE sex = 'F'").value
    assert mean is not None
    assert 20 <= mean <= 70


def test_a_change_of_one_record_is_refused_and_noise_changes_with_the_table(employees: Microdata, serve: Serve) -> None:
    server = serve("output-noise")
    before = server.ask(WOMEN).value
    salaries = employees.arrow("salary").to_pylist()
    one = employees.with_columns({"salary": pa.array([99, *salaries[1:]])})
    with pytest.raises(MicroveilError, match="at least two records"):
        server.update(one)
    server.update(employees.with_columns({"salary": pa.array([*salaries[:10], 99, 99])}))
    after = server.ask(WOMEN).value
    assert before is not None
    assert after is not None
    assert after - before != pytest.approx(99 - 37)
    with pytest.raises(MicroveilError, match="cannot change under it"):
        serve("audit").update(one)


def test_whoever_needs_exact_answers_gets_none_that_are_changed(serve: Serve) -> None:
    assert serve("set-size k=3").ask(WOMEN, exact=True).value == 268
    for control in (
        "output-noise",
        "rounding",
        "proxy",
        "intervals",
        "random-sample",
        "cell-key",
        "differential-privacy",
    ):
        refused = serve("set-size k=3", control).ask(WOMEN, exact=True)
        assert (refused.control, refused.reason) == (control, f"answers are not exact here ({control})")


def test_a_whole_table_is_refused_only_if_every_cell_is(serve: Serve) -> None:
    table = serve("set-size k=2").ask("SELECT dept, sex, COUNT(*) FROM data GROUP BY dept, sex")
    assert [cell.is_refused for _, cell in table.cells] == [False, False, True, False, False, True]
    assert not table.is_refused
    assert serve("set-size k=5").ask("SELECT dept, sex, COUNT(*) FROM data GROUP BY dept, sex").is_refused


def test_identifiers_cannot_be_asked_about_and_an_analyst_has_a_name(serve: Serve) -> None:
    assert "unknown attribute" in str(serve().ask("SELECT COUNT(*) FROM data WHERE id = 8").reason)
    for analyst in ("", " ", "x" * 200, None):
        with pytest.raises(MicroveilError, match="an analyst has a name"):
            serve().ask(WOMEN, analyst)  # type: ignore[arg-type]
    with pytest.raises(MicroveilError, match="no attribute that may be asked about"):
        mv.QueryServer(Microdata.of(pa.table({"id": [1, 2]}), identifiers=["id"]), [])


def test_the_cell_key_method_gives_the_same_records_the_same_answer(serve: Serve, employees: Microdata) -> None:
    server = serve("cell-key")
    same = [
        server.ask(f"SELECT {statistic} FROM data WHERE {where}").value
        for statistic in ("COUNT(*)", "SUM(salary)")
        for where in ("sex = 'F'", "NOT sex = 'M'", "sex = 'F' AND dept IN ('A', 'B', 'C')")
    ]
    assert len(set(same)) == 2
    table = server.ask("SELECT sex, COUNT(*) FROM data GROUP BY sex")
    assert table.cells[0][1].value == same[0]
    counts = [
        cell.value for _, cell in server.ask("SELECT dept, sex, age, COUNT(*) FROM data GROUP BY dept, sex, age").cells
    ]
    assert not set(counts) & {1, 2}
    assert server.ask("SELECT COUNT(*) FROM data WHERE sex = 'X'").value == 0
    total = server.ask("SELECT SUM(salary) FROM data WHERE sex = 'F'").value
    assert total is not None
    assert 0 < abs(total - 268) <= 0.3 * 64
    mean = server.ask("SELECT AVG(salary) FROM data WHERE sex = 'F'").value
    assert mean == pytest.approx(total / 6)


CLINIC = Microdata.of(
    pa.table(
        {
            "dept": ["A"] * 5 + ["B"] * 5,
            "sex": ["F", "M"] * 5,
            "illness": ["flu", "none", "flu", "none", "none"] * 2,
            "cost": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, None, None, None, None],
        }
    ),
    nominal=["dept", "sex", "illness"],
    confidential=["illness", "cost"],
)


@pytest.mark.parametrize(
    "control", ["set-size k=2", "partition by=dept k=3", "lattice k=2", "cell-suppression by=dept", "audit"]
)
def test_a_public_condition_cannot_hide_behind_a_confidential_one(serve: Serve, control: str) -> None:
    """Whoever is not in the small set always counts, so the answer would tell whether its member is ill."""
    server = serve(control, data=CLINIC)
    asked = "SELECT COUNT(*) FROM data WHERE dept = 'A' AND (illness = 'flu' OR NOT (sex = 'F' AND dept = 'A'))"
    assert server.ask(asked).control == "language"
    assert server.ask("SELECT COUNT(*) FROM data WHERE dept = 'A' AND illness = 'flu'").value is not None


@pytest.mark.parametrize(
    "control", ["set-size k=2", "partition by=dept k=3", "lattice k=2", "cell-suppression by=dept"]
)
def test_a_population_in_which_one_value_is_known_has_no_sum(serve: Serve, control: str) -> None:
    server = serve(control, data=CLINIC)
    assert server.ask("SELECT SUM(cost) FROM data WHERE dept = 'B'").is_refused
    assert server.ask("SELECT COUNT(*) FROM data WHERE dept = 'B'").value == 5
