"""What the intruder is assumed to know: the declared keys and nothing else, everywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import microveil as mv
from microveil.attacks.correspondence import corresponding
from microveil.attacks.linkage.distance import DistanceLinkage
from microveil.attacks.versions import attack_versions
from microveil.comparison import pairs
from microveil.comparison.changes import changed
from microveil.comparison.pairs import Pair
from microveil.errors import DataError
from microveil.masking import Release
from microveil.strengthening import protect_until, stronger

KEYS = ("zip", "age")


def people(**roles: object) -> mv.Microdata:
    """Every zip code is its owner's alone; ages and incomes are not."""
    columns = {
        "zip": [1000 + 7 * i for i in range(40)],
        "age": [20 + i % 8 for i in range(40)],
        "income": [1000.0 + 37 * ((i * 11) % 40) for i in range(40)],
    }
    return mv.Microdata.of(columns, **{"keys": list(KEYS), **roles})  # type: ignore[arg-type]


def masked(data: mv.Microdata, *attributes: str) -> Release:
    return mv.MDAV(k=10).mask(data, attributes, seed=2**70)


def test_a_declared_key_that_was_left_alone_stays_in_the_attack() -> None:
    data = people()
    found = mv.assess(data, masked(data, "age"))
    assert found.knowledge.attributes == KEYS
    assert found.knowledge.source == "keys"
    assert found.risks["distance-linkage"].known == KEYS
    assert found.risks["distance-linkage"].value > 90
    assert found.risks["uniqueness"].known == KEYS
    # without the roles only what was masked is taken to be known, which links next to nobody
    bare = mv.Microdata.of(data.native)
    assert mv.assess(bare, masked(bare, "age")).risks["distance-linkage"].value < 15


def test_a_masked_confidential_attribute_is_not_known_but_its_values_are_sought() -> None:
    data = people(confidential=["income"])
    found = mv.assess(data, masked(data, "zip", "age", "income"), attacks="all")
    for name in ("distance-linkage", "probabilistic-linkage", "uniqueness"):
        assert found.risks[name].known == KEYS
    assert "income" in found.risks["interval-disclosure"].per_attribute
    assert list(found.risks["inference"].per_attribute) == ["income"]


def test_a_masked_attribute_that_is_no_key_is_inferred_even_if_nobody_calls_it_confidential() -> None:
    data = people()
    found = mv.run_battery(data, masked(data, "zip", "age", "income"), contributions=False)
    assert list(found.risks["inference"].per_attribute) == ["income"]
    assert "inference" in mv.run_battery(mv.Microdata.of(data.native), masked(data, "age")).passed_over


def test_what_is_given_goes_before_the_keys() -> None:
    data = people()
    found = mv.assess(data, masked(data, "age"), known=["income"])
    assert (found.knowledge.attributes, found.knowledge.source) == (("income",), "given")
    assert found.risks["distance-linkage"].known == ("income",)
    assert found.risks["interval-disclosure"].known == ("age",)


def test_the_schema_that_a_release_was_made_with_says_what_is_known() -> None:
    data = people()
    release = masked(data, "age")
    frame = pd.DataFrame({name: data.arrow(name).to_pylist() for name in data.names})
    assert mv.assess(frame, release).knowledge.attributes == KEYS


def test_without_keys_the_masked_attributes_stand_in_for_them_and_the_output_says_so() -> None:
    data = mv.Microdata.of(people().native)
    found = mv.assess(data, masked(data, "age"))
    assert found.knowledge.attributes == ("age",)
    assert "the masked attributes, because no keys are declared" in found.heading
    assert "the declared keys" in mv.assess(people(), masked(people(), "age")).heading


def plain(data: mv.Microdata, **changed: object) -> mv.Microdata:
    """A table with other values in some columns, as it is read without its schema and manifest."""
    return mv.Microdata.of({**{name: data.arrow(name).to_pylist() for name in data.names}, **changed})


def rounded(data: mv.Microdata) -> list[float]:
    return [round(value, -2) for value in data.arrow("income").to_pylist()]


def test_without_keys_and_provenance_the_changed_attributes_are_known_and_the_output_says_so() -> None:
    data = plain(people())
    found = mv.assess(data, plain(data, income=rounded(data)))
    assert (found.knowledge.attributes, found.knowledge.source) == (("income",), "changed")
    assert "know income (the attributes that were changed, because no keys are declared)" in found.heading
    assert found.risks["distance-linkage"].known == ("income",)
    # swapped values are changed ones, although the column holds the same
    assert mv.assess(data, plain(data, zip=data.arrow("zip").to_pylist()[::-1])).knowledge.attributes == ("zip",)


def test_columns_of_raw_bytes_are_left_alone() -> None:
    data = plain(people())
    numbers = range(len(data))
    photos = {
        "photo": pa.array([bytes([255, i]) for i in numbers]),
        "print": pa.array([bytes([254, i]) for i in numbers], pa.binary(2)),
    }
    before = mv.Microdata.of({**data.frame.to_dict(as_series=False), **photos})
    after = mv.Microdata.of({**plain(data, income=rounded(data)).frame.to_dict(as_series=False), **photos})
    assert before.names_to_compare(after) == data.names
    assert mv.assess(before, after).knowledge.attributes == ("income",)


def test_what_was_changed_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(pairs, "changed", lambda *given: calls.append(given) or changed(*given))
    data = mv.Microdata.of(plain(people()), confidential=["zip"])
    Pair.of(data, mv.Microdata.of(plain(data, income=rounded(data)), confidential=["zip"]))
    assert len(calls) == 1


def test_another_order_of_the_records_changes_no_attribute() -> None:
    data = plain(people())
    order = np.array([(7 * i + 3) % 40 for i in range(40)])
    matched = corresponding(data, plain(data, income=rounded(data)).take(order))
    assert Pair.of(matched.original, matched.release).knowledge.attributes == ("income",)
    shuffled = Pair.of(data, data.take(order)).knowledge
    assert (shuffled.attributes, shuffled.source) == (("zip", "age", "income"), "all")
    assert "know zip, age, income (all attributes, because no keys are declared and no attribute" in str(shuffled)


def test_swapped_values_count_as_changed_also_where_no_attribute_was_left_alone() -> None:
    data = plain(people())
    columns = data.frame.to_dict(as_series=False)
    swapped = {name: columns[name][1::-1] + columns[name][2:] for name in ("zip", "age")}
    assert Pair.of(data, plain(data, income=rounded(data), **swapped)).knowledge.attributes == ("zip", "age", "income")


def test_weights_household_numbers_and_confidential_attributes_are_not_known_without_keys() -> None:
    households = [i // 3 for i in range(40)]
    weights = [1.5 + i % 3 for i in range(40)]
    data = plain(people(), household=households, weight=weights)
    other = plain(data, household=[(5 * h + 2) % 14 for h in households], weight=[2 * w for w in weights],
                  income=rounded(data), age=[30 + i % 4 for i in range(40)])  # fmt: skip
    told = mv.Microdata.of(data.native, weight="weight", confidential=["income"])
    pair = Pair.of(told, other)
    assert pair.compared == ("age", "income")
    assert pair.knowledge.attributes == ("age",)


def test_no_line_speaks_of_keys_where_none_are_declared() -> None:
    data = plain(people())
    names = [name for name, *_ in mv.assess(data, plain(data, income=rounded(data))).headline.rows()]
    assert "uniques on the known attributes" in names
    assert not any("keys" in name for name in names)
    assert "uniques on the keys" in str(mv.assess(people(), masked(people(), "age")))
    assert "uniques on the known attributes" in str(mv.assess(people(), masked(people(), "age"), known=["age"]))


def test_a_key_that_was_not_released_is_named_and_none_at_all_is_refused() -> None:
    data = people()
    found = mv.assess(data, mv.Microdata.of({"age": data.native["age"], "income": data.native["income"]}))
    assert (found.knowledge.attributes, found.knowledge.withheld) == (("age",), ("zip",))
    assert found.heading.endswith("not released: zip")
    with pytest.raises(DataError, match="none of the keys zip, age is in the masked table"):
        mv.assess(data, mv.Microdata.of({"income": data.native["income"]}), ["income"])


def test_of_a_table_without_provenance_keys_and_whatever_differs_are_compared() -> None:
    data = people()
    columns = {name: data.arrow(name).to_pylist() for name in data.names}
    foreign = mv.Microdata.of({**columns, "income": [round(value, -2) for value in columns["income"]]})
    pair = Pair.of(data, foreign)
    assert pair.compared == (*KEYS, "income")
    assert Pair.of(data, mv.Microdata.of(columns)).compared == KEYS


def test_the_loop_the_versions_and_the_single_attack_know_the_keys() -> None:
    data = people()
    assert DistanceLinkage().assess(data, masked(data, "age")).known == KEYS
    found = protect_until(data, stronger(mv.MDAV(), "k", (3, 10)), DistanceLinkage(), 100, attributes=["age"])
    assert found.risk.known == KEYS
    releases = [mv.MDAV(k=k).mask(data, ["age"], seed=1) for k in (4, 10)]
    assert attack_versions(data, releases).together.known == KEYS


def test_the_cells_of_a_study_know_the_keys() -> None:
    data = people()
    study = mv.compare(data, [mv.Candidate("mdav", (mv.Step("mdav", {"k": 10}, ("age",)),))])
    (result,) = study.results
    linked = next(value for value in result.values if value.label == "distance-linkage")
    assert linked.value == pytest.approx(mv.assess(data, masked(data, "age")).risks["distance-linkage"].value)
    assert linked.value > 90


def test_the_report_says_what_the_intruder_is_assumed_to_know() -> None:
    data = people()
    release = masked(data, "age")
    assert "the intruder is assumed to know zip, age (the declared keys)" in mv.report(data, release)
    assert "assumed to know zip, age" in mv.report(data, release, public=True)


def test_the_command_says_it_and_known_overrides(tmp_path: Path, run: Callable[..., Any]) -> None:
    data = people()
    mv.write(data, tmp_path / "people.csv")
    roles = ["--keys", "zip,age"]
    made = ["protect", "people.csv", *roles, "--attributes", "age", "--method", "mdav", "--set", "k=10"]
    assert run(*made, "--out", "safe.csv").status == 0
    told = run("assess", "people.csv", "safe.csv").stdout
    assert "the intruder is assumed to know zip, age (the declared keys)" in told
    plain = json.loads(run("assess", "people.csv", "safe.csv", "--known", "age", "--json").stdout)
    assert plain["knowledge"] == {"attributes": ["age"], "source": "given", "withheld": []}
    (tmp_path / "safe.csv.manifest.json").unlink()
    plain = json.loads(run("assess", "people.csv", "safe.csv", *roles, "--json").stdout)
    assert plain["knowledge"]["attributes"] == ["zip", "age"]
    assert plain["attributes"] == ["zip", "age"]


def test_what_is_printed_of_trials_studies_and_versions_says_what_the_intruder_knows_and_why() -> None:
    from microveil.cli.trial import trial_of

    table = {"age": [20.0 + i for i in range(30)], "pay": [float(i * 7 % 30) for i in range(30)]}
    data = mv.Microdata.of(table)
    why = "the intruder is assumed to know age, pay (the masked attributes, because no keys are declared)"
    trial = trial_of("mdav", {}, "distance-linkage=90", "k=3,5")
    found = trial.run(data, None, None, 1_000_001, {}, lambda fraction, label: None)
    assert found.sentences()[0] == why
    study = mv.run_study({"method": [{"name": "mdav", "grid": {"k": [3]}}]}, data)
    assert why in " ".join(str(study).split())
    releases = [mv.MDAV(k=k).mask(data, seed=1_000_001) for k in (3, 5)]
    assert str(attack_versions(data, releases).knowledge) == why
