"""Templates into HTML: everything that is put into one is escaped, unless it is HTML already."""

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from discreet.pages.drawing import Picture
from discreet.pages.pictures import inline


def render(template: str, **values: Any) -> str:
    """A template of ``pages/templates``, filled in.

    >>> render("text.html", title="1 < 2", paragraphs=["so it is"], note="", code="")
    '<section><h2>1 &lt; 2</h2><p>so it is</p></section>'
    """
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(loader=FunctionLoader(_source), autoescape=True, undefined=StrictUndefined)
    environment.filters["drawn"] = _drawn
    return environment


def _source(name: str) -> str:
    """A template without the line breaks and the indentation that are there for its readers only."""
    text = files("discreet.pages").joinpath("templates", name).read_text(encoding="utf-8")
    return "".join(line.strip() for line in text.splitlines())


def _drawn(picture: Picture, narrow: bool = False) -> Markup:
    return Markup(inline((picture.narrow_svg() or "") if narrow else picture.svg(), picture.alt))
