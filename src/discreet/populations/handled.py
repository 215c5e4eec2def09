"""What a guarantee has to say about how the ratings were handled before, and about its unit."""

from discreet.data.handling import Handling
from discreet.privacy.unit import Unit


def notes_on(handling: Handling, unit: Unit) -> tuple[str, ...]:
    """Sentences without which the promise would be misread.

    >>> from discreet.privacy.unit import Rating
    >>> notes_on(Handling(merged="last"), Rating())
    ('A rating means an event: several ratings of one item by one user were merged (last), and noise is made for one \
event more or less.',)
    """
    found = []
    if handling.merged == "once" and unit.name == "rating":
        found.append(
            "A rating means that a user used an item: how often is not looked at, and one use more or less is hidden."
        )
    elif handling.merged is not None and unit.name == "rating":
        found.append(
            f"A rating means an event: several ratings of one item by one user were merged ({handling.merged}), and "
            "noise is made for one event more or less."
        )
    if handling.by_time:
        found.append(
            "This is about one part of a split by time, not about all ratings: one more rating would move where they "
            "are divided."
        )
    elif handling.split:
        found.append(
            "This is about one part of a random split, not about all ratings: one more rating would change the whole "
            "split."
        )
    elif handling.selected:
        found.append(
            "These ratings were chosen among others before, so the promise is about them alone: chosen by how much was "
            "rated, one rating less could take away a whole user."
        )
    if handling.perturbed:
        found.append(
            "A table says that users perturbed these ratings at home: the promise is about what they reported, and "
            "what their reports promise themselves is not known."
        )
    if handling.unmarked:
        found.append(
            "Nothing says what was done to these ratings before (a split, say, or a merge), as they came in a frame "
            "without marks, in arrays or as histories: the promise is about them as they came."
        )
    if handling.nameless and unit.name == "user":
        found.append("Users came without names: whoever is in the data twice counts as two users.")
    if handling.prior is not None:
        found.append(handling.prior)
    return tuple(found)


def doubts_on(handling: Handling, unit: Unit) -> tuple[str, ...]:
    """Why nothing could be proven of ratings that were handled so: see :mod:`discreet.data.construction`.

    >>> from discreet.privacy.unit import Rating, User
    >>> bounded = Handling().bounded_by(5, 100)
    >>> len(doubts_on(bounded, User())), len(doubts_on(bounded, Rating()))
    (0, 1)
    """
    found = []
    if handling.popular_items:
        found.append("items were left out by how many users rated them, so one user can bring back ratings of others")
    if unit.name == "rating" and (handling.least is not None or handling.most is not None):
        found.append(
            "the ratings of each user were bounded, so one rating more or less can change others of that user: take "
            "the unit user, for which bounds are free"
        )
    return tuple(found)


def not_hidden(unit: Unit) -> tuple[str, ...]:
    """What a unit leaves unprotected.

    >>> from discreet.privacy.unit import Rating
    >>> not_hidden(Rating("replace"))
    ('which items a user rated',)
    """
    return ("which items a user rated",) if unit.name == "rating" and unit.neighbours == "replace" else ()
