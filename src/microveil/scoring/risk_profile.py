"""The risk of records and households as a histogram, before and after masking, and the keys that cause it.

The steps of a histogram are 1, 2 and 5 times a power of ten, so that small risks are told apart; each holds its upper
end, and the first whatever is below.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from microveil.attacks.reidentification import FileRisk, chances_after, risk_of_file
from microveil.attacks.uniqueness import Uniqueness
from microveil.comparison.pairs import Pair
from microveil.masking.households import household_of
from microveil.numerics.counting.individual_risk import at_least_one
from microveil.scoring.headline import is_linkage
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.scoring.assessment import Assessment

_LEAST = 1e-6  # risks below are told together
_STEPS = (1.0, 2.0, 5.0)
_ROUNDING = 1e-9
_BAR = 24  # characters

MEANING_OF_RECORDS = (
    "the risk of a record is the probability that a match with it is right: 1/f where f records agree on the keys and "
    "the file is the whole population, else the expected 1/F over the number F of persons in the population who agree"
)
MEANING_OF_HOUSEHOLDS = (
    "the risk of a household is the probability that at least one member is re-identified: 1 minus the product of "
    "(1 - risk) over its members"
)
MEANING_OF_KEYS = (
    "the expected re-identifications are the sum of the risks of all records; for each key, what is left of them for "
    "an intruder who knows all other keys"
)


@dataclass(frozen=True)
class RiskHistogram:
    """How many records or households have which risk: `counts` by name, such as before and after, for the steps between
    `edges`. Those that no attack tried are in no step.

    >>> RiskHistogram.of({"before": np.array([1.0, 0.5, 0.5, 0.004])}).rows()
    [('up to 0.005', 1), ('0.005 to 0.01', 0), ('0.01 to 0.02', 0), ('0.02 to 0.05', 0), ('0.05 to 0.1', 0), \
('0.1 to 0.2', 0), ('0.2 to 0.5', 2), ('0.5 to 1', 1)]
    """

    edges: tuple[float, ...]
    counts: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, risks: Mapping[str, FloatArray]) -> RiskHistogram:
        present = {name: each[~np.isnan(each)] for name, each in risks.items()}
        least = min((float(each[each > 0].min()) for each in present.values() if (each > 0).any()), default=1.0)
        edges = _edges(max(least, _LEAST))
        counts = {}
        for name, each in present.items():
            steps = np.searchsorted(np.array(edges[1:]) * (1 + _ROUNDING), each, side="left")
            steps = np.minimum(steps, len(edges) - 2)
            counts[name] = tuple(np.bincount(steps, minlength=len(edges) - 1).tolist())
        return cls(edges, counts)

    @property
    def steps(self) -> list[str]:
        """The steps in words."""
        first, *others = self.edges[1:]
        return [f"up to {first:g}", *(f"{a:g} to {b:g}" for a, b in zip([first, *others], others, strict=False))]

    def rows(self) -> list[tuple[Any, ...]]:
        """A row for each step with its counts."""
        return list(zip(self.steps, *self.counts.values(), strict=True))

    def bars(self) -> list[str]:
        """For each step a bar of the last counts, as long as the logarithm of the number, so that few are seen too."""
        last = list(self.counts.values())[-1] if self.counts else ()
        most = math.log1p(max(last, default=0))
        return ["#" * math.ceil(_BAR * math.log1p(number) / most) if number else "" for number in last]

    def to_plain(self) -> dict[str, Any]:
        return {"edges": list(self.edges), **{name: list(each) for name, each in self.counts.items()}}


def _edges(least: float) -> tuple[float, ...]:
    """Round ends of steps from 0 to 1; the first holds the least."""
    power = math.floor(math.log10(least) + _ROUNDING)
    rounds = [float(f"{step}e{exponent}") for exponent in range(power, 0) for step in _STEPS]
    return (0.0, *(edge for edge in rounds if edge >= least * (1 - _ROUNDING)), 1.0)


@dataclass(frozen=True)
class RiskProfile:
    """The risk of every record by name, such as before and after masking, that of every household, and for each key the
    expected re-identifications `without_each_key`, of the file before masking. `found` is the file before masking."""

    found: FileRisk = field(repr=False)
    records: Mapping[str, FloatArray] = field(repr=False)
    households: Mapping[str, FloatArray] = field(repr=False)

    @property
    def without_each_key(self) -> dict[str, float]:
        """The key without which least is left first; none where the keys are the values of series."""
        if len(self.found.named) < len(self.found.keys):
            return {}
        return dict(sorted(self.found.without_each_key.items(), key=lambda item: item[1]))

    @property
    def of_records(self) -> RiskHistogram:
        return RiskHistogram.of(self.records)

    @property
    def of_households(self) -> RiskHistogram | None:
        return RiskHistogram.of(self.households) if self.households else None

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it; nothing of single records."""
        homes = self.of_households
        return {
            "threshold": self.found.threshold,
            "records": self.of_records.to_plain(),
            "households": None if homes is None else homes.to_plain(),
            "expected_without_key": self.without_each_key,
        }


def profile_of(found: FileRisk) -> RiskProfile:
    """Of a file that is not masked."""
    homes = {} if found.household is None else {"file": _of_households(found.per_record, found.household)}
    return RiskProfile(found, {"file": found.per_record}, homes)


def profile_of_release(assessment: Assessment, pair: Pair, original: Any) -> RiskProfile:
    """Before and after masking, by what an assessment measured: each record has the largest risk by any attack on
    identity, as in its headline. `original` is the whole file."""
    known = pair.knowledge.attributes
    before = risk_of_file(original, known, threshold=assessment.headline.before.threshold)
    linked = [risk.per_record for risk in assessment.risks.values() if is_linkage(risk)]
    unique = next((risk for risk in assessment.risks.values() if risk.name == Uniqueness.name), None)
    if unique is None and known:
        unique = Uniqueness().assess_pair(Uniqueness.facing(pair))
    after = np.fmax.reduce(np.stack(chances_after(pair, before, linked, unique)), axis=0)
    homes = {}
    released = household_of(pair.original)
    if before.household is not None and released is not None:
        tried = np.where(np.isnan(after), 0.0, after)
        homes = {
            "before": _of_households(before.per_record, before.household),
            "after": _of_households(tried, released),
        }
    return RiskProfile(before, {"before": before.per_record, "after": after}, homes)


def _of_households(per_record: FloatArray, household: IntArray) -> FloatArray:
    """One number for each household."""
    return at_least_one(per_record, household)[np.unique(household, return_index=True)[1]]


def rows_of(histogram: RiskHistogram) -> list[Sequence[str]]:
    """The cells of a table: the steps, the counts, and a bar."""
    return [
        (str(step), *(f"{number:,}" for number in numbers), bar)
        for (step, *numbers), bar in zip(histogram.rows(), histogram.bars(), strict=True)
    ]
