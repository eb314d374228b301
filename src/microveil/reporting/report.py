"""The report on one release: what was done, what an intruder gains, what an analyst loses. It comes in two variants: an
internal one for those who may see the original, and a public one that tells an intruder nothing of use.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from microveil.attacks.correspondence import corresponding
from microveil.comparison.pairs import Pair
from microveil.masking import Release
from microveil.masking.guarantees import guarantees_of
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.microdata import as_microdata
from microveil.progress import Part, Progress, silent
from microveil.reporting.report_findings import Findings, Masthead
from microveil.reporting.report_internal import internal_page
from microveil.reporting.report_public import public_page
from microveil.scoring.assessing import assess_pair
from microveil.units import THRESHOLD

logger = logging.getLogger(__name__)
Attacks = Literal["general", "all"]


def report(
    original: Any,
    release: Any,
    attributes: Sequence[str] | None = None,
    *,
    public: bool = False,
    known: Sequence[str] | None = None,
    attacks: Attacks = "general",
    losses: Sequence[Any] | None = None,
    threshold: float = THRESHOLD,
    match_by: str | None = None,
    control: Any = None,
    again: str = "",
    organisation: str = "",
    author: str = "",
    date: str | None = None,
    progress: Progress = silent,
) -> str:
    """The report as one HTML page that needs no network.

    `attributes`, `known`, `losses`, `match_by` and `control` are as in `assess`; `attacks="all"` runs every
    attack that applies, which takes longer. A masked table without its provenance gives a report of measures only.
    `again` are commands that make the release again, for the internal variant. Organisation, author and date (today, if
    not given) head the page.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65], "height": [170, 180, 175, 190, 160, 165]})
    >>> release = MDAV(k=3).mask(people, seed=20_071)
    >>> "keep it confidential" in report(people, release), "20071" in report(people, release)
    (True, False)
    """
    found = findings_of(
        original, release, attributes, known=known, attacks=attacks, losses=losses, threshold=threshold,
        match_by=match_by, control=control, progress=Part(progress, 0.0, 0.95),
    )  # fmt: skip
    masthead = Masthead(organisation, author, datetime.date.today().isoformat() if date is None else date)
    page = public_page(found, masthead) if public else internal_page(found, again, masthead)
    progress(1.0, "report: writing the page")
    return page


def reports(
    original: Any,
    release: Any,
    attributes: Sequence[str] | None = None,
    *,
    again: str = "",
    organisation: str = "",
    author: str = "",
    date: str | None = None,
    progress: Progress = silent,
    **measured: Any,
) -> tuple[str, str]:
    """The internal and the public variant of the `report`, measured only once; all parameters are as there.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65], "height": [170, 180, 175, 190, 160, 165]})
    >>> internal, public = reports(people, MDAV(k=3).mask(people))
    >>> "keep it confidential" in internal, "keep it confidential" in public
    (True, False)
    """
    found = findings_of(original, release, attributes, **measured, progress=Part(progress, 0.0, 0.95))
    masthead = Masthead(organisation, author, datetime.date.today().isoformat() if date is None else date)
    pages = internal_page(found, again, masthead), public_page(found, masthead)
    progress(1.0, "report: writing the pages")
    return pages


def findings_of(
    original: Any,
    release: Any,
    attributes: Sequence[str] | None = None,
    *,
    known: Sequence[str] | None = None,
    attacks: Attacks = "general",
    losses: Sequence[Any] | None = None,
    threshold: float = THRESHOLD,
    match_by: str | None = None,
    control: Any = None,
    progress: Progress = silent,
) -> Findings:
    """Everything that both variants tell of; who wants both measures only once."""
    matched = corresponding(original, release, match_by)
    for warning in matched.warnings:
        logger.warning(warning)
    release = matched.release
    pair = Pair.of(matched.original, release, attributes, known=known, control=control)
    chosen: Literal["all"] | None = "all" if attacks == "all" else None
    measuring, counting = Part(progress, 0.0, 0.9), Part(progress, 0.9, 1.0)
    assessment = assess_pair(pair, matched, attacks=chosen, losses=losses, threshold=threshold, progress=measuring)
    released = _described(as_microdata(release), pair)
    guarantees = guarantees_of(released, pair.knowledge.attributes, progress=counting)
    made = release if isinstance(release, Release) else None
    return Findings(pair, as_microdata(matched.whole), released, assessment, guarantees, made)


def _described(released: Microdata, pair: Pair) -> Microdata:
    """The released table with what the original's schema says; a file brings only guesses of its own."""
    attributes = (_described_attribute(attribute, pair) for attribute in released.schema)
    return replace(released, schema=Schema(attributes, released.schema.panel))


def _described_attribute(attribute: Attribute, pair: Pair) -> Attribute:
    if attribute.name not in pair.masked.names:
        return attribute
    before = pair.masked[attribute.name]
    if attribute.name in pair.recoded:  # labels in the place of numbers or categories
        roles = tuple(role for role in before.roles if role != "weight")
        return attribute.changed(roles=roles, missing=before.missing)
    return before
