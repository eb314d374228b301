"""What an intruder who knows the plan of a release, but not its seed, makes of it: how likely each released record is
given the true values of each person.

Methods say it of themselves where they can (`Method.likelihood`). Where they cannot, or where several steps treat an
attribute, the intruder carries out the plan on what they know, with seeds of their own. What no step draws comes out as
in the release, which can be seen by comparing the two; what is drawn shows how released values scatter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from microveil.comparison.columns import Columns
from microveil.comparison.common_codes import common_codes, is_number, numbered
from microveil.comparison.drawing import sortable_cells
from microveil.comparison.labels import labels_of
from microveil.comparison.pairs import Pair
from microveil.comparison.transitions import variable_in
from microveil.errors import MicroveilError
from microveil.masking.base import Method
from microveil.masking.likelihood import Kept, Normal, Shift, Statement, Transition
from microveil.masking.replaying import changes_values, method_of, replayed
from microveil.microdata import Microdata
from microveil.numerics.core.ordering import in_order, keeps_order, positions_in
from microveil.numerics.counting.distinct_rows import number_rows
from microveil.numerics.linkage.likelihood import (
    BonusTerm,
    Candidates,
    NormalTerm,
    Scores,
    ShiftTerm,
    TableTerm,
    Term,
)
from microveil.progress import Part, Progress
from microveil.randomness import PublicStreams, derived_seed
from microveil.typing import BoolArray, FloatArray, IntArray

_ROUNDING = 1e-9  # of the range: released numbers that differ by less are equal
_LIKELY = 0.5  # the share of records that must come out as released for a replay to tell something
_CERTAIN = 1.0 - 1e-9
_GUESSED_SHARE = 0.8  # of categories that are taken to be kept, where nothing is known of the masking
_GUESSED_SCALE = 0.05  # standard deviations that numbers are taken to move at least, where nothing is known
_GUESSED_CORRELATION = 0.5  # of true and released values, where a method looks at attributes that are not known
_TAILS = 8.0  # degrees of freedom: what replays show is no exact distribution
_DRAWS = 100  # residuals from which the scatter around a value is learnt
_HONEST = 1.25  # by so much the spread of a replay may differ from that of the release
_SELDOM = 0.02  # shares of unchanged values from which on they count apart
_OUTSIDE = -12.0  # for a value outside of what a label stands for
_MOST_CELLS = 4_000_000  # of a table of categories
_REPLAYED_RECORDS = 100_000  # over all replays, unless told how many

Plan = list[tuple[Method, tuple[str, ...]]]


@dataclass(frozen=True)
class Evidence:
    """The scores of distinct records and persons, and which of these each record and person of the file is.

    `decided` are the attributes that came out of a replay exactly as they were released.
    """

    scores: Scores
    record_of: IntArray
    person_of: IntArray
    decided: tuple[str, ...]


def evidence_of(
    pair: Pair, attributes: tuple[str, ...], replays: int | None, seed: int, progress: Progress, name: str
) -> Evidence:
    """What the plan of the release tells about these known attributes."""
    for attribute in attributes:
        _read(pair, attribute)
    reading = _Reading(pair, attributes, _plan_of(pair, attributes), replays, seed, progress, name)
    released, known = _Codes.of([common_codes(*reading.columns(n)) for n in attributes], len(pair))
    decided = reading.decided()
    terms = [*decided.terms, *reading.terms(decided.left)]
    exact = [*decided.codes, *reading.kept_states(decided.left)]
    must, codes = _Codes.joined(exact, len(pair))
    scores = Scores(
        [_at(term, released.first, known.first) for term in terms],
        Candidates.of(must, known.of_record),
        codes[released.first],
        np.bincount(known.of_record),
    )
    progress(1.0, f"{name}: plan read")
    return Evidence(scores, released.of_record, known.of_record, decided.exact)


def _read(pair: Pair, name: str) -> None:
    """Refuse what the schema of the tables refuses."""
    for table in (pair.original,) if name in pair.recoded else (pair.original, pair.masked):
        if pair.original[name].kind == "numeric":
            table.numbers(name)
        elif table is pair.original:
            pair.original.categories(name)
        else:
            pair.categories(name)


def _plan_of(pair: Pair, attributes: tuple[str, ...]) -> Plan:
    """The steps of the release on the attributes that are known."""
    plan: Plan = []
    if pair.release is None:
        return plan
    provenance = pair.release.provenance
    for step in provenance.steps:
        treated = tuple(name for name in provenance.masked_by(step) if name in attributes)
        if treated and changes_values(step):
            plan.append((method_of(step), treated))
    return plan


def _at(term: Term, records: IntArray, persons: IntArray) -> Term:
    """A term on all records and persons, for the distinct ones among them."""
    if isinstance(term, TableTerm):
        return TableTerm(term.logs, term.released[records], term.known[persons])
    if isinstance(term, BonusTerm):
        return BonusTerm(term.bonus[records], term.released[records], term.known[persons])
    if isinstance(term, ShiftTerm):
        released, known = (
            tuple(r[at] for r in ranks) for ranks, at in ((term.released, records), (term.known, persons))
        )
        return ShiftTerm(term.logs, term.beyond, term.twice, term.values, released, known)  # type: ignore[arg-type]
    assert isinstance(term, NormalTerm)
    return NormalTerm(
        term.released[records], term.centre[persons], term.scale[persons], term.precision, term.freedom,
        term.base[records],
    )  # fmt: skip


@dataclass(frozen=True)
class _Codes:
    """Distinct records: the number of each record's, and a record that has it."""

    of_record: IntArray
    first: IntArray

    @classmethod
    def of(cls, columns: Sequence[tuple[IntArray, IntArray]], records: int) -> tuple[_Codes, _Codes]:
        """The distinct released and the distinct known records, from the codes of known and released cells."""
        released, known = (cls(*number_rows([column[side] + 1 for column in columns])) for side in (1, 0))
        return released, known

    @staticmethod
    def joined(columns: Sequence[tuple[IntArray, IntArray]], records: int) -> tuple[IntArray, IntArray]:
        """The codes of several columns as one, in both files alike."""
        if not columns:
            return np.zeros(records, dtype=np.int64), np.zeros(records, dtype=np.int64)
        rows, _ = number_rows([np.concatenate(column) + 1 for column in columns])
        return rows[:records], rows[records:]


@dataclass(frozen=True)
class _Decided:
    """What replays tell of the attributes that no step draws: exact codes (expected, released) of some, terms of others
    that nearly came out as released; the attributes that are `left` have to be learnt from how they scatter."""

    exact: tuple[str, ...]
    codes: list[tuple[IntArray, IntArray]]
    terms: list[Term]
    left: tuple[str, ...]


@dataclass
class _Reading:
    """An intruder at work: with the plan, what they know, and what is released."""

    pair: Pair
    attributes: tuple[str, ...]
    plan: Plan
    wanted: int | None
    seed: int
    progress: Progress
    name: str

    def __post_init__(self) -> None:
        self._made: list[Microdata | None] = []

    def columns(self, name: str) -> tuple[pa.Array, pa.Array]:
        return self.pair.original.arrow(name), self.pair.masked.arrow(name)

    def _methods(self, name: str) -> list[Method]:
        return [method for method, treated in self.plan if name in treated]

    # --- carrying out the plan -------------------------------------------------------------------------------------

    @cached_property
    def _replays(self) -> int:
        if self.wanted is not None:
            return self.wanted
        most = 5 if any(method.draws for method, _ in self.plan) else 2  # another order of records changes little
        return min(most, max(1, _REPLAYED_RECORDS // max(1, len(self.pair))))

    @cached_property
    def _order(self) -> IntArray:
        """The persons in the order of what is known of them: the order of the file plays no part."""
        return np.lexsort([sortable_cells(self.pair.original.arrow(name)) for name in self.attributes])

    def replay(self, number: int) -> Microdata | None:
        """What becomes of the known values when the plan is carried out once more; nothing if that is not possible."""
        while len(self._made) <= number:
            self._made.append(self._replay(len(self._made)))
        return self._made[number]

    def _replay(self, number: int) -> Microdata | None:
        streams = PublicStreams(self.seed)
        order = self._order
        if number:
            order = order[streams.generator(self.name, "order", str(number)).permutation(len(order))]
        table = self.pair.original.select(self.attributes).take(order)
        part = Part(self.progress, number / self._replays, (number + 1) / self._replays)
        try:
            made = replayed(table, self.plan, derived_seed(self.seed, self.name, number), part)
        except MicroveilError as problem:
            _reraise_cancelled(problem)
            return None
        return made.take(positions_in(order)) if len(made) == len(order) else None

    def _all_replays(self) -> list[Microdata]:
        made = [self.replay(number) for number in range(self._replays)]
        return [table for table in made if table is not None]

    # --- what no step draws ----------------------------------------------------------------------------------------

    def decided(self) -> _Decided:
        """Attributes whose released values follow from the known ones, as far as a replay comes out as released."""
        names = tuple(n for n in self.attributes if not any(method.draws for method in self._methods(n)))
        if not names:
            return _Decided((), [], [], self.attributes)
        together = self._expected(names, 0)
        if together is not None and _overlap(*together) == 1.0:
            return _Decided(names, [together], [], tuple(n for n in self.attributes if n not in names))
        exact: list[str] = []
        codes: list[tuple[IntArray, IntArray]] = []
        terms: list[Term] = []
        for part in self._masked_together(names):
            found = [self._expected(part, number) for number in range(self._replays if self._methods(part[0]) else 1)]
            best = max((one for one in found if one is not None), key=lambda one: _overlap(*one), default=None)
            if best is None or _overlap(*best) < _LIKELY:
                continue
            if _overlap(*best) == 1.0:
                exact += part
                codes.append(best)
            else:
                terms.append(_bonus(best, _overlap(*best)))
        return _Decided(tuple(exact), codes, terms, tuple(n for n in self.attributes if n not in exact))

    def _masked_together(self, names: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The attributes in groups, those that a step treats together being in the same."""
        groups = [{name} for name in names]
        for _, treated in self.plan:
            meeting = [group for group in groups if group & set(treated)]
            groups = [group for group in groups if group not in meeting]
            groups += [set().union(*meeting)] if meeting else []
        return [tuple(name for name in names if name in group) for group in groups]

    def _expected(self, names: tuple[str, ...], number: int) -> tuple[IntArray, IntArray] | None:
        """The released records that each person is expected to have, and those that there are, as codes."""
        touched = any(self._methods(name) for name in names)
        made = self.replay(number) if touched else self.pair.original
        if made is None:
            return None
        cells = [common_codes(made.arrow(name), self.pair.masked.arrow(name), _ROUNDING) for name in names]
        return _Codes.joined(cells, len(self.pair))

    def kept_states(self, names: Sequence[str]) -> list[tuple[IntArray, IntArray]]:
        """Which cells are missing, for attributes in which a replay leaves missing cells as they are."""
        found = []
        for name in (name for name in names if name not in self.pair.recoded):
            before, after = (
                table.missing_states(name).astype(np.int64) for table in (self.pair.original, self.pair.masked)
            )
            if not (before.any() or after.any()) or not self._methods(name) or _overlap(before, after) < 1.0:
                continue
            made = self.replay(0)
            if made is not None and np.array_equal(_states(made, name, self.pair.original), before):
                found.append((before, after))
        return found

    # --- what is drawn ---------------------------------------------------------------------------------------------

    def terms(self, names: tuple[str, ...]) -> list[Term]:
        """What the released values of these attributes tell, one term for those that belong together."""
        stated = self._stated(names)
        terms = [term for block, statement in stated.items() for term in self._of_statement(block, statement)]
        left = [name for name in names if not any(name in block for block in stated)]
        labelled = {name: labels_of(self.pair, name) for name in left if name in self.pair.recoded}
        terms += [_of_labels(found) for found in labelled.values() if found is not None]
        left = [name for name in left if labelled.get(name) is None]
        numbers = [name for name in left if self.pair.original[name].kind == "numeric"]
        in_order = [name for name in numbers if self._keeps_order(name)]
        terms += [self._of_shift(name, Shift(np.ones(1), False)) for name in in_order]
        scattered = [name for name in numbers if name not in in_order]
        terms += self._of_numbers(scattered) if scattered else []
        return [*terms, *(self._of_categories(name) for name in left if name not in numbers)]

    def _stated(self, names: tuple[str, ...]) -> dict[tuple[str, ...], Statement]:
        """What the methods say of themselves, where it is all that there is to be said."""
        streams = PublicStreams(self.seed)
        said: dict[tuple[str, ...], list[Statement]] = {}
        for method, treated in self.plan:
            if set(treated) & set(names):
                for block, statement in self._said(method, treated, streams).items():
                    said.setdefault(block, []).append(statement)
        found: dict[tuple[str, ...], Statement] = {}
        for block, statements in said.items():
            alone = all(len(self._methods(name)) == len(statements) for name in block)
            if not alone or not set(block) <= set(names) or set(block) & set(self.pair.recoded):
                continue
            shifts = [one for one in statements if isinstance(one, Shift)]
            if len(statements) == 1:
                found[block] = statements[0]
            elif len(shifts) == len(statements):
                together = shifts[0]
                for later in shifts[1:]:
                    together = together.then(later)
                found[block] = together
        return found

    def _said(
        self, method: Method, treated: tuple[str, ...], streams: PublicStreams
    ) -> Mapping[tuple[str, ...], Statement]:
        original = self.pair.original
        if original.schema.household and any(original[name].level == "household" for name in treated):
            return {}  # the method saw households, and its statement would be about persons
        try:
            return method.likelihood(self.pair.original.select(self.attributes), treated, streams)
        except MicroveilError as problem:
            _reraise_cancelled(problem)
            return {}

    def _of_statement(self, block: tuple[str, ...], statement: Statement) -> list[Term]:
        if isinstance(statement, Transition):
            variable, published = variable_in(self.pair, block, statement.matrix)
            if len(variable.members) != len(statement.matrix):
                return [self._of_categories(name) for name in block]
            counts = variable.frequencies.astype(np.float64)
            changed: Term = TableTerm.of(statement.matrix, counts, published, variable.codes)
            apart = variable.codes < 0
            # records of a compound with a missing cell are left alone
            return [changed, self._of_kept(block, _CERTAIN, apart)] if len(block) > 1 and apart.any() else [changed]
        if isinstance(statement, Shift):
            return [self._of_shift(block[0], statement)]
        if isinstance(statement, Kept):
            return [self._of_kept(block, statement.share)]
        return self._of_normal(block, statement)

    def _of_shift(self, name: str, statement: Shift) -> Term:
        columns = Columns.of(self.pair, (name,))
        before, after = columns.before[0], columns.after[0]
        values = int((~np.isnan(before)).sum())
        ranks = [_ranks(column, values) for column in (after, before)]
        return ShiftTerm.of(statement.probabilities, statement.bounded, values, *ranks)

    def _of_kept(self, block: tuple[str, ...], share: float, persons: BoolArray | None = None) -> Term:
        """Cells of which this share are kept; those of `persons` if not of all. A cell missing in one place tells
        nothing, unless there are others beside it."""
        cells = [common_codes(*self.columns(name)) for name in block]
        known, released = _Codes.joined(cells, len(self.pair))
        if len(block) == 1:
            known, released = (
                np.where(side < 0, -1, codes) for side, codes in zip(cells[0], (known, released), strict=True)
            )
        return _bonus((known if persons is None else np.where(persons, known, -1), released), share)

    def _of_normal(self, block: tuple[str, ...], statement: Normal) -> list[Term]:
        before, after = (table.matrix(block) for table in self._tables)
        variance = np.diag(statement.covariance)
        moves = variance > 1e-18 * np.maximum(np.nanmax(np.abs(before), axis=0, initial=0.0) ** 2, 1e-300)
        terms: list[Term] = [
            self._of_kept((name,), _CERTAIN)
            for name, moved, column in zip(block, moves, before.T, strict=True)
            if not moved and np.nanmax(column, initial=-np.inf) > np.nanmin(column, initial=np.inf)
        ]
        if moves.any():
            before, after, scale = before[:, moves], after[:, moves], np.sqrt(variance[moves])
            mean = np.nanmean(before, axis=0)
            correlation = statement.covariance[np.ix_(moves, moves)] / np.outer(scale, scale)
            centre = mean + statement.slope * (before - mean)
            terms.append(
                NormalTerm.of(after, centre, np.broadcast_to(scale, centre.shape).copy(), _regular(correlation), 0.0)
            )
        return terms

    @property
    def _tables(self) -> tuple[Microdata, Microdata]:
        return self.pair.original, self.pair.masked

    # --- what is learnt from replays -------------------------------------------------------------------------------

    def _of_categories(self, name: str) -> Term:
        """Categories, by how often replays have changed each of them into each."""
        made = self._all_replays() if self._methods(name) else []
        if not made:
            return self._of_kept((name,), _GUESSED_SHARE)
        before, after = self.columns(name)
        kept: dict[object, int] = {}
        known = numbered(before, kept) + 1
        numbers: dict[object, int] = {}
        released = numbered(after, numbers) + 1
        drawn = [numbered(table.arrow(name), numbers) + 1 for table in made]
        size = len(kept) + 1, len(numbers) + 1
        if size[0] * size[1] > _MOST_CELLS:
            return self._of_kept((name,), _GUESSED_SHARE)
        counts = np.zeros(size)
        for codes in drawn:
            np.add.at(counts, (known, codes), 1.0)
        frequencies = np.bincount(released, minlength=size[1]) / len(released)
        matrix = (counts + 0.5 * frequencies) / (counts.sum(axis=1, keepdims=True) + 0.5)
        resembles = self._resembles(name)
        if resembles:
            codes = np.array([numbers.get(category, -2) for category in kept]) + 1
            same = np.arange(1, size[0]), codes
            matrix *= 1.0 - resembles
            matrix[same[0][codes > 0], same[1][codes > 0]] += resembles
        return TableTerm.of(matrix, np.bincount(known, minlength=size[0]).astype(np.float64), released, known)

    def _keeps_order(self, name: str) -> bool:
        """Whether no replay puts a greater value below a smaller one: then the r-th value is released as the r-th."""
        known = self.pair.original.numbers(name).values
        made = [_matrix(table, [name]) for table in self._replays_of([name])]
        return bool(made) and all(table is not None and _in_order(known, table[:, 0]) for table in made)

    def _resembles(self, name: str) -> float:
        """The least correlation that released and true values are taken to have: more than none if a method also looks
        at attributes that are not known, for then a replay shows less than there is."""
        others = set(self.pair.masked.names) - set(self.attributes)
        return _GUESSED_CORRELATION if others and any(m.is_joint for m in self._methods(name)) else 0.0

    def _of_numbers(self, names: list[str]) -> list[Term]:
        """Numbers, by how replays have scattered them around their true values."""
        before, after = (table.matrix(names) for table in self._tables)
        replays = [_matrix(table, names) for table in self._replays_of(names)]
        made = [cells for cells in replays if cells is not None]
        centre, scale, residuals = np.empty_like(before), np.empty_like(before), []
        terms: list[Term] = []
        for j, name in enumerate(names):
            drawn = [table[:, j] for table in made]
            around = _scatter(before[:, j], after[:, j], drawn, self._resembles(name))
            centre[:, j], scale[:, j] = around
            residuals.append([(column - around[0]) / around[1] for column in drawn])
            share = _share_unchanged(before[:, j], drawn)
            if share > _SELDOM:
                terms.append(self._of_kept((name,), min(share, 1.0 - 1e-6)))
        correlation = _correlation(residuals)
        return [NormalTerm.of(after, centre, scale, correlation, _TAILS), *terms]

    def _replays_of(self, names: list[str]) -> list[Microdata]:
        return self._all_replays() if any(self._methods(name) for name in names) else []


def _share_unchanged(known: FloatArray, drawn: list[FloatArray]) -> float:
    told = [column[present] == known[present] for column in drawn if (present := ~np.isnan(known + column)).any()]
    return float(np.concatenate(told).mean()) if told else 0.0


def _reraise_cancelled(problem: MicroveilError) -> None:
    from microveil.errors import Cancelled

    if isinstance(problem, Cancelled):
        raise problem


def _states(table: Microdata, name: str, like: Microdata) -> IntArray:
    """Which cells are missing, as the original's schema has it."""
    try:
        return Microdata(table.frame, like.schema.select(table.names), None).missing_states(name).astype(np.int64)
    except MicroveilError:
        return np.full(len(table), -1)


def _overlap(expected: IntArray, released: IntArray) -> float:
    """The share of records that the expected and the released ones have in common, whoever's they are.

    >>> _overlap(np.array([0, 0, 1, 2]), np.array([2, 1, 0, 3]))
    0.75
    """
    size = int(max(expected.max(initial=0), released.max(initial=0))) + 2
    counts = [np.bincount(codes + 1, minlength=size) for codes in (expected, released)]
    return float(np.minimum(*counts).sum() / max(1, len(released)))


def _bonus(codes: tuple[IntArray, IntArray], share: float) -> Term:
    """A code that is kept with this probability, and else is that of a record drawn at random."""
    known, released = codes
    counts = np.bincount(released[released >= 0], minlength=1)
    frequency = np.where(released >= 0, counts[np.maximum(released, 0)] / max(1, len(released)), 1.0)
    return BonusTerm(np.log1p(share / np.maximum((1.0 - share) * frequency, 1e-12)), released, known)


def _ranks(column: FloatArray, values: int) -> tuple[IntArray, IntArray]:
    """The ranks that each value takes up, from the first to before the last, among so many; none where missing."""
    ordered = np.sort(column[~np.isnan(column)])
    stretch = values / max(1, len(ordered))
    low, high = (np.searchsorted(ordered, column, side) * stretch for side in ("left", "right"))
    ranks = np.floor(low).astype(np.int64), np.maximum(np.ceil(high), np.floor(low) + 1).astype(np.int64)
    missing = np.isnan(column)
    return np.where(missing, 0, ranks[0]), np.where(missing, 0, ranks[1])


def _matrix(table: Microdata, names: Sequence[str]) -> FloatArray | None:
    """The numbers of a replay; none where it has published labels."""
    if not all(is_number(table.arrow(name)) for name in names):
        return None
    try:
        return table.matrix(names)
    except MicroveilError:
        return None


def _in_order(known: FloatArray, drawn: FloatArray) -> bool:
    """Whether greater known values have never become smaller ones, and none is missing that was there, or the reverse.

    >>> _in_order(np.array([1.0, 1.0, 2.0, np.nan]), np.array([5.0, 4.0, 5.0, np.nan]))
    True
    """
    missing = np.isnan(known)
    if missing.all() or (missing != np.isnan(drawn)).any():
        return False
    return keeps_order(known, drawn, _ROUNDING)


def _scatter(
    known: FloatArray, released: FloatArray, drawn: list[FloatArray], resembles: float
) -> tuple[FloatArray, FloatArray]:
    """Around which value and how far the released ones scatter, for each known value."""
    spread = [_variance(column) for column in (known, released)]
    replays = [_variance(column) for column in drawn]
    honest = replays and spread[1] / _HONEST <= np.mean(replays) <= spread[1] * _HONEST
    if not honest:
        return _by_moments(known, released, *spread)
    if resembles and all(_correlated(known, column) < resembles for column in drawn):
        return _loosely(known, released, resembles)
    residuals = np.stack(drawn) - known
    if np.isnan(residuals).all():
        return _by_moments(known, released, *spread)
    changed = ~np.isnan(residuals) & (residuals != 0.0)
    if changed.sum() >= _DRAWS and _share_unchanged(known, drawn) > _SELDOM:
        residuals = np.where(changed, residuals, np.nan)
    least = max(1e-3 * float(np.sqrt(np.nanmean(residuals**2))), 1e-9 * float(np.sqrt(spread[0]))) or 1.0
    return _around(known, residuals, least)


def _correlated(known: FloatArray, drawn: FloatArray) -> float:
    present = ~np.isnan(known + drawn)
    if min(_variance(known[present]), _variance(drawn[present])) <= 0:
        return 1.0
    return float(np.corrcoef(known[present], drawn[present])[0, 1])


def _loosely(known: FloatArray, released: FloatArray, correlation: float) -> tuple[FloatArray, FloatArray]:
    """Released values that have this correlation with the true ones."""
    spread = [_variance(column) ** 0.5 or 1.0 for column in (known, released)]
    standard = (known - np.nanmean(known)) / spread[0]
    centre = np.nanmean(released) + correlation * spread[1] * standard
    return centre, np.full(len(known), spread[1] * (1.0 - correlation**2) ** 0.5)


def _variance(column: FloatArray) -> float:
    present = column[~np.isnan(column)]
    return float(present.var()) if len(present) else 0.0


def _by_moments(known: FloatArray, released: FloatArray, before: float, after: float) -> tuple[FloatArray, FloatArray]:
    """By the variances before and after: where it has shrunk, means of groups are taken to be released, else noise."""
    means = [float(held.mean()) if len(held := column[~np.isnan(column)]) else 0.0 for column in (known, released)]
    slope = min(1.0, after / before) if before > 0 else 1.0
    variance = after * (1.0 - slope) if slope < 1.0 else after - before
    scale = max(variance, _GUESSED_SCALE**2 * before, 1e-18 * max(abs(means[0]), 1e-9) ** 2) ** 0.5 or 1.0
    return means[1] + slope * (known - means[0]), np.full(len(known), scale)


def _around(known: FloatArray, residuals: FloatArray, least: float) -> tuple[FloatArray, FloatArray]:
    """Centre and scale of each known value, from the residuals of the values next to it."""
    order = in_order(known)
    values = known[order]
    sorted_residuals = residuals[:, order]
    told = ~np.isnan(sorted_residuals)
    parts = [told, np.where(told, sorted_residuals, 0.0), np.where(told, sorted_residuals, 0.0) ** 2]
    sums = [np.concatenate([[0.0], np.cumsum(part.sum(axis=0))]) for part in parts]
    width = -(-_DRAWS // (2 * len(residuals)))
    low = np.maximum(np.searchsorted(values, values, "left") - width, 0)
    high = np.minimum(np.searchsorted(values, values, "right") + width, len(values))
    count, total, squares = (cumulated[high] - cumulated[low] for cumulated in sums)
    mean = total / np.maximum(count, 1)
    variance = squares / np.maximum(count, 1) - mean**2
    centre, scale = np.full(len(known), np.nan), np.full(len(known), 1.0)
    centre[order], scale[order] = values + mean, np.maximum(np.sqrt(np.maximum(variance, 0.0)), least)
    return centre, scale


def _correlation(residuals: list[list[FloatArray]]) -> FloatArray:
    """How the residuals of several attributes go together, over all replays."""
    size = len(residuals)
    if size == 1 or not residuals[0]:
        return np.eye(size)
    rows = np.stack([np.concatenate(columns) for columns in residuals], axis=1)
    rows = np.clip(rows[~np.isnan(rows).any(axis=1)], -5.0, 5.0)
    if len(rows) < 10 * size:
        return np.eye(size)
    rows = rows - rows.mean(axis=0)
    spread = np.sqrt((rows**2).mean(axis=0))
    rows = rows / np.where(spread > 0, spread, 1.0)
    return _regular(rows.T @ rows / len(rows))


def _regular(correlation: FloatArray) -> FloatArray:
    """With ones on the diagonal, and so that there is an inverse."""
    made = correlation.copy()
    np.fill_diagonal(made, 1.0)
    lowest = float(np.linalg.eigvalsh(made).min())
    return made if lowest > 1e-6 else (made + (1e-6 - min(lowest, 0.0)) * np.eye(len(made)))


def _of_labels(labels: Any) -> Term:
    """Labels that stand for several values: as likely for each value inside, and hardly for any outside."""
    values, known = np.unique(labels.values, return_inverse=True)
    told = ~np.isnan(values)
    codes = np.unique(labels.codes[labels.codes >= 0])
    inside: BoolArray = labels.regions.gaps(np.where(told, values, 0.0), codes) <= 0
    counts = np.bincount(known, minlength=len(values))
    persons = np.where(told, counts, 0) @ inside
    logs = np.zeros((len(codes) + 1, len(values) + 1))
    told_of = np.log(max(1, len(known)) / np.maximum(persons, 1))
    logs[:-1, :-1] = np.where(told, np.where(inside.T, told_of[:, None], _OUTSIDE), 0.0)
    released = np.where(labels.codes >= 0, np.searchsorted(codes, labels.codes), len(codes))
    return TableTerm(logs, released, known)
