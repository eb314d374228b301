"""The average semantic information loss of a graph."""

from __future__ import annotations

from typing import ClassVar

from microveil.comparison.pairs import Pair
from microveil.graphs.cells import MISSING
from microveil.graphs.losses.adjacency_matrices import AAMIL, FORM, Form
from microveil.graphs.losses.category_distribution import CDIL
from microveil.graphs.losses.profile_distance import ProfileDBIL
from microveil.losses.base import Loss, LossMeasure
from microveil.microdata.distances import ORDINAL_DISTANCES, OrdinalDistance
from microveil.microdata.schema import KINDS
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts


@parameterised
class SemanticIL(LossMeasure):
    """The average semantic information loss: the mean of `aamil`, of `cdil` and of `profile-dbil`, which `details`
    has too.

    >>> from microveil.microdata import Microdata
    >>> links = {"source": [1, 2], "target": [2, 3]}
    >>> people = Microdata.of({"id": [1, 2, 3], "job": ["cook", "judge", "judge"]}, graph=links)
    >>> release = Microdata.of({"id": [1, 2, 3], "job": ["judge", "judge", "judge"]}, graph=links)
    >>> loss = SemanticIL().measure(people, release, ["job"])
    >>> round(loss.value, 2), {name: round(part, 2) for name, part in loss.details.items()}
    (38.89, {'aamil': 50.0, 'cdil': 33.33, 'profile-dbil': 33.33})
    """

    name: ClassVar[str] = "semantic-il"
    family: ClassVar[str] = "graphs"
    usual: ClassVar[bool] = True
    of_graph: ClassVar[bool] = True
    reads_labels: ClassVar[bool] = True
    summary: ClassVar[str] = "average semantic information loss: mean of aamil, cdil and profile-dbil"
    meaning: ClassVar[str] = (
        "mean change of nodes' values, of their frequencies and of the links between them; lower is better"
    )
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = MISSING
    source: ClassVar[str] = "Marés (2013), section 6.3.4, Eq. 6.8"

    form: Form = parameter(default="masked", help=f"for aamil: {FORM}")
    ordinal_distance: OrdinalDistance = parameter(default="inclusive", help=ORDINAL_DISTANCES)

    def _measure(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Loss:
        measures: tuple[LossMeasure, ...] = (
            AAMIL(form=self.form),
            CDIL(),
            ProfileDBIL(ordinal_distance=self.ordinal_distance),
        )
        losses = [
            measure.measure_pair(pair, progress=part)
            for measure, part in zip(measures, parts(progress, len(measures)), strict=True)
        ]
        return Loss.of(
            self.name,
            sum(loss.value for loss in losses) / len(losses) / 100,
            attributes,
            per_attribute={name: sum(loss.per_attribute[name] for loss in losses) / len(losses) for name in attributes},
            details={loss.name: loss.value for loss in losses},
        )
