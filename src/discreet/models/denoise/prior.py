"""A prior from another release, believed as far as the noisy sums bear it out: post-processing, so it costs no privacy.

The noise of the sums has known standard deviations. Everything is estimated from noisy values and public columns.

    same people    Where the prior holds noisy sums of the same kind, and they differ from the new ones by no more than
                   both noises explain, the two are averaged by their noise, 1/variance, before anything else is done
                   (:mod:`~discreet.models.denoise.seen_items`): ten looks at a tenth of μ² are one with all of it.
                   Then only factors are taken from the prior, and the widths of priors at home are averaged.
    popularity     n_i = λ p_i e^{τ z_i}, p_i the counts of the prior. Against it stands the same with all p_i alike.
                   λ and τ are averaged over a grid, weighted by the likelihood of the noisy counts.
    means          sums as in :mod:`~discreet.models.denoise.item_biases` about base + ρ (expected there − its mean),
                   averaged over a grid of ρ from 0 (nothing is believed) to 1. Where popularity does not agree, items
                   were matched wrongly or people are others, so that ρ = 0 is far more likely beforehand.
    factors        of the prior, where both agree and more of them stand out there than in the new sums.

A prior that says nothing true about these items is outweighed, as its likelihood falls with every item that disagrees.
Items that the prior does not know go by their public features, as without one.
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.data.prior import ItemPrior
from discreet.models.denoise.item_biases import CONSTANTS as BIASES
from discreet.models.denoise.item_biases import posterior_biases, posterior_counts
from discreet.models.denoise.seen_items import SeenItems
from discreet.populations.population import Population
from discreet.types import AnyArray, Doubles, Floats


@dataclass(frozen=True)
class _Constants:
    """Set beforehand, and tried on splits of MovieLens 100K with seeds 101 to 103."""

    spreads: tuple[float, ...] = (0.15, 0.3, 0.5, 0.8, 1.2, 1.8, 2.5)
    """The grid of τ."""
    levels: tuple[float, ...] = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)
    """The grid of λ, about its least-squares estimate."""
    nodes: int = 15
    """Of the quadrature over z."""
    trusts: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    """The grid of the trust in its means."""
    doubt: float = 0.5
    """The prior probability that its means say nothing, where popularity agrees."""
    doubt_of_strangers: float = 0.98
    """The same where it does not."""
    believed: float = 0.5
    """How likely it must be that the prior is about these people, for anything of it to be used."""


CONSTANTS = _Constants()


def informed(
    arrays: dict[str, AnyArray], population: Population, seen: SeenItems, features: Floats
) -> dict[str, AnyArray]:
    """The arrays of an almanac with what a prior adds, and with the noisy sums that a later fit may average.

    Without noise, arrays stay as they are.
    """
    if seen.deviation == 0:
        return arrays
    prior = population.catalogue.prior
    if prior is not None:
        arrays = _with_prior(arrays, prior, seen, features)
    return arrays | {
        "noisy_sums": seen.answer.astype(np.float32),
        "sums_noise": seen.deviations.astype(np.float32),
        "sums_kind": seen.sums.kind,
    }


def _with_prior(
    arrays: dict[str, AnyArray], prior: ItemPrior, seen: SeenItems, features: Floats
) -> dict[str, AnyArray]:
    """Counts, means and factors.

    What the noisy sums do not bear out changes nothing; nor is anything changed that rests on more patterns of the
    fit's own than the prior has.
    """
    found, same_people = dict(arrays), math.isfinite(seen.before)
    counts, agrees = counts_with(seen, prior)
    if not same_people and agrees <= CONSTANTS.believed:
        return found
    tastes, factors = arrays["taste_factors"], arrays["item_factors"]
    more_tastes, more_factors = _more(tastes, prior.tastes), _more(factors, prior.factors)
    if more_tastes:
        found["taste_factors"] = _fitted(prior.tastes, tastes.shape[1])
        found["neighbour_weights"] = np.zeros_like(found["neighbour_weights"])  # they go with what is replaced
        found.pop("popularity_floor", None)
    if same_people:
        return found | _of_nights_before(found, prior, seen, more_factors)
    asked = seen.sums
    if more_tastes or not tastes.any():
        found["counts"] = (counts / asked.typical_weight).astype(np.float32)
    if asked.counts_alone or (factors.any() and not more_factors):
        return found
    bias, unknown, believed = biases_with(counts, seen, prior, features, agrees)
    if believed <= CONSTANTS.believed:
        return found
    base = np.clip(asked.base + bias, asked.scale.low, asked.scale.high)
    mean = float(base @ counts / max(counts.sum(), 1e-9))
    found["mean"] = np.array([mean], dtype=np.float32)
    found["item_bias"] = (base - mean).astype(np.float32)
    found["unknown"] = unknown.astype(np.float32)
    if more_factors:
        found["item_factors"] = _fitted(prior.factors, factors.shape[1])
    return found


def _of_nights_before(
    arrays: dict[str, AnyArray], prior: ItemPrior, seen: SeenItems, more_factors: bool
) -> dict[str, AnyArray]:
    """What a release of the same people adds besides its sums, which were averaged already."""
    found: dict[str, AnyArray] = {}
    if more_factors:
        found["item_factors"] = _fitted(prior.factors, arrays["item_factors"].shape[1])
    if prior.prior_scales is not None and "prior_scales" in arrays:
        nights = (seen.deviation / seen.before) ** 2  # their part of all that was seen
        found["prior_scales"] = arrays["prior_scales"] ** (1 - nights) * prior.prior_scales**nights
    return found


def counts_with(seen: SeenItems, prior: ItemPrior) -> tuple[Doubles, float]:
    """Posterior counts, and how likely it is that the prior's popularity is about these people."""
    counts = posterior_counts(seen.answer[0], seen.deviations[0])
    here = prior.matched & (prior.counts > 0)
    noisy, noise, expected = seen.answer[0][here], seen.deviations[0][here], prior.counts[here].astype(np.float64)
    if here.sum() < 2 or noisy @ expected <= 0:
        return counts, 0.0
    like_prior = _grid(noisy, noise, expected)
    alike = _grid(noisy, noise, np.full(len(noisy), max(float(noisy.mean()), 1e-9)))
    best = max(like_prior[0].max(), alike[0].max())
    mine, others = (np.exp(found[0] - best) for found in (like_prior, alike))
    agrees = float(mine.sum() / (mine.sum() + others.sum()))
    if agrees > 0:  # otherwise no grid point of the prior's has a likelihood that a double can hold
        counts[here] = agrees * (mine / mine.sum() @ like_prior[1]) + (1 - agrees) * counts[here]
    return counts, agrees


def _grid(noisy: Doubles, noise: Doubles, expected: Doubles) -> tuple[Doubles, Doubles]:
    """For every λ and τ the log-likelihood of the noisy counts, and the posterior means of the counts."""
    points, weights = np.polynomial.hermite_e.hermegauss(CONSTANTS.nodes)
    weights = weights / weights.sum()
    level = max(float(noisy @ expected) / float(expected @ expected), 1e-12)
    likelihoods, means = [], []
    for spread in CONSTANTS.spreads:
        for factor in CONSTANTS.levels:
            places = level * factor * expected[:, None] * np.exp(spread * points - spread**2 / 2)
            exponent = -0.5 * ((noisy[:, None] - places) / noise[:, None]) ** 2
            top = exponent.max(axis=1, keepdims=True)
            likely = weights * np.exp(exponent - top)
            total = likely.sum(axis=1)
            likelihoods.append(float((np.log(total) + top[:, 0]).sum()))
            means.append((likely * places).sum(axis=1) / total)
    return np.array(likelihoods), np.array(means)


def biases_with(
    counts: Doubles, seen: SeenItems, prior: ItemPrior, features: Floats, agrees: float
) -> tuple[Doubles, Doubles, float]:
    """Posterior biases about the base, their variances, and how likely it is that the prior's means say anything."""
    asked, width = seen.sums, seen.sums.scale.width
    sums, deviation = seen.answer[1] * asked.points, seen.deviations[1] * asked.points
    offset = np.zeros(len(counts))
    if prior.base is not None and agrees > 0:
        weight = counts * prior.matched
        offset = np.where(prior.matched, prior.base - prior.base @ weight / max(float(weight.sum()), 1e-9), 0.0)
    trusts = CONSTANTS.trusts if offset.any() else (0.0,)
    doubt = agrees * CONSTANTS.doubt + (1 - agrees) * CONSTANTS.doubt_of_strangers
    scores, means, variances = [], [], []
    for trust in trusts:
        left = sums - counts * trust * offset
        settings = (counts, left, deviation, asked.typical_weight, features, width, seen.deviations[0])
        mean, variance = posterior_biases(*settings)
        beforehand = doubt if trust == 0 else (1 - doubt) / (len(trusts) - 1)
        scores.append(_evidence(*settings) + (0.0 if len(trusts) == 1 else np.log(beforehand)))
        means.append(mean + trust * offset)
        variances.append(variance)
    likely = np.exp(np.array(scores) - max(scores))
    likely /= likely.sum()
    mean = likely @ np.array(means)
    return mean, likely @ (np.array(variances) + (np.array(means) - mean) ** 2), float(1 - likely[0])


def _evidence(
    counts: Doubles, sums: Doubles, deviation: Doubles, weight: float, features: Floats, width: float, noise: Doubles
) -> float:
    """The log-likelihood of the sums, the line and the spread t averaged out, up to a constant.

    The same model as that of :func:`~discreet.models.denoise.item_biases.posterior_biases`.
    """
    popularity = np.log((counts + BIASES.count_smoothing * noise) / weight + 1)
    popularity = (popularity - popularity @ counts / max(counts.sum(), 1e-9)) / 2
    line = np.concatenate([np.ones((len(counts), 1)), popularity[:, None], features], axis=1)
    spread_of_line = np.r_[BIASES.level_spread, np.full(line.shape[1] - 1, BIASES.slope_spread)] * width
    found = []
    for spread in np.array(BIASES.spreads) * width:
        variance = counts**2 * spread**2 + (BIASES.residual_deviation * width) ** 2 * weight * counts
        variance = variance + deviation**2 + 1e-12
        rows, target = line * (counts / np.sqrt(variance))[:, None], sums / np.sqrt(variance)
        gram, moment = rows.T @ rows + np.diag(1 / spread_of_line**2), rows.T @ target
        fitted = moment @ np.linalg.solve(gram, moment)
        unlikely = (np.log(spread / width / BIASES.likely_spread) / BIASES.of_log_spread) ** 2
        found.append(-0.5 * (target @ target - fitted + np.log(variance).sum() + np.linalg.slogdet(gram)[1] + unlikely))
    top = max(found)
    return float(top + np.log(np.exp(np.array(found) - top).sum()))


def _more(own: Floats, others: Floats) -> bool:
    """Whether more patterns stand out in the prior."""
    return int(others.any(axis=0).sum()) > int(own.any(axis=0).sum())


def _fitted(factors: Floats, width: int) -> Floats:
    """Factors with so many columns, zeros behind them."""
    kept = factors[:, factors.any(axis=0)][:, :width]
    return np.pad(kept, ((0, 0), (0, width - kept.shape[1]))).astype(np.float32)
