"""What k promises where cells are missing: values, empty cells and missing codes all look alike within a group."""

from __future__ import annotations

import numpy as np
import pytest

from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.guarantees import guarantees_of
from microveil.masking.microaggregation.camp_crest import CampCrest
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.partition import Partition
from microveil.masking.publishing.missing_cells import Emptied, cells_to_empty
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.schema import KINDS
from microveil.registry import find, make

POLICIES = ("own category", "wildcard", "not applicable", "mixed")
ONE_GROUPING = [
    "best",
    "mdav",
    "hanani",
    "projection",
    "k-ward",
    "md",
    "cbfs",
    "iamat",
    "v-mdav",
    "mst",
    "mu-approx",
    "two-approx",
    "mdav-genetic",
    "mdav-generic",
    "k-modes",
    "omma",
    "crest",
    "mondrian",
    "global-median",
]
ONE_BY_ONE = ["fixed", "individual-ranking", "optimal-univariate", "univariate-genetic", "width", "kwd", "kwr", "kwdr"]
CODES = {"numeric": (-9, -8), "nominal": ("?", "REF"), "ordinal": ("?", "REF")}


def incomplete_table(seed: int, policy: str, kinds: tuple[str, ...] = KINDS, n: int = 40) -> Microdata:
    """A numeric, a nominal and an ordinal key, or two numeric ones, each with empty cells and two missing codes."""
    rng = np.random.default_rng(seed)
    share = rng.choice([0.02, 0.05, 0.15])
    columns, attributes = {}, []
    for name, kind in zip("abc", ("numeric", "nominal", "ordinal"), strict=True):
        kind = kind if kind in kinds else kinds[0]
        values = rng.integers(0, 20, n).tolist() if kind == "numeric" else rng.choice(list("xyz"), n).tolist()
        state = rng.choice(4, n, p=[1 - 3 * share, share, share, share])
        columns[name] = [(value, None, *CODES[kind])[s] for value, s in zip(values, state, strict=True)]
        meaning = str(rng.choice(POLICIES[:3])) if policy == "mixed" else policy
        domain = None if kind == "numeric" else ("x", "y", "z")
        attributes.append(
            Attribute(name=name, kind=kind, roles=("key",), domain=domain, missing=meaning, missing_codes=CODES[kind])
        )
    return Microdata.of(columns, Schema(attributes))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ONE_GROUPING)
def test_whatever_is_missing_k_records_share_every_combination(name: str, policy: str) -> None:
    cls = find("method", name)
    method = make("method", name, cls.quick)
    for seed in range(5):
        release = method.mask(incomplete_table(seed, policy, cls.kinds), seed=1)
        assert release.guarantees.k >= method.parameters()["k"]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_methods_that_group_one_attribute_at_a_time_promise_k_for_each(name: str, policy: str) -> None:
    method = make("method", name, find("method", name).quick)
    for seed in range(3):
        released = method.mask(incomplete_table(seed, policy, ("numeric",)), seed=1).data
        assert min(guarantees_of(released, [key]).k for key in released.names) >= method.parameters()["k"]


@pytest.mark.parametrize("publish", ["median", "mean", "middle", "mode", "interval", "set"])
def test_k_holds_whatever_a_region_publishes(publish: str) -> None:
    for seed in range(30):
        release = Mondrian(k=3, publish=publish).mask(incomplete_table(seed, POLICIES[seed % 4]))
        assert release.guarantees.k >= 3


@pytest.mark.parametrize("policy", ["own category", "not applicable"])
def test_draws_of_a_group_have_the_same_missing_states(policy: str) -> None:
    for seed in range(10):
        release = CampCrest(k=3).mask(incomplete_table(seed, policy), seed=2)
        assert release.partition is not None
        for name in "abc":
            states = release.data.missing_states(name)
            assert all(len(set(states[rows].tolist())) == 1 for rows in release.partition.groups)


def test_a_code_that_one_record_has_is_emptied_with_its_group() -> None:
    ages = [float(age) for age in range(12)]
    ages[5] = -9.0
    age = Attribute(name="a", kind="numeric", roles=("key",), missing="not applicable", missing_codes=(-9,))
    release = MDAV(k=3).mask(Microdata.of({"a": ages}, Schema([age])))
    released = release.data.arrow("a").to_pylist()
    assert released[5] is None
    assert released.count(None) >= 3
    assert -9.0 not in released
    assert release.guarantees.k >= 3
    assert release.provenance.notes == (
        f"{released.count(None)} cells suppressed because of missing values, 1 missing code among them",
    )


def test_codes_that_k_records_share_and_codes_of_wildcards_stay() -> None:
    def released(policy: str, cells: list[float]) -> list[float | None]:
        attribute = Attribute(name="a", kind="numeric", roles=("key",), missing=policy, missing_codes=(-9,))
        made: list[float | None] = (
            MDAV(k=2).mask(Microdata.of({"a": cells}, Schema([attribute]))).data.arrow("a").to_pylist()
        )
        return made

    assert released("own category", [1.0, 3.0, -9.0, -9.0]) == [2.0, 2.0, -9.0, -9.0]
    assert released("wildcard", [1.0, 3.0, 2.0, -9.0]).count(-9.0) == 1


def with_values(present: int) -> list[float | None]:
    """A group of three with so many values, beside one that has all of them."""
    return [1.0, 2.0, 3.0][:present] + [None] * (3 - present) + [90.0, 91.0, 92.0]


@pytest.mark.parametrize("name", ["mdav", "mondrian", "projection"])
def test_a_group_publishes_only_what_at_least_k_of_its_members_have(name: str) -> None:
    """The missing cell is a wildcard, so k would hold with k-1 values too; but their mean is that of k-1 persons."""
    schema = Schema([Attribute(name=a, kind="numeric", roles=("key",), missing="wildcard") for a in ("a", "b")])
    method = make("method", name, {"k": 3} | ({"publish": "mean"} if name == "mondrian" else {}))
    place = [0.0, 1.0, 2.0, 70.0, 71.0, 72.0]
    full, short = (
        method.mask(Microdata.of({"a": with_values(present), "b": place}, schema), seed=1) for present in (3, 2)
    )
    assert full.data.arrow("a").to_pylist() == [2.0] * 3 + [91.0] * 3
    assert short.data.arrow("a").to_pylist() == [None] * 3 + [91.0] * 3
    assert short.data.arrow("b").to_pylist() == [1.0] * 3 + [71.0] * 3
    assert short.provenance.notes[0] == "2 cells suppressed because of missing values"


def test_moved_means_are_published_only_where_at_least_k_members_have_a_value() -> None:
    schema = Schema([Attribute(name="a", kind="numeric", roles=("key",), missing="wildcard")])
    method = make("method", "secure-k-ward", {"k": 3})
    full, short = (method.mask(Microdata.of({"a": with_values(present)}, schema), seed=1) for present in (3, 2))
    for release, published in ((full, [True] * 6), (short, [False] * 3 + [True] * 3)):
        assert [len(rows) for rows in release.partitions["a",].groups] == [3, 3]
        assert [cell is not None for cell in release.data.arrow("a").to_pylist()] == published


def test_two_codes_in_one_group_become_alike() -> None:
    states, groups = np.array([2, 3, 2, 2, 0, 0, 1, 1], dtype=np.uint8), Partition.of([0, 0, 1, 1, 2, 2, 3, 3])
    emptied = cells_to_empty(states, groups, 2, missing_matches=False)
    assert emptied.tolist() == [True, True] + [False] * 6
    assert Emptied.of(emptied, states) == Emptied(2, 2)
