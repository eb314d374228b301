"""Every method, attack, loss and score is found by its name, and its class where a reader looks for it."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import microveil as mv
from microveil.entries import ENTRIES, OFFERED
from microveil.registry import find, names

BUILT_IN = [(kind, name) for kind, entries in ENTRIES.items() for name in entries]
ROOMS = {
    "method": ("masking", "search", "series", "graphs"),
    "attack": ("attacks", "series", "graphs"),
    "loss": ("losses", "series", "graphs"),
    "score": ("scoring",),
    "control": ("queries",),
}


@pytest.mark.parametrize(("kind", "name"), BUILT_IN)
def test_the_modules_of_its_family_offer_the_class_of_every_entry(kind: str, name: str) -> None:
    module, cls = ENTRIES[kind][name].split(":")
    found = find(kind, name)
    folders = module.split(".")[:-1]
    assert folders[1] in ROOMS[kind]
    for depth in range(2, len(folders) + 1):
        family = importlib.import_module(".".join(folders[:depth]))
        assert getattr(family, cls) is found
        assert cls in dir(family)
    if kind in OFFERED:
        assert getattr(mv, cls) is found


def test_no_two_classes_and_no_other_name_of_the_package_are_called_alike() -> None:
    classes = [entry.split(":")[1] for kind in OFFERED for entry in ENTRIES[kind].values()]
    others = [name for group in mv._HOMES.values() for name in group]
    assert len({*classes, *others, *mv._MODULES}) == len(classes) + len(others) + len(mv._MODULES)


def test_a_name_that_no_module_has_is_an_attribute_error() -> None:
    for module in (mv, mv.masking, mv.masking.microaggregation):
        with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'Nonsense'"):
            _ = module.Nonsense


def test_importing_the_package_and_listing_its_names_imports_nothing_heavy() -> None:
    heavy = {"numpy", "numba", "pyarrow", "scipy", "pandas", "narwhals", "pydantic", "importlib.metadata"}
    script = f"import sys, microveil\ndir(microveil)\nprint(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_familys_module_does_not_import_its_methods() -> None:
    script = "import sys, microveil.masking\nprint('microveil.masking.microaggregation.mdav' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_built_in_names_come_in_the_order_of_the_table() -> None:
    for kind, entries in ENTRIES.items():
        assert names(kind)[: len(entries)] == tuple(entries)
