"""The known losses of MDAV on the three reference tables: 100 SSE / SST on z-scores."""

from __future__ import annotations

import pytest

from microveil.losses.numeric.separate_sse import SeparateSSE
from microveil.losses.numeric.sse import SSE
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata
from microveil.microdata.datasets.reference import COLUMNS

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


TABLE_4_7 = {
    5: (11.10, 2.79), 10: (29.20, 10.91), 15: (49.43, 24.33), 20: (69.92, 39.78), 25: (89.87, 55.82),
    30: (108.73, 71.44), 35: (127.30, 86.25), 40: (145.34, 100.33), 45: (163.00, 115.32), 50: (180.68, 131.25),
}  # fmt: skip


@pytest.mark.spec("03:MA-6")
def test_every_attribute_by_itself_with_the_literal_remainder_gives_the_printed_table(reference) -> None:  # type: ignore[no-untyped-def]
    """Table 4.7, MDAV columns: separately scaled SSE, all 20 values to the printed digits."""
    tables = reference("census"), reference("eia", COLUMNS["eia"])
    for k, printed in TABLE_4_7.items():
        for data, value in zip(tables, printed, strict=True):
            release = MDAV(k=k, block=1, remainder="literal").mask(data)
            assert SeparateSSE().measure(data, release).details["sse"] == pytest.approx(value, abs=0.00501), (k, value)


@pytest.mark.spec("03:MA-6")
def test_the_printed_example_uses_the_standard_remainder() -> None:
    """Example 2.4, k = 2, each attribute by itself: clusters {1,2} {3,6,7} {8,9} and {4,5} {6,15,16} {17,18}."""
    data = Microdata.of({"a1": [1, 2, 3, 6, 7, 8, 9], "a2": [4, 15, 5, 17, 6, 18, 16]})
    frame = MDAV(k=2, block=1).mask(data).frame
    thirds = 16 / 3, 37 / 3
    assert frame["a1"].to_pylist() == pytest.approx([1.5, 1.5, thirds[0], thirds[0], thirds[0], 8.5, 8.5])
    assert frame["a2"].to_pylist() == pytest.approx([4.5, thirds[1], 4.5, 17.5, thirds[1], 17.5, thirds[1]])
    literal = MDAV(k=2, block=1, remainder="literal").mask(data)
    assert [partition.smallest for partition in literal.partitions.values()] == [1, 1]
