"""The documentation says what the code does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import microveil
from microveil.registry import SHELVES, names

ROOT = Path(__file__).parents[1]


def test_the_generated_pages_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for path, text in generate.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: run make docs"


def test_the_readme_names_every_method_attack_and_loss() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for sort in SHELVES:
        for name in names(sort):
            assert f"`{name}`" in readme, name


def test_every_public_name_can_be_imported() -> None:
    for name in microveil.__all__:
        assert getattr(microveil, name) is not None
    assert set(microveil.__all__) <= set(dir(microveil))


def test_rooms_import_only_from_rooms_above_them() -> None:
    """The order of the architecture; data flows one way."""
    order = ["errors", "progress", "randomness", "parameters", "numerics", "microdata", "masking", "attacks", "losses",
             "registry", "protection", "battery", "scoring", "study", "reporting", "demo", "cli"]  # fmt: skip
    source = ROOT / "src" / "microveil"
    for path in source.rglob("*.py"):
        room = path.relative_to(source).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        assert room in order, f"{room} has no place in the order of the rooms"
        text = path.read_text(encoding="utf-8")
        runtime = re.sub(r"if TYPE_CHECKING:\n(?:    .*\n|\n)+", "", text)
        for used in re.findall(r"(?:from|import) microveil\.(\w+)", runtime):
            assert order.index(used) <= order.index(room), f"{path.name} imports from {used}, which lies below {room}"
