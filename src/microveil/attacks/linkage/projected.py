"""Projected linkage: records are compared by one score for each block of attributes that was masked together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from microveil.attacks.base import Attack, Risk
from microveil.attacks.linkage.base import hits_of_links
from microveil.attacks.linkage.candidates import RECORDS, attacked
from microveil.comparison.columns import Columns
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError, UnknownNameError
from microveil.masking.preparation.attribute_blocks import consecutive_blocks
from microveil.parameters import LARGEST_SEED, MOST_ATTRIBUTES, MOST_RECORDS, parameter, parameterised
from microveil.progress import Progress, parts
from microveil.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from microveil.numerics.neighbours.mixed_distance import Table
    from microveil.numerics.neighbours.nearest import Links

Projected = Literal["component", "component-raw", "z-sum", "loadings"]
From = Literal["masked", "original", "own"]
_STEPS_OF_A_TERM = 0.4


@dataclass(frozen=True)
class Mode:
    """One way of projecting: what the score is, and which file its parameters come from."""

    projection: Projected
    source: From

    def __str__(self) -> str:
        return f"{self.projection}, {self.source}"


@parameterised
class ProjectedLinkage(Attack):
    """Where attributes were microaggregated together, each block of them becomes one score, its first principal
    component or the sum of its z-scores; for every known record the released one with the nearest scores is linked.

    The mean of a group keeps the group's position on the axis along which it was made, so the scores of a block give
    away more than its attributes do. The blocks come from the provenance; without any, all attributes make one. Means,
    standard deviations and loadings are taken from the released file, from the originals that the intruder holds, or
    from each file its own. An intruder tries all of these: the risk is that of the best way, and the counters have each
    of them.

    >>> from microveil.masking.microaggregation.projection import Projection
    >>> from microveil.microdata import Microdata
    >>> people = Microdata.of({"a": [1, 2, 4, 7, 11], "b": [5, 3, 1, 2, 9], "c": [2, 9, 4, 4, 1], "d": [1, 3, 5, 9, 2]})
    >>> release = Projection(k=2, block=2).mask(people)
    >>> ProjectedLinkage().assess(people, release).value
    80.0
    """

    name: ClassVar[str] = "projected-linkage"
    family: ClassVar[str] = "linkage"
    needs_private_file: ClassVar[bool] = True
    summary: ClassVar[str] = "links records by one score for each block of attributes that was masked together"
    meaning: ClassVar[str] = "records linked to the right person by the scores of their blocks; lower is safer"
    assumes: ClassVar[str] = (
        "the true values of some attributes of everyone in the file, and which were masked together"
    )
    formula: ClassVar[str] = (
        "link = nearest of (z_1, ..., z_r), z_b a projection of block b to one dimension; best of all"
    )
    kinds: ClassVar[tuple[str, ...]] = ("numeric",)
    missing: ClassVar[str] = "a block with a missing cell has no score: distances leave it out and scale up the rest"
    source: ClassVar[str] = "Nin, Herranz and Torra (2008b); Nin (2008), section 4.3.2, Algorithm 5"

    projections: tuple[Projected, ...] = parameter(
        default=("component", "component-raw", "z-sum"),
        help="scores that are tried: first component of the z-scores or of the values, their sum, or given loadings",
        min_length=1,
    )
    parameters_from: tuple[From, ...] = parameter(
        default=("masked", "original", "own"),
        help="files that means, standard deviations and loadings are taken from: each is tried",
        min_length=1,
    )
    blocks: tuple[tuple[str, ...], ...] | None = parameter(
        default=None, help="the attributes of each block; unset: from the provenance, or one block of all", min_length=1
    )
    block: int | None = parameter(
        default=None,
        help="number of known attributes in each block, in their order, instead of blocks",
        ge=1,
        le=MOST_ATTRIBUTES,
    )
    loadings: tuple[float, ...] | None = parameter(
        default=None, help="with loadings: the weight of each known attribute's z-score in the score of its block"
    )
    rescale: bool = parameter(
        default=False, help="bring the scores of every block to standard deviation 1 before distances are taken"
    )
    records: int | None = parameter(default=None, help=RECORDS, ge=1, le=MOST_RECORDS)
    seed: int = parameter(default=0, help="seed for drawing the records to attack", ge=0, le=LARGEST_SEED)

    def __post_init__(self) -> None:
        if ("loadings" in self.projections) != (self.loadings is not None):
            raise ParameterError(f"{self.name}: loadings and projections = 'loadings' are given together or not at all")
        if self.blocks is not None and self.block is not None:
            raise ParameterError(f"{self.name}: block = {self.block} is not allowed with blocks")

    @classmethod
    def suited(cls, pair: Pair) -> tuple[Attack, ...]:
        known = pair.of_kinds(cls.kinds)
        together = any(len(block) > 1 for block in blocks_masked(pair, known))
        return super().suited(pair) if together else ()

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        blocks = self._blocks(pair, attributes)
        columns = Columns.of(pair, attributes)
        modes = [Mode(*choice) for choice in product(self.projections, self.parameters_from)]
        steps = _STEPS_OF_A_TERM * len(modes) * len(blocks) * len(pair)
        own = attacked(pair, attributes, self.records, steps, self.seed, self.name)
        found = {
            mode: self._linked(mode, columns, blocks, own, part)
            for mode, part in zip(modes, parts(progress, len(modes)), strict=True)
        }
        hits = {mode: hits_of_links(links, own) for mode, links in found.items()}
        expected = {mode: chances["expected"] for mode, chances in hits.items()}
        best = max(modes, key=lambda mode: float(expected[mode].mean()))
        per_record = np.full(len(pair), np.nan)
        per_record[own] = expected[best]
        shares = {**hits[best], **{str(mode): expected[mode] for mode in modes}}
        counters = {key: 100 * float(np.mean(share)) for key, share in shares.items()}
        scenario = (
            f"An intruder knows the true values of {', '.join(attributes)} for a person in the file, makes one score "
            f"of each block of attributes ({best}, which serves best), and takes the released record nearest in these."
        )
        return Risk.of(self.name, per_record, attributes, scenario, counters=counters)

    def _blocks(self, pair: Pair, attributes: tuple[str, ...]) -> list[list[int]]:
        """The positions of the known attributes of each block; those in no block are blocks of their own."""
        if self.loadings is not None and len(self.loadings) != len(attributes):
            raise ParameterError(
                f"{self.name}: loadings needs a number for each of the {len(attributes)} known attributes"
            )
        if self.blocks is None and self.block is None:
            made: Sequence[Sequence[str]] = blocks_masked(pair, attributes) or [attributes]
        else:
            made = self.blocks or consecutive_blocks(attributes, self.block or 1)
        for name in (name for block in made for name in block):
            if name not in pair.original.names:
                raise UnknownNameError("attribute", name, pair.original.names)
        named = [name for block in made for name in block]
        if len(set(named)) < len(named):
            raise ParameterError(f"{self.name}: blocks is not allowed to have an attribute twice")
        alone = [(name,) for name in attributes if name not in named]
        positions = [[attributes.index(name) for name in block if name in attributes] for block in (*made, *alone)]
        return [block for block in positions if block]

    def _linked(
        self, mode: Mode, columns: Columns, blocks: list[list[int]], own: IntArray, progress: Progress
    ) -> Links:
        from microveil.numerics.neighbours.mixed_distance import SQUARED, Terms
        from microveil.numerics.neighbours.nearest import link

        scores = [self._scores(mode, columns.before[block], columns.after[block], block) for block in blocks]
        r = len(blocks)
        terms = Terms(np.full(r, SQUARED), np.zeros(r), np.zeros(r), np.ones(r, dtype=np.bool_), np.zeros(r))
        sources, targets = (_table([pair[side] for pair in scores]) for side in (0, 1))
        return link(sources, targets, terms, own, progress, f"{self.name}: {mode}")

    def _scores(
        self, mode: Mode, before: FloatArray, after: FloatArray, block: list[int]
    ) -> tuple[FloatArray, FloatArray]:
        """The scores of a block in both files."""
        from microveil.numerics.statistics.projection_axis import Axis

        fitted = [Axis.of(side.T, mode.projection != "component-raw") for side in (before, after)]
        if mode.projection == "z-sum":
            fitted = [axis.along(np.ones(len(block))) for axis in fitted]
        elif mode.projection == "loadings":
            given = np.array(self.loadings)[block]
            fitted = [axis.along(given) for axis in fitted]
        original, masked = fitted
        if mode.source == "own":
            masked = masked.like(original)
        elif mode.source == "original":
            masked = original
        else:
            original = masked
        scores = original.scores(before.T), masked.scores(after.T)
        if not self.rescale:
            return scores
        spread = float(np.nanstd(scores[1])) if not np.isnan(scores[1]).all() else 0.0
        return (scores[0] / spread, scores[1] / spread) if spread > 0 else scores


def _table(scores: list[FloatArray]) -> Table:
    from microveil.numerics.neighbours.mixed_distance import Table

    cells = np.stack(scores)
    absent = np.isnan(cells)
    return Table(np.where(absent, 0.0, cells), absent.astype(np.uint8))


def blocks_masked(pair: Pair, attributes: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The known attributes that were grouped together, as the provenance has it."""
    if pair.release is None:
        return []
    blocks = list(pair.release.partitions)
    if not blocks:  # a release that was read from its files has no partitions, but its steps
        provenance = pair.release.provenance
        blocks = [block for step in provenance.steps for block in _blocks_of(step, provenance.masked_by(step))]
    kept = [tuple(name for name in block if name in attributes) for block in blocks]
    return [block for block in dict.fromkeys(kept) if block]


def _blocks_of(step: Any, attributes: tuple[str, ...]) -> list[tuple[str, ...]]:
    if "k" not in step.parameters or not attributes:
        return []
    size = step.parameters.get("block") or len(attributes)
    return consecutive_blocks(attributes, size, step.parameters.get("leftover", "own"))
