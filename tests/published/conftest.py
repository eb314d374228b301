"""The reproductions of published tables, so that tests can run their parts at a small size."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType

import pytest

from microveil.microdata import datasets


@pytest.fixture(scope="session")
def rebuilt() -> Callable[[str], ModuleType]:
    """Load a family of reproductions by its module; without the reference data the test is skipped and says so."""

    def load(name: str) -> ModuleType:
        if datasets.data_folder() is None:
            pytest.skip("reference data not found: set MICROVEIL_DATA to the folder that holds it")
        return importlib.import_module(f"reproduction.{name}")

    return load
