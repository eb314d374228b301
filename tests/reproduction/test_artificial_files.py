"""Files drawn from a dependence tree, and the points of the circle and the sphere."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.numerics.statistics.dependence_tree import dependence, maximum_spanning_tree
from reproduction.artificial_files import circle_file, draw_codes, draw_values, random_tables, sphere_file
from reproduction.measuring import matrix


@pytest.mark.spec("02:LM43")
def test_files_drawn_from_a_tree_have_its_margins_and_its_tree() -> None:
    rng = np.random.default_rng(7)
    parents = (-1, 0, 0, 2, 2, 2, 0, 1)
    tables = random_tables(parents, 10, rng)
    codes = draw_codes(parents, tables, 20_000, rng)
    shares = np.bincount(codes[:, 0], minlength=10) / 20_000
    assert np.abs(shares - tables[0][0]).max() < 0.02
    given = codes[:, 0] == int(shares.argmax())
    assert np.abs(np.bincount(codes[given, 2], minlength=10) / given.sum() - tables[2][shares.argmax()]).max() < 0.04
    values = draw_values(codes, 100, rng)
    assert values.min() == 1.0
    assert values.max() <= 1000.0
    assert ((values - 1) // 100 == codes).all()
    edges = {(i, j) for i, j, _ in maximum_spanning_tree(dependence(values, "emim", 100))}
    assert edges == {(min(i, p), max(i, p)) for i, p in enumerate(parents) if p >= 0}
    with pytest.raises(ValueError, match="before its parent"):
        draw_codes((-1, 2, 0), tables[:3], 5, rng)


@pytest.mark.spec("03:GR-2")
def test_the_points_of_the_circle_lie_every_eighteen_degrees_from_nine() -> None:
    x, y = matrix(circle_file())[:, :2].T
    degrees = np.degrees(np.arctan2(y, x)) % 360
    assert sorted(degrees) == pytest.approx(np.arange(9.0, 360.0, 18.0))
    sphere = matrix(sphere_file())[:, :3]
    assert sorted(np.degrees(np.arctan2(sphere[:, 1], sphere[:, 0])) % 360) == pytest.approx(
        np.repeat(np.arange(9.0, 360.0, 18.0), 10)
    )
    heights = np.degrees(np.arcsin(sphere[:, 2]))
    assert sorted(heights) == pytest.approx(np.repeat([-81.0, -63, -45, -27, -9, 9, 27, 45, 63, 81], 20))


@pytest.mark.spec("03:GR-2")
def test_the_files_are_a_circle_and_a_sphere() -> None:
    circle, sphere = matrix(circle_file()), matrix(sphere_file())
    assert circle.shape == (20, 4)
    assert sphere.shape == (200, 9)
    assert (circle[:, :2] ** 2).sum(axis=1) == pytest.approx(np.ones(20))
    assert (sphere[:, :3] ** 2).sum(axis=1) == pytest.approx(np.ones(200))
    assert len(np.unique(circle, axis=0)) == 20
    assert len(np.unique(sphere, axis=0)) == 200
    assert (circle[:, :2] == circle[:, 2:]).all()
    assert (sphere[:, :3] == sphere[:, 6:]).all()
