"""Private files of any content beside a release, named by its manifest or not: used by assess and report."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

from attempt import Attempt
from commanding import command
from kinds.plans import _write_table
from kinds.schemas import _short, damaged
from values import anything, mutated, small_columns
from written import json_text


def make(rng: random.Random, folder: Path) -> Attempt:
    from microveil.microdata import files
    from microveil.registry import make as build

    _write_table(small_columns(rng), folder / "people.csv")
    data = files.read(folder / "people.csv", keys=["age", "income"])
    release = build("method", rng.choice(["mdav", "sampling"]), {}).mask(data, seed=rng.randrange(2**40))
    saved = (release.shuffled() if rng.random() < 0.5 else release).save(folder / "safe.csv")
    assert saved.private is not None
    plain = json.loads(saved.private.read_text(encoding="utf-8"))
    plain = mutated(plain, rng) if rng.random() < 0.95 else anything(rng)
    text = json_text(plain)
    if rng.random() < 0.1:
        text = damaged(text, rng)
    content = text.encode("utf-8", "surrogatepass")
    saved.private.write_bytes(content)
    if rng.random() < 0.9:  # whoever changes the one can change the other
        manifest = json.loads(saved.manifest.read_text(encoding="utf-8"))
        manifest["output"]["private_sha256"] = hashlib.sha256(content).hexdigest()
        saved.manifest.write_text(json.dumps(manifest), encoding="utf-8")
    use = rng.choice(["assess", "report"])
    words = {
        "assess": ["assess", "people.csv", "safe.csv", "--attacks", "distance-linkage", "--losses", "il1"],
        "report": ["report", "people.csv", "safe.csv", "--out", "page.html", "--losses", "il1"],
    }[use]
    return Attempt(f"{use}: {_short(plain)}", lambda: command(words), ("page.html",))
