"""Search for pipelines with little loss and little risk: ask a sampler, measure, tell it, and measure the front anew.

A fixed number of pipelines is under way at any time: a sampler is told of the outcome of the oldest of them, in the
order in which it was asked, and is then asked for the next. So the number of worker processes changes nothing, and none
of them waits for the slowest of a batch. Every outcome is kept at once; a search that is started again asks for the
same pipelines, finds their outcomes, and goes on where it was.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from microveil.errors import Cancelled, DataError, ParameterError
from microveil.microdata import Microdata
from microveil.microdata.files.atomic import check_apart, make_folder
from microveil.microdata.microdata import as_microdata, resolve_attributes
from microveil.microdata.schema import KINDS
from microveil.progress import Progress, Rising, silent
from microveil.randomness import Streams, check_seed, derived_seed
from microveil.registry import find, names, usual_names
from microveil.scoring.assessing import INFORMED
from microveil.search.aims import Aim, seconds_of
from microveil.search.found import EXPLORED, FRONT, PLANS, Explored, Found, remove_results, tried_of
from microveil.search.measuring import Stairs, Trial, measure_trial
from microveil.search.samplers import (
    Point,
    Sampler,
    front_of,
    greatest_area,
    hypervolume_of,
    mean_of,
    sampler_of,
    worth_measuring,
)
from microveil.search.space import Pipeline, Space, key_of
from microveil.study import Study
from microveil.study.cells import Candidate, Cell, Measures, Named, cell_of, digest_of, planned_cell, shared_digest
from microveil.study.design import check_whole
from microveil.study.measuring import Outcome, Seen, Tried, unseen
from microveil.study.results import PAGE, PLAN, STORE, SUMMARY, TABLE
from microveil.study.runner import Crew, Line, Tally, Workers, workers_of
from microveil.study.running import check_folder, checked_workers, study_of_cells, with_planned
from microveil.study.store import Store

UNDER_WAY = 12  # pipelines that are asked for before the first of them is told of, whatever the number of processes
BUDGET = "10m"
_LONG, _SAMPLE = 5_000, 2_000  # records from which a race on a sample comes first, and of that sample
# records of a long table that are attacked, drawn at random: some for what is tried, more for the front
_ATTACKED = {"search": 2_000, "front": 5_000}
_FOR_THE_FRONT = 0.25  # share of the time that is left for measuring the front anew
_FINALISTS = 24  # most pipelines that are measured anew
_PER_FINALIST = 9  # pipelines that are tried for each member that is added beside the front
_REPEATS = 3  # how often, where they are random
_PATIENCE = 30.0  # seconds that are added where the time was too short for a pipeline that keeps to what is required
_ROOM = 0.7  # share of the bound on the risk that a random pipeline has to keep where only few are tried
_HOPELESS = 64  # pipelines after which a search gives up that has found none that keeps to what is required
MOST_EVALUATIONS = 1_000_000


def search(
    data: Any,
    *,
    risk_below: Any = None,
    attributes: Sequence[str] | None = None,
    known: Sequence[str] | None = None,
    attacks: Sequence[str] | Literal["all"] | None = None,
    losses: Sequence[str] | None = None,
    require: Mapping[str, Any] | None = None,
    at_most: Mapping[str, Any] | None = None,
    only: Iterable[str] = (),
    without: Iterable[str] = (),
    insist: Iterable[str] = (),
    budget: Any = None,
    evaluations: int | None = None,
    sampler: str = "sms-emoa",
    seed: int | None = None,
    out: str | Path | None = None,
    workers: int | Workers | None = None,
    fresh: bool = False,
    progress: Progress = silent,
    seen: Seen = unseen,
) -> Found:
    """Search for the pipelines of methods that lose least at every level of risk.

    The loss is that of an assessment, the risk the greatest share of records that any attack links: the usual attacks
    and that of an intruder who knows the plan, or with `attacks="all"` every attack that applies. With `risk_below`,
    the best is what loses least among those whose risk is below that percentage. `require` are guarantees such as
    {"k": 3}, `at_most` bounds in per cent on single losses or risks such as {"il": 20}. `only`, `without` and `insist`
    name methods. The search ends after a time (`budget`, 10 minutes unless told otherwise) or after so many
    `evaluations`, some of which measure random members of the front again; the same seed and number of evaluations
    find the same, whatever the number of `workers`.

    The front is measured once more at the end, on all records and with fresh seeds, because what a search has chosen
    was also lucky. With a folder `out` everything is kept there, and a search that is started again goes on. `seen` is
    called with every pipeline as soon as it is measured on all records, for those who want to look on.

    >>> people = {"age": [20, 22, 41, 43, 61, 65, 30, 33], "height": [170, 180, 175, 190, 160, 165, 171, 185]}
    >>> found = search(people, risk_below=60, only=["mdav"], evaluations=4, seed=1, workers=0)
    >>> found.best.candidate.family, found.best.risk < 60
    ('mdav', True)
    """
    table = as_microdata(data)
    aim = Aim.of(risk_below, require, at_most)
    chosen = resolve_attributes(table, attributes, KINDS, "a search")
    space = Space.of(table, chosen, only=only, without=without, insist=insist)
    _check_possible(aim, table)
    limits = Limits.of(budget, evaluations)
    workers = None if workers is None else checked_workers(workers)
    measures = Measures(chosen, None if known is None else tuple(known), _named(attacks), _named(losses), WORST)
    _check_measured(aim, measures)
    folder = None if out is None else Path(out)
    if folder is not None:
        check_folder(folder, FRONT, EXPLORED, PLANS)
        written = (STORE, TABLE, SUMMARY, PAGE, PLAN, FRONT, EXPLORED)
        check_apart([folder / name for name in written], [None if table.origin is None else table.origin.path])
        make_folder(folder)
    with Store(None if folder is None else folder / STORE, fresh=fresh) as store:
        key = store.secret if seed is None else check_seed(seed)
        run = _Run(table, space, aim, measures, limits, store, key, workers_of(workers), Rising(progress), seen)
        try:
            found = run.carried_out(sampler_of(sampler, space, Streams(key).generator("search"), aim.risk_below))
        except DataError:
            if folder is not None:
                remove_results(folder)  # of an earlier search: they do not keep to what is asked for now
            raise
    if folder is not None:
        found.save(folder)
    return found


WORST = Named("worst")


def _named(given: Sequence[str] | str | None) -> Any:
    """Measures by their names; `all`, and the usual ones where none are named."""
    if given is None or given == "informed":  # that is what a search fears unless told otherwise
        return None
    if given == "all":
        return given
    return tuple(Named(name) for name in ([given] if isinstance(given, str) else given))


def _check_possible(aim: Aim, table: Microdata) -> None:
    """Refuse at once what no release of the table can keep to."""
    k = aim.require.get("k", 1)
    if k > len(table):
        raise DataError(f"k at least {k:g} is not possible, because the table has {len(table):,} records")


def _check_measured(aim: Aim, measures: Measures) -> None:
    """Refuse bounds on what is not measured."""
    measured = {loss.name for loss in measures.losses} if measures.losses is not None else set(usual_names("loss"))
    if measures.attacks is None:
        measured |= {*usual_names("attack"), *INFORMED}
    elif isinstance(measures.attacks, str):
        measured |= set(names("attack"))
    else:
        measured |= {named.name for named in measures.attacks}
    for name in aim.at_most:
        if name not in measured:
            kind = "losses" if name in names("loss") else "attacks"
            raise ParameterError(f"{name} is bounded but not measured; name it among the {kind}")


@dataclass(frozen=True)
class Limits:
    """When a search ends: after so many seconds, or after so many pipelines."""

    seconds: float | None
    evaluations: int | None

    @classmethod
    def of(cls, budget: Any, evaluations: int | None) -> Limits:
        if evaluations is not None:
            check_whole("evaluations", evaluations, 1, MOST_EVALUATIONS)
            if budget is not None:
                raise ParameterError("a search ends after a time (budget) or after so many evaluations, not both")
            return cls(None, evaluations)
        return cls(seconds_of(BUDGET if budget is None else budget), None)


@dataclass
class _Asked:
    """A pipeline that a sampler was asked for, with the front at that time; `trial` is how it is measured now: first on
    a sample in a race, and then on all records or, where it was beaten, not at all. Of one that is measured again
    everything is measured, whatever the front."""

    pipeline: Pipeline
    front: Stairs
    trial: Trial | None
    race: Explored | None = None


class _Run:
    """One search on one table, with what was found so far."""

    def __init__(
        self, table: Microdata, space: Space, aim: Aim, measures: Measures, limits: Limits, store: Store, seed: int,
        workers: Workers, progress: Progress, seen: Seen,
    ) -> None:  # fmt: skip
        self.table, self.space, self.aim, self.measures = table, space, aim, measures
        self.limits, self.store, self.seed, self.workers = limits, store, seed, workers
        self.progress, self.seen = progress, seen
        self.began = time.monotonic()
        self.shared = shared_digest(table, measures)
        self.points: list[Point] = []
        self.raced: list[Point] = []  # as measured on the sample
        self.explored: list[Explored] = []
        self.trajectory: list[tuple[int, float]] = []
        self.candidates: dict[str, Candidate] = {}
        self.sample = _SAMPLE if len(table) >= _LONG else None
        self.asked_for = self.told = 0  # pipelines that the sampler was asked for, and told of
        self.runs: dict[str, list[Point]] = {}  # of every pipeline on all records, each with another seed
        self.added = False  # pipelines that no sampler has asked for
        self.hopeful = False  # something has kept to all that is asked for, if only by luck
        self.ended = False  # earlier, with the same wishes: nothing is to be added

    # --- the whole ---------------------------------------------------------------------------------------------------

    def carried_out(self, sampler: Sampler) -> Found:
        about = self._about(sampler)
        tried = self.store.noted(about)
        if tried is not None:  # a search with a time that came to its end
            self.ended, self.limits = True, Limits(None, int(tried))
        found = self._carried_out(sampler)
        if found.fresh and self.limits.seconds is not None and not self.added:
            self.store.note(about, str(self.told))
        return found

    def _about(self, sampler: Sampler) -> str:
        """What sets this search apart from others in the same folder."""
        space, aim = self.space, self.aim
        wishes = (aim.risk_below, dict(aim.require), dict(aim.at_most), self.limits.seconds)
        methods = (space.attributes, space.methods, space.insisted)
        return digest_of([self.shared, *methods, *wishes, type(sampler).__name__, hex(self.seed)])

    def _carried_out(self, sampler: Sampler) -> Found:
        try:
            with Crew(self.table, self.workers, measure_trial) as crew:
                self._explore(sampler, crew)
            if not self._is_met(_ROOM) and (self.limits.seconds is not None or self._is_met()):
                self._find_one()
            self._refuse_if_unmet()
            study = self._planned(self._study_of(self._measured_anew()))
        except (Cancelled, KeyboardInterrupt):
            if not front_of(self.points):
                raise
            self._refuse_if_unmet()
            return self._found(self._study_of(self._as_searched()), fresh=False)
        self.progress(1.0, "the front was measured with fresh seeds")
        return self._found(study, fresh=True)

    def _found(self, study: Study, *, fresh: bool) -> Found:
        return Found(study, tuple(self.explored), self.aim, tuple(self.trajectory), fresh=fresh)

    def _study_of(self, measured: Sequence[tuple[Trial, Outcome]]) -> Study:
        """The study of those that keep to what is required in all their runs."""
        study = study_of_cells(
            [trial for trial, _ in measured],
            {trial.digest: outcome for trial, outcome in measured},
            table=self.table, title="Search", score=WORST, risk_bound=self.aim.risk_below, call=("search", "data"),
        )  # fmt: skip
        kept = tuple(r for r in study.results if all(not self.aim.shortfalls(run.measured) for run in r.runs))
        return self._refused_if_none(replace(study, results=kept))

    def _explore(self, sampler: Sampler, crew: Crew) -> None:
        """One pipeline after the other, until the time or the number of evaluations is used up, or nothing new is
        left."""
        asked: deque[_Asked] = deque()
        sampler.doubts = self.sample is None  # of many records luck is a small part
        outcomes: dict[str, Outcome] = {}
        with crew.line(Tally(0, 0, lambda _, __: self._report())) as line:
            while self._asks_for_more(asked, sampler, line, outcomes) or asked:
                self._decide_races(asked, line, outcomes)
                trial = asked[0].trial
                if trial is None or trial.digest in outcomes:
                    self._tell(asked.popleft(), sampler, outcomes)
                elif (found := line.next(self._deadline)) is None:
                    return
                else:
                    self.store.keep(*found)
                    outcomes[found[0].digest] = found[1]
                    self._report()

    def _asks_for_more(self, asked: deque[_Asked], sampler: Sampler, line: Line, outcomes: dict[str, Outcome]) -> bool:
        """Ask for pipelines, until as many are under way as are to be; whether there were any."""
        more = False
        while len(asked) < UNDER_WAY and self._may_ask() and (pipelines := sampler.ask(1)):
            (pipeline,), more = pipelines, True
            front = _stairs(self.points)
            if before := len(self.runs.get(key_of(pipeline), ())):
                trial = self._trial(pipeline, before + 1, "search")
            else:
                trial = self._trial(pipeline, 1, "search", self.sample, () if self.sample else front)
            asked.append(_Asked(pipeline, front, trial))
            self.asked_for += 1
            self._hand_in(trial, line, outcomes)
        return more

    def _hand_in(self, trial: Trial, line: Line, outcomes: dict[str, Outcome]) -> None:
        known = self.store.outcomes([trial])
        self._count_as_used(known.values())
        outcomes |= known
        if not known:
            line.hand_in(trial)

    def _decide_races(self, asked: deque[_Asked], line: Line, outcomes: dict[str, Outcome]) -> None:
        """On a long table: measure those on all records that the sample does not show to be beaten, in the order in
        which they were asked for."""
        for one in asked:
            if one.race is not None or self.sample is None:
                continue
            assert one.trial is not None
            if one.trial.digest not in outcomes:
                return
            one.race = self._explored(one.pipeline, one.trial, outcomes.pop(one.trial.digest))
            self.raced.append(one.race.point)
            one.trial = None
            if any(point is one.race.point for point in worth_measuring(self.raced)):
                one.trial = self._trial(one.pipeline, 1, "search", None, one.front)
                self._hand_in(one.trial, line, outcomes)

    def _tell(self, one: _Asked, sampler: Sampler, outcomes: dict[str, Outcome]) -> None:
        self.explored += [] if one.race is None else [one.race]
        points = []
        if one.trial is not None:
            self.explored.append(self._explored(one.pipeline, one.trial, outcomes.pop(one.trial.digest)))
            self.seen(Tried.of(one.trial, self.explored[-1].outcome))
            points = [self._in_the_mean(self.explored[-1].point)]
        sampler.tell(points)
        self.told += 1
        self.trajectory.append((self.told, hypervolume_of(self.points)))
        self._give_up_if_hopeless()

    def _in_the_mean(self, point: Point) -> Point:
        """The mean of all runs of its pipeline, in place of what was known of it."""
        runs = self.runs.setdefault(key_of(point.pipeline), [])
        runs.append(point)
        if len(runs) == 1:
            self.points.append(point)
            return point
        at = next(i for i, other in enumerate(self.points) if other.pipeline is runs[0].pipeline)
        mean = mean_of(runs)
        self.points[at] = mean
        return mean

    def _may_ask(self) -> bool:
        if self.limits.evaluations is not None:
            return self.asked_for < self.limits.evaluations
        return not self._time_is_up()

    @property
    def _end(self) -> float | None:
        """When the time is used up; what an earlier run has used counts."""
        return None if self.limits.seconds is None else self.began + self.limits.seconds

    @property
    def _deadline(self) -> float | None:
        """When exploring ends, so that time is left for the front."""
        seconds = self.limits.seconds
        return None if seconds is None else self.began + (1.0 - _FOR_THE_FRONT) * seconds

    def _time_is_up(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    # --- single pipelines --------------------------------------------------------------------------------------------

    def _measured(
        self, pipelines: Sequence[Pipeline], crew: Crew, until: float | None, sample: int | None, front: Stairs
    ) -> list[Point]:
        trials = [self._trial(pipeline, 1, "search", sample, front) for pipeline in pipelines]
        outcomes = self._outcomes(trials, crew, until)
        found = [
            self._explored(pipeline, trial, outcomes[trial.digest])
            for pipeline, trial in zip(pipelines, trials, strict=True)
            if trial.digest in outcomes
        ]
        self.explored += found
        return [one.point for one in found]

    def _explored(self, pipeline: Pipeline, trial: Trial, outcome: Outcome) -> Explored:
        measured = outcome.measured
        point = Point(pipeline)
        if measured is not None:
            violation = self.aim.violation(measured)
            point = Point(pipeline, measured.loss, measured.risk, violation, measured.complete)
        return Explored(trial, point, outcome)

    def _trial(
        self, pipeline: Pipeline, repeat: int, purpose: str, sample: int | None = None, front: Stairs = ()
    ) -> Trial:
        key, candidate = key_of(pipeline), self._candidate(pipeline)
        seed = derived_seed(self.seed, purpose, key, repeat)
        cell = cell_of(self.shared, candidate, repeat, seed, self.measures)
        return self._as_trial(cell, purpose, sample, front)

    def _candidate(self, pipeline: Pipeline) -> Candidate:
        key = key_of(pipeline)
        if key not in self.candidates:
            self.candidates[key] = self.space.candidate(pipeline)
        return self.candidates[key]

    def _as_trial(self, cell: Cell, purpose: str, sample: int | None = None, front: Stairs = ()) -> Trial:
        required, bounded = tuple(self.aim.require), tuple(self.aim.at_most)
        told = (purpose, required, bounded, front, sample, hex(self.seed) if sample else None)
        made = (cell.candidate, cell.repeat, cell.seed, cell.measures, digest_of([cell.digest, *told]))
        attacked = _ATTACKED.get(purpose) if len(self.table) >= _LONG else None
        return Trial(*made, required, front, sample, self.seed, purpose == "search", bounded, attacked)

    def _outcomes(self, trials: Sequence[Cell], crew: Crew, until: float | None) -> dict[str, Outcome]:
        """What is known of these trials, or is found before the time is up."""
        known = self.store.outcomes(trials)
        self._count_as_used(known.values())
        waiting = [] if self.ended else [trial for trial in trials if trial.digest not in known]
        tally = Tally(len(waiting), 0, lambda _, __: self._report())
        for cell, outcome in crew.outcomes(waiting, tally, until):
            self.store.keep(cell, outcome)
            known[cell.digest] = outcome
            tally.end(cell)
        return known

    def _count_as_used(self, known: Iterable[Outcome]) -> None:
        """The time that an earlier run has used counts."""
        self.began -= sum(outcome.seconds for outcome in known) / max(1, self.workers.count)

    def _report(self) -> None:
        done, volume = self.told, self.trajectory[-1][1] if self.trajectory else 0.0
        told = f"{done:,} pipelines tried, hypervolume {volume:.1f} %"
        if self.limits.seconds is None:
            self.progress(0.9 * min(1.0, done / (self.limits.evaluations or 1)), told)
        else:
            used = time.monotonic() - self.began
            left = f", {_clock(max(0.0, self.limits.seconds - used))} left"
            self.progress(0.9 * min(1.0, used / self.limits.seconds), told + left)

    # --- what cannot be reached --------------------------------------------------------------------------------------

    def _give_up_if_hopeless(self) -> None:
        """Say what was nearest where none of many pipelines has ever kept to what is required."""
        self.hopeful = self.hopeful or self._is_met()
        if len(self.points) >= _HOPELESS and not self.hopeful:
            self._refuse_if_unmet()

    def _is_met(self, room: float = 1.0) -> bool:
        """Whether one of the pipelines keeps to all that is asked for; a random one, with `room` for another seed, to
        that share of the bound on the risk."""
        bound = self.aim.risk_below
        return any(
            bound is None or point.risk < bound * (room if self._candidate(point.pipeline).is_random else 1.0)
            for point in front_of(self.points)
        )

    def _refuse_if_unmet(self) -> None:
        if self._is_met():
            return
        measured = [e for e in self.explored if e.outcome.measured is not None and e.trial.sample is None]
        if not measured:
            reason = self.explored[0].outcome.reason if self.explored else "none could be tried"
            raise DataError(f"none of {tried_of(self.explored):,} pipelines could be carried out ({reason})")
        means = {id(point.pipeline): (point.violation, point.risk) for point in self.points}
        nearest = min(measured, key=lambda e: (*means[id(e.point.pipeline)], -e.point.violation, -e.point.risk))
        assert nearest.outcome.measured is not None
        raise DataError(
            f"none of {tried_of(self.explored):,} pipelines keeps to {self.aim.words}; the nearest is "
            f"'{nearest.trial.candidate.label}' with {self.aim.told(nearest.outcome.measured)}"
        )

    def _find_one(self) -> None:
        """One good plan after the other until one keeps to all that is asked for: a search returns something. In a
        search with a time the first takes as long as it takes, the others not much longer than there was time for."""
        tried = {key_of(point.pipeline) for point in self.points}
        until = None if self.limits.seconds is None else time.monotonic() + _PATIENCE
        with Crew(self.table, Workers(0), measure_trial) as crew:
            for pipeline in self._quickly_made():
                if key_of(pipeline) not in tried:
                    has_any = any(isfinite(point.violation) for point in self.points)
                    self.added = True
                    self.points += self._measured([pipeline], crew, until if has_any else None, None, ())
                    is_late = until is not None and has_any and time.monotonic() >= until
                    if self._is_met(_ROOM) or len(self.points) >= _HOPELESS or is_late:
                        return

    def _quickly_made(self) -> list[Pipeline]:
        """Good plans to start from, of as many as there are methods those first that are quickly made; with a bound on
        the risk the strongest first."""
        starts, some = self.space.starts(), len(self.space.methods)
        starts = starts if self.aim.risk_below is None else starts[::-1]
        rounds = [starts[i : i + some] for i in range(0, len(starts), some)]
        return [pipeline for one in rounds for pipeline in sorted(one, key=_takes_long)]

    # --- the front, measured anew ------------------------------------------------------------------------------------

    def _as_searched(self) -> list[tuple[Trial, Outcome]]:
        """The front as the search has measured it."""
        return [(one.trial, one.outcome) for point in front_of(self.points) for one in self._explored_of(point)]

    def _measured_anew(self) -> list[tuple[Trial, Outcome]]:
        """The front with fresh seeds, random pipelines several times; in a search with a time as often as it allows,
        but the first at least once."""
        finalists = self._finalists()
        fixed = [point for point in finalists if not self._candidate(point.pipeline).is_random]
        drawn = [point for point in finalists if point not in fixed]
        trials = [self._trial(point.pipeline, 1, "front") for point in (*fixed, *drawn)]
        trials += [self._trial(p.pipeline, repeat, "front") for repeat in range(2, _REPEATS + 1) for p in drawn]
        measured: list[tuple[Trial, Outcome]] = []
        first = 0 if fixed or self.limits.seconds is None else 1
        for some, until in ((trials[:first], None), (trials[first:], self._end)):
            if some:
                with Crew(self.table, self.workers.at_most(len(some)), measure_trial) as crew:
                    found = self._outcomes(some, crew, until)
                measured += [(trial, found[trial.digest]) for trial in some if trial.digest in found]
        again = {trial.candidate.label for trial, _ in measured}
        # any seed makes the same of what is not random
        late = (one for point in fixed for one in self._explored_of(point))
        return measured + [(one.trial, one.outcome) for one in late if one.trial.candidate.label not in again]

    def _finalists(self) -> list[Point]:
        """What is measured anew, the most important first: the best within the bound, then always the one that adds
        most to the area that those before it dominate; after the front what comes next to it, for some of it may have
        been less lucky than the front, and no worse."""
        left, bound = [point for point in self.points if point.is_feasible and point.complete], self.aim.risk_below
        best = [point for point in front_of(left) if bound is not None and point.risk < bound][-1:]
        best = best or sorted(front_of(left), key=lambda point: point.loss + point.risk)[:1]
        chosen = list(best)
        most = min(_FINALISTS, max(len(front_of(left)), self.told // _PER_FINALIST))
        while len(chosen) < most and (front := front_of(left)):
            chosen += greatest_area(front, best, most - len(chosen))
            held = set(map(id, front))
            left, best = [point for point in left if id(point) not in held], []
        return chosen

    def _explored_of(self, point: Point) -> list[Explored]:
        """The runs on all records that a point is the mean of."""
        whole = (one for one in self.explored if one.trial.sample is None)
        return [one for one in whole if one.point.pipeline is point.pipeline]

    def _refused_if_none(self, study: Study) -> Study:
        """The study, if any of the front still keeps to what is asked for."""
        if study.admissible:
            return study
        raise DataError(
            f"what kept to {self.aim.words} in the search does not with fresh seeds; a longer search may find more"
            if self.aim.words
            else f"none of the front could be made with fresh seeds ({study.failures[0].reason})"
        )

    def _planned(self, study: Study) -> Study:
        """With the release that the plan of the best makes; where that does not keep to all that is asked for, the next
        is the best."""
        while True:
            study = self._refused_if_none(with_planned(study, self._planned_cell, self._planned_outcome))
            again = study.best.again
            if again is None or not self.aim.shortfalls(again.measured):
                return study
            others = tuple(result for result in study.results if result is not study.best)
            study = self._refused_if_none(replace(study, results=others))

    def _planned_cell(self, candidate: Candidate) -> Trial:
        cell = planned_cell(self.table, candidate, self.measures, self.store.secret)
        return self._as_trial(cell, "plan")

    def _planned_outcome(self, cell: Cell) -> Outcome:
        with Crew(self.table, Workers(0), measure_trial) as crew:
            return self._outcomes([cell], crew, None)[cell.digest]


def _stairs(points: Sequence[Point]) -> Stairs:
    return tuple((point.loss, point.risk) for point in front_of(points))


def _takes_long(pipeline: Pipeline) -> bool:
    """Whether a pipeline takes long on a long table, by what its methods are: groups take longer than drawing."""
    return any(find("method", step.method).family not in ("swapping", "randomising") for step in pipeline)


def _clock(seconds: float) -> str:
    """A time that is left, in words.

    >>> _clock(42), _clock(125)
    ('42 s', '2 min 5 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
