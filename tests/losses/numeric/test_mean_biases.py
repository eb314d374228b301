"""ABIM, ABISD and ABICO by hand, and on a reference file beside what the studies of CAMP-CREST compute."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.losses.numeric.biases import ABICO, ABIM, ABISD
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.microdata import Microdata
from reproduction.class_restricted_measures import moment_biases


@pytest.mark.spec("07:CR-23")
def test_by_hand() -> None:
    before = Microdata.of({"a": [1.0, 3.0, 5.0], "b": [10.0, 10.0, 40.0]})
    after = Microdata.of({"a": [2.0, 3.0, 4.0], "b": [10.0, 20.0, 60.0]})
    abim = ABIM().measure(before, after)
    assert abim.per_attribute == pytest.approx({"a": 0, "b": 50})
    assert abim.value == pytest.approx(25)
    abisd = ABISD().measure(before, after)
    assert abisd.per_attribute["a"] == pytest.approx(50)
    r, r_masked = np.corrcoef([1, 3, 5], [10, 10, 40])[0, 1], np.corrcoef([2, 3, 4], [10, 20, 60])[0, 1]
    abico = ABICO().measure(before, after)
    assert abico.value == pytest.approx(100 * (r_masked - r) / r)
    assert abico.details["correlation_change"] == pytest.approx(100 * (r_masked - r))


def test_the_change_of_correlations_is_the_mean_over_pairs() -> None:
    before = Microdata.of({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0], "c": [1.0, 2.0, 3.0]})
    after = Microdata.of({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0], "c": [1.0, 3.0, 2.0]})
    # the correlations of c with a and with b fall from 1 to 1/2, that of a with b stays
    assert ABICO().measure(before, after).details["correlation_change"] == pytest.approx(100 / 3)


@pytest.mark.spec("07:CR-23")
@pytest.mark.parametrize("method", [MDAV(k=5), Noise(alpha=0.2)])
def test_the_losses_are_the_biases_of_the_studies(reference, method) -> None:  # type: ignore[no-untyped-def]
    census = reference("census")
    release = method.mask(census, seed=3)
    original, masked = (np.column_stack([d.numbers(n).values for n in census.names]) for d in (census, release.data))
    biases = moment_biases(original, masked)
    assert ABIM().measure(census, release).raw == pytest.approx(biases.means, abs=1e-9)
    assert ABISD().measure(census, release).raw == pytest.approx(biases.deviations)
    found = ABICO().measure(census, release)
    assert found.raw == pytest.approx(biases.correlations)
    assert found.details["correlation_change"] == pytest.approx(100 * biases.correlation_change)


@pytest.mark.spec("07:CR-23")
def test_terms_that_begin_at_zero_are_left_out_and_counted() -> None:
    before = Microdata.of({"a": [-1.0, 1.0], "b": [2.0, 2.0], "c": [1.0, 3.0]})
    after = Microdata.of({"a": [0.0, 1.0], "b": [2.0, 4.0], "c": [1.0, 5.0]})
    abim = ABIM().measure(before, after)
    assert (abim.details["left_out"], abim.value) == (1, 50)  # b and c moved by a half each
    abisd = ABISD().measure(before, after)
    assert abisd.details["left_out"] == 1
    assert abisd.value == pytest.approx((50 + 100) / 2)
    assert ABICO().measure(before, after).details["left_out"] == 2
    alone = ABICO().measure(before, after, ["a"])
    assert (alone.value, alone.details["left_out"]) == (0, 0)


@pytest.mark.spec("07:CR-23")
def test_where_every_term_begins_at_zero_changes_have_another_measure() -> None:
    square = {"a": [-0.1, 0.1, -0.1, 0.1], "b": [0.3, 0.3, -0.3, -0.3]}
    turned = {"a": [-0.1, 0.1, -0.1, 0.1], "b": [0.3, 0.3, -0.3, 0.3]}
    abico = ABICO().measure(Microdata.of(square), Microdata.of(turned))
    assert abico.details["left_out"] == 1
    assert abico.value == abico.details["correlation_change"]
    assert abico.value == pytest.approx(100 * np.corrcoef(turned["a"], turned["b"])[0, 1])
    # means of 0 move by a deviation; a constant that varies in the release is lost
    shifted = Microdata.of({"a": np.array(square["a"]) + np.std(square["a"], ddof=1), "b": square["b"]})
    assert ABIM().measure(Microdata.of(square), shifted).value == pytest.approx(50)
    constants = Microdata.of({"a": [0.1] * 4, "b": [2.0] * 4})
    assert ABISD().measure(constants, Microdata.of({"a": [0.1] * 4, "b": [2.0, 2.0, 2.0, 5.0]})).value == 50
    assert ABISD().measure(constants, constants).value == 0
