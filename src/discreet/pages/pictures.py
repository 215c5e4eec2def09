"""SVG that comes from a renderer, made fit to stand inside a page."""

import re
import zlib
from html import escape

_OPEN = re.compile(r"<svg\b[^>]*>")


def inline(svg: str, alt: str) -> str:
    """The drawing with its text alternative, scaling with the page; names of its parts made its own.

    >>> inline('<?xml version="1.0"?><svg width="10" height="5" viewBox="0 0 10 5"><g/></svg>', "a dot & a line")
    '<svg viewBox="0 0 10 5" role="img" aria-label="a dot &amp; a line"><g/></svg>'
    """
    opened = _OPEN.search(svg)
    if opened is None:
        raise ValueError("the renderer returned no SVG")
    box = re.search(r'viewBox="([^"]*)"', opened.group())
    size = box.group(1) if box else "0 0 600 400"
    own = f"p{zlib.crc32(alt.encode()):08x}-"  # two pictures on a page may both call a part "clip0"
    body = re.sub(r'\bid="', f'id="{own}', svg[opened.end() :])
    body = re.sub(r"url\(#", f"url(#{own}", body)
    return f'<svg viewBox="{size}" role="img" aria-label="{escape(alt)}">{body}'
