"""A server that is trusted with the ratings, and publishes noisy sums of them."""

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


class TrustedServer:
    """Sums over everyone with noise added once.

    Parameters
    ----------
    ratings
        What the server holds.
    ledger
        What may be spent, and where every sum is booked before it is computed.
    noise
        ``laplace`` or ``gaussian``; by default Laplace for the unit rating and Gaussian for the unit user.
    randomness
        Where noise comes from. A seeded one is for tests and experiments: the guarantee is then none.
    tuning
        Whether the settings of the model were chosen by looking at these ratings; see :class:`Guarantee`.
    key
        Secret with which a user's ratings are chosen where the unit has ``max_ratings``; drawn if not given. The same
        key chooses the same ratings again.
    share
        How much of the ledger's limit the sums may take, where something else is paid from it too.

    **Guarantee.** Each sum is the total of a contribution, rounded to a public lattice, plus noise whose scale is
    fitted to the bound that the contribution itself proves, rounding included. What a model makes of the
    sums is post-processing, so the release costs what the ledger says, and no more.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.Bias().fit(dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0)))
    >>> release.guarantee.proven.epsilon <= 1.0
    True
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
        check_ratings_of_population("TrustedServer", ratings)
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
        """What the ledger proves, to everyone but the server."""
        return Guarantee.of_ledger(
            self.ledger,
            protects_from=("the public", "other users"),
            exposed_to=("the recommender, who holds the ratings",),
            tuning=self.tuning,
            seeded=self._randomness.is_seeded,
        )

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The noisy total; booked before it is computed."""
        plan = self.plan(contribution, share)
        self.ledger.charge(plan.spend)
        return plan.add_noise(exact_total(contribution, self._ratings), self._randomness)

    def deviation(self, contribution: Contribution, share: float = 1.0) -> float:
        """Standard deviation of the noise on each cell."""
        return self.plan(contribution, share).deviation

    def plan(self, contribution: Contribution, share: float = 1.0) -> Plan:
        """The noise that :meth:`sum` would add, and what it would cost. Public: no rating is looked at."""
        return plan_noise(contribution, share * self._share, self.ledger, self._noise)
