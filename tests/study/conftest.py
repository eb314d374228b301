"""A small table and small designs that tests of studies share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from microveil.microdata import Microdata, files
from microveil.microdata.datasets.sample_survey import survey

DESIGN = """
title = "Small study"
data = "people.csv"
keys = ["age", "wealth"]
seed = 3
repeats = 2
losses = ["sse", "il"]

[[method]]
name = "mdav"
grid = { k = [3, 5] }

[[method]]
name = "noise"
grid = { alpha = [0.1, 0.5] }
"""


@pytest.fixture(scope="session")
def people() -> Microdata:
    return survey(120, seed=2).select(["age", "wealth", "sex"])


@pytest.fixture
def study_file(tmp_path: Path, people: Microdata) -> Callable[..., Path]:
    """Write a design, with the table beside it."""

    def write(text: str = DESIGN, name: str = "small.toml") -> Path:
        if not (tmp_path / "people.csv").exists():
            files.write(people, tmp_path / "people.csv")
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def command() -> Callable[..., list[str]]:
    """The words that start `microveil study` in a process of its own."""
    return lambda *words: [sys.executable, "-m", "microveil.cli", "study", *map(str, words)]


@pytest.fixture
def microveil_study(command: Callable[..., list[str]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*words: object) -> subprocess.CompletedProcess[str]:
        settings = {**os.environ, "COLUMNS": "160"}
        return subprocess.run(command(*words), capture_output=True, text=True, env=settings, timeout=120, check=False)

    return run
