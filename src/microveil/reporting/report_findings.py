"""What a report tells of, and what both of its variants say in the same way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.errors import GuaranteeError
from microveil.masking import Release
from microveil.masking.coarsening.sampling import Sampling
from microveil.masking.guarantees import AT_MOST, RISK, Guarantees, listed
from microveil.microdata import Microdata
from microveil.microdata.microdata import count
from microveil.microdata.pairs import Pair
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
    requirements met, and three numbers."""

    passed: bool
    sentence: str
    numbers: tuple[tuple[str, str], ...]
    required: tuple[tuple[str, bool], ...] = ()


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
        steps = (step for step in self.release.provenance.steps if step.method != Sampling.name)
        return tuple(dict.fromkeys(name for step in steps for name in step.attributes or ()))


def verdict_of(found: Findings) -> Verdict:
    """The risk against the threshold, the requirements of the plan, and expected re-identifications, k and loss."""
    headline, guarantees = found.assessment.headline, found.guarantees
    before, after = headline.before, headline.after
    required = _required(found)
    below = after.largest <= after.threshold + _ROUNDING
    passed = below and all(met for _, met in required)
    have = "has" if after.above == 1 else "have"
    sentence = (
        f"No record has a risk of re-identification above {after.threshold:g}."
        if below
        else f"{count(after.above, 'record')} {have} a risk of re-identification above "
        f"{after.threshold:g}; the largest is {after.largest:.3g}."
    )
    numbers = (
        ("expected re-identifications", f"{after.expected:,.3g} (before: {before.expected:,.3g})"),
        (f"k-anonymity over {listed(guarantees.keys)}", f"{guarantees.k:,}"),
        ("information loss", f"{found.assessment.score.loss:.3g} %"),
    )
    return Verdict(passed, sentence, numbers, required)


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
