"""What holds for every attack and every loss."""

from __future__ import annotations

import json

import numpy as np

from microveil.attacks import Risk
from microveil.checks.expecting import expect, expect_close, expect_equal, refused, threads
from microveil.checks.measuring import Measure, disturbed, measured
from microveil.checks.tables import (
    FRAMES,
    complete,
    complete_for,
    fitting,
    is_of_graph,
    linked_for,
    noisy,
    people_for,
    plain,
    to_frame,
    with_policy,
    with_refused_cells,
)
from microveil.errors import Cancelled, DataError, UnknownNameError
from microveil.losses import Loss
from microveil.microdata import Microdata
from microveil.registry import method


def an_identical_release_loses_nothing_and_is_as_risky_as_can_be(cls: Measure) -> None:
    data = complete_for(cls)
    attributes = fitting(data, cls.kinds)
    result = measured(cls, data, data, attributes)
    if isinstance(result, Loss):
        expect_close(result.value, 0, "the loss of an identical release", absolute=1e-9)
    else:
        safer = measured(cls, data, noisy(data, cls.kinds), attributes)
        expect(result.value > safer.value, "an identical release is no riskier than one with noise")


def values_are_percentages(cls: Measure) -> None:
    data = people_for(cls)
    result = measured(cls, data, disturbed(cls, data, 0.3), fitting(data, cls.kinds))
    expect(0 < result.value <= 100, f"the value of a release with noise is {result.value}")
    if isinstance(result, Risk):
        shares = [*result.per_attribute.values(), *result.counters.values()]
        expect(all(0 <= share <= 100 for share in shares), f"a part is no percentage: {shares}")
        expect(result.low <= result.value <= result.high, "the value lies outside its interval")


def more_disturbance_gives_more_loss_and_less_risk(cls: Measure) -> None:
    """On the mean of five releases each: a single small table may by chance look worse for a weak disturbance."""
    data = complete_for(cls)
    attributes = fitting(data, cls.kinds)
    results = {
        strength: [measured(cls, data, disturbed(cls, data, strength, seed), attributes) for seed in range(1, 6)]
        for strength in (0.01, 0.9)
    }
    weak, strong = (float(np.mean([result.value for result in found])) for found in results.values())
    grows = isinstance(results[0.9][0], Loss)
    expect(weak < strong if grows else weak > strong, f"it is {weak} with little noise and {strong} with much")


def the_same_input_gives_the_same_result_on_any_number_of_threads(cls: Measure) -> None:
    data = people_for(cls)
    masked, attributes = noisy(data, cls.kinds), fitting(data, cls.kinds)
    with threads(1):
        one = measured(cls, data, masked, attributes)
    with threads(4):
        expect_equal(measured(cls, data, masked, attributes).to_plain(), one.to_plain(), "the result")


def every_frame_library_gives_the_same_result_and_is_not_changed(cls: Measure) -> None:
    data = people_for(cls)
    masked, attributes = noisy(data, cls.kinds), fitting(data, cls.kinds)
    expected = measured(cls, data, masked, attributes).to_plain()
    for library in FRAMES:
        one = Microdata.of(to_frame(data, library), data.schema, graph=data.edges)
        other = Microdata.of(to_frame(masked, library), masked.schema, graph=masked.edges)
        digests = one.digest(), other.digest()
        expect_equal(measured(cls, one, other, attributes).to_plain(), expected, f"the result from {library}")
        expect(digests == (one.digest(), other.digest()), f"a frame of {library} was changed")


def a_bare_frame_can_be_compared(cls: Measure) -> None:
    attributes = fitting(complete(), ("numeric",) if "numeric" in cls.kinds else ("nominal",))
    frame = to_frame(complete().select(attributes), FRAMES[0])
    if is_of_graph(cls):  # which a frame is not
        with refused(DataError, "has none", "a table without links"):
            measured(cls, frame, frame, attributes)
        return
    expect(measured(cls, frame, frame, attributes).value >= 0, "the value is negative")


def missing_cells_are_handled_under_every_policy(cls: Measure) -> None:
    for policy in ("own category", "wildcard", "not applicable"):
        data = with_policy(people_for(cls), fitting(people_for(cls), cls.kinds), policy)
        result = measured(cls, data, data, fitting(data, cls.kinds))
        expect(0 <= result.value <= 100, f"the value under the policy '{policy}' is {result.value}")
        if isinstance(result, Loss):
            expect_close(result.value, 0, f"the loss of nothing under the policy '{policy}'", absolute=1e-9)


def missing_cells_are_refused_where_the_schema_says_so(cls: Measure) -> None:
    if not cls.kinds:
        return  # it reads no cell
    data, attributes = with_refused_cells(cls.kinds, people_for(cls))
    with refused(DataError, "missing value", "a missing cell"):
        measured(cls, data, data, attributes)


def constant_attributes_give_a_number(cls: Measure) -> None:
    data = linked_for(cls, plain({"a": [4] * 12, "b": [7] * 12}, cls.kinds))
    expect(np.isfinite(measured(cls, data, data).value), "the value is not finite")


def tiny_tables_give_a_number(cls: Measure) -> None:
    for records in (1, 2):
        data = linked_for(cls, plain({"a": [4, 5][:records], "b": [7, 9][:records]}, cls.kinds))
        expect(np.isfinite(measured(cls, data, data).value), f"the value of {records} records is not finite")


def tables_without_records_are_refused(cls: Measure) -> None:
    data = linked_for(cls, plain({"a": np.array([], dtype=np.int64), "b": np.array([], dtype=np.int64)}, cls.kinds))
    with refused(DataError, "no records", "an empty table"):
        measured(cls, data, data)


def infinite_values_are_refused(cls: Measure) -> None:
    if "numeric" in cls.kinds:
        tables = (Microdata.of({"a": [1.0, value, 3.0]}) for value in (2.0, float("-inf")))
        good, bad = (linked_for(cls, table) for table in tables)
        for original, masked in ((good, bad), (bad, good)):
            with refused(DataError, r"infinite value \(the first in record 2\)", "an infinite value"):
                measured(cls, original, masked)


def tables_of_different_length_are_refused(cls: Measure) -> None:
    with refused(DataError, "3 records and the masked table 2", "a release with fewer records"):
        longer, shorter = (linked_for(cls, plain({"a": cells}, cls.kinds)) for cells in ([1, 2, 3], [1, 2]))
        measured(cls, longer, shorter)


def a_column_that_the_masked_table_lacks_is_named(cls: Measure) -> None:
    one, other = (linked_for(cls, plain({name: [1, 2]}, cls.kinds)) for name in "ab")
    with refused(DataError, "no column 'a'", "a column that the release lacks"):
        measured(cls, one, other)
    with refused(UnknownNameError, "'zz'", "a column that does not exist"):
        measured(cls, one, one, ["zz"])


def an_attribute_of_another_kind_is_refused_when_it_was_asked_for(cls: Measure) -> None:
    data = people_for(cls)
    odd = next((a for a in data.schema.keys if data[a].kind not in cls.kinds), None)
    if odd is not None and cls.kinds:  # a measure of links alone reads no attribute, whatever its kind
        words = f"'{odd}' is .*, but {cls.name} works on"
        with refused(DataError, words, "an attribute of another kind"):
            measured(cls, data, data, [odd])


def progress_rises_to_one_and_cancels(cls: Measure) -> None:
    data = people_for(cls)
    attributes = fitting(data, cls.kinds)
    fractions: list[float] = []
    measured(cls, data, data, attributes, progress=lambda fraction, label: fractions.append(fraction))
    expect_equal(fractions, sorted(fractions), "the progress")
    expect_equal(fractions[-1], 1.0, "the last report of progress")

    def stop(fraction: float, label: str) -> None:
        raise Cancelled("enough")

    with refused(Cancelled, "enough", "work that was cancelled"):
        measured(cls, data, data, attributes, progress=stop)


def results_are_json_and_hold_nothing_of_single_records(cls: Measure) -> None:
    data = people_for(cls)
    text = json.dumps(measured(cls, data, data, fitting(data, cls.kinds)).to_plain())
    expect(len(text) < 4000, "the result is too long to be free of what belongs to single records")


def the_order_of_the_records_never_decides(cls: Measure) -> None:
    """Both files in another order, so that masked records stay with their originals: nothing changes."""
    data = people_for(cls)
    masked, attributes = noisy(data, cls.kinds), fitting(data, cls.kinds)
    order = np.random.default_rng(2).permutation(len(data))
    before = measured(cls, data, masked, attributes)
    after = measured(cls, data.take(order), masked.take(order), attributes)
    expect_close(after.value, before.value, "the value in another order", relative=1e-9)
    if isinstance(before, Risk) and isinstance(after, Risk):
        expect_close(after.per_record, before.per_record[order], "the risk of single records", absolute=1e-9)


def the_order_of_the_records_never_decides_in_standardised_tables(cls: Measure) -> None:
    """Group means keep means of 0, but for rounding; for losses the correlations are 0 as well."""
    if "numeric" not in cls.kinds:
        return
    rng = np.random.default_rng(5)
    cells = np.linalg.qr(np.column_stack([np.ones(120), rng.normal(size=(120, 3))]))[0][:, 1:] * 120**0.5
    if hasattr(cls, "assess"):  # the axes of a principal component are arbitrary without correlations
        cells[:, 1] = 0.6 * cells[:, 0] + 0.8 * cells[:, 1]
    data = linked_for(cls, Microdata.of({**dict(zip("abc", cells.T, strict=True)), "d": np.full(120, 0.1)}))
    masked = method("mdav", k=4).mask(data, seed=1).data
    order = rng.permutation(120)
    before = measured(cls, data, masked, list("abcd"))
    after = measured(cls, data.take(order), masked.take(order), list("abcd"))
    expect_close(after.value, before.value, "the value in another order", absolute=1e-6)
    if isinstance(before, Loss) and isinstance(after, Loss):
        expect_close(after.raw, before.raw, "the value without bound in another order", absolute=1e-6)
