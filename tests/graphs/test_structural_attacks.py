"""Attacks by degrees, by another graph and by friends, and releases that are disclosed and must be shown to be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from microveil.battery import explain_risk, run_battery
from microveil.comparison.pairs import Pair
from microveil.errors import DataError, GuaranteeError
from microveil.graphs.attacks import DegreeLinkage, FriendsInference, NeighbourhoodMatching, SeedExpansion
from microveil.microdata import Microdata
from microveil.microdata.edges import Edges
from microveil.protection import check_required
from microveil.registry import find, method, names
from microveil.scoring import assess

from .example import released_users, rewired, shuffled, social, structural, users

OF_GRAPHS = tuple(name for name in names("attack") if find("attack", name).of_graph)
STAR = Microdata.of({"id": [1, 2, 3, 4, 5]}, graph={"source": [1, 1, 1, 4], "target": [2, 3, 4, 5]})


@pytest.mark.spec("05:SN-02", "06:SG-24")
def test_known_degrees_of_a_small_graph_by_hand() -> None:
    """Degrees 3, 1, 1, 2, 1: the hub and node 4 are alone with theirs."""
    risk = DegreeLinkage().assess(STAR, STAR)
    assert risk.per_record.tolist() == pytest.approx([1, 1 / 3, 1 / 3, 1, 1 / 3])
    assert risk.counters["1 candidate"] == pytest.approx(40)
    assert risk.counters["2-4 candidates"] == pytest.approx(60)
    assert risk.counters["no candidate"] == 0
    around = DegreeLinkage(knows="neighbour-degrees").assess(STAR, STAR)
    assert around.per_record.tolist() == pytest.approx([1, 0.5, 0.5, 1, 1])


@pytest.mark.spec("05:SN-02", "06:SG-24")
def test_links_among_friends_tell_nodes_of_the_same_degree_apart() -> None:
    """A triangle and a path: the end of the path and its middle, and three nodes whose friends know each other."""
    data = Microdata.of({"id": list(range(6))}, graph={"source": [0, 0, 1, 3, 4], "target": [1, 2, 2, 4, 5]})
    assert DegreeLinkage().assess(data, data).per_record[4] == pytest.approx(1 / 4)
    assert DegreeLinkage(knows="neighbourhood").assess(data, data).per_record[4] == 1


def test_the_shares_of_nodes_by_candidates_add_up() -> None:
    data = social(1)
    for knows in ("degree", "neighbour-degrees", "neighbourhood"):
        risk = DegreeLinkage(knows=knows).assess(data, rewired(data, 0.3))  # type: ignore[arg-type]
        assert sum(share for name, share in risk.counters.items() if "candidate" in name) == pytest.approx(100)
        assert risk.value <= risk.counters["own"]
        assert risk.known == ()


def test_the_degree_beside_the_keys_finds_more_than_either() -> None:
    data = social(2)
    release = method("mdav-generic", k=5).mask(data, ["job", "age"], seed=2**90)
    known = ["job", "age"]
    risk = DegreeLinkage(knows="degree-and-keys").assess(data, release, known)
    assert risk.value > DegreeLinkage().assess(data, release, known).value
    assert risk.value > find("attack", "distance-linkage")().assess(data, release, known).value
    assert risk.known == ("job", "age")
    bare = data.select(["id"])
    with pytest.raises(DataError, match="needs an attribute that the intruder knows"):
        DegreeLinkage(knows="degree-and-keys").assess(bare, bare)


@pytest.mark.parametrize(("overlap", "least"), [(1.0, 90), (0.8, 70)])
def test_another_graph_of_the_same_persons_gives_most_of_them_away(overlap: float, least: float) -> None:
    data = social(3, 400, links=12.0).select(["id"])
    risk = SeedExpansion(overlap=overlap).assess(data, data)
    assert risk.value > least
    assert risk.counters["precision"] > 95
    assert risk.attacked == 380
    assert int(np.isnan(risk.per_record).sum()) == 20
    assert risk.counters["matched"] >= risk.value


def test_an_unrelated_graph_gives_nobody_away() -> None:
    data = social(3, 400, links=12.0).select(["id"])
    other = replace(data, edges=social(9, 400, links=12.0).edges)
    assert SeedExpansion().assess(data, other).value < 5


def test_draws_of_seeds_and_links_depend_on_the_seed_and_not_on_the_order() -> None:
    data = social(3).select(["id"])
    release = rewired(data, 0.1)
    order = np.random.default_rng(1).permutation(len(data))
    one, other = (
        SeedExpansion().assess(*tables) for tables in ((data, release), (data.take(order), release.take(order)))
    )
    assert np.array_equal(other.per_record, one.per_record[order], equal_nan=True)
    again = SeedExpansion(seed=1).assess(data, release)
    assert not np.array_equal(np.isnan(again.per_record), np.isnan(one.per_record))


def test_friends_tell_what_one_is_like_and_a_baseline_stands_beside_it() -> None:
    rng = np.random.default_rng(1)
    circle = np.repeat([0, 1], 50)
    first, second = np.triu_indices(100, 1)
    drawn = rng.random(len(first)) < np.where(circle[first] == circle[second], 0.2, 0.01)
    cells = {"party": ["ab"[one] for one in circle], "income": 1000.0 + 500 * circle + rng.normal(0, 30, 100)}
    links = Edges.of(first[drawn], second[drawn], 100)
    data = Microdata.of(cells, confidential=["party", "income"], graph=links)
    risk = FriendsInference().assess(data, data)
    assert risk.per_attribute["party"] > 95
    assert risk.counters["baseline"] < 60
    assert risk.counters["gain"] > 50
    strangers = replace(data, edges=rewired(data, 1.0).edges)
    assert FriendsInference().assess(data, strangers).per_attribute["party"] < 75
    assert FriendsInference.suited(Pair.of(data, data)) == (FriendsInference(),)


def test_friends_without_a_released_value_say_nothing() -> None:
    links = {"source": [0, 0, 0], "target": [1, 2, 3]}
    data = Microdata.of({"id": [0, 1, 2, 3], "ill": ["y", "y", "n", "n"]}, confidential=["ill"], graph=links)
    release = data.with_columns({"ill": pa.array([None, "y", None, None])})
    assert FriendsInference().assess(data, release).per_record.tolist() == [1, 1, 0, 0]
    nothing = data.with_columns({"ill": pa.array([None] * 4, pa.string())})
    assert FriendsInference().assess(data, nothing).value == 0


# --- releases that are disclosed -------------------------------------------------------------------------------------


def worst(data: Microdata, release: object) -> float:
    """The largest risk by an attack of graphs."""
    risks = run_battery(data, release, attacks=OF_GRAPHS, contributions=False).risks
    return max(risk.value for risk in risks.values() if risk.name != "friends-inference")


def test_profiles_were_changed_and_the_links_left_alone() -> None:
    data = social(11)
    release = method("mdav-generic", k=25).mask(data, seed=2**90)
    assert worst(data, release) > 80
    assert max(r.value for r in assess(data, release, attacks=["distance-linkage"]).risks.values()) < 20


def test_nodes_were_put_in_another_order_and_got_new_numbers() -> None:
    data = social(12)
    assert worst(data, method("mdav-generic", k=25).mask(data, seed=2**90).shuffled()) > 80
    assert worst(data, shuffled(data)) > 80
    bare = data.select(["id"])
    found = assess(bare, shuffled(bare), attacks="all")
    assert max(risk.value for risk in found.risks.values()) > 80
    assert "they were matched by their links" in found.warnings[0]


def test_profiles_were_encoded_anew_and_the_links_left_alone() -> None:
    data = social(13)
    coded = {
        name: pa.array([f"{len(cell)}{cell[0]}" for cell in data.arrow(name).to_pylist()]) for name in ("job", "town")
    }
    release = data.with_columns({**coded, "age": pa.array(-3.0 * data.numbers("age").values)})
    assert worst(data, replace(release, schema=Microdata.of(release.frame).schema)) > 80


def test_values_that_were_exchanged_among_nodes_do_not_make_others_of_them() -> None:
    """Without links this would be taken for a table in another order."""
    data = social(14)
    order = np.random.default_rng(1).permutation(len(data))
    moved = {name: data.reordered_column(name, order) for name in ("age", "job", "town")}
    found = assess(data, data.with_columns(moved))
    assert found.warnings == ()
    assert assess(replace(data, edges=None), replace(data.with_columns(moved), edges=None)).warnings != ()


def test_links_that_were_given_to_others_do_not_move_their_nodes() -> None:
    """The values say who is who, although the new graph has the shape of the old one."""
    data = social(15)
    assert data.edges is not None
    order = np.random.default_rng(2).permutation(len(data))
    found = assess(data, replace(data, edges=data.edges.take(order)))
    assert found.warnings == ()
    assert found.losses["structure"].value > 30


# --- in assessments --------------------------------------------------------------------------------------------------


def test_graphs_are_attacked_by_them_and_other_tables_by_none() -> None:
    data = social(1, 60)
    release = method("mdav-generic", k=3).mask(data, ["job", "age"], seed=2**90)
    assert {"neighbourhood-matching", "degree-linkage"} <= set(assess(data, release).risks)
    everything = run_battery(data, release)
    labels = {"neighbourhood-matching (match=equal)", "neighbourhood-matching (match=some)", "seed-expansion"}
    labels |= {f"degree-linkage (knows={knows})" for knows in ("neighbour-degrees", "neighbourhood", "degree-and-keys")}
    assert labels <= set(everything.risks)
    assert not everything.failed
    plain = replace(data, edges=None), replace(release, data=replace(release.data, edges=None))
    battery = run_battery(*plain)
    assert not set(OF_GRAPHS) & {label.split()[0] for label in (*battery.risks, *battery.passed_over)}
    assert not set(OF_GRAPHS) & set(assess(*plain).risks)
    named = run_battery(*plain, attacks=["distance-linkage", *OF_GRAPHS])
    assert {named.passed_over[name] for name in OF_GRAPHS} == {"the records have no links"}


def test_a_structural_release_is_assessed_on_what_its_nodes_have() -> None:
    data = social(2, 60)
    found = assess(data, structural(data, rewired(data, 0.3)), attacks="all")
    assert found.knowledge.source == "keys"
    assert found.losses["structure"].value > 0
    assert found.losses["cdil"].value == 0
    roleless = Microdata.of(data.frame, node="id", graph=data.edges)
    found = assess(roleless, structural(roleless, rewired(roleless, 0.3)))
    assert found.knowledge.source == "all"
    assert set(found.knowledge.attributes) == {"age", "job", "town"}


@pytest.mark.parametrize("with_provenance", [True, False])
def test_nodes_without_attributes_are_assessed_by_their_links(with_provenance: bool) -> None:
    data = social(3, 60).select(["id"])
    made = rewired(data, 0.3)
    release = structural(data, made) if with_provenance else made
    found = assess(data, release, attacks="all", losses="all")
    assert found.battery is not None
    assert not found.battery.failed
    assert {risk.name for risk in found.risks.values()} == {"degree-linkage", "seed-expansion"}
    assert set(found.losses) == {"structure"}
    assert found.score.loss == found.losses["structure"].value
    assert "assumed to know nothing but links (the nodes of the graph have no attributes)" in str(found.knowledge)
    assert found.headline.after.largest == pytest.approx(
        max(np.nanmax(risk.per_record) for risk in found.risks.values())
    )
    for label, risk in found.risks.items():
        assert "Example: record" in explain_risk(label, risk, data, release)
    with pytest.raises(GuaranteeError, match="records have one of up to 1"):
        check_required(data, structural(data, data), {"risk": 0.5})


def test_the_headline_has_the_risk_by_links_before_masking_too() -> None:
    """Else a release would seem to be riskier than its original."""
    data = social(4, 80).select(["id"])
    found = assess(data, rewired(data, 0.5), attacks="all").headline
    assert found.before.expected > found.after.expected
    assert found.before.largest == 1
    assert found.before.above >= found.after.above


def test_the_example_is_assessed_as_a_whole() -> None:
    found = assess(users(), released_users(), attacks="all", losses="all")
    assert found.losses["semantic-il"].value == pytest.approx(71.2302, abs=1e-4)
    assert found.risks["degree-linkage"].value == pytest.approx(200 / 3)
    assert NeighbourhoodMatching().assess(users(), released_users(), ["location"]).counters["matched"] == 100
