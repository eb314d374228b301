"""k-means: what its result must be, and that other programs do no better."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.vq import kmeans2

from microveil.numerics.clustering.k_means import k_means, k_means_from
from microveil.progress import silent


def blobs(seed: int, size: int = 300) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=(size, 3)) + 8 * rng.integers(0, 3, size=(size, 1)))


def test_every_row_is_with_its_nearest_mean() -> None:
    rows = blobs(1)
    found = k_means(rows, 4, 20, np.random.default_rng(2), silent, "")
    means = np.stack([rows[found.labels == c].mean(axis=0) for c in range(4)])
    gaps = ((rows[:, None, :] - means[None]) ** 2).sum(axis=2)
    assert found.centres == pytest.approx(means)
    assert (gaps[np.arange(len(rows)), found.labels] <= gaps.min(axis=1) + 1e-9).all()
    assert found.objective == pytest.approx(gaps.min(axis=1).sum())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_is_as_good_as_the_best_of_twenty_runs_of_another_program(seed: int) -> None:
    rows = blobs(seed, 150)
    others = []
    for start in range(20):
        centres, labels = kmeans2(rows, 3, minit="++", seed=start)
        others.append(((rows - centres[labels]) ** 2).sum())
    assert k_means(rows, 3, 20, np.random.default_rng(seed), silent, "").objective <= min(others) * 1.001


def test_the_first_centres_lead_to_the_same_clusters_again() -> None:
    rows = blobs(4)
    found = k_means(rows, 5, 20, np.random.default_rng(3), silent, "")
    again = k_means_from(rows, found.initial)
    assert (again.labels == found.labels).all()


def test_there_are_no_more_clusters_than_different_rows() -> None:
    rows = np.array([[1.0], [1.0], [2.0], [2.0]])
    found = k_means(rows, 3, 5, np.random.default_rng(1), silent, "")
    assert found.objective == 0
    assert sorted(found.sizes.tolist()) == [2, 2]
    assert k_means(np.ones((1, 2)), 3, 2, np.random.default_rng(1), silent, "").sizes.tolist() == [1]
