"""`microveil workbench`: the web application on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microveil.cli.printing import flush, note, say

EXAMPLE = "Example: microveil workbench --workspace earnings-2026"


def workbench(
    port: Annotated[int, typer.Option(help="Port on this machine; default: any that is free.", min=0, max=65535)] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    workspace: Annotated[
        Path | None,
        typer.Option(
            help="Folder for tables, releases and the history; only its owner can read it. Default: a folder where the "
            "system keeps what programs remember.",
            metavar="FOLDER",
        ),
    ] = None,
) -> None:
    """Open the workbench, a web application on this machine.

    The first line printed is the address to open, with a token that is new after every start. It answers on this
    machine only and needs no network. End it with Ctrl-C; what was done is there at the next start.
    """
    from microveil.workbench.server import serve
    from microveil.workbench.workspace import default_folder

    folder = workspace or default_folder()

    def told(address: str) -> None:
        say(address)
        flush()
        note(f"the workspace is {folder}; end the workbench with Ctrl-C")

    serve(folder, port, told, opening=not no_open)
