"""Every reproduction by its name, by the work they come from."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from microveil.errors import UnknownNameError
from reproduction.base import Reproduction

# each has its reproductions in TABLES
MODULES = (
    "k_ward",
    "multivariate",
    "learning",
    "learning_scores",
    "blocks",
    "swapping",
    "alignment",
    "projected",
    "representatives",
    "linkage",
    "scores",
    "price_indices",
    "series",
    "pram",
    "preclustering",
    "class_restricted",
    "evolved_numbers",
    "evolved_categories",
    "evolved_matrices",
    "pram_formulas",
    "social_graphs",
)


def reproductions() -> dict[str, Reproduction]:
    """All of them; only now are the methods they use imported."""
    found = [table for module in MODULES for table in import_module(f"reproduction.{module}").TABLES]
    return {table.name: table for table in found}


def chosen(names: Sequence[str]) -> list[Reproduction]:
    """Those with these names; a family such as "k-ward" stands for all its tables, and "all" for every one."""
    known = reproductions()
    families = {table.family for table in known.values()}
    wanted: dict[str, Reproduction] = {}
    for name in names:
        if name not in known and name not in families and name != "all":
            raise UnknownNameError("reproduction", name, [*known, *families, "all"])
        wanted |= {key: table for key, table in known.items() if name in (key, table.family, "all")}
    return list(wanted.values())
