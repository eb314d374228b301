"""What is guaranteed when a file is written is what is measured when it is read again, on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .test_cli import microveil

KEYS = "sex,region,job"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    lines = ["sex,region,job,pay,ill"]
    for _ in range(120):
        cells = [rng.choice(list("fm")), rng.choice(list("ABC")), rng.choice(["cook", "nurse", "clerk", "judge"])]
        lines.append(",".join([*cells, f"{rng.lognormal(8, 1):.2f}", rng.choice(["flu", "gout", "cold"])]))
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def succeeded(*arguments: object) -> str:
    done = microveil(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def uniqueness(original: Path, release: Path) -> dict[str, Any]:
    shown = json.loads(succeeded("assess", original, release, "--attacks", "uniqueness", "--json"))
    return dict(shown["risks"]["uniqueness"])


@pytest.mark.parametrize("declared", [False, True])
def test_suppressed_wildcards_count_alike_when_protecting_assessing_and_reporting(
    people: Path, tmp_path: Path, declared: bool
) -> None:
    schema, out, page = tmp_path / "schema.toml", tmp_path / "safe.csv", tmp_path / "report.html"
    said: list[object] = ["--keys", KEYS, "--confidential", "ill"]
    if declared:
        succeeded("describe", people, *said, "--schema-out", schema)
        assert 'missing = "own category"' in schema.read_text()
        said = ["--schema", schema]
    masking = ("--method", "suppress", "--set", "suppressed=wildcard", "--set", "k=4", "--seed", 123_456_789)
    told = json.loads(succeeded("protect", people, *said, *masking, "--require", "k=4", "--out", out, "--json"))
    guaranteed = told["guarantees"]
    assert guaranteed["k"] >= 4
    assert guaranteed["k-without-wildcards"] == 1

    found = uniqueness(people, out)
    assert found["counters"]["unique"] == 0.0
    assert found["counters"]["unique-without-wildcards"] > 0.0
    assert found["value"] <= 100 / 4

    succeeded("report", people, out, "--out", page)
    text = page.read_text()
    assert f"k-anonymity: {guaranteed['k']} (every one of the {guaranteed['classes']} equivalence classes" in text
    assert "k-anonymity without wildcards: 1 (where an empty cell agrees with empty cells only" in text


def test_a_step_can_make_categories_of_empty_cells_that_were_declared_wildcards(people: Path, tmp_path: Path) -> None:
    schema, out = tmp_path / "schema.toml", tmp_path / "safe.csv"
    succeeded("describe", people, "--keys", KEYS, "--schema-out", schema)
    schema.write_text(schema.read_text().replace('missing = "own category"', 'missing = "wildcard"'))
    masking = ("--method", "suppress", "--set", "suppressed=own category", "--set", "k=4", "--seed", 123_456_789)
    told = json.loads(succeeded("protect", people, "--schema", schema, *masking, "--out", out, "--json"))["guarantees"]
    assert told["k"] == told["k-without-wildcards"] >= 4
    counters = uniqueness(people, out)["counters"]
    assert counters["unique"] == 0.0
    assert "unique-without-wildcards" not in counters


def test_a_key_that_refuses_missing_cells_can_be_suppressed_and_assessed(people: Path, tmp_path: Path) -> None:
    schema, out = tmp_path / "schema.toml", tmp_path / "safe.csv"
    succeeded("describe", people, "--keys", KEYS, "--schema-out", schema)
    schema.write_text(schema.read_text().replace('missing = "own category"', 'missing = "refuse"'))
    masking = ("--method", "suppress", "--set", "k=4", "--seed", 123_456_789)
    succeeded("protect", people, "--schema", schema, *masking, "--out", out)
    assert uniqueness(people, out)["counters"]["unique"] == 0.0


PLAN = """
seed = 123456789
[[steps]]
method = "recode"
attributes = ["job"]
parameters = { by = "map", map = { trade = ["cook", "nurse"], office = ["clerk", "judge"] }, publish = "label" }
"""


@pytest.mark.parametrize(("made", "declared"), [(True, True), (False, True), (False, False)])
def test_named_groups_are_assessed_and_reported_with_and_without_a_manifest(
    people: Path, tmp_path: Path, made: bool, declared: bool
) -> None:
    plan, schema, out, page = (tmp_path / name for name in ("plan.toml", "schema.toml", "safe.csv", "report.html"))
    plan.write_text(PLAN)
    said: list[object] = ["--keys", KEYS, "--confidential", "ill"]
    if declared:
        succeeded("describe", people, *said, "--schema-out", schema)
        said = ["--schema", schema]
    succeeded("protect", people, *said, "--plan", plan, "--out", out)
    if not made:
        Path(f"{out}.manifest.json").unlink()
    done = microveil("assess", people, out, *said, "--attacks", "all", "--json")
    assert done.returncode == 0, done.stderr
    assert "job: released as labels" in done.stderr
    risks = json.loads(done.stdout)["risks"]
    rows = [line.split(",")[:3] for line in out.read_text().splitlines()[1:]]
    # a person is one of those who share the labels
    assert risks["uniqueness"]["value"] == pytest.approx(100 * len({tuple(row) for row in rows}) / len(rows))
    assert {"attribute-disclosure", "class-disclosure", "inference"} <= set(risks)
    succeeded("report", people, out, *said, "--out", page)
    assert "k-anonymity: " in page.read_text()


def test_diversity_of_a_number_is_required_only_after_its_classes_are_declared(people: Path, tmp_path: Path) -> None:
    schema, out = tmp_path / "schema.toml", tmp_path / "safe.csv"
    masking = ("--method", "suppress", "--set", "k=2", "--seed", 123_456_789, "--out", out)
    refused = microveil("protect", people, "--keys", KEYS, "--confidential", "pay", *masking, "--require", "l=2")
    assert refused.returncode != 0
    assert "l cannot be required of 'pay'" in refused.stderr
    assert not out.exists()
    succeeded("describe", people, "--keys", KEYS, "--confidential", "pay", "--schema-out", schema)
    text = schema.read_text()
    assert "[attributes.pay]\n" in text
    schema.write_text(text.replace("[attributes.pay]\n", "[attributes.pay]\nhierarchy = { cuts = [[1e6]] }\n"))
    short = microveil("protect", people, "--schema", schema, *masking, "--require", "l=2")
    assert re.search(
        r"reaches 1: (\d+) of \1 equivalence classes have fewer than 2 distinct values of pay", short.stderr
    )
    shown = succeeded("protect", people, "--schema", schema, *masking)
    assert "have values in a single one of the 2 classes of pay)" in shown
