"""Fuzzy microaggregation: records publish centres of clusters they belong to by degrees."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.base import Masked
from microveil.masking.microaggregation.base import Microaggregation, Records
from microveil.masking.microaggregation.classification import Traits
from microveil.masking.notes import CELLS_SUPPRESSED
from microveil.masking.partition import Partition
from microveil.masking.preparation import Preparation
from microveil.masking.publishing.aggregate import Aggregate
from microveil.masking.publishing.missing_cells import cells_to_suppress
from microveil.microdata import Microdata, Numbers
from microveil.microdata.microdata import check_records
from microveil.parameters import LARGEST_NUMBER, MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.randomness import Streams
from microveil.typing import FloatArray, IntArray

_MOST_DEGREES = 40_000_000  # 320 MB of degrees of membership


@parameterised
class Fuzzy(Microaggregation):
    """Records belong to clusters by degrees, and publish the centre of a cluster that is drawn for them.

    The clusters are those of fuzzy c-means, in the standard form or with entropy, about one for every k records. A
    record draws a cluster with its degrees as chances, or any with a degree above 0.001 alike, once or anew for each
    attribute. **It does not promise k-anonymity**: a centre is a weighted mean of many records, but fewer than k of
    them may publish it, and drawn for each attribute the combinations are new. It blurs more than groups do, and the
    draw hides which cluster a record came from. With `crisp` every record goes to its foremost cluster, small clusters
    are shared out and large ones divided, and groups of k to 2k-1 records publish their means as in other methods.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65]})
    >>> Fuzzy(k=2, crisp=True).mask(people, seed=1).frame["age"].to_pylist()
    [21.0, 21.0, 42.0, 42.0, 63.0, 63.0]
    """

    name: ClassVar[str] = "fuzzy"
    summary: ClassVar[str] = "each record publishes the centre of a fuzzy cluster drawn by its degrees of membership"
    traits: ClassVar[Traits] = Traits("multivariate", "none", "heuristic")
    source: ClassVar[str] = (
        "Domingo-Ferrer and Torra (2003), Torra and Miyamoto (2004); Fayyoumi (2008), section 2.6.3.2"
    )
    random: ClassVar[bool] = True
    weights: ClassVar[str] = "not used for clustering; with weighted=true centres and means are weighted by them"
    missing: ClassVar[str] = (
        "missing cells and missing codes stay as they are and move no centre; records with the same pattern of missing "
        "cells are clustered together, rare patterns are pooled, and a value is suppressed where fewer than k of the "
        "records clustered together have one"
    )

    k: int = parameter(
        default=3,
        help="number of records for each cluster, on average; fewest records in a group only if crisp is true",
        ge=2,
        le=MOST_RECORDS,
    )
    preparation: Preparation = parameter(
        default=Preparation(chunk=1000), help="what happens before records are grouped"
    )
    model: Literal["entropy", "standard"] = parameter(
        default="entropy", help="how the degree of membership falls with the distance"
    )
    fuzziness: float = parameter(
        default=2.0, help="the standard model's exponent f: the larger, the fuzzier", gt=1, le=100
    )
    sharpness: float | None = parameter(
        default=None,
        help="the entropy model's lambda; unset: 1 over the mean squared distance within the groups of mdav",
        gt=0,
        le=LARGEST_NUMBER,
    )
    choice: Literal["proportional", "uniform"] = parameter(
        default="proportional",
        help="how a cluster is drawn: with probabilities proportional to the degrees of membership, or equal for all "
        "clusters with a degree above 0.001",
    )
    per: Literal["record", "attribute"] = parameter(
        default="record", help="one draw for the record, or one for each attribute"
    )
    crisp: bool = parameter(
        default=False,
        help="draw no clusters: make groups of at least k records, which publish their means as in other methods",
    )

    def __post_init__(self) -> None:
        if not self.crisp and self.publishing not in (Aggregate(), Aggregate(weighted=True)):
            given = self.publishing.parameters().get("publish", self.publishing.name)
            raise ParameterError(
                f"{self.name}: publish = '{given}' is not allowed without crisp; centres are weighted means"
            )
        if not self.crisp and self.preparation.select == "exhaustive":
            raise ParameterError(
                f"{self.name}: select = 'exhaustive' is not allowed without crisp; there are no groups to compare"
            )
        if not self.crisp and self.polish != 0:
            raise ParameterError(
                f"{self.name}: polish = {self.polish} is not allowed without crisp; there are no groups"
            )

    def _groups(self, columns: FloatArray, records: Records, rng: np.random.Generator, progress: Progress) -> IntArray:
        from microveil.numerics.clustering.fuzzy_means import crisp_groups

        _, degrees = self._clusters(columns, progress)
        return crisp_groups(columns, degrees, self.k)

    def _clusters(self, columns: FloatArray, progress: Progress) -> tuple[FloatArray, FloatArray]:
        """How strongly each record pulls each centre, and to what degree it belongs to it."""
        from microveil.numerics.clustering.fuzzy_means import Fuzziness, fuzzy_clusters, natural_sharpness

        n = len(columns)
        if n * (n // self.k) > _MOST_DEGREES:
            raise DataError(f"{self.name} cannot hold {n:,} records in about {n // self.k:,} clusters; set chunk")
        sharpness = natural_sharpness(columns, self.k) if self.sharpness is None else self.sharpness
        form = Fuzziness(self.model == "entropy", self.fuzziness, sharpness)
        clusters = fuzzy_clusters(columns, self.k, form, progress, "fuzzy: clustering records")
        return clusters.pulls, clusters.degrees

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        if self.crisp:
            return super()._mask(data, attributes, streams, progress)
        check_records(data, self.k, f"{self.name} with k = {self.k}")
        weights = Aggregate(weighted=self.publishing != Aggregate()).weights(data, self.name)
        columns, suppressed_cells = {}, 0
        blocks = self.preparation.blocks(data, attributes, self.name)
        for block, part in zip(blocks, parts(progress, len(blocks)), strict=True):
            numbers = [data.numbers(name) for name in block]
            values, together = self._drawn_centres(data, numbers, weights, streams.generator("centres", *block), part)
            for j, column in enumerate(numbers):
                suppressed = cells_to_suppress(
                    column.present, together, self.k, missing_matches=data[column.name].missing == "wildcard"
                )
                suppressed_cells += int(suppressed.sum())
                columns[column.name] = data.number_column(column.name, values[:, j], suppressed)
        notes = (CELLS_SUPPRESSED(cells=suppressed_cells, codes=0),) if suppressed_cells else ()
        return Masked(columns, notes=notes)

    def _drawn_centres(
        self,
        data: Microdata,
        numbers: list[Numbers],
        weights: FloatArray | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> tuple[FloatArray, Partition]:
        """What each record publishes, and which records were clustered together."""
        values = np.column_stack([column.values for column in numbers])
        names = tuple(column.name for column in numbers)
        columns, columns_of = self.preparation.coordinates(data, names)
        filled = np.where(np.isnan(columns), 0.0, columns)  # 0 is the mean of a column with missing cells
        choice = [column for j in self.preparation.choices(data, names, self.name)[0] for column in columns_of[j]]
        drawn, together, done = np.empty_like(values), np.empty(len(values), dtype=np.int64), 0
        for number, rows in enumerate(self.preparation.parts_of_the_file(data, names, filled, self.k)):
            part = Part(progress, done / len(values), (done + len(rows)) / len(values))
            pulls, degrees = self._clusters(np.ascontiguousarray(filled[rows][:, choice]), part)
            if weights is not None:
                pulls = pulls * weights[rows][:, None]
            drawn[rows] = self._draw(values[rows], pulls, degrees, rng)
            together[rows] = number
            done += len(rows)
        return drawn, Partition.of(together)

    def _draw(self, values: FloatArray, pulls: FloatArray, degrees: FloatArray, rng: np.random.Generator) -> FloatArray:
        from microveil.numerics.clustering.fuzzy_means import drawn_clusters, weighted_centres

        centres = weighted_centres(np.ascontiguousarray(values), np.ascontiguousarray(pulls))
        n, d = values.shape
        draws = rng.random((d if self.per == "attribute" else 1, n))
        chosen = [drawn_clusters(degrees, self.choice == "proportional", row) for row in draws]
        return np.column_stack([centres[chosen[j % len(chosen)], j] for j in range(d)])
