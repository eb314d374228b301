"""Rounding to a coarse set of values."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked, Method, OverRecords
from microveil.masking.notes import BASE_OF_ATTRIBUTE, BASES_CHOSEN
from microveil.masking.ranges import GROUP_SIZES, Ranges, ranges
from microveil.microdata import Microdata
from microveil.microdata.microdata import count
from microveil.numerics.core.draws import generator_at
from microveil.numerics.perturbing.rounding import Mode
from microveil.numerics.statistics.moment_sums import MomentSums
from microveil.parameters import LARGEST_NUMBER, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, reported
from microveil.randomness import Streams
from microveil.typing import FloatArray


@parameterised
class Rounding(Method):
    """Every value goes to a multiple of a base, or to one of the points given, each attribute by itself.

    - nearest: to the nearest one, from the middle away from zero.
    - random: up or down with the probabilities that make the expected value the true one.
    - controlled: the same, but drawn together, so that the sum of the attribute changes by less than one base.

    Without a base, each attribute has one of its own: the largest of 1, 2, 5, 10, 20, 50 ... (and of 0.5, 0.2 ...)
    that is at most half its standard deviation; or with `k` the least of these with which every published value of the
    attribute is shared by at least k records. Different bases that are chosen by hand are different steps of a plan.
    Several attributes are rounded as records to the nearest point of the lattice that their bases span, which is the
    same. With a declared range only multiples or points inside it are published; where there are none, the attribute is
    refused.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"income": [1240.0, 1250.0, 3999.0, -50.0]})
    >>> Rounding(base=100.0).mask(people).frame["income"].to_pylist()
    [1200.0, 1300.0, 4000.0, -100.0]
    """

    name: ClassVar[str] = "rounding"
    family: ClassVar[str] = "randomising"
    random: ClassVar[bool] = False
    summary: ClassVar[str] = "values are rounded to multiples of a base, to the nearest or at random"
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "missing cells and missing codes stay as they are"
    over_records: ClassVar[OverRecords] = "per record"
    source: ClassVar[str] = "Willenborg and de Waal (2001); Fayyoumi (2008), section 2.5.1"
    searched: ClassVar[Ranges] = ranges(k=GROUP_SIZES)

    base: float | None = parameter(
        default=None, help="publish multiples of this number; unset: chosen from the data", gt=0, le=LARGEST_NUMBER
    )
    mode: Mode = parameter(
        default="nearest",
        help="to the nearest multiple; at random without bias; or at random without bias so that the sum changes by "
        "less than one base (controlled)",
    )
    k: int | None = parameter(
        default=None,
        help="choose the base so that at least k records share every published value of an attribute",
        ge=2,
        le=MOST_RECORDS,
    )
    points: tuple[float, ...] | None = parameter(
        default=None, help="publish only these numbers instead of multiples of a base", min_length=1
    )

    @property
    def draws(self) -> bool:
        return self.mode != "nearest"

    @property
    def works_over(self) -> OverRecords:
        return "whole table" if self.mode == "controlled" or self.k is not None else "per record"

    def __post_init__(self) -> None:
        if self.points is not None and (self.base is not None or self.k is not None):
            raise ParameterError("rounding: points are not allowed together with a base or with k")
        if self.points is not None and self.mode == "controlled":
            raise ParameterError("rounding: mode = 'controlled' is not allowed with points; it needs a base")
        if self.k is not None and (self.base is not None or self.mode != "nearest"):
            raise ParameterError("rounding: k is not allowed with a base, nor with mode other than 'nearest'")

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        from microveil.numerics.perturbing.rounding import round_to_base, round_to_points

        columns, chosen = {}, []
        for name in reported(attributes, progress, self.name):
            values, moments = data.numbers(name).values, data.facts.moments([name])
            places = range(len(data)) if self.mode == "controlled" else data.places  # which draws for all together
            rng = generator_at(streams, places, name)
            if self.points is not None:
                rounded = round_to_points(values, self._points(data, name), self.mode, rng)
            else:
                base = self._base(data, name, values, moments)
                chosen.append(BASE_OF_ATTRIBUTE(base=base, attribute=name))
                rounded = round_to_base(values, base, self.mode, data[name].range, rng)
            columns[name] = data.number_column(name, values if moments.constant[0] else rounded)
        of_its_own = self.base is None and self.points is None
        return Masked(columns, notes=(BASES_CHOSEN(method=self.name, bases=tuple(chosen)),) if of_its_own else ())

    def _base(self, data: Microdata, name: str, values: FloatArray, moments: MomentSums) -> float:
        from microveil.numerics.perturbing.rounding import base_by_spread, base_for_sharing, multiples_within

        base = self.base
        if base is None:
            base = (
                base_by_spread(float(moments.deviation[0]))
                if self.k is None
                else base_for_sharing(values, self.k, data[name].range)
            )
        if base is None:
            held = int((~np.isnan(values)).sum())
            raise DataError(f"attribute '{name}' has {count(held, 'value')}, but rounding with k = {self.k} needs more")
        lowest, highest = multiples_within(base, data[name].range)
        if lowest > highest and not moments.constant[0]:
            raise DataError(
                f"the declared range of attribute '{name}' holds no multiple of {base:g}; round it to another base or "
                "to points inside the range"
            )
        return base

    def _points(self, data: Microdata, name: str) -> FloatArray:
        low, high = data[name].range or (-np.inf, np.inf)
        points = np.unique(np.array(self.points, dtype=np.float64))
        inside = points[(points >= low) & (points <= high)]
        if not len(inside):
            raise DataError(f"none of the points of rounding lies in the declared range of attribute '{name}'")
        return inside
