"""Inference attacks: a model learnt from the release predicts the confidential values of known persons."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.attacks.base import Risk
from microveil.attacks.confidential import (
    CONFIDENTIAL,
    WIDTH,
    ConfidentialAttack,
    Target,
    beside_baseline,
    mean_over,
    percent,
)
from microveil.comparison.columns import Columns
from microveil.comparison.pairs import Pair
from microveil.microdata.schema import KINDS
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, parts
from microveil.typing import FloatArray


@parameterised
class Inference(ConfidentialAttack):
    """The intruder learns from the released records how a confidential attribute depends on the others, and predicts it
    from the true values of people; the risk is the share of right predictions.

    A class is right if it is the one predicted (if several are equally likely, one is drawn), a number if it is
    predicted within `width`. The counters: `baseline`, the share right without a model, by the most frequent released
    class or the released mean; `gain`, what the model adds, (risk - baseline) / (100 - baseline), at least 0; and for
    numbers `explained`, the share R² of the variance that the predictions explain, at least 0.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of(
    ...     {"age": [20, 21, 22, 60, 61, 62], "ill": ["no"] * 3 + ["yes"] * 3}, keys=["age"], confidential=["ill"]
    ... )
    >>> risk = Inference(leaf=3).assess(people, people)
    >>> risk.value, risk.counters["baseline"]
    (100.0, 50.0)
    """

    name: ClassVar[str] = "inference"
    family: ClassVar[str] = "inference"
    summary: ClassVar[str] = "predicts confidential values by a model learnt from the release"
    meaning: ClassVar[str] = "confidential values that a model of the release predicts; lower is safer"
    formula: ClassVar[str] = "share of i with |m(x_i) - z_i| <= w, the model m learnt from the released (x', z')"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "records without a true confidential value are not attacked; a missing predictor is a value of its own"
    )
    source: ClassVar[str] = "Fayyoumi (2008), section 2.6.6.2"
    success: ClassVar[str] = "a confidential value of the person is predicted right"

    confidential: tuple[str, ...] | None = parameter(default=None, help=CONFIDENTIAL, min_length=1)
    learner: Literal["tree", "ridge"] = parameter(default="tree", help="model: a decision tree, or a ridge regression")
    leaf: int = parameter(default=5, help="fewest released records in a leaf of a tree", ge=1, le=MOST_RECORDS)
    evidence: float = parameter(
        default=2.0, help="least gain of a split of a tree; chance alone gains about 1", ge=0, le=1e6
    )
    penalty: float = parameter(
        default=1.0, help="penalty of the ridge regression, which shrinks its coefficients", gt=0, le=1e12
    )
    width: float = parameter(default=10.0, help=WIDTH, ge=0, le=1e6)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        right: dict[str, FloatArray] = {}
        baseline, explained = [], []
        targets = self.targets(pair, attributes)
        for target, part in zip(targets, parts(progress, len(targets)), strict=True):
            guesses = self._predictions(pair, target)
            right[target.name] = self._right(target, guesses)
            baseline.append(self._right(target, self._without_model(target)))
            if target.kind == "numeric":
                explained.append(_explained(target, guesses[:, 0]))
            part(1.0, f"{self.name}: {target.name}")
        per_record = mean_over(list(right.values()))
        share, chance = percent(per_record), percent(mean_over(baseline))
        counters = beside_baseline(share, chance)
        if explained:
            counters["explained"] = 100 * float(np.mean(np.maximum(explained, 0.0)))
        scenario = (
            f"An intruder learns from the release to predict {', '.join(right)} from "
            f"{', '.join(attributes)}, and does so for people whose true values of these they know."
        )
        return Risk.of(
            self.name,
            per_record,
            attributes,
            scenario,
            counters=counters,
            per_attribute={name: percent(found) for name, found in right.items()},
        )

    def _beside_control(
        self, pair: Pair, attributes: tuple[str, ...], progress: Progress
    ) -> tuple[FloatArray, FloatArray] | None:
        assert pair.control is not None
        everyone = pair.with_control(pair.control)
        targets = self.targets(everyone, attributes)
        right = []
        for target, part in zip(targets, parts(progress, len(targets)), strict=True):
            right.append(self._right(target, self._predictions(everyone, target)))
            part(1.0, f"{self.name}: {target.name}, control group")
        success = mean_over(right)
        return success[: len(pair)], success[len(pair) :]

    def _predictions(self, pair: Pair, target: Target) -> FloatArray:
        from microveil.numerics.statistics.prediction import Task, by_ridge, by_tree

        if np.isnan(target.after).all():
            return self._without_model(target)
        if target.known:
            columns = Columns.of(pair, target.known)
            seen, asked = columns.after, columns.before
            nominal = np.array([kind not in ("numeric", "ordinal") for kind in columns.kinds])
        else:
            seen, asked = np.zeros((0, len(pair.masked))), np.zeros((0, len(pair)))
            nominal = np.zeros(0, dtype=np.bool_)
        task = Task(seen, target.after, asked, nominal, target.kind != "numeric")
        return by_tree(task, self.leaf, self.evidence) if self.learner == "tree" else by_ridge(task, self.penalty)

    def _without_model(self, target: Target) -> FloatArray:
        """What the released column alone suggests for everyone."""
        released = target.after[~np.isnan(target.after)]
        if target.kind == "numeric":
            return np.full((len(target.before), 1), released.mean() if len(released) else np.nan)
        counts = np.bincount(released.astype(np.int64), minlength=1)
        most = (counts == counts.max()) / (counts == counts.max()).sum()
        return np.tile(most if len(released) else np.zeros(1), (len(target.before), 1))

    def _right(self, target: Target, guesses: FloatArray) -> FloatArray:
        """The chance that each guess is right; NaN for a record without a true value."""
        if target.kind == "numeric":
            hit = (np.abs(guesses[:, 0] - target.before) <= target.reach(self.width)).astype(np.float64)
        else:
            codes = np.where(target.attacked, np.nan_to_num(target.before), 0).astype(np.int64)
            known = codes < guesses.shape[1]
            hit = np.where(known, guesses[np.arange(len(codes)), np.where(known, codes, 0)], 0.0)
        return np.where(target.attacked, hit, np.nan)


def _explained(target: Target, guesses: FloatArray) -> float:
    """R²: 1 less the squared errors over the squared deviations of the true values from their mean."""
    true, guessed = target.before[target.attacked], guesses[target.attacked]
    spread = float(((true - true.mean()) ** 2).sum()) if len(true) else 0.0
    errors = float(((true - guessed) ** 2).sum())
    if not np.isfinite(errors):
        return 0.0
    return 1.0 - errors / spread if spread > 0 else float(errors == 0)
