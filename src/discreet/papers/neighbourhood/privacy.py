"""What the paper claims, what is true, and by how much they differ.

Throughout φ is the width of the scale, C the least ``|S_i| I_u``, K the number of iterations, n how many ratings the
user of the changed rating has, and ΔF(t) = 2 e_max(t) φ / C with e_max(t) = ½ + (φ − 1)/(t + 1), as published.

**DPSGD-PNBM** claims epsilon for the *value* of one rating: Laplace noise of scale γ K ΔF / ε on every coordinate.

1. *A coordinate is not a vector.* Laplace noise of scale b hides a change of L1 norm b ε. ΔF bounds one coordinate of
   the gradient; a rating of u moves the error of its own row, and as an input the n − 1 rows of the user's other items,
   each in n − 1 coordinates.

   With S and item means fixed, errors clamped, features clamped to ±φ and D ≥ C enforced, a changed value moves the
   gradient by at most n (n − 1) ΔF in L1.
   Proof. Each of the n(n − 1) coordinates (i, j) of the user's block is e · feature / D, at most e_max φ / C = ΔF/2 in
   absolute value, before the change and after it. ∎  Without the clamp on features a row has Σ_j |a_j − sign p| ≤
   2φ(n − 2) above the floor and φ(n − 1) below it, so the gradient moves by at most n max(2(n − 2), n − 1) ΔF.

   For a user who comes or goes, one gradient instead of two: half of it.
2. *C is not enforced*: it was read off a plot. Without it no bound holds, as D may be as small as one likes.
3. *Subsampling.* A mechanism that is ε₀ on a batch is log(1 + γ(e^ε₀ − 1)) on all ratings, which is more than γ ε₀
   wherever γ < 1. And γ is the wrong rate: a rating acts through every sampled row of its user, and through the means.
4. *Item means* are exact, and every prediction shows them: with the other ratings of an item known, its mean tells the
   last one for certain. No epsilon holds, whatever delta. A *cosine start* is exact as well.
5. Dropping users with few ratings, or records that are "paranoid", turns a changed rating into a changed user.

**DPPS-PNBM** claims epsilon for a user: one sample of the posterior, tempered by ε/(4B), B = φ² τ.

6. A sample *drawn exactly* from ∝ exp(−c Σ_u ℓ_u) with 0 ≤ ℓ_u ≤ b costs 2cb for a user who is replaced.
   Proof. The density changes by a factor within e^±cb, and so does its integral. ∎  With |e| up to 2φ (item means and
   p_ui are both within φ) b is ½ (2φ)² τ = 2B, so c = ε/(4B) gives ε: the constant would be right, for exact means.
7. *Temperature.* θ ← θ − (h/2)∇U + N(0, ρh) is stationary at exp(−U/ρ). So the chain aims at ε/(4Bρ): ε/ρ for a user
   who is replaced, ε/(2ρ) for one who comes or goes; 1000, 167 and 11 times the claim for the paper's ρ.
8. *Finitely many steps.* A step is Gaussian noise on a gradient: no pure epsilon holds after finitely many of them, and
   no step has a bound, as D may come as close to 0 as one likes. That the chain converged is assumed, not shown; and
   (1 + e^ε)δ ≤ 10⁻⁶ would need δ = 2·10⁻¹⁵ at ε = 20.
9. Item means and a cosine start: as above.

**DPSGD-MF** claims epsilon for the value of one rating, and this holds where the items that were rated, the order of
the ratings and the first factors are public.
Proof. Let the noisy errors be published one after another: what happens to them (the clamp, the steps of both factors)
needs no rating. Given those before, an error depends on its own rating alone, and moves by at most φ with it. A rating
has K errors, each with Laplace noise of scale K φ / ε: together ε. ∎
Nothing of it is booked in a ledger, so it is not proven *here*. **DPPS-MF** has the faults 7 and 8.
"""

import math
from typing import Literal

from discreet.errors import require
from discreet.privacy.guarantee import Guarantee, Loss
from discreet.privacy.unit import Rating, User

Change = Literal["value", "user"]
TYPICAL_PROFILE = 100
"""Ratings of a user in the example that a guarantee gives."""


def most_error(iteration: int, width: float) -> float:
    """e_max of an iteration, from 1.

    >>> [round(most_error(t, 4.0), 3) for t in (1, 2, 3, 10, 20)]
    [2.0, 1.5, 1.25, 0.773, 0.643]
    """
    return 0.5 + (width - 1) / (iteration + 1)


def published_sensitivity(iteration: int, width: float, bound: float) -> float:
    """ΔF of an iteration (Algorithm 1, line 4; the paper prints tau there, and phi in eq. 6).

    >>> round(published_sensitivity(1, 4.0, 15.0), 4)
    1.0667
    """
    return 2 * most_error(iteration, width) * width / bound


def furthest_change(ratings_of_a_user: int, *, features_clamped: bool, change: Change = "value") -> float:
    """How far one changed rating moves the gradient in L1 at most, in ΔF; or a user who comes or goes.

    S and item means are taken as fixed, C as enforced. The proof is above.

    >>> furthest_change(20, features_clamped=False), furthest_change(20, features_clamped=True)
    (720.0, 380.0)
    """
    n = ratings_of_a_user
    rows = n - 1 if features_clamped else max(2 * (n - 2), n - 1)
    return float(n * rows) / (1 if change == "value" else 2)


def amplified(epsilon: float, rate: float) -> float:
    """What a batch of this share of the ratings makes of an epsilon: not ``rate · epsilon``, as published.

    >>> round(amplified(1.0, 1.0), 3), round(amplified(10.0, 0.01), 2)  # published: 0.1
    (1.0, 5.4)
    """
    require(0 < rate <= 1, f"rate must lie in (0, 1], got {rate}")
    return (
        float(epsilon + math.log(rate + (1 - rate) * math.exp(-epsilon)))
        if epsilon > 30
        else math.log1p(rate * math.expm1(epsilon))
    )


def worth_at_temperature(epsilon: float, temperature: float, change: Literal["replaced", "comes or goes"]) -> float:
    """The epsilon of an exact sample at the law that the chain aims at, item means being public.

    >>> [round(worth_at_temperature(1.0, rho, "replaced")) for rho in (0.001, 0.006, 0.09)]
    [1000, 167, 11]
    """
    return epsilon / temperature / (1 if change == "replaced" else 2)


def claim_of_descent(epsilon: float | None, *, start: str, as_released_code: bool, seeded: bool) -> Guarantee:
    """What DPSGD-PNBM claims, and in a sentence why it is not proven."""
    if epsilon is None:
        return Guarantee(reason="exact item means and similarities learned without noise were released", seeded=seeded)
    times = furthest_change(TYPICAL_PROFILE, features_clamped=True)
    reason = (
        "item means are released without noise, and the noise is made for one coordinate of a gradient of which a "
        f"changed rating moves up to n(n - 1) (up to {times:,.0f} times as far for {TYPICAL_PROFILE} ratings of a user)"
    )
    if start not in ("constant", "random"):
        reason += "; the first similarities are computed from the ratings, and nobody pays for them"
    if as_released_code:
        reason += "; and as in the released code errors are not clamped and the noise is smaller by √2"
    return Guarantee(
        reason=reason + ("; and the noise was seeded" if seeded else ""),
        claimed=Loss(float(epsilon)),
        unit=Rating("replace"),
        protects_from=("the public",),
        exposed_to=("the recommender, who has the ratings",),
        seeded=seeded,
    )


def claim_of_sampling(
    epsilon: float | None, temperature: float, *, start: str = "constant", means: bool = True, seeded: bool
) -> Guarantee:
    """What DPPS-PNBM and DPPS-MF claim, and in a sentence why it is not proven."""
    if epsilon is None:
        return Guarantee(reason="what was learned without noise was released", seeded=seeded)
    exact = worth_at_temperature(float(epsilon), temperature, "replaced")
    reason = (
        "that the chain has reached its law is assumed, its steps have no bound, and the law that it aims at is worth "
        f"epsilon {exact:.3g} at temperature {temperature:g}"
    )
    if means:
        reason += "; item means are released without noise"
    if start not in ("constant", "random"):
        reason += "; the first similarities are computed from the ratings, and nobody pays for them"
    return Guarantee(
        reason=reason + ("; and the noise was seeded" if seeded else ""),
        claimed=Loss(float(epsilon)),
        unit=User(),
        protects_from=("the public",),
        exposed_to=("the recommender, who has the ratings",),
        seeded=seeded,
    )


def claim_of_errors(epsilon: float | None, *, seeded: bool) -> Guarantee:
    """What DPSGD-MF claims, and in a sentence why it is not proven here."""
    if epsilon is None:
        return Guarantee(reason="factors learned without noise were released", seeded=seeded)
    return Guarantee(
        reason="it takes the raw ratings and books nothing; its argument needs which items were rated, and the order "
        "of the ratings, to be public" + ("; and the noise was seeded" if seeded else ""),
        claimed=Loss(float(epsilon)),
        unit=Rating("replace"),
        protects_from=("the public",),
        exposed_to=("the recommender, who has the ratings",),
        seeded=seeded,
    )
