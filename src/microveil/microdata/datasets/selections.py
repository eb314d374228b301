"""The parts of reference data sets that published experiments used: which columns, in which order, which records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from microveil.errors import UnknownNameError
from microveil.microdata.datasets.reference import COLUMNS, load
from microveil.microdata.microdata import Microdata


@dataclass(frozen=True)
class Selection:
    """Columns of a data set in an experiment's order (a1, a2, ...); `complete`: only records with no cell missing.

    Complete means in the whole file, also in columns that are not selected.
    """

    file: str
    columns: tuple[str, ...]
    complete: bool = False


SELECTIONS: dict[str, Selection] = {
    "census": Selection("census", COLUMNS["census-alphabetical"]),
    "eia": Selection("eia", COLUMNS["eia"]),
    "eia-nine": Selection("eia", COLUMNS["eia-nine"]),
    "water-nine": Selection("water_treatment", COLUMNS["water"], complete=True),
    # Nin (2008) says twelve attributes and lists these
    "water": Selection(
        "water_treatment",
        (
            *("PH-E", "DBO-E", "SS-E", "SSV-E", "SED-E", "COND-E", "DBO-D", "SSV-D", "DBO-S", "RD-DBO-S", "RD-DQO-S"),
            *("PH-P", "DBO-P", "SS-P", "SSV-P", "SED-P", "COND-P", "PH-D", "DQO-D", "COND-D", "SS-S", "SED-S"),
            *("COND-S", "RD-DBO-G", "RD-DQO-G"),
        ),
    ),
    "abalone": Selection(
        "abalone",
        (
            *("Sex", "Length", "Diameter", "Height", "WholeWeight", "ShuckedWeight", "VisceraWeight", "ShellWeight"),
            "Rings",
        ),
    ),
    # attributes that correlate with another one by 0.7 or more
    "dermatology": Selection(
        "dermatology",
        (
            *("polygonal_papules", "follicular_papules", "oral_mucosal_involvement", "knee_and_elbow_involvement"),
            *("scalp_involvement", "melanin_incontinence", "exocytosis", "focal_hypergranulosis"),
            *("follicular_horn_plug", "clubbing_of_rete_ridges", "elongation_of_rete_ridges"),
            *("thinning_of_suprapapillary_epidermis", "vacuolisation_and_damage_of_basal_layer"),
            *("saw_tooth_appearance_of_retes", "perifollicular_parakeratosis", "band_like_infiltrate"),
        ),
    ),
    "housing": Selection("boston_housing", ("INDUS", "RM", "AGE", "RAD", "NOX", "TAX", "MEDV")),
    "ionosphere": Selection(
        "ionosphere",
        (*("V5", "V7", "V9", "V11", "V13", "V20"), *("V15", "V17", "V19", "V21", "V23", "V30")),
    ),
    "iris": Selection("iris", ("sepal_length", "petal_length", "sepal_width", "petal_width")),
    # V2, V4, ... of the original file, whose V1 is the record's number; V2 is the diagnosis
    "wdbc": Selection(
        "wdbc",
        (
            *("diagnosis", "mean_texture", "mean_area", "mean_compactness", "mean_concave_points"),
            *("mean_fractal_dimension", "radius_error", "compactness_error", "concave_points_error"),
            *("worst_area", "worst_concavity", "worst_fractal_dimension"),
            *("mean_perimeter", "mean_concavity", "perimeter_error", "area_error", "concavity_error"),
            *("fractal_dimension_error", "worst_perimeter", "worst_smoothness", "worst_compactness"),
            "worst_concave_points",
        ),
    ),
}


def load_selection(name: str) -> Microdata:
    """Read the part of a data set that experiments used, by its name here, such as "eia-nine"."""
    if name not in SELECTIONS:
        raise UnknownNameError("selection", name, SELECTIONS)
    selection = SELECTIONS[name]
    data = load(selection.file)
    if selection.complete:
        missing = np.any([data.missing_states(column) > 0 for column in data.names], axis=0)
        data = Microdata.of(data.frame.to_arrow().filter(pa.array(~missing)), data.schema, origin=data.origin)
    return data.select(selection.columns)
