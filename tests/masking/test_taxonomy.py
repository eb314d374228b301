"""Every method is classified among perturbative, non-perturbative and synthetic ones."""

from __future__ import annotations

from typing import ClassVar

import pytest

from microveil.errors import UnknownNameError
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.masking.taxonomy import NATURES, classify
from microveil.registry import find, names


@pytest.mark.spec("03:SC-2")
@pytest.mark.parametrize("name", names("method"))
def test_every_method_has_a_nature_and_data_it_is_for(name: str) -> None:
    found = classify(find("method", name))
    assert found.nature in ("perturbative", "non-perturbative", "synthetic")
    assert found.numerical or found.categorical or found.links


@pytest.mark.spec("03:SC-2")
def test_the_classical_methods_are_where_the_literature_has_them() -> None:
    mdav, swapping, pram = (classify(find("method", name)) for name in ("mdav", "rank-swapping", "pram"))
    assert {mdav.nature, swapping.nature, pram.nature} == {"perturbative"}
    assert mdav.numerical
    assert swapping.numerical
    assert "ordinal" in swapping.categorical
    assert "nominal" in pram.categorical
    assert set(NATURES.values()) == {"perturbative", "non-perturbative", "synthetic"}


def test_a_family_without_a_nature_is_refused() -> None:
    class Odd(RankSwapping):
        family: ClassVar[str] = "swaping"

    with pytest.raises(UnknownNameError, match="unknown family of methods 'swaping'; did you mean 'swapping'"):
        classify(Odd)
