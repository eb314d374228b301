"""Graphs on the command line: nodes and edges in, a folder out, measured, studied and reported."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
KEYS = ("--location", "home", "--keys", "home,topic1,topic2,topic3,age")
Run = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("nodes.csv", "edges.csv"):
        shutil.copy(EXAMPLES / name, tmp_path)
    return tmp_path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def protect(folder: Path, run: Run, *options: str, out: str = "safe") -> Any:
    nodes, edges = str(folder / "nodes.csv"), str(folder / "edges.csv")
    return run("protect", nodes, "--graph", edges, *options, "--out", str(folder / out))


def test_profiles_are_shared_and_links_stay(folder: Path, run: Run) -> None:
    done = protect(folder, run, *KEYS, "--method", "graph-profiles", "--set", "k=5", "--require", "k=5")
    assert done.status == 0, done.stderr
    assert "topic1, topic2, topic3: taken for a ranked list" in done.stdout
    assert "277 edges written to" in done.stdout
    before, after = rows(folder / "nodes.csv"), rows(folder / "safe" / "nodes.csv")
    assert [row["vote"] for row in after] == [row["vote"] for row in before]
    new_id = {row["id"]: released["id"] for row, released in zip(before, after, strict=True)}
    links = [
        {frozenset((row["source"], row["target"])) for row in rows(folder / place / "edges.csv")}
        for place in (".", "safe")
    ]
    assert {frozenset(new_id[end] for end in link) for link in links[0]} == links[1]


def test_a_graph_is_made_again_from_its_manifest_measured_and_reported(folder: Path, run: Run) -> None:
    nodes, edges = str(folder / "nodes.csv"), str(folder / "edges.csv")
    assert protect(folder, run, *KEYS, "--method", "graph-profiles", "--set", "k=4").status == 0
    manifest = str(folder / "safe" / "nodes.csv.manifest.json")
    done = protect(folder, run, "--plan", manifest, out="again")
    assert done.status == 0, done.stderr
    for name in ("nodes.csv", "edges.csv"):
        assert (folder / "safe" / name).read_bytes() == (folder / "again" / name).read_bytes()
    done = run("assess", nodes, str(folder / "safe"), "--graph", edges, "--json")
    assert done.status == 0, done.stderr
    assert json.loads(done.stdout)["records"] == 120
    page = folder / "page.html"
    done = run("report", nodes, str(folder / "safe"), "--graph", edges, "--out", str(page))
    assert done.status == 0, done.stderr
    assert "<h3>The graph</h3>" in page.read_text(encoding="utf-8")


def test_links_are_changed_by_a_plan_of_two_steps(folder: Path, run: Run) -> None:
    plan = folder / "plan.toml"
    plan.write_text(
        '[[steps]]\nmethod = "graph-profiles"\nparameters = { k = 4 }\n\n'
        '[[steps]]\nmethod = "k-degree"\nparameters = { k = 6 }\n'
    )
    done = protect(folder, run, *KEYS, "--plan", str(plan))
    assert done.status == 0, done.stderr
    assert "k-degree (k=6, add_only=False) on the links" in done.stdout
    degrees = Counter(end for row in rows(folder / "safe" / "edges.csv") for end in row.values())
    shared = Counter(degrees[row["id"]] for row in rows(folder / "safe" / "nodes.csv"))
    assert min(shared.values()) >= 6


def test_degrees_become_an_attribute_of_a_flat_table(folder: Path, run: Run) -> None:
    done = protect(folder, run, *KEYS, "--flat", "--method", "graph-profiles", "--set", "k=5", out="flat.csv")
    assert done.status == 0, done.stderr
    released = rows(folder / "flat.csv")
    assert list(released[0]) == ["home", "topic1", "topic2", "topic3", "age", "vote", "degree"]
    nodes = str(folder / "nodes.csv")
    done = run("assess", nodes, str(folder / "flat.csv"), "--graph", str(folder / "edges.csv"), "--flat", "--json")
    assert done.status == 0, done.stderr
    assert "degree" in json.loads(done.stdout)["knowledge"]["attributes"]


def test_a_study_compares_graphs(folder: Path, run: Run) -> None:
    design = folder / "study.toml"
    design.write_text(
        'data = "nodes.csv"\ngraph = "edges.csv"\nkeys = ["home", "topic1"]\nlocation = ["home"]\nseed = 5\n'
        'losses = ["dbil"]\nattacks = ["distance-linkage"]\n'
        '[[method]]\nname = "graph-profiles"\ngrid = { k = [3, 6] }\n'
    )
    done = run("study", str(design), "--out", str(folder / "study"), "--workers", "0", "--json")
    assert done.status == 0, done.stderr
    assert len(json.loads(done.stdout)["ranking"]) == 2


def test_a_graph_in_one_file_is_described(folder: Path, run: Run) -> None:
    import microveil as mv

    mv.write(mv.read(folder), folder / "network.graphml")
    done = run("describe", str(folder / "network.graphml"))
    assert done.status == 0, done.stderr
    assert "120 nodes" in done.stdout
    assert "277 edges" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: (f / "edges.csv").write_text("source,target\n1,999\n"), "1 edge leads to a node"),
        (lambda f: (f / "edges.csv").write_text("source\n1\n"), "needs two columns"),
        (lambda f: (f / "nodes.csv").write_text("id,age\n1,3\n1,4\n"), "only 1 different nodes"),
        (lambda f: (f / "edges.csv").unlink(), "no such file"),
    ],
)
def test_what_is_no_graph_is_refused_in_a_sentence(
    folder: Path, run: Run, change: Callable[[Path], Any], words: str
) -> None:
    change(folder)
    done = protect(folder, run, "--method", "k-degree")
    assert done.status == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_structure_without_links_and_graphs_in_one_table_are_refused(folder: Path, run: Run) -> None:
    done = run("protect", str(folder / "nodes.csv"), "--method", "k-degree", "--out", str(folder / "x.csv"))
    assert done.status == 1
    assert "the table has none; give its edges with --graph" in done.stderr
    done = protect(folder, run, "--method", "k-degree", out="safe.csv")
    assert done.status == 1
    assert "a graph is written to a folder" in " ".join(done.stderr.split())


def test_nothing_is_left_where_a_graph_is_refused(folder: Path, run: Run) -> None:
    done = protect(folder, run, *KEYS, "--method", "graph-profiles", "--set", "k=500")
    assert done.status == 1
    assert "120 records" in done.stderr
    assert not (folder / "safe").exists()


def test_self_loops_repetitions_and_weights_are_said(folder: Path, run: Run) -> None:
    (folder / "edges.csv").write_text("from,to,weight\n1,2,5\n2,1,3\n4,4,1\n")
    done = protect(folder, run, "--method", "k-degree", "--set", "k=2")
    assert done.status == 0, done.stderr
    told = " ".join(done.stderr.split())
    assert "1 self-loop left out" in told
    assert "1 edge repeats another" in told
    assert "not used and not released: weight" in told


def test_unknown_places_are_said(folder: Path, run: Run) -> None:
    text = (folder / "nodes.csv").read_text().replace('"Salzburg, Austria"', "Middle of Nowhere")
    (folder / "nodes.csv").write_text(text)
    done = protect(folder, run, *KEYS, "--method", "graph-profiles", "--set", "k=4")
    assert done.status == 0, done.stderr
    assert "home: found" in done.stderr
    assert "unknown: 1" in done.stderr
