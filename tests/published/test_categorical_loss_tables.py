"""IL of categorical files against the printed tables: PRAM on German Credit and Solar Flare, and use for clustering."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from microveil.losses.categorical.aggregate import ILCategorical
from microveil.masking.randomising.pram import PRAM
from microveil.microdata import Microdata

Reference = Callable[..., Microdata]
FILES = {"german_credit": (0, 5, 6), "solar_flare2": (0, 1, 2)}
DRAWS = 6


def three(reference: Reference, file: str, kind: str) -> Microdata:
    """The three protected attributes, with the category for missing that the experiments count in each domain."""
    data = reference(file)
    data = data.select([data.names[i] for i in FILES[file]])
    schema = data.schema.replacing(
        *(
            data[name].changed(
                kind=kind, domain=data.domain(name), roles=("key",), missing="own category", missing_codes=(".",)
            )
            for name in data.names
        )
    )
    return data.with_schema(schema)


@pytest.mark.spec("05:IL-05", "06:PC-08")
@pytest.mark.parametrize(
    ("file", "parameters", "printed", "tolerance"),
    [
        ("german_credit", {"p": 0.6}, 37.88, 1.5),
        ("german_credit", {"matrix": "uniform", "theta": 0.47}, 13.60, 1.0),
        ("solar_flare2", {"p": 0.7}, 29.26, 1.5),
        ("solar_flare2", {"matrix": "uniform", "theta": 0.93}, 16.06, 1.2),
    ],
)
def test_the_printed_losses_of_pram_come_out_with_the_preset(
    reference: Reference, file: str, parameters: dict[str, Any], printed: float, tolerance: float
) -> None:
    """Tables 4.12 and 4.13; the parameters are those found to give the printed risk."""
    data = three(reference, file, "ordinal" if file == "german_credit" else "nominal")
    preset = ILCategorical(preset="source-ch4-2")
    found = [preset.measure(data, PRAM(**parameters).mask(data, seed=seed)).value for seed in range(DRAWS)]
    assert np.mean(found) == pytest.approx(printed, abs=tolerance)


@pytest.mark.spec("05:IL-05")
def test_the_losses_of_section_4_1_are_on_another_scale(reference: Reference) -> None:
    """The printed 80.36 for p = 0.5 on German is about twice what any bounded mean of the three gives."""
    data = three(reference, "german_credit", "ordinal")
    loss = ILCategorical().measure(data, PRAM(p=0.5).mask(data, seed=1))
    assert 38 < loss.value < 48
    assert max(loss.details.values()) < 80.36


@pytest.mark.spec("06:PC-15")
def test_clustered_protections_serve_clustering_in_better_balance_than_the_original_method(
    rebuilt: Callable[[str], ModuleType],
) -> None:
    """Table 5.3: by the larger of clustering loss and risk, against the original method with k up to 40.

    The printed pairs themselves (19.62 and 42.55, 30.51 and 30.63, 28.71 and 28.50) do not come out: the source does
    not say into how many clusters it evaluates, and with ten ours are four to seven points higher.
    """
    preclustering = rebuilt("preclustering")
    original = preclustering.most_balanced([preclustering.clustering_point("micro", 1, k) for k in (10, 25, 40)])
    printed = preclustering.printed_tables()
    for kind, k in (("micro", 80), ("global-median", 30)):
        # clusters depend on a random start, and one in some ends in a poor local optimum: the middle of five
        clustered = np.median([preclustering.clustering_point(kind, 2, k, seed).larger for seed in range(1, 6)])
        assert clustered < original.larger - 3
        assert printed["5.3", "german", f"clustered {kind}"].larger < printed["5.3", "german", "original"].larger - 3
