"""The command line: thin. It parses, calls, prints; a file for each command."""

from microveil.cli.app import main

__all__ = ["main"]
