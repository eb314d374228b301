"""Disclosure control as an optimisation problem: the least loss among the releases whose risk is below a bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from microveil.attacks import Attack
from microveil.errors import ParameterError
from microveil.losses import LossMeasure
from microveil.masking import Method
from microveil.microdata.microdata import as_microdata
from microveil.progress import Progress, parts, silent
from microveil.randomness import check_seed, draw_seed
from microveil.registry import make
from microveil.scoring.decisions import front, least_loss


@dataclass(frozen=True)
class Trial:
    """A method with its parameters, and what its release loses and risks."""

    method: Method
    loss: float
    risk: float

    @property
    def label(self) -> str:
        return repr(self.method)


@dataclass(frozen=True)
class Optimum:
    """All trials, for the risk-utility map, and the best that is admissible; `seed` makes the releases again."""

    trials: tuple[Trial, ...]
    risk_below: float
    seed: int

    @property
    def best(self) -> Trial | None:
        """The trial with the least loss whose risk is below the bound; none if no risk is."""
        return least_loss(self.trials, self.risk_below)

    @property
    def front(self) -> list[Trial]:
        """The trials that no other beats in both, by rising risk."""
        return front(self.trials)


def grid(name: str, **choices: Sequence[Any]) -> list[Method]:
    """A method with every combination of these values of its parameters.

    >>> [method.k for method in grid("mdav", k=[3, 5])]
    [3, 5]
    """
    return [make("method", name, dict(zip(choices, chosen, strict=True))) for chosen in product(*choices.values())]


def optimise(
    methods: Iterable[Method],
    data: Any,
    *,
    risk_below: float,
    il: LossMeasure | str = "il",
    dr: Attack | str = "distance-linkage",
    attributes: Sequence[str] | None = None,
    known: Sequence[str] | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> Optimum:
    """Mask a table with every method and keep what `il` and `dr` say of it: minimise IL subject to DR below the bound.

    A study does the same for long lists: in parallel, with several measures, and resumable.

    >>> people = {"age": [20, 22, 41, 43, 61, 65]}
    >>> optimise(grid("mdav", k=[2, 3]), people, risk_below=40, il="sse", seed=1).best.method.k
    3
    """
    tried = list(methods)
    if not tried:
        raise ParameterError("there is no method to try")
    loss: LossMeasure = make("loss", il) if isinstance(il, str) else il
    attack: Attack = make("attack", dr) if isinstance(dr, str) else dr
    table = as_microdata(data)
    seed = draw_seed() if seed is None else check_seed(seed)
    trials = []
    for method, part in zip(tried, parts(progress, len(tried)), strict=True):
        masking, losing, attacking = parts(part, 3)
        release = method.mask(table, attributes, seed=seed, progress=masking)
        lost = loss.measure(table, release, attributes, progress=losing).value
        risk = attack.assess(table, release, known, progress=attacking).value
        trials.append(Trial(method, lost, risk))
    return Optimum(tuple(trials), risk_below, seed)
