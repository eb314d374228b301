"""The rules of an office: packs that state them, and the check of a table against them."""

from typing import TYPE_CHECKING

from microveil.entries import offered

if TYPE_CHECKING:
    from microveil.rules.base import Finding, Rule
    from microveil.rules.checking import RuleCheck, check
    from microveil.rules.columns import CategoriesRule, CopiesRule, EmptyCellsRule, ExtremesRule, IdentifiersRule
    from microveil.rules.frequencies import CombinationsRule, HouseholdsRule, RegionsRule
    from microveil.rules.order import OrderRule
    from microveil.rules.pack import RULES, RulePack, shipped
    from microveil.rules.weights import WeightsRule

_NAMES = {
    "base": ("Finding", "Rule"),
    "checking": ("RuleCheck", "check"),
    "columns": ("CategoriesRule", "CopiesRule", "EmptyCellsRule", "ExtremesRule", "IdentifiersRule"),
    "frequencies": ("CombinationsRule", "HouseholdsRule", "RegionsRule"),
    "order": ("OrderRule",),
    "pack": ("RULES", "RulePack", "shipped"),
    "weights": ("WeightsRule",),
}
__all__ = [
    "RULES",
    "CategoriesRule",
    "CombinationsRule",
    "CopiesRule",
    "EmptyCellsRule",
    "ExtremesRule",
    "Finding",
    "HouseholdsRule",
    "IdentifiersRule",
    "OrderRule",
    "RegionsRule",
    "Rule",
    "RuleCheck",
    "RulePack",
    "WeightsRule",
    "check",
    "shipped",
]

__getattr__, __dir__ = offered(
    globals(), {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}, __all__
)
