"""Published tables, rebuilt: the printed value, the measured one, their difference and a verdict."""

from reproduction.base import Reproduction, Row
from reproduction.running import Outcome, run

__all__ = ["Outcome", "Reproduction", "Row", "run"]
