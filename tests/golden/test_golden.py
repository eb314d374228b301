"""Releases and measurements are those on record, on the same kind of machine byte for byte; `releases.py --write`
records anew what is meant."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from microveil.registry import names

from .releases import ASSESSED, RECORDED, differences, machine, measured_by, measured_on, released_by, written

RECORD = json.loads(RECORDED.read_text(encoding="utf-8"))
SAME_MACHINE = RECORD["machine"] == machine()


def changed(found: Iterable[tuple[str, str]], prefix: str) -> list[str]:
    """The cases with this prefix that do not come out as recorded."""
    recorded = {label: seal for label, seal in RECORD["cases"].items() if label.startswith(prefix)}
    return differences(recorded, dict(found), exact=SAME_MACHINE)


@pytest.mark.parametrize("name", names("method"))
def test_a_method_releases_the_same_bytes(name: str) -> None:
    recorded = {label: seal for label, seal in RECORD["cases"].items() if label.split()[0] == name}
    assert differences(recorded, dict(released_by(name)), exact=SAME_MACHINE) == []


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in ("attack", "loss") for name in names(kind)])
def test_every_choice_of_a_measure_finds_the_same(kind: str, name: str) -> None:
    recorded = {label: seal for label, seal in RECORD["cases"].items() if label.split()[0] == name}
    assert differences(recorded, dict(measured_by(kind, name)), exact=SAME_MACHINE) == []


@pytest.mark.parametrize("name", ASSESSED)
def test_every_measure_finds_the_same(name: str) -> None:
    assert changed(measured_on(name), f"{name}: ") == []


def test_files_hold_the_same() -> None:
    assert changed((case for case in written() if "file" in case[0]), "csv file") == []
    assert changed((case for case in written() if "read" in case[0]), "read back") == []
