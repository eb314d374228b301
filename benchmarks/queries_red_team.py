"""The red team against each control, on people of adult and eusilc, and linear reconstruction by the level of noise.

Run with `python benchmarks/queries_red_team.py matrix` for the tables of docs/red_team.md (`eusilc:eqIncome` or
`eusilc:eqIncome:singleton` for a part of them, and the names of some configurations in ROWS, with semicolons between
them, for those rows), with `reconstruction` for its picture, which it writes to
docs/images/linear-reconstruction.svg. The folder of the reference data is named by MICROVEIL_DATA.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

import microveil as mv
from microveil.microdata import Microdata, datasets
from microveil.queries.red_team import ATTACKS
from microveil.queries.red_team.campaign import Battlefield, Campaign, attack_queries
from microveil.queries.red_team.intruder import Intruder, PublicFacts
from microveil.queries.red_team.linear_reconstruction import LinearReconstruction, fitted
from microveil.reporting.charts import Line, lines

RECORDS, TARGETS, QUESTIONS, SEED = 1_000, 20, 1_000, 0
# linear programs over all answers decide about every question, so that fewer are asked
FEWER = {"interval-audit": (20, 100)}
KEYS = {
    "adult": ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"],
    "eusilc": ["age", "rb090", "db040", "hsize", "pl030", "pb220a"],
}
NUMBERS = ("age", "hsize", "fnlwgt")
SEX = {"adult": "sex", "eusilc": "rb090"}
CELLS = {"adult": "sex,race,marital-status", "eusilc": "rb090,db040,pl030"}
RANGES = {"fnlwgt": (0.0, 1_500_000.0), "eqIncome": (0.0, 150_000.0)}
NOISE = (0.1, 0.25, 0.5, 1.0, 2.0)
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "linear-reconstruction.svg"


def people(name: str, value: str, keys: list[str] | None = None) -> Microdata:
    """A sample of a reference table with one confidential attribute."""
    columns = keys or KEYS[name]
    chosen = np.sort(np.random.default_rng(7).permutation(len(datasets.load(name)))[:RECORDS])
    table = datasets.load(name).frame.to_arrow().select([*columns, value]).take(chosen)
    nominal = [column for column in columns if column not in NUMBERS] + (["income"] if value == "income" else [])
    data = Microdata.of(table, confidential=[value], nominal=nominal)
    if value not in RANGES:
        return data
    return data.with_schema(data.schema.replacing(data[value].changed(range=RANGES[value])))


def configurations(name: str, is_number: bool) -> dict[str, list[str]]:
    size = "set-size k=5"
    found = {
        "no control": [],
        size: [size],
        f"{size}, overlap limit=1": [size, "overlap limit=1"],
        "audit": ["audit"],
        f"{size}, audit": [size, "audit"],
        f"partition by={SEX[name]} k=5": [f"partition by={SEX[name]} k=5"],
        "lattice k=5": ["lattice k=5"],
        f"{size}, conjunctions": [size, "statistics conjunctions=true"],
        f"{size}, access": [size, "access where='age >= 30'"],
        f"{size}, random-sample 0.9": [size, "random-sample share=0.9"],
        f"{size}, output-noise c=0.25": [size, "output-noise c=0.25"],
        f"{size}, output-noise c=1": [size, "output-noise c=1"],
        f"{size}, rounding": [size, f"rounding base={10_000 if is_number else 5}"],
        f"{size}, cell-key": [size, "cell-key"],
        "cell-suppression": [f"cell-suppression by={CELLS[name]}"],
    }
    if is_number:
        found["interval-audit"] = ["interval-audit"]
        found["intervals k=5"] = ["intervals k=5"]
        found["proxy, k=3"] = ["proxy"]
        found[f"{size}, proxy k=20"] = [size, "proxy method='individual-ranking k=20'"]
    return found | {
        "differential privacy 0.1 of 1": ["differential-privacy epsilon=0.1 budget=1"],
        "differential privacy 1 of 1000": ["differential-privacy epsilon=1 budget=1000"],
    }


def cell(campaign: Campaign, attack: str) -> str:
    """What an attack learnt: exact + partial of the targets where it succeeded, else a dot."""
    outcome = campaign[attack]
    if outcome.why_not is not None:
        return ""
    return "." if outcome.success == "none" else f"{outcome.exact}+{outcome.partial} ({outcome.questions})"


def matrix(name: str, value: str, *attacks: str) -> None:
    """A row for each configuration of controls and a column for each attack, printed as they are measured."""
    data, chosen, rows = people(name, value), attacks or tuple(ATTACKS), os.environ.get("ROWS", "").split(";")
    fewer = ", ".join(f"{title} of {few} in at most {most} questions" for title, (few, most) in FEWER.items())
    print(f"\n{name}, {value}: values learnt exactly + partially of {TARGETS} (questions asked); {fewer}\n")
    print(f"| controls | {' | '.join(chosen)} | processor s |\n|---|{'---|' * len(chosen)}---|", flush=True)
    for title, controls in configurations(name, value != "income").items():
        if rows != [""] and title not in rows:
            continue
        began, (targets, questions) = time.process_time(), FEWER.get(title, (TARGETS, QUESTIONS))
        found = attack_queries(
            data, controls, targets=targets, questions=questions, seed=SEED, key="benchmark", attacks=chosen
        )
        taken = time.process_time() - began
        print(f"| {title} | {' | '.join(cell(found, attack) for attack in chosen)} | {taken:.0f} |", flush=True)


def reconstruction() -> None:
    """The income class of all people who have a weight of their own, from noisy counts of random halves of them."""
    data = people("adult", "income", keys=["fnlwgt", "sex"])
    battlefield = Battlefield.of(data, None, None, None, "register", RECORDS, SEED)
    attack = LinearReconstruction(records=RECORDS, oversampling=2.0)
    curves: dict[str, list[tuple[float, float]]] = {"one question a person": [], "two questions a person": []}
    guess = 0.0
    for c in NOISE:
        with mv.QueryServer(data, [f"output-noise c={c}"], engine="arrays", key="benchmark") as server:
            facts = PublicFacts(server.database.fields, server.database.records, server.controls)
            intruder = Intruder(
                server.ask, facts, battlefield.knowledge, battlefield.secret, questions=10**6,
                rng=np.random.default_rng(SEED),
            )  # fmt: skip
            persons, sets, sums = attack.asked(intruder)
        truth = battlefield.truth.values[persons]
        guess = max(float(truth.mean()), 1 - float(truth.mean()))
        for name, share in zip(curves, (0.5, 1.0), strict=True):
            began, count = time.perf_counter(), int(share * len(sums))
            values = fitted(sets[:count], sums[:count], (0.0, 1.0), "linear program")
            right = float(np.mean((values > 0.5) == (truth > 0.5)))
            curves[name].append((c, 100 * right))
            took = time.perf_counter() - began
            print(f"c={c} people={len(persons)} questions={count}: {100 * right:.1f} % right, {took:.0f} s", flush=True)
    curves["best guess for all"] = [(c, 100 * guess) for c in NOISE]
    PICTURE.write_text(
        lines(
            [Line(name, points) for name, points in curves.items()],
            title="Linear reconstruction of 1,000 people",
            description="Share of people whose income class is found, by the level of noise",
            x_title="c, the noise of a count in units of half the square root of its query set",
            y_title="% found",
            y_limits=(50.0, 100.0),
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    for job in sys.argv[1:] or ("matrix", "reconstruction"):
        if job == "reconstruction":
            reconstruction()
        elif job == "matrix":
            for table, attribute in (("eusilc", "eqIncome"), ("adult", "fnlwgt"), ("adult", "income")):
                matrix(table, attribute)
        else:
            matrix(*job.split(":"))
