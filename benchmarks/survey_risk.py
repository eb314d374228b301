"""SUDA and frequencies with missing keys on Adult, beside a plain reference in the same run: time of the processor.

Run with `python benchmarks/survey_risk.py`; it needs the reference data (MICROVEIL_DATA). The table it prints is kept
in benchmarks/RESULTS.md. The plain reference for SUDA counts the combinations of every set of keys with numpy, and a
record that is unique on a set has it for a minimal sample unique if it is on none of its parts; the one for frequencies
compares each record with all others, for 200 records, and is stated for all of them; the one for advice makes the
release of every proposed change with all its columns and measures its risk.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np

from microveil.attacks.population.special_uniques import special_uniques_of
from microveil.attacks.reidentification import risk_of_file
from microveil.microdata import Microdata, datasets
from microveil.microdata.equivalence_classes import EquivalenceClasses, key_codes
from microveil.numerics.core.compiled import allowance
from microveil.scoring.risk_advice.advice import advise_risk

KEYS = (
    *("age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex"),
    *("native-country", "hours-per-week"),
)
_TIMES, _COMPARED = 5, 200


def seconds(work: Callable[[], Any], times: int = _TIMES) -> tuple[float, Any]:
    """The least time of several runs, as other processes only ever add to it, and what came out."""
    taken, found = [], None
    for _ in range(times):
        began = time.process_time()
        found = work()
        taken.append(time.process_time() - began)
    return min(taken), found


def scores_by_all_sets(columns: list[np.ndarray]) -> np.ndarray:
    """SUDA scores by counting the combinations of every set of keys."""
    n, m = len(columns[0]), len(columns)
    unique, scores = {}, np.zeros(n)
    for size in range(1, m + 1):
        for chosen in combinations(range(m), size):
            key = np.zeros(n, dtype=np.int64)
            for place in chosen:
                key = key * (int(columns[place].max()) + 1) + columns[place]
            _, number, counts = np.unique(key, return_inverse=True, return_counts=True)
            unique[chosen] = counts[number] == 1
            minimal = unique[chosen].copy()
            for place in chosen:
                part = tuple(other for other in chosen if other != place)
                if part:
                    minimal &= ~unique[part]
            scores[minimal] += factorial(m - size)
    return scores


def suda(data: Microdata, keys: tuple[str, ...]) -> str:
    columns = [key_codes(data, name) for name in keys]

    def ours() -> np.ndarray:
        return special_uniques_of(EquivalenceClasses.of(keys, columns)).scores

    ours()  # compiles the kernels
    taken, scores = seconds(ours)
    plain, expected = seconds(lambda: scores_by_all_sets(columns), 1)
    same = "equal" if np.array_equal(scores, expected) else "DIFFERENT"
    return f"| SUDA, {len(keys)} keys | {taken:.2f} s | {plain:.2f} s | {plain / taken:.0f} | {same} |"


def frequencies(data: Microdata, keys: tuple[str, ...], share: float) -> str:
    rng = np.random.default_rng(1)
    columns = [key_codes(data, name) for name in keys]
    columns = [np.where(rng.random(len(data)) < share, -1, codes) for codes in columns]
    EquivalenceClasses.of(keys, columns).per_record.sum()  # compiles the kernels
    taken, found = seconds(lambda: EquivalenceClasses.of(keys, columns).per_record)
    codes = np.column_stack(columns)

    def compared() -> list[int]:
        return [int(((codes == row) | (codes < 0) | (row < 0)).all(axis=1).sum()) for row in codes[:_COMPARED]]

    some, expected = seconds(compared, 1)
    plain = some * len(data) / _COMPARED
    same = "equal" if found[:_COMPARED].tolist() == expected else "DIFFERENT"
    label = f"frequencies, {len(keys)} keys, {100 * share:.0f} % missing"
    return f"| {label} | {taken:.3f} s | {plain:.0f} s | {plain / taken:.0f} | {same} |"


def advice(data: Microdata, keys: tuple[str, ...], times: int = 3) -> str:
    """Single changes of keys, counted by the changed key alone, beside making every release and measuring it."""
    advise_risk(data.take(np.arange(500)), keys, steps=0)  # compiles the kernels
    taken, found = seconds(lambda: advise_risk(data, keys, steps=0), times)
    made = found.proposals

    def released() -> list[float]:
        return [risk_of_file(one.mask(data, seed=1), one.keys).summary.expected for one in made]

    plain, expected = seconds(released, 1)
    same = "equal" if expected == [one.after.expected for one in made] else "DIFFERENT"
    label = f"advice, {len(keys)} keys, {found.tried} changes"
    return f"| {label} | {taken:.2f} s | {plain:.2f} s | {plain / taken:.0f} | {same} |"


def main() -> None:
    allowance.end()
    if datasets.data_folder() is None:
        sys.exit("reference data not found: set MICROVEIL_DATA to the folder that holds it")
    adult = datasets.load("adult").select(KEYS)
    wild = adult.schema.replacing(*(adult[name].changed(missing="own category") for name in KEYS))
    adult = adult.with_schema(wild)
    print("| adult, 48,842 records | Microveil | plain | ratio | results |\n" + "|---" * 5 + "|")
    print(suda(adult, KEYS[:8]), flush=True)
    print(suda(adult, KEYS), flush=True)
    print(frequencies(adult, KEYS[:8], 0.05), flush=True)
    print(advice(adult, KEYS[:8]), flush=True)


if __name__ == "__main__":
    main()
