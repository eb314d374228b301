"""Membership inference: was this person in the file? Told by how near a release comes to the person."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import ClassVar, Literal

import numpy as np

from microveil.attacks.base import Attack, Risk, Variant
from microveil.attacks.confidential import known_tables
from microveil.attacks.leak import leak_of
from microveil.attacks.linkage.candidates import RECORDS, affordable
from microveil.comparison.columns import ScaledBy
from microveil.comparison.control_group import ControlGroup
from microveil.comparison.drawing import content_of, drawn_beside, in_drawn_order, sortable_cells
from microveil.comparison.pairs import Pair
from microveil.errors import Cancelled, DataError, MicroveilError
from microveil.masking.replaying import method_of, released_again
from microveil.microdata.schema import KINDS
from microveil.numerics.statistics.logistic import fit_logistic
from microveil.numerics.statistics.roc import area_interval, claims, placements
from microveil.numerics.statistics.scaling import Scaling
from microveil.numerics.statistics.wilson import wilson_interval
from microveil.parameters import LARGEST_SEED, MOST_RECORDS, parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.randomness import PublicStreams, derived_seed
from microveil.typing import BoolArray, FloatArray, IntArray

_NEEDED = "it needs a control group, records of the same population that are not in the release (control, --control)"
_CLAIMED = 0.05  # of the control group are taken for persons in the file, where successes are compared
_FEWEST_FOR_SHADOWS = 100
_MOST_FOR_SHADOWS = 20_000  # records of a file on which a battery tries shadow models
_NEARLY_EQUAL = 1e-3  # of the typical distance: what is nearer counts as a copy


def _has_numbers(pair: Pair) -> bool:
    return any(name not in pair.recoded for name in pair.of_kinds(("numeric",)))


def _has_plan(pair: Pair) -> bool:
    control = _control_of(pair)
    return bool(
        pair.release is not None
        and pair.release.provenance.steps
        and control is not None
        and len(control) >= _FEWEST_FOR_SHADOWS
    )


@parameterised
class MembershipInference(Attack):
    """The intruder knows a person and asks whether the person is in the file. Of persons in the file and persons of a
    control group, each is given a score; the risk is the advantage over guessing with which the score tells them apart.

    `density-ratio` compares the density of the release where the person is with that of the population, which is
    learnt from one half of the control group while the other is tested: the score is the logarithm of the distance to
    the nearest person of that half over the distance to the nearest released record. `closest-record` takes the
    latter distance alone; it takes everybody who is like many others for a member, so it is a weak attack, and a weak
    measure of safety. `shadow` is for an intruder who knows the plan of the release, but not its seed: they carry it
    out on parts of the control group, and learn from persons who are in these parts and persons who are not how
    distances tell the ones from the others.

    The value is the advantage 2 A - 1, where A is the probability that a person in the file scores above one who is
    not (the area under the ROC curve, counter `auc`); guessing has 0. `per_record` is that probability for each person
    in the file. Rare but certain disclosures do not show in a mean: `tpr` is the share of the persons in the file that
    are recognised when `false_positives` of the control group are taken for such too, with its interval from `tpr low`
    to `tpr high`. `closest record` is the advantage by the distance to the closest record alone.

    Without a control group, the records of the original that were not released are taken, if the release is a sample.

    >>> from microveil.microdata import Microdata
    >>> rng = np.random.default_rng(1)
    >>> inside, outside = (Microdata.of({"a": rng.normal(size=60), "b": rng.normal(size=60)}) for _ in range(2))
    >>> MembershipInference().assess(inside, inside, control=outside).value > 90
    True
    """

    name: ClassVar[str] = "membership-inference"
    family: ClassVar[str] = "inference"
    reads_labels: ClassVar[bool] = True
    needs_control: ClassVar[bool] = True
    success: ClassVar[str] = (
        "the person is taken to be in the file, at a threshold that 5 % of the control group exceed"
    )
    summary: ClassVar[str] = "tells from the release whether a person was in the file, against a control group"
    meaning: ClassVar[str] = "advantage over guessing in telling who was in the file; lower is safer"
    assumes: ClassVar[str] = (
        "the true values of some attributes of a person, and other records of the population; for shadow models also "
        "the plan of the release"
    )
    formula: ClassVar[str] = "2 P(s(i) > s(c)) - 1 over i in the file and c in the control group, s = log d_ref / d_rel"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = "a missing cell is left out of a distance, and the rest is scaled up"
    source: ClassVar[str] = (
        "Yeom et al. (2018) on the advantage; van Breugel et al. (2023) on the density ratio; Shokri et al. (2017) and "
        "Stadler, Oprisanu and Troncoso (2022) on shadow models; Carlini et al. (2022) on low false positive rates"
    )

    score: Literal["density-ratio", "closest-record", "shadow"] = parameter(
        default="density-ratio",
        help="what tells a person in the file: the density of the release over that of the population, the distance to "
        "the closest record, or what was learnt from carrying out the plan on other records",
    )
    false_positives: float = parameter(
        default=0.01,
        help="for the counter tpr: the share of the control group that is taken to be in the file",
        gt=0,
        lt=1,
    )
    scale: ScaledBy = parameter(
        default="joint",
        help="scale of numbers: that of the original for both files (joint), or each file's own z-scores, which sees "
        "through numbers in another unit (separate)",
    )
    shadows: int = parameter(default=4, help="for shadow: how often the plan is carried out again", ge=1, le=1_000)
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(
        default=0,
        help="seed for dividing the control group, for shadows and the records to attack",
        ge=0,
        le=LARGEST_SEED,
    )

    variants: ClassVar[tuple[Variant, ...]] = (
        Variant({"scale": "separate"}, _has_numbers),
        Variant({"score": "shadow"}, _has_plan, most_records=_MOST_FOR_SHADOWS),
    )

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        return super().suited(pair) if _control_of(pair) is not None else ()

    @classmethod
    def why_not(cls, pair: Pair) -> str:
        return _NEEDED if _control_of(pair) is None else super().why_not(pair)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        control = _control_of(pair)
        if control is None:
            raise DataError(f"{self.name} cannot be run: {_NEEDED}")
        persons = self._persons(pair, control, attributes, Part(progress, 0.0, 0.4))
        scores = self._scores(pair, control, attributes, persons, Part(progress, 0.4, 1.0))
        return self._risk(pair, control, attributes, persons, scores)

    def _persons(self, pair: Pair, control: ControlGroup, attributes: tuple[str, ...], progress: Progress) -> Persons:
        """The persons who are attacked, in two halves, each with how near the release is, and the half of the control
        group that is not its own."""
        everyone = pair.with_control(control)
        wanted = affordable(self.records, 20.0 * (len(pair) + len(control)) * len(attributes))
        rows, others = drawn_beside(pair, control, attributes, wanted, self.seed, self.name)
        known = np.stack([sortable_cells(control.data.arrow(name)) for name in attributes])
        halves = _halves(content_of(pair, attributes)[:, rows], self.seed, self.name)
        halves_of_control = _halves(known[:, others - len(pair)], self.seed, f"{self.name} control")
        half = np.concatenate([halves, halves_of_control])
        everybody = np.concatenate([rows, others])
        released, population = np.zeros((len(half), 2)), np.zeros(len(half))
        for which, part in enumerate(parts(progress, 2)):
            here, reference = half == which, others[halves_of_control != which]
            released[here], population[here] = _distances(
                everyone, attributes, self.scale, everybody[here], reference, part
            )
        return Persons(rows, others, half, Nearness(released, population))

    def _scores(
        self, pair: Pair, control: ControlGroup, attributes: tuple[str, ...], persons: Persons, progress: Progress
    ) -> FloatArray:
        if self.score == "closest-record":
            return -persons.near.released[:, 0]
        if self.score == "density-ratio":
            return persons.near.ratio
        if pair.release is None or not pair.release.provenance.steps:
            raise DataError(f"{self.name}: score = 'shadow' needs the plan of the release, and it has no provenance")
        if len(control) < _FEWEST_FOR_SHADOWS:
            raise DataError(
                f"{self.name}: score = 'shadow' needs a control group of at least {_FEWEST_FOR_SHADOWS} records"
            )
        scores = np.zeros(len(persons.half))
        for half, part in enumerate(parts(progress, 2)):
            learnt = self._learnt(pair, control, attributes, persons, half, part)
            here = persons.half == half
            scores[here] = learnt.scores(persons.near.features[here])
        return scores

    def _learnt(
        self,
        pair: Pair,
        control: ControlGroup,
        attributes: tuple[str, ...],
        persons: Persons,
        half: int,
        progress: Progress,
    ) -> Learnt:
        """What persons of the other half of the control group teach: the plan is carried out on some of them, and this
        half of the control group stands for the population."""
        assert pair.release is not None
        provenance = pair.release.provenance
        columns = set(control.data.names)
        work = [
            (method_of(step), tuple(name for name in provenance.masked_by(step) if name in columns))
            for step in provenance.steps
        ]
        of_control = persons.half[len(persons.rows) :]
        known = np.stack([sortable_cells(control.data.arrow(name)) for name in attributes])
        teachers, population = (
            _in_order(persons.others[of_control == which] - len(pair), known, self.seed) for which in (1 - half, half)
        )
        features, inside = [], []
        for number, part in enumerate(parts(progress, self.shadows)):
            shuffled = (
                PublicStreams(self.seed).generator(self.name, "shadow", str(half), str(number)).permutation(teachers)
            )
            drawn, rest = np.split(shuffled, [len(shuffled) // 2])
            seed = derived_seed(self.seed, self.name, half, number)
            try:
                made = released_again(control.data.take(drawn), work, seed, Part(part, 0.0, 0.7))
                shadow = Pair.of(control.data.take(drawn), made, known=attributes).reading_labels()
            except Cancelled:
                raise
            except MicroveilError as problem:
                raise DataError(
                    f"{self.name}: the plan cannot be carried out on parts of the control group, so no shadow model "
                    f"can be made: {problem}"
                ) from None
            others = ControlGroup(control.data.take(np.concatenate([rest, population])))
            everyone, own = shadow.with_control(others), len(shadow)
            tested, reference = np.split(np.arange(own + len(others)), [own + len(rest)])
            found = _distances(everyone, attributes, self.scale, tested, reference, Part(part, 0.7, 1.0))
            features.append(Nearness(*found).features)
            inside.append(tested < own)
        return Learnt.of(np.concatenate(features), np.concatenate(inside))

    def _risk(
        self, pair: Pair, control: ControlGroup, attributes: tuple[str, ...], persons: Persons, scores: FloatArray
    ) -> Risk:
        """Scores are compared within a half of the persons, for what is learnt differs between the two."""
        area, own = persons.area(scores)
        low, high = area_interval(area, len(persons.rows), len(persons.others))
        baseline, _ = persons.area(-persons.near.released[:, 0])
        found, _ = persons.claimed(scores, self.false_positives)
        hits = fsum(found.tolist())
        tpr_low, tpr_high = wilson_interval(hits, len(found))
        counters = {
            "auc": 100 * area,
            "tpr": 100 * hits / len(found),
            "tpr low": 100 * tpr_low,
            "tpr high": 100 * tpr_high,
            "closest record": _advantage(baseline),
        }
        per_record = np.full(len(pair), np.nan)
        per_record[persons.rows] = own
        return Risk(
            self.name, _advantage(area), _advantage(low), _advantage(high), per_record, attributes,
            self._scenario(pair, attributes), len(persons.rows), counters=counters,
            leak=leak_of(*persons.claimed(scores, _CLAIMED), self.success),
        )  # fmt: skip

    def _scenario(self, pair: Pair, attributes: tuple[str, ...]) -> str:
        others = "other records of the population" if pair.control is not None else "records that were not released"
        how = {
            "density-ratio": "compares how near the release comes to the person with how near these do",
            "closest-record": "looks how near the closest released record is",
            "shadow": "has learnt by carrying out the plan on parts of these how near a release comes to who is in it",
        }[self.score]
        return (
            f"An intruder who knows the true values of {', '.join(attributes)} for a person, and has {others}, {how}, "
            "and says whether the person is in the file."
        )


@dataclass(frozen=True)
class Nearness:
    """The distances of persons to the two nearest released records, and to the nearest person of the population."""

    released: FloatArray
    population: FloatArray

    @property
    def _least(self) -> float:
        present = self.population[self.population > 0]
        return _NEARLY_EQUAL * float(np.median(present)) if len(present) else 1.0

    @property
    def ratio(self) -> FloatArray:
        """The logarithm of the density of the release over that of the population, but for a constant."""
        return np.asarray(np.log(self.population + self._least) - np.log(self.released[:, 0] + self._least))

    @property
    def features(self) -> FloatArray:
        """What a shadow model learns from, a row for each person."""
        near = np.log(np.column_stack([self.released, self.population]) + self._least)
        return np.column_stack([near, (self.released[:, 0] < self._least).astype(np.float64)])


@dataclass(frozen=True)
class Persons:
    """Who is attacked: persons of the original (`rows`) and after them persons of the control group (`others`), each in
    one `half` of all."""

    rows: IntArray
    others: IntArray
    half: IntArray
    near: Nearness

    def _sides(self, scores: FloatArray, half: int) -> tuple[FloatArray, FloatArray]:
        inside, here = np.arange(len(scores)) < len(self.rows), self.half == half
        return scores[inside & here], scores[~inside & here]

    def area(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """The probability that a person in the file scores above one who is not, over all and for each person."""
        own = np.empty(len(self.rows))
        for half in (0, 1):
            own[self.half[: len(self.rows)] == half] = placements(*self._sides(scores, half))
        return fsum(own.tolist()) / len(own), own

    def claimed(self, scores: FloatArray, rate: float) -> tuple[FloatArray, FloatArray]:
        """Who is taken to be in the file, of the original and of the control group, so that this rate of the latter
        is."""
        found = [claims(*self._sides(scores, half), rate) for half in (0, 1)]
        one, other = (np.concatenate([sides[side] for sides in found]) for side in (0, 1))
        return one, other


@dataclass(frozen=True)
class Learnt:
    """A logistic regression of being in a file."""

    scaling: Scaling
    coefficients: FloatArray

    @classmethod
    def of(cls, features: FloatArray, inside: BoolArray) -> Learnt:
        scaling = Scaling.of(features)
        made = np.column_stack([np.ones(len(features)), scaling.apply(features)])
        return cls(scaling, fit_logistic(made, inside).coefficients)

    def scores(self, features: FloatArray) -> FloatArray:
        return np.asarray(self.scaling.apply(features) @ self.coefficients[1:])


def _control_of(pair: Pair) -> ControlGroup | None:
    """The control group that was given, else the records that were not released."""
    return pair.control if pair.control is not None else pair.held_out


def _distances(
    everyone: Pair,
    attributes: tuple[str, ...],
    scale: ScaledBy,
    persons: IntArray,
    population: IntArray,
    progress: Progress,
) -> tuple[FloatArray, FloatArray]:
    """From persons to their two nearest released records, and to the nearest of those who stand for the population.

    Somebody of whom nothing is known is at distance 0 from all.
    """
    from microveil.numerics.neighbours.nearest_distances import two_nearest

    known, released, terms = known_tables(everyone, attributes, scale)
    label = "membership-inference: measuring distances"
    first, second = parts(progress, 2)
    to_released = np.sqrt(two_nearest(known, released, terms, persons, progress=first, label=label))
    to_others = np.sqrt(two_nearest(known, known.at(population), terms, persons, progress=second, label=label))[:, 0]
    to_released[:, 1] = np.where(np.isfinite(to_released[:, 1]), to_released[:, 1], to_released[:, 0])
    return np.where(np.isfinite(to_released), to_released, 0.0), np.where(np.isfinite(to_others), to_others, 0.0)


def _halves(content: FloatArray, seed: int, name: str) -> IntArray:
    """Records divided in two at random, by their content; a record is a column."""
    order = in_drawn_order(content, seed, f"{name} halves")
    half = np.empty(len(order), dtype=np.int64)
    half[order] = np.arange(len(order)) % 2
    return half


def _in_order(rows: IntArray, content: FloatArray, seed: int) -> IntArray:
    """Records in an order that depends on their content alone."""
    return rows[in_drawn_order(content[:, rows], seed, "shadows")]


def _advantage(area: float) -> float:
    """In per cent, what telling two persons apart gains over guessing."""
    return 100 * max(0.0, 2 * area - 1)
