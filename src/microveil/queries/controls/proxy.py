"""Data perturbation: every question is answered from masked data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from microveil.errors import ParameterError
from microveil.masking.base import Method
from microveil.masking.microaggregation.individual_ranking import IndividualRanking
from microveil.microdata.microdata import Microdata
from microveil.parameters import parameter, parameterised
from microveil.queries.controls.base import Control, Guard
from microveil.queries.controls.keyed import hashed
from microveil.queries.database import Arrays, Database, ProxyMaker
from microveil.typing import FloatArray, IntArray


@parameterised
class Proxy(Control):
    """Answers from a table that a method has masked once: the numeric attributes that are confidential, or all.

    With microaggregation a question addresses groups and never a record in one: trackers find the mean of a group.
    Answers do not contradict each other, for all come from one table.
    """

    name: ClassVar[str] = "proxy"
    family: ClassVar[str] = "data perturbation"
    summary: ClassVar[str] = "answers from masked data"
    source: ClassVar[str] = "Liew, Choi and Liew (1985); Adam and Wortmann (1989)"
    assumes: ClassVar[str] = "the masked value is no disclosure by itself, and what is not masked is not confidential"
    answers_order_statistics: ClassVar[bool] = True
    gives_exact_answers: ClassVar[bool] = False

    method: Method = parameter(default=IndividualRanking(k=3), help="how the data are masked")
    attributes: tuple[str, ...] | None = parameter(default=None, help="what is masked; default: see above")

    def proxies(self, key: str) -> Sequence[ProxyMaker]:
        seed = hashed(key, "proxy", bits=128)

        def masked(data: Microdata, columns: Arrays) -> Arrays:
            chosen = self.attributes
            if chosen is None:
                numeric = [name for name in columns if columns[name].dtype.kind == "f"]
                chosen = tuple(name for name in numeric if name in data.schema.confidential) or tuple(numeric)
            if not chosen:
                raise ParameterError("proxy: there is no numeric attribute to mask; name some in 'attributes'")
            release = self.method.mask(data, chosen, seed=seed)
            if len(release.data) != len(data):
                raise ParameterError(f"proxy: {self.method.name} does not keep the records one by one")
            return {**columns, **{name: _column(release.data, data, name, columns) for name in chosen}}

        return (masked,)

    def guard(self, database: Database, key: str) -> Guard:
        return Guard(self, database, key)


def _column(masked: Microdata, original: Microdata, name: str, columns: Arrays) -> FloatArray | IntArray:
    if masked[name].kind != original[name].kind:
        raise ParameterError(f"proxy: the method turns '{name}' into something that cannot be asked about")
    if columns[name].dtype.kind == "f":
        return masked.numbers(name).values
    return masked.categories(name, original.domain(name)).codes
