"""Attribute disclosure: what the released records that match a person reveal of a confidential value."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.attacks.base import Risk
from microveil.attacks.confidential import CONFIDENTIAL, MISSING, WIDTH, CandidateAttack, mean_over, percent
from microveil.attacks.linkage.candidates import RECORDS, affordable
from microveil.comparison.drawing import drawn_beside
from microveil.comparison.pairs import Pair
from microveil.microdata.schema import KINDS
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray


@parameterised
class AttributeDisclosure(CandidateAttack):
    """The candidates for a person are the released records nearest to what is known of them, all that tie; the risk is
    the share of the candidates that have the person's confidential value.

    Nobody needs to be identified: where all candidates have one value, it is disclosed whichever of them is right. The
    counters, in per cent of the records: `unanimous`, all candidates have the true value; `baseline`, the risk when a
    record is drawn from the whole release; `candidates`, the share of the release that fits.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of(
    ...     {"age": [20, 21, 60, 61], "ill": ["flu", "flu", "flu", "gout"]}, keys=["age"], confidential=["ill"]
    ... )
    >>> release = Microdata.of({"age": [20.5, 20.5, 60.5, 60.5], "ill": ["flu", "flu", "flu", "gout"]})
    >>> risk = AttributeDisclosure().assess(people, release)
    >>> risk.per_record.tolist(), risk.counters["unanimous"], risk.counters["baseline"]
    ([1.0, 1.0, 0.5, 0.5], 50.0, 62.5)
    """

    name: ClassVar[str] = "attribute-disclosure"
    family: ClassVar[str] = "inference"
    summary: ClassVar[str] = "reads a confidential value off the released records nearest to what is known"
    meaning: ClassVar[str] = "confidential values revealed by the released records that match a person; lower is safer"
    formula: ClassVar[str] = "mean over i of #{ l in C_i : z'_l = z_i } / #C_i, C_i the released records nearest to x_i"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = "Fayyoumi (2008), section 2.4.1; Machanavajjhala et al. (2007) on homogeneous candidates"
    success: ClassVar[str] = "a released record nearest to what is known of the person has their confidential value"

    confidential: tuple[str, ...] | None = parameter(default=None, help=CONFIDENTIAL, min_length=1)
    width: float = parameter(default=10.0, help=WIDTH, ge=0, le=1e6)
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(default=0, help="seed for drawing the records to attack", ge=0, le=LARGEST_SEED)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        targets = self.targets(pair, attributes)
        reach = [target.reach(self.width) for target in targets]
        label = f"{self.name}: finding candidates"
        shares, sizes = self.shares_of_candidates(pair, attributes, targets, reach, progress, label)
        missed = np.isnan(shares)
        baseline = np.stack([target.share_right(self.width) for target in targets])
        counters = {
            "unanimous": percent(mean_over(np.where(missed, np.nan, shares == 1.0))),
            "baseline": percent(mean_over(np.where(missed, np.nan, baseline))),
            "candidates": percent(mean_over(sizes)),
        }
        per_attribute = {target.name: percent(share) for target, share in zip(targets, shares, strict=True)}
        scenario = (
            f"An intruder knows the true values of {', '.join(attributes)} for a person in the file, takes all "
            f"released records nearest to them, and reads {', '.join(per_attribute)} off one of these."
        )
        return Risk.of(
            self.name, mean_over(shares), attributes, scenario, counters=counters, per_attribute=per_attribute
        )

    def _beside_control(
        self, pair: Pair, attributes: tuple[str, ...], progress: Progress
    ) -> tuple[FloatArray, FloatArray] | None:
        assert pair.control is not None
        everyone = pair.with_control(pair.control)
        targets = self.targets(everyone, attributes)
        reach = [target.reach(self.width) for target in targets]
        named = (*attributes, *(target.name for target in targets))
        wanted = affordable(self.records, 10.0 * len(pair) * len(attributes))
        rows, others = drawn_beside(pair, pair.control, named, wanted, self.seed, self.name)
        both, label = np.concatenate([rows, others]), f"{self.name}: finding candidates, control group"
        shares, _ = self.shares_of_candidates(everyone, attributes, targets, reach, progress, label, both)
        success = mean_over(shares)
        return success[rows], success[others]
