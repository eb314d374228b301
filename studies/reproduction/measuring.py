"""What the tables share: methods and attacks by their names, tables as numbers, and the measures of the two theses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.losses.base import Loss
from microveil.masking import Method, Release
from microveil.microdata import Attribute, Microdata, Schema, datasets
from microveil.microdata.datasets.selections import load_selection
from microveil.microdata.schema import Kind
from microveil.registry import make
from microveil.typing import FloatArray

PLD_RULE = (
    "PLD lets numbers agree within tolerances: of two rules compared with ten printed values before the run this came "
    "nearer in most, so that PLD is fitted to print and no independent check"
)


def method(name: str, **parameters: Any) -> Method:
    """
    >>> method("mdav", k=5).parameters()["k"]
    5
    """
    made: Method = make("method", name, parameters)
    return made


def attack(name: str, **parameters: Any) -> Attack:
    made: Attack = make("attack", name, parameters)
    return made


def loss(
    name: str, data: Microdata, release: Release | Microdata, attributes: Sequence[str] | None = None, **set_to: Any
) -> Loss:
    measured: Loss = make("loss", name, set_to).measure(data, release, attributes)
    return measured


@cache
def table(name: str) -> Microdata:
    """A table as experiments used it: Census in the order of the source's list, or, if so named, of the file."""
    return datasets.load("census") if name == "census, file order" else load_selection(name)


def matrix(data: Microdata) -> FloatArray:
    return data.matrix(data.names)


def releases(data: Microdata, made: Method, repeats: int) -> list[Release]:
    """So many releases of all attributes, by the seeds 1, 2, ..."""
    return [made.mask(data, data.names, seed=seed) for seed in range(1, repeats + 1)]


def share_lost(data: Microdata, made: Method, attributes: Sequence[str] | None = None) -> float:
    """100 SSE / SST of a release made of these attributes (all, by default) with the seed 1."""
    names = data.names if attributes is None else attributes
    return loss("sse", data, made.mask(data, names, seed=1), names).value


def information_loss(data: Microdata, release: Release) -> float:
    """IL: the plain mean of IL1 to IL5, which a bound of 100 for each part would hide."""
    return float(loss("il", data, release).raw)


def interval_disclosure(data: Microdata, release: Release) -> float:
    """ID by windows of 1 to 10 per cent of the ranks."""
    return attack("interval-disclosure", window="rank-difference", counted="all").assess(data, release).value


def risks(made: Attack, data: Microdata, release: Any, knowledge: Sequence[Sequence[str]]) -> list[Risk]:
    """The risk for each set of attributes that the intruder may know."""
    return [made.assess(data, release, known) for known in knowledge]


def linked(
    made: Attack, data: Microdata, release: Any, knowledge: Sequence[Sequence[str]], counter: str = "expected"
) -> float:
    """The mean share of right links over what the intruder may know, in per cent, by one way of counting."""
    return float(np.mean([risk.counters[counter] for risk in risks(made, data, release, knowledge)]))


def judged_by_agreement() -> Attack:
    """Probabilistic linkage as PLD needs it. The sources do not say when numbers agree; see `PLD_RULE`."""
    return attack("probabilistic-linkage")


def right_links(
    made: Attack, data: Microdata, released: Sequence[Release], known: int, counter: str = "expected"
) -> float:
    """The mean number of right links with the first attributes known."""
    shares = [made.assess(data, release, data.names[:known]).counters[counter] for release in released]
    return float(np.mean(shares)) * len(data) / 100


def with_one_more(data: Microdata, kind: Kind) -> Microdata:
    """The same table, each domain with the extra category that the categorical experiments count."""
    attributes = []
    for name in data.names:
        found = sorted(set(data.arrow(name).to_pylist()))
        attributes.append(Attribute(name=name, kind=kind, roles=("key",), domain=(*found, ".")))
    return data.with_schema(Schema(attributes))


def categorical_loss(data: Microdata, release: Release | Microdata) -> float:
    """IL by the conventions that fit the printed tables: one-way tables, changed cells, and entropy."""
    tables = loss("ctbil", data, release, dimension=1).value
    changed = loss("dbil", data, release, ordinal_distance="nominal").value
    return (tables + changed + loss("ebil", data, release).value) / 3
