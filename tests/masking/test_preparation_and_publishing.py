"""Preparation, grouping and publishing are parts that go together, whichever of each is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import microveil as mv
from microveil.errors import ParameterError
from microveil.masking.microaggregation.camp_crest import CampCrest
from microveil.masking.microaggregation.crest import Crest
from microveil.masking.microaggregation.fixed import Fixed
from microveil.masking.microaggregation.fuzzy import Fuzzy
from microveil.masking.microaggregation.k_ward import KWD
from microveil.masking.microaggregation.secure_k_ward import SecureKWard
from microveil.masking.preparation import OneAttributeAtATime
from microveil.parameters import Settings, describe_parameters, own_names, settings_of
from microveil.registry import describe, find, make, names

WITH_PUBLISHING = [name for name in names("method") if "publishing" in settings_of(find("method", name))]
GROUPINGS = [name for name in WITH_PUBLISHING if len(settings_of(find("method", name))["publishing"].offered()) > 1]
PUBLISHINGS = {
    "aggregate": {"publish": "median"},
    "span": {"publish": "interval"},
    "micro-perturbation": {"noise": "exact"},
    "secure-mean": {"epsilon": 0.05},
    "barycentre": {"rounds": 5},
}


@pytest.fixture(scope="module")
def people() -> mv.Microdata:
    rng = np.random.default_rng(3)
    age, ill = rng.integers(18, 90, size=60), rng.choice(["no", "yes"], size=60)
    return mv.Microdata.of(
        {"age": age, "income": rng.lognormal(10, 0.5, size=60) + 100.0 * age, "ill": ill},
        keys=["age", "income"],
        confidential=["ill"],
    )


def made_by(name: str, publishing: str) -> mv.Method:
    quick = {"k": 2} if name == "two-approx" else {"k": 3}
    extra = {"crisp": True} if name == "fuzzy" else {}
    parameters = {**find("method", name).quick, **quick, **extra, "publishing": publishing, **PUBLISHINGS[publishing]}
    made: mv.Method = make("method", name, parameters)
    return made


@pytest.mark.parametrize("publishing", PUBLISHINGS)
@pytest.mark.parametrize("name", GROUPINGS)
def test_every_grouping_goes_with_every_publishing(people: mv.Microdata, name: str, publishing: str) -> None:
    method = made_by(name, publishing)
    release = method.mask(people, ["age", "income"], seed=2**100)
    plain = release.plan.to_plain()
    assert plain["steps"][0]["parameters"]["publish"] == method.publishing.publish  # type: ignore[attr-defined]
    again = mv.protect(people, mv.Plan.from_plain(plain))
    assert again.data.digest() == release.data.digest()
    if publishing != "micro-perturbation":
        block, partition = next(iter(release.partitions.items()))
        counts = release.frame.select(list(block)).group_by(list(block)).aggregate([([], "count_all")])["count_all"]
        assert min(counts.to_pylist()) >= method.k  # type: ignore[attr-defined]
        assert len(counts) <= len(partition)


def test_what_a_grouping_publishes_does_not_change_its_groups(people: mv.Microdata) -> None:
    releases = [made_by("mdav", publishing).mask(people, ["age", "income"], seed=2**100) for publishing in PUBLISHINGS]
    assert len({release.partition.labels.tobytes() for release in releases if release.partition}) == 1
    assert len({release.data.digest() for release in releases}) == len(PUBLISHINGS)


def test_crest_with_micro_perturbation_is_camp_crest(people: mv.Microdata) -> None:
    camp = CampCrest(k=3).mask(people, ["age", "income"], seed=2**100)
    crest = Crest(k=3, publishing=mv.MicroPerturbation()).mask(people, ["age", "income"], seed=2**100)
    assert camp.partitions == crest.partitions
    assert crest.provenance.steps[0].parameters["publishing"] == "micro-perturbation"
    assert "publishing" not in camp.provenance.steps[0].parameters
    before = people.matrix(["age", "income"])
    for release in (camp, crest):
        drawn = release.data.matrix(["age", "income"])
        assert np.allclose(drawn.mean(axis=0), before.mean(axis=0), rtol=1e-9)


def test_k_ward_with_secure_means_is_secure_k_ward() -> None:
    table = mv.Microdata.of({"a": [1.0, 2.0, 2.9, 11.0, 12.0, 13.1]})
    secure = SecureKWard(k=3, epsilon=0.02).mask(table).frame
    assert KWD(k=3, publishing=mv.SecureMean(epsilon=0.02)).mask(table).frame.equals(secure)


def test_intervals_of_groups_can_be_attacked_and_measured(people: mv.Microdata) -> None:
    release = mv.MDAV(k=3, publishing="span", publish="interval").mask(people, ["age", "income"])
    assert mv.assess(people, release, known=["age", "income"]).risks["distance-linkage"].value < 40
    assert release.data["age"].kind == "ordinal"
    assert release.guarantees.k >= 1


def test_parameters_of_parts_are_given_alike_in_every_form() -> None:
    by_part = mv.MDAV(k=4, preparation=mv.Preparation(scale="none", block=2), publishing=mv.Aggregate(publish="median"))
    given = {"k": 4, "scale": "none", "block": 2, "publish": "median"}
    assert mv.MDAV(**given) == make("method", "mdav", given) == by_part  # type: ignore[arg-type]
    assert make("method", "mdav", {name: str(value) for name, value in given.items()}, text=True) == by_part
    assert make("method", "mdav", by_part.parameters()) == by_part


def test_settings_keep_the_defaults_of_their_method() -> None:
    assert Crest(block=2).preparation == mv.Preparation(scale="minmax", block=2)  # type: ignore[call-arg]
    assert Fuzzy(scale="none").preparation.chunk == 1000  # type: ignore[call-arg]
    assert Crest(publishing="aggregate", publish="median").preparation.scale == "minmax"  # type: ignore[call-arg]
    general = Fixed(preparation=mv.Preparation(scale="none"))  # type: ignore[call-arg]
    assert general.preparation == OneAttributeAtATime(scale="none")


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"scale": "loud"}, "mdav: scale = 'loud' is not allowed; it must be 'z', 'minmax' or 'none'"),
        ({"select": "emim"}, "mdav: select = 'emim' is not allowed without a width"),
        ({"publishing": "span", "weighted": True}, "mdav has no parameter 'weighted'"),
        ({"publishing": "loud"}, "mdav: publishing = 'loud' is not allowed; it must be 'aggregate', 'span', 'micro-p"),
        ({"publishing": None}, "mdav: publishing = None is not allowed"),
        ({"preparation": {"scale": "z"}}, "mdav: preparation = .* is not allowed; it must be 'preparation'"),
        ({"preparation": mv.Preparation(), "scale": "z"}, "mdav: scale is given twice, in preparation and beside it"),
        ({"publishing": mv.Preparation()}, "mdav: publishing = Preparation"),
        ({"publish": "mode", "weighted": True}, "mdav: weighted = True is not allowed with modes"),
        ({"publishing": "micro-perturbation", "noise": "hybrid", "shape": "bootstrap"}, "mdav: shape = 'bootstrap'"),
        ({"block": 10**9}, "mdav: block = 1000000000 is not allowed; it must be at most 100,000"),
        ({"width": float("inf")}, "mdav: width = inf is not allowed; it must be a finite number"),
    ],
)
def test_what_does_not_fit_is_refused_in_the_name_of_the_method(given: dict[str, Any], what: str) -> None:
    with pytest.raises(ParameterError, match=what):
        mv.MDAV(**given)
    if all(isinstance(value, str | int | float | bool) for value in given.values()):
        with pytest.raises(ParameterError, match=what):
            make("method", "mdav", given)


def test_methods_that_are_a_way_of_publishing_take_no_other() -> None:
    with pytest.raises(ParameterError, match="publishing = 'span' is not allowed; it must be 'micro-perturbation'"):
        CampCrest(publishing="span")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="publishing = 'aggregate' is not allowed; it must be 'secure-mean'"):
        SecureKWard(publishing="aggregate")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="block = 2 is not allowed; it must be 1"):
        Fixed(block=2)  # type: ignore[call-arg]


def test_secure_means_are_for_numbers_only(people: mv.Microdata) -> None:
    method = mv.MDAVGeneric(publishing="secure-mean")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="publishing = 'secure-mean' is not allowed with attribute 'ill', which"):
        method.mask(people, ["age", "ill"])


@pytest.mark.parametrize("name", names("method"))
def test_no_parameter_of_a_method_hides_one_of_its_parts(name: str) -> None:
    cls = find("method", name)
    own = set(own_names(cls))
    for usual in settings_of(cls).values():
        for offered in type(usual).offered().values():
            assert own.isdisjoint(own_names(offered)), f"{name}: {offered.name}"
    described = describe_parameters(cls)
    assert len({entry["name"] for entry in described}) == len(described)


def test_the_registry_describes_the_parts() -> None:
    entry = describe("method", "mdav")
    fields = {settings["field"]: settings for settings in entry["settings"]}
    assert list(fields) == ["preparation", "publishing"]
    assert fields["publishing"]["usual"] == "aggregate"
    assert set(fields["publishing"]["offered"]) == set(PUBLISHINGS)
    assert "settings" not in describe("method", "noise")
    assert issubclass(mv.Preparation, Settings)
