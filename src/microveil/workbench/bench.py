"""What can be done at the workbench, however it is asked for: each action writes its event, then takes effect."""

from __future__ import annotations

import datetime
import math
import re
import secrets
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import microveil as mv
from microveil.applications import (
    FORMATS,
    THRESHOLD,
    DataError,
    FileError,
    ParameterError,
    brief,
    check_seed,
    draw_seed,
    format_of,
    percentage,
    plain_seed,
    probability,
    shown,
)
from microveil.workbench.describing import described
from microveil.workbench.exploring import Exploring
from microveil.workbench.history import DONE, LOST, PLANNED, WAITING, History, Node
from microveil.workbench.jobs import LONG, SHORT, Job, Jobs, Outcome
from microveil.workbench.overview import column_holds_texts
from microveil.workbench.preview import Preview
from microveil.workbench.workspace import Workspace

KINDS = ("numeric", "ordinal", "nominal", "location")
ROLES = ("key", "confidential", "identifier", "weight", "household", "stratum")
SAMPLES = {"survey.csv": "", "meters.csv": "", "network.csv": "links.csv"}  # the fictional tables, and their links
WRITABLE = tuple(
    dict.fromkeys(known.writable[0] for known in FORMATS if known.writable and known.name not in ("graphml", "gml"))
)
GRAPHS_WRITABLE = ("", ".graphml")  # a folder of two tables, or one file
_LONGEST_TITLE = 60
_MOST_IN_GRID = 200
_MOST_UNASKED = 50_000  # records
_FILE = re.compile(r"[^\w.\- ()]+")


class Bench:
    """The workspace with its history and its jobs. Actions come from the pages, one at a time."""

    def __init__(self, folder: str | Path) -> None:
        self.workspace = Workspace(folder)
        self.lock = threading.RLock()
        self.version = time.time_ns() // 1000  # grows whenever a page would look different, also over a restart
        self._begin()

    def _begin(self) -> None:
        self.history = History()
        try:
            for number, _, kind, content in self.workspace.events():
                self.history.apply(number, kind, content)
        except (KeyError, TypeError, ValueError):
            self.workspace.close()
            told = "holds a history that this version cannot read; choose another folder for the workspace"
            raise FileError(self.workspace.folder, told) from None
        self.last_failure = ""
        lost = [node for node in self.history.nodes.values() if node.state == WAITING]
        for node in lost:
            self.write("lost", {"node": node.name, "reason": "the workbench was ended while this step ran"})
        for one in [one for one in self.history.explorations.values() if one.state == WAITING]:
            reason = "the workbench was ended while it ran; it can go on"
            self.write("unexplored", {"exploration": one.name, "state": LOST, "reason": reason})
        self._sweep()
        self.jobs = Jobs(self.workspace.folder)
        self.preview = Preview(self.workspace.folder)
        self.exploring = Exploring(self)

    def _sweep(self) -> None:
        """Take away files that no event speaks of: they were half made when the workbench was ended."""
        known = {
            "tables": {node.table for node in self.history.nodes.values()},
            "releases": {node.name for node in self.history.nodes.values() if node.state == DONE},
            "exports": {key.partition(":")[2] for key in self.workspace.results("export:")},
            "explorations": set(self.history.explorations),
            "uploads": set(),
        }
        for shelf, names in known.items():
            folder = self.workspace.folder / shelf
            for path in folder.iterdir() if folder.is_dir() else ():
                if path.name not in names:
                    shutil.rmtree(path, ignore_errors=True)

    def close(self) -> None:
        self.jobs.close()
        self.preview.close()
        self.workspace.close()

    def write(self, kind: str, content: dict[str, Any]) -> None:
        with self.lock:
            number = self.workspace.append(kind, content)
            self.history.apply(number, kind, content)
            self.version += 1

    def keep(self, key: str, result: Any) -> None:
        with self.lock:
            self.workspace.keep(key, result)
            self.version += 1

    @property
    def threshold(self) -> float:
        return self.history.bounds.get("threshold", THRESHOLD)

    def here(self) -> Node:
        """Where the user is; there must be a table."""
        if self.history.here is None:
            raise DataError("no table is loaded; load one on the screen Data first")
        return self.history.here

    def node(self, name: str) -> Node:
        if name not in self.history.nodes:
            raise ParameterError("there is no such step in the history")
        return self.history.nodes[name]

    def request(self, task: str, node: Node) -> dict[str, Any]:
        """What a worker has to know about a node."""
        table = self.history.tables[node.table]
        return {"task": task, "node": node.name, "table": node.table, "file": table.file, "schema": node.schema,
                "series": table.series, "graph": table.graph, "steps": list(node.steps), "seed": node.seed,
                "threshold": self.threshold}  # fmt: skip

    def failed(self, what: str, reason: str) -> None:
        with self.lock:
            self.last_failure = f"{what}: {reason}"
            self.write("failure", {"what": what, "reason": reason})

    # --- tables ------------------------------------------------------------------------------------------------------

    def load(
        self, source: str, file: str, *, path: str = "", upload: str = "", schema: dict[str, Any] | None = None,
        series: str = "", graph: str = "", graph_path: str = "", graph_upload: str = "", again: str = "",
    ) -> str:  # fmt: skip
        """Load a fictional table, a file of this machine, one that was sent, or a table that is here already once more
        (`again`): with its series declared, or with a file of links between its records. Gives the job's name."""
        file = safe_name(file)
        format_of(Path(file))
        table = new_name("t")
        if graph:
            graph = safe_name(graph)
            format_of(Path(graph))
            graph = f"links-{graph}" if graph == file else graph
        folder = self.workspace.table(table)
        for sent, name in ((upload, file), (graph_upload, graph)):
            if sent:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                (self.workspace.upload(sent) / "file").rename(folder / name)
                shutil.rmtree(self.workspace.upload(sent), ignore_errors=True)
        self.write("asked-to-load", {"table": table, "file": file, "source": source})
        request = {"task": "load", "table": table, "file": file, "source": source, "path": path, "schema": schema,
                   "series": series, "graph": graph, "graph_path": graph_path, "from": again}  # fmt: skip

        def ended(outcome: Outcome) -> None:
            if "done" not in outcome:
                shutil.rmtree(self.workspace.table(table), ignore_errors=True)
                if "failed" in outcome:
                    self.failed(f"loading {file}", outcome["failed"])
                return
            done, node = outcome["done"], new_name("n")
            self.keep(f"overview:{node}", done["overview"])
            self.write(
                "loaded",
                {"node": node, "table": table, "file": file, "source": source, "path": path, "schema": done["schema"],
                 "records": done["overview"]["records"], "attributes": done["attributes"], "series": series,
                 "graph": graph},
            )  # fmt: skip
            self._ask_if_short(self.node(node))

        return self.start(f"loading {file}", request, ended)

    def load_again(self, **changes: str) -> str:
        """The table where the user is, read once more: as series, or with links between its records."""
        node = self.history.original_of(self.here().name)
        table = self.history.tables[node.table]
        held = {"series": table.series, "graph": table.graph, "path": table.path}
        return self.load("again", table.file, schema=node.schema, again=table.name, **{**held, **changes})

    def start(self, title: str, request: dict[str, Any], ended: Any, noticed: Any = None, *, long: bool = False) -> str:
        """Put a piece of work into its line; gives the job's name."""
        job = Job(new_name("j"), title, request, ended, noticed, LONG if long else SHORT)
        self.jobs.add(job)
        return job.name

    def change_schema(self, kinds: Mapping[str, str], roles: Mapping[str, Sequence[str]]) -> bool:
        """Give attributes other kinds and roles; the table as it was, and what was made of it, stays in the history."""
        original = self.history.original_of(self.here().name)
        before = mv.Schema.from_plain(original.schema)
        after = before
        for name, kind in kinds.items():
            if kind not in KINDS:
                raise ParameterError(f"{brief(kind)} is no kind of attribute; there are {', '.join(KINDS)}")
            if before[name].kind != kind:
                after = after.with_kinds(**{kind: [name]})
        for name, wanted in roles.items():
            for role in wanted:
                if role not in (*ROLES, *before[name].roles):
                    raise ParameterError(f"{brief(role)} is no role of an attribute; there are {', '.join(ROLES)}")
            if set(before[name].roles) != set(wanted):
                after = after.replacing(after[name].changed(roles=tuple(wanted)))
        changed = [a.name for a in after if a != before[a.name]]
        return bool(changed) and self.describe_otherwise(after, changed)

    def describe_otherwise(self, schema: mv.Schema, changed: Sequence[str]) -> bool:
        """The table with another schema, as a branch of its own."""
        original = self.history.original_of(self.here().name)
        title = f"{changed[0]} described" if len(changed) == 1 else f"{len(changed)} attributes described"
        node = new_name("n")
        self.write("roles", {"node": node, "parent": original.name, "title": title, "schema": schema.to_plain()})
        self.ask_for_overview(self.node(node))
        self._ask_if_short(self.node(node))
        return True

    def describe_attribute(self, name: str, form: Mapping[str, str]) -> bool:
        """What a form says about one attribute."""
        original = self.history.original_of(self.here().name)
        schema = mv.Schema.from_plain(original.schema)
        if name not in schema:
            raise ParameterError(f"there is no attribute {brief(name)}")
        texts = column_holds_texts(self.workspace.table(original.table), name)
        changed = described(schema[name], form, texts=texts)
        return changed != schema[name] and self.describe_otherwise(schema.replacing(changed), [name])

    def take_schema(self, path: Path) -> None:
        """Describe the table by a schema file; what it does not mention stays."""
        original = self.history.original_of(self.here().name)
        before, given = mv.Schema.from_plain(original.schema), mv.Schema.read(path)
        known = [attribute for attribute in given if attribute.name in before]
        if not known:
            raise DataError("the schema has none of the attributes of this table")
        after = before.replacing(*known)
        changed = [a.name for a in after if a != before[a.name]]
        if changed:
            self.describe_otherwise(after, changed)

    def propose_hierarchy(self, name: str) -> str:
        """Give an attribute the hierarchy that its values suggest."""
        original = self.history.original_of(self.here().name)
        schema = mv.Schema.from_plain(original.schema)
        if name not in schema:
            raise ParameterError(f"there is no attribute {brief(name)}")

        def ended(outcome: Outcome) -> None:
            if "done" in outcome:
                plain = {**schema.to_plain()}
                plain["attributes"] = {**plain["attributes"], name: outcome["done"]["attribute"]}
                with self.lock:
                    self.describe_otherwise(mv.Schema.from_plain(plain), [name])
            elif "failed" in outcome:
                self.failed(f"the hierarchy of {name}", outcome["failed"])

        return self.start(f"a hierarchy for {name}", {**self.request("propose", original), "attribute": name}, ended)

    def ask_for_overview(self, node: Node) -> None:
        def ended(outcome: Outcome) -> None:
            if "done" in outcome:
                self.keep(f"overview:{node.name}", outcome["done"]["overview"])
            elif "failed" in outcome:
                self.failed("describing the table", outcome["failed"])

        if not self.jobs.is_asked(task="describe", node=node.name):
            self.start("describing the table", self.request("describe", node), ended)

    def check_attributes(self, names: Sequence[str]) -> None:
        """Refuse names of attributes that the table does not have; a series has a name, too."""
        rows = (self.overview() or {"rows": []})["rows"]
        known = {*mv.Schema.from_plain(self.here().schema).names, *(row["name"] for row in rows)}
        for name in names:
            if name not in known:
                raise ParameterError(f"there is no attribute {brief(name)}")

    def overview(self) -> dict[str, Any] | None:
        """The description of the original where the user is."""
        found: dict[str, Any] | None = self.workspace.result(
            f"overview:{self.history.original_of(self.here().name).name}"
        )
        return found

    # --- risk --------------------------------------------------------------------------------------------------------

    def ask_for_risk(self, node: Node) -> None:
        key = f"risk:{node.name}:{self.threshold:g}"

        def ended(outcome: Outcome) -> None:
            if "done" in outcome:
                self.keep(key, outcome["done"])
            elif "failed" in outcome:
                self.keep(key, {"failed": outcome["failed"]})

        if self.workspace.result(key) is None and not self.jobs.is_asked(task="risk", node=node.name):
            self.start(f"risk of {node.title}", self.request("risk", node), ended)

    def ask_for_advice(self) -> str:
        """What would lower the risk of the table that the user is at, before it is masked."""
        node = self.history.original_of(self.here().name)

        def ended(outcome: Outcome) -> None:
            if "done" in outcome:
                self.keep(f"advice:{node.name}:{self.threshold:g}", outcome["done"])
            elif "failed" in outcome:
                self.failed("the advice", outcome["failed"])

        return self.start("what would lower the risk", self.request("advise", node), ended)

    def advice(self, node: Node) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.workspace.result(f"advice:{node.name}:{self.threshold:g}")
        return found

    def try_advice(self, number: int) -> None:
        """Make one of the proposed changes: what is left out becomes an identifier, and the other steps are run."""
        original = self.history.original_of(self.here().name)
        found = self.advice(original)
        if found is None or not 0 <= number < len(found["proposals"]):
            raise ParameterError("there is no such proposal")
        proposal = found["proposals"][number]
        if self.history.current != original.name:
            self._move(original)
        if proposal["left_out"]:
            schema = mv.Schema.from_plain(original.schema)
            hidden = [schema[name].changed(roles=("identifier",)) for name in proposal["left_out"]]
            self.describe_otherwise(schema.replacing(*hidden), proposal["left_out"])
        if proposal["steps"]:
            self._try(list(proposal["steps"]), proposal["words"], self.here())

    def _ask_if_short(self, node: Node) -> None:
        """Measure the risk unasked, unless that would take long: a long table whose keys nobody has declared yet."""
        declared = bool(mv.Schema.from_plain(node.schema).keys)
        if declared or self.history.tables[node.table].records <= _MOST_UNASKED:
            self.ask_for_risk(node)

    def risk(self, node: Node) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.workspace.result(f"risk:{node.name}:{self.threshold:g}")
        return found

    def attack(self, attacks: Sequence[str], known: Sequence[str]) -> str:
        """Run attacks, or with none named all that apply, for an intruder who knows these attributes."""
        node = self.here()
        names = mv.registry.names("attack")
        for name in attacks:
            if name not in names:
                raise ParameterError(f"there is no attack {brief(name)}")
        self.check_attributes(known)
        request = {**self.request("attack", node), "attacks": list(attacks), "known": list(known)}
        what = attacks[0] if len(attacks) == 1 else "all attacks" if not attacks else f"{len(attacks)} attacks"
        self.write("asked-to-attack", {"on": node.name, "attacks": list(attacks), "known": list(known)})

        def ended(outcome: Outcome) -> None:
            if "done" in outcome:
                done = outcome["done"]
                kept = {
                    row["label"]: {**row, "known": done["known"]} for row in (self.attacks(node) or {}).get("rows", [])
                }
                kept |= {row["label"]: {**row, "known": done["known"]} for row in done["rows"]}
                self.keep(f"attacks:{node.name}", {**done, "rows": list(kept.values())})
                self.write("attacked", {"on": node.name})
            elif "failed" in outcome:
                self.failed(what, outcome["failed"])

        return self.start(f"{what} on {node.title}", request, ended)

    def attacks(self, node: Node) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.workspace.result(f"attacks:{node.name}")
        return found

    # --- masking -----------------------------------------------------------------------------------------------------

    def try_method(
        self, method: str, settings: Mapping[str, str], attributes: Sequence[str], seed: str = "",
        *, parent: Node | None = None, group: str = "", vary: str = "",
    ) -> str:  # fmt: skip
        """Apply one more method where the user is; the result becomes a candidate."""
        parent = parent or self.here()
        if parent.state != DONE:
            raise ParameterError("this step of the history has no release; go to another one first")
        given = set_parameters(method, settings, vary)
        self.check_attributes(attributes)
        step: dict[str, Any] = {"method": method, "parameters": given}
        if attributes:
            step["attributes"] = list(attributes)
        title = " ".join([method, *(f"{name}={shown(value)}" for name, value in given.items())])
        return self._try([step], title, parent, seed, group)

    def _try(self, steps: list[dict[str, Any]], title: str, parent: Node, seed: str = "", group: str = "") -> str:
        if parent.seed is not None:
            used: int | str = parent.seed  # a plan has one seed
        else:
            used = plain_seed(check_seed(seed.strip()) if seed.strip() else draw_seed())
        node = new_name("n")
        asked = {"node": node, "parent": parent.name, "steps": steps, "seed": used, "title": title[:_LONGEST_TITLE],
                 "group": group}  # fmt: skip
        self.write("asked", asked)
        self._protect(self.node(node), go=not group)
        return node

    def preview_of(self, method: str, settings: Mapping[str, str], attributes: Sequence[str]) -> dict[str, Any]:
        """What one more method would do to some records, if that can be told quickly."""
        parent = self.here()
        step: dict[str, Any] = {"method": method, "parameters": set_parameters(method, settings)}
        if attributes:
            step["attributes"] = list(attributes)
        request = self.request("preview", parent)
        request |= {"steps": [*parent.steps, step], "seed": parent.seed if parent.seed is not None else 1}
        return self.preview.ask(request)

    def again(self, name: str) -> None:
        """Run a step again that was cancelled or lost, or that failed; or make one that was only measured."""
        node = self.node(name)
        if node.state in (DONE, WAITING):
            raise ParameterError("this step needs no other run")
        self.write("again", {"node": name})
        self._protect(self.node(name), go=True)

    def _protect(self, node: Node, *, go: bool) -> None:
        def ended(outcome: Outcome) -> None:
            if "done" in outcome:
                self.keep(f"measures:{node.name}", outcome["done"])
                self.write("made", {"node": node.name, "go": go})
                if go:
                    self._ask_if_short(self.node(node.name))
            elif "failed" in outcome:
                self.write("failed", {"node": node.name, "reason": outcome["failed"]})
                self.last_failure = f"{node.title}: {outcome['failed']}"
            else:
                self.write("cancelled", {"node": node.name, "reason": "cancelled"})

        self.start(node.title, self.request("protect", node), ended)

    def measures(self, node: Node) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.workspace.result(f"measures:{node.name}")
        return found

    def grid(self, method: str, settings: Mapping[str, str], attributes: Sequence[str], vary: str, values: str) -> int:
        """Try several values of a parameter, each as a candidate of its own; gives how many."""
        parent = self.here()
        listed = [value.strip() for value in values.split(",") if value.strip()]
        if not listed:
            raise ParameterError("give the values to try, separated by commas, such as 3, 5, 10")
        if len(listed) > _MOST_IN_GRID:
            raise ParameterError(f"a grid has at most {_MOST_IN_GRID} values")
        for value in listed:  # all of them before the first is started
            set_parameters(method, {**settings, vary: value})
        group = new_name("g")
        for value in listed:
            self.try_method(method, {**settings, vary: value}, attributes, parent=parent, group=group, vary=vary)
        return len(listed)

    # --- the history -------------------------------------------------------------------------------------------------

    def go(self, name: str) -> None:
        node = self.node(name)
        if node.state == PLANNED:
            raise ParameterError("this release was measured and not made yet; make it first")
        if node.state != DONE:
            raise ParameterError("this step has no release to go to; it can be run again")
        self._move(node)

    def undo(self) -> None:
        if self.history.undone is None:
            raise ParameterError("there is nothing to undo")
        self._move(self.history.undone)

    def redo(self) -> None:
        if self.history.redone is None:
            raise ParameterError("there is nothing to redo")
        self._move(self.history.redone)

    def _move(self, node: Node) -> None:
        if node.name != self.history.current:
            self.write("moved", {"node": node.name})
            self._ask_if_short(node)

    def name(self, node: str, title: str) -> None:
        title = " ".join(title.split())
        if not title or len(title) > _LONGEST_TITLE:
            raise ParameterError(f"a name has 1 to {_LONGEST_TITLE} characters")
        self.write("named", {"node": self.node(node).name, "title": title})

    def set_bounds(self, **given: str) -> None:
        """What the user accepts: risk and loss in per cent, and the largest risk of a record (threshold) as a
        probability. An empty text takes a bound away; what is not given stays."""
        bounds = {name: bound for name, bound in self.history.bounds.items() if name not in given}
        for name in ("risk", "loss"):
            if given.get(name, "").strip():
                bounds[name] = percentage(given[name].strip(), f"the bound on the {name}")
        if given.get("threshold", "").strip():
            bounds["threshold"] = probability(given["threshold"].strip(), "the threshold")
            if not bounds["threshold"] > 0:
                raise ParameterError("the threshold is a probability above 0, such as 0.09")
        self.write("bounds", {"bounds": bounds})
        if self.history.here is not None:
            self._ask_if_short(self.history.here)

    def compare(self, name: str) -> None:
        node = self.node(name)
        key = f"compared:{name}"
        if self.workspace.result(key) is not None or self.jobs.is_asked(task="compare", node=name):
            return

        def ended(outcome: Outcome) -> None:
            if "done" in outcome:
                self.keep(key, outcome["done"])
            elif "failed" in outcome:
                self.keep(key, {"failed": outcome["failed"]})

        self.start(f"comparing {node.title} with the original", self.request("compare", node), ended)

    def compared(self, name: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.workspace.result(f"compared:{name}")
        return found

    def tabulate(self, name: str, row: str, column: str) -> None:
        """A table of two attributes, before and after masking."""
        node, key = self.node(name), f"two-way:{name}:{row}:{column}"
        if self.workspace.result(key) is not None:
            return
        request = {**self.request("tabulate", node), "row": row, "column": column}

        def ended(outcome: Outcome) -> None:
            if "done" in outcome:
                self.keep(key, outcome["done"])
            elif "failed" in outcome:
                self.failed(f"the table of {row} and {column}", outcome["failed"])

        if not self.jobs.is_asked(task="tabulate", node=name, row=row, column=column):
            self.start(f"tables of {row} and {column}", request, ended)

    def tabulated(self, name: str, row: str, column: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.workspace.result(f"two-way:{name}:{row}:{column}")
        return found

    # --- export ------------------------------------------------------------------------------------------------------

    def export(self, stem: str, ending: str, *, reports: bool) -> str:
        """Write the release where the user is, with everything about it; gives the name of the export."""
        node = self.here()
        measures = self.measures(node)
        if not node.is_masked or measures is None:
            raise ParameterError("there is no release to export here; mask the table on the screen Try first")
        table = self.history.tables[node.table]
        known = GRAPHS_WRITABLE if table.graph or format_of(Path(table.file)).name in ("graphml", "gml") else WRITABLE
        if ending not in known:
            raise ParameterError(f"{brief(ending)} is no format to write; there are {', '.join(known)}")
        stem = safe_name(stem or "release").removesuffix(ending)
        name = new_name("e")
        request = {
            **self.request("export", node), "export": name, "stem": stem, "release_file": f"{stem}{ending}",
            "reports": reports, "digest": measures["digest"], "source": table.source,
            "date": datetime.date.today().isoformat(),
        }  # fmt: skip
        if request["release_file"] == table.file:
            raise ParameterError(f"the release would have the name of the original, {table.file}; choose another one")
        self.write("asked-to-export", {"on": node.name, "export": name, "file": request["release_file"]})

        def ended(outcome: Outcome) -> None:
            if "done" in outcome:
                self.keep(f"export:{name}", {**outcome["done"], "node": node.name, "title": node.title})
                self.write("exported", {"on": node.name, "export": name})
            elif "failed" in outcome:
                self.failed("the export", outcome["failed"])

        self.start(f"exporting {request['release_file']}", request, ended)
        return name

    def exports(self) -> list[tuple[str, dict[str, Any]]]:
        """What was exported of the table where the user is, the newest first."""
        among = {node.name for node in self.history.candidates()}
        found = self.workspace.results("export:")
        listed = [(key.partition(":")[2], content) for key, content in found.items() if content["node"] in among]
        return sorted(listed, key=lambda item: item[0], reverse=True)

    def exported_file(self, export: str, file: str) -> Path:
        """A file of an export, if it is one of those that were written."""
        found = self.workspace.result(f"export:{export}")
        if found is None or file not in found["files"]:
            raise ParameterError("there is no such file among the exports")
        return self.workspace.export(export) / file

    def remove_everything(self) -> None:
        """Delete the table, all releases and the history."""
        with self.lock:
            self.jobs.close()
            self.preview.close()
            self.workspace.remove_everything()
            self._begin()


def set_parameters(method: str, settings: Mapping[str, str], always: str = "") -> dict[str, Any]:
    """The parameters that are set otherwise than usual, the first one and `always` in any case; given as texts, as on
    the command line, and checked."""
    given = {name: text.strip() for name, text in settings.items() if text.strip()}
    made = mv.registry.make("method", method, given, text=True)
    described = mv.registry.describe("method", method)["parameters"]
    usual = {entry["name"]: entry["default"] for entry in described if not entry["required"]}
    kept = (*list(usual)[:1], always)
    found = made.parameters()
    return {n: v for n, v in found.items() if v is not None and (n in kept or n not in usual or v != usual[n])}


def safe_name(file: str) -> str:
    """The name of a file without folders and without characters that a system might mistake for something else."""
    name = _FILE.sub("_", file.replace("\\", "/").rpartition("/")[2]).strip(" .")
    if not name:
        raise ParameterError("the file needs a name")
    return name[-100:]


_COUNTER = iter(range(1, 2**62))


def new_name(beginning: str) -> str:
    """A name that no other has, in the order in which they were made."""
    when = math.floor(datetime.datetime.now(datetime.UTC).timestamp() * 1000)
    return f"{beginning}{when:x}{next(_COUNTER) % 4096:03x}{secrets.token_hex(3)}"
