"""Reference data for the reproductions."""

from __future__ import annotations

import pytest

from microveil.microdata import datasets


@pytest.fixture
def reference_folder() -> None:
    """Without the reference data the test is skipped and says so."""
    if datasets.data_folder() is None:
        pytest.skip("reference data not found: set MICROVEIL_DATA to the folder that holds it")
