"""ABIM, ABISD and ABICO: mean absolute biases of means, standard deviations and correlations."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from microveil.losses.base import Loss, LossMeasure
from microveil.losses.numeric.moments import Moments, moments_of
from microveil.microdata.pairs import Pair
from microveil.numerics.perturbation import relative_bias
from microveil.parameters import parameterised
from microveil.progress import Progress

FloatArray = npt.NDArray[np.float64]


@parameterised
class _MeanBias(LossMeasure):
    family: ClassVar[str] = "numeric"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "moments are taken over the cells, or pairs of cells, present in each file"
    source: ClassVar[str] = "Li and Sarkar (2013); specification 07, CR-23"
    usual: ClassVar[bool] = False
    _by_attribute: ClassVar[bool] = True

    @abstractmethod
    def _terms(self, moments: Moments) -> FloatArray:
        """The statistics whose relative changes are averaged."""

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        before, after = (self._terms(moments) for moments in moments_of(pair, attributes))
        percent, left_out = relative_bias(before, after)
        per_attribute = {}
        if self._by_attribute:
            each = (relative_bias(before[j : j + 1], after[j : j + 1])[0] for j in range(len(attributes)))
            per_attribute = dict(zip(attributes, each, strict=True))
        details = {"left_out": float(left_out)}
        if not self._by_attribute:
            details["correlation_change"] = 100 * float(np.abs(after - before).mean()) if len(before) else 0.0
        return Loss.of(self.name, percent / 100, attributes, per_attribute=per_attribute, details=details)


@parameterised
class ABIM(_MeanBias):
    """The mean over attributes of |mean' - mean| / |mean|; means of 0 are left out and counted in `details`.

    >>> from microveil.microdata import Microdata
    >>> ABIM().measure(Microdata.of({"a": [1.0, 3.0]}), Microdata.of({"a": [1.0, 4.0]})).value
    25.0
    """

    name: ClassVar[str] = "abim"
    summary: ClassVar[str] = "average absolute bias in means"
    meaning: ClassVar[str] = "how far the means moved, relative to themselves; lower is better"

    def _terms(self, moments: Moments) -> FloatArray:
        return moments.means


@parameterised
class ABISD(_MeanBias):
    """The mean over attributes of |sd' - sd| / sd; constants are left out and counted in `details`.

    >>> from microveil.microdata import Microdata
    >>> ABISD().measure(Microdata.of({"a": [1.0, 3.0]}), Microdata.of({"a": [1.0, 4.0]})).value.__round__(6)
    50.0
    """

    name: ClassVar[str] = "abisd"
    summary: ClassVar[str] = "average absolute bias in standard deviations"
    meaning: ClassVar[str] = "how far the standard deviations moved, relative to themselves; lower is better"

    def _terms(self, moments: Moments) -> FloatArray:
        return np.sqrt(moments.variances)


@parameterised
class ABICO(_MeanBias):
    """The mean over pairs of attributes of |r' - r| / |r|; correlations of 0 are left out and counted in `details`.

    Correlations near 0 rule it; `details["correlation_change"]`, the mean of |r' - r| in percent, is steadier.

    >>> from microveil.microdata import Microdata
    >>> before = Microdata.of({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]})
    >>> ABICO().measure(before, Microdata.of({"a": [1.0, 2.0, 3.0], "b": [1.0, 3.0, 2.0]})).value.__round__(6)
    50.0
    """

    name: ClassVar[str] = "abico"
    summary: ClassVar[str] = "average absolute bias in correlations"
    meaning: ClassVar[str] = "how far the correlations moved, relative to themselves; lower is better"
    _by_attribute: ClassVar[bool] = False

    def _terms(self, moments: Moments) -> FloatArray:
        return moments.correlations[np.triu_indices(len(moments.means), 1)]
