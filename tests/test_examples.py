"""Every example in the README and the documentation runs as it is printed, on the files in docs/examples."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from microveil import entries
from microveil.microdata import Schema

ROOT = Path(__file__).parents[1]
_GUIDES = (
    "guide",
    "choosing",
    "rules",
    "release",
    "missing",
    "households",
    "survey_risk",
    "population_models",
    "control_group",
    "generalise",
    "syntactic_attacks",
    "series",
    "graphs",
    "tables",
    "queries",
    "engines",
    "studies",
    "search",
    "evolution",
    "deciding",
    "reporting",
    "adding",
)
PAGES = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in _GUIDES)]
_LONG = ("search", "studies")  # their commands are among those of the README, and are tested by themselves
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SET_UP = ("make demo", "make test")  # these two are run by whoever runs this test


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    yield from _BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] if page.stem in _LONG else [], id=page.stem) for page in PAGES],
)
def test_every_example_of_a_page_runs_as_printed(
    page: Path, tmp_path: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in (ROOT / "docs" / "examples").iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    names: dict[str, Any] = {}
    for language, text in blocks(page):
        if language == "python" and text.startswith("# src/microveil/"):
            _add_to_package(text, tmp_path, monkeypatch)
        elif language == "python":
            exec(compile(text, f"{page.name}: {text.splitlines()[0]}", "exec"), names)
        elif language == "toml":
            _keep(text, tmp_path)
        else:
            assert language == "", f"{page.name} has a block of {language}, which no test runs"
            for line in filter(None, text.splitlines()):
                _carry_out(line, page, run)


def _add_to_package(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that begins with `# src/microveil/...` is that module of the package, whose doctests are run, or with the
    name of a table of entries some lines in it."""
    head, _, body = text.partition("\n")
    place, _, shelf = head.removeprefix("# src/").partition(", ")
    if shelf:
        for name, target in re.findall(r'^    "(.+)": "(.+)",$', body, re.MULTILINE):
            monkeypatch.setitem(getattr(entries, shelf), name, target)
        return
    assert not (ROOT / "src" / place).exists(), f"the page adds {place}, which is there already"
    name = place.removesuffix(".py").replace("/", ".")
    file = folder / Path(place).name
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    tried = doctest.testmod(module)
    assert tried.attempted
    assert not tried.failed, name


def _keep(text: str, folder: Path) -> None:
    """A block that begins with `# name.toml` is that file; another one shows a part of a schema."""
    named = re.match(r"# (\S+\.toml)\n", text)
    if named:
        (folder / named[1]).write_text(text, encoding="utf-8")
    else:
        Schema.from_plain(tomllib.loads(text), folder)


def _carry_out(line: str, page: Path, run: Callable[..., Any]) -> None:
    if line.startswith(_SET_UP):
        return
    program, *arguments = shlex.split(line, comments=True)
    assert program == "microveil", f"{page.name}: {line}"
    done = run(*arguments)
    assert done.status == 0, f"{page.name}: {line}\n{done.stderr}"


def test_the_help_of_every_command_has_an_example_that_names_only_options_it_has(run: Callable[..., Any]) -> None:
    from microveil.cli.app import app

    for command in app.registered_commands:
        assert command.epilog is not None
        name = command.name or command.callback.__name__.replace("_", "-")  # type: ignore[union-attr]
        told = run(name, "--help").stdout
        for line in re.findall(r"microveil \w+[^\n]*", command.epilog):
            for option in re.findall(r"--[\w-]+", line):
                assert option in told, f"{name}: {option}"


def test_the_example_of_every_method_runs_as_printed(tmp_path: Path, run: Callable[..., Any]) -> None:
    for file in (ROOT / "docs" / "examples").iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    for name in entries.METHODS:
        (line,) = re.findall(
            r"^Example: microveil (.*)$", run("methods", name, "--kind", "method").stdout, re.MULTILINE
        )
        assert any(how in line for how in ("--schema people.toml", "--series", "--graph")), name
        assert "--set" not in line, name
        if name == "best":  # its default work is half a minute of this test
            line += " --set polish=1"
        done = run(*shlex.split(line), "--force")
        assert done.status == 0, f"{line}\n{done.stderr}"
