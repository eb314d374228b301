"""How the documentation is built: Markdown in, a static site out that opens without a network."""

project = "Microveil"
author = "The Microveil authors"
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Microveil"
myst_heading_anchors = 3
