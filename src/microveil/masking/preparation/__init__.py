"""What happens before records are grouped: which attributes go together, on what scale, in which parts of the file."""

from microveil.masking.preparation.preparation import MixedPreparation, OneAttributeAtATime, Preparation
from microveil.masking.preparation.strata import strata_of

__all__ = ["MixedPreparation", "OneAttributeAtATime", "Preparation", "strata_of"]
