"""Who may ask the workbench: only the browser that opened the start address, on this machine, from its own pages.

The token of the start address becomes a cookie that no script can read and that no other site's request carries. A
request with another Host is refused, so a name that somebody lets point to this machine leads nowhere, and one that
changes something needs the Origin of the workbench itself.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_READING = ("GET", "HEAD")
_LONGEST_TARGET = 4096
NO_TOKEN = (
    "This page belongs to the person who started the workbench. Open the address that 'microveil workbench' printed "
    "when it was started; it has a token in it, and is new after every start."
)
OTHER_HOST = "The workbench answers only on this machine, under the address that it printed when it was started."
OTHER_ORIGIN = "This request comes from a page that is not the workbench's own, so nothing was done."


class Guard:
    """Let pass what the owner's browser asks; every answer carries the headers that keep pages from other content."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self.app, self.token = app, token
        self.session = secrets.token_urlsafe(32)
        self.cookie = f"microveil-{port}"
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self.origins = tuple(f"http://{host}" for host in self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        guarded = _with_headers(send)
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await PlainTextResponse(refusal[1], refusal[0])(scope, receive, guarded)
            return
        if scope["method"] == "GET" and scope["path"] == "/" and self._has_token(scope):
            answer = RedirectResponse("/data", 303)
            answer.set_cookie(self.cookie, self.session, httponly=True, samesite="strict", path="/")
            await answer(scope, receive, guarded)
            return
        if not self._is_owner(headers):
            await PlainTextResponse(NO_TOKEN, 403)(scope, receive, guarded)
            return
        await self.app(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return 421, OTHER_HOST
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > _LONGEST_TARGET:
            return 414, "The address is too long."
        origin = headers.get("origin")
        if origin is not None and origin not in self.origins:
            return 403, OTHER_ORIGIN
        if scope["method"] not in _READING and origin is None:
            return 403, OTHER_ORIGIN
        # a browser says so if another site asks for something within its page
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not _is_navigation(scope, headers):
            return 403, OTHER_ORIGIN
        return None

    def _has_token(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        return hmac.compare_digest(given[0].encode(), self.token.encode())

    def _is_owner(self, headers: Headers) -> bool:
        given = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.session.encode())


def _is_navigation(scope: Scope, headers: Headers) -> bool:
    """A link from elsewhere to the start address: nothing of ours is shown in the other page."""
    return bool(scope["method"] in _READING and headers.get("sec-fetch-mode") == "navigate")


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
        await send(message)

    return guarded
