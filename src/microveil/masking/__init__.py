"""Every method of masking: a folder per family, a file per method."""

from microveil.entries import offer
from microveil.masking.base import Masked, Method
from microveil.masking.partition import Partition
from microveil.masking.plan import Plan, Step
from microveil.masking.release import Provenance, Release

__all__ = ["Masked", "Method", "Partition", "Plan", "Provenance", "Release", "Step"]
__getattr__, __dir__ = offer(globals())
