"""The tables on which checks run methods and measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.comparison.drawing import sortable_cells
from microveil.comparison.pairs import Pair
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.microdata.edges import Edges
from microveil.microdata.hierarchy import Hierarchy
from microveil.microdata.microdata import as_microdata
from microveil.microdata.schema import Attribute, Schema
from microveil.numerics.graphs.rewiring import replace_edges
from microveil.registry import method

# pyarrow is always there; the others where somebody has installed them
FRAMES = tuple(library for library in ("pandas", "polars", "pyarrow") if find_spec(library) is not None)


@cache
def people() -> Microdata:
    """Two hundred persons of the sample survey, with missing cells and missing codes."""
    return survey(200, seed=11)


@cache
def linked_people() -> Microdata:
    """The same persons as the nodes of a graph, some without any link."""
    rng = np.random.default_rng(5)
    source = rng.integers(0, 180, 500)
    return replace(people(), edges=Edges.of(source, (source + rng.geometric(0.1, 500)) % 180, 200))


@cache
def complete() -> Microdata:
    """The same attributes without any missing cell."""
    return _filled(people())


def _filled(data: Microdata) -> Microdata:
    """The table with each missing cell filled with the first present one of its attribute."""
    columns = {}
    for name in data.names:
        column, present = data.arrow(name), data.missing_states(name) == 0
        columns[name] = pc.if_else(pa.array(present), column, column[int(present.argmax())])
    return data.with_columns(columns)


@cache
def meters() -> Microdata:
    """Two days of eighty meters, for measures of series: every household has its level and its hours."""
    rng = np.random.default_rng(7)
    hours, level, peak = np.arange(24), rng.gamma(3.0, 1.0, (80, 1)), rng.normal(18.0, 3.0, (80, 1))
    habit = level * (0.3 + np.exp(-(((hours - peak) / 3.0) ** 2)))
    load = np.hstack([habit * rng.lognormal(0.0, 0.1, (80, 24)) for _ in range(2)])
    names = [f"h{hour:02d}" for hour in range(48)]
    return Microdata.of(dict(zip(names, load.T, strict=True)), keys=names, series="wide,load=h*")


@cache
def network() -> Microdata:
    """A hundred and twenty persons and who knows whom, for measures of graphs: friends are alike, and some cells are
    missing."""
    rng = np.random.default_rng(5)
    circle = rng.integers(0, 6, 120)
    towns = np.array([("Graz", "South", "*"), ("Leoben", "South", "*"), ("Linz", "North", "*"), ("Wels", "North", "*")])
    own = np.where(rng.random(120) < 0.8, circle % 4, rng.integers(0, 4, 120))
    party = np.where(rng.random(120) < 0.8, circle % 3, rng.integers(0, 3, 120))
    school = np.where(rng.random(120) < 0.7, circle // 2, rng.integers(0, 3, 120))
    age = np.round(30 + 6 * circle + rng.normal(0, 3, 120))
    cells = {
        "node": np.arange(120),
        "age": [None if i % 37 == 5 else value for i, value in enumerate(age.tolist())],
        "school": [None if i % 41 == 7 else ("low", "middle", "high")[code] for i, code in enumerate(school)],
        "party": [None if i % 29 == 3 else "abc"[code] for i, code in enumerate(party)],
        "town": [None if i % 31 == 11 else str(towns[code, 0]) for i, code in enumerate(own)],
    }
    schema = Schema([
        Attribute(name="node", kind="numeric", roles=("node",)),
        Attribute(name="age", kind="numeric", roles=("key",)),
        Attribute(name="school", kind="ordinal", roles=("key",), domain=("low", "middle", "high")),
        Attribute(name="party", kind="nominal", roles=("key",)),
        Attribute(name="town", kind="location", roles=("key",), hierarchy=Hierarchy.of(towns.tolist())),
    ])  # fmt: skip
    first, second = np.triu_indices(120, 1)
    near = np.where(circle[first] == circle[second], 0.25, 0.01)
    linked = rng.random(len(first)) < near
    return Microdata.of(cells, schema, graph=Edges.of(first[linked], second[linked], 120))


def linked(data: Microdata) -> Microdata:
    """The table with links between its records: each knows the next, and every third one that after it."""
    n = len(data)
    steps = [(i, i + 1) for i in range(n - 1)] + [(i, i + 2) for i in range(0, n - 2, 3)]
    ends = np.array(steps, dtype=np.int64).reshape(-1, 2).T
    return replace(data, edges=Edges.of(ends[0], ends[1], n))


def control_for(original: Any) -> Microdata:
    """A hundred persons like those of a table, who are none of them: each attribute has its values, but which of them
    belong together is drawn. The order of the table plays no part."""
    data = as_microdata(original)
    if len(data) == 0:
        return data
    rng, columns = np.random.default_rng(17), {}
    for name in data.names:
        order = np.argsort(sortable_cells(data.arrow(name)), kind="stable")
        columns[name] = data.arrow(name).take(pa.array(np.resize(order, 100)[rng.permutation(100)]))
    return replace(Microdata.of(pa.table(columns)), schema=data.schema)


def is_of_graph(measure: Any) -> bool:
    """Whether a measure is about the links between records, so that it is checked on tables that have some."""
    return bool(getattr(measure, "of_graph", False))


def linked_for(measure: Any, data: Microdata) -> Microdata:
    """The table, with links where a measure needs them."""
    return linked(data) if is_of_graph(measure) else data


def people_for(measure: Any) -> Microdata:
    """A table with missing cells for a measure."""
    return network() if is_of_graph(measure) else people()


def complete_for(measure: Any) -> Microdata:
    """A table without missing cells in which a measure has something to find."""
    if is_of_graph(measure):
        return _filled(network())
    return meters() if getattr(measure, "of_series", False) else complete()


@cache
def pairs() -> dict[str, tuple[Microdata, Microdata]]:
    """Files with releases, in which no two records are equal, in which many are, and with labels."""
    numeric, categorical = fitting(people(), ("numeric",)), fitting(people(), ("ordinal", "nominal"))
    disturbed = method("noise", alpha=0.3).mask(people(), numeric, seed=1)
    moved = method("pram", p=0.7).mask(disturbed.data, categorical, seed=1).data
    few = Microdata.of(
        {name: np.random.default_rng(len(name)).integers(0, 4, 200) for name in ("age", "rooms", "cars")}
    )
    shaken = few.with_columns({name: pa.array(np.roll(few.numbers(name).values, 7)) for name in ("age", "cars")})
    whole = Microdata.of({name: few.numbers(name).values + np.arange(200) % 9 for name in few.names})
    grouped = method("mondrian", k=3, publish="interval").mask(whole, whole.names).data
    return {"survey": (people(), moved), "repeated": (few, shaken), "labels": (whole, grouped)}


def to_frame(data: Microdata, library: str) -> Any:
    """The table as a frame of another library, the pandas one with an index of its own."""
    table = data.frame.to_arrow()
    if library == "pyarrow":
        return table
    if library == "polars":
        import polars as pl

        return pl.from_arrow(table)
    frame = table.to_pandas()
    frame.index = [f"r{i}" for i in range(len(frame))]
    return frame


def fitting(data: Microdata, kinds: Sequence[str]) -> list[str]:
    """The keys of the table that a method or measure can treat."""
    return [name for name in data.schema.keys if data[name].kind in kinds]


def plain(columns: Mapping[str, Any], kinds: Sequence[str]) -> Microdata:
    """A table in which every column is of the first kind given, where its values allow it."""
    data = Microdata.of(columns)
    if "numeric" in kinds:
        return data
    names = list(data.names)
    return Microdata.of(data, nominal=names) if "nominal" in kinds else Microdata.of(data, ordinal=names)


def with_policy(data: Microdata, names: Sequence[str], policy: str) -> Microdata:
    """With another policy for missing cells of these attributes."""
    schema = data.schema.replacing(*(data[name].changed(missing=policy) for name in names))
    return data.with_schema(Schema(schema))


def with_refused_cells(kinds: Sequence[str], data: Microdata | None = None) -> tuple[Microdata, list[str]]:
    """The people, and those of their attributes that have missing cells, of which the first may not have any."""
    data = people() if data is None else data
    names = [name for name in fitting(data, kinds) if data.missing_states(name).any()]
    return with_policy(data, names[:1], "refuse"), names


def noisy(data: Microdata, kinds: Sequence[str], strength: float = 0.3, seed: int = 1) -> Microdata:
    """The table with numbers and categories disturbed. Of a graph the links are, too, half as much, and the cells a
    tenth as much: a measure of neighbourhoods sees what is done to a node in all its neighbours."""
    rewired_share = min(1.0, strength) / 2
    strength = strength / 10 if data.edges is not None else strength
    numeric = [a for a in fitting(data, kinds) if data[a].kind == "numeric"]
    categorical = [a for a in fitting(data, kinds) if data[a].kind != "numeric"]
    if numeric:
        data = method("noise", alpha=strength).mask(data, numeric, seed=seed).data
    if categorical:
        data = method("pram", p=1 - min(1.0, strength)).mask(data, categorical, seed=seed).data
    if data.edges is not None:
        moved = round(rewired_share * len(data.edges))
        rewired = replace_edges(data.edges.graph, moved, np.random.default_rng(seed))
        data = replace(data, edges=Edges.of_graph(rewired))
    return data


def pairs_of_one_kind(measure: Any) -> dict[str, Pair]:
    """Small tables with releases whose attributes are all of one kind, by the kind; with links where a measure needs
    them."""
    return _pairs_of_one_kind(with_links=is_of_graph(measure))


@cache
def _pairs_of_one_kind(*, with_links: bool) -> dict[str, Pair]:
    made = {}
    for kind in ("numeric", "ordinal", "nominal"):
        rng = np.random.default_rng(3)
        values = rng.integers(0, 4, (2, 30)) * 1.0 if kind == "numeric" else rng.choice(list("abc"), (2, 30))
        orders = {"x": list("abc"), "y": list("abc")} if kind == "ordinal" else {}
        data = Microdata.of({"x": values[0], "y": values[1]}, ordinal=orders)
        data = linked(data) if with_links else data
        masking = method("noise") if kind == "numeric" else method("pram", p=0.5)
        made[kind] = Pair.of(data, masking.mask(data, ["x", "y"], seed=2**90))
    return made
