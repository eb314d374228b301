"""Losses and risks of a release become scores, and scores decisions."""

from microveil.entries import offer
from microveil.scoring.assessing import assess, score_index
from microveil.scoring.assessment import Assessment
from microveil.scoring.headline import headline_loss, headline_risk
from microveil.scoring.rules.base import ScoreRule, score
from microveil.scoring.scores import Score

__all__ = ["Assessment", "Score", "ScoreRule", "assess", "headline_loss", "headline_risk", "score", "score_index"]
__getattr__, __dir__ = offer(globals())
