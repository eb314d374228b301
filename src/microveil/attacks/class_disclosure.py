"""Class disclosure: groups whose records all have the same confidential value, so that the group reveals it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from microveil.attacks.base import Risk
from microveil.attacks.confidential import CONFIDENTIAL, MISSING, CandidateAttack, Target, mean_over, percent
from microveil.attacks.found_classes import PARTS, equal_values, in_parts, made_groups
from microveil.attacks.linkage.candidates import RECORDS
from microveil.attacks.taxonomy import Disclosure
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.microdata.schema import KINDS
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.counting.class_divergence import ClassReport


@dataclass(frozen=True)
class ClassRisk(Risk):
    """The risk with a report on the groups for each confidential attribute: class counts, divergences, flags."""

    reports: Mapping[str, ClassReport] = field(default_factory=dict, repr=False)

    @property
    def spread(self) -> dict[str, float]:
        """X² for each confidential attribute: about the number of classes less 1 if groups were made at random."""
        return {name: report.spread for name, report in self.reports.items()}

    def to_plain(self) -> dict[str, Any]:
        return {**super().to_plain(), "spread": self.spread}


@parameterised
class ClassDisclosure(CandidateAttack):
    """The share of records whose group shows their class, because all its members have it.

    The groups are those the release was made with (with several blocks, the records that share all their groups), and
    the intruder finds the right one. Without any, they are the records with equal released values, and the intruder
    takes those nearest to what they know, which need not be the right ones. A number counts as a class by which of
    `parts` equal parts of the released values it lies in.

    The counters, in per cent, say more of the groups, whoever finds them: `homogeneous`, the records in groups of one
    class; `divergence`, the mean Jensen-Shannon divergence of the groups' classes from the file's, by size;
    `closeness`, the greatest distance t of a group; `single`, the groups in which a class has a single record.
    X², the mean chi-square distance of the groups' class counts from those expected, is in `spread`.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of(
    ...     {"age": [20, 21, 60, 61], "ill": ["flu", "flu", "flu", "gout"]}, keys=["age"], confidential=["ill"]
    ... )
    >>> release = Microdata.of({"age": [20.5, 20.5, 60.5, 60.5], "ill": ["flu", "flu", "flu", "gout"]})
    >>> risk = ClassDisclosure().assess(people, release)
    >>> risk.per_record.tolist(), round(risk.spread["ill"], 3)
    ([1.0, 1.0, 0.0, 0.0], 0.667)
    """

    name: ClassVar[str] = "class-disclosure"
    family: ClassVar[str] = "inference"
    disclosure: ClassVar[Disclosure] = Disclosure("attribute", "prediction", "deterministic", "exact")
    summary: ClassVar[str] = "finds groups of released records that all have the same confidential value (homogeneity)"
    meaning: ClassVar[str] = (
        "records whose confidential value is disclosed because all records of their group share it; lower is safer"
    )
    assumes: ClassVar[str] = "the true values of some attributes of everyone, and so the group that a person is in"
    formula: ClassVar[str] = "mean over i of [ all members of the group of i have the class of i ]"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = "Li and Sarkar (2013), sections 3, 4, 6.1 and 7, Definitions 2 and 4, Eq. 13"

    confidential: tuple[str, ...] | None = parameter(default=None, help=CONFIDENTIAL, min_length=1)
    groups: Literal["partition", "values"] | None = parameter(
        default=None,
        help="groups that are examined: those that the method made (partition), or the equivalence classes of "
        "released values (values); unset: the partition where it is known",
    )
    parts: int = parameter(default=5, help=PARTS, ge=1, le=10_000)
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(default=0, help="seed for drawing the records to attack", ge=0, le=LARGEST_SEED)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        from microveil.numerics.counting.class_divergence import ClassReport

        targets = [in_parts(target, self.parts) for target in self.targets(pair, attributes)]
        made = None if self.groups == "values" else made_groups(pair, attributes)
        if made is None and self.groups == "partition":
            raise ParameterError(
                f"{self.name}: groups = 'partition' is not allowed; the release does not say how it was grouped"
            )
        labels = [equal_values(pair, target.known) if made is None else made for target in targets]
        if made is None:
            label = f"{self.name}: finding groups"
            exactly = [0.0] * len(targets)
            shares, _ = self.shares_of_candidates(pair, attributes, targets, exactly, progress, label)
            disclosed = np.where(np.isnan(shares), np.nan, shares == 1.0)
        else:
            disclosed = np.stack([_in_one_class(made, target) for target in targets])
        reports = {
            target.name: ClassReport.of(groups, np.unique(target.after, return_inverse=True)[1].reshape(-1))
            for target, groups in zip(targets, labels, strict=True)
        }
        every = list(reports.values())
        counters = {
            "homogeneous": float(np.mean([report.homogeneous_share for report in every])),
            "divergence": 100 * float(np.mean([report.weighted_divergence for report in every])),
            "closeness": 100 * float(max(report.attained.max() for report in every)),
            "single": 100 * float(np.mean([report.single.mean() for report in every])),
        }
        per_attribute = {target.name: percent(one) for target, one in zip(targets, disclosed, strict=True)}
        scenario = (
            f"An intruder who finds a person's group by {', '.join(attributes)} checks whether all its records have "
            f"the same {' or '.join(per_attribute)}."
        )
        return ClassRisk.of(
            self.name,
            mean_over(disclosed),
            attributes,
            scenario,
            counters=counters,
            per_attribute=per_attribute,
            reports=reports,
        )


def _in_one_class(groups: IntArray, target: Target) -> FloatArray:
    """Whether all released classes of a record's group are its own class; NaN where it has none."""
    low, high = (np.full(int(groups.max()) + 1, start) for start in (np.inf, -np.inf))
    released = np.where(np.isnan(target.after), -1.0, target.after)  # a missing class is one of its own
    np.minimum.at(low, groups, released)
    np.maximum.at(high, groups, released)
    shown = (low[groups] == target.before) & (high[groups] == target.before)
    return np.where(target.attacked, shown, np.nan)
