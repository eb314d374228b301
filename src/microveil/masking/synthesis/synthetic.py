"""Synthetic records: drawn from a model of the original ones."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.errors import DataError
from microveil.masking.base import Masked, Method
from microveil.masking.notes import DRAWN_ONE_BY_ONE, Note
from microveil.masking.ranges import GROUP_SIZES, Interval, Ranges, ranges
from microveil.masking.synthesis.closeness import closeness
from microveil.masking.synthesis.columns import UNSET_GIVEN, Column, Drawn, columns_given
from microveil.masking.synthesis.latent import CopulaModel, draw_normal, usable_as_numbers
from microveil.microdata import Microdata
from microveil.microdata.microdata import check_records
from microveil.numerics.statistics.scaling import Scaling
from microveil.parameters import MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress
from microveil.randomness import Streams


@parameterised
class Synthetic(Method):
    """Draws records anew from a model of the original ones, as many as there are.

    `trees` draws one attribute after the other: the first from its own values, each next from the leaf of a tree grown
    on those before it, so that any mix of kinds and any shape of dependence is followed. `normal` draws numbers with
    exactly the mean and covariance of the original. `copula` keeps the distribution of each attribute and the
    correlation of normal variables behind them, of which categories are cuts; `latin-hypercube` moreover uses every
    value as often as it occurs and arranges them to the rank correlation.

    Attributes that are not masked stay with their records, and the synthetic ones are drawn given them (`given`). Where
    all are masked, no record of the release belongs to any one of the original; measures that pair records by their
    position still tell what an intruder gains who believes they do. Only what the model holds is kept. A model can also
    hold too much: the notes of the release say how close synthetic records come to original ones. Close ones are a sign
    of that, but distant ones prove nothing about safety: to see whether the release tells who was in the file, run the
    attack `membership-inference` with a control group of persons who were not.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [31, 45, 62, 70, 38, 55], "income": [20, 28, 25, 19, 24, 30]})
    >>> release = Synthetic(model="normal").mask(people, seed=1)
    >>> round(float(release.data.numbers("income").values.mean()), 9)
    24.333333333
    """

    name: ClassVar[str] = "synthetic"
    family: ClassVar[str] = "synthesis"
    summary: ClassVar[str] = "draws synthetic records from a model: sequential trees, a normal distribution or a copula"
    joint: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("numeric", "ordinal", "nominal")
    missing: ClassVar[str] = (
        "trees draw missing cells and missing codes like values; the other models draw which cells are missing for a "
        "record as a whole, independently of its values; cells that are not applicable stay where they are"
    )
    weights: ClassVar[str] = (
        "sampling weights are not used as weights; they are released as they are, and records are drawn given them"
    )
    source: ClassVar[str] = (
        "Rubin (1993), Reiter (2005), Burridge (2003), Iman and Conover (1982); Fayyoumi (2008), section 2.5"
    )
    searched: ClassVar[Ranges] = ranges(leaf=GROUP_SIZES, blend=Interval(0.0, 0.9))

    model: Literal["trees", "normal", "copula", "latin-hypercube"] = parameter(
        default="trees", help="trees for all kinds, normal for numbers only, copula and latin-hypercube for all kinds"
    )
    leaf: int = parameter(
        default=5,
        help="fewest records in a leaf, from which a value is drawn; also the fewest that a table must have",
        ge=1,
        le=MOST_RECORDS,
    )
    evidence: float = parameter(
        default=5.0,
        help="trees: a split must reduce the impurity by more than this multiple of the mean impurity of its node; "
        "chance alone gains about 1; with 0 every gain counts, and large files are almost copied",
        ge=0,
        le=1e6,
    )
    order: tuple[str, ...] = parameter(
        default=(), help="trees: attributes to draw first, in this order; the others follow in their own order"
    )
    given: tuple[str, ...] | None = parameter(
        default=None,
        help=f"attributes that stay with their records and that the synthetic ones are drawn given; {UNSET_GIVEN}",
    )
    smooth: bool = parameter(
        default=True,
        help="move numbers that fewer than `leaf` records share away from the original values; not for normal",
    )
    blend: float = parameter(
        default=0.0,
        help="share of the nearest original record in each synthetic number: 0 all synthetic, 1 original",
        ge=0,
        le=1,
    )

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        columns = [Column.of(data, name) for name in self._in_order(attributes)]
        given, notes = self._given(data, attributes)
        notes += [DRAWN_ONE_BY_ONE(attribute=name) for name in data.schema.having("household")]
        check_records(data, self.leaf, f"{self.name} with leaf = {self.leaf}")
        drawn = self._draw(columns, given, streams, Part(progress, 0.0, 0.6))
        if self.blend > 0:
            drawn = self._blended(columns, drawn)
        released = {name: drawn[name].published(data, name) for name in attributes}
        found = closeness(
            data, data.with_columns(released), attributes, streams=streams, progress=Part(progress, 0.6, 1.0)
        )
        return Masked(released, notes=(*notes, *found.notes))

    def _in_order(self, attributes: tuple[str, ...]) -> list[str]:
        for name in self.order:
            if name not in attributes:
                raise DataError(f"{self.name}: order names '{name}', which is not among the attributes to mask")
        return list(dict.fromkeys((*self.order, *attributes)))

    def _given(self, data: Microdata, attributes: tuple[str, ...]) -> tuple[list[Column], list[Note]]:
        """The columns to draw given, and a word on those that the model cannot use."""
        columns = columns_given(data, attributes, self.given, self.name)
        if self.model != "normal":
            return columns, []
        odd = next((name for name in attributes if data[name].kind != "numeric"), None)
        if odd is not None:
            raise DataError(
                f"attribute '{odd}' is {data[odd].kind}, but {self.name} with model = normal works on numeric "
                "attributes only; use the trees or a copula"
            )
        return usable_as_numbers(columns)

    def _draw(
        self, columns: list[Column], given: list[Column], streams: Streams, progress: Progress
    ) -> dict[str, Drawn]:
        if self.model == "normal":
            return draw_normal(columns, given, streams)
        if self.model == "trees":
            from microveil.masking.synthesis.sequential import TreeModel

            return TreeModel(self.leaf, self.evidence, self.smooth, self.name).draw(columns, given, streams, progress)
        stratified = self.model == "latin-hypercube"
        return CopulaModel(stratified, self.smooth, self.leaf, self.name).draw(columns, given, streams, progress)

    def _blended(self, columns: list[Column], drawn: dict[str, Drawn]) -> dict[str, Drawn]:
        """Each synthetic record's numbers mixed with those of the original record that is nearest by its numbers."""
        from scipy.spatial import cKDTree

        from microveil.numerics.core.compiled import threads

        numeric = [column for column in columns if column.kind == "numeric"]
        if not numeric:
            return drawn
        before = np.column_stack([column.values for column in numeric])
        after = np.column_stack([drawn[column.name].numbers(column) for column in numeric])
        scaling = Scaling.of(before)
        scaled = (np.nan_to_num(scaling.apply(cells)) for cells in (before, after))
        nearest = before[cKDTree(next(scaled)).query(next(scaled), workers=threads())[1]]
        mixed = np.where(np.isnan(nearest), after, self.blend * nearest + (1 - self.blend) * after)
        changed = {column.name: Drawn(drawn[column.name].donors, mixed[:, j]) for j, column in enumerate(numeric)}
        return {**drawn, **changed}
