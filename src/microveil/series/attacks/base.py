"""What attacks on series share: which tables they are for, and linkage of each known series to the nearest released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import ClassVar, Literal, get_args

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.linkage.base import AFFORDABLE_TERMS, Hits
from microveil.attacks.linkage.candidates import RECORDS
from microveil.comparison.drawing import drawn
from microveil.comparison.pairs import Pair
from microveil.numerics.series.comparing import CommonScale
from microveil.parameters import LARGEST_SEED, MOST_ATTRIBUTES, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, parts
from microveil.series.attacks.paired import Distance, Metric, PairedSeries, link_series
from microveil.typing import FloatArray, IntArray

Normalise = CommonScale | Literal["largest"]
_SCALES: tuple[CommonScale, ...] = get_args(CommonScale)
# in order of their values all series without equal ones have the same ranks; warping takes long, and is for times
_LEFT_OUT: dict[str, tuple[CommonScale, ...]] = {
    "quantiles": ("ranks", "ranks-mirrored"),
    "dtw": ("file", "ranks", "file-mirrored", "ranks-mirrored"),
}
FEWEST_ATTACKED = 1000  # however long it takes


class SeriesAttack(Attack):
    """An attack on series: a battery runs it on tables of series, and on any other table who asks for it by name."""

    of_series: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    # points that a series must have for the attack to be of use
    fewest_points: ClassVar[int] = 1

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        return super().suited(pair) if cls._applies(pair) else ()

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        if pair.original.schema.panel is None:
            return "the table is not one of series"
        return "no series is long enough" if pair.of_kinds(cls.kinds) else super().why_not(pair)

    @classmethod
    def _applies(cls, pair: Pair) -> bool:
        """Whether the table is one of series and has some that are long enough."""
        panel, names = pair.original.schema.panel, pair.of_kinds(cls.kinds)
        if panel is None:
            return False
        lengths = [sum(column in names for column in columns) for columns in panel.columns.values()]
        return max(lengths, default=0) >= cls.fewest_points


@dataclass(frozen=True)
class Linked:
    """The chances of right links by the normalisation that gains most, and the risk of every one in per cent."""

    hits: Hits
    how: CommonScale
    risks: Mapping[str, float]

    @property
    def risk(self) -> float:
        return self.risks[self.how]


@parameterised
class NearestSeries(SeriesAttack):
    """An attack that links every known series to the nearest released one; a subclass says what of them is known."""

    family: ClassVar[str] = "linkage"

    distance: Distance = parameter(
        default="euclidean",
        help="distance of two series: Euclidean, of their values; sts, of their slopes from each time to the next; "
        "dtw, of their values under dynamic time warping, which sees through small shifts in time; or quantiles, of "
        "their values in ascending order, whatever their times",
    )
    band: int | None = parameter(
        default=None,
        help="dtw: by how many points two series may be shifted against each other; unset: a tenth of their length, "
        "at least one point",
        ge=0,
        le=MOST_ATTRIBUTES,
    )
    normalise: Normalise = parameter(
        default="largest",
        help="scale of the series before they are compared: as they are (none), by mean and standard deviation of all "
        "known values (global), of all values in each file (file) or of each series, or by ranks within each series; "
        "with mirrored the released ones are turned upside down; or the largest risk of all these (largest)",
    )
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(default=0, help="seed for drawing the records to attack", ge=0, le=LARGEST_SEED)

    @property
    def metric(self) -> Metric:
        return Metric(self.distance, self.band)

    def scales(self, variables: int) -> tuple[CommonScale, ...]:
        """The normalisations that are tried; a common scale for one variable alone changes nothing."""
        if self.normalise != "largest":
            return (self.normalise,)
        left_out = {*(["global"] if variables == 1 else []), *_LEFT_OUT.get(self.distance, ())}
        return tuple(how for how in _SCALES if how not in left_out)

    def linked(self, series: Sequence[PairedSeries], attacked: IntArray, progress: Progress) -> Linked:
        """Link by the distance of these series, on every scale."""
        scales = self.scales(len(series))
        by_scale = {
            how: link_series(series, self.metric, how, attacked, part, f"{self.name}: linking series")
            for how, part in zip(scales, parts(progress, len(scales)), strict=True)
        }
        return self.largest(by_scale, len(series))

    def attacked(self, pair: Pair, attributes: Sequence[str], terms: float) -> IntArray:
        """The records that are attacked, where each takes so many terms of a distance to each other one."""
        affordable = int(AFFORDABLE_TERMS / max(1.0, len(pair) * terms))
        return drawn(pair, attributes, self.records or max(FEWEST_ATTACKED, affordable), self.seed, self.name)

    def largest(self, by_scale: Mapping[CommonScale, Hits], variables: int) -> Linked:
        """The normalisation that gains most; of equal ones the first."""
        risks: dict[str, float] = {how: percent_of(hits["expected"]) for how, hits in by_scale.items()}
        best = max(by_scale, key=lambda how: risks[how])
        if self.normalise == "largest" and variables == 1:
            risks["global"] = risks["none"]
        return Linked(by_scale[best], best, risks)

    def risk(
        self,
        pair: Pair,
        attributes: Sequence[str],
        attacked: IntArray,
        linked: Linked,
        scenario: str,
        counters: Mapping[str, float],
        per_attribute: Mapping[str, float],
    ) -> Risk:
        """The risk of these links, with all ways of counting ties and all normalisations that were tried."""
        per_record = np.full(len(pair), np.nan)
        per_record[attacked] = linked.hits["expected"]
        shares = {name: percent_of(hits) for name, hits in linked.hits.items()}
        by_scale = {f"normalise={how}": value for how, value in linked.risks.items()}
        certain = provable(pair, attributes)
        return Risk.of(
            self.name,
            per_record,
            attributes,
            f"{scenario} {_scale_text(linked.how, chosen=self.normalise == 'largest')}",
            counters={**shares, **(by_scale if len(by_scale) > 1 else {}), **counters},
            per_attribute=per_attribute,
            certain=certain,
            proof=_PROOF if len(certain) else "",
        )


_PROOF = (
    "Some of their series were released as they were, which the provenance tells, and no other released record has "
    "the same values there."
)
_SCALE_TEXTS: dict[CommonScale, str] = {
    "none": "as they are",
    "global": "on the common scale of each variable",
    "file": "on the scale of each file",
    "series": "each on a scale of its own",
    "ranks": "by the ranks of their values",
    "file-mirrored": "on the scale of each file, the released ones turned upside down",
    "series-mirrored": "each on a scale of its own, the released ones turned upside down",
    "ranks-mirrored": "by the ranks of their values, those of the released ones counted from above",
}


def _scale_text(how: CommonScale, *, chosen: bool) -> str:
    chosen_text = ", which gains most" if chosen else ""
    return f"Series are compared {_SCALE_TEXTS[how]}{chosen_text}."


def named(pair: Pair, series: Iterable[PairedSeries]) -> str:
    """The series that an intruder knows, in words."""
    if pair.original.schema.panel is None:
        return "the series"
    return f"the series of {', '.join(one.name for one in series)}"


def percent_of(chances: FloatArray) -> float:
    """The mean chance in per cent, whatever the order of the records."""
    return 100 * fsum(chances.tolist()) / len(chances)


def mean_hits(found: Sequence[Hits]) -> Hits:
    """The mean over several scenarios."""
    return {name: np.mean([hits[name] for hits in found], axis=0) for name in found[0]}


def provable(pair: Pair, attributes: Sequence[str]) -> IntArray:
    """The records whose link is certain: by what the provenance says was not masked, no other record is like them."""
    if pair.release is None:
        return np.empty(0, dtype=np.int64)
    masked = set(pair.release.provenance.attributes)
    untouched = [n for n in attributes if n not in masked and pair.original.same_cells(pair.masked, n)]
    if not untouched:
        return np.empty(0, dtype=np.int64)
    cells = np.nan_to_num(pair.masked.matrix(untouched), nan=np.inf)
    missing = np.column_stack([pair.masked.missing_states(name) for name in untouched])
    _, number, count = np.unique(np.column_stack([cells, missing]), axis=0, return_inverse=True, return_counts=True)
    known = (missing == 0).any(axis=1)
    return np.flatnonzero((count[number.reshape(-1)] == 1) & known).astype(np.int64)
