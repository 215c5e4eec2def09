"""Text from a file, a release or a stranger, made safe to print."""

import re

# C0 and C1 controls, which move cursors and start escape sequences; marks that change the direction of writing, by
# which one text looks like another; separators that break lines; and halves of characters, which cannot be printed.
_UNSAFE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSAFE_BUT_LINES = re.compile(_UNSAFE.pattern.replace("\x0a-\x1f", "\x0b-\x1f"))


def printable(text: str, *, lines: bool = False) -> str:
    r"""The text with every control character written out, so that a terminal shows it and does not obey it.

    With ``lines`` line breaks stay: for text of which each line is our own.

    >>> print(printable("\x1b[2J Toy Story\n(1995)"))
    \x1b[2J Toy Story\n(1995)
    >>> printable("one\ntwo\x07", lines=True)
    'one\ntwo\\x07'
    """
    unsafe = _UNSAFE_BUT_LINES if lines else _UNSAFE
    return unsafe.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
