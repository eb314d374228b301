"""What holds for every registered method, attack, loss and score. New ones are picked up from the registry."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from microveil.checks import checks_of
from microveil.entries import ENTRIES
from microveil.registry import find

CASES = [
    pytest.param(check, id=f"{kind}-{name}-{checked}")
    for kind, entries in ENTRIES.items()
    for name in entries
    for checked, check in checks_of(kind, find(kind, name))
]


@pytest.mark.parametrize("check", CASES)
def test_it_keeps_the_contract(check: Callable[[], None]) -> None:
    check()
