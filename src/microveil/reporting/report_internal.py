"""The internal report: everything that is known of a release. It shows the original, so it is not for everyone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import microveil
from microveil.attacks.reidentification import risk_of_file
from microveil.battery import vulnerability_of
from microveil.comparison.pairs import Pair
from microveil.display import number
from microveil.errors import DataError
from microveil.losses import Loss
from microveil.masking import Release
from microveil.masking.guarantees import listed
from microveil.microdata.description import describe_attributes
from microveil.microdata.microdata import count
from microveil.numerics.statistics.summary import Summary, summarise
from microveil.parameters import describe_parameters, settings_for, shown
from microveil.registry import find
from microveil.reporting.charts import bars
from microveil.reporting.pages import render
from microveil.reporting.report_control import control_page
from microveil.reporting.report_findings import (
    NOBODY,
    Findings,
    Masthead,
    guarantee_sentences,
    is_sample,
    of_the_records,
    verdict_of,
)
from microveil.reporting.report_graph import graph_page
from microveil.reporting.report_pictures import (
    AFTER,
    BEFORE,
    Picture,
    correlation_pictures,
    distributions,
    risk_distribution,
)
from microveil.reporting.report_series import names_apart, series_pictures
from microveil.reporting.risk_section import RiskSection, risk_section
from microveil.scoring.risk_advice.advice import advise_on
from microveil.scoring.risk_profile import profile_of_release

_LONG = 120  # characters of a parameter
_MOST_BARS = 30
_OF_SAMPLING = ("standard_error", "sampled")


def internal_page(found: Findings, again: str = "", masthead: Masthead = NOBODY) -> str:
    """The page as HTML; `again` are commands that make the release again."""
    apart = names_apart(found.pair.original, found.pair.attributes)
    per_record = vulnerability_of(found.assessment.risks.values(), found.assessment.records)
    return render(
        "report_internal.html",
        version=microveil.__version__,
        masthead=masthead.line,
        verdict=verdict_of(found),
        headline=found.assessment.headline.rows(),
        assumption=found.assessment.headline.assumption,
        count=count,
        shown=number,
        records=found.assessment.records,
        sampled=is_sample(found.pair),
        of_the_records=of_the_records(found.pair),
        attributes=found.assessment.named,
        knowledge=str(found.assessment.knowledge),
        score=found.assessment.score,
        warnings=found.assessment.warnings,
        done=None if found.release is None else _done(found.release),
        data=_data(found),
        risks=_risks(found),
        battery=_battery(found),
        control=control_page(found),
        vulnerable=_vulnerable(per_record),
        risk_picture=risk_distribution(per_record),
        risk=_risk_section(found),
        released_alike=_released_alike(found),
        guarantees=guarantee_sentences(found.guarantees),
        alone=found.guarantees.below(2),
        losses=_losses(found),
        loss_pictures=[
            _loss_picture(name, loss) for name, loss in found.assessment.losses.items() if len(loss.per_attribute) > 1
        ],
        summaries=_summaries(found.pair.about(apart), found.pair),
        distributions=[p for name in apart for p in distributions(found.pair, found.released, name)],
        correlations=correlation_pictures(found.pair.about(apart)),
        series=series_pictures(found.pair),
        graph=graph_page(found.pair),
        plan="" if found.release is None else replace(found.release.plan, seed=None).to_toml(),
        again=again,
    )


def _risk_section(found: Findings) -> RiskSection | None:
    """The risk of records and households, its causes and what would lower it; not of series and graphs, whose risk is
    not that of keys alone."""
    if found.whole.edges is not None or found.whole.schema.panel is not None:
        return None
    profile = profile_of_release(found.assessment, found.pair, found.whole)
    return risk_section(found.whole, profile, advise_on(found.whole, profile.found, steps=0))


def _released_alike(found: Findings) -> str:
    """The expected re-identifications of the release by its combinations alone, as the changes beside it are counted;
    nothing where keys are not released."""
    known = found.pair.knowledge.attributes
    if not known or not set(known) <= set(found.released.names):
        return ""
    try:
        return number(risk_of_file(found.released, known).summary.expected)
    except DataError:
        return ""


def _done(release: Release) -> dict[str, Any]:
    """What was done: steps, versions and digests; not the seed, for a page that people show each other is no secret."""
    made = release.provenance
    steps = []
    for step in made.steps:
        method = find("method", step.method)
        usual = {parameter["name"]: parameter["default"] for parameter in describe_parameters(method)}
        named = [
            settings for settings in settings_for(method, step.parameters) if settings.name in step.parameters.values()
        ]
        usual |= {name: value for settings in named for name, value in settings.parameters().items()}
        summary = "; here ".join([method.summary, *(settings.summary for settings in named)])
        every = {name: _cut(shown(v)) for name, v in step.parameters.items() if v is not None}
        changed = [f"{name} = {text}" for name, text in every.items() if step.parameters[name] != usual.get(name)]
        steps.append((step.method, summary, ", ".join(changed), ", ".join(step.attributes or ("links",)), every))
    return {
        "steps": steps,
        "input_records": made.input_records,
        "input_digest": made.input_digest,
        "output_digest": release.data.digest(),
        "versions": ", ".join(f"{name} {version}" for name, version in made.versions.items()),
        "left_out": made.left_out,
        "notes": made.notes,
        "require": ", ".join(f"{name} = {value:g}" for name, value in made.require.items()),
    }


def _cut(text: str) -> str:
    """Long parameters are cut, for the plan has them whole."""
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def _data(found: Findings) -> list[dict[str, Any]]:
    """Every attribute of the original, and what the release has of it."""
    after = {row["name"]: row for row in describe_attributes(found.released)}
    masked = set(found.masked)
    renumbered = () if found.release is None else found.release.provenance.renumbered
    rows = []
    for row in describe_attributes(found.whole):
        released = after.get(row["name"])
        columns = set(found.pair.original.schema.expanded([row["name"]]))
        state = "left out" if released is None else "masked" if columns & masked else "as it was"
        state = "renumbered" if row["name"] in renumbered else state
        rows.append({**row, "roles": ", ".join(row["roles"]), "released": released, "state": state})
    return rows


def _risks(found: Findings) -> list[dict[str, Any]]:
    return [
        {
            "label": label,
            "risk": risk,
            "meaning": find("attack", risk.name).meaning,
            "assumes": find("attack", risk.name).assumes,
            "known": listed(found.pair.original.schema.collapsed(risk.known)),
            "certain": len(risk.certain),
        }
        for label, risk in sorted(found.assessment.risks.items(), key=lambda item: -item[1].value)
    ]


def _battery(found: Findings) -> dict[str, Any] | None:
    """What all attacks together say, where they were run."""
    battery = found.assessment.battery
    if battery is None:
        return None
    picture = None
    if battery.contributions:
        shown = dict(list(battery.contributions.items())[:_MOST_BARS])
        svg = bars(
            list(shown),
            {"points": list(shown.values())},
            title="What gives records away",
            description="For each attribute, the percentage points of the worst linkage that go when it is not known.",
            x_title="percentage points of the worst linkage",
            number="{:+.2f}",
        )
        picture = Picture(
            svg, "What gives records away: the part of the worst linkage that goes without each attribute"
        )
    return {
        "worst": battery.worst_linkage,
        "worst_risk": None if battery.worst_linkage is None else battery.risks[battery.worst_linkage],
        "certain": len(battery.certain),
        "picture": picture,
        "passed_over": [(reason, ", ".join(attacks)) for reason, attacks in battery.reasons.items()],
        "failed": [(label, type(problem).__name__) for label, problem in battery.failed.items()],
    }


def _vulnerable(per_record: np.ndarray[Any, np.dtype[np.float64]]) -> list[tuple[str, int]]:
    attacked = per_record[~np.isnan(per_record)]
    bounds = (("1", 1.0), ("one half or more", 0.5), ("one tenth or more", 0.1))
    return [(words, int((attacked >= least).sum())) for words, least in bounds] if len(attacked) else []


def _losses(found: Findings) -> list[dict[str, Any]]:
    rows = []
    for name, loss in found.assessment.losses.items():
        sampled = loss.details.get("sampled")
        error = loss.details.get("standard_error")
        remark = ""
        if sampled is not None and error is not None:
            remark = f"estimated from {sampled:,.0f} records, standard error {error:.2g}"
        details = {k: v for k, v in loss.details.items() if k not in _OF_SAMPLING}
        measure = find("loss", loss.name)
        rows.append({"name": name, "loss": loss, "meaning": measure.meaning, "remark": remark, "details": details})
    return rows


def _loss_picture(name: str, loss: Loss) -> Picture:
    """The loss attribute by attribute, the greatest first."""
    largest = sorted(loss.per_attribute.items(), key=lambda item: -item[1])[:_MOST_BARS]
    svg = bars(
        [attribute for attribute, _ in largest],
        {name: [value for _, value in largest]},
        title=f"{name}, attribute by attribute",
        description=f"The loss {name} of each attribute, the greatest first.",
        x_title=f"{name}, %",
        number="{:.3g}",
        width=430.0,
    )
    return Picture(svg, f"{name}, attribute by attribute")


def _summaries(pair: Pair, whole: Pair) -> list[tuple[str, list[tuple[str, Summary]]]]:
    """The summary of each numeric attribute, and of all values of each series, before and after."""
    columns = {name: (one.values, other.values) for name in pair.of_kinds(("numeric",))
               for one, other in [pair.numbers(name)]}  # fmt: skip
    if whole.original.schema.panel is not None:
        after = {series.name: series.values for series in whole.masked.series_among(whole.attributes)}
        for series in whole.original.series_among(whole.attributes):
            columns[series.name] = series.values.ravel(), after[series.name].ravel()
    before = BEFORE + of_the_records(pair)
    return [(name, [(before, summarise(one)), (AFTER, summarise(other))]) for name, (one, other) in columns.items()]
