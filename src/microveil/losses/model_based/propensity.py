"""Propensity-score utility (pMSE): how well a model distinguishes released from original records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from microveil.comparison.columns import Columns
from microveil.comparison.drawing import drawn
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.losses.base import Loss, LossMeasure
from microveil.microdata.schema import KINDS
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress
from microveil.randomness import PublicStreams
from microveil.typing import BoolArray, FloatArray

_SHARE = 0.5  # of the released records among both files
_GREATEST = _SHARE * (1.0 - _SHARE)  # pMSE where every record is recognised
_MOST_CELLS = 2e8  # of a design: about 1.6 GB
_PERMUTATIONS_OF_A_TREE = 10


@dataclass(frozen=True)
class _Scores:
    """The propensity of each record of both files, how pMSE moves with each, and how many parameters were fitted."""

    fitted: FloatArray
    influence: FloatArray
    parameters: int

    @property
    def pmse(self) -> float:
        return float(((self.fitted - _SHARE) ** 2).mean())


Scorer = Callable[[BoolArray], _Scores]


@parameterised
class Propensity(LossMeasure):
    """Both files are put together, and a model learns to tell which records are released; its propensity scores p are
    all one half where it cannot. pMSE is the mean of (p - 1/2)², and `value` its share of the greatest possible, 1/4.

    The model is a logistic regression (numbers with their squares, a dummy for each of the 50 most frequent categories,
    and with `interactions` the products of every two attributes), or a tree, which also sees what no equation says. The
    details have `pmse`; `expected`, what it would be for records drawn from a right model that was fitted to the
    original: for a logistic regression with k parameters (k - 1) / (16 n), n counting the records of one file, else
    half of what permutations give; and `ratio`, pmse over expected. About 1 is the best that synthetic records can have
    (two files drawn apart from one distribution have 2). Masked records stay with their originals, so a release that
    changes little has a ratio below 1.

    Of long files a sample is taken; `standard_error` is then the error of the value, in its own unit, and `sampled` the
    number of records.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20.0, 30.0, 40.0, 50.0]})
    >>> Propensity().measure(people, people).value
    0.0
    >>> round(Propensity().measure(people, Microdata.of({"age": [25.0, 25.0, 45.0, 45.0]})).value, 2)
    3.03
    """

    name: ClassVar[str] = "propensity"
    family: ClassVar[str] = "model-based"
    summary: ClassVar[str] = "how well a model distinguishes released from original records (pMSE)"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = (
        "from 0 (no model distinguishes the files) to 100 (every record is recognised); lower is better"
    )
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = "a missing cell is a state of its own"
    source: ClassVar[str] = "Woo et al. (2009); Snoke et al. (2018)"

    model: Literal["logistic", "tree"] = parameter(
        default="logistic", help="model of the propensity scores: logistic regression or decision tree"
    )
    squares: bool = parameter(
        default=True, help="include the squares of numbers, so that changed variances are detected (logistic)"
    )
    interactions: bool = parameter(default=False, help="include the products of every two attributes (logistic)")
    leaf: int = parameter(default=20, help="fewest records in a leaf (tree)", ge=1, le=MOST_RECORDS)
    evidence: float = parameter(
        default=2.0, help="least gain of a split; chance alone gains about 1 (tree)", ge=0, le=1e6
    )
    permutations: int | None = parameter(
        default=None,
        help="number of permutations from which the expected pMSE is estimated; unset: a formula for a logistic "
        "regression, 10 permutations for a tree",
        ge=0,
        le=10_000,
    )
    sample: int | None = parameter(
        default=50_000,
        help="largest number of records, drawn at random where there are more; none: all",
        ge=10,
        le=MOST_RECORDS,
    )
    seed: int = parameter(default=0, help="seed of the sample and of the permutations", ge=0, le=LARGEST_SEED)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        rows = drawn(pair, attributes, self.sample or len(pair), self.seed, self.name)
        columns = Columns.of(pair, attributes)
        cells = np.hstack([columns.before[:, rows], columns.after[:, rows]])
        score = self._scorer(cells, np.array([kind != "numeric" for kind in columns.kinds]), columns.kinds)
        n = len(rows)
        progress(0.1, self.name)
        scores = score(np.repeat([False, True], n))
        expected = self._expected(score, scores, n, Part(progress, 0.5, 1.0))
        details = {"pmse": scores.pmse, "parameters": float(scores.parameters), "sampled": float(n)}
        if expected is not None:
            details["expected"] = expected
            details["ratio"] = scores.pmse / expected if expected > 0 else 0.0
        if n < len(pair):
            of_record = scores.influence[:n] + scores.influence[n:]
            error = float(of_record.std(ddof=1) / 2 * np.sqrt((1.0 - n / len(pair)) / n))
            details["standard_error"] = 100 * error / _GREATEST
        return Loss.of(self.name, scores.pmse / _GREATEST, attributes, details=details)

    def _scorer(self, cells: FloatArray, categorical: BoolArray, kinds: tuple[str, ...]) -> Scorer:
        """What gives scores for any choice of which records are released."""
        if self.model == "tree":
            return self._tree(cells, np.array([kind not in ("numeric", "ordinal") for kind in kinds]))
        from microveil.numerics.statistics.logistic import design, fit_logistic, width

        wide = width(cells, categorical, squares=self.squares, interactions=self.interactions)
        if wide * cells.shape[1] > _MOST_CELLS:
            raise ParameterError(
                f"{self.name}: a regression with {wide:,} columns on {cells.shape[1]:,} records does not fit in "
                "memory; choose fewer attributes, no interactions or a smaller sample"
            )
        columns = design(cells, categorical, squares=self.squares, interactions=self.interactions)

        def score(released: BoolArray) -> _Scores:
            fit = fit_logistic(columns, released)
            p = fit.fitted
            spread = p * (1.0 - p)
            curvature = columns.T @ (columns * spread[:, None]) / len(p)
            slope = columns.T @ (2.0 * (p - _SHARE) * spread) / len(p)
            moves = columns @ np.linalg.lstsq(curvature, slope, rcond=None)[0]
            return _Scores(p, (p - _SHARE) ** 2 + moves * (released - p), fit.rank)

        return score

    def _tree(self, cells: FloatArray, nominal: BoolArray) -> Scorer:
        from microveil.numerics.statistics.conditional_trees import Cuts, grow, leaves_of, nominal_bins

        codes = (np.where(np.isnan(column), -1, np.nan_to_num(column)).astype(np.int64) for column in cells[nominal])
        ordered = (Cuts.of(column).bins(column) for column in cells[~nominal])
        bins = np.stack([nominal_bins(next(codes)) if own else next(ordered) for own in nominal])

        def score(released: BoolArray) -> _Scores:
            n = len(released)
            target = released.astype(np.int64)
            tree = grow(bins, nominal, target, np.arange(n), leaf=self.leaf, evidence=self.evidence)
            at = leaves_of(tree, bins)
            held = np.maximum(np.bincount(at, minlength=len(tree.column)), 1)
            p = (np.bincount(at, weights=released, minlength=len(tree.column)) / held)[at]
            return _Scores(p, (p - _SHARE) ** 2 + 2.0 * (p - _SHARE) * (released - p), len(tree.leaf_sizes))

        return score

    def _expected(self, score: Scorer, scores: _Scores, n: int, progress: Progress) -> float | None:
        """The pMSE to expect of records from a right model fitted to the original."""
        wanted = self.permutations
        if wanted is None:
            wanted = _PERMUTATIONS_OF_A_TREE if self.model == "tree" else 0
        if wanted == 0:
            return (scores.parameters - 1) / (16 * n) if self.model == "logistic" else None
        found = []
        for number in range(wanted):
            rng = PublicStreams(self.seed, number).generator(self.name, "permutation")
            found.append(score(rng.permutation(np.repeat([False, True], n))).pmse)
            progress((number + 1) / wanted, f"{self.name}: permutations")
        # permutations make of both files samples of a third; synthetic ones differ from the original by one sampling
        return (1.0 - _SHARE) * float(np.mean(found))
