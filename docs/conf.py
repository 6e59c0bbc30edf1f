"""The documentation as pages: Sphinx reads the Markdown that people read in the checkout too.

    sphinx-build --fail-on-warning -c docs -b html . dist/site

The source folder is the checkout, so that a link from a page to the README or to an example leads to a page as well.
What is missing, a page, a heading or a file, is a warning, and so fails the build.
"""

from __future__ import annotations

from typing import Final

from kueue_dqo import __version__

project: Final = "kueue-dqo"
release = version = __version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "examples/**.md", "bench/README.md"]
exclude_patterns = ["AGENTS.md", "docs/_templates"]
nitpicky = True
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"kueue-dqo {__version__}"
templates_path = ["_templates"]
html_additional_pages = {"index": "to-the-index.html"}
html_copy_source = False
html_use_index = False
html_show_copyright = False
