"""The same in Python and in the shell: what each screen shows beside itself, and the scripts that are exported."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from microveil.parameters import shown

_SAMPLE = "mv.datasets.survey(2000, seed=1)"


def python_of_data(source: str, file: str, roles: Mapping[str, Sequence[str]]) -> str:
    lines = ["import microveil as mv", ""]
    if source == "sample":
        lines += [f"data = {_SAMPLE}", "print(mv.describe(data))"]
        return "\n".join(lines)
    given = "".join(f", {role}={list(names)!r}" for role, names in roles.items() if names)
    return "\n".join([*lines, f"data = mv.read({file!r}{given})", "print(mv.describe(data))"])


def shell_of_data(file: str, roles: Mapping[str, Sequence[str]]) -> str:
    options = "".join(f" \\\n  --{role} {shlex.quote(','.join(names))}" for role, names in roles.items() if names)
    return f"microveil describe {shlex.quote(file)}{options} \\\n  --schema-out {schema_name(file)}"


def python_of_risk(threshold: float, masked: bool) -> str:
    if masked:
        return f"found = mv.assess(data, release, threshold={threshold:g})\nprint(found)"
    return f"found = mv.risk_of_file(data, threshold={threshold:g})\nprint(found)"


def shell_of_risk(file: str, threshold: float, masked: bool) -> str:
    quoted, schema = shlex.quote(file), schema_name(file)
    if masked:
        return f"microveil assess {quoted} safe.csv \\\n  --schema {schema} --threshold {threshold:g}"
    return f"microveil risk {quoted} \\\n  --schema {schema} --threshold {threshold:g}"


def python_of_steps(steps: Sequence[Mapping[str, Any]]) -> str:
    """The steps as a plan; the seed is drawn, as long as none is given."""
    lines = []
    for step in steps:
        given = ", ".join(f"{name!r}: {value!r}" for name, value in step["parameters"].items())
        attributes = step.get("attributes")
        among = "" if attributes is None else f", {tuple(attributes)!r}"
        lines.append(f"    mv.Step({step['method']!r}, {{{given}}}{among}),")
    return "\n".join(["plan = mv.Plan((", *lines, "))", "release = mv.protect(data, plan)", "release.save('safe.csv')"])


def shell_of_steps(file: str, steps: Sequence[Mapping[str, Any]]) -> str:
    """One step as options; several need a plan."""
    quoted, schema = shlex.quote(file), schema_name(file)
    if len(steps) != 1:
        return f"microveil protect {quoted} \\\n  --plan plan.toml --out safe.csv"
    (step,) = steps
    settings = "".join(f" \\\n  --set {shlex.quote(f'{n}={shown(v)}')}" for n, v in step["parameters"].items())
    attributes = step.get("attributes")
    among = f" \\\n  --attributes {shlex.quote(','.join(attributes))}" if attributes else ""
    method = f"--method {step['method']}{settings}{among}"
    return f"microveil protect {quoted} --schema {schema} \\\n  {method} \\\n  --out safe.csv"


def schema_name(file: str) -> str:
    """The schema beside a file, as `describe --schema-out` writes it."""
    return shlex.quote(f"{Path(file).name.split('.')[0]}.toml")


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
data = mv.read(source, schema=plan.schema)
release = mv.protect(data, plan)
release.save(target)
print(f"{{len(release):,}} records written to {{target}}")
'''
_WRITE_SAMPLE = f"""if not source.exists():
    mv.write({_SAMPLE}, source)  # the fictional survey
"""


def script_file(request: Mapping[str, Any]) -> str:
    """A Python script that makes the exported file again, byte for byte."""
    sample = _WRITE_SAMPLE if request["source"] == "sample" else ""
    return _SCRIPT.format(file=request["file"], release=request["release_file"], sample=sample)


def command_file(request: Mapping[str, Any]) -> str:
    """The same as commands."""
    file, release = shlex.quote(request["file"]), shlex.quote(request["release_file"])
    return (
        "#!/bin/sh\n# Make the release again; run this where the original file and plan.toml are.\n"
        "# Keep it private: with the seed in the plan much of the masking can be undone.\nset -eu\n"
        f"microveil protect {file} --plan plan.toml --out {release}\n"
    )
