"""Numbers far too large: no numeric parameter starts work without end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHILD = Path(__file__).with_name("limits_child.py")
KINDS = ("method", "attack", "loss", "score")


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_far_too_large_are_refused_or_do_no_more_work_than_the_table_gives(kind: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", str(CHILD), kind], capture_output=True, text=True, timeout=900, check=False
    )
    assert ended.returncode == 0, f"{ended.stdout.splitlines()[-1]}: {ended.stderr[-2000:]}"
    assert ended.stdout.splitlines()[-1] == "done"
