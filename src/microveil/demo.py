"""The demonstration: the sample survey, several ways of protecting it, and the best of them as a release."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from microveil.masking import Step
from microveil.masking.release import check_destination
from microveil.microdata import Microdata, files
from microveil.microdata.datasets.sample_survey import survey
from microveil.microdata.files.atomic import check_output, make_folder, write_text
from microveil.progress import Part, Progress, silent
from microveil.protection import protect
from microveil.study import Candidate, Study, compare
from microveil.study.page import study_page


@dataclass(frozen=True)
class Demo:
    """What the demonstration made."""

    data: Microdata
    study: Study
    survey_file: Path
    schema_file: Path
    release_file: Path
    manifest_file: Path
    private_file: Path | None
    page: Path
    again: str


def candidates(data: Microdata) -> list[Candidate]:
    """Each numeric method at several strengths, together with PRAM on the categorical keys.

    `best` is what we recommend for numeric keys; here it gets a tenth of its usual time.
    """
    numeric = tuple(name for name in data.schema.keys if data[name].kind == "numeric")
    categorical = tuple(name for name in data.schema.keys if data[name].kind != "numeric")
    ways: list[tuple[str, dict[str, Any]]] = [
        *(("best", {"k": k, "polish": 15_000}) for k in (3, 10, 25)),
        *(("mdav", {"k": k}) for k in (3, 10, 25)),
        *(("rank-swapping", {"p": p}) for p in (2.0, 5.0, 10.0, 20.0)),
        *(("noise", {"alpha": alpha}) for alpha in (0.05, 0.2, 0.5)),
    ]
    made = []
    for method, parameters in ways:
        for p in (0.9, 0.7):
            (name, value), *_ = parameters.items()
            label = f"{method} {name}={value:g}, pram p={p:g}"
            steps = (Step(method, parameters, numeric), Step("pram", {"p": p}, categorical))
            made.append(Candidate(label, steps))
    return made


def run(folder: Path, *, records: int = 2000, seed: int = 1, force: bool = False, progress: Progress = silent) -> Demo:
    """Make the survey, compare the candidates, and write the best release, its manifest, its private file and the page.

    The survey and the comparison depend on `seed`; the release has a secret seed of its own.
    """
    make_folder(folder)
    names = ("survey.csv", "survey.toml", "release.csv", "risk-utility.html")
    paths = [check_output(folder / name, force=force) for name in names]
    survey_file, schema_file, release_file, page = paths
    check_destination(release_file, force=force)
    data = survey(records, seed)
    study = compare(data, candidates(data), seed=seed, progress=Part(progress, 0.0, 0.95))
    study = replace(study, title="Which release? A sample survey, protected in many ways")
    release = protect(data, study.plan(), progress=Part(progress, 0.95, 0.98))
    files.write(data, survey_file, force=force)
    data.schema.write(schema_file, force=force)
    _, manifest_file, private_file, _ = release.save(release_file, force=force)
    inputs = ["microveil", "protect", str(survey_file), "--plan", str(manifest_file)]
    again = shlex.join([*inputs, "--out", str(folder / "again.csv")])
    lead = f"{records:,} fictional persons; {len(study.results)} candidates; {study.knowledge}."
    write_text(page, study_page(study, again=again, lead=lead), force=force)
    progress(1.0, "demo: writing")
    return Demo(data, study, survey_file, schema_file, release_file, manifest_file, private_file, page, again)
