from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microveil.errors import ParameterError
from microveil.numerics.evolution.mutation import (
    BernoulliMutation,
    Change,
    PoissonMutation,
    complement,
    near_allele,
    other_allele,
)
from microveil.numerics.evolution.representations import Strings


def changes(mutation: BernoulliMutation | PoissonMutation, times: int) -> list[int]:
    rng, string = np.random.default_rng(1), np.zeros(len(mutation.strings.alleles), dtype=np.int64)
    return [int((mutation(string, rng) != string).sum()) for _ in range(times)]


@pytest.mark.spec("05:EA-09")
def test_every_gene_changes_with_its_rate_or_one_gene_of_the_string() -> None:
    by_gene = changes(BernoulliMutation(Strings.of(10), 0.3), 2000)
    assert np.mean(by_gene) == pytest.approx(3.0, abs=0.15)
    assert np.var(by_gene) == pytest.approx(2.1, abs=0.3)
    by_string = changes(BernoulliMutation(Strings.of(10), 0.3, unit="string"), 2000)
    assert set(by_string) == {0, 1}
    assert np.mean(by_string) == pytest.approx(0.3, abs=0.05)
    assert changes(BernoulliMutation(Strings.of(4), 1.0), 1) == [4]
    assert changes(BernoulliMutation(Strings.of(4), 0.0), 1) == [0]


@pytest.mark.spec("05:EA-09")
def test_as_many_genes_change_as_a_poisson_distribution_says_and_no_more_than_there_are() -> None:
    drawn = changes(PoissonMutation(Strings.of(50), 2.0), 2000)
    assert np.mean(drawn) == pytest.approx(2.0, abs=0.15)
    assert np.var(drawn) == pytest.approx(2.0, abs=0.3)
    assert changes(PoissonMutation(Strings.of(3), 500.0), 3) == [3, 3, 3]
    assert changes(PoissonMutation(Strings.of(3), 0.0), 1) == [0]


@pytest.mark.spec("05:EA-09")
def test_a_bit_is_complemented() -> None:
    mutated = BernoulliMutation(Strings.of(4), 1.0, complement)(np.array([0, 1, 1, 0]), np.random.default_rng(1))
    assert mutated.tolist() == [1, 0, 0, 1]


@pytest.mark.spec("05:EA-09")
@given(st.sampled_from([other_allele, near_allele]), st.integers(0, 2**32), st.data())
def test_a_mutated_gene_has_another_of_its_alleles(change: Change, seed: int, data: st.DataObject) -> None:
    alleles = np.array(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=6)))
    genes = np.array([data.draw(st.integers(0, int(count) - 1)) for count in alleles])
    mutated = change(genes, alleles, np.random.default_rng(seed))
    assert ((mutated >= 0) & (mutated < alleles)).all()
    assert ((mutated != genes) == (alleles > 1)).all()


@pytest.mark.spec("05:EA-09")
def test_other_alleles_are_alike_and_of_ordered_ones_the_neighbours_are_preferred() -> None:
    genes, alleles, rng = np.full(20_000, 1), np.full(20_000, 4), np.random.default_rng(1)
    alike = np.bincount(other_allele(genes, alleles, rng), minlength=4) / 20_000
    assert alike == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3], abs=0.015)
    ordered = np.bincount(near_allele(genes, alleles, rng), minlength=4) / 20_000
    assert ordered == pytest.approx([0.4, 0, 0.4, 0.2], abs=0.015)


def test_the_string_that_is_mutated_stays_as_it_was() -> None:
    string = np.zeros(5, dtype=np.int64)
    BernoulliMutation(Strings.of(5), 1.0)(string, np.random.default_rng(1))
    assert not string.any()


def test_a_rate_is_a_probability_and_a_mean_not_negative() -> None:
    with pytest.raises(ParameterError, match=r"rate = 1\.1"):
        BernoulliMutation(Strings.of(2), 1.1)
    with pytest.raises(ParameterError, match="mean = -1"):
        PoissonMutation(Strings.of(2), -1)
