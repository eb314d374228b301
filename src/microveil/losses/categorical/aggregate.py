"""IL of categorical attributes: the mean of the losses by tables, by distance and by entropy."""

from __future__ import annotations

from typing import ClassVar, Literal

from microveil.losses.base import Loss, LossMeasure, Route
from microveil.losses.categorical.coding import ADD_MISSING
from microveil.losses.categorical.distance import DBIL
from microveil.losses.categorical.entropy import EBIL
from microveil.losses.categorical.tables import CTBIL
from microveil.microdata.distances import OrdinalDistance
from microveil.microdata.pairs import Pair
from microveil.microdata.schema import CATEGORICAL
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts


@parameterised
class ILCategorical(LossMeasure):
    """(CTBIL + DBIL + EBIL) / 3, each as a percentage; the details have the three.

    The source prints the mean but not how its parts are scaled. The preset `source-ch4-2` has the conventions that
    come nearest to its printed tables: one-way tables and a distance that ignores the order, with domains that have
    one more category, for missing (declare it in the schema, or set `add_missing_category`).

    >>> from microveil.microdata import Microdata
    >>> one, other = ({"job": list(text)} for text in ("cook", "cool"))
    >>> ILCategorical().measure(Microdata.of(one), Microdata.of(other)).details
    {'ctbil': 25.0, 'dbil': 25.0, 'ebil': 0.0}
    """

    name: ClassVar[str] = "il-categorical"
    family: ClassVar[str] = "categorical"
    summary: ClassVar[str] = "mean of CTBIL, DBIL and EBIL"
    meaning: ClassVar[str] = "changes of categories, of their tables and of what they tell; lower is better"
    route: ClassVar[Route] = "data"
    usual: ClassVar[bool] = False  # its three parts are
    kinds: ClassVar[tuple[str, ...]] = CATEGORICAL
    missing: ClassVar[str] = "each of the three treats missing cells in its own way"
    source: ClassVar[str] = "specification 05, IL-05 (Eq. 4.9) and 5.9; specification 06, PC-08 (Eq. 5.1)"

    dimension: int = parameter(2, help="largest number of attributes crossed in a table", ge=1)
    ordinal_distance: OrdinalDistance = parameter("inclusive", help="distance between ordered categories")
    entropy: Literal["empirical", "matrix"] = parameter(
        "empirical", help="entropy by the transitions that happened, or by the transition matrices of the release"
    )
    add_missing_category: bool = parameter(False, help=ADD_MISSING)
    preset: Literal["source-ch4-2"] | None = parameter(
        None, help="conventions that come nearest to printed tables; they take the place of dimension and distance"
    )

    def __post_init__(self) -> None:
        if self.preset == "source-ch4-2":
            object.__setattr__(self, "dimension", 1)
            object.__setattr__(self, "ordinal_distance", "nominal")

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        extra = self.add_missing_category
        measures: tuple[LossMeasure, ...] = (
            CTBIL(dimension=self.dimension, mode="counts", add_missing_category=extra),
            DBIL(ordinal_distance=self.ordinal_distance, add_missing_category=extra),
            EBIL(mode=self.entropy, given=None, add_missing_category=extra),
        )
        compared = pair.knowing(attributes)
        losses = [m.measure_pair(compared, progress=p) for m, p in zip(measures, parts(progress, 3), strict=True)]
        per_attribute = {
            name: sum(loss.per_attribute[name] for loss in losses) / 3
            for name in attributes
            if all(name in loss.per_attribute for loss in losses)
        }
        value, raw = (sum(getattr(loss, form) for loss in losses) / 3 for form in ("value", "raw"))
        details = {loss.name: loss.value for loss in losses}
        return Loss(self.name, value, raw, attributes, per_attribute=per_attribute, details=details)
