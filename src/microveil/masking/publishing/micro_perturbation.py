"""Publishing draws around the means of groups, so that means and covariances of the file are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import ParameterError
from microveil.masking.notes import Note
from microveil.masking.partition import Partition
from microveil.masking.publishing.aggregate import Aggregate, aggregate_columns, number_columns
from microveil.masking.publishing.drawing import NoiseMode, drawn_values
from microveil.masking.publishing.publishing import Published, Publishing
from microveil.microdata import Categories, Microdata
from microveil.numerics.perturbing.perturbation import Noise, dealt_anew
from microveil.parameters import parameter, parameterised
from microveil.randomness import Streams
from microveil.typing import BoolArray


@parameterised
class MicroPerturbation(Publishing):
    """Every record publishes a draw around the mean of its group; categories are dealt out anew among its members.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> MDAV(k=5, publishing="micro-perturbation", noise="exact").publishing
    MicroPerturbation(publish='mean', weighted=False, noise='exact', shape='normal')
    """

    name: ClassVar[str] = "micro-perturbation"
    summary: ClassVar[str] = "records publish draws around the mean of their group that preserve covariances"

    publish: Literal["mean"] = parameter(default="mean", help="records are always drawn around the mean of the group")
    weighted: bool = parameter(default=False, help="means are never weighted: the noise keeps unweighted moments")
    noise: NoiseMode = parameter(
        default="centred",
        help="what the noise preserves: means and covariances in expectation (iid), with exact means (centred) or "
        "exactly (exact), or the mean and covariance of each group (hybrid); paper: the printed rule, which is biased",
    )
    shape: Noise = parameter(
        default="normal",
        help="distribution of the noise: normal, or resampled deviations from the group means (bootstrap)",
    )

    @property
    def draws(self) -> bool:
        return True

    @property
    def judged_by(self) -> Publishing:
        return Aggregate()

    def check(self, label: str) -> None:
        if self.weighted:
            raise ParameterError(f"{label}: weighted = True is not allowed; the noise keeps unweighted moments")
        if self.noise == "hybrid" and self.shape == "bootstrap":
            raise ParameterError(f"{label}: shape = 'bootstrap' is not allowed; noise 'hybrid' is always normal")

    def _published(
        self, data: Microdata, partition: Partition, suppressed: Mapping[str, BoolArray], streams: Streams, label: str
    ) -> Published:
        numeric = [name for name in suppressed if data[name].kind == "numeric"]
        columns: dict[str, pa.Array] = {}
        notes: tuple[Note, ...] = ()
        if numeric:
            rng = streams.generator("drawn", *suppressed)
            drawn, notes = drawn_values(data.matrix(numeric), partition, self.noise, self.shape, rng)
            columns = number_columns(data, numeric, drawn, suppressed)
        grouped = aggregate_columns(data, partition, {n: c for n, c in suppressed.items() if n not in numeric}, "mean")
        for name, column in grouped.items():
            columns[name] = _dealt(data, name, partition, column, streams.generator("dealt", name))
        return Published(columns, notes=notes)


def _dealt(data: Microdata, name: str, partition: Partition, grouped: pa.Array, rng: np.random.Generator) -> pa.Array:
    """A categorical column dealt out anew within the groups; cells that the groups suppress stay suppressed."""
    column, missing = data.categories(name), data.missing_states(name) > 0
    codes = dealt_anew(np.where(missing, -1, column.codes), partition.labels, rng)
    dealt = data.category_column(Categories(name, codes, column.domain))
    return pc.if_else(grouped.is_null(), pa.scalar(None, dealt.type), dealt)
