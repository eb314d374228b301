"""How a check measures a release, by an attack or by a loss, and what it measures."""

from __future__ import annotations

from typing import Any

from microveil.attacks import Attack, Risk
from microveil.checks.tables import control_for, fitting, noisy
from microveil.losses import Loss, LossMeasure
from microveil.microdata import Microdata
from microveil.registry import make_of, method

Measure = type[Attack] | type[LossMeasure]


def measured(cls: Measure, original: Any, masked: Any, attributes: Any = None, **options: Any) -> Risk | Loss:
    component = make_of(cls)
    attributes = attributes or None  # a measure of links alone has none
    if isinstance(component, Attack):
        options |= control_option(component, original)
        return component.assess(original, masked, attributes, **options)
    loss: Loss = component.measure(original, masked, attributes, **options)
    return loss


def control_option(attack: Attack, original: Any) -> dict[str, Any]:
    """The control group that an attack has to be given, if it needs one."""
    return {"control": control_for(original)} if attack.needs_control else {}


def disturbed(cls: Measure, data: Microdata, strength: float, seed: int = 1) -> Any:
    """A release that a measure can see: noise, or intervals and sets for a loss of what labels leave open."""
    if issubclass(cls, LossMeasure) and cls.reads_labels and not cls.of_graph:
        return method("mondrian", k=2 + int(90 * strength), publish="interval").mask(data, fitting(data, cls.kinds))
    return noisy(data, cls.kinds, strength, seed)
