"""Intruders at a server, and samples of real people."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from microveil.microdata import Microdata
from microveil.queries import QueryServer
from microveil.queries.red_team.intruder import Intruder, Knowledge, PublicFacts, Scope, Secret

ADULT_KEYS = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
EUSILC_KEYS = ["age", "rb090", "db040", "hsize", "pl030", "pb220a"]


@pytest.fixture
def intruder_at() -> Callable[..., Intruder]:
    """An intruder at a server who looks for the salary of some records, numbered from 1 as in the table."""

    def made(
        server: QueryServer,
        *targets: int,
        known: tuple[str, ...] = ("sex", "dept"),
        scope: Scope = "register",
        questions: int = 1000,
        value: str = "salary",
    ) -> Intruder:
        database = server.database
        columns = {name: database.values(name) for name in known}
        knowledge = Knowledge(known, columns, database.records, tuple(t - 1 for t in targets), scope)
        facts = PublicFacts(database.fields, database.records, server.controls)
        return Intruder(
            server.ask, facts, knowledge, Secret(value), questions=questions, rng=np.random.default_rng(0)
        )  # fmt: skip

    return made


def sampled(
    data: Microdata, records: int, columns: list[str], confidential: list[str], nominal: list[str]
) -> Microdata:
    chosen = np.sort(np.random.default_rng(7).permutation(len(data))[:records])
    table = data.frame.to_arrow().select([*columns, *confidential]).take(chosen)
    return Microdata.of(table, confidential=confidential, nominal=nominal)


@pytest.fixture(scope="session")
def people(reference: Callable[..., Microdata]) -> Callable[..., Microdata]:
    """Some hundred people of adult or eusilc, with a confidential number or category."""
    made: dict[tuple[str, str, int], Microdata] = {}

    def sample(name: str, value: str, records: int = 300) -> Microdata:
        if (name, value, records) not in made:
            keys = ADULT_KEYS if name == "adult" else EUSILC_KEYS
            nominal = [key for key in keys if key not in ("age", "hsize")]
            nominal += [value] if value == "income" else []
            made[name, value, records] = sampled(reference(name), records, keys, [value], nominal)
        return made[name, value, records]

    return sample
