"""Templates into text: one file each, nothing loaded from elsewhere."""

from __future__ import annotations

from typing import Any

import jinja2

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("microveil.reporting"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, **values: Any) -> str:
    """Fill a template; every text is escaped."""
    return _TEMPLATES.get_template(template).render(**values)
