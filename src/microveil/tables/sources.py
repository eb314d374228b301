"""What a table is made of: records of single units, or cells that somebody else has added up already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from microveil.errors import DataError, ParameterError, shortened
from microveil.microdata import Hierarchy, Intervals, Microdata
from microveil.microdata.hierarchy import node_text
from microveil.microdata.microdata import encoded
from microveil.progress import Progress, silent
from microveil.randomness import check_seed
from microveil.tables.aggregation import COLUMNS, Cells, Records, completed, tabulate
from microveil.tables.cell_key import record_keys
from microveil.tables.structure import Structure, cell_keys
from microveil.tables.tree import MISSING, TOTAL, Tree, read_paths, without_root
from microveil.typing import BoolArray, FloatArray, IntArray

Hierarchies = Mapping[str, "Hierarchy | Intervals | str | Path"]
_MOST_NUMBERS = 1000  # distinct numbers that are taken for categories
_YES = ("1", "1.0", "true", "yes", "y", "x")


@dataclass(frozen=True)
class Respondents:
    """Records of single units. Those with the same `holding` are one contributor; those with a `waiver` consent to be
    disclosed; an `identifier` names a record in the cell-key method, where otherwise its number in the file does."""

    holding: str | None = None
    waiver: str | None = None
    identifier: str | None = None


@dataclass(frozen=True)
class Aggregated:
    """Cells: a column with the number of contributors, and columns with the largest contributions, the largest first.

    `suppressed` is a column that marks cells to be suppressed, for an audit. `total` is what totals are called.
    """

    contributors: str
    largest: tuple[str, ...] = ()
    suppressed: str | None = None
    total: str = TOTAL


@dataclass(frozen=True)
class Source:
    """Cells with what should be told about how they were read."""

    cells: Cells
    marked: BoolArray
    notes: tuple[str, ...]


def from_records(
    data: Microdata,
    groups: Sequence[Sequence[str]],
    value: str | None,
    hierarchies: Hierarchies,
    respondents: Respondents,
    *,
    tops: int,
    seed: int | None = None,
    progress: Progress = silent,
) -> Source:
    """The cells of one table for each group of attributes."""
    names = tuple(dict.fromkeys(name for group in groups for name in group))
    notes = []
    values, present = np.ones(len(data)), np.ones(len(data), dtype=bool)
    if value is not None:
        numbers = data.numbers(value)
        values, present = np.where(numbers.present, numbers.values, 0.0), numbers.present
        if not present.all():
            notes.append(f"{_counted(int((~present).sum()))} without a value of {value} count as no contributors")
    trees, codes = [], []
    for name in names:
        tree, code, told = _dimension(data, name, hierarchies.get(name))
        trees.append(tree)
        codes.append(code)
        notes += told
    weight = data.schema.weight
    weights = data.numbers(weight).values if weight else np.ones(len(data))
    if np.isnan(weights).any() or (weights < 0).any():
        raise DataError(f"the weight '{weight}' is missing or negative in some records; correct it")
    holdings = _holdings(data, respondents.holding)
    consents = _consents(data, respondents.waiver)
    rows = np.flatnonzero(present)
    if not len(rows):
        raise DataError("no record has a value, so there is no table to make")
    keys = None
    if seed is not None:
        keys = record_keys(_identities(data, respondents.identifier), check_seed(seed))[rows]
    records = Records(np.column_stack(codes)[rows], values[rows], weights[rows], holdings[rows], consents[rows], keys)
    used = [tuple(names.index(name) for name in group) for group in groups]
    cells = tabulate(trees, used, records, is_count=value is None, tops=max(tops, 1), progress=progress)
    return Source(cells, np.zeros(len(cells), dtype=bool), tuple(notes))


def _counted(records: int) -> str:
    return "1 record" if records == 1 else f"{records:,} records"


def _dimension(data: Microdata, name: str, given: Any) -> tuple[Tree, IntArray, list[str]]:
    """An attribute as a tree, the node of each record, and what should be told."""
    attribute = data[name]
    if "identifier" in attribute.roles:
        raise DataError(f"attribute '{name}' is an identifier, which no table shows")
    hierarchy = attribute.hierarchy if given is None else given
    texts, at = _numeric_texts(data, name, hierarchy) if attribute.kind == "numeric" else _texts(data, name)
    occurring = [text for text in texts if text is not None]
    if isinstance(hierarchy, str | Path):
        tree = Tree.of(name, without_root(read_paths(hierarchy, occurring), TOTAL))
    elif isinstance(hierarchy, Hierarchy | Intervals):
        tree = Tree.of_hierarchy(name, hierarchy)
    elif hierarchy is None:
        tree = Tree.of(name, [(text,) for text in dict.fromkeys(occurring)])
    else:
        raise ParameterError(f"the hierarchy of '{name}' must be a Hierarchy, Intervals or a file")
    notes = []
    missing = np.array([text is None for text in texts], dtype=bool)
    if missing[at].any():
        tree = tree.with_leaf(MISSING)
        notes.append(f"{_counted(int(missing[at].sum()))} without a category of {name} stand in the category {MISSING}")
    nodes = [MISSING if text is None else text for text in texts]
    known = set(np.unique(at).tolist())
    code = np.zeros(len(nodes), dtype=np.int64)
    code[sorted(known)] = tree.codes(nodes[i] for i in sorted(known))
    for parent in np.unique(code[sorted(known)]):
        if tree.is_parent[parent]:  # a record that is classified no finer has a place of its own below it
            rest = f"{tree.nodes[parent]} (other)"
            tree = tree.with_leaf(rest, int(parent))
            code[code == parent] = tree.position[rest]
    return tree, code[at], notes


def _texts(data: Microdata, name: str) -> tuple[list[str | None], IntArray]:
    """The categories of an attribute, None for missing, and which of them each record has."""
    read = data.categories(name)
    codes = {str(code) for code in data[name].missing_codes}
    texts: list[str | None] = [None if c is None or str(c) in codes else node_text(c) for c in read.domain]
    return [*texts, None], np.where(read.codes >= 0, read.codes, len(texts))


def _numeric_texts(data: Microdata, name: str, hierarchy: Any) -> tuple[list[str | None], IntArray]:
    values = data.numbers(name).values
    if isinstance(hierarchy, Intervals):
        categories = hierarchy.categories(1)
        at = hierarchy.positions_of_numbers(values, 1)
        return [*categories, None], np.where(at >= 0, at, len(categories))
    numbers, at = np.unique(values[~np.isnan(values)], return_inverse=True)
    if len(numbers) > _MOST_NUMBERS:
        raise DataError(
            f"attribute '{name}' has {len(numbers):,} distinct numbers, too many for a dimension; give it a hierarchy "
            "of intervals"
        )
    codes = np.full(len(values), len(numbers), dtype=np.int64)
    codes[~np.isnan(values)] = at
    return [*(node_text(number) for number in numbers), None], codes


def _holdings(data: Microdata, holding: str | None) -> IntArray:
    """A number for the contributor that each record belongs to; a record without a holding is one of its own."""
    if holding is None:
        return np.arange(len(data), dtype=np.int64)
    names, at = encoded(data.arrow(holding))
    return np.where(at == len(names), len(names) + np.arange(len(data)), at).astype(np.int64)


def _consents(data: Microdata, waiver: str | None) -> BoolArray:
    if waiver is None:
        return np.zeros(len(data), dtype=bool)
    names, at = encoded(data.arrow(waiver))
    return np.array([*(str(name).strip().lower() in _YES for name in names), False], dtype=bool)[at]


def _identities(data: Microdata, identifier: str | None) -> list[str]:
    """What a record's key is made of."""
    if identifier is None:
        return [str(number) for number in range(len(data))]
    names, at = encoded(data.arrow(identifier))
    if len(names) < len(data) or (at == len(names)).any():
        raise DataError(f"the identifier '{shortened(identifier)}' is missing or repeated in some records")
    return [str(names[i]) for i in at]


def from_cells(
    data: Sequence[Microdata],
    groups: Sequence[Sequence[str]],
    value: str | None,
    hierarchies: Hierarchies,
    aggregated: Aggregated,
    *,
    tops: int,
) -> Source:
    """Linked tables of cells, one for each group of columns; a table for all groups, or one for each."""
    if len(data) not in (1, len(groups)):
        raise ParameterError("give one table of cells for each list of dimensions")
    tables = list(data) if len(data) == len(groups) else [data[0]] * len(groups)
    names = tuple(dict.fromkeys(name for group in groups for name in group))
    texts = [{name: _cell_texts(table, name) for name in group} for table, group in zip(tables, groups, strict=True)]
    trees = tuple(_tree_of_cells(name, texts, hierarchies.get(name), aggregated.total) for name in names)
    parts = [
        _cells_of(table, group, texts[i], names, trees, value, aggregated, tops)
        for i, (table, group) in enumerate(zip(tables, groups, strict=True))
    ]
    used = tuple(tuple(names.index(name) for name in group) for group in groups)
    joined, marked = _joined([part for part, _ in parts], [marks for _, marks in parts])
    cells = completed(replace(joined, used=used))
    at = joined.structure.find(cells.structure.codes)
    return Source(cells, np.where(at >= 0, marked[at], False), ())


def _cell_texts(data: Microdata, name: str) -> list[str]:
    held, at = encoded(data.arrow(name))
    if (at == len(held)).any():
        raise DataError(f"column '{name}' has a cell without a category (in row {int(np.argmax(at == len(held))) + 1})")
    texts = [node_text(value) for value in held]
    return [texts[i] for i in at]


def _tree_of_cells(name: str, texts: Sequence[Mapping[str, Sequence[str]]], given: Any, total: str) -> Tree:
    occurring = dict.fromkeys(text for table in texts if name in table for text in table[name])
    if isinstance(given, Hierarchy | Intervals):
        return Tree.of_hierarchy(name, given, total)
    if given is not None:
        return Tree.of(name, without_root(read_paths(given, occurring), total), total)
    return Tree.of(name, [(text,) for text in occurring if text != total], total)


def _cells_of(
    data: Microdata,
    group: Sequence[str],
    texts: Mapping[str, Sequence[str]],
    names: Sequence[str],
    trees: tuple[Tree, ...],
    value: str | None,
    aggregated: Aggregated,
    tops: int,
) -> tuple[Cells, BoolArray]:
    codes = np.zeros((len(data), len(names)), dtype=np.int64)
    for name in group:
        codes[:, names.index(name)] = trees[names.index(name)].codes(texts[name])
    structure = Structure(trees, codes)
    counts = _whole_column(data, aggregated.contributors)
    values = counts.copy() if value is None else _whole_column(data, value)
    repeated = np.flatnonzero(np.bincount(np.unique(structure.keys, return_inverse=True)[1]) > 1)
    if repeated.size:
        first = int(np.flatnonzero(np.unique(structure.keys, return_inverse=True)[1] == repeated[0])[0])
        raise DataError(f"the cell {structure.name(first)} stands in the table twice")
    if (counts < 0).any() or (counts != np.round(counts)).any():
        raise DataError(f"column '{aggregated.contributors}' must hold numbers of contributors, 0 or more")
    if tops > len(aggregated.largest):
        raise ParameterError(
            f"the rules look at the {tops} largest contributions of a cell; name the columns that hold them"
        )
    largest = np.zeros((len(data), max(1, len(aggregated.largest))))
    for place, column in enumerate(aggregated.largest):
        largest[:, place] = np.abs(_whole_column(data, column))
    exposed = largest[:, 0]
    nobody = np.zeros(len(data), dtype=bool)
    cells = Cells(
        structure, values, counts.astype(np.int64), largest, np.zeros(largest.shape, dtype=bool), exposed.copy(),
        nobody, np.abs(values), np.full(len(data), -1, dtype=np.int64), used=(), is_count=value is None,
    )  # fmt: skip
    return cells, _marks(data, aggregated.suppressed)


def _whole_column(data: Microdata, name: str) -> FloatArray:
    numbers = data.numbers(name)
    if numbers.has_missing:
        row = int(np.argmax(~numbers.present)) + 1
        raise DataError(f"column '{name}' has a cell without a number (in row {row})")
    return numbers.values


def _marks(data: Microdata, column: str | None) -> BoolArray:
    if column is None:
        return np.zeros(len(data), dtype=bool)
    held, at = encoded(data.arrow(column))
    nothing = ("", "0", "0.0", "false", "no", "n", "v")
    return np.array([*(str(mark).strip().lower() not in nothing for mark in held), False], dtype=bool)[at]


def _joined(parts: Sequence[Cells], marks: Sequence[BoolArray]) -> tuple[Cells, BoolArray]:
    """The cells of all tables, those in common once; they must agree."""
    whole, marked = parts[0], marks[0]
    for part, more in zip(parts[1:], marks[1:], strict=True):
        at = whole.structure.find(part.structure.codes)
        common = at >= 0
        differ = np.abs(part.values[common] - whole.values[at[common]]) > 1e-6 * np.maximum(
            np.abs(part.values[common]), 1e-9
        )
        if differ.any():
            cell = int(np.flatnonzero(common)[np.flatnonzero(differ)[0]])
            raise DataError(f"the tables do not agree on {part.structure.name(cell)}")
        marked[at[common]] |= more[common]
        new = part.take(np.flatnonzero(~common))
        joined: dict[str, Any] = {n: np.concatenate([getattr(whole, n), getattr(new, n)]) for n in COLUMNS}
        codes = np.concatenate([whole.structure.codes, new.structure.codes])
        whole = replace(whole, structure=Structure(whole.structure.trees, codes), **joined)
        marked = np.concatenate([marked, more[~common]])
    order = np.argsort(cell_keys(whole.structure.trees, whole.structure.codes), kind="stable").astype(np.int64)
    return whole.take(order), marked[order]
