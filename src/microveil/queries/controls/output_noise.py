"""Output perturbation: noise on every answer, the same whenever the same query set is asked about."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from microveil.parameters import parameter, parameterised
from microveil.queries.answers import Estimate
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.controls.keyed import KEYING, Keying, hashed, label_of
from microveil.queries.database import Database

_OF_A_COUNT = 0.5  # the largest standard deviation that a condition can have


class _NoiseGuard(Guard):
    control: OutputNoise

    def estimate(self, asked: Asked, estimate: Estimate) -> Estimate:
        from scipy.special import ndtri

        # by the query set, which everybody may know: the stated deviation must not tell how many meet what is secret
        question, records = asked.question, max(len(asked.query_set), 1)
        counts = question.statistic == "count"
        spread = _OF_A_COUNT if counts or question.value is None else self.database.deviation(question.value)
        deviation = self.control.c * spread * np.sqrt(records)
        drawn = hashed(self.key, label_of(asked, self.control.keyed_by), "count" if counts else "sum")
        noise = deviation * float(ndtri((drawn + 0.5) / 2.0**64))
        shown = estimate.shown
        if shown is None:
            return estimate
        if question.statistic == "mean":  # the noise of the sum, so that the two do not contradict each other
            noise, deviation = noise / records, deviation / records
        return replace(estimate, value=shown + noise, deviation=float(f"{deviation:.2g}"))


@parameterised
class OutputNoise(Control):
    """Adds normal noise with the standard deviation c S sqrt(n) to sums and c S / sqrt(n) to means, where S is the
    standard deviation of the attribute in the whole table and n the size of the query set; counts have S = 1/2.

    The noise belongs to the query set and the attribute, so that neither asking again nor asking in other words
    averages it out. Sums over many different sets still do: see `linear-reconstruction` of the red team.
    """

    name: ClassVar[str] = "output-noise"
    family: ClassVar[str] = "output perturbation"
    summary: ClassVar[str] = "adds noise that belongs to the query set"
    source: ClassVar[str] = "Beck (1980); Adam and Wortmann (1989)"
    assumes: ClassVar[str] = "few enough questions are asked that the noise of many sets does not average out"
    gives_exact_answers: ClassVar[bool] = False

    c: float = parameter(default=0.25, gt=0, le=1000, help="standard deviation of the noise in units of S sqrt(n)")
    keyed_by: Keying = parameter(default="set and attribute", help=KEYING)

    def guard(self, database: Database, key: str) -> Guard:
        return _NoiseGuard(self, database, key)
