"""The known losses of MDAV on the three reference tables: 100 SSE / SST on z-scores."""

from __future__ import annotations

import pytest

from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata.datasets import COLUMNS

KNOWN = [
    ("tarragona", None, {3: 16.9326, 5: 22.4619, 10: 33.1929}, 4),
    ("census", None, {3: 5.6922, 5: 9.0884, 10: 14.1559}, 4),
    ("eia", "eia-mdav", {3: 0.48, 5: 1.67, 10: 3.84}, 2),
]


@pytest.mark.parametrize(("table", "columns", "losses", "decimals"), KNOWN, ids=[known[0] for known in KNOWN])
def test_the_known_losses_come_out(reference, table, columns, losses, decimals) -> None:  # type: ignore[no-untyped-def]
    data = reference(table, COLUMNS[columns] if columns else None)
    for k, printed in losses.items():
        release = MDAV(k=k).mask(data)
        assert release.partition.smallest == k
        assert round(SSE().measure(data, release).value, decimals) == printed
