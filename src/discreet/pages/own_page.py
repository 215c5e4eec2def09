"""What a release promises to one person, as a page that the person makes at home and keeps.

The page names the items that were rated, and no value of a rating; only its owner can read the file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.data.history import History
from discreet.files import write_whole
from discreet.pages.page import Section, Text, render_page
from discreet.pages.rendering import render
from discreet.privacy.guarantee import Guarantee, Loss, _rounded_up, times_as_likely
from discreet.privacy.spend import Spend
from discreet.releases.promises import PersonalPromise, spoken
from discreet.releases.release import Release

TITLE = "What this release promises you"
AT_HOME = (
    "This page was made from the release and your own file. It is right if these are the ratings that you gave and the "
    "levels that you wished for. The release itself holds no user. The page names what you rated: keep it to yourself."
)


@dataclass(frozen=True, kw_only=True)
class Folding:
    """A table of any length that fits on a phone: long names are broken, and cells go below each other."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    paragraphs: Sequence[str] = ()

    def html(self) -> str:
        """A table whose first column names the rows.

        >>> "&lt;b&gt;</th>" in Folding(title="t", columns=["a", "b"], rows=[["<b>", "1"]]).html()
        True
        """
        return render(
            "folding.html", title=self.title, paragraphs=self.paragraphs, columns=self.columns, rows=self.rows
        )


def write_own_page(path: Path, release: Release, history: History, found: PersonalPromise) -> None:
    """Write the page of whoever has this history, and to whom ``found`` is promised."""
    page = render_page(title=TITLE, lead=headline(found, len(history)), sections=_sections(release, history, found))
    write_whole(path, page.encode(), private=True)


def headline(found: PersonalPromise, count: int) -> str:
    """The promise in one sentence.

    >>> from discreet.privacy.unit import User
    >>> headline(PersonalPromise((), Loss(0.25), User()), 12)
    'All your 12 ratings together are protected at epsilon 0.25.'
    """
    together = spoken(found.together)
    if count == 0:
        return "You have no ratings here: this release can say nothing about you."
    if not found.ratings:
        whose = f"All your {count} ratings together are" if count > 1 else "All that you gave, 1 rating, is"
        return f"{whose} protected at {together}."
    if count == 1 and found.unit.name == "rating":
        return str(found.ratings[0])
    if count == 1:
        alone = spoken(found.ratings[0].level.loss)
        return f"Your only rating is protected at {alone}, and all that you gave at {together}."
    each = {(one.level.loss.epsilon, one.level.loss.delta) for one in found.ratings}
    highest = spoken(Loss(max(epsilon for epsilon, _ in each), max(delta for _, delta in each)))
    less = " or less" if len(each) > 1 else ""
    return f"Each of your {count} ratings is protected at {highest}{less}, and all of them together at {together}."


def _sections(release: Release, history: History, found: PersonalPromise) -> list[Section]:
    if len(history) == 0:
        return [_looks(release)]
    return [_ratings(release.guarantee, history, found), _meaning(release.guarantee, found), _looks(release)]


def _ratings(guarantee: Guarantee, history: History, found: PersonalPromise) -> Section:
    levels = bool(guarantee.levels)
    without = "Where you wished for nothing you have the strictest level." if levels else ""
    if not found.ratings:
        return Folding(
            title="Your ratings",
            paragraphs=["They are protected all together: none of them has a level of its own.", without],
            columns=["Your rating of"],
            rows=[[str(history.catalogue.titles[item])] for item in history.items],
        )
    return Folding(
        title="Your ratings",
        paragraphs=[without],
        columns=["Your rating of", *(["level"] if levels else []), "is protected at", "more likely by at most"],
        rows=[
            [
                one.title,
                *([one.level.name] if levels else []),
                str(spoken(one.level.loss)),
                _times(one.level.loss),
            ]
            for one in found.ratings
        ],
    )


def _meaning(guarantee: Guarantee, found: PersonalPromise) -> Section:
    one = max((rating.level.loss.epsilon for rating in found.ratings), default=found.together.epsilon)
    paragraphs = [
        "Epsilon limits how much your ratings can change what is released: the lower, the stricter. Whatever anyone "
        f"concludes about you from the release is at most so many times as likely as it would be {_otherwise(found)}. "
        f"At epsilon {_rounded_up(one)} that is {_times(Loss(one))}.",
    ]
    if any(spoken(loss).delta for loss in (found.together, *(one.level.loss for one in found.ratings))):
        paragraphs.append("Where there is a delta, the probability may be higher by that much on top.")
    if len(found.ratings) > 1 or (found.ratings and found.unit.name == "user"):
        paragraphs.append(
            "Whoever asks about all of your ratings at once can learn more than about one of them: they are protected "
            f"at {spoken(found.together)} together, and conclusions are at most {_times(found.together)} as likely."
        )
    if guarantee.exposed_to:
        paragraphs.append(f"Your ratings are not hidden from {' and '.join(guarantee.exposed_to)}.")
    if found.unit.name == "rating" and found.unit.neighbours == "replace":
        paragraphs.append("Only the value of a rating is hidden. Which items you rated is not.")
    return Text(title="What that means", paragraphs=paragraphs, note=AT_HOME)


def _otherwise(found: PersonalPromise) -> str:
    replaced = found.unit.neighbours == "replace"
    if found.ratings:
        return "if the rating had another value" if replaced and found.unit.name == "rating" else "without the rating"
    return "if your ratings were quite others" if replaced else "without all of your ratings"


def _looks(release: Release) -> Section:
    remark = f"{release.remark}." if release.remark else ""
    return Folding(
        title="Every look at the ratings",
        paragraphs=[
            "All that the release knows of anyone comes from these looks at everybody's ratings, each hidden by noise."
            if release.spends
            else "No rating of anyone was looked at.",
            " ".join(release.guarantee.sentences()),
            remark,
        ],
        columns=["look", "noise", "sensitivity", "how often"],
        rows=[_look(spend) for spend in release.spends],
    )


def _look(spend: Spend) -> list[str]:
    sampled = "" if spend.sampling_rate == 1 else f", each unit with probability {spend.sampling_rate:.3g}"
    return [
        spend.what,
        f"{spend.mechanism}, scale {spend.scale:.5g}",
        f"{spend.sensitivity:.5g} in {spend.norm}",
        ("once" if spend.times == 1 else f"{spend.times} times") + sampled,
    ]


def _times(loss: Loss) -> str:
    return f"{times_as_likely(loss.epsilon)} times"
