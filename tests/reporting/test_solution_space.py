"""The page of the solution space shows the chosen node and the others, and loads nothing."""

from __future__ import annotations

import re

from microveil.masking.coarsening.generalise import Generalise
from microveil.microdata.datasets.sample_survey import survey
from microveil.reporting.solution_space import solution_space_page


def test_the_page_shows_the_chosen_node_and_the_best_others() -> None:
    method, keys = Generalise(k=5, suppression=0.1), ("age", "sex", "region")
    page = solution_space_page(method, survey(300, seed=3), keys)
    best = method.solutions(survey(300, seed=3), keys).best
    assert best is not None
    assert f"{best.utility:.6f}" in page
    assert "proven to keep most" in page
    assert all(f'scope="col">{name}</th>' in page for name in keys)
    assert not re.search(r"https?://(?!www\.w3\.org)", page)


def test_the_page_says_where_nothing_fulfils_what_is_asked() -> None:
    data = survey(60, seed=3)
    page = solution_space_page(Generalise(k=5, l=50, suppression=1.0), data, ("sex",))
    assert "No combination of levels fulfils what is asked" in page


def test_the_page_says_where_the_best_is_not_proven() -> None:
    page = solution_space_page(
        Generalise(k=5, suppression=0.1, budget=4), survey(300, seed=3), ("age", "sex", "region")
    )
    assert "others could keep up to" in page
