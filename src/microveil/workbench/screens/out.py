"""The screen Out: what is still open, the export, and what was exported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import microveil as mv
from microveil.workbench import explanations
from microveil.workbench.bench import GRAPHS_WRITABLE, WRITABLE, Bench
from microveil.workbench.history import Node
from microveil.workbench.screens.frame import recipe_of


def out(bench: Bench) -> dict[str, Any]:
    here = bench.history.here
    measures = None if here is None or not here.is_masked else bench.measures(here)
    shown: dict[str, Any] = {"explained": explanations.OUT, "measures": measures, "python": "", "shell": "",
                             "exports": [] if here is None else bench.exports()}  # fmt: skip
    if here is None or measures is None:
        return shown
    table, recipe = bench.history.tables[here.table], recipe_of(bench, here)
    exporting = bench.jobs.is_asked(task="export", node=here.name)
    return {
        **shown, "explained": {**explanations.of_map(measures, here.title), **explanations.OUT},
        "endings": GRAPHS_WRITABLE if table.graph else WRITABLE, "exporting": exporting,
        "open": still_open(bench, here, measures),
        "stem": f"{table.file.split('.')[0]}-safe",
        "python": recipe.python_of_steps(here.steps), "shell": recipe.shell_of_steps(here.steps),
    }  # fmt: skip


def still_open(bench: Bench, node: Node, measures: Mapping[str, Any]) -> list[str]:
    """What somebody who decides about the release should have seen, in words."""
    after, bounds = measures["headline"]["after"], bench.history.bounds
    schema = mv.Schema.from_plain(node.schema)
    told = []
    if not schema.keys:
        told.append("No keys are declared, so the risk is that of an intruder who knows every attribute.")
    if after["largest"] > bench.threshold + 1e-9:
        above = after["above"] if abs(after["threshold"] - bench.threshold) < 1e-12 else None
        count = "Records" if above is None else f"{above:,} of {after['records']:,} records"
        told.append(
            f"{count} have a risk above the threshold {bench.threshold:g}; the largest is {after['largest']:.3g}."
        )
    if after["uniques"]:
        told.append(
            f"{after['uniques']:,} of {after['records']:,} records still stand alone in their combination of keys."
        )
    told += [
        f"The {name} is {measures[name]:.1f} %, above your bound of {bound:g} %."
        for name, bound in bounds.items()
        if name in ("risk", "loss") and measures[name] > bound
    ]
    if measures["untouched_keys"]:
        told.append(f"Keys released as they were: {', '.join(measures['untouched_keys'])}.")
    if measures["keeps_households"]:
        told.append("The household numbers are those of the original.")
    if measures["guessable"]:
        told.append("The seed is easily guessed, and with it much of the masking undone; leave it empty to draw one.")
    if measures["records"] < measures["before"]:
        told.append(f"Only {measures['records']:,} of {measures['before']:,} records are released.")
    told += [caution[:1].upper() + caution[1:] + "." for caution in measures["cautions"]]
    return told
