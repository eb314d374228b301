"""Noise: additive, with or without the correlations of the data, and multiplicative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from microveil.errors import ParameterError
from microveil.masking.base import Masked, Method, OverRecords
from microveil.masking.columns import columns_of, restored_moments
from microveil.masking.likelihood import Normal, Statement
from microveil.masking.ranges import Interval, OneOf, Ranges, ranges
from microveil.microdata import Microdata
from microveil.numerics.core.draws import normals
from microveil.numerics.statistics.moments import covariance_root, paired_covariance
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import parameter, parameterised
from microveil.progress import Part, Progress, reported
from microveil.randomness import Streams
from microveil.typing import FloatArray


@parameterised
class Noise(Method):
    """Every value is changed by normal noise. With x a value, s its attribute's standard deviation and C the
    covariances:

    - uncorrelated: x + e, e of variance alpha s^2, independent in every cell. Means are kept in expectation, variances
      grow by the factor 1 + alpha, and correlations shrink by it.
    - correlated: the noise of a record has covariance alpha C. Correlations are kept, covariances grow by 1 + alpha.
    - linear: correlated noise, then every attribute is drawn towards its mean by 1/sqrt(1 + alpha), so that means and
      covariances are kept in expectation.
    - non-linear: the same on the normal scores of the values, mapped back by the distribution of the attribute. Every
      published value occurs in the original, so limits, whole numbers and the shape of the distribution are kept.
    - multiplicative: x times a lognormal factor of mean 1 and variance alpha, independent in every cell. Signs, zeros
      and means are kept; the variance becomes s^2 (1 + alpha) + alpha mean^2.

    With `exact` the result is mapped linearly so that the means and covariances of this very table are kept, over the
    records without missing cells. A constant attribute gets no noise, and a declared range is kept.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [31, 45, 62, 70]})
    >>> Noise(alpha=0.0).mask(people, seed=1).frame["age"].to_pylist()
    [31.0, 45.0, 62.0, 70.0]
    >>> exact = Noise(form="correlated", exact=True).mask(people, seed=1).data.numbers("age").values
    >>> round(float(exact.mean()), 6), round(float(exact.var()), 6)
    (52.0, 228.5)
    """

    name: ClassVar[str] = "noise"
    family: ClassVar[str] = "randomising"
    summary: ClassVar[str] = "adds normal noise to every value, or multiplies every value by random noise"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are; a covariance is taken over the records that have both values"
    )
    over_records: ClassVar[OverRecords] = "per record"
    source: ClassVar[str] = "Kim (1986), Sullivan and Fuller (1989), Tendick (1991); Fayyoumi (2008), section 2.5.1"
    searched: ClassVar[Ranges] = ranges(
        alpha=Interval(0.005, 4.0, logarithmic=True), form=OneOf(("uncorrelated", "correlated"))
    )

    alpha: float = parameter(
        default=0.1, help="variance of the noise, as a share of the attribute's variance", ge=0, le=1e6
    )
    form: Literal["uncorrelated", "correlated", "linear", "non-linear", "multiplicative"] = parameter(
        default="uncorrelated",
        help="independent in every cell; with the correlations of the data; then drawn towards the mean (linear); the "
        "same on normal scores (non-linear); or a factor of mean 1 (multiplicative)",
    )
    exact: bool = parameter(
        default=False, help="then transform the values linearly so that means and covariances are preserved exactly"
    )

    def __post_init__(self) -> None:
        if self.exact and self.form == "non-linear":
            raise ParameterError(
                f"{self.name}: exact = True is not allowed with form = 'non-linear', whose values all occur in the data"
            )

    @property
    def works_over(self) -> OverRecords:
        return "whole table" if self.exact or self.form == "non-linear" else "per record"

    @property
    def is_joint(self) -> bool:
        return self.exact or self.form in ("correlated", "linear", "non-linear")

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        values = data.matrix(attributes)
        drawn = standard_normals(data, attributes, streams, progress, self.name)
        masked = self._changed(data, values, drawn, attributes, streams)
        if not self.exact:
            return Masked(columns_of(data, attributes, masked))
        restored, notes = restored_moments(data, attributes, values, masked, self.name)
        return Masked(columns_of(data, attributes, restored), notes=notes)

    def likelihood(
        self, data: Microdata, attributes: tuple[str, ...], streams: Streams
    ) -> Mapping[tuple[str, ...], Statement]:
        if self.exact or self.form in ("multiplicative", "non-linear"):
            return {}
        covariance = self.alpha * data.facts.moments(attributes).covariance
        if self.form == "uncorrelated":
            covariance = np.diag(np.diag(covariance))
        drawn_by = 1.0 + self.alpha if self.form == "linear" else 1.0
        return {attributes: Normal(drawn_by**-0.5, covariance / drawn_by)}

    def _changed(
        self, data: Microdata, values: FloatArray, drawn: FloatArray, attributes: tuple[str, ...], streams: Streams
    ) -> FloatArray:
        if self.form == "non-linear":
            return self._on_scores(values, drawn, attributes, streams)
        moments = data.facts.moments(attributes)
        if self.form == "uncorrelated":
            return np.asarray(values + self.alpha**0.5 * moments.deviation * drawn)
        if self.form == "multiplicative":
            return np.where(moments.constant, values, values * lognormal(self.alpha, drawn))
        noisy = values + noise_of_covariance(moments.covariance, self.alpha, drawn)
        return noisy if self.form == "correlated" else drawn_in(noisy, moments.mean, self.alpha)

    def _on_scores(
        self, values: FloatArray, drawn: FloatArray, attributes: tuple[str, ...], streams: Streams
    ) -> FloatArray:
        from microveil.numerics.statistics.normal_scores import scored_columns, unscored_columns

        scores = scored_columns(values, (streams.generator("ties", name) for name in attributes))
        noisy = drawn_in(scores + correlated_noise(scores, self.alpha, drawn), np.zeros(len(attributes)), self.alpha)
        return unscored_columns(noisy, values)


def standard_normals(
    data: Microdata, attributes: Sequence[str], streams: Streams, progress: Progress, label: str
) -> FloatArray:
    """Standard normal numbers for the records, by their places, those of each attribute from a stream of its own."""
    names = reported(attributes, Part(progress, 0.0, 0.9), label)
    return np.column_stack([normals(streams, data.places, name) for name in names])


def independent_noise(values: FloatArray, alpha: float, drawn: FloatArray) -> FloatArray:
    """Standard normal draws turned into noise with alpha times the variance of each column.

    Column by column, so that what one gets does not depend, not even in its last digit, on what stands beside it.
    """
    deviations = [Scaling.of(np.ascontiguousarray(column)[:, None]).deviation[0] for column in values.T]
    return np.asarray(alpha**0.5 * np.array(deviations) * drawn)


def correlated_noise(values: FloatArray, alpha: float, drawn: FloatArray) -> FloatArray:
    """Standard normal rows turned into noise with alpha times the covariance of the values."""
    return noise_of_covariance(paired_covariance(values), alpha, drawn)


def noise_of_covariance(covariance: FloatArray, alpha: float, drawn: FloatArray) -> FloatArray:
    """Standard normal rows turned into noise with alpha times a covariance.

    Added up column by column, so that what a record gets does not depend on how many others are treated with it.
    """
    root = alpha**0.5 * covariance_root(covariance)
    noise = np.zeros_like(drawn)
    for j, row in enumerate(root):
        noise += drawn[:, j : j + 1] * row
    return noise


def drawn_in(noisy: FloatArray, mean: FloatArray, alpha: float) -> FloatArray:
    """Noisy values drawn towards the mean by as much as the noise has spread them.

    >>> drawn_in(np.array([[4.0], [8.0]]), np.array([6.0]), 3.0)[:, 0].tolist()
    [5.0, 7.0]
    """
    return np.asarray(mean + (noisy - mean) / np.sqrt(1.0 + alpha))


def lognormal(alpha: float, drawn: FloatArray) -> FloatArray:
    """Standard normal draws as lognormal factors of mean 1 and variance alpha."""
    spread = np.log1p(alpha)
    return np.asarray(np.exp(np.sqrt(spread) * drawn - spread / 2.0))
