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
from urllib.parse import parse_qs

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
from microveil.display import number
from microveil.errors import MicroveilError, ParameterError
from microveil.workbench import screens
from microveil.workbench.bench import Bench, safe_name, set_parameters
from microveil.workbench.guard import Guard

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
        self.closing = False

    def app(self) -> Starlette:
        actions: dict[str, Callable[[Fields], str | None]] = {
            "load": self._load, "schema": self._schema, "measure": self._measure, "attack": self._attack,
            "step": self._step, "again": self._again, "go": self._go, "undo": self._undo, "redo": self._redo,
            "name": self._name, "bounds": self._bounds, "export": self._export, "cancel": self._cancel,
            "dismiss": self._dismiss, "remove": self._remove,
        }  # fmt: skip
        routes = [
            Route("/", self._home),
            *(Route(f"/{screen}", functools.partial(self._screen, screen)) for screen in SCREENS),
            *(Route(f"/{name}", self._action(act), methods=["POST"]) for name, act in actions.items()),
            Route("/validate", self._validate, methods=["POST"]),
            Route("/upload", self._upload, methods=["PUT"]),
            Route("/events", self._events),
            Route("/download/{export}/{file:path}", self._download),
            Route("/static/{file}", self._static),
        ]

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            warm = asyncio.create_task(run_in_threadpool(screens.methods))  # the first look at the registry takes long
            yield
            self.closing = True
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
            if screen == "data":
                page = query.get("page", "1")
                shown = screens.data(bench, int(page) if page.isascii() and page.isdigit() and len(page) < 12 else 1)
            elif screen == "risk":
                shown = screens.risk(bench)
            elif screen == "try":
                shown = screens.attempt(bench, query.get("method", ""), query.get("search", ""))
            elif screen == "map":
                shown = self._map(query.get("with", ""), query.get("and", ""))
            else:
                shown = screens.out(bench)
            framed = screens.frame(bench, screen)
        note = self._notes.get(query.get("note", ""), "")
        return _TEMPLATES.get_template(f"{screen}.html").render(**framed, **shown, note=note)

    def _map(self, one: str, other: str) -> dict[str, Any]:
        for name in (one, other):
            node = self.bench.history.nodes.get(name)
            if node is not None and self.bench.measures(node) is not None:
                self.bench.compare(name)
        return screens.map_of(self.bench, one, other)

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
            while not self.closing:
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
            self.bench.load("sample", "survey.csv")
            return "data"
        path = _one(fields, "path").strip()
        if not path:
            raise ParameterError("give the path of a file on this machine")
        chosen = Path(path).expanduser()
        schema = _one(fields, "schema_path").strip()
        described = mv.Schema.read(Path(schema).expanduser()).to_plain() if schema else None
        self.bench.load("path", chosen.name, path=str(chosen.absolute()), schema=described)
        return "data"

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
            await run_in_threadpool(set_parameters, method, _settings(fields))
        except MicroveilError as problem:
            told = str(problem)
            rest = told.removeprefix(f"{method}: ").removeprefix("parameter ")
            named = next((n for n in _settings(fields) if rest.split(" ")[0].rstrip(",:") == n), "")
            return JSONResponse({"ok": False, "sentence": f"{rest}." if named else _sentence(told), "field": named})
        return JSONResponse({"ok": True})

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
            job = await run_in_threadpool(self._load_upload, file, name)
        except ClientDisconnect:
            return PlainTextResponse("", 400)
        except OSError as problem:
            raise ParameterError(f"the file could not be kept in the workspace ({problem.strerror})") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return JSONResponse({"job": job})

    def _load_upload(self, file: str, name: str) -> str:
        with self.bench.lock:
            return self.bench.load("upload", file, upload=name)

    def _too_long(self) -> str:
        return f"The file is larger than {self.largest_upload / 2**30:.3g} GiB; load it by its path instead."

    # --- what goes wrong ---------------------------------------------------------------------------------------------

    async def _told(self, request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        words = {404: "There is no such page.", 405: "This page cannot be used in this way."}
        told = words.get(problem.status_code, problem.detail)
        return PlainTextResponse(told, problem.status_code)

    async def _refused(self, request: Request, problem: Exception) -> Response:
        return PlainTextResponse(_sentence(str(problem)), 400)

    async def _broken(self, request: Request, problem: Exception) -> Response:
        # the text of an unforeseen error may hold values of records, so only its type is told and logged
        logger.error("internal error (%s)", type(problem).__name__)
        told = f"An internal error ({type(problem).__name__}); nothing was changed. Go back and try it another way."
        return PlainTextResponse(told, 500)


def application(bench: Bench, port: int, token: str, largest_upload: int = LARGEST_UPLOAD) -> Guard:
    """The pages behind the guard."""
    return Guard(Pages(bench, largest_upload).app(), port, token)


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


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
