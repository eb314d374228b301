"""What to try next: samplers that are asked for pipelines and told what became of them.

`sms-emoa` is the selection by dominated hypervolume of Beume, Naujoks and Emmerich (2007): of each rank those survive
that dominate most by themselves, so that nobody is kept for being far out where there is nothing to gain. `nsga2` is
the elitist non-dominated sorting genetic algorithm of Deb et al. (2002), which keeps those in the least crowded places.
`bayes` is a Bayesian sampler of another package, for comparison. `random` draws pipelines without looking at what was
found; it is what every other sampler must beat.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from microveil.errors import UnknownNameError
from microveil.numerics.evolution.pareto import contributions, crowding_distances, hypervolume, ranks
from microveil.search.space import Pipeline, Space, key_of
from microveil.typing import FloatArray

TRIES = 50  # to find a pipeline that was not tried before
_STARTED = 0.5  # share of good plans among those tried after every method was tried once
_DRAWN = 0.15  # share of pipelines that are drawn anew, so that no region is left out
_CROSSED = 0.4  # share of children that have two parents
_AGAIN = 0.4  # probability that a varied child is varied once more
_BY_FAR = 0.5, 0.25  # shares of loss and risk on a sample with which other methods beat a pipeline
_DOUBTED = 0.5  # share of tries that measure again, while there is something to be doubted
_RUNS = 3  # after which a random member of the front is believed
_REMEMBERED = 4  # times as many as the population has members
_FOCUS = 0.5  # share of parents from the neighbourhood of the best within the bound on the risk


@dataclass(frozen=True)
class Point:
    """What was found of a pipeline: loss and risk in per cent, and by how much it falls short of what is required.

    One that could not be made has an infinite violation. Of one that is not `complete` only some attacks were run,
    because with their risk it was dominated already. Loss and risk are means of so many `runs` with different seeds,
    the violation is the greatest of them.
    """

    pipeline: Pipeline
    loss: float = inf
    risk: float = inf
    violation: float = inf
    complete: bool = True
    runs: int = 1

    @property
    def is_feasible(self) -> bool:
        return self.violation == 0


def mean_of(runs: Sequence[Point]) -> Point:
    """What several runs of one pipeline, each with another seed, come to; one that failed once cannot be made."""
    loss, risk = (float(np.mean([getattr(run, name) for run in runs])) for name in ("loss", "risk"))
    violation, complete = max(run.violation for run in runs), all(run.complete for run in runs)
    return Point(runs[0].pipeline, loss, risk, violation, complete, len(runs))


def front_of(points: Sequence[Point]) -> list[Point]:
    """The complete and feasible points that no other such point dominates, by rising risk."""
    listed = [point for point in points if point.is_feasible and point.complete]
    kept: list[Point] = []
    for point in sorted(listed, key=lambda point: (point.risk, point.loss)):
        if not kept or point.loss < kept[-1].loss:
            kept.append(point)
    return kept


def worth_measuring(points: Sequence[Point]) -> list[Point]:
    """The complete points of a race on a sample that no other beats in loss, risk and shortfall together.

    A sample shows more risk of drawing and more loss of grouping than the whole table, so pipelines compete with those
    of the same methods; those of others beat them only by far. In a sample a release may also fall short of what it
    keeps to on the whole table, and one that falls short says nothing about one that does not.
    """
    made = [point for point in points if point.complete and isfinite(point.violation)]
    return [point for i, point in enumerate(made) if not _is_beaten(point, made[:i], made[i + 1 :])]


def _is_beaten(one: Point, earlier: Sequence[Point], later: Sequence[Point]) -> bool:
    """Whether another is nowhere worse, and better somewhere or the same and earlier."""
    mine, methods = _reached(one), _methods(one)
    for others, is_earlier in ((earlier, True), (later, False)):
        for other in others:
            its = _reached(other)
            if _methods(other) != methods:
                its = (its[0] / _BY_FAR[0], its[1] / _BY_FAR[1], its[2])
            if all(a <= b for a, b in zip(its, mine, strict=True)) and (is_earlier or its != mine):
                return True
    return False


def _reached(point: Point) -> tuple[float, float, float]:
    return point.loss, point.risk, point.violation


def _methods(point: Point) -> tuple[str, ...]:
    return tuple(step.method for step in point.pipeline)


def hypervolume_of(points: Sequence[Point]) -> float:
    """The share of the area of loss and risk, both up to 100 %, that a front dominates, in per cent."""
    return hypervolume(_objectives(front_of(points)))


def greatest_area(front: Sequence[Point], held: Sequence[Point], most: int) -> list[Point]:
    """Members of a front beside those `held`, each the one that adds most to the area that those before it dominate."""
    chosen, left = list(held), [point for point in front if not any(point is other for other in held)]
    while left and len(chosen) < most + len(held):
        areas = [hypervolume(_objectives([*chosen, point])) for point in left]
        chosen.append(left.pop(int(np.argmax(areas))))
    return chosen[len(held) :]


def _objectives(points: Sequence[Point]) -> FloatArray:
    return np.array([(point.loss, point.risk) for point in points], dtype=np.float64).reshape(-1, 2)


class Sampler(ABC):
    """Asked for pipelines, and told what was found of them. None is asked for twice, but where `doubts` is set a
    sampler may have random ones measured again, each time with another seed, and is then told of the mean."""

    doubts = True

    def __init__(self, space: Space, rng: np.random.Generator, risk_below: float | None = None) -> None:
        self.space, self.rng, self.risk_below = space, rng, risk_below
        self.seen: set[str] = set()

    def ask(self, count: int) -> list[Pipeline]:
        """So many pipelines to try; fewer only where hardly any is left that was not tried."""
        asked: list[Pipeline] = []
        for _ in range(count):
            for attempt in range(TRIES):
                pipeline = self.space.drawn(self.rng) if attempt > TRIES // 2 else self._next()
                if (key := key_of(pipeline)) not in self.seen:
                    self.seen.add(key)
                    asked.append(pipeline)
                    break
        return asked

    @abstractmethod
    def _next(self) -> Pipeline:
        """A pipeline to try."""

    @abstractmethod
    def tell(self, points: Sequence[Point]) -> None:
        """What was found of those asked for, in the same order."""


class RandomSampler(Sampler):
    """Draws pipelines without looking at what was found."""

    def _next(self) -> Pipeline:
        return self.space.drawn(self.rng)

    def tell(self, points: Sequence[Point]) -> None:
        pass


class EvolutionarySampler(Sampler):
    """Keeps a population of the best found, and varies and crosses its members.

    It begins with a good plan of every method. Good plans with other choices and of other strengths, and every method
    at the ends of its range, come among the children, first those of methods that are in the population.

    What is best of many was also lucky, and where luck is kept, children are bred for it. So random members of the
    front are measured again, those first that dominate most. More is remembered than the population has room for:
    where a member was only lucky, those come back that it had pushed out.
    """

    size = 16  # of the population: small, because an evaluation takes long and a search has hundreds, not thousands

    def __init__(self, space: Space, rng: np.random.Generator, risk_below: float | None = None) -> None:
        super().__init__(space, rng, risk_below)
        self.remembered: list[Point] = []
        self.ranks = np.empty(0, dtype=np.int64)
        self.worth = np.empty(0)
        self.doubted: set[str] = set()  # what is being measured again
        self.first = len(space.methods)
        starts = space.starts()
        self.starts = [*starts[: self.first], *space.choices(), *starts[self.first :], *space.ends()]

    @property
    def population(self) -> list[Point]:
        return self.remembered[: self.size]

    def ask(self, count: int) -> list[Pipeline]:
        asked: list[Pipeline] = []
        for _ in range(count):
            again = self._doubtful() if self.doubts and self.rng.random() < _DOUBTED else None
            asked += super().ask(1) if again is None else [again]
        return asked

    def _doubtful(self) -> Pipeline | None:
        """Of the random members of the front that were measured seldom, the one that is worth most."""
        for point, rank, worth in zip(self.population, self.ranks, self.worth, strict=False):
            if rank == 0 and worth > 0 and point.complete and point.runs < _RUNS:
                key = key_of(point.pipeline)
                if key not in self.doubted and self.space.candidate(point.pipeline).is_random:
                    self.doubted.add(key)
                    return point.pipeline
        return None

    def _next(self) -> Pipeline:
        if self.first > 0 and self.starts:
            self.first -= 1
            return self.starts.pop(0)
        if self.starts and (not self.population or self.rng.random() < _STARTED):
            return self.starts.pop(self._most_promising())
        if not self.population or self.rng.random() < _DRAWN:
            return self.space.drawn(self.rng)
        child = self._parent().pipeline
        if self.rng.random() < _CROSSED:
            child = self.space.crossed(child, self._parent().pipeline, self.rng)
        child = self.space.varied(child, self.rng)
        while self.rng.random() < _AGAIN:
            child = self.space.varied(child, self.rng)
        return child

    def _most_promising(self) -> int:
        """The next good plan of a method that is in the population; else the next one."""
        held = {step.method for point in self.population for step in point.pipeline}
        return next((i for i, start in enumerate(self.starts) if start[0].method in held), 0)

    def tell(self, points: Sequence[Point]) -> None:
        again = [point.pipeline for point in points if point.runs > 1]
        self.doubted -= set(map(key_of, again))
        kept = [point for point in self.remembered if not any(point.pipeline is other for other in again)]
        made = [point for point in points if isfinite(point.violation)]
        self.remembered = self._survivors([*kept, *made])

    def _survivors(self, points: list[Point]) -> list[Point]:
        """The best by rank, and of the last rank that finds room those that are worth most; the best first."""
        if not points:
            return []
        objectives = _objectives(points)
        found = ranks(objectives, np.array([point.violation for point in points]))
        worth = np.zeros(len(points))
        for rank in range(int(found.max()) + 1):
            members = np.flatnonzero(found == rank)
            worth[members] = self._worth(objectives[members])
        order = np.lexsort((-worth, found))[: _REMEMBERED * self.size]
        self.ranks, self.worth = found[order], worth[order]
        return [points[i] for i in order]

    @abstractmethod
    def _worth(self, objectives: FloatArray) -> FloatArray:
        """How much the members of one rank are worth beside each other."""

    def _parent(self) -> Point:
        """The winner of a tournament of two; now and then a neighbour of the best within the bound on the risk."""
        near = self._near_the_best()
        if near and self.rng.random() < _FOCUS:
            return near[self.rng.integers(len(near))]
        one, other = self.rng.integers(len(self.population), size=2)
        better = (self.ranks[one], -self.worth[one]) <= (self.ranks[other], -self.worth[other])
        return self.remembered[int(one if better else other)]

    def _near_the_best(self) -> list[Point]:
        """The best within the bound and its neighbours on the front; the safest where none is within."""
        if self.risk_below is None:
            return []
        front = front_of(self.population)
        within = sum(point.risk < self.risk_below for point in front)
        return front[max(0, within - 2) : within + 1]


class SmsEmoaSampler(EvolutionarySampler):
    """Keeps those of a rank that dominate the greatest area by themselves."""

    def _worth(self, objectives: FloatArray) -> FloatArray:
        return contributions(objectives)


class Nsga2Sampler(EvolutionarySampler):
    """Keeps those of a rank that lie in the least crowded places."""

    def _worth(self, objectives: FloatArray) -> FloatArray:
        return crowding_distances(objectives)


def _bayes(space: Space, rng: np.random.Generator, risk_below: float | None) -> Sampler:
    from microveil.search.bayes import BayesSampler

    return BayesSampler(space, rng, risk_below)


SAMPLERS: dict[str, Callable[..., Sampler]] = {
    "sms-emoa": SmsEmoaSampler,
    "nsga2": Nsga2Sampler,
    "bayes": _bayes,
    "random": RandomSampler,
}


def sampler_of(name: str, space: Space, rng: np.random.Generator, risk_below: float | None) -> Sampler:
    """A sampler by its name."""
    if name not in SAMPLERS:
        raise UnknownNameError("sampler", name, tuple(SAMPLERS))
    return SAMPLERS[name](space, rng, risk_below)
