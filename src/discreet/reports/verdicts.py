"""Verdicts on a page: a sign, a word and a colour for each, so that none of the three is needed alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

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

    def html(self) -> str:
        """One block; the other readings follow, each with its sign, their numbers folded away."""
        first, *others = self.answers
        rest = ""
        if others:
            chips = "".join(f"<li>{_chip(answer, self.question, short=True)}</li>" for answer in others)
            told = "".join(f"<dt>{escape(answer.name)}</dt><dd>{escape(answer.text)}</dd>" for answer in others)
            rest = (
                f'<ul class="others" aria-label="in other readings">{chips}</ul>'
                f"<details><summary>Their numbers</summary><dl>{told}</dl></details>"
            )
        return (
            f'<li class="{LOOKS[first.holds]}">'
            f'<p class="claim"><span>{escape(self.where)}</span> {escape(self.text)}</p>'
            f'<p class="answer">{_chip(first, self.question)} {escape(first.text)}</p>{rest}</li>'
        )


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
        lead = f"<p>{escape(self.text)}</p>" if self.text else ""
        body = "".join(entry.html() for entry in self.entries)
        return f'<section><h2>{escape(self.title)}</h2>{lead}<ol class="verdicts">{body}</ol></section>'


def _chip(answer: Answer, question: bool, *, short: bool = False) -> str:
    sign, reproduces, holds = SIGNS[answer.holds]
    word = holds if question else reproduces
    shown = answer.name if short else word
    return (
        f'<span class="chip {LOOKS[answer.holds]}" title="{escape(answer.name)}: {word}">'
        f'<b aria-hidden="true">{sign}</b> {escape(shown)}'
        + (f'<span class="unseen">: {word}</span>' if short else "")
        + "</span>"
    )
