from __future__ import annotations

import numpy as np
import pytest

from microveil.microdata import Microdata


@pytest.fixture(scope="session")
def people() -> Microdata:
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, size=60)
    return Microdata.of(
        {
            "age": age,
            "income": np.round(rng.lognormal(7, 0.5, size=60) + 10 * age),
            "town": rng.choice(["north", "south", "west"], size=60),
            "size": rng.choice(["s", "m", "l"], size=60),
        },
        keys=["age", "income", "town", "size"],
        ordinal={"size": ["s", "m", "l"]},
    )
