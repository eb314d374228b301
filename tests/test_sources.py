"""Every source is a published work that a reader can look up."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import generate
import pytest

from microveil.entries import ENTRIES
from microveil.registry import describe, names

ROOT = Path(__file__).parents[1]
MARKS = ROOT / "tests" / "sources.toml"
YEAR = re.compile(r"\w+ \((?:19|20)\d\d[a-z]?\)")


@pytest.fixture(scope="module")
def citations() -> list[str]:
    """The longest first, as `Torra and Nin (2008)` ends like `Nin (2008)`."""
    return sorted((work.citation for work in generate.works().values()), key=len, reverse=True)


def texts() -> dict[str, str]:
    """All files that people read or run, without the marks of tests, the list of these marks, and this file."""
    paths = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").glob("*.py")]
    for folder in ("src", "studies", "benchmarks", "tests"):
        paths += [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md", ".toml")]
    paths.remove(ROOT / "tests" / "sources.toml")  # says where the marks come from
    marks = re.compile(r"@?pytest\.mark\.spec\(.*?\)", re.DOTALL)
    return {
        path.relative_to(ROOT).as_posix(): marks.sub("", path.read_text(encoding="utf-8"))
        for path in paths
        if path not in (Path(__file__), MARKS) and "_build" not in path.parts
    }


def cited(text: str, citations: list[str]) -> tuple[set[str], str]:
    """The works that a text cites, and what is left of the text without them."""
    text = " ".join(text.split()).replace('" "', "")  # also over the lines of a string
    found = set()
    for citation in citations:
        if citation in text:
            found.add(citation)
            text = text.replace(citation, "")
    return found, text


def test_every_source_names_works_of_the_bibliography_and_no_others(citations: list[str]) -> None:
    for kind in ENTRIES:
        for name in names(kind):
            found, rest = cited(describe(kind, name)["source"], citations)
            assert found, f"{name} names no work"
            assert not YEAR.search(rest), f"{name} names a work that is not in the bibliography: {rest}"


def test_every_work_that_code_and_pages_name_is_in_the_bibliography(citations: list[str]) -> None:
    for path, text in texts().items():
        if not path.startswith("tests/"):
            missing = YEAR.findall(cited(text, citations)[1])
            assert not missing, f"{path}: {missing}"


def test_the_bibliography_has_no_work_that_nothing_names(citations: list[str]) -> None:
    generated = ("docs/references.md", "docs/capabilities.md")
    everything = " ".join(text for path, text in texts().items() if path not in generated)
    assert set(citations) - cited(everything, citations)[0] == set()


def test_keys_of_the_bibliography_are_unique_and_so_are_citations(citations: list[str]) -> None:
    keys = re.findall(r"^@\w+\{(\w+),", (ROOT / "docs" / "references.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(set(keys)) == len(keys) == len(generate.works())
    assert len(set(citations)) == len(citations)


def test_marks_stay_in_the_tests() -> None:
    """Readers have the works, not the lists by which the tests are marked."""
    places = tomllib.loads(MARKS.read_text(encoding="utf-8"))
    marks = {mark.split(":")[1] for work in places.values() for mark in work}
    families = {"TV", *(mark.split("-")[0] for mark in marks if re.search(r"-\d", mark))}
    private = re.compile(
        rf"(?i:\bspecifications?\b|\bspec 0\d)|\b0[1-7]:[A-Z]|\b(?:{'|'.join(families)})-\d+\b|\bLM\d\d\b"
    )
    for path, text in texts().items():
        found = private.search(text)
        assert found is None, f"{path}: {found[0]}"
