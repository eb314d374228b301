"""Sample data: a fictional survey, panel of meters and social network, simulated tables, and reference data."""

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
from microveil.microdata.datasets.social_network import network_schema, social_network

__all__ = [
    "COLUMNS",
    "FOLDER_VARIABLE",
    "available",
    "data_folder",
    "files_at_hand",
    "load",
    "load_selection",
    "metering",
    "network_schema",
    "no_folder",
    "simulated",
    "social_network",
    "survey",
    "survey_schema",
]
