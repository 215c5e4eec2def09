"""What the paper claims, what is true, and by how much they differ.

**Published sensitivities** (tau: width of the scale, gamma: perturbation, B: clamp)

    sum of ratings                 tau + 2 gamma                      as if a rating changed its value
    number of ratings              1
    weighted products of ratings   2B(tau + 2 gamma) + 3B²            Theorem 2, which rests on Theorem 1
    weighted presence              3                                  Theorem 3

**What is wrong.** Neighbours differ by one rating that is there or not.

1. *Both halves of every fraction pay.* The numerators spend epsilon_1 + epsilon_2 + epsilon_3 = epsilon, and so do the
   denominators: 2 epsilon, even if every sensitivity were right.
2. *Sums of ratings.* A rating that comes or goes moves a sum by up to high + gamma, more than tau + 2 gamma where
   gamma < high − tau.
3. *Theorem 1.* A new rating moves the user's average by |d − average| / (c + 1 + beta), where d is the rating less the
   average of its item. Both d and the average lie within ±(tau + 2 gamma) if item averages lie on the perturbed scale,
   so their difference reaches 2(tau + 2 gamma) =: alpha, and not tau + 2 gamma. The decomposition in three terms of
   Theorem 2 then gives 2B alpha + 3B² = 4B(tau + 2 gamma) + 3B².
4. *Item averages are not clamped.* Their denominators are noisy and may come close to 0, so an average may be anything,
   and d with it. Then only clamping bounds the products: a user with c ratings before the new one moves them by up to
   (2c + 1)B² in L1.
   Proof. ‖a aᵀ/c − b bᵀ/(c+1)‖₁ ≤ ‖a‖₁²/c + ‖b‖₁²/(c+1) ≤ cB² + (c+1)B². ∎
5. *Dampings are means of counts*, used and released without noise: nobody pays for them at all.

In the literal reading UAvg is a mean of distances d and of copies of G, which may be as large as high + gamma, so alpha
is (tau + 2 gamma) + max(tau + 2 gamma, high + gamma): 9 and not 8 for ratings of 1 to 5 and gamma 0, and 2B alpha + 3B²
is 21, where 11 is published. (It is not sharp. With y = c/(c + beta) and W = tau + 2 gamma a row moves by at most
yW + y²W + y(1 − y)(high + gamma) + B, which grows with y up to 2W + B while high + gamma ≤ 3W: where G weighs much,
UAvg hardly moves. So 19 is a bound too.)

Theorem 3 is right, and sharp: a user with c ratings before the new one moves weighted presence by
c²(1/c − 1/(c+1)) + (2c + 1)/(c + 1) = (3c + 1)/(c + 1) < 3.

**If a rating only changes its value** (presence being public, and the perturbation the same in both worlds) counts and
weights do not move, and d moves by at most tau whatever the item's average is. With averages given, the changed entry
of the clamped row moves by at most 2B and all others together by at most tau, so 2B(2B + tau) bounds the products: then
most of the published noise is more than enough.

**Theorem 4** says that DP which ignores the perturbation, on ratings that were perturbed, is worth
(tau + 2 gamma)/tau times its epsilon, and the hybrid once. The order is right, the reason and the size are not. For a
rating that is there or not, noise fitted to gamma 0 bounds 2.94 epsilon at gamma .5 and 4.82 at gamma 3.5, where the
hybrid's bounds 2.63 and 2.70 (ratios of 1.12 and 1.79; the theorem has 1.25 and 2.75). For a changed value perturbation
moves nothing, since it is the same in both worlds: DP that ignores it keeps 1.07 epsilon whatever gamma is, and the
hybrid's larger noise bounds .90 and .46. Both prove something; the one that ignores the perturbation proves less.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from discreet.data.catalogue import Scale
from discreet.errors import require
from discreet.privacy.guarantee import Guarantee, Loss
from discreet.privacy.unit import Rating

if TYPE_CHECKING:
    from discreet.papers.hybrid_knn.algorithm import HybridKNN

SHARES = (0.02, 0.19, 0.79)
"""Of epsilon, for the global average, the item averages and the covariance."""

TYPICAL_PROFILE = 100
"""Ratings of a user in the example that a guarantee gives."""

Relation = Literal["add-or-remove", "replace"]


@dataclass(frozen=True)
class Sensitivities:
    """As published: what the noise of each of the four kinds of sums is fitted to.

    >>> Sensitivities.published(tau=4, gamma=0.5, bound=1)
    Sensitivities(ratings=5.0, counts=1.0, products=13.0, weights=3.0)
    """

    ratings: float
    counts: float
    products: float
    weights: float

    @classmethod
    def published(cls, tau: float, gamma: float, bound: float) -> "Sensitivities":
        """From the width of the scale, the perturbation and the clamp."""
        width = tau + 2 * gamma
        return cls(ratings=float(width), counts=1.0, products=2.0 * bound * width + 3.0 * bound**2, weights=3.0)


def corrected_epsilon(
    epsilon: float,
    gamma: float,
    *,
    scale: Scale,
    bound: float = 1.0,
    relation: Relation = "add-or-remove",
    ratings_of_a_user: int | None = None,
    ignores_perturbation: bool = False,
    literal: bool = False,
) -> float:
    """What the published noise is worth for one rating, dampings taken as public.

    Parameters
    ----------
    epsilon, gamma, bound
        As published.
    scale
        Of the ratings.
    relation
        Whether a rating comes or goes, or changes its value.
    ratings_of_a_user
        None if item averages were clamped to the perturbed scale. As published they are not; then the loss grows
        with the number of ratings that the user has without the one in question.
    ignores_perturbation
        Whether the noise was fitted to gamma 0.
    literal
        Whether ratings were centred as in the text.

    Examples
    --------
    >>> from discreet.data.catalogue import Scale
    >>> [round(corrected_epsilon(1.0, gamma, scale=Scale(1, 5)), 3) for gamma in (0, 0.5, 1, 2, 3.5)]
    [2.627, 2.629, 2.632, 2.665, 2.695]
    >>> [round(corrected_epsilon(1.0, gamma, scale=Scale(1, 5), relation="replace"), 3) for gamma in (0, 0.5, 3.5)]
    [1.072, 0.897, 0.456]
    >>> round(corrected_epsilon(1.0, 0.0, scale=Scale(1, 5), ratings_of_a_user=400), 1)
    58.8
    >>> round(corrected_epsilon(1.0, 0.0, scale=Scale(1, 5), literal=True), 2)
    2.77
    >>> [round(corrected_epsilon(1.0, gamma, scale=Scale(1, 5), ignores_perturbation=True), 2) for gamma in (0.5, 3.5)]
    [2.94, 4.82]
    """
    require(
        relation in ("add-or-remove", "replace"), f"relation must be 'add-or-remove' or 'replace', got {relation!r}"
    )
    tau, high = scale.width, max(abs(scale.low), abs(scale.high))
    published = Sensitivities.published(tau, 0.0 if ignores_perturbation else gamma, bound)
    averages, covariance = SHARES[0] + SHARES[1], SHARES[2]
    if relation == "replace":
        sums, counts, weights = tau, 0.0, 0.0
        products = 2 * bound * (2 * bound + tau)
    else:
        sums, counts, weights = max(high + gamma, published.ratings), published.counts, published.weights
        width = tau + 2 * gamma
        furthest = max(width, high + gamma) if literal else width  # of a user's average from 0
        products = 2 * bound * (width + furthest) + 3 * bound**2
        if ratings_of_a_user is not None:
            c = ratings_of_a_user
            products, weights = (2 * c + 1) * bound**2, (3 * c + 1) / (c + 1)
    return epsilon * (
        averages * (sums / published.ratings + counts / published.counts)
        + covariance * (products / published.products + weights / published.weights)
    )


def guarantee(model: "HybridKNN", scale: Scale, *, seeded: bool) -> Guarantee:
    """The claim, and in a sentence why it is not proven."""
    epsilon, gamma = model.epsilon, model.gamma
    if epsilon is None:
        what = "exact sums over the users were released"
        if gamma > 0:
            what = (
                f"uniform noise within ±{gamma:g} at home rules some ratings out for certain, so it bounds no epsilon, "
                "and exact sums of what it left were released"
            )
        return Guarantee(reason=what, seeded=seeded)

    def corrected(profile: int | None) -> str:
        given: dict[str, Any] = {
            "bound": model.bound,
            "ignores_perturbation": model.ignores_perturbation,
            "literal": model.centring == "literal",
        }
        return f"epsilon {corrected_epsilon(epsilon, gamma, scale=scale, ratings_of_a_user=profile, **given):.3g}"

    reason = (
        "numerators and denominators each spend all of epsilon, Theorem 1 takes a rating less the average of its item "
        "for a rating, and the dampings are exact counts; with public dampings "
    )
    if model.clamps_averages:
        reason += f"it would be {corrected(None)}"
    else:
        reason += (
            f"it would be {corrected(None)} if averages were clamped, and as they are not it grows with the "
            f"user's profile (up to {corrected(TYPICAL_PROFILE)} for {TYPICAL_PROFILE} ratings)"
        )
    return Guarantee(
        reason=reason + ("; and the noise was seeded" if seeded else ""),
        claimed=Loss(float(epsilon)),
        unit=Rating(),
        protects_from=("the public",),
        exposed_to=("the recommender, who sees which items were rated and the perturbed ratings",),
        seeded=seeded,
    )
