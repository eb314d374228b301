"""What holds for every registered attack that can be limited to some of the records: who is drawn depends on what the
records hold, never on their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.attacks import Attack, Risk
from microveil.attacks.linkage.base import Linkage
from microveil.comparison.drawing import drawn
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.registry import find, make, names

from .conftest import fitting

DRAWN = 40
DRAWING = [name for name in names("attack") if "records" in make("attack", name).parameters()]
_BY_ORDER = ("first",)  # counts the first of equally near records in the file


def limited(name: str) -> list[Attack]:
    """The attack and its variants of the battery, on some of the records; some take all or none."""
    made = []
    for parameters in ({}, *(variant.parameters for variant in find("attack", name).variants)):
        try:
            made.append(make("attack", name, {**parameters, "records": DRAWN}))
        except ParameterError:
            assert parameters  # only a variant may need all records
    return made


ATTACKS = [attack for name in DRAWING for attack in limited(name)]
CASES = [(attack, file) for attack in ATTACKS for file in ("survey", "repeated")]
CASES += [(attack, "labels") for attack in ATTACKS if isinstance(attack, Linkage)]


@pytest.fixture(scope="module")
def pairs() -> dict[str, tuple[Microdata, Microdata]]:
    """Files in which no two records are equal, in which many are, and with labels."""
    people = survey(200, seed=11)
    numeric, categorical = fitting(people, ("numeric",)), fitting(people, ("ordinal", "nominal"))
    noisy = Noise(alpha=0.3).mask(people, numeric, seed=1)
    moved = PRAM(p=0.7).mask(noisy.data, categorical, seed=1).data
    few = Microdata.of(
        {name: np.random.default_rng(len(name)).integers(0, 4, 200) for name in ("age", "rooms", "cars")}
    )
    shaken = few.with_columns({name: pa.array(np.roll(few.numbers(name).values, 7)) for name in ("age", "cars")})
    complete = Microdata.of({name: few.numbers(name).values + np.arange(200) % 9 for name in few.names})
    grouped = Mondrian(k=3, publish="interval").mask(complete, complete.names).data
    return {"survey": (people, moved), "repeated": (few, shaken), "labels": (complete, grouped)}


def refuses_missing(attack: Attack) -> bool:
    return attack.parameters().get("metric") == "mahalanobis"


def shown(risk: Risk) -> dict[str, Any]:
    return {name: share for name, share in risk.counters.items() if name not in _BY_ORDER} | {"value": risk.value}


@pytest.mark.parametrize(("attack", "file"), CASES, ids=lambda part: getattr(part, "name", part))
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_order_never_decides_who_is_attacked(
    attack: Attack, file: str, pairs: dict[str, tuple[Microdata, Microdata]], seed: int
) -> None:
    original, masked = pairs[file]
    known = fitting(original, attack.kinds) or [n for n in original.names if original[n].kind in attack.kinds]
    if refuses_missing(attack):
        known = [n for n in known if not original.missing_states(n).any() and not masked.missing_states(n).any()]
    order = np.random.default_rng(seed).permutation(len(original))
    before = attack.assess(original, masked, known)
    after = attack.assess(original.take(order), masked.take(order), known)
    assert before.attacked == after.attacked <= DRAWN
    assert shown(after) == pytest.approx(shown(before), rel=1e-9)
    if file == "survey":
        assert after.per_record == pytest.approx(before.per_record[order], nan_ok=True)


def test_the_battery_attacks_the_same_persons_in_any_order(pairs: dict[str, tuple[Microdata, Microdata]]) -> None:
    """What it runs by itself, with fewer records."""
    original, masked = pairs["survey"]
    order = np.random.default_rng(3).permutation(len(original))
    pair, other = Pair.of(original, masked), Pair.of(original.take(order), masked.take(order))
    for name in DRAWING:
        for suited in find("attack", name).suited(pair):
            if not suited.parameters().get("propagate") and not refuses_missing(suited):
                attack = suited.changed(records=DRAWN)
                assert shown(attack.assess_pair(other)) == pytest.approx(shown(attack.assess_pair(pair)), rel=1e-9)


def test_equal_records_are_drawn_one_by_one() -> None:
    """Of two sorts of a thousand records each, a draw of a hundred holds both, about as often."""
    table = Microdata.of({"sex": ["f", "m"] * 1000})
    chosen = drawn(Pair.of(table, table, ["sex"]), ["sex"], 100, 0, "a name")
    assert len(chosen) == len(np.unique(chosen)) == 100
    assert 30 < (chosen % 2).sum() < 70


def test_another_seed_draws_other_records_and_no_more_are_drawn_than_there_are() -> None:
    table = Microdata.of({"age": np.arange(300.0)})
    pair = Pair.of(table, table)
    one, other = (drawn(pair, ["age"], 50, seed, "a name") for seed in (0, 1))
    assert len(one) == len(other) == 50
    assert set(one.tolist()) != set(other.tolist())
    assert drawn(pair, ["age"], 400, 0, "a name").tolist() == list(range(300))
