"""The steps of a plan carried out once more, on what an intruder knows and with random numbers of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from microveil.errors import PluginError, UnknownNameError
from microveil.masking.base import Method
from microveil.masking.plan import Step
from microveil.masking.release import Release
from microveil.microdata import Microdata
from microveil.parameters import component_parameters
from microveil.plugins import loaded
from microveil.progress import Progress, parts, silent


def method_of(step: Step) -> Method:
    """The method of a step with its parameters.

    >>> method_of(Step("mdav", {"k": 5})).k
    5
    """
    cls = loaded("method", step.method)
    given = dict(step.parameters)
    for name in component_parameters(cls):
        inside = given.get(name)
        if isinstance(inside, Mapping):
            rest: dict[str, Any] = dict(inside)
            given[name] = method_of(Step(str(rest.pop("name")), rest))
    made: Method = cls(**given)
    return made


def class_of(step: Step) -> type[Method] | None:
    """The class of a step's method; none where its package is not installed or cannot be used."""
    try:
        found = loaded("method", step.method)
    except (UnknownNameError, PluginError):
        return None
    return found if isinstance(found, type) and issubclass(found, Method) else None


def changes_values(step: Step) -> bool:
    """Whether released records may hold other values after a step; of an unknown method it is not ruled out.

    >>> changes_values(Step("mdav", {"k": 5})), changes_values(Step("sampling", {}))
    (True, False)
    """
    cls = class_of(step)
    return cls is None or cls.changes_values


def replayed(
    table: Microdata,
    work: Sequence[tuple[Method, tuple[str, ...]]],
    seed: int,
    progress: Progress = silent,
) -> Microdata:
    """The table after these methods, each on some of its attributes, as a table.

    >>> from microveil.masking.microaggregation.mdav import MDAV
    >>> replayed(Microdata.of({"age": [20, 22, 41, 43]}), [(MDAV(k=2), ("age",))], seed=1).frame.to_native()["age"]
    ... # doctest: +ELLIPSIS
    <pyarrow...
    """
    masked = released_again(table, work, seed, progress)
    return masked.data if isinstance(masked, Release) else masked


def released_again(
    table: Microdata, work: Sequence[tuple[Method, tuple[str, ...]]], seed: int, progress: Progress = silent
) -> Microdata | Release:
    """The same with its provenance, but for what methods only tell; the table itself without any method."""
    masked: Microdata | Release = table
    for (method, attributes), part in zip(work, parts(progress, len(work)), strict=True):
        masked = method.telling_nothing.mask(masked, attributes, seed=seed, original=table, progress=part)
    return masked
