"""What stands beside the values of releases and measurements is what is on record; `details.py --write` records anew
what is meant."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from microveil.registry import names

from .details import (
    MEASURED_RELEASES,
    RECORDED,
    Case,
    assessed,
    combined,
    declared,
    evidence,
    measured_by,
    released_by,
    with_low_limits,
)
from .releases import machine

FILE = json.loads(RECORDED.read_text(encoding="utf-8"))
RECORD: dict[str, str] = FILE["cases"]
pytestmark = pytest.mark.skipif(FILE["machine"] != machine(), reason="recorded on another kind of machine")


MEASURED = [(kind, name) for kind in ("attack", "loss", "score") for name in names(kind)]


def changed(found: Iterable[Case]) -> list[str]:
    """The cases that do not come out as recorded; a case that is not on record has changed, too."""
    return [label for label, seal in found if RECORD.get(label) != seal]


@pytest.mark.slow  # ten thousand cases; bytes and headline numbers are among those of test_golden.py
@pytest.mark.parametrize("name", names("method"))
def test_a_release_has_the_details_on_record(name: str) -> None:
    assert changed(released_by(name)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("attack", "loss", "score") for name in names(kind)]
)
def test_a_measurement_has_the_details_on_record(kind: str, name: str) -> None:
    assert changed(measured_by(kind, name)) == []


@pytest.mark.parametrize("limits", ["low", "strict"])
@pytest.mark.parametrize("kind", ["method", "attack", "loss"])
def test_long_files_are_treated_as_on_record(kind: str, limits: str) -> None:
    assert changed(with_low_limits(kind, limits)) == []


@pytest.mark.parametrize("on", MEASURED_RELEASES)
def test_an_assessment_shows_what_is_on_record(on: str) -> None:
    assert changed(assessed(on)) == []


def test_versions_orders_copies_and_advice_are_those_on_record() -> None:
    assert changed(combined()) == []


def test_every_entry_declares_what_is_on_record() -> None:
    assert changed(declared()) == []


def test_the_terms_of_the_likelihood_are_those_on_record() -> None:
    assert changed(evidence()) == []
