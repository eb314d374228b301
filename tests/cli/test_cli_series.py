"""Tables of series on the command line."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

METERS = Path(__file__).parents[2] / "docs" / "examples" / "meters.csv"
SERIES = ("--series", "id=meter,time=time,value=load")
Run = Callable[..., Any]


@pytest.fixture
def meters(tmp_path: Path) -> Path:
    return Path(shutil.copy(METERS, tmp_path / "meters.csv"))


def curves(path: Path) -> Counter[tuple[str, ...]]:
    """How many series have each curve."""
    by_meter: dict[str, list[tuple[str, str]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            by_meter.setdefault(row["meter"], []).append((row["time"], row["load"]))
    return Counter(tuple(value for _, value in sorted(points)) for points in by_meter.values())


@pytest.mark.parametrize("distance", ["euclidean", "sts", "dtw"])
def test_at_least_k_series_share_every_published_curve(meters: Path, run: Run, distance: str) -> None:
    out = meters.parent / "safe.csv"
    done = run("protect", str(meters), *SERIES, "--method", "mdav", "--set", f"distance={distance}", "--set", "k=5",
               "--require", "k=5", "--out", str(out))  # fmt: skip
    assert done.status == 0, done.stderr
    assert "on load" in done.stdout
    assert "series renumbered" in done.stdout
    found = curves(out)
    assert sum(found.values()) == 60
    assert min(found.values()) >= 5
    with meters.open(encoding="utf-8") as before, out.open(encoding="utf-8") as after:
        assert before.readline() == after.readline()


def test_a_release_is_made_again_from_its_manifest_and_measured(meters: Path, run: Run) -> None:
    out, again = meters.parent / "safe.csv", meters.parent / "again.csv"
    assert run("protect", str(meters), *SERIES, "--method", "mdav", "--set", "k=6", "--out", str(out)).status == 0
    assert run("protect", str(meters), "--plan", f"{out}.manifest.json", "--out", str(again)).status == 0
    assert out.read_bytes() == again.read_bytes()
    done = run("assess", str(meters), str(out), "--json")
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["records"] == 60
    assert found["headline"]["after"]["largest"] <= 1 / 6 + 1e-9
    assert found["risks"]["series-linkage"]["value"] <= 100 / 6 + 1e-9
    assert 0 < found["losses"]["series-il"]["value"] < 100
    shown = run("assess", str(meters), str(out))
    assert "to know load (" in shown.stdout
    assert "load 08:00" not in shown.stdout


def test_a_release_without_its_manifest_is_read_as_series_if_that_is_said(meters: Path, run: Run) -> None:
    out = meters.parent / "safe.csv"
    assert run("protect", str(meters), *SERIES, "--method", "mdav", "--out", str(out)).status == 0
    for name in (".manifest.json", ".private.json"):
        Path(f"{out}{name}").unlink()
    done = run(
        "assess", str(meters), str(out), *SERIES, "--json", "--attacks", "series-linkage", "--losses", "series-il2"
    )
    assert done.status == 0, done.stderr
    assert json.loads(done.stdout)["risks"]["series-linkage"]["attacked"] == 60


def test_a_shuffled_release_is_seen_through(meters: Path, run: Run) -> None:
    """The file as it is, with other ids and the series in another order, is no protection."""
    with meters.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    units = list(dict.fromkeys(row["meter"] for row in rows))
    order = {unit: (7 * i) % len(units) for i, unit in enumerate(units)}
    moved = sorted(rows, key=lambda row: (order[row["meter"]], row["time"]))
    out = meters.parent / "moved.csv"
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "meter": f"X{order[row['meter']]:03}"} for row in moved)
    done = run(
        "assess", str(meters), str(out), *SERIES, "--json", "--attacks", "series-linkage", "--losses", "series-il2"
    )
    assert done.status == 0, done.stderr
    assert json.loads(done.stdout)["risks"]["series-linkage"]["value"] > 95


def test_describe_shows_a_variable_in_one_line_and_writes_a_schema(meters: Path, run: Run) -> None:
    schema = meters.parent / "meters.toml"
    done = run("describe", str(meters), *SERIES, "--keys", "region,load", "--schema-out", str(schema))
    assert done.status == 0, done.stderr
    assert "60 series" in done.stdout
    assert "series of 24" in done.stdout
    assert "[series]" in schema.read_text(encoding="utf-8")
    again = run("risk", str(meters), "--schema", str(schema), "--json")
    assert json.loads(again.stdout)["uniques"] == 60


def test_a_wide_file_and_a_study_of_it(meters: Path, run: Run) -> None:
    import microveil as mv

    wide = meters.parent / "wide.csv"
    mv.write(mv.datasets.metering(40, step="month", periods=1), wide)
    study = meters.parent / "study.toml"
    study.write_text('data = "wide.csv"\n[[method]]\nname = "mdav"\ngrid = { k = [3, 6] }\n', encoding="utf-8")
    done = run("study", str(study), "--series", "wide,load=load*", "--workers", "0", "--json")
    assert done.status == 0, done.stderr
    assert len(json.loads(done.stdout)["ranking"]) == 2


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("id=meter,time=time", "needs a column of values"),
        ("id=meter,time=region,value=load", "no order that is known"),
        ("id=region,time=time,value=load", "repeat a time of the same series"),
        ("nothing", "--series takes"),
    ],
)
def test_wrong_series_are_refused_in_one_line(meters: Path, run: Run, how: str, says: str) -> None:
    done = run("describe", str(meters), "--series", how)
    assert done.status in (1, 2)
    assert says in done.stderr
    assert done.stderr.count("\n") <= 1
