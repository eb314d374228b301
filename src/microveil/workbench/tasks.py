"""What a worker of the workbench can do. Each task takes plain data and gives plain data; tables stay in files."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import microveil as mv
from microveil.battery import vulnerability_of
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, FileError, MicroveilError
from microveil.masking.release import file_digest, manifest_path
from microveil.progress import Part, Progress
from microveil.randomness import check_seed
from microveil.reporting.charts import bars
from microveil.reporting.report import findings_of
from microveil.reporting.report_findings import Masthead
from microveil.reporting.report_internal import internal_page
from microveil.reporting.report_pictures import correlation_pictures, distributions, risk_distribution
from microveil.reporting.report_public import public_page
from microveil.workbench.overview import overview, write_records
from microveil.workbench.recipes import command_file, script_file
from microveil.workbench.workspace import Places

RELEASE = "release.parquet"
_WORST, _SHOWN_RECORDS, _MOST_PICTURES = 8, 10, 12
SAMPLE_RECORDS, SAMPLE_SEED = 2000, 1
Request = Mapping[str, Any]


class Worker:
    """The tasks, with the tables that were used last at hand."""

    def __init__(self, folder: str | Path) -> None:
        self.places = Places(folder)
        self._kept: tuple[str, mv.Microdata] | None = None

    def run(self, request: Request, progress: Progress) -> dict[str, Any]:
        tasks: dict[str, Callable[[Request, Progress], dict[str, Any]]] = {
            "load": self._load, "describe": self._describe, "risk": self._risk, "protect": self._protect,
            "attack": self._attack, "compare": self._compare, "export": self._export,
        }  # fmt: skip
        return tasks[request["task"]](request, progress)

    # --- tables ------------------------------------------------------------------------------------------------------

    def _data(self, request: Request, progress: Progress) -> mv.Microdata:
        """The original as the schema describes it; that of the request before is still there."""
        schema = request["schema"]
        key = hashlib.sha256(json.dumps([request["table"], schema]).encode()).hexdigest()
        if self._kept is None or self._kept[0] != key:
            self._kept = None  # never two large tables at a time
            file = self.places.table(request["table"]) / request["file"]
            described = None if schema is None else mv.Schema.from_plain(schema)
            self._kept = key, mv.read(file, schema=described, progress=progress)
        return self._kept[1]

    def _release(self, node: str, data: mv.Microdata) -> mv.Release:
        return mv.read_release(self.places.release(node) / RELEASE, data)

    def _load(self, request: Request, progress: Progress) -> dict[str, Any]:
        folder = self.places.table(request["table"])
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if request["source"] == "sample":
            sample = mv.datasets.survey(SAMPLE_RECORDS, seed=SAMPLE_SEED)
            mv.write(sample, folder / request["file"], force=True)
            request = {**request, "schema": sample.schema.to_plain()}
        elif request["source"] == "path":
            progress(0.0, "copying the file into the workspace")
            source = Path(request["path"])
            if not source.is_file():
                raise FileError(source, "there is no such file")
            try:
                shutil.copyfile(source, folder / request["file"])
            except OSError as problem:
                raise FileError(source, f"cannot be read ({problem.strerror})") from None
        data = self._data(request, Part(progress, 0.0, 0.5))
        if not len(data):
            raise DataError(f"{request['file']} has no records")
        progress(0.5, "keeping the records for paging")
        write_records(data, folder)
        shown = overview(data, Part(progress, 0.6, 1.0))
        return {"schema": data.schema.to_plain(), "attributes": len(data.names), "overview": shown}

    def _describe(self, request: Request, progress: Progress) -> dict[str, Any]:
        return {"overview": overview(self._data(request, Part(progress, 0.0, 0.5)), Part(progress, 0.5, 1.0))}

    # --- risk --------------------------------------------------------------------------------------------------------

    def _risk(self, request: Request, progress: Progress) -> dict[str, Any]:
        """The risk by the keys of the table as it is at a node, and what causes it."""
        data = self._data(request, Part(progress, 0.0, 0.4))
        table = self._release(request["node"], data).data if request["steps"] else data
        found = mv.risk_of_file(table, threshold=request["threshold"], progress=Part(progress, 0.4, 0.9))
        summary = found.summary
        special = found.special_uniques
        shares = dict(special.by_attribute) if special is not None and special.scores.any() else {}
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        drawn = risk_distribution(found.per_record)
        causes = "" if not ranked else bars(
            [name for name, _ in ranked], {"share": [share for _, share in ranked]},
            title="What makes records unique", x_title="part of the SUDA scores, %", width=560.0,
            description="The part of each key in the scores of special uniques.",
        )  # fmt: skip
        progress(1.0, "risk")
        return {
            "heading": found.heading, "assumption": found.assumption, "keys": list(found.named or found.keys),
            "declared": found.declared, "sample": found.is_sample,
            "summary": {**summary.to_plain(), "share": summary.share},
            "below": {str(k): found.below(k) for k in (2, 3, 5, 10)},
            "households": found.to_plain()["households"],
            "combinations": _worst(found, table), "carrying_half": found.combinations.carrying(0.5),
            "causes": causes, "histogram": "" if drawn is None else drawn.svg,
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
        release = mv.protect(data, _plan(request), progress=Part(progress, 0.1, 0.6))
        folder = self.places.release(request["node"])
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        release.save(folder / RELEASE, force=True)
        found = mv.assess(data, release, threshold=request["threshold"], progress=Part(progress, 0.6, 1.0))
        drawn = risk_distribution(vulnerability_of(found.risks.values(), found.records))
        rows = [
            {"kind": kind, "name": name, "value": value, "meaning": meaning}
            for kind, name, value, meaning in found.rows() if kind != "score"
        ]  # fmt: skip
        return {
            "loss": found.score.loss, "risk": found.score.risk, "score": found.score.value, "rows": rows,
            "heading": found.heading, "headline": found.headline.to_plain(), "assumption": found.headline.assumption,
            "headline_rows": found.headline.rows(), "histogram": "" if drawn is None else drawn.svg,
            "guarantees": release.guarantees.sentences(), "notes": list(release.provenance.notes),
            "assessed": list(found.notes), "cautions": list(release.cautions(data)),
            "guessable": release.provenance.seed_is_guessable,
            "keeps_households": bool(release.provenance.keep_household_ids and data.schema.household),
            "untouched_keys": [name for name in release.untouched if name in data.schema.keys],
            "left_out": list(release.provenance.left_out),
            "records": len(release), "before": len(data), "digest": release.data.digest(),
        }  # fmt: skip

    def _compare(self, request: Request, progress: Progress) -> dict[str, Any]:
        """The original and a release side by side: distributions, correlations, and some records before and after."""
        data = self._data(request, Part(progress, 0.0, 0.3))
        release = self._release(request["node"], data)
        pair = Pair.of(data, release)
        pictures = []
        shown = pair.attributes[:_MOST_PICTURES]
        for done, name in enumerate(shown, start=1):
            try:
                pictures += [
                    {"svg": drawn.svg, "caption": drawn.caption} for drawn in distributions(pair, release.data, name)
                ]
            except MicroveilError as problem:
                pictures.append({"svg": "", "caption": f"{name}: {problem}"})
            progress(0.3 + 0.5 * done / len(shown), f"drawing {name}")
        related = [{"svg": drawn.svg, "caption": drawn.caption} for drawn in correlation_pictures(pair)]
        progress(1.0, "comparing")
        count = min(_SHOWN_RECORDS, len(pair.original))
        return {
            "pictures": pictures, "correlations": related, "attributes": list(pair.attributes),
            "not_drawn": max(0, len(pair.attributes) - _MOST_PICTURES),
            "records": [_before_and_after(pair, release, name, count) for name in pair.attributes[:_MOST_PICTURES]],
            "count": count,
        }  # fmt: skip

    # --- export ------------------------------------------------------------------------------------------------------

    def _export(self, request: Request, progress: Progress) -> dict[str, Any]:
        """Make the release again from its plan, write it with everything about it, and pack all of it.

        What may leave the house is in the folder `public`, what makes the release again, or could undo it, in
        `internal`.
        """
        data = self._data(request, Part(progress, 0.0, 0.1))
        release = mv.protect(data, _plan(request), progress=Part(progress, 0.1, 0.4))
        if release.data.digest() != request["digest"]:
            raise DataError("the plan did not make the same release again, so nothing was exported; please report this")
        folder = self.places.export(request["export"])
        unfinished = folder.with_name(f"{folder.name}unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        public, internal = unfinished / "public", unfinished / "internal"
        for each in (unfinished, public, internal):
            each.mkdir(mode=0o700, parents=True)
        released = public / request["release_file"]
        saved = release.save(released)
        for beside in (manifest_path(released), saved[2]):
            if beside is not None:
                Path(beside).rename(internal / Path(beside).name)
        (internal / "plan.toml").write_text(release.provenance.plan.to_toml(), encoding="utf-8")
        (internal / "make_release.py").write_text(script_file(request), encoding="utf-8")
        (internal / "make_release.sh").write_text(command_file(request), encoding="utf-8")
        if request["reports"]:
            found = findings_of(data, release, threshold=request["threshold"], progress=Part(progress, 0.4, 0.95))
            masthead = Masthead(date=request["date"])
            again = f"microveil protect {request['file']} --plan plan.toml --out {request['release_file']}"
            (internal / "report_internal.html").write_text(internal_page(found, again, masthead), encoding="utf-8")
            (public / "report_public.html").write_text(public_page(found, masthead), encoding="utf-8")
        progress(0.96, "packing")
        files = sorted(path for path in unfinished.rglob("*") if path.is_file())
        digests = {path.relative_to(unfinished).as_posix(): file_digest(path) for path in files}
        listed = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
        (unfinished / "SHA256SUMS").write_text(listed, encoding="utf-8")
        archive = unfinished / f"{request['stem']}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for name in [*digests, "SHA256SUMS"]:
                packed.write(unfinished / name, name)
        unfinished.rename(folder)
        progress(1.0, "exporting")
        sizes = {name: (folder / name).stat().st_size for name in [*digests, "SHA256SUMS", archive.name]}
        return {"files": sizes, "digests": {**digests, archive.name: file_digest(folder / archive.name)},
                "archive": archive.name, "released": f"public/{request['release_file']}"}  # fmt: skip


def _plan(request: Request) -> mv.Plan:
    return mv.Plan(tuple(map(mv.Step.from_plain, request["steps"])), check_seed(request["seed"]))


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


def _before_and_after(pair: Pair, release: mv.Release, name: str, count: int) -> dict[str, Any]:
    before = [_text(pair.original, name, record) for record in range(count)]
    return {"name": name, "before": before, "after": [_text(release.data, name, record) for record in range(count)]}


def _text(table: mv.Microdata, name: str, record: int) -> str:
    value = table.arrow(name)[record].as_py()
    return "(missing)" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
