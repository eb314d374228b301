"""Draws around the means of groups."""

from __future__ import annotations

from typing import Literal

import numpy as np

from microveil.masking.partition import Partition
from microveil.microdata.microdata import count
from microveil.numerics.perturbing.perturbation import Mode, Noise, hybrid, perturb
from microveil.typing import FloatArray

NoiseMode = Literal["centred", "iid", "exact", "paper", "hybrid"]


def drawn_values(
    values: FloatArray, partition: Partition, mode: NoiseMode, noise: Noise, rng: np.random.Generator
) -> tuple[FloatArray, tuple[str, ...]]:
    """What each record publishes when it is drawn around the mean of its group, and what is to be said about it.

    The noise keeps means and covariances of the file, or with `hybrid` those of every group that is large enough.
    """
    if mode != "hybrid":
        shared: Mode = mode
        shrunk = noise == "bootstrap" and values.shape[1] > 1 and bool(np.isnan(values).any())
        notes = ("resampled noise makes covariances smaller where cells are missing",) if shrunk else ()
        return perturb(values, partition.labels, shared, noise, rng), notes
    drawn, fallen_back = hybrid(values, partition.labels, rng)
    return drawn, shared_noise_notes(fallen_back)


def shared_noise_notes(groups: int) -> tuple[str, ...]:
    """What is to be said where so many groups could not have noise of their own."""
    if not groups:
        return ()
    return (
        f"{count(groups, 'group')} too small for a covariance of their own, or with missing cells: these got the noise "
        "that all groups share",
    )
