"""What the commands say and keep of seeds: nothing on the screen, everything in private files."""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from microveil.cli.app import main

Command = Callable[..., tuple[int, str, str]]
LARGE = "0x8f3b0000000000000000000000000001"


@pytest.fixture
def microveil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """A command in a folder with people.csv: its status, and what it writes to stdout and stderr."""
    rows = "\n".join(f"{20 + i % 50},{1000 + 37 * i % 900}" for i in range(60))
    (tmp_path / "people.csv").write_text("age,income\n" + rows + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("microveil.cli.app.speak_of_compiling", lambda: None)  # only the first run of all has it
    monkeypatch.setattr("signal.signal", lambda number, action: None)  # this process keeps its own

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["microveil", *map(str, words)])
        try:
            main()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


def protect(*words: object) -> list[object]:
    return ["protect", "people.csv", "--method", "noise", "--out", "safe.csv", "--force", *words]


def kept(name: str = "safe.csv") -> str | int:
    seed: str | int = json.loads(Path(f"{name}.manifest.json").read_text())["plan"]["seed"]
    return seed


@pytest.mark.parametrize("seed", [0, 7, 999_999, "0xf423f"])
def test_a_seed_below_a_million_gets_one_line_of_warning(microveil: Command, seed: object) -> None:
    status, _, told = microveil(*protect("--seed", seed))
    assert status == 0
    warnings = [line for line in told.splitlines() if "seed" in line]
    assert len(warnings) == 1
    assert warnings[0].startswith("note: the seed ")
    assert warnings[0].endswith(
        "is easily guessed, and with it much of the masking undone; without --seed one is drawn"
    )


def test_the_warning_stands_in_the_json_too(microveil: Command) -> None:
    _, told, _ = microveil(*protect("--seed", 7, "--json"))
    assert json.loads(told)["warnings"] == [
        "the seed 7 is easily guessed, and with it much of the masking undone; without --seed one is drawn"
    ]
    _, told, _ = microveil(*protect("--json"))
    assert json.loads(told)["warnings"] == []


@pytest.mark.parametrize("words", [[], ["--seed", 1_000_000], ["--seed", LARGE]], ids=["drawn", "a million", "large"])
def test_larger_seeds_and_drawn_ones_get_none(microveil: Command, words: list[object]) -> None:
    status, _, told = microveil(*protect(*words))
    assert status == 0
    assert "seed" not in told


def test_a_drawn_seed_is_kept_in_the_private_manifest_and_not_shown(microveil: Command) -> None:
    _, out, err = microveil(*protect())
    seed = kept()
    assert isinstance(seed, str)
    assert int(seed, 16) > 2**100
    assert stat.S_IMODE(Path("safe.csv.manifest.json").stat().st_mode) == 0o600
    for text in (out, err, Path("safe.csv").read_text()):
        assert seed not in text
        assert str(int(seed, 16)) not in text


@pytest.mark.parametrize("seed", [LARGE, str(int(LARGE, 16))], ids=["hexadecimal", "decimal"])
def test_a_large_seed_makes_the_same_release_again(microveil: Command, seed: str) -> None:
    microveil(*protect("--seed", seed))
    assert kept() == LARGE
    status, _, told = microveil("protect", "people.csv", "--plan", "safe.csv.manifest.json", "--out", "again.csv")
    assert status == 0
    assert told == "note: the same bytes as the release this manifest came with\n"


@pytest.mark.parametrize("seed", ["9" * 5000, "-4", "1.5", "seven", "0x", str(2**256)])
def test_a_wrong_seed_is_one_sentence_with_the_bound(microveil: Command, seed: str) -> None:
    status, out, told = microveil(*protect("--seed", seed))
    assert (status, out) == (2, "")
    assert told.startswith("microveil: seed must be a whole number from 0 to 2^256 - 1, such as 20071 or '0x4e67'")
    assert len(told.splitlines()) == 1
    assert len(told) < 160
    assert not Path("safe.csv").exists()


def test_the_plan_of_a_manifest_gets_another_seed_for_another_file(microveil: Command) -> None:
    microveil(*protect("--seed", LARGE))
    Path("wave2.csv").write_text(Path("people.csv").read_text().replace("1037", "1038"))
    status, _, told = microveil("protect", "wave2.csv", "--plan", "safe.csv.manifest.json", "--out", "safe2.csv")
    assert status == 0
    assert told == (
        "note: the input is not the one this manifest was made from, so the release is a new one, with another seed\n"
    )
    assert kept("safe2.csv") != LARGE
    assert int(str(kept("safe2.csv")), 16) > 2**100
    microveil(*("protect", "wave2.csv", "--plan", "safe.csv.manifest.json", "--seed", LARGE, "--out", "safe3.csv"))
    assert kept("safe3.csv") == LARGE


STUDY = """
data = "people.csv"
repeats = 3
losses = ["sse"]
attacks = ["distance-linkage"]
[[method]]
name = "noise"
"""


def test_a_study_shows_the_mean_of_its_best_and_the_release_that_was_measured_again(microveil: Command) -> None:
    Path("s.toml").write_text(STUDY)
    status, out, err = microveil("study", "s.toml", "--out", "out", "--workers", 0)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    best = next(line for line in lines if line.startswith("best  "))
    again = next(line for line in lines if line.startswith("measured again  "))
    assert best.endswith(", means over 3 repeats")
    assert again.endswith(", with the new seed of the plan")
    plan = Path("out/plan-best.toml").read_text()
    seed = plan.split('seed = "')[1].split('"')[0]
    assert int(seed, 16) > 2**100
    assert plan.startswith("# Keep this file")
    assert stat.S_IMODE(Path("out/plan-best.toml").stat().st_mode) == 0o600
    assert stat.S_IMODE(Path("out/study.sqlite").stat().st_mode) == 0o600
    assert seed not in out + err
    _, told, _ = microveil("study", "s.toml", "--out", "out", "--workers", 0, "--json")
    (row,) = json.loads(told)["ranking"]
    assert f"loss {row['loss']:.2f}, risk {row['risk']:.2f}" in best
    assert f"loss {row['again_loss']:.2f}, risk {row['again_risk']:.2f}" in again
    assert Path("out/plan-best.toml").read_text() == plan  # started again, it is the same study


def test_a_study_without_a_seed_goes_on_with_the_cells_it_has_and_draws_others_when_fresh(microveil: Command) -> None:
    Path("s.toml").write_text(STUDY)
    assert microveil("study", "s.toml", "--dry-run", "--out", "out")[1].endswith("3 releases, 0 of them finished\n")
    assert not Path("out").exists()
    microveil("study", "s.toml", "--out", "out", "--workers", 0)
    assert microveil("study", "s.toml", "--dry-run", "--out", "out")[1].endswith("3 releases, 3 of them finished\n")
    before = Path("out/table.csv").read_text(), Path("out/plan-best.toml").read_text()
    microveil("study", "s.toml", "--out", "out", "--workers", 0, "--fresh")
    assert Path("out/table.csv").read_text() != before[0]
    assert Path("out/plan-best.toml").read_text() != before[1]


def test_no_command_prints_a_secret_seed_and_no_page_shows_one(microveil: Command) -> None:
    Path("s.toml").write_text(STUDY)
    told = []
    for words in (
        protect("--keys", "age", "--json"),
        ["describe", "people.csv", "--json"],
        ["risk", "people.csv", "--keys", "age", "--json"],
        ["assess", "people.csv", "safe.csv", "--attacks", "all", "--json"],
        ["report", "people.csv", "safe.csv", "--out", "internal.html", "--json"],
        ["report", "people.csv", "safe.csv", "--out", "public.html", "--public", "--json"],
        ["study", "s.toml", "--out", "out", "--workers", 0, "--json"],
        ["study", "s.toml", "--out", "out", "--workers", 0, "--dry-run", "--json"],
        ["demo", "--records", 100, "--out", "shown", "--json"],
    ):
        status, out, err = microveil(*words)
        assert status == 0, err
        told += [out, err]
    plan = Path("out/plan-best.toml").read_text()
    seeds = {kept(), plan.split('seed = "')[1].split('"')[0]}
    for found in Path("shown").glob("*.manifest.json"):
        seeds.add(json.loads(found.read_text())["plan"]["seed"])
    with sqlite3.connect("out/study.sqlite") as store:
        for query in ("select seed from cells", "select seed from secret"):
            seeds |= {seed for (seed,) in store.execute(query)}
    assert len(seeds) == 7  # the release, the plan of the study, its three repeats and its secret, the demonstration
    pages = [*Path().glob("*.html"), *Path("out").glob("*.html"), *Path("shown").glob("*.html")]
    assert len(pages) == 4
    tables = [*Path("out").glob("*.csv")]
    for text in (*told, *(path.read_text() for path in (*pages, *tables))):
        for seed in seeds:
            assert isinstance(seed, str)
            assert seed not in text
            assert seed.removeprefix("0x") not in text
            assert str(int(seed, 16)) not in text
