"""What stands beside each method of the paper: the same purpose, and proven.

=============  ====================================================  ================================================
the paper      ours                                                  proven for one rating
=============  ====================================================  ================================================
no privacy     covariances without noise                             nothing
RP, gamma      private reports: perturbed at home by a mechanism     its value, by the epsilon of the mechanism;
               that is locally private                               towards the recommender too
DP, epsilon    averages (delta 0), covariances (delta 1e-6)          that it is there, by epsilon
hybrid         covariances of private reports                        both: its value towards the recommender, and that
                                                                     it is there towards everyone else
DP on RP       none, see below                                       –
=============  ====================================================  ================================================

**Which epsilon belongs to a gamma.** No epsilon is as weak as uniform noise, which promises none. Two can be matched:

    as noisy            the mechanism with the least epsilon whose reports vary by gamma²/3, as those of RP do, on
                        average over how often each rating is given
    as hard to guess    the mechanism with the least variance from whose reports the best attack guesses as many ratings
                        right as from those of RP; for gamma ≤ 1/2 there is none, since from RP it guesses all of them

**From what was sent, or at home.** The paper's recommender predicts from perturbed ratings, having no others. So do we,
by folding in reports whose noise is known to vary by v:

    base_i + F_i·z,    z = (FᵀF + (s² + v) I)⁻¹ Fᵀ(reports − base)

with F and s of :mod:`discreet.models.covariance_knn`. *At home* the user's own true ratings are at hand, and v is 0.

**Public rules for reports.** Reports lie on a wider scale than ratings, the unit of what the covariances sum. What is
left of a product of two ratings shrinks by the square of that, and the model is told of an audience that is smaller by
as much; and the damping of items grows by 1 + v/s². Both were chosen on splits of MovieLens 100K with seeds 101, 102.

**Why DP that ignores the perturbation has no sound counterpart.** A rating that is there or not is a report that is
there or not. It moves the sums by up to the scale of reports, so noise fitted to the scale of ratings proves a larger
epsilon than the one that was asked for. Ours proves the epsilon that it is given: it cannot ignore reports. (For a
rating that only changes its value, noise fitted to the scale of ratings is enough, whatever the noise at home was.)
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from discreet.collect.channel import LocalRandomiser
from discreet.collect.mechanisms import Piecewise, RandomisedResponse, UniformNoise
from discreet.collect.reconstruction import Risk, risk_of
from discreet.data.catalogue import Scale
from discreet.data.ratings import Ratings
from discreet.models.covariance_knn import CovarianceKNN
from discreet.models.home.fold_in import fold_in, predict_pairs, rating_offsets
from discreet.populations.population import NoPrivacy
from discreet.populations.trusted import TrustedServer
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.releases.release import Release
from discreet.types import Doubles, Floats

LEAST, MOST, XTOL = 0.05, 12.0, 1e-6
"""Between which an epsilon for a rating's value is looked for."""
DELTA = 1e-6
"""Of our covariances; averages have 0."""
ROUNDED = 100
"""Epsilons are rounded down to hundredths."""

Prior = Mapping[float, float]


@dataclass(frozen=True)
class Reports:
    """What is sent for a gamma by the paper's users and by ours.

    >>> found = Reports(3.5, Scale(1, 5), {1: 6, 2: 11, 3: 27, 4: 34, 5: 21})
    >>> found.as_noisy, found.as_hard_to_guess
    (Piecewise(epsilon=1.87), Piecewise(epsilon=1.26))
    >>> round(found.variance_of(found.as_noisy) / (3.5**2 / 3), 2)
    1.0
    >>> Reports(0.5, Scale(1, 5), {1: 6, 2: 11, 3: 27, 4: 34, 5: 21}).as_hard_to_guess is None
    True
    """

    gamma: float
    scale: Scale
    prior: Prior

    @cached_property
    def as_noisy(self) -> LocalRandomiser:
        """Of the mechanisms that are as noisy as RP, the one with the least epsilon."""
        found = [self._matched(make, lambda mechanism: -self.variance_of(mechanism)) for make in self._makes]
        return min((mechanism for mechanism in found if mechanism is not None), key=epsilon_of)

    @cached_property
    def as_hard_to_guess(self) -> LocalRandomiser | None:
        """Of those from which as much can be guessed, the one with the least noise."""
        found = [self._matched(make, lambda mechanism: self.risk(mechanism).accuracy) for make in self._makes]
        return min((mechanism for mechanism in found if mechanism is not None), key=self.variance_of, default=None)

    @property
    def of_the_paper(self) -> LocalRandomiser:
        """Uniform noise."""
        return UniformNoise(gamma=self.gamma)

    def variance_of(self, mechanism: LocalRandomiser) -> float:
        """How far reports stray from ratings, squared, on average over ratings."""
        channel, total = mechanism.channel(self.scale), sum(self.prior.values())
        return sum(share / total * channel.deviation(value) ** 2 for value, share in self.prior.items())

    def risk(self, mechanism: LocalRandomiser) -> Risk:
        """What the best attack makes of a report."""
        return risk_of(mechanism, self.prior, self.scale)

    @property
    def _makes(self) -> list[Callable[[float], LocalRandomiser]]:
        makes: list[Callable[[float], LocalRandomiser]] = [lambda epsilon: Piecewise(epsilon=epsilon)]
        whole = all(float(value - self.scale.low).is_integer() for value in (*self.prior, self.scale.high))
        if whole:  # randomised response needs levels
            makes.append(lambda epsilon: RandomisedResponse(epsilon=epsilon))
        return makes

    def _matched(
        self, make: Callable[[float], LocalRandomiser], rises: Callable[[LocalRandomiser], float]
    ) -> LocalRandomiser | None:
        """The largest epsilon at which something that rises with it is no more than for uniform noise."""
        aim = rises(self.of_the_paper)
        if rises(make(MOST)) <= aim:
            return None
        found = LEAST
        if rises(make(LEAST)) <= aim:
            found = brentq(lambda epsilon: rises(make(epsilon)) - aim, LEAST, MOST, xtol=XTOL) - XTOL
        return make(math.floor(found * ROUNDED) / ROUNDED)


def epsilon_of(mechanism: LocalRandomiser) -> float:
    """Of a locally private mechanism, for the value of one rating."""
    return float(mechanism.settings["epsilon"])


def covariances(users: int, scale: Scale, reported: Scale, variance: float) -> CovarianceKNN:
    """The model, with the public rules for reports; ``users`` is publicly known to an order of magnitude.

    >>> covariances(943, Scale(1, 5), Scale(1, 5), 0.0) == CovarianceKNN()
    True
    >>> covariances(943, Scale(1, 5), Scale(-1, 7), 1.0).audience
    250
    """
    audience = 10 ** round(math.log10(max(users, 1))) * (scale.width / reported.width) ** 2
    damping = CovarianceKNN.item_damping * (1 + variance / (CovarianceKNN.residual_deviation * scale.width) ** 2)
    return CovarianceKNN(audience=max(1, round(audience)), item_damping=damping)


def publish(
    sent: Ratings, variance: float, scale: Scale, users: int, epsilon: float | None, randomness: Randomness
) -> Release:
    """Covariances of what was sent, which varies by so much about ratings on a scale; exact without epsilon."""
    model = covariances(users, scale, sent.catalogue.scale, variance)
    if epsilon is None:
        return model.fit(NoPrivacy(sent))
    return model.fit(TrustedServer(sent, Ledger(epsilon, DELTA), randomness=randomness))


def predicted(release: Release, histories: Ratings, variance: float, scale: Scale, test: Ratings) -> Doubles:
    """Expected ratings of the test's pairs, clipped to the scale, from histories that vary by so much about ratings."""
    if "item_factors" not in release.arrays:  # averages alone are all that there is
        found: Floats = release.predict(histories, test.user_index, test.item_index)
    else:
        size = len(release.catalogue)
        biases = np.full((size, 1), CovarianceKNN.bias_spread * scale.width, dtype=np.float32)
        design = np.concatenate([release.arrays["item_factors"], biases], axis=1)
        penalty = np.full(
            design.shape[1], (CovarianceKNN.residual_deviation * scale.width) ** 2 + variance, dtype=np.float32
        )
        own = fold_in(histories, design, rating_offsets(release), np.zeros_like(penalty), penalty)
        found = predict_pairs(own, design, rating_offsets(release), test.user_index, test.item_index)
    return np.clip(found, scale.low, scale.high).astype(np.float64)
