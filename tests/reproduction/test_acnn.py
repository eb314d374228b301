"""The associative network, against the worked values of its source."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.numerics.statistics.scaling import standardise
from reproduction.acnn import acnn, association, interaction, thresholds, width
from reproduction.measuring import matrix

SIX = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])


@pytest.mark.spec("02:LM27", "02:LM28", "02:LM29")
def test_six_values_make_two_clusters_by_the_known_steps() -> None:
    assert ((SIX - SIX.mean()) ** 2).mean() == pytest.approx(6.256667, abs=1e-6)
    assert width(SIX, "printed") == pytest.approx(0.391501, abs=1e-6)
    near = association(SIX, "printed")
    through = interaction(near)
    limit = thresholds(through)
    assert near[0, 1] == pytest.approx(0.974781, abs=1e-6)
    assert through[0, 1] == pytest.approx(0.880105, abs=1e-6)
    assert limit[0, 1] == pytest.approx(0.359051, abs=1e-6)
    assert limit[0, 3] == pytest.approx(0.366061, abs=1e-6)
    first = acnn(SIX, max_epochs=1)
    assert first.association[0, 1] == pytest.approx(0.254788, abs=1e-6)
    assert first.association[0, 3] == pytest.approx(-0.181013, abs=1e-6)
    assert first.change == pytest.approx(5.726410, abs=1e-6)
    whole = acnn(SIX)
    assert whole.epochs == 5
    assert whole.labels.tolist() == [1, 1, 1, 2, 2, 2]
    assert (whole.count, whole.rows, len(whole.rejected)) == (2, 2, 0)


def test_the_scale_invariant_alpha_and_a_rejected_value() -> None:
    assert width(SIX, "msd-sqrt") == pytest.approx(2.554273, abs=1e-6)
    near = association(SIX, "msd-sqrt")
    through = interaction(near)
    assert near[0, 1] == pytest.approx(0.996093, abs=1e-6)
    assert through[0, 1] == pytest.approx(0.980615, abs=1e-6)
    assert thresholds(through)[0, 1] == pytest.approx(0.393544, abs=1e-6)
    assert acnn(SIX, "msd-sqrt", max_epochs=1).association[0, 1] == pytest.approx(0.285386, abs=1e-6)
    seven = np.append(SIX, [[20.0]], axis=0)
    assert acnn(seven, "msd-sqrt").labels.tolist() == [1, 1, 1, 2, 2, 2, 0]
    assert acnn(seven, "printed").rejected.tolist() == [1, 4, 6]


def test_three_blobs_are_found_on_any_scale_except_by_the_printed_alpha_on_raw_values() -> None:
    rng = np.random.default_rng(0)
    centres = np.repeat(np.array([[0.0, 0.0], [10.0, 0.0], [5.0, 75**0.5]]), 20, axis=0)
    blobs = centres + rng.normal(size=(60, 2))
    for alpha in ("printed", "msd", "msd-sqrt"):
        assert acnn(standardise(blobs), alpha).sizes == [20, 20, 20]  # type: ignore[arg-type]
    assert acnn(blobs, "msd").sizes == acnn(blobs, "msd-sqrt").sizes == [20, 20, 20]
    assert len(acnn(blobs, "printed").rejected) > 20


def test_the_natural_groups_of_tarragona(reference) -> None:  # type: ignore[no-untyped-def]
    found = acnn(standardise(matrix(reference("tarragona"))))
    assert found.count == 7
    assert len(found.rejected) == 228
    assert found.sizes == [597, 4, 3, 1, 1]


def test_edges_of_the_network() -> None:
    assert acnn(np.array([[3.0]])).labels.tolist() == [0]
    same = acnn(np.full((5, 2), 3.0))
    assert same.labels.tolist() == [1] * 5
    assert same.count == 1
    assert acnn(SIX, 2.5).labels.tolist() == [1, 1, 1, 2, 2, 2]
