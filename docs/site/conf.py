"""Settings of the documentation site; ``build.py`` puts the pages together that it is made from."""

import discreet

project, author, release = "Discreet", "the authors of Discreet", discreet.__version__
project_copyright = "the authors of Discreet, Apache 2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
root_doc = "README"
html_theme = "furo"
html_title = f"Discreet {release}"
html_show_sphinx = False
html_copy_source = False
myst_heading_anchors = 4  # so that links to headings are checked too
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": False}
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
pygments_style, pygments_dark_style = "friendly", "github-dark"


def _sections(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Paragraphs that follow the parameters, such as the proof of a guarantee, are notes of their own for Sphinx."""
    written, in_section = [], False
    for place, line in enumerate(lines):
        below = lines[place + 1] if place + 1 < len(lines) else ""
        if line and below.strip("-") == "" and len(below) >= 3:
            in_section = True
        elif in_section and line.startswith("**") and lines[place - 1] == "":
            written += ["Notes", "-----"]
            in_section = False
        written.append(line.replace("|R'|", "\\|R'\\|"))
    lines[:] = written


def setup(app) -> None:
    """What Sphinx calls."""
    app.connect("autodoc-process-docstring", _sections, priority=400)  # before napoleon
