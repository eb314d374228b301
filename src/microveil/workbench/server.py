"""The workbench on this machine: a port of the loopback interface, a token, and the address with which to start."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path

from microveil.applications import MicroveilError, ParameterError

_HERE = "127.0.0.1"
_LAST_PORT = 65_535


def serve(folder: Path, port: int, told: Callable[[str], None], *, opening: bool = True) -> None:
    """Serve the workspace until the process is told to end; the start address is told first."""
    try:
        import uvicorn

        from microveil.workbench.app import Pages
        from microveil.workbench.bench import Bench
        from microveil.workbench.guard import Guard
    except ModuleNotFoundError as problem:
        if problem.name not in ("starlette", "uvicorn"):
            raise
        needed = f"the workbench needs the package {problem.name}, which is not installed"
        raise MicroveilError(f'{needed}; run: pip install "microveil[workbench]"') from None
    listening = _listening(port)
    bench = Bench(folder)
    token = secrets.token_urlsafe(32)
    port = listening.getsockname()[1]
    address = f"http://{_HERE}:{port}/?token={token}"
    pages = Pages(bench)
    # what goes wrong is logged by the pages, without its text, which may hold values of records
    level = "error" if os.environ.get("MICROVEIL_DEBUG") else "critical"
    config = uvicorn.Config(
        Guard(pages.app(), port, token), log_level=level, access_log=False, server_header=False, date_header=False,
        timeout_graceful_shutdown=2, lifespan="on", ws="none", proxy_headers=False, log_config=None,
    )  # fmt: skip
    server = uvicorn.Server(config)
    pages.is_ending = lambda: server.should_exit
    told(address)
    if opening:
        webbrowser.open(address)
    try:
        with contextlib.suppress(KeyboardInterrupt):  # that is how it is ended
            server.run(sockets=[listening])
    finally:
        bench.jobs.close()


def _listening(port: int) -> socket.socket:
    """A socket of this machine alone; port 0 takes any that is free."""
    if not 0 <= port <= _LAST_PORT:
        raise ParameterError(f"a port is a number from 1 to {_LAST_PORT}, not {port}")
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((_HERE, port))
        made.listen()  # whoever is told the address is answered, however early they ask
    except OSError as problem:
        made.close()
        raise ParameterError(f"port {port} cannot be used ({problem.strerror}); choose another one") from None
    return made
