"""What holds for every registered attack and loss. New ones are picked up from the registry by themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from microveil.attacks import Risk
from microveil.comparison.pairs import Pair
from microveil.errors import Cancelled, DataError, ParameterError, UnknownNameError
from microveil.losses import Loss
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata
from microveil.registry import describe, find, make, names

from .conftest import FRAMES, fitting, plain, to_frame, with_policy

MEASURES = [(sort, name) for sort in ("attack", "loss") for name in names(sort)]
pytestmark = pytest.mark.parametrize(("sort", "name"), MEASURES, ids=lambda part: part)

Measured = Risk | Loss


def measure(
    sort: str, name: str, original: object, masked: object, attributes: object = None, **options: object
) -> Measured:
    component = make(sort, name)
    act: Callable[..., Measured] = component.assess if sort == "attack" else component.measure
    return act(original, masked, attributes, **options)


def noisy(data: Microdata, kinds: tuple[str, ...], strength: float = 0.3, seed: int = 1) -> Microdata:
    """The table with numbers and categories disturbed."""
    numeric = [a for a in fitting(data, kinds) if data[a].kind == "numeric"]
    categorical = [a for a in fitting(data, kinds) if data[a].kind != "numeric"]
    if numeric:
        data = Noise(alpha=strength).mask(data, numeric, seed=seed).data
    if categorical:
        data = PRAM(p=1 - min(1.0, strength)).mask(data, categorical, seed=seed).data
    return data


def test_an_identical_release_loses_nothing_and_is_as_risky_as_can_be(
    sort: str, name: str, complete: Microdata
) -> None:
    attributes = fitting(complete, find(sort, name).kinds)
    result = measure(sort, name, complete, complete, attributes)
    if isinstance(result, Loss):
        assert result.value == pytest.approx(0, abs=1e-9)
    else:
        worse = measure(sort, name, complete, noisy(complete, find(sort, name).kinds), attributes)
        assert result.value > worse.value


def disturbed(sort: str, name: str, data: Microdata, strength: float, seed: int = 1) -> Any:
    """A release that a measure can see: noise, or intervals and sets for a loss of what labels leave open."""
    cls = find(sort, name)
    if sort == "loss" and cls.reads_labels:
        return Mondrian(k=2 + int(90 * strength), publish="interval").mask(data, fitting(data, cls.kinds))
    return noisy(data, cls.kinds, strength, seed)


def test_values_are_percentages(sort: str, name: str, people: Microdata) -> None:
    kinds = find(sort, name).kinds
    result = measure(sort, name, people, disturbed(sort, name, people, 0.3), fitting(people, kinds))
    assert 0 < result.value <= 100
    assert all(0 <= share <= 100 or isinstance(result, Loss) for share in result.per_attribute.values())
    if isinstance(result, Risk):
        assert result.low <= result.value <= result.high
        assert all(0 <= share <= 100 for share in result.counters.values())


def test_the_risk_is_made_of_the_records(sort: str, name: str, complete: Microdata) -> None:
    kinds = find(sort, name).kinds
    result = measure(sort, name, complete, noisy(complete, kinds), fitting(complete, kinds))
    if isinstance(result, Risk):
        assert result.per_record.shape == (len(complete),)
        assert result.value == pytest.approx(100 * np.nanmean(result.per_record))
        assert result.attacked == len(complete)


def test_more_disturbance_gives_more_loss_and_less_risk(sort: str, name: str, complete: Microdata) -> None:
    """On the mean of five releases each: a single small table may by chance look worse for a weak disturbance."""
    attributes = fitting(complete, find(sort, name).kinds)
    weak, strong = (
        np.mean([
            measure(sort, name, complete, disturbed(sort, name, complete, strength, seed), attributes).value
            for seed in range(1, 6)
        ])
        for strength in (0.01, 0.9)
    )  # fmt: skip
    assert weak < strong if sort == "loss" else weak > strong


def test_the_same_input_gives_the_same_result_on_any_number_of_threads(
    sort: str, name: str, people: Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = find(sort, name).kinds
    masked = noisy(people, kinds)
    monkeypatch.setenv("MICROVEIL_THREADS", "1")
    one = measure(sort, name, people, masked, fitting(people, kinds))
    monkeypatch.setenv("MICROVEIL_THREADS", "4")
    assert measure(sort, name, people, masked, fitting(people, kinds)).to_plain() == one.to_plain()


@pytest.mark.parametrize("library", FRAMES)
def test_every_frame_library_gives_the_same_result_and_is_not_changed(
    sort: str, name: str, library: str, people: Microdata
) -> None:
    kinds = find(sort, name).kinds
    masked = noisy(people, kinds)
    other = Microdata.of(to_frame(people, library), people.schema)
    other_masked = Microdata.of(to_frame(masked, library), masked.schema)
    digests = other.digest(), other_masked.digest()
    expected = measure(sort, name, people, masked, fitting(people, kinds))
    assert measure(sort, name, other, other_masked, fitting(people, kinds)).to_plain() == expected.to_plain()
    assert digests == (other.digest(), other_masked.digest())


def test_a_bare_frame_can_be_compared(sort: str, name: str, complete: Microdata) -> None:
    attributes = fitting(complete, ("numeric",) if "numeric" in find(sort, name).kinds else ("nominal",))
    frame = to_frame(complete.select(attributes), "pandas")
    assert measure(sort, name, frame, frame, attributes).value >= 0


@pytest.mark.parametrize("policy", ["own category", "wildcard", "not applicable"])
def test_missing_cells_are_handled_under_every_policy(sort: str, name: str, policy: str, people: Microdata) -> None:
    kinds = find(sort, name).kinds
    data = with_policy(people, fitting(people, kinds), policy)
    result = measure(sort, name, data, data, fitting(data, kinds))
    assert 0 <= result.value <= 100
    assert isinstance(result, Risk) or result.value == pytest.approx(0, abs=1e-9)


def test_missing_cells_are_refused_where_the_schema_says_so(sort: str, name: str, people: Microdata) -> None:
    kinds = find(sort, name).kinds
    attributes = [a for a in fitting(people, kinds) if people.missing_states(a).any()]
    data = with_policy(people, attributes[:1], "refuse")
    with pytest.raises(DataError, match="missing value"):
        measure(sort, name, data, data, attributes)


def test_constant_attributes_give_a_number(sort: str, name: str) -> None:
    data = plain({"a": [4] * 12, "b": [7] * 12}, find(sort, name).kinds)
    result = measure(sort, name, data, data)
    assert np.isfinite(result.value)


@pytest.mark.parametrize("records", [1, 2])
def test_tiny_tables_give_a_number(sort: str, name: str, records: int) -> None:
    data = plain({"a": [4, 5][:records], "b": [7, 9][:records]}, find(sort, name).kinds)
    assert np.isfinite(measure(sort, name, data, data).value)


def test_tables_without_records_are_refused(sort: str, name: str) -> None:
    data = plain({"a": np.array([], dtype=np.int64), "b": np.array([], dtype=np.int64)}, find(sort, name).kinds)
    with pytest.raises(DataError, match="no records"):
        measure(sort, name, data, data)


def test_infinite_values_are_refused(sort: str, name: str) -> None:
    if "numeric" in find(sort, name).kinds:
        good, bad = Microdata.of({"a": [1.0, 2.0, 3.0]}), Microdata.of({"a": [1.0, float("-inf"), 3.0]})
        for original, masked in ((good, bad), (bad, good)):
            with pytest.raises(DataError, match=r"infinite value \(the first in record 2\)"):
                measure(sort, name, original, masked)


def test_tables_of_different_length_are_refused(sort: str, name: str) -> None:
    kinds = find(sort, name).kinds
    with pytest.raises(DataError, match="3 records and the masked table 2"):
        measure(sort, name, plain({"a": [1, 2, 3]}, kinds), plain({"a": [1, 2]}, kinds))


def test_a_column_that_the_masked_table_lacks_is_named(sort: str, name: str) -> None:
    kinds = find(sort, name).kinds
    with pytest.raises(DataError, match="no column 'a'"):
        measure(sort, name, plain({"a": [1, 2]}, kinds), plain({"b": [1, 2]}, kinds))
    with pytest.raises(UnknownNameError, match="'zz'"):
        measure(sort, name, plain({"a": [1, 2]}, kinds), plain({"a": [1, 2]}, kinds), ["zz"])


def test_an_attribute_of_another_kind_is_refused_when_it_was_asked_for(sort: str, name: str, people: Microdata) -> None:
    kinds = find(sort, name).kinds
    odd = next((a for a in people.schema.keys if people[a].kind not in kinds), None)
    if odd is not None:
        with pytest.raises(DataError, match=f"'{odd}' is .*, but {name} works on"):
            measure(sort, name, people, people, [odd])


def test_progress_rises_to_one_and_cancels(sort: str, name: str, people: Microdata) -> None:
    attributes = fitting(people, find(sort, name).kinds)
    fractions: list[float] = []
    measure(sort, name, people, people, attributes, progress=lambda fraction, label: fractions.append(fraction))
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0

    def stop(fraction: float, label: str) -> None:
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        measure(sort, name, people, people, attributes, progress=stop)


def test_results_are_json_and_hold_nothing_of_single_records(sort: str, name: str, people: Microdata) -> None:
    attributes = fitting(people, find(sort, name).kinds)
    text = json.dumps(measure(sort, name, people, people, attributes).to_plain())
    assert len(text) < 4000


def test_it_describes_itself(sort: str, name: str) -> None:
    entry = describe(sort, name)
    json.dumps(entry)
    assert entry["name"] == name
    assert all(entry[field] for field in ("family", "summary", "source", "missing", "meaning", "kinds"))
    assert entry["meaning"].endswith(("lower is better", "lower is safer"))
    assert all(parameter["help"] for parameter in entry["parameters"])
    defaults = {p["name"]: p["default"] for p in entry["parameters"]}
    assert make(sort, name, defaults) == make(sort, name)


def test_unknown_parameters_are_refused(sort: str, name: str) -> None:
    with pytest.raises(ParameterError, match="no parameter 'nonsense'"):
        make(sort, name, {"nonsense": 1})


def test_the_order_of_the_records_never_decides(sort: str, name: str, people: Microdata) -> None:
    """Both files in another order, so that masked records stay with their originals: nothing changes."""
    kinds = find(sort, name).kinds
    masked, attributes = noisy(people, kinds), fitting(people, kinds)
    order = np.random.default_rng(2).permutation(len(people))
    before = measure(sort, name, people, masked, attributes)
    after = measure(sort, name, people.take(order), masked.take(order), attributes)
    assert after.value == pytest.approx(before.value, rel=1e-9)
    if isinstance(before, Risk) and isinstance(after, Risk):
        assert after.per_record == pytest.approx(before.per_record[order], rel=1e-6, abs=1e-9, nan_ok=True)


def test_the_order_of_the_records_never_decides_in_standardised_tables(sort: str, name: str) -> None:
    """Group means keep means of 0, but for rounding; for losses the correlations are 0 as well."""
    if "numeric" not in find(sort, name).kinds:
        return
    rng = np.random.default_rng(5)
    cells = np.linalg.qr(np.column_stack([np.ones(120), rng.normal(size=(120, 3))]))[0][:, 1:] * 120**0.5
    if sort == "attack":  # the axes of a principal component are arbitrary without correlations
        cells[:, 1] = 0.6 * cells[:, 0] + 0.8 * cells[:, 1]
    data = Microdata.of({**dict(zip("abc", cells.T, strict=True)), "d": np.full(120, 0.1)})
    masked = MDAV(k=4).mask(data, seed=1).data
    order = rng.permutation(120)
    before = measure(sort, name, data, masked, list("abcd"))
    after = measure(sort, name, data.take(order), masked.take(order), list("abcd"))
    assert after.value == pytest.approx(before.value, rel=1e-6, abs=1e-6)
    if isinstance(before, Loss) and isinstance(after, Loss):
        assert after.raw == pytest.approx(before.raw, rel=1e-6, abs=1e-6)


def test_a_constant_that_is_not_exact_in_binary_is_a_constant(sort: str, name: str) -> None:
    """Whether a column is full of 0.1 or of 0.5 makes no difference, also where a cell of another one is missing."""
    if sort == "attack" or "numeric" not in find(sort, name).kinds:
        return
    rng = np.random.default_rng(1)
    x = rng.normal(10, 1, size=400)
    y = x + rng.normal(size=400)
    noisy_x = np.where(np.arange(400) == 0, np.nan, x + 1e-9 * rng.normal(size=400))
    values = []
    for constant in (0.1, 0.5):
        one, other = (Microdata.of({"c": np.full(400, constant), "x": c, "y": y}) for c in (x, noisy_x))
        values.append(measure(sort, name, one, other, ["c", "x", "y"]).value)
    # which records a tree is tried on depends on what they hold
    assert values[0] == pytest.approx(values[1], abs=2.0 if name in ("bias", "classification") else 1e-6)


@pytest.mark.parametrize("kind", ["numeric", "ordinal", "nominal"])
def test_a_measure_that_calls_itself_suited_gives_a_number(sort: str, name: str, kind: str) -> None:
    """Whatever the one kind of attribute is that there is."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 4, (2, 30)) * 1.0 if kind == "numeric" else rng.choice(list("abc"), (2, 30))
    orders = {"x": list("abc"), "y": list("abc")} if kind == "ordinal" else {}
    data = Microdata.of({"x": values[0], "y": values[1]}, ordinal=orders)
    method = Noise() if kind == "numeric" else PRAM(p=0.5)
    pair = Pair.of(data, method.mask(data, ["x", "y"], seed=2**90))
    cls = find(sort, name)
    if sort == "loss" and cls.suited(pair):
        assert 0 <= make(sort, name).measure_pair(pair).value <= 100
    for attack in cls.suited(cls.facing(pair)) if sort == "attack" else ():
        assert 0 <= attack.assess_pair(pair.about(attack.facing(pair).attributes)).value <= 100
