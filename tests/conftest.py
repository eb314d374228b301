"""What tests share: reference data, where it is to be had."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from microveil.microdata import Microdata, datasets


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
