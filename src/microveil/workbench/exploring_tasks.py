"""Studies and searches as tasks: what is tried is told at once, and what comes out are plans with their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import microveil as mv
from microveil.applications import Progress, draw_seed, plain_seed

Request = Mapping[str, Any]
Notice = Callable[[Any], None]
_MOST_MEMBERS = 60  # candidates of a study that come on the map, the best first


def study(request: Request, data: mv.Microdata, folder: Path, progress: Progress, notice: Notice) -> dict[str, Any]:
    """Every candidate of a design, measured side by side. The folder keeps what is measured, so a study that was ended
    goes on."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    design = design_of(request["asked"], data)
    notice(design)
    found = mv.run_study(design, data, out=folder, progress=progress, seen=_looking_on(notice))
    members = [_member(result, None) for result in sorted(found.results, key=lambda one: one.score)[:_MOST_MEMBERS]]
    failed = len(found.failures)
    told = [f"{len(found.results):,} candidates were measured" + (f", {failed:,} could not be made" if failed else "")]
    return {"members": members, "told": told}


def search(request: Request, data: mv.Microdata, folder: Path, progress: Progress, notice: Notice) -> dict[str, Any]:
    """The front of a search; where it is cancelled, the best so far."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    asked = request["asked"]
    found = mv.search(data, **asked, out=folder, progress=progress, seen=_looking_on(notice))
    members = [_member(result, found.plan_of(place)) for place, result in enumerate(found.front, start=1)]
    return {"members": members, "told": list(found.explanation)}


def design_of(asked: Mapping[str, Any], data: mv.Microdata) -> dict[str, Any]:
    """The study as its file would say it: good plans of the methods, measured as the map measures."""
    plans = mv.good_plans(data, asked["attributes"] or None, methods=asked["methods"], strengths=asked["strengths"])
    return {
        "title": "From the workbench", "repeats": asked["repeats"], "attacks": "informed", "score": "worst",
        "method": [
            {"label": plan.label, "steps": [
                {"name": step.method, "set": _without_defaults(step)["parameters"], "attributes": list(step.attributes)}
                for step in plan.steps if step.attributes
            ]}
            for plan in plans
        ],
    }  # fmt: skip


def _looking_on(notice: Notice) -> Callable[[mv.Tried], None]:
    def seen(tried: mv.Tried) -> None:
        if tried.loss is not None and tried.risk is not None:
            notice([tried.candidate.label, tried.candidate.family, round(tried.loss, 3), round(tried.risk, 3)])

    return seen


def _member(result: Any, plan: mv.Plan | None) -> dict[str, Any]:
    """A candidate as the history keeps it: its steps, a seed of its own, and what was measured of it."""
    seed = draw_seed() if plan is None or plan.seed is None else plan.seed
    steps: Sequence[Any] = result.candidate.steps
    return {"title": result.candidate.label, "steps": [_without_defaults(step) for step in steps],
            "seed": plain_seed(seed), "loss": result.loss, "risk": result.risk}  # fmt: skip


def _without_defaults(step: Any) -> dict[str, Any]:
    """A step with the parameters that are set otherwise than usual, and the first one: as short as a person would
    write it."""
    plain: dict[str, Any] = step.to_plain()
    usual = {
        entry["name"]: entry["default"]
        for entry in mv.registry.describe("method", step.method)["parameters"]
        if not entry["required"]
    }
    first = next(iter(usual), None)
    given = plain.get("parameters", {})
    told = {name: value for name, value in given.items() if value is not None}
    plain["parameters"] = {n: value for n, value in told.items() if n == first or value != usual.get(n)}
    return plain
