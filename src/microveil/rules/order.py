"""The rule that the order of records is random, so that it tells nothing of where they come from."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from microveil.errors import ParameterError
from microveil.microdata.microdata import count
from microveil.numerics.statistics.record_order import MOST_TESTED, order_p_values
from microveil.parameters import LARGEST_SEED, parameter, parameterised
from microveil.randomness import PublicStreams
from microveil.rules.base import Checked, Finding, Rule


@parameterised
class OrderRule(Rule):
    """The order of the records is random: no attribute is sorted, clustered or drifting along the file.

    A permutation test over all attributes together has at most the probability `error` to reject a file that was
    shuffled. Of more than 10,000 records ten stretches of a thousand neighbours are tested. With `unit = "households"`
    members may stand together, and the order of the households is tested.
    """

    name: ClassVar[str] = "order"
    summary: ClassVar[str] = "the order of records is random"
    source: ClassVar[str] = "Westfall and Young (1993)"

    attributes: tuple[str, ...] = parameter(default=("all",), help="the attributes to test, by name or by role")
    error: float = parameter(
        default=0.01, help="largest probability to reject a file in random order", ge=0.001, le=0.5
    )
    unit: Literal["records", "households"] = parameter(default="records", help="what must be in random order")
    permutations: int = parameter(default=499, help="number of random orders to compare with", ge=19, le=100_000)
    seed: int = parameter(default=1, help="seed of the random orders", ge=0, le=LARGEST_SEED)

    def __post_init__(self) -> None:
        if self.error * (self.permutations + 1) < 1 - 1e-9:
            needed = math.ceil(1 / self.error - 1e-9) - 1
            raise ParameterError(f"order: an error of {self.error:g} needs at least {needed:,} permutations")

    def check(self, table: Checked) -> list[Finding]:
        rows = np.arange(len(table.data))
        if self.unit == "households" and table.households is not None:
            rows = np.sort(np.unique(table.households, return_index=True)[1])
        names = [name for name in table.selected(self.attributes) if len(np.unique(table.codes(name)[rows])) > 1]
        if len(rows) < 3 or not names:
            return [self.not_checked("there are too few records, or no attribute whose values differ")]
        draws = PublicStreams(self.seed).generator("rules", "order of records")
        p_values = order_p_values([table.codes(name)[rows] for name in names], self.permutations, draws)
        tied = {name: float(p) for name, p in zip(names, p_values, strict=True) if p <= self.error}
        if not tied:
            told = f"the order of {self.unit} is not associated with any of {count(len(names), 'attribute')}"
            return [self.passed(told, p=float(p_values.min()), tested=min(len(rows), MOST_TESTED))]
        told = (
            f"the order of {self.unit} is associated with {', '.join(tied)} (permutation test, probability of a false "
            f"alarm at most {self.error:g})"
        )
        return [
            self.failed(
                told, "release the records in random order: protect --shuffle-records", attributes=list(tied), p=tied
            )
        ]
