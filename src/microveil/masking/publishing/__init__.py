"""What a group of records publishes for its members; every way goes with every grouping."""

from microveil.masking.publishing.aggregate import Aggregate
from microveil.masking.publishing.barycentre import Barycentre
from microveil.masking.publishing.micro_perturbation import MicroPerturbation
from microveil.masking.publishing.publishing import Published, Publishing
from microveil.masking.publishing.secure_mean import SecureMean
from microveil.masking.publishing.span import Span

__all__ = ["Aggregate", "Barycentre", "MicroPerturbation", "Published", "Publishing", "SecureMean", "Span"]
