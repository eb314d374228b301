"""A Bayesian sampler for comparison: the tree-structured Parzen estimator of Bergstra et al. (2011), for several
objectives as Ozaki et al. (2022) have it, from the package optuna.

A pipeline is described by its number of steps and, for each of them, by the attributes (all, the numbers or the
categories), the method and its parameters. Single attributes are not left out: a description with a yes or no for each
attribute of each step has too many dimensions for some hundred evaluations.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from microveil.errors import ParameterError
from microveil.masking import Step
from microveil.masking.ranges import Interval, OneOf
from microveil.search.samplers import TRIES, Point, Sampler
from microveil.search.space import LONGEST, Pipeline, Space, key_of

_ALL, _NUMBERS, _CATEGORIES = "all", "numbers", "categories"
_WORST = 100.0  # per cent of loss and of risk, to which the shortfall of what is required is added


class BayesSampler(Sampler):
    """Models which descriptions of pipelines were good and which were not, and asks for those that are likelier among
    the good ones. It begins with a good plan of every method."""

    def __init__(self, space: Space, rng: np.random.Generator, risk_below: float | None = None) -> None:
        super().__init__(space, rng, risk_below)
        optuna = _optuna()
        estimator = optuna.samplers.TPESampler(n_startup_trials=len(space.methods), seed=int(rng.integers(2**31)))
        self.failed = optuna.trial.TrialState.FAIL
        self.study = optuna.create_study(directions=["minimize", "minimize"], sampler=estimator)
        self.under_way: dict[str, Any] = {}
        for start in space.starts()[: len(space.methods)]:
            self.study.enqueue_trial(self._description(start))

    def ask(self, count: int) -> list[Pipeline]:
        asked: list[Pipeline] = []
        for _ in range(count):
            for _ in range(TRIES):
                trial = self.study.ask()
                pipeline = self._described(trial)
                if (key := key_of(pipeline)) not in self.seen:
                    self.seen.add(key)
                    self.under_way[key] = trial
                    asked.append(pipeline)
                    break
                self.study.tell(trial, state=self.failed)
            else:
                asked += super().ask(1)
        return asked

    def _next(self) -> Pipeline:
        return self.space.drawn(self.rng)

    def tell(self, points: Sequence[Point]) -> None:
        for point in points:
            trial = self.under_way.pop(key_of(point.pipeline), None)
            if trial is None:
                continue
            if not isfinite(point.violation):
                self.study.tell(trial, state=self.failed)
            elif point.is_feasible:
                self.study.tell(trial, [point.loss, point.risk])
            else:
                self.study.tell(trial, [_WORST + point.violation, _WORST + point.violation])

    # --- pipelines and their descriptions ----------------------------------------------------------------------------

    @property
    def _blocks(self) -> dict[str, tuple[str, ...]]:
        """The attributes that a step may mask; both kinds by themselves where there are both."""
        space = self.space
        numbers = tuple(name for name in space.attributes if name not in space.categorical)
        categories = tuple(name for name in space.attributes if name in space.categorical)
        both = {_NUMBERS: numbers, _CATEGORIES: categories} if numbers and categories else {}
        able = set().union(*space.fitting.values())
        return {_ALL: space.attributes, **{name: block for name, block in both.items() if able & set(block)}}

    def _fit(self, method: str, block: str) -> tuple[str, ...]:
        return tuple(name for name in self.space.fitting[method] if name in self._blocks[block])

    def _described(self, trial: Any) -> Pipeline:
        """The pipeline of a description, which is asked for piece by piece."""
        steps = []
        for number in range(1, trial.suggest_int("steps", 1, LONGEST) + 1):
            block = trial.suggest_categorical(f"{number} attributes", list(self._blocks))
            able = [method for method in self.space.methods if self._fit(method, block)]
            method = trial.suggest_categorical(f"{number} method for {block}", able)
            parameters = {}
            for name, values in self.space.ranges(method).items():
                entry = f"{number} {method} {name}"
                if isinstance(values, Interval):
                    parameters[name] = values.at(trial.suggest_float(entry, 0.0, 1.0))
                elif isinstance(values, OneOf):
                    # by its position, for a value may be anything
                    choice = trial.suggest_categorical(entry, list(range(len(values.values))))
                    parameters[name] = values.values[choice]
            steps.append(Step(method, parameters, self._fit(method, block)))
        return self.space.complete(tuple(steps), rng=self.rng)

    def _description(self, pipeline: Pipeline) -> dict[str, Any]:
        """What is said of a good plan to start from; what is left open is drawn."""
        told: dict[str, Any] = {"steps": len(pipeline)}
        for number, step in enumerate(pipeline, start=1):
            masked = set(step.attributes or ())
            block = next((name for name in reversed(self._blocks) if set(self._fit(step.method, name)) == masked), _ALL)
            told |= {f"{number} attributes": block, f"{number} method for {block}": step.method}
            for name, values in self.space.ranges(step.method).items():
                if name in step.parameters and isinstance(values, Interval):
                    told[f"{number} {step.method} {name}"] = values.position(step.parameters[name])
        return told


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ParameterError(
            "sampler = 'bayes' needs the package optuna, which is not installed; run: pip install \"microveil[bayes]\""
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
