"""What each screen shows, as plain values for its template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import microveil as mv
from microveil.display import number
from microveil.microdata.files.formats import FORMATS
from microveil.reporting.risk_utility import Spot, risk_utility_chart
from microveil.workbench import explanations, recipes
from microveil.workbench.bench import KINDS, ROLES, WRITABLE, Bench
from microveil.workbench.explanations import Explanation
from microveil.workbench.history import DONE, Node
from microveil.workbench.overview import page_of_records

PAGE = 15
PRICES = {
    "perturbative": "changes values",
    "non-perturbative": "keeps true values",
    "synthetic": "keeps no record",
}
FAMILIES = {"swapping": "keeps totals"}
_LONGEST_TREE = 200
READABLE = ",".join(ending for known in FORMATS for ending in known.endings)
PLURAL = {"key": "keys", "identifier": "identifiers"}


@dataclass(frozen=True)
class Candidate:
    """A release on the map, as `decisions` compares them."""

    node: Node
    loss: float
    risk: float
    score: float


def frame(bench: Bench, screen: str) -> dict[str, Any]:
    """What is around every screen: the table, the history and what failed last."""
    history = bench.history
    here = history.here
    table = None if here is None else history.tables[here.table]
    return {
        "screen": screen, "version": bench.version, "here": here, "table": table, "chips": history.chips(),
        "undo": history.undone, "redo": history.redone, "tree": list(history.tree()) if here else [],
        "failure": bench.last_failure, "workspace": str(bench.workspace.folder), "jobs": bench.jobs.listed(),
        "branches": sum(len(history.children(node.name)) > 1 for node in history.nodes.values()),
    }  # fmt: skip


def data(bench: Bench, page: int) -> dict[str, Any]:
    here = bench.history.here
    shown: dict[str, Any] = {
        "explained": explanations.DATA,
        "readable": READABLE,
        "rows": None,
        "python": "",
        "shell": "",
    }
    if here is None:
        return shown
    original = bench.history.original_of(here.name)
    table = bench.history.tables[here.table]
    schema = mv.Schema.from_plain(original.schema)
    found = bench.overview()
    pages = max(1, -(-table.records // PAGE))
    page = min(max(1, page), pages)
    names, records = page_of_records(bench.workspace.table(here.table), (page - 1) * PAGE, PAGE)
    roles = {PLURAL.get(role, role): schema.having(role) for role in ROLES if schema.having(role)}
    return {
        **shown, "rows": None if found is None else [_row(row, schema) for row in found["rows"]],
        "heading": "" if found is None else found["heading"], "kinds": KINDS, "roles": ROLES,
        "names": names, "records": records, "page": page, "pages": pages, "first": (page - 1) * PAGE + 1,
        "masked": here.is_masked, "has_keys": bool(schema.keys), "trees": _trees(original.schema),
        "python": recipes.python_of_data(table.source, table.path or table.file, roles),
        "shell": recipes.shell_of_data(table.path or table.file, roles),
    }  # fmt: skip


def _row(row: Mapping[str, Any], schema: mv.Schema) -> dict[str, Any]:
    own = "+".join(row["roles"])
    return {
        **row, "own": own, "editable": row["name"] in schema,
        "offered_roles": list(dict.fromkeys(["", *ROLES, "key+stratum", own])),
        "distinct_text": number(row["distinct"]), "missing_text": number(row["missing"]),
        "mean_text": number(row["mean"]),
    }  # fmt: skip


def _trees(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The hierarchies as levels side by side; those of intervals say so in their own words."""
    found = []
    for name, attribute in schema["attributes"].items():
        levels = attribute.get("hierarchy")
        if isinstance(levels, list) and levels and isinstance(levels[0], list):
            found.append({"name": name, "levels": levels[:_LONGEST_TREE], "more": max(0, len(levels) - _LONGEST_TREE)})
    return found


def risk(bench: Bench) -> dict[str, Any]:
    here = bench.history.here
    if here is None:
        return {"explained": explanations.of_risk(None), "found": None, "python": "", "shell": ""}
    table = bench.history.tables[here.table]
    found, measures = bench.risk(here), bench.measures(here)
    schema = mv.Schema.from_plain(here.schema)
    among = [attribute.name for attribute in schema if not attribute.is_administrative]
    file = table.path or table.file
    return {
        "explained": explanations.of_risk(found), "found": found, "measures": measures,
        "numbers": None if found is None or "failed" in found else _numbers(found, measures),
        "threshold": bench.threshold, "attacks": bench.attacks(here), "offered": _attacks(), "among": among,
        "keys": schema.keys or tuple(among), "declared": bool(schema.keys),
        "running": bench.jobs.is_asked(task="risk", node=here.name),
        "python": recipes.python_of_risk(bench.threshold, here.is_masked),
        "shell": recipes.shell_of_risk(file, bench.threshold, here.is_masked),
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
def _attacks() -> list[dict[str, Any]]:
    return [mv.registry.describe("attack", name) for name in mv.registry.names("attack")]


@cache
def methods() -> dict[str, dict[str, Any]]:
    """Every method of the registry as it describes itself, with its price in a word."""
    found = {}
    for name in mv.registry.names("method"):
        entry = mv.registry.describe("method", name)
        found[name] = {**entry, "price": FAMILIES.get(entry["family"], PRICES[entry["nature"]])}
    return found


def attempt(bench: Bench, method: str, search: str) -> dict[str, Any]:
    here = bench.history.here
    shown: dict[str, Any] = {"explained": explanations.TRY, "families": {}, "method": None, "python": "", "shell": "",
                             "search": search, "overview": None}  # fmt: skip
    if here is None:
        return shown
    found = bench.overview()
    if found is None:
        return shown
    fits: dict[str, list[str]] = found["fits"]
    families: dict[str, list[dict[str, Any]]] = {}
    for name, entry in methods().items():
        if name in fits and search.lower() in f"{name} {entry['summary']}".lower():
            families.setdefault(entry["family"], []).append(entry)
    chosen = methods().get(method) if method in fits else None
    schema = mv.Schema.from_plain(here.schema)
    table = bench.history.tables[here.table]
    file = table.path or table.file
    shown |= {"overview": found, "families": families}
    if chosen is None:
        steps = list(here.steps)
        if steps:
            shown |= {"python": recipes.python_of_steps(steps), "shell": recipes.shell_of_steps(file, steps)}
        return shown
    fitting = fits[method]
    keys = [name for name in fitting if name in schema.keys] or fitting
    own = [p for p in chosen["parameters"] if "part" not in p]
    more = [p for p in chosen["parameters"] if "part" in p]
    step = {"method": method, "parameters": {p["name"]: p["default"] for p in own if p["default"] is not None}}
    steps = [*here.steps, {**step, "attributes": keys}]
    explained = {**explanations.TRY, "screen": Explanation(
        method, _sentence(chosen["summary"]), chosen.get("formula", "") or "",
        f"Missing values: {chosen['missing']}.", chosen["source"],
    )}  # fmt: skip
    explained |= {
        f"p-{p['name']}": Explanation(p["name"], _sentence(p["help"]), limits(p)) for p in chosen["parameters"]
    }
    return {
        **shown, "method": chosen, "fitting": fitting, "keys": keys, "own": own, "more": more, "limits": limits,
        "varied": [p["name"] for p in chosen["parameters"] if _is_number(p)], "explained": explained,
        "has_seed": here.seed is not None,
        "python": recipes.python_of_steps(steps), "shell": recipes.shell_of_steps(file, steps),
    }  # fmt: skip


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _is_number(parameter: Mapping[str, Any]) -> bool:
    return any(word in ("int", "float") for word in parameter["type"].split(" or "))


def limits(parameter: Mapping[str, Any]) -> str:
    """What values a parameter may have, in words."""
    told = []
    if "choices" in parameter:
        return "one of " + ", ".join(map(str, parameter["choices"]))
    for symbol, words in (("minimum", "at least"), ("above", "above"), ("maximum", "at most"), ("below", "below")):
        if symbol in parameter and not (symbol == "maximum" and parameter[symbol] >= 100_000):
            told.append(f"{words} {number(parameter[symbol])}")
    types = {"int": "a whole number", "float": "a number", "bool": "true or false"}
    kind = " or ".join(types.get(word, word) for word in parameter["type"].split(" or ") if word != "none")
    return ", ".join([kind, *told])


def map_of(bench: Bench, one: str, other: str) -> dict[str, Any]:
    here = bench.history.here
    shown: dict[str, Any] = {"explained": explanations.MAP, "candidates": [], "chart": "", "python": "", "shell": "",
                             "compared": None, "one": None, "unfinished": []}  # fmt: skip
    if here is None:
        return shown
    candidates = measured(bench)
    bounds = bench.history.bounds
    front = mv.decisions.front(candidates)
    knee = mv.decisions.knee(candidates) if len({(c.loss, c.risk) for c in front}) > 2 else None
    chosen = next((c for c in candidates if c.node.name == one), None)
    second = next((c for c in candidates if c.node.name == other), None)
    position = {c.node.name: i for i, c in enumerate(candidates)}
    chart = "" if not candidates else risk_utility_chart(
        [Spot(c.node.title, c.risk, c.loss, c.node.steps[-1]["method"], score=c.score,
              href=f"/map?with={c.node.name}#compare") for c in candidates],
        front=[position[c.node.name] for c in front],
        knee=None if knee is None else position[knee.node.name],
        best=position.get(here.name),
        risk_below=bounds.get("risk"), loss_below=bounds.get("loss"),
    )  # fmt: skip
    table = bench.history.tables[here.table]
    file = table.path or table.file
    steps = list((chosen.node if chosen else here).steps)
    return {
        **shown, "candidates": candidates, "chart": chart, "front": {c.node.name for c in front}, "bounds": bounds,
        "knee": None if knee is None else knee.node.name, "threshold": bench.threshold,
        "one": chosen, "other": second, "sides": [_side(bench, c) for c in (chosen, second) if c is not None],
        "unfinished": [node for node in bench.history.candidates() if node.state != DONE],
        "python": recipes.python_of_steps(steps) if steps else "",
        "shell": recipes.shell_of_steps(file, steps) if steps else "",
    }  # fmt: skip


def measured(bench: Bench) -> list[Candidate]:
    """The releases of this table that were measured."""
    found = []
    for node in bench.history.candidates():
        measures = bench.measures(node) if node.state == DONE else None
        if measures is not None:
            found.append(Candidate(node, measures["loss"], measures["risk"], measures["score"]))
    return found


def _side(bench: Bench, candidate: Candidate) -> dict[str, Any]:
    return {"candidate": candidate, "measures": bench.measures(candidate.node),
            "compared": bench.compared(candidate.node.name)}  # fmt: skip


def out(bench: Bench) -> dict[str, Any]:
    here = bench.history.here
    measures = None if here is None or not here.is_masked else bench.measures(here)
    shown: dict[str, Any] = {"explained": explanations.OUT, "measures": measures, "python": "", "shell": "",
                             "exports": [] if here is None else bench.exports()}  # fmt: skip
    if here is None or measures is None:
        return shown
    table = bench.history.tables[here.table]
    file = table.path or table.file
    exporting = bench.jobs.is_asked(task="export", node=here.name)
    return {
        **shown, "endings": WRITABLE, "open": still_open(bench, here, measures), "exporting": exporting,
        "stem": f"{table.file.split('.')[0]}-safe",
        "python": recipes.python_of_steps(here.steps), "shell": recipes.shell_of_steps(file, here.steps),
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
