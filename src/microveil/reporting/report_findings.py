"""What a report is made from, and what both of its variants have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.attacks.reidentification import RiskSummary
from microveil.comparison.pairs import Pair
from microveil.display import number
from microveil.errors import GuaranteeError
from microveil.masking import Release
from microveil.masking.coarsening.sampling import Sampling
from microveil.masking.guarantees import AT_MOST, RISK, Guarantees, listed
from microveil.microdata import Microdata
from microveil.microdata.equivalence_classes import beside_wildcards
from microveil.microdata.microdata import count
from microveil.scoring import Assessment

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Masthead:
    """Who made a report, and when: a page that is kept for years must say so."""

    organisation: str = ""
    author: str = ""
    date: str = ""

    @property
    def line(self) -> str:
        return " · ".join(part for part in (self.organisation, self.author, self.date) if part)


NOBODY = Masthead()


@dataclass(frozen=True)
class Verdict:
    """What a reader wants to know first: does the largest risk of a record stay below the threshold, are the
    requirements met, and three numbers.

    The file may be a sample of which the sentence assumes that the intruder does not know who is in it; then `in_file`
    says what one gains who does.
    """

    passed: bool
    sentence: str
    numbers: tuple[tuple[str, str], ...]
    required: tuple[tuple[str, bool], ...] = ()
    in_file: str = ""


@dataclass(frozen=True)
class Findings:
    """A release beside its original, with everything that was measured; `release` only where it has its provenance.

    `pair` holds the records that were released, `whole` all of the original.
    """

    pair: Pair
    whole: Microdata
    released: Microdata
    assessment: Assessment
    guarantees: Guarantees
    release: Release | None

    @property
    def masked(self) -> tuple[str, ...]:
        """The attributes whose values were masked: by the provenance, or those compared that differ. A sample's values
        are not masked by being drawn."""
        if self.release is None:
            return tuple(name for name in self.pair.attributes if _differs(self.pair, name))
        provenance = self.release.provenance
        steps = (step for step in provenance.steps if step.method != Sampling.name)
        return tuple(dict.fromkeys(name for step in steps for name in provenance.masked_by(step)))


def verdict_of(found: Findings) -> Verdict:
    """The risk against the threshold, the requirements of the plan, and expected re-identifications, k and loss."""
    headline, guarantees = found.assessment.headline, found.guarantees
    before, after = headline.before, headline.after
    required = _required(found)
    passed = not _exceeds(after) and all(met for _, met in required)
    whom = " for an intruder who does not know who is in the file" if headline.weighted else ""
    sentence = f"{records_at_risk(after, f'a risk of re-identification above {after.threshold:g}{whom}')}."
    in_file = ""
    if headline.in_file is not None and _exceeds(headline.in_file):
        in_file = f"For an intruder who does, {records_at_risk(headline.in_file, 'one', began=True)}."
    numbers = (
        ("expected re-identifications", f"{number(after.expected)} (before: {number(before.expected)})"),
        k_of(guarantees),
        ("information loss", f"{found.assessment.score.loss:.3g} %"),
    )
    return Verdict(passed, sentence, numbers, required, in_file)


def _exceeds(found: RiskSummary) -> bool:
    return found.largest > found.threshold + _ROUNDING


def records_at_risk(found: RiskSummary, risk: str, *, began: bool = False) -> str:
    """How many records have such a risk, and the largest."""
    if not _exceeds(found):
        return f"{'no' if began else 'No'} record has {risk}"
    have = "has" if found.above == 1 else "have"
    return f"{count(found.above, 'record')} {have} {risk}; the largest is {found.largest:.3g}"


def k_of(guarantees: Guarantees) -> tuple[str, str]:
    """The k of a release as a box shows it."""
    told = beside_wildcards(guarantees.k, guarantees.k_without_wildcards)
    return f"k-anonymity over {listed(guarantees.named or guarantees.keys)}", told


def _required(found: Findings) -> tuple[tuple[str, bool], ...]:
    """What the plan required, and whether the release has it."""
    required = {} if found.release is None else found.release.provenance.require
    told = []
    for name, wanted in required.items():
        if name == RISK:
            met = found.assessment.headline.after.largest <= wanted + _ROUNDING
            told.append((f"largest risk of a record at most {wanted:g}", met))
            continue
        try:
            found.guarantees.check({name: wanted})
            met = True
        except GuaranteeError:
            met = False
        told.append((f"{name} at {'most' if name in AT_MOST else 'least'} {wanted:g}", met))
    return tuple(told)


def _differs(pair: Pair, name: str) -> bool:
    if name in pair.recoded:
        return True
    if pair.original[name].is_categorical:
        before, after = pair.categories(name)
        return not np.array_equal(before.codes, after.codes)
    was, became = pair.numbers(name)
    return not np.array_equal(was.values, became.values, equal_nan=True)


def is_sample(pair: Pair) -> bool:
    """Whether only some records of the original were released, so that the pair holds only these."""
    return pair.release is not None and pair.release.is_sample


def of_the_records(pair: Pair) -> str:
    """What a label about the original has at its end where it is not about the whole of it."""
    return ", of the released records" if is_sample(pair) else ""


def guarantee_sentences(guarantees: Guarantees) -> list[str]:
    """What the released table guarantees, by counting. All of it can be counted by whoever has that table."""
    return [f"{line}." for line in guarantees.sentences()]
