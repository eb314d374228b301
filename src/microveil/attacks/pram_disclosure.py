"""What PRAM discloses if the transition matrix is known: expected ratios, and the most probable true category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from microveil.attacks.base import Attack, Risk, Subject
from microveil.attacks.confidential import mean_over, percent
from microveil.comparison.pairs import Pair
from microveil.comparison.transitions import Transitions, transitions_of
from microveil.masking.randomising.matrices import GivenMatrices
from microveil.microdata.schema import CATEGORICAL
from microveil.numerics.perturbing.posterior import (
    Convention,
    Ratios,
    expected_ratios,
    likeliest,
    map_disclosure,
)
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.typing import FloatArray

_GIVEN = (
    "for attributes by name, the transition matrix: rows of numbers, tables by category, or a CSV file; unset: those "
    "of the release, else the transitions that happened"
)
_MISSING = "cells that are missing in either file, and not a category of their own, are left out"


class _MatrixAttack(Attack):
    """An attack with the parameter `given`, of use where the release has a matrix for a known attribute."""

    needs_private_file: ClassVar[bool] = True
    given: GivenMatrices | None

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        known = set(pair.of_kinds(cls.kinds))
        matrices = {} if pair.release is None else pair.release.matrices
        return (cls(),) if any(set(block) <= known for block in matrices) else ()


@dataclass(frozen=True)
class RatioRisk(Risk):
    """The risk with the expected ratios of each variable, by category in the order of its domain."""

    ratios: Mapping[str, Ratios] = field(default_factory=dict, repr=False)

    def to_plain(self) -> dict[str, Any]:
        means = {name: found.mean if np.isfinite(found.mean) else None for name, found in self.ratios.items()}
        return {**super().to_plain(), "ratios": means}


@parameterised
class ExpectedRatio(_MatrixAttack):
    """How far a published category can be believed: for category k the expected ratio ER(k) of the records published as
    k that were k to those that were not. The risk is the chance ER / (1 + ER) that a published category is the true
    one; the ratios themselves, and their mean by frequency, are in `ratios`.

    Tables of Marés (2013) have the indices of the matrix transposed; `convention="source"` gives these again. The
    counter `unbounded` is the share of values whose category nobody else is published as: their ratio is infinite.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": ["f", "f", "f", "m"]})
    >>> release = Microdata.of({"sex": ["f", "f", "m", "m"]})
    >>> risk = ExpectedRatio(given={"sex": [[0.9, 0.1], [0.4, 0.6]]}).assess(people, release, ["sex"])
    >>> risk.ratios["sex"].by_category.round(2).tolist(), round(risk.ratios["sex"].mean, 4)
    ([6.75, 2.0], 5.5625)
    """

    name: ClassVar[str] = "expected-ratio"
    family: ClassVar[str] = "inference"
    subject: ClassVar[Subject] = "masked"
    summary: ClassVar[str] = "computes how probable it is that a published category is the true one"
    meaning: ClassVar[str] = "published categories that are expected to be the true ones; lower is safer"
    assumes: ClassVar[str] = "a person's released record, the transition matrix and the frequencies before it"
    formula: ClassVar[str] = "ER(k) = v_k p_kk / sum over j != k of v_j p_jk; risk = mean of ER / (1 + ER)"
    kinds: ClassVar[tuple[str, ...]] = CATEGORICAL
    missing: ClassVar[str] = _MISSING
    source: ClassVar[str] = (
        "Gouweleeuw et al. (1998); Marés (2013), section 4.1.5; corrects the transposed indices of its Table 4.8"
    )

    given: GivenMatrices | None = parameter(default=None, help=_GIVEN)
    convention: Convention = parameter(
        default="column",
        help="how the matrix is read: correctly (column), or with transposed indices as in Marés (2013)",
    )

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        ratios: dict[str, Ratios] = {}
        chances, unbounded = [], []
        for variable, part in zip(
            transitions_of(pair, attributes, self.given, self.name), parts(progress, len(attributes)), strict=False
        ):
            found = expected_ratios(variable.matrix, variable.frequencies, self.convention)
            by_published = np.broadcast_to(found.chances[:, None], variable.matrix.shape)
            chances.append(variable.over(by_published))
            unbounded.append(variable.over(np.isinf(found.by_category)[:, None] + np.zeros_like(variable.matrix)))
            ratios[variable.name] = found
            part(1.0, f"{self.name}: {variable.name}")
        scenario = (
            f"An intruder who has found a person's released record believes its {', '.join(attributes)} and knows with "
            "which probabilities categories were exchanged."
        )
        return RatioRisk.of(
            self.name,
            mean_over(chances),
            attributes,
            scenario,
            counters={"unbounded": percent(mean_over(unbounded))},
            per_attribute={name: percent(chance) for name, chance in zip(ratios, chances, strict=True)},
            ratios=ratios,
        )


@parameterised
class MapDisclosure(_MatrixAttack):
    """The intruder inverts PRAM: for each published category they name the true one that is most probable.

    A matrix that keeps few categories in their place may still be nearly a permutation; then every other measure looks
    excellent and this one does not. Where categories are equally probable one is drawn. The counters: `expected`, the
    share right to expect from the matrix; `baseline`, the share right of naming the most frequent category; `kept`, the
    share of values that are published as they are.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"sex": ["f", "m", "f", "m"]})
    >>> release = Microdata.of({"sex": ["m", "f", "m", "m"]})
    >>> risk = MapDisclosure(given={"sex": [[0.1, 0.9], [0.9, 0.1]]}).assess(people, release, ["sex"])
    >>> risk.value, risk.counters["expected"], risk.counters["kept"]
    (75.0, 90.0, 25.0)
    """

    name: ClassVar[str] = "map-disclosure"
    family: ClassVar[str] = "inference"
    subject: ClassVar[Subject] = "masked"
    summary: ClassVar[str] = "takes for each published category the most probable true one (maximum a posteriori)"
    meaning: ClassVar[str] = "true categories recovered from the published ones by the matrix; lower is safer"
    assumes: ClassVar[str] = "a person's released record, the transition matrix and the frequencies before it"
    formula: ClassVar[str] = (
        "share of i with x_i = argmax over k of v_k p_(k, x'_i); expected: sum over l of max_k v_k p_kl"
    )
    kinds: ClassVar[tuple[str, ...]] = CATEGORICAL
    missing: ClassVar[str] = _MISSING
    source: ClassVar[str] = (
        "Microveil's own: an answer to what the evolved matrix of Marés (2013), Table 4.6, gives away"
    )

    given: GivenMatrices | None = parameter(default=None, help=_GIVEN)
    frequencies: Literal["original", "estimated"] = parameter(
        default="original",
        help="frequencies that the intruder uses: the true ones, or those estimated from the release",
    )

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        right: dict[str, FloatArray] = {}
        expected, baseline, kept = [], [], []
        for variable, part in zip(
            transitions_of(pair, attributes, self.given, self.name), parts(progress, len(attributes)), strict=False
        ):
            best = likeliest(variable.matrix, self._frequencies(variable))
            right[variable.name] = variable.over(best / best.sum(axis=1, keepdims=True))
            kept.append(variable.over(np.eye(len(variable.matrix))))
            counts = variable.frequencies
            expected.append(map_disclosure(variable.matrix, counts))
            baseline.append(float(counts.max() / max(1, counts.sum())))
            part(1.0, f"{self.name}: {variable.name}")
        counters = {
            "expected": 100 * float(np.mean(expected)),
            "baseline": 100 * float(np.mean(baseline)),
            "kept": percent(mean_over(kept)),
        }
        scenario = (
            f"An intruder who has found a person's released record knows how {', '.join(attributes)} were exchanged, "
            "and names the most probable true categories."
        )
        return Risk.of(
            self.name,
            mean_over(list(right.values())),
            attributes,
            scenario,
            counters=counters,
            per_attribute={name: percent(found) for name, found in right.items()},
        )

    def _frequencies(self, variable: Transitions) -> FloatArray:
        from microveil.numerics.perturbing.transition_matrices import estimated_frequencies

        if self.frequencies == "original":
            return variable.frequencies.astype(np.float64)
        published = np.bincount(variable.after[variable.attacked], minlength=len(variable.matrix))
        return np.maximum(estimated_frequencies(published, variable.matrix), 0.0)
