"""The deFinetti attack: how keys go with confidential values is learnt from the classes of a release themselves."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from microveil.attacks.base import Risk
from microveil.attacks.confidential import CONFIDENTIAL, beside_baseline, mean_over, percent
from microveil.attacks.found_classes import (
    PARTS,
    ClassAttack,
    ClassValues,
    FoundClasses,
    classes_of,
    common_value_codes,
    in_parts,
)
from microveil.comparison.pairs import Pair
from microveil.microdata import Microdata
from microveil.microdata.schema import KINDS
from microveil.parameters import parameter, parameterised
from microveil.progress import Part, Progress, parts
from microveil.typing import FloatArray, IntArray

_ENOUGH = 1e-4  # a model whose chances move by less has settled


@parameterised
class DeFinetti(ClassAttack):
    """The intruder knows the keys of everybody and in which class of the release each person is, and learns from all
    classes together how keys go with a confidential value: classes with many smokers have more cancer. In each class
    the value that is most probable for a person is then the guess, instead of any value of the class.

    The model is naive Bayes. It is learnt from the value counts of the classes; then values are assigned within every
    class as the model suggests, the model is learnt anew from that, and so on until nothing moves. Where a class has
    exactly the persons who are looked for in it, the values are divided among them, so that what is probable for one
    becomes less so for the others. Numeric keys count by which of `bins` parts of equal frequency they lie in, a
    confidential number by which of `parts` equal parts of the released values.

    The classes are those the release was made with; without any, the released records nearest to what is known. The
    risk is the share of right guesses. The counters, in per cent: `baseline`, the share right when the values of a
    class are assigned at random; `most frequent`, by naming the most frequent value of the class, which needs no model;
    `gain`, what the model adds to that, (risk - most frequent) / (100 - most frequent), at least 0; `one pass`, the
    share right by the model that is learnt once from the counts.

    >>> from microveil.microdata import Microdata
    >>> keys = {"smokes": list("yynynn"), "ward": list("aaabbb")}
    >>> ill = ["cancer", "cancer", "flu", "cancer", "flu", "flu"]
    >>> people = Microdata.of({**keys, "ill": ill}, keys=["smokes", "ward"], confidential=["ill"])
    >>> release = Microdata.of({"smokes": ["*"] * 6, "ward": keys["ward"], "ill": ill})
    >>> risk = DeFinetti(smoothing=0.1).assess(people, release)
    >>> risk.value, round(risk.counters["baseline"], 2), round(risk.counters["most frequent"], 2)
    (100.0, 55.56, 66.67)
    """

    name: ClassVar[str] = "definetti"
    family: ClassVar[str] = "inference"
    summary: ClassVar[str] = (
        "learns from the classes of a release how keys go with confidential values (deFinetti attack)"
    )
    meaning: ClassVar[str] = (
        "confidential values guessed right by what all classes together tell of keys and values; lower is safer"
    )
    assumes: ClassVar[str] = "the true values of some attributes of everyone, and so the class that a person is in"
    formula: ClassVar[str] = (
        "share of i with z_i = argmax over z of q_i(z); q within a class ~ prod over j of p(x_ij | z) with the counts "
        "of the class as margins; p(x_j | z) from q; both in turn"
    )
    kinds: ClassVar[tuple[str, ...]] = KINDS
    missing: ClassVar[str] = (
        "records without a true confidential value are not attacked; a missing key is a value of its own; a suppressed "
        "confidential value is one that nobody guesses"
    )
    source: ClassVar[str] = (
        "Kifer (2009); Cormode (2011) for the model learnt once; values are assigned by scaling margins, after "
        "Sinkhorn (1967), where Kifer swaps pairs"
    )

    confidential: tuple[str, ...] | None = parameter(default=None, help=CONFIDENTIAL, min_length=1)
    rounds: int = parameter(
        default=100, help="how often model and assignment are made anew at most; 1: the model is learnt once", ge=1,
        le=10_000,
    )  # fmt: skip
    smoothing: float = parameter(
        default=1.0, help="what is added to every count of the model, so that rare keys prove little", gt=0, le=1e6
    )
    bins: int = parameter(
        default=8, help="how many parts of equal frequency a numeric key is divided into", ge=1, le=10_000
    )
    parts: int = parameter(default=5, help=PARTS, ge=1, le=10_000)

    def _assess(self, pair: Pair, attributes: tuple[str, ...], progress: Progress) -> Risk:
        targets = [in_parts(target, self.parts) for target in self.targets(pair, attributes)]
        found: dict[tuple[str, ...], FoundClasses] = {}
        right, counted = {}, dict[str, list[FloatArray]]()
        for target, part in zip(targets, parts(progress, len(targets)), strict=True):
            if target.known not in found:
                label = f"{self.name}: finding classes"
                found[target.known] = classes_of(pair, target.known, Part(part, 0.0, 0.4), label)
            before, after, nothing = common_value_codes(target)
            values = found[target.known].values(after)
            keys = self._keys(pair.original, target.known)
            once, settled = self._learnt(values, keys, Part(part, 0.4, 1.0))
            shares = {
                "right": values.beliefs(settled).right(before, nothing),
                "baseline": values.beliefs().of(before),
                "most frequent": values.beliefs().right(before, nothing),
                "one pass": values.beliefs(once).right(before, nothing),
            }
            shares = {name: np.where(target.attacked, share, np.nan) for name, share in shares.items()}
            right[target.name] = shares.pop("right")
            for name, share in shares.items():
                counted.setdefault(name, []).append(share)
        per_record = mean_over(list(right.values()))
        means = {name: percent(mean_over(shares)) for name, shares in counted.items()}
        gain = beside_baseline(percent(per_record), means["most frequent"])["gain"]
        counters = {"baseline": means.pop("baseline"), "gain": gain, **means}
        scenario = (
            f"An intruder knows the true values of {', '.join(attributes)} of everyone in the file and finds each "
            f"person's class in the release. From the values of {', '.join(right)} in all classes they learn which of "
            "them go with which keys, and name for each person the most probable value of the class."
        )
        return Risk.of(
            self.name,
            per_record,
            attributes,
            scenario,
            counters=counters,
            per_attribute={name: percent(share) for name, share in right.items()},
        )

    def _learnt(self, values: ClassValues, keys: IntArray, progress: Progress) -> tuple[FloatArray, FloatArray]:
        """For every person and value of the class how probable it is, by the model learnt once and at the end."""
        from microveil.numerics.statistics.exchangeable import Shuffled, learn

        person, cell = values.pairs
        of = values.of[cell]
        closed = values.classes.closed[of]
        pairs = Shuffled(person, values.value[cell], cell, values.count.astype(np.float64), closed, keys)
        learnt = learn(pairs, self.rounds, self.smoothing, _ENOUGH, progress, f"{self.name}: learning")
        return learnt.once, learnt.chances

    def _keys(self, original: Microdata, known: tuple[str, ...]) -> IntArray:
        """The true keys as codes, a row for each; a missing one has a code of its own."""
        rows = [np.zeros(len(original), dtype=np.int64)]
        for name in known:
            if original[name].kind == "numeric":
                codes = _in_bins(original.numbers(name).values, self.bins)
            else:
                codes = original.categories(name).codes.astype(np.int64)
            rows.append(np.unique(codes, return_inverse=True)[1].reshape(-1))
        return np.stack(rows)


def _in_bins(values: FloatArray, bins: int) -> IntArray:
    """Which part of equal frequency each number lies in; few different ones are parts of their own."""
    present = ~np.isnan(values)
    different = np.unique(values[present])
    cuts = different[1:]
    if len(different) > bins:
        cuts = np.unique(np.quantile(values[present], np.arange(1, bins) / bins))
    return np.where(present, np.searchsorted(cuts, values, side="right"), len(cuts) + 1)
