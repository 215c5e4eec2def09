"""Devices that trust nobody: each adds its own noise before it sends anything."""

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.populations.bounded import capped
from discreet.populations.contribution import Contribution
from discreet.populations.plan import Noise, Plan, plan_noise
from discreet.populations.population import check_ratings_of_population, exact_total
from discreet.privacy.guarantee import Guarantee, Tuning
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Unit
from discreet.types import Doubles


class LocalDevices:
    """Every device perturbs its own total, and the recommender sees only what was sent.

    The noise of all devices adds up, so the same epsilon costs far more accuracy than a trusted server
    would: the deviation of a sum grows with the square root of the number of devices.

    Parameters
    ----------
    ratings
        Of all devices; each one computes with its own rows only.
    ledger
        What each device may spend. Every device keeps the same one.
    noise, randomness, tuning, key, share
        As for :class:`TrustedServer`.

    **Guarantee.** A device sends the total of a contribution over its own ratings, rounded to the lattice, plus
    noise. Nobody can tell it from a device with other data: with the unit user its whole history may be
    another, which moves the total by up to twice the bound (once down to nothing, once up again); with the unit
    rating one rating is present or absent, which moves it by the bound. That a device takes part is not hidden.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.Popularity().fit(dc.LocalDevices(ratings, dc.Ledger(epsilon=1.0)))
    >>> release.guarantee.exposed_to
    ()
    """

    def __init__(
        self,
        ratings: Ratings,
        ledger: Ledger,
        *,
        noise: Noise | None = None,
        randomness: Randomness | None = None,
        tuning: Tuning = "public",
        key: bytes | None = None,
        share: float = 1.0,
    ) -> None:
        check_ratings_of_population("LocalDevices", ratings)
        self.ledger = ledger
        self.tuning = tuning
        self._share = share
        self._noise = noise
        self._randomness = Randomness() if randomness is None else randomness
        self._ratings = capped(ratings, ledger.unit, self._randomness, key)

    @property
    def catalogue(self) -> Catalogue:
        """The public items."""
        return self._ratings.catalogue

    @property
    def unit(self) -> Unit:
        """Whose secret is kept."""
        return self.ledger.unit

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Every look at the ratings so far."""
        return self.ledger.spends

    @property
    def guarantee(self) -> Guarantee:
        """What the ledger proves, to everyone."""
        return Guarantee.of_ledger(
            self.ledger,
            protects_from=("the recommender", "the public", "other users"),
            tuning=self.tuning,
            seeded=self._randomness.is_seeded,
        )

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The sum of what the devices send; booked before it is computed."""
        plan = self.plan(contribution, share)
        self.ledger.charge(plan.spend)
        received = np.zeros(contribution.shape)
        for position in range(self._ratings.n_users):
            device = self._ratings.select_users(np.array([position]))
            received += plan.add_noise(exact_total(contribution, device), self._randomness)
        return received

    def deviation(self, contribution: Contribution, share: float = 1.0) -> float:
        """Standard deviation of all devices' noise together on each cell."""
        return self.plan(contribution, share).deviation * float(np.sqrt(self._ratings.n_users))

    def plan(self, contribution: Contribution, share: float = 1.0) -> Plan:
        """The noise that each device would add, and what it would cost. Public: no rating is looked at."""
        return plan_noise(contribution, share * self._share, self.ledger, self._noise, factor=self._factor)

    @property
    def _factor(self) -> float:
        """A device always sends something: where it could hold other data altogether, the bound counts twice."""
        add_or_remove_user = self.unit.name == "user" and self.unit.neighbours == "add-or-remove"
        return 2.0 if add_or_remove_user else 1.0
