"""Several masked versions of one table, and releases of others, in `microveil assess --also` and `--other`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microveil.cli.printing import console, say
from microveil.errors import ParameterError

if TYPE_CHECKING:
    from microveil.attacks import Attack
    from microveil.attacks.composition import Other
    from microveil.attacks.correspondence import Correspondence
    from microveil.attacks.versions import Link, Versions
    from microveil.progress import Progress


def check_versions(masked: Path, also: Sequence[Path], other: Sequence[Path], link: str) -> None:
    """Refuse what makes no sense before anything is read."""
    if link != "order" and not also:
        raise ParameterError("--link says how the records of several versions are matched; it needs --also")
    paths = [path.resolve() for path in (masked, *also)]
    if len(set(paths)) < len(paths):
        raise ParameterError("--also names a file that is already given; it takes other versions of the masked table")
    paths += [path.resolve() for path in other]
    if len(set(paths)) < len(paths):
        raise ParameterError("--other names a file that is already given; it takes releases of other tables")


def attack_together(
    matched: Sequence[Correspondence],
    known: Sequence[str] | None,
    attacks: Sequence[Attack],
    link: Link,
    progress: Progress,
    others: Sequence[Other] = (),
) -> list[Versions]:
    """Each attack on every version by itself and on all of them together; without any named, distance linkage.

    Releases of other tables can be attacked by composition only, which then stands first.
    """
    from microveil.attacks.composition import Composition
    from microveil.attacks.linkage.distance import DistanceLinkage
    from microveil.attacks.versions import attack_matched_versions
    from microveil.progress import parts

    several = list(attacks or [DistanceLinkage()]) if len(matched) > 1 else []
    if others:
        composed = [attack for attack in attacks if isinstance(attack, Composition)] or [Composition()]
        several = [*composed, *(attack for attack in several if not isinstance(attack, Composition))]
    found = []
    for attack, part in zip(several, parts(progress, len(several)), strict=True):
        joined = others if isinstance(attack, Composition) else ()
        found.append(attack_matched_versions(matched, known, attack=attack, link=link, others=joined, progress=part))
    return found


def plain_versions(files: Sequence[str], versions: Sequence[Versions]) -> dict[str, Any]:
    """For --json: by attack the risks of each version alone, of all together, and the greatest of these, and the gains
    for each attribute."""
    plain = {found.together.name: found.to_plain() for found in versions}
    risks = {name: {part: found[part] for part in ("risk", "alone", "together")} for name, found in plain.items()}
    told = next((found for found in versions if found.gains), versions[0])
    gains = {name: gain.to_plain() for name, gain in told.gains.items()}
    return {"files": list(files), "risks": risks, "gains": gains}


def print_versions(files: Sequence[str], versions: Sequence[Versions]) -> None:
    """What an intruder who has all versions gains over one who has a single one."""
    from rich.table import Table

    for size in dict.fromkeys(len(found.alone) for found in versions):
        alike = [found for found in versions if len(found.alone) == size]
        say(alike[0].heading)
        table = Table(title="risks, %", title_justify="left")
        table.add_column("risk", overflow="fold")
        for column in (*files[:size], "together", "highest", "95 % interval"):
            table.add_column(column, justify="right", overflow="fold")
        for found in alike:
            table.add_row(*found.row())
        console().print(table)
        for sentence in next((found for found in alike if found.gains), alike[0]).sentences():
            say(sentence)
