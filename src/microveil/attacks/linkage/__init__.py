"""Attacks that link an intruder's records to released records."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
