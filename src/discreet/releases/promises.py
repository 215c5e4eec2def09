"""What a release promises at each privacy level, and to one person in words.

A release holds no user. Whoever has their own ratings and remembers what they wished for can work out at home what is
promised to them; nobody else can.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.data.history import History
from discreet.doors import checked
from discreet.errors import InputError, require
from discreet.privacy.guarantee import NEGLIGIBLE, Guarantee, LevelLoss, Loss, times_as_likely
from discreet.privacy.levels import Level, group_of
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Unit

Wish = float | str
"""An epsilon, or the name of a level."""


def level_cost(level: LevelLoss, spends: Sequence[Spend], proven: Loss, unit: Unit | None) -> float:
    """What the spends cost at a privacy level, computed anew; infinite where the level's delta is too small for it."""
    from discreet.privacy.composition import composed_epsilon

    assert unit is not None
    sampled = level.each_rating or level.rate < 1
    paying = Level(
        name=level.name,
        epsilon=level.loss.epsilon,
        rate=level.rate,
        group=group_of(unit, each_rating=level.each_rating) if sampled else 1,
    )
    own = composed_epsilon([spend.for_level(level.weight) for spend in spends], proven.delta)
    epsilon, delta = paying.paid(own, proven.delta)
    return epsilon if delta <= level.loss.delta * (1 + 1e-6) or delta == 0 else math.inf


def level_of(guarantee: Guarantee, wish: Wish | None) -> LevelLoss:
    """The level that a wish came to: the one of its name, or the highest that is not above it; None: the strictest."""
    levels = guarantee.levels
    require(len(levels) > 0, "this release offers no privacy levels: what it promises is the same for everybody")
    on_offer = ", ".join(level.name for level in levels)
    if wish is None or wish == "":
        return min(levels, key=lambda level: level.offered)
    for level in levels:
        if level.name == wish:
            return level
    try:
        number = float(wish)
    except ValueError:
        raise InputError(f"there is no privacy level {wish!r}; on offer are {on_offer}") from None
    require(math.isfinite(number) and number > 0, f"a wish is a positive and finite epsilon, got {wish}")
    below = [level for level in levels if level.offered <= number * (1 + 1e-12)]
    require(bool(below), f"the wish {wish} is below the lowest level on offer; on offer are {on_offer}")
    return max(below, key=lambda level: level.offered)


def lowered(guarantee: Guarantee, wish: Wish | None) -> str:
    """In a sentence: which level a wish came to that is not on offer; empty where it is."""
    if not guarantee.levels or wish is None or wish == "":
        return ""
    found = level_of(guarantee, wish)
    if wish == found.name or math.isclose(float(wish), found.offered, rel_tol=1e-12):
        return ""
    on_offer = ", ".join(level.name for level in guarantee.levels)
    return f"There is no privacy level {wish}: on offer are {on_offer}, and such a wish is lowered to {found.name}."


def spoken(loss: Loss) -> Loss:
    """Without a delta that is not worth a word."""
    return Loss(loss.epsilon) if loss.delta < NEGLIGIBLE else loss


def of_level(level: LevelLoss) -> str:
    """What is proven at a level, and how that comes about."""
    if level.rate == 1:
        return f"{spoken(level.loss)} (contributions count {level.weight:.3g} times)"
    return f"{spoken(level.loss)} (each is in the sample with probability {level.rate:.3g})"


def sentences_of(level: LevelLoss, guarantee: Guarantee) -> list[str]:
    """What is promised at a level, in words."""
    whose = "Whoever chose this level is"
    if level.each_rating:
        whose = "Every rating for which this level was chosen is"
    elif guarantee.unit is not None and guarantee.unit.name == "rating":
        whose = "Every rating of a user who chose this level is"
    times = times_as_likely(level.loss.epsilon)
    plus = f", plus {level.loss.delta:.3g}" if spoken(level.loss).delta else ""
    return [
        f"Level {level.name}: {of_level(level)}.",
        f"{whose} protected at {spoken(level.loss)}: whatever anyone concludes from the release is at most {times} "
        f"times as likely as it would be otherwise{plus}.",
    ]


@dataclass(frozen=True)
class Promise:
    """What is promised about one rating."""

    item: str
    title: str
    level: LevelLoss

    def __str__(self) -> str:
        return f"Your rating of {self.title} is protected at {spoken(self.level.loss)}."


@dataclass(frozen=True)
class PersonalPromise:
    """What a release promises to one person.

    Parameters
    ----------
    ratings
        About each rating, where the unit is a rating or levels were chosen for ratings; empty otherwise.
    together
        About all of them at once.
    unit
        Whose secret the guarantee is about.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> wishes = dc.populations.Groups().wishes()
    >>> release = dc.Bias().fit(dc.TrustedServer(ratings, dc.Ledger(0.4), wishes=wishes))
    >>> mine = dc.History.of(ratings.catalogue, {ratings.catalogue.titles[3]: 5})
    >>> promised_to(release.guarantee, mine, "moderate").ratings[0].level.loss.epsilon
    0.2
    """

    ratings: tuple[Promise, ...]
    together: Loss
    unit: Unit

    def sentences(self) -> list[str]:
        """In words, for the person whom it concerns."""
        lines = [str(promise) for promise in self.ratings]
        if self.unit.name == "user":
            times = times_as_likely(self.together.epsilon)
            plus = f", plus {self.together.delta:.3g}" if spoken(self.together).delta else ""
            otherwise = "without" if self.unit.neighbours == "add-or-remove" else "with quite others"
            return [
                *lines,
                f"All your ratings together are protected at {spoken(self.together)}: whatever anyone concludes from "
                f"the release is at most {times} times as likely with them as {otherwise}{plus}.",
            ]
        if not lines:
            return ["You have no ratings here: this release can say nothing about you."]
        return [*lines, f"All of them together are protected at {spoken(self.together)}."]


@checked
def promised_to(
    guarantee: Guarantee, history: History, wishes: Wish | Mapping[str, Wish] | None = None
) -> PersonalPromise:
    """What is promised to whoever has this history and had these wishes: one for all, or by item.

    A rating without a wish has the strictest level, as in the fit.
    """
    if guarantee.proven is None or guarantee.unit is None:
        raise InputError(f"this release promises nothing: {guarantee.reason}")
    unit, catalogue = guarantee.unit, history.catalogue
    by_item = {catalogue.find(name): wish for name, wish in wishes.items()} if isinstance(wishes, Mapping) else None
    each = bool(guarantee.levels) and guarantee.levels[0].each_rating
    if by_item is not None:
        require(each, "this release has one privacy level for each user: name one, and not one for each rating")

    def level_for(item: int) -> LevelLoss:
        if not guarantee.levels:
            assert guarantee.proven is not None
            return LevelLoss("", 1.0, guarantee.proven)
        wish = by_item.get(item) if by_item is not None else wishes
        assert not isinstance(wish, Mapping)
        return level_of(guarantee, wish)

    about = unit.name == "rating" or each
    promises = tuple(
        Promise(catalogue.items[int(item)], str(catalogue.titles[item]), level_for(int(item)))
        for item in (history.items if about else ())
    )
    if unit.name == "rating":
        return PersonalPromise(promises, _together([promise.level.loss for promise in promises]), unit)
    whole = guarantee.proven if each or not guarantee.levels else level_for(-1).loss
    return PersonalPromise(promises, whole, unit)


def _together(losses: Sequence[Loss]) -> Loss:
    """Several units at once, each with its own loss, one after the other: epsilons add up, and δ grows on the way."""
    epsilon, delta = 0.0, 0.0
    for loss in losses:
        delta += math.exp(min(epsilon, 700.0)) * loss.delta
        epsilon += loss.epsilon
    return Loss(epsilon, min(delta, 1 - 2.0**-53))
