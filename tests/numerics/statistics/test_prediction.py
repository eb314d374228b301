"""The tree and the regression that attacks learn with."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.numerics.statistics.prediction import Task, by_ridge, by_tree


def task(seen: np.ndarray, target: np.ndarray, *, nominal: bool = False, classes: bool = False) -> Task:
    return Task(seen[None, :], target, seen[None, :], np.array([nominal]), classes)


def test_a_regression_finds_a_line_and_shrinks_it() -> None:
    x = np.arange(10.0)
    assert by_ridge(task(x, 3 * x - 1), 1e-9)[:, 0] == pytest.approx(3 * x - 1)
    shrunk = by_ridge(task(x, 3 * x - 1), 10.0)[:, 0]
    assert shrunk.mean() == pytest.approx((3 * x - 1).mean())
    assert np.ptp(shrunk) == pytest.approx(27 / 2)  # n / (n + penalty) of the slope


def test_a_tree_predicts_the_mean_of_its_leaf() -> None:
    x = np.repeat([0.0, 1.0], 5)
    target = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 20.0, 20.0, 20.0, 20.0, 25.0])
    assert by_tree(task(x, target), leaf=5, evidence=0.0)[:, 0] == pytest.approx([3.0] * 5 + [21.0] * 5)
    assert by_tree(task(x, target), leaf=6, evidence=0.0)[:, 0] == pytest.approx([12.0] * 10)


@pytest.mark.parametrize("nominal", [True, False])
def test_classes_that_tie_share_the_chance(nominal: bool) -> None:
    x, classes = np.array([0.0, 0, 0, 0, 1, 1]), np.array([0.0, 0, 1, 1, 2, 2])
    learnt = task(x, classes, nominal=nominal, classes=True)
    expected = [[0.5, 0.5, 0.0]] * 4 + [[0.0, 0.0, 1.0]] * 2
    assert by_tree(learnt, leaf=2, evidence=0.0).tolist() == expected
    assert by_ridge(learnt, 1e-6).tolist() == expected


def test_missing_predictors_and_targets() -> None:
    x, target = np.array([0.0, 0.0, np.nan, np.nan, 1.0]), np.array([1.0, 1.0, 5.0, 5.0, np.nan])
    assert by_tree(task(x, target), leaf=2, evidence=0.0)[:4, 0].tolist() == [1.0, 1.0, 5.0, 5.0]
    assert np.isfinite(by_ridge(task(x, target), 1.0)).all()


def test_without_predictors_everyone_gets_the_mean() -> None:
    bare = Task(np.zeros((0, 3)), np.array([1.0, 2.0, 6.0]), np.zeros((0, 2)), np.zeros(0, dtype=np.bool_), False)
    assert by_tree(bare, leaf=1, evidence=0.0).tolist() == [[3.0], [3.0]]
    assert by_ridge(bare, 1.0).tolist() == [[3.0], [3.0]]
