"""Run the command line inside this process and tell refusals from failures."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout

from attempt import Finding

from microveil.errors import MicroveilError


def command(words: list[str]) -> None:
    """Whatever the command refuses is raised as an error of the family, as in Python; others pass as they are."""
    from microveil.cli.app import main

    said, complained = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["microveil", *words]
    status: object = 0
    try:
        with redirect_stdout(said), redirect_stderr(complained):
            main()
    except SystemExit as end:
        status = end.code
    finally:
        sys.argv = before
    complaint = complained.getvalue()
    if "internal error" in complaint or "Traceback" in complaint:
        raise Finding(f"{complaint[-300:]}")
    if status:
        if status not in (1, 2):
            raise Finding(f"status {status}")
        if not complaint.strip():
            raise Finding(f"status {status} without a word")
        raise MicroveilError(complaint.strip().splitlines()[-1])
