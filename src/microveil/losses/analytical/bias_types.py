"""The five ways in which perturbation biases analyses: of single attributes, of relations, of shape, of data mining."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from microveil.comparison.columns import Columns
from microveil.comparison.drawing import drawn
from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.losses.base import Loss, LossMeasure
from microveil.losses.numeric.moments import Moments, moments_of, relative_change
from microveil.numerics.core.content_hash import content_uniforms
from microveil.numerics.statistics.mardia import Shape, mardia
from microveil.numerics.statistics.prediction import Task, by_tree
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.typing import BoolArray, FloatArray


@parameterised
class BiasTypes(LossMeasure):
    """Five biases, each in per cent from 0 to 100 in `details`, and their mean over those that the table has.

    `a`: relative change of the variances. `b`: change of the correlations among confidential attributes; without any,
    among all. `c`: change of the correlations between confidential and other attributes. `d`: how far the shape moved,
    by Mardia's skewness and kurtosis (their values before and after are in `details` too). `dm`: what a decision tree
    learnt from the release predicts worse than one learnt from the original, on original records that neither has seen:
    the difference of the shares of right classes, or of the shares of explained variance. Trees predict the
    confidential attributes, or, without any, each attribute from the others. In a long table the trees learn from a
    sample: `standard_error` says how far chance moves the value, but small samples teach trees less, so that both
    tables are predicted from less well than they could be.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [1.0, 2.0, 3.0, 6.0]})
    >>> BiasTypes().measure(people, Microdata.of({"age": [1.5, 1.5, 4.5, 4.5]})).details["a"].__round__(2)
    35.71
    """

    name: ClassVar[str] = "bias"
    family: ClassVar[str] = "analytical"
    learns: ClassVar[bool] = True
    summary: ClassVar[str] = (
        "biases of variances, of correlations, of multivariate shape and of predictions by decision trees"
    )
    meaning: ClassVar[str] = "mean of five biases that perturbation brings into analyses; lower is better"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = (
        "moments are taken over the cells present in each file, shapes over complete records; a missing predictor of a "
        "tree is a value of its own"
    )
    source: ClassVar[str] = (
        "Muralidhar, Parsa and Sarathy (1999), Wilson and Rosen (2003); Fayyoumi (2008), section 2.5.1"
    )

    confidential: tuple[str, ...] | None = parameter(
        default=None, help="the confidential attributes; unset: those with that role", min_length=1
    )
    held_out: float = parameter(default=0.3, help="share of the original records that trees are tested on", gt=0, lt=1)
    leaf: int = parameter(default=5, help="fewest records in a leaf of a tree", ge=1, le=MOST_RECORDS)
    evidence: float = parameter(
        default=2.0, help="least gain of a split of a tree; chance alone gains about 1", ge=0, le=1e6
    )
    sample: int | None = parameter(
        default=20_000,
        help="largest number of records for the trees, drawn at random where there are more; none: all",
        ge=10,
        le=MOST_RECORDS,
    )
    seed: int = parameter(default=0, help="seed of the sample and of the records held out", ge=0, le=LARGEST_SEED)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        confidential = self._confidential(pair)
        inner = tuple(name for name in confidential if pair.original[name].kind == "numeric") or attributes
        outer = tuple(name for name in attributes if name not in inner)
        before, after = moments_of(pair, (*inner, *outer))
        variances = relative_change(before.variances, after.variances, before.variances, "released")
        masked = [j for j, name in enumerate((*inner, *outer)) if name in attributes]
        shapes = [_shape(moments) for moments in (before, after)]
        biases = {"a": float(np.minimum(variances[masked], 1.0).mean())}
        biases |= _relations(before, after, len(inner))
        biases["d"] = _shape_change(*shapes)
        progress(0.2, f"{self.name}: moments")
        details = {}
        trees = self._trees(pair, attributes, confidential or attributes, Part(progress, 0.2, 1.0))
        if trees:
            lost = [tree.lost for tree in trees]
            biases["dm"] = float(np.mean(np.clip(lost, 0.0, 1.0)))
            if trees[0].sampled:
                error = float(np.sqrt(np.square([tree.error for tree in trees]).sum())) / len(trees)
                details = {"standard_error": 100 * error / len(biases), "sampled": float(trees[0].sampled)}
        for word, shape in zip(("before", "after"), shapes, strict=True):
            details |= {f"skewness_{word}": shape.skewness, f"kurtosis_{word}": shape.kurtosis}
        details = {**{kind: 100 * bias for kind, bias in biases.items()}, **details}
        per_attribute = {(*inner, *outer)[j]: 100 * float(variances[j]) for j in masked}
        value = sum(biases.values()) / len(biases)
        return Loss.of(self.name, value, attributes, per_attribute=per_attribute, details=details)

    def _confidential(self, pair: Pair) -> tuple[str, ...]:
        if self.confidential is None:
            both = (name for name in pair.original.schema.confidential if name in pair.masked.names)
            return tuple(name for name in both if name not in pair.recoded)
        for name in self.confidential:
            pair.original.schema[name]
            if name not in pair.masked.names or name in pair.recoded:
                raise DataError(f"the masked table has no values of '{name}' that could be compared with the original")
        return self.confidential

    def _trees(
        self, pair: Pair, attributes: tuple[str, ...], targets: tuple[str, ...], progress: Progress
    ) -> list[_TreeLoss]:
        """What trees lose, for each target that has predictors."""
        names = tuple(dict.fromkeys((*attributes, *targets)))
        rows = drawn(pair, names, self.sample or len(pair), self.seed, self.name)
        columns = Columns.of(pair, names)
        before, after = columns.before[:, rows], columns.after[:, rows]
        held = content_uniforms(before, self.seed) < self.held_out
        found = []
        for target, part in zip(targets, parts(progress, len(targets)), strict=True):
            predictors = np.array([name in attributes and name != target for name in names])
            if predictors.any():
                comparison = _Comparison(before, after, held, predictors, names.index(target), columns.kinds)
                lost = comparison.lost(self.leaf, self.evidence)
                found += [] if lost is None else [_TreeLoss(*lost, len(rows) if len(rows) < len(pair) else 0)]
            part(1.0, f"{self.name}: {target}")
        return found


@dataclass(frozen=True)
class _TreeLoss:
    """How much worse the release's tree predicts, with the standard error, and the size of the sample if it is one."""

    lost: float
    error: float
    sampled: int


@dataclass(frozen=True)
class _Comparison:
    """Two tables in rows, the records held out, and which rows predict which."""

    before: FloatArray
    after: FloatArray
    held: BoolArray
    predictors: BoolArray
    target: int
    kinds: tuple[str, ...]

    def lost(self, leaf: int, evidence: float) -> tuple[float, float] | None:
        """The mean difference of what is right in the records held out; none without records to learn from or try."""
        true = self.before[self.target]
        tried = np.flatnonzero(self.held & ~np.isnan(true))
        sides = [side[:, ~self.held] for side in (self.before, self.after)]
        if not len(tried) or any(np.isnan(side[self.target]).all() for side in sides):
            return None
        asked = self.before[self.predictors][:, tried]
        nominal = np.array([kind not in ("numeric", "ordinal") for kind in self.kinds])[self.predictors]
        classes = self.kinds[self.target] != "numeric"
        tasks = (Task(side[self.predictors], side[self.target], asked, nominal, classes) for side in sides)
        right = [_right(by_tree(task, leaf, evidence), true[tried], classes) for task in tasks]
        worse = right[0] - right[1]
        return float(worse.mean()), float(worse.std() / len(tried) ** 0.5)


def _right(guesses: FloatArray, true: FloatArray, classes: bool) -> FloatArray:
    """How right each guess is: the chance of the true class, or 1 less the squared error over the variance."""
    if classes:
        codes = true.astype(np.int64)
        known = codes < guesses.shape[1]
        return np.where(known, guesses[np.arange(len(codes)), np.where(known, codes, 0)], 0.0)
    spread = float(true.var())
    errors = np.square(guesses[:, 0] - true)
    return np.asarray(1 - errors / spread) if spread > 0 else (errors == 0).astype(np.float64)


def _relations(before: Moments, after: Moments, inner: int) -> dict[str, float]:
    """The mean changes of correlations within the first columns, and between these and the others; half of a change
    from -1 to 1 is the most that counts."""
    changes = np.minimum(np.abs(before.correlations - after.correlations), 1.0)
    found = {}
    within = changes[np.triu_indices(inner, 1)]
    if within.size:
        found["b"] = float(within.mean())
    across = changes[:inner, inner:]
    if across.size:
        found["c"] = float(across.mean())
    return found


def _shape(moments: Moments) -> Shape:
    complete = ~np.isnan(moments.cells).any(axis=1)
    return mardia(moments.cells[complete]) if complete.any() else Shape(0.0, 0.0, 0)


def _shape_change(before: Shape, after: Shape) -> float:
    """The mean of the relative changes of the skewness (its root) and of the kurtosis.

    A change is relative to the larger of both, and to no less than 1, or to the kurtosis of a normal distribution.
    """
    roots = float(np.sqrt(before.skewness)), float(np.sqrt(after.skewness))
    normal = before.dimensions * (before.dimensions + 2)
    skewed = abs(roots[0] - roots[1]) / max(*roots, 1.0)
    peaked = abs(before.kurtosis - after.kurtosis) / max(before.kurtosis, after.kurtosis, normal, 1.0)
    return (skewed + peaked) / 2
