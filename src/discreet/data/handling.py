"""What was done to ratings before anyone asks for a sum of them."""

from dataclasses import dataclass, field, replace
from typing import Literal

from discreet.doors import checked, checked_methods

MergeRule = Literal["last", "mean", "recency", "once"]
"""How several ratings of one item by one user become one; ``once`` is for data without ratings, where all are alike."""


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

    def merged_by(self, rule: MergeRule) -> "Handling":
        """After merging. What was merged before is not merged again: there is one rating of each pair."""
        return self if self.merged is not None else replace(self, merged=rule)

    def after_split(self, *, by_time: bool = False) -> "Handling":
        """After a split, at random unless it went by time."""
        return replace(self, split=True, by_time=by_time)

    def after_selection(self, *, of_users: bool = False) -> "Handling":
        """After somebody chose some of the ratings, or of the users, who are then not all who take part."""
        return replace(self, selected=True, users_listed=self.users_listed and not of_users)

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
