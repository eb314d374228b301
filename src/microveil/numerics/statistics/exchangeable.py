"""An exchangeable model of keys and a confidential value, learnt from classes of which only the counts are known.

Persons are exchangeable: of everybody the same unknown distribution draws a value and, given the value, each key by
itself (naive Bayes). Of a class it is known which persons it has and how often each value occurs in it, not whose value
is whose. Two steps alternate: given the distribution, how probable each value is for each person of a class; and given
these, the distribution. Kifer (2009).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from microveil.progress import Progress
from microveil.typing import BoolArray, FloatArray, IntArray

_ROUNDS = 50  # of bringing rows and columns of an assignment to their sums
_EVEN = 1e-8
_TINY = 1e-300


@dataclass(frozen=True)
class Shuffled:
    """Pairs of a person and a value that may be theirs, by person.

    `cell` is which class and value a pair is about, `count` how often the value occurs in the class, for each cell.
    `keys` has a row for each key, with codes from 0; `closed` says of each pair whether all records of the class belong
    to the persons who are looked for in it, so that the counts bind them together.
    """

    person: IntArray
    value: IntArray
    cell: IntArray
    count: FloatArray
    closed: BoolArray
    keys: IntArray

    @property
    def persons(self) -> int:
        return int(self.keys.shape[1])

    @property
    def values(self) -> int:
        return int(self.value.max(initial=0)) + 1

    def start(self) -> FloatArray:
        """Every record of the class is as probable as any other."""
        return self._over_persons(self.count[self.cell])

    def likelihoods(self, chances: FloatArray, smoothing: float) -> FloatArray:
        """For each pair the logarithm of how probable the person's keys are given the value, by a model learnt from
        these chances; `smoothing` is added to every count."""
        total = np.bincount(self.value, weights=chances, minlength=self.values)
        found = np.zeros(len(self.person))
        for codes in self.keys:
            size = int(codes.max(initial=0)) + 1
            at = self.value * size + codes[self.person]
            counts = np.bincount(at, weights=chances, minlength=self.values * size) + smoothing
            logs = np.log(counts) - np.log(np.repeat(total + smoothing * size, size))
            found += logs[at]
        return found

    def assigned(self, logs: FloatArray) -> FloatArray:
        """For each pair how probable the value is for the person, by these likelihoods and the counts of the class.

        In a closed class the chances of a value over its persons add up to its count: rows and columns are scaled in
        turn until both hold (Sinkhorn), which is the most even assignment with the odds that the likelihoods give.
        """
        highest = np.full(self.persons, -np.inf)
        np.maximum.at(highest, self.person, logs)
        chances = self._over_persons(np.exp(logs - highest[self.person]) * self.count[self.cell])
        for _ in range(_ROUNDS):
            sums = np.bincount(self.cell, weights=chances, minlength=len(self.count))
            factor = self.count / np.maximum(sums, _TINY)
            far = float(np.abs(sums - self.count)[self.cell[self.closed]].max(initial=0.0))
            if far < _EVEN:
                break
            chances = self._over_persons(np.where(self.closed, chances * factor[self.cell], chances))
        return chances

    def _over_persons(self, chances: FloatArray) -> FloatArray:
        sums = np.bincount(self.person, weights=chances, minlength=self.persons)
        return np.asarray(chances / np.maximum(sums, _TINY)[self.person])


@dataclass(frozen=True)
class Learnt:
    """The chances of each pair by a model learnt once from the counts of the classes, and those at the end."""

    once: FloatArray
    chances: FloatArray
    rounds: int


def learn(pairs: Shuffled, rounds: int, smoothing: float, enough: float, progress: Progress, label: str) -> Learnt:
    """Alternate between model and assignment until no chance moves by more than `enough`, so many rounds at most.

    >>> from microveil.progress import silent
    >>> person, value = np.repeat(np.arange(6), 2), np.tile([0, 1], 6)
    >>> cell = np.repeat([0, 1], 6) * 2 + value
    >>> counts, smokes = np.array([2.0, 1, 1, 2]), np.array([[0, 0, 1, 0, 1, 1]])
    >>> sick = Shuffled(person, value, cell, counts, np.ones(12, dtype=np.bool_), smokes)
    >>> learn(sick, 100, 0.1, 1e-9, silent, "").chances[::2].round(2).tolist()
    [0.84, 0.84, 0.33, 0.67, 0.16, 0.16]
    """
    chances = pairs.start()
    once = chances
    made = 0
    for made in range(1, rounds + 1):
        following = pairs.assigned(pairs.likelihoods(chances, smoothing))
        moved = float(np.abs(following - chances).max(initial=0.0))
        chances = following
        once = following if made == 1 else once
        progress(made / rounds, label)
        if moved <= enough:
            break
    return Learnt(once, chances, made)
