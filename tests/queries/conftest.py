"""The reference database of twelve employees, and servers that answer from it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

import pyarrow.csv as csv
import pytest

import microveil as mv
from microveil.microdata import Microdata
from microveil.queries import QueryServer

EMPLOYEES = """id,sex,dept,age,salary
1,F,A,Y,31
2,M,A,Y,28
3,M,A,O,47
4,F,A,O,52
5,M,B,Y,35
6,M,B,O,58
7,M,B,Y,33
8,F,B,O,64
9,F,C,Y,29
10,F,C,O,55
11,M,C,O,61
12,F,C,Y,37
"""


@pytest.fixture(scope="session")
def employees() -> Microdata:
    table = csv.read_csv(io.BytesIO(EMPLOYEES.encode()))
    return Microdata.of(table, identifiers=["id"], confidential=["salary"], nominal=["sex", "dept", "age"])


@pytest.fixture(scope="session")
def listed_employees() -> Microdata:
    """The same with numbers of records that can be asked about."""
    table = csv.read_csv(io.BytesIO(EMPLOYEES.encode()))
    return Microdata.of(table, confidential=["salary"], nominal=["id", "sex", "dept", "age"])


@pytest.fixture
def serve(employees: Microdata) -> Iterator[Callable[..., QueryServer]]:
    """A server with some controls and the key of the worked examples; it is closed after the test."""
    opened: list[QueryServer] = []

    def served(*controls: str, data: Microdata | None = None, **options: object) -> QueryServer:
        chosen = {"engine": "arrays", "key": "demo", **options}
        opened.append(mv.QueryServer(employees if data is None else data, list(controls), **chosen))  # type: ignore[arg-type]
        return opened[-1]

    yield served
    for server in opened:
        server.close()
