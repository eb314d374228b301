"""Charts are sound SVG in which nothing falls off the paper, whatever the data are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microveil.reporting.charts import Line, Mark, bars, heatmap, histogram, lines, scatter
from microveil.reporting.charts.layout import Axis, shortened, text_width
from microveil.reporting.charts.scales import Scale, round_limits, tick_texts, ticks_between
from microveil.reporting.charts.styles import styles_for
from microveil.reporting.risk_utility import Spot, generations_map, risk_utility_chart
from microveil.scoring import Score

SVG = "{http://www.w3.org/2000/svg}"
WORDS = {"title": "A <chart>", "description": "What it shows & why"}
LONG = "a very long name & of an attribute, with <marks>, that goes on and on"
CJK = "収入と資産と支出の合計額を世帯ごとに示した値"


def extents(svg: str) -> Iterator[tuple[str, float, float, float, float]]:
    """For each text: left, top, right and bottom, with letters of ordinary width."""
    root = ElementTree.fromstring(svg)
    for element in root.iter(f"{SVG}text"):
        text = element.text or ""
        size = float(element.get("font-size", "12"))
        wide = text_width(text, size) * 0.9
        before = {"end": wide, "middle": wide / 2}.get(element.get("text-anchor", "start"), 0.0)
        turned = re.match(r"translate\(([\d.]+) ([\d.]+)\) rotate\(-90\)", element.get("transform", ""))
        if turned:
            x, y = float(turned[1]), float(turned[2])
            yield text, x - size, y - (wide - before), x, y + before
        else:
            x, y = float(element.get("x", "nan")), float(element.get("y", "nan"))
            yield text, x - before, y - size, x - before + wide, y


def assert_on_paper(svg: str) -> ElementTree.Element:
    root = ElementTree.fromstring(svg)
    _, _, width, height = map(float, root.get("viewBox", "").split())
    for text, left, top, right, bottom in extents(svg):
        assert left >= -1, text
        assert top >= -1, text
        assert right <= width + 1, text
        assert bottom <= height + 1, text
    for element in root.iter():
        for name in ("x", "y", "cx", "cy", "x1", "x2", "y1", "y2", "width", "height"):
            if element.get(name) is not None:
                assert math.isfinite(float(element.get(name, "nan"))), name
        for point in element.get("points", "").split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= width, point
            assert 0 <= y <= height, point
    return root


def every_chart() -> dict[str, str]:
    names = ["age", LONG, CJK]
    edges = np.linspace(-1e6, 2e6, 31).tolist()
    spots = [Spot(LONG, 3.0 * i, 50.0 - i, f"family {i % 9} {LONG}", (0.0, 99.0), (1.0, 60.0)) for i in range(30)]
    return {
        "scatter": risk_utility_chart(
            spots, front=[0, 5], best=29, knee=2, risk_below=20, equal_score=Score(30, 30), balance=True
        ),
        "crowded": risk_utility_chart([Spot(str(i), i / 3, i / 5, "one") for i in range(200)], front=[3], best=0),
        "generations": generations_map([(50.0, 60.0), (30.0, 20.0)], [(20.0, 10.0)]),
        "lines": lines(
            [Line(LONG, [(1, 5.0), (2, 3.0)], [(4, 6), (1, 9)]), Line("b", [(1, 0.1)])],
            x_title=LONG,
            y_title=LONG,
            **WORDS,
        ),
        "bars": bars(names, {"loss": [3.0, -1234.5, 100.0]}, x_title=LONG, **WORDS),
        "pairs": bars(
            names, {"original": [3.0, 0.0, 97.0], "released": [3.0, 1.0, 96.0]}, x_title="%", width=430.0, **WORDS
        ),
        "many": bars(names, {"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0], "c": [1.0, 2.0, 3.0]}, x_title="%", **WORDS),
        "histogram": histogram(
            edges, {"original": [1.0] * 30, "released": [2.0] * 30}, x_title=LONG, y_title=CJK, **WORDS
        ),
        "heatmap": heatmap(names, [[1, -0.5, math.nan], [-0.5, 1, 2.0], [math.nan, 2.0, 1]], **WORDS),
        "full bars": bars(["a", "b"], {"loss": [1e6, 10.0]}, x_title="%", number="{:,.2f}", width=430.0, **WORDS),
        "long legend": histogram([0, 1], {LONG: [1.0], LONG + CJK: [2.0]}, x_title="x", y_title="y", **WORDS),
        "large heatmap": heatmap([f"{CJK}{i}" for i in range(40)], np.eye(40).tolist(), **WORDS),
    }


@pytest.mark.parametrize("name", list(every_chart()))
def test_every_chart_is_sound_svg_and_no_text_falls_off_the_paper(name: str) -> None:
    root = assert_on_paper(every_chart()[name])
    assert root.find(f"{SVG}title") is not None
    assert root.find(f"{SVG}desc") is not None
    assert root.get("role") == "img"
    assert root.get("aria-label")


def test_nothing_is_loaded_from_elsewhere() -> None:
    for svg in every_chart().values():
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
        assert "<script" not in svg
        assert "href" not in svg


@pytest.mark.parametrize(
    "svg",
    [
        bars([], {"loss": []}, x_title="%", **WORDS),
        bars(["a"], {"loss": [0.0]}, x_title="%", **WORDS),
        lines([], x_title="k", y_title="%", **WORDS),
        lines([Line("flat", [(3, 0.0)])], x_title="k", y_title="%", **WORDS),
        histogram([0.0, 1.0], {"all": [0.0]}, x_title="x", y_title="%", **WORDS),
        heatmap([], [], **WORDS),
        risk_utility_chart([]),
    ],
)
def test_charts_of_nothing_and_of_constants_are_drawn(svg: str) -> None:
    assert_on_paper(svg)


def test_texts_are_escaped() -> None:
    svg = bars(["<b>&"], {"loss": [1.0]}, x_title="<i>", **WORDS)
    assert "&lt;b&gt;&amp;" in svg
    assert "<b>" not in svg
    assert "<i>" not in svg


# --- scales -------------------------------------------------------------------------------------------------------

numbers = st.floats(-1e150, 1e150, allow_nan=False)


@given(numbers, numbers)
def test_ticks_are_few_rise_and_lie_between_the_limits(one: float, other: float) -> None:
    low, high = sorted((one, other))
    ticks = ticks_between(low, high)
    room = 1e-6 * max(high - low, abs(low), abs(high), 1.0) + 0.05 * abs(low) + 0.5
    assert len(ticks) <= 8
    assert ticks == sorted(set(ticks))
    assert all(low - room <= tick <= high + room for tick in ticks)


@given(numbers, numbers)
def test_round_limits_enclose_the_values(one: float, other: float) -> None:
    low, high = sorted((one, other))
    start, end = round_limits(low, high)
    slack = 1e-6 * max(abs(low), abs(high), end - start)
    assert start <= low + slack
    assert end >= high - slack
    assert start < end


@given(numbers, numbers, numbers)
def test_a_scale_stays_on_the_paper(one: float, other: float, value: float) -> None:
    low, high = round_limits(*sorted((one, other)))
    assert 20.0 <= Scale(low, high, 20.0, 400.0)(value) <= 400.0


def test_ticks_have_as_many_decimals_as_they_need() -> None:
    assert tick_texts([0.0, 0.25, 0.5]) == ["0.00", "0.25", "0.50"]
    assert tick_texts([-2000.0, 0.0, 2000.0]) == ["-2,000", "0", "2,000"]
    assert tick_texts([0.0, 5e7]) == ["0", "50,000,000"]
    assert tick_texts(ticks_between(0.1, 0.7)) == ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"]


def test_texts_are_cut_to_the_room_they_have() -> None:
    assert shortened("short", 100) == "short"
    for text in (LONG, CJK):
        cut = shortened(text, 100)
        assert cut.endswith("…")
        assert text_width(cut) <= 100


# --- what charts show ---------------------------------------------------------------------------------------------


def test_the_length_of_a_bar_follows_its_value() -> None:
    root = ElementTree.fromstring(bars(["a", "b", "c"], {"loss": [10.0, 20.0, 0.0]}, x_title="%", **WORDS))
    widths = [float(r.get("width", "nan")) for g in root.iter(f"{SVG}g") for r in g.iter(f"{SVG}rect")]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert widths[2] == 0


def test_the_original_is_an_area_and_the_release_an_outline_over_it() -> None:
    svg = histogram([0, 1, 2], {"original": [1, 3], "released": [2, 2]}, x_title="x", y_title="%", **WORDS)
    first, second = ElementTree.fromstring(svg).iter(f"{SVG}polygon")
    assert (first.get("fill"), first.get("stroke")) == ("#c3c8ce", None)
    assert second.get("fill") == "none"
    assert second.get("stroke") is not None


def test_each_series_has_its_own_shape_not_only_a_colour() -> None:
    styles = styles_for([str(i) for i in range(56)])
    assert len({(look.shape, look.colour) for look in styles.values()}) == 56
    assert len({look.shape for look in list(styles.values())[:7]}) == 7


def test_marks_beyond_the_axes_stand_at_their_ends() -> None:
    svg = scatter([Mark(500.0, -3.0, "a", "hint")], x=Axis("x", 0, 10), y=Axis("y", 0, 10), **WORDS)
    assert_on_paper(svg)
    assert "hint" in svg


# --- the risk-utility map -----------------------------------------------------------------------------------------


@pytest.mark.spec("01:TR-1", "05:SC-04")
def test_the_map_has_risk_to_the_right_and_loss_upwards() -> None:
    spots = [Spot("safe", 0.0, 40.0, "a"), Spot("useful", 40.0, 0.0, "a")]
    root = ElementTree.fromstring(risk_utility_chart(spots))
    safe, useful = [(float(c.get("cx", "nan")), float(c.get("cy", "nan"))) for c in root.findall(f"{SVG}g/{SVG}circle")]
    assert safe[0] < useful[0]
    assert safe[1] < useful[1]  # on paper y grows downwards


def test_best_knee_admissible_region_and_spreads_are_marked() -> None:
    spots = [Spot("one", 10.0, 20.0, "a"), Spot("two", 20.0, 10.0, "b", (15.0, 25.0), (8.0, 12.0))]
    plain = risk_utility_chart(spots)
    marked = risk_utility_chart(spots, best=0, knee=1, risk_below=15.0, front=[0, 1], equal_score=Score(20, 10))
    assert "1 one" in marked
    assert "2 two" in marked
    assert "admissible: risk below 15" in marked
    assert marked.count("<polyline") == 2
    assert "admissible" not in plain
    assert plain.count("<polyline") == 0
    assert marked.count('r="11"') == 1


@pytest.mark.parametrize(
    ("score", "ends"),
    [
        (Score(loss=20, risk=30), [(0, 50), (50, 0)]),
        (Score(loss=20, risk=30, share=0.8), [(0, 27.5), (80, 7.5)]),
        (Score(loss=20, risk=30, share=0.2), [(5, 120), (35, 0)]),
        (Score(loss=20, risk=30, share=0.0), [(30, 120), (30, 0)]),
        (Score(loss=20, risk=30, share=1.0), [(0, 20), (80, 20)]),
        (Score(loss=20, risk=30, by="max"), [(0, 30), (30, 30), (30, 0)]),
        (Score(loss=100, risk=30, by="max"), [(0, 100), (80, 100)]),
    ],
    ids=lambda given: f"{given.by} {given.share:g} {given.loss:g}" if isinstance(given, Score) else "",
)
def test_the_line_of_equal_score_is_where_loss_and_risk_have_that_score(
    score: Score, ends: list[tuple[float, float]]
) -> None:
    """From end to end of the map, which ends at a risk of 80 and a loss of 120."""
    corners = [Spot("low", 0.0, 0.0, "a"), Spot("high", 75.0, 115.0, "a")]
    root = ElementTree.fromstring(risk_utility_chart(corners, equal_score=score))
    low, high = [(float(c.get("cx", "nan")), float(c.get("cy", "nan"))) for c in root.findall(f"{SVG}g/{SVG}circle")]
    line = root.find(f"{SVG}polyline")
    assert line is not None
    drawn = [tuple(map(float, point.split(","))) for point in line.get("points", "").split()]
    assert len(drawn) == len(ends)
    for (x, y), (risk, loss) in zip(drawn, ends, strict=True):
        assert (x - low[0]) / (high[0] - low[0]) * 75 == pytest.approx(risk, abs=0.2)
        assert (y - low[1]) / (high[1] - low[1]) * 115 == pytest.approx(loss, abs=0.2)
        assert Score(loss, risk, score.by, score.share).value == pytest.approx(score.value) or risk == 80


def test_a_mark_tells_its_own_score_and_none_if_it_has_none() -> None:
    svg = risk_utility_chart([Spot("one", 10.0, 20.0, "a", score=20.0), Spot("two", 10.0, 20.0, "a")])
    assert "1. one: risk 10.0, loss 20.0, score 20.0" in svg
    assert "2. two: risk 10.0, loss 20.0<" in svg


@pytest.mark.spec("05:SC-04")
def test_initial_candidates_are_crosses_and_final_ones_circles() -> None:
    svg = generations_map([(30.0, 40.0)] * 3, [(10.0, 20.0)] * 2)
    root = ElementTree.fromstring(svg)
    drawn = root.findall(f"{SVG}g")[1:]
    assert sum(g.find(f"{SVG}path") is not None for g in drawn) == 3
    assert sum(g.find(f"{SVG}circle") is not None for g in drawn) == 2
    diagonal = root.find(f"{SVG}polyline")
    assert diagonal is not None
    (x1, y1), (x2, y2) = [tuple(map(float, p.split(","))) for p in diagonal.get("points", "").split()]
    assert x1 < x2
    assert y1 > y2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), min_size=1, max_size=40),
    st.integers(0, 39),
    st.integers(0, 39),
)
def test_no_label_of_a_map_lies_on_another_or_on_a_mark(
    points: list[tuple[float, float]], best: int, knee: int
) -> None:
    spots = [Spot(f"candidate {i}", risk, loss, "a") for i, (risk, loss) in enumerate(points)]
    svg = risk_utility_chart(spots, best=best % len(spots), knee=knee % len(spots))
    boxes = []
    strong_or_not = r'(fill="#1f2328" font-weight|fill="#4a5058" font-size="11")'
    labels = rf'<text x="([\d.]+)" y="([\d.]+)" text-anchor="start" {strong_or_not}[^>]*>([^<]*)<'
    for x, y, strong, text in re.findall(labels, svg):
        size = 13.0 if "weight" in strong else 11.0
        boxes.append((float(x), float(y) - size * 0.7, float(x) + 0.5 * size * len(text), float(y)))
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
    marks = [(float(x), float(y)) for x, y in re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="5.5"', svg)]
    for left, top, right, bottom in boxes:
        assert not any(left < x < right and top < y < bottom for x, y in marks[: len(spots)])


def test_a_crowded_map_numbers_only_its_front() -> None:
    few = risk_utility_chart([Spot(f"c{i}", i, i, "a") for i in range(20)], front=[0])
    many = risk_utility_chart([Spot(f"c{i}", i / 10, i / 10, "a") for i in range(200)], front=[0, 7])
    assert few.count('font-size="11"') == 20
    assert many.count('font-size="11"') == 2
