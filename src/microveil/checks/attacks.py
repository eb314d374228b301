"""What holds for every attack beside what holds for all measures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from microveil.attacks import Attack, Risk
from microveil.attacks.linkage.base import Linkage
from microveil.checks.expecting import expect, expect_all_close, expect_close, expect_equal
from microveil.checks.measuring import control_option, measured
from microveil.checks.tables import complete, complete_for, fitting, noisy, pairs, pairs_of_one_kind
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.parameters import parameter_names
from microveil.registry import make_of

Class = type[Attack]
_DRAWN = 40
_BY_ORDER = ("first",)  # counts the first of equally near records in the file


def the_risk_is_made_of_the_records(cls: Class) -> None:
    data = complete_for(cls) if cls.of_graph else complete()
    result = measured(cls, data, noisy(data, cls.kinds), fitting(data, cls.kinds))
    assert isinstance(result, Risk)
    expect_equal(result.per_record.shape, (len(data),), "the shape of the risks of single records")
    mean = 100 * float(np.nanmean(result.per_record))
    # beside a control group the risk is the advantage over guessing
    expect_close(result.value, max(0.0, 2 * mean - 100) if cls.needs_control else mean, "the value")
    given = int(np.isnan(result.per_record).sum()) if "seeds" in parameter_names(cls) else 0  # whom the intruder knows
    expect_equal(result.attacked, len(data) - given, "the number of records attacked")


def an_attack_that_calls_itself_suited_gives_a_number(cls: Class) -> None:
    """Whatever the one kind of attribute is that there is."""
    for kind, pair in pairs_of_one_kind(cls).items():
        for attack in cls.suited(cls.facing(pair)):
            value = attack.assess_pair(pair.about(attack.facing(pair).attributes)).value
            expect(0 <= value <= 100, f"the risk of {kind} attributes is {value}")


def the_order_never_decides_who_is_attacked(cls: Class) -> None:
    """Who is drawn, where only some records are attacked, depends on what the records hold, never on their order."""
    for attack, file in _limited(cls):
        original, masked = pairs()[file]
        known = fitting(original, attack.kinds) or [n for n in original.names if original[n].kind in attack.kinds]
        if _refuses_missing_cells(attack):
            known = [n for n in known if not original.missing_states(n).any() and not masked.missing_states(n).any()]
        control = control_option(attack, original)
        before = attack.assess(original, masked, known, **control)
        for seed in (1, 2, 3):
            order = np.random.default_rng(seed).permutation(len(original))
            after = attack.assess(original.take(order), masked.take(order), known, **control)
            expect_equal(after.attacked, before.attacked, "the number of records attacked")
            expect(after.attacked <= _DRAWN, "more records are attacked than were asked for")
            expect_all_close(_shown(after), _shown(before), f"the result on the file '{file}' in another order")
            if file == "survey":
                expect_close(after.per_record, before.per_record[order], "the risk of single records")


def the_battery_attacks_the_same_persons_in_any_order(cls: Class) -> None:
    """What a battery runs by itself, with fewer records."""
    if "records" not in parameter_names(cls):
        return
    original, masked = pairs()["survey"]
    order = np.random.default_rng(3).permutation(len(original))
    pair, other = Pair.of(original, masked), Pair.of(original.take(order), masked.take(order))
    for suited in cls.suited(pair):
        if not suited.parameters().get("propagate") and not _refuses_missing_cells(suited):
            attack = suited.changed(records=_DRAWN)
            expect_all_close(_shown(attack.assess_pair(other)), _shown(attack.assess_pair(pair)), "the result")


def _limited(cls: Class) -> Iterator[tuple[Attack, str]]:
    """The attack and its variants of the battery, on some of the records, with the files to try them on."""
    if "records" not in parameter_names(cls):
        return
    files = ("survey", "repeated", "labels") if issubclass(cls, Linkage) else ("survey", "repeated")
    variants = () if cls.needs_control else cls.variants  # which may need the plan of a release
    for parameters in ({}, *(variant.parameters for variant in variants)):
        try:
            attack = make_of(cls, {**parameters, "records": _DRAWN})
        except ParameterError:
            expect(parameters, "it cannot be limited to some of the records")  # only a variant may need all of them
            continue
        yield from ((attack, file) for file in files)


def _refuses_missing_cells(attack: Attack) -> bool:
    return attack.parameters().get("metric") == "mahalanobis"


def _shown(risk: Risk) -> dict[str, Any]:
    return {name: share for name, share in risk.counters.items() if name not in _BY_ORDER} | {"value": risk.value}
