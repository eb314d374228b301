"""IL of categorical attributes: the mean of the losses by tables, by distance and by entropy."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import pydantic
from pydantic_core import ArgsKwargs

from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError, brief
from microveil.losses.base import Loss, LossMeasure, Route
from microveil.losses.categorical.coding import ADD_MISSING
from microveil.losses.categorical.distance import DBIL
from microveil.losses.categorical.entropy import EBIL, Probabilities
from microveil.losses.categorical.tables import CTBIL
from microveil.microdata.distances import ORDINAL_DISTANCES, OrdinalDistance
from microveil.microdata.facts import OverRecords
from microveil.microdata.schema import CATEGORICAL
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts

# what each parameter is without a wish, and what comes nearest to the printed tables of section 4.2
_USUAL: dict[str, Any] = {"dimension": 2, "ordinal_distance": "inclusive", "add_missing_category": False}
SOURCE_CH4_2: dict[str, Any] = {"dimension": 1, "ordinal_distance": "nominal", "add_missing_category": True}


@parameterised
class ILCategorical(LossMeasure):
    """(CTBIL + DBIL + EBIL) / 3, each as a percentage; the details have the three.

    Marés (2013) prints the mean but not how its parts are scaled. The preset `source-ch4-2` has the conventions that
    come nearest to its printed tables: one-way tables, a distance that ignores the order, and one more category, for
    missing cells, in every domain. A domain whose category for missing is declared as such in the schema (as a missing
    code that is a category of its own) is not given another.

    >>> from microveil.microdata import Microdata
    >>> one, other = ({"job": list(text)} for text in ("cook", "cock"))
    >>> found = ILCategorical().measure(Microdata.of(one), Microdata.of(other)).details
    >>> {name: round(value, 1) for name, value in found.items()}
    {'ctbil': 25.0, 'dbil': 25.0, 'ebil': 31.5}
    """

    name: ClassVar[str] = "il-categorical"
    family: ClassVar[str] = "categorical"
    summary: ClassVar[str] = "mean of CTBIL, DBIL and EBIL"
    meaning: ClassVar[str] = "mean of the losses of contingency tables, distance and entropy; lower is better"
    route: ClassVar[Route] = "data"
    over_records: ClassVar[OverRecords] = "per combination"
    kinds: ClassVar[tuple[str, ...]] = CATEGORICAL
    missing: ClassVar[str] = "each of the three treats missing cells in its own way"
    source: ClassVar[str] = "Marés (2013), sections 4.2.3 and 5.4, Eq. 4.9 and 5.1"

    dimension: int | None = parameter(
        default=None,
        help="largest number of attributes crossed in a table; unset: 2, or that of the preset",
        ge=1,
        le=10,
    )
    ordinal_distance: OrdinalDistance | None = parameter(
        default=None, help=f"{ORDINAL_DISTANCES}; unset: inclusive, or that of the preset"
    )
    entropy: Probabilities = parameter(
        default="empirical",
        help="entropy by the transitions that happened, or by the transition matrices of the release",
    )
    add_missing_category: bool | None = parameter(default=None, help=f"{ADD_MISSING}; unset: only with the preset")
    preset: Literal["source-ch4-2"] | None = parameter(
        default=None,
        help="conventions that come nearest to printed tables, for dimension, distance and missing category",
    )

    @property
    def works_over(self) -> OverRecords:
        return self.over_records if self.entropy == "empirical" else "whole table"

    @pydantic.model_validator(mode="before")
    @classmethod
    def _with_conventions(cls, given: ArgsKwargs) -> ArgsKwargs:
        """What is not given has the usual convention, or that of the preset, which nothing given may contradict."""
        values = dict(given.kwargs or {})
        preset = values.get("preset")
        for name, value in (_USUAL if preset is None else SOURCE_CH4_2).items():
            if values.get(name) is None:
                values[name] = value
            elif preset == "source-ch4-2" and values[name] != value:
                told = f"{cls.name}: {name} = {brief(values[name])}"
                raise ParameterError(f"{told} is not allowed with the preset {preset}, which has {value!r}")
        return ArgsKwargs((), values)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        chosen = {name: getattr(self, name) for name in _USUAL}
        extra = {"add_missing_category": chosen["add_missing_category"]}
        measures: tuple[LossMeasure, ...] = (
            CTBIL(dimension=chosen["dimension"], mode="counts", **extra),
            DBIL(ordinal_distance=chosen["ordinal_distance"], **extra),
            EBIL(mode=self.entropy, given=None, **extra),
        )
        compared = pair.about(attributes)
        losses = [m.measure_pair(compared, progress=p) for m, p in zip(measures, parts(progress, 3), strict=True)]
        per_attribute = {
            name: sum(loss.per_attribute[name] for loss in losses) / 3
            for name in attributes
            if all(name in loss.per_attribute for loss in losses)
        }
        value, raw = (sum(getattr(loss, form) for loss in losses) / 3 for form in ("value", "raw"))
        details = {loss.name: loss.value for loss in losses}
        return Loss(self.name, value, raw, attributes, per_attribute=per_attribute, details=details)
