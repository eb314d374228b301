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
from microveil.masking import Step
from microveil.masking.plan import read_plan
from microveil.microdata import Microdata
from microveil.microdata.sample import survey
from microveil.protection import protect
from microveil.reporting.study_page import study_page
from microveil.scoring import assess
from microveil.study import Candidate, Result, Study, compare, run_study
from microveil.study.measuring import Measured
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


def made_up_repeats(*pairs: tuple[float, float], seeds: int = 100) -> Result:
    runs = [Run(Measured((), loss, risk, (loss + risk) / 2, 10), i, seeds + i) for i, (loss, risk) in enumerate(pairs)]
    return Result(Candidate("noise", (Step("noise"),)), tuple(runs))


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
        plan = study.plan(result)
        assert plan.seed == 1
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


def test_a_plan_within_a_bound_makes_the_repeat_that_loses_least_below_it() -> None:
    result = made_up_repeats((10, 22), (14, 9), (12, 9.5), (13, 3))  # the first has the best score, but the risk is 22
    study = Study((made_up_repeats((1, 60)), result))
    assert study.plan(result).seed == 103
    assert replace(study, risk_bound=15.0).best is result
    assert replace(study, risk_bound=15.0).plan().seed == 102
    assert replace(study, risk_bound=23.0).plan().seed == 100
    with pytest.raises(DataError, match="no run of 'noise' has a risk below 2 %, so it has no plan"):
        replace(study, risk_bound=2.0).plan(result)


def test_the_release_of_a_plan_keeps_the_bound(people: Microdata) -> None:
    """One repeat alone is below it, and that is not the one with the best score."""
    plain = {"attributes": ["age", "wealth"], "repeats": 6, "losses": ["il"], "seed": 3}
    method = [{"name": "noise", "attributes": ["age", "wealth"], "set": {"alpha": 0.3}}]
    study = run_study({**plain, "method": method}, people, workers=0)
    by_risk = sorted(study.best.runs, key=lambda run: run.risk)
    assert study.best.best_run() is not by_risk[0]
    bound = (by_risk[0].risk + by_risk[1].risk) / 2
    study = replace(study, risk_bound=bound)
    release = protect(people, study.plan(study.results[0]))
    assert assess(people, release, study.attributes, losses=["il"]).score.risk == by_risk[0].risk < bound


def test_a_front_of_two_has_no_bend() -> None:
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
        "candidate", "methods", "set.alpha", "set.k", "repeat", "sort", "measure", "value", "low", "high",
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
        "candidate,methods,set.k,repeat,sort,measure,value,low,high"
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
    assert measured.score.value == repeated.planned_run().score
    assert stat.S_IMODE(paths["plan-best.toml"].stat().st_mode) == 0o600
    with paths["table.csv"].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == [row["value"] for row in repeated.rows]
    replace(repeated, risk_bound=0.001).save(tmp_path / "out")
    assert not paths["plan-best.toml"].exists()


def test_neither_tables_nor_store_hold_seeds_or_values_of_records(people: Microdata, tmp_path: Path) -> None:
    plain = {"keys": ["age", "wealth"], "method": [{"name": "noise", "grid": {"alpha": [0.1]}}]}
    study = run_study(plain, people, out=tmp_path / "out", workers=0)
    seed = str(study.best.runs[0].seed)
    told = [(tmp_path / "out" / name).read_text() for name in ("table.csv", "summary.csv", "study.html")]
    assert not any(seed in text for text in told)
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
