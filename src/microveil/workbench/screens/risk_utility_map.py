"""The screen Map: every release as a point, the front and the knee, what runs, and two releases side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import microveil as mv
from microveil.workbench import explanations
from microveil.workbench.bench import Bench
from microveil.workbench.history import DONE, PLANNED, STUDY, Exploration, Node
from microveil.workbench.recipes import Recipe
from microveil.workbench.screens.frame import named_attributes, named_keys, recipe_of, words_of
from microveil.workbench.screens.trying import methods


@dataclass(frozen=True)
class Candidate:
    """A release on the map, as `decisions` compares them; one that is not `made` has its numbers from a study or a
    search."""

    node: Node
    loss: float
    risk: float

    @property
    def score(self) -> float:
        return (self.loss + self.risk) / 2

    @property
    def is_made(self) -> bool:
        return self.node.state == DONE


def map_of(bench: Bench, one: str, other: str, row: str, column: str) -> dict[str, Any]:
    here = bench.history.here
    shown: dict[str, Any] = {"explained": explanations.MAP, "candidates": [], "chart": "", "python": "", "shell": "",
                             "one": None, "unfinished": [], "explorations": [], "tried": 0}  # fmt: skip
    if here is None:
        return shown
    candidates, spots = measured(bench), bench.exploring.spots(here)
    bounds = bench.history.bounds
    chosen = next((c for c in candidates if c.node.name == one), None)
    second = next((c for c in candidates if c.node.name == other), None)
    sides = [_side(bench, c, row, column) for c in (chosen, second) if c is not None and c.is_made]
    recipe = recipe_of(bench, here)
    found = bench.overview()
    front, knee = _front(candidates)
    code = _code(bench, recipe, here, chosen)
    return {
        **shown, "candidates": candidates,
        "notes": {c.node.name: _notes(c, front, knee, bounds) for c in candidates},
        "chart": _chart(bench, candidates, spots, here), "front": front,
        "bounds": bounds, "knee": knee, "threshold": bench.threshold, "tried": len(spots),
        "one": chosen, "other": second, "sides": sides, "row": row, "column": column,
        "unfinished": [node for node in bench.history.candidates() if node.state not in (DONE, PLANNED)],
        "explorations": [_exploration(bench, e) for e in bench.exploring.of_table(here)],
        "methods": [] if found is None else _offered(found["fits"]),
        "attributes": named_attributes(bench, here), "keys": named_keys(bench),
        "python": code[0], "shell": code[1], "explained": _explained(bench, candidates, front, knee, chosen),
    }  # fmt: skip


def _code(bench: Bench, recipe: Recipe, here: Node, chosen: Candidate | None) -> tuple[str, str]:
    """The candidate that was chosen, or else the newest study or search; without any, a search that could be made."""
    explorations = bench.exploring.of_table(here)
    steps = chosen.node.steps if chosen is not None else () if explorations else here.steps
    if steps:
        return recipe.python_of_steps(steps), recipe.shell_of_steps(steps)
    if explorations and explorations[0].kind == STUDY:
        asked, design = explorations[0].asked, bench.exploring.design(explorations[0].name)
        return recipe.python_of_study(asked), recipe.shell_of_study(design)
    asked = explorations[0].asked if explorations else {"budget": "10m"}
    return recipe.python_of_search(asked), recipe.shell_of_search(asked)


def _explained(
    bench: Bench, candidates: list[Candidate], front: set[str], knee: str | None, chosen: Candidate | None
) -> dict[str, explanations.Explanation]:
    """The numbers of the map with an example, and what each mark says when it is pointed at."""
    made = [c for c in candidates if c.is_made]
    wanted = [c for c in made if c == chosen] + [c for c in made if c.node == bench.history.here] + made
    measures, title = (bench.measures(wanted[0].node), wanted[0].node.title) if wanted else (None, "")
    found = explanations.of_map(measures, title)
    marks = {
        f"mark-{c.node.name}": explanations.of_candidate(
            c.node.title, words_of(c.node), c.loss, c.risk, _notes(c, front, knee, bench.history.bounds)
        )
        for c in candidates
    }
    return {**found, **marks}


def _notes(candidate: Candidate, front: set[str], knee: str | None, bounds: Mapping[str, float]) -> list[str]:
    """Where a candidate stands among the others."""
    name, told = candidate.node.name, []
    if name == knee:
        told.append("knee")
    elif name in front:
        told.append("front")
    if not candidate.is_made:
        told.append("measured, not made")
    values = {"risk": candidate.risk, "loss": candidate.loss}
    if any(name in bounds and value > bounds[name] for name, value in values.items()):
        told.append("outside your bounds")
    return told


def measured(bench: Bench) -> list[Candidate]:
    """The releases of this table that were measured."""
    found = []
    for node in bench.history.candidates():
        if node.state == DONE:
            measures = bench.measures(node)
            if measures is not None:
                found.append(Candidate(node, measures["loss"], measures["risk"]))
        elif node.state == PLANNED and node.loss is not None and node.risk is not None:
            found.append(Candidate(node, node.loss, node.risk))
    return found


def _front(candidates: list[Candidate]) -> tuple[set[str], str | None]:
    """The names of those on the front, and of the knee."""
    front = mv.decisions.front(candidates)
    knee = mv.decisions.knee(candidates) if len({(c.loss, c.risk) for c in front}) > 2 else None
    return {c.node.name for c in front}, None if knee is None else knee.node.name


def _chart(bench: Bench, candidates: list[Candidate], spots: list[list[Any]], here: Node) -> str:
    if not candidates and not spots:
        return ""
    front, knee = _front(candidates)
    position = {c.node.name: i for i, c in enumerate(candidates)}
    bounds = bench.history.bounds
    made = [
        mv.risk_utility.Spot(
            c.node.title,
            c.risk,
            c.loss,
            c.node.steps[-1]["method"],
            score=c.score,
            href=f"/map?with={c.node.name}#compare",
        )
        for c in candidates
    ]
    by_risk = sorted(range(len(candidates)), key=lambda i: candidates[i].risk)
    chart: str = mv.risk_utility.risk_utility_chart(
        made,
        tried=[mv.risk_utility.Spot(label, risk, loss, family) for label, family, loss, risk in spots],
        front=[i for i in by_risk if candidates[i].node.name in front],
        knee=None if knee is None else position[knee],
        best=position.get(here.name),
        risk_below=bounds.get("risk"),
        loss_below=bounds.get("loss"),
    )
    return chart


def _offered(fits: dict[str, list[str]]) -> list[dict[str, Any]]:
    """The methods that a study or a search can vary by itself."""
    return [entry for name, entry in methods().items() if name in fits and entry["searched"]]


def _exploration(bench: Bench, one: Exploration) -> dict[str, Any]:
    return {"name": one.name, "kind": one.kind, "title": one.title, "state": one.state, "reason": one.reason,
            "told": one.told, "tried": bench.exploring.count(one.name)}  # fmt: skip


def _side(bench: Bench, candidate: Candidate, row: str, column: str) -> dict[str, Any]:
    compared = bench.compared(candidate.node.name)
    asked = bench.tabulated(candidate.node.name, row, column) if row and column else None
    return {"candidate": candidate, "measures": bench.measures(candidate.node), "compared": compared,
            "two_way": asked or (compared or {}).get("two_way")}  # fmt: skip
