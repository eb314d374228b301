"""What `microveil protect` says of a release, whether it was made in memory or by an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from microveil.cli.printing import say

if TYPE_CHECKING:
    from microveil.masking.guarantees import Guarantees
    from microveil.masking.partition import Partition
    from microveil.masking.release import Provenance
    from microveil.microdata import Schema


def of_the_seed(provenance: Provenance) -> list[str]:
    """What is to be said about a seed that is tried first by whoever looks for one."""
    if not provenance.seed_is_guessable:
        return []
    seed = provenance.seed
    return [f"the seed {seed} is easily guessed, and with it much of the masking undone; without --seed one is drawn"]


def say_what_was_done(
    provenance: Provenance,
    schema: Schema,
    untouched: Sequence[str],
    guarantees: Guarantees | None,
    partition: Partition | None = None,
) -> None:
    """The steps, what the release guarantees, what was not masked, and what the steps have to say."""
    from microveil.parameters import shown

    for step in provenance.steps:
        settings = ", ".join(f"{k}={shown(v)}" for k, v in step.parameters.items() if v is not None)
        say(f"{step.method} ({settings}) on {', '.join(step.attributes or ('the links',))}")
    if partition is not None:
        say(f"{len(partition):,} groups, the smallest of {partition.smallest} records")
    for line in [] if guarantees is None else guarantees.sentences():
        say(line)
    if untouched:
        say(f"released as they were: {', '.join(schema.collapsed(untouched))}")
    if provenance.left_out:
        say(f"left out (identifiers): {', '.join(provenance.left_out)}")
    for remark in provenance.notes:
        if remark not in provenance.warnings:
            say(remark)
