"""The attributes of a table as profiles: places, categories, numbers and ranked lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from microveil.errors import DataError, ParameterError
from microveil.masking.notes import RANKED_LIST, Note
from microveil.microdata import Hierarchy, Microdata
from microveil.microdata.ancestry import HierarchyTree
from microveil.microdata.distances import category_distance
from microveil.microdata.hierarchy import node_text
from microveil.microdata.schema import Category, category_key
from microveil.numerics.core.trees import nested_intervals
from microveil.numerics.grouping.profiles import Profiles
from microveil.typing import FloatArray, IntArray

_NUMBERED = re.compile(r"(.*?)[ _.-]?(\d+)")


@dataclass(frozen=True)
class RankedList:
    """Attributes that hold topics by preference, the first choice first; all have the categories of any."""

    names: tuple[str, ...]
    topics: tuple[Category, ...]
    codes: IntArray  # a row for each position, -1 where a record has no topic there

    @classmethod
    def of(cls, data: Microdata, names: Sequence[str]) -> RankedList:
        columns = [data.categories(name) for name in names]
        topics = {category_key(t): t for column in columns for t in column.domain if t is not None}
        number = {key: i for i, key in enumerate(sorted(topics))}
        codes = []
        for name, column in zip(names, columns, strict=True):
            of_domain = np.array([-1 if t is None else number[category_key(t)] for t in (*column.domain, None)])
            codes.append(np.where(data.missing_states(name) > 0, -1, of_domain[column.codes]))
        return cls(tuple(names), tuple(topics[key] for key in number), np.array(codes, dtype=np.int64))

    @cached_property
    def priority(self) -> IntArray:
        """The order of the topics where nothing else decides: the most frequent in the file first, then by name."""
        often = np.bincount(self.codes[self.codes >= 0], minlength=len(self.topics))
        order = np.argsort(-often, kind="stable")
        made = np.empty(len(order), dtype=np.int64)
        made[order] = np.arange(len(order))
        return made

    @property
    def note(self) -> Note:
        return RANKED_LIST(attributes=self.names)


def ranked_lists(data: Microdata, attributes: Sequence[str], named: Sequence[str], asker: str) -> list[RankedList]:
    """The lists among some attributes: the one that is named, else nominal attributes whose names differ only in a
    number from 1 on, such as topic1, topic2 and topic3, and that have categories in common."""
    for name in named:
        if name not in attributes:
            raise ParameterError(f"{asker}: ranked names '{name}', which is not among the attributes to mask")
        if data[name].kind != "nominal":
            raise DataError(f"{asker}: ranked names '{name}', which is {data[name].kind}; a list has nominal ones")
    if named:
        return [RankedList.of(data, named)]
    stems: dict[str, dict[int, str]] = {}
    for name in attributes:
        found = _NUMBERED.fullmatch(name)
        if found and data[name].kind == "nominal":
            stems.setdefault(found[1], {})[int(found[2])] = name
    lists = []
    for numbered in stems.values():
        names = [numbered[i] for i in range(1, len(numbered) + 1) if i in numbered]
        if len(names) == len(numbered) > 1:
            found_list = RankedList.of(data, names)
            held = sum(len(np.unique(row[row >= 0])) for row in found_list.codes)
            if held > len(np.unique(found_list.codes[found_list.codes >= 0])):
                lists.append(found_list)
    return lists


class _Forest:
    """Categories as nodes of trees; nominal ones are roots without children."""

    def __init__(self) -> None:
        self.parent: list[int] = []
        self.height: list[float] = []

    def add_categories(self, many: int) -> int:
        """So many nominal categories; the number of the first of them."""
        start = len(self.parent)
        self.parent += [-1] * many
        self.height += [0.0] * many
        return start

    def add_tree(self, tree: HierarchyTree) -> int:
        """The nodes of a tree; the number of the first of them."""
        start = len(self.parent)
        self.parent += np.where(tree.parent < 0, -1, start + tree.parent).tolist()
        self.height += (tree.level / tree.top).tolist()
        return start


@dataclass(frozen=True)
class _Line:
    """Numbers, or ordered categories, over their range."""

    values: FloatArray
    offset: float
    median: bool


def _line(data: Microdata, name: str) -> _Line | None:
    """A numeric or ordinal attribute; none where it has no order. A missing cell is in the middle of the others."""
    kind = data[name].kind
    if kind == "numeric":
        values = data.numbers(name).values
        present = values[~np.isnan(values)]
        width = float(np.ptp(present)) if len(present) else 0.0
        filled = np.where(np.isnan(values), present.mean() if len(present) else 0.0, values)
        return _Line(filled / width if width > 0 else np.zeros(len(values)), 0.0, False)
    column = data.categories(name)
    form = category_distance(kind, len(column.domain))
    if kind != "ordinal" or form.slope == 0:
        return None
    missing = data.missing_states(name) > 0
    present = np.sort(column.codes[~missing])
    middle = present[(len(present) - 1) // 2] if len(present) else 0
    return _Line(np.where(missing, middle, column.codes) * form.slope, form.start, True)


def _nodes(data: Microdata, name: str, forest: _Forest) -> IntArray:
    """An attribute without order as nodes; what is missing is a category of its own."""
    column, missing = data.categories(name), data.missing_states(name) > 0
    hierarchy = data[name].hierarchy
    if not (is_place(data, name) and isinstance(hierarchy, Hierarchy)):
        start = forest.add_categories(len(column.domain) + 1)
        return np.where(missing, start + len(column.domain), start + column.codes)
    tree = HierarchyTree.of(hierarchy)
    codes = np.array([-1 if place is None else tree.code(node_text(place)) for place in (*column.domain, None)])
    if (codes[column.codes[~missing]] < 0).any():
        raise DataError(f"attribute '{name}' has categories that its hierarchy lacks; add them to the hierarchy")
    start, nowhere = forest.add_tree(tree), forest.add_categories(1)
    return np.where(missing, nowhere, start + codes[column.codes])


def profiles_of(
    data: Microdata,
    attributes: Sequence[str],
    lists: Sequence[RankedList],
    *,
    borda: bool,
    place_weight: float,
    medians: bool = False,
) -> Profiles:
    """The attributes as profiles; each counts 1, and a place `place_weight`. Groups publish means of numbers, or if
    `medians` says so their lower medians."""
    listed = {name for one in lists for name in one.names}
    lines = {name: line for name in attributes if name not in listed and (line := _line(data, name)) is not None}
    others = [name for name in attributes if name not in listed and name not in lines]
    forest, n = _Forest(), len(data)
    nodes = [_nodes(data, name, forest) for name in others]
    parent = np.array(forest.parent, dtype=np.int64)
    first, last = nested_intervals(parent)
    positions = np.cumsum([0, *(len(one.names) for one in lists)])
    topics = np.cumsum([0, *(len(one.topics) for one in lists)])
    ranked = [np.where(one.codes < 0, -1, one.codes + start) for one, start in zip(lists, topics[:-1], strict=True)]
    return Profiles(
        lines=np.array([line.values for line in lines.values()], dtype=np.float64).reshape(-1, n),
        offset=np.array([line.offset for line in lines.values()], dtype=np.float64),
        median=np.array([line.median or medians for line in lines.values()], dtype=np.bool_),
        nodes=np.array(nodes, dtype=np.int64).reshape(-1, n),
        weight=np.array([place_weight if data[name].kind == "location" else 1.0 for name in others], dtype=np.float64),
        common=np.array([is_place(data, name) for name in others], dtype=np.bool_),
        parent=parent,
        first=first,
        last=last,
        height=np.array(forest.height, dtype=np.float64),
        ranked=np.concatenate([*ranked, np.empty((0, n), dtype=np.int64)]),
        lists=positions.astype(np.int64),
        rank_weight=np.ones(int(positions[-1])),
        priority=np.concatenate([*(one.priority for one in lists), np.empty(0, dtype=np.int64)]),
        borda=borda,
    )


def is_place(data: Microdata, name: str) -> bool:
    """Whether groups publish the place that holds all of theirs."""
    return data[name].kind == "location" and isinstance(data[name].hierarchy, Hierarchy)
