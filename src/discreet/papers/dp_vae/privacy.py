"""What the paper claims of DP-VAE, what is true, and by how much they differ.

**Claimed.** Theorem 2: the priors are (ε_k, δ_k)-private. Theorem 4: training is (ε_k, δ_k)-private for user k, with
noise of deviation σ_k = √(2 ln(1.25/δ_k)) S/ε_k on that user's clipped gradient and S found by Optimal_Clip.

**What is wrong.**

1. *S is a secret, and the noise shouts it.* S is the norm of somebody's gradient, and scales the noise on l = 275,802
   numbers. Whoever sees N(0, σ²I_l) knows σ to one part in √(2l). If one sample changes S by a factor c, the divergence
   is l ((c² − 1)/2 − ln c): 27.5 nats for c = 1.01, and δ at ε = 10 is .986 (:func:`delta_of_scales`). No ε is
   meaningful.
2. *Steps do not compose.* With S constant one step is private (:func:`one_step`), but σ_k knows neither how many steps
   there are nor who is sampled. A user takes part in 30 steps: ε_k = 1 becomes 5.05 for whoever sees the noisy
   gradients of users, 11.7 if one sample is replaced (:func:`composed`).
3. *The neighbours are samples.* Definition 2 adds or removes one sample of a user: this is not the user-level privacy
   that the paper names. With one sample a user, whole rows, it is.
4. *Noise tells who is there.* The noise on a mean is that of the users in the batch, Σσ_k²: one user more changes it,
   on 275,802 coordinates (:func:`divergence_of_scales`). So sampling hides nobody, and add-or-remove is void.
5. *Priors are vectors.* The theorem adds noise for one number; 2K numbers go out, all of which one fact moves: μ grows
   by √(2K), and ε_k = 1 becomes 5.98 for K = 20 (:func:`prior_epsilon`). μ_w, the mean over all users, has no noise at
   all.
6. *H(S) has no minimum.* The noise term rises by at least l √(2/π) z/ε a unit of S, z = √(2 ln(1.25/δ)); the others
   fall by at most 3√l. So H rises everywhere, and Optimal_Clip returns the least norm (:func:`slopes_of_error`).
7. *Tuning* of β and p_min on the metric, and leaving out items by their counts, are releases that nobody pays for.

What one should do instead: clip users to a public constant, sample them in secret, add noise that depends on nobody,
and account for all steps together (:mod:`discreet.models`).
"""

import math

import numpy as np

from discreet.privacy.guarantee import Guarantee, Loss
from discreet.privacy.unit import User
from discreet.types import AnyArray

PARAMETERS = 275_802
"""Of the network for MovieLens 100K."""
CLIP_SECRET = (
    "the clipping bound is the norm of somebody's gradient and scales the noise on every weight, which gives it away"
)
NOT_COMPOSED = "the noise is made for one step, and a user takes part in one in every epoch"
WHO_IS_THERE = "noise depends on who is in a batch"
SHARED = {
    "optimal": f"{CLIP_SECRET}; {NOT_COMPOSED}; {WHO_IS_THERE}",
    "constant": f"{NOT_COMPOSED}; {WHO_IS_THERE}",
    "plain": "noise is made for secret samples of the users, and every epoch goes through all of them in turn",
}
"""By the way of clipping, why it does not hold."""
PRIORS = "the means of what users say of themselves are exact, and noise on priors is made for one number of many"


def multiplier(delta: float) -> float:
    """√(2 ln(1.25/δ)): the deviation of the paper's noise for a sensitivity and an ε of 1.

    >>> [round(multiplier(delta), 2) for delta in (1.25e-5, 6.7e-8, 1.8e-8)]
    [4.8, 5.79, 6.01]
    """
    return math.sqrt(2 * math.log(1.25 / delta))


def guarantee(epsilon: float | None, delta: float, clipping: str, *, priors: bool, seeded: bool) -> Guarantee:
    """The claim, and in a sentence why it is not proven."""
    if epsilon is None:
        return Guarantee(reason="weights were trained on the raw ratings, without noise", seeded=seeded)
    reason = SHARED[clipping] + (f"; {PRIORS}" if priors else "") + ("; and the noise was seeded" if seeded else "")
    return Guarantee(
        reason=reason,
        claimed=Loss(float(epsilon), delta),
        unit=User(),
        protects_from=("the public",),
        exposed_to=("the recommender, who has all ratings",),
        seeded=seeded,
    )


# ── One secret scale on many coordinates ──


def divergence_of_scales(ratio: float, count: int = PARAMETERS) -> float:
    """KL(N(0, c²I) ‖ N(0, I)) over ``count`` coordinates, in nats.

    >>> [round(divergence_of_scales(ratio), 2) for ratio in (1.001, 1.01, 1.02)]
    [0.28, 27.49, 109.6]
    """
    return count * ((ratio**2 - 1) / 2 - math.log(ratio))


def delta_of_scales(epsilon: float, ratio: float, count: int = PARAMETERS) -> float:
    """The exact δ at ε between N(0, I) and N(0, c²I), c > 1, over ``count`` coordinates.

    The log-ratio is ½(1 − 1/c²)‖x‖² − count ln c, which grows with ‖x‖², a χ² under the one and c²χ² under the other.

    >>> [round(delta_of_scales(10, ratio), 3) for ratio in (1.001, 1.01, 1.02)]
    [0.0, 0.986, 1.0]
    """
    from scipy.stats import chi2  # here, so that users can score with numpy alone

    least = 2 * (epsilon + count * math.log(ratio)) / (1 - 1 / ratio**2)
    return float(chi2.sf(least / ratio**2, count) - math.exp(epsilon) * chi2.sf(least, count))


def scale_told_apart(deviation: float, ratio: float, count: int) -> float:
    """How far apart two scales are in spreads of the statistic ‖g‖²/l: the attack is to look at that one number.

    >>> round(scale_told_apart(1.0, 1.01, PARAMETERS), 1)
    7.5
    """
    spread = deviation**2 * math.sqrt(2 / count)
    return deviation**2 * (ratio**2 - 1) / spread


# ── Steps and priors ──


def one_step(epsilon: float, delta: float) -> float:
    """The ε of the paper's noise for one step with a constant S: less than claimed, up to about 8.4.

    >>> round(one_step(1.0, 1.25e-5), 3)
    0.747
    """
    return _epsilon(epsilon / multiplier(delta), delta)


def composed(epsilon: float, times: int, delta: float = 1.25e-5, sensitivity: float = 1.0) -> float:
    """The same where a user takes part so many times, and the noisy gradients of users are seen.

    ``sensitivity`` in units of S: 2 where one sample is replaced by another.

    >>> [round(composed(epsilon, 30), 2) for epsilon in (0.3, 0.5, 1.0, 1.5)]
    [1.29, 2.28, 5.05, 8.18]
    >>> [round(composed(epsilon, 30, sensitivity=2), 2) for epsilon in (0.3, 0.5, 1.0, 1.5)]
    [2.8, 5.05, 11.66, 19.65]
    """
    return _epsilon(sensitivity * math.sqrt(times) * epsilon / multiplier(delta), delta)


def prior_epsilon(epsilon: float, dimensions: int, delta: float = 1.25e-5) -> float:
    """Of the priors, if one fact can move all K means and all K variances by what the theorem allows one number.

    >>> settings = (20, 1.25e-5), (30, 6.7e-8), (50, 1.8e-8)  # MovieLens 100K, 20M and Netflix
    >>> [round(prior_epsilon(1.0, dimensions, delta), 2) for dimensions, delta in settings]
    [5.98, 7.55, 10.11]
    """
    return _epsilon(math.sqrt(2 * dimensions) * epsilon / multiplier(delta), delta)


def sampled(epsilon: float, users: int, batch: int, epochs: int, delta: float = 1.25e-5, shares: int = 1) -> float:
    """What the constant S would cost if a batch were a secret sample, noise depended on nobody, and all ε_k were equal.

    ``shares`` is how many users' noise is on the sum: 1 for that of one user alone.
    """
    from discreet.privacy.accounting import epsilon_of
    from discreet.privacy.spend import Spend

    noise = multiplier(delta) / epsilon * math.sqrt(shares)
    steps = Spend(
        what="steps",
        mechanism="gaussian",
        norm="l2",
        sensitivity=1.0,
        scale=noise,
        sampling_rate=batch / users,
        times=users * epochs // batch,
    )
    return epsilon_of([steps], delta)


def _epsilon(mu: float, delta: float) -> float:
    from discreet.privacy.gaussian import epsilon_of_mu

    return epsilon_of_mu(mu, delta)


# ── Optimal_Clip ──


def slopes_of_error(count: int = PARAMETERS, epsilon: float = 1.0, delta: float = 1.25e-5) -> tuple[float, float]:
    """By how much the noise term of H rises a unit of S, and by how much the others fall at most.

    >>> [float(f"{slope:.3g}") for slope in slopes_of_error()]
    [1060000.0, 1580.0]
    """
    return count * math.sqrt(2 / math.pi) * multiplier(delta) / epsilon, 3 * math.sqrt(count)


def batch_deviation(epsilons: AnyArray, delta: float) -> float:
    """√Σ (z/ε_k)²: the noise of a batch in units of S, set by its most cautious member.

    >>> round(batch_deviation(np.ones(10), 1.25e-5), 2)
    15.17
    """
    return multiplier(delta) * float(np.sqrt((1 / np.asarray(epsilons, dtype=np.float64) ** 2).sum()))
