"""CAMP-CREST: class-restricted groups that publish draws around their means, so that covariances are kept."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
import pyarrow as pa

from microveil.errors import ParameterError
from microveil.masking.base import Masked
from microveil.masking.microaggregation.crest import Crest
from microveil.masking.notes import AVERAGE_OF_GROUPINGS, OF_RUN
from microveil.masking.publishing.micro_perturbation import MicroPerturbation
from microveil.microdata import Microdata
from microveil.numerics.perturbing.perturbation import perturb_average
from microveil.parameters import parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import Streams


@parameterised
class CampCrest(Crest):
    """Groups as CREST makes them; every record publishes a draw around the mean of its group.

    The noise has one covariance for all groups, chosen so that means and covariances of the file are kept: in
    expectation ("iid"), with exact means ("centred") or exactly ("exact"). "paper" is the printed rule, whose
    covariances come out too large. "hybrid" keeps every group's own mean and covariance (R-microhybrid). Values stay
    inside declared ranges, which costs some of that exactness where a range is met. Categories are dealt out anew among
    the members of a group, so that their frequencies stay.

    >>> from microveil.microdata import Microdata
    >>> import numpy as np
    >>> ages = [20, 21, 25, 22, 24, 60, 61, 66, 62, 63]
    >>> people = Microdata.of({"age": ages, "ill": ["yes", "no"] * 5}, keys=["age"], confidential=["ill"])
    >>> masked = CampCrest(k=3, noise="exact").mask(people, seed=1).data.numbers("age").values
    >>> bool(np.isclose(masked.mean(), np.mean(ages)) and np.isclose(masked.std(), np.std(ages)))
    True
    """

    name: ClassVar[str] = "camp-crest"
    summary: ClassVar[str] = "as crest, but groups publish random draws around their means that preserve covariances"
    source: ClassVar[str] = "Li and Sarkar (2013), section 5, Fig. 5; corrects Theorem 2"
    random: ClassVar[bool] = True

    publishing: MicroPerturbation = parameter(default=MicroPerturbation(), help="what a group publishes")
    partial: bool = parameter(
        default=False, help="grow the Euclidean spanning tree, and take classes into account only when edges are cut"
    )
    runs: bool = parameter(
        default=False, help="group once for each class attribute instead of once for all, and publish the average"
    )

    @property
    def _alpha(self) -> float:
        return 1.0 if self.partial else self.alpha

    def __post_init__(self) -> None:
        super().__post_init__()
        noise, shape = self.publishing.noise, self.publishing.shape
        if self.runs and (noise not in ("centred", "iid") or shape == "bootstrap"):
            raise ParameterError(f"{self.name}: runs = True is not allowed; averages get independent normal noise only")

    def _mask(self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress) -> Masked:
        if self.runs:
            return self._average_of_runs(data, attributes, streams, progress)
        return super()._mask(data, attributes, streams, progress)

    def _average_of_runs(
        self, data: Microdata, attributes: tuple[str, ...], streams: Streams, progress: Progress
    ) -> Masked:
        """One grouping for each class attribute; the average of their means gets the noise that it lacks."""
        if any(data[name].kind != "numeric" for name in attributes):
            raise ParameterError(f"{self.name}: runs = True is not allowed with categories, which have no average")
        names = self._class_attributes(data, attributes)
        choices: list[tuple[str, ...]] = [(name,) for name in names] or [()]
        runs = [
            Crest._mask(dataclasses.replace(self, classes=choice), data, attributes, streams, part)
            for choice, part in zip(choices, parts(progress, len(choices)), strict=True)
        ]
        columns: dict[str, pa.Array] = {}
        for block in runs[0].partitions:
            groupings = [run.partitions[block].labels for run in runs]
            drawn = perturb_average(data.matrix(block), groupings, streams.generator("drawn", *block))
            for name, column in zip(block, drawn.T, strict=True):
                empty = [run.columns[name].is_null().to_numpy(zero_copy_only=False) for run in runs]
                columns[name] = data.number_column(name, column, np.any(empty, axis=0))
        notes = [OF_RUN(run=str(number), note=note) for number, run in enumerate(runs, start=1) for note in run.notes]
        return Masked(columns, notes=(AVERAGE_OF_GROUPINGS(groupings=len(runs)), *notes))
