"""Random numbers that belong to a query set: who asks again, in whatever words, gets the same ones."""

from __future__ import annotations

import hashlib
from typing import Literal

from microveil.queries.controls.base import Asked

Keying = Literal["set and attribute", "set"]
KEYING = (
    "what the random numbers belong to: with the set alone, as printed, what is known of one attribute takes them out "
    "of the others"
)


def label_of(asked: Asked, keying: Keying) -> str:
    """The records, with the attribute that is measured unless the set alone is meant.

    Under a condition on a confidential attribute the query set without that condition belongs to it, too: two sets that
    differ by one person would else have the same noise in all classes but that person's, which tells the class.
    """
    value, label = asked.question.value, asked.fingerprint
    if asked.has_secret:
        label = f"{asked.database.fingerprint(asked.query_set)}|{label}"
    return label if keying == "set" or value is None else f"{label}|{value}"


def hashed(*parts: str, bits: int = 64) -> int:
    """The first bits of SHA-256 over the parts with bars between them."""
    return int.from_bytes(hashlib.sha256("|".join(parts).encode()).digest()[: bits // 8], "big")
