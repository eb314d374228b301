"""A workspace with the sample, one release and one export, made once; tests work on copies of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the workbench needs starlette")
pytest.importorskip("uvicorn", reason="the workbench needs uvicorn")

from microveil.workbench.bench import Bench

PATIENCE = 600  # seconds; kernels may have to be compiled first


def _idle(bench: Bench) -> None:
    until = time.monotonic() + PATIENCE
    while bench.jobs.listed():
        assert time.monotonic() < until, bench.jobs.listed()
        time.sleep(0.02)


@pytest.fixture
def idle() -> Callable[[Bench], None]:
    """Wait until nothing runs."""
    return _idle


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sample loaded, masked by mdav k=5 and exported as CSV."""
    folder = tmp_path_factory.mktemp("workbench") / "space"
    bench = Bench(folder)
    try:
        bench.load("sample", "survey.csv")
        _idle(bench)
        bench.try_method("mdav", {"k": "5"}, ["age", "income", "wealth", "expenditure"])
        _idle(bench)
        assert bench.here().title == "mdav k=5"
        bench.export("safe", ".csv", reports=False)
        _idle(bench)
        assert not bench.last_failure
    finally:
        bench.close()
    return folder


@pytest.fixture
def bench(made: Path, tmp_path: Path) -> Iterator[Bench]:
    """A copy of that workspace, open."""
    folder = tmp_path / "space"
    shutil.copytree(made, folder)
    found = Bench(folder)
    yield found
    found.close()
