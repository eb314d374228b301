"""The pages and actions of the workbench as a web application.

A page is rendered from what the workspace holds. An action is sent by a form; it is written to the workspace, and the
answer leads back to a page, so a reload or a second tab shows the same.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import mimetypes
import secrets
import shutil
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

import microveil as mv
from microveil.applications import MicroveilError, ParameterError, number
from microveil.workbench import screens
from microveil.workbench.bench import SAMPLES, Bench, safe_name, set_parameters
from microveil.workbench.describing import series_words
from microveil.workbench.preview import SLOW

SCREENS = ("data", "risk", "try", "map", "out")
LARGEST_FORM = 1_000_000  # bytes
LARGEST_UPLOAD = 8 * 2**30
_STATIC = Path(__file__).parent / "static"
_MOST_NOTES = 50
_PAUSE = 0.2  # seconds between two looks at what has changed
_ALIVE = 15.0  # seconds after which a stream says that it is still there
logger = logging.getLogger(__name__)

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("microveil.workbench"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters["number"] = number
Fields = dict[str, list[str]]
Handler = Callable[[Request], Awaitable[Response]]


class Pages:
    """The application around one bench."""

    def __init__(self, bench: Bench, largest_upload: int = LARGEST_UPLOAD) -> None:
        self.bench, self.largest_upload = bench, largest_upload
        self._notes: OrderedDict[str, str] = OrderedDict()
        self.is_ending: Callable[[], bool] = lambda: False  # a stream of events must end before the server can

    def app(self) -> Starlette:
        actions: dict[str, Callable[[Fields], str | None]] = {
            "load": self._load, "schema": self._schema, "measure": self._measure, "attack": self._attack,
            "step": self._step, "again": self._again, "go": self._go, "undo": self._undo, "redo": self._redo,
            "name": self._name, "bounds": self._bounds, "export": self._export, "cancel": self._cancel,
            "dismiss": self._dismiss, "remove": self._remove, "attribute": self._attribute, "propose": self._propose,
            "series": self._series, "links": self._links, "advise": self._advise, "advice": self._advice,
            "study": self._study, "search": self._search, "continue": self._continue,
        }  # fmt: skip
        routes = [
            Route("/", self._home),
            *(Route(f"/{screen}", functools.partial(self._screen, screen)) for screen in SCREENS),
            *(Route(f"/{name}", self._action(act), methods=["POST"]) for name, act in actions.items()),
            Route("/validate", self._validate, methods=["POST"]),
            Route("/preview", self._preview, methods=["POST"]),
            Route("/schema.toml", self._schema_file),
            Route("/upload", self._upload, methods=["PUT"]),
            Route("/events", self._events),
            Route("/download/{export}/{file:path}", self._download),
            Route("/static/{file}", self._static),
        ]

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            warm = asyncio.create_task(run_in_threadpool(screens.warm))
            yield
            await warm
            await run_in_threadpool(self.bench.close)

        handlers: dict[Any, Any] = {HTTPException: self._told, MicroveilError: self._refused, Exception: self._broken}
        return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)

    # --- pages -------------------------------------------------------------------------------------------------------

    async def _home(self, request: Request) -> Response:
        return RedirectResponse("/data", 303)

    async def _screen(self, screen: str, request: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(self._render, screen, dict(request.query_params)))

    def _render(self, screen: str, query: dict[str, str]) -> str:
        bench = self.bench
        with bench.lock:
            framed = screens.frame(bench, screen)  # first: what changes after it makes the page look again
            if screen == "data":
                shown = screens.data(bench, _whole(query.get("page", ""), 1), query.get("attribute", ""))
            elif screen == "risk":
                shown = screens.risk(bench)
            elif screen == "try":
                shown = screens.attempt(bench, query.get("method", ""), query.get("search", ""))
            elif screen == "map":
                shown = self._map(query)
            else:
                shown = screens.out(bench)
        note = self._notes.get(query.get("note", ""), "")
        return _TEMPLATES.get_template(f"{screen}.html").render(**framed, **shown, note=note)

    def _map(self, query: dict[str, str]) -> dict[str, Any]:
        one, other, row, column = (query.get(name, "") for name in ("with", "and", "row", "column"))
        for name in (one, other):
            node = self.bench.history.nodes.get(name)
            if node is not None and self.bench.measures(node) is not None:
                self.bench.compare(name)
                if row and column:
                    self.bench.tabulate(name, row, column)
        return screens.map_of(self.bench, one, other, row, column)

    async def _static(self, request: Request) -> Response:
        file = request.path_params["file"]
        known = {path.name: path for path in _STATIC.iterdir()}
        if file not in known:
            raise HTTPException(404)
        return FileResponse(known[file], media_type=mimetypes.guess_type(file)[0])

    async def _download(self, request: Request) -> Response:
        export, file = request.path_params["export"], request.path_params["file"]
        path = await run_in_threadpool(self.bench.exported_file, export, file)
        # never shown as a page of the workbench: reports have styles of their own
        return FileResponse(path, media_type="application/octet-stream", filename=path.name)

    async def _events(self, request: Request) -> Response:
        async def stream() -> AsyncIterator[str]:
            last, quiet = "", 0.0
            while not self.is_ending():
                state = json.dumps({"version": str(self.bench.version), "jobs": self.bench.jobs.listed()})
                if state != last:
                    last, quiet = state, 0.0
                    yield f"data: {state}\n\n"
                elif quiet >= _ALIVE:
                    quiet = 0.0
                    yield ": still here\n\n"
                await asyncio.sleep(_PAUSE)
                quiet += _PAUSE

        return StreamingResponse(stream(), media_type="text/event-stream")

    # --- actions -----------------------------------------------------------------------------------------------------

    def _action(self, act: Callable[[Fields], str | None]) -> Handler:
        """A form is read, the action carried out, and the answer leads back to a screen; what is wrong stands there."""

        async def handle(request: Request) -> Response:
            fields = await _form(request)
            back = _one(fields, "back")
            target = back if back.split("?")[0] in SCREENS else "data"
            try:
                led = await run_in_threadpool(self._carried_out, act, fields)
                target = led or target
            except MicroveilError as problem:
                note = secrets.token_hex(8)
                self._notes[note] = _sentence(str(problem))
                while len(self._notes) > _MOST_NOTES:
                    self._notes.popitem(last=False)
                target += f"{'&' if '?' in target else '?'}note={note}"
            return RedirectResponse(f"/{target}", 303)

        return handle

    def _carried_out(self, act: Callable[[Fields], str | None], fields: Fields) -> str:
        """Where the action leads; nowhere in particular if it says nothing."""
        with self.bench.lock:
            return act(fields) or ""

    def _load(self, fields: Fields) -> str | None:
        if _one(fields, "source") == "sample":
            file = _one(fields, "file") or next(iter(SAMPLES))
            if file not in SAMPLES:
                raise ParameterError("there is no such sample")
            self.bench.load("sample", file, graph=SAMPLES[file])
            return "data"
        path = _one(fields, "path").strip()
        if not path:
            raise ParameterError("give the path of a file on this machine")
        chosen = Path(path).expanduser()
        schema = _one(fields, "schema_path").strip()
        described = mv.Schema.read(Path(schema).expanduser()).to_plain() if schema else None
        links = _one(fields, "graph_path").strip()
        beside = Path(links).expanduser() if links else None
        self.bench.load(
            "path", chosen.name, path=str(chosen.absolute()), schema=described, series=_one(fields, "series").strip(),
            graph="" if beside is None else beside.name, graph_path="" if beside is None else str(beside.absolute()),
        )  # fmt: skip
        return "data"

    def _attribute(self, fields: Fields) -> str | None:
        name = _one(fields, "name")
        given = {n.partition(":")[2]: values[0] for n, values in fields.items() if n.startswith("say:")}
        self.bench.describe_attribute(name, given)
        return f"data?attribute={quote(name)}"

    def _propose(self, fields: Fields) -> str | None:
        self.bench.propose_hierarchy(_one(fields, "name"))
        return None

    def _series(self, fields: Fields) -> str | None:
        form = _one(fields, "form")
        values = fields.get("value", []) if form == "long" else [_one(fields, "pattern")]
        self.bench.load_again(series=series_words(form, _one(fields, "unit"), _one(fields, "moment"), values))
        return "data"

    def _links(self, fields: Fields) -> str | None:
        path = _one(fields, "path").strip()
        if not path:
            raise ParameterError("give the path of the file of links on this machine")
        chosen = Path(path).expanduser()
        self.bench.load_again(graph=chosen.name, graph_path=str(chosen.absolute()))
        return "data"

    def _advise(self, fields: Fields) -> str | None:
        self.bench.ask_for_advice()
        return "risk"

    def _advice(self, fields: Fields) -> str | None:
        self.bench.try_advice(_whole(_one(fields, "number"), -1))
        return "risk"

    def _study(self, fields: Fields) -> str | None:
        self.bench.exploring.study(
            fields.get("method", []), fields.get("attribute", []), _one(fields, "strengths"), _one(fields, "repeats")
        )
        return "map"

    def _search(self, fields: Fields) -> str | None:
        texts = {name: _one(fields, name) for name in ("risk_below", "budget", "evaluations", "k", "attacks")}
        several = {name: fields.get(name, []) for name in ("only", "without")}
        self.bench.exploring.search({**texts, **several, "attributes": fields.get("attribute", [])})
        return "map"

    def _continue(self, fields: Fields) -> str | None:
        self.bench.exploring.again(_one(fields, "exploration"))
        return "map"

    def _schema(self, fields: Fields) -> str | None:
        here = self.bench.here()
        known = mv.Schema.from_plain(here.schema)
        kinds = {n.partition(":")[2]: v[0] for n, v in fields.items() if n.startswith("kind:")}
        roles = {
            n.partition(":")[2]: [role for role in v[0].split("+") if role]
            for n, v in fields.items()
            if n.startswith("role:")
        }
        for name in (*kinds, *roles):
            if name not in known:
                raise ParameterError("the table has no such attribute")
        self.bench.change_schema(kinds, roles)
        return "data"

    def _measure(self, fields: Fields) -> str | None:
        self.bench.ask_for_risk(self.bench.here())
        return "risk"

    def _attack(self, fields: Fields) -> str | None:
        self.bench.attack([] if "all" in fields else fields.get("attack", []), fields.get("known", []))
        return "risk"

    def _step(self, fields: Fields) -> str | None:
        method = _one(fields, "method")
        settings, attributes = _settings(fields), fields.get("attribute", [])
        if "several" in fields:
            self.bench.grid(method, settings, attributes, _one(fields, "vary"), _one(fields, "values"))
            return "map"
        self.bench.try_method(method, settings, attributes, _one(fields, "seed"))
        return None

    def _again(self, fields: Fields) -> str | None:
        self.bench.again(_one(fields, "node"))
        return None

    def _go(self, fields: Fields) -> str | None:
        self.bench.go(_one(fields, "node"))
        return None

    def _undo(self, fields: Fields) -> str | None:
        self.bench.undo()
        return None

    def _redo(self, fields: Fields) -> str | None:
        self.bench.redo()
        return None

    def _name(self, fields: Fields) -> str | None:
        self.bench.name(_one(fields, "node"), _one(fields, "title"))
        return None

    def _bounds(self, fields: Fields) -> str | None:
        self.bench.set_bounds(**{n: _one(fields, n) for n in ("risk", "loss", "threshold") if n in fields})
        return None

    def _export(self, fields: Fields) -> str | None:
        self.bench.export(_one(fields, "stem"), _one(fields, "ending"), reports="reports" in fields)
        return "out"

    def _cancel(self, fields: Fields) -> str | None:
        self.bench.jobs.cancel(_one(fields, "job"))
        return None

    def _dismiss(self, fields: Fields) -> str | None:
        self.bench.last_failure = ""
        return None

    def _remove(self, fields: Fields) -> str | None:
        if _one(fields, "sure") != "yes":
            raise ParameterError("nothing was removed; tick the box to say that you are sure")
        self.bench.remove_everything()
        return "data"

    # --- what scripts ask --------------------------------------------------------------------------------------------

    async def _validate(self, request: Request) -> Response:
        """Whether the parameters of a method are allowed, while they are typed."""
        fields = await _form(request)
        method = _one(fields, "method")
        try:
            given = await run_in_threadpool(set_parameters, method, _settings(fields))
        except MicroveilError as problem:
            told = str(problem)
            rest = told.removeprefix(f"{method}: ").removeprefix("parameter ")
            named = next((n for n in _settings(fields) if rest.split(" ")[0].rstrip(",:") == n), "")
            return JSONResponse({"ok": False, "sentence": f"{rest}." if named else _sentence(told), "field": named})
        step = {"method": method, "parameters": given, "attributes": fields.get("attribute", [])}
        return JSONResponse({"ok": True, **await run_in_threadpool(screens.code_of_step, self.bench, step)})

    async def _preview(self, request: Request) -> Response:
        """What the method would do to some records, as a piece of a page."""
        fields = await _form(request)
        arguments = _one(fields, "method"), _settings(fields), fields.get("attribute", [])
        answer = await run_in_threadpool(self.bench.preview_of, *arguments)
        shown = _TEMPLATES.get_template("preview.html").render(
            found=answer.get("done"), told=answer.get("failed", ""), slow=answer.get("failed") == SLOW
        )  # fmt: skip
        return HTMLResponse(shown)

    async def _schema_file(self, request: Request) -> Response:
        """What the user has said about the table, as the library and the command line read it."""
        bench = self.bench
        node = bench.history.original_of(bench.here().name)
        name = f"{bench.history.tables[node.table].file.split('.')[0]}.toml"
        content = mv.Schema.from_plain(node.schema).to_toml()
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
        return Response(content, media_type="application/toml", headers=headers)

    async def _upload(self, request: Request) -> Response:
        """A file as the body of the request, written as it comes; one that is too long is refused and taken away."""
        file = safe_name(request.query_params.get("name", ""))
        stated = request.headers.get("content-length", "")
        if stated.isdigit() and int(stated) > self.largest_upload:
            raise HTTPException(413, self._too_long())
        name = f"u{secrets.token_hex(8)}"
        folder = self.bench.workspace.upload(name)
        try:
            folder.mkdir(mode=0o700, parents=True)
            received = 0
            with (folder / "file").open("wb") as target:
                async for part in request.stream():
                    received += len(part)
                    if received > self.largest_upload:
                        raise HTTPException(413, self._too_long())
                    await run_in_threadpool(target.write, part)
            if not received:
                raise ParameterError("the file is empty")
            job = await run_in_threadpool(self._take_upload, request.query_params.get("as", "table"), file, name)
        except ClientDisconnect:
            return PlainTextResponse("", 400)
        except OSError as problem:
            raise ParameterError(f"the file could not be kept in the workspace ({problem.strerror})") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return JSONResponse({"job": job})

    def _take_upload(self, purpose: str, file: str, name: str) -> str:
        """A table, the links between the records of the table, or what is said about it."""
        with self.bench.lock:
            if purpose == "links":
                return self.bench.load_again(graph=file, graph_upload=name)
            if purpose == "schema":
                self.bench.take_schema(self.bench.workspace.upload(name) / "file")
                return ""
            return self.bench.load("upload", file, upload=name)

    def _too_long(self) -> str:
        return f"The file is larger than {self.largest_upload / 2**30:.3g} GiB; load it by its path instead."

    # --- what goes wrong ---------------------------------------------------------------------------------------------

    async def _told(self, request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        words = {404: "There is no such page.", 405: "This page cannot be used in this way."}
        return _error(request, words.get(problem.status_code, problem.detail), problem.status_code)

    async def _refused(self, request: Request, problem: Exception) -> Response:
        return _error(request, _sentence(str(problem)), 400)

    async def _broken(self, request: Request, problem: Exception) -> Response:
        # the text of an unforeseen error may hold values of records, so only its type is told and logged
        logger.error("internal error (%s)", type(problem).__name__)
        told = f"An internal error ({type(problem).__name__}); nothing was changed. Go back and try it another way."
        return _error(request, told, 500)


def _error(request: Request, told: str, status: int) -> Response:
    """A sentence: as a page for who has gone to an address, else as it is."""
    if "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse(told, status)
    return HTMLResponse(_TEMPLATES.get_template("error.html").render(told=told), status)


async def _form(request: Request) -> Fields:
    """The fields of a form; one that is too long, or no form, is refused."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(415, "This is not a form of the workbench.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            raise HTTPException(413, "The form is too long.")
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=20_000, errors="strict")
    except ValueError:
        raise HTTPException(400, "The form is damaged.") from None


def _one(fields: Fields, name: str) -> str:
    return fields.get(name, [""])[0]


def _settings(fields: Fields) -> dict[str, str]:
    return {name.partition(":")[2]: values[0] for name, values in fields.items() if name.startswith("set:")}


def _whole(text: str, otherwise: int) -> int:
    """A number that a page has in its address or in a form."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else otherwise


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
