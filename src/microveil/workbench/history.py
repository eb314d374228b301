"""The history of what was done, as a tree: each node is a table in a state, and its children are what became of it.

It is made from the events of the workspace alone, one after the other, so a restart gives the same tree. Nothing in it
is ever taken back: to undo is to go to the parent, to redo is to go to the child last visited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

START, ROLES, STEP = "start", "roles", "step"
WAITING, DONE, FAILED, CANCELLED, LOST = "waiting", "done", "failed", "cancelled", "lost"
PLANNED = "planned"  # measured by a study or a search, and not made yet
STUDY, SEARCH = "study", "search"
_ENDS = {"failed": FAILED, "cancelled": CANCELLED, "lost": LOST}


@dataclass(frozen=True)
class Node:
    """A table as it was loaded (`start`), described otherwise (`roles`), or after one more method (`step`).

    A step that a study or a search has measured and that was not made yet has the `loss` and the `risk` of that.
    """

    name: str
    parent: str | None
    kind: str
    title: str
    table: str
    schema: dict[str, Any] = field(repr=False)
    steps: tuple[dict[str, Any], ...] = ()
    seed: int | str | None = None
    state: str = DONE
    reason: str = ""
    group: str = ""
    loss: float | None = None
    risk: float | None = None

    @property
    def is_masked(self) -> bool:
        return bool(self.steps)


@dataclass(frozen=True)
class Table:
    """A table that was loaded: its file in the workspace, and how many records and attributes it has."""

    name: str
    file: str
    source: str
    records: int
    attributes: int
    path: str = ""
    series: str = ""  # which columns are series, as the command line says it
    graph: str = ""  # the file of the links between the records, in the workspace


@dataclass(frozen=True)
class Exploration:
    """A study or a search that was asked for on the table at a node."""

    name: str
    kind: str
    node: str
    title: str
    asked: dict[str, Any] = field(repr=False)
    state: str = WAITING
    reason: str = ""
    told: tuple[str, ...] = ()


class History:
    """The tree with the place where the user is."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.tables: dict[str, Table] = {}
        self.explorations: dict[str, Exploration] = {}
        self.current: str | None = None
        self.bounds: dict[str, float] = {}
        self.revision = 0
        self._visited: dict[str, str] = {}  # of each node the child that was visited last

    def apply(self, number: int, kind: str, content: dict[str, Any]) -> None:
        """Let an event happen."""
        self.revision = number
        node = self.nodes.get(content.get("node", ""))
        if kind == "loaded":
            self.tables[content["table"]] = Table(
                content["table"], content["file"], content["source"], content["records"], content["attributes"],
                content.get("path", ""), content.get("series", ""), content.get("graph", ""),
            )  # fmt: skip
            title = content["file"]
            self._add(Node(content["node"], None, START, title, content["table"], content["schema"]))
            self._go(content["node"])
        elif kind == "roles":
            parent = self.nodes[content["parent"]]
            self._add(Node(content["node"], parent.name, ROLES, content["title"], parent.table, content["schema"]))
            self._go(content["node"])
        elif kind == "asked":
            self._add_step(content, WAITING)
        elif kind == "asked-to-explore":
            name = content["exploration"]
            self.explorations[name] = Exploration(
                name, content["kind"], content["on"], content["title"], content["asked"]
            )
        elif kind == "explore-again":
            self._change(content["exploration"], state=WAITING, reason="")
        elif kind == "explored":
            self._change(content["exploration"], state=DONE, told=tuple(content["told"]))
            for member in content["members"]:
                self._add_step({**member, "parent": content["on"], "group": content["exploration"]}, PLANNED)
        elif kind == "unexplored":
            self._change(content["exploration"], state=content["state"], reason=content["reason"])
        elif kind == "made" and node is not None:
            self.nodes[node.name] = replace(node, state=DONE)
            if content.get("go") and self.current == node.parent:
                self._go(node.name)
        elif kind in _ENDS and node is not None:
            self.nodes[node.name] = replace(node, state=_ENDS[kind], reason=content.get("reason", ""))
        elif kind == "again" and node is not None:
            self.nodes[node.name] = replace(node, state=WAITING, reason="")
        elif kind == "moved" and node is not None:
            self._go(node.name)
        elif kind == "named" and node is not None:
            self.nodes[node.name] = replace(node, title=content["title"])
        elif kind == "bounds":
            self.bounds = dict(content["bounds"])

    def _add(self, node: Node) -> None:
        self.nodes[node.name] = node

    def _add_step(self, content: dict[str, Any], state: str) -> None:
        parent = self.nodes[content["parent"]]
        steps = (*parent.steps, *content["steps"])
        node = Node(
            content["node"], parent.name, STEP, content["title"], parent.table, parent.schema, steps,
            content["seed"], state, "", content.get("group", ""), content.get("loss"), content.get("risk"),
        )  # fmt: skip
        self._add(node)

    def _change(self, exploration: str, **changes: Any) -> None:
        self.explorations[exploration] = replace(self.explorations[exploration], **changes)

    def _go(self, name: str) -> None:
        self.current = name
        for child in self.line(name):
            if child.parent is not None:
                self._visited[child.parent] = child.name

    @property
    def here(self) -> Node | None:
        return None if self.current is None else self.nodes[self.current]

    def line(self, name: str) -> list[Node]:
        """The way from the start to a node."""
        found = []
        at: str | None = name
        while at is not None:
            found.append(self.nodes[at])
            at = self.nodes[at].parent
        return found[::-1]

    def children(self, name: str) -> list[Node]:
        return [node for node in self.nodes.values() if node.parent == name]

    def original_of(self, name: str) -> Node:
        """The node before the first masking step: the table that a release is compared with."""
        return next(node for node in reversed(self.line(name)) if not node.is_masked)

    @property
    def undone(self) -> Node | None:
        """Where undo leads."""
        here = self.here
        return None if here is None or here.parent is None else self.nodes[here.parent]

    @property
    def redone(self) -> Node | None:
        """Where redo leads: the child last visited, or else the newest that is done."""
        if self.current is None:
            return None
        visited = self._visited.get(self.current)
        if visited is not None:
            return self.nodes[visited]
        done = [node for node in self.children(self.current) if node.state == DONE]
        return done[-1] if done else None

    def candidates(self) -> list[Node]:
        """The releases of the table that the user is at, whatever branch they are on."""
        here = self.here
        if here is None:
            return []
        return [node for node in self.nodes.values() if node.is_masked and node.table == here.table]

    def chips(self) -> list[Node]:
        """What is shown as the line of history: the way to where the user is, and further where redo would lead."""
        if self.current is None:
            return []
        line = self.line(self.current)
        at = self._visited.get(self.current)
        while at is not None:
            line.append(self.nodes[at])
            at = self._visited.get(at)
        return line

    def tree(self) -> Iterator[tuple[int, Node]]:
        """Every node after its parent, with how deep it lies: of the table where the user is first, then of others."""
        here = self.here
        roots = [node for node in self.nodes.values() if node.parent is None]
        roots.sort(key=lambda node: here is not None and node.table != here.table)
        waiting = [(0, node) for node in reversed(roots)]
        while waiting:
            depth, node = waiting.pop()
            yield depth, node
            waiting += [(depth + 1, child) for child in reversed(self.children(node.name))]
