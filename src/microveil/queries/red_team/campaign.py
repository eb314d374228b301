"""All attacks against one configuration: what was learnt, and in how many questions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from microveil.display import number, text_table
from microveil.errors import ParameterError
from microveil.microdata.microdata import Microdata, as_microdata
from microveil.progress import Progress, reported, silent
from microveil.queries.controls import Control
from microveil.queries.database import Database, EngineName
from microveil.queries.red_team import CLASSIC, attacks_of
from microveil.queries.red_team.addressing import singled_out
from microveil.queries.red_team.base import QueryAttack
from microveil.queries.red_team.intruder import Intruder, Knowledge, PublicFacts, Scope, Secret
from microveil.queries.red_team.scoring import Outcome, Truth, success_of, tally
from microveil.queries.server import DEFAULT_CONTROLS, QueryServer
from microveil.randomness import PublicStreams
from microveil.typing import FloatArray

if TYPE_CHECKING:
    from microveil.queries.criteria import Quality

TARGETS, QUESTIONS = 20, 1000


@dataclass(frozen=True)
class Campaign:
    """The outcomes of all attacks on one configuration, with the quality of its answers where that was measured."""

    outcomes: tuple[Outcome, ...]
    records: int
    addressable: int
    value: str
    category: str | None
    known: tuple[str, ...]
    scope: Scope
    controls: tuple[str, ...]
    declared: bool
    quality: Quality | None = None

    def __getitem__(self, attack: str) -> Outcome:
        return next(outcome for outcome in self.outcomes if outcome.attack == attack)

    @property
    def succeeded(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.success != "none")

    def compromised(self, names: Sequence[str] | None = None, *, exactly: bool = False) -> float:
        """The share of all records that the best of some attacks learns: of the targets, times the share of the records
        that somebody with this knowledge can address."""
        chosen = [o for o in self.succeeded if (names is None or o.attack in names) and o.targets]
        learnt = max(((o.exact if exactly else o.learnt) / o.targets for o in chosen), default=0.0)
        return learnt * self.addressable / self.records

    @property
    def sought(self) -> str:
        return self.value if self.category is None else f"{self.value} = {self.category}"

    @property
    def findings(self) -> list[str]:
        """What the owner should know, in sentences."""
        told = []
        for outcome in self.succeeded:
            how = "exactly" if outcome.success == "exact" else "approximately"
            what = "whether the value is missing" if outcome.attack == "null-channel" else self.sought
            told.append(
                f"{outcome.attack} learns {what} of {outcome.learnt} of {outcome.targets} people {how}, "
                f"with {number(outcome.questions_for_each)} questions for each"
            )
        if not told:
            told.append(f"no attack has learnt {self.sought} of anybody")
        if not self.declared:
            told.append(
                f"the schema does not declare {self.value} confidential, so controls take it for known to "
                "everybody; declare it (--confidential)"
            )
        return told

    def to_plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "controls": list(self.controls),
            "records": self.records,
            "addressable_records": self.addressable,
            "sought": self.sought,
            "known": list(self.known),
            "knowledge": self.scope,
            "attacks": [outcome.to_plain() for outcome in self.outcomes],
            "findings": self.findings,
            "compromised_percent": {
                "classic_attacks": 100 * self.compromised(CLASSIC),
                "classic_attacks_exactly": 100 * self.compromised(CLASSIC, exactly=True),
                "all_attacks": 100 * self.compromised(),
                "all_attacks_exactly": 100 * self.compromised(exactly=True),
            },
        }
        return plain | ({} if self.quality is None else {"quality": self.quality.to_plain()})

    def rows(self) -> list[tuple[str, ...]]:
        """The table of outcomes as texts, with its heading."""
        head = ("attack", "success", "exact", "near", "wrong", "asked", "refused")
        return [head, *map(_row, self.outcomes)]

    def __str__(self) -> str:
        lines = [f"controls: {'; '.join(self.controls) or 'none'}", ""]
        lines += text_table(self.rows(), right=set(range(2, 7)))
        return "\n".join([*lines, "", *self.findings])

    def to_html(self, title: str = "Red team") -> str:
        """A page that needs no network."""
        from microveil.queries.red_team.page import campaign_page

        return campaign_page(self, title)


def _row(outcome: Outcome) -> tuple[str, ...]:
    if outcome.why_not is not None:
        return (outcome.attack, "not tried", *[""] * 5)
    counts = outcome.exact, outcome.partial, outcome.wrong, outcome.questions, outcome.refused
    return outcome.attack, "no" if outcome.success == "none" else outcome.success, *(f"{n:,}" for n in counts)


def attack_queries(
    data: Any,
    controls: Sequence[Control | str] | None = None,
    *,
    value: str | None = None,
    category: str | None = None,
    known: Sequence[str] | None = None,
    scope: Scope = "register",
    attacks: Sequence[str | QueryAttack] | None = None,
    targets: int = TARGETS,
    questions: int = QUESTIONS,
    seed: int = 0,
    key: str | None = None,
    engine: EngineName = "arrays",
    quality: bool = False,
    same_server: bool = False,
    clock: Callable[[], float] = time.perf_counter,
    progress: Progress = silent,
) -> Campaign:
    """Run the red team against a configuration of the statistical database.

    `value` is the attribute that is sought, by default the first confidential one; of an attribute with categories
    `category` is the one that is looked for. `known` are the attributes that the intruder knows of everybody
    (`scope="register"`) or of the targets alone. Every attack has a server of its own unless `same_server` is on, and
    asks at most `questions` questions. `targets` people are drawn among those whom nobody else resembles.

    >>> import microveil as mv
    >>> people = mv.datasets.survey(300, seed=1)
    >>> found = attack_queries(people, ["set-size k=5"], value="benefit", attacks=["singleton", "general-tracker"])
    >>> found["singleton"].success, found["general-tracker"].success
    ('none', 'exact')
    """
    table = as_microdata(data)
    chosen = DEFAULT_CONTROLS if controls is None else controls
    battlefield = Battlefield.of(table, value, category, known, scope, targets, seed)
    server = QueryServer(table, chosen, key=key, engine=engine) if same_server else None
    outcomes = []
    try:
        made = attacks_of(attacks)
        for place, _ in enumerate(reported([attack.name for attack in made], progress, "attacking")):
            opened = server or QueryServer(table, chosen, key=key, engine=engine)
            try:
                outcomes.append(battlefield.outcome(made[place], opened, questions, seed, clock))
            finally:
                if server is None:
                    opened.close()
    finally:
        if server is not None:
            server.close()
    with QueryServer(table, chosen, key=key, engine=engine) as opened:
        told = tuple(_told(control) for control in opened.controls)
        found = Campaign(
            tuple(outcomes), len(table), battlefield.addressable, battlefield.secret.attribute, battlefield.category,
            battlefield.knowledge.attributes, scope, told, battlefield.secret.attribute in table.schema.confidential,
        )  # fmt: skip
        if quality:
            from microveil.queries.criteria import quality_of

            found = replace(found, quality=quality_of(opened, found, seed=seed))
    return found


def _told(control: Control) -> str:
    from microveil.parameters import shown

    return shown(control.to_plain())


@dataclass(frozen=True)
class Battlefield:
    """What does not change from attack to attack: the truth, what is sought, and what the intruder knows."""

    truth: Truth
    missing: Truth
    secret: Secret
    category: str | None
    knowledge: Knowledge
    missing_targets: tuple[int, ...]
    addressable: int

    @classmethod
    def of(
        cls, table: Microdata, value: str | None, category: str | None, known: Sequence[str] | None, scope: Scope,
        targets: int, seed: int,
    ) -> Battlefield:  # fmt: skip
        database = Database(table, engine="arrays")
        secret, told = _secret(database, value, category)
        names = _known(database, secret, known)
        columns = {name: database.values(name) for name in names}
        raw = np.asarray(database.values(secret.attribute))
        absent = np.isnan(raw) if raw.dtype.kind == "f" else raw < 0
        values = raw.astype(float) if secret.place is None else (raw == secret.place).astype(float)
        alone = singled_out(columns, names)
        streams = PublicStreams(seed)
        rng = streams.generator("targets")
        present = rng.permutation(alone[~absent[alone]])
        chosen = _balanced(present, values, targets) if secret.place is not None else present[:targets]
        gone = _balanced(rng.permutation(alone), absent.astype(float), targets) if absent.any() else present[:0]
        return cls(
            Truth(np.where(absent, np.nan, values), secret.place is not None),
            Truth(absent.astype(float), is_category=True),
            secret,
            told,
            Knowledge(names, columns, len(table), tuple(map(int, chosen)), scope),
            tuple(map(int, gone)),
            len(alone),
        )

    def outcome(
        self, attack: QueryAttack, server: QueryServer, questions: int, seed: int, clock: Callable[[], float]
    ) -> Outcome:
        """What comes of one attack on one server."""
        seeks_missing = attack.seeks == "missing"
        targets = self.missing_targets if seeks_missing else self.knowledge.targets
        truth = self.missing if seeks_missing else self.truth
        facts = PublicFacts(server.database.fields, server.database.records, server.controls)
        intruder = Intruder(
            lambda question: server.ask(question, "intruder"), facts, replace(self.knowledge, targets=targets),
            self.secret, questions=questions, rng=PublicStreams(seed).generator("attack", attack.name), clock=clock,
        )  # fmt: skip
        why_not = attack.why_not(intruder)
        if why_not is None and not targets:
            why_not = "no value is missing" if seeks_missing else "nobody can be told apart by what is known"
        began = time.perf_counter()
        claims = [] if why_not else attack.attempt(intruder)
        counted, guesses = tally(claims, truth), truth.best_guesses(targets)
        return Outcome(
            attack.name, len(targets), len(claims), counted.exact, counted.partial, counted.wrong, intruder.asked,
            intruder.refused, time.perf_counter() - began, success_of(counted, guesses), why_not, guesses,
        )  # fmt: skip


def _secret(database: Database, value: str | None, category: str | None) -> tuple[Secret, str | None]:
    if value is None:
        names = [name for name in database.fields if name in database.confidential]
        numeric = [name for name in database.fields if database.fields[name].is_numeric]
        chosen = names or numeric[-1:]
        if not chosen:
            raise ParameterError("there is no confidential attribute to look for; name one (--value)")
        value = chosen[0]
    field = database.fields[value]
    if field.is_numeric:
        if category is not None:
            raise ParameterError(f"'{field.name}' has numbers, so there is no category to look for")
        return Secret(field.name), None
    codes = np.asarray(database.values(field.name))
    # the category that is nearest to half of the records is the hardest to guess
    shares = np.bincount(codes[codes >= 0], minlength=len(field.domain)) / max(len(codes), 1)
    place = int(np.argmin(np.abs(shares - 0.5))) if category is None else next(iter(field.places([category])), -1)
    if place < 0:
        raise ParameterError(f"'{field.name}' has no such category")
    return Secret(field.name, place, len(field.domain)), str(field.domain[place])


def _known(database: Database, secret: Secret, known: Sequence[str] | None) -> tuple[str, ...]:
    """The attributes that the intruder knows: those that are not confidential, or of these the named ones."""
    if known is not None:
        names = [database.fields[name].name for name in known]
        if secret.attribute in names:
            raise ParameterError(f"the intruder looks for '{secret.attribute}', so it cannot be known")
        return tuple(dict.fromkeys(names))
    keys = [name for name in database.data.schema.keys if name in database.fields]
    public = [name for name in database.fields if name not in database.confidential]
    chosen = [name for name in (keys or public) if name != secret.attribute]
    if not chosen:
        raise ParameterError("there is no attribute that an intruder could know; name some (--keys)")
    return tuple(chosen)


def _balanced(candidates: FloatArray | Any, held: FloatArray, wanted: int) -> Any:
    """Half of them with, half without, as far as there are."""
    sides = [candidates[held[candidates] == side] for side in (1.0, 0.0)]
    few = min(len(sides[0]), len(sides[1]), wanted // 2)
    return np.concatenate([side[: few if few else wanted] for side in sides])
