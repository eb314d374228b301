"""The method, the attack and the loss keep what Microveil promises of every one of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from microveil_example.absolute_error import AbsoluteError
from microveil_example.laplace_noise import LaplaceNoise
from microveil_example.value_interval import ValueInterval

from microveil.checks import checks_of

ENTRIES = {"method": LaplaceNoise, "attack": ValueInterval, "loss": AbsoluteError}
CHECKS = [(kind, name, check) for kind, cls in ENTRIES.items() for name, check in checks_of(kind, cls)]


@pytest.mark.parametrize("check", [pytest.param(check, id=f"{kind}-{name}") for kind, name, check in CHECKS])
def test_it_keeps_the_contract(check: Callable[[], None]) -> None:
    check()
