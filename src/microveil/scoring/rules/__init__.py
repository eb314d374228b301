"""The formulas of the literature that make one score of losses and risks: a file each family."""

from microveil.entries import offer

__getattr__, __dir__ = offer(globals())
