"""Linkage of files without common attributes: each record is represented by a few aggregates of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, cast

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.linkage.candidates import RECORDS
from microveil.attacks.linkage.chance import chance_of_links
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.linkage.probabilistic import ProbabilisticLinkage
from microveil.comparison.columns import Metric
from microveil.comparison.drawing import drawn
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, ParameterError, UnknownNameError
from microveil.microdata import Microdata
from microveil.numerics.linkage.representatives import Operator as Aggregation
from microveil.numerics.linkage.representatives import distinct_columns, representatives
from microveil.numerics.statistics.aggregation_operators import Boundary, Family, quantifiers
from microveil.numerics.statistics.correlation_structure import correlations, divide, match
from microveil.numerics.statistics.projections import steady_component
from microveil.numerics.statistics.scaling import Scaling, average_ranks, min_max, standardise
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, silent
from microveil.typing import FloatArray, IntArray

Operator = Literal["owa", "sugeno", "twofold", "structure", "component", "z-sum"]
ScaleOrRank = Literal["z", "minmax", "rank", "none"]
_BASELINES: tuple[Operator, ...] = ("component", "z-sum")
_SCALES: dict[Operator, ScaleOrRank] = {"sugeno": "minmax", "twofold": "minmax", "structure": "rank"}


@parameterised
class RepresentativeLinkage(Attack):
    """An intruder's file and a release without common attributes are linked by how large the values of each record are.

    Every record, of either file, becomes a few representatives: ordered averages of its scaled values, or integrals
    over fuzzy measures, one for each of ten quantifiers. They do not depend on which attribute is which nor on how many
    there are, so they can be compared where attributes cannot, as far as those of the one file depend on those of the
    other. Each known record is linked to the released one with the nearest representatives.

    The intruder's file has the attributes `known`. The released file has those named by `released`; unset, the masked
    attributes that are not known; and if there are none, the known ones, but the intruder cannot tell which is which.
    With `split` the known attributes are divided in two, correlated ones apart: one half is what the intruder knows,
    the other is what they see of the release. So runs the battery.

    Instead of representatives, `structure` matches attributes of both files that are correlated alike within their
    file. `component` and `z-sum`, the first principal component and the sum of z-scores, put both files in order and
    link equal ranks; they are simple baselines, and counters give their risk too. Further counters: the right links
    to be expected from chance, and the chance of no fewer than were found, if records are drawn independently or all
    are assigned one to one.

    >>> from microveil.microdata import Microdata
    >>> tax = {"tax": [1, 2, 4, 8, 16], "rent": [3, 2, 5, 9, 12]}
    >>> income = {"wage": [10, 21, 44, 79, 155], "assets": [20, 20, 60, 95, 100]}
    >>> people = Microdata.of({**tax, **income})
    >>> attack = RepresentativeLinkage(released=("wage", "assets"))
    >>> risk = attack.assess(people, people, known=["tax", "rent"])
    >>> risk.value, risk.known, round(risk.counters["chance, one to one"], 2)
    (80.0, ('tax', 'rent'), 0.83)
    """

    name: ClassVar[str] = "representative-linkage"
    family: ClassVar[str] = "linkage"
    known_is_all: ClassVar[bool] = False
    summary: ClassVar[str] = "links files that share no attribute by aggregates of the values of each record"
    meaning: ClassVar[str] = "records linked to the right person without any common attribute; lower is safer"
    assumes: ClassVar[str] = "true values of everyone in the file, of attributes that depend on the released ones"
    formula: ClassVar[str] = (
        "link = nearest of (f_1, ..., f_K), f_k = OWA, Sugeno or twofold integral with quantifier Q_k"
    )
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = (
        "missing cells are left out: a record is represented by the values it has, and not linked if it has "
        "none; baselines and correlations replace missing cells by the mean"
    )
    source: ClassVar[str] = (
        "Torra (2004b), Torra and Nin (2008); Nin (2008), chapter 5, Algorithm 6; Fayyoumi (2008), section 2.4.1"
    )

    operator: Operator = parameter(
        default="owa", help="what makes records comparable: aggregations, structure, or one score"
    )
    quantifier: Family = parameter(default="threshold", help="family of the ten quantifiers")
    choquet_quantifier: Family | None = parameter(
        default=None, help="twofold: family of the quantifiers of its Choquet part; unset: the same"
    )
    alphas: tuple[float, ...] | None = parameter(
        default=None, help="parameters of the quantifiers; unset: the ten published ones of the family", min_length=1
    )
    boundary: Boundary = parameter(
        default="fixed", help="sigmoid: made 0 at 0 and 1 at 1, as a quantifier must be, or raw as printed"
    )
    scale: ScaleOrRank | None = parameter(
        default=None,
        help="scale of each attribute in its file: z-scores, range [0, 1], ranks or none; unset: z-scores for ordered "
        "averages, [0, 1] for the integrals, which are made for it, ranks for structure",
    )
    missing_cells: Literal["project", "zero"] = parameter(
        default="project",
        help="represent a record by the values it has (project), or replace missing values by 0 after scaling (zero)",
    )
    distinct: bool = parameter(default=False, help="use representatives that coincide in both files only once")
    rescale: bool = parameter(
        default=False,
        help="bring every representative to mean 0 and standard deviation 1 in its file, so that levels do not matter",
    )
    released: tuple[str, ...] | None = parameter(
        default=None,
        help="attributes of the release that the intruder sees; unset: masked ones that are not known",
        min_length=1,
    )
    split: bool = parameter(
        default=False, help="divide the attributes by their correlations into those known and those released"
    )
    correlation: float = parameter(
        default=0.7,
        help="split: attributes with at least this correlation are separated; those without such a partner are left "
        "out, unless none has one",
        ge=0,
        le=1,
    )
    linkage: Literal["distance", "probabilistic"] = parameter(
        default="distance", help="how representatives are linked: by distance, or by probabilistic linkage"
    )
    metric: Metric = parameter(default="euclidean", help="distance: the distance of representatives")
    agreement: float = parameter(
        default=0.05,
        help="probabilistic: the share of all differences of a representative that counts as agreement",
        gt=0,
        lt=1,
    )
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(default=0, help="seed for drawing the records to attack", ge=0, le=LARGEST_SEED)

    def __post_init__(self) -> None:
        if self.split and self.released is not None:
            raise ParameterError(f"{self.name}: released is not allowed with split, which chooses them itself")
        if self.choquet_quantifier is not None and self.operator != "twofold":
            raise ParameterError(f"{self.name}: choquet_quantifier is only for operator = 'twofold'")
        try:
            self._quantifiers()
        except ParameterError as problem:
            raise ParameterError(f"{self.name}: {problem}") from None

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        known = pair.of_kinds(cls.kinds)
        if known and _others_masked(pair, known):
            return (cls(),)
        return (cls(split=True),) if len(known) > 1 else ()

    def assess(
        self,
        original: Any,
        release: Any,
        known: Sequence[str] | None = None,
        *,
        control: Any = None,
        progress: Progress = silent,
    ) -> Risk:
        """The risk of a release for an intruder who knows the original values of the attributes `known`."""
        both = None if known is None else (*known, *(name for name in self.released or () if name not in known))
        return super().assess(original, release, both, control=control, progress=progress)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        rows = {name: tuple(column.values for column in pair.numbers(name)) for name in attributes}
        before = np.column_stack([rows[name][0] for name in attributes])
        known, released = self._sides(pair, attributes, before)
        sources = np.column_stack([rows[name][0] for name in known])
        targets = np.column_stack([rows[name][1] if name in rows else _released(pair, name) for name in released])
        ranked = {score: _linked_by_rank(_scores(sources, score), _scores(targets, score)) for score in _BASELINES}
        if self.operator in _BASELINES:
            per_record, counters = ranked[self.operator], _percent(expected=ranked[self.operator])
        else:
            seen = (*attributes, *(name for name in released if name not in attributes))
            draw = partial(self._draw, pair, seen)
            links = self._linked(*self._comparable(sources, targets), draw, progress)
            per_record, counters = links.per_record, dict(links.counters)
        counters |= _luck(per_record) | _percent(**ranked)
        return Risk.of(self.name, per_record, known, self._scenario(known, released), counters=counters)

    def _sides(self, pair: Pair, attributes: tuple[str, ...], before: FloatArray) -> tuple[tuple[str, ...], ...]:
        """The attributes of the intruder's file, and those of the release that they see."""
        if self.split:
            if len(attributes) < 2:
                raise DataError(f"{self.name}: split needs at least two attributes, one for each file")
            first, second = divide(before, self.correlation)
            return tuple(attributes[j] for j in first), tuple(attributes[j] for j in second)
        if self.released is None:
            return attributes, _others_masked(pair, attributes) or attributes
        known = tuple(name for name in attributes if name not in self.released)
        if not known:
            raise DataError(f"{self.name}: all attributes are released, so none is left that only the intruder knows")
        return known, tuple(dict.fromkeys(self.released))

    def _comparable(self, sources: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both files as numbers that mean the same."""
        scale = self.scale or _SCALES.get(self.operator, "z")
        one, other = _scaled(sources, scale), _scaled(targets, scale)
        if self.missing_cells == "zero":
            one, other = np.nan_to_num(one), np.nan_to_num(other)
        if self.operator == "structure":
            return _matched(one, other)
        first, second = self._quantifiers()
        operator = cast("Aggregation", self.operator)
        made, compared = (representatives(rows, operator, first, second) for rows in (one, other))
        kept = distinct_columns(made, compared) if self.distinct else list(range(made.shape[1]))
        return made[:, kept], compared[:, kept]

    def _quantifiers(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        first = quantifiers(self.quantifier, self.alphas, self.boundary)
        return first, quantifiers(self.choquet_quantifier or self.quantifier, self.alphas, self.boundary)

    def _draw(self, pair: Pair, attributes: tuple[str, ...], wanted: int) -> IntArray:
        return drawn(pair, attributes, wanted, self.seed, self.name)

    def _linked(
        self, sources: FloatArray, targets: FloatArray, draw: Callable[[int], IntArray], progress: Progress
    ) -> Risk:
        scale = "separate" if self.rescale else "none"
        common: dict[str, Any] = {"standardisation": scale, "records": self.records, "seed": self.seed}
        linkage = (
            DistanceLinkage(metric=self.metric, **common)
            if self.linkage == "distance"
            else ProbabilisticLinkage(agreement="quantile", quantile=self.agreement, **common)
        )
        label = f"{self.name}: linking records"
        pair = Pair.of(_table(sources), _table(targets))
        return linkage.assess_drawn(pair, pair.attributes, draw, lambda done, _: progress(done, label))

    def _scenario(self, known: tuple[str, ...], released: tuple[str, ...]) -> str:
        same = "the same attributes, but not which is which"
        seen = same if known == released else f"{', '.join(released)} only"
        how = {
            "structure": "takes attributes that are correlated alike for the same, and the record nearest in them",
            "component": "orders both files by their first principal component and links equal ranks",
            "z-sum": "orders both files by the sum of z-scores and links equal ranks",
        }.get(self.operator, "takes for each person the record whose values lie most alike")
        return f"An intruder knows the true values of {', '.join(known)}, sees in the release {seen}, and {how}."


def _others_masked(pair: Pair, known: tuple[str, ...]) -> tuple[str, ...]:
    """The numeric attributes that the release masked and that the intruder does not know."""
    if pair.release is None:
        return ()
    masked, data = pair.release.provenance.attributes, pair.release.data
    return tuple(
        name for name in masked if name not in pair.attributes and name not in known and data[name].kind == "numeric"
    )


def _released(pair: Pair, name: str) -> FloatArray:
    """A released attribute that the intruder does not know."""
    if pair.release is None:
        raise UnknownNameError("released attribute", name, pair.attributes)
    values: FloatArray = pair.release.data.numbers(name).values
    return values


def _scaled(columns: FloatArray, scale: ScaleOrRank) -> FloatArray:
    """Each column on the scale; NaN stays NaN, and a constant lies in the middle."""
    if scale == "none":
        return columns
    if scale == "z":
        return standardise(columns)
    if scale == "rank":
        columns = np.column_stack([_ranks(column) for column in columns.T])
    varied = Scaling.of(columns).deviation > 0
    return np.where(varied | np.isnan(columns), min_max(columns), 0.5)


def _ranks(column: FloatArray) -> FloatArray:
    present = ~np.isnan(column)
    ranks = np.full(len(column), np.nan)
    ranks[present] = average_ranks(column[present])
    return ranks


def _matched(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The columns of both files that are correlated alike within their file, side by side."""
    alike = [correlations(columns) for columns in (one, other)]
    if one.shape[1] <= other.shape[1]:
        return one, other[:, match(alike[0], alike[1])]
    return one[:, match(alike[1], alike[0])], other


def _scores(columns: FloatArray, score: Operator) -> FloatArray:
    """One number for each record by which a file can be put in order."""
    z = np.nan_to_num(standardise(columns))
    return steady_component(z).scores if score == "component" else np.asarray(z.sum(axis=1))


def _linked_by_rank(sources: FloatArray, targets: FloatArray) -> FloatArray:
    """The chance that a record has the same rank in both files, where equal numbers take their ranks at random.

    >>> _linked_by_rank(np.array([1.0, 5.0, 5.0]), np.array([2.0, 7.0, 9.0])).tolist()
    [1.0, 0.5, 0.5]
    """
    low, high = zip(*(_rank_ranges(values.round(9)) for values in (sources, targets)), strict=True)
    shared = np.maximum(np.minimum(*high) - np.maximum(*low), 0)
    return np.asarray(shared / ((high[0] - low[0]) * (high[1] - low[1])), dtype=np.float64)


def _rank_ranges(values: FloatArray) -> tuple[IntArray, IntArray]:
    """The first rank of each number, and that after its last."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - counts)[inverse], ends[inverse]


def _table(rows: FloatArray) -> Microdata:
    names = [f"f{k + 1}" for k in range(rows.shape[1])]
    return Microdata.of(dict(zip(names, rows.T, strict=True)), numeric=names)


def _luck(per_record: FloatArray) -> dict[str, float]:
    """The share of right links to be expected from chance, and the chance of no fewer right ones than were found."""
    n, attacked = len(per_record), int((~np.isnan(per_record)).sum())
    right = int(np.nansum(per_record) + 1e-9)
    luck = {"chance": 1.0 / n, "chance, independent": chance_of_links(right, n, "independent", attacked).at_least}
    if attacked == n:
        luck["chance, one to one"] = chance_of_links(right, n).at_least
    return {name: 100 * share for name, share in luck.items()}


def _percent(**shares: FloatArray) -> dict[str, float]:
    return {name: 100 * float(share.mean()) for name, share in shares.items()}
