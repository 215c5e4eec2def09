"""What privacy users wish for: a level for each user, or for each of their ratings.

A *privacy specification*: which levels there are (public), and who chose which (private, like the ratings). It comes
from a table, from a column of the ratings, or from a rule, and a population takes it: ``TrustedServer(ratings, ledger,
wishes=wishes)``. Models need not know.

    one level for each user       by weights: everything a user contributes is multiplied by the weight of their level
    one level for each rating     by sampling: the population looks at one secret sample, into which every rating comes
                                  with the rate of its level; the ledger's epsilon is the threshold, what a rating of
                                  the sample pays

Why either is private is in :mod:`discreet.privacy.levels`. A wish is lowered to the next level on offer; whoever wishes
for nothing gets the strictest; and a level above the ledger's epsilon is promised that epsilon. A wish about a pair
that is not rated changes nothing.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, SupportsIndex

import numpy as np

from discreet.data.choice_file import Choices, has_column, read_choices
from discreet.data.ratings import Ratings
from discreet.doors import checked_methods
from discreet.errors import DataError, InputError, is_number, require
from discreet.populations.level_names import Levels, lowered, named, number_of
from discreet.privacy.ledger import Ledger
from discreet.privacy.levels import By, Offer
from discreet.privacy.personal import draw_sample
from discreet.privacy.randomness import Randomness
from discreet.privacy.unit import UnitName
from discreet.strings import Strings
from discreet.types import AnyArray, Progress, no_progress

LADDER = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Levels on offer where nobody says which. They are fixed: those that somebody wished for would tell of them."""

LEVEL_FACT = "privacy level"
"""Which fact about users says what privacy level they chose."""

Chooser = Callable[[Ratings], AnyArray]

Source = Literal["names", "rows", "ratings"]
"""What tells a level: the names of users and items; which rows a table of ratings has; or the ratings themselves."""

ALONE = 8
"""Of so many users or ratings with each wish a rule is asked by themselves."""


@checked_methods
@dataclass(frozen=True, kw_only=True, eq=False)
class Wishes:
    """A privacy level for every user, or for every rating.

    Made by :meth:`of_users`, :meth:`of_ratings`, :meth:`read`, :meth:`by_rule` or
    :class:`~discreet.populations.groups.Groups`.

    Parameters
    ----------
    levels
        The epsilons on offer, by name, smallest first. Public.
    of
        ``user`` or ``rating``: what a level is chosen for.
    by
        ``weights`` or ``sampling``. Ratings go by sampling. Users go by weights, which discards nothing; with
        ``sampling`` a user, or with a ledger for ratings each of their ratings, comes into one secret sample: for
        models that run mechanisms, which have no weights.
    chooser
        From ratings to the position of a level for each user or rating.
    source
        What the chooser looks at. If levels of users hang on their rows or ratings, one rating may change the weight of
        all of a user's: then ledgers for ratings are refused, and with ``ratings`` also those where a user is replaced.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> wishes = dc.Wishes.of_users({"1": 0.1, "2": 0.5}, levels=(0.1, 0.5, 1.0))
    >>> release = dc.Bias().fit(dc.TrustedServer(ratings, dc.Ledger(1.0), wishes=wishes))
    >>> [str(level) for level in release.guarantee.levels]
    ['0.1: epsilon 0.1', '0.5: epsilon 0.5', '1: epsilon 1']
    """

    levels: Mapping[str, float]
    of: UnitName
    by: By
    chooser: Chooser
    source: Source = "ratings"

    def __post_init__(self) -> None:
        require(self.of in ("user", "rating"), f"levels are chosen for a 'user' or a 'rating', got {self.of!r}")
        require(
            self.of == "user" or self.by == "sampling",
            "a level for each rating goes by sampling: a sum does not know which of its ratings to weigh",
        )
        require(len(self.levels) > 0, "at least one privacy level must be on offer")
        self.offer()

    # ── Where wishes come from ──

    @classmethod
    def of_users(cls, wishes: Mapping[str, float | str], *, levels: Levels = LADDER, by: By = "weights") -> "Wishes":
        """A wish for each user, by name: an epsilon, or the name of a level."""
        texts = Strings.of(_text(wish) for wish in wishes.values())
        return cls._of(Choices(Strings.of(wishes), None, texts), levels, "user", by, "the wishes")

    @classmethod
    def of_ratings(cls, wishes: Mapping[tuple[str, str], float | str], *, levels: Levels = LADDER) -> "Wishes":
        """A wish for each rating, by the names of its user and item.

        >>> wishes = Wishes.of_ratings({("ann", "tea"): 0.2}, levels={"strict": 0.2, "normal": 1.0})
        >>> wishes.of, wishes.by
        ('rating', 'sampling')
        """
        users, items = Strings.of(user for user, _ in wishes), Strings.of(item for _, item in wishes)
        texts = Strings.of(_text(wish) for wish in wishes.values())
        return cls._of(Choices(users, items, texts), levels, "rating", "sampling", "the wishes")

    @classmethod
    def read(
        cls,
        path: str | Path,
        column: str = "epsilon",
        *,
        user: str = "user",
        item: str = "item",
        of: UnitName | None = None,
        levels: Levels = LADDER,
        by: By | None = None,
        progress: Progress = no_progress,
    ) -> "Wishes":
        """Wishes from a table: the ratings themselves, with a column more, or a small file beside them.

        Parameters
        ----------
        path, column, user, item
            A CSV, TSV, Parquet or Arrow file, and its columns: wishes are epsilons, names of levels, or empty.
        of
            ``rating`` where there is a column of items, unless said otherwise; ``user`` where there is none. Of several
            wishes of one user the strictest counts.
        levels, by
            As for :class:`Wishes`.
        """
        with_items = has_column(path, item)
        require(of != "rating" or with_items, f"{path}: wishes for ratings need a column {item!r}")
        chosen_for: UnitName = of or ("rating" if with_items else "user")
        choices = read_choices(
            path, column, user=user, item=item if chosen_for == "rating" else None, progress=progress
        )
        source: Source = "rows" if with_items else "names"
        return cls._of(choices, levels, chosen_for, by or _usual(chosen_for), str(path), source)

    @classmethod
    def by_rule(
        cls, rule: Callable[[Ratings], AnyArray], *, of: UnitName, levels: Levels = LADDER, by: By | None = None
    ) -> "Wishes":
        """A wish for each user or rating by a rule: from ratings to as many epsilons as there are users or ratings.

        A rule looks at each user, or each rating, by itself. One that looks at others too would change their levels
        when one comes or goes, and nothing would be proven; a rule that comes to other wishes on half of the data, or
        for some users or ratings by themselves, is refused.

        >>> careful = Wishes.by_rule(lambda ratings: np.where(ratings.values < 2, 0.1, 1.0), of="rating")
        """
        names, epsilons = named(levels)

        def chooser(ratings: Ratings) -> AnyArray:
            wished = _wished(rule, ratings, of)
            positions = lowered(wished, epsilons, "the rule")
            for places in [] if isinstance(ratings, Unseen) else _places_to_ask(wished):
                asked = np.isin(np.arange(len(wished)), places)
                some = ratings.select(asked) if of == "rating" else ratings.select_users(places)
                require(
                    np.array_equal(_wished(rule, some, of), wished[places]),
                    f"the rule comes to another wish for a {of} where others are not there: it must look at each by "
                    "itself",
                )
            return positions

        return cls(levels=dict(zip(names, epsilons, strict=True)), of=of, by=by or _usual(of), chooser=chooser)

    @classmethod
    def _of(
        cls, choices: Choices, levels: Levels, of: UnitName, by: By, where: str, source: Source = "names"
    ) -> "Wishes":
        names, epsilons = named(levels)
        positions = _positions(choices.texts, names, epsilons, where)

        def chooser(ratings: Ratings) -> AnyArray:
            return _chosen(ratings, choices, positions, where)

        return cls(levels=dict(zip(names, epsilons, strict=True)), of=of, by=by, chooser=chooser, source=source)

    # ── What becomes of them ──

    def offer(self, epsilon: float = math.inf, *, gaussian: bool = False) -> Offer:
        """The public half, where taking part in full costs ``epsilon``: no level is promised less than that."""
        if self.by == "sampling":
            return Offer(epsilons=self.levels, by=self.by, each_rating=self.of == "rating")
        return Offer(epsilons={name: min(own, epsilon) for name, own in self.levels.items()}, gaussian=gaussian)

    def chosen(self, ratings: Ratings) -> AnyArray:
        """The position of the level of each user or rating. Private."""
        positions = np.asarray(self.chooser(ratings), dtype=np.int64)
        size = ratings.n_users if self.of == "user" else len(ratings)
        valid = positions.shape == (size,) and bool(((positions >= 0) & (positions < len(self.levels))).all())
        require(valid, f"wishes need a level on offer for every {self.of}")
        return positions

    def applied(
        self,
        ratings: Ratings,
        ledger: Ledger,
        randomness: Randomness,
        *,
        gaussian: bool = False,
        users_stay: bool = False,
    ) -> Ratings:
        """The ratings that a population looks at, after the ledger was told what is on offer.

        By weights these are all of them, with the level of every user as a fact. By sampling they are those that were
        drawn, each with the rate of its level. A user who was not drawn is not there, or, where that is public
        (``users_stay``), has no ratings. Likewise a user none of whose ratings were drawn, unless somebody listed the
        users: what is left is then the same as if these ratings had never been given, which the proof needs.
        """
        lowest, highest = min(self.levels.values()), max(self.levels.values())
        require(
            lowest <= ledger.epsilon,
            f"the ledger's epsilon {ledger.epsilon:g} is below every level on offer, from {lowest:g} on: raise it, or "
            "leave out the wishes, which would change nothing",
        )
        require(
            ledger.epsilon <= highest * (1 + 1e-9),
            f"the ledger's epsilon {ledger.epsilon:g} is above every level on offer, up to {highest:g}: nobody would "
            "take part in full; lower it to at most the highest level",
        )
        chosen = self.chosen(ratings)
        self._check_source(ledger)
        self._check_handling(ratings, chosen)
        ledger.offer(self.offer(ledger.epsilon, gaussian=gaussian))  # last: what was refused leaves no trace
        if self.by == "weights":
            names = np.array(list(self.levels), dtype=np.str_)
            return replace(ratings, user_facts={**ratings.user_facts, LEVEL_FACT: names[chosen]})
        rates = np.array([level.rate for level in ledger.levels])
        if self.of == "rating" or ledger.unit.name == "rating":
            rates = rates[chosen] if self.of == "rating" else rates[chosen][ratings.user_index]
            kept = ratings._kept(draw_sample(rates, randomness), ratings.handling)
            if users_stay or ratings.handling.users_listed:
                return kept
            return kept._with_users_at(np.flatnonzero(np.diff(kept.indptr)), ratings.handling)
        drawn = draw_sample(rates[chosen], randomness)
        if users_stay:
            return ratings._kept(drawn[ratings.user_index], ratings.handling)
        return ratings._with_users_at(np.flatnonzero(drawn), ratings.handling)

    def _check_source(self, ledger: Ledger) -> None:
        """Raise where neighbours may differ in the level of a user, and not in what the ledger's unit is alone."""
        told = self.of == "rating" or self.source == "names"
        told = told or (ledger.unit.name == "user" and ledger.unit.neighbours == "add-or-remove")
        require(
            told or (self.source == "rows" and ledger.unit.name == "user"),
            "these levels of users follow from their ratings, so one rating may change the level, and with it all that "
            "a user adds: keep a ledger for User(), or name everybody's level (Wishes.of_users)",
        )

    def _check_handling(self, ratings: Ratings, chosen: AnyArray) -> None:
        """Raise where a rating as it was given may change the level of another, or whether another is there.

        The proof is of one rating that comes into the sample with the rate of its own level (:mod:`discreet.privacy.
        levels`): all ratings that are merged into one must have the same, and nothing else may come or go with it.
        """
        if self.of == "user":
            return
        handling = ratings.handling
        require(
            handling.least is None and handling.most is None,
            "how many ratings a user has was bounded before, so one rating may bring back others, which have levels of "
            "their own: let users choose levels for all of theirs, or bound them by the ledger, User(max_ratings=…)",
        )
        if self.source != "ratings" or handling.merged is None:
            return
        unseen = Unseen.of(ratings)
        try:
            same = np.array_equal(self.chosen(unseen), chosen)
        except Exception:  # whatever it is: it did not happen with values and times
            same = False
        require(
            same and not unseen.looked,
            "these levels go by values or times, and several ratings of one pair were merged: a level would hang "
            "on all of them, and not on the one that it was chosen for; let levels go by item or by user, or take "
            "ratings that were not merged",
        )

    def __repr__(self) -> str:
        levels = ", ".join(f"{name}: {epsilon:g}" for name, epsilon in self.levels.items())
        return f"Wishes(of each {self.of}, by {self.by}, levels {levels})"


def _text(wish: float | str | None) -> str:
    """A wish as a table would have it; None is the empty one."""
    if wish is None:
        return ""
    require(isinstance(wish, str) or is_number(wish), f"a wish is an epsilon or a level, got {type(wish).__name__}")
    return wish if isinstance(wish, str) else repr(float(wish))


def _positions(texts: Strings, names: list[str], epsilons: AnyArray, where: str) -> AnyArray:
    """The level of each text: its name, an epsilon that is lowered to one, or nothing for the strictest."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    place = np.fromiter((numbers[text] for text in texts), dtype=np.int64, count=len(texts))
    positions = np.zeros(len(numbers), dtype=np.int64)
    for text, number in numbers.items():
        if text == "":
            continue
        if text in names:
            positions[number] = names.index(text)
            continue
        epsilon = number_of(text)
        if epsilon is None:
            row = int(np.flatnonzero(place == number)[0]) + 1
            raise DataError(
                f"{where}: wish number {row} is neither an epsilon nor a level on offer ({', '.join(names)})"
            )
        positions[number] = lowered(np.array([epsilon]), epsilons, where)[0]
    return np.asarray(positions[place])


def _chosen(ratings: Ratings, choices: Choices, positions: AnyArray, where: str) -> AnyArray:
    """What was chosen for each user or rating; 0, the strictest, where nothing was."""
    users = _places(choices.users, ratings.users.positions)
    if choices.items is None:
        chosen = np.full(ratings.n_users, np.iinfo(np.int64).max)
        known = users >= 0
        np.minimum.at(chosen, users[known], positions[known])
        return np.where(chosen == np.iinfo(np.int64).max, 0, chosen)
    items = _places(choices.items, ratings.catalogue.items.positions)
    require(bool((items >= 0).all()), f"{where}: some wish is about an item that is not in the catalogue")
    size = ratings.n_items
    keys, about = (users * size + items)[users >= 0], positions[users >= 0]
    order = np.argsort(keys, kind="stable")
    keys, about = keys[order], about[order]
    again = keys[1:] == keys[:-1]
    if bool((about[1:][again] != about[:-1][again]).any()):
        raise InputError(f"{where}: there are different wishes for one rating: keep one for each pair")
    wanted = ratings.user_index.astype(np.int64) * size + ratings.item_index
    if len(keys) == 0:
        return np.zeros(len(wanted), dtype=np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, about[place], 0)


def _places(names: Strings, positions: Mapping[str, int]) -> AnyArray:
    """Where each name is; −1 for a name that is not there."""
    return np.fromiter((positions.get(name, -1) for name in names), dtype=np.int64, count=len(names))


def _wished(rule: Callable[[Ratings], AnyArray], ratings: Ratings, of: UnitName) -> AnyArray:
    try:
        wished = np.asarray(rule(ratings), dtype=np.float64)
    except Exception as error:  # whatever it says may tell of the ratings
        raise InputError(f"the rule cannot be applied to all ratings, or to some: {type(error).__name__}") from None
    size = ratings.n_users if of == "user" else len(ratings)
    require(wished.shape == (size,), f"the rule must give one epsilon for each {of}")
    return wished


def _places_to_ask(wished: AnyArray) -> list[AnyArray]:
    """Half of all, and some with each wish one by one."""
    places = [np.arange(0, len(wished), 2)]
    for wish in np.unique(wished)[:ALONE]:
        same = np.flatnonzero(wished == wish)
        places += [same[[at]] for at in np.unique(np.linspace(0, len(same) - 1, ALONE).astype(np.int64))]
    return [some for some in places if len(some)]


def _usual(of: UnitName) -> By:
    return "weights" if of == "user" else "sampling"


class Unseen(Ratings):
    """Who rated which item, without how and when: whatever needs values or times raises, and that is noted."""

    looked = False
    """Whether somebody asked for them, whatever came of it."""

    @classmethod
    def of(cls, ratings: Ratings) -> "Unseen":
        """These ratings, unseen."""
        known = {own.name: getattr(ratings, own.name) for own in fields(Ratings)}
        return cls(**known | {"values": np.zeros(len(ratings), dtype=np.float32), "times": None})

    def __post_init__(self) -> None:
        """Nothing to do: the columns are those of other ratings."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("values", "times"):
            self.__dict__["looked"] = True
            raise InputError("these are ratings without values and times")
        return super().__getattribute__(name)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """No copies, which would note for themselves what is asked of them."""
        return self.values

    def __len__(self) -> int:
        return len(self.user_index)
