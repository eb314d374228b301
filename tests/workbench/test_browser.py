"""The workbench as a person uses it: the real command, the real server, a real browser.

No page may log an error or break the content security policy. Where axe-core is at hand, which `.ci/run` gets from npm,
it finds nothing serious on any screen.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import microveil as mv
from microveil.workbench.bench import Bench
from microveil.workbench.history import LOST

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 240_000  # milliseconds; kernels may have to be compiled first
AXE = Path(os.environ.get("MICROVEIL_AXE", "node_modules/axe-core/axe.min.js"))

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no chromium on this machine")


@dataclass
class Running:
    """A workbench that was started by its command."""

    process: subprocess.Popen[str]
    address: str
    folder: Path
    log: Path

    @property
    def base(self) -> str:
        return self.address.partition("/?")[0]


def started(folder: Path) -> Running:
    command = [sys.executable, "-m", "microveil.cli", "workbench", "--no-open", "--workspace", str(folder)]
    log = folder.with_name("log")
    with log.open("w", encoding="utf-8") as target:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=target, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}", address)
    return Running(process, address, folder, log)


def ended(running: Running, *expected: str) -> None:
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(timeout=60) == 0
    # the log says where the workspace is, and nothing else: no traceback and no values
    told = running.log.read_text(encoding="utf-8").splitlines()
    assert told == [f"note: the workspace is {running.folder}; end the workbench with Ctrl-C", *expected]
    assert running.process.stdout is not None
    running.process.stdout.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as played:
        browser = played.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def workbench(made: Path, tmp_path: Path) -> Iterator[Running]:
    """With the sample, a release and an export."""
    shutil.copytree(made, tmp_path / "space")
    running = started(tmp_path / "space")
    yield running
    ended(running)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Running]:
    running = started(tmp_path / "space")
    yield running
    ended(running)


def opened(chromium: Any, running: Running, complaints: list[str], **context: Any) -> Any:
    """A page with the start address; whatever the browser complains of is noted."""
    made = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **context})
    made.set_default_timeout(PATIENCE)
    page = made.new_page()
    page.on("console", lambda told: complaints.append(told.text) if told.type in ("error", "warning") else None)
    page.on("pageerror", lambda problem: complaints.append(str(problem)))
    page.goto(running.address)
    return page


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    found: list[str] = []
    yield found
    assert found == []


@pytest.fixture
def page(chromium: Any, workbench: Running, complaints: list[str]) -> Iterator[Any]:
    found = opened(chromium, workbench, complaints)
    yield found
    found.context.close()


@pytest.fixture
def blank(chromium: Any, empty: Running, complaints: list[str]) -> Iterator[Any]:
    found = opened(chromium, empty, complaints)
    yield found
    found.context.close()


def wait_for_step(page: Any, title: str) -> None:
    page.wait_for_selector(f".chip[aria-current]:has-text('{title}')")


def press(page: Any, key: str) -> None:
    """Press a key once the page listens to keys."""
    page.wait_for_selector("body[data-ready]")
    page.keyboard.press(key)


def exported_again(page: Any, running: Running, released: str, tmp_path: Path) -> None:
    """Export, unpack, and run the exported script: it makes the same bytes."""
    page.goto(f"{running.base}/out")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Everything as a zip").click()
    downloading.value.save_as(tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as packed:
        packed.extractall(tmp_path / "packed")
    (tmp_path / "again").mkdir()
    script = [sys.executable, tmp_path / "packed" / "internal" / "make_release.py", tmp_path, tmp_path / "again"]
    subprocess.run(list(map(str, script)), check=True, capture_output=True)
    public = tmp_path / "packed" / "public" / released
    files = [public] if public.is_file() else sorted(public.iterdir())
    assert files
    for file in files:
        again = tmp_path / "again" / file.relative_to(tmp_path / "packed" / "public")
        assert again.read_bytes() == file.read_bytes()


def undone_and_branched(page: Any, running: Running, start: str, method: str, parameter: str, values: str) -> None:
    """Undo, and try several values of a method from there; ends at the map."""
    press(page, "Control+z")
    wait_for_step(page, start)
    page.goto(f"{running.base}/try?method={method}")
    page.select_option("#vary", parameter)
    page.fill("#values", values)
    page.get_by_role("button", name="Run them all").click()
    page.wait_for_url("**/map")
    page.wait_for_selector("table.candidates tbody tr:nth-child(3)")  # the map fills while one looks at it


def compared_by_a_study(page: Any, method: str, candidates: int) -> None:
    """A study of one method from the map, which then has so many candidates."""
    page.locator("summary", has_text="Compare several methods").click()
    study = page.locator("form[action='/study']")
    ticked = study.locator("input[name=method]:checked")
    while ticked.count():
        ticked.first.uncheck()
    study.get_by_label(method, exact=True).check()
    page.fill("#strengths", "2")
    study.get_by_role("button", name="Compare them").click()
    page.wait_for_selector(f".exploration.done:has-text('{method} compared')")
    page.wait_for_selector(f"table.candidates tbody tr:nth-child({candidates})")


def started_to_search(page: Any) -> None:
    """A search that would go on for hours, and has told of something that it has tried."""
    page.locator("summary", has_text="Let the machine search").click()
    page.fill("#evaluations", "1000000")
    page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_selector(".exploration.waiting:has-text(' tried')")


def searched_and_cancelled(page: Any) -> None:
    """A search that is cancelled once the map shows what it tries."""
    started_to_search(page)
    page.get_by_role("button", name="Cancel search").click()
    page.wait_for_selector(".exploration:not(.waiting):has-text('Search for the best balance')")


# --- three walks ----------------------------------------------------------------------------------------------------


def test_a_survey_from_a_file_to_a_release(page: Any, workbench: Running, tmp_path: Path) -> None:
    """Load, set roles, protect, undo, branch, compare, several values live, export, for a file that is sent."""
    people = tmp_path / "people.csv"
    rows = (f"{20 + 7 * i % 60},{'fm'[i % 2]},{1000 + 37 * i % 900},{i % 5}" for i in range(200))
    people.write_text("age,sex,income,region\n" + "\n".join(rows) + "\n", encoding="utf-8")
    page.get_by_text("Load another table").click()
    page.set_input_files("#file", people)
    page.wait_for_selector("header .file strong:has-text('people.csv')")
    # roles, by keyboard too: ticking two rows gives both the same role
    for name in ("age", "income"):
        page.get_by_label(f"Tick {name}", exact=True).focus()
        page.keyboard.press("Space")
    page.select_option("#bulk-role", "key")
    page.get_by_role("button", name="Apply kinds and roles (2 changed)").click()
    wait_for_step(page, "2 attributes described")
    # a wrong parameter is told while it is typed, and the code follows the form
    press(page, "Alt+3")
    page.wait_for_url("**/try")
    page.goto(f"{workbench.base}/try?method=mdav")
    page.fill("#set-k", "1")
    page.wait_for_selector("#wrong-k:visible")
    assert page.inner_text("#wrong-k") == "k = 1 is not allowed; it must be greater than or equal to 2."
    page.fill("#set-k", "4")
    page.wait_for_selector("#shell:has-text('--set k=4')")
    page.wait_for_selector("#effect table ins")  # what it does to a small sample
    page.click("#run:not([disabled])")
    wait_for_step(page, "mdav k=4")
    # undo by keyboard, then a branch
    page.locator("main").focus()
    press(page, "Control+z")
    wait_for_step(page, "2 attributes described")
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
    page.select_option("#row-1", "age")
    page.select_option("#column-1", "region")
    page.get_by_role("button", name="Show").click()
    page.wait_for_selector(".two-way caption:has-text('age by region')")
    page.select_option("#and", label="mdav k=3")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_selector("#compare h2:has-text('mdav k=20 and mdav k=3')")
    page.get_by_role("button", name="Go to mdav k=20").click()
    wait_for_step(page, "mdav k=20")
    page.goto(f"{workbench.base}/risk")
    page.wait_for_selector(".number .value")
    assert page.locator(".number").count() == 3
    exported_again(page, workbench, "people-safe.csv", tmp_path)


def test_time_series_from_a_long_file_to_a_release(blank: Any, empty: Running, tmp_path: Path) -> None:
    """A long table is declared as series, masked by their shape, compared curve by curve, and exported."""
    mv.write(mv.datasets.metering(24, form="long", step="hour", periods=1), tmp_path / "meters.csv")
    blank.fill("#path", str(tmp_path / "meters.csv"))
    blank.get_by_role("button", name="Load", exact=True).click()
    blank.wait_for_selector("header .file:has-text('576 records')")
    blank.get_by_text("This table holds time series").click()
    blank.select_option("#unit", "meter")
    blank.select_option("#moment", "time")
    blank.select_option("#value", "load")
    blank.get_by_role("button", name="Read it as series").click()
    blank.wait_for_selector("header .file:has-text('24 records')")
    blank.goto(f"{empty.base}/try?method=mdav")
    blank.get_by_text("more settings").click()
    blank.select_option("#set-distance", "sts")
    assert blank.get_by_label("load", exact=True).is_visible()
    blank.click("#run:not([disabled])")
    wait_for_step(blank, "mdav k=3 distance=sts")
    undone_and_branched(blank, empty, "meters.csv", "mdav", "k", "4, 6")
    compared_by_a_study(blank, "noise", 5)
    searched_and_cancelled(blank)
    blank.locator("table.candidates a", has_text="distance=sts").click()
    blank.wait_for_selector("#compare figcaption:has-text('autocorrelation')")
    blank.get_by_role("button", name="Go to mdav k=3 distance=sts").click()
    wait_for_step(blank, "mdav k=3 distance=sts")
    exported_again(blank, empty, "meters-safe.csv", tmp_path)


def test_a_graph_from_two_files_to_a_release(blank: Any, empty: Running, tmp_path: Path) -> None:
    """Nodes are loaded, links are sent, profiles and degrees are masked one after the other, and both are exported."""
    mv.write(mv.datasets.social_network(40), tmp_path / "graph")
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    shutil.copy(tmp_path / "graph" / "nodes.csv", nodes)
    shutil.copy(tmp_path / "graph" / "edges.csv", edges)
    blank.fill("#path", str(nodes))
    blank.get_by_role("button", name="Load", exact=True).click()
    blank.wait_for_selector("table.attributes")
    blank.get_by_text("The records are linked with each other").click()
    blank.set_input_files("#links-file", edges)
    blank.wait_for_selector(
        "tr:has(th:has-text('id')) select[aria-label='Role of id'] option[selected]:has-text('node')", state="attached"
    )
    blank.goto(f"{empty.base}/try?method=k-degree")
    blank.click("#run:not([disabled])")
    wait_for_step(blank, "k-degree")
    undone_and_branched(blank, empty, "nodes.csv", "edge-swapping", "share", "0.1, 0.3")
    compared_by_a_study(blank, "graph-profiles", 5)
    searched_and_cancelled(blank)
    blank.locator("table.candidates a", has_text="k-degree").click()
    blank.wait_for_selector("#compare figcaption:has-text('Links of the nodes')")
    blank.get_by_role("button", name="Go to k-degree").click()
    wait_for_step(blank, "k-degree")
    exported_again(blank, empty, "nodes-safe", tmp_path)


# --- the machine -----------------------------------------------------------------------------------------------------


def test_a_search_fills_the_map_live_and_leaves_forms_alone(page: Any, workbench: Running) -> None:
    page.goto(f"{workbench.base}/map")
    compared_by_a_study(page, "rank-swapping", 3)
    started_to_search(page)
    seen = page.locator(".map svg circle").count()
    page.wait_for_function("(seen) => document.querySelectorAll('.map svg circle').length > seen", arg=seen)
    # a form that was begun stays as it is, while the map goes on
    page.fill("#bound-loss", "77")
    before = page.inner_text(".exploration.waiting .small")
    page.wait_for_function(
        "(before) => document.querySelector('.exploration.waiting .small').innerText !== before", arg=before
    )
    assert page.input_value("#bound-loss") == "77"
    page.get_by_role("button", name="Cancel search").click()
    page.wait_for_selector(".exploration:not(.waiting):has-text('Search for the best balance')")


def test_what_is_typed_stays_when_the_history_changes_meanwhile(page: Any, workbench: Running) -> None:
    """Also what is typed while the changed page is on its way."""
    address = f"{workbench.base}/try?method=mdav"
    held: list[Any] = []
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    page.route(address, lambda route: held.append(route))
    other = page.context.new_page()
    other.goto(f"{workbench.base}/map")
    with page.expect_request(address):
        other.get_by_role("button", name="Undo").click()
    page.fill("#values", "3, 8, 20")
    held[0].continue_()
    wait_for_step(page, "survey.csv")
    assert page.input_value("#values") == "3, 8, 20"
    assert page.locator("#changed").is_visible()


def test_a_mark_tells_its_numbers_and_marks_on_each_other_can_all_be_chosen(page: Any, workbench: Running) -> None:
    page.get_by_role("button", name="Undo").click()
    wait_for_step(page, "survey.csv")
    page.goto(f"{workbench.base}/try?method=mdav")
    page.fill("#values", "5, 5")
    for name in ("age", "income", "wealth", "expenditure"):
        page.get_by_label(name, exact=True).check()
    page.get_by_role("button", name="Run them all").click()
    page.wait_for_selector("table.candidates tbody tr:nth-child(3)")
    page.wait_for_selector("#idle:not([hidden])")
    page.reload()
    mark = page.locator(".map svg a").last.locator("circle").last
    mark.hover()
    numbers = page.locator("aside .explained:visible")
    assert re.search(r"Risk \d+\.\d %, loss \d+\.\d %, score \d+\.\d", numbers.inner_text())
    chosen = set()
    for _ in range(3):
        box = page.locator(".map svg a").last.locator("circle").last.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_selector("#compare figure svg")
        name = page.evaluate("new URL(location.href).searchParams.get('with')")
        chosen.add(name)
        page.goto(f"{workbench.base}/map?with={name}")
        page.wait_for_selector("body[data-ready]")
    assert len(chosen) == 3


def test_advice_is_given_and_taken(page: Any, workbench: Running) -> None:
    page.goto(f"{workbench.base}/risk")
    page.get_by_role("button", name="Find out").click()
    page.get_by_role("button", name=re.compile("^Try: recode")).first.click()
    wait_for_step(page, "recode")


# --- one attribute ---------------------------------------------------------------------------------------------------


def test_missing_codes_and_a_hierarchy_are_edited(page: Any, workbench: Running) -> None:
    page.goto(f"{workbench.base}/data?attribute=region")
    page.wait_for_selector("[role=tree] [role=treeitem]")
    groups = page.locator("#say-hierarchy").input_value().splitlines()
    category, group = groups[0].split(",")[:2]
    other = next(line.split(",")[1] for line in groups if line.split(",")[1] != group)
    # by keyboard: choose what, name the group, Enter
    page.select_option("#move-what", label=category)
    page.fill("#move-to", other)
    page.keyboard.press("Enter")
    assert f"{category},{other}," in page.locator("#say-hierarchy").input_value()
    page.fill("#say-codes", "refused")
    page.get_by_role("button", name="Apply to region").click()
    wait_for_step(page, "region described")
    page.wait_for_selector("#say-codes")
    assert page.locator("#say-codes").input_value() == "refused"
    assert f"{category},{other}," in page.locator("#say-hierarchy").input_value()
    # by mouse: drag it back; the page may be fetched once more meanwhile, and its tree is then folded up
    source = page.locator("[role=tree] li", has_text=re.compile(f"^{category}$")).first
    target = page.locator("[role=tree] li", has_text=group).nth(1)
    for _ in range(5):
        if not source.is_visible():
            page.locator("[role=tree] li > span", has_text=other).first.click()
        with contextlib.suppress(playwright.TimeoutError):
            source.drag_to(target, target_position={"x": 10, "y": 5}, timeout=30_000)
            break
    assert f"{category},{group}," in page.locator("#say-hierarchy").input_value()


# --- by keyboard alone ------------------------------------------------------------------------------------------------


def tabbed_to(page: Any, name: str) -> None:
    """Press Tab until the control with this name has the focus."""
    for _ in range(400):
        page.keyboard.press("Tab")
        said = page.evaluate(
            "(({ ariaLabel, textContent, labels }) => ariaLabel || labels?.[0]?.textContent || textContent)"
            "(document.activeElement).trim()"
        )
        if said == name:
            return
    raise AssertionError(f"{name} is not reached by Tab")


def test_everything_can_be_done_by_keyboard(blank: Any, empty: Running) -> None:
    """Load, set a role, protect, undo, redo, name, choose on the map and export, without a mouse."""
    tabbed_to(blank, "Load the sample")
    blank.keyboard.press("Enter")
    blank.wait_for_selector("table.attributes")
    blank.wait_for_selector("#idle:not([hidden])")
    tabbed_to(blank, "Role of health")
    blank.keyboard.type("key")
    blank.keyboard.press("Control+Home")
    tabbed_to(blank, "Apply kinds and roles (1 changed)")
    blank.keyboard.press("Enter")
    wait_for_step(blank, "health described")
    blank.wait_for_selector("#idle:not([hidden])")
    press(blank, "Alt+3")
    blank.wait_for_url("**/try")
    tabbed_to(blank, "Start with mdav-generic")
    blank.keyboard.press("Enter")
    blank.wait_for_selector("#run")
    tabbed_to(blank, "Run")
    blank.keyboard.press("Enter")
    wait_for_step(blank, "mdav-generic k=3")
    press(blank, "Control+z")
    wait_for_step(blank, "health described")
    press(blank, "Control+y")
    wait_for_step(blank, "mdav-generic k=3")
    blank.wait_for_selector("#idle:not([hidden])")
    tabbed_to(blank, "All 3")
    blank.keyboard.press("Enter")
    tabbed_to(blank, "Name of the step mdav-generic k=3")
    blank.keyboard.press("Control+a")
    blank.keyboard.type("threes")
    blank.keyboard.press("Enter")
    wait_for_step(blank, "threes")
    press(blank, "Alt+4")
    blank.wait_for_selector(".map svg a")
    press(blank, "Tab")
    mark = "document.activeElement.closest('.map svg a') !== null"
    for _ in range(60):
        if blank.evaluate(mark):
            break
        blank.keyboard.press("Tab")
    blank.keyboard.press("Enter")
    blank.wait_for_selector("#compare figure svg")
    press(blank, "Alt+5")
    blank.wait_for_url("**/out")
    tabbed_to(blank, "Export")
    blank.keyboard.press("Enter")
    blank.wait_for_selector("text=Everything as a zip")


# --- looks ------------------------------------------------------------------------------------------------------------


def test_two_tabs_see_each_other_and_keys_open_and_close(page: Any, workbench: Running) -> None:
    other = page.context.new_page()
    other.goto(f"{workbench.base}/map")
    page.get_by_role("button", name="Undo").click()
    for tab in (page, other):
        tab.wait_for_selector(".chip[aria-current]:has-text('survey.csv')")
    press(page, "?")
    assert page.locator("dialog#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog#keys").is_visible()


@pytest.mark.parametrize("width", [1280, 1920])
def test_no_screen_is_wider_than_the_window(
    chromium: Any, workbench: Running, complaints: list[str], width: int
) -> None:
    page = opened(chromium, workbench, complaints, viewport={"width": width, "height": 900})
    for path in SCREENS:
        page.goto(workbench.base + path)
        page.wait_for_selector("h1")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert (
            page.evaluate("document.getElementById('main').scrollWidth - document.getElementById('main').clientWidth")
            <= 1
        ), path
    page.context.close()


SCREENS = ("/data", "/data?attribute=region", "/risk", "/try?method=mdav", "/map", "/out")


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not at hand; .ci/run gets it from npm")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way_of_a_screen_reader(
    chromium: Any, workbench: Running, complaints: list[str], scheme: str
) -> None:
    page = opened(chromium, workbench, complaints, color_scheme=scheme, reduced_motion="reduce")
    axe = AXE.read_text(encoding="utf-8")
    page.goto(f"{workbench.base}/map")
    page.locator(".map svg a").first.click()
    page.wait_for_selector("#compare figure svg")
    dialogs = ("/map?open=keys", "/map?open=history")
    for path in (*SCREENS, page.url.removeprefix(workbench.base), *dialogs):
        page.goto(workbench.base + path)
        page.wait_for_selector("body[data-ready]")
        if path in dialogs:
            page.click(f"[data-opens={path.partition('=')[2]}]")
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        serious = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
        told = [(v["id"], [node["html"][:120] for node in v["nodes"][:3]]) for v in serious]
        assert told == [], path
    page.context.close()


def test_a_printed_screen_has_its_content_and_nothing_to_press(page: Any, workbench: Running) -> None:
    page.emulate_media(media="print", color_scheme="dark")
    for path in SCREENS:
        page.goto(workbench.base + path)
        page.wait_for_selector("h1")
        assert page.locator("h1").is_visible()
        pressed = page.locator("main button, main a.button, nav.steps, aside, footer, #fold")
        assert [one.inner_text() for one in pressed.all() if one.is_visible()] == [], path
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.goto(f"{workbench.base}/data")
    rows = page.locator("table.attributes tbody tr")
    assert rows.count() == 14
    assert rows.last.is_visible()


def test_what_is_no_http_and_what_is_cut_off_is_refused_and_the_pages_go_on(page: Any, workbench: Running) -> None:
    rng = random.Random(18)
    port = int(workbench.base.rpartition(":")[2])
    begun = f"PUT /upload?name=a.csv HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 1000\r\n\r\nage".encode()
    for sent in (
        *(rng.randbytes(rng.randint(1, 400)) for _ in range(100)),
        begun,
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n" * 50,
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                answer = connection.recv(4096)
                assert not answer or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4")), answer
    page.reload()
    assert page.locator("table.attributes").is_visible()


def test_an_unforeseen_error_is_a_sentence_and_the_log_has_its_type_alone(
    chromium: Any, made: Path, tmp_path: Path
) -> None:
    """The workbench also ends at once while a page is open and listens to it."""
    shutil.copytree(made, tmp_path / "space")
    running = started(tmp_path / "space")
    page = opened(chromium, running, [])
    (records,) = (tmp_path / "space" / "tables").glob("*/records.parquet")
    records.write_bytes(b"Aldermark is no Parquet")
    answer = page.goto(f"{running.base}/data")
    assert answer.status == 500
    assert "An internal error (ArrowInvalid); nothing was changed." in page.inner_text("main")
    page.goto(f"{running.base}/map")
    page.wait_for_selector("body[data-ready]")
    ended(running, "note: internal error (ArrowInvalid)")
    page.context.close()


# --- kill -9 ----------------------------------------------------------------------------------------------------------


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
