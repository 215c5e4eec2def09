"""On what terms ratings may be used: how much privacy, for whom, and who is trusted. What the command line asks."""

from dataclasses import dataclass
from typing import Any, Literal

from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.doors import checked, checked_methods
from discreet.errors import require
from discreet.populations.engine import Engine, check_engine
from discreet.populations.local import LocalDevices
from discreet.populations.population import NoPrivacy, Population
from discreet.populations.trusted import TrustedServer
from discreet.populations.untrusted import UntrustedServer
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.privacy.unit import Rating, Unit, UnitName, User

DELTA_FOR_USERS = 1e-6
Trust = Literal["server", "devices", "two-servers"]
TRUST: tuple[Trust, ...] = ("server", "devices", "two-servers")


@checked
@checked_methods
@dataclass(frozen=True, kw_only=True)
class Terms:
    """How much privacy a fit must give, and to whom.

    Parameters
    ----------
    epsilon
        The limit; None for no privacy at all.
    delta
        None for 0 with the unit rating, and 1e-6 with the unit user.
    unit
        ``rating`` (the default) or ``user``: whose secret is kept. ``value`` keeps the value of a rating alone, and
        not which items were rated.
    trust
        ``server`` (the default): one server holds the ratings and adds noise. ``devices``: every device adds its own.
        ``two-servers``: devices mask what they send, and two servers that do not collude see only noisy sums.
    noise_seed
        Makes the noise repeatable, for experiments; the guarantee is then none.
    engine
        What computes the sums: ``numba`` (the default), or ``torch``, on a GPU where there is one.

    Examples
    --------
    >>> Terms(epsilon=1.0, unit="user").ledger()
    Ledger(epsilon=1, delta=1e-06, unit=all ratings of one user, present or absent, 0 spends)
    """

    epsilon: float | None = None
    delta: float | None = None
    unit: Literal["rating", "user", "value"] | None = None
    trust: Trust | None = None
    noise_seed: int | None = None
    engine: Engine = "numba"

    def __post_init__(self) -> None:
        known = self.unit in (None, "rating", "user", "value")
        require(known, f"unit must be 'rating', 'user' or 'value', got {self.unit!r}")
        known = self.trust in (None, *TRUST)
        require(known, f"trust must be 'server', 'devices' or 'two-servers', got {self.trust!r}")
        check_engine(self.engine)
        if self.epsilon is not None:
            self.ledger()  # checks epsilon and delta
            return
        # Whoever says how, and not how much, would get no privacy at all without noticing.
        for name in ("delta", "unit", "trust", "noise_seed"):
            said = getattr(self, name) is not None
            require(not said, f"{name} says nothing without epsilon: give both, or neither for no privacy")

    @property
    def unit_name(self) -> UnitName:
        """Whose secret is kept, the default put in."""
        return "user" if self.unit == "user" else "rating"

    @property
    def trusted(self) -> Trust:
        """Who is trusted, the default put in."""
        return self.trust or "server"

    def ledger(self) -> Ledger:
        """A fresh ledger with this limit."""
        require(self.epsilon is not None, "without epsilon there is no privacy, and nothing to keep a ledger of")
        assert self.epsilon is not None
        unit: Unit = Rating("replace" if self.unit == "value" else "add-or-remove")
        if self.unit == "user":  # a device cannot hide that it takes part, only what it holds
            unit = User(neighbours="replace" if self.trust == "devices" else "add-or-remove")
        default = DELTA_FOR_USERS if self.unit == "user" else 0.0
        return Ledger(self.epsilon, default if self.delta is None else self.delta, unit)

    @property
    def kind(self) -> type[LocalDevices] | type[TrustedServer] | type[UntrustedServer]:
        """Who is asked."""
        return {"server": TrustedServer, "devices": LocalDevices, "two-servers": UntrustedServer}[self.trusted]

    def population(self, ratings: Ratings | RatingsInParts, **settings: Any) -> Population:
        """Someone to ask, with a fresh ledger; ``settings`` are those of a private population, such as ``account``."""
        if self.epsilon is None:
            return NoPrivacy(ratings, engine=self.engine)
        randomness = Randomness(self.noise_seed)
        return self.kind(ratings, self.ledger(), randomness=randomness, engine=self.engine, **settings)
