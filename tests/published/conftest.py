"""The scripts that rebuild published tables, so that tests can run their parts at a small size."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from microveil.microdata import datasets

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.fixture(scope="session")
def study() -> Callable[[str], ModuleType]:
    """Load a script of the folder studies by its name; without the reference data the test is skipped and says so."""

    def load(name: str) -> ModuleType:
        if datasets.data_folder() is None:
            pytest.skip("reference data not found: set MICROVEIL_DATA to the folder that holds it")
        known = f"studies.{name}"
        if known not in sys.modules:
            spec = importlib.util.spec_from_file_location(known, STUDIES / f"{name}.py")
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[known] = module
            spec.loader.exec_module(module)
        return sys.modules[known]

    return load
