"""Golden releases: what every method releases and every measure finds, as digests, so that reshaping changes nothing.

`python tests/golden/releases.py --write` makes them anew, which is right only when a change of behaviour is meant;
`python tests/golden/releases.py` compares. Cases are named by registry names and parameters alone, so that they outlive
every move of a module. Each method runs with parameters that keep it short, and once more for every choice of every
parameter that has choices or is true or false; a combination that is refused is recorded as refused. Attacks and losses
are measured in the same way on five releases, and with their defaults on one release of every family. All of this is
done with the sample survey and with a small table of awkward columns (edges).

A case is compared by its numbers to eight significant digits, which every machine gives. The exact bytes of releases
are on record too; they are compared only on the kind of machine that they were recorded on, for the last digits of a
floating-point result may differ elsewhere.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import microveil as mv
from microveil.checks.tables import network, noisy
from microveil.registry import describe, find, make, names

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "releases.json"
SEED = 2**127 + 20261117
REFUSED = "refused"
BYTES = " (bytes)"  # ends the label of a case that is compared on the same kind of machine only
# releases that every attack and loss is measured on, one of each family and each way of publishing
ASSESSED = {
    "mdav": {"k": 3},
    "individual-ranking": {"k": 3},
    "projection": {},
    "mdav-generic": {"k": 3},
    "crest": {},
    "mic1d": {"kappa": 30, "clip": True},
    "rank-swapping": {"p": 5},
    "pram": {"p": 0.8},
    "noise": {},
    "recode": {"k": 2, "leave": 0.5},
    "suppress": {"k": 2, "most_values": 1000},
    "mondrian": {"k": 3},
    "rounding": {},
    "synthetic": {},
}
ATTACKED = ("mdav", "mdav-generic", "rank-swapping", "pram", "mondrian")


SENSITIVE = ("restore", "regression", "matrix-discrepancy", "synthetic model=")


def machine() -> dict[str, str]:
    """What the last bits of a floating-point result depend on."""
    import numba

    libraries = np.show_config(mode="dicts")
    blas = libraries["Build Dependencies"]["blas"]
    found = libraries["SIMD Extensions"].get("found", [])
    return {
        "processor": platform.machine(),
        "extensions": " ".join(found),
        "blas": f"{blas['name']} {blas['version']}",
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def digest(found: Any) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:20]


def rounded(found: Any) -> Any:
    """The numbers of a plain result, to eight significant digits; sentences are not part of the record."""
    if isinstance(found, dict):
        return {key: rounded(value) for key, value in found.items() if not isinstance(value, str)}
    if isinstance(found, list | tuple):
        return [rounded(value) for value in found if not isinstance(value, str)]
    return float(f"{found:.8g}") + 0.0 if isinstance(found, float) else found  # no negative zero


def content(data: mv.Microdata) -> list[Any]:
    """The names and cells of a table, numbers rounded."""
    columns = {name: data.arrow(name).to_pylist() for name in data.names}
    links = [] if data.edges is None else [["edges", data.edges.source.tolist(), data.edges.target.tolist()]]
    return links + [
        [name, [rounded(cell) if isinstance(cell, float) else str(cell) for cell in cells]]
        for name, cells in columns.items()
    ]


def settings(kind: str, name: str) -> Iterator[dict[str, Any]]:
    """The quick parameters of a method, or none, and these with every other choice of one parameter."""
    quick = dict(getattr(find(kind, name), "quick", {}))
    yield quick
    for parameter in describe(kind, name)["parameters"]:
        choices = parameter.get("choices") or ([False, True] if parameter["type"] == "bool" else [])
        for choice in choices:
            if choice != quick.get(parameter["name"], parameter["default"]):
                yield {**quick, parameter["name"]: choice}


def table() -> mv.Microdata:
    return mv.datasets.survey(200, seed=11)


def edges() -> mv.Microdata:
    """A small table of awkward columns: missing cells and codes, ties, constants, one value apart, rare categories."""
    number = np.arange(30)
    cells = {
        "age": [None if i % 11 == 5 else -9 if i % 13 == 7 else 20 + int(i * 7 % 23) for i in number],
        "income": [float(i // 3) * 1000.0 - 2500.0 if i != 17 else 1e6 for i in number],
        "constant": [5.0] * 30,
        "almost": [1.0] * 29 + [2.0],
        "grade": [None if i % 9 == 4 else int(i * i % 4) + 1 for i in number],
        "job": ["cook" if i < 14 else "smith" if i < 28 else "pilot" if i < 29 else None for i in number],
        "sex": ["f" if i % 2 else "m" for i in number],
        "stratum": ["north" if i < 15 else "south" for i in number],
        "weight": [1.0 + (i % 5) for i in number],
        "ill": ["yes" if i % 3 == 0 else "no" for i in number],
        "debt": [float(i * 17 % 29) for i in number],
    }
    attributes = [
        mv.Attribute(name="age", kind="numeric", roles=("key",), missing_codes=(-9,), missing="own category"),
        mv.Attribute(name="income", kind="numeric", roles=("key",)),
        mv.Attribute(name="constant", kind="numeric", roles=("key",)),
        mv.Attribute(name="almost", kind="numeric", roles=("key",)),
        mv.Attribute(name="grade", kind="ordinal", roles=("key",), domain=(1, 2, 3, 4, 5), missing="wildcard"),
        mv.Attribute(
            name="job", kind="nominal", roles=("key",), domain=("smith", "cook", "pilot"), missing="own category"
        ),
        mv.Attribute(name="sex", kind="nominal", roles=("key",), domain=("f", "m")),
        mv.Attribute(name="stratum", kind="nominal", roles=("stratum",)),
        mv.Attribute(name="weight", kind="numeric", roles=("weight",)),
        mv.Attribute(name="ill", kind="nominal", roles=("confidential",)),
        mv.Attribute(name="debt", kind="numeric", roles=("confidential",)),
    ]
    return mv.Microdata.of(cells, schema=mv.Schema(attributes))


TABLES = {"": table, " (edges)": edges}


def released(people: mv.Microdata, name: str, parameters: dict[str, Any]) -> mv.Release:
    """The release of the keys that the method can treat; of a graph for a method that changes links."""
    method = make("method", name, parameters)
    if method.structural:
        people = linked(people)
    attributes = [key for key in people.schema.keys if people[key].kind in method.takes]
    return method.mask(people, attributes, seed=SEED)


def linked(people: mv.Microdata) -> mv.Microdata:
    """The same records as the nodes of a graph."""
    number = np.arange(3 * len(people))
    return replace(
        people, edges=mv.graphs.Edges.of(number % len(people), (number * number + 1) % len(people), len(people))
    )


def labelled(name: str, parameters: dict[str, Any]) -> str:
    return " ".join([name, *(f"{key}={value}" for key, value in sorted(parameters.items()))])


def released_by(name: str) -> Iterator[tuple[str, str]]:
    """The cases of one method, each by its content and by its bytes."""
    for suffix, made in TABLES.items():
        people = made()
        for parameters in settings("method", name):
            label = labelled(name, parameters) + suffix
            try:
                release = released(people, name, parameters)
            except mv.MicroveilError:
                yield label, REFUSED
                continue
            yield label, digest([content(release.data), release.guarantees.k])
            yield f"{label}{BYTES}", release.data.digest()[:20]


@cache
def attacked(suffix: str, name: str) -> tuple[mv.Microdata, mv.Release]:
    """A table and its release, made once for all that is measured on it."""
    people = TABLES[suffix]()
    return people, released(people, name, ASSESSED[name])


def measured_on(name: str) -> Iterator[tuple[str, str]]:
    """Every attack and loss on a release of one method."""
    for suffix, made in TABLES.items():
        people = made()
        try:
            release = released(people, name, ASSESSED[name])
            found = mv.assess(people, release, attacks="all", losses="all").to_plain()
        except mv.MicroveilError:
            yield f"{name}: refused{suffix}", REFUSED
            continue
        for part in ("headline", "score"):
            yield f"{name}: {part}{suffix}", digest(rounded(found[part]))
        for part in ("losses", "risks"):
            for label, measured in sorted(found[part].items()):
                yield f"{name}: {label}{suffix}", digest(rounded(measured))


@cache
def graph_releases() -> dict[str, tuple[mv.Microdata, mv.Release]]:
    """A network with profiles masked, generalised, or masked while links were moved, for measures of graphs."""
    people = network()
    masked = released(people, "mdav-generic", {"k": 3})
    coarse = make("method", "recode", {"by": "hierarchy", "level": 1, "publish": "label"}).mask(people, ["town"])
    moved = replace(masked, data=replace(masked.data, edges=noisy(people, ()).edges))
    made = {"mdav-generic": masked, "recode": coarse, "moved links": moved}
    return {f"{label} of network": (people, release) for label, release in made.items()}


def measured_by(kind: str, name: str) -> Iterator[tuple[str, str]]:
    """One attack or loss with every choice of its parameters."""
    if find(kind, name).of_graph:
        for parameters in settings(kind, name):
            for on, (people, release) in graph_releases().items():
                measure = make(kind, name, parameters)
                found = measure.assess(people, release) if kind == "attack" else measure.measure(people, release)
                yield f"{labelled(name, parameters)} on {on}", digest(rounded(found.to_plain()))
        return
    for suffix in TABLES:
        for parameters in settings(kind, name):
            for made in ATTACKED:
                people, release = attacked(suffix, made)
                label = f"{labelled(name, parameters)} on {made}{suffix}"
                try:
                    measure = make(kind, name, parameters)
                    found = measure.assess(people, release) if kind == "attack" else measure.measure(people, release)
                except mv.MicroveilError:
                    yield label, REFUSED
                    continue
                yield label, digest(rounded(found.to_plain()))


def written() -> Iterator[tuple[str, str]]:
    """The bytes of written files, and what is read back."""
    people = table()
    release = released(people, "mdav", {"k": 3})
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("csv", "parquet", "xlsx", "sav", "dta"):
            path = Path(folder) / f"release.{ending}"
            mv.write(release, path)
            if ending == "csv":
                yield f"csv file{BYTES}", hashlib.sha256(path.read_bytes()).hexdigest()[:20]
            yield f"read back from {ending}", digest(content(mv.read(path)))


def cases() -> dict[str, str]:
    found = dict(written())
    for name in names("method"):
        found.update(released_by(name))
    for name in ASSESSED:
        found.update(measured_on(name))
    for kind in ("attack", "loss"):
        for name in names(kind):
            found.update(measured_by(kind, name))
    return found


def differences(recorded: dict[str, str], found: dict[str, str], *, exact: bool) -> list[str]:
    """The cases that came out differently, are gone or are new; without `exact`, bytes do not count, nor do the values
    of cases in which small differences grow."""
    labels = [label for label in sorted(recorded | found) if exact or not label.endswith(BYTES)]
    differing = [label for label in labels if recorded.get(label) != found.get(label)]
    return [label for label in differing if exact or not (label in recorded and label in found and _grows(label))]


def _grows(label: str) -> bool:
    """Whether the last bits of a processor show in eight digits: where equations are solved that hardly have a
    solution, or drawn values fall just on one side of a bound."""
    return any(word in label for word in SENSITIVE)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="record what comes out now")
    parser.add_argument("--record", type=Path, default=RECORDED, help="where the record lies")
    asked = parser.parse_args()
    found = cases()
    if asked.write:
        record = {"machine": machine(), "cases": found}
        asked.record.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{len(found)} cases recorded")
        return
    recorded = json.loads(asked.record.read_text(encoding="utf-8"))
    exact = recorded["machine"] == machine()
    if not exact:
        print("note: the record was made on another kind of machine, so bytes are not compared")
    changed = differences(recorded["cases"], found, exact=exact)
    print(*changed, f"{len(found)} cases, {len(changed)} differ", sep="\n")
    sys.exit(bool(changed))


if __name__ == "__main__":
    main()
