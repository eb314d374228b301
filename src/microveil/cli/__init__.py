"""The command line: thin. It parses, calls, prints; a file for each command."""

from microveil.cli.watching import main

__all__ = ["main"]
