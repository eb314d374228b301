"""What a worker of the workbench can do. Each task takes plain data and gives plain data; tables stay in files.

Everything here stands on what a user of the library has at hand, so each screen can show the same in Python.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import microveil as mv
from microveil.applications import DataError, FileError, Part, Progress, check_seed
from microveil.workbench import exploring_tasks
from microveil.workbench.export_task import export
from microveil.workbench.overview import overview, write_records
from microveil.workbench.workspace import Places

RELEASE, GRAPH_RELEASE = "release.parquet", "release"
SAMPLE, GRAPH_SAMPLE = "sample.parquet", "sample"
SAMPLES = {"survey.csv": lambda: mv.datasets.survey(2000, seed=1),
           "meters.csv": lambda: mv.datasets.metering(200, seed=1),
           "network.csv": lambda: mv.datasets.social_network(300, seed=1)}  # fmt: skip
_WORST, _SHOWN_RECORDS, _MOST_PICTURES = 8, 10, 12
_MOST_MEMBERS = 12  # of a household that is an example
_PREVIEWED, _MOST_PREVIEWED = 400, 8  # records of the sample for previews, and those shown before and after
_MOST_ADVICE_SECONDS = 30.0
Request = Mapping[str, Any]
Notice = Callable[[Any], None]


class Worker:
    """The tasks, with the table that was used last at hand."""

    def __init__(self, folder: str | Path) -> None:
        self.places = Places(folder)
        self._kept: tuple[str, mv.Microdata] | None = None
        self._sample: tuple[str, mv.Microdata] | None = None

    def run(self, request: Request, progress: Progress, notice: Notice) -> dict[str, Any]:
        tasks: dict[str, Callable[[Request, Progress], dict[str, Any]]] = {
            "load": self._load, "describe": self._describe, "propose": self._propose, "risk": self._risk,
            "advise": self._advise, "attack": self._attack, "protect": self._protect, "compare": self._compare,
            "tabulate": self._tabulate, "preview": self._preview, "export": self._export,
        }  # fmt: skip
        long: dict[str, Callable[..., dict[str, Any]]] = {
            "study": exploring_tasks.study, "search": exploring_tasks.search,
        }  # fmt: skip
        task = request["task"]
        if task in long:
            data = self._data(request, Part(progress, 0.0, 0.02))
            folder = self.places.exploration(request["exploration"])
            return long[task](request, data, folder, Part(progress, 0.02, 1.0), notice)
        return tasks[task](request, progress)

    # --- tables ------------------------------------------------------------------------------------------------------

    def _data(self, request: Request, progress: Progress) -> mv.Microdata:
        """The original as the schema describes it; that of the request before is still there."""
        schema = request["schema"]
        key = _key(request)
        if self._kept is None or self._kept[0] != key:
            self._kept = None  # never two large tables at a time
            folder = self.places.table(request["table"])
            described = None if schema is None else mv.Schema.from_plain(schema)
            graph = folder / request["graph"] if request.get("graph") else None
            series = None if described is not None and described.panel is not None else request.get("series") or None
            self._kept = (
                key,
                mv.read(folder / request["file"], schema=described, graph=graph, series=series, progress=progress),
            )
        return self._kept[1]

    def _release(self, node: str, data: mv.Microdata) -> mv.Release:
        return mv.read_release(self.places.release(node) / (RELEASE if data.edges is None else GRAPH_RELEASE), data)

    def _load(self, request: Request, progress: Progress) -> dict[str, Any]:
        folder = self.places.table(request["table"])
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if request["source"] == "sample":
            request = self._write_sample(request, folder)
        elif request["source"] == "path":
            progress(0.0, "copying the file into the workspace")
            _copy(request["path"], folder / request["file"])
            if request.get("graph_path"):
                _copy(request["graph_path"], folder / request["graph"])
        elif request["source"] == "again":  # another reading of a table that is here already
            before = self.places.table(request["from"])
            for name in filter(None, (request["file"], request.get("graph"))):
                if (before / name).exists() and not (folder / name).exists():
                    shutil.copyfile(before / name, folder / name)
            if request.get("graph_path"):
                _copy(request["graph_path"], folder / request["graph"])
        data = self._data(request, Part(progress, 0.0, 0.5))
        if not len(data):
            raise DataError(f"{request['file']} has no records")
        progress(0.5, "keeping the records for paging")
        write_records(data, folder)
        rows = np.sort(np.random.default_rng(0).permutation(len(data))[:_PREVIEWED])
        mv.write(data.take(rows), folder / (SAMPLE if data.edges is None else GRAPH_SAMPLE), force=True)
        shown = overview(data, Part(progress, 0.6, 1.0))
        return {"schema": data.schema.to_plain(), "attributes": len(shown["rows"]), "overview": shown,
                "links": None if data.edges is None else len(data.edges)}  # fmt: skip

    def _write_sample(self, request: Request, folder: Path) -> Request:
        """One of the fictional tables, as a file that a user could have."""
        sample = SAMPLES[request["file"]]()
        if sample.edges is None:
            mv.write(sample, folder / request["file"], force=True)
            return {**request, "schema": sample.schema.to_plain()}
        mv.write(sample, folder / "graph", force=True)
        (folder / "graph" / "nodes.csv").rename(folder / request["file"])
        (folder / "graph" / "edges.csv").rename(folder / request["graph"])
        (folder / "graph").rmdir()
        return {**request, "schema": sample.schema.to_plain()}

    def _describe(self, request: Request, progress: Progress) -> dict[str, Any]:
        return {"overview": overview(self._data(request, Part(progress, 0.0, 0.5)), Part(progress, 0.5, 1.0))}

    def _propose(self, request: Request, progress: Progress) -> dict[str, Any]:
        """A hierarchy that the values of an attribute suggest."""
        data = self._data(request, progress)
        name = request["attribute"]
        proposed = mv.propose_hierarchy(data, name)
        return {"attribute": data[name].changed(hierarchy=proposed).to_plain()}

    # --- risk --------------------------------------------------------------------------------------------------------

    def _risk(self, request: Request, progress: Progress) -> dict[str, Any]:
        """The risk by the keys of the table as it is at a node, and what causes it."""
        data = self._data(request, Part(progress, 0.0, 0.4))
        table = self._release(request["node"], data).data if request["steps"] else data
        found = mv.risk_of_file(table, threshold=request["threshold"], progress=Part(progress, 0.4, 0.8))
        progress(0.8, "drawing")
        pictures = [{"svg": drawn.svg, "caption": drawn.caption} for drawn in mv.risk_pictures(found)]
        progress(1.0, "risk")
        return {
            "heading": found.heading, "assumption": found.assumption, "keys": list(found.named or found.keys),
            "declared": found.declared, "sample": found.is_sample,
            "summary": {**found.summary.to_plain(), "share": found.summary.share},
            "below": {str(k): found.below(k) for k in (2, 3, 5, 10)},
            "households": found.to_plain()["households"],
            "combinations": _worst(found, table), "examples": _examples(found, table),
            "carrying_half": found.combinations.carrying(0.5),
            "pictures": pictures,
        }  # fmt: skip

    def _advise(self, request: Request, progress: Progress) -> dict[str, Any]:
        """What would lower the risk of the original, each change with what it does and what it loses."""
        data = self._data(request, Part(progress, 0.0, 0.2))
        found = mv.advise_risk(
            data, threshold=request["threshold"], seconds=_MOST_ADVICE_SECONDS, progress=Part(progress, 0.2, 1.0)
        )
        listed = [*found.best, *(one for one in found.sequence[-1:] if len(one.changes) > 1)]
        return {
            "heading": found.heading, "outcome": found.outcome,
            "proposals": [
                {"words": one.words, "before": one.before.expected, "after": one.after.expected,
                 "entropy": one.lost.entropy, "left_out": list(one.left_out),
                 "steps": [step.to_plain() for step in one.steps if set(step.attributes or ()) - set(one.left_out)]}
                for one in listed
            ],
        }  # fmt: skip

    def _attack(self, request: Request, progress: Progress) -> dict[str, Any]:
        """Attacks with the knowledge that was ticked; an example may show values, and stays in the workspace."""
        data = self._data(request, Part(progress, 0.0, 0.2))
        release: Any = self._release(request["node"], data) if request["steps"] else data
        found = mv.run_battery(
            data, release, request["known"] or None, attacks=request["attacks"] or None, contributions=False,
            progress=Part(progress, 0.2, 1.0),
        )  # fmt: skip
        rows = []
        for label, value, low, high, meaning in found.rows():
            explained = found.explain(label, data, release).splitlines() if label in found.risks else []
            rows.append(
                {"label": label, "value": value, "low": low, "high": high, "meaning": meaning, "explained": explained}
            )
        return {"rows": rows, "known": list(found.known), "not_run": found.reasons, "failed": sorted(found.failed)}

    # --- masking -----------------------------------------------------------------------------------------------------

    def _protect(self, request: Request, progress: Progress) -> dict[str, Any]:
        data = self._data(request, Part(progress, 0.0, 0.1))
        release = mv.protect(data, plan_of(request), progress=Part(progress, 0.1, 0.5))
        folder = self.places.release(request["node"])
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        release.save(folder / (RELEASE if data.edges is None else GRAPH_RELEASE), force=True)
        found = mv.assess(
            data, release, attacks="informed", score="worst", threshold=request["threshold"],
            progress=Part(progress, 0.5, 1.0),
        )  # fmt: skip
        rows = [
            {"kind": kind, "name": name, "value": value, "meaning": meaning}
            for kind, name, value, meaning in found.rows() if kind != "score"
        ]  # fmt: skip
        return {
            "loss": found.score.loss, "risk": found.score.risk, "score": found.score.value, "rows": rows,
            "heading": found.heading, "headline": found.headline.to_plain(), "assumption": found.headline.assumption,
            "headline_rows": found.headline.rows(),
            "pictures": [{"svg": drawn.svg, "caption": drawn.caption} for drawn in mv.risk_pictures(found)],
            "guarantees": release.guarantees.sentences(), "notes": list(release.provenance.notes),
            "assessed": list(found.notes), "cautions": list(release.cautions(data)),
            "guessable": release.provenance.seed_is_guessable,
            "keeps_households": bool(release.provenance.keep_household_ids and data.schema.household),
            "untouched_keys": [name for name in release.untouched if name in data.schema.keys],
            "left_out": list(release.provenance.left_out),
            "records": len(release), "before": len(data), "digest": release.data.digest(),
        }  # fmt: skip

    def _compare(self, request: Request, progress: Progress) -> dict[str, Any]:
        """The original and a release side by side."""
        data = self._data(request, Part(progress, 0.0, 0.3))
        beside = mv.side_by_side(data, self._release(request["node"], data))
        pictures = beside.distributions(_MOST_PICTURES, Part(progress, 0.3, 0.8))
        figures, links = beside.links()
        progress(0.9, "comparing tables of two attributes")
        changed = beside.most_changed()
        shown = tuple(dict.fromkeys((*beside.attributes, *(beside.masked or beside.columns))))[:_MOST_PICTURES]
        records = beside.records(_SHOWN_RECORDS, attributes=shown)
        progress(1.0, "comparing")
        return {
            "pictures": _drawn([*beside.curves(), *links, *pictures]), "correlations": _drawn(beside.correlations()),
            "attributes": list(beside.attributes), "columns": list(beside.columns), "figures": figures,
            "not_drawn": max(0, len(beside.attributes) - _MOST_PICTURES),
            "two_way": None if changed is None else changed.to_plain(),
            "shown": list(shown),
            "records": [{"number": one.number, "before": one.before, "after": one.after} for one in records],
        }  # fmt: skip

    def _tabulate(self, request: Request, progress: Progress) -> dict[str, Any]:
        """A table of two attributes before and after masking."""
        data = self._data(request, Part(progress, 0.0, 0.5))
        beside = mv.side_by_side(data, self._release(request["node"], data))
        return beside.two_way(request["row"], request["column"]).to_plain()

    def _preview(self, request: Request, progress: Progress) -> dict[str, Any]:
        """What a method does to some records of the table, before it is run on all of them."""
        key = _key(request)
        if self._sample is None or self._sample[0] != key:
            folder = self.places.table(request["table"])
            path = folder / (GRAPH_SAMPLE if request.get("graph") else SAMPLE)
            self._sample = key, mv.read(path, schema=mv.Schema.from_plain(request["schema"]))
        sample = self._sample[1]
        began = time.perf_counter()
        release = mv.protect(sample, plan_of(request), progress=progress)
        seconds = time.perf_counter() - began
        beside = mv.side_by_side(sample, release)
        shown = tuple(dict.fromkeys((*beside.attributes, *(beside.masked or beside.columns))))[:_MOST_PREVIEWED]
        every = beside.records(len(sample), attributes=shown)
        changed = {
            name: 100 * float(np.mean([one.before[i] != one.after[i] for one in every])) for i, name in enumerate(shown)
        }
        before, after = (mv.risk_of_file(table).summary for table in (sample, release.data))
        return {
            "seconds": seconds, "records": len(sample), "shown": list(shown), "changed": changed,
            "rows": [{"before": one.before, "after": one.after} for one in every[:_MOST_PREVIEWED]],
            "uniques": [before.uniques, after.uniques], "k": [before.k, after.k],
        }  # fmt: skip

    def _export(self, request: Request, progress: Progress) -> dict[str, Any]:
        data = self._data(request, Part(progress, 0.0, 0.1))
        folder = self.places.export(request["export"])
        return export(request, data, plan_of(request), folder, Part(progress, 0.1, 1.0))


def plan_of(request: Request) -> mv.Plan:
    """The plan of the steps that a request names."""
    return mv.Plan(tuple(map(mv.Step.from_plain, request["steps"])), check_seed(request["seed"]))


def _key(request: Request) -> str:
    named = [request["table"], request["schema"], request.get("series"), request.get("graph")]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


def _copy(path: str, target: Path) -> None:
    source = Path(path)
    if not source.is_file():
        raise FileError(source, "there is no such file")
    try:
        shutil.copyfile(source, target)
    except OSError as problem:
        raise FileError(source, f"cannot be read ({problem.strerror})") from None


def _drawn(pictures: Any) -> list[dict[str, str]]:
    return [{"svg": drawn.svg, "caption": drawn.caption} for drawn in pictures]


def _worst(found: mv.FileRisk, table: mv.Microdata) -> list[dict[str, Any]]:
    """The combinations of key values that contribute most to the global risk, with the values."""
    ranked = found.combinations
    total = float(ranked.expected.sum())
    rows = []
    for place in range(1, min(_WORST, len(ranked.records)) + 1):
        record = int(np.argmax(ranked.of_record == place))
        values = [_text(table, name, record) for name in found.keys[:_WORST]]
        expected = float(ranked.expected[place - 1])
        rows.append({"values": values, "records": int(ranked.records[place - 1]), "expected": expected,
                     "percent": 100 * expected / total if total else 0.0})  # fmt: skip
    return rows


def _examples(found: mv.FileRisk, table: mv.Microdata) -> dict[str, Any]:
    """The record and the household that are worst off, to show how their risk comes about."""
    shown: dict[str, Any] = {"record": None, "household": None}
    if not len(found.per_record):
        return shown
    record = int(np.argmax(found.per_record))
    shown["record"] = {
        "values": [_text(table, name, record) for name in found.keys[:_WORST]],
        "records": int(found.frequencies[record]), "risk": float(found.per_record[record]),
        "population": None if found.population is None else float(found.population[record]),
    }  # fmt: skip
    if found.household is not None and found.household_risk is not None:
        member = int(np.argmax(found.household_risk))
        risks = found.per_record[found.household == found.household[member]]
        shown["household"] = {"risks": risks[:_MOST_MEMBERS].tolist(), "more": len(risks) > _MOST_MEMBERS,
                              "risk": float(found.household_risk[member])}  # fmt: skip
    return shown


def _text(table: mv.Microdata, name: str, record: int) -> str:
    value = table.arrow(name)[record].as_py()
    return "(missing)" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
