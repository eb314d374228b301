"""An intruder who looks for the seed of a release, with everything but the seed and the original at hand.

He has the release, knows the method, its parameters, the labels of the streams and this source code, has even got hold
of the digest of the original, which keys the streams too, and tries seeds of the kinds that people and programs take. A
seed is recognised without any doubt: what it makes of the release must be possible as an original. With the right one
he takes the masking out again, so a seed must not be among his guesses.

The searches stop after a few thousand guesses; MICROVEIL_GUESSES=1000000 makes them as long as an intruder's afternoon.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import json
import os
import random
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from microveil import demo
from microveil.masking import Plan, Step
from microveil.masking.randomising.noise import Noise
from microveil.masking.randomising.pram import PRAM
from microveil.masking.release import Release
from microveil.masking.swapping.rank_swapping import RankSwapping
from microveil.microdata import Microdata
from microveil.numerics.perturbing.swapping import swap_partners
from microveil.numerics.perturbing.transition_matrices import entropy_matrix
from microveil.protection import protect
from microveil.randomness import derived_seed, normal_of
from microveil.study import run_study
from microveil.study.cells import Candidate

FloatArray = npt.NDArray[np.float64]
Unmask = Callable[[int], FloatArray | None]
BUDGET = int(os.environ.get("MICROVEIL_GUESSES", "4000"))
PUBLIC_TEXTS = ("survey.csv", "safe.csv", "Household survey 2026", "income", "job", "noise", "rank-swapping", "pram")
JOBS = ("baker", "clerk", "driver", "farmer", "nurse", "teacher")


# --- what an intruder would try ------------------------------------------------------------------------------------


def guesses(budget: int) -> Iterator[int]:
    """So many different seeds, of every kind in turn, so that a smaller budget leaves out none of the kinds."""
    kinds = [favourites(), digests(), derivations(), dates(), clocks(), short_draws(), itertools.count()]
    tried: set[int] = set()
    while len(tried) < budget:
        for kind in list(kinds):
            try:
                guess = next(kind)
            except StopIteration:
                kinds.remove(kind)
                continue
            if guess not in tried and len(tried) < budget:
                tried.add(guess)
                yield guess


def favourites() -> Iterator[int]:
    yield from (0, 1, 7, 42, 123, 1234, 12345, 123456, 1234567, 12345678, 123456789, 1337, 31337, 2**31 - 1, 0xDEADBEEF)
    yield from (2**power - less for power in range(257) for less in (0, 1) if 2**power - less < 2**256)


def digests() -> Iterator[int]:
    """Checksums of public texts, whole and cut to the usual lengths."""
    for text in PUBLIC_TEXTS:
        yield zlib.crc32(text.encode())
        for name in ("md5", "sha1", "sha256", "blake2b"):
            digest = hashlib.new(name, text.encode()).digest()
            for size in (4, 8, 16, 32):
                yield int.from_bytes(digest[:size], "big")
                yield int.from_bytes(digest[:size], "little")


def derivations() -> Iterator[int]:
    """The seeds that a study gives its cells, for small seeds of the study and the steps that are public."""
    steps = [PUBLISHED.to_plain()]
    for seed, repeat in itertools.product(range(300), range(6)):
        yield derived_seed(seed, "cell", steps, repeat)
        yield derived_seed(seed, "plan", steps, repeat)
        yield derived_seed(seed, "repeat", repeat)
        content = json.dumps([seed, steps, repeat], sort_keys=True, default=str)
        yield int(hashlib.sha256(content.encode()).hexdigest()[:8], 16)


def dates() -> Iterator[int]:
    for days in range(365 * 10):
        day = datetime.date(2026, 12, 31) - datetime.timedelta(days)
        yield from (int(day.strftime(form)) for form in ("%Y%m%d", "%d%m%Y", "%y%m%d"))


def clocks() -> Iterator[int]:
    """Seconds since 1970, backwards from the day of the release."""
    return iter(range(1_795_000_000, 0, -1))


def short_draws() -> Iterator[int]:
    """Seeds of 32 bits, which was once thought to be enough."""
    drawn = random.Random(1)
    return (drawn.getrandbits(32) for _ in itertools.count())


# --- how the right one is recognised -------------------------------------------------------------------------------


class Draws:
    """The random numbers of a release of one step for a seed and a label, quickly: one generator that is set to another
    key each time."""

    def __init__(self, release: Release) -> None:
        (step,) = (step.to_plain() for step in release.provenance.steps)
        del step["attributes"]
        self.facts = json.dumps([release.provenance.input_digest, "step", [], step], sort_keys=True).encode()
        self.bits = np.random.Philox()
        self.generator = np.random.Generator(self.bits)
        self.state: dict[str, Any] = dict(self.bits.state)

    def of(self, seed: int, label: str) -> np.random.Generator:
        own = hashlib.blake2b(
            self.facts, digest_size=16, key=seed.to_bytes(32, "big"), person=b"microveil seed"
        ).digest()
        message = json.dumps([0, label]).encode()
        digest = hashlib.blake2b(message, digest_size=16, key=bytes(16) + own, person=b"microveil stream")
        key = np.frombuffer(digest.digest()[::-1], dtype="<u8")
        self.state["state"] = {"counter": np.zeros(4, dtype=np.uint64), "key": key}
        self.bits.state = self.state
        return self.generator


def noise_remover(release: Release, name: str, alpha: float) -> Unmask:
    """Incomes are whole numbers. The size of the noise follows from the guess: it is alpha times the variance of what
    remains when the noise is taken away. If whole numbers remain, the guess was right."""
    draws, masked = Draws(release), release.data.numbers(name).values
    variance, centred = float(np.var(masked)), masked - masked.mean()

    def unmask(seed: int) -> FloatArray | None:
        drawn = normal_of(draws.of(seed, name).random(len(masked)))
        # c^2 = alpha var(y - c z), for the deviation c of the noise z in the release y
        square = 1.0 - alpha * float(np.var(drawn))
        half = alpha * float(centred @ drawn) / len(masked)
        size = (-half + (half**2 + square * alpha * variance) ** 0.5) / square
        if np.abs(found := masked[:8] - size * drawn[:8]).max() > 1e9 or np.abs(found - found.round()).max() > 1e-4:
            return None
        return np.asarray((masked - size * drawn).round())

    return unmask


def swap_undoer(release: Release, name: str, window: int, known: dict[int, float]) -> Unmask:
    """The values of a release are those of the original, so their order is known, and a guess says which positions were
    exchanged. He knows some persons, whose values must come back."""
    draws, masked = Draws(release), release.data.numbers(name).values
    order = np.argsort(masked, kind="stable")
    position = np.empty(len(masked), dtype=np.int64)
    position[order] = np.arange(len(masked))
    ascending, persons = masked[order], np.array(list(known))
    positions, values = position[persons], np.array(list(known.values()))

    def unmask(seed: int) -> FloatArray | None:
        generator = draws.of(seed, name)
        generator.random(len(masked))  # for ties, of which there are none
        partner = swap_partners(window, generator.random(len(masked)))
        return None if (ascending[partner[positions]] != values).any() else np.asarray(ascending[partner[position]])

    return unmask


def pram_undoer(release: Release, name: str, p: float, known: dict[int, int]) -> Unmask:
    """The matrix is published, so a guess says what each true category would have become. He knows some persons. Where
    several categories would have become the released one, he cannot tell (-1)."""
    draws, codes = Draws(release), release.data.categories(name).codes
    cumulative = np.cumsum(entropy_matrix(len(JOBS), p), axis=1)
    persons, truth = np.array(list(known)), np.array(list(known.values()))

    def unmask(seed: int) -> FloatArray | None:
        drawn = draws.of(seed, name).random(len(codes))
        became = (cumulative[truth] <= drawn[persons, None]).sum(axis=1)
        if (became != codes[persons]).any():
            return None
        possible = (cumulative[None] <= drawn[:, None, None]).sum(axis=2) == codes[:, None]
        return np.where(possible.sum(axis=1) == 1, possible.argmax(axis=1), -1).astype(np.float64)

    return unmask


def search(unmask: Unmask, seeds: Iterator[int]) -> tuple[int, FloatArray] | None:
    """The first seed that is recognised, with what it makes of the release."""
    for seed in seeds:
        found = unmask(seed)
        if found is not None:
            return seed, found
    return None


# --- releases of three methods, each with the attack on it ---------------------------------------------------------

PUBLISHED = Step("noise", Noise(alpha=0.1).parameters(), ("income",))


def people(records: int) -> Microdata:
    """Whole incomes, all different, and jobs."""
    rng = np.random.default_rng(11)
    incomes = rng.choice(np.arange(800, 9000), size=records, replace=False)
    jobs = rng.integers(len(JOBS), size=records)
    return Microdata.of({"income": incomes.tolist(), "job": [JOBS[job] for job in jobs]})


DATA = people(120)
INCOMES = DATA.numbers("income").values
CODES = DATA.categories("job").codes


def on_noise(seed: int | None) -> Unmask:
    return noise_remover(Noise(alpha=0.1).mask(DATA, ["income"], seed=seed), "income", 0.1)


def on_rank_swapping(seed: int | None) -> Unmask:
    release = RankSwapping(p=10.0).mask(DATA, ["income"], seed=seed)
    return swap_undoer(release, "income", 12, {i: float(INCOMES[i]) for i in range(12)})


def on_pram(seed: int | None) -> Unmask:
    release = PRAM(p=0.9, matrix="entropy").mask(DATA, ["job"], seed=seed)
    return pram_undoer(release, "job", 0.9, {i: int(CODES[i]) for i in range(60)})


ATTACKS = {"noise": on_noise, "rank-swapping": on_rank_swapping, "pram": on_pram}


def test_the_intruder_draws_what_the_methods_draw() -> None:
    for seed in (7, 2**130 + 5):
        release = Noise(alpha=0.1).mask(DATA, ["income"], seed=seed)
        own = Draws(release).of(seed, "income").random(5)
        streams = release.provenance.streams_of_step(DATA, joint=False)
        assert own.tolist() == streams.generator("income").random(5).tolist()


@pytest.mark.parametrize("method", ATTACKS)
@pytest.mark.parametrize(
    "seed", [12345, 20260714, zlib.crc32(b"survey.csv"), derived_seed(7, "cell", [PUBLISHED.to_plain()], 2)]
)
def test_a_seed_that_can_be_guessed_is_found_and_the_masking_undone(method: str, seed: int) -> None:
    found = search(ATTACKS[method](seed), guesses(200_000))
    assert found is not None
    assert found[0] == seed
    truth = CODES if method == "pram" else INCOMES
    told = found[1] >= 0
    assert (found[1][told] == truth[told]).all()
    assert told.mean() > (0.5 if method == "pram" else 0.999)


@pytest.mark.parametrize("method", ATTACKS)
def test_a_drawn_seed_is_not_found(method: str) -> None:
    assert search(ATTACKS[method](None), guesses(BUDGET)) is None


def test_every_guess_is_another_one_and_the_kinds_are_mixed() -> None:
    tried = list(guesses(3000))
    assert len(set(tried)) == 3000
    assert {42, 12345, 20261116, 1_795_000_000 - 100, 2**64 - 1, 200} <= set(tried)


# --- studies -------------------------------------------------------------------------------------------------------


def study_seeds(steps: tuple[Step, ...]) -> Iterator[int]:
    """What the seeds of the cells of a study would be if they followed from its file alone."""
    plain = [step.to_plain() for step in steps]
    for seed, repeat in itertools.product(range(100), range(1, 6)):
        yield seed
        yield derived_seed(seed, "cell", plain, repeat)
        content = json.dumps([seed, plain, repeat], sort_keys=True, default=str)
        yield int(hashlib.sha256(content.encode()).hexdigest()[:8], 16)


@pytest.mark.parametrize("seed", [{}, {"seed": 1}], ids=["no seed", "seed = 1"])
def test_incomes_do_not_come_back_from_the_release_of_a_studys_best_plan(seed: dict[str, int]) -> None:
    """The file of the study, with the seed that stands in it, is all that the intruder has beside the release."""
    table = people(800).select(["income"])
    noise = {"name": "noise", "grid": {"alpha": [0.1, 0.3]}, "attributes": ["income"]}
    plain = {"repeats": 2, "losses": ["sse"], "attacks": ["distance-linkage"], "method": [noise], **seed}
    study = run_study(plain, table, workers=0)
    steps = study.best.candidate.steps
    alpha = steps[0].parameters["alpha"]
    assert search(noise_remover(protect(table, study.plan()), "income", alpha), study_seeds(steps)) is None
    # the same attack on a release whose seed follows from the file
    followed = Plan(steps, derived_seed(1, "cell", [step.to_plain() for step in steps], 2))
    found = search(noise_remover(protect(table, followed), "income", alpha), study_seeds(steps))
    assert found is not None
    assert int((found[1] == table.numbers("income").values).sum()) == 800


def test_the_seed_of_a_plan_differs_from_study_to_study_and_has_more_than_100_bits() -> None:
    plain = {"seed": 1, "losses": ["sse"], "attacks": ["distance-linkage"], "method": [{"name": "noise"}]}
    table = people(50).select(["income"])
    seeds = [run_study(plain, table, workers=0).plan().seed or 0 for _ in range(2)]
    assert seeds[0] != seeds[1]
    assert min(seeds).bit_length() > 100


def test_the_release_of_the_demonstration_has_a_drawn_seed(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def two(data: Microdata) -> list[Candidate]:
        return [Candidate(f"noise {alpha}", (Step("noise", {"alpha": alpha}, ("age",)),)) for alpha in (0.1, 0.2)]

    monkeypatch.setattr(demo, "candidates", two)
    made = [demo.run(tmp_path_factory.mktemp("demo"), records=60, seed=1) for _ in range(2)]
    seeds = [json.loads(demonstration.manifest_file.read_text())["plan"]["seed"] for demonstration in made]
    assert seeds[0] != seeds[1]
    assert min(int(seed, 16) for seed in seeds).bit_length() > 100
    assert made[0].study.rows == made[1].study.rows
