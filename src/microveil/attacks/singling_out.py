"""Singling out: predicates read off the release that exactly one original record fulfils."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.linkage.candidates import RECORDS, affordable, attacked
from microveil.comparison.columns import Columns
from microveil.comparison.drawing import drawn_beside
from microveil.comparison.pairs import Pair
from microveil.microdata.schema import KINDS
from microveil.parameters import LARGEST_SEED, MOST_ATTRIBUTES, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, parts
from microveil.randomness import PublicStreams
from microveil.typing import FloatArray, IntArray


@parameterised
class SinglingOut(Attack):
    """From each released record the intruder makes predicates of a few attributes, such as "age within 1 of 47, and
    a judge"; one succeeds if exactly one original record fulfils it. Nobody need be known for that.

    Each predicate takes some attributes at random, the same for all records. Narrow predicates isolate someone by
    chance too: the counter `chance` is the share of successes of predicates whose values come from different released
    records, and `gain` what the release adds, (risk - chance) / (100 - chance), at least 0. `own` is the share of
    predicates that isolate the record they were made from.

    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"age": [20, 22, 41, 43], "height": [170, 180, 175, 190]})
    >>> SinglingOut().assess(people, people).value
    100.0
    """

    name: ClassVar[str] = "singling-out"
    family: ClassVar[str] = "uniqueness"
    summary: ClassVar[str] = "isolates original records by predicates read off the release"
    meaning: ClassVar[str] = "predicates from the release that isolate one original record; lower is safer"
    assumes: ClassVar[str] = "nothing but the release"
    formula: ClassVar[str] = "share of (l, S) with #{ i : |x_ij - x'_lj| <= w_j for all j in S } = 1"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = "a missing cell fulfils no predicate; a predicate that needs one isolates nobody"
    source: ClassVar[str] = "Article 29 Working Party (2014) on singling out; Cohen and Nissim (2020)"
    success: ClassVar[str] = (
        "a predicate from the release isolates one of as many persons of the original, or of the control group"
    )

    size: int = parameter(default=3, help="number of attributes in a predicate", ge=1, le=MOST_ATTRIBUTES)
    predicates: int = parameter(default=10, help="number of predicates made from each released record", ge=1, le=10_000)
    width: float = parameter(
        default=5.0,
        help="half-width of the interval of a number in a predicate, in per cent of the released standard deviation",
        ge=0,
        le=1e6,
    )
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(
        default=0, help="seed for the attributes of the predicates and the records to attack", ge=0, le=LARGEST_SEED
    )

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        from microveil.numerics.counting.predicates import isolated

        columns = Columns.of(pair, attributes)
        reach = self._reach(columns)
        streams = PublicStreams(self.seed)
        choices = self._choices(len(attributes), streams.generator(self.name, "attributes"))
        drawn = attacked(pair, attributes, self.records, float(len(pair) * len(choices) * 2), self.seed, self.name)
        mixed = _mixed(columns.after, streams.generator(self.name, "chance"))[:, : len(drawn)]
        success, own, chance = np.zeros(len(drawn)), np.zeros(len(drawn)), 0.0
        for chosen, part in zip(choices, parts(progress, len(choices)), strict=True):
            real, fake = parts(part, 2)
            label = f"{self.name}: trying predicates"
            found = isolated(columns.before, columns.after[:, drawn], reach, chosen, real, label)
            success += found >= 0
            own += found == drawn
            chance += float((isolated(columns.before, mixed, reach, chosen, fake, label) >= 0).mean())
        per_record = np.full(len(pair), np.nan)
        per_record[drawn] = success / len(choices)
        share, chance = float(np.mean(success / len(choices))), chance / len(choices)
        counters = {
            "chance": 100 * chance,
            "gain": 100 * max(0.0, (share - chance) / (1.0 - chance)) if chance < 1 else 0.0,
            "own": 100 * float(np.mean(own / len(choices))),
        }
        scenario = (
            f"An intruder who knows only the release makes predicates on {', '.join(attributes)} that fit a released "
            "record, and is right if exactly one person of the original file fulfils them."
        )
        return Risk.of(self.name, per_record, attributes, scenario, counters=counters)

    def _beside_control(
        self, pair: Pair, attributes: tuple[str, ...], progress: Progress
    ) -> tuple[FloatArray, FloatArray] | None:
        """A predicate isolates someone the more easily the fewer persons there are, so both groups are taken equally
        large: predicates made from the released records of the persons drawn are tried on these, and on as many of the
        control group."""
        from microveil.numerics.counting.predicates import isolated

        assert pair.control is not None
        size = min(len(pair), len(pair.control))
        rows, others = drawn_beside(pair, pair.control, attributes, size, self.seed, self.name)
        columns = Columns.of(pair.with_control(pair.control), attributes)
        reach = self._reach(columns)
        choices = self._choices(len(attributes), PublicStreams(self.seed).generator(self.name, "attributes"))
        made_from = rows[: affordable(self.records, float(size * len(choices) * 2))]
        success, control = np.zeros(len(made_from)), np.zeros(len(made_from))
        label = f"{self.name}: trying predicates, control group"
        for chosen, part in zip(choices, parts(progress, len(choices)), strict=True):
            real, other = parts(part, 2)
            centres = columns.after[:, made_from]
            success += isolated(columns.before[:, rows], centres, reach, chosen, real, label) >= 0
            control += isolated(columns.before[:, others], centres, reach, chosen, other, label) >= 0
        return success / len(choices), control / len(choices)

    def _reach(self, columns: Columns) -> FloatArray:
        """How far the two values of each attribute may be apart; categories must be equal."""
        numeric = np.array([kind == "numeric" for kind in columns.kinds])
        present = ~np.isnan(columns.after)
        spread = [
            float(side[there].std()) if there.any() else 0.0 for side, there in zip(columns.after, present, strict=True)
        ]
        return np.where(numeric, self.width / 100 * np.array(spread), 0.0)

    def _choices(self, attributes: int, rng: np.random.Generator) -> list[IntArray]:
        """The attributes of each predicate; different choices as long as there are any."""
        size = min(self.size, attributes)
        drawn = [tuple(np.sort(rng.permutation(attributes)[:size]).tolist()) for _ in range(20 * self.predicates)]
        return [np.array(choice) for choice in list(dict.fromkeys(drawn))[: self.predicates]]


def _mixed(columns: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Records made of released values that do not belong together; the order of the file plays no part."""
    return np.stack([np.sort(column)[rng.permutation(len(column))] for column in columns])
