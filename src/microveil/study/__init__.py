"""Many methods and parameters on one table, measured side by side; reproducible from one file."""

from microveil.study.cells import Candidate
from microveil.study.design import Design, read_design
from microveil.study.measuring import Tried
from microveil.study.results import Result, Study
from microveil.study.running import cells_in, compare, run_study

__all__ = ["Candidate", "Design", "Result", "Study", "Tried", "cells_in", "compare", "read_design", "run_study"]
