"""What attacks on confidential attributes share: which attributes these are, and their true and released values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from microveil.attacks.base import Attack
from microveil.attacks.linkage.candidates import attacked
from microveil.comparison.columns import Columns, ScaledBy
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError
from microveil.progress import Progress, parts
from microveil.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.neighbours.mixed_distance import Table, Terms

CONFIDENTIAL = (
    "attributes that the intruder wants to learn; unset: those with the role confidential, else the masked ones "
    "that are not known, else each known attribute in turn"
)
WIDTH = "a number is disclosed if the guess is within this percentage of its standard deviation"
_UNUSABLE = "which was not released, or only as labels"
MISSING = (
    "records without a true confidential value are not attacked; missing known values are left out of the distances"
)


@dataclass(frozen=True)
class Target:
    """A confidential attribute: its true and its released values (numbers or positions in a domain, NaN where missing),
    and the attributes that the intruder knows."""

    name: str
    kind: str
    before: FloatArray
    after: FloatArray
    known: tuple[str, ...]

    @property
    def attacked(self) -> BoolArray:
        return ~np.isnan(self.before)

    def reach(self, width: float) -> float:
        """How far from a true value a guess may lie: 0 for categories."""
        inside = self.before[: len(self.after)]  # a control group comes after the persons in the release
        present = inside[~np.isnan(inside)]
        return float(width / 100 * present.std()) if self.kind == "numeric" and len(present) else 0.0

    def share_right(self, width: float) -> FloatArray:
        """For each record the share of all released values that would disclose its own: what drawing one gains."""
        released = np.sort(self.after[~np.isnan(self.after)])
        reach = self.reach(width)
        if len(released) == 0:
            return np.zeros(len(self.before))
        low = np.searchsorted(released, self.before - reach, side="left")
        high = np.searchsorted(released, self.before + reach, side="right")
        return np.asarray((high - low) / len(self.after))


class ConfidentialAttack(Attack):
    """An attack that is after the values of confidential attributes; a subclass has the parameter `confidential`."""

    reads_labels: ClassVar[bool] = True
    confidential: tuple[str, ...] | None

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        wanted = cls.sought(pair)
        known = [name for name in cls.seen(pair).of_kinds(cls.kinds) if name not in wanted]
        return (cls(),) if wanted and known else ()

    @classmethod
    def sought(cls, pair: Pair) -> list[str]:
        """The attributes this attack is after by itself, as far as their values were released."""
        return [name for name in _sought(pair) if _beside(pair, name) is not None]

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        if not _sought(pair):
            return "no attribute is declared confidential"
        return super().why_not(pair)

    def targets(self, pair: Pair, attributes: tuple[str, ...]) -> list[Target]:
        """The attributes this attack is after, each with what is known to get at it."""
        given = self.confidential
        wanted = _sought(pair) if given is None else given
        for name in wanted:
            pair.original[name]  # an unknown name is refused
        beside = {name: _beside(pair, name) for name in wanted}
        lacking = [name for name, found in beside.items() if found is None]
        if given and lacking:
            raise ParameterError(f"{self.name}: confidential names '{lacking[0]}', {_UNUSABLE}")
        if wanted and len(lacking) == len(wanted):
            raise DataError(f"{self.name} is after '{lacking[0]}', {_UNUSABLE}; name others with its confidential")
        found = [_target(name, table, attributes, tuple(beside)) for name, table in beside.items() if table is not None]
        found = found or [_target(n, pair, attributes, (n,)) for n in attributes if _beside(pair, n) is not None]
        if not found:
            raise DataError(f"{self.name} is after '{attributes[0]}', {_UNUSABLE}; name others with its confidential")
        return found


class CandidateAttack(ConfidentialAttack):
    """One whose candidates for a person are all released records nearest to what is known; a subclass has the
    parameters `records` and `seed`."""

    records: int | None
    seed: int

    def shares_of_candidates(
        self,
        pair: Pair,
        attributes: tuple[str, ...],
        targets: Sequence[Target],
        reach: Sequence[float],
        progress: Progress,
        label: str,
        rows: IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """For each target (rows) and record (columns) the share of the candidates that have the true value, and the
        share of the file that are candidates.

        Records that are not drawn, or are not among the `rows` where these are given, or have no true value, have NaN.
        """
        from microveil.numerics.neighbours.nearest_sets import nearest_rows

        named = (*attributes, *(target.name for target in targets))
        steps = 10.0 * len(pair) * len(attributes)
        drawn = attacked(pair, named, self.records, steps, self.seed, self.name) if rows is None else rows
        shares, sizes = (np.full((len(targets), len(pair)), np.nan) for _ in range(2))
        knowledge = list(dict.fromkeys(target.known for target in targets))
        for known, part in zip(knowledge, parts(progress, len(knowledge)), strict=True):
            candidates = nearest_rows(*known_tables(pair, known), drawn, part, label)
            many = candidates.many
            for t, target in enumerate(targets):
                if target.known == known:
                    hit = target.attacked[drawn]
                    right = candidates.within(target.after, target.before[drawn], reach[t])
                    shares[t, drawn[hit]], sizes[t, drawn[hit]] = (right / many)[hit], (many / len(pair.masked))[hit]
        return shares, sizes


def _sought(pair: Pair) -> tuple[str, ...]:
    """The attributes an intruder is after: the confidential ones, or without any, those masked that are not known."""
    masked = () if pair.release is None else (name for name in pair.compared if name not in pair.knowledge.attributes)
    return pair.original.schema.confidential or tuple(masked)


def _target(name: str, pair: Pair, attributes: tuple[str, ...], unknown: tuple[str, ...]) -> Target:
    columns = Columns.of(pair, (name,))
    known = tuple(attribute for attribute in attributes if attribute not in unknown)
    return Target(name, columns.kinds[0], columns.before[0], columns.after[0], known)


def _beside(pair: Pair, name: str) -> Pair | None:
    """The tables to read a confidential attribute from; none if its values were not released."""
    return pair if name in pair.masked.names and name not in pair.recoded else None


def known_tables(pair: Pair, attributes: tuple[str, ...], scale: ScaledBy = "joint") -> tuple[Table, Table, Terms]:
    """Both files for distances on what is known: numbers on the original's scale, or each file's own; a missing cell
    says nothing."""
    from microveil.numerics.neighbours.mixed_distance import Table, Terms

    if not attributes:
        nothing, released = (
            Table(np.zeros((0, size)), np.zeros((0, size), dtype=np.uint8)) for size in (len(pair), len(pair.masked))
        )
        none = np.zeros(0)
        return nothing, released, Terms(none.astype(np.int64), none, none, none.astype(np.bool_), none)
    cells = Columns.of(pair, attributes).cells("euclidean", scale, np.arange(len(pair)))
    tables = [Table(np.nan_to_num(side), np.isnan(side).astype(np.uint8)) for side in (cells.sources, cells.targets)]
    every = np.ones(len(attributes), dtype=np.bool_)
    terms = Terms(cells.form, cells.start, cells.slope, every, np.zeros(len(attributes)))
    return tables[0], tables[1], terms


def mean_over(columns: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """For each record its mean over the attributes that were attacked (not NaN); NaN where none was."""
    cells = np.stack(list(columns))
    counted = (~np.isnan(cells)).sum(axis=0)
    return np.where(counted > 0, np.nansum(cells, axis=0) / np.maximum(counted, 1), np.nan)


def beside_baseline(share: float, chance: float) -> dict[str, float]:
    """The counters of an attack that is right in so many per cent, where guesses without it are in `chance`."""
    return {
        "baseline": chance,
        "gain": 100 * max(0.0, (share - chance) / (100 - chance)) if chance < 100 else 0.0,
    }


def percent(values: FloatArray) -> float:
    """The mean of what was attacked, in per cent; 0 if nothing was."""
    return 100 * float(np.nanmean(values)) if not np.isnan(values).all() else 0.0
