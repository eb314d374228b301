"""Several releases of one file, put together."""

from __future__ import annotations

import json

import numpy as np
import pytest

from microveil.attacks.attribute_disclosure import AttributeDisclosure
from microveil.attacks.intervals import IntervalDisclosure
from microveil.attacks.versions import attack_versions, combine_versions
from microveil.errors import DataError, ParameterError
from microveil.masking.coarsening.mondrian import Mondrian
from microveil.masking.coarsening.sampling import Sampling
from microveil.masking.microaggregation.individual_ranking import IndividualRanking
from microveil.masking.microaggregation.mdav import MDAV
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata


def people(records: int = 150, seed: int = 6) -> Microdata:
    rng = np.random.default_rng(seed)
    return Microdata.of({"age": rng.normal(50, 15, records), "income": rng.lognormal(3, 1, records)})


@pytest.mark.spec("01:AP-5")
def test_the_mean_of_noisy_versions_comes_nearer_to_the_original() -> None:
    data = people()
    releases = [Noise(alpha=0.3).mask(data, seed=seed) for seed in range(9)]
    found = attack_versions(data, releases)
    for name, gain in found.gains.items():
        truth = data.numbers(name).values
        errors = np.array([release.data.numbers(name).values - truth for release in releases])
        alone, mean = np.sqrt((errors**2).mean(axis=1)).mean(), np.sqrt((errors.mean(axis=0) ** 2).mean())
        assert (gain.error_alone, gain.error) == pytest.approx(tuple(100 * np.array([alone, mean]) / truth.std()))
        # nine versions: the squares over their variance are chi-square with 150 degrees of freedom
        expected = 100 * np.sqrt(0.3) / 3
        assert (gain.error / expected) ** 2 == pytest.approx(1, abs=5 * np.sqrt(2 / 150))
    assert found.together.value > 1.5 * max(risk.value for risk in found.alone)
    assert len(found.alone) == 9


@pytest.mark.spec("01:AP-5")
def test_the_intervals_of_individual_ranking_are_intersected() -> None:
    data = people(60)
    releases = [IndividualRanking(k=k).mask(data) for k in (3, 4, 5)]
    found = attack_versions(data, releases, attack=IntervalDisclosure())
    for name, gain in found.gains.items():
        assert gain.contained == 100.0, name
        assert gain.width < gain.width_alone
    assert [risk.name for risk in found.alone] == ["interval-disclosure"] * 3


def test_the_plain_form_has_nothing_of_single_records() -> None:
    data = people(40)
    found = attack_versions(data, [Noise(alpha=0.1).mask(data, seed=seed) for seed in range(2)])
    plain = found.to_plain()
    assert json.loads(json.dumps(plain)) == plain
    assert [risk["value"] for risk in plain["alone"]] == [risk.value for risk in found.alone]
    assert plain["together"]["value"] == found.together.value
    assert plain["gains"]["age"]["error"] == found.gains["age"].error
    assert "per_record" not in plain["together"]


def test_other_intervals_can_be_given() -> None:
    data = Microdata.of({"x": [10.0, 21.0, 34.0]})
    one, other = Microdata.of({"x": [10.0, 20.0, 30.0]}), Microdata.of({"x": [12.0, 24.0, 36.0]})
    found = attack_versions(data, [one, other], intervals=lambda column: (column - 4, column + 4)).gains["x"]
    # [8, 14], [20, 24] and [32, 34] are left
    assert found.contained == 100.0
    assert found.width == pytest.approx(100 * (6 + 4 + 2) / 3 / np.std([10, 21, 34]))
    assert found.error == pytest.approx(100 * np.sqrt((1 + 1 + 1) / 3) / np.std([10, 21, 34]))


@pytest.mark.spec("01:AP-5")
def test_versions_in_another_order_are_linked_first() -> None:
    data = people(100)
    releases = [Noise(alpha=0.001).mask(data, seed=seed).data for seed in range(4)]
    order = np.random.default_rng(1).permutation(100)
    shuffled = [releases[0], *(release.take(order) for release in releases[1:])]
    blind, linked = (combine_versions(shuffled, link=link) for link in ("order", "nearest"))  # type: ignore[arg-type]
    truth = data.numbers("age").values
    errors = [float(np.abs(table.numbers("age").values - truth).mean()) for table in (blind, linked, releases[0])]
    assert errors[1] < errors[2] < errors[0]


def test_equally_near_records_of_a_version_are_averaged() -> None:
    one, other = {"x": [1.0, 4.0]}, {"x": [0.0, 2.0]}
    # 1 is as near to 0 as to 2 (on the scale of the first); 4 is nearest to 2
    assert combine_versions([one, other], link="nearest").numbers("x").values.tolist() == [1.0, 3.0]


def test_categories_are_those_of_most_versions() -> None:
    versions = [{"j": ["a", "b", None]}, {"j": ["a", "c", "c"]}, {"j": ["b", "c", None]}]
    assert combine_versions(versions, ["j"]).frame["j"].to_list() == ["a", "c", None]  # missing is a category
    wild = [Microdata.of(version, nominal=["j"]) for version in versions]
    wild = [data.with_schema(data.schema.replacing(data["j"].changed(missing="wildcard"))) for data in wild]
    assert combine_versions(wild, ["j"]).frame["j"].to_list() == ["a", "c", "c"]
    rng = np.random.default_rng(2)
    data = Microdata.of({"job": rng.choice(list("abcd"), 300), "age": rng.normal(size=300)})
    releases = [PRAM(p=0.7).mask(data, ["job"], seed=seed) for seed in range(7)]
    found = attack_versions(data, releases, ["job"], attack=IntervalDisclosure(counted="all"))
    assert found.together.value > max(risk.value for risk in found.alone) + 10


def test_missing_values_are_taken_from_the_versions_that_have_them() -> None:
    versions = [{"x": [1.0, None, None]}, {"x": [3.0, 4.0, None]}]
    assert np.array_equal(combine_versions(versions).numbers("x").values, [2.0, 4.0, np.nan], equal_nan=True)


def test_what_cannot_be_put_together_is_refused() -> None:
    data = people(20)
    with pytest.raises(ParameterError, match="at least two releases"):
        attack_versions(data, [data])
    with pytest.raises(ParameterError, match="no release"):
        combine_versions([])
    apart = [MDAV(k=3).mask(data, ["age"]), MDAV(k=3).mask(data, ["income"])]
    with pytest.raises(ParameterError, match="no attribute in common"):
        attack_versions(data, apart)
    with pytest.raises(DataError, match="20 records and the masked table 5"):
        combine_versions([data, data.take(np.arange(5))])


def test_samples_of_different_records_are_refused() -> None:
    data = people(20)
    first, second = (Sampling(share=0.5).mask(data, seed=seed) for seed in (1, 2))
    for releases in ([first, second], [first, first, second], [first, data]):
        with pytest.raises(DataError, match="different records of the file"):
            attack_versions(data, releases)
    assert len(attack_versions(data, [first, first]).data) == 10


def test_what_an_attack_is_after_comes_along() -> None:
    rng = np.random.default_rng(2)
    columns = {"age": rng.normal(50, 15, 80), "ill": rng.choice(list("xyz"), 80)}
    data = Microdata.of(columns, keys=["age"], confidential=["ill"])
    masked = [PRAM(p=0.6).mask(Noise(alpha=0.1).mask(data, seed=seed), ["ill"], seed=seed) for seed in range(5)]
    found = attack_versions(data, masked, ["age"], attack=AttributeDisclosure())
    assert list(found.together.per_attribute) == ["ill"]
    tables = [*(release.data for release in masked), found.data]
    right = [(table.frame["ill"].to_numpy() == columns["ill"]).mean() for table in tables]
    assert right[-1] > max(right[:-1])  # what most versions say


def test_confidential_attributes_that_were_not_released_are_not_replaced_by_others() -> None:
    data = Microdata.of({"age": [20.0, 30.0, 40.0], "ill": list("xyx")}, keys=["age"], confidential=["ill"])
    with pytest.raises(DataError, match="attribute-disclosure is after 'ill', which was not released"):
        AttributeDisclosure().assess(data, {"age": [20.0, 30.0, 40.0]}, ["age"])


def test_equal_records_are_averaged_by_their_rows_in_little_memory() -> None:
    import tracemalloc

    rng = np.random.default_rng(1)
    versions = [{"sex": rng.choice(["f", "m"], 30_000)} for _ in range(3)]
    tracemalloc.start()
    together = combine_versions(versions, ["sex"], link="nearest")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert together.frame["sex"].to_list() == versions[0]["sex"].tolist()
    assert peak < 200e6  # all pairs of equal records would take 450 million places


def test_votes_for_many_categories_take_memory_for_those_that_occur() -> None:
    import tracemalloc

    rng = np.random.default_rng(1)
    codes = rng.integers(0, 10_000, 10_000)
    versions = [{"c": [f"c{code}" for code in codes]} for _ in range(3)]
    tracemalloc.start()
    together = combine_versions(versions, ["c"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert together.frame["c"].to_list() == versions[0]["c"]
    assert peak < 100e6  # a table of records by categories would take 500 MB


@pytest.mark.parametrize("link", ["order", "nearest"])
def test_votes_are_those_of_a_count_by_hand(link: str) -> None:
    rng = np.random.default_rng(5)
    versions = [{"a": rng.integers(0, 4, 40).tolist(), "j": rng.choice(list("abcd"), 40).tolist()} for _ in range(4)]
    tables = [Microdata.of(version, nominal=["j"]) for version in versions]
    data = Microdata.of(versions[0], nominal=["j"], keys=["a"], confidential=["j"])
    found = attack_versions(data, tables, ["a"], link=link)  # type: ignore[arg-type]
    for record in range(40):
        votes = dict.fromkeys("abcd", 0.0)
        votes[versions[0]["j"][record]] += 1
        for version in versions[1:]:
            apart = [abs(value - versions[0]["a"][record]) for value in version["a"]]
            near = [record] if link == "order" else [i for i in range(40) if apart[i] == min(apart)]
            for i in near:
                votes[version["j"][i]] += 1 / len(near)
        expected = next(code for code in "abcd" if votes[code] >= max(votes.values()) - 1e-9)
        assert found.data.frame["j"][record] == expected


def test_a_category_outweighs_the_shares_of_several_equally_near_records() -> None:
    """Each of the three records of the second version that have age 1 has a third of its vote."""
    age = [1, 1, 1, 2]
    data = Microdata.of({"age": age, "j": list("abcd")}, nominal=["j"], keys=["age"], confidential=["j"])
    data = data.with_schema(data.schema.replacing(data["j"].changed(missing="wildcard")))
    versions = [Microdata.of({"age": age, "j": cells}, data.schema) for cells in (["d", "d", None, "a"], list("cbaa"))]
    found = attack_versions(data, versions, ["age"], link="nearest")
    assert found.data.frame["j"].to_list() == ["d", "d", "a", "a"]


def test_the_risk_is_that_of_the_best_attempt() -> None:
    """The second version is the original upside down, so that the mean tells nothing."""
    data = Microdata.of({"x": [1.0, 2.0, 3.0, 4.0]})
    found = attack_versions(data, [data, {"x": [4.0, 3.0, 2.0, 1.0]}])
    assert found.together.value < 50
    assert found.risk is found.alone[0]
    assert found.to_plain()["risk"]["value"] == 100.0


def test_versions_with_labels_are_refused_in_a_sentence() -> None:
    data = people(30)
    labels = [Mondrian(k=k, publish="interval").mask(data, ["age", "income"]) for k in (3, 4)]
    for put_together in (lambda: attack_versions(data, labels), lambda: combine_versions([data, *labels])):
        with pytest.raises(DataError, match=r"'age' is released as labels .* cannot be put together"):
            put_together()


def test_a_value_may_lie_outside_the_interval_that_the_versions_leave() -> None:
    data = Microdata.of({"x": [10.0, 21.0, 34.0, 50.0]})
    one, other = Microdata.of({"x": [10.0, 20.0, 30.0, 60.0]}), Microdata.of({"x": [12.0, 24.0, 30.0, 60.0]})
    found = attack_versions(data, [one, other], intervals=lambda column: (column - 4, column + 4)).gains["x"]
    # [8, 14], [20, 24], [26, 34] and [56, 64] are left; 50 lies below the last
    assert found.contained == 75.0


def test_only_the_intervals_of_later_versions_are_those_of_the_records_that_match() -> None:
    """Linked to the nearest, 10, 20 and 30 all match 12 of the second version, which lies between 8 and 16."""
    data = Microdata.of({"x": [10.0, 20.0, 30.0]})
    one, other = Microdata.of({"x": [10.0, 20.0, 30.0]}), Microdata.of({"x": [112.0, 12.0, 111.0]})
    found = attack_versions(data, [one, other], link="nearest", intervals=lambda column: (column - 4, column + 4))
    # [8, 14] is left to the first, 16 alone to the second, and nothing to the third
    gain, spread = found.gains["x"], np.std([10, 20, 30])
    assert gain.width == pytest.approx(100 * (14 - 8) / 3 / spread)
    assert gain.width_alone == pytest.approx(100 * 8 / spread)
    assert gain.contained == pytest.approx(100 / 3)


def test_the_truth_is_the_original_with_the_missing_codes_of_the_first_version() -> None:
    data = Microdata.of({"x": [10.0, 20.0, 30.0, 99.0]})
    coded = data.with_schema(data.schema.replacing(data["x"].changed(missing_codes=(99,))))
    found = attack_versions(data, [data, coded], intervals=lambda column: (column - 1, column + 1)).gains["x"]
    # in units of the deviation with 99 among the values: every interval is 2 wide, and each guess is exact
    assert found.width_alone == pytest.approx(200 / np.std([10, 20, 30, 99]))
    assert found.error == 0.0


@pytest.mark.parametrize("second", [[None, None, "b"], [None, None, None]])
def test_a_second_version_with_fewer_categories_leaves_those_of_the_first(second: list[str | None]) -> None:
    """A record without a category in any version has none, also where a version has no category at all."""
    wild = [Microdata.of({"j": cells}, nominal=["j"]) for cells in (["a", None, "b"], second)]
    wild = [data.with_schema(data.schema.replacing(data["j"].changed(missing="wildcard"))) for data in wild]
    assert combine_versions(wild, ["j"]).frame["j"].to_list() == ["a", None, "b"]


def test_unless_attributes_are_named_those_that_the_first_version_masked_are_put_together() -> None:
    data = people(20)
    apart = [MDAV(k=3).mask(data, ["age"]), MDAV(k=3).mask(data, ["income"])]
    assert combine_versions(apart).names == ("age",)


def test_versions_show_themselves_as_text_and_in_a_notebook() -> None:
    people = Microdata.of({"income": [1, 2, 4, 7, 11, 16, 22, 29, 37, 46, 56, 67]})
    found = attack_versions(people, [IndividualRanking(k=k).mask(people) for k in (2, 3)])
    assert str(found).startswith("2 versions combined; the intruder is assumed to know income")
    assert "version 2  together  highest" in str(found)
    assert found.row()[:2] == ("distance-linkage", f"{found.alone[0].value:.2f}")
    assert [sentence.partition(":")[0] for sentence in found.sentences()] == ["income", "income"]
    assert "mean width of the intervals that hold every value" in found.sentences()[1]
    assert "<td>distance-linkage</td>" in found._repr_html_()


def test_tables_in_another_order_are_matched_with_the_original_before_they_are_put_together() -> None:
    data = people(120)
    releases = [Noise(alpha=0.05).mask(data, seed=seed) for seed in (1, 2)]
    in_order = attack_versions(data, releases)
    rng = np.random.default_rng(4)
    tables = [release.data.take(rng.permutation(len(data))) for release in releases]
    found = attack_versions(data, tables)
    # matching by content gives a few records to their neighbours; without it nobody would be linked
    assert found.risk.value > 0.8 * in_order.risk.value > 20
    assert len(found.warnings) == 1
    assert found.warnings[0] in " ".join(str(found).split())
    assert in_order.warnings == ()


def test_records_of_versions_are_matched_by_an_identifier_if_one_is_named() -> None:
    data = people(50)
    numbered = Microdata.of({"id": list(range(50)), **{n: data.numbers(n).values for n in data.names}})
    releases = [
        Microdata.of({"id": list(range(50)), **{n: r.data.numbers(n).values for n in data.names}})
        for r in (Noise(alpha=0.05).mask(data, seed=seed) for seed in (1, 2))
    ]
    rng = np.random.default_rng(4)
    shuffled = [table.take(rng.permutation(50)) for table in releases]
    by_id, in_order = (
        attack_versions(numbered, tables, ["age", "income"], match_by="id") for tables in (shuffled, releases)
    )
    assert by_id.to_plain() == in_order.to_plain()
    fewer = [*releases, releases[1].take(np.arange(40))]
    with pytest.raises(DataError, match="different records of the file"):
        attack_versions(numbered, fewer, ["age", "income"], match_by="id")


def test_releases_in_random_order_have_the_same_records() -> None:
    data = people(40)
    releases = [Noise(alpha=0.05).mask(data, seed=seed) for seed in (1, 2)]
    shuffled = [release.shuffled() for release in releases]
    assert attack_versions(data, shuffled).to_plain() == attack_versions(data, releases).to_plain()
