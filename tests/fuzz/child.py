"""The child process: makes one attempt after another and says how each ended.

It reads lines of `kind number` and answers one line of JSON for each, over two pipes of its own, so that nothing that
a command prints gets between.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import random
import resource
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from attempt import Finding, check_folder, contents

_MEMORY = 6 * 2**30  # so that a table of 2^34 cells is refused, and the machine goes on


def outcome_of(kind: str, number: int) -> dict[str, str]:
    """How one attempt ends: done, refused in one sentence of the error family, or a finding."""
    from microveil.errors import MicroveilError

    make = importlib.import_module(f"kinds.{kind}").make
    told = ""
    with tempfile.TemporaryDirectory(prefix="microveil-fuzz-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        os.chdir(folder)
        try:
            attempt = make(random.Random(f"{kind} {number}"), folder)
            told = attempt.told
            before = contents(folder)
            try:
                attempt.act()
                ended, sentence = "done", ""
            except MicroveilError as problem:
                ended, sentence = "refused", str(problem)
            check_folder(before, contents(folder), attempt.outputs, ended == "refused")
            if ended == "refused" and (not sentence.strip() or len(sentence) > 2000):
                raise Finding(f"a refusal of {len(sentence)} characters: {sentence[:200]}")
        except Finding as finding:
            return {"ended": "finding", "what": str(finding), "told": told}
        except MemoryError:
            return {"ended": "refused", "what": "not enough memory", "told": told}
        except BaseException as problem:
            where = "".join(traceback.format_exception(problem)[-6:])
            place = [f for f in traceback.extract_tb(problem.__traceback__) if "microveil" in f.filename]
            line = f"{Path(place[-1].filename).name}:{place[-1].lineno}" if place else "outside"
            what = f"{type(problem).__name__} at {line}"
            return {"ended": "finding", "what": what, "told": told, "trace": where[-6000:]}
        finally:
            os.chdir("/")
    return {"ended": ended, "what": sentence, "told": told}


def main() -> None:
    questions, answers = os.fdopen(int(sys.argv[1]), "r"), os.fdopen(int(sys.argv[2]), "w")
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 0)
    os.dup2(quiet, 1)
    faulthandler.enable(all_threads=False)
    warnings.simplefilter("ignore")
    for line in questions:
        kind, number = line.split()
        answers.write(json.dumps(outcome_of(kind, int(number))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
