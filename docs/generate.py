"""Write the parts of the documentation that follow from the code: reference pages, the tables of the README and the map
of the specifications.

A test compares what this makes with what lies in the repository, so neither can fall behind the other.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import Any

from microveil.entries import ENTRIES
from microveil.microdata.schema import KINDS
from microveil.registry import describe, find

ROOT = Path(__file__).resolve().parents[1]
TITLES = {"method": "Methods", "attack": "Attacks", "loss": "Losses", "score": "Scores"}
FILES = {"method": "methods", "attack": "attacks", "loss": "losses", "score": "scores"}
MEANING = {"method": "what it does", "attack": "what it measures", "loss": "what it measures", "score": "what it is"}


def reference_page(kind: str) -> str:
    """All entries of one kind."""
    lines = [f"# {TITLES[kind]}", ""]
    for name in ENTRIES[kind]:
        entry = describe(kind, name)
        module, cls = ENTRIES[kind][name].split(":")
        doc = (find(kind, name).__doc__ or "").split(">>>")[0]
        lines += [f"## `{name}`", "", " ".join(doc.split()), ""]
        lines += [f"- Kinds: {', '.join(entry['kinds'])}", f"- Missing values: {entry['missing']}"]
        lines += [f"- Weights: {entry['weights']}"] if "weights" in entry else [f"- Reads as: {entry['meaning']}"]
        lines += [f"- Formula: {entry['formula']}"] if entry.get("formula") else []
        lines += [f"- Source: {entry['source']}", f"- In Python: `{module}.{cls}`", ""]
        if entry["parameters"]:
            lines += ["| parameter | type | allowed | default | what it is |", "|---|---|---|---|---|"]
            for p in entry["parameters"]:
                of_type = ", ".join(map(str, p["choices"])) if "choices" in p else p["type"]
                lines.append(f"| `{p['name']}` | {of_type} | {_allowed(p)} | {p['default']} | {p['help']} |")
            lines.append("")
    return "\n".join(lines)


def readme(text: str) -> str:
    """The README with a table of every built-in entry between the marks of each kind."""
    for kind, plural in FILES.items():
        start, end = f"<!-- {plural}: written by docs/generate.py -->\n", f"<!-- end of {plural} -->\n"
        before, _, rest = text.partition(start)
        text = f"{before}{start}{readme_table(kind)}{end}{rest.partition(end)[2]}"
    return text


def readme_table(kind: str) -> str:
    lines = [f"| {kind} | for | {MEANING[kind]} |", "|---|---|---|"]
    for name in ENTRIES[kind]:
        entry = describe(kind, name)
        held = "all" if set(entry["kinds"]) == set(KINDS) else ", ".join(entry["kinds"])
        lines.append(f"| [`{name}`](docs/reference/{FILES[kind]}.md#{name}) | {held} | {entry['summary']} |")
    return "\n".join([*lines, ""])


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
    made = {ROOT / "docs" / "reference" / f"{FILES[kind]}.md": reference_page(kind) for kind in ENTRIES}
    made[ROOT / "docs" / "coverage.md"] = coverage_page()
    made[ROOT / "README.md"] = readme((ROOT / "README.md").read_text(encoding="utf-8"))
    return made


if __name__ == "__main__":
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
