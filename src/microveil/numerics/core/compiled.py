"""How kernels are compiled: once after an install, then from the cache on disk; a missing cache is no error."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import numba
from numba.core import event, types
from numba.extending import overload

from microveil.progress import Progress

logger = logging.getLogger(__name__)
Function = TypeVar("Function", bound=Callable[..., Any])
Item = TypeVar("Item")
Result = TypeVar("Result")


def kernel(function: Function) -> Function:
    """Compile a function with numba on its first call; threads may run it side by side.

    An unwritable cache folder only means that it is compiled again in the next run.
    """
    try:
        compiled = numba.njit(cache=True, nogil=True)(function)
    except (RuntimeError, OSError):
        logger.debug("no writable cache folder: %s is compiled in every run", function.__name__)
        compiled = numba.njit(nogil=True)(function)
    _compile_for_fewer_types(compiled)
    _compile_anew_what_cannot_be_loaded(compiled)
    return cast(Function, compiled)


def _compile_for_fewer_types(compiled: Any) -> None:
    """Let a kernel that other kernels call be compiled once for all whole numbers and once for all constants of a type.

    Otherwise it is compiled for every constant that it is called with, even where a loop then changes the variable, and
    for short whole numbers as well as for long ones, which are calculated with in the same way.
    """
    template_for = compiled.get_call_template

    def get_call_template(args: Iterable[Any], kws: Mapping[str, Any]) -> Any:
        return template_for([_general(one) for one in args], {name: _general(one) for name, one in kws.items()})

    compiled.get_call_template = get_call_template


def _compile_anew_what_cannot_be_loaded(compiled: Any) -> None:
    """Let a cache that another version left, which may name classes that there are no longer, count as missing."""
    cache = compiled._cache
    load = cache.load_overload

    def load_overload(signature: Any, context: Any) -> Any:
        try:
            return load(signature, context)
        except Exception:  # whatever unpickling may raise
            logger.debug("the cache of %s cannot be read: it is compiled anew", compiled.__name__)
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


def by_type(functions: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
    """One function for several classes of NamedTuples: the one that belongs to the class of its first argument.

    Kernels may call it too, if the functions are kernels; which one is meant is known when they are compiled.
    """

    def called(first: Any, *others: Any) -> Any:
        return functions[type(first)](first, *others)

    @overload(called, strict=False)  # strict would compare annotations, which a lambda cannot have
    def compiled(first: Any, *others: Any) -> Callable[..., Any]:
        function = functions[first.instance_class]
        return lambda first, *others: function(first, *others)

    return called


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


def threads() -> int:
    """How many threads kernels may use: MICROVEIL_THREADS, else all processors. Results do not depend on it."""
    wanted = os.environ.get("MICROVEIL_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def over_chunks(
    work: Callable[[int, int], Result], size: int, chunk: int, progress: Progress, label: str
) -> list[Result]:
    """Run `work(start, end)` for consecutive chunks on all threads; results come in the order of the chunks."""
    starts = range(0, size, max(1, chunk))
    bounds = [(start, min(size, start + chunk)) for start in starts]
    return list(_in_order(bounds, lambda b: work(*b), progress, label))


def _in_order(items: list[Item], work: Callable[[Item], Result], progress: Progress, label: str) -> Iterable[Result]:
    if len(items) == 1:
        yield work(items[0])
        progress(1.0, label)
        return
    with ThreadPoolExecutor(max_workers=threads()) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for done, future in enumerate(futures, start=1):
                yield future.result()
                progress(done / len(futures), label)
        finally:
            for future in futures:
                future.cancel()
