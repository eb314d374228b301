"""Reproductions are run, report how far they are, keep their results, and say when data is missing."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest

import microveil
from microveil.errors import FileError, UnknownNameError
from reproduction import page as page_module
from reproduction import running
from reproduction.base import PRINTED, Quick, Reproduction, Row, Rows, claim, printed
from reproduction.catalogue import chosen, reproductions
from reproduction.page import as_csv, as_page
from reproduction.running import check_data, run, run_all


class Counted:
    """A table of three rows, or of one in its quick form, that counts how often it is computed."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, quick: bool) -> Rows:
        self.runs += 1
        yield Row("first", 1.0, 1.0)
        if not quick:
            yield Row("second", 2.0, 2.5, recomputed=2.5, note="misprint")
            yield Row("third", 3.0, 7.0)

    def reproduction(self, name: str = "made-1") -> Reproduction:
        return Reproduction(
            name, "Made", "Nobody (1900), Table 1", self, 3, 2.0, quick=Quick(1, 0.5, "two rows"), why="open"
        )


def test_progress_goes_from_row_to_row() -> None:
    seen: list[tuple[float, str]] = []
    outcome = run(Counted().reproduction(), progress=lambda fraction, label: seen.append((fraction, label)))
    assert [round(fraction, 3) for fraction, _ in seen] == [0.333, 0.667, 1.0]
    assert seen[1][1] == "made-1: second"
    assert not outcome.quick
    assert len(outcome.rows) == 3


def test_the_quick_form_is_marked() -> None:
    outcome = run(Counted().reproduction(), quick=True)
    assert outcome.quick
    assert len(outcome.rows) == 1
    whole = Reproduction("made-2", "Made", "nowhere", Counted(), 3, 1.0)
    assert not run(whole, quick=True).quick  # it has none


def test_results_are_kept_and_not_computed_again(tmp_path: Path) -> None:
    first, second = Counted(), Counted()
    tables = [first.reproduction("made-1"), second.reproduction("made-2")]
    before = run_all(tables, keep=tmp_path)
    after = run_all(tables, keep=tmp_path)
    assert (first.runs, second.runs) == (1, 1)
    assert [outcome.rows for outcome in before] == [outcome.rows for outcome in after]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made-1.json", "made-2.json"]


def test_a_whole_result_serves_as_a_quick_one_but_not_the_other_way_round(tmp_path: Path) -> None:
    table = Counted()
    run_all([table.reproduction()], quick=True, keep=tmp_path)
    (whole,) = run_all([table.reproduction()], keep=tmp_path)
    assert table.runs == 2
    assert not whole.quick
    (kept,) = run_all([table.reproduction()], quick=True, keep=tmp_path)
    assert table.runs == 2
    assert len(kept.rows) == 3
    assert not kept.quick


def test_results_of_another_program_are_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Counted()
    run_all([table.reproduction()], keep=tmp_path)
    assert json.loads((tmp_path / "made-1.json").read_text())["run"]["version"] == microveil.__version__
    monkeypatch.setattr(running, "_program_digest", lambda: "another")
    run_all([table.reproduction()], keep=tmp_path)
    assert table.runs == 2
    run_all([table.reproduction()], keep=tmp_path)
    assert table.runs == 2


def test_the_digest_of_the_program_is_that_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microveil, "__file__", str(tmp_path / "__init__.py"))
    digests = set()
    for name, text in (("__init__.py", "one"), ("printed.csv", "1"), ("printed.csv", "2"), ("__init__.py", "two")):
        (tmp_path / name).write_text(text)
        digests.add(running._program_digest.__wrapped__())
    assert len(digests) == 4


def test_results_from_other_data_are_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "census.csv").write_text("A\n1\n")
    monkeypatch.setenv("MICROVEIL_DATA", str(data))
    counted = Counted()
    table = Reproduction("made-1", "Made", "nowhere", counted, 3, 1.0, needs=("census",))
    run_all([table], keep=tmp_path)
    run_all([table], keep=tmp_path)
    assert counted.runs == 1
    (data / "census.csv").write_text("A\n2\n")
    run_all([table], keep=tmp_path)
    assert counted.runs == 2


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", "{}", '{"run": {}}', "\xff"])
def test_a_damaged_result_is_as_good_as_none(tmp_path: Path, damage: str) -> None:
    table = Counted()
    (tmp_path / "made-1.json").write_bytes(damage.encode("latin-1"))
    (outcome,) = run_all([table.reproduction()], keep=tmp_path)
    assert (table.runs, len(outcome.rows)) == (1, 3)
    run_all([table.reproduction()], keep=tmp_path)
    assert table.runs == 1  # the damaged one was replaced


def test_missing_data_is_told_in_one_sentence_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "census.csv").write_text("A\n1\n")
    monkeypatch.setenv("MICROVEIL_DATA", str(tmp_path))
    needing = Reproduction("made-1", "Made", "nowhere", Counted(), 3, 1.0, needs=("census", "tarragona"))
    with pytest.raises(FileError, match="reference data tarragona is not here; set MICROVEIL_DATA to the folder"):
        check_data([needing])
    check_data([Reproduction("made-1", "Made", "nowhere", Counted(), 3, 1.0, needs=("census",))])


def test_the_page_counts_recomputed_values_apart_from_print_and_lists_them_beside_it() -> None:
    page = as_page(run_all([Counted().reproduction(), Counted().reproduction("made-2")], quick=False))
    assert (
        "Of 6 printed values that were measured, 2 come out as printed and 0 near print; 2 are not as printed but "
        "equal a correction or an independent recomputation; 2 differ. Apart from these, 0 of 0 printed results "
        "follow from printed parts by arithmetic, and of 0 values that are not in print 0 agree with an independent "
        "recomputation. Of 0 claims that were put to the test 0 hold."
    ) in page
    assert f"All values on this page were measured on {date.today().isoformat()} by Microveil" in page
    assert "quick form" not in page
    assert "[`made-1`](#made-1-made)" in page
    assert "## made-1: Made" in page
    assert "| third | 3.00 |  | 7.000 | 4.000 |" in page
    assert "| second | 2.00 | 2.500 | 2.500 | 0.500 |" in page
    assert "| first |" not in page
    assert "Open." in page
    quick = as_page(run_all([Counted().reproduction()], quick=True))
    assert "quick form, which leaves out two rows" in quick
    assert "Run in their quick form only: `made-1`." in quick


def test_arithmetic_and_values_never_printed_are_no_part_of_what_is_measured_against_print() -> None:
    rows = (
        Row("a", 1.0, 1.0),
        Row("b", None, 2.0, recomputed=2.0),
        Row("c", None, 2.0, recomputed=3.0),
        Row("d", None, 4.0),
        Row("e", 1.0, 1.0, kind="arithmetic"),
        Row("f", 1.0, 1.0, kind="another reading"),
        claim("g", True, 1.0),
        claim("h", False, 2.0),
    )
    page = as_page([run(Reproduction("made-1", "Made", "nowhere", lambda quick: iter(rows), 8, 1.0))])
    assert "Of 1 printed values that were measured, 1 come out as printed" in page
    assert "1 of 1 printed results follow" in page
    assert "of 2 values that are not in print 1 agree" in page
    assert "Of 2 claims that were put to the test 1 hold." in page
    assert "| Made | 1 | 1 |  |  |  | 1 of 1 | 1 of 2 | 1 of 2 | 0 |" in page
    assert re.search(r"^\| claims of the text \| does not hold \| .* \| 1 \|$", page, re.MULTILINE)
    assert "| h |  |  | 2.000 |  |" in page
    assert re.search(r"^\| recomputed, not in print \| agrees \| .* \| 1 \|$", page, re.MULTILINE)
    assert re.search(r"^\| measured against print \| differs \| .* \| 0 \|$", page, re.MULTILINE)
    assert "| c |  | 3.000 | 2.000 |  |" in page


def test_a_table_shown_in_full_has_every_row_with_its_verdict_and_note() -> None:
    rows = (Row("a", 1.0, 1.0, note="m=15"), Row("b", 4.3, 4.1, kind="fitted"))
    page = as_page([run(Reproduction("made-1", "Made", "nowhere", lambda quick: iter(rows), 2, 1.0, in_full=True))])
    assert "| a | 1.00 |  | 1.000 | 0.000 | as printed | m=15 |" in page
    assert "| b | 4.30 |  | 4.100 | -0.200 | fitted |  |" in page


def test_a_page_of_most_tables_names_those_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [Counted().reproduction(name) for name in ("made-1", "made-2", "made-3")]
    monkeypatch.setattr(page_module, "reproductions", lambda: {table.name: table for table in tables})
    assert (
        "Not run, and therefore not on this page: `made-3`. The counts are those of the tables on this page"
        in as_page(run_all(tables[:2]))
    )
    assert "Not run" not in as_page(run_all(tables))
    assert "Not run" not in as_page(run_all(tables[:1]))


def test_the_table_of_values_has_every_row() -> None:
    lines = as_csv([run(Counted().reproduction())]).splitlines()
    assert lines[0].startswith("reproduction,source,label,printed,measured,difference")
    assert len(lines) == 4
    assert 'made-1,"Nobody (1900), Table 1",second,2.0,2.5,0.5,0.0,2.5,recomputed,misprint' in lines


WORKS = ("Fayyoumi (2008)", "Nin (2008)", "Marés (2013)", "Li and Sarkar (2013)")

# --- the catalogue ------------------------------------------------------------------------------------------------


def test_names_are_unique_and_every_family_can_be_chosen() -> None:
    known = reproductions()
    assert len(known) > 90
    assert len(chosen(["all"])) == len(known)
    assert [table.name for table in chosen(["k-ward-3.3", "k-ward-3.3"])] == ["k-ward-3.3"]
    for family in {table.family for table in known.values()}:
        assert {table.name for table in chosen([family])} == {n for n, t in known.items() if t.family == family}
    with pytest.raises(UnknownNameError, match="did you mean 'k-ward'"):
        chosen(["kward"])


def test_every_reproduction_says_where_it_comes_from() -> None:
    for table in reproductions().values():
        work = table.source.removeprefix("recomputed from ").removeprefix("claims of ")
        assert work.startswith(WORKS) or table.source == "none", table.name
        assert "spec" not in f"{table.title} {table.source} {table.why}".replace("special", ""), table.name
        assert table.title, table.name
        assert table.length > 0, table.name
        assert table.seconds <= 15 or table.quick is not None, f"{table.name} takes long and has no quick form"


def test_every_printed_file_is_read_by_some_reproduction() -> None:
    folder = PRINTED.parent
    text = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    files = sorted(PRINTED.glob("*.csv"))
    assert files
    for path in files:
        number = path.stem.removeprefix("scores_").replace("_", ".")
        assert f'"{path.stem}"' in text or f'"{number}"' in text, f"{path.name} is read by nobody"
        assert printed(path.stem)
