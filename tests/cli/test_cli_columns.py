"""The command line about columns: roles, hints, orders, households; and its help on methods."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from microveil.microdata import files
from microveil.microdata.datasets.sample_survey import survey
from microveil.registry import names

from .test_cli import microveil


@pytest.fixture
def homes(tmp_path: Path) -> Path:
    """Sixty persons in thirty households, with a person number, a weight and occupation codes."""
    rows = [
        f"{500 + i // 2},{9000 + i},{20 + (7 * i) % 50},{1000 + 41 * (i // 2 * 7 % 30)},{(i % 3 + 1) * 1031 / 7},"
        f"{1000 + (i % 17) ** 3},{('10-49', '0-9', '50+')[i % 3]},{('mid', 'top', 'base')[i % 3]}"
        for i in range(60)
    ]
    path = tmp_path / "homes.csv"
    path.write_text("hh,person,age,rent,factor,job,staff,rank\n" + "\n".join(rows) + "\n")
    return path


def protect(path: Path, out: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return microveil("protect", path, "--method", "noise", "--keys", "age,rent", "--out", out, *arguments)


def test_without_a_command_the_help_is_shown() -> None:
    bare, asked = microveil(), microveil("--help")
    assert bare.returncode == 0
    assert bare.stdout == asked.stdout
    assert bare.stderr == ""
    assert "protect" in bare.stdout


def test_a_description_fits_80_columns_and_speaks_the_words_of_the_field(homes: Path) -> None:
    shown = microveil("describe", homes, "--keys", "age,rent", "--confidential", "rank")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].strip() == "homes.csv: 60 records, 8 attributes"
    assert lines[1].split() == ["name", "kind", "role", "distinct", "missing", "mean", "std.", "dev.", "hint"]
    assert lines[2].split() == ["hh", "numeric", "30", "0", "514.5", "8.655", "household?"]
    assert lines[5].split() == ["rent", "numeric", "key", "30", "0", "1,594", "354.9"]
    assert max(map(len, lines)) <= 80
    assert "person: every value is distinct: an identifier? --identifiers person" in lines
    assert "factor: decimals shared by many records: a sampling weight? --weight factor" in lines
    assert "job: 17 distinct numbers of equal length: a code? --nominal job" in lines


def test_a_description_for_machines_has_the_same_words(homes: Path) -> None:
    plain = json.loads(microveil("describe", homes, "--json").stdout)
    assert plain["records"] == 60
    row = {row["name"]: row for row in plain["attributes"]}["rent"]
    assert (row["distinct"], row["mean"]) == (30, 1594.5)
    assert row["standard_deviation"] == pytest.approx(354.87, abs=0.01)
    looks = {row["name"]: row["looks_like"] for row in plain["attributes"] if row["looks_like"]}
    assert looks == {
        "hh": "household", "person": "identifier", "factor": "weight", "job": "code"
    }  # fmt: skip


def test_household_and_strata_are_options(homes: Path, tmp_path: Path) -> None:
    schema = tmp_path / "s.toml"
    done = microveil("describe", homes, "--household", "hh", "--strata", "staff,rank", "--schema-out", schema)
    assert done.returncode == 0, done.stderr
    written = schema.read_text()
    assert 'role = "household"' in written
    assert written.count('role = "stratum"') == 2


def test_an_order_is_seen_given_or_asked_for(homes: Path, tmp_path: Path) -> None:
    refused = microveil("describe", homes, "--ordinal", "staff,rank")
    assert refused.returncode == 2
    assert "attribute 'rank' is ordinal, but the order of its categories is not known" in refused.stderr
    assert refused.stderr.count("\n") == 1
    schema = tmp_path / "s.toml"
    done = microveil("describe", homes, "--ordinal", "staff,rank=base<mid<top", "--schema-out", schema)
    assert done.returncode == 0, done.stderr
    domains = files.read(homes, schema=schema).schema
    assert domains["staff"].domain == ("0-9", "10-49", "50+")
    assert domains["rank"].domain == ("base", "mid", "top")
    wrong = microveil("describe", homes, "--ordinal", "rank=base")
    assert wrong.returncode == 2
    assert "from the lowest to the highest, such as size=small<medium<large" in wrong.stderr


def test_households_are_renumbered_said_and_made_again(homes: Path, tmp_path: Path) -> None:
    out, again = tmp_path / "safe.csv", tmp_path / "again.csv"
    done = protect(homes, out, "--household", "hh", "--seed", 7)
    assert done.returncode == 0, done.stderr
    assert "hh: households renumbered in random order\n" in done.stdout
    assert "released as they were: person, factor, job, staff, rank\n" in done.stdout
    assert "note: masking made members of the same household differ in rent" in done.stderr
    before, after = (files.read(path).arrow("hh").to_pylist() for path in (homes, out))
    assert set(after) == set(range(1, 31))
    assert len(set(zip(before, after, strict=True))) == 30
    redone = microveil("protect", homes, "--plan", f"{out}.manifest.json", "--out", again)
    assert "the same bytes" in redone.stderr
    measured = microveil("assess", homes, out, "--json")
    assert measured.returncode == 0, measured.stderr


def test_household_numbers_are_kept_only_on_demand(homes: Path, tmp_path: Path) -> None:
    out = tmp_path / "safe.csv"
    done = protect(homes, out, "--household", "hh", "--keep-household-ids")
    assert "hh: household numbers as they were\n" in done.stdout
    assert files.read(out).arrow("hh").equals(files.read(homes).arrow("hh"))


def test_what_is_released_as_it_was_and_looks_like_more_is_pointed_out(homes: Path, tmp_path: Path) -> None:
    done = protect(homes, tmp_path / "safe.csv")
    for said in (
        "column 'hh' is released as it was; named like a household number: --household hh?",
        "column 'person' is released as it was; every value is distinct: an identifier? --identifiers person",
        "column 'factor' is released as it was; decimals shared by many records: a sampling weight? --weight factor",
        "column 'job' is released as it was; 17 distinct numbers of equal length: a code? --nominal job",
    ):
        assert f"note: {said}\n" in done.stderr
    assert done.stderr.count("note: column") == 4


def test_numbers_that_are_no_amounts_are_pointed_out_where_they_were_masked_like_amounts(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("case,zip,age\n" + "\n".join(f"{i},{8010 + 7 * (i % 9)},{20 + i % 40}" for i in range(60)) + "\n")
    done = microveil("protect", path, "--method", "mdav", "--out", tmp_path / "all.csv")
    assert "note: column 'case' was masked like an amount; every value is distinct: an identifier?" in done.stderr
    keyed = microveil("protect", path, "--method", "mdav", "--keys", "zip,age", "--out", tmp_path / "keys.csv")
    said = "note: column 'zip' was masked like an amount; 9 distinct numbers, named like a code: --nominal zip?\n"
    assert said in keyed.stderr
    assert "'age'" not in keyed.stderr
    right = ("--keys", "zip,age", "--nominal", "zip", "--identifiers", "case", "--method", "mdav-generic")
    assert "note: column" not in microveil("protect", path, *right, "--out", tmp_path / "right.csv").stderr


def test_a_shuffled_release_is_measured_like_the_one_in_order(homes: Path, tmp_path: Path) -> None:
    out, shuffled = tmp_path / "safe.csv", tmp_path / "shuffled.csv"
    assert protect(homes, out, "--seed", 7).returncode == 0
    done = protect(homes, shuffled, "--seed", 7, "--shuffle-records")
    assert "records in random order\n" in done.stdout
    assert out.read_text() != shuffled.read_text()
    assert sorted(out.read_text().splitlines()) == sorted(shuffled.read_text().splitlines())
    one, other = (json.loads(microveil("assess", homes, path, "--json").stdout) for path in (out, shuffled))
    assert one["risks"]["distance-linkage"]["value"] > 0
    for part in ("risks", "losses"):
        values = [{label: found["value"] for label, found in result[part].items()} for result in (one, other)]
        assert values[1] == pytest.approx(values[0], abs=1e-9)
    redone = microveil("protect", homes, "--plan", f"{shuffled}.manifest.json", "--out", tmp_path / "again.csv")
    assert "the same bytes" in redone.stderr


def test_a_shuffled_release_of_another_original_is_matched_and_not_taken_in_its_own_order(
    homes: Path, tmp_path: Path
) -> None:
    shuffled, other = tmp_path / "shuffled.csv", tmp_path / "other.csv"
    protect(homes, shuffled, "--seed", 7, "--shuffle-records")
    lines = homes.read_text().splitlines()
    other.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    matched = microveil("assess", other, shuffled)
    assert matched.returncode == 0
    assert "record i of the two tables is not the same person" in " ".join(matched.stderr.split())
    other.write_text("\n".join(lines[:-1]) + "\n")
    refused = microveil("assess", other, shuffled)
    assert refused.returncode == 1
    assert "and this original has" in " ".join(refused.stderr.split())


def test_the_report_of_a_shuffled_release_is_about_its_own_originals(tmp_path: Path) -> None:
    path, out, page = tmp_path / "survey.csv", tmp_path / "safe.csv", tmp_path / "page.html"
    data = survey(120, seed=2)
    files.write(data, path)
    data.schema.write(tmp_path / "s.toml")
    arguments = ("--schema", tmp_path / "s.toml", "--method", "mdav", "--attributes", "age,income", "--shuffle-records")
    assert microveil("protect", path, *arguments, "--seed", 3, "--out", out).returncode == 0
    done = microveil("report", path, out, "--out", page)
    assert done.returncode == 0, done.stderr
    assert "records in random order" in page.read_text()
    assert "<td>renumbered</td>" in page.read_text()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "suppress",
            [
                "suppress (method, coarsening)",
                "k: whole number, at least 1, at most 1,000,000,000; default 3",
                "--method suppress",
            ],
        ),
        ("distance-linkage", ["(attack,", "metric: euclidean or manhattan", "--attacks distance-linkage"]),
        ("il1", ["il1 (loss,", "Reads as:", "--losses il1"]),
        ("classic", ["classic (score,", "Source:", "--score classic"]),
    ],
)
def test_one_entry_is_shown_whole(name: str, says: list[str]) -> None:
    shown = microveil("methods", name)
    assert shown.returncode == 0, shown.stderr
    for said in (*says, "Attributes:", "Missing values:", "Source:", "Example: microveil"):
        assert said in shown.stdout
    text = [line for line in shown.stdout.splitlines() if not line.startswith("Example:")]
    assert max(map(len, text)) < 80


def test_a_name_of_two_kinds_shows_both_and_an_unknown_one_is_refused() -> None:
    both = microveil("methods", "clustering").stdout
    assert "clustering (loss," in both
    assert "clustering (score," in both
    entries = json.loads(microveil("methods", "clustering", "--kind", "loss", "--json").stdout)
    assert [(entry["kind"], entry["name"]) for entry in entries] == [("loss", "clustering")]
    refused = microveil("methods", "supress")
    assert refused.returncode == 2
    assert "did you mean 'suppress'?" in refused.stderr


@pytest.mark.parametrize("kind", ["method", "attack", "loss", "score"])
def test_the_list_fits_80_columns(kind: str) -> None:
    lines = microveil("methods", "--kind", kind, COLUMNS="").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[2:-1] if not line.startswith(" ")] == list(names(kind))
