"""Which model ``discreet fit`` fits: the one that was named, or what suits the data."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.audience import Audience
from discreet.cli.settings import split_name
from discreet.errors import InputError, require

if TYPE_CHECKING:
    from discreet.data.ratings import Ratings
    from discreet.populations.terms import Terms

AUTO = "auto"


def model_name(words: Sequence[str], option: str | None, data: str) -> str:
    """The model that was named, before DATA or by ``--model``; auto where none was.

    >>> model_name(["bias"], None, "ml-100k"), model_name([], "bias", "ml-100k"), model_name([], None, "ml-100k")
    ('bias', 'bias', 'auto')
    """
    require(len(words) <= 1, f"fit takes one model, got {' '.join(words)}: write `discreet fit MODEL DATA -o DIR`")
    if words and option is not None:
        raise InputError(f"the model is named twice, {words[0]} and --model {option}: name it once")
    named = words[0] if words else option
    if named is None:
        from discreet.names import every_kind

        # With a single word that is what the parser takes for DATA, whichever it was meant to be.
        alone = split_name(data)[0] in {*every_kind(), AUTO} and not Path(data).exists()
        require(not alone, f"DATA is missing: write `discreet fit {data} DATA -o DIR`")
    return AUTO if named is None else named


def choose_for(ratings: "Ratings", audience: Audience, terms: "Terms") -> tuple[Any, str]:
    """What the rule chooses for these data; of the ratings only their public catalogue is looked at."""
    from discreet.data.features import item_features
    from discreet.fitting.choosing import choose

    catalogue = ratings.catalogue
    return choose(audience.users, len(catalogue), terms, features=item_features(catalogue).shape[1] > 0)


def name_of(model: Any) -> str:
    """What the command line calls a model."""
    from discreet.names import every_kind

    return next(name for name, kind in every_kind().items() if type(model) is kind)
