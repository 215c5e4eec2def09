"""What was done to ratings before anyone asks for a sum of them."""

import hashlib
import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from discreet.doors import checked, checked_methods
from discreet.looks import LISTED, SELECTION, Reading
from discreet.types import AnyArray

MergeRule = Literal["last", "mean", "recency", "once"]
"""How several ratings of one item by one user become one; ``once`` is for data without ratings, where all are alike."""
_KEY = secrets.token_bytes(16)


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class Handling:
    """What was done to ratings. A guarantee is about ratings as they were given, so it has to know.

    None of these marks depends on a rating: ratings that were to be merged are marked even if none came twice. Else one
    rating more would change what is printed.

    Parameters
    ----------
    merged
        The rule by which several ratings of one item by one user were made one; None where they were not.
    split
        Whether these are one part of a random split, which deals all ratings anew when there is one more; or of one
        ``by_time``, which is then moved.
    selected
        Whether somebody chose among the ratings or the users. If that went by the ratings (users with at least 20,
        say), one rating less may take away a whole user.
    users_listed
        Whether the users were listed by somebody, whatever they rated. Else they are those who have a rating.
    nameless
        Whether the users came without names, and have random ones.
    least, most
        Bounds on how many ratings a user contributes, by that user's own ratings alone: who had fewer has none, and of
        more only so many were kept; None without.
    popular_items
        Whether items were left out by how many users rated them: others' ratings decide that.
    prior
        What a guarantee has to say of another release that is used as a prior; None without one.
    perturbed
        Whether a table held reports of perturbed ratings: what they promise is not known from it.
    unmarked
        Whether they came in a frame, in arrays or as histories that say nothing of what was done before.
    options
        With which options a table was read, of those that change what is learned from it.
    selection
        A hash of the rows or users that somebody selected, under a key of this process: outside of it, it says nothing.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> ratings.merge("last").split(test=0.2, seed=1)[0].handling
    Handling(merged='last', split=True, selected=False, users_listed=True, nameless=False, least=None, most=None,
    popular_items=False)
    """

    merged: MergeRule | None = None
    split: bool = False
    selected: bool = False
    users_listed: bool = False
    nameless: bool = False
    least: int | None = None
    most: int | None = None
    popular_items: bool = False
    by_time: bool = field(default=False, repr=False)
    prior: str | None = field(default=None, repr=False)
    perturbed: bool = field(default=False, repr=False)
    unmarked: bool = field(default=False, repr=False)
    options: Reading = field(default=(), repr=False, compare=False)
    selection: str = field(default="", repr=False, compare=False)

    def merged_by(self, rule: MergeRule) -> "Handling":
        """After merging. What was merged before is not merged again: there is one rating of each pair."""
        return self if self.merged is not None else replace(self, merged=rule)

    def after_split(self, *, by_time: bool = False) -> "Handling":
        """After a split, at random unless it went by time."""
        return replace(self, split=True, by_time=by_time)

    def after_selection(self, rows: AnyArray | None = None, *, of_users: bool = False) -> "Handling":
        """After somebody chose some of the ratings (``rows``), or of the users, who are then not all who take part."""
        selection = self.selection
        if rows is not None:
            selection = hashlib.blake2b(selection.encode() + rows.tobytes(), key=_KEY, digest_size=8).hexdigest()
        listed = self.users_listed and not of_users
        return replace(self, selected=True, users_listed=listed, selection=selection)

    def with_listed_users(self) -> "Handling":
        """After somebody listed the users."""
        return replace(self, users_listed=True)

    def bounded_by(self, least: int, most: int | None) -> "Handling":
        """After every user's ratings were bounded; of several floors the highest counts, and of caps the lowest."""
        floor = max(least, self.least or least)
        return replace(self, least=floor, most=min(filter(None, (most, self.most)), default=None))

    def filtered_by_popularity(self) -> "Handling":
        """After items were left out because few users rated them."""
        return replace(self, popular_items=True)

    @property
    def words(self) -> str:
        """The marks in words, for a column of a table (:data:`HANDLING`), so that they travel with it; empty for none.

        >>> Handling(merged="last", split=True).words
        'discreet: merged=last split=True'
        """
        marks = [f"{name}={getattr(self, name)}" for name in _TRAVEL if getattr(self, name)]
        return " ".join([OURS, *marks]) if marks else ""

    def marked_as(self, words: Iterable[str]) -> "Handling":
        """With the marks that some rows of a table carry too; a column that is not ours says nothing.

        Where some rows are marked and others are not (``""`` among the words), nothing is known of those.

        >>> Handling().marked_as(["discreet: merged=last split=True", "express"])
        Handling(merged='last', split=True, selected=False, users_listed=False, nameless=False, least=None, most=None,
        popular_items=False)
        """
        found, words = self, tuple(words)
        for text in words:
            ours, *marks = text.split(" ")
            for name, _, value in (mark.partition("=") for mark in marks if ours == OURS):
                if name in ("least", "most") and value.isdecimal():
                    bounds = {"least": found.least or 0, "most": found.most} | {name: int(value)}
                    found = found.bounded_by(bounds["least"] or 0, bounds["most"])
                elif name == "merged" and value in get_args(MergeRule):
                    found = found.merged_by(value)  # type: ignore[arg-type]
                elif name in _TRAVEL and value == "True":
                    found = replace(found, **{name: True})  # type: ignore[arg-type]
        return replace(found, unmarked=True) if "" in words and found.words else found

    def reading(self, scale: str) -> Reading:
        """All that could have been chosen otherwise of ratings on this scale, without looking at any."""
        bounds = [name for name in ("least", "most", "popular_items") if getattr(self, name)]
        chosen = {"scale": scale, "repeats": self.merged or "as given"}
        chosen["filters"] = ", ".join(f"{name} {getattr(self, name)}" for name in bounds)
        chosen[SELECTION] = self.selection
        by_time = self.merged in ("last", "recency")  # nothing else that is learned goes by when something was rated
        return (*chosen.items(), *(option for option in self.options if by_time or option[0] != "time"))


UNMARKED = Handling(unmarked=True)
HANDLING = "handling"
"""The column of a table that says what was done to its ratings."""
OURS = "discreet:"
"""How each of its words begins; whatever else is in a column of that name is somebody's own."""
_TRAVEL = (
    "merged", "split", "by_time", "selected", "nameless", "least", "most", "popular_items", "perturbed", "unmarked",
)  # fmt: skip

OWN_FORMAT: Reading = (("rating", "their own"), ("features", ""))
"""The options of data in a format of their own, which has none."""


def options_of_table(
    place: object,
    rating: str | None,
    columns: Sequence[str] | None,
    time: str | None,
    items: object,
    features: Sequence[str],
) -> Reading:
    """The options with which a table was read. Users and items are known by what they are, whatever their columns."""
    where = None if columns is None or rating is None or rating not in columns else list(columns).index(rating)
    query = [str(place)] if "?query=" in str(place) else []
    kept = {"rating": json.dumps([rating, where, *query]), "time": time or "", "features": ",".join(features)}
    return (*kept.items(), *(() if items is None else ((LISTED, ""),)))
