"""Write the parts of the documentation that follow from the code: reference pages, the tables of the README and of the
methods of microaggregation, references, capabilities and the drawing of the rooms.

A test compares what this makes with what lies in the repository, so neither can fall behind the other.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from import_graph import Graph, drawing

import microveil
import microveil as mv
from microveil.attacks import Attack
from microveil.attacks.taxonomy import disclosure_of
from microveil.entries import ENTRIES
from microveil.masking.preparation import MixedPreparation, OneAttributeAtATime
from microveil.microdata.schema import KINDS
from microveil.parameters import describe_parameters
from microveil.registry import describe, find

ROOT = Path(__file__).resolve().parents[1]
TITLES = {"method": "Methods", "attack": "Attacks", "loss": "Losses", "score": "Scores", "control": "Controls"}
FILES = {"method": "methods", "attack": "attacks", "loss": "losses", "score": "scores", "control": "controls"}
MEANING = {
    "method": "what it does",
    "attack": "what it measures",
    "loss": "what it measures",
    "score": "what it is",
    "control": "what it does",
}

LINKS = "links"  # what an entry of graphs is for that reads no attribute


def reference_page(kind: str) -> str:
    """All entries of one kind."""
    lines = [
        f"# {TITLES[kind]}",
        "",
        "The works that are named as sources stand in full in [References](../references.md).",
        "",
    ]
    for name in ENTRIES[kind]:
        entry = describe(kind, name)
        module, cls = ENTRIES[kind][name].split(":")
        doc = (find(kind, name).__doc__ or "").split(">>>")[0]
        lines += [f"## `{name}`", "", " ".join(doc.split()), ""]
        if kind == "control":
            lines += [f"- Family: {entry['family']}", f"- Assumes that {entry['assumes']}"]
            lines += [f"- Missing values: {entry['missing']}"]
        else:
            lines += [f"- Kinds: {', '.join(entry['kinds']) or LINKS}", f"- Missing values: {entry['missing']}"]
            lines += [f"- Weights: {entry['weights']}"] if "weights" in entry else [f"- Reads as: {entry['meaning']}"]
        lines += [f"- Formula: {entry['formula']}"] if entry.get("formula") else []
        if kind == "attack":
            lines.append(f"- Looks for: {_disclosure(find(kind, name))}")
        lines += [f"- Source: {entry['source']}", f"- In Python: `{module}.{cls}`", ""]
        lines += _parameter_table([p for p in entry["parameters"] if not _is_shared(p)])
        for settings in () if kind == "attack" else entry.get("settings", ()):  # its table has them all
            others = [_heading_link(other) for other in settings["offered"] if other != settings["usual"]]
            instead = f"; or instead {', '.join(others)}" if others else ""
            form = FORMS.get(type(getattr(find(kind, name)(), settings["field"])), "")
            lines += [f"{settings['field'].capitalize()}: {_heading_link(settings['usual'])}{form}{instead}.", ""]
    if kind == "method":
        lines += _shared_parameters()
    return "\n".join(lines)


SHARED = (mv.Preparation, mv.Aggregate, mv.Span, mv.MicroPerturbation, mv.SecureMean, mv.Barycentre)
# the preparation with less choice, which some methods need
FORMS = {OneAttributeAtATime: " of one attribute at a time", MixedPreparation: " of attributes of any kind"}


def _shared_parameters() -> list[str]:
    """The parameters that many methods have in common."""
    lines = [
        "## Parameters that methods share",
        "",
        "Microaggregation is preparation, grouping and publishing. The table of a method has its own parameters and "
        "those of its preparation and publishing that are not as they are here. All are given alike: "
        "`MDAV(k=5, scale='none', publish='median')`, `--set scale=none`, or `scale = 'none'` in a plan. Another way "
        "of publishing is chosen by its name: `--set publishing=span --set publish=interval`.",
        "",
    ]
    for cls in SHARED:
        doc = (cls.__doc__ or "").split(">>>")[0]
        lines += [f"### `{cls.name}`", "", " ".join(doc.split()), ""]
        lines += [f"- In Python: `mv.{cls.__name__}`", "", *_parameter_table(describe_parameters(cls))]
        for form, words in FORMS.items():
            if issubclass(form, cls):
                other = [p for p in describe_parameters(form) if p not in describe_parameters(cls)]
                lines += [f"The {cls.name}{words} differs in:", "", *_parameter_table(other)]
    return lines


def _is_shared(parameter: dict[str, Any]) -> bool:
    """Whether a parameter of a method is exactly one of those that many methods share."""
    plain = {name: value for name, value in parameter.items() if name != "part"}
    return "part" in parameter and any(plain in describe_parameters(cls) for cls in (*SHARED, *FORMS))


def _heading_link(name: str) -> str:
    return f"[`{name}`](#{name})"


def _parameter_table(parameters: Iterable[dict[str, Any]]) -> list[str]:
    rows = []
    for p in parameters:
        of_type = ", ".join(map(str, p["choices"])) if "choices" in p else p["type"]
        rows.append(f"| `{p['name']}` | {of_type} | {_allowed(p)} | {p['default']} | {p['help']} |")
    head = ["| parameter | type | allowed | default | what it is |", "|---|---|---|---|---|"]
    return [*head, *rows, ""] if rows else []


def python_page() -> str:
    """Every name of the package that is no entry of the registry, as its docstring describes it."""
    entries = {find(kind, name) for kind in ENTRIES for name in ENTRIES[kind]}
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


def readme(text: str) -> str:
    """The README with a table of every built-in entry between the marks of each kind."""
    for kind, plural in FILES.items():
        text = between_marks(text, plural, readme_table(kind))
    return text


def between_marks(text: str, name: str, made: str) -> str:
    """A page with what is made for it between the marks of that name."""
    start, end = f"<!-- {name}: written by docs/generate.py -->\n", f"<!-- end of {name} -->\n"
    before, _, rest = text.partition(start)
    return f"{before}{start}{made}{end}{rest.partition(end)[2]}"


def readme_table(kind: str) -> str:
    lines = [f"| {kind} | for | {MEANING[kind]} |", "|---|---|---|"]
    for name in ENTRIES[kind]:
        entry = describe(kind, name)
        if kind == "control":
            entry["kinds"] = [entry["family"]]
        held = "all" if set(entry["kinds"]) == set(KINDS) else ", ".join(entry["kinds"]) or LINKS
        lines.append(f"| [`{name}`](docs/reference/{FILES[kind]}.md#{name}) | {held} | {entry['summary']} |")
    return "\n".join([*lines, ""])


def traits_table() -> str:
    """How the literature tells the methods of microaggregation apart."""
    lines = ["| method | attributes | sizes | search |", "|---|---|---|---|"]
    for name in ENTRIES["method"]:
        method = find("method", name)
        if method.family == "microaggregation":
            lines.append(f"| `{name}` | {' | '.join(method.traits)} |")
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


def _disclosure(attack: type[Attack]) -> str:
    found = disclosure_of(attack)
    return f"{found.view} disclosure by {found.way}, {found.certainty}, {found.precision}"


class Work(NamedTuple):
    """A work of the bibliography: how it is cited, such as `Domingo-Ferrer and Mateo-Sanz (2002)`, and in full."""

    citation: str
    full: str


def works() -> dict[str, Work]:
    """The bibliography by key: docs/references.bib, which has one field a line."""
    text = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    found = {}
    for key, body in re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", text, re.DOTALL | re.MULTILINE):
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", body, re.MULTILINE))
        found[key] = _work(fields, letter=key.split(fields["year"])[-1])
    return found


def _work(fields: dict[str, str], letter: str) -> Work:
    """`letter` tells works of the same authors and year apart."""
    authors = [author.strip("{}").split(", ") for author in fields["author"].split(" and ")]
    year = fields["year"] + letter
    names = [author[0] for author in authors]
    short = _listed(names) if len(names) <= 3 else f"{names[0]} et al."
    where = next(
        fields[field] for field in ("journal", "booktitle", "school", "institution", "publisher") if field in fields
    )
    volume = fields.get("volume", "") + (f"({fields['number']})" if "volume" in fields and "number" in fields else "")
    if "number" in fields and "volume" not in fields:
        volume = f"no. {fields['number']}"
    pages = f", {fields['pages']}" if "pages" in fields else ""
    doi = f", [doi:{fields['doi']}](https://doi.org/{fields['doi']})" if "doi" in fields else ""
    full = _listed([", ".join(author) for author in authors])
    place = f"{where} {volume}".strip() + pages + doi
    return Work(f"{short} ({year})", f"{full} ({year}). *{fields['title']}*. {place}.")


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def references_page() -> str:
    """The works that are cited, in the order of their citations."""
    lines = [
        "# References",
        "",
        "The works that methods, attacks, losses, scores and controls name as their source. As BibTeX: "
        "`docs/references.bib`.",
        "",
    ]
    return "\n".join([*lines, *(f"- {work.full}" for work in sorted(works().values(), key=_alphabetical)), ""])


def _alphabetical(work: Work) -> str:
    return unicodedata.normalize("NFKD", work.citation).encode("ascii", "ignore").decode().lower()


class Shown(NamedTuple):
    """A test that shows a capability: its file, its name, and the modules of Microveil, or of its studies, that it
    uses."""

    path: str
    test: str
    modules: tuple[str, ...]


def marked_tests() -> dict[str, list[Shown]]:
    """For each mark the tests that carry it."""
    found: dict[str, list[Shown]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        uses = {name: node for node in tree.body for name in _defined(node)}
        packages = ("microveil.", "reproduction.") if path.parent.name == "reproduction" else ("microveil.",)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                for mark in _marks(node):
                    modules = _modules(node, uses, packages) or _modules(tree, {}, packages)
                    found[mark].append(Shown(path.relative_to(ROOT).as_posix(), node.name, modules))
    return found


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement of a test file defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    return [name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]


def _modules(start: ast.AST, uses: dict[str, ast.stmt], packages: tuple[str, ...]) -> tuple[str, ...]:
    """The modules of some packages that a part of a test file uses, also by the functions and values it calls upon."""
    seen: set[str] = set()
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.ImportFrom) and _shows(node.module or "", packages):
                found.add(str(node.module))
            name = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else None
            if name in uses and name not in seen:
                seen.add(name)
                waiting.append(uses[name])
    return tuple(sorted(found))


def _shows(module: str, packages: tuple[str, ...]) -> bool:
    passed_over = ("microveil.errors", "microveil.microdata", "microveil.numerics.choices")
    return module.startswith(packages) and module not in passed_over


def _marks(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    marks: list[str] = []
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.spec":
            marks += [argument.value for argument in decorator.args if isinstance(argument, ast.Constant)]
    return marks


def capabilities_page() -> str:
    """What of each work is here, section by section: the code that does it and the tests that show it."""
    tests = marked_tests()
    bibliography = works()
    lines = [
        "# Capabilities by source",
        "",
        "What Microveil has of the works it builds upon, in the order of their sections, with the code that does it",
        "and the tests that show it. Where a work is corrected, the place says so. [References](references.md) has the",
        "works in full.",
        "",
    ]
    for key, places in tomllib.loads((ROOT / "tests" / "sources.toml").read_text(encoding="utf-8")).items():
        lines += [f"## {bibliography[key].citation}", "", "| where | what | code | tests |", "|---|---|---|---|"]
        for mark, (place, what) in places.items():
            shown = tests.pop(mark, [])
            if not shown:
                raise LookupError(f"tests/sources.toml: no test carries the mark {mark}")
            code = ", ".join(f"`{module}`" for module in sorted({m for test in shown for m in test.modules}))
            lines.append(f"| {place} | {what} | {code} | {'<br>'.join(f'`{t.path}::{t.test}`' for t in shown)} |")
        lines.append("")
    if tests:
        raise LookupError(f"tests/sources.toml has no place for the marks {', '.join(sorted(tests))}")
    return "\n".join(lines)


def pages() -> dict[Path, str]:
    """Every generated file with its content."""
    made = {ROOT / "docs" / "reference" / f"{FILES[kind]}.md": reference_page(kind) for kind in ENTRIES}
    made[ROOT / "docs" / "reference" / "python.md"] = python_page()
    made[ROOT / "docs" / "references.md"] = references_page()
    made[ROOT / "docs" / "capabilities.md"] = capabilities_page()
    made[ROOT / "docs" / "images" / "rooms.svg"] = drawing(Graph.of())
    made[ROOT / "README.md"] = readme((ROOT / "README.md").read_text(encoding="utf-8"))
    learning = ROOT / "docs" / "learning.md"
    made[learning] = between_marks(learning.read_text(encoding="utf-8"), "traits", traits_table())
    return made


if __name__ == "__main__":
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
