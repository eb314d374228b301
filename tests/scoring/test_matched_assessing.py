"""An assessment of tables whose records do not stand in the same order."""

from __future__ import annotations

import numpy as np
import pytest

from microveil import assess
from microveil.errors import DataError
from microveil.masking.microaggregation.mdav import MDAV
from microveil.microdata import Microdata
from microveil.reporting.report import report

KNOWN = ["age", "income", "job"]


@pytest.fixture(scope="module")
def people() -> Microdata:
    rng = np.random.default_rng(3)
    return Microdata.of(
        {
            "id": np.arange(150) + 1000,
            "age": rng.integers(18, 90, 150),
            "income": np.round(np.exp(rng.normal(7, 1, 150)), 2),
            "job": rng.choice(["cook", "judge", "nurse", "clerk"], 150, p=[0.4, 0.3, 0.2, 0.1]),
            "rent": np.round(rng.normal(700, 90, 150)),
        },
        keys=KNOWN,
    )


@pytest.fixture(scope="module")
def order() -> np.ndarray:
    return np.random.default_rng(9).permutation(150)


@pytest.mark.parametrize("columns", [["id", *KNOWN, "rent"], [*KNOWN, "rent"], KNOWN], ids=["id", "rent", "keys only"])
def test_the_unmasked_file_in_another_order_is_not_called_safe(
    people: Microdata, order: np.ndarray, columns: list[str]
) -> None:
    found = assess(people, people.select(columns).take(order), KNOWN)
    assert found.risks["distance-linkage"].value == assess(people, people, KNOWN).risks["distance-linkage"].value == 100
    assert found.losses["sse"].value == 0
    (warning,) = found.warnings
    assert "record i" in warning
    assert found.to_plain()["warnings"] == [warning]
    assert f"warning: {warning}" in " ".join(str(found).split())  # long lines are broken
    assert "<strong>Warning: " in found._repr_html_()


def test_nothing_is_said_where_records_correspond(people: Microdata) -> None:
    for release in (people, MDAV(k=5).mask(people, ["age", "income"], seed=1)):
        found = assess(people, release)
        assert found.warnings == ()
        assert found.to_plain()["warnings"] == []
        assert "arning" not in str(found) + found._repr_html_()


def test_a_shuffled_masked_file_has_the_risks_and_losses_of_the_masked_file(
    people: Microdata, order: np.ndarray
) -> None:
    masked = MDAV(k=5).mask(people, ["age", "income"], seed=1).data
    by_order, by_id, by_content = (
        assess(people, masked, KNOWN),
        assess(people, masked.take(order), KNOWN, match_by="id"),
        assess(people, masked.select([*KNOWN, "rent"]).take(order), KNOWN),
    )
    assert by_id.warnings == ()
    plain = by_order.to_plain()
    assert by_id.to_plain() == plain
    assert len(by_content.warnings) == 1
    assert by_content.risks["distance-linkage"].value == pytest.approx(plain["risks"]["distance-linkage"]["value"])


def test_every_attack_runs_on_matched_records(people: Microdata, order: np.ndarray) -> None:
    found = assess(people, people.select([*KNOWN, "rent"]).take(order), KNOWN, attacks="all", losses=["sse"])
    assert found.battery is not None
    assert found.battery.value == 100.0


def test_a_sample_is_compared_with_its_own_originals(people: Microdata, order: np.ndarray) -> None:
    sample = people.take(order[:40])
    found = assess(people, sample, KNOWN, match_by="id")
    assert (found.records, found.warnings) == (40, ())
    assert found.losses["sse"].value == 0
    assert (found.headline.before.records, found.headline.after.records) == (150, 40)


def test_a_sample_without_an_identifier_is_refused_with_what_to_do(people: Microdata) -> None:
    with pytest.raises(DataError, match=r"150 records and the masked table 40; .* matched by an identifier .*match_by"):
        assess(people, people.take(np.arange(40)), KNOWN)


def test_an_unknown_identifier_is_refused(people: Microdata) -> None:
    with pytest.raises(DataError, match="the original has no column 'number' to match records by"):
        assess(people, people, KNOWN, match_by="number")


def test_values_in_reverse_and_renamed_categories_are_found_without_asking(people: Microdata) -> None:
    """A general intruder sees both, so that no attack need be named."""
    names = {"cook": "judge", "judge": "nurse", "nurse": "clerk", "clerk": "cook"}
    hidden = Microdata.of(
        {
            "age": 1e9 - people.numbers("age").values,
            "income": -np.log(people.numbers("income").values),
            "job": [names[job] for job in people.arrow("job").to_pylist()],
        }
    )
    found = assess(people, hidden, KNOWN)
    assert found.warnings == ()
    assert found.risks["distance-linkage"].value < 5
    assert "rank-alignment-linkage" in found.risks
    assert found.risks["frequency-alignment-linkage"].value == 100.0
    assert found.headline.after.expected == pytest.approx(150.0)


def test_attacks_on_transformed_values_are_not_run_where_nothing_is_transformed(people: Microdata) -> None:
    found = assess(people, MDAV(k=3).mask(people, ["age", "income"], seed=1))
    assert not {name for name in found.risks if "alignment" in name}


def test_the_report_warns(people: Microdata, order: np.ndarray, caplog: pytest.LogCaptureFixture) -> None:
    shuffled = people.take(order)
    page = report(people, shuffled, KNOWN)
    assert "Warning: record i of the two tables is not the same person: &#39;id&#39;" in page
    assert "is not the same person" in caplog.text
    assert "is not the same person" not in report(people, shuffled, KNOWN, match_by="id")
