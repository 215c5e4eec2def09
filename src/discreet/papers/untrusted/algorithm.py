"""Matrix factorisation by an untrusted recommender, as published (Hua, Xia, Zhong, IJCAI 2015): S2 and S3.

The model is that of S1 (:mod:`discreet.papers.objective_perturbation`). Here ratings stay with the users. A user i
keeps u_i, and in round t sends for each rated item j, with Δ the width of the scale and d the number of factors:

    (5)   g_j  = −2 u_i (r_ij − u_iᵀv_j)
    (12)  η_j  = (2Δ√d/ε) √(2H_j) · C,   H_j ~ Exp(1) by the recommender, C ~ N(0, 1/k) by the user; kept for all rounds
          ρ̃_j  drawn in the same way, anew in every round
          φ_j  = g_j + η_j + ρ̃_j + ψ_j mod P,   ψ_j uniform, from the recommender, to the third party

The third party adds up φ_j over the k users who rated j; the recommender takes Σ ψ_j away and steps:

    (9)   v_j ← v_j − γ (Σ g_j + η_j + ρ̃_j + 2μ v_j)

**S2** (``scenario="static"``) has every user in every round. **S3** (``"dynamic"``) has users come and go, so that Σ
η_j would change. Before the first round k online users send η_j + β_j to the third party, which adds α_j; the
recommender is left with τ̂_j = α_j + Σ η_j. In a round it deals τ̂_j out in random pieces, users add theirs in the
place of η_j, and the third party takes α_j away.

What the text leaves open:

* **M**, as in S1 (``divisor``): ``row`` means, ``ratings`` M = W, ``none`` the printed sums, which overflow.
* **Order** (``order``): (2) and (3) both start from round t − 1, so a user's gradient is made before u_i moves
  (``together``). Step 2 of the protocol can be read the other way (``user first``).
* **‖u_i‖ ≤ 1** (``user_norm``), as in S1: ``free``, or ``projected`` after each step.
* **Numbers mod P**: 2**64, 24 bits after the point (``bits``, ``fraction_bits``), masks uniform on whole numbers below
  P.
* **Churn**: after each round a user who is away joins with ``joins``, one who is there leaves with ``leaves``; the text
  says that few are there at first (``online_at_start``). At most ``at_most`` of those who are there are asked in a
  round.
* An item that nobody is asked about keeps its vector.

``shrunk_noise`` adds (η + ρ̃)/W to a step and not (η + ρ̃)/M: no protocol has it, and it is the one reading whose
errors look like the paper's.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import require, require_seed, require_settings
from discreet.papers.frame.checks import check_readings
from discreet.papers.objective_perturbation.algorithm import own_vectors
from discreet.papers.untrusted.privacy import guarantee
from discreet.populations.asking import check_ratings
from discreet.privacy.randomness import Randomness
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import Floats, Indices, Progress, no_progress

if TYPE_CHECKING:
    from discreet.audit.recording import Look

CHOICES: dict[str, tuple[str, ...]] = {
    "scenario": ("static", "dynamic"),
    "divisor": ("row", "ratings", "none"),
    "order": ("together", "user first"),
    "user_norm": ("free", "projected"),
}


@checked
@dataclass(frozen=True, kw_only=True)
class UntrustedMF:
    """Matrix factorisation whose users send masked, noisy gradients. Claimed, not proven.

    Parameters
    ----------
    epsilon
        What the paper claims, of the last V and of every round; None for no noise.
    scenario
        ``static`` for S2, ``dynamic`` for S3.
    factors, iterations, learning_rate
        d, the rounds, and γ. The paper has 100 rounds in S2, 10,000 in S3.
    user_penalty, item_penalty
        λ and μ.
    at_most
        How many users are asked in a round of S3: 1,000 for Netflix, 100 for MovieLens.
    joins, leaves, online_at_start
        Of S3: with which probability users come and go after a round, and which share is there at first.
    divisor, order, user_norm, shrunk_noise, bits, fraction_bits
        How the text is read: see the module.
    seed
        Of U(0) and V(0), and of who is there.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = UntrustedMF(epsilon=10.0, factors=4, iterations=10, user_norm="projected").fit(ratings)
    >>> release.arrays["item_factors"].shape, release.guarantee.proven is None
    ((30, 4), True)
    """

    epsilon: float | None = 0.1
    scenario: Literal["static", "dynamic"] = "static"
    factors: int = 50
    iterations: int = 100
    learning_rate: float = 2.0**-5
    user_penalty: float = 0.001
    item_penalty: float = 0.001
    at_most: int = 100
    joins: float = 0.005
    leaves: float = 0.01
    online_at_start: float = 0.1
    divisor: Literal["row", "ratings", "none"] = "row"
    order: Literal["together", "user first"] = "together"
    user_norm: Literal["free", "projected"] = "free"
    shrunk_noise: bool = False
    bits: int = 64
    fraction_bits: int = 24
    seed: int = 0

    raw_ratings: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_readings(self, CHOICES)
        require_settings(self, "factors", "at_most", least=1)
        require_settings(self, "iterations", "fraction_bits", least=0)
        require_settings(self, "learning_rate", "user_penalty", "item_penalty", above=0)
        for name in ("joins", "leaves", "online_at_start"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"{name} is a probability between 0 and 1, got {value}")
        require(self.bits in (32, 64), f"bits must be 32 or 64, got {self.bits}")
        require(
            self.fraction_bits < self.bits - 8,
            f"fraction_bits must leave at least 8 of {self.bits} bits before the point, got {self.fraction_bits}",
        )
        require_seed(self.seed)

    def fit(
        self, ratings: Ratings, progress: Progress = no_progress, *, randomness: Randomness | None = None
    ) -> Release:
        """Run the protocol for all users at once, and publish the item factors of the last round.

        ``randomness`` can be seeded for experiments; the guarantee says so.
        """
        from discreet.papers.untrusted.simulation import simulate

        check_ratings(self, ratings)
        randomness = Randomness() if randomness is None else randomness
        found = simulate(self, ratings, randomness, progress)
        promise = guarantee(self, seeded=randomness.is_seeded)
        return Release(self, {"item_factors": found.items.astype(np.float32)}, ratings.catalogue, promise)

    def observe(self, ratings: Ratings, randomness: Randomness) -> "tuple[Release, tuple[Look, ...]]":
        """A fit as an audit sees it: Theorem 1 claims that a value moves the noise by 2Δ, of scale 2Δ/ε."""
        from discreet.papers.frame.looks import look_at

        release = self.fit(ratings, randomness=randomness)
        if self.epsilon is None:
            return release, ()
        factors, moved = release.arrays["item_factors"], 2 * ratings.catalogue.scale.width
        what = "item factors of a noisy objective"
        return release, look_at(factors, what, sensitivity=moved, scale=moved / self.epsilon)

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (Array("item_factors", "float32", ("items", self.factors)),)

    def predict(self, release: Release, histories: Ratings, users: Indices, items: Indices) -> Floats:
        """u_iᵀv_j, the user's own vector solved from their own ratings."""
        own, factors = own_vectors(release, histories, self.user_penalty, self.divisor)
        return np.asarray((own[users] * factors[items]).sum(axis=1), dtype=np.float32)

    def score(self, release: Release, histories: Ratings) -> Floats:
        """The same for all items."""
        own, factors = own_vectors(release, histories, self.user_penalty, self.divisor)
        return np.asarray(own @ factors.T, dtype=np.float32)

    @property
    def unit(self) -> float:
        """How many whole numbers stand for 1."""
        return 2.0**self.fraction_bits
