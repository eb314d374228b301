"""The same in Python and in the shell: what each screen shows beside itself, and the scripts that are exported."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import microveil as mv
from microveil.applications import shown, toml_of

SAMPLES = {  # the fictional tables, as Python makes them
    "survey.csv": "mv.datasets.survey(2000, seed=1)",
    "meters.csv": "mv.datasets.metering(200, seed=1)",
    "network.csv": "mv.datasets.social_network(300, seed=1)",
}
_ROLES_OF_ONE = ("weight", "household")


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
        return f"{self._begin()}\nprint(mv.describe(data))"

    def shell_of_data(self) -> str:
        return f"microveil describe {self._table()}"

    def python_of_risk(self, threshold: float, steps: Sequence[Mapping[str, Any]]) -> str:
        if not steps:
            return f"{self._begin()}\nfound = mv.risk_of_file(data, threshold={threshold:g})\nprint(found)"
        how = f"attacks='informed', score='worst', threshold={threshold:g}"
        return f"{self.python_of_steps(steps)}\nfound = mv.assess(data, release, {how})\nprint(found)"

    def shell_of_risk(self, threshold: float, steps: Sequence[Mapping[str, Any]]) -> str:
        if not steps:
            return f"microveil risk {self._table()} \\\n  --threshold {threshold:g}"
        graph = f" --graph {shlex.quote(self.graph)}" if self.graph else ""
        return (
            f"{self.shell_of_steps(steps)}\nmicroveil assess {shlex.quote(self.file)} {self._safe}{graph} \\\n"
            f"  --attacks informed --score worst --threshold {threshold:g}"
        )

    def python_of_steps(self, steps: Sequence[Mapping[str, Any]]) -> str:
        """The steps as a plan; the seed is drawn, as long as none is given."""
        lines = []
        for step in steps:
            given = ", ".join(f"{name!r}: {value!r}" for name, value in step["parameters"].items())
            attributes = step.get("attributes")
            among = "" if attributes is None else f", {tuple(attributes)!r}"
            lines.append(f"    mv.Step({step['method']!r}, {{{given}}}{among}),")
        saved = f"release.save({self._safe!r})"
        return "\n".join([self._begin(), "plan = mv.Plan((", *lines, "))", "release = mv.protect(data, plan)", saved])

    def shell_of_steps(self, steps: Sequence[Mapping[str, Any]]) -> str:
        """One step as options, several as a plan."""
        if len(steps) != 1:
            plan = mv.Plan(tuple(map(mv.Step.from_plain, steps))).to_toml()
            return (
                f"{_file('plan.toml', plan)}microveil protect {self._table()} \\\n  --plan plan.toml --out {self._safe}"
            )
        (step,) = steps
        settings = "".join(f" \\\n  --set {shlex.quote(f'{n}={shown(v)}')}" for n, v in step["parameters"].items())
        attributes = step.get("attributes")
        among = f" \\\n  --attributes {shlex.quote(','.join(attributes))}" if attributes else ""
        options = f"--method {step['method']}{settings}{among}"
        return f"microveil protect {self._table()} \\\n  {options} \\\n  --out {self._safe}"

    def python_of_study(self, asked: Mapping[str, Any]) -> str:
        among = f"methods={asked['methods']!r}, strengths={asked['strengths']}"
        return "\n".join([
            self._begin(),
            f"plans = mv.good_plans(data, {asked['attributes'] or None!r}, {among})",
            "steps = lambda plan: [",
            "    {'name': step.method, 'attributes': list(step.attributes),",
            "     'set': {name: value for name, value in step.to_plain()['parameters'].items() if value is not None}}",
            "    for step in plan.steps if step.attributes",
            "]",
            f"design = {{'repeats': {asked['repeats']}, 'attacks': 'informed', 'score': 'worst',",
            "          'method': [{'label': plan.label, 'steps': steps(plan)} for plan in plans]}",
            "found = mv.run_study(design, data, out='studied')",
            "print(found)",
        ])  # fmt: skip

    def shell_of_study(self, design: Mapping[str, Any] | None) -> str:
        """The study as its file says it, once the worker has told which plans it compares."""
        if design is None:
            return ""
        table = {"data": self.file, "schema": self.schema, "series": "" if self.schema else self.series}
        table = {name: text for name, text in {**table, "graph": self.graph}.items() if text}
        roles = {
            name: names[0] if name in _ROLES_OF_ONE else list(names) for name, names in self.declared.items() if names
        }
        file = _file("study.toml", toml_of({**table, **roles, **design}))
        return f"{file}microveil study study.toml --out studied"

    def python_of_search(self, asked: Mapping[str, Any]) -> str:
        given = "".join(f", {name}={value!r}" for name, value in asked.items())
        return f"{self._begin()}\nfound = mv.search(data{given}, out='found')\nprint(found)\nplan = found.study.plan()"

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

    @property
    def _safe(self) -> str:
        """A graph is written to a folder."""
        return "safe" if self.graph else "safe.csv"

    def _begin(self) -> str:
        return f"import microveil as mv\n\n{self._read()}"

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


def _file(name: str, content: str) -> str:
    """The command that writes a short file."""
    return f"cat > {name} <<'END'\n{content.rstrip()}\nEND\n"


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
