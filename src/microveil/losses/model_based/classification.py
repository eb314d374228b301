"""Classification-based loss: what a classifier learns from the release, against one that learns from the original."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from microveil.comparison.columns import Columns
from microveil.comparison.drawing import drawn
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.losses.base import Loss, LossMeasure, Scope
from microveil.microdata.schema import KINDS
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import PublicStreams
from microveil.typing import FloatArray, IntArray


@dataclass(frozen=True)
class _Response:
    """What is to be predicted: the class of each record in both files (NaN where missing), from these columns."""

    before: FloatArray
    after: FloatArray
    columns: Columns | None

    @property
    def known(self) -> IntArray:
        """The records that can be tested, in an order that depends on their content alone."""
        content = [] if self.columns is None else [*self.columns.after, *self.columns.before]
        order = np.lexsort((*content, self.after, self.before))
        return order[~np.isnan(self.before[order])]


@dataclass(frozen=True)
class _Tested:
    """For every tested record the chance that each classifier is right; how often the two differ, and how often the
    most frequent class is wrong."""

    original: FloatArray
    release: FloatArray
    disagreement: float
    guess: float
    fold: IntArray

    @property
    def lost(self) -> float:
        return float((self.original - self.release).mean()) if len(self.original) else 0.0

    @property
    def errors(self) -> tuple[float, float]:
        """The shares of records about which each classifier is wrong."""
        first, second = (1.0 - float(hit.mean()) if len(hit) else 0.0 for hit in (self.original, self.release))
        return first, second

    @property
    def error(self) -> float:
        """The standard error of what is lost: that of the tested records, or the standard deviation over the folds if
        larger. What is learnt varies more than what is tested, and folds share most of what they learn from."""
        lost = self.original - self.release
        if len(lost) < 2:
            return 0.0
        by_fold = [float(lost[self.fold == number].mean()) for number in np.unique(self.fold)]
        return float(max(lost.std(ddof=1) / np.sqrt(len(lost)), np.std(by_fold, ddof=1)))


@parameterised
class Classification(LossMeasure):
    """Two classifiers of the same kind learn to predict a response, one from original records and one from the same
    records as they were released; both are tested on other original records. `value` is by how many percentage points
    the second is right less often, at least 0; `raw` is negative where it is right more often.

    Every record is tested once (in one of `folds` parts, while the classifiers learn from the others). The details have
    both shares of errors in per cent, `error_original` and `error_release`; `error_guess`, that of naming the most
    frequent class; and `disagreement`, the share of the tested records for which the two name different classes, which
    is the loss itself with `compare="predictions"`: it also sees changes by which as many records gain as lose. Where
    the original teaches no more than guessing there is no accuracy to lose, and the value is chance. A numeric response
    is cut into `classes` of equally many original records.

    Of long files a sample is taken; `standard_error` is the error of the value, in its own unit (that of the tested
    records, or the standard deviation over the folds where it is larger), and `sampled` the number of records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [*range(20, 40), *range(60, 80)], "ill": ["no"] * 20 + ["yes"] * 20})
    >>> mixed = Microdata.of({"age": [45] * 40, "ill": ["no"] * 20 + ["yes"] * 20})
    >>> loss = Classification(target=("ill",)).measure(people, mixed, ["age", "ill"])
    >>> loss.details["error_original"], loss.value > 40
    (0.0, True)
    """

    name: ClassVar[str] = "classification"
    family: ClassVar[str] = "model-based"
    learns: ClassVar[bool] = True
    summary: ClassVar[str] = "accuracy that a classifier loses by learning from the release"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = (
        "percentage points of accuracy that a classifier loses by learning from the release; lower is better"
    )
    scope: ClassVar[Scope] = "specific"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "a missing predictor is a state of its own; records without a response are neither learnt from nor tested"
    )
    source: ClassVar[str] = (
        "Wilson and Rosen (2003) and Fayyoumi (2008), section 2.5.1, on the bias of data mining; trained on the "
        "release, tested on the original"
    )

    target: tuple[str, ...] | None = parameter(
        default=None,
        help="the responses, each in turn; unset: the released attributes with the role confidential, or without any "
        "the compared attribute with the fewest categories, or the last numeric one",
        min_length=1,
    )
    compare: Literal["accuracy", "predictions"] = parameter(
        default="accuracy",
        help="the loss: the accuracy lost, or the share of the records for which the predictions differ",
    )
    learner: Literal["tree", "bayes"] = parameter(default="tree", help="classifier: a decision tree, or naive Bayes")
    folds: int = parameter(default=5, help="number of folds of the cross-validation", ge=2, le=1_000)
    classes: int = parameter(
        default=2, help="number of classes of equal frequency that a numeric response is divided into", ge=2, le=1_000
    )
    leaf: int = parameter(default=10, help="fewest records in a leaf of a tree", ge=1, le=MOST_RECORDS)
    evidence: float = parameter(
        default=8.0, help="least gain of a split of a tree; chance alone gains about 1", ge=0, le=1e6
    )
    sample: int | None = parameter(
        default=100_000,
        help="largest number of records, drawn at random where there are more; none: all",
        ge=10,
        le=MOST_RECORDS,
    )
    seed: int = parameter(default=0, help="seed of the sample and of the folds", ge=0, le=LARGEST_SEED)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        rows = drawn(pair, attributes, self.sample or len(pair), self.seed, self.name)
        targets = self._targets(pair, attributes)
        predictors = tuple(name for name in attributes if name not in targets)
        columns = _of_records(Columns.of(pair, predictors), rows) if predictors else None
        found = {}
        for name, part in zip(targets, parts(progress, len(targets)), strict=True):
            found[name] = self._tested(_response(pair, name, columns, rows, self.classes), part)
        every = list(found.values())
        lost = {
            name: 100 * (tested.lost if self.compare == "accuracy" else tested.disagreement)
            for name, tested in found.items()
        }
        raw = float(np.mean(list(lost.values())))
        details = {
            "error_original": 100 * float(np.mean([tested.errors[0] for tested in every])),
            "error_release": 100 * float(np.mean([tested.errors[1] for tested in every])),
            "error_guess": 100 * float(np.mean([tested.guess for tested in every])),
            "disagreement": 100 * float(np.mean([tested.disagreement for tested in every])),
            "sampled": float(len(rows)),
        }
        if len(rows) < len(pair):
            left_out = np.sqrt(1.0 - len(rows) / len(pair))
            details["standard_error"] = 100 * float(np.mean([tested.error for tested in every]) * left_out)
        return Loss(self.name, min(100.0, max(0.0, raw)), raw, attributes, per_attribute=lost, details=details)

    def _targets(self, pair: Pair, attributes: tuple[str, ...]) -> tuple[str, ...]:
        for name in self.target or ():
            pair.original[name]  # an unknown name is refused
            if name not in pair.masked.names:
                raise ParameterError(f"{self.name}: target names '{name}', which was not released")
        wanted = self.target or tuple(name for name in pair.original.schema.confidential if name in pair.masked.names)
        if wanted:
            return wanted
        categorical = [name for name in attributes if pair.original[name].is_categorical]
        return (min(categorical, key=lambda name: len(pair.categories(name)[0].domain), default=attributes[-1]),)

    def _tested(self, response: _Response, progress: Progress) -> _Tested:
        """Whether each classifier is right about each record, when it has not learnt from it."""
        records = response.known
        fold = PublicStreams(self.seed).generator(self.name, "folds").permutation(len(records)) % self.folds
        original, release, apart = (np.zeros(len(records)) for _ in range(3))
        for number in range(self.folds):
            test, learn = records[fold == number], records[fold != number]
            named = [self._named(response, side, learn, test) for side in ("before", "after")]
            width = max(chances.shape[1] for chances in named)
            one, other = (np.pad(chances, ((0, 0), (0, width - chances.shape[1]))) for chances in named)
            true = response.before[test].astype(np.int64)
            for hit, chances in ((original, one), (release, other)):
                known = true < width
                hit[fold == number] = np.where(known, chances[np.arange(len(test)), np.where(known, true, 0)], 0.0)
            apart[fold == number] = np.abs(one - other).sum(axis=1) / 2
            progress((number + 1) / self.folds, self.name)
        classes = response.before[records].astype(np.int64)
        guess = 1.0 - np.bincount(classes).max() / len(records) if len(records) else 0.0
        return _Tested(original, release, float(apart.mean()) if len(apart) else 0.0, guess, fold)

    def _named(
        self, response: _Response, side: Literal["before", "after"], learn: IntArray, test: IntArray
    ) -> FloatArray:
        """The chance that each class (columns) is named for each tested record, by what this file teaches."""
        from microveil.numerics.statistics.prediction import Task, by_bayes, by_tree

        target = getattr(response, side)[learn]
        if np.isnan(target).all():
            return np.zeros((len(test), 1))  # nothing was learnt, so nothing is named
        seen, asked, nominal = np.zeros((0, len(learn))), np.zeros((0, len(test))), np.zeros(0, dtype=np.bool_)
        if response.columns is not None:
            seen, asked = getattr(response.columns, side)[:, learn], response.columns.before[:, test]
            nominal = np.array([kind not in ("numeric", "ordinal") for kind in response.columns.kinds])
        task = Task(seen, target, asked, nominal, classes=True)
        return by_tree(task, self.leaf, self.evidence) if self.learner == "tree" else by_bayes(task)


def _response(pair: Pair, name: str, columns: Columns | None, rows: IntArray, classes: int) -> _Response:
    target = _of_records(Columns.of(pair, (name,)), rows)
    before, after = target.before[0], target.after[0]
    if target.kinds[0] == "numeric":
        points = _cuts(before[~np.isnan(before)], classes)
        before, after = (
            np.where(np.isnan(side), np.nan, np.searchsorted(points, side, side="left")) for side in (before, after)
        )
    return _Response(before, after, columns)


def _cuts(values: FloatArray, classes: int) -> FloatArray:
    """The largest values of all classes but the last, where these are of equally many values as far as can be."""
    distinct = np.unique(values)
    if len(distinct) < 2:
        return distinct
    points = np.quantile(values, np.arange(1, classes) / classes, method="inverted_cdf")
    return np.unique(np.minimum(points, distinct[-2]))


def _of_records(columns: Columns, records: IntArray) -> Columns:
    return replace(columns, before=columns.before[:, records], after=columns.after[:, records])
