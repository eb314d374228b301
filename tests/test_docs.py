"""The documentation says what the code does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np

import microveil
from microveil.entries import ENTRIES
from microveil.registry import describe, names

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
    for kind in ENTRIES:
        for name in names(kind):
            assert f"`{name}`" in readme, name


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
