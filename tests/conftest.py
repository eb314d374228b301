"""What tests share: reference data, where it is to be had."""

# ruff: noqa: E402 - what numpy reads when it is imported is set before
from __future__ import annotations

import os
from pathlib import Path

_PROCESSOR = Path("/proc/cpuinfo")
if _PROCESSOR.exists() and "avx512f" in _PROCESSOR.read_text(encoding="utf-8", errors="replace"):
    # the last digits, and what follows from them, are those of the processor on which golden releases were recorded
    os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", "X86_V4 AVX512_ICL AVX512_SPR")
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
    os.environ.setdefault("NUMBA_CPU_NAME", "haswell")
    os.environ.setdefault("NUMBA_CPU_FEATURES", "")

import gc
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from hypothesis import settings

from microveil.microdata import Microdata, datasets

os.environ["COLUMNS"] = "160"  # of the tables that commands print, so that no sentence a test looks for is wrapped
# how long a case takes says nothing about whether it is right; fewer cases than usual keep the run short
settings.register_profile("microveil", deadline=None, max_examples=50)
settings.load_profile("microveil")


def pytest_collection_finish() -> None:
    """What was collected stays to the end: it need not be looked through again whenever memory is tidied."""
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.fixture(scope="session")
def reference() -> Callable[..., Microdata]:
    """Load a reference table; without the reference data the test is skipped and says so."""
    loaded: dict[tuple[str, tuple[str, ...] | None], Microdata] = {}

    def load(name: str, columns: tuple[str, ...] | None = None) -> Microdata:
        if datasets.data_folder() is None:
            pytest.skip("reference data not found: set MICROVEIL_DATA to the folder that holds it")
        if (name, columns) not in loaded:
            table = datasets.load(name)
            loaded[name, columns] = table if columns is None else table.select(columns)
        return loaded[name, columns]

    return load


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., object]:
    """Run a command line in the folder of the test, in this process: its status, stdout and stderr."""
    from microveil.cli.app import main

    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["microveil", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return SimpleNamespace(status=ended.value.code, stdout=told.out, stderr=told.err)

    return command
