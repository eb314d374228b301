"""The cell-key method for questions: an answer deviates by what belongs to the records that it is about."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from microveil.parameters import parameter, parameterised
from microveil.queries.answers import Estimate
from microveil.queries.controls.base import Asked, Control, Guard
from microveil.queries.controls.keyed import hashed
from microveil.queries.database import Database
from microveil.tables.cell_key import CellKey, record_keys


class _CellKeyGuard(Guard):
    control: CellKeyPerturbation

    def __init__(self, control: CellKeyPerturbation, database: Database, key: str) -> None:
        super().__init__(control, database, key)
        seed = hashed(key, "cell-key", bits=256)
        self.keys = record_keys(list(database.ids), seed)
        self.method = control.method

    def estimate(self, asked: Asked, estimate: Estimate) -> Estimate:
        question, members = asked.question, asked.members
        key = self.keys[members].sum(keepdims=True, dtype=np.uint64)
        if asked.has_secret:  # else two sets that differ by one person deviate alike in all classes but that person's
            key = key + np.uint64(hashed(self.key, "cell-key", self.database.fingerprint(asked.query_set)))
        count = np.array([len(members)])
        if question.statistic == "count":
            return replace(estimate, value=float(self.method.perturbed_counts(count, key)[0]))
        assert question.value is not None
        if not len(members):
            return estimate
        largest = np.array([np.abs(self.database.values(question.value)[members]).max()])
        total = float(self.method.perturbed_sums(np.array([estimate.total]), largest, key)[0])
        return replace(estimate, total=total, value=total if question.statistic == "sum" else total / len(members))


@parameterised
class CellKeyPerturbation(Control):
    """Perturbs counts by a table of deviations and sums by a share of the largest contribution, chosen by the sum of
    the secret keys of the records that the answer is about.

    The same records always give the same answer, also as a cell of a table that `microveil table --method cell-key`
    would make with the same keys; under a condition on a confidential attribute the query set counts, too. Deviations
    are bounded, so many overlapping questions average them out.
    """

    name: ClassVar[str] = "cell-key"
    family: ClassVar[str] = "output perturbation"
    summary: ClassVar[str] = "perturbs answers by the cell-key method"
    source: ClassVar[str] = "Marley and Leaver (2011); Giessing (2016)"
    assumes: ClassVar[str] = "few enough questions are asked that bounded deviations do not average out"
    gives_exact_answers: ClassVar[bool] = False

    method: CellKey = parameter(default=CellKey(), help="how far answers deviate")

    def guard(self, database: Database, key: str) -> Guard:
        return _CellKeyGuard(self, database, key)
