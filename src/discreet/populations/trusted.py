"""A server that is trusted with the ratings, and publishes noisy sums of them."""

from typing import Any

from discreet.collect.promise import IN_PROCESS
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.doors import checked, checked_methods
from discreet.populations.contribution import Contribution
from discreet.populations.device import has_gpu, noisy_on_device
from discreet.populations.guarded import check_users
from discreet.populations.held import held_by
from discreet.populations.mechanism import Drawn, Mechanism, check_on_nobody, draw_guarded
from discreet.populations.paying import Paying
from discreet.populations.some import sampled_users, some_users
from discreet.populations.steps import Steps, StepSums
from discreet.privacy.guarantee import Guarantee
from discreet.types import Doubles


@checked
@checked_methods
class TrustedServer(Paying):
    """Sums over everyone with noise added once.

    Parameters
    ----------
    ratings
        What the server holds, in memory or, as :class:`~discreet.data.RatingsInParts`, in files.
    ledger
        What may be spent, and where every sum is booked before it is computed.
    noise
        ``laplace`` or ``gaussian``; by default Laplace for the unit rating and Gaussian for the unit user.
    randomness
        Where noise comes from. A seeded one is for tests and experiments: the guarantee is then none.
    tuning
        On what the settings of the model were chosen, for example ``"ml-1m"``, or ``"nothing"`` where that was before
        anyone looked; ``"paid"`` or ``"unpaid"`` where it was these ratings. The defaults need no word: see
        :mod:`discreet.releases.tuning`.
    key
        Secret with which a user's ratings are chosen, where the unit has ``max_ratings`` or a model takes some of
        them; drawn if not given. The same key chooses the same ratings again.
    share
        How much of the ledger's limit the sums may take, where something else is paid from it too.
    account, budget, place
        Which account of a :class:`Budget` pays, by name: every sum is booked there before it is computed. By default
        nothing is booked, and the guarantee says so; without a budget it is the one that the command line uses.
        ``place`` says where the ratings were read from; it is kept with the account.
    level_fact
        Which of the ratings' facts about users says what privacy level each of them chose, where the ledger offers
        several.
    engine
        What computes the sums: ``numba``, or ``torch``, on a GPU where there is one. The sums are the same.
    wishes
        What privacy every user, or every rating, is to have: see :class:`~discreet.Wishes`.

    **Guarantee.** Each sum is the total of a contribution, rounded to a public lattice, plus noise whose scale is
    fitted to the bound that the contribution itself proves, rounding included. What a model makes of the
    sums is post-processing, so the release costs what the ledger says, and no more. Neighbours differ in *these*
    ratings: if they are one part of a random split, the guarantee is about that part, and says so. Where repeats were
    merged, they differ in one event (:func:`~discreet.populations.bounded.moved_by_unit`).

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.Bias().fit(dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0)))
    >>> release.guarantee.proven.epsilon <= 1.0
    True
    """

    @property
    def guarantee(self) -> Guarantee:
        """What the ledger proves, to everyone but the server."""
        ratings = held_by(self)
        form = ratings.perturbed if isinstance(ratings, Ratings) else None
        what = "ratings" if form is None else f"reports of ratings that were perturbed by {form}"
        simulated = (IN_PROCESS,) if form is not None and form.in_process else ()
        return self._of_ledger(("the public", "other users"), (f"the recommender, who holds the {what}", *simulated))

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The noisy total; booked before it is computed."""
        return self._noisy(contribution, held_by(self), self._charged(contribution, share))

    def steps(self, steps: Steps, share: float = 1.0) -> StepSums:
        """Noisy totals over secret samples of the users; all of them are booked before the first is computed."""
        noise = self._charged_steps(steps, share)

        def answer(contribution: Contribution) -> Doubles:
            self._check_step(contribution)
            sample = sampled_users(held_by(self), steps.sampling_rate, self._randomness)
            return self._noisy(contribution, some_users(held_by(self), sample), noise)

        def answer_on_device(contribution: Contribution) -> Any:
            ratings = held_by(self)
            check_users(contribution, ratings)
            sample = sampled_users(ratings, steps.sampling_rate, self._randomness)
            return noisy_on_device(contribution, some_users(ratings, sample), noise, self._randomness)

        stays = isinstance(held_by(self), Ratings) and self.unit.name == "user" and not self.ledger.levels
        return StepSums(steps, noise.deviation, answer, answer_on_device if stays and has_gpu() else None)

    def run(self, mechanism: Mechanism, share: float = 1.0) -> Drawn:
        """What the mechanism draws; booked before it looks at a rating."""
        spend, ratings = self.price(mechanism, share), held_by(self)
        check_on_nobody(mechanism, self.catalogue, spend)
        if isinstance(ratings, RatingsInParts):
            ratings.check_unchanged()
        self._pay(spend, *mechanism.shapes.values())
        return draw_guarded(mechanism, ratings, spend, self._randomness)
