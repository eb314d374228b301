"""Households in a release: new numbers, members masked alike, records in random order."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from microveil.errors import ParameterError, SchemaError
from microveil.masking import Plan, Release, Step
from microveil.masking.by_household import ByHousehold
from microveil.masking.coarsening.sampling import Sampling
from microveil.masking.coarsening.suppress import Suppress
from microveil.masking.households import household_of, renumbered, shared_attributes
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.masking.release import release_from
from microveil.masking.synthesis.hybrid import Hybrid
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.datasets.sample_survey import survey
from microveil.protection import protect
from microveil.scoring import assess

HOMES = [101, 101, 205, 205, 205, 309, None, 412, None, 412]
AGES = [30, 31, 45, 44, 12, 70, 25, 52, 26, 50]
RENTS = [500, 500, 620, 620, 620, 900, 410, 700, 410, 700]


def homes(cells: Any = HOMES, **roles: Any) -> Microdata:
    table = {"home": cells, "age": AGES, "rent": RENTS}
    return Microdata.of(table, **{"household": "home", "keys": ["age", "rent"], **roles})


def pairs(before: list[Any], after: list[Any]) -> set[tuple[Any, Any]]:
    return set(zip(before, after, strict=True))


# --- numbers -----------------------------------------------------------------------------------------------------


def test_households_get_numbers_from_1_and_missing_ones_stay_missing() -> None:
    release = Noise().mask(homes(), seed=1)
    after = release.data.arrow("home").to_pylist()
    assert len(pairs(HOMES, after)) == 5
    assert sorted({number for number in after if number is not None}) == [1, 2, 3, 4]
    assert [number is None for number in after] == [number is None for number in HOMES]
    assert release.data.arrow("home").type == pa.int64()
    assert "home: households renumbered in random order" in release.provenance.notes


def test_the_order_of_the_new_numbers_depends_on_the_seed_alone() -> None:
    data = Microdata.of({"home": list(range(500)), "x": [1.0] * 500}, household="home", keys=["x"])
    one, again, other = (Noise().mask(data, seed=seed).data.arrow("home").to_numpy() for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).mean() > 0.9
    assert abs(np.corrcoef(np.arange(500), one)[0, 1]) < 0.2


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (pa.array([9, 9, 7], pa.int8()), pa.int8()),
        (pa.array([9.0, 9.0, None]), pa.float64()),
        (pa.array(["b", "b", "a"]), pa.string()),
        (pa.array([True, True, False]), pa.string()),
        (pa.array([2**62, 2**62, 2**62 + 1]), pa.int64()),  # longer than a double holds
    ],
)
def test_the_type_of_the_numbers_stays_sensible(cells: pa.Array, expected: pa.DataType) -> None:
    data = Microdata.of(pa.table({"home": cells, "x": [1.0, 2.0, 3.0]}), household="home", keys=["x"])
    release = Noise().mask(data, seed=1)
    assert release.data.arrow("home").type == expected
    assert len(pairs(cells.to_pylist(), release.data.arrow("home").to_pylist())) == 2


def test_more_households_than_the_type_can_count_get_a_wider_one() -> None:
    cells = pa.array(list(range(-100, 100)), pa.int8())
    data = Microdata.of(pa.table({"home": cells, "x": [1.0] * 200}), household="home", keys=["x"])
    assert sorted(Noise().mask(data, seed=1).data.arrow("home").to_pylist()) == list(range(1, 201))


def test_texts_become_digits_of_equal_length() -> None:
    data = homes([f"Smith {i}" for i in range(10)])
    assert sorted(Noise().mask(data, seed=1).data.arrow("home").to_pylist()) == [f"{i:02d}" for i in range(1, 11)]


def test_missing_codes_stay_and_domains_go() -> None:
    cells = [101, 101, -9, 205, 205, 309, -9, 412, 309, 412]
    data = homes(cells, nominal=["home"])
    described = data["home"].changed(missing_codes=(-9,), domain=(101, 205, 309, 412), value_labels={101: "Smith"})
    release = Noise().mask(data.with_schema(data.schema.replacing(described)), seed=1)
    after = release.data.arrow("home").to_pylist()
    assert [number == -9 for number in after] == [number == -9 for number in cells]
    assert {number for number in after if number != -9} == {1, 2, 3, 4}
    assert release.data["home"].domain is None
    assert release.data["home"].value_labels == {}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_every_frame_library_gives_the_same_numbers(library: str) -> None:
    table = homes().frame.to_arrow()
    frame = {"pandas": pd.DataFrame(table.to_pandas()), "polars": pl.from_arrow(table), "pyarrow": table}[library]
    data = Microdata.of(frame, homes().schema)
    assert Noise().mask(data, seed=1).data.digest() == Noise().mask(homes(), seed=1).data.digest()


def test_a_chain_of_steps_renumbers_at_each_and_says_it_once() -> None:
    steps = (Step("noise", {}, ("age",)), Step("noise", {}, ("rent",)))
    data = homes([0, 0, 1, 2, 3, 4, 5, 6, 7, None])
    one, both = (protect(data, Plan(steps[:n], seed=4)) for n in (1, 2))
    numbers = [release.data.arrow("home").to_pylist() for release in (one, both)]
    assert len(pairs(*numbers)) == 9
    assert numbers[0] != numbers[1]
    assert both.provenance.notes.count("home: households renumbered in random order") == 1
    fewer = Sampling(share=0.5).mask(one, ["rent"])
    assert fewer.rows is not None
    kept = one.data.take(fewer.rows).arrow("home").to_pylist()
    new = fewer.data.arrow("home").to_pylist()
    assert len(pairs(kept, new)) == len(set(kept))
    assert set(new) - {None} == set(range(1, len(set(kept) - {None}) + 1))


@pytest.mark.parametrize("text", [False, True], ids=["numbers", "texts"])
def test_no_household_gets_a_number_that_means_missing(text: bool) -> None:
    numbers = [1000 + i // 2 for i in range(40)] + [9, 9]
    cells = [f"{number:02}" for number in numbers] if text else numbers
    data = Microdata.of({"home": cells, "rent": list(range(42))}, keys=["rent"], household="home")
    coded = data["home"].changed(kind="nominal", missing_codes=("09",) if text else (9,))
    data = Microdata(data.frame, data.schema.replacing(coded))
    release = protect(data, Plan((Step("noise"), Step("noise", {"alpha": 0.2})), seed=4))
    before, after = household_of(data), household_of(release.data)
    assert before is not None
    assert after is not None
    assert before.tolist() == after.tolist()
    assert release.data.arrow("home").to_pylist()[-2:] == cells[-2:]


def test_numbers_stay_only_if_that_is_asked_for() -> None:
    release = protect(homes(), Plan((Step("noise", {}),), seed=4, keep_household_ids=True))
    assert release.data.arrow("home").to_pylist() == HOMES
    assert "home: household numbers as they were" in release.provenance.notes
    assert release.provenance.renumbered == ()
    assert Noise().mask(homes(), seed=4, keep_household_ids=True).data.digest() == release.data.digest()


def test_a_column_without_any_household_number_keeps_its_type() -> None:
    """No number is given, so that none need fit beside the missing codes, which leave none below 128 free."""
    home = Attribute(name="home", kind="nominal", roles=("household",), missing_ranges=((1, 127),))
    column = pa.array([99, None, 98], pa.int8())
    data = Microdata.of(pa.table({"home": column}), Schema([home]))
    renumbered_column, _ = renumbered(data, "home", np.random.default_rng(1))
    assert renumbered_column.equals(column)


def test_a_household_number_is_not_masked_besides() -> None:
    with pytest.raises(SchemaError, match="'home' is the household number"):
        Noise().mask(homes(), ["home"])


def test_a_sample_numbers_the_households_it_has() -> None:
    release = Sampling(share=0.5).mask(homes(list(range(10))), seed=3)
    assert sorted(release.data.arrow("home").to_pylist()) == list(range(1, len(release) + 1))


def test_the_plan_makes_the_same_release_again() -> None:
    data = survey(200, seed=1)
    plan = Plan((Step("suppress", {"k": 2}, ("region", "sex")),), seed=6, shuffle=True, keep_household_ids=True)
    release = protect(data, plan)
    read = Plan.from_plain(tomllib.loads(release.plan.to_toml()))
    assert (read.shuffle, read.keep_household_ids) == (True, True)
    assert protect(Microdata.of(data.frame), read).data.digest() == release.data.digest()


def test_switches_of_a_plan_are_true_or_false() -> None:
    with pytest.raises(ParameterError, match="shuffle in a plan is true or false, not 'yes'"):
        Plan.from_plain({"steps": [{"method": "noise"}], "shuffle": "yes"})


def test_a_release_read_back_says_the_same_of_its_households(tmp_path: Path) -> None:
    release = Suppress(k=4).mask(survey(300, seed=3), ["region", "sex", "education"], seed=5)
    _, beside, *_ = release.save(tmp_path / "safe.csv")
    manifest = json.loads(beside.read_text())
    again = release_from(release.data, Plan.from_plain(manifest["plan"]), manifest)
    assert again.provenance.notes == release.provenance.notes
    assert again.provenance.members_differ == release.provenance.members_differ


# --- members -----------------------------------------------------------------------------------------------------


def emptied_for_one_member() -> Release:
    """The women of region 3 are too few, so one of region 1 loses hers as well; the man she lives with keeps it."""
    table = {"home": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5], "region": [1] * 8 + [3] * 2, "sex": ["f", "m"] * 4 + ["f", "f"]}
    data = Microdata.of(table, household="home", nominal=["region"], keys=["region", "sex"])
    return Suppress(k=3).mask(data, seed=1)


def test_members_who_no_longer_share_an_attribute_are_counted_and_warned_of() -> None:
    release = Noise().mask(homes(), seed=1)
    assert release.provenance.members_differ == {"rent": 3}  # of two members or more
    (warning,) = release.provenance.warnings
    assert warning in release.provenance.notes
    assert warning.startswith("masking made members of the same household differ in rent")
    assert "(in 3 households)" in warning
    assert "by-household" in warning
    assert warning.endswith("its k counts households: k over records is not kept")


def test_an_attribute_emptied_for_one_member_alone_is_warned_of() -> None:
    release = emptied_for_one_member()
    assert release.data.arrow("region").to_pylist() == [None, 1, 1, 1, 1, 1, 1, 1, None, None]
    assert release.provenance.members_differ == {"region": 1}


def test_a_later_step_counts_again() -> None:
    noisy = Noise().mask(homes(), ["rent"], seed=1)
    assert noisy.provenance.members_differ == {"rent": 3}
    both = Noise().mask(noisy, ["age"])
    assert both.provenance.members_differ == {"rent": 3}
    level = MDAV(k=10).mask(noisy, ["rent"])
    assert level.provenance.members_differ == {"rent": 0}
    assert level.provenance.warnings == ()


def test_without_households_of_two_there_is_nothing_to_warn_of() -> None:
    assert Noise().mask(homes(list(range(10))), seed=1).provenance.members_differ == {}
    assert Noise().mask(Microdata.of({"rent": RENTS}), seed=1).provenance.members_differ == {}


def rented(households: int = 200, errors: int = 0) -> Microdata:
    """Households of one to four with a rent each; in so many of them one record's rent is 1 too high."""
    rng = np.random.default_rng(0)
    home = np.repeat(np.arange(households), rng.integers(1, 5, households))
    rent = rng.integers(300, 3000, households)[home]
    second = np.flatnonzero(pd.Series(home).duplicated() & ~pd.Series(home).shift().duplicated())
    rent[second[:errors]] += 1
    region = rng.choice(list("ABCDEFGH"), households)[home]
    table = {"home": home, "rent": rent, "region": region, "age": rng.integers(0, 90, len(home))}
    return Microdata.of(table, household="home", keys=["rent", "region", "age"])


def differing(data: Microdata, name: str) -> int:
    """The households whose members differ."""
    frame = pd.DataFrame({part: data.arrow(part).to_pylist() for part in ("home", name)})
    return int((frame.groupby("home")[name].nunique(dropna=False) > 1).sum())


def test_one_household_whose_members_differ_does_not_silence_the_warning() -> None:
    data = rented(errors=1)
    assert differing(data, "rent") == 1
    release = Noise(alpha=0.1).mask(data, ["rent"], seed=11)
    assert release.provenance.members_differ == {"rent": differing(release.data, "rent") - 1}
    assert "rent (in 157 households)" in release.provenance.warnings[0]


def test_an_attribute_that_nearly_everybody_has_alike_is_no_household_attribute() -> None:
    rng = np.random.default_rng(1)
    table = {"home": np.repeat(np.arange(300), 2), "ill": np.where(rng.random(600) < 0.03, "yes", "no")}
    data = Microdata.of(table, household="home", nominal=["ill"])
    assert differing(data, "ill") < 30
    assert shared_attributes(data, ["ill"]) == ()


@pytest.mark.parametrize(("errors", "shared"), [(0, True), (40, True), (70, True), (110, False)])
def test_an_attribute_belongs_to_households_if_most_of_them_agree(errors: int, shared: bool) -> None:
    assert shared_attributes(rented(errors=errors), ["age", "rent"]) == (("rent",) if shared else ())


def test_a_later_step_counts_only_households_that_agreed_in_the_original() -> None:
    data = rented(errors=10)
    noisy = Noise(alpha=0.1).mask(data, ["rent"], seed=11)
    again = Noise(alpha=0.1).mask(noisy, ["rent"])
    assert again.provenance.members_differ == noisy.provenance.members_differ == {"rent": 148}


# --- masked alike ------------------------------------------------------------------------------------------------


def test_members_are_masked_alike_and_the_rest_record_by_record() -> None:
    release = ByHousehold(method=Noise(alpha=0.5)).mask(homes(), seed=1)
    home, rent = (release.data.arrow(name).to_pylist() for name in ("home", "rent"))
    assert release.provenance.members_differ == {"rent": 0}
    assert release.provenance.warnings == ()
    assert len({value for value, number in pairs(rent, home) if number is not None}) == 4
    assert rent[6] != rent[8]  # without a number they are households of their own
    assert len(set(release.data.arrow("age").to_pylist())) == 10
    assert "masked alike for all members of 6 households: rent" in release.provenance.notes


def test_members_who_differ_do_not_keep_other_households_from_being_masked_alike() -> None:
    data = rented(errors=3)
    release = ByHousehold(method=Noise(alpha=0.1)).mask(data, ["rent", "age"], seed=11)
    assert differing(release.data, "rent") == 3
    assert release.provenance.members_differ == {"rent": 0}
    assert release.provenance.notes[:2] == (
        "masked alike for all members of 197 households: rent",
        "members of 3 households differ in rent: there only those with the same values were masked alike, and the "
        "release shows that they differ",
    )


def test_members_who_agree_are_masked_alike_beside_one_who_does_not() -> None:
    table = {"home": [1, 1, 1, 2, 2, 3, 3], "rent": [500, 501, 500, 620, 620, 700, 700]}
    data = Microdata.of(table, household="home", keys=["rent"])
    rents = ByHousehold(method=Noise(alpha=0.5)).mask(data, seed=1).data.arrow("rent").to_pylist()
    assert rents[0] == rents[2] != rents[1]


def test_an_attribute_split_because_members_differ_in_another_is_warned_of() -> None:
    table = {"home": [1, 1, 2, 2, 3, 3], "rent": [500, 501, 620, 620, 700, 700], "area": [50, 50, 60, 60, 70, 70]}
    data = Microdata.of(table, household="home", keys=["rent", "area"])
    release = ByHousehold(method=Noise(alpha=0.5)).mask(data, seed=1)
    assert release.provenance.members_differ == {"rent": 0, "area": 1}
    assert "check the households whose members differ in another attribute" in release.provenance.warnings[0]


def test_groups_are_groups_of_households() -> None:
    data = survey(300, seed=2)
    release = ByHousehold(method=MDAV(k=3)).mask(data, ["weight", "income"], seed=1)
    households = np.asarray(data.arrow("household").to_pylist())
    groups = release.partitions[("weight",)].groups
    assert min(len(set(households[rows])) for rows in groups) == 3
    assert release.partitions[("income",)].smallest >= 3


def test_the_table_of_households_is_masked_as_the_method_masks_it_alone() -> None:
    data = survey(200, seed=2)
    names = data.arrow("household").to_pylist()
    first = np.array([names.index(home) for home in dict.fromkeys(names)])
    alone = MDAV(k=4).mask(data.take(first), ["weight"], seed=3).data.arrow("weight").to_pylist()
    released = ByHousehold(method=MDAV(k=4)).mask(data, ["weight"], seed=3).data.arrow("weight").to_pylist()
    assert [released[row] for row in first] == alone


def test_persons_and_households_draw_from_other_streams() -> None:
    rents = [500, 500, 620, 620, 900, 900]
    table = {"home": [1, 1, 2, 2, 3, 3], "rent": rents, "age": [500, 501, 620, 621, 900, 901]}
    data = Microdata.of(table, household="home", keys=["rent", "age"])
    by_person = Noise().mask(data, ["age"], seed=1).data.arrow("age")
    assert not ByHousehold(method=Noise()).mask(data, seed=1).data.arrow("age").equals(by_person)


def test_without_shared_attributes_every_record_is_masked_by_itself_and_that_is_said() -> None:
    no_role = ByHousehold(method=MDAV(k=2)).mask(Microdata.of({"rent": RENTS}), seed=1)
    assert no_role.provenance.notes == ("no attribute has the role household, so every record was masked by itself",)
    differ = ByHousehold(method=MDAV(k=2)).mask(homes(), ["age"], seed=1)
    assert differ.provenance.notes[0] == "members of a household differ in age, so every record was masked by itself"


def test_a_method_that_leaves_records_out_is_refused() -> None:
    with pytest.raises(ParameterError, match="releases only some of the records"):
        ByHousehold(method=Sampling()).mask(homes(), seed=1)


def test_it_is_random_where_the_method_inside_is() -> None:
    assert ByHousehold(method=Noise()).draws
    assert not ByHousehold(method=MDAV()).draws


# --- order -------------------------------------------------------------------------------------------------------


def test_records_come_in_an_order_that_the_seed_draws() -> None:
    data = survey(300, seed=2)
    plain = MDAV(k=5).mask(data, ["age", "income"], seed=8)
    release = plain.shuffled()
    assert release.rows is not None
    assert sorted(release.rows.tolist()) == list(range(300))
    assert (release.rows != np.arange(300)).mean() > 0.9
    assert release.data.digest() == plain.data.take(release.rows).digest()
    assert release.provenance.notes[-1] == "records in random order"
    again = protect(data, Plan(plain.plan.steps, seed=8, shuffle=True))
    assert again.data.digest() == release.data.digest()
    assert release.partition is not None
    assert plain.partition is not None
    assert release.partition.sizes.sum() == 300
    for rows in release.partition.groups:  # the groups are those of the same records
        assert len(set(plain.partition.labels[release.rows[rows]])) == 1
    assert not release.is_sample


@pytest.mark.parametrize("method", ["mdav", "rank-swapping", "individual-ranking"])
def test_measures_of_a_shuffled_release_are_those_of_the_same_in_order(method: str) -> None:
    data = survey(150, seed=2)
    steps = (Step(method, {}, ("age", "income")),)
    found = [
        assess(data, protect(data, Plan(steps, seed=8, shuffle=shuffle)), attacks="all") for shuffle in (False, True)
    ]
    ordered, shuffled = found
    assert set(ordered.risks) == set(shuffled.risks)
    assert len(ordered.risks) > 2
    for label, risk in ordered.risks.items():
        assert shuffled.risks[label].value == pytest.approx(risk.value, abs=1e-9), label
    for label, loss in ordered.losses.items():
        assert shuffled.losses[label].value == pytest.approx(loss.value, abs=1e-9), label


def test_a_sample_can_be_shuffled_too() -> None:
    data = survey(200, seed=2)
    sample = Sampling(share=0.25).mask(data, ["age"], seed=3)
    release = sample.shuffled()
    assert release.is_sample
    assert release.rows is not None
    assert sample.rows is not None
    assert sorted(release.rows.tolist()) == sample.rows.tolist()
    assert release.data.arrow("age").equals(data.take(release.rows).arrow("age"))


def test_the_index_of_a_pandas_frame_does_not_tell_the_old_order() -> None:
    frame = pd.DataFrame({"x": np.arange(40.0)}, index=[f"r{i}" for i in range(40)])
    release = Noise().mask(frame, seed=1).shuffled()
    assert list(release.frame.index) == list(range(40))


def test_shuffling_is_the_last_thing_done() -> None:
    release = Noise().mask(homes(), ["age"], seed=1).shuffled()
    assert release.shuffled() is release
    with pytest.raises(ParameterError, match="random order already"):
        Noise().mask(release, ["rent"])


def test_a_method_that_mends_a_release_sees_the_original_household_by_household() -> None:
    rng = np.random.default_rng(5)
    number = np.repeat(np.arange(30), 2)
    cells = {"home": number, "rent": np.repeat(rng.normal(900, 200, 30).round(1), 2)}
    data = Microdata.of(cells, household="home")
    noisy = ByHousehold(method=Noise(alpha=0.5)).mask(data, ["rent"], seed=2**70)
    corrected = ByHousehold(method=Hybrid()).mask(noisy, ["rent"], original=data)
    means = [table.numbers("rent").values.mean() for table in (data, noisy.data, corrected.data)]
    assert means[2] == pytest.approx(means[0])
    assert means[1] != pytest.approx(means[0], rel=1e-3)
