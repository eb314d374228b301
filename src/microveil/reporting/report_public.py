"""The public report: what a user of the released table needs to know, and nothing that helps an intruder.

What may be said is listed here, item by item; whatever is not made here does not come onto the page. The reasons are in
the documentation (docs/reporting.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import microveil
from microveil.attacks import Risk
from microveil.masking.coarsening.sampling import Sampling
from microveil.masking.guarantees import listed
from microveil.masking.taxonomy import NATURES
from microveil.microdata.description import describe_attributes
from microveil.microdata.microdata import count
from microveil.registry import find, names
from microveil.reporting.pages import render
from microveil.reporting.report_findings import (
    NOBODY,
    Findings,
    Masthead,
    Verdict,
    guarantee_sentences,
    is_sample,
    k_of,
    verdict_of,
)
from microveil.reporting.report_pictures import released_correlations, released_distribution
from microveil.reporting.report_series import names_apart, released_series_pictures

FEWEST = 10  # records behind anything that is shown of the released table
_NOT_STATED = "not stated"
_BANDS = (1, 2, 5, 10, 20)  # percent
_FEW, _MANY = 10, 50  # percent: where the classes of losses part

_WHAT_IS_DONE = {
    "microaggregation": "values were replaced by a value common to a small group of similar records",
    "swapping": "values were exchanged between records that are alike",
    "randomising": "values were changed at random",
    "coarsening": "values were made coarser or left out",
    "synthesis": "values were drawn from a model of the data",
    "structure": "some links between persons were changed",
    "combining": "several ways of masking were combined",
}


@dataclass(frozen=True)
class _Tried:
    """An attack, what the intruder was assumed to know, of which attributes, and a bound of what was found."""

    words: str
    assumes: str
    known: tuple[str, ...]
    bound: str


def public_page(found: Findings, masthead: Masthead = NOBODY) -> str:
    """The page as HTML."""
    masked = [name for name in found.pair.attributes if name in found.masked]
    names = names_apart(found.released, masked)
    pictures = [released_distribution(found.released, name, FEWEST) for name in names]
    pictures += released_series_pictures(found.released, masked, FEWEST)
    described = describe_attributes(found.released)
    collapsed = found.pair.original.schema.collapsed
    risks = _risks(found)
    if all(tried.bound == _NOT_STATED for tried in risks):
        risks = []  # a section that states nothing only invites to guess
    return render(
        "report_public.html",
        version=microveil.__version__,
        masthead=masthead.line,
        verdict=_verdict(found),
        records=count(len(found.released), "record"),
        number_of_attributes=count(len(described), "attribute"),
        attributes=[(row["name"], row["kind"]) for row in described],
        families=_families(found),
        masked=listed(collapsed(found.masked)),
        compared=listed(found.assessment.named),
        several_compared=len(found.pair.attributes) > 1,
        sampled=is_sample(found.pair),
        identifiers_removed=found.release is not None and bool(found.release.provenance.left_out),
        guarantees=guarantee_sentences(found.guarantees),
        risks=[
            (tried.words, f"{tried.assumes}; attributes: {listed(collapsed(tried.known))}", tried.bound)
            for tried in risks
        ],
        known=listed(found.assessment.knowledge.named),
        everything_known=all(_everything(found) <= set(tried.known) for tried in risks),
        losses=_losses(found),
        distributions=[picture for picture in pictures if picture is not None],
        correlations=released_correlations(found.released, names, FEWEST),
        fewest=FEWEST,
    )


def _verdict(found: Findings) -> Verdict | None:
    """Shown where the release keeps below the threshold and meets what was required; of others nothing is said."""
    internal = verdict_of(found)
    if not internal.passed:
        return None
    collapsed = found.pair.original.schema.collapsed
    numbers = (
        ("records", f"{len(found.released):,}"),
        k_of(found.guarantees),
        ("attributes masked", f"{len(collapsed(found.masked))} of {len(collapsed(found.released.names))}"),
    )
    return Verdict(True, internal.sentence, numbers)


def _everything(found: Findings) -> set[str]:
    """What an intruder could use: whatever was masked, and the keys that were not."""
    return {*found.masked, *(name for name in found.pair.original.schema.keys if name in found.released.names)}


def _families(found: Findings) -> list[tuple[str, str]]:
    """By family of methods, in words, the attributes they were used on; neither methods nor parameters. That records
    were left out is said apart, for it is about no attribute.
    """
    if found.release is None:
        return []
    by_family: dict[str, dict[str, None]] = {}
    for step in found.release.provenance.steps:
        if step.method != Sampling.name:
            family = find("method", step.method).family
            by_family.setdefault(family, {}).update(dict.fromkeys(step.attributes or ()))
    return [
        (f"{family} ({NATURES[family]}): {_WHAT_IS_DONE[family]}", listed(attributes))
        for family, attributes in by_family.items()
    ]


def _risks(found: Findings) -> list[_Tried]:
    """The general attacks, and the strongest linkage of all, each with a round upper bound.

    What was found by attacks on one method is not listed by name, for that would name the method.
    """
    highest: dict[str, Risk] = {}
    for risk in found.assessment.risks.values():
        if find("attack", risk.name).general and risk.high >= getattr(highest.get(risk.name), "high", 0.0):
            highest[risk.name] = risk
    rows = [
        _Tried(attack.meaning, attack.assumes, risk.known, bounded(risk.high))
        for name, risk in highest.items()
        for attack in [find("attack", name)]
    ]
    battery = found.assessment.battery
    if battery is not None and battery.worst_linkage is not None:
        words = "records linked by the strongest attack known to us, also by who knows how the table was made"
        assumes = "the true values of some attributes of everyone in the file, and how the table was made"
        # an attack that broke off might have been stronger
        high = 100.0 if battery.failed else battery.risks[battery.worst_linkage].high
        rows.append(_Tried(words, assumes, battery.known, bounded(high)))
    return rows


def _losses(found: Findings) -> list[tuple[str, str]]:
    """How far statistics of the table have moved, in three classes."""
    known = names("loss")
    measured = [
        (find("loss", loss.name), loss.value) for loss in found.assessment.losses.values() if loss.name in known
    ]
    return [(cls.meaning, classed(value)) for cls, value in measured if vars(cls).get("public", False)]


def bounded(percent: float) -> str:
    """The next round bound above a risk; of a high risk nothing is said, for it would invite to try.

    >>> bounded(3.2), bounded(0.0), bounded(55.0)
    ('at most 5 %', 'at most 1 %', 'not stated')
    """
    return next((f"at most {band} %" for band in _BANDS if percent <= band), _NOT_STATED)


def classed(percent: float) -> str:
    """A loss as one of three classes, so wide that the strength of the masking cannot be worked out from it.

    >>> classed(1.9), classed(12.6), classed(70.0)
    ('below 10 %', '10 to 50 %', 'above 50 %')
    """
    if percent < _FEW:
        return f"below {_FEW} %"
    return f"{_FEW} to {_MANY} %" if percent <= _MANY else f"above {_MANY} %"
