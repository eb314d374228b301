"""The report on one release: what was done, what an intruder gains, what an analyst loses. It comes in two variants: an
internal one for those who may see the original, and a public one that tells an intruder nothing of use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from microveil.attacks.reidentification import THRESHOLD
from microveil.masking import Release
from microveil.masking.guarantees import guarantees_of
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.microdata import as_microdata
from microveil.microdata.pairs import Pair
from microveil.progress import Part, Progress, silent
from microveil.reporting.report_findings import Findings
from microveil.reporting.report_internal import internal_page
from microveil.reporting.report_public import public_page
from microveil.scoring import assess


def report(
    original: Any,
    release: Any,
    attributes: Sequence[str] | None = None,
    *,
    public: bool = False,
    known: Sequence[str] | None = None,
    attacks: Literal["general", "all"] = "general",
    losses: Sequence[Any] | None = None,
    threshold: float = THRESHOLD,
    again: str = "",
    progress: Progress = silent,
) -> str:
    """The report as one HTML page that needs no network.

    `attributes`, `known` and `losses` are as in `assess`; `attacks="all"` runs every attack that applies, which takes
    longer. A masked table without its provenance gives a report of measures only. `again` are commands that make the
    release again, for the internal variant.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65], "height": [170, 180, 175, 190, 160, 165]})
    >>> release = MDAV(k=3).mask(people, seed=20_071)
    >>> "20071" in report(people, release), "20071" in report(people, release, public=True)
    (True, False)
    """
    found = findings_of(
        original, release, attributes, known=known, attacks=attacks, losses=losses, threshold=threshold,
        progress=Part(progress, 0.0, 0.95),
    )  # fmt: skip
    page = public_page(found) if public else internal_page(found, again)
    progress(1.0, "report: writing the page")
    return page


def findings_of(
    original: Any,
    release: Any,
    attributes: Sequence[str] | None = None,
    *,
    known: Sequence[str] | None = None,
    attacks: Literal["general", "all"] = "general",
    losses: Sequence[Any] | None = None,
    threshold: float = THRESHOLD,
    progress: Progress = silent,
) -> Findings:
    """Everything that both variants tell of; who wants both measures only once."""
    pair = Pair.of(original, release, attributes, known=known)
    chosen: Literal["all"] | None = "all" if attacks == "all" else None
    measuring, counting = Part(progress, 0.0, 0.9), Part(progress, 0.9, 1.0)
    assessment = assess(
        original, release, attributes, attacks=chosen, losses=losses, known=known, threshold=threshold,
        progress=measuring,
    )  # fmt: skip
    released = _described(as_microdata(release), pair)
    guarantees = guarantees_of(released, pair.knowledge.attributes, progress=counting)
    made = release if isinstance(release, Release) else None
    return Findings(pair, as_microdata(original), released, assessment, guarantees, made)


def _described(released: Microdata, pair: Pair) -> Microdata:
    """The released table with what the original's schema says; a file brings only guesses of its own."""
    attributes = (_described_attribute(attribute, pair) for attribute in released.schema)
    return Microdata(released.frame, Schema(attributes), released.origin)


def _described_attribute(attribute: Attribute, pair: Pair) -> Attribute:
    if attribute.name not in pair.masked.names:
        return attribute
    before = pair.masked[attribute.name]
    if attribute.is_categorical and not before.is_categorical:  # recoded: intervals in the place of numbers
        return attribute.changed(roles=tuple(role for role in before.roles if role != "weight"))
    return before
