"""What a model that decides by noisy answers chose to ask for, and why, read off its ledger and its arrays."""

import math
from typing import TYPE_CHECKING

from discreet.releases.contents import patterns_in

if TYPE_CHECKING:
    from discreet.privacy.spend import Spend
    from discreet.releases.release import Release

PURPOSES = {"both": "ratings and rankings", "ratings": "ratings", "ranking": "rankings"}
TERMS = ("item biases", "patterns of ratings", "popularity", "who rates what")
"""Of what a held-out rating costs (:mod:`discreet.models.almanac.planner`)."""
PARTS = ("biases of users", "preferences for features", "following opinion and popularity", "released factors")
"""Of a user's own regression (:mod:`discreet.models.home.user_regression`)."""
PAIRS = ("how often pairs of items were rated together", "products of pairs of items, and their weights")
SWEEPS = "what users' own factors say about each item"


def choices_of(release: "Release") -> tuple[str, ...]:
    """A sentence each; none for models that are for one thing, and ask for it.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> choices_of(dc.Almanac().fit(dc.TrustedServer(ratings, dc.Ledger(0.1, 1e-6, dc.User()))))[1]
    'Pairs of items were not asked for: as far as first answers tell, other questions say more.'
    """
    purpose, asked = getattr(release.model, "purpose", None), {spend.what for spend in release.spends}
    if purpose not in PURPOSES:
        return ()
    known_for = f"It is for {PURPOSES[purpose]}."
    if not release.spends:
        return (known_for,)
    factors = [patterns_in(release.arrays[name])[1] for name in ("item_factors", "taste_factors")]
    found, share = max(factors), _share(release, PAIRS)
    if asked.isdisjoint(PAIRS):
        of_pairs = "Pairs of items were not asked for: as far as first answers tell, other questions say more."
    elif found == 0:
        of_pairs = f"Pairs of items were tried with {share} of the budget, and none stood out of the noise."
    else:
        of_pairs = (
            f"Pairs of items stand out of the noise, and got {share} of the budget: {found:,} items have factors."
        )
    refined = sum(spend.times for spend in release.spends if spend.what == SWEEPS)
    sweeps = f"{refined} sweep{'' if refined == 1 else 's'} over users' own factors"
    of_sweeps = f"Ratings were refined by {sweeps}, with {_share(release, (SWEEPS,))} of the budget."
    return tuple(filter(None, (known_for, of_pairs, of_sweeps * (refined > 0), _expected(release), _vote(release))))


def _expected(release: "Release") -> str:
    """What the plan was expected to gain, by the terms of its objective."""
    if "plan" not in release.arrays:
        return ""
    terms = [
        f"{name} {before:.3f} to {after:.3f}"
        for name, (before, after) in zip(TERMS, release.arrays["plan"].tolist(), strict=True)
        if abs(after - before) >= 0.0005
    ]
    gained = float(release.arrays["plan"][:, 0].sum() - release.arrays["plan"][:, 1].sum())
    return f"Expected to gain {gained:.3f} nats for each held-out rating: {', '.join(terms)}." if terms else ""


def _vote(release: "Release") -> str:
    """How users' own held-out ratings weigh the parts of a prediction."""
    if "prior_scales" not in release.arrays:
        return ""
    parts = [f"{name} {float(scale):.2f}" for name, scale in zip(PARTS, release.arrays["prior_scales"], strict=True)]
    return f"Weighed by users' own held-out ratings, under noise (usual: 1): {', '.join(parts)}."


def _share(release: "Release", looks: tuple[str, ...]) -> str:
    """Of epsilon, as far as looks are pure; what these leave is divided by μ²."""
    pure = [spend for spend in release.spends if spend.mechanism != "gaussian"]
    others = [spend for spend in release.spends if spend.mechanism == "gaussian"]
    limit = math.inf if release.guarantee.proven is None else release.guarantee.proven.epsilon
    whole = math.fsum(_squared_mu(spend) for spend in others) or 1.0
    left = max(0.0, 1 - math.fsum(spend.pure_epsilon for spend in pure) / limit)
    share = math.fsum(spend.pure_epsilon / limit for spend in pure if spend.what in looks)
    share += left * math.fsum(_squared_mu(spend) for spend in others if spend.what in looks) / whole
    return f"{share:.0%}"


def _squared_mu(spend: "Spend") -> float:
    return spend.times * spend.noise_multiplier**-2
