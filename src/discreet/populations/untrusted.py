"""Two servers that see only sums: ratings never leave the users' devices."""

from dataclasses import replace
from typing import Any

from discreet.collect.promise import IN_PROCESS
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.populations.calibration import CalibratedNoise
from discreet.populations.contribution import Contribution
from discreet.populations.held import held_by
from discreet.populations.population import InParts
from discreet.populations.secure_sums import AS_ZEROS, MINIMUM_GROUP, MOST_USERS, SecureSums
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Ledger
from discreet.protocol.noise import check_sum, draw_noise
from discreet.types import Doubles

BOTH = "both servers together can take every mask away, and see what each user sent"
SECOND_NOISE = "Either server's noise alone gives this; both are added, so that sums have twice the variance."


class UntrustedServer(SecureSums):
    """Devices mask what they send; a recommender and a third party add it up, each with noise of its own.

    Here all parties run in one process, for experiments. Masks cancel exactly, so nothing is masked: the sums are, bit
    by bit, those that the messages of :mod:`discreet.protocol` give (the tests compare both).

    Parameters
    ----------
    ratings
        Of all devices; each one computes with its own rows only.
    ledger
        What each user may lose to either of the servers.
    bits
        Of the words that users send: 64, or 32 for half the bytes. With 32 bits steps are larger and rounding asks for
        a little more noise: 1 % for 100,000 users and 90,000 cells, nothing to speak of for 1,000.
    minimum_group
        Over how many users sums are taken at least.
    most_users
        How many users can take part. Public; words have room for their sum.
    noise, randomness, tuning, key, share, account, budget, place, level_fact, engine, wishes
        As for :class:`TrustedServer`.

    **Guarantee.** User i sends z_i, their part of the statistic rounded to whole steps and clipped to a public cap,
    plus a mask that only the third party can compute. Neighbours differ in one user's z_i, by at most the sensitivity
    that is booked: rounding moves each cell by at most half a step, and clipping moves no two values further apart.

    - *The recommender* sees masked values, which are uniform words without the seeds (ChaCha20), and Σz + noise of the
      third party. That noise is fitted to the sensitivity: the ledger's (ε, δ). Users who collude with it know their
      own z and take nothing away from the noise.
    - *The third party* sees seeds, which do not depend on ratings, and the published sums less its own noise: Σz + the
      noise of the recommender. The same (ε, δ), with any number of users.
    - *The public and other users* see Σz + both noises. With Gaussian noise the variance is twice as large, and ε is
      smaller (:meth:`guarantees`).
    - *Both servers together* can unmask everyone: no guarantee.

    Both servers are taken to follow the protocol, each drawing its noise; a third party that does not add noise exposes
    users to the recommender, and the other way round. What a later question depends on are answers given before, so
    rounds compose as looks of a trusted server do. ∎ That a device takes part is seen by both servers: what is hidden
    from them with the unit user is what it sent, compared with a device that sends zeros.

    *Dishonest devices* can change sums, and learn nothing of honest users. A sum that no honest devices can have sent
    is paid for and not released: :class:`~discreet.errors.DishonestDeviceError`. Only the noisy sum and public numbers,
    that of devices among them, are looked at, so this is post-processing, and with honest devices alone it happens once
    in a billion sums: :func:`discreet.protocol.noise.check_sum`.

    In *steps* every device decides by its own secret coin whether it is in the sample, and sends masked zeros if it is
    not. Nobody else learns who was, so sampling hides as much from the servers as from everyone.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=30, ratings=2400, seed=1)
    >>> server = dc.populations.UntrustedServer(ratings, dc.Ledger(1.0, 1e-6, dc.User()))
    >>> release = dc.Popularity().fit(server)
    >>> release.guarantee.protects_from
    ('the public', 'other users', 'the recommender', 'the third party')
    >>> round(server.guarantees()["the public"].proven.epsilon, 2)
    0.69
    """

    def __init__(
        self,
        ratings: Ratings | RatingsInParts,
        ledger: Ledger,
        *,
        bits: int = 64,
        minimum_group: int = MINIMUM_GROUP,
        most_users: int = MOST_USERS,
        **settings: Any,
    ) -> None:
        self._set_protocol(bits=bits, minimum_group=minimum_group, most_users=most_users)
        super().__init__(ratings, ledger, **settings)

    @property
    def guarantee(self) -> Guarantee:
        """What the ledger proves against each of the servers, and so against everyone else."""
        return self._of_ledger(
            ("the public", "other users", "the recommender", "the third party"), self._exposed, (AS_ZEROS, SECOND_NOISE)
        )

    @property
    def _exposed(self) -> tuple[str, ...]:
        return ("both servers if they put together what they saw", IN_PROCESS)

    def guarantees(self) -> dict[str, Guarantee]:
        """What is proven against each party, and against those who put together what they know."""
        whole = self.guarantee
        loss = whole.proven and self._public_loss()
        outside = whole if loss is None else replace(whole, proven=loss, levels=())
        outside = replace(outside, protects_from=("the public", "other users"), exposed_to=())
        found = {"the public": outside, "other users": outside}
        for server in ("the recommender", "the third party"):
            found[server] = replace(whole, protects_from=(server,), exposed_to=())
            found[f"{server} with any number of users"] = found[server]
        return found | {"both servers": Guarantee.none(BOTH)}

    def _published(self, contribution: Contribution, ratings: InParts | None, noise: CalibratedNoise) -> Doubles:
        points = self._points(noise)
        words = points.words(self._whole(contribution, ratings, points).ravel())
        for sign in (-1, 1)[-self._parties :]:  # the third party's noise is subtracted with the masks
            drawn = draw_noise(noise.spend, noise.grid, words.size, self._randomness)
            words = words + points.words(sign * drawn)
        check_sum(
            contribution.name,
            points.signed(words),
            noise.spend,
            noise.grid,
            users=held_by(self).n_users,  # whoever is not in a sample sends zeros
            largest=self._honest(contribution),
            signed=contribution.signed,
        )
        return points.decode(words).reshape(contribution.shape)
