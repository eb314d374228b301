"""The command `table`: files, JSON, the page, and what is refused in one sentence."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .business_data import SALARIES, published

Run = Callable[..., Any]


@pytest.fixture
def firms(tmp_path: Path) -> Path:
    path = tmp_path / "firms.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(SALARIES)
        writer.writerows(zip(*SALARIES.values(), strict=True))
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def oracle(*more: object) -> list[object]:
    return [
        "table", published("turnover_act_size.csv"), "--by", "ACTIVITY,SIZE", "--value", "TOT", "--cells",
        "--contributors", "N_OBS", "--largest", "MAX", "--rule", "dominance 1 85",
        "--hierarchy", f"ACTIVITY={published('activity_corr_table.csv')}",
        "--rule", "frequency 3", *more,
    ]  # fmt: skip


@pytest.mark.spec("01:DAT-1")
def test_the_published_table_is_protected_from_the_command_line(run: Run, tmp_path: Path) -> None:
    done = run(*oracle("--out", "table.csv", "--audit-out", "audit.csv", "--report", "page.html", "--json"))
    assert done.status == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["primary"] == 77
    assert told["audit"]["passed"]
    assert told["published"] == 414 - 77 - told["secondary"]
    rows = rows_of(tmp_path / "table.csv")
    hidden = [row for row in rows if row["flag"]]
    assert len(rows) == 414
    assert len(hidden) == 77 + told["secondary"]
    assert all(row["TOT"] == "" and row["flag"] == "suppressed" for row in hidden)
    assert (tmp_path / "audit.csv").stat().st_mode & 0o077 == 0
    assert (tmp_path / "page.html").stat().st_mode & 0o077 == 0
    page = (tmp_path / "page.html").read_text()
    assert '<th scope="row">\N{EM SPACE}A</th><td class="n">44,475.5</td>' in page


def test_published_files_hold_no_value_of_a_suppressed_cell(run: Run, firms: Path, tmp_path: Path) -> None:
    done = run("table", firms, "--by", "dept,sex", "--value", "salary", "--rule", "frequency 2", "--out", "table.csv")
    assert done.status == 0, done.stderr
    assert "audit: passed" in done.stdout
    text = (tmp_path / "table.csv").read_text()
    assert "primary" not in text
    for secret in (",64", ",61", ",126", ",121"):
        assert secret not in text


def test_the_page_loads_nothing_and_names_the_suppressed_cells(run: Run, firms: Path, tmp_path: Path) -> None:
    run("table", firms, "--by", "dept,sex", "--value", "salary", "--rule", "frequency 2", "--no-singletons",
        "--report", "page.html")  # fmt: skip
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=[\"']?http", page)
    assert page.count('title="primary"') == 2
    assert page.count('title="secondary"') == 2
    assert "(dept B, sex F) - (dept C, sex M) = 3" in page
    assert "185" in page


def test_several_lists_of_dimensions_are_linked(run: Run, firms: Path, tmp_path: Path) -> None:
    done = run("table", firms, "--by", "dept,sex", "--by", "dept,age", "--value", "salary", "--out", "t.csv", "--json")
    assert done.status == 0, done.stderr
    assert json.loads(done.stdout)["tables"] == [["dept", "sex"], ["dept", "age"]]
    tables = [rows_of(tmp_path / f"t-{n}.csv") for n in (1, 2)]
    margins = [
        {row["dept"]: row["salary"] for row in rows if row[name] == "Total"}
        for rows, name in zip(tables, ("sex", "age"), strict=True)
    ]
    assert margins[0] == margins[1]


def test_cell_key_keeps_its_seed_in_a_private_file(run: Run, firms: Path, tmp_path: Path) -> None:
    assert run("table", firms, "--by", "dept,sex", "--method", "cell-key", "--out", "a.csv").status == 0
    private = tmp_path / "a.csv.private.json"
    assert private.stat().st_mode & 0o077 == 0
    seed = json.loads(private.read_text())["seed"]
    assert run("table", firms, "--by", "dept", "--method", "cell-key", "--seed", seed, "--out", "b.csv").status == 0
    both = [rows_of(tmp_path / name) for name in ("a.csv", "b.csv")]
    margins = {row["dept"]: row["count"] for row in both[0] if row["sex"] == "Total"}
    assert margins == {row["dept"]: row["count"] for row in both[1]}


def test_a_suppression_in_a_column_is_audited(run: Run, tmp_path: Path) -> None:
    lines = ["a,b,n,value,hide", "x,u,1,5,x", "x,v,4,20,x", "y,u,4,10,x", "y,v,5,12,x", "z,u,4,9,", "z,v,6,11,"]
    (tmp_path / "cells.csv").write_text("\n".join(lines) + "\n")
    command = ("table", "cells.csv", "--cells", "--by", "a,b", "--value", "value", "--contributors", "n",
               "--method", "none", "--json")  # fmt: skip
    told = json.loads(run(*command, "--suppressed", "hide").stdout)
    assert told["audit"]["passed"]
    assert told["secondary"] == 3
    assert not json.loads(run(*command).stdout)["audit"]["passed"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--by", "dept,sax"], "unknown column 'sax'"),
        (["--by", "dept,dept"], "named twice"),
        (["--by", "dept", "--value", "sex"], "nominal, not numeric"),
        (["--by", "dept", "--value", "dept"], "cannot be its value"),
        (["--by", "dept", "--rule", "dominance 1 85"], "name a value"),
        (["--by", "dept", "--hierarchy", "sex=x.csv"], "unknown dimension 'sex'"),
        (["--by", "dept", "--hierarchy", "dept=nowhere.csv"], "nowhere.csv"),
        (["--by", "dept", "--cells"], "--contributors"),
        (["--by", "dept", "--largest", "salary"], "are for --cells"),
        (["--by", "dept", "--protection", "0.1"], "write 0.1% for"),
        (["--by", "dept", "--known", "5"], "--known takes two numbers"),
        (["--by", "dept", "--time-limit", "0"], "time limit"),
        (["--by", "dept", "--method", "magic"], "magic"),
        (["--by", "dept", "--seed", "5"], "only the cell-key method"),
        (["--by", "dept", "--out", "firms.csv"], "would overwrite the input"),
        (["--by", "dept", "--out", "a.csv", "--out", "b.csv"], "--out is given once"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(run: Run, firms: Path, arguments: list[str], sentence: str) -> None:
    done = run("table", firms, *arguments)
    assert done.status in (1, 2)
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["a,n,v", "x,3,5", "x,4,6"], "a x stands in the table twice"),
        (["a,n,v", "x,3,5", "y,4,6", "Total,7,12"], "the grand total is not the sum"),
        (["a,n,v", "x,3,5", ",4,6"], "without a category"),
        (["a,n,v", "x,3,5", "y,4,"], "without a number"),
        (["a,n,v", "x,3,5", "y,-4,1"], "numbers of contributors"),
        (["a,n,v", "x,3,five", "y,4,1"], "nominal, not numeric"),
        (["a,n,v"], "no rows"),
    ],
)
def test_cells_that_make_no_table_are_refused(run: Run, tmp_path: Path, lines: list[str], sentence: str) -> None:
    (tmp_path / "cells.csv").write_text("\n".join(lines) + "\n")
    done = run("table", "cells.csv", "--cells", "--by", "a", "--value", "v", "--contributors", "n")
    assert done.status in (1, 2)
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_hierarchy_without_a_category_of_the_data_is_refused(run: Run, firms: Path, tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("A,north\nB,north\n")
    done = run("table", firms, "--by", "dept", "--hierarchy", "dept=tree.csv")
    assert "no place for the category 'C'" in done.stderr
