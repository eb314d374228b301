"""Carry out a plan: from a table and a list of steps to a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from microveil.attacks.reidentification import check_risk
from microveil.errors import ParameterError
from microveil.masking import Method, Plan, Release, Step
from microveil.masking.guarantees import RISK, check_requirements
from microveil.masking.new_ids import check_new_ids
from microveil.microdata import Microdata
from microveil.microdata.microdata import as_microdata
from microveil.progress import Progress, parts, silent
from microveil.randomness import draw_seed
from microveil.registry import make, usual_names


def protect(data: Any, plan: Plan, *, seed: int | None = None, progress: Progress = silent) -> Release:
    """Mask a table as the plan says. A seed given here takes the place of the plan's; a schema in the plan that of the
    table. What the plan requires is counted in the result, and a release that falls short is refused.

    >>> from microveil.masking import Step
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65]})
    >>> protect(people, Plan((Step("mdav", {"k": 3}),), seed=1)).partition.smallest
    3
    """
    table = as_microdata(data)
    _check_plan(plan)
    if plan.schema is not None:
        table = table.with_schema(plan.schema)
    # all steps are built first: a wrong parameter in the last one must not cost the work of the others
    methods: list[Method] = [make("method", step.method, step.parameters) for step in plan.steps]
    if not methods:
        raise ParameterError("a plan needs at least one step")
    if plan.new_ids:
        check_new_ids(table.schema, keep_household_ids=plan.keep_household_ids)
    require = check_requirements(plan.require)
    seed = next((s for s in (seed, plan.seed) if s is not None), None)
    seed = draw_seed() if seed is None else seed
    release: Microdata | Release = table
    for method, step, part in zip(methods, plan.steps, parts(progress, len(methods)), strict=True):
        release = method.mask(
            release,
            step.attributes,
            seed=seed,
            original=table,
            keep_household_ids=plan.keep_household_ids,
            progress=part,
        )
    assert isinstance(release, Release)
    if plan.new_ids:
        release = release.with_new_ids(table)
    if plan.shuffle:
        release = release.shuffled()
    if require:
        release = replace(release, provenance=replace(release.provenance, require=require))
        check_required(table, release, require)
    return release


def _check_plan(plan: object) -> None:
    """Refuse, in a sentence that says what to call, what is no plan."""
    if not isinstance(plan, Plan):
        call = (
            "Plan.from_plain(...) makes one of a dict" if isinstance(plan, Mapping) else "read_plan(path)[0] reads one"
        )
        raise ParameterError(f"protect takes a Plan, not {type(plan).__name__}; {call}")
    for step in plan.steps:
        if not isinstance(step, Step):
            raise ParameterError(
                f"the steps of a plan are Step objects, not {type(step).__name__}: Step('mdav', {{'k': 5}}), or "
                "Plan.from_plain(...) for a dict"
            )


def check_required(original: Any, release: Release, require: Mapping[str, float], progress: Progress = silent) -> None:
    """Refuse a release that falls short of what is required: guarantees are counted in it, and the largest risk of a
    record is that by uniqueness and by the linkages that every assessment runs."""
    counted = {name: wanted for name, wanted in require.items() if name != RISK}
    if counted:
        release.guarantees.check(counted)
    if RISK in require:
        general = [make("attack", name) for name in usual_names("attack")]
        check_risk(original, release, require[RISK], general, progress)
