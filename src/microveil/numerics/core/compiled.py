"""How kernels are run: compiled, once after an install and then from the cache on disk, or interpreted where that is
sooner done; and on how many threads.

Numba takes longer to import, and to load a first kernel from the cache, than a short table takes to be masked by the
plain functions that kernels are. So it is imported with the first call that is to be compiled (`compiler`).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType
from typing import Any, TypeVar, cast, overload

import numpy as np

from microveil.progress import Progress

Function = TypeVar("Function", bound=Callable[..., Any])
Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST_STEPS = 6_000_000  # that a process interprets, each of a tenth of a microsecond; loading numba takes as long


@overload
def kernel(function: Function) -> Function: ...


@overload
def kernel(*, steps: Callable[..., int]) -> Callable[[Function], Function]: ...


def kernel(
    function: Function | None = None, *, steps: Callable[..., int] | None = None
) -> Function | Callable[[Function], Function]:
    """Compile a function with numba on its first call; threads may run it side by side.

    With `steps`, which tells of the same arguments about how many tenths of a microsecond Python would take, it is
    interpreted as long as all that a process interprets is sooner done than numba is loaded. That must not show in the
    result, so the function, and all that it calls, does nothing that Python and numba do differently: no power but by
    multiplication, no sum over an array of floats, no transcendental function, no whole number beyond 64 bits or below
    0 without a sign, nothing beyond the end of an array, no division by zero. `tests/numerics/core/test_interpreted.py`
    compares the two.
    """
    if function is None:
        return cast(Callable[[Function], Function], lambda function: _Kernel(function, steps))
    return cast(Function, _Kernel(function, steps))


class _Kernel:
    """A function that is compiled when it is first needed so, by a call or by another kernel that is compiled."""

    __name__: str

    def __init__(self, function: Callable[..., Any], steps: Callable[..., int] | None) -> None:
        functools.update_wrapper(self, function)
        self._function, self._steps = function, steps

    def __call__(self, *given: Any, **named: Any) -> Any:
        if self._sooner_interpreted(given, named):
            with np.errstate(all="ignore"):  # of which compiled kernels say nothing
                return _as_of_numba(self.interpreted(*given, **named))
        return self.compiled(*given, **named)

    def _sooner_interpreted(self, given: tuple[Any, ...], named: dict[str, Any]) -> bool:
        if self._steps is None or "compiled" in self.__dict__:
            return False
        return allowance.covers(self._steps(*given, **named))

    @functools.cached_property
    def compiled(self) -> Any:
        from microveil.numerics.core.compiler import compiled

        return self.__dict__.setdefault("compiled", compiled(self._function))  # of threads that come at once, the first

    @property
    def _numba_type_(self) -> Any:
        """What numba asks for when it compiles a function that names this one."""
        return self.compiled._numba_type_

    @functools.cached_property
    def interpreted(self) -> Callable[..., Any]:
        """The function itself, with the kernels that it calls interpreted as well."""
        function = cast(FunctionType, self._function)
        names = {**function.__globals__}
        for name in function.__code__.co_names:
            if isinstance(names.get(name), _Kernel) and names[name] is not self:
                names[name] = names[name].interpreted
        return FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)

    def __reduce__(self) -> str:
        return self.__name__


class _Allowance:
    """What a process may still interpret. Threads that take from it at once may take a little more."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def covers(self, steps: int) -> bool:
        if steps > self.steps:
            return False
        self.steps -= steps
        return True

    def end(self) -> None:
        """From now on every kernel is compiled, as where the time of a second run is measured."""
        self.steps = -1


allowance = _Allowance(_MOST_STEPS)


def _as_of_numba(result: Any) -> Any:
    """A result with numbers of Python for those of numpy, as from compiled kernels."""
    if type(result) is tuple:
        return tuple(_as_of_numba(one) for one in result)
    return result.item() if isinstance(result, np.generic) else result


def by_type(functions: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
    """One function for several classes of NamedTuples: the one that belongs to the class of its first argument.

    Kernels may call it too, if the functions are kernels; which one is meant is known when they are compiled.
    """
    import numba.extending

    def called(first: Any, *others: Any) -> Any:
        return functions[type(first)](first, *others)

    @numba.extending.overload(called, strict=False)  # strict would compare annotations, which a lambda cannot have
    def compiled(first: Any, *others: Any) -> Callable[..., Any]:
        return calling(functions[first.instance_class])

    return called


def calling(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls this one and has a name of its own.

    Numba numbers functions in every process anew. Two of the same name and types of arguments can have the same number
    where one was compiled in this process and the other loaded from the cache, and would be taken for each other.
    """

    def call(first: Any, *others: Any) -> Any:
        return function(first, *others)

    call.__name__ = call.__qualname__ = f"call_{function.__name__}"
    return call


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
