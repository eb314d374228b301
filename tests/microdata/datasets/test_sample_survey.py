"""The sample survey has the shape it promises: size, households, domains, gaps and dependences."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy.stats import skew, spearmanr

from microveil.errors import ParameterError
from microveil.microdata import Microdata, Schema
from microveil.microdata.datasets.sample_survey import (
    EDUCATION,
    MOST_RECORDS,
    NO_ANSWER,
    NOT_ASKED,
    REFUSED,
    REGIONS,
    survey,
    survey_schema,
)

ROLES = {
    "person": ("identifier",),
    "household": ("household",),
    "region": ("key", "stratum"),
    "age": ("key",),
    "sex": ("key",),
    "education": ("key",),
    "occupation": ("key",),
    "income": ("key",),
    "wealth": ("key",),
    "expenditure": ("key",),
    "health": ("confidential",),
    "diagnosis": ("confidential",),
    "benefit": ("confidential",),
    "weight": ("weight",),
}


@pytest.fixture(scope="module")
def people() -> Microdata:
    return survey(20_000, seed=3)


def cells(data: Microdata, name: str) -> list[object]:
    return data.native[name].to_pylist()


def rank_correlation(data: Microdata, one: str, other: str) -> float:
    a, b = data.numbers(one), data.numbers(other)
    both = a.present & b.present
    return float(spearmanr(a.values[both], b.values[both]).statistic)


def per_household(data: Microdata, name: str) -> int:
    """The largest number of different values of a column within one household."""
    table = data.native.group_by("household").aggregate([(name, "count_distinct")])
    return int(pc.max(table[f"{name}_count_distinct"]).as_py())


@pytest.mark.parametrize("records", [0, 1, 2, 3, 5000])
def test_a_survey_has_exactly_the_records_asked_for_and_every_column_can_be_read(records: int) -> None:
    data = survey(records)
    assert len(data) == records
    assert isinstance(data.native, pa.Table)
    for attribute in data.schema:
        column = data.numbers(attribute.name) if attribute.kind == "numeric" else data.categories(attribute.name)
        assert len(column.present) == records


def test_the_default_survey_has_two_thousand_persons() -> None:
    assert len(survey()) == 2000
    assert survey().native.equals(survey(2000, seed=1).native)


def test_a_numpy_number_is_a_number_of_records() -> None:
    assert len(survey(np.int64(7))) == 7


@pytest.mark.parametrize("records", [-1, MOST_RECORDS + 1, 2.0, "10", None, True])
def test_a_wrong_number_of_records_is_refused_in_one_sentence(records: object) -> None:
    with pytest.raises(ParameterError, match=r"^records must be a whole number from 0 to 10,000,000, got [^.]+(\.0)?$"):
        survey(records)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, 0.5, "x"])
def test_a_wrong_seed_is_refused(seed: object) -> None:
    with pytest.raises(ParameterError, match="seed"):
        survey(10, seed=seed)  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_survey() -> None:
    assert survey(3000, seed=5).native.equals(survey(3000, seed=5).native)


def test_another_seed_changes_every_drawn_column() -> None:
    one, other = survey(3000, seed=5).native, survey(3000, seed=6).native
    assert [name for name in one.column_names if one[name].equals(other[name])] == ["person"]


def test_the_schema_is_complete_and_the_same_for_every_survey(people: Microdata) -> None:
    assert people.schema == survey_schema() == survey(0).schema
    assert {a.name: a.roles for a in people.schema} == ROLES
    assert tuple(people.native.column_names) == people.names
    assert all(a.label for a in people.schema)
    for attribute in people.schema:
        if attribute.is_categorical and attribute.name not in ("person", "household"):
            assert attribute.domain
        assert set(attribute.value_labels) == set(attribute.missing_codes)


def test_the_schema_survives_a_toml_file() -> None:
    import tomllib

    assert Schema.from_plain(tomllib.loads(survey_schema().to_toml())) == survey_schema()


def test_regions_and_education_generalise_to_coarser_groups() -> None:
    region, education = survey_schema()["region"].hierarchy, survey_schema()["education"].hierarchy
    assert region is not None
    assert education is not None
    assert len(REGIONS) == 9
    assert region.categories(1) == ("Uplands", "Inner Plain", "Sea Coast")
    assert region.categories(2) == ("*",)
    assert [education.generalise(level, 1) for level in EDUCATION] == ["low"] * 3 + ["medium"] * 2 + ["high"] * 2


def test_every_category_of_every_declared_domain_occurs(people: Microdata) -> None:
    for attribute in people.schema:
        if attribute.domain is not None:
            assert (people.categories(attribute.name).frequencies > 0).all(), attribute.name


def test_every_person_has_a_number_of_its_own(people: Microdata) -> None:
    persons = cells(people, "person")
    assert len(set(persons)) == len(persons)
    assert persons[0] == "P00000001"
    assert persons[-1] == "P00020000"


@pytest.mark.parametrize("records", [20_000, 700_000])
def test_households_are_numbered_without_gaps_and_stand_together(records: int) -> None:
    household = survey(records, seed=3).arrow("household").to_numpy()
    assert household[0] == 1
    assert set(np.unique(np.diff(household))) == {0, 1}
    sizes = np.bincount(household)[1:]
    assert sizes.sum() == records
    assert sizes.min() == 1
    assert sizes.max() == 7
    assert 2.1 < sizes.mean() < 2.5


def test_a_household_has_one_region_and_one_weight_but_several_ages(people: Microdata) -> None:
    assert per_household(people, "region") == 1
    assert per_household(people, "weight") == 1
    assert per_household(people, "age") > 3


def test_every_household_has_an_adult_even_the_last_one() -> None:
    for records in range(1, 60):
        data = survey(records, seed=records)
        oldest = data.native.group_by("household").aggregate([("age", "max")])
        assert pc.min(oldest["age_max"]).as_py() >= 18


def test_weights_are_about_forty_and_higher_where_more_people_live(people: Microdata) -> None:
    weight, region = people.numbers("weight").values, people.categories("region").codes
    assert 38 < weight.mean() < 42
    assert weight.min() > 10
    assert (
        weight[region == REGIONS.index("Dravenholt")].mean() > 2 * weight[region == REGIONS.index("Corrimoor")].mean()
    )


def test_weights_fall_with_the_size_of_the_household(people: Microdata) -> None:
    weight, household = people.numbers("weight").values, people.arrow("household").to_numpy()
    size = np.bincount(household)[household]
    assert weight[size == 1].mean() > weight[size == 3].mean() > weight[size >= 5].mean()


def test_ages_are_whole_years_from_birth_to_a_hundred(people: Microdata) -> None:
    age = people.arrow("age").to_numpy()
    assert age.dtype == np.int64
    assert age.min() == 0
    assert 95 <= age.max() <= 100
    assert 0.12 < (age < 16).mean() < 0.25
    assert 0.1 < (age >= 67).mean() < 0.25


def test_nobody_has_completed_a_level_before_its_age(people: Microdata) -> None:
    age, level = people.numbers("age").values, people.categories("education").codes
    assert level[age < 12].max() == 0
    assert level[age < 18].max() <= 2
    assert level[age < 23].max() <= 5
    younger, older = level[(age >= 30) & (age < 50) & (level >= 0)], level[(age >= 70) & (level >= 0)]
    assert younger.mean() > older.mean() + 0.3


def test_occupation_is_not_applicable_exactly_for_those_without_work(people: Microdata) -> None:
    age, occupation = people.numbers("age").values, people.categories("occupation")
    assert len(occupation.domain) == 12
    assert "NAP" not in occupation.domain
    assert not occupation.present[age < 16].any()
    assert not occupation.present[age > 75].any()
    assert occupation.present[(age >= 30) & (age < 55)].mean() > 0.7
    assert people.arrow("occupation").null_count == 0


def test_better_education_leads_to_other_occupations(people: Microdata) -> None:
    level, occupation = people.categories("education").codes, people.categories("occupation")
    teaching = occupation.codes == occupation.domain.index("teaching")
    machines = occupation.codes == occupation.domain.index("machines and transport")
    assert teaching[level >= 5].mean() > 5 * teaching[(level >= 0) & (level <= 2)].mean()
    assert machines[level >= 5].mean() < machines[level == 2].mean() / 5


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_income_is_skewed_to_the_right(seed: int) -> None:
    income = survey(5000, seed).numbers("income")
    assert skew(income.values[income.present]) > 1.5


def test_mean_income_rises_with_every_level_of_education(people: Microdata) -> None:
    income, level = people.numbers("income").values, people.categories("education").codes
    means = [np.nanmean(income[level == i]) for i in range(len(EDUCATION))]
    assert (np.diff(means) > 0).all()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_amounts_depend_on_each_other_as_in_life(seed: int) -> None:
    data = survey(5000, seed)
    assert 0.3 < rank_correlation(data, "income", "wealth") < 0.7
    assert 0.4 < rank_correlation(data, "income", "expenditure") < 0.8
    assert rank_correlation(data, "age", "wealth") > 0.3
    assert rank_correlation(data, "income", "benefit") < -0.2


def test_wealth_can_be_negative_and_is_skewed(people: Microdata) -> None:
    wealth = people.numbers("wealth")
    values = wealth.values[wealth.present]
    assert 0.03 < (values < 0).mean() < 0.15
    assert skew(values) > 1.5


def test_health_worsens_with_age_and_brings_diagnoses(people: Microdata) -> None:
    health, age = people.categories("health"), people.numbers("age").values
    assert health.domain == ("very good", "good", "fair", "bad", "very bad")
    assert spearmanr(age[health.present], health.codes[health.present]).statistic > 0.4
    ill = people.categories("diagnosis").codes > 0
    assert ill[health.codes >= 3].mean() > 3 * ill[health.codes == 0].mean()


def test_most_persons_receive_no_benefit(people: Microdata) -> None:
    benefit, age = people.numbers("benefit").values, people.numbers("age").values
    assert 0.75 < np.mean(benefit == 0) < 0.95
    assert np.nanmax(benefit[age < 18]) == 0


def test_children_are_not_asked_for_income_and_all_others_are(people: Microdata) -> None:
    age, income = people.arrow("age").to_numpy(), people.arrow("income").to_numpy()
    assert ((income == NOT_ASKED) == (age < 16)).all()


def test_codes_and_empty_cells_for_missing_answers_both_occur(people: Microdata) -> None:
    asked = people.arrow("age").to_numpy() >= 16
    income = people.arrow("income").to_numpy()
    assert 0.02 < (income[asked] == REFUSED).mean() < 0.05
    assert 0.01 < (income[asked] == NO_ANSWER).mean() < 0.04
    assert 0.02 < (people.arrow("benefit").to_numpy() == NO_ANSWER).mean() < 0.05
    assert 0.02 < pc.mean(pc.equal(people.arrow("diagnosis"), "REF")).as_py() < 0.05
    for name in ("education", "wealth", "expenditure", "health"):
        assert 0.02 < people.arrow(name).null_count / len(people) < 0.06, name
    for name in ("person", "household", "region", "age", "sex", "weight"):
        assert people.arrow(name).null_count == 0, name


def test_non_response_is_not_random(people: Microdata) -> None:
    age, income = people.numbers("age").values, people.numbers("income").values
    wealth_empty = ~people.numbers("wealth").present
    assert wealth_empty[income > 50_000].mean() > 1.3 * wealth_empty[income < 20_000].mean()
    education_empty = ~people.categories("education").present
    assert education_empty[age > 60].mean() > 1.3 * education_empty[age < 30].mean()


def test_a_survey_longer_than_one_chunk_goes_on_with_fresh_draws() -> None:
    data = survey(510_000, seed=2)
    assert len(data) == 510_000
    assert cells(data, "person")[-1] == "P00510000"
    income = data.arrow("income").to_numpy()
    assert not np.array_equal(income[:10_000], income[500_000:])
