"""Verdicts on a page: a sign, a word and a colour for each, so that none of the three is needed alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.pages.rendering import render

SIGNS: dict[bool | None, tuple[str, str, str]] = {
    True: ("✓", "reproduces", "holds"),
    False: ("✗", "does not", "does not hold"),
    None: ("\N{EN DASH}", "not judged", "not judged"),
}
"""A sign, and the word for a claim of someone else and for a question of one's own."""
LOOKS: dict[bool | None, str] = {True: "good", False: "bad", None: "open"}
"""The class in the style sheet."""


@dataclass(frozen=True)
class Answer:
    """A verdict in one reading, with what it rests on."""

    name: str
    holds: bool | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Something that was judged: where it stands, what it says, and the verdicts; the first is the one that counts."""

    where: str
    text: str
    answers: Sequence[Answer]
    question: bool = False


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """A section of a page: claims, each with its verdicts."""

    title: str
    entries: Sequence[Entry]
    text: str = ""

    def html(self) -> str:
        """A list.

        >>> entry = Entry(where="Fig. 1", text="it rises", answers=[Answer("plain", True, "from 1 to 2")])
        >>> "✓" in Verdicts(title="Claims", entries=[entry]).html()
        True
        """
        values = {"entries": self.entries, "signs": SIGNS, "looks": LOOKS}
        return render("verdicts.html", title=self.title, paragraphs=[self.text], **values)
