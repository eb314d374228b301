"""Write the parts of the documentation that follow from the code: reference pages and the map of the specifications.

A test compares what this makes with what lies in the repository, so neither can fall behind the other.
"""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import microveil
from microveil.attacks import Attack
from microveil.attacks.taxonomy import disclosure_of
from microveil.registry import SHELVES, describe, find, names

ROOT = Path(__file__).resolve().parents[1]
TITLES = {"method": "Methods", "attack": "Attacks", "loss": "Losses", "score": "Scores"}
FILES = {"method": "methods", "attack": "attacks", "loss": "losses", "score": "scores"}


def reference_page(sort: str) -> str:
    """All entries of one shelf of the registry."""
    lines = [f"# {TITLES[sort]}", ""]
    for name in names(sort):
        entry = describe(sort, name)
        module, cls = SHELVES[sort][name].split(":")
        doc = (find(sort, name).__doc__ or "").split(">>>")[0]
        lines += [f"## `{name}`", "", " ".join(doc.split()), ""]
        lines += [f"- Kinds: {', '.join(entry['kinds'])}", f"- Missing values: {entry['missing']}"]
        lines += [f"- Weights: {entry['weights']}"] if "weights" in entry else [f"- Reads as: {entry['meaning']}"]
        lines += [f"- Formula: {entry['formula']}"] if entry.get("formula") else []
        if sort == "attack":
            lines.append(f"- Looks for: {_disclosure(find(sort, name))}")
        lines += [f"- Source: {entry['source']}", f"- In Python: `{module}.{cls}`", ""]
        if entry["parameters"]:
            lines += ["| parameter | type | allowed | default | what it is |", "|---|---|---|---|---|"]
            for p in entry["parameters"]:
                kind = ", ".join(map(str, p["choices"])) if "choices" in p else p["type"]
                lines.append(f"| `{p['name']}` | {kind} | {_allowed(p)} | {p['default']} | {p['help']} |")
            lines.append("")
    return "\n".join(lines)


def python_page() -> str:
    """Every name of the package that is no entry of the registry, as its docstring describes it."""
    entries = {find(sort, name) for sort in SHELVES for name in names(sort)}
    lines = [
        "# In Python",
        "",
        "What `import microveil as mv` gives besides the methods, attacks, losses and scores.",
        "",
    ]
    for name in microveil.__all__:
        value = getattr(microveil, name)
        if isinstance(value, str) or (isinstance(value, type) and value in entries):
            continue
        lines += [f"## `mv.{_call(name, value)}`", "", *_paragraphs(value.__doc__ or ""), ""]
        if inspect.ismodule(value):
            lines += [*_members(name, value), ""]
    return "\n".join(lines)


def _call(name: str, value: Any) -> str:
    """A function with the names of its parameters; a class and a module by name."""
    if not inspect.isfunction(value):
        return name
    shown = []
    for parameter in inspect.signature(value).parameters.values():
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        shown.append(f"{star}{parameter.name}")
    return f"{name}({', '.join(shown)})"


def _members(name: str, module: ModuleType) -> list[str]:
    """What a module that is itself a public name offers, a line for each."""
    public = getattr(module, "__all__", None) or [
        member
        for member, value in vars(module).items()
        if not member.startswith("_") and getattr(value, "__module__", "") == module.__name__ and callable(value)
    ]
    told = {member: getattr(module, member) for member in public}
    return [
        f"- `mv.{name}.{_call(member, value)}`: {_paragraphs(value.__doc__ or '')[0]}"
        for member, value in told.items()
        if callable(value) and value.__doc__
    ]


def _paragraphs(doc: str) -> list[str]:
    """The text of a docstring, without its examples."""
    told = [" ".join(part.split()) for part in inspect.cleandoc(doc).split(">>>")[0].split("\n\n") if part.strip()]
    return [line for part in told for line in (part, "")][:-1]


def _allowed(parameter: dict[str, Any]) -> str:
    """The limits of a number, such as `2 to 1,000,000,000`."""
    low, high = parameter.get("minimum"), parameter.get("maximum")
    least = f"{low:,}" if low is not None else f"above {parameter['above']:,}" if "above" in parameter else ""
    most = f"{high:,}" if high is not None else f"below {parameter['below']:,}" if "below" in parameter else ""
    if least and most:
        return f"{least} to {most}" if low is not None and high is not None else f"{least}, {_at_most(high, most)}"
    return least or most


def _at_most(limit: float | None, words: str) -> str:
    return words if limit is None else f"at most {words}"


def _disclosure(attack: type[Attack]) -> str:
    found = disclosure_of(attack)
    return f"{found.view} disclosure by {found.way}, {found.certainty}, {found.precision}"


def marked_tests() -> dict[str, list[tuple[str, str, tuple[str, ...]]]]:
    """For each specification id the tests that carry it: file, name, and the modules of Microveil the file imports."""
    found: dict[str, list[tuple[str, str, tuple[str, ...]]]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = tuple(
            sorted({n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and _is_ours(n.module)})
        )
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                for name in _ids(node):
                    found[name].append((path.relative_to(ROOT).as_posix(), node.name, modules))
    return found


def _is_ours(module: str | None) -> bool:
    return (
        bool(module) and module.startswith("microveil.") and module not in ("microveil.errors", "microveil.microdata")
    )


def _ids(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    ids: list[str] = []
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.spec":
            ids += [argument.value for argument in decorator.args if isinstance(argument, ast.Constant)]
    return ids


def coverage_page() -> str:
    """Which code and which tests cover which id of the specifications' checklists."""
    lines = [
        "# Coverage of the specifications",
        "",
        "Each id of a specification's checklist that is covered, with the code that does it and the tests that carry",
        "the id. An id that is not listed is not covered yet.",
        "",
        "| id | code | tests |",
        "|---|---|---|",
    ]
    for name, tests in sorted(marked_tests().items()):
        code = ", ".join(f"`{m}`" for m in sorted({m for _, _, modules in tests for m in modules}))
        places = "<br>".join(f"`{path}::{test}`" for path, test, _ in tests)
        lines.append(f"| {name} | {code} | {places} |")
    return "\n".join([*lines, ""])


def pages() -> dict[Path, str]:
    """Every generated file with its content."""
    made = {ROOT / "docs" / "reference" / f"{FILES[sort]}.md": reference_page(sort) for sort in SHELVES}
    made[ROOT / "docs" / "reference" / "python.md"] = python_page()
    made[ROOT / "docs" / "coverage.md"] = coverage_page()
    return made


if __name__ == "__main__":
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
