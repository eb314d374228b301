"""The service: a token for every analyst, sessions that cannot be replayed, and requests of every bad kind."""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from microveil.errors import MicroveilError
from microveil.queries import QueryServer
from microveil.queries.service import LARGEST_REQUEST, Doorkeeper, QueryService, RequestError, drawn_token, kept_tokens

Serve = Callable[..., QueryServer]
TOKENS = {"alice": "a" * 43, "bob": "b" * 43}


@pytest.fixture
def service(serve: Serve) -> Iterator[QueryService]:
    running = QueryService(serve("set-size k=3", "audit"), TOKENS, pace=0)
    thread = threading.Thread(target=running.run)
    thread.start()
    yield running
    running.stop()
    thread.join()
    running.close()


def request(
    service: QueryService,
    method: str,
    path: str,
    content: Any = None,
    token: str | None = TOKENS["alice"],
    **headers: str,
) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", service.http.server_address[1], timeout=10)
    body = content if isinstance(content, bytes) or content is None else json.dumps(content).encode()
    given = {**({} if token is None else {"Authorization": f"Bearer {token}"}), **headers}
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    return answer.status, told


def session(service: QueryService, token: str = TOKENS["alice"]) -> str:
    status, told = request(service, "POST", "/sessions", token=token)
    assert status == 201
    return str(told["session"])


def question(ask: Any, name: str, number: int) -> dict[str, Any]:
    return {"session": name, "number": number, "ask": ask}


def test_an_analyst_asks_and_colluding_analysts_are_audited_together(service: QueryService) -> None:
    alice, bob = session(service), session(service, TOKENS["bob"])
    status, told = request(
        service, "POST", "/questions", question("SELECT SUM(salary) FROM data WHERE sex = 'F'", alice, 1)
    )
    assert (status, told["answer"], told["refused"]) == (200, 268, False)
    other = {"statistic": "sum", "value": "salary", "where": [
        {"attribute": "sex", "than": "F"}, {"attribute": "dept", "is": "!=", "than": "B"}]}  # fmt: skip
    status, told = request(service, "POST", "/questions", question(other, bob, 1), token=TOKENS["bob"])
    assert (status, told["answer"], told["control"]) == (200, None, "audit")
    status, told = request(service, "GET", "/attributes")
    assert status == 200
    assert [attribute["name"] for attribute in told["attributes"]] == ["sex", "dept", "age", "salary"]
    assert told["controls"][0] == {"name": "set-size", "k": 3, "both_ways": True}


def test_a_recorded_request_cannot_be_replayed(service: QueryService) -> None:
    name = session(service)
    asked = question("SELECT COUNT(*) FROM data WHERE sex = 'F'", name, 1)
    assert request(service, "POST", "/questions", asked)[0] == 200
    status, told = request(service, "POST", "/questions", asked)
    assert (status, "cannot be replayed" in told["error"]) == (409, True)
    assert request(service, "POST", "/questions", {**asked, "number": 3})[0] == 409
    assert request(service, "POST", "/questions", {**asked, "number": 2}, token=TOKENS["bob"])[0] == 403
    assert request(service, "POST", "/questions", {**asked, "session": "x", "number": 2})[0] == 403
    assert request(service, "POST", "/questions", {**asked, "number": 2})[0] == 200


def test_a_session_ends() -> None:
    now = [0.0]
    keeper = Doorkeeper({}, clock=lambda: now[0])
    name = keeper.opened("alice")
    now[0] = 3599.0
    keeper.check("alice", name, 1)
    now[0] = 3599.0 + 3601.0
    with pytest.raises(RequestError, match="it has ended"):
        keeper.check("alice", name, 2)
    for _ in range(100):
        keeper.opened("alice")
    with pytest.raises(RequestError, match="too many sessions"):
        keeper.opened("alice")
    keeper.opened("bob")


@pytest.mark.parametrize("token", [None, "", "x", "a" * 42, "a" * 44, "A" * 43, "ä"])
def test_an_unknown_token_is_refused_and_logged(service: QueryService, token: str | None) -> None:
    status, told = request(service, "POST", "/sessions", token=None if token is None else ascii(token).strip("'"))
    assert (status, told) == (401, {"error": "the request has no valid token"})
    assert service.server.log.entries[-1]["analyst"] == "unknown"


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400), (b"{", 400), (b"\xff\xfe", 400), (b"[]", 400), (b"5", 400), (b"{}", 400),
        ({"session": "x", "number": 1}, 400), ({"session": "x", "number": 1, "ask": "x", "more": 1}, 400),
        ({"session": 5, "number": 1, "ask": "x"}, 403), (b"[" * 30_000, 400),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, 400),
        (b" " * (LARGEST_REQUEST + 1), 413),
    ],
)  # fmt: skip
def test_a_malformed_or_huge_request_is_refused(service: QueryService, content: Any, status: int) -> None:
    assert request(service, "POST", "/questions", content)[0] == status


def test_what_is_asked_must_be_a_question_with_a_number(service: QueryService) -> None:
    name = session(service)
    for number in ("1", 1.0, True, None, [1]):
        assert request(service, "POST", "/questions", question("SELECT COUNT(*) FROM data", name, number))[0] == 400  # type: ignore[arg-type]
    assert request(service, "POST", "/questions", question(5, name, 1))[0] == 400
    status, told = request(service, "POST", "/questions", question("DROP TABLE data", name, 2))
    assert (status, told["refused"], told["control"]) == (200, True, "language")


def test_other_paths_methods_and_hosts_are_refused(service: QueryService) -> None:
    assert request(service, "GET", "/")[0] == 404
    assert request(service, "GET", "/../../etc/passwd")[0] == 404
    assert request(service, "GET", "/questions")[0] == 405
    assert request(service, "POST", "/attributes")[0] == 405
    status, told = request(service, "GET", "/attributes", Host="rebound.example:80")
    assert (status, told) == (403, {"error": "this service is for this machine only"})


@pytest.mark.parametrize(
    "text",
    [
        b"POST /questions HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: many\r\n\r\n",
        b"POST /questions HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: -5\r\n\r\n",
        b"POST /questions HTTP/1.1\r\nHost: 127.0.0.1:1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"POST /questions HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET /attributes HTTP/1.1\r\n" + b"X: " + b"y" * 70_000 + b"\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
    ],
)
def test_what_is_no_http_does_no_harm(service: QueryService, text: bytes) -> None:
    with socket.create_connection(service.http.server_address, timeout=10) as wire:  # type: ignore[arg-type]
        wire.sendall(text)
        wire.shutdown(socket.SHUT_WR)
        answer = wire.recv(1000)
    assert b" 200 " not in answer
    assert b"Traceback" not in answer
    assert request(service, "GET", "/attributes")[0] == 200


def test_a_client_that_sends_a_byte_now_and_then_loses_its_place(
    service: QueryService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("microveil.queries.service._PATIENCE", 0.2)
    with socket.create_connection(("127.0.0.1", service.http.server_address[1]), timeout=10) as client:
        client.sendall(b"POST /questions HTTP/1.0\r\nHost: 127.0.0.1:1\r\nContent-Length: 60000\r\n\r\n")
        answer = b""
        for _ in range(200):
            with contextlib.suppress(OSError):
                client.sendall(b"x")
            ready, _, _ = select.select([client], [], [], 0.05)
            if ready:
                answer = client.recv(1000)
                break
    assert b" 408 " in answer.split(b"\r\n")[0]
    assert service.places.acquire(blocking=False)
    service.places.release()


def test_tokens_are_kept_in_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    first = kept_tokens(path, ["alice"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    both = kept_tokens(path, ["alice", "bob"])
    assert both["alice"] == first["alice"]
    assert len({*both.values(), drawn_token()}) == 3
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(MicroveilError, match="not a file of tokens"):
        kept_tokens(path, ["alice"])


def test_answers_leave_at_multiples_of_the_pace(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    from microveil.queries import service as module

    running = QueryService(serve("set-size k=3"), TOKENS, pace=0.2)
    monkeypatch.setattr(module.time, "sleep", slept.append)
    thread = threading.Thread(target=running.run)
    thread.start()
    request(running, "GET", "/attributes")
    running.stop()
    thread.join()
    running.close()
    assert any(0 < seconds <= 0.2 for seconds in slept)


def test_a_service_needs_analysts_and_a_sensible_pace(serve: Serve) -> None:
    for tokens, pace in (({}, 0.0), (TOKENS, -1.0), (TOKENS, 1000.0)):
        with pytest.raises(MicroveilError):
            QueryService(serve(), tokens, pace=pace)
