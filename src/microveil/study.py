"""Many methods and parameters on one table, measured side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from microveil.masking import Plan, Release, Step
from microveil.microdata.microdata import as_microdata
from microveil.progress import Part, Progress, silent
from microveil.protection import protect
from microveil.scoring import Assessment, assess


@dataclass(frozen=True)
class Candidate:
    """A way of making the release: one or more steps, with a label people recognise."""

    label: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Result:
    """A candidate with its release and what was measured."""

    candidate: Candidate
    release: Release
    assessment: Assessment

    @property
    def loss(self) -> float:
        return self.assessment.score.loss

    @property
    def risk(self) -> float:
        return self.assessment.score.risk


@dataclass(frozen=True)
class Study:
    """Results from the best (lowest mean score) to the worst."""

    results: tuple[Result, ...]

    @property
    def best(self) -> Result:
        return self.results[0]

    @property
    def front(self) -> tuple[Result, ...]:
        """The results that no other beats in both loss and risk, by rising risk."""
        kept: list[Result] = []
        for result in sorted(self.results, key=lambda r: (r.risk, r.loss)):
            if not kept or result.loss < kept[-1].loss:
                kept.append(result)
        return tuple(kept)


def compare(
    data: Any, candidates: Sequence[Candidate], *, seed: int | None = None, progress: Progress = silent
) -> Study:
    """Make and measure a release for every candidate, all with the same seed and over the same attributes."""
    table = as_microdata(data)
    results = []
    touched: dict[str, None] = {}
    releases = []
    for number, candidate in enumerate(candidates):
        part = Part(progress, number / len(candidates) / 2, (number + 1) / len(candidates) / 2)
        release = protect(table, Plan(candidate.steps, seed), progress=part)
        touched.update(dict.fromkeys(release.provenance.attributes))
        releases.append(release)
    for number, (candidate, release) in enumerate(zip(candidates, releases, strict=True)):
        part = Part(progress, 0.5 + number / len(candidates) / 2, 0.5 + (number + 1) / len(candidates) / 2)
        results.append(Result(candidate, release, assess(table, release, tuple(touched), progress=part)))
    return Study(tuple(sorted(results, key=lambda r: (r.assessment.score.mean, r.candidate.label))))
