"""Studies and searches from the map: they are asked for, fill it while they run, and leave plans with their numbers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import microveil as mv
from microveil.applications import ParameterError, brief, percentage
from microveil.workbench.history import CANCELLED, FAILED, SEARCH, STUDY, WAITING, Exploration, Node
from microveil.workbench.jobs import Outcome

if TYPE_CHECKING:
    from microveil.workbench.bench import Bench

_MOST_SHOWN = 2_000  # of what was tried, the newest
_PAUSE = 0.5  # seconds between two looks of a page at what was tried
_MOST_METHODS = 60


class Exploring:
    """What was tried by the explorations that run, and how they are started, continued and ended."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.tried: dict[str, list[list[Any]]] = {}
        self._shown = 0.0

    def study(self, methods: Sequence[str], attributes: Sequence[str], strengths: str, repeats: str) -> str:
        """Several methods at several strengths, side by side; gives the name of the exploration."""
        node = self._original()
        if not methods:
            raise ParameterError("tick the methods to compare")
        if len(methods) > _MOST_METHODS:
            raise ParameterError(f"a study from the map has at most {_MOST_METHODS} methods")
        _check_names("method", methods)
        self.bench.check_attributes(attributes)
        asked = {
            "methods": list(methods), "attributes": list(attributes), "strengths": _whole(strengths, "strengths", 1, 5),
            "repeats": _whole(repeats, "repeats", 1, 20),
        }  # fmt: skip
        title = f"{methods[0]} compared" if len(methods) == 1 else f"{len(methods)} methods compared"
        return self._ask(STUDY, node, title, asked)

    def search(self, fields: Mapping[str, Any]) -> str:
        """Let the machine find what loses least; gives the name of the exploration."""
        node = self._original()
        asked: dict[str, Any] = {}
        if text := str(fields.get("risk_below", "")).strip():
            asked["risk_below"] = percentage(text, "the bound on the risk")
        budget, evaluations = (str(fields.get(name, "")).strip() for name in ("budget", "evaluations"))
        if evaluations:
            asked["evaluations"] = _whole(evaluations, "pipelines", 1, 1_000_000)
        else:
            asked["budget"] = budget or "10m"
        if text := str(fields.get("k", "")).strip():
            asked["require"] = {"k": _whole(text, "k", 2, 1_000_000_000)}
        for name in ("only", "without"):
            if chosen := list(fields.get(name, ())):
                _check_names("method", chosen)
                asked[name] = chosen
        if chosen := list(fields.get("attributes", ())):
            self.bench.check_attributes(chosen)
            asked["attributes"] = chosen
        if fields.get("attacks") == "all":
            asked["attacks"] = "all"
        bound = f"risk below {asked['risk_below']:g} %" if "risk_below" in asked else "the best balance"
        return self._ask(SEARCH, node, f"search for {bound}", asked)

    def again(self, name: str) -> None:
        """Go on with one that was ended, cancelled or lost: what it has measured is kept."""
        one = self._known(name)
        if one.state == WAITING:
            raise ParameterError("it runs already")
        self.bench.write("explore-again", {"exploration": name})
        self._start(self._known(name))

    def spots(self, node: Node) -> list[list[Any]]:
        """What the explorations of a table have tried: label, family, loss and risk."""
        table = node.table
        names = [one.name for one in self.bench.history.explorations.values() if self._table(one) == table]
        found = [spot for name in names for spot in self._tried(name)]
        return found[-_MOST_SHOWN:]

    def of_table(self, node: Node) -> list[Exploration]:
        """The explorations of the table that a node is of, the newest first."""
        explorations = self.bench.history.explorations.values()
        return [one for one in explorations if self._table(one) == node.table][::-1]

    def design(self, name: str) -> dict[str, Any] | None:
        """A study as its file would say it, once that is known."""
        found: dict[str, Any] | None = self.bench.workspace.result(f"design:{name}")
        return found

    def count(self, name: str) -> int:
        return len(self._tried(name))

    def _tried(self, name: str) -> list[list[Any]]:
        if name not in self.tried:
            kept = self.bench.workspace.result(f"tried:{name}")
            self.tried[name] = [] if kept is None else kept
        return self.tried[name]

    def _table(self, one: Exploration) -> str:
        return self.bench.history.nodes[one.node].table

    def _original(self) -> Node:
        return self.bench.history.original_of(self.bench.here().name)

    def _known(self, name: str) -> Exploration:
        if name not in self.bench.history.explorations:
            raise ParameterError("there is no such study or search")
        return self.bench.history.explorations[name]

    def _ask(self, kind: str, node: Node, title: str, asked: dict[str, Any]) -> str:
        from microveil.workbench.bench import new_name

        name = new_name("x")
        content = {"exploration": name, "kind": kind, "on": node.name, "title": title, "asked": asked}
        self.bench.write("asked-to-explore", content)
        self._start(self._known(name))
        return name

    def _start(self, one: Exploration) -> None:
        bench = self.bench
        node = bench.node(one.node)
        request = {**bench.request(one.kind, node), "exploration": one.name, "asked": one.asked}
        self.tried[one.name] = []

        def noticed(told: Any) -> None:
            if isinstance(told, dict):
                bench.keep(f"design:{one.name}", told)
                return
            self.tried[one.name].append(told)
            now = time.monotonic()
            if now - self._shown >= _PAUSE:  # pages look again
                self._shown = now
                bench.version += 1

        def ended(outcome: Outcome) -> None:
            from microveil.workbench.bench import new_name

            bench.keep(f"tried:{one.name}", self.tried[one.name][-_MOST_SHOWN:])
            if "done" in outcome:
                members = [{**member, "node": new_name("n")} for member in outcome["done"]["members"]]
                told = outcome["done"]["told"]
                content = {"exploration": one.name, "on": one.node, "members": members, "told": told}
                bench.write("explored", content)
            else:
                state, reason = (FAILED, outcome["failed"]) if "failed" in outcome else (CANCELLED, "cancelled")
                bench.write("unexplored", {"exploration": one.name, "state": state, "reason": reason})
                if state == FAILED:
                    bench.last_failure = f"{one.title}: {reason}"

        bench.start(one.title, request, ended, noticed, long=True)


def _check_names(kind: str, names: Iterable[str]) -> None:
    known = mv.registry.names(kind)
    for name in names:
        if name not in known:
            raise ParameterError(f"there is no {kind} {brief(name)}")


def _whole(text: str, name: str, least: int, most: int) -> int:
    try:
        found = int(text.strip() or least)
    except ValueError:
        found = least - 1
    if not least <= found <= most:
        raise ParameterError(
            f"{name} = {brief(text)} is not allowed; it must be a whole number from {least} to {most:,}"
        )
    return found
