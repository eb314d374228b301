"""An intruder who compares two releases made with one seed: of one file with two plans, or of two waves of a survey.

Had both the same random numbers, their difference would show them, and with them the original. He needs no seed for it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from microveil.cli.app import main
from microveil.masking import Method, Plan, Release, Step
from microveil.masking.by_household import ByHousehold
from microveil.masking.coarsening.sampling import Sampling
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.plan import read_plan
from microveil.masking.randomising.matrix import Matrix
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.masking.randomising.resampling import resampled_table
from microveil.masking.release import release_from
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.masking.within import Within
from microveil.microdata import Microdata
from microveil.microdata.files import read
from microveil.protection import protect

FloatArray = npt.NDArray[np.float64]
SEED = 0x8F3B2C1D4E5F60718293A4B5C6D7E8F9
RECORDS = 376


def people(records: int = RECORDS, wave: int = 1) -> Microdata:
    """Whole incomes, which are higher by 25 in every wave; rents; jobs; two members in every household."""
    rng = np.random.default_rng(11)
    incomes = rng.choice(np.arange(800, 9000), size=records, replace=False) + 25 * (wave - 1)
    rents = rng.integers(200, 2000, size=records)
    table = {
        "home": [i // 2 for i in range(records)],
        "income": incomes.tolist(),
        "rent": rents.tolist(),
        "job": rng.choice(["baker", "clerk", "nurse"], size=records).tolist(),
    }
    return Microdata.of(table, household="home", keys=["income", "rent"])


def values(release: Release, name: str = "income") -> FloatArray:
    return release.data.numbers(name).values


def noise_of(release: Release, name: str = "income") -> FloatArray:
    return values(release, name) - people().numbers(name).values


def correlation(one: FloatArray, other: FloatArray) -> float:
    return abs(float(np.corrcoef(one, other)[0, 1]))


UNRELATED = 5 / RECORDS**0.5  # correlations of independent columns exceed it once in a million cases


# --- one file, two plans ---------------------------------------------------------------------------------------------


def test_incomes_do_not_come_back_from_two_strengths_of_noise() -> None:
    """With the deviation of the noise doubled, 2a - b would be the original."""
    weak, strong = (Noise(alpha=alpha).mask(people(), ["income"], seed=SEED) for alpha in (0.1, 0.4))
    found = (2 * values(weak) - values(strong)).round()
    assert int((found == people().numbers("income").values).sum()) < 10
    assert correlation(noise_of(weak), noise_of(strong)) < UNRELATED


PLANS: list[tuple[Sequence[tuple[Method, list[str]]], Sequence[tuple[Method, list[str]]]]] = [
    # another form, which the intruder can turn into the first
    ([(Noise(form="correlated"), ["income"])], [(Noise(form="linear"), ["income"])]),
    # another method that draws alike
    ([(Noise(alpha=0.2), ["income"])], [(Matrix(alpha=0.2), ["income"])]),
    ([(Noise(alpha=0.2), ["income"])], [(Within(method=Noise(alpha=0.2), clusters=1), ["income"])]),
    # the same noise over other values
    (
        [(MDAV(k=3), ["income"]), (Noise(), ["income"])],
        [(MDAV(k=9), ["income"]), (Noise(), ["income"])],
    ),
    (
        [(MDAV(k=3), ["rent"]), (Noise(), ["income"])],
        [(MDAV(k=3), ["income", "rent"]), (Noise(), ["income"])],
    ),
    # noise that is mixed, with one attribute more
    ([(Noise(form="correlated"), ["income"])], [(Noise(form="correlated"), ["income", "rent"])]),
    ([(Noise(exact=True), ["income"])], [(Noise(exact=True), ["income", "rent"])]),
    ([(Within(method=Noise()), ["income"])], [(Within(method=Noise()), ["income", "rent"])]),
]


@pytest.mark.parametrize("pair", PLANS, ids=["form", "method", "within", "k", "block", "mixed", "exact", "clusters"])
def test_noise_of_two_plans_is_unrelated(pair: Any) -> None:
    one, other = (
        protect(people(), Plan(tuple(Step(m.name, m.parameters(), tuple(names)) for m, names in steps), SEED))
        for steps in pair
    )
    if pair[0][0][0].name == "mdav":  # of the last step alone
        before = [steps[0][0].mask(people(), steps[0][1], seed=SEED) for steps in pair]
        noises = [values(after) - values(first) for after, first in zip((one, other), before, strict=True)]
    else:
        noises = [noise_of(one), noise_of(other)]
    assert correlation(noises[0], noises[1]) < UNRELATED


def test_swaps_and_changed_categories_of_two_strengths_have_nothing_in_common() -> None:
    """With the same numbers, whoever is changed by the weaker PRAM is changed by the stronger too."""
    weak, strong = (PRAM(p=p, matrix="entropy").mask(people(), ["job"], seed=SEED) for p in (0.9, 0.8))
    truth = people().categories("job").codes
    changed = [(release.data.categories("job").codes != truth).astype(np.float64) for release in (weak, strong)]
    assert correlation(changed[0], changed[1]) < UNRELATED
    ranks = people().numbers("income").values.argsort().argsort()
    moved = [
        values(RankSwapping(p=p).mask(people(), ["income"], seed=SEED)).argsort().argsort() - ranks for p in (5.0, 5.1)
    ]
    assert correlation(moved[0], moved[1]) < UNRELATED


def test_the_orders_of_two_shuffled_releases_are_unrelated() -> None:
    """What was left alone may tell the order; the row numbers are what he would see of it."""
    plans = [Plan((Step("mdav", {"k": k}, ("income", "rent")),), SEED, shuffle=True) for k in (3, 5)]
    orders = [protect(people(), plan).rows for plan in plans]
    assert correlation(*orders) < UNRELATED  # type: ignore[arg-type]
    attributes = [Plan((Step("mdav", {"k": 3}, names),), SEED, shuffle=True) for names in (("income",), ("rent",))]
    orders = [protect(people(), plan).rows for plan in attributes]
    assert correlation(*orders) < UNRELATED  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "plans",
    [
        [[Step("mdav", {"k": 3})], [Step("mdav", {"k": 5})]],
        [[Step("mdav", {"k": 3}, ("income",))], [Step("mdav", {"k": 3}, ("rent",))]],
        [[Step("mdav", {"k": 3})], [Step("mdav", {"k": 3}), Step("noise")]],
    ],
    ids=["another k", "other attributes", "one step more"],
)
def test_household_numbers_of_two_releases_are_unrelated(plans: list[list[Step]]) -> None:
    one, other = (values(protect(people(), Plan(tuple(steps), SEED)), "home")[::2] for steps in plans)
    assert sorted(one) == sorted(other)
    assert correlation(one, other) < 5 / len(one) ** 0.5


# --- two files, one plan ---------------------------------------------------------------------------------------------


def test_the_change_from_wave_to_wave_does_not_come_back() -> None:
    """The variance of both waves is the same, so that of the noise is, and the difference would be exact."""
    plan = Plan((Step("noise", {"alpha": 0.1}, ("income",)),), SEED)
    releases = [protect(people(wave=wave), plan) for wave in (1, 2)]
    change = (values(releases[1]) - values(releases[0])).round(6)
    assert int((change == 25).sum()) == 0
    assert correlation(noise_of(releases[0]), noise_of(releases[1])) < UNRELATED


def test_orders_household_numbers_and_samples_differ_from_wave_to_wave() -> None:
    first, second = people(wave=1), people(wave=2)
    plan = Plan((Step("mdav", {"k": 3}),), SEED, shuffle=True)
    assert correlation(*(protect(data, plan).rows for data in (first, second))) < UNRELATED  # type: ignore[arg-type]
    numbers = [values(MDAV(k=3).mask(data, seed=SEED), "home")[::2] for data in (first, second)]
    assert correlation(numbers[0], numbers[1]) < 5 / len(numbers[0]) ** 0.5
    samples = [Sampling(share=0.5).mask(data, seed=SEED).rows for data in (first, second)]
    assert samples[0] is not None
    assert samples[1] is not None
    assert set(samples[0]) != set(samples[1])


def test_the_counts_of_two_resampled_tables_are_unrelated() -> None:
    one, other = (resampled_table(people(wave=wave), ["job"], t=3, seed=SEED)[1] for wave in (1, 2))
    assert one.tolist() != other.tolist()


@pytest.mark.parametrize("method", [Within(method=Noise(), clusters=2, starts=1), ByHousehold(method=Noise())])
def test_methods_that_hold_another_draw_anew_too(method: Method) -> None:
    one, other = (method.mask(people(wave=wave), ["income"], seed=SEED) for wave in (1, 2))
    assert correlation(noise_of(one), noise_of(other)) < UNRELATED


def test_a_step_added_to_releases_of_unknown_originals_draws_anew() -> None:
    """The manifest may have lost the digest of the original; then the releases stand for their originals."""
    plan = Plan((Step("mdav", {"k": 3}, ("rent",)),), SEED)
    made = [Noise().mask(release_from(people(wave=wave), plan, {}), ["income"]) for wave in (1, 2)]
    assert correlation(noise_of(made[0]), noise_of(made[1])) < UNRELATED


# --- what stays as it was --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [Noise(), Noise(form="multiplicative"), RankSwapping(), Matrix(), Within(method=Noise(), by="strata")],
    ids=["noise", "multiplicative", "rank-swapping", "matrix", "within strata"],
)
def test_one_attribute_more_changes_nothing_in_the_others(method: Method) -> None:
    data = people()
    strata = data["job"].changed(roles=("stratum",))
    data = Microdata(data.frame, data.schema.replacing(strata))
    alone, both, turned = (
        method.mask(data, names, seed=SEED) for names in (["income"], ["income", "rent"], ["rent", "income"])
    )
    assert values(alone).tolist() == values(both).tolist() == values(turned).tolist()


def test_a_later_step_changes_nothing_in_the_values_of_the_earlier_ones() -> None:
    first = Step("noise", {}, ("income",))
    one, both = (
        protect(people(), Plan(steps, SEED)) for steps in ((first,), (first, Step("rank-swapping", {}, ("rent",))))
    )
    assert values(one).tolist() == values(both).tolist()


def test_roles_that_are_declared_change_nothing_in_the_draws() -> None:
    plain = Microdata.of(people().native)
    assert values(Noise().mask(plain, ["income"], seed=SEED)).tolist() == (
        values(Noise().mask(people(), ["income"], seed=SEED)).tolist()
    )


TOML = f"""
seed = "{SEED:#x}"
shuffle = true
[[steps]]
method = "noise"
attributes = ["income"]
parameters = {{ alpha = 0.2 }}
[[steps]]
method = "pram"
attributes = ["job"]
"""


def test_the_same_file_plan_and_seed_give_the_same_release_at_every_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("microveil.cli.app.speak_of_compiling", lambda: None)
    monkeypatch.setattr("signal.signal", lambda number, action: None)

    def microveil(*words: str) -> None:
        monkeypatch.setattr("sys.argv", ["microveil", *words])
        status: str | int | None = 0
        try:
            main()
        except SystemExit as end:
            status = end.code
        assert not status, capsys.readouterr().err

    table = people().frame.to_arrow()
    table.to_pandas().to_csv("people.csv", index=False)
    pq.write_table(table, "people.parquet")
    Path("plan.toml").write_text(TOML)
    plan, _ = read_plan("plan.toml")
    for name in ("people.csv", "people.parquet"):
        out = name.replace("people", "safe")
        given = ["--household", "home", "--keys", "income,job"]
        microveil("protect", name, *given, "--plan", "plan.toml", "--out", out)
        microveil("protect", name, "--plan", f"{out}.manifest.json", "--out", f"again-{out}")
        assert Path(out).read_bytes() == Path(f"again-{out}").read_bytes()
    digest = json.loads(Path("safe.csv.manifest.json").read_text())["output"]["digest"]
    assert json.loads(Path("safe.parquet.manifest.json").read_text())["output"]["digest"] == digest
    frames = [pa.table(table), pl.from_arrow(table), table.to_pandas(), pd.DataFrame(table.to_pandas(), copy=True)]
    frames[-1].index = pd.Index(range(7, 7 + RECORDS))
    for data in (*(Microdata.of(frame, household="home") for frame in frames), read("people.csv", household="home")):
        assert protect(data, plan).data.digest() == digest
        by_hand = PRAM().mask(Noise(alpha=0.2).mask(data, ["income"], seed=SEED), ["job"]).shuffled()
        assert by_hand.data.digest() == digest
