"""Methods, attacks, losses and scores of other packages: found by entry points, and reported where they fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from microveil import plugins, registry
from microveil.battery import run_battery
from microveil.errors import PluginError, UnknownNameError
from microveil.masking import Plan, Step
from microveil.masking.within import Within
from microveil.microdata.datasets.sample_survey import survey
from microveil.protection import protect
from microveil.registry import describe, find, make, names
from microveil.scoring import assess
from microveil.study import Candidate, run_study
from microveil.study.cells import Measures, cells_of

from .plugin_packages import install, install_example

MODULE = """
from microveil.masking.randomising.rounding import Rounding
from microveil.attacks.base import Attack
class Own(Rounding):
    name = "own"
class Unknown(Rounding):
    name, family = "unknown-family", "of my own"
    summary = "x"
own = Own()
"""


class Installed(Protocol):
    def __call__(self, package: str, groups: Mapping[str, Mapping[str, str]]) -> None: ...


def forget() -> None:
    """What is installed is looked for anew."""
    for cached in (plugins.declared, registry._plugins):
        cached.cache_clear()
    for module in ("plugged_in", "broken"):
        sys.modules.pop(module, None)


@pytest.fixture
def forgetful() -> Iterator[None]:
    forget()
    yield
    forget()


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgetful: None) -> Installed:
    """A way to install packages whose entry points lead to the modules `plugged_in` and `broken`."""
    (tmp_path / "plugged_in.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "broken.py").write_text("import a_module_that_nobody_has\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return lambda package, groups: install(tmp_path, package, "1.5", groups)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgetful: None) -> None:
    for folder in install_example(tmp_path / "site"):
        monkeypatch.syspath_prepend(str(folder))


def test_an_entry_of_another_package_is_found_by_its_name_and_says_where_it_comes_from(example: None) -> None:
    for kind, name in (("method", "laplace-noise"), ("attack", "value-interval"), ("loss", "absolute-error")):
        assert names(kind)[-1] == name
        assert find(kind, name).name == name
        entry = describe(kind, name)
        assert (entry["package"], entry["version"]) == ("microveil-example", "0.1.0")
    assert "package" not in describe("method", "mdav")


def test_a_built_in_name_is_found_without_looking_for_other_packages(
    forgetful: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = plugins.metadata.entry_points

    def entry_points(**chosen: str) -> object:
        assert not chosen.get("group", "").startswith("microveil"), "other packages were looked for"
        return usual(**chosen)

    monkeypatch.setattr(plugins.metadata, "entry_points", entry_points)
    assert find("method", "mdav").name == "mdav"
    assert make("method", "mdav").mask({"a": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}, seed=1).provenance.versions


def test_a_name_that_is_built_in_is_refused(installed: Installed, caplog: pytest.LogCaptureFixture) -> None:
    installed("other-mdav", {"microveil.methods": {"mdav": "plugged_in:Own"}})
    assert names("method").count("mdav") == 1
    assert find("method", "mdav").__module__ == "microveil.masking.microaggregation.mdav"
    assert caplog.messages == [
        "the method 'mdav' of package other-mdav 1.5 is not used: the name is that of a method of Microveil itself"
    ]


def test_a_package_that_cannot_be_imported_is_named_and_breaks_nothing_else(
    installed: Installed, caplog: pytest.LogCaptureFixture
) -> None:
    installed("half-installed", {"microveil.methods": {"half": "broken:Half", "own": "plugged_in:Own"}})
    assert names("method")[-1] == "own"
    sentence = (
        "the method 'half' of package half-installed 1.5 is not used: importing it fails "
        "(ModuleNotFoundError: No module named 'a_module_that_nobody_has')"
    )
    assert caplog.messages == [sentence]
    assert make("method", "own", {"base": 10.0}).mask({"a": [1.0, 12.0]}, seed=1).frame["a"].to_pylist() == [0.0, 10.0]
    with pytest.raises(PluginError) as refused:
        find("method", "half")
    assert str(refused.value) == sentence
    with pytest.raises(UnknownNameError):
        find("method", "quarter")


@pytest.mark.parametrize(
    ("name", "place", "why"),
    [
        ("other", "plugged_in:Own", "its class has another name than its entry point"),
        ("own", "plugged_in:own", "its entry point does not lead to a class of methods"),
        ("attack", "plugged_in:Attack", "its entry point does not lead to a class of methods"),
        ("own", "plugged_in:Absent", "importing it fails (AttributeError"),
        ("unknown-family", "plugged_in:Unknown", "it does not describe itself (unknown family of methods 'of my own'"),
    ],
)
def test_what_is_no_entry_is_refused(
    installed: Installed, caplog: pytest.LogCaptureFixture, name: str, place: str, why: str
) -> None:
    installed("odd", {"microveil.methods": {name: place}})
    assert name not in names("method")
    (said,) = caplog.messages
    assert f"the method '{name}' of package odd 1.5 is not used: {why}" in said
    with pytest.raises(PluginError):
        find("method", name)


def test_a_name_that_two_packages_declare_is_used_of_neither(
    installed: Installed, caplog: pytest.LogCaptureFixture
) -> None:
    installed("one", {"microveil.methods": {"own": "plugged_in:Own"}})
    installed("two", {"microveil.methods": {"own": "plugged_in:Own"}})
    assert "own" not in names("method")
    assert "one and two declare the same name" in caplog.messages[0]


def test_the_manifest_names_the_package_and_its_version_whatever_comes_after_it(example: None) -> None:
    people, method = survey(60, seed=3), make("method", "laplace-noise")
    release = method.mask(people, ["income"], seed=1)
    assert release.manifest("0")["versions"]["microveil-example"] == "0.1.0"
    later = make("method", "mdav").mask(release, ["age"])
    assert later.provenance.versions["microveil-example"] == "0.1.0"
    inside = Within(method=method, clusters=2).mask(people, ["income"], seed=1)
    assert inside.provenance.versions["microveil-example"] == "0.1.0"
    assert "microveil-example" not in make("method", "mdav").mask(people, ["age"], seed=1).provenance.versions


def test_plans_take_methods_of_other_packages(example: None) -> None:
    people = survey(60, seed=3)
    plan = Plan((Step("laplace-noise", {"scale": 0.5}, ("income",)), Step("mdav", {"k": 3}, ("age",))), seed=4)
    release = protect(people, plan)
    assert protect(people, release.plan).data.digest() == release.data.digest()


def test_an_assessment_runs_measures_of_other_packages_only_when_asked(example: None) -> None:
    people = survey(60, seed=3)
    release = make("method", "laplace-noise").mask(people, ["income"], seed=1)
    usual = assess(people, release)
    assert not {"value-interval", "absolute-error"} & {*usual.risks, *usual.losses}
    asked = assess(people, release, attacks=["value-interval"], losses=["absolute-error"])
    assert set(asked.risks) == {"value-interval"}
    assert set(asked.losses) == {"absolute-error"}
    assert "value-interval" in run_battery(people, release, ["income"], attacks=["value-interval"]).risks


@pytest.mark.parametrize("workers", [0, 2])
def test_studies_take_them_in_other_processes_too(example: None, workers: int) -> None:
    design = {
        "seed": 1,
        "attacks": ["value-interval"],
        "losses": ["absolute-error"],
        "method": [{"name": "laplace-noise", "attributes": ["income"], "grid": {"scale": [0.1, 1.0]}}],
    }
    study = run_study(design, survey(60, seed=3), workers=workers)
    assert study.failures == ()
    weak, strong = (result.value("absolute-error") for result in sorted(study.results, key=lambda r: r.number))
    assert weak < strong


def test_a_cell_of_a_study_depends_on_the_version_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a study that goes on after an update does not take old numbers for new ones."""
    candidate, measures = Candidate("x", (Step("own", {"base": 5.0}, ("age",)),)), Measures(("age",))
    (tmp_path / "plugged_in.py").write_text(MODULE, encoding="utf-8")
    digests = []
    for version in ("1.0", "2.0"):
        forget()
        install(tmp_path / version, "versioned", version, {"microveil.methods": {"own": "plugged_in:Own"}})
        with monkeypatch.context() as patched:
            for folder in (tmp_path, tmp_path / version):
                patched.syspath_prepend(str(folder))
            digests.append(cells_of(survey(30, seed=3), [(candidate, 1)], [1], measures)[0].digest)
    forget()
    assert digests[0] != digests[1]


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command line in a process in which the example package is installed."""
    folders = [*map(str, install_example(tmp_path / "site")), os.environ.get("PYTHONPATH", "")]
    settings = {**os.environ, "COLUMNS": "160", "PYTHONPATH": os.pathsep.join(filter(None, folders))}

    def microveil(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "microveil.cli", *map(str, arguments)]
        return subprocess.run(
            words, capture_output=True, text=True, env=settings, cwd=tmp_path, timeout=300, check=False
        )

    return microveil


def test_the_commands_know_the_entries_of_another_package(
    command: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    rows = "\n".join(f"{20 + i % 50},{1000 + 37 * i % 900}" for i in range(60))
    (tmp_path / "people.csv").write_text(f"age,income\n{rows}\n", encoding="utf-8")
    shown = command("methods", "laplace-noise")
    assert shown.returncode == 0, shown.stderr
    assert "Package: microveil-example 0.1.0\n" in shown.stdout
    assert "adds Laplace noise to every value (from microveil-example 0.1.0)" in command("methods").stdout
    made = command("protect", "people.csv", "--method", "laplace-noise", "--set", "scale=0.5", "--out", "safe.csv")
    assert made.returncode == 0, made.stderr
    manifest = json.loads((tmp_path / "safe.csv.manifest.json").read_text(encoding="utf-8"))
    assert manifest["versions"]["microveil-example"] == "0.1.0"
    again = command("protect", "people.csv", "--plan", "safe.csv.manifest.json", "--out", "again.csv")
    assert "the same bytes" in again.stderr
    words = ("--attacks", "value-interval", "--losses", "absolute-error", "--json")
    found = json.loads(command("assess", "people.csv", "safe.csv", *words).stdout)
    assert set(found["risks"]) == {"value-interval"}
    assert set(found["losses"]) == {"absolute-error"}


def test_the_commands_name_a_package_that_cannot_be_imported(
    command: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    install(tmp_path / "site", "half-installed", "1.5", {"microveil.methods": {"half": "nobody_has_this:Half"}})
    sentence = "the method 'half' of package half-installed 1.5 is not used: importing it fails"
    listed = command("methods")
    assert listed.returncode == 0
    assert f"note: {sentence}" in listed.stderr
    assert "laplace-noise" in listed.stdout
    asked = command("methods", "half")
    assert asked.returncode == 1
    assert asked.stderr.startswith(f"microveil: {sentence}")
    assert asked.stderr.count("\n") == 1
