"""What a report tells of, and what both of its variants say in the same way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from microveil.masking import Release
from microveil.masking.coarsening.sampling import Sampling
from microveil.masking.guarantees import Guarantees
from microveil.microdata import Microdata
from microveil.microdata.microdata import count
from microveil.microdata.pairs import Pair
from microveil.scoring import Assessment

_SEVERAL = 12  # names in a sentence before the rest is only counted


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
    over = listed(guarantees.keys)
    if guarantees.k < 2:
        return [f"Some records stand alone in their combination of {over}: nobody is guaranteed to share it."]
    people = "" if guarantees.population is None else f", and stands for at least {guarantees.population:,.0f} people"
    told = [f"Every combination of {over} is shared by at least {guarantees.k:,} records{people} (k-anonymity)."]
    told += [
        f"Every combination has at least {count(found.distinct, 'different value')} of {name} (l-diversity; entropy "
        f"{found.entropy:.2f}, recursive {found.recursive}), whose distribution is at most {found.closeness:.2f} from "
        "that of the whole table (t-closeness)."
        for name, found in guarantees.diversity.items()
    ]
    return told


def listed(names: Iterable[str]) -> str:
    """The names with commas; of very many the first ones and how many more there are."""
    names = list(names)
    more = len(names) - _SEVERAL
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:_SEVERAL])} and {more} more"
