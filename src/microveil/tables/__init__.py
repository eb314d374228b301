"""Protected frequency and magnitude tables: rules, suppression, rounding, the cell-key method, and the audit."""

from typing import TYPE_CHECKING

from microveil.entries import offered

if TYPE_CHECKING:
    from microveil.tables.audit import Audit
    from microveil.tables.cell_key import CellKey, averaging_attack, perturbation_table
    from microveil.tables.page import table_page
    from microveil.tables.protected import ProtectedTable
    from microveil.tables.rules import Dominance, Frequency, PPercent, PriorPosterior, Zeros, rule_of
    from microveil.tables.sources import Aggregated, Respondents
    from microveil.tables.tabulating import Rounding, table

_NAMES = {
    "audit": ("Audit",),
    "cell_key": ("CellKey", "averaging_attack", "perturbation_table"),
    "page": ("table_page",),
    "protected": ("ProtectedTable",),
    "rules": ("Dominance", "Frequency", "PPercent", "PriorPosterior", "Zeros", "rule_of"),
    "sources": ("Aggregated", "Respondents"),
    "tabulating": ("Rounding", "table"),
}
__all__ = [
    "Aggregated",
    "Audit",
    "CellKey",
    "Dominance",
    "Frequency",
    "PPercent",
    "PriorPosterior",
    "ProtectedTable",
    "Respondents",
    "Rounding",
    "Zeros",
    "averaging_attack",
    "perturbation_table",
    "rule_of",
    "table",
    "table_page",
]
__getattr__, __dir__ = offered(
    globals(), {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}, __all__
)
