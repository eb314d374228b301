"""The public report: what a user of the released table needs to know, and nothing that helps an intruder.

What may be said is listed here, item by item; whatever is not made here does not come onto the page. The reasons are in
the documentation (docs/reporting.md).
"""

from __future__ import annotations

import microveil
from microveil.masking.taxonomy import NATURES
from microveil.registry import find
from microveil.reporting.pages import render
from microveil.reporting.report_findings import Findings, guarantee_sentences, listed
from microveil.reporting.report_pictures import released_correlations, released_distribution

FEWEST = 10  # records behind anything that is shown of the released table
_BANDS = (1, 2, 5, 10, 20)  # percent
_LOSS_STEP = 5

_WHAT_IS_DONE = {
    "microaggregation": "values were replaced by a value common to a small group of similar records",
    "swapping": "values were exchanged between records that are alike",
    "randomising": "values were changed at random",
    "coarsening": "values were made coarser or left out, or only some of the records were released",
    "synthesis": "values were drawn from a model of the data",
    "combining": "several ways of masking were combined",
}


def public_page(found: Findings) -> str:
    """The page as HTML."""
    names = found.pair.attributes
    pictures = [released_distribution(found.released, name, FEWEST) for name in names]
    return render(
        "report_public.html",
        version=microveil.__version__,
        records=len(found.released),
        attributes=[(attribute.name, attribute.kind) for attribute in found.released.schema],
        masked=_masked(found),
        identifiers_removed=found.release is not None and bool(found.release.provenance.left_out),
        guarantees=guarantee_sentences(found.guarantees),
        risks=_risks(found),
        losses=_losses(found),
        distributions=[picture for picture in pictures if picture is not None],
        correlations=released_correlations(found.released, names, FEWEST),
        fewest=FEWEST,
    )


def _masked(found: Findings) -> list[tuple[str, str]]:
    """By family of methods, in words, the attributes they were used on; neither methods nor parameters."""
    if found.release is None:
        return []
    by_family: dict[str, dict[str, None]] = {}
    for step in found.release.provenance.steps:
        family = find("method", step.method).family
        by_family.setdefault(family, {}).update(dict.fromkeys(step.attributes or ()))
    return [
        (f"{family} ({NATURES[family]}): {_WHAT_IS_DONE[family]}", listed(attributes))
        for family, attributes in by_family.items()
    ]


def _risks(found: Findings) -> list[tuple[str, str]]:
    """The general attacks, and the strongest linkage of all, each with a round upper bound.

    What was found by attacks on one method is not listed by name, for that would name the method.
    """
    highest: dict[str, float] = {}
    for risk in found.assessment.risks.values():
        if find("attack", risk.name).general:
            highest[risk.name] = max(risk.high, highest.get(risk.name, 0.0))
    rows = [(find("attack", name).meaning, bounded(high)) for name, high in highest.items()]
    battery = found.assessment.battery
    if battery is not None and battery.worst_linkage is not None:
        words = "records linked by the strongest attack known to us, also by who knows how the table was made"
        # an attack that broke off might have been stronger
        rows.append((words, bounded(100.0 if battery.failed else battery.risks[battery.worst_linkage].high)))
    return rows


def _losses(found: Findings) -> list[tuple[str, str]]:
    """How far statistics of the table have moved, in steps of five percent. Measures that compare the table cell by
    cell are left out: they say how strongly it was masked.
    """
    return [
        (find("loss", loss.name).meaning, about(loss.value))
        for loss in found.assessment.losses.values()
        if find("loss", loss.name).route == "statistic"
    ]


def bounded(percent: float) -> str:
    """The next round bound above a risk; of a high risk nothing is said, for it would invite to try.

    >>> bounded(3.2), bounded(0.0), bounded(55.0)
    ('at most 5 %', 'at most 1 %', 'not stated')
    """
    return next((f"at most {band} %" for band in _BANDS if percent <= band), "not stated")


def about(percent: float) -> str:
    """A loss in steps of five percent.

    >>> about(1.9), about(12.6)
    ('below 5 %', 'about 15 %')
    """
    step = _LOSS_STEP * round(percent / _LOSS_STEP)
    return f"below {_LOSS_STEP} %" if percent < _LOSS_STEP else f"about {step} %"
