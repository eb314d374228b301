"""A graph as an ordinary table: a record for each node, with the number of its links."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals as nw

from microveil.errors import DataError
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.microdata import as_microdata

DEGREE = "degree"


def extract_microdata(graph: Any, name: str = DEGREE) -> Microdata:
    """The attributes of the nodes with the number of their links, which is a key, and without their ids and links;
    where no attribute has a role, all of them are keys.

    Profiles that are k-anonymous are no longer so with true degrees beside them, so mask the table before it is
    released, for instance with graph-profiles. After Marés (2013), section 6.2.2.

    >>> nodes = Microdata.of({"id": [1, 2, 3], "job": ["cook", "smith", "cook"]}, graph={"u": [1, 2], "v": [2, 3]})
    >>> extract_microdata(nodes).native.to_pydict()
    {'job': ['cook', 'smith', 'cook'], 'degree': [1, 2, 1]}
    """
    data = as_microdata(graph)
    if data.edges is None:
        raise DataError("the table has no links between its records, so it is no graph")
    if name in data.names:
        raise DataError(f"the table has a column '{name}' already; give the number of links another name")
    node = data.schema.node
    flat = replace(data, edges=None).without([] if node is None else [node])
    degrees = nw.new_series(name, data.edges.degrees, nw.Int64, backend=nw.get_native_namespace(flat.frame))
    described = flat.schema if data.schema.has_roles else flat.schema.with_roles(key=flat.names)
    schema = Schema([*described, Attribute(name=name, kind="numeric", roles=("key",))])
    return Microdata(flat.frame.with_columns(degrees), schema, data.origin)
