"""What holds for every loss beside what holds for all measures."""

from __future__ import annotations

import numpy as np

from microveil.checks.expecting import expect, expect_close, expect_equal
from microveil.checks.measuring import measured
from microveil.checks.tables import fitting, linked_for, noisy, pairs_of_one_kind
from microveil.losses import LossMeasure
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.parameters import parameter_names
from microveil.registry import make_of

Class = type[LossMeasure]
_A_LITTLE = 2.0  # percentage points by which a model that is learnt may move


def a_constant_that_is_not_exact_in_binary_is_a_constant(cls: Class) -> None:
    """Whether a column is full of 0.1, or of a number so close to it whose sums are exact, makes no difference, also
    where a cell of another one is missing."""
    if "numeric" not in cls.kinds:
        return
    rng = np.random.default_rng(1)
    x = rng.normal(10, 1, size=400)
    y = x + rng.normal(size=400)
    noisy_x = np.where(np.arange(400) == 0, np.nan, x + 1e-9 * rng.normal(size=400))
    values = []
    for constant in (0.1, round(0.1 * 2**40) / 2**40):
        tables = (Microdata.of({"c": np.full(400, constant), "x": c, "y": y}) for c in (x, noisy_x))
        one, other = (linked_for(cls, table) for table in tables)
        values.append(measured(cls, one, other, ["c", "x", "y"]).value)
    expect_close(values[0], values[1], "the loss beside a constant", absolute=_A_LITTLE if cls.learns else 1e-6)


def a_loss_that_calls_itself_suited_gives_a_number(cls: Class) -> None:
    """Whatever the one kind of attribute is that there is."""
    for kind, pair in pairs_of_one_kind(cls).items():
        if cls.suited(pair):
            value = make_of(cls).measure_pair(pair).value
            expect(0 <= value <= 100, f"the loss of {kind} attributes is {value}")


def the_order_of_the_records_does_not_decide_the_sample(cls: Class) -> None:
    """Of a loss that is measured on a sample of a long file."""
    if "sample" not in parameter_names(cls):
        return
    data = survey(600, seed=2)
    matched = {"correspondence": "nearest"} if "correspondence" in parameter_names(cls) else {}
    loss = make_of(cls, {"sample": 200, **matched})
    masked, attributes = noisy(data, cls.kinds), fitting(data, cls.kinds)
    order = np.random.default_rng(5).permutation(len(data))
    found = loss.measure(data, masked, attributes)
    turned = loss.measure(data.take(order), masked.take(order), attributes)
    expect_equal(found.details["sampled"], 200, "the number of records in the sample")
    expect_close(turned.value, found.value, "the loss in another order", absolute=1e-6)
