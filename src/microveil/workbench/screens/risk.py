"""The screen Risk: three numbers, what causes them, what would lower them, and attacks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import microveil as mv
from microveil.applications import number
from microveil.workbench import explanations
from microveil.workbench.bench import Bench
from microveil.workbench.screens.frame import named_attributes, named_keys, recipe_of


def risk(bench: Bench) -> dict[str, Any]:
    here = bench.history.here
    if here is None:
        return {"explained": explanations.of_risk(None), "found": None, "python": "", "shell": ""}
    found, measures = bench.risk(here), bench.measures(here)
    original = bench.history.original_of(here.name)
    schema = mv.Schema.from_plain(here.schema)
    among = named_attributes(bench, here)
    recipe = recipe_of(bench, here)
    return {
        "explained": explanations.of_risk(found, measures), "found": found, "measures": measures,
        "numbers": None if found is None or "failed" in found else _numbers(found, measures),
        "threshold": bench.threshold, "attacks": bench.attacks(here), "offered": attacks(), "among": among,
        "keys": named_keys(bench) or among, "declared": bool(schema.keys),
        "running": bench.jobs.is_asked(task="risk", node=here.name),
        "advice": bench.advice(original), "advising": bench.jobs.is_asked(task="advise", node=original.name),
        "advisable": schema.panel is None and not bench.history.tables[here.table].graph,
        "python": recipe.python_of_risk(bench.threshold, here.steps),
        "shell": recipe.shell_of_risk(bench.threshold, here.steps),
    }  # fmt: skip


def _numbers(found: Mapping[str, Any], measures: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The three large numbers; after masking those of the assessment, with what they were before."""
    now = found["summary"] if measures is None else measures["headline"]["after"]
    was = None if measures is None else measures["headline"]["before"]
    records = max(1, now["records"])
    safe = now["largest"] <= now["threshold"] + 1e-9
    return [
        {"key": "expected", "title": "expected re-identifications", "value": number(now["expected"]),
         "words": f"of {now['records']:,} records, {100 * now['expected'] / records:.3g} %",
         "before": None if was is None else number(was["expected"]), "bad": False},
        {"key": "largest", "title": "largest risk of a record", "value": f"{now['largest']:.3g}",
         "words": f"threshold {now['threshold']:g}: " + ("kept" if safe else f"{now['above']:,} records above it"),
         "before": None if was is None else f"{was['largest']:.3g}", "bad": not safe},
        {"key": "uniques", "title": "records alone in their combination", "value": f"{now['uniques']:,}",
         "words": f"of {now['records']:,}; the smallest group has {now['k']:,}",
         "before": None if was is None else f"{was['uniques']:,}", "bad": now["uniques"] > 0},
    ]  # fmt: skip


@cache
def attacks() -> list[dict[str, Any]]:
    """Every attack of the registry as it describes itself."""
    return [mv.registry.describe("attack", name) for name in mv.registry.names("attack")]
