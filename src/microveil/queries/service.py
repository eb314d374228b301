"""The guarded database as a service on this machine: JSON over HTTP, a token for every analyst, sessions that cannot be
replayed.

A client opens a session with its token and numbers its questions 1, 2, 3, ...; a number that was used is refused, so
that a recorded request is worth nothing. Every answer leaves at a full multiple of `pace` seconds, whatever it took, so
that the time tells little.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from microveil.errors import FileError, MicroveilError, ParameterError, errors_of_file, parsed
from microveil.queries.server import QueryServer, checked_name

LARGEST_REQUEST = 65_536  # bytes
_PATIENCE = 10.0  # seconds that a client may take to send a request
_SESSION = 3600.0  # seconds that a session lasts after its last question
_MOST_SESSIONS = 100  # of one analyst
_MOST_AT_ONCE = 16  # connections
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class RequestError(MicroveilError):
    """A request that is not a question of an analyst; `status` is that of HTTP."""

    def __init__(self, status: int, problem: str) -> None:
        self.status = status
        super().__init__(problem)


def drawn_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(32)


def _sealed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@dataclass
class _Session:
    analyst: str
    used: float
    number: int = 0


@dataclass
class Doorkeeper:
    """Knows who may ask, and which sessions are open; `clock` gives seconds."""

    tokens: Mapping[str, str]  # the SHA-256 of the token of every analyst
    clock: Callable[[], float] = time.monotonic
    sessions: dict[str, _Session] = field(default_factory=dict)

    def analyst_of(self, authorisation: str | None) -> str:
        """Whose token a request has."""
        kind, _, token = (authorisation or "").partition(" ")
        found = None
        for analyst, sealed in self.tokens.items():  # all of them, so that the time tells nothing
            if hmac.compare_digest(sealed, _sealed(token)) and kind.lower() == "bearer":
                found = analyst
        if found is None:
            raise RequestError(401, "the request has no valid token")
        return found

    def opened(self, analyst: str) -> str:
        """A new session."""
        self.sessions = {name: s for name, s in self.sessions.items() if self.clock() - s.used <= _SESSION}
        if sum(session.analyst == analyst for session in self.sessions.values()) >= _MOST_SESSIONS:
            raise RequestError(429, "too many sessions are open")
        name = secrets.token_urlsafe(16)
        self.sessions[name] = _Session(analyst, self.clock())
        return name

    def check(self, analyst: str, session: object, number: object) -> None:
        """Refuse a question of an unknown session, and one that was asked before."""
        found = self.sessions.get(session) if isinstance(session, str) else None
        if found is None or found.analyst != analyst or self.clock() - found.used > _SESSION:
            raise RequestError(403, "there is no such session, or it has ended; open a new one")
        if isinstance(number, bool) or not isinstance(number, int):
            raise RequestError(400, "a question has a whole number: 1, 2, 3, ... in its session")
        if number <= found.number:
            raise RequestError(409, "this question was asked before in its session; requests cannot be replayed")
        if number != found.number + 1:
            raise RequestError(409, f"the next question of this session has the number {found.number + 1}")
        found.number, found.used = number, self.clock()


class QueryService:
    """The server that listens. `port` 0 takes any that is free."""

    def __init__(self, server: QueryServer, tokens: Mapping[str, str], *, port: int = 0, pace: float = 0.05) -> None:
        if not tokens:
            raise ParameterError("a service needs at least one analyst")
        if not 0 <= pace <= 60:
            raise ParameterError("the pace is a number of seconds from 0 to 60")
        self.server, self.pace = server, pace
        self.doorkeeper = Doorkeeper({checked_name(name): _sealed(token) for name, token in tokens.items()})
        self.lock, self.places = threading.Lock(), threading.BoundedSemaphore(_MOST_AT_ONCE)
        try:
            self.http = _Listener(("127.0.0.1", port), _Handler)
        except OSError as problem:
            raise ParameterError(f"port {port} cannot be used ({problem.strerror})") from None
        self.http.service = self

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def run(self) -> None:
        """Answer until somebody calls `stop`."""
        self.http.serve_forever(poll_interval=0.1)

    def stop(self) -> None:
        self.http.shutdown()

    def close(self) -> None:
        self.http.server_close()

    def answered(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
        """The status and the content for a request."""
        analyst = "unknown"
        try:
            if headers.get("Host", "").rpartition(":")[0] not in _LOOPBACK:
                raise RequestError(403, "this service is for this machine only")
            with self.lock:
                analyst = self.doorkeeper.analyst_of(headers.get("Authorization"))
            return self._routed(method, path, analyst, body)
        except RequestError as problem:
            self.server.note_rejected(analyst, f"{method} {path}", str(problem))
            return problem.status, {"error": str(problem)}
        except FileError:
            return 503, {"error": "the log cannot be written, so nothing is answered"}
        except MicroveilError as problem:
            return 503, {"error": str(problem)}

    def _routed(self, method: str, path: str, analyst: str, body: bytes) -> tuple[int, dict[str, Any]]:
        routes = {"/attributes": "GET", "/sessions": "POST", "/questions": "POST"}
        if path not in routes:
            raise RequestError(404, f"there is nothing here; there are {', '.join(routes)}")
        if method != routes[path]:
            raise RequestError(405, f"{path} is asked with {routes[path]}")
        if path == "/attributes":
            return 200, self.server.public_facts()
        if path == "/sessions":
            with self.lock:
                return 201, {"session": self.doorkeeper.opened(analyst), "seconds": _SESSION}
        content = _content(body)
        with self.lock:
            self.doorkeeper.check(analyst, content.get("session"), content.get("number"))
        asked = content.get("ask")
        if not isinstance(asked, str | dict):
            raise RequestError(400, "the entry ask is a question in SQL or its JSON form")
        return 200, self.server.ask(asked, analyst).to_plain()


def _content(body: bytes) -> dict[str, Any]:
    try:
        content = parsed(json.loads, body.decode("utf-8"))
    except (MicroveilError, ValueError):
        raise RequestError(400, "the request is not JSON that can be read") from None
    if not isinstance(content, dict) or set(content) != {"session", "number", "ask"}:
        raise RequestError(400, "a question has the entries session, number and ask")
    return content


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    service: QueryService

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of ours, and a trace could hold what it sent."""


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    server_version, sys_version = "microveil", ""
    protocol_version = "HTTP/1.0"
    timeout = _PATIENCE

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def _answer(self, method: str) -> None:
        service = self.server.service
        began = time.monotonic()
        if not service.places.acquire(blocking=False):
            self._send(503, {"error": "too many requests at once"})
            return
        try:
            length = self._length(method)
            body = self._body(length, began + _PATIENCE)
            status, content = service.answered(method, self.path, dict(self.headers.items()), body)
        except RequestError as problem:
            service.server.note_rejected("unknown", method, str(problem))
            status, content = problem.status, {"error": str(problem)}
        except TimeoutError:
            return
        finally:
            service.places.release()
        if service.pace:
            taken = time.monotonic() - began
            time.sleep(service.pace - taken % service.pace)
        self._send(status, content)

    def _body(self, length: int, until: float) -> bytes:
        """What the client sends; all of it in time, for one that sends a byte now and then takes another's place."""
        parts, lacking = [], length
        while lacking:
            if time.monotonic() > until:
                raise RequestError(408, "the request took too long")
            part = self.rfile.read1(lacking)
            if not part:
                raise RequestError(400, "the request was cut off")
            parts.append(part)
            lacking -= len(part)
        return b"".join(parts)

    def _length(self, method: str) -> int:
        told = self.headers.get("Content-Length")
        if self.headers.get("Transfer-Encoding"):
            raise RequestError(411, "a request states its length")
        if told is None:
            if method == "POST" and self.path == "/questions":
                raise RequestError(411, "a request states its length")
            return 0
        if not told.isascii() or not told.isdecimal() or len(told) > 12:
            raise RequestError(400, "the length of the request is not a number")
        if int(told) > LARGEST_REQUEST:
            raise RequestError(413, f"a request has at most {LARGEST_REQUEST:,} bytes")
        return int(told)

    def _send(self, status: int, content: Mapping[str, Any]) -> None:
        body = json.dumps(content, allow_nan=False).encode()
        self.send_response(status)
        for name, value in (
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Requests stand in the log of questions, not on the terminal."""


def kept_tokens(path: Path, analysts: list[str]) -> dict[str, str]:
    """The tokens in a file that only its owner can read, with new ones for analysts who are not in it yet."""
    from microveil.microdata.files.atomic import write_text

    held: dict[str, str] = {}
    if path.exists():
        with errors_of_file(path, "is not a file of tokens"):
            found = parsed(json.loads, path.read_text(encoding="utf-8"))
            if not isinstance(found, dict) or not all(isinstance(t, str) and len(t) >= 32 for t in found.values()):
                raise ParameterError("is not a file of tokens")
            held = found
    lacking = [name for name in analysts if name not in held]
    if lacking:
        held |= {checked_name(name): drawn_token() for name in lacking}
        write_text(path, json.dumps(held, indent=2) + "\n", force=True, private=True)
    return {name: held[name] for name in analysts}
