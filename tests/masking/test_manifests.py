"""A manifest or plan of any wrong shape is refused in one sentence that says what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from microveil.errors import FileError, MicroveilError, ParameterError
from microveil.masking.plan import Plan, read_plan
from microveil.masking.randomising.noise import Noise
from microveil.masking.release import release_from
from microveil.microdata import Microdata, files

WRONG: tuple[Any, ...] = (5, -1.5, True, "text", [], [1], [[]], {}, {"a": 1}, None)
PLACES = (
    "plan", "input", "output", "versions", "left_out", "notes", "input.digest", "input.records", "input.dialect",
    "output.digest", "output.file_sha256", "output.records", "output.schema", "plan.seed", "plan.schema", "plan.steps",
    "plan.require", "plan.steps.0", "plan.steps.0.method", "plan.steps.0.parameters", "plan.steps.0.attributes",
    "plan.schema.attributes", "plan.schema.attributes.age", "plan.schema.attributes.age.kind",
    "plan.schema.attributes.age.role", "versions.python", "notes.0", "left_out.0",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("release")
    rows = "".join(f"{20 + i},{1000 + 7 * i}\n" for i in range(12))
    (place / "people.csv").write_text(f"age,income\n{rows}", encoding="utf-8")
    data = files.read(place / "people.csv", keys=["age", "income"])
    Noise().mask(data, seed=4711).save(place / "safe.csv")
    return place


def manifest_of(folder: Path) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads((folder / "safe.csv.manifest.json").read_text(encoding="utf-8"))
    return {**plain, "notes": ["a note"], "left_out": ["name"]}


def changed(plain: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(plain))
    inside: Any = copy
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    return copy


@pytest.mark.parametrize("named", PLACES)
def test_a_part_of_another_type_is_refused_or_does_no_harm(folder: Path, tmp_path: Path, named: str) -> None:
    place = tuple(int(part) if part.isdigit() else part for part in named.split("."))
    data = files.read(folder / "safe.csv")
    beside = tmp_path / "safe.csv.manifest.json"
    refusals = []
    for value in WRONG:
        beside.write_text(json.dumps(changed(manifest_of(folder), place, value)), encoding="utf-8")
        try:
            plan, manifest = read_plan(beside)
            release_from(data, plan, manifest or {}).manifest()
        except MicroveilError as problem:
            refusals.append(str(problem))
    assert refusals
    assert all("\n" not in sentence and len(sentence) < 400 for sentence in refusals)


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (("input",), [1], r"input = \[1\] is no part of a manifest; it must be a table"),
        (("input", "records"), "12", "input.records = '12' is no part of a manifest; it must be a whole number"),
        (("notes",), [3], "notes = 3 is no part of a manifest; it must be a note with its kind, sentence and values"),
        (("versions", "python"), 3, "versions.python = 3 is no part of a manifest; it must be a text"),
        (("input", "dialect"), {"sep": ";"}, "the dialect in a manifest has no entry 'sep'"),
        (("plan", "schema"), 5, "the schema of a plan is the name of a file or a table"),
        (("plan", "schema", "attributes", "age", "role"), 5, "attribute 'age': roles: it must be 'identifier'"),
    ],
)
def test_the_sentence_names_the_part(
    folder: Path, tmp_path: Path, place: tuple[Any, ...], value: Any, sentence: str
) -> None:
    beside = tmp_path / "plan.json"
    beside.write_text(json.dumps(changed(manifest_of(folder), place, value)), encoding="utf-8")
    with pytest.raises(FileError, match=sentence):
        read_plan(beside)


@pytest.mark.parametrize("text", ["[]", "5", '"x"', "null", "{}", '{"plan": []}', '{"plan": null}', "", "\x00", "[[[["])
def test_a_file_that_is_no_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match="plan"):
        read_plan(tmp_path / "plan.json")


DEEP: dict[str, Callable[[], str]] = {
    "lists in JSON": lambda: '{"plan": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "tables in JSON": lambda: '{"plan": ' + '{"a": ' * 500 + "1" + "}" * 500 + "}",
    "lists in TOML": lambda: "steps = " + "[" * 5_000 + "]" * 5_000,
    "dotted keys in TOML": lambda: "a." * 400 + "b = 1",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_nesting_is_refused(tmp_path: Path, text: Callable[[], str]) -> None:
    (tmp_path / "plan.toml").write_text(text(), encoding="utf-8")
    with pytest.raises(FileError, match=r"is nested too deeply|is neither a plan"):
        read_plan(tmp_path / "plan.toml")


@pytest.mark.parametrize("text", ['{"plan": {"seed": %s}}', "seed = %s"])
def test_numbers_of_5000_digits_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.toml").write_text(text % ("9" * 5000), encoding="utf-8")
    with pytest.raises(FileError, match="has a number with too many digits"):
        read_plan(tmp_path / "plan.toml")


def test_texts_that_are_no_unicode_are_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text('{"plan": {"steps": [{"method": "\\ud800"}]}}', encoding="utf-8")
    with pytest.raises(FileError, match="has a text that is not valid Unicode"):
        read_plan(tmp_path / "plan.json")


def test_a_plan_from_python_is_checked_as_well() -> None:
    for plain in (None, 5, [], {"steps": 5}, {"steps": [5]}, {"steps": [{"method": "mdav"}], "require": [1]}):
        with pytest.raises(ParameterError):
            Plan.from_plain(plain)


@pytest.mark.parametrize("command", ["protect", "assess", "report"])
@pytest.mark.parametrize("value", [[1], 5, "text"])
def test_the_commands_say_what_is_wrong_with_a_manifest(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, value: Any
) -> None:
    from microveil.cli.app import app

    monkeypatch.chdir(tmp_path)
    for name in ("people.csv", "safe.csv"):
        Path(name).write_bytes((folder / name).read_bytes())
    Path("safe.csv.manifest.json").write_text(
        json.dumps({**manifest_of(folder), "input": value, "output": value}), encoding="utf-8"
    )
    words = {
        "protect": ["protect", "people.csv", "--plan", "safe.csv.manifest.json", "--out", "again.csv"],
        "assess": ["assess", "people.csv", "safe.csv"],
        "report": ["report", "people.csv", "safe.csv", "--out", "page.html"],
    }[command]
    ended = CliRunner().invoke(app, words)
    assert isinstance(ended.exception, FileError)
    assert "is no part of a manifest" in str(ended.exception)


def test_a_release_is_read_back_with_what_its_manifest_has(folder: Path) -> None:
    plan, manifest = read_plan(folder / "safe.csv.manifest.json")
    assert manifest is not None
    data: Microdata = files.read(folder / "safe.csv")
    release = release_from(data, plan, {"plan": manifest["plan"], "input": None, "notes": None})
    assert release.provenance.input_records == 12
    assert release.provenance.notes == ()


@pytest.mark.parametrize("part", ["input", "output", "versions", "notes", "left_out", "members_differ"])
def test_a_part_that_is_null_is_as_good_as_absent(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    from microveil.cli.app import app

    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_bytes((folder / "people.csv").read_bytes())
    Path("plan.json").write_text(json.dumps({**manifest_of(folder), part: None}), encoding="utf-8")
    ended = CliRunner().invoke(app, ["protect", "people.csv", "--plan", "plan.json", "--out", "again.csv"])
    assert ended.exception is None
    assert Path("again.csv").exists()
    assert part not in (read_plan("plan.json")[1] or {})
