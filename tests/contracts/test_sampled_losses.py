"""What holds for every loss that looks at a sample of a long file."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.microdata.datasets.sample_survey import survey
from microveil.parameters import parameter_names
from microveil.registry import find, make, names

from .test_measures import fitting, noisy

SAMPLED = [name for name in names("loss") if "sample" in parameter_names(find("loss", name))]


@pytest.mark.parametrize("name", SAMPLED)
def test_the_order_of_the_records_does_not_decide_the_sample(name: str) -> None:
    data = survey(600, seed=2)
    parameters = {"correspondence": "nearest"} if "correspondence" in parameter_names(find("loss", name)) else {}
    loss = make("loss", name, {"sample": 200, **parameters})
    masked = noisy(data, loss.kinds)
    attributes = fitting(data, loss.kinds)
    order = np.random.default_rng(5).permutation(len(data))
    found = loss.measure(data, masked, attributes)
    turned = loss.measure(data.take(order), masked.take(order), attributes)
    assert found.details["sampled"] == 200
    assert turned.value == pytest.approx(found.value, abs=1e-6)
