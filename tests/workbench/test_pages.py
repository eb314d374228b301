"""The pages and actions of the workbench, asked as a browser would, and as nobody should."""

from __future__ import annotations

import asyncio
import html
import random
import re
import runpy
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import microveil as mv
from microveil.applications import FORMATS
from microveil.workbench.app import Pages
from microveil.workbench.bench import WRITABLE, Bench
from microveil.workbench.guard import POLICY, Guard
from microveil.workbench.history import History
from microveil.workbench.jobs import RUNNING, Job

PORT, TOKEN = 8123, "the-token"
BASE = f"http://127.0.0.1:{PORT}"
SCREENS = ("data", "risk", "try", "map", "out")
FORM = "application/x-www-form-urlencoded"
Idle = Callable[[Bench], None]


class Browser:
    """Asks the application in this process, one request after the other, and keeps cookies."""

    def __init__(self, bench: Bench, **options: Any) -> None:
        guarded = Guard(Pages(bench, **options).app(), PORT, TOKEN)
        transport = httpx.ASGITransport(guarded, raise_app_exceptions=False)
        self.runner = asyncio.Runner()
        self.client = httpx.AsyncClient(transport=transport, base_url=BASE, follow_redirects=True)
        self.headers = self.client.headers

    def request(self, method: str, url: str, **asked: Any) -> httpx.Response:
        return self.runner.run(self.client.request(method, url, **asked))

    def get(self, url: str, **asked: Any) -> httpx.Response:
        return self.request("GET", url, **asked)

    def post(self, url: str, **asked: Any) -> httpx.Response:
        # as a browser sends it also without any field
        data, headers = asked.pop("data"), {"content-type": FORM, **asked.pop("headers", {})}
        return self.request("POST", url, content=str(httpx.QueryParams(data)), headers=headers, **asked)

    def put(self, url: str, **asked: Any) -> httpx.Response:
        return self.request("PUT", url, **asked)

    def close(self) -> None:
        self.runner.run(self.client.aclose())
        self.runner.close()


@pytest.fixture
def stranger(bench: Bench) -> Iterator[Browser]:
    """Somebody on this machine without the token."""
    client = Browser(bench)
    yield client
    client.close()


@pytest.fixture
def owner(bench: Bench) -> Iterator[Browser]:
    """The browser that opened the start address."""
    client = Browser(bench, largest_upload=50_000)
    answer = client.get(f"/?token={TOKEN}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/data")
    client.headers["origin"] = BASE
    yield client
    client.close()


def plain_words(answer: httpx.Response) -> bool:
    """A refusal is a sentence: no page of an error, no trace of the code."""
    told = answer.text
    return 5 < len(told) < 400 and "Traceback" not in told and "File " not in told and told[0].isupper()


# --- who may ask --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/", "/data", "/events", "/static/workbench.js", "/nothing", "/download/e1/a", "/?token=no"]
)
def test_without_the_token_nothing_is_answered(stranger: Browser, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert plain_words(answer)
    assert "survey" not in answer.text


def test_without_the_token_nothing_is_done(stranger: Browser, bench: Bench) -> None:
    before = bench.history.revision
    for path in ("/undo", "/remove", "/load"):
        assert (
            stranger.post(path, data={"sure": "yes", "source": "sample"}, headers={"origin": BASE}).status_code == 403
        )
    assert stranger.put("/upload?name=a.csv", content=b"a\n1\n", headers={"origin": BASE}).status_code == 403
    assert bench.history.revision == before


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_has(stranger: Browser) -> None:
    answer = stranger.get(f"/?token={TOKEN}", follow_redirects=False)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert "domain" not in cookie


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", "[::1]"])
def test_another_host_is_refused(owner: Browser, host: str) -> None:
    answer = owner.get("/data", headers={"host": host})
    assert answer.status_code == 421
    assert plain_words(answer)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:8123", "http://127.0.0.1:8124", ""]
)
def test_another_origin_is_refused(owner: Browser, bench: Bench, origin: str) -> None:
    before = bench.history.current
    assert owner.post("/undo", headers={"origin": origin}, data={}).status_code == 403
    assert owner.get("/data", headers={"origin": origin}).status_code == 403
    assert bench.history.current == before


def test_an_action_without_an_origin_is_refused(owner: Browser, bench: Bench) -> None:
    del owner.headers["origin"]
    assert owner.get("/data").status_code == 200
    assert owner.post("/undo", data={}).status_code == 403
    assert bench.here().is_masked


def test_what_another_site_puts_into_its_page_is_refused(owner: Browser) -> None:
    assert owner.get("/static/workbench.js", headers={"sec-fetch-site": "cross-site"}).status_code == 403


# --- pages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("screen", SCREENS)
def test_a_page_has_no_inline_script_or_style_and_the_strict_policy(owner: Browser, screen: str) -> None:
    answer = owner.get(f"/{screen}" + ("?method=mdav" if screen == "try" else ""))
    assert answer.status_code == 200
    assert answer.headers["content-security-policy"] == POLICY
    assert "access-control-allow-origin" not in answer.headers
    assert "script-src 'self'" in POLICY
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)", answer.text)
    assert "survey.csv" in answer.text


@pytest.mark.parametrize("screen", SCREENS)
def test_every_control_has_a_name(owner: Browser, screen: str) -> None:
    page = owner.get(f"/{screen}" + ("?method=mdav" if screen == "try" else "")).text
    labelled = set(re.findall(r'<label[^>]* for="([^"]+)"', page))
    for control in re.findall(r"<(?:input|select)\b[^>]*>", page):
        if 'type="hidden"' in control:
            continue
        own = re.search(r' id="([^"]+)"', control)
        inside = page.rpartition(control)[0].rpartition("<label")[2]
        assert "aria-label" in control or (own and own[1] in labelled) or "</label>" not in inside, control
    for button in re.findall(r"<button\b[^>]*>(.*?)</button>", page, re.DOTALL):
        assert button.strip()


def test_an_empty_workspace_says_where_to_begin(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "space")
    try:
        client = Browser(bench)
        client.get(f"/?token={TOKEN}")
        for screen in SCREENS:
            page = client.get(f"/{screen}")
            assert page.status_code == 200
            assert ("Load a table" in page.text) == (screen != "data")
        client.close()
    finally:
        bench.close()


def test_records_come_page_by_page(owner: Browser) -> None:
    assert "1,996 to 2,000 of 2,000" in owner.get("/data?page=134").text
    for page in ("0", "-1", "99999999999", "x", "9" * 50, "²"):
        assert owner.get("/data", params={"page": page}).status_code == 200


def test_the_screen_out_says_what_is_open(owner: Browser, bench: Bench) -> None:
    page = html.unescape(owner.get("/out").text)
    assert "Keys released as they were: region, sex, education, occupation." in page
    assert "risk above the threshold 0.09" in page
    assert "above your bound" not in page
    owner.post("/bounds", data={"risk": "1", "threshold": "0.99"})
    page = html.unescape(owner.get("/out").text)
    assert "above your bound of 1 %" in page
    assert "risk above the threshold" not in page
    owner.post("/bounds", data={"risk": ""})
    assert "above your bound" not in owner.get("/out").text


def test_values_are_escaped(owner: Browser, bench: Bench, idle: Idle) -> None:
    text = "name<i>,b\n<script>alert(1)</script>,1\n" + "x,2\ny,3\n" * 5
    assert owner.put("/upload?name=a<b>.csv", content=text.encode()).status_code == 200
    idle(bench)
    page = owner.get("/data").text
    assert "<script>alert" not in page
    assert "name<i>" not in page
    assert html.escape("<script>alert(1)</script>") in page


# --- actions --------------------------------------------------------------------------------------------------------


def test_undo_and_redo_lead_back_to_the_screen(owner: Browser, bench: Bench) -> None:
    answer = owner.post("/undo", data={"back": "risk"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/risk")
    assert not bench.here().is_masked
    assert owner.post("/redo", data={"back": "//evil.example"}, follow_redirects=False).headers["location"] == "/data"
    assert bench.here().is_masked


def test_what_is_wrong_is_told_on_the_page(owner: Browser) -> None:
    page = owner.post("/step", data={"back": "try", "method": "mdav", "set:k": "1"})
    assert "mdav: k = 1 is not allowed" in html.unescape(page.text).lower()
    page = owner.post("/load", data={"path": "/no/such/folder/people.exe"})
    assert "the ending '.exe' is not one Microveil knows" in html.unescape(page.text)


def test_an_error_is_a_page_for_who_has_gone_there_and_a_sentence_for_others(owner: Browser) -> None:
    page = owner.get("/nowhere", headers={"Accept": "text/html,*/*"})
    assert page.status_code == 404
    assert "There is no such page." in page.text
    assert 'href="/data"' in page.text
    assert owner.get("/nowhere").text == "There is no such page."


def test_parameters_are_checked_while_they_are_typed(owner: Browser) -> None:
    told = owner.post("/validate", data={"method": "mdav", "set:k": "1"}).json()
    assert told == {
        "ok": False,
        "field": "k",
        "sentence": "k = 1 is not allowed; it must be greater than or equal to 2.",
    }
    allowed = owner.post("/validate", data={"method": "mdav", "set:k": "4", "attribute": ["age"]}).json()
    assert allowed["ok"]
    assert "mv.Step('mdav', {'k': 4}, ('age',))" in allowed["python"]
    assert "--plan plan.toml" in allowed["shell"]  # it would be the second step
    assert not owner.post("/validate", data={"method": "nothing"}).json()["ok"]


def test_only_files_that_were_exported_can_be_downloaded(owner: Browser, bench: Bench) -> None:
    ((name, export),) = bench.exports()
    answer = owner.get(f"/download/{name}/{export['released']}")
    assert answer.content == (bench.workspace.export(name) / export["released"]).read_bytes()
    assert answer.headers["content-disposition"].startswith("attachment")
    for path in (
        *(f"{name}/../../history.sqlite", f"{name}/%2e%2e/%2e%2e/history.sqlite", "../history.sqlite", f"{name}/"),
        *(f"{name}/public/..%2f..%2f..%2fhistory.sqlite", "nothing/public/safe.csv", f"{name}/public\\safe.csv"),
        f"{name}//etc/passwd",
    ):
        refused = owner.get(f"/download/{path}")
        assert refused.status_code in (400, 404)
        assert b"SQLite" not in refused.content
    assert owner.get("/static/..%2fapp.py").status_code == 404


def test_uploads_are_limited_and_bad_ones_refused_in_words(owner: Browser, bench: Bench, idle: Idle) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"a,b\n" * 1000

    before = bench.here()
    for content in (b"x" * 60_000, parts()):  # with and without a stated length
        answer = owner.put("/upload?name=long.csv", content=content)
        assert answer.status_code == 413
        assert plain_words(answer)
    for name in ("", "..", "people.exe", "people"):
        answer = owner.put("/upload", params={"name": name}, content=b"a\n1\n")
        assert answer.status_code == 400
        assert plain_words(answer)
    assert owner.put("/upload?name=empty.csv", content=b"").status_code == 400
    for name, content in (
        ("a.csv", b"\0\1\2" * 99),
        ("a.parquet", b"PAR1no"),
        ("a.xlsx", b"PK\3\4"),
        ("b.csv", b"a\n"),
    ):
        bench.last_failure = ""
        assert owner.put("/upload", params={"name": name}, content=content).status_code == 200
        idle(bench)
        assert bench.last_failure.startswith(f"loading {name}: ")
        assert "internal error" not in bench.last_failure
    assert bench.here() == before
    tables = list((bench.workspace.folder / "tables").iterdir())
    assert (len(tables), list((bench.workspace.folder / "uploads").iterdir())) == (1, [])


PIECES = (
    "/", "..", "%2e%2e", "\\", "é", "%00", "%ff", "data", "risk", "try", "map", "out", "step", "go", "download",
    "static", "schema", "schema.toml", "export", "name", "bounds", "attack", "validate", "preview", "again", "load",
    "measure", "dismiss", "cancel", "undo", "redo", "remove", "attribute", "propose", "series", "links", "advise",
    "advice", "study", "search", "continue", "upload",
)  # fmt: skip
NAMES = (
    "node", "method", "set:k", "set:", "kind:age", "role:age", "kind:x", "attribute", "vary", "values", "several",
    "back", "title", "risk", "loss", "threshold", "known", "attack", "all", "stem", "ending", "job", "seed", "source",
    "file", "path", "schema_path", "graph_path", "form", "unit", "moment", "value", "pattern", "number", "strengths",
    "repeats", "risk_below", "budget", "evaluations", "k", "attacks", "only", "without", "exploration", "say:kind",
    "say:codes", "say:ranges", "say:low", "say:domain", "say:labels", "say:hierarchy", "say:roles",
)  # fmt: skip
VALUES = (
    "", "\0", "x" * 500, "'; DROP TABLE events; --", "\xed\xa0\x80", "mdav", "0", "-1", "1e999", "nan", "k", "n1",
    "../..", "key", "numeric", "é", "[1,2", "{}", "no", ".csv", "/nowhere/a.csv", "region", "long", "9" * 30, "%",
    "a,b",
)  # fmt: skip


def fuzzed(rng: random.Random) -> dict[str, Any]:
    """A request that no page sends."""
    method = rng.choice(["GET", "POST", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "HEAD"])
    path = "/" + "/".join(rng.choice(PIECES) for _ in range(rng.randint(1, 3)))
    fields = {rng.choice(NAMES): rng.choice(VALUES) for _ in range(rng.randint(0, 5))}
    headers = {
        "content-type": rng.choice(["application/x-www-form-urlencoded", "text/plain", "multipart/form-data", ""])
    }
    request: dict[str, Any] = {"method": method, "url": BASE + path, "headers": headers}
    if rng.random() < 0.5:
        request["params"] = {
            rng.choice(
                ["with", "and", "row", "column", "method", "attribute", "search", "page", "note", "name", "as"]
            ): rng.choice(VALUES)
        }
    if method != "GET":
        body = "&".join(f"{name}={value}" for name, value in fields.items()).encode("utf-8", "replace")
        request["content"] = body if rng.random() < 0.8 else rng.randbytes(rng.randint(0, 200))
    return request


def test_ten_thousand_fuzzed_requests_are_refused_without_a_traceback(
    owner: Browser, bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    rng = random.Random(18)
    nodes = set(bench.history.nodes)
    bench.jobs.close()  # what happens to be allowed is written down and not worked on
    for number in range(10_000):
        request = fuzzed(rng)
        answer = owner.request(**request, follow_redirects=False)
        assert answer.status_code < 500, (number, request)
        assert "Traceback" not in answer.text, (number, request)
    assert set(bench.history.nodes) >= nodes
    assert owner.get("/data").status_code == 200
    assert caplog.messages == []


# --- export ---------------------------------------------------------------------------------------------------------


def test_the_exported_script_and_plan_make_the_same_bytes_again(
    bench: Bench, tmp_path: Path, run: Callable[..., Any]
) -> None:
    ((name, export),) = bench.exports()
    with zipfile.ZipFile(bench.workspace.export(name) / export["archive"]) as packed:
        packed.extractall(tmp_path / "packed")
    listed = (tmp_path / "packed" / "SHA256SUMS").read_text(encoding="utf-8").split()
    released = (tmp_path / "packed" / "public" / "safe.csv").read_bytes()
    assert listed[listed.index("public/safe.csv") - 1] == export["digests"]["public/safe.csv"]
    internal = tmp_path / "packed" / "internal"
    (tmp_path / "again").mkdir()
    script = [sys.executable, str(internal / "make_release.py"), str(tmp_path), str(tmp_path / "again")]
    subprocess.run(script, check=True, capture_output=True)
    assert (tmp_path / "again" / "safe.csv").read_bytes() == released
    # the script has written the sample, which the command takes
    ran = run("protect", "survey.csv", "--plan", internal / "plan.toml", "--out", "by-command.csv")
    assert ran.status == 0
    assert (tmp_path / "by-command.csv").read_bytes() == released


def test_what_is_exported_is_what_was_measured(bench: Bench) -> None:
    ((name, export),) = bench.exports()
    internal = bench.workspace.export(name) / "internal"
    shutil.copy(internal / "safe.csv.manifest.json", bench.workspace.export(name) / "public")
    shutil.copy(internal / "safe.csv.private.json", bench.workspace.export(name) / "public")
    release = mv.read_release(bench.workspace.export(name) / export["released"])
    measures = bench.measures(bench.here())
    assert measures is not None
    assert release.data.digest() == measures["digest"]
    assert release.partition is not None
    assert release.partition.smallest == 5


# --- two tabs -------------------------------------------------------------------------------------------------------


def test_many_requests_at_once_leave_a_history_that_its_events_give_again(
    owner: Browser, bench: Bench, idle: Idle
) -> None:
    """As if two tabs acted at the same moment, again and again."""
    masked = bench.here().name
    actions = [
        ("/undo", {}), ("/redo", {}), ("/go", {"node": masked}), ("/name", {"node": masked, "title": "five"}),
        ("/bounds", {"risk": "20"}), ("/bounds", {"risk": ""}), ("/schema", {"role:health": "key"}),
        ("/step", {"method": "rank-swapping", "attribute": "age"}),
    ]  # fmt: skip

    async def at_once() -> list[httpx.Response]:
        asked = [
            owner.client.post(path, content=str(httpx.QueryParams(fields)), headers={"content-type": FORM})
            for _ in range(5)
            for path, fields in actions
        ]
        return await asyncio.gather(*asked)

    assert {answer.status_code for answer in owner.runner.run(at_once())} == {200}
    for job in bench.jobs.listed():
        bench.jobs.cancel(job["job"])
    idle(bench)
    again = History()
    for number, _, kind, content in bench.workspace.events():
        again.apply(number, kind, content)
    assert (again.nodes, again.current, again.bounds) == (
        bench.history.nodes,
        bench.history.current,
        bench.history.bounds,
    )
    assert sum(node.kind == "step" for node in again.nodes.values()) == 6


# --- explanations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [True, False])
def test_every_number_of_the_risk_opens_its_scenario_formula_and_an_example(
    owner: Browser, bench: Bench, idle: Idle, masked: bool
) -> None:
    if not masked:
        bench.undo()
    bench.ask_for_risk(bench.here())
    idle(bench)
    page = owner.get("/risk").text
    wanted = ["expected", "largest", "uniques", "below", "half", *([] if masked else ["households"])]
    for key in wanted:
        assert f'data-explains="{key}"' in page
        told = re.search(rf'id="explained-{key}".*?</div>', page, re.DOTALL)
        assert told
        assert 'class="formula"' in told[0], key
        example = re.findall(r"<p>(.*?)</p>", told[0], re.DOTALL)[-1]
        assert re.search(r"\d", example), key
    if not masked:
        # the example is of this file: the product of the risks of a household that is in it
        parts = re.search(r"worst off: 1 - (.*?) = ([\d.]+)\.", html.unescape(page))
        assert parts
        assert 1 - eval(parts[1].replace(" x ", "*")) == pytest.approx(float(parts[2]), abs=0.002)


def test_the_numbers_of_the_map_and_of_an_attack_are_explained_by_this_file(
    owner: Browser, bench: Bench, idle: Idle
) -> None:
    owner.post("/attack", data={"attack": "distance-linkage"})
    idle(bench)
    page = html.unescape(owner.get("/risk").text)
    for word in ("Scenario: An intruder knows", "Formula: mean over records", "Example: record "):
        assert word in page
    measures = bench.measures(bench.here())
    assert measures is not None
    page = html.unescape(owner.get("/map").text)
    assert f"mdav k=5: {measures['risk']:.1f} % of the records are linked, by" in page
    assert f"mdav k=5: ({measures['loss']:.1f} + {measures['risk']:.1f}) / 2" in page
    assert f'id="explained-mark-{bench.here().name}"' in page


def test_long_work_tells_the_time_that_is_left() -> None:
    job = Job("j1", "loading", {}, lambda outcome: None, state=RUNNING, fraction=0.25, since=time.monotonic() - 60)
    left = job.to_plain()["left"]
    assert 178 <= left <= 184
    assert Job("j2", "loading", {}, lambda outcome: None).to_plain()["left"] is None


# --- formats ----------------------------------------------------------------------------------------------------------

TABLES = sorted({ending for known in FORMATS for ending in known.writable} - {".graphml", ".gml"})


@pytest.mark.parametrize(
    ("way", "endings"), [("upload", (*TABLES, ".graphml", ".gml")), ("path", (".csv.gz", ".xlsx", ".sav", ".graphml"))]
)
def test_a_table_of_every_format_is_loaded(tmp_path: Path, idle: Idle, way: str, endings: tuple[str, ...]) -> None:
    bench = Bench(tmp_path / "space")
    owner = Browser(bench)
    owner.get(f"/?token={TOKEN}")
    owner.headers["origin"] = BASE
    people, network = mv.datasets.survey(30, seed=2), mv.datasets.social_network(20, seed=2)
    try:
        for ending in endings:
            path = tmp_path / f"people{ending}"
            mv.write(network if ending in (".graphml", ".gml") else people, path)
            if way == "upload":
                assert owner.put("/upload", params={"name": path.name}, content=path.read_bytes()).status_code == 200
            else:
                owner.post("/load", data={"path": str(path)})
            idle(bench)
            assert bench.last_failure == ""
            table = bench.history.tables[bench.here().table]
            assert (table.file, table.records) == (path.name, 20 if ending in (".graphml", ".gml") else 30)
            assert owner.get("/data").text.count("<tr") > table.attributes
    finally:
        owner.close()
        bench.close()


def test_a_release_in_every_format_is_made_again_byte_for_byte(
    bench: Bench, idle: Idle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ending in WRITABLE:
        name = bench.export("safe", ending, reports=False)
        idle(bench)
        folder = bench.workspace.export(name)
        made = tmp_path / f"again{ending}"
        made.mkdir()
        script = folder / "internal" / "make_release.py"
        monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path), str(made)])
        runpy.run_path(str(script), run_name="__main__")
        again = (made / f"safe{ending}").read_bytes()
        assert again == (folder / "public" / f"safe{ending}").read_bytes(), ending


# --- wide tables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 300])
def test_a_table_of_any_width_has_a_row_for_each_attribute(
    owner: Browser, bench: Bench, idle: Idle, width: int
) -> None:
    names = [f"a{i}" for i in range(width)]
    lines = [",".join(names), *(",".join(str((7 * i + 3 * j) % 40) for j in range(width)) for i in range(25))]
    assert owner.put("/upload?name=wide.csv", content="\n".join(lines).encode()).status_code == 200
    idle(bench)
    assert bench.last_failure == ""
    page = owner.get("/data").text
    assert page.count('aria-label="Kind of ') == width
    assert page.count('class="spark"') == width
    assert ('id="narrow"' in page) == (width > 20)  # a field that finds attributes by name
    owner.post("/schema", data={f"role:{name}": "key" for name in names})
    idle(bench)
    assert len(mv.Schema.from_plain(bench.here().schema).keys) == width


# --- the same in Python and in the shell ------------------------------------------------------------------------------


def shown_code(page: str) -> tuple[str, str]:
    python, shell = (re.search(rf'<pre id="{name}"[^>]*>(.*?)</pre>', page, re.DOTALL) for name in ("python", "shell"))
    assert python
    assert shell
    return html.unescape(python[1]), html.unescape(shell[1])


def run_as_shown(code: tuple[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both run as they stand, each in a folder that has nothing but the schema that the page offers beside them."""
    python, shell = code
    shutil.rmtree(folder / "python", ignore_errors=True)
    shutil.rmtree(folder / "shell", ignore_errors=True)
    for name in ("python", "shell"):
        (folder / name).mkdir()
        for schema in folder.glob("*.toml"):
            shutil.copy(schema, folder / name)
    monkeypatch.chdir(folder / "python")
    exec(compile(python, "shown", "exec"), {})
    command = f'microveil() {{ "{sys.executable}" -m microveil.cli "$@"; }}\nset -eu\n{shell}\n'
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=folder / "shell")
    assert ran.returncode == 0, ran.stderr


@pytest.fixture
def elsewhere(owner: Browser, bench: Bench, idle: Idle, tmp_path: Path) -> Path:
    """A table is loaded by its path; an empty folder to run code in."""
    rows = (f"{20 + 7 * i % 60},{'fm'[i % 2]},{1000 + 37 * i % 900},{i % 5}" for i in range(120))
    path = tmp_path / "the people.csv"
    path.write_text("age,sex,in'come,region\n" + "\n".join(rows) + "\n", encoding="utf-8")
    owner.post("/load", data={"path": str(path)})
    idle(bench)
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere"


def test_the_code_beside_each_screen_runs_as_it_is_shown(
    owner: Browser, bench: Bench, idle: Idle, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles = {"role:age": "key", "role:region": "key+stratum", "kind:region": "nominal", "role:sex": "confidential"}
    owner.post("/schema", data=roles)
    idle(bench)
    for screen in ("data", "risk", "try?method=mdav-generic"):
        run_as_shown(shown_code(owner.get(f"/{screen}").text), elsewhere, monkeypatch)
    for method, settings in (("mdav-generic", {"set:k": "4"}), ("pram", {})):
        owner.post("/step", data={"method": method, **settings, "attribute": "region"})
        idle(bench)
        assert bench.here().steps[-1]["method"] == method
    assert len(bench.here().steps) == 2
    for screen in ("risk", "try?method=noise", "map", "out"):
        run_as_shown(shown_code(owner.get(f"/{screen}").text), elsewhere, monkeypatch)


def test_the_code_of_a_study_and_a_search_runs_as_it_is_shown(
    owner: Browser, bench: Bench, idle: Idle, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # with more said about an attribute than fits into the code, a schema goes with it
    owner.post("/attribute", data={"name": "age", "say:roles": "key", "say:low": "0", "say:high": "120"})
    idle(bench)
    (elsewhere / "the people.toml").write_text(owner.get("/schema.toml").text, encoding="utf-8")
    owner.post("/study", data={"method": "noise", "attribute": "age", "strengths": "1", "repeats": "1"})
    idle(bench)
    code = shown_code(owner.get("/map").text)
    assert "the people.toml" in owner.get("/map").text
    assert "mv.run_study" in code[0]
    run_as_shown(code, elsewhere, monkeypatch)
    owner.post("/search", data={"evaluations": "2", "only": "noise", "attribute": "age"})
    idle(bench)
    code = shown_code(owner.get("/map").text)
    assert "mv.search" in code[0]
    run_as_shown(code, elsewhere, monkeypatch)
