"""Random-sample queries: the answer is computed from a sample of the query set that never changes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.parameters import parameter, parameterised
from microveil.queries.answers import Estimate
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.controls.keyed import KEYING, Keying, hashed, label_of
from microveil.queries.database import Database
from microveil.typing import IntArray


class SampleGuard(Guard):
    """Draws the samples."""

    control: RandomSample

    def sample(self, asked: Asked) -> IntArray:
        """The records of the query set that the answer is computed from."""
        label, limit = label_of(asked, self.control.keyed_by), self.control.share * 2.0**64
        ids = self.database.ids
        kept = [record for record in asked.members.tolist() if hashed(self.key, label, ids[record]) < limit]
        return np.array(kept, dtype=np.int64)

    def estimate(self, asked: Asked, estimate: Estimate) -> Estimate | None:
        kept = self.sample(asked)
        if not kept.size and asked.question.statistic != "count":
            return None
        value = asked.question.value
        total = (
            0.0
            if value is None or asked.question.statistic == "count"
            else float(np.sum(self.database.values(value)[kept]))
        )
        if asked.question.statistic == "mean":
            return Estimate("mean", len(kept), total)
        share = self.control.share
        return Estimate(estimate.statistic, len(kept) / share, total / share)


@parameterised
class RandomSample(Control):
    """Computes every answer from a random sample of the query set and extrapolates.

    Whether a record is in the sample follows from a keyed hash of the record and the query set, so that the same query
    set always has the same sample. Differences of query sets then hide single values; combine it with `set-size`.
    """

    name: ClassVar[str] = "random-sample"
    family: ClassVar[str] = "output perturbation"
    summary: ClassVar[str] = "answers are computed from a fixed random sample of the query set"
    source: ClassVar[str] = "Denning (1980)"
    assumes: ClassVar[str] = "nobody can tell which records are in a sample; small samples are complete by chance"
    gives_exact_answers: ClassVar[bool] = False

    share: float = parameter(default=0.9, gt=0, lt=1, help="probability that a record is in the sample")
    keyed_by: Keying = parameter(default="set and attribute", help=KEYING)

    def guard(self, database: Database, key: str) -> Guard:
        return SampleGuard(self, database, key)
