"""Controls of inference: components that refuse questions, change answers or take the place of the data."""

from __future__ import annotations

import shlex
from typing import Any

from microveil.entries import offer
from microveil.errors import ParameterError
from microveil.queries.controls.base import Asked, Control, Guard

__all__ = ["Asked", "Control", "Guard", "control_of"]


def control_of(given: Control | str | Any) -> Control:
    """A control as it is given: itself, or a text such as "set-size k=5" or "access where='age >= 18'"."""
    from microveil.registry import make

    if isinstance(given, Control):
        return given
    if not isinstance(given, str):
        raise ParameterError(f"a control is a component or a text such as 'set-size k=5', not {type(given).__name__}")
    try:
        words = shlex.split(given)
    except ValueError:
        raise ParameterError("a control has a quotation mark that is not closed") from None
    settings = [word.partition("=") for word in words[1:]]
    if not words or not all(equals and name for name, equals, _ in settings):
        raise ParameterError(f"a control is a name and its parameters, such as 'set-size k=5', not '{given}'")
    made: Control = make("control", words[0], {name: value for name, _, value in settings}, text=True)
    return made


__getattr__, __dir__ = offer(globals())
