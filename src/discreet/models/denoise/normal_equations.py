"""Item factors from noisy normal equations: post-processing, so it costs no privacy.

Known of item i, with c_i its weight and m_i about how much it was rated (weighted likewise):

    G_i + noise of deviation s'      the left side of its normal equations; off the diagonal s'/√2
    h_i = G_i x_i + error + noise    the right side: noise of deviation s, errors of variance σ² w c_i G_i

Three steps of empirical Bayes, from these noisy values and public constants alone:

**Left sides.** All items share a mean Ḡ: G_i = m_i Ḡ + m_i D_i. Ḡ is the ratio of sums over items, in which noise
averages out, projected to positive semidefinite matrices. The variance τ² of D is what ‖G_i − m_i Ḡ‖² has beyond
noise, and

    G_i  ←  m_i Ḡ + (G_i − m_i Ḡ) m_i² τ² / (m_i² τ² + noise)         projected likewise

With much noise all items have the common matrix and differ in their right sides only; with little each has its own.

**The map of public features.** x_i = W f_i + ξ_i, where ξ_i has variances t². W is a generalised ridge estimate about
its previous value: h_i has mean G_i W f_i and variance V_i = G_i diag(t²) G_i + σ² w c_i G_i + s² + g_i E‖x_i‖², where
g_i is the variance left on a cell of G_i. All items share W, so it can be estimated when single items cannot.

**Items.** The posterior mean x_i = W f_i + diag(t²) G_i V_i⁻¹ (h_i − G_i W f_i), and the variance of each coordinate.
"""

from dataclasses import dataclass

import numpy as np

from discreet.kernels.row_solves import inverses, positive
from discreet.types import Doubles

TINY = 1e-9
"""Keeps divisions possible where nothing was counted and there is no noise."""


@dataclass(frozen=True, eq=False)
class NoisyEquations:
    """Noisy normal equations of many items.

    Parameters
    ----------
    grams, moments
        Left and right sides, items × d × d and items × d.
    masses
        About how much each item was rated: the m above.
    gram_deviation, deviation
        The s' and s above.
    residual_variance
        σ² w c_i, for each item.
    """

    grams: Doubles
    moments: Doubles
    masses: Doubles
    gram_deviation: float
    deviation: float
    residual_variance: Doubles

    def denoised(self) -> "NormalEquations":
        """With the left sides denoised."""
        total = max(float(self.masses.sum()), TINY)
        common = positive(self.grams.sum(axis=0) / total)
        pooled = self.masses[:, None, None] * common
        difference = self.grams - pooled
        d = len(common)
        noise = self.gram_deviation**2 * (d + d * (d - 1) / 2)
        beyond = float(((difference**2).sum(axis=(1, 2)) - noise).sum()) / max(float((self.masses**2).sum()), TINY)
        own = self.masses**2 * max(beyond, 0.0)
        kept = own / (own + noise + TINY)
        grams = positive(pooled + kept[:, None, None] * difference)
        return NormalEquations(grams, self.moments, self.deviation, self.residual_variance, kept * noise / d**2)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """Normal equations of many items, their left sides denoised.

    Parameters
    ----------
    grams, moments, deviation, residual_variance
        As above.
    gram_variance
        The g above.
    """

    grams: Doubles
    moments: Doubles
    deviation: float
    residual_variance: Doubles
    gram_variance: Doubles

    def _precisions(self, expected: Doubles, variances: Doubles) -> Doubles:
        """V⁻¹ of every item."""
        of_items_own = (self.grams * variances[:, None, :]) @ self.grams
        length = (expected**2 + variances).sum(axis=1)
        noise = (self.deviation**2 + self.gram_variance * length + TINY)[:, None, None] * np.eye(self.grams.shape[1])
        return np.asarray(
            inverses(of_items_own + self.residual_variance[:, None, None] * self.grams + noise), dtype=np.float64
        )

    def map_of(self, features: Doubles, start: Doubles, variances: Doubles, spreads: Doubles) -> Doubles:
        """W above, d × features, about ``start`` with ``spreads`` (of the same shape)."""
        d, p = start.shape
        from_precision = self.grams @ self._precisions(features @ start.T, variances)
        of_items = (from_precision @ self.grams).reshape(len(features), d * d)
        pairs = (features[:, :, None] * features[:, None, :]).reshape(len(features), p * p)
        gram = (of_items.T @ pairs).reshape(d, d, p, p).transpose(0, 2, 1, 3).reshape(d * p, d * p)
        left = (from_precision @ (self.moments - self._expected(features @ start.T))[:, :, None])[:, :, 0]
        moment = (left.T @ features).ravel()
        step = np.linalg.solve(gram + np.diag(1 / spreads.ravel() ** 2), moment)
        return np.asarray(start + step.reshape(d, p))

    def items(self, expected: Doubles, variances: Doubles) -> tuple[Doubles, Doubles]:
        """Posterior means and variances of x about ``expected``."""
        towards = variances[:, :, None] * (self.grams @ self._precisions(expected, variances))
        found = expected + (towards @ (self.moments - self._expected(expected))[:, :, None])[:, :, 0]
        removed = np.einsum("iab,iba->ia", towards, self.grams * variances[:, None, :])
        return np.asarray(found), np.maximum(variances - removed, 0)

    def _expected(self, items: Doubles) -> Doubles:
        return np.asarray((self.grams @ items[:, :, None])[:, :, 0])
