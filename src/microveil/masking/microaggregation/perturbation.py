"""Publishing draws around group means instead of the means, and finding the group size that protects enough."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from microveil.errors import DataError
from microveil.masking.base import Masked
from microveil.masking.microaggregation.aggregators import shared_noise_notes
from microveil.masking.microaggregation.base import Microaggregation
from microveil.masking.partition import Partition
from microveil.masking.release import Release
from microveil.microdata import Microdata
from microveil.numerics.perturbing.perturbation import Mode, Noise, hybrid, perturb
from microveil.progress import Progress, parts, silent
from microveil.typing import FloatArray

NoiseMode = Literal["centred", "iid", "exact", "paper", "hybrid"]


def drawn_values(
    values: FloatArray, partition: Partition, mode: NoiseMode, noise: Noise, rng: np.random.Generator
) -> tuple[FloatArray, tuple[str, ...]]:
    """What each record publishes when it is drawn around the mean of its group, and what is to be said about it."""
    if mode != "hybrid":
        shared: Mode = mode
        shrunk = noise == "bootstrap" and values.shape[1] > 1 and bool(np.isnan(values).any())
        notes = ("resampled noise makes covariances smaller where cells are missing",) if shrunk else ()
        return perturb(values, partition.labels, shared, noise, rng), notes
    drawn, fallen_back = hybrid(values, partition.labels, rng)
    return drawn, shared_noise_notes(fallen_back)


def columns_drawn(
    data: Microdata, block: tuple[str, ...], drawn: FloatArray, runs: Sequence[Masked]
) -> dict[str, pa.Array]:
    """Drawn numbers as columns; a cell that any of the runs suppressed stays suppressed."""
    columns = {}
    for j, name in enumerate(block):
        empty = [run.columns[name].is_null().to_numpy(zero_copy_only=False) for run in runs]
        columns[name] = data.number_column(name, drawn[:, j], np.any(empty, axis=0))
    return columns


@dataclass(frozen=True)
class Calibration:
    """The group size that was found, its mean risk, and the risks of all sizes tried."""

    k: int
    risk: float
    tried: tuple[tuple[int, float], ...]


def calibrate(
    method: Microaggregation,
    data: Microdata,
    measure: Callable[[Microdata, Release], float],
    target: float,
    *,
    attributes: Sequence[str] | None = None,
    sizes: Iterable[int] | None = None,
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    progress: Progress = silent,
) -> Calibration:
    """Raise the group size until the risk is at most `target` percent for two sizes in a row; the first of them is it.

    `measure(original, release)` gives the percentage, such as that of records linked. It is noisy in k, so for a
    random method its mean over the seeds counts, and one lucky size does not end the search.
    """
    candidates = list(range(3, max(3, len(data) // 2) + 1) if sizes is None else sizes)
    used = seeds if method.draws else seeds[:1]
    tried: list[tuple[int, float]] = []
    for k, part in zip(candidates, parts(progress, len(candidates)), strict=True):
        sized = dataclasses.replace(method, k=k)
        risks = [measure(data, sized.mask(data, attributes, seed=seed)) for seed in used]
        tried.append((k, float(np.mean(risks))))
        part(1.0, f"{method.name}: trying k = {k}")
        if len(tried) > 1 and max(tried[-1][1], tried[-2][1]) <= target:
            return Calibration(*tried[-2], tuple(tried))
    lowest = min((risk for _, risk in tried), default=100.0)
    raise DataError(
        f"no group size tried brings the risk to {target:g} % twice in a row; the lowest was {lowest:.3g} %"
    )
