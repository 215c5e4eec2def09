"""What populations whose servers see only sums have in common: noise, words and promises that fit together."""

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import InputError, require, require_whole
from discreet.populations.bounded import bound_for
from discreet.populations.calibration import FLOAT_MARGIN, CalibratedNoise
from discreet.populations.contribution import Contribution
from discreet.populations.engine import on_engine
from discreet.populations.guarded import nobody
from discreet.populations.held import held_by
from discreet.populations.mechanism import Drawn, Mechanism
from discreet.populations.paying import Paying
from discreet.populations.population import InParts, exact_total
from discreet.populations.some import sampled_users, some_users
from discreet.populations.steps import Question, Steps, StepSums
from discreet.populations.weighted import weighted_total
from discreet.privacy.guarantee import Loss
from discreet.privacy.noise import LARGEST_SCALE
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Norm
from discreet.protocol.encoding import HEADROOM, FixedPoint, Integers
from discreet.types import Doubles

MINIMUM_GROUP = 20
"""Over fewer users no sum is taken. Noise is what hides a user; this keeps mistakes small."""
MOST_USERS = 1 << 20
"""For so many users there is room in words of 64 bits, by default."""
LATTICE = 2.0**-30
"""What sums of models are multiples of (:mod:`discreet.privacy.lattice`): with steps no larger nothing is rounded."""

AS_ZEROS = "A server sees which devices send messages; to it a user is hidden as if the device had sent zeros."


@dataclass(frozen=True)
class SummedNoise(CalibratedNoise):
    """Noise of several parties: the ledger counts one of them, and a sum has that of all."""

    parties: int = 2

    @property
    def deviation(self) -> float:
        """Standard deviation of all noise together on each cell."""
        return super().deviation * math.sqrt(self.parties)


def step_for(noise: CalibratedNoise, largest: float, points: FixedPoint) -> float:
    """The step of an encoding for a statistic: small beside the noise, and large enough that nothing wraps around.

    A power of two, at least so large that the largest cell of a user is not clipped, that the noise of all parties fits
    into the part of a word that is left for it, and that it can be drawn. Words of 64 bits leave room for steps that
    are as small as the lattice of statistics, so that nothing is rounded at all; words of 32 bits for about
    2^30/most_users steps in the bound of a user.
    """
    least = max(
        largest / points.cap,
        10 * 2 * noise.spend.scale / (HEADROOM * 2 ** (points.bits - 1)),
        noise.spend.scale / LARGEST_SCALE,
    )
    least = float(2.0 ** math.ceil(math.log2(least)))
    return least if points.bits == 32 else max(least, min(noise.grid, LATTICE))


def with_step(noise: CalibratedNoise, step: float, parties: int) -> SummedNoise:
    """The same noise on another lattice: rounding at home adds to the sensitivity what the step asks for.

    A user's cells are rounded by at most half a step each, so neighbours lie at most √cells (L2) or cells (L1) steps
    further apart than their statistics: ``rounding`` is that for the old lattice, and grows with the step.
    """
    spend = noise.spend
    rounding = spend.rounding * (step / noise.grid)
    sensitivity = spend.sensitivity - spend.rounding + rounding
    scaled = replace(spend, sensitivity=sensitivity, scale=sensitivity * spend.noise_multiplier, rounding=rounding)
    return SummedNoise(scaled, step, parties)


class SecureSums(Paying):
    """Populations whose members send masked values: sums are all that anyone sees of them."""

    _parties = 2
    """How many independent draws of the booked noise are in a sum."""
    bits = 64
    minimum_group = MINIMUM_GROUP
    most_users = MOST_USERS

    def _set_protocol(self, *, bits: int, minimum_group: int, most_users: int) -> None:
        require_whole("minimum_group", minimum_group, least=2)
        require_whole("most_users", most_users, least=minimum_group)
        self.bits, self.minimum_group, self.most_users = bits, minimum_group, most_users
        FixedPoint(step=1.0, most_users=most_users, bits=bits)  # checks them

    def calibrate(self, question: Question, share: float = 1.0) -> CalibratedNoise:
        """The noise that each server adds to a sum, or to each of several steps, and what it costs. Public."""
        noise = super().calibrate(question, share)
        points = FixedPoint(step=1.0, most_users=self.most_users, bits=self.bits)
        step = step_for(noise, self._largest(question), points)
        if step > noise.grid:  # then rounding asks for more noise, and that for a larger step once more
            step = step_for(with_step(noise, step, 1), self._largest(question), points)
        if with_step(noise, step, 1).spend.rounding > noise.spend.sensitivity:
            raise InputError(
                f"{question.name!r} does not fit into words of {self.bits} bits for {self.most_users:,} users: "
                "rounding would move it further than a user; give bits=64, or a smaller most_users"
            )
        return with_step(noise, step, self._parties)

    def _largest(self, question: Question) -> float:
        """The largest cell of one user: as declared, or what is proven of a user, or of all ratings they can give."""
        if isinstance(question, Contribution) and question.largest is not None:
            return question.largest
        asked = question if isinstance(question, Contribution) else question.contribution(lambda part: part.values)
        norm: Norm = "l1" if asked.bounds and all(bound.norm == "l1" for bound in asked.bounds) else "l2"
        bound = bound_for(asked, self.unit, norm).value  # either norm is at least the largest cell
        if self.unit.name == "user":
            return bound
        unrated = 0.0 if asked is not question else float(np.abs(exact_total(asked, nobody(self.catalogue))).max())
        return unrated + bound * len(self.catalogue)

    def _honest(self, contribution: Contribution) -> float:
        """What an honest device sends in a cell at most, before rounding. Public."""
        return self._largest(contribution) * (1 + FLOAT_MARGIN)

    def _own(self, contribution: Contribution, ratings: Ratings) -> Doubles:
        """The statistic of one user, as their own device bounds it.

        A bound for users holds by construction; a device that finds it does not scales its statistic down to it.
        """
        levels = self.ledger.levels if self.ledger.weighted else ()
        value = weighted_total(contribution, ratings, levels, self._level_fact)
        for bound in contribution.bounds if self.unit.name == "user" else ():
            if bound.unit == "user":
                length = float(np.abs(value).sum() if bound.norm == "l1" else np.linalg.norm(value))
                if length > bound.value * (1 + FLOAT_MARGIN):
                    value = value * (bound.value / length)
        return value

    def _points(self, noise: CalibratedNoise) -> FixedPoint:
        return FixedPoint(step=noise.grid, most_users=self.most_users, bits=self.bits)

    def run(self, mechanism: Mechanism, share: float = 1.0) -> Drawn:
        """Refused: nobody holds the ratings of everybody."""
        raise InputError(
            f"{mechanism.name!r} needs the ratings of everybody in one place, and nobody is trusted with them: ask a "
            "TrustedServer, or ask for sums"
        )

    _users_stay = True  # whoever receives messages sees who sent one

    @property
    def public(self) -> tuple[str, ...]:
        """Who takes part, as far as the servers go; how many do decides whether a sum is released, for all to see."""
        return ("which devices take part, to the servers", "how many devices take part", *super().public)

    def _check_group(self) -> None:
        users = held_by(self).n_users
        require(
            self.minimum_group <= users <= self.most_users,
            f"a sum is over {self.minimum_group:,} to {self.most_users:,} users: give another minimum_group or "
            "most_users",
        )

    def _public_loss(self) -> Loss | None:
        """What is proven against whoever sees only published sums: they have the noise of all parties in them.

        For Gaussian noise alone: its variance is ``_parties`` times as large, so every μ is √parties times smaller.
        Without a plan, μ² adds up to at most that of the limit, by the filter, and so does a fraction of it. For
        Laplace noise two draws are not known to be better than one.
        """
        from discreet.privacy.composition import SET_ASIDE, composed_epsilon
        from discreet.privacy.gaussian import epsilon_of_mu, mu_of

        ledger = self.ledger
        looks = ledger.spends if ledger.planned is None else ledger.planned
        if not looks or any(spend.mechanism != "gaussian" or spend.sampling_rate < 1 for spend in looks):
            return None
        if ledger.planned is not None:
            return Loss(composed_epsilon([self._with_all_noise(spend) for spend in looks], ledger.delta), ledger.delta)
        usable = ledger.delta * (1 - SET_ASIDE)
        mu = mu_of(ledger.epsilon, usable) / math.sqrt(self._parties)
        return Loss(epsilon_of_mu(mu, usable), ledger.delta)

    def _with_all_noise(self, spend: Spend) -> Spend:
        return replace(spend, scale=spend.scale * math.sqrt(self._parties))

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The sum with the noise of all who add some; booked before it is computed."""
        self._check_group()
        return self._published(contribution, held_by(self), self._charged(contribution, share))

    def steps(self, steps: Steps, share: float = 1.0) -> StepSums:
        """Sums over samples that every device draws for itself; all of them are booked before the first."""
        self._check_group()
        noise = self._charged_steps(steps, share)

        def answer(contribution: Contribution) -> Doubles:
            self._check_step(contribution)
            sample = sampled_users(held_by(self), steps.sampling_rate, self._randomness)
            return self._published(contribution, some_users(held_by(self), sample), noise)

        return StepSums(steps, noise.deviation, answer)

    def _published(self, contribution: Contribution, ratings: InParts | None, noise: CalibratedNoise) -> Doubles:
        """What is seen of a sum that was paid for."""
        raise NotImplementedError

    def _whole(self, contribution: Contribution, ratings: InParts | None, points: FixedPoint) -> Integers:
        """Σz: the statistic of every device, rounded and clipped as devices do it, however many there are.

        A statistic whose values are multiples of the step is not rounded, so Σz is its sum, which is computed at once.
        Whether it is one goes by what it declares and by the step, both public: if it went by the number of users,
        neighbours might be rounded in two ways, and differ by half a step for every user.
        """
        total = np.zeros(contribution.shape, dtype=np.int64)
        if ratings is None:
            return total
        exact = contribution.finish is None and contribution.most_users is not None and not self.ledger.weighted
        if exact and points.step <= LATTICE:
            whole = weighted_total(on_engine(contribution, self._engine), ratings, (), self._level_fact) / points.step
            return np.clip(np.rint(whole), -(2.0**62), 2.0**62).astype(np.int64)
        for part in ratings.parts():
            for position in range(part.n_users):
                total += points.whole(self._own(contribution, part._user_block(position, position + 1)))
        return total
