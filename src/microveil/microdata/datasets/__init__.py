"""Sample data: a fictional survey and panel of meters, tables from known distributions, and reference data."""

from microveil.microdata.datasets.metering_panel import metering
from microveil.microdata.datasets.reference import (
    COLUMNS,
    FOLDER_VARIABLE,
    available,
    data_folder,
    files_at_hand,
    load,
    no_folder,
)
from microveil.microdata.datasets.sample_survey import survey, survey_schema
from microveil.microdata.datasets.selections import load_selection
from microveil.microdata.datasets.simulated_tables import simulated

__all__ = [
    "COLUMNS",
    "FOLDER_VARIABLE",
    "available",
    "data_folder",
    "files_at_hand",
    "load",
    "load_selection",
    "metering",
    "no_folder",
    "simulated",
    "survey",
    "survey_schema",
]
