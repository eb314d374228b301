"""The same in Python and in the shell: what each screen shows beside itself, and the scripts that are exported."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from microveil.applications import shown

SAMPLES = {  # the fictional tables, as Python makes them
    "survey.csv": "mv.datasets.survey(2000, seed=1)",
    "meters.csv": "mv.datasets.metering(200, seed=1)",
    "network.csv": "mv.datasets.social_network(300, seed=1)",
}
_SAFE = {True: "safe", False: "safe.csv"}  # a graph is written to a folder


@dataclass(frozen=True)
class Recipe:
    """How the table of the workbench is read elsewhere. Where kinds and roles say all that was declared, they stand in
    the code (`declared`); else a `schema` does, which the screen Data offers as a file. A fictional table is made in
    Python, with the schema where it is another one than its `own`."""

    file: str
    source: str = "path"
    declared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    schema: str = ""
    series: str = ""
    graph: str = ""
    own: bool = True

    def python_of_data(self) -> str:
        return f"import microveil as mv\n\n{self._read()}\nprint(mv.describe(data))"

    def shell_of_data(self) -> str:
        return f"microveil describe {self._table()}"

    def python_of_risk(self, threshold: float, *, masked: bool) -> str:
        if masked:
            how = f"attacks='informed', score='worst', threshold={threshold:g}"
            return f"found = mv.assess(data, release, {how})\nprint(found)"
        return f"found = mv.risk_of_file(data, threshold={threshold:g})\nprint(found)"

    def shell_of_risk(self, threshold: float, *, masked: bool) -> str:
        if masked:
            safe, graph = _SAFE[bool(self.graph)], f" --graph {shlex.quote(self.graph)}" if self.graph else ""
            return (
                f"microveil assess {shlex.quote(self.file)} {safe}{graph} \\\n"
                f"  --attacks informed --score worst --threshold {threshold:g}"
            )
        return f"microveil risk {self._table()} \\\n  --threshold {threshold:g}"

    def python_of_steps(self, steps: Sequence[Mapping[str, Any]]) -> str:
        """The steps as a plan; the seed is drawn, as long as none is given."""
        lines = []
        for step in steps:
            given = ", ".join(f"{name!r}: {value!r}" for name, value in step["parameters"].items())
            attributes = step.get("attributes")
            among = "" if attributes is None else f", {tuple(attributes)!r}"
            lines.append(f"    mv.Step({step['method']!r}, {{{given}}}{among}),")
        saved = f"release.save({_SAFE[bool(self.graph)]!r})"
        return "\n".join(["plan = mv.Plan((", *lines, "))", "release = mv.protect(data, plan)", saved])

    def shell_of_steps(self, steps: Sequence[Mapping[str, Any]]) -> str:
        """One step as options; several need a plan, which the export has."""
        safe = _SAFE[bool(self.graph)]
        if len(steps) != 1:
            graph = f" --graph {shlex.quote(self.graph)}" if self.graph else ""
            return f"microveil protect {shlex.quote(self.file)}{graph} \\\n  --plan plan.toml --out {safe}"
        (step,) = steps
        settings = "".join(f" \\\n  --set {shlex.quote(f'{n}={shown(v)}')}" for n, v in step["parameters"].items())
        attributes = step.get("attributes")
        among = f" \\\n  --attributes {shlex.quote(','.join(attributes))}" if attributes else ""
        return f"microveil protect {self._table()} \\\n  --method {step['method']}{settings}{among} \\\n  --out {safe}"

    def python_of_search(self, asked: Mapping[str, Any]) -> str:
        given = "".join(f", {name}={value!r}" for name, value in asked.items())
        return f"found = mv.search(data{given}, out='found')\nprint(found)\nplan = found.study.plan()"

    def shell_of_search(self, asked: Mapping[str, Any]) -> str:
        words = []
        for name, value in asked.items():
            option = f"--{name.replace('_', '-')}"
            if isinstance(value, Mapping):
                words += [f"--{name} {key}={number:g}" for key, number in value.items()]
            elif isinstance(value, Sequence) and not isinstance(value, str):
                words.append(f"{option} {shlex.quote(','.join(value))}")
            else:
                words.append(f"{option} {value}")
        return " \\\n  ".join([f"microveil search {self._table()}", *words, "--out found"])

    def _read(self) -> str:
        if self.source == "sample":
            described = "" if self.own else f".with_schema(mv.Schema.read({self.schema!r}))"
            return f"data = {SAMPLES[Path(self.file).name]}{described}"
        given = [repr(self.file)]
        given += [f"schema={self.schema!r}"] if self.schema else []
        given += [f"{name}={list(names)!r}" for name, names in self.declared.items() if names]
        given += [f"series={self.series!r}"] if self.series and not self.schema else []
        given += [f"graph={self.graph!r}"] if self.graph else []
        return f"data = mv.read({', '.join(given)})"

    def _table(self) -> str:
        words = [shlex.quote(self.file)]
        words += [f"--schema {shlex.quote(self.schema)}"] if self.schema else []
        words += [f"--{name} {shlex.quote(','.join(names))}" for name, names in self.declared.items() if names]
        words += [f"--series {shlex.quote(self.series)}"] if self.series and not self.schema else []
        words += [f"--graph {shlex.quote(self.graph)}"] if self.graph else []
        return " \\\n  ".join(words)


_SCRIPT = '''"""Make the release {release} again from {file} and the plan beside this script.

    python make_release.py [FOLDER OF {file}] [FOLDER FOR THE RELEASE]

Keep this script and the plan private: with the seed much of the masking can be undone.
"""

import sys
from pathlib import Path

import microveil as mv

here = Path(__file__).resolve().parent
source = Path(sys.argv[1] if len(sys.argv) > 1 else ".") / {file!r}
target = Path(sys.argv[2] if len(sys.argv) > 2 else ".") / {release!r}
{sample}
plan, _ = mv.read_plan(here / "plan.toml")
data = mv.read(source, schema=plan.schema{graph})
release = mv.protect(data, plan)
release.save(target)
print(f"{{len(release):,}} records written to {{target}}")
'''
_WRITE_SAMPLE = """if not source.exists():
    mv.write({made}, source)  # a fictional table
"""
_WRITE_NETWORK = """if not source.exists():
    mv.write({made}, source.parent / "network")  # a fictional network
    (source.parent / "network" / "nodes.csv").rename(source)
    (source.parent / "network" / "edges.csv").rename(source.parent / {graph!r})
"""


def script_file(request: Mapping[str, Any]) -> str:
    """A Python script that makes the exported file again, byte for byte."""
    graph, sample = request.get("graph", ""), ""
    if request["source"] == "sample":
        sample = (_WRITE_NETWORK if graph else _WRITE_SAMPLE).format(made=SAMPLES[request["file"]], graph=graph)
    read = f", graph=source.parent / {graph!r}" if graph else ""
    return _SCRIPT.format(file=request["file"], release=request["release_file"], sample=sample, graph=read)


def protect_command(request: Mapping[str, Any]) -> str:
    """The command that makes the release again, where the original and the plan are."""
    graph = f" --graph {shlex.quote(request['graph'])}" if request.get("graph") else ""
    file, release = shlex.quote(request["file"]), shlex.quote(request["release_file"])
    return f"microveil protect {file}{graph} --plan plan.toml --out {release}"


def command_file(request: Mapping[str, Any]) -> str:
    """The same as commands."""
    return (
        "#!/bin/sh\n# Make the release again; run this where the original file and plan.toml are.\n"
        "# Keep it private: with the seed in the plan much of the masking can be undone.\nset -eu\n"
        f"{protect_command(request)}\n"
    )
