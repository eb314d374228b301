"""The documentation says what the code does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import generate
import numpy as np

import microveil
from microveil.entries import ENTRIES
from microveil.registry import describe, names

ROOT = Path(__file__).parents[1]


def test_the_generated_pages_are_up_to_date() -> None:
    for path, text in generate.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: run make docs"


def test_the_readme_has_a_row_for_every_entry_that_leads_to_its_reference() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for kind, page in {"method": "methods", "attack": "attacks", "loss": "losses", "score": "scores"}.items():
        reference = (ROOT / "docs" / "reference" / f"{page}.md").read_text(encoding="utf-8")
        for name in ENTRIES[kind]:
            assert f"\n| [`{name}`](docs/reference/{page}.md#{name}) |" in readme, name
            assert f"\n## `{name}`\n" in reference, name


def test_the_tables_of_the_readme_are_made_anew_and_the_rest_of_it_is_kept() -> None:
    marked = "before\n<!-- {0}: written by docs/generate.py -->\nOUTDATED\n<!-- end of {0} -->\nafter\n"
    made = generate.readme("".join(marked.format(plural) for plural in generate.FILES.values()))
    assert "OUTDATED" not in made
    assert made.count("before\n") == made.count("after\n") == len(generate.FILES)
    assert made == generate.readme(made)


def test_the_texts_of_the_registry_use_the_words_of_the_literature() -> None:
    """Words that a statistician had to read twice; the literature has others for each."""
    private = re.compile(
        r"\b(so many|dear|looks?|in the place of|brought together|span|says nothing)\b"
        r"|how far .* moved|is emptied|free place"
    )
    for kind in ENTRIES:
        for name in names(kind):
            entry = describe(kind, name)
            texts = [entry["summary"], entry["missing"], entry.get("meaning") or ""]
            texts += [parameter["help"] for parameter in entry["parameters"]]
            for text in texts:
                assert not private.search(text), f"{name}: {text}"


def test_the_glossary_is_in_order_and_explains_the_words_it_refers_to() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("entry of their own.")[2]
    words = [word.lower() for word in re.findall(r"^\*\*(.+?)\.\*\*", text, re.MULTILINE)]
    assert words == sorted(set(words))
    several = {form for word in words for form in (f"{word}s", f"{word}es")}
    for word in re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", text):
        assert " ".join(word.lower().split()) in several.union(words), word


def test_every_link_between_pages_leads_to_a_file() -> None:
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md")):
        for target in re.findall(r"\]\(([^()\s#]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_list_of_contents_names_every_page() -> None:
    docs = ROOT / "docs"
    listed = re.findall(r"^[\w/]+$", (docs / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    pages = {page.relative_to(docs).with_suffix("").as_posix() for page in docs.rglob("*.md")} - {"index"}
    assert sorted(listed) == sorted(page for page in pages if not page.startswith("_build"))


def test_one_version_and_one_licence_are_told_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert microveil.__version__ == project["version"]
    assert f"\nversion: {project['version']}\n" in cited
    assert f"\nlicense: {project['license']}\n" in cited
    assert f"\n## [{project['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_contributors_are_told_commands_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in ("CONTRIBUTING.md", ".github/pull_request_template.md", ".github/workflows/test.yml"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"(?:^|`|run: )make ([\w-]+)", text, re.MULTILINE):
            assert f"\n{target}:" in makefile, f"{page}: make {target}"
        for path in re.findall(r"(?:tests|benchmarks|docs|src)/[\w/.-]+\w", text):
            assert (ROOT / path).exists(), f"{page}: {path}"


def test_every_public_name_can_be_imported() -> None:
    for name in microveil.__all__:
        assert getattr(microveil, name) is not None
    assert set(microveil.__all__) <= set(dir(microveil))


def test_the_plan_and_the_hierarchies_of_the_guide_to_methods_work(tmp_path: Path) -> None:
    from microveil.masking.plan import read_plan
    from microveil.microdata import Microdata
    from microveil.microdata.hierarchies import equal_width, prefixes
    from microveil.protection import protect

    text = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    zips = prefixes(["8010", "8020", "9020"], [2, 1], fill="*")
    assert zips.generalise("8010", 1) == "80**"
    assert equal_width(0, 100, [5, 10, 20]).levels == 4
    rng = np.random.default_rng(1)
    people = Microdata.of(
        {
            "zip": rng.choice(["8010", "8020", "9020"], 200),
            "age": rng.integers(18, 99, 200),
            "sex": rng.choice(["f", "m"], 200),
            "education": rng.choice(["low", "high"], 200),
            "illness": rng.choice(["a", "b", "c"], 200),
        },
        keys=["zip", "sex", "education"],
        confidential=["illness"],
    )
    people = people.with_schema(people.schema.replacing(people["zip"].changed(hierarchy=zips)))
    people.schema.write(tmp_path / "people.toml")
    plan = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert plan is not None
    (tmp_path / "plan.toml").write_text(plan[1], encoding="utf-8")
    release = protect(people, read_plan(tmp_path / "plan.toml")[0])
    assert release.guarantees.k >= 3
    assert set(release.frame["zip"].to_pylist()) <= {"80**", "90**", None}
