"""The real anonymity of a totally random file: Nin (2008), section 3.1.1."""

from __future__ import annotations

import math


def random_file_anonymity(records: int, k: int, blocks: int) -> float:
    """The real anonymity of a file whose groups of k are random in every block: n over the distinct records expected.

    The sum printed in Nin (2008), section 3.1.1, is 1, whatever the file; this is the closed form.

    >>> round(random_file_anonymity(380, 25, 2), 5)
    1.91776
    """
    return records / expected_distinct(records, _possible_records(records, k, blocks))


def expected_distinct(draws: int, possible: float) -> float:
    """How many different outcomes to expect from so many draws among so many equally likely ones."""
    if possible <= 1:
        return 1.0
    return -possible * math.expm1(draws * math.log1p(-1.0 / possible))


def random_file_bounds(records: int, k: int, blocks: int) -> tuple[float, float]:
    """The approximate bounds of Nin (2008) with the exponent put right; the exact value can miss one narrowly.

    >>> [round(bound, 4) for bound in random_file_bounds(380, 25, 2)]
    [1.9158, 1.9176]
    """
    possible = _possible_records(records, k, blocks)
    middle = -possible * math.expm1(-records / possible)
    return records / (middle + 0.3678), records / (middle + 0.1839)


def _possible_records(records: int, k: int, blocks: int) -> float:
    return float(math.ceil(records / k)) ** blocks
