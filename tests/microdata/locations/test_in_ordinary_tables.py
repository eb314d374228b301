"""An attribute of the kind location in an ordinary table: methods coarsen along its tree, and linkage reads that."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.linkage.probabilistic import ProbabilisticLinkage
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.coarsening.recode import Recode
from microveil.masking.microaggregation.mdav_generic import MDAVGeneric
from microveil.masking.publishing.span import Span
from microveil.masking.release import Release
from microveil.microdata import Attribute, Microdata, Schema
from microveil.microdata.locations import GazetteerProvider, ResolvedLocations, location_tree

PLACES = ("NYC", "Brooklyn, NY", "Graz", "Wien", "Linz", "Munich", "Austria", "USA")


@cache
def resolved(places: tuple[str, ...]) -> ResolvedLocations:
    return location_tree(places, GazetteerProvider())


def people(places: tuple[str, ...] = PLACES) -> Microdata:
    """Sixty persons with a place and an age."""
    rng = np.random.default_rng(1)
    where = [places[drawn] for drawn in rng.integers(0, len(places), 60)]
    hierarchy = resolved(places).hierarchy()
    schema = Schema(
        [
            Attribute(name="where", kind="location", roles=("key",), hierarchy=hierarchy),
            Attribute(name="age", kind="numeric", roles=("key",)),
        ]
    )
    return Microdata.of({"where": where, "age": rng.integers(20, 30, 60).astype(float)}, schema)


def cells(release: Release) -> list[str]:
    return [str(cell) for cell in release.data.arrow("where").to_pylist()]


def test_recoding_to_level_5_publishes_countries() -> None:
    release = Recode(by="hierarchy", level=5, publish="label").mask(people(), attributes=["where"])
    assert set(cells(release)) == {"anywhere in Austria", "Germany", "United States"}


def test_recoding_by_itself_goes_up_the_tree_until_k_share_a_location() -> None:
    release = Recode(by="automatic", k=12, publish="label").mask(people(), attributes=["where"])
    nodes = {node for path in resolved(PLACES).hierarchy().paths for node in path}
    assert set(cells(release)) <= nodes
    assert min(cells(release).count(cell) for cell in set(cells(release))) >= 12


def test_mondrian_publishes_locations_that_hold_those_of_its_records() -> None:
    data = people()
    release = Mondrian(k=5, publishing=Span(publish="interval")).mask(data)
    path_of = {path[0]: path for path in resolved(PLACES).hierarchy().paths}
    known = [str(cell) for cell in data.arrow("where").to_pylist()]
    assert all(after in path_of[before] for before, after in zip(known, cells(release), strict=True))
    combinations = Counter(zip(cells(release), release.data.arrow("age").to_pylist(), strict=True))
    assert min(combinations.values()) >= 5


def test_mdav_generic_publishes_a_location_of_each_group() -> None:
    release = MDAVGeneric(k=5).mask(people())
    assert set(cells(release)) <= set(PLACES)


@pytest.mark.parametrize("attack", [DistanceLinkage(), ProbabilisticLinkage()])
def test_linkage_reads_a_country_alike_whether_or_not_a_record_names_it(
    attack: DistanceLinkage | ProbabilisticLinkage,
) -> None:
    risks = []
    for word in ("Austria", "Österreich"):
        data = people(("NYC", "Brooklyn, NY", "Graz", "Wien", "Linz", "Munich", word, "USA"))
        release = Recode(by="hierarchy", level=5, publish="label").mask(data, attributes=["where"])
        risks.append(attack.assess(data, release).value)
    assert risks[0] == pytest.approx(risks[1])
