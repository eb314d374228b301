"""ABIM, ABISD and ABICO: mean absolute biases of means, standard deviations and correlations."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from microveil.comparison.pairs import Pair
from microveil.losses.base import Loss, LossMeasure
from microveil.losses.numeric.moments import Moments, moments_of, relative_change
from microveil.parameters import parameterised
from microveil.progress import Progress
from microveil.typing import FloatArray


@parameterised
class _MeanBias(LossMeasure):
    family: ClassVar[str] = "numeric"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "moments are taken over the cells, or pairs of cells, present in each file"
    source: ClassVar[str] = "Li and Sarkar (2013), section 6.1, Eq. 14 to 16"
    _by_attribute: ClassVar[bool] = True

    @abstractmethod
    def _terms(self, moments: Moments) -> FloatArray:
        """The statistics whose relative changes are averaged."""

    @abstractmethod
    def _units(self, before: Moments, after: Moments) -> FloatArray:
        """What changes are divided by where every statistic of the original is 0."""

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        moments = moments_of(pair, attributes)
        before, after = map(self._terms, moments)
        changes = relative_change(before, after, self._units(*moments), "scale")
        counted = before != 0 if before.any() else np.ones(len(before), dtype=np.bool_)
        details = {"left_out": float((before == 0).sum())}
        per_attribute = {}
        if self._by_attribute:
            shares = np.where(counted, changes, 0.0)
            per_attribute = {name: 100 * float(share) for name, share in zip(attributes, shares, strict=True)}
        else:
            details["correlation_change"] = 100 * float(np.abs(after - before).mean()) if len(before) else 0.0
        value = float(changes[counted].mean()) if counted.any() else 0.0
        return Loss.of(self.name, value, attributes, per_attribute=per_attribute, details=details)


@parameterised
class ABIM(_MeanBias):
    """The mean over attributes of |mean' - mean| / |mean|; means of 0 are left out and counted in `details`.

    Where all means are 0, as in standardised tables, changes are taken in standard deviations.

    >>> from microveil.microdata import Microdata
    >>> ABIM().measure(Microdata.of({"a": [1.0, 3.0]}), Microdata.of({"a": [1.0, 4.0]})).value
    25.0
    """

    name: ClassVar[str] = "abim"
    summary: ClassVar[str] = "average absolute bias in means"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = "average relative bias in means; lower is better"

    def _terms(self, moments: Moments) -> FloatArray:
        return moments.means

    def _units(self, before: Moments, after: Moments) -> FloatArray:
        return np.sqrt(before.variances)


@parameterised
class ABISD(_MeanBias):
    """The mean over attributes of |sd' - sd| / sd; constants are left out and counted in `details`.

    Where all attributes are constants, each that varies in the release counts 100.

    >>> from microveil.microdata import Microdata
    >>> ABISD().measure(Microdata.of({"a": [1.0, 3.0]}), Microdata.of({"a": [1.0, 4.0]})).value.__round__(6)
    50.0
    """

    name: ClassVar[str] = "abisd"
    summary: ClassVar[str] = "average absolute bias in standard deviations"
    meaning: ClassVar[str] = "average relative bias in standard deviations; lower is better"

    def _terms(self, moments: Moments) -> FloatArray:
        return np.sqrt(moments.variances)

    def _units(self, before: Moments, after: Moments) -> FloatArray:
        return self._terms(after)


@parameterised
class ABICO(_MeanBias):
    """The mean over pairs of attributes of |r' - r| / |r|; correlations of 0 are left out and counted in `details`.

    Correlations near 0 rule it; `details["correlation_change"]`, the mean of |r' - r| in percent, is steadier, and is
    the value where all correlations are 0.

    >>> from microveil.microdata import Microdata
    >>> before = Microdata.of({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]})
    >>> ABICO().measure(before, Microdata.of({"a": [1.0, 2.0, 3.0], "b": [1.0, 3.0, 2.0]})).value.__round__(6)
    50.0
    """

    name: ClassVar[str] = "abico"
    summary: ClassVar[str] = "average absolute bias in correlations"
    public: ClassVar[bool] = True
    meaning: ClassVar[str] = "average relative bias in correlations; lower is better"
    _by_attribute: ClassVar[bool] = False

    def _terms(self, moments: Moments) -> FloatArray:
        return moments.correlations[np.triu_indices(len(moments.means), 1)]

    def _units(self, before: Moments, after: Moments) -> FloatArray:
        return np.ones_like(self._terms(before))
