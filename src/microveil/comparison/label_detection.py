"""Whether a released column holds labels that stand for several values, such as intervals, sets and nodes of a tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

import pyarrow as pa
import pyarrow.compute as pc

from microveil.microdata.hierarchy import Hierarchy, node_text
from microveil.microdata.microdata import as_categories
from microveil.microdata.schema import Attribute

_ANY = "*"
_TEXTS: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_dictionary,
)
_FENCED = re.compile(r"\{(?P<set>.+)\}|\[(?P<span>.+)\]|(?P<more>.+) and \d+ more")


def holds_labels(attribute: Attribute, before: pa.Array, after: pa.Array, *, declared_before: bool = True) -> bool:
    """Whether the cells released in the place of an attribute's values are labels for several of them.

    Texts in the place of numbers are. So is every text in the place of a category that neither occurs in the original
    nor is declared for it: a set, an interval, a node of the hierarchy, or a group that was named anew. A domain that
    may have been declared for the released table (`declared_before` is False) does not make a category of a text that
    can be read as a label: {a, b}, [a, c], a to c, `a, b`, a node of the hierarchy, or *.

    >>> job = Attribute(name="job", kind="nominal", domain=("cook", "nurse", "clerk", "judge"))
    >>> jobs = pa.array(["cook", "nurse", "clerk"])
    >>> [holds_labels(job, jobs, pa.array([text])) for text in ("cook", "{cook, clerk}", "kitchen", "judge")]
    [False, True, True, False]
    """
    if not attribute.is_categorical:
        return any(test(after.type) for test in _TEXTS)
    comparable = not pa.types.is_nested(before.type) and before.type == after.type
    if comparable and pc.all(pc.is_in(pc.unique(after), value_set=pc.unique(before))).as_py():
        return False  # nothing is new
    occurring = texts_of(before)
    declared = set(map(node_text, attribute.domain or ()))
    missing = set(map(node_text, attribute.missing_codes))
    new = texts_of(after) - occurring - missing
    if new - declared:
        return True
    if declared_before:
        return False
    return bool(readable_labels(attribute, new, occurring | declared))


def readable_labels(attribute: Attribute, texts: Collection[str], names: Collection[str]) -> set[str]:
    """Those of the texts that can be read as labels for several categories of these names.

    >>> job = Attribute(name="job", kind="nominal")
    >>> sorted(readable_labels(job, ["cook, clerk", "kitchen", "*"], ["cook", "clerk"]))
    ['*', 'cook, clerk']
    """
    nodes = _nodes(attribute)
    return {text for text in texts if _is_label(text, names, nodes, attribute.kind == "ordinal")}


def texts_of(column: pa.Array) -> set[str]:
    """The different cells of a column as they are written; empty cells are none."""
    return set(map(node_text, pc.unique(as_categories(column)).drop_null().to_pylist()))


def _nodes(attribute: Attribute) -> set[str]:
    """The inner nodes of the attribute's hierarchy."""
    if not isinstance(attribute.hierarchy, Hierarchy):
        return set()
    leaves = {path[0] for path in attribute.hierarchy.paths}
    return {node for path in attribute.hierarchy.paths for node in path[1:]} - leaves


def _is_label(text: str, names: Collection[str], nodes: Collection[str], ordered: bool) -> bool:
    if text == _ANY or text in nodes:
        return True
    first, to, last = text.partition(" to ")
    if ordered and to and first in names and last in names:
        return True
    fenced = _FENCED.fullmatch(text)
    if fenced is None:
        return _lists(text, names, several=True)
    span = fenced["span"]
    return _lists(span or fenced["set"] or fenced["more"], names) and (span is None or ", " in span)


def _lists(text: str, names: Collection[str], *, several: bool = False) -> bool:
    """Whether a text is names joined by commas, or only `several` of them; a name may hold a comma itself."""
    pieces = text.split(", ")
    reached = {0}  # so many pieces can be read as names
    for end in range(1, len(pieces) + 1):
        starts = range(several and end == len(pieces), end)  # the whole text is one name
        if any(start in reached and ", ".join(pieces[start:end]) in names for start in starts):
            reached.add(end)
    return len(pieces) in reached
