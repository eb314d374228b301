"""Neighbourhood matching: the worked example, and what more knowledge and other ways to match can and cannot do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.graphs.attacks import NeighbourhoodMatching
from microveil.masking import Mondrian, Recode
from microveil.masking.publishing import Span
from microveil.microdata import Microdata
from microveil.registry import method

from .example import TOPICS, released_users, rewired, social, users

SCENARIOS = [("t1",), ("t2",), ("t3",), ("location",), TOPICS, ("location", *TOPICS)]


@pytest.mark.spec("06:SG-18", "06:SG-19")
@pytest.mark.parametrize("known", SCENARIOS)
def test_of_the_example_only_the_first_topic_finds_a_neighbourhood(known: tuple[str, ...]) -> None:
    risk = NeighbourhoodMatching(match="equal").assess(users(), released_users(), known)
    third = known == ("t1",)
    assert risk.counters["matched"] == pytest.approx(100 / 3 if third else 0)
    assert risk.value == pytest.approx(100 / 6 if third else 0)
    assert risk.per_record.tolist() == [0, 0, 0.5 if third else 0]


@pytest.mark.spec("06:SG-18", "06:SG-19")
@pytest.mark.parametrize("known", SCENARIOS)
def test_without_the_root_two_neighbourhoods_of_the_example_are_found(known: tuple[str, ...]) -> None:
    risk = NeighbourhoodMatching(match="equal", include_root=False).assess(users(), released_users(), known)
    assert risk.counters["matched"] == pytest.approx(200 / 3 if known in [("t1",), ("location",)] else 0)


@pytest.mark.spec("06:SG-18", "06:SG-19")
@pytest.mark.parametrize("place", ["United States", "anywhere in United States"])
@pytest.mark.parametrize(
    ("known", "matched"), [(("location",), 1), (("t1",), 1 / 3), (TOPICS, 0), (("location", *TOPICS), 0)]
)
def test_an_intruder_who_accepts_places_that_hold_the_true_ones_finds_all_of_the_example(
    known: tuple[str, ...], matched: float, place: str
) -> None:
    risk = NeighbourhoodMatching().assess(users(), released_users(place), known)
    assert risk.counters["matched"] == pytest.approx(100 * matched)


def release_of(data: Microdata, seed: int) -> Microdata:
    """Places recoded or exchanged, jobs exchanged, and some links moved."""
    rng = np.random.default_rng(seed)
    if rng.random() < 0.5:
        data = Recode(by="hierarchy", level=int(rng.integers(1, 7)), publish="label").mask(data, ["town"]).data
    data = method("pram", p=0.8).mask(data, ["job"], seed=seed + 2**90).data
    return rewired(data, float(rng.choice([0.0, 0.02, 0.1])), seed)


@pytest.mark.spec("06:SG-18", "06:SG-19")
@settings(max_examples=10)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_what_must_hold_of_every_release(seed: int, induced: bool, root: bool) -> None:
    data = social(seed, 40, links=3.0)
    release = release_of(data, seed)
    settings_ = {"induced": induced, "include_root": root}
    found = {
        (match, known): NeighbourhoodMatching(match=match, **settings_).assess(data, release, known)  # type: ignore[arg-type]
        for match in ("equal", "consistent")
        for known in (("job",), ("town",), ("job", "town"))
    }
    for (match, known), risk in found.items():
        assert risk.value <= risk.counters["own"] + 1e-9 <= risk.counters["matched"] + 2e-9
        if match == "consistent":
            assert risk.counters["matched"] >= found["equal", known].counters["matched"]
            assert risk.counters["own"] >= found["equal", known].counters["own"]
        for less in known:  # knowing more never matches more
            assert found[match, known].counters["matched"] <= found[match, (less,)].counters["matched"]
        for change, wider in (("induced", False), ("include_root", False)):
            other = NeighbourhoodMatching(match=match, **{**settings_, change: wider})  # type: ignore[arg-type]
            assert other.assess(data, release, known).counters["matched"] >= risk.counters["matched"]


def test_an_intruder_who_knows_more_friends_has_fewer_candidates() -> None:
    data = social(4)
    few, more = (
        NeighbourhoodMatching(match="some", neighbours=neighbours).assess(data, data, ["job"]) for neighbours in (1, 6)
    )
    assert few.counters["own"] == more.counters["own"] == 100
    assert few.value < more.value
    nobody = NeighbourhoodMatching(match="some", neighbours=0, include_root=False).assess(data, data, ["job"])
    assert nobody.per_record.tolist() == pytest.approx([1 / 150] * 150)


@pytest.mark.parametrize("match", ["consistent", "equal", "some"])
def test_the_order_of_the_nodes_plays_no_part(match: str) -> None:
    data = social(5)
    release = release_of(data, 5)
    order = np.random.default_rng(1).permutation(len(data))
    attack = NeighbourhoodMatching(match=match)  # type: ignore[arg-type]
    one, other = attack.assess(data, release), attack.assess(data.take(order), release.take(order))
    assert other.per_record.tolist() == pytest.approx(one.per_record[order].tolist())


def test_generalised_places_and_intervals_are_read() -> None:
    """As equal values nobody would be found, and the release would seem safe."""
    data = social(6)
    coarse = Recode(by="hierarchy", level=4, publish="label").mask(data, ["town"])
    known = ["job", "town"]
    assert NeighbourhoodMatching(match="equal").assess(data, coarse, known).value == 0
    assert NeighbourhoodMatching().assess(data, coarse, known).value > 50
    spans = Mondrian(k=3, publishing=Span(publish="interval")).mask(data, ["age"])
    assert NeighbourhoodMatching(match="equal").assess(data, spans, ["age"]).value == 0
    assert NeighbourhoodMatching().assess(data, spans, ["age"]).value > 50


def test_numbers_with_noise_are_compared_by_classes() -> None:
    data = social(7)
    noisy = method("noise", alpha=0.05).mask(data, ["age"], seed=2**90)
    assert NeighbourhoodMatching(match="equal").assess(data, noisy, ["age"]).value == 0
    assert NeighbourhoodMatching().assess(data, noisy, ["age"]).value > 20


def test_a_new_category_that_is_no_label_tells_nobody_apart() -> None:
    data = social(8)
    renamed = data.with_columns({"job": Microdata.of({"job": ["baker"] * 150}).arrow("job")})
    assert NeighbourhoodMatching().assess(data, renamed, ["job"]).value == 0
