"""Devices that trust nobody: each adds its own noise before it sends anything."""

from typing import Any

import numpy as np

from discreet.collect.promise import IN_PROCESS
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.doors import checked, checked_methods
from discreet.errors import InputError, require
from discreet.populations.calibration import CalibratedNoise
from discreet.populations.contribution import Contribution
from discreet.populations.held import held_by
from discreet.populations.mechanism import Drawn, Mechanism
from discreet.populations.paying import Paying
from discreet.populations.steps import Question, Steps, StepSums
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Ledger
from discreet.types import Doubles


@checked
@checked_methods
class LocalDevices(Paying):
    """Every device perturbs its own total, and the recommender sees only what was sent.

    The noise of all devices adds up, so the same epsilon costs far more accuracy than a trusted server
    would: the deviation of a sum grows with the square root of the number of devices.

    Parameters
    ----------
    ratings
        Of all devices, which are run here in one process; each one computes with its own rows only.
    ledger
        What each device may spend; every device keeps the same one. Its unit is a rating, or what a user replaces:
        ``User(neighbours="replace")``.
    noise, randomness, tuning, key, share, account, budget, place, level_fact, wishes
        As for :class:`TrustedServer`.

    **Guarantee.** A device sends the total of a contribution over its own ratings, rounded to the lattice, plus
    noise. Nobody can tell it from a device with other data: with the unit user its whole history may be
    another, which moves the total by what the contribution proves about that, or else by twice its bound (once down to
    nothing, once up again); with the unit rating one rating is present or absent, which moves it by the bound. Whoever
    receives a message sees who sent it, so *that* a device takes part cannot be hidden, nor how many do. A device
    without ratings sends noise like any other. But a table names only users with a rating, so there that a device takes
    part says that it has one: list all users (:meth:`Ratings.with_users`), or the guarantee says that this is not
    hidden.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.Popularity().fit(dc.LocalDevices(ratings, dc.Ledger(epsilon=1.0)))
    >>> release.guarantee.public
    ('which devices take part',)
    """

    def __init__(self, ratings: Ratings | RatingsInParts, ledger: Ledger, **settings: Any) -> None:
        require(
            ledger.unit.name == "rating" or ledger.unit.neighbours == "replace",
            "devices cannot hide that they take part: keep a ledger for User(neighbours='replace')",
        )
        super().__init__(ratings, ledger, **settings)

    @property
    def guarantee(self) -> Guarantee:
        """What the ledger proves, to everyone but whoever ran all devices here."""
        return self._of_ledger(("the recommender", "the public", "other users"), (IN_PROCESS,))

    @property
    def public(self) -> tuple[str, ...]:
        """Who takes part; and, where only users with ratings are there, that each of them has one."""
        taking_part = "which devices take part"
        if self.unit.name == "rating" and not held_by(self).handling.users_listed:
            taking_part += ", and that each of them has at least one rating"
        return (taking_part, *super().public)

    _users_stay = True  # whoever receives messages sees who sent one

    @property
    def _users_may_leave(self) -> bool:
        """Which devices take part is public: one that has no rating left stays."""
        return False

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The sum of what the devices send; booked before it is computed."""
        return self._received(contribution, self._charged(contribution, share))

    def steps(self, steps: Steps, share: float = 1.0) -> StepSums:
        """In each step the sum of what all devices send; booked before the first.

        Whoever receives the messages sees who sent one, so a sample of the devices would be no secret and would hide
        nothing: ``sampling_rate`` must be 1. Then a device sends ``count`` messages, each with Gaussian noise for the
        bound: the squares of their μ add up, whatever was asked in each.
        """
        require(
            steps.sampling_rate == 1,
            f"{steps.name!r} samples users, and whoever receives messages sees which devices send them, so that hides "
            "nothing: ask devices with sampling_rate=1, or a TrustedServer",
        )
        noise = self._charged_steps(steps, share)

        def answer(contribution: Contribution) -> Doubles:
            self._check_step(contribution)
            return self._received(contribution, noise)

        return StepSums(steps, noise.deviation * float(np.sqrt(held_by(self).n_users)), answer)

    def run(self, mechanism: Mechanism, share: float = 1.0) -> Drawn:
        """Refused: a device has its own ratings only, and what a mechanism draws from these adds up to nothing."""
        raise InputError(
            f"{mechanism.name!r} needs the ratings of everybody in one place, and devices trust nobody with them: ask "
            "a TrustedServer, or ask devices for sums"
        )

    def _received(self, contribution: Contribution, noise: CalibratedNoise) -> Doubles:
        received = np.zeros(contribution.shape)
        for part in held_by(self).parts():
            for position in range(part.n_users):
                received += self._noisy(contribution, part.select_users(np.array([position])), noise)
        return received

    def deviation(self, question: Question, share: float = 1.0) -> float:
        """Standard deviation of all devices' noise together on each cell."""
        return self.calibrate(question, share).deviation * float(np.sqrt(held_by(self).n_users))
