"""Compiling a function with numba, from the cache on disk once it is there; a missing cache is no error."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numba
from numba.core import event, types

logger = logging.getLogger(__name__)


def compiled(function: Callable[..., Any]) -> Any:
    """The function as it is compiled with its first call.

    An unwritable cache folder only means that it is compiled again in the next run.
    """
    try:
        dispatcher = numba.njit(cache=True, nogil=True)(function)
    except (RuntimeError, OSError):
        logger.debug("no writable cache folder: %s is compiled in every run", function.__name__)
        dispatcher = numba.njit(nogil=True)(function)
    _compile_for_fewer_types(dispatcher)
    _compile_anew_what_cannot_be_loaded(dispatcher)
    return dispatcher


def _compile_for_fewer_types(dispatcher: Any) -> None:
    """Let a kernel that other kernels call be compiled once for all whole numbers and once for all constants of a type.

    Otherwise it is compiled for every constant that it is called with, even where a loop then changes the variable, and
    for short whole numbers as well as for long ones, which are calculated with in the same way.
    """
    template_for = dispatcher.get_call_template

    def get_call_template(args: Iterable[Any], kws: Mapping[str, Any]) -> Any:
        return template_for([_general(one) for one in args], {name: _general(one) for name, one in kws.items()})

    dispatcher.get_call_template = get_call_template


def _compile_anew_what_cannot_be_loaded(dispatcher: Any) -> None:
    """Let a cache that another version left, which may name classes that there are no longer, count as missing."""
    cache = dispatcher._cache
    load = cache.load_overload

    def load_overload(signature: Any, context: Any) -> Any:
        try:
            return load(signature, context)
        except Exception:  # whatever unpickling may raise
            logger.debug("the cache of %s cannot be read: it is compiled anew", dispatcher.__name__)
            try:
                cache.flush()
            except OSError:
                cache.disable()
            return None

    cache.load_overload = load_overload


def _general(given: Any) -> Any:
    """The type of any value for that of a constant, and of long whole numbers for that of short ones."""
    given = types.unliteral(given)  # type: ignore[no-untyped-call]
    return types.int64 if given in types.signed_domain else given


class _Announcer(event.Listener):
    """Says once that the wait is for the compiler, which comes only with the first run after an install."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            logger.info("compiling the kernels; this happens only in the first run after an install")

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]
