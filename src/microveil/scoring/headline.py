"""One loss and one risk out of whatever was measured."""

from __future__ import annotations

from collections.abc import Mapping

from microveil.attacks import Risk
from microveil.comparison.pairs import Pair
from microveil.errors import ParameterError
from microveil.losses import Loss
from microveil.microdata.schema import CATEGORICAL
from microveil.registry import find

# the general measures the literature averages: IL for numbers and for series; CTBIL, DBIL and EBIL for categories
_NUMERIC_HEADLINE = ("il",)
_SERIES_HEADLINE = "series-il"
_GRAPH_HEADLINE = "structure"
_CATEGORICAL_HEADLINE = ("ctbil", "dbil", "ebil")
_OF_LABELS = "generalisation"
_INTERVALS = ("interval-disclosure", "series-intervals")
HEADLINE_LOSSES = (
    *_NUMERIC_HEADLINE,
    _SERIES_HEADLINE,
    *_CATEGORICAL_HEADLINE,
    _OF_LABELS,
    _GRAPH_HEADLINE,
)  # which the one loss is made of


def headline_loss(losses: Mapping[str, Loss], pair: Pair) -> float:
    """One loss: IL for numeric attributes, the mean of CTBIL, DBIL and EBIL, as far as they were measured, for the
    others, what labels leave open, IL of series, and the loss of a graph's structure, weighted by the numbers of
    attributes, where a series is one, and so are the links of a graph.
    Without any loss there is none, which is not the same as 0."""
    if not losses:
        raise ParameterError("no loss was measured, so there is no score; name at least one that fits the attributes")
    weighted = []
    for headline, kinds in (
        (_NUMERIC_HEADLINE, ("numeric",)),
        (_CATEGORICAL_HEADLINE, CATEGORICAL),
    ):
        measured = [losses[name] for name in headline if name in losses]
        attributes = len(set(pair.of_kinds(kinds)).intersection(*(loss.attributes for loss in measured)))
        if measured and attributes:
            weighted.append((sum(loss.value for loss in measured) / len(measured), attributes))
    if _SERIES_HEADLINE in losses:
        series = pair.original.series_among(losses[_SERIES_HEADLINE].attributes)
        weighted.append((losses[_SERIES_HEADLINE].value, len(series)))
    if pair.labelled and _OF_LABELS in losses:
        of_labels = [losses[_OF_LABELS].per_attribute[name] for name in pair.labelled]
        weighted.append((sum(of_labels) / len(of_labels), len(of_labels)))
    if weighted and _GRAPH_HEADLINE in losses:
        weighted.append((losses[_GRAPH_HEADLINE].value, 1))
    if not weighted:  # other measures were asked for: their plain mean
        weighted = [(loss.value, 1) for loss in losses.values()]
    return sum(value * weight for value, weight in weighted) / sum(weight for _, weight in weighted)


def headline_risk(risks: Mapping[str, Risk]) -> float:
    """One risk: the mean of interval disclosure, of attributes or of series, whichever is larger, and of the linkage
    that succeeds most often, else of those measured."""
    values = [max(disclosed)] if (disclosed := [risks[name].value for name in _INTERVALS if name in risks]) else []
    if any(map(is_linkage, risks.values())):
        values.append(worst_risk(risks))
    values = values or [risk.value for risk in _measured(risks).values()]
    return sum(values) / len(values)


def worst_risk(risks: Mapping[str, Risk]) -> float:
    """The greatest share of records that any linkage links to the right person; without one, the greatest risk."""
    linked = [risk.value for risk in risks.values() if is_linkage(risk)]
    return max(linked or [risk.value for risk in _measured(risks).values()])


def _measured(risks: Mapping[str, Risk]) -> Mapping[str, Risk]:
    if not risks:
        raise ParameterError("no attack was run, so there is no score; name at least one that fits the attributes")
    return risks


def is_linkage(risk: Risk) -> bool:
    """Whether it is a share of records linked to persons."""
    return bool(find("attack", risk.name).family == "linkage")
