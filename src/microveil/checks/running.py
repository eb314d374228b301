"""All checks of a class, one after the other or each by itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from microveil.attacks import Attack
from microveil.checks import attacks, controls, declarations, losses, measures, methods
from microveil.entries import ENTRIES, Kind
from microveil.errors import ParameterError, UnknownNameError
from microveil.losses import LossMeasure
from microveil.masking import Method
from microveil.parameters import Parameterised
from microveil.queries.controls import Control
from microveil.scoring import ScoreRule

Check = Callable[[Any], None]
# every public function of these modules is a check
_MODULES: dict[str, tuple[ModuleType, ...]] = {
    "method": (declarations, methods),
    "attack": (declarations, measures, attacks),
    "loss": (declarations, measures, losses),
    "score": (declarations,),
    "control": (declarations, controls),
}
_BASES: dict[str, type[Parameterised]] = {
    "method": Method,
    "attack": Attack,
    "loss": LossMeasure,
    "score": ScoreRule,
    "control": Control,
}


def check_method(cls: type[Method]) -> None:
    """Run every check of a method; what fails is told together, in one AssertionError."""
    _check("method", cls)


def check_attack(cls: type[Attack]) -> None:
    """Run every check of an attack."""
    _check("attack", cls)


def check_loss(cls: type[LossMeasure]) -> None:
    """Run every check of a loss."""
    _check("loss", cls)


def check_score(cls: type[ScoreRule]) -> None:
    """Run every check of a score rule."""
    _check("score", cls)


def check_control(cls: type[Control]) -> None:
    """Run every check of a control."""
    _check("control", cls)


def checks_of(kind: Kind, cls: type[Parameterised]) -> Iterator[tuple[str, Callable[[], None]]]:
    """The checks of a class, each with its name; called without arguments, it passes or raises an AssertionError.

    >>> from microveil.losses import SSE
    >>> checks = dict(checks_of("loss", SSE))
    >>> checks["values_are_percentages"]()
    """
    if kind not in ENTRIES:
        raise UnknownNameError("kind of entry", kind, ENTRIES)
    if not (isinstance(cls, type) and issubclass(cls, _BASES[kind])):
        raise ParameterError(f"the checks of a {kind} take a class of {_BASES[kind].__name__}s")
    for module in _MODULES[kind]:
        for name, check in vars(module).items():
            if inspect.isfunction(check) and check.__module__ == module.__name__ and not name.startswith("_"):
                yield name, _telling(check, cls)


def _telling(check: Check, cls: type[Parameterised]) -> Callable[[], None]:
    """The check of one class, whose failure says what was checked."""
    what = f"{getattr(cls, 'name', cls.__name__)}: {check.__name__.replace('_', ' ')}"

    def run() -> None:
        try:
            check(cls)
        except AssertionError as failure:
            raise AssertionError(f"{what}: {failure}") from failure
        except Exception as problem:
            raise AssertionError(f"{what}: {type(problem).__name__}: {problem}") from problem

    return run


def _check(kind: Kind, cls: type[Parameterised]) -> None:
    failures = []
    for _, check in checks_of(kind, cls):
        try:
            check()
        except AssertionError as failure:
            failures.append(str(failure))
    if failures:
        raise AssertionError("\n".join(failures))
