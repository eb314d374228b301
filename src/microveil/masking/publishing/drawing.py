"""Draws around the means of groups."""

from __future__ import annotations

from typing import Literal

import numpy as np

from microveil.masking.notes import COVARIANCES_SMALLER, SHARED_NOISE, Note
from microveil.masking.partition import Partition
from microveil.numerics.perturbing.perturbation import Mode, Noise, hybrid, perturb
from microveil.typing import FloatArray

NoiseMode = Literal["centred", "iid", "exact", "paper", "hybrid"]


def drawn_values(
    values: FloatArray, partition: Partition, mode: NoiseMode, noise: Noise, rng: np.random.Generator
) -> tuple[FloatArray, tuple[Note, ...]]:
    """What each record publishes when it is drawn around the mean of its group, and what is to be said about it.

    The noise keeps means and covariances of the file, or with `hybrid` those of every group that is large enough.
    """
    if mode != "hybrid":
        shared: Mode = mode
        shrunk = noise == "bootstrap" and values.shape[1] > 1 and bool(np.isnan(values).any())
        notes = (COVARIANCES_SMALLER(),) if shrunk else ()
        return perturb(values, partition.labels, shared, noise, rng), notes
    drawn, fallen_back = hybrid(values, partition.labels, rng)
    return drawn, (SHARED_NOISE(groups=fallen_back),) if fallen_back else ()
