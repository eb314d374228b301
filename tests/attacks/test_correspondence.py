"""Do the records of two tables correspond? Shuffles are noticed and undone; masking is never taken for one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from microveil.attacks import correspondence
from microveil.attacks.correspondence import corresponding, disorder_of, matched_by
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.battery import run_battery
from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.masking.coarsening.sampling import Sampling
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.masking.swapping.data_swapping import DataSwapping
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.numerics.linkage.correspondence import pointers
from microveil.scoring import assess

NUMBERS = ["age", "income", "wealth", "expenditure"]


@pytest.fixture(scope="module")
def people() -> Microdata:
    """A survey without its identifiers."""
    data = survey(300, seed=3)
    return data.select([name for name in data.names if name != "person"])


@pytest.fixture(scope="module")
def order() -> np.ndarray:
    return np.random.default_rng(5).permutation(300)


def linked(original: Microdata, release: Microdata, match_by: str | None = None) -> float:
    found = corresponding(original, release, match_by)
    return DistanceLinkage().assess(found.original, found.release, NUMBERS).value


# --- what is noticed ----------------------------------------------------------------------------------------------


def test_the_unmasked_file_in_another_order_is_matched_by_what_it_holds(people: Microdata, order: np.ndarray) -> None:
    shuffled = people.take(order)
    pair = Pair.of(people, shuffled, NUMBERS, known=NUMBERS)
    assert DistanceLinkage().assess_pair(pair, explicit=True).value < 1
    found = corresponding(people, shuffled)
    assert found.by == "content"
    assert found.warning.startswith("record i of the two tables is not the same person: 100 % of the released records")
    assert found.release.digest() == people.digest()
    assert linked(people, shuffled) == linked(people, people) == 100.0


def test_a_masked_file_in_another_order_is_matched_by_the_attributes_that_were_left_alone(
    people: Microdata, order: np.ndarray
) -> None:
    masked = MDAV(k=3).mask(people, NUMBERS, seed=1).data
    found = disorder_of(people, masked.take(order))
    assert found is not None
    assert (found.order == order).mean() > 0.98  # some records are equal in all that was left alone
    assert "region" in found.warning
    assert "wealth" not in found.warning
    assert linked(people, masked.take(order)) == pytest.approx(linked(people, masked), abs=0.5)


@pytest.mark.parametrize("shift", [1, 100])
def test_a_file_shifted_by_some_records_is_noticed_although_it_is_sorted(people: Microdata, shift: int) -> None:
    """Neighbours in a sorted file are alike in what it is sorted by."""
    by_age = people.take(np.argsort(people.numbers("age").values, kind="stable"))
    shifted = np.roll(np.arange(300), shift)
    found = disorder_of(by_age, by_age.take(shifted))
    assert found is not None
    assert np.array_equal(found.order, shifted)


def test_a_file_shuffled_inside_the_classes_it_is_sorted_by_is_noticed(people: Microdata) -> None:
    regions = people.categories("region").codes
    first = np.argsort(regions, kind="stable")
    second = np.lexsort((np.random.default_rng(1).permutation(300), regions))
    found = disorder_of(people.take(first), people.take(second))
    assert found is not None
    assert np.array_equal(first[found.order], second)


def test_a_part_of_the_records_in_another_order_is_noticed(people: Microdata) -> None:
    order = np.arange(300)
    order[:30] = np.roll(order[:30], 7)
    found = disorder_of(people, people.take(order))
    assert found is not None
    assert np.array_equal(found.order, order)


def test_a_few_categories_in_another_order_are_noticed_by_having_nothing_to_do_with_each_other(
    people: Microdata, order: np.ndarray
) -> None:
    """No record is alone with its values, so that none points to another one."""
    few = people.select(["region", "sex"])
    found = corresponding(few, few.take(order))
    assert found.by == "content"
    assert found.warning.startswith(
        "in no attribute are the values of record i in the masked table related to those of record i"
    )
    assert "(region, sex)" in found.warning
    assert found.release.digest() == few.digest()


def test_where_everything_was_masked_the_nearest_person_is_taken(people: Microdata, order: np.ndarray) -> None:
    numbers = people.select(["age", "wealth", "expenditure"])
    masked = MDAV(k=3).mask(numbers, seed=1).data
    found = corresponding(numbers, masked.take(order))
    assert "every released record was taken for that of the nearest person" in found.warning
    risk, true = (
        DistanceLinkage().assess(numbers, table, ["age", "wealth", "expenditure"]).value
        for table in (found.release, masked)
    )
    assert true <= risk <= 34  # three records publish the same


def test_the_order_in_which_records_come_does_not_decide_how_they_are_matched(people: Microdata) -> None:
    masked = Noise(alpha=0.2).mask(people.select(NUMBERS), seed=1).data
    risks = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        known, released = people.select(NUMBERS).take(rng.permutation(300)), masked.take(rng.permutation(300))
        risks.append(linked(known, released))
    assert risks[0] == pytest.approx(risks[1])


# --- identifiers --------------------------------------------------------------------------------------------------


def test_declared_identifiers_that_disagree_put_the_records_in_order(order: np.ndarray) -> None:
    data = survey(300, seed=3)
    everything = [name for name in data.schema.keys if data[name].kind == "numeric"]
    masked = data.with_columns(
        {name: MDAV(k=30).mask(data.select([name]), seed=1).data.arrow(name) for name in everything}
    ).select(["person", *everything])
    found = corresponding(data, masked.take(order))
    assert found.by == "identifier"
    assert found.warning == (
        "record i of the two tables is not the same person: 'person', which both have, differs in 100 % of the "
        "records; they were matched by it"
    )
    assert found.release.digest() == masked.digest()


def test_a_column_of_different_numbers_is_an_identifier_if_the_others_agree_in_its_order(order: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    income = rng.normal(size=300)
    original = Microdata.of({"number": np.arange(300), "income": income})
    release = Microdata.of({"number": np.arange(300), "income": income + rng.normal(0, 0.5, 300)}).take(order)
    found = disorder_of(original, release)
    assert found is not None
    assert found.by == "identifier"
    assert np.array_equal(found.order, order)


def test_identifiers_that_were_numbered_anew_are_no_sign(order: np.ndarray) -> None:
    """Persons got other numbers; everything else stands where it stood."""
    data = survey(300, seed=3)
    other = data.with_columns({"person": data.reordered_column("person", order)})
    assert disorder_of(data, other) is None


def test_numbers_that_were_exchanged_are_no_identifiers(people: Microdata) -> None:
    swapped = DataSwapping(share=1.0).mask(people, ["wealth"], seed=1).data
    assert disorder_of(people, swapped) is None


# --- what is not noticed ------------------------------------------------------------------------------------------


def test_a_file_is_in_the_order_of_itself(people: Microdata) -> None:
    found = corresponding(people, people)
    assert (found.original, found.release, found.by, found.warning) == (people, people, None, "")


def test_many_exchanges_of_single_values_are_no_shuffle(people: Microdata) -> None:
    swapped = DataSwapping(share=0.8).mask(people, people.schema.keys, seed=2).data
    assert disorder_of(people, swapped) is None


def test_means_that_equal_round_numbers_of_others_are_no_shuffle() -> None:
    """Six columns tell the same round number, so that one coincidence looks like six."""
    rng = np.random.default_rng(2)
    wage = 1000.0 * rng.integers(1, 300, 1200)
    columns = {f"wage {i}": wage for i in range(6)}
    people = Microdata.of({**columns, "rent": rng.normal(size=1200), "tax": rng.normal(size=1200)})
    masked = MDAV(k=3).mask(people, seed=1).data
    assert disorder_of(people, masked) is None
    assert disorder_of(people, masked.take(rng.permutation(1200))) is not None


def test_a_release_is_trusted_to_be_in_the_order_of_the_table_it_was_made_from(people: Microdata) -> None:
    """A shuffle of whole records by exchange is what the method did, and its provenance says so."""
    release = DataSwapping(share=1.0, together=True).mask(people, [*people.schema.keys, "benefit"], seed=1)
    assert corresponding(people, release).by is None


def test_a_release_in_random_order_is_trusted_only_while_it_knows_the_order(people: Microdata) -> None:
    release = MDAV(k=3).mask(people, NUMBERS, seed=1).shuffled()
    assert corresponding(people, release).by is None
    forgetful = replace(release, rows=None)
    found = corresponding(people, forgetful)
    assert found.by == "content"
    assert found.release.data.arrow("benefit").equals(people.arrow("benefit"))


def test_the_groups_of_a_release_follow_its_records_into_the_order_of_another_original(
    people: Microdata, order: np.ndarray
) -> None:
    release = MDAV(k=3).mask(people, NUMBERS, seed=1)
    found = corresponding(people.take(order), release)
    assert found.by == "content"
    assert found.release.partition is not None
    same = people.take(order).arrow("benefit").equals(found.release.data.arrow("benefit"))
    assert same
    for group in found.release.partition.groups:
        assert len(np.unique(found.release.data.numbers("age").values[group])) == 1


@pytest.mark.parametrize("records", [0, 1, 2, 3])
def test_tiny_tables_correspond(records: int) -> None:
    table = Microdata.of({"age": np.arange(records), "job": ["cook"] * records})
    assert corresponding(table, table).by is None


# --- matching by an identifier ------------------------------------------------------------------------------------


def test_records_are_matched_by_a_named_identifier(order: np.ndarray) -> None:
    original = Microdata.of({"id": np.arange(300), "age": np.arange(300) % 7})
    found = corresponding(original, original.take(order), "id")
    assert (found.by, found.warning) == ("identifier", "")
    assert found.release.digest() == original.digest()


def test_a_sample_is_compared_with_its_own_originals() -> None:
    original = Microdata.of({"id": ["a", "b", "c", "d"], "age": [10, 20, 30, 40]})
    sample = Microdata.of({"id": ["d", "b"], "age": [41, 19]})
    found = corresponding(original, sample, "id")
    assert found.original.arrow("age").to_pylist() == [20, 40]
    assert found.release.arrow("age").to_pylist() == [19, 41]


def test_a_sampled_release_keeps_its_provenance(people: Microdata) -> None:
    columns = {name: people.arrow(name).to_pylist() for name in ("age", "wealth")}
    original = Microdata.of({"number": np.arange(300), **columns})
    release = Sampling(share=0.4).mask(original, ["age", "wealth"], seed=1)
    found = corresponding(original, release, "number")
    assert np.array_equal(found.release.rows, release.rows)
    assert found.release.data.digest() == release.data.digest()
    assert found.original is original


@pytest.mark.parametrize(
    ("original", "release", "said"),
    [
        ({"age": [1, 2]}, {"id": [1, 2]}, "the original has no column 'id' to match records by"),
        ({"id": [1, 2]}, {"age": [1, 2]}, "the masked table has no column 'id' to match records by"),
        (
            {"id": [1, 2, 2]},
            {"id": [1, 2, 3]},
            "column 'id' has only 2 distinct values in the 3 records of the original, so it does not identify them",
        ),
        (
            {"id": [1, 2, 3]},
            {"id": [1, 3, 3]},
            "column 'id' has only 2 distinct values in the 3 records of the masked table",
        ),
        ({"id": [1, 2]}, {"id": [1, None]}, "column 'id' is empty in 1 record of the masked table"),
        (
            {"id": [1, 2]},
            {"id": [1, 7]},
            "column 'id' has values in 1 record of the masked table that the original does not have",
        ),
    ],
)
def test_an_identifier_that_cannot_match_is_refused(
    original: dict[str, list[int]], release: dict[str, list[int]], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        matched_by(Microdata.of(original), Microdata.of(release), "id")


# --- transformed values and new names, in another order -----------------------------------------------------------


def spread(records: int = 400) -> dict[str, np.ndarray]:
    """Independent attributes, so that only the records themselves tell what was done to them."""
    rng = np.random.default_rng(2)
    return {name: np.exp(rng.normal(size=records)) for name in ("a", "b", "c")} | {
        "job": rng.choice(list("mnopqrst"), records, p=np.arange(1, 9) / 36)
    }


@pytest.mark.parametrize(
    "changed",
    [
        {"a": lambda x: 1e9 - x, "b": lambda x: 1e9 - x, "c": lambda x: 1e9 - x},
        {"a": np.log, "b": lambda x: -np.sqrt(x), "c": lambda x: x**3},
        {"b": lambda x: -x},
        {"a": np.negative, "b": np.negative, "c": np.negative, "job": lambda x: np.char.add("code ", np.char.upper(x))},
    ],
    ids=["decreasing", "several", "one", "renamed too"],
)
def test_transformed_values_in_another_order_are_found_by_sorting_both_files(changed: dict[str, Any]) -> None:
    held = spread()
    order = np.random.default_rng(9).permutation(400)
    released = {name: changed.get(name, np.array)(column)[order] for name, column in held.items()}
    original, release = Microdata.of(held, keys=list(held)), Microdata.of(released)
    found = disorder_of(original, release)
    assert found is not None
    assert np.array_equal(found.order, order)
    assert "(a" in found.warning or "'a', which both have" in found.warning
    measured = assess(original, release)
    assert max(risk.value for risk in measured.risks.values()) == 100.0
    assert measured.warnings == (found.warning,)
    assert run_battery(original, release, contributions=False).value == 100.0


def test_renamed_categories_in_another_order_are_found_by_their_frequencies() -> None:
    rng = np.random.default_rng(4)
    held = {f"c{j}": rng.choice(list("abcdefgh"), 600, p=np.arange(1, 9) / 36) for j in range(6)}
    order = rng.permutation(600)
    released = {name: np.char.add(name, column)[order] for name, column in held.items()}
    original = Microdata.of(held)
    found = disorder_of(original, Microdata.of(released))
    assert found is not None
    assert "c0 under new names" in found.warning
    unlike = [held[name][found.order] != held[name][order] for name in held]
    assert np.mean(np.any(unlike, axis=0)) < 0.01


def test_masked_values_in_decreasing_order_and_another_one_are_still_matched() -> None:
    rng = np.random.default_rng(6)
    first = rng.normal(size=500)
    held = {"x": np.exp(first), "y": first + rng.normal(size=500) / 2, "z": rng.normal(size=500) ** 2}
    original = Microdata.of(held)
    masked = MDAV(k=3).mask(original, seed=1).data
    turned = Microdata.of({name: -masked.numbers(name).values for name in held}).take(rng.permutation(500))
    straight = DistanceLinkage().assess(original, masked).value
    found = assess(original, turned, attacks=["rank-alignment-linkage"])
    assert found.risks["rank-alignment-linkage"].value > straight / 2
    assert "nearest person, so risks may come out too high or too low" in found.warnings[0]


def test_short_tables_need_records_that_equal_others(order: np.ndarray) -> None:
    rng = np.random.default_rng(8)
    held = {"x": rng.normal(size=40), "y": rng.normal(size=40)}
    mixed = rng.permutation(40)
    original = Microdata.of(held)
    turned = Microdata.of({name: -column[mixed] for name, column in held.items()})
    unrelated = Microdata.of({name: rng.normal(size=40) for name in held})
    found = disorder_of(original, turned)
    assert found is not None
    assert np.array_equal(found.order, mixed)
    assert disorder_of(original, unrelated) is None
    assert disorder_of(original, Microdata.of({name: -column for name, column in held.items()})) is None


@pytest.mark.parametrize(("records", "noticed"), [(99, False), (100, True)])
def test_from_a_hundred_records_on_no_association_is_a_sign_by_itself(records: int, noticed: bool) -> None:
    rng = np.random.default_rng(8)
    original, unrelated = (Microdata.of({name: rng.normal(size=records) for name in "xy"}) for _ in range(2))
    assert (disorder_of(original, unrelated) is not None) == noticed


def test_of_the_longest_tables_fifty_records_are_sampled(monkeypatch: pytest.MonkeyPatch, people: Microdata) -> None:
    sampled: list[int] = []

    def counting(known: Any, released: Any, rows: Any) -> Any:
        sampled.append(len(rows))
        return pointers(known, released, rows)

    monkeypatch.setattr(correspondence, "pointers", counting)
    disorder_of(people, people)
    monkeypatch.setattr(correspondence, "_MOST_COMPARED", 300)  # a table too long to look at more
    disorder_of(people, people)
    assert sampled == [300, 50]


def test_a_declared_identifier_that_disagrees_once_is_proof() -> None:
    rng = np.random.default_rng(1)
    held = {"id": np.arange(300), "x": rng.normal(size=300), "y": rng.normal(size=300)}
    order = np.arange(300)
    order[[7, 90]] = order[[90, 7]]
    original, release = Microdata.of(held, identifiers=["id"]), Microdata.of(held).take(order)
    found = corresponding(original, release)
    assert found.by == "identifier"
    assert "differs in 0.667 % of the records" in found.warning
    assert found.release.digest() == Microdata.of(held).digest()


def test_attacks_that_are_called_by_themselves_and_the_battery_match_records_too(
    people: Microdata, order: np.ndarray
) -> None:
    shuffled = people.take(order)
    risk = DistanceLinkage().assess(people, shuffled, NUMBERS)
    assert risk.value == 100.0
    assert "Note: record i of the two tables is not the same person" in risk.scenario
    battery = run_battery(people, shuffled, attacks=["distance-linkage", "uniqueness"], contributions=False)
    assert battery.value == 100.0
    assert battery.warnings[0].startswith("record i of the two tables is not the same person")
    assert battery.to_plain()["warnings"] == list(battery.warnings)
    numbered = Microdata.of({"number": np.arange(300), **{name: people.arrow(name) for name in NUMBERS}})
    by_number = run_battery(numbered, numbered.take(order), NUMBERS, attacks=["distance-linkage"], match_by="number")
    assert by_number.value == 100.0
    assert by_number.warnings == ()


@pytest.mark.parametrize(("exchanged", "by"), [(2, None), (4, "identifier")])
def test_a_column_that_is_not_declared_an_identifier_may_differ_in_one_record_of_twenty(
    exchanged: int, by: str | None
) -> None:
    """Of 40 records some stand in each other's place, which only a rare category beside the number tells."""
    order = np.arange(40)
    order[:exchanged] = order[:exchanged][::-1]
    rare = np.where(np.arange(40) < exchanged // 2, "yes", "no")
    people = Microdata.of({"number": np.arange(40), "ill": rare})
    assert corresponding(people, people.take(order)).by == by


def test_masked_values_on_another_scale_and_in_another_order_are_matched_by_their_ranks() -> None:
    """Powers of noisy numbers: their standardised values are far from those of the numbers, their ranks near."""
    rng = np.random.default_rng(3)
    held = {name: rng.normal(size=300) for name in ("x", "y", "z")}
    order = rng.permutation(300)
    noisy = {name: (column + 0.02 * rng.normal(size=300))[order] for name, column in held.items()}
    release = Microdata.of({"x": np.exp(4 * noisy["x"]), "y": np.exp(4 * noisy["y"]), "z": noisy["z"]})
    found = disorder_of(Microdata.of(held), release)
    assert found is not None
    assert "nearest person" in found.warning
    assert np.array_equal(found.order, order)


# --- single columns, by hand --------------------------------------------------------------------------------------


def column(before: list[Any], after: list[Any]) -> Any:
    return correspondence._Column.of(Microdata.of({"x": before}), Microdata.of({"x": after}), "x")


def test_shares_of_codes_differ_by_half_the_sum_of_their_differences() -> None:
    unlike = correspondence._unlike
    assert unlike(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1])) == 0.5
    assert unlike(np.array([0, -1, 1, 1]), np.array([1, 1, 0, -1])) == 0.0
    assert unlike(np.array([-1, -1]), np.array([0, 5])) == 1.0
    assert unlike(np.empty(0, np.int64), np.empty(0, np.int64)) == 0.0


def test_sampled_records_are_spread_evenly() -> None:
    assert correspondence._spread(10, 4).tolist() == [0, 3, 6, 9]
    assert correspondence._spread(3, 4).tolist() == [0, 1, 2]
    assert correspondence._spread(1, 1).tolist() == [0]


def test_a_column_varies_if_both_tables_have_several_values() -> None:
    assert column([1, 2], [5, 6]).varies
    assert not column([1, 1], [5, 6]).varies
    assert not column([1, 2], [5, 5]).varies


def test_a_column_identifies_if_both_tables_have_the_same_values_each_once() -> None:
    assert column([1, 2, 3], [3, 1, 2]).identifies
    assert not column([1, 2, 3], [3, 1, 4]).identifies
    assert not column([1, 2, 2], [2, 1, 2]).identifies
    assert not column([1, None, 3], [3, 1, None]).identifies
    assert column([3, 1], [1, 3]).identifies


def test_numbers_have_ranks_and_texts_have_none() -> None:
    numbers, texts = column([10.0, 30.0, 20.0], [3.0, 1.0, 2.0]), column(["a", "b", "a"], ["b", "b", "a"])
    rows = np.array([2, 0])
    assert texts.ranks is None
    assert numbers.ranks is not None
    assert [side.tolist() for side in texts.at(rows)] == [texts.before[rows].tolist(), texts.after[rows].tolist()]
    known, released = numbers.at(rows)
    assert known[0] > known[1]
    assert released[0] < released[1]
    assert sorted(numbers.ranks[0]) == sorted(numbers.ranks[1])


def test_cells_are_alike_by_equal_values_or_by_ranks_whichever_is_more() -> None:
    as_it_is, turned = np.arange(4), np.array([3, 2, 1, 0])
    texts = column(["a", "a", "b", "b"], ["a", "a", "b", "a"])
    assert texts.alike(as_it_is) == pytest.approx(0.5)
    assert texts.alike(turned) == 0.0  # less often equal than by chance
    numbers = column([1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 40.0, 30.0])
    assert numbers.alike(as_it_is) == pytest.approx(0.8)
    assert numbers.alike(turned) == pytest.approx(0.8)


def test_values_in_the_same_or_in_decreasing_order_are_read_as_the_original_ones() -> None:
    rising = column([1.0, 1.0, 5.0, None], [20.0, 70.0, 20.0, None]).read_in_order(False)
    assert rising.is_exact
    assert rising.how == " in the same order"
    assert rising.column.after.tolist() == [
        rising.column.before[0],
        rising.column.before[2],
        rising.column.before[0],
        -1,
    ]
    falling = column([1.0, 1.0, 5.0], [70.0, 20.0, 70.0]).read_in_order(True)
    assert falling.is_exact
    assert falling.how == " in decreasing order"
    assert (falling.column.after == falling.column.before[[0, 2, 0]]).all()
    assert falling.column.numbers is not None
    assert falling.column.numbers[1].tolist() == [-70.0, -20.0, -70.0]
    other = column([1.0, 1.0, 5.0], [70.0, 20.0, 70.0]).read_in_order(False)  # other counts: not the same values
    assert not other.is_exact
    assert other.how == ""
    assert other.column.numbers[1].tolist() == [70.0, 20.0, 70.0]
    neither = column([1.0, 1.0, 5.0], [70.0, 20.0, 30.0]).read_in_order(True)
    assert not neither.is_exact
    assert neither.how == " in decreasing order"


def test_numbers_are_compared_by_values_or_on_another_scale_by_ranks() -> None:
    values = np.exp(np.linspace(0, 6, 40))
    same, other = column(list(values), list(values[::-1])), column(list(values), list(np.log(values)))
    deviation = correspondence.RANK_DEVIATION
    by_value = same.compared
    assert by_value.ordered
    assert np.allclose(by_value.before, (values - values.mean()) / values.std() * deviation)
    assert np.allclose(by_value.after, by_value.before[::-1])
    by_rank = other.compared
    assert np.allclose(by_rank.before, by_rank.after)
    assert np.ptp(by_rank.before) <= 1
    assert not column(["a", "b"], ["b", "a"]).compared.ordered


def test_categories_are_read_by_frequency_only_if_their_names_clearly_differ() -> None:
    from microveil.numerics.linkage.category_alignment import CodedAttribute

    before, after = np.array([0] * 6 + [1] * 4), np.array([1] * 6 + [0] * 4)
    one = correspondence._Column(before, after, None)
    renamed = CodedAttribute(before, before.copy(), comparable=True)
    read = one.read_by_frequency(renamed)  # the shares of the names differ by 0.2
    assert read.how == " under new names"
    assert read.is_exact
    assert (read.column.after == before).all()
    nearly = CodedAttribute(before, np.array([0] * 5 + [1] * 5), comparable=True)
    assert one.read_by_frequency(nearly).column is one  # better by 0.1, which is not clearly better
    clearly = correspondence._Column(before, np.array([2] * 5 + [0] * 5), None)
    assert clearly.read_by_frequency(nearly).how == " under new names"
    assert not clearly.read_by_frequency(nearly).is_exact


@pytest.mark.parametrize(("records", "declared", "tolerated"), [(19, False, 1.0), (20, False, 0.05), (20, True, 0.0)])
def test_how_many_identifiers_may_differ(records: int, declared: bool, tolerated: float) -> None:
    data = Microdata.of({"x": list(range(records))}, identifiers=["x"] if declared else None)
    assert correspondence._tolerated(data, "x") == pytest.approx(tolerated)
