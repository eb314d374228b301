"""What a reader meets who follows a command through the code: the files whose functions it runs, room by room, and what
it converts more than once.

`python docs/walk.py` runs `protect`, `assess --attacks all` and a small study on the example table and prints both.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import microveil
from microveil.cli import main as run

SOURCE = Path(microveil.__file__).resolve().parent
EXAMPLES = Path(__file__).resolve().parent / "examples"
PEOPLE, SCHEMA = EXAMPLES / "people.csv", EXAMPLES / "people.toml"
# what turns a table, or a column of it, into something else; the local variables that say what of
CONVERSIONS = {
    ("microdata/files/reading.py", "read"): ("path",),
    ("microdata/microdata.py", "digest"): (),
    ("microdata/microdata.py", "numbers"): ("name",),
    ("microdata/microdata.py", "categories"): ("name",),
    ("comparison/pairs.py", "of"): (),
}
STUDY = """
data = "{people}"
schema = "{schema}"

[[method]]
name = "mdav"
attributes = ["age", "income"]
grid = {{ k = [3, 5] }}
"""


class Walk:
    """The functions that ran, by file, and how often each conversion was made of the same thing."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.conversions: dict[str, Counter[Any]] = defaultdict(Counter)
        self.kept: list[Any] = []  # so that no other object gets the identity of one that was looked at

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(str(SOURCE)):
            return
        file = str(Path(frame.f_code.co_filename).relative_to(SOURCE))
        name = frame.f_code.co_name
        if name == "<module>":
            return
        self.files.add(file)
        if (file, name) in CONVERSIONS:
            owner = frame.f_locals.get("self", frame.f_locals.get("original"))
            self.kept.append(owner)
            of = tuple(str(frame.f_locals.get(part)) for part in CONVERSIONS[file, name])
            self.conversions[f"{Path(file).stem}.{name}"][(id(owner), *of)] += 1


def walked(*words: object) -> Walk:
    """One command, quietly, in this process."""
    walk = Walk()
    silent = io.StringIO()
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        threading.setprofile(walk)
        sys.setprofile(walk)
        sys.argv = ["microveil", *map(str, words)]
        try:
            run()
        except SystemExit as ended:
            if ended.code:
                raise
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return walk


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        safe, design = Path(folder) / "safe.csv", Path(folder) / "study.toml"
        design.write_text(STUDY.format(people=PEOPLE, schema=SCHEMA))
        masking = ("--method", "mdav", "--set", "k=3", "--attributes", "age,income", "--out", safe)
        commands = {
            "protect": ("protect", PEOPLE, "--schema", SCHEMA, *masking),
            "assess --attacks all": ("assess", PEOPLE, safe, "--attacks", "all"),
            "study": ("study", design, "--out", Path(folder) / "study", "--workers", 1),
        }
        for label, words in commands.items():
            walk = walked(*words)
            rooms = Counter(file.split("/")[0].removesuffix(".py") for file in walk.files)
            told = ", ".join(f"{room} {number}" for room, number in rooms.most_common())
            print(f"{label}: {len(walk.files)} files ({told})")
            for conversion, counts in walk.conversions.items():
                again = sum(number - 1 for number in counts.values())
                print(f"  {conversion}: {sum(counts.values())} calls, {again} of them for the same thing again")


if __name__ == "__main__":
    main()
