"""Publishing draws around group means instead of the means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from microveil.masking.base import Masked
from microveil.masking.microaggregation.aggregators import shared_noise_notes
from microveil.masking.notes import COVARIANCES_SMALLER, Note
from microveil.masking.partition import Partition
from microveil.microdata import Microdata
from microveil.numerics.perturbing.perturbation import Mode, Noise, hybrid, perturb
from microveil.typing import FloatArray

NoiseMode = Literal["centred", "iid", "exact", "paper", "hybrid"]


def drawn_values(
    values: FloatArray, partition: Partition, mode: NoiseMode, noise: Noise, rng: np.random.Generator
) -> tuple[FloatArray, tuple[Note, ...]]:
    """What each record publishes when it is drawn around the mean of its group, and what is to be said about it."""
    if mode != "hybrid":
        shared: Mode = mode
        shrunk = noise == "bootstrap" and values.shape[1] > 1 and bool(np.isnan(values).any())
        notes = (COVARIANCES_SMALLER(),) if shrunk else ()
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
