"""Seeds and the streams they key: every bit of a seed counts, and streams of different labels are unrelated."""

from __future__ import annotations

import json
import tomllib
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.errors import ParameterError
from microveil.masking import Plan, Step
from microveil.masking.plan import read_plan
from microveil.masking.randomising.noise import Noise
from microveil.masking.release import release_from
from microveil.microdata import Microdata
from microveil.numerics.core.draws import normals
from microveil.protection import protect
from microveil.randomness import (
    GUESSABLE,
    PublicStreams,
    Streams,
    check_seed,
    derived_seed,
    draw_seed,
    plain_seed,
)
from microveil.registry import make
from microveil.scoring.repeated import repeat_seeds
from microveil.strengthening import protect_until

PEOPLE = Microdata.of({"age": list(range(20, 60)), "income": [1000 + 37 * i for i in range(40)]})
LARGE = [2**53, 2**63, 2**64 + 1, 2**127 + 12345, 2**256 - 1]


def drawn(seed: int, *labels: str, step: int = 0) -> list[float]:
    return list(Streams(seed, step).generator(*labels).random(4))


def test_drawn_seeds_have_128_bits() -> None:
    """Of 64 draws, every bit is set in some and not in others, save for one chance in 10^17."""
    seeds = [draw_seed() for _ in range(64)]
    assert max(seeds) < 2**128
    assert [any(seed >> bit & 1 for seed in seeds) for bit in range(128)] == [True] * 128
    assert [all(seed >> bit & 1 for seed in seeds) for bit in range(128)] == [False] * 128


@pytest.mark.parametrize("bit", [0, 31, 32, 63, 64, 127, 128, 255])
def test_every_bit_of_a_seed_counts(bit: int) -> None:
    assert drawn(5, "income") != drawn(5 ^ (1 << bit), "income")


def test_streams_are_keyed_by_seed_step_and_labels() -> None:
    found = [
        drawn(5, "income"),
        drawn(6, "income"),
        drawn(5, "age"),
        drawn(5, "income", step=1),
        drawn(5, "income", "age"),
        drawn(5, "age", "income"),
        drawn(5, "incomeage"),
        drawn(5, "income\x1fage"),
        drawn(5),
        drawn(5, ""),
    ]
    assert all(one != other for one, other in combinations(found, 2))
    assert drawn(5, "income") == found[0]


def test_a_counter_based_generator_draws() -> None:
    generator = Streams(5).generator("income")
    assert generator.bit_generator.state["bit_generator"] == "Philox"
    assert generator.bit_generator.state["state"]["counter"].tolist() == [0, 0, 0, 0]


def test_streams_of_different_labels_are_not_correlated() -> None:
    """Correlations of independent columns of 10,000 are below 0.05 save for one chance in a million each."""
    columns = [Streams(5).generator(f"column {i}").standard_normal(10_000) for i in range(6)]
    apart = np.corrcoef(columns) - np.eye(6)
    assert np.abs(apart).max() < 0.05


def test_public_draws_never_coincide_with_those_of_a_release() -> None:
    assert list(PublicStreams(5).generator("income").random(4)) != drawn(5, "income")


def test_a_derived_seed_tells_nothing_of_another() -> None:
    seeds = [
        derived_seed(5, "cell", 1),
        derived_seed(5, "cell", 2),
        derived_seed(5, "plan", 1),
        derived_seed(6, "cell", 1),
    ]
    assert len(set(seeds)) == 4
    assert all(2**100 < seed < 2**128 for seed in seeds)
    assert all(bin(one ^ other).count("1") > 30 for one, other in pairwise(seeds))
    assert min(repeat_seeds(1, 5)) > 2**100


@pytest.mark.parametrize(
    ("given", "seed"),
    [
        (0, 0),
        (np.int64(7), 7),
        ("7", 7),
        ("007", 7),
        ("0x1F", 31),
        ("0X1f", 31),
        (2**256 - 1, 2**256 - 1),
        (str(2**256 - 1), 2**256 - 1),
        (hex(2**256 - 1), 2**256 - 1),
    ],
)
def test_a_seed_is_a_whole_number_or_its_digits(given: Any, seed: int) -> None:
    assert check_seed(given) == seed


@pytest.mark.parametrize(
    "given",
    [
        *(-1, True, 1.0, 7.5, None, [7], b"7", 2**256, -(2**300), 10**5000, -(10**5000)),
        *("", " 7", "-7", "+7", "7.0", "1e3", "1_000", "ff", "0x", "0xg", "0x-1", "0x_1", "\u0667", "\u00b2"),
        *("9" * 5000, "0x" + "f" * 5000, str(2**256), hex(2**256)),
    ],
    ids=lambda given: repr(given)[:20] if not isinstance(given, int) or abs(given) < 2**300 else "a long number",
)
def test_anything_else_is_refused_in_one_sentence_that_says_the_bound(given: Any) -> None:
    with pytest.raises(ParameterError) as refused:
        check_seed(given)
    told = str(refused.value)
    assert told.startswith("seed must be a whole number from 0 to 2^256 - 1, such as 20071 or '0x4e67'")
    assert "\n" not in told
    assert len(told) < 140


@pytest.mark.parametrize("seed", [0, 7, 2**53 - 1, *LARGE])
def test_a_seed_survives_toml_json_and_readers_that_know_floats_only(seed: int) -> None:
    plan = Plan((Step("noise"),), seed)
    assert Plan.from_plain(tomllib.loads(plan.to_toml())).seed == seed
    as_json = json.dumps(plan.to_plain())
    assert Plan.from_plain(json.loads(as_json)).seed == seed
    as_floats = json.loads(as_json, parse_int=lambda digits: int(float(digits)))
    assert Plan.from_plain(as_floats).seed == seed
    assert plain_seed(seed) == (seed if seed < 2**53 else hex(seed))


@pytest.mark.parametrize("seed", LARGE)
def test_a_release_with_a_large_seed_is_made_again_from_its_manifest(seed: int, tmp_path: Path) -> None:
    release = Noise().mask(PEOPLE, ["income"], seed=seed)
    _, beside, *_ = release.save(tmp_path / "safe.csv")
    plan, manifest = read_plan(beside)
    assert plan.seed == seed
    again = protect(PEOPLE, plan)
    assert again.data.digest() == release.data.digest()
    assert manifest is not None
    assert release_from(release.data, plan, manifest).provenance.seed == seed


def test_a_plan_with_a_seed_says_that_it_is_private() -> None:
    assert (
        Plan((Step("noise"),), 7).to_toml().startswith("# Keep this file: it makes the release again. Do not publish")
    )
    assert "#" not in Plan((Step("noise"),)).to_toml()


def test_a_release_read_back_without_a_seed_gets_none_and_no_further_step() -> None:
    release = release_from(PEOPLE, Plan((Step("noise", {}, ("income",)),)), {})
    assert release.provenance.seed is None
    with pytest.raises(ParameterError, match="the seed of this release is not known, so no step can be added to it"):
        Noise().mask(release, ["age"])


def test_an_error_about_the_seed_of_a_release_does_not_tell_it() -> None:
    release = Noise().mask(PEOPLE, ["income"], seed=987_654_321)
    with pytest.raises(ParameterError, match="a release has one seed for all its steps") as refused:
        Noise().mask(release, ["age"], seed=5)
    assert "987654321" not in str(refused.value)


def test_whatever_makes_a_release_without_a_seed_draws_one() -> None:
    plan = Plan((Step("noise", {}, ("income",)),))
    made = [
        *(Noise().mask(PEOPLE, ["income"]) for _ in range(2)),
        *(protect(PEOPLE, plan) for _ in range(2)),
        *(protect_until(PEOPLE, [Noise(alpha=0.5)], DistanceLinkage(), 100.0).release for _ in range(2)),
    ]
    seeds = [release.provenance.seed or 0 for release in made]
    assert len(set(seeds)) == 6
    assert min(seeds) > 2**100 > GUESSABLE


# settings with which a method draws, although it does not by default
DRAWING: list[tuple[str, dict[str, Any]]] = [
    ("mdav", {"publish": "perturb"}),
    ("mdav", {"publish": "hybrid"}),
    ("rounding", {"base": 100.0, "mode": "random"}),
    ("rounding", {"base": 100.0, "mode": "controlled"}),
]


@pytest.mark.parametrize(("name", "parameters"), DRAWING)
def test_a_method_says_when_its_setting_draws(name: str, parameters: dict[str, Any]) -> None:
    method = make("method", name, parameters)
    assert not type(method).random
    assert method.draws
    digests = {method.mask(PEOPLE, ["income", "age"], seed=seed).data.digest() for seed in range(4)}
    assert len(digests) > 1


@pytest.mark.parametrize("streams", [Streams(5), PublicStreams(5)])
@pytest.mark.parametrize(("first", "last"), [(0, 100), (1, 2), (3, 9), (4, 8), (97, 100)])
def test_the_numbers_of_a_record_depend_on_its_place_alone(streams: Streams, first: int, last: int) -> None:
    whole = streams.generator("income").random(100)
    assert streams.uniforms(range(first, last), "income").tolist() == whole[first:last].tolist()
    assert (
        normals(streams, range(first, last), "income").tolist()
        == normals(streams, range(100), "income")[first:last].tolist()
    )


def test_normal_numbers_of_places_are_normal() -> None:
    from scipy import stats

    drawn = normals(Streams(11), range(200_000), "income")
    assert stats.kstest(drawn, "norm").pvalue > 0.001
    assert np.isfinite(drawn).all()
