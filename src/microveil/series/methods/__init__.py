"""Methods that mask series as wholes: what a cell becomes depends on the cells before and after it."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
