"""What a study found: the ranking, those worth a look, the tables, and the plan that makes the best again."""

from __future__ import annotations

import csv
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import narwhals as nw
import pytest

from microveil.errors import DataError, FileError
from microveil.masking import Plan, Step
from microveil.masking.plan import read_plan
from microveil.microdata import Microdata
from microveil.microdata.datasets.sample_survey import survey
from microveil.protection import protect
from microveil.scoring import assess
from microveil.study import Candidate, Result, Study, compare, run_study
from microveil.study.cells import PLANNED, Cell, Measures
from microveil.study.measuring import Measured, Outcome
from microveil.study.page import study_page
from microveil.study.results import Run, Started


@pytest.fixture(scope="module")
def data() -> Microdata:
    return survey(150, seed=2)


@pytest.fixture(scope="module")
def study(data: Microdata) -> Study:
    ways = [Candidate(f"noise <{a}>", (Step("noise", {"alpha": a}, ("age", "wealth")),)) for a in (0.01, 0.1, 1.0)]
    ways.append(Candidate("mdav", (Step("mdav", {"k": 5}, ("age", "wealth")),)))
    return compare(data, ways, seed=1)


@pytest.fixture(scope="module")
def repeated(people: Microdata) -> Study:
    plain = {
        "keys": ["age", "wealth"],
        "repeats": 3,
        "losses": ["sse", "il"],
        "method": [
            {"name": "noise", "grid": {"alpha": [0.1, 0.5]}},
            {"name": "mdav", "grid": {"k": [3, 5]}},
            {"name": "mdav", "set": {"k": 500}},
        ],
    }
    return run_study(plain, people, workers=0)


def made_up(*pairs: tuple[float, float]) -> Study:
    results = [
        Result(
            Candidate(f"c{i}", (Step("mdav", {"k": 3}),)), (Run(Measured((), loss, risk, (loss + risk) / 2, 10)),), i
        )
        for i, (loss, risk) in enumerate(pairs)
    ]
    return Study(tuple(sorted(results, key=lambda result: result.score)))


def made_up_repeats(label: str, *pairs: tuple[float, float]) -> Result:
    runs = [Run(Measured((), loss, risk, (loss + risk) / 2, 10), i, 100 + i) for i, (loss, risk) in enumerate(pairs)]
    return Result(Candidate(label, (Step("noise"),)), tuple(runs))


def study_of_results(*results: Result) -> Study:
    return Study(tuple(sorted(results, key=lambda result: result.score)))


def planned(result: Result, *, loss: float, risk: float, seed: int = 7) -> tuple[Cell, Outcome]:
    """The release that a candidate's plan makes, with these numbers."""
    cell = Cell(result.candidate, PLANNED, seed, Measures(("age",)), "digest")
    return cell, Outcome(Measured((), loss, risk, (loss + risk) / 2, 10))


def test_the_best_score_comes_first(study: Study) -> None:
    scores = [result.score for result in study.results]
    assert scores == sorted(scores)
    assert study.best is study.results[0]


@pytest.mark.spec("01:TR-1")
def test_nothing_on_the_front_is_beaten(study: Study) -> None:
    for kept in study.front:
        assert not any(r.loss <= kept.loss and r.risk < kept.risk for r in study.results)
    for result in (r for r in study.results if r not in study.front):
        assert any(kept.loss <= result.loss and kept.risk <= result.risk for kept in study.front)


def test_all_candidates_are_measured_over_the_same_attributes(study: Study) -> None:
    assert study.attributes == ("age", "wealth")


def test_compare_measures_what_assess_measures(study: Study, data: Microdata) -> None:
    for result in study.results:
        plan = Plan(result.candidate.steps, seed=1)
        measured = assess(data, protect(data, plan), study.attributes)
        assert result.loss == measured.score.loss
        assert result.risk == measured.score.risk
        assert result.value("distance-linkage") == measured.risks["distance-linkage"].value


@pytest.mark.spec("01:TR-1")
def test_with_a_bound_on_the_risk_the_best_loses_least_below_it() -> None:
    study = made_up((3, 40), (9, 14), (20, 15), (30, 1))
    assert study.best.loss == 9
    assert replace(study, risk_bound=14.0).best.loss == 30
    assert study.least_loss(risk_below=15).loss == 9
    with pytest.raises(DataError, match=r"no candidate has a risk below 1 %; the lowest is 1\.00 % \(c3\)"):
        _ = replace(study, risk_bound=1.0).best
    assert replace(study, risk_bound=1.0).admissible == ()
    assert replace(study, risk_bound=1.0).notes == (
        "no candidate has a risk below 1 %, so there is no best one and no plan of it",
    )
    assert study.notes == ()


def test_the_best_is_chosen_by_its_mean_and_not_by_its_luckiest_repeat() -> None:
    lucky = made_up_repeats("lucky", (1, 1), (30, 30), (29, 29))
    steady = made_up_repeats("steady", (19, 19), (19, 19), (19, 19))
    study = study_of_results(lucky, steady)
    assert (lucky.score, steady.score) == (20, 19)
    assert study.best is steady


def test_a_plan_has_the_seed_that_was_measured_again_and_never_that_of_a_repeat() -> None:
    noise = made_up_repeats("noise", (10, 22), (14, 9))
    study = study_of_results(noise)
    assert study.plan().seed is None  # nothing was measured again: protect draws one
    confirmed = study.with_planned(*planned(noise, loss=12, risk=8, seed=2**100))
    assert confirmed.plan().seed == 2**100
    assert (confirmed.best.loss, confirmed.best.risk) == (12, 15.5)  # the mean of the repeats stays what it was
    assert confirmed.best.again is not None
    assert (confirmed.best.again.loss, confirmed.best.again.risk) == (12, 8)
    (row,) = confirmed.summary_rows
    assert (row["again_score"], row["again_loss"], row["again_risk"]) == (10, 12, 8)


def test_a_candidate_whose_plan_breaks_the_bound_gives_way_to_the_next() -> None:
    first, second = made_up_repeats("first", (5, 9)), made_up_repeats("second", (7, 8))
    study = replace(study_of_results(first, second), risk_bound=10.0)
    assert study.best is first
    passed_over = study.with_planned(*planned(first, loss=5, risk=10))
    assert passed_over.best is second
    neither = passed_over.with_planned(*planned(second, loss=7, risk=11))
    assert neither.admissible == ()
    with pytest.raises(DataError, match=r"no candidate has a risk below 10 %; the lowest is 10\.00 % \(first\)"):
        _ = neither.best


def test_a_plan_that_could_not_be_measured_is_told_and_has_no_seed() -> None:
    noise = made_up_repeats("noise", (10, 22))
    cell, _ = planned(noise, loss=0, risk=0)
    study = study_of_results(noise).with_planned(cell, Outcome(None, "out of memory"))
    assert [(failure.candidate.label, failure.repeat, failure.reason) for failure in study.failures] == [
        ("noise", 0, "out of memory")
    ]
    assert study.plan().seed is None


def test_the_best_of_a_study_is_measured_again_with_a_seed_of_its_own(people: Microdata) -> None:
    plain = {"attributes": ["age", "wealth"], "repeats": 3, "losses": ["il"], "seed": 3}
    method = [{"name": "noise", "attributes": ["age", "wealth"], "set": {"alpha": 0.3}}]
    study = run_study({**plain, "method": method}, people, workers=0)
    again = study.best.again
    assert again is not None
    assert again.seed not in {run.seed for run in study.best.runs}
    assert again.risk not in {run.risk for run in study.best.runs}
    assert len(study.best.runs) == 3
    release = protect(people, study.plan())
    assert assess(people, release, study.attributes, losses=["il"]).score.risk == again.risk
    page = study_page(study, again="")
    assert "(means over 3 repeats)" in page
    assert f"with a fresh seed: loss {again.loss:.2f}, risk {again.risk:.2f}, score {again.score:.2f}." in page


def test_a_study_passes_over_a_candidate_whose_plan_breaks_the_bound(
    people: Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound lies between the mean risk of the weak candidate and the risk of the release that its plan makes."""
    monkeypatch.setattr("microveil.study.store.draw_seed", lambda: 1)
    noise = {"name": "noise", "attributes": ["age", "wealth"], "grid": {"alpha": [0.3, 3.0]}}
    plain = {"attributes": ["age", "wealth"], "repeats": 4, "losses": ["il"], "seed": 3, "accept": {"risk": 15}}
    study = run_study({**plain, "known": ["age", "wealth"], "method": [noise]}, people, workers=0)
    weak, strong = sorted(study.results, key=lambda result: result.candidate.varied["alpha"])
    assert weak.again is not None
    assert weak.risk < 15 < weak.again.risk
    assert study.best is strong
    assert strong.again is not None
    assert strong.again.risk < 15
    assert study.plan().seed == strong.again.seed


def test_a_front_of_two_has_no_knee() -> None:
    assert made_up((0, 50), (60, 5), (90, 90)).knee is None
    assert made_up((0, 50), (60, 5), (60, 5)).knee is None


def test_the_knee_is_where_the_front_bends() -> None:
    study = made_up((0, 50), (5, 10), (60, 5), (90, 90))
    assert study.knee is not None
    assert (study.knee.loss, study.knee.risk) == (5, 10)


def test_means_and_deviations_are_over_the_repeats(repeated: Study) -> None:
    noise = next(result for result in repeated.results if result.candidate.label == "noise alpha=0.5")
    losses = [run.measured.loss for run in noise.runs]
    assert len(set(losses)) == 3
    assert noise.loss == pytest.approx(sum(losses) / 3)
    assert noise.deviation("loss") == pytest.approx((sum((x - noise.loss) ** 2 for x in losses) / 2) ** 0.5)
    mdav = next(result for result in repeated.results if result.candidate.label == "mdav k=3")
    assert len(mdav.runs) == 1
    assert mdav.deviation("loss") == 0.0


def test_the_table_has_a_row_for_every_cell_and_measure(repeated: Study) -> None:
    table = nw.from_native(repeated.table)
    measures = 2 + 3 + 3  # losses, risks, and the score with its two parts
    assert table.shape[0] == (3 + 3 + 1 + 1) * measures
    assert table.columns == [
        "candidate", "methods", "set.alpha", "set.k", "repeat", "kind", "measure", "value", "low", "high",
    ]  # fmt: skip
    assert table["candidate"].to_list()[0] == "noise alpha=0.1"  # as designed, not as ranked
    loss = table.filter((nw.col("candidate") == "mdav k=5") & (nw.col("measure") == "sse"))
    mdav = next(result for result in repeated.results if result.candidate.label == "mdav k=5")
    assert loss["value"].to_list() == [mdav.value("sse")]
    assert loss["set.k"].to_list() == [5]


def test_the_summary_has_a_row_for_every_candidate_with_numbers(repeated: Study) -> None:
    summary = nw.from_native(repeated.summary)
    assert summary["rank"].to_list() == [1, 2, 3, 4]
    assert summary["best"].to_list() == [True, False, False, False]
    assert sum(summary["front"].to_list()) == len(repeated.front)


def test_what_failed_is_told(repeated: Study) -> None:
    assert [failure.candidate.label for failure in repeated.failures] == ["mdav k=500"]
    assert "failed: mdav k=500" in str(repeated)
    assert any(told.startswith("mdav k=500 (repeat ") for told in repeated.notes)


def test_no_candidate_with_numbers_means_no_best(people: Microdata) -> None:
    study = run_study({"keys": ["age"], "method": [{"name": "mdav", "set": {"k": 500}}]}, people, workers=0)
    with pytest.raises(DataError, match="no candidate of the study could be measured"):
        _ = study.best
    with pytest.raises(DataError, match="no candidate of the study could be measured"):
        study.least_loss(risk_below=5)
    with pytest.raises(DataError, match="no candidate of the study could be measured"):
        _ = Study(()).best
    assert "<svg" not in study._repr_html_()


def test_tables_keep_their_columns_when_every_cell_fails(people: Microdata, tmp_path: Path) -> None:
    method = {"name": "mdav", "grid": {"k": [500, 600]}}
    study = run_study({"keys": ["age"], "method": [method]}, people, out=tmp_path / "out", workers=0)
    assert (tmp_path / "out" / "table.csv").read_text().splitlines() == [
        "candidate,methods,set.k,repeat,kind,measure,value,low,high"
    ]
    (summary,) = (tmp_path / "out" / "summary.csv").read_text().splitlines()
    assert summary.startswith("rank,candidate,methods,set.k,records,repeats,failed,score,score_deviation,loss,")
    assert study.table.column_names == ["candidate", "methods", "set.k", *study.table.column_names[3:]]
    assert study.summary.num_rows == 0


def test_parameters_named_like_results_keep_columns_of_their_own(people: Microdata) -> None:
    method = {"name": "suppress", "attributes": ["sex"], "grid": {"risk": [0.5, 0.02]}}
    study = run_study({"method": [method]}, people, workers=0)
    for row in study.summary_rows:
        result = next(r for r in study.results if r.candidate.label == row["candidate"])
        assert row["risk"] == result.risk
        assert row["set.risk"] == result.candidate.varied["risk"]
    assert {row["measure"] for row in study.rows} >= {"risk", "loss", "score"}


def test_the_same_method_twice_in_a_chain_keeps_both_settings(people: Microdata) -> None:
    steps = [{"name": "noise", "grid": {"alpha": [0.1, 0.2]}}, {"name": "noise", "grid": {"alpha": [0.3]}}]
    study = run_study({"keys": ["age"], "losses": ["sse"], "method": [{"steps": steps}]}, people, workers=0)
    found = {(row["set.1.noise.alpha"], row["set.2.noise.alpha"]) for row in study.summary_rows}
    assert found == {(0.1, 0.3), (0.2, 0.3)}


def test_a_sample_is_told_apart_because_its_loss_is_that_of_the_released_records(people: Microdata) -> None:
    methods = [{"name": "sampling", "attributes": ["sex"], "set": {"share": 0.5}}, {"name": "pram", "set": {"p": 0.7}}]
    methods[1]["attributes"] = ["sex"]
    study = run_study({"method": methods}, people, workers=0)
    sample = next(result for result in study.results if result.candidate.family == "sampling")
    assert sample.loss == 0
    assert [row["records"] for row in study.summary_rows if row["methods"] == "sampling"] == [60]
    assert [result.candidate.family for result in study.results if study.is_part(result)] == ["sampling"]
    page = study_page(study, again="")
    assert "only 60 of 120 records" in page
    assert "release only a part of the records" in page
    whole = replace(study, results=tuple(result for result in study.results if result is not sample))
    assert "part of the records" not in study_page(whole, again="")


def test_the_histogram_counts_every_record_once(repeated: Study) -> None:
    assert sum(repeated.best.histogram) == pytest.approx(120)


def test_saved_files_make_the_best_release_again(repeated: Study, people: Microdata, tmp_path: Path) -> None:
    paths = repeated.save(tmp_path / "out")
    plan, _ = read_plan(paths["plan-best.toml"])
    measured = assess(people, protect(people, plan), repeated.attributes, known=["age", "wealth"], losses=["sse", "il"])
    assert repeated.best.again is not None
    assert measured.score.value == repeated.best.again.score
    assert stat.S_IMODE(paths["plan-best.toml"].stat().st_mode) == 0o600
    with paths["table.csv"].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == [row["value"] for row in repeated.rows]
    replace(repeated, risk_bound=0.001).save(tmp_path / "out")
    assert not paths["plan-best.toml"].exists()


def test_neither_tables_nor_store_hold_seeds_or_values_of_records(people: Microdata, tmp_path: Path) -> None:
    plain = {"keys": ["age", "wealth"], "method": [{"name": "noise", "grid": {"alpha": [0.1]}}]}
    study = run_study(plain, people, out=tmp_path / "out", workers=0)
    again = study.best.again
    assert again is not None
    told = [(tmp_path / "out" / name).read_text() for name in ("table.csv", "summary.csv", "study.html")]
    for seed in (study.best.runs[0].seed, again.seed):
        assert not any(str(seed) in text or f"{seed:x}" in text for text in told)
    extreme = repr(float(max(people.numbers("wealth").values)))
    assert extreme.encode() not in (tmp_path / "out" / "study.sqlite").read_bytes()


def test_a_folder_with_files_of_others_is_refused_before_any_work(people: Microdata, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("mine")
    with pytest.raises(FileError, match="choose another folder") as refused:
        run_study({"keys": ["age"], "method": [{"name": "mdav"}]}, people, out=tmp_path, workers=0)
    assert "--force" not in str(refused.value)
    assert (tmp_path / "table.csv").read_text() == "mine"
    assert not (tmp_path / "study.sqlite").exists()


@pytest.mark.parametrize("out", ["afile", "afile/x"])
def test_a_file_in_the_place_of_the_folder_is_refused_in_one_sentence(
    out: str, people: Microdata, tmp_path: Path
) -> None:
    (tmp_path / "afile").write_text("mine")
    with pytest.raises(FileError, match="afile: this is a file; name a folder"):
        run_study({"keys": ["age"], "method": [{"name": "mdav"}]}, people, out=tmp_path / out, workers=0)
    with pytest.raises(FileError, match="this is a file; name a folder"):
        made_up((1, 2)).save(tmp_path / out)


def test_the_commands_name_the_table_how_it_is_read_and_a_plan_only_if_there_is_one() -> None:
    folder = Path("out")
    named = Started("s.toml", "people.csv")
    assert [" ".join(words) for words in named.commands(folder, has_plan=True)] == [
        "study s.toml --out out",
        "protect people.csv --plan out/plan-best.toml --out safe.csv",
    ]
    given = replace(named, given_data=True, reading={"delimiter": ";", "decimal": ","})
    assert [" ".join(words) for words in given.commands(folder, has_plan=True)] == [
        "study s.toml --data people.csv --out out",
        "protect people.csv --plan out/plan-best.toml --delimiter ; --decimal , --out safe.csv",
    ]
    assert len(given.commands(folder, has_plan=False)) == 1


def test_only_a_study_of_files_says_commands(
    people: Microdata, study_file: Callable[..., Path], tmp_path: Path
) -> None:
    path = study_file('losses = ["sse"]\nattacks = ["distance-linkage"]\n[[method]]\nname = "mdav"\n')
    table = tmp_path / "people.csv"
    assert run_study(path, table, workers=0).started == Started(str(path), str(table), given_data=True)
    study = run_study(path, people.select(["age", "wealth"]), workers=0)
    assert study.started is None
    study.save(tmp_path / "out")
    assert "read_plan(" in (tmp_path / "out" / "study.html").read_text()
    replace(study, risk_bound=0.001).save(tmp_path / "out")
    assert "read_plan(" not in (tmp_path / "out" / "study.html").read_text()


def test_every_attack_can_be_run_and_every_score_taken(people: Microdata) -> None:
    method = {"name": "rank-swapping", "set": {"p": 10.0}, "attributes": ["age", "wealth"]}
    study = run_study({"method": [method], "attacks": "all", "score": "max"}, people, workers=0)
    assert study.best.value("rank-swapping-linkage") is not None
    assert study.best.score == max(study.best.loss, study.best.risk)
