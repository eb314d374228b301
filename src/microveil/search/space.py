"""The pipelines that a search can try on a table: methods in some order, each with its attributes and parameters.

A pipeline is a tuple of steps with the parameters that are searched; the others stay as they usually are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from microveil.errors import DataError, ParameterError, UnknownNameError, brief
from microveil.masking import Method, Step
from microveil.masking.ranges import Interval, OneOf, Range
from microveil.microdata import Microdata
from microveil.microdata.microdata import as_microdata, resolve_attributes
from microveil.microdata.schema import CATEGORICAL, KINDS
from microveil.parameters import shown
from microveil.registry import find, make, names
from microveil.study import Candidate

Pipeline = tuple[Step, ...]

LONGEST = 3  # steps of a pipeline
_STRENGTHS = (0.3, 0.5, 0.15, 0.7, 0.9)  # where in the range of a parameter plans to start from lie
_ALONE, _BY_KIND = 0.3, 0.5  # shares of drawn pipelines with one step, and with a step for each kind of attributes
_ANOTHER_STEP = 0.2  # share of drawn pipelines with one step more
_BESIDE = "pram"  # what masks the categories beside a method for numbers
_CHANGES = {"parameter": 0.6, "attributes": 0.12, "method": 0.12, "add": 0.06, "drop": 0.06, "order": 0.04}
# of a table with numbers and categories: a step for both may become one for each
_CHANGES_OF_MIXED = {**_CHANGES, "parameter": 0.45, "by kind": 0.15}


@dataclass(frozen=True)
class Space:
    """What can be tried: `attributes` are those to mask, `methods` those to choose from; every pipeline has those of
    `insisted`. `fitting` are, for each method, the attributes that it can mask."""

    attributes: tuple[str, ...]
    categorical: frozenset[str]
    methods: tuple[str, ...]
    insisted: tuple[str, ...]
    fitting: dict[str, tuple[str, ...]]
    records: int

    @classmethod
    def of(
        cls,
        table: Microdata,
        attributes: Sequence[str],
        *,
        only: Iterable[str] = (),
        without: Iterable[str] = (),
        insist: Iterable[str] = (),
    ) -> Space:
        """The pipelines that mask some attributes of a table by all methods that declare what of them is searched, or
        by those in `only`, but for those in `without`; each pipeline has those of `insist`."""
        only, without, insist = tuple(only), tuple(without), tuple(insist)
        for name in (*only, *without, *insist):
            if name not in names("method"):
                raise UnknownNameError("method", name, names("method"))
        both = next((name for name in insist if name in without), None)
        if both is not None:
            raise ParameterError(f"the search is told both to use {both} and to do without it")
        listed = only or tuple(name for name in names("method") if find("method", name).searched)
        listed = tuple(dict.fromkeys((*insist, *listed)))
        fitting = {name: _fitting(table, attributes, name) for name in listed if name not in without}
        misfit = next((name for name in insist if not fitting[name]), None)
        if misfit is not None:
            raise DataError(f"the search is told to use {misfit}, which can mask none of {', '.join(attributes)}")
        usable = {name: found for name, found in fitting.items() if found}
        if not usable:
            raise DataError(f"there is no method left that can mask {', '.join(attributes)}")
        categorical = frozenset(name for name in attributes if table[name].kind in CATEGORICAL)
        return cls(tuple(attributes), categorical, tuple(usable), insist, usable, len(table))

    # --- whole pipelines ---------------------------------------------------------------------------------------------

    def starts(self, strengths: Sequence[float] = _STRENGTHS) -> list[Pipeline]:
        """Good plans to start from: every method at several strengths on all attributes it can mask, one
        strength of all methods after the other, with PRAM on the categories that a method for numbers leaves."""
        found = []
        for strength in strengths:
            for method in self.methods:
                attributes = self.fitting[method]
                step = self._step(method, attributes, strength)
                left = tuple(name for name in self.fitting.get(_BESIDE, ()) if name not in attributes)
                beside = (self._step(_BESIDE, left, 1.0 - strength),) if left and method != _BESIDE else ()
                found.append(self.complete((step, *beside), strength))
        return list({key_of(pipeline): pipeline for pipeline in found}.values())

    def ends(self) -> list[Pipeline]:
        """Every method at the weakest and at the strongest: the least groups, say, are where a method loses least, and
        a draw from a long range seldom hits its end."""
        return self.starts((0.0, 1.0))

    def choices(self) -> list[Pipeline]:
        """The good plans of the first strength with each other choice of what is no number, such as the form of noise:
        no strength leads from one to the other."""
        found = []
        for pipeline in self.starts()[: len(self.methods)]:
            step = pipeline[0]
            usual = make("method", step.method, step.parameters).parameters()
            for name, values in self.ranges(step.method).items():
                others = values.values if isinstance(values, OneOf) else ()
                for value in others:
                    if value != usual[name]:
                        other = replace(step, parameters={**step.parameters, name: value})
                        found.append((other, *pipeline[1:]))
        return found

    def drawn(self, rng: np.random.Generator) -> Pipeline:
        """Any pipeline: one step for all attributes, one for each kind, or several for any of them."""
        share = rng.random()
        numeric = tuple(name for name in self.attributes if name not in self.categorical)
        categorical = tuple(name for name in self.attributes if name in self.categorical)
        if share < _ALONE or not (numeric and categorical):
            blocks = [self.attributes]
        elif share < _ALONE + _BY_KIND:
            blocks = [numeric, categorical]
        else:
            blocks = [self._some(self.attributes, rng) for _ in range(rng.integers(1, LONGEST + 1))]
        blocks += [self._some(self.attributes, rng)] * (rng.random() < _ANOTHER_STEP)
        steps = [step for block in blocks if (step := self._drawn_step(block, rng)) is not None]
        if not steps:
            method = self.methods[rng.integers(len(self.methods))]
            steps = [self._drawn_with(method, self.fitting[method], rng)]
        return self.complete(tuple(steps[:LONGEST]), rng=rng)

    def varied(self, pipeline: Pipeline, rng: np.random.Generator) -> Pipeline:
        """A pipeline near to this one: a parameter, an attribute, a method, a step or the order is another, or numbers
        and categories that one step masked are masked by two."""
        changes = _CHANGES_OF_MIXED if self.is_mixed else _CHANGES
        change = str(rng.choice(list(changes), p=list(changes.values())))
        at = int(rng.integers(len(pipeline)))
        step, rest = pipeline[at], (*pipeline[:at], *pipeline[at + 1 :])
        if change == "add" and len(pipeline) < LONGEST:
            added = self._drawn_step(self._some(self.attributes, rng), rng)
            index = int(rng.integers(len(pipeline) + 1))
            made = pipeline if added is None else (*pipeline[:index], added, *pipeline[index:])
        elif change == "drop" and rest:
            made = rest
        elif change == "order" and rest:
            index = int(rng.integers(len(pipeline)))
            made = (*rest[:index], step, *rest[index:])
        elif change == "by kind" and len(pipeline) < LONGEST and len(parts := self._by_kind(step)) == 2:
            kept = int(rng.integers(2))
            other = self._drawn_step(parts[1 - kept].attributes or (), rng)
            made = (*pipeline[:at], *((parts[kept],) if other is None else (parts[kept], other)), *pipeline[at + 1 :])
        elif change == "attributes" and len(self.fitting[step.method]) > 1:
            made = (*pipeline[:at], self._other_attributes(step, rng), *pipeline[at + 1 :])
        elif change == "method":
            other = self._drawn_step(step.attributes or (), rng)
            made = pipeline if other is None else (*pipeline[:at], other, *pipeline[at + 1 :])
        else:
            made = (*pipeline[:at], self._other_parameter(step, rng), *pipeline[at + 1 :])
        return self.complete(made, rng=rng)

    def crossed(self, one: Pipeline, other: Pipeline, rng: np.random.Generator) -> Pipeline:
        """What one pipeline does to the categories and another to the numbers; or the first steps of one and the last
        of the other."""
        if self.is_mixed and rng.random() < 0.5:
            kept = [part for step in one for part in self._by_kind(step) if self._is_of_categories(part)]
            taken = [part for step in other for part in self._by_kind(step) if not self._is_of_categories(part)]
            made = (*taken[: max(1, LONGEST - len(kept))], *kept) or one
        else:
            first, last = (int(rng.integers(1, len(parent) + 1)) for parent in (one, other))
            made = (*one[:first], *other[len(other) - last :])
        return self.complete(made[:LONGEST], rng=rng)

    @property
    def is_mixed(self) -> bool:
        """Whether there are numbers and categories."""
        return 0 < len(self.categorical) < len(self.attributes)

    # --- single steps ------------------------------------------------------------------------------------------------

    def ranges(self, method: str) -> dict[str, Range]:
        """The ranges of its parameters on this table."""
        return {name: values.among(self.records) for name, values in find("method", method).searched.items()}

    def _step(self, method: str, attributes: tuple[str, ...], strength: float) -> Step:
        """A step whose first parameter lies so far in its range, from 0 to 1; the others are the usual ones, or the
        least where these are unset, for what a method then chooses by itself may take long."""
        parameters = {}
        usual = make("method", method).parameters()
        for position, (name, values) in enumerate(self.ranges(method).items()):
            if isinstance(values, Interval) and (position == 0 or usual[name] is None):
                parameters[name] = values.spread(21)[round(20 * strength) if position == 0 else 0]
        return Step(method, parameters, attributes)

    def _drawn_step(self, attributes: tuple[str, ...], rng: np.random.Generator) -> Step | None:
        """A step that masks those of some attributes that its method can."""
        able = [name for name in self.methods if set(self.fitting[name]) & set(attributes)]
        if not able:
            return None
        method = able[rng.integers(len(able))]
        fit = tuple(name for name in self.fitting[method] if name in attributes)
        return self._drawn_with(method, fit, rng)

    def _drawn_with(self, method: str, attributes: tuple[str, ...], rng: np.random.Generator) -> Step:
        return Step(method, {n: values.drawn(rng) for n, values in self.ranges(method).items()}, attributes)

    def _other_parameter(self, step: Step, rng: np.random.Generator) -> Step:
        searched = self.ranges(step.method)
        if not searched:
            return step
        name = list(searched)[rng.integers(len(searched))]
        usual = make("method", step.method, step.parameters).parameters()
        value = step.parameters.get(name, usual[name])
        values = searched[name]
        other = values.drawn(rng) if value is None else values.near(value, rng)
        return replace(step, parameters={**step.parameters, name: other})

    def _other_attributes(self, step: Step, rng: np.random.Generator) -> Step:
        """One attribute more or less, but never none."""
        fit, held = self.fitting[step.method], set(step.attributes or ())
        changed = held ^ {fit[rng.integers(len(fit))]}
        return replace(step, attributes=tuple(name for name in fit if name in (changed or held)))

    def _by_kind(self, step: Step) -> list[Step]:
        """The step on its numbers and on its categories; itself where it masks one kind alone."""
        masked = step.attributes or ()
        numbers = tuple(name for name in masked if name not in self.categorical)
        categories = tuple(name for name in masked if name in self.categorical)
        return [replace(step, attributes=kind) for kind in (numbers, categories) if kind]

    def _is_of_categories(self, step: Step) -> bool:
        return set(step.attributes or ()) <= self.categorical

    def _some(self, attributes: tuple[str, ...], rng: np.random.Generator) -> tuple[str, ...]:
        """Some attributes: each with probability one half, at least one."""
        chosen = rng.random(len(attributes)) < 0.5
        chosen[rng.integers(len(attributes))] = True
        return tuple(name for name, is_chosen in zip(attributes, chosen, strict=True) if is_chosen)

    def complete(self, steps: Pipeline, strength: float = 0.5, rng: np.random.Generator | None = None) -> Pipeline:
        """With a step of every method that the user insists on, and no step that repeats the one before it."""
        held = [step.method for step in steps]
        for method in self.insisted:
            if method not in held:
                fit = self.fitting[method]
                added = self._step(method, fit, strength) if rng is None else self._drawn_with(method, fit, rng)
                steps = (*steps, added)
        return tuple(step for before, step in zip((None, *steps), steps, strict=False) if step != before)

    # --- candidates --------------------------------------------------------------------------------------------------

    def candidate(self, pipeline: Pipeline) -> Candidate:
        """The pipeline as a study knows it, with all parameters."""
        steps = tuple(
            replace(step, parameters=make("method", step.method, step.parameters).parameters()) for step in pipeline
        )
        return Candidate("; ".join(map(self._words, pipeline)), steps)

    def _words(self, step: Step) -> str:
        told = " ".join([step.method, *(f"{name}={shown(value)}" for name, value in step.parameters.items())])
        masked, fit = set(step.attributes or ()), self.fitting[step.method]
        if masked == set(fit):
            return told
        left = [name for name in fit if name not in masked]
        if len(left) < len(masked):
            return f"{told} (all but {', '.join(left)})"
        return f"{told} ({', '.join(step.attributes or ())})"


def good_plans(
    data: Any, attributes: Sequence[str] | None = None, *, methods: Iterable[str] = (), strengths: int = 3
) -> list[Candidate]:
    """Good plans to begin with, such as for a study: every method, or those named, at several strengths on all
    attributes it can mask, with PRAM on the categories that a method for numbers leaves.

    >>> people = Microdata.of({"age": [20, 22, 41, 43, 61, 65, 30, 33], "job": list("abcabcab")}, keys=["age", "job"])
    >>> [plan.label for plan in good_plans(people, methods=["mdav"], strengths=2)]
    ['mdav k=2; pram p=0.701', 'mdav k=3; pram p=0.515']
    """
    if isinstance(strengths, bool) or not isinstance(strengths, int) or not 1 <= strengths <= len(_STRENGTHS):
        raise ParameterError(f"strengths = {brief(strengths)} is not allowed; it must be from 1 to {len(_STRENGTHS)}")
    table, named = as_microdata(data), tuple(methods)
    beside = (_BESIDE,) if named else ()
    space = Space.of(table, resolve_attributes(table, attributes, KINDS, "a plan"), only=(*named, *beside))
    listed = space.starts(sorted(_STRENGTHS[:strengths]))
    return [space.candidate(pipeline) for pipeline in listed if not named or pipeline[0].method in named]


def key_of(pipeline: Pipeline) -> str:
    """What sets a pipeline apart from all others."""
    return json.dumps([step.to_plain() for step in pipeline], sort_keys=True, default=str)


def _fitting(table: Microdata, attributes: Sequence[str], method: str) -> tuple[str, ...]:
    """The attributes that a method can mask."""
    cls: type[Method] = find("method", method)
    return tuple(name for name in attributes if cls.suits(table, name))
