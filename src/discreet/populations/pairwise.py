"""One server and no third party: masks between every two users, and noise in shares."""

import math
from dataclasses import replace
from typing import Any

from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require
from discreet.populations.calibration import CalibratedNoise
from discreet.populations.contribution import Contribution
from discreet.populations.held import held_by
from discreet.populations.population import InParts
from discreet.populations.secure_sums import AS_ZEROS, MINIMUM_GROUP, SecureSums, SummedNoise
from discreet.populations.steps import Question
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Ledger
from discreet.privacy.noise_shares import gaussian_share_distance
from discreet.protocol.noise import draw_noise
from discreet.protocol.pairwise import Group
from discreet.protocol.pairwise_messages import MOST_USERS
from discreet.types import Doubles


class PairwiseMasks(SecureSums):
    """Users mask what they send for each other; the recommender learns the sum, with noise that users drew in shares.

    Here all users run in one process, for experiments, and nothing is masked; the messages are in
    :mod:`discreet.protocol.pairwise`, and the tests compare both. A group has at most 8,192 users, since every user
    exchanges secrets with every other: about 200 bytes for each, beside the masked value.

    Parameters
    ----------
    ratings
        Of all users.
    ledger
        What each user may lose to the recommender. It needs a delta: shares are of Gaussian noise.
    honest
        What part of the users is taken not to collude with the recommender, and to add their noise. The fewer, the
        more noise each has to add, and the fewer may vanish.
    minimum_group
        Over how many users sums are taken at least.
    randomness, tuning, key, share, account, budget, place, level_fact, engine, wishes
        As for :class:`TrustedServer`.

    **Guarantee.** The register has these n users, of whom at most c = n − ⌈honest·n⌉ collude. At least
    t = ⌊(n + c)/2⌋ + 1 are left when there is a sum, so m = t − c honest ones. Each adds a share of variance σ²/m, so
    that what the recommender and its c friends cannot take away has variance at least σ², for which the ledger books
    the sum; how far sums of shares are from Gaussian noise is in ``slack`` (:mod:`discreet.privacy.noise_shares`). Why
    only the whole sum can be unmasked is proven in :mod:`discreet.protocol.pairwise`. ∎ Shares of Gaussian noise are
    used rather than of Skellam noise: with words of 64 bits a share has a deviation of 2^20 steps and more, at which
    both are the same to 2^-40, and what is proven of Gaussian noise is exact and composes in the ledger. The price
    against a trusted server is n/m times the variance where nobody vanishes: 2.2 for honest = .9, and 4 for .5.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=30, ratings=2400, seed=1)
    >>> users = dc.populations.PairwiseMasks(ratings, dc.Ledger(1.0, 1e-6, dc.User()), honest=0.9)
    >>> dc.Popularity().fit(users).guarantee.protects_from
    ('the public', 'other users', 'the recommender with up to 10% of the users')
    """

    def __init__(
        self,
        ratings: Ratings | RatingsInParts,
        ledger: Ledger,
        *,
        honest: float = 0.5,
        minimum_group: int = MINIMUM_GROUP,
        **settings: Any,
    ) -> None:
        if ledger.delta == 0:
            raise InputError("shares are of Gaussian noise, which needs a delta above 0, for example 1e-6")
        require("noise" not in settings, "shares are of Gaussian noise: leave out noise=")
        self._set_protocol(bits=64, minimum_group=minimum_group, most_users=MOST_USERS)
        super().__init__(ratings, ledger, noise="gaussian", **settings)
        self._check_group()
        self.group = Group(held_by(self).n_users, honest)

    def calibrate(self, question: Question, share: float = 1.0) -> CalibratedNoise:
        """The noise that the honest users who are left add together, at the least, and what it costs. Public."""
        noise = super().calibrate(question, share)
        cells = math.prod(question.shape)
        slack = gaussian_share_distance(noise.spend.scale / noise.grid, self.group.users, cells)
        found = SummedNoise(replace(noise.spend, slack=slack), noise.grid, self.group.users / self.group.noisy)
        self._points(found).check_noise(found.deviation)  # few honest users make for much noise of all together
        return found

    def _odds_of(self, cells: int) -> float:
        """That the noise on so many cells is off: on the grids there are its deviation is 2**28 steps at the least."""
        return gaussian_share_distance(2.0**28, self.group.users, cells)

    @property
    def guarantee(self) -> Guarantee:
        """What the ledger proves against the recommender and the users who may collude with it."""
        friends = f"the recommender with up to {1 - self.group.honest:.0%} of the users"
        return self._of_ledger(
            ("the public", "other users", friends),
            ("the recommender with more users than that", "whoever ran the devices in one process"),
            (
                AS_ZEROS,
                f"At least {self.group.honest:.0%} of the users are taken to be honest, and to add noise.",
            ),
        )

    @property
    def public(self) -> tuple[str, ...]:
        """Users see who else is there: keys are signed by somebody in the register."""
        return ("which devices take part, to each other", *super().public)

    def _published(self, contribution: Contribution, ratings: InParts | None, noise: CalibratedNoise) -> Doubles:
        points = self._points(noise)
        whole = self._whole(contribution, ratings, points)
        # The sum of all users' shares, drawn at once: the same law, within the slack that is booked.
        everyones = replace(noise.spend, scale=noise.deviation)
        drawn = draw_noise(everyones, noise.grid, whole.size, self._randomness)
        return points.decode(points.words(whole.ravel() + drawn)).reshape(contribution.shape)
