"""The workbench as a person uses it: the real command, the real server, a real browser.

No page may log an error or break the content security policy.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from microveil.workbench.bench import Bench
from microveil.workbench.history import LOST

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 120_000  # milliseconds; kernels may have to be compiled first

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no chromium on this machine")


@dataclass
class Running:
    """A workbench that was started by its command."""

    process: subprocess.Popen[str]
    address: str
    folder: Path

    @property
    def base(self) -> str:
        return self.address.partition("/?")[0]


def started(folder: Path) -> Running:
    command = [sys.executable, "-m", "microveil.cli", "workbench", "--no-open", "--workspace", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}", address)
    return Running(process, address, folder)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as played:
        browser = played.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def workbench(made: Path, tmp_path: Path) -> Iterator[Running]:
    shutil.copytree(made, tmp_path / "space")
    running = started(tmp_path / "space")
    yield running
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(timeout=30) == 0
    assert running.process.stdout is not None
    running.process.stdout.close()


@pytest.fixture
def page(chromium: Any, workbench: Running) -> Iterator[Any]:
    """A page that was opened with the start address; whatever the browser complains of fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE)
    made = context.new_page()
    complaints: list[str] = []
    made.on("console", lambda told: complaints.append(told.text) if told.type in ("error", "warning") else None)
    made.on("pageerror", lambda problem: complaints.append(str(problem)))
    made.goto(workbench.address)
    yield made
    context.close()
    assert complaints == []


def test_from_a_file_to_a_release(page: Any, workbench: Running, tmp_path: Path) -> None:
    """Load, set roles, protect, undo, branch, compare, several values live, export, for a file that is sent."""
    people = tmp_path / "people.csv"
    rows = (f"{20 + 7 * i % 60},{'fm'[i % 2]},{1000 + 37 * i % 900},{i % 5}" for i in range(200))
    people.write_text("age,sex,income,region\n" + "\n".join(rows) + "\n", encoding="utf-8")
    page.get_by_text("Load another table").click()
    page.set_input_files("#file", people)
    page.wait_for_selector("header .file strong:has-text('people.csv')")
    # roles, by keyboard too: ticking two rows gives both the same role
    for name in ("age", "income"):
        page.get_by_label(f"Tick {name}").focus()
        page.keyboard.press("Space")
    page.select_option("#bulk-role", "key")
    page.get_by_role("button", name="Apply kinds and roles (2 changed)").click()
    page.wait_for_selector(".chip[aria-current]:has-text('2 attributes described')")
    # a wrong parameter is told while it is typed
    page.keyboard.press("Alt+3")
    page.wait_for_url("**/try")
    page.goto(f"{workbench.base}/try?method=mdav")
    page.fill("#set-k", "1")
    page.wait_for_selector("#wrong-k:visible")
    assert page.inner_text("#wrong-k") == "k = 1 is not allowed; it must be greater than or equal to 2."
    page.fill("#set-k", "4")
    page.click("#run:not([disabled])")
    page.wait_for_selector(".chip[aria-current]:has-text('mdav k=4')")
    # undo by keyboard, then a branch
    page.locator("main").focus()
    page.keyboard.press("Control+z")
    page.wait_for_selector(".chip[aria-current]:has-text('2 attributes described')")
    page.goto(f"{workbench.base}/try?method=mdav")
    page.fill("#values", "3, 8, 20")
    page.get_by_role("button", name="Run them all").click()
    page.wait_for_url("**/map")
    page.wait_for_selector("table.candidates tbody tr:nth-child(4)")  # the map fills while one looks at it
    # a mark of the map leads to the comparison
    page.locator(".map svg a").nth(3).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#compare figure svg")
    assert "mdav k=20, beside the original" in page.inner_text("#compare h2")
    page.select_option("#and", label="mdav k=3")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("#compare h2:has-text('mdav k=20 and mdav k=3')")
    page.locator("table.candidates").get_by_role("button", name="Go there").last.click()
    page.goto(f"{workbench.base}/risk")
    page.wait_for_selector(".number .value")
    assert page.locator(".number").count() == 3
    page.goto(f"{workbench.base}/out")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Everything as a zip").click()
    assert downloading.value.suggested_filename == "people-safe.zip"


def test_two_tabs_see_each_other_and_keys_open_and_close(page: Any, workbench: Running) -> None:
    other = page.context.new_page()
    other.goto(f"{workbench.base}/map")
    page.get_by_role("button", name="Undo").click()
    other.wait_for_selector(".chip[aria-current]:has-text('survey.csv')")
    page.keyboard.press("?")
    assert page.locator("dialog#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog#keys").is_visible()


def test_a_kill_in_the_middle_of_a_step_loses_that_step_alone(chromium: Any, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "space")
    running = started(tmp_path / "space")
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(running.address)
    page.goto(f"{running.base}/try?method=mdav-generic")
    page.click("#run")
    page.wait_for_selector("#running li")
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait()
    assert running.process.stdout is not None
    running.process.stdout.close()
    page.close()
    bench = Bench(tmp_path / "space")
    try:
        assert bench.here().title == "mdav k=5"
        assert bench.measures(bench.here()) is not None
        states = sorted(node.state for node in bench.history.nodes.values())
        assert states == ["done", "done", LOST]
    finally:
        bench.close()
