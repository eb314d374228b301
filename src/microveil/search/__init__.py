"""Search for better releases: evolution of masked files, and what looks for plans."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
