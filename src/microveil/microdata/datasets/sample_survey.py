"""The built-in sample survey: persons of an invented country, for demonstrations, examples and tests without a file.

Everything here is made up. The shape is that of a real household survey: persons in households, skewed amounts that
depend on each other, non-response that is not random, codes for missing answers, and sampling weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microveil.errors import ParameterError
from microveil.microdata.hierarchy import Hierarchy
from microveil.microdata.microdata import Microdata
from microveil.microdata.schema import Attribute, Schema
from microveil.randomness import PublicStreams, check_seed
from microveil.typing import BoolArray, FloatArray, IntArray

MOST_RECORDS = 10_000_000
WORKING_AGE, PENSION_AGE = 16, 67
NOT_ASKED, REFUSED, NO_ANSWER = -7, -8, -9
NO_OCCUPATION, DIAGNOSIS_REFUSED = "NAP", "REF"

# name, part of the country, share of the households, effect on log income, sampling weight
_REGION_ROWS = (
    ("Aldermark", "Uplands", 0.05, -0.12, 19.0),
    ("Brostavel", "Uplands", 0.08, -0.08, 28.0),
    ("Corrimoor", "Uplands", 0.04, -0.18, 16.0),
    ("Dravenholt", "Inner Plain", 0.22, 0.16, 52.0),
    ("Elmerund", "Inner Plain", 0.14, 0.04, 42.0),
    ("Fennovia", "Inner Plain", 0.12, -0.02, 39.0),
    ("Gostrand", "Sea Coast", 0.10, -0.05, 34.0),
    ("Harvenmouth", "Sea Coast", 0.19, 0.10, 48.0),
    ("Isterlow", "Sea Coast", 0.06, -0.10, 22.0),
)
REGIONS = tuple(row[0] for row in _REGION_ROWS)
REGION_SHARE = np.array([row[2] for row in _REGION_ROWS])
_REGION_INCOME = np.array([row[3] for row in _REGION_ROWS])
_REGION_WEIGHT = np.array([row[4] for row in _REGION_ROWS])

SEXES = ("female", "male")
_FEMALE, _MALE = 0, 1

# shares of households of 1 to 7 persons; small households answer less often, so those that do stand for more
_SIZE_SHARE = np.array([0.32, 0.33, 0.16, 0.13, 0.04, 0.015, 0.005])
_SIZE_WEIGHT = np.array([1.20, 1.05, 0.98, 0.94, 0.90, 0.86, 0.86])

_EDUCATION_ROWS = (
    ("none completed", "low"),
    ("primary", "low"),
    ("lower secondary", "low"),
    ("upper secondary", "medium"),
    ("post-secondary", "medium"),
    ("bachelor", "high"),
    ("master or higher", "high"),
)
EDUCATION = tuple(row[0] for row in _EDUCATION_ROWS)
_EDUCATION_LIMITS = np.array([-2.3, -1.5, -0.65, 0.45, 0.75, 1.45])
# nobody completes the level before this age
_EDUCATION_AGES = np.array([12, 15, 18, 20, 21, 23])

# name, effect on log income, share among workers with low, medium and high education
_OCCUPATION_ROWS = (
    ("managers", 0.32, 0.02, 0.05, 0.12),
    ("science and engineering", 0.20, 0.00, 0.04, 0.19),
    ("health care", 0.10, 0.04, 0.08, 0.15),
    ("teaching", 0.02, 0.01, 0.03, 0.19),
    ("finance and administration", 0.10, 0.03, 0.15, 0.16),
    ("office clerks", -0.05, 0.06, 0.16, 0.08),
    ("sales", -0.12, 0.15, 0.14, 0.05),
    ("personal services", -0.20, 0.17, 0.10, 0.03),
    ("farming and fishing", -0.25, 0.08, 0.04, 0.01),
    ("crafts and building", 0.00, 0.19, 0.13, 0.01),
    ("machines and transport", -0.02, 0.23, 0.07, 0.005),
    ("armed forces", 0.05, 0.02, 0.01, 0.005),
)
OCCUPATIONS = tuple(row[0] for row in _OCCUPATION_ROWS)
_OCCUPATION_INCOME = np.array([row[1] for row in _OCCUPATION_ROWS])
_OCCUPATION_SHARE = np.array([row[2:] for row in _OCCUPATION_ROWS]).T
_EDUCATION_GROUP = np.array([0, 0, 0, 1, 1, 2, 2])

HEALTH = ("very good", "good", "fair", "bad", "very bad")
_HEALTH_LIMITS = np.array([-0.55, 0.75, 1.75, 2.6])
_WITHOUT_DIAGNOSIS = np.array([0.94, 0.82, 0.50, 0.20, 0.06])

# name, share among the ill below 40, from 40 to 64, and from 65
_DIAGNOSIS_ROWS = (
    ("cardiovascular", 0.05, 0.21, 0.36),
    ("diabetes", 0.06, 0.15, 0.17),
    ("respiratory", 0.27, 0.12, 0.12),
    ("musculoskeletal", 0.17, 0.25, 0.16),
    ("mental health", 0.30, 0.14, 0.05),
    ("cancer", 0.02, 0.07, 0.11),
    ("other illness", 0.13, 0.06, 0.03),
)
DIAGNOSES = ("none", *(row[0] for row in _DIAGNOSIS_ROWS))
_DIAGNOSIS_SHARE = np.array([row[1:] for row in _DIAGNOSIS_ROWS]).T

_MOST_INCOME, _MOST_EXPENDITURE, _MOST_BENEFIT = 5_000_000, 1_000_000, 50_000
# drawn chunk by chunk, so that the intermediate arrays of a long survey stay small
_CHUNK = 500_000


def survey(records: int = 2000, seed: int = 1) -> Microdata:
    """A fictional household survey of exactly so many persons, the same for the same seed.

    The members of a household stand together and share region and weight. To make the number of persons exact, the
    last household is cut short where needed.

    >>> people = survey(500)
    >>> len(people), people.schema.confidential, people.schema.weight
    (500, ('health', 'diagnosis', 'benefit'), 'weight')
    """
    records, seed = _check_records(records), check_seed(seed)
    chunks: list[pa.Table] = []
    households = 0
    for first in range(0, max(records, 1), _CHUNK):
        chunk = _persons(min(_CHUNK, records - first), first, households, PublicStreams(seed, step=len(chunks)))
        households += pc.count_distinct(chunk["household"]).as_py()
        chunks.append(chunk)
    return Microdata.of(pa.concat_tables(chunks), survey_schema())


def survey_schema() -> Schema:
    """The schema of the sample survey: kinds, roles, domains, hierarchies, and what its missing values mean."""
    return Schema(
        [
            Attribute(name="person", kind="nominal", roles=("identifier",), missing="refuse", label="Person number"),
            Attribute(
                name="household", kind="nominal", roles=("household",), missing="refuse", label="Household number"
            ),
            Attribute(
                name="region",
                kind="nominal",
                roles=("key", "stratum"),
                domain=REGIONS,
                hierarchy=Hierarchy.of((name, part, "*") for name, part, *_ in _REGION_ROWS),
                label="Region of residence",
            ),
            Attribute(name="age", kind="numeric", roles=("key",), range=(0, 100), label="Age in completed years"),
            Attribute(name="sex", kind="nominal", roles=("key",), domain=SEXES, label="Sex"),
            Attribute(
                name="education",
                kind="ordinal",
                roles=("key",),
                domain=EDUCATION,
                hierarchy=Hierarchy.of((*row, "*") for row in _EDUCATION_ROWS),
                label="Highest level of education completed",
            ),
            Attribute(
                name="occupation",
                kind="nominal",
                roles=("key",),
                domain=OCCUPATIONS,
                missing="not applicable",
                missing_codes=(NO_OCCUPATION,),
                label="Occupation group of the main job",
                value_labels={NO_OCCUPATION: "not applicable: no paid work"},
            ),
            *_amounts(),
            Attribute(
                name="health",
                kind="ordinal",
                roles=("confidential",),
                domain=HEALTH,
                label="Health in the person's own judgement",
            ),
            Attribute(
                name="diagnosis",
                kind="nominal",
                roles=("confidential",),
                domain=DIAGNOSES,
                missing="own category",
                missing_codes=(DIAGNOSIS_REFUSED,),
                label="Main long-standing illness",
                value_labels={DIAGNOSIS_REFUSED: "refused"},
            ),
            Attribute(
                name="benefit",
                kind="numeric",
                roles=("confidential",),
                range=(0, _MOST_BENEFIT),
                missing_codes=(NO_ANSWER,),
                label="Social benefits received in the year",
                value_labels={NO_ANSWER: "no answer"},
            ),
            Attribute(name="weight", kind="numeric", roles=("weight",), missing="refuse", label="Sampling weight"),
        ]
    )


def _amounts() -> tuple[Attribute, ...]:
    return (
        Attribute(
            name="income",
            kind="numeric",
            roles=("key",),
            range=(0, _MOST_INCOME),
            missing_codes=(NOT_ASKED, REFUSED, NO_ANSWER),
            label="Gross income of the year",
            value_labels={NOT_ASKED: "not applicable: below 16 years", REFUSED: "refused", NO_ANSWER: "no answer"},
        ),
        Attribute(name="wealth", kind="numeric", roles=("key",), label="Assets less debts"),
        Attribute(
            name="expenditure",
            kind="numeric",
            roles=("key",),
            range=(0, _MOST_EXPENDITURE),
            label="The person's share of the household's spending in the year",
        ),
    )


def _check_records(records: object) -> int:
    if isinstance(records, bool) or not isinstance(records, int | np.integer) or not 0 <= records <= MOST_RECORDS:
        raise ParameterError(f"records must be a whole number from 0 to {MOST_RECORDS:,}, got {records!r}")
    return int(records)


def _persons(records: int, first_person: int, first_household: int, streams: PublicStreams) -> pa.Table:
    """One chunk of persons; the answers first as they are in truth, then with the gaps of a survey."""

    def draws(column: str) -> np.random.Generator:
        return streams.generator("survey", column)

    sizes = _household_sizes(records, draws("household"))
    home = np.repeat(np.arange(len(sizes)), sizes)
    position = np.arange(records) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    regions = draws("region").choice(len(REGIONS), size=len(sizes), p=REGION_SHARE)
    region = regions[home]
    partnered = draws("partner").random(len(sizes)) < 0.84
    partner = (position == 1) & partnered[home]
    # what the members of a household have in common, in education and in earning
    background = draws("background").standard_normal(len(sizes))[home]

    age = _ages(sizes, home, position, partner, draws("age"))
    sex = _sexes(age, sizes[home], partner, draws("sex"))
    education = _educations(age, region, background, draws("education"))
    health = _health(age, education, draws("health"))
    works = _works(age, sex, health, draws("work"))
    occupation = _pick(_OCCUPATION_SHARE, _EDUCATION_GROUP[education], draws("occupation"))
    income = _incomes(age, sex, education, region, background, np.where(works, occupation, -1), draws("income"))
    wealth = _wealths(age, income, draws("wealth"))
    benefit = _benefits(age, health, income, works, draws("benefit"))
    expenditure = _expenditures(age, home, len(sizes), income + benefit, draws("expenditure"))
    weights = _REGION_WEIGHT[regions] * _SIZE_WEIGHT[sizes - 1] * draws("weight").uniform(0.9, 1.1, len(sizes))
    diagnosis = _diagnoses(age, health, draws("diagnosis"))

    gaps = draws("non-response")
    return pa.table(
        {
            "person": _person_numbers(first_person, records),
            "household": pa.array(first_household + 1 + home),
            "region": _labels(REGIONS, region),
            "age": pa.array(age),
            "sex": _labels(SEXES, sex),
            "education": _labels(EDUCATION, education, gaps.random(records) < 0.015 + 0.0005 * age),
            "occupation": _labels((*OCCUPATIONS, NO_OCCUPATION), np.where(works, occupation, len(OCCUPATIONS))),
            "income": pa.array(_with_income_codes(income, age, gaps)),
            "wealth": pa.array(wealth, mask=gaps.random(records) < 0.02 + 0.06 * _above_average(income)),
            "expenditure": pa.array(expenditure, mask=gaps.random(records) < 0.03),
            "health": _labels(HEALTH, health, gaps.random(records) < 0.01 + 0.012 * health),
            "diagnosis": _labels(
                (*DIAGNOSES, DIAGNOSIS_REFUSED),
                np.where(gaps.random(records) < 0.02 + 0.04 * (diagnosis > 0), len(DIAGNOSES), diagnosis),
            ),
            "benefit": pa.array(np.where(gaps.random(records) < 0.02 + 0.05 * (benefit > 0), NO_ANSWER, benefit)),
            "weight": pa.array(np.round(weights, 2)[home]),
        }
    )


def _household_sizes(records: int, rng: np.random.Generator) -> IntArray:
    """Sizes that add up to the number of records; the last household is cut to what is left."""
    sizes = 1 + rng.choice(len(_SIZE_SHARE), size=records, p=_SIZE_SHARE)
    before = np.cumsum(sizes) - sizes
    kept = before < records
    return np.asarray(np.minimum(sizes, records - before)[kept], dtype=np.int64)


def _ages(
    sizes: IntArray, home: IntArray, position: IntArray, partner: BoolArray, rng: np.random.Generator
) -> IntArray:
    """The first person is an adult; then comes a partner of about the same age, then children."""
    shape = np.minimum(sizes, 3) - 1
    head = 18 + 82 * rng.beta(np.array([1.2, 1.9, 3.0])[shape], np.array([1.5, 2.0, 5.2])[shape])
    head = head[home]
    spread = rng.standard_normal(len(home))
    infancy = rng.uniform(0, 3, len(home))
    oldest = head - WORKING_AGE
    children = np.clip(head - 30 + 5 * spread - 2.5 * (position - 2), np.minimum(infancy, oldest), oldest)
    age = np.where(position == 0, head, np.where(partner, np.maximum(18, head - 1 + 4 * spread), children))
    return np.asarray(np.clip(age, 0, 100), dtype=np.int64)


def _sexes(age: IntArray, size: IntArray, partner: BoolArray, rng: np.random.Generator) -> IntArray:
    """Old people who live alone are mostly women; partners are mostly of the other sex."""
    female = rng.random(len(age)) < np.where((age > 70) & (size == 1), 0.7, 0.49)
    sex = np.where(female, _FEMALE, _MALE)
    other = np.roll(1 - sex, 1)  # a partner comes right after the first person
    return np.where(partner & (rng.random(len(age)) < 0.97), other, sex)


def _educations(age: IntArray, region: IntArray, background: FloatArray, rng: np.random.Generator) -> IntArray:
    """Later cohorts went to school for longer; what age does not allow yet is not completed."""
    cohort = np.clip((55 - age) / 40, -1.0, 0.6)
    schooling = 0.55 * cohort + 1.2 * _REGION_INCOME[region] + 0.5 * background + 0.8 * rng.standard_normal(len(age))
    return np.minimum(
        np.searchsorted(_EDUCATION_LIMITS, schooling), np.searchsorted(_EDUCATION_AGES, age, side="right")
    )


def _health(age: IntArray, education: IntArray, rng: np.random.Generator) -> IntArray:
    latent = 0.028 * (age - 40) - 0.08 * (education - 3) * (age >= 25) + 0.85 * rng.standard_normal(len(age))
    return np.asarray(np.searchsorted(_HEALTH_LIMITS, latent + 0.25), dtype=np.int64)


def _works(age: IntArray, sex: IntArray, health: IntArray, rng: np.random.Generator) -> BoolArray:
    """Who has paid work: most between 25 and 60, fewer women than men, fewer in bad health."""
    by_age = np.array([0.0, 0.45, 0.88, 0.5, 0.08, 0.0])
    likely = by_age[np.searchsorted([WORKING_AGE, 25, 60, PENSION_AGE, 76], age, side="right")]
    likely = likely * np.where(sex == _FEMALE, 0.92, 1.0) * np.array([1.0, 1.0, 0.92, 0.6, 0.3])[health]
    return np.asarray(rng.random(len(age)) < likely)


def _incomes(
    age: IntArray,
    sex: IntArray,
    education: IntArray,
    region: IntArray,
    background: FloatArray,
    occupation: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    """Earnings are log-normal with a Pareto tail; others (occupation -1) live on a pension, or on little or nothing."""
    people = len(age)
    noise, luck, shock = rng.standard_normal(people), rng.random(people), rng.pareto(2.5, people)
    works, pensioner = occupation >= 0, age >= PENSION_AGE
    common = 0.12 * (education - 3) + _REGION_INCOME[region] + 0.12 * background - 0.07 * (sex == _FEMALE)
    earning = np.log(27_000) + common - 0.0006 * (age - 50) ** 2 + 0.36 * noise + _OCCUPATION_INCOME[occupation]
    pension = np.log(15_500) + common + 0.32 * noise
    allowance = np.log(5_000) + 0.5 * common + 0.8 * noise
    income = np.exp(np.where(works, earning, np.where(pensioner, pension, allowance)))
    income *= np.where(luck > 0.95, 1 + shock, 1.0)
    nothing = (age < WORKING_AGE) | (~works & ~pensioner & (luck < 0.2))
    return np.where(nothing, 0, _rounded(income, 1, _MOST_INCOME))


def _wealths(age: IntArray, income: IntArray, rng: np.random.Generator) -> IntArray:
    """Assets grow with income and age; loans are common before 50 and exceed the assets of some."""
    people = len(age)
    noise, owes, loan = rng.standard_normal(people), rng.random(people), rng.gamma(2.0, 0.4, people)
    assets = 0.8 * (income + 2_000) * np.exp(0.032 * (np.clip(age, 16, 75) - 35) + 0.85 * noise)
    savings = 60.0 * (age + 1) * np.exp(noise)
    debts = assets * loan * (owes < np.where(age < 50, 0.45, 0.15))
    return _rounded(np.where(age < WORKING_AGE, savings, assets - debts), 100, 100_000_000)


def _benefits(
    age: IntArray, health: IntArray, income: IntArray, works: BoolArray, rng: np.random.Generator
) -> IntArray:
    """Most receive none; adults out of work, in bad health or on a low income receive most."""
    people = len(age)
    need = 0.03 + 0.35 * (~works & (age < PENSION_AGE)) + 0.15 * (health >= 3) + 0.10 * (income < 12_000)
    receives = (rng.random(people) < need) & (age >= 18)
    amount = np.exp(np.log(4_800) + 0.5 * rng.standard_normal(people) + 0.1 * health)
    return np.where(receives, _rounded(amount, 10, _MOST_BENEFIT), 0)


def _expenditures(
    age: IntArray, home: IntArray, households: int, income: IntArray, rng: np.random.Generator
) -> IntArray:
    """The household spends a share of its income that falls as income rises; members take part by their needs."""
    need = np.where(age < 14, 0.55, 1.0)
    means = np.bincount(home, weights=income, minlength=households) + 4_000
    people = np.bincount(home, weights=need, minlength=households)
    spending = 2.0 * means**0.9 * people**-0.75  # a second adult does not need a second kitchen
    return _rounded(need * spending[home] * np.exp(0.22 * rng.standard_normal(len(age))), 10, _MOST_EXPENDITURE)


def _diagnoses(age: IntArray, health: IntArray, rng: np.random.Generator) -> IntArray:
    illness = 1 + _pick(_DIAGNOSIS_SHARE, np.searchsorted([40, 65], age, side="right"), rng)
    return np.where(rng.random(len(age)) < _WITHOUT_DIAGNOSIS[health], 0, illness)


def _with_income_codes(income: IntArray, age: IntArray, rng: np.random.Generator) -> IntArray:
    """High earners refuse more often, young and old leave more answers out."""
    asked, chance = age >= WORKING_AGE, rng.random(len(age))
    refuses = chance < 0.02 + 0.05 * _above_average(income)
    silent = chance > 0.985 - 0.02 * ((age < 25) | (age > 75))
    return np.where(~asked, NOT_ASKED, np.where(refuses, REFUSED, np.where(silent, NO_ANSWER, income)))


def _above_average(income: IntArray) -> FloatArray:
    """From 0 for no income to nearly 1 for a very high one."""
    return (income / 60_000) / (1 + income / 60_000)


def _pick(shares: FloatArray, row: IntArray, rng: np.random.Generator) -> IntArray:
    """For every person a column of the table of shares, drawn with the shares of the person's row."""
    rows, columns = shares.shape
    cumulated = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)
    # one sorted list for all rows: row r takes the numbers from r to r + 1
    limits = (cumulated + np.arange(rows)[:, None]).ravel()
    found = np.searchsorted(limits, row + rng.random(len(row)), side="right") - columns * row
    return np.asarray(np.clip(found, 0, columns - 1), dtype=np.int64)


def _rounded(amount: FloatArray, unit: int, most: int) -> IntArray:
    return (np.minimum(np.round(amount / unit) * unit, most)).astype(np.int64)


def _labels(names: tuple[str, ...], codes: IntArray, empty: BoolArray | None = None) -> Any:
    return pa.array(names).take(pa.array(codes, mask=empty))


def _person_numbers(first: int, records: int) -> Any:
    numbers = pa.array(np.arange(first + 1, first + records + 1)).cast(pa.string())
    return pc.binary_join_element_wise("P", pc.utf8_lpad(numbers, 8, "0"), "")
