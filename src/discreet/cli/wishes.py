"""Options that say what privacy users wish for."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.cli.grouping import option
from discreet.errors import InputError, require

if TYPE_CHECKING:
    from discreet.cli.options import DataOptions
    from discreet.populations.terms import Terms
    from discreet.populations.wishes import Wishes
    from discreet.types import Progress

SURVEY = "survey"


@dataclass(frozen=True)
class WishOptions:
    """Whose privacy is to be how strong, where users may choose."""

    epsilon_column: str | None = option(
        metavar="NAME", help="Column of the table with the epsilon, or privacy level, that users wish for."
    )
    wishes: str | None = option(
        metavar="FILE", help="A table with the columns user, perhaps item, and epsilon; or survey, for made-up wishes."
    )
    levels: str | None = option(
        metavar="E,…", help="The levels on offer, as .1,.2,1 or strict=.1,normal=1. They are public."
    )

    def check(self, terms: "Terms") -> None:
        """Raise for what does not fit together, before any work."""
        named = self.epsilon_column is not None or self.wishes is not None
        require(
            self.epsilon_column is None or self.wishes is None,
            "--epsilon-column and --wishes both say who wishes for what: give one of them",
        )
        require(named or self.levels is None, "--levels goes with --epsilon-column or --wishes: say who chose which")
        require(
            not named or terms.epsilon is not None,
            "wishes need --epsilon too: what whoever takes part in full pays, at most the highest level on offer",
        )
        require(
            not named or terms.noise_seed is None,
            "wishes are for what is private, and --noise-seed gives no privacy: leave one of them out",
        )

    def read(self, source: "DataOptions", terms: "Terms", progress: "Progress") -> "Wishes | None":
        """The wishes that the options name; None where there are none."""
        from discreet.populations.groups import Groups
        from discreet.populations.wishes import LADDER, Wishes

        levels = LADDER if self.levels is None else parse_levels(self.levels)
        columns: dict[str, Any] = {"user": source.user_column or "user", "item": source.item_column or "item"}
        if self.epsilon_column is not None:
            return Wishes.read(
                source.data, self.epsilon_column, of=terms.unit_name, levels=levels, progress=progress, **columns
            )
        if self.wishes == SURVEY:
            require(self.levels is None, "--wishes survey has levels of its own: leave out --levels")
            return Groups(of=terms.unit_name).wishes()
        if self.wishes is not None:
            return Wishes.read(self.wishes, levels=levels, progress=progress, **columns)
        return None


def parse_levels(text: str) -> dict[str, float]:
    """Levels from text.

    >>> parse_levels("strict=.1,1")
    {'strict': 0.1, '1': 1.0}
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        try:
            epsilon = float(number)
        except ValueError:
            raise InputError(f"--levels must be numbers, as .1,.2,1 or strict=.1,normal=1, got {text!r}") from None
        name = name.strip() or f"{epsilon:g}"
        require(name not in found, f"--levels names {name!r} twice")
        found[name] = epsilon
    return found
