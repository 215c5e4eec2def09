"""Item vectors by objective perturbation: the presence of every rating is hidden, with a pure epsilon.

    1. v_j = argmin Σ_i h(r_ij − centre − u_iᵀv) + (Λ/2)‖v‖² + η_jᵀv               most of the budget
       with Huber's loss h, public features u_i, and noise in the objective (:mod:`~discreet.models.sums.huber_items`)
    2. how often each item was rated, with Laplace noise                          the rest

What follows looks at no rating again. Where no rating is far off, the first coordinate is v_j ≈ (Σ_i y_ij − η)/(n_j +
Λ), so (n_j + Λ)·v_j is a noisy sum; with the noisy counts and public features of the items it becomes a bias and what
is not known of it (:mod:`~discreet.models.denoise.item_biases`). The other coordinates are factors, shrunk as their
noise asks for.

**At home** a user solves for a vector of their own from the released items and all of their own ratings
(:mod:`~discreet.models.home.user_regression`).

**Guarantee.** For one rating, present or absent; the proofs are those of the two looks. Objective perturbation with
squared loss, as published, has no such proof: a residual has no bound, and one rating moves the Hessian of an item that
nobody else rated without any (docs/personal_privacy.md).
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.features import item_features
from discreet.errors import require, require_kinds, require_number
from discreet.models.denoise.item_biases import posterior_biases, posterior_counts
from discreet.models.home import methods
from discreet.models.home.item_arrays import COUNTS, ITEM_BIAS, MEAN, UNKNOWN
from discreet.models.home.user_regression import UserRegression
from discreet.models.sums.item_statistics import expected_rating, item_counts
from discreet.populations.asking import check_population
from discreet.populations.population import Population
from discreet.privacy.unit import Rating
from discreet.releases.declared import Array
from discreet.releases.release import Release
from discreet.types import AnyArray, Floats, Progress, no_progress

FACTOR_SPREAD = 0.1
"""How large the coefficients of public facts are expected, in widths of the scale."""


@dataclass(frozen=True, kw_only=True)
class HuberMF:
    """Item biases, and factors of public facts about users, by Huber objective perturbation.

    Parameters
    ----------
    threshold
        In widths of the scale: how far off a rating may be and still pull as hard as it is off.
    count_share
        How much of the budget the counts get.
    facts
        Facts about users that are public, as ``"gender=F,gender=M"``. Naming one here says that it is, and so does the
        guarantee.
    noise
        ``radial``, for a pure epsilon; or ``gaussian``, which needs a delta and pays with very many facts.
    tolerance
        How long the gradient at a minimiser may be, in points of the scale: noise covers what it leaves open.
    features
        Whether genres and years of the catalogue are used.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> release = dc.HuberMF().fit(dc.TrustedServer(ratings, dc.Ledger(epsilon=1.0)))
    >>> [spend.mechanism for spend in release.spends]
    ['pure', 'laplace']
    """

    threshold: float = 0.3
    count_share: float = 0.3
    facts: str = ""
    noise: Literal["radial", "gaussian"] = "radial"
    tolerance: float = 1e-6
    features: bool = True

    def __post_init__(self) -> None:
        require(isinstance(self.facts, str), f"facts must be text, as 'gender=F,gender=M', got {self.facts!r}")
        require_number("threshold", self.threshold, above=0)
        require_number("count_share", self.count_share, above=0, below=1)
        require_number("tolerance", self.tolerance, least=1e-7)
        require_kinds(self)

    def fit(self, population: Population, progress: Progress = no_progress) -> Release:
        """Ask for perturbed minimisers and for counts."""
        from discreet.models.sums.huber_items import CONSTANT, LEAST_RIDGE, HuberItems

        check_population(self, population)
        catalogue = population.catalogue
        width = catalogue.scale.width
        counted = item_counts(len(catalogue), population.unit or Rating())
        asked = HuberItems(
            catalogue=catalogue,
            threshold=self.threshold * width,
            facts=tuple(fact.strip() for fact in self.facts.split(",") if fact.strip()),
            noise=self.noise,
            tolerance=self.tolerance,
        )
        # First, since it may be refused: nothing was spent then.
        vectors = population.run(asked, 1 - self.count_share)["vectors"]
        progress(1, 2, "item vectors")
        ridge, inside = LEAST_RIDGE, 0.0
        if population.unit is not None:
            spend = population.spends[-1]
            ridge, inside = asked.ridge(spend.pure_epsilon), asked.deviation(spend.pure_epsilon, spend.sensitivity)
        deviation = population.deviation(counted, self.count_share)
        counts = posterior_counts(population.sum(counted, self.count_share), deviation)
        constant = np.sqrt(CONSTANT) if self.facts else 1.0
        sums = (constant**2 * counts + ridge) * vectors[:, 0] / constant
        bias, unknown = posterior_biases(counts, sums, inside / constant, 1.0, self._features(catalogue), width)
        centre = expected_rating(catalogue.scale)
        mean = centre + float(bias @ counts) / max(float(counts.sum()), 1.0)
        base = np.clip(centre + bias, catalogue.scale.low, catalogue.scale.high).astype(np.float32)
        # Of a coordinate with the spread t before, what noise of deviation inside/(n + Λ) leaves is worth this much.
        spread, noise = (FACTOR_SPREAD * width) ** 2, (inside / (counts + ridge)) ** 2
        arrays: dict[str, AnyArray] = {
            "mean": np.array([mean], dtype=np.float32),
            "item_bias": base - np.float32(mean),
            "unknown": unknown.astype(np.float32),
            "counts": counts.astype(np.float32),
            "item_factors": (vectors[:, 1:] * (np.sqrt(1 - CONSTANT) * spread / (spread + noise))[:, None]).astype(
                np.float32
            ),
        }
        progress(2, 2, "counts")
        public = dict.fromkeys(f"the {fact.partition('=')[0]} of each user" for fact in asked.facts)
        return Release.of(self, population, arrays, public)

    def _features(self, catalogue: Catalogue) -> Floats:
        found = item_features(catalogue)
        return found if self.features else found[:, :0]

    def declared(self, names: Collection[str]) -> tuple[Array, ...]:
        """The arrays of a release."""
        return (MEAN, ITEM_BIAS, UNKNOWN, COUNTS, Array("item_factors", "float32", ("items", "facts")))

    def prepare(self, release: Release) -> UserRegression:
        """The regression of everyone's own ratings, without any user."""
        arrays = release.arrays
        return UserRegression.of(
            arrays["mean"][0] + arrays["item_bias"],
            arrays["unknown"],
            arrays["counts"],
            self._features(release.catalogue),
            arrays["item_factors"],
            release.catalogue.scale.width,
        )

    predict, score = methods.predict, methods.score
