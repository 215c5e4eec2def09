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
from typing import Any

import numpy as np

from discreet.kernels.row_solves import beside, in_memory, library_of, positive, where_solved
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
        grams, moments, masses, residual_variance = where_solved(
            len(self.grams), self.grams, self.moments, self.masses, self.residual_variance
        )
        total = max(float(masses.sum()), TINY)
        common = positive(grams.sum(0) / total)
        pooled = masses[:, None, None] * common
        difference = grams - pooled
        d = len(common)
        noise = self.gram_deviation**2 * (d + d * (d - 1) / 2)
        beyond = float(((difference**2).sum((1, 2)) - noise).sum()) / max(float((masses**2).sum()), TINY)
        own = masses**2 * max(beyond, 0.0)
        kept = own / (own + noise + TINY)
        grams = positive(pooled + kept[:, None, None] * difference)
        return NormalEquations(grams, moments, self.deviation, residual_variance, kept * noise / d**2)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """Normal equations of many items, their left sides denoised; arrays, or tensors where a GPU is used.

    Parameters
    ----------
    grams, moments, deviation, residual_variance
        As above.
    gram_variance
        The g above.
    """

    grams: Any
    moments: Any
    deviation: float
    residual_variance: Any
    gram_variance: Any

    def _precisions(self, expected: Any, variances: Any) -> Any:
        """V⁻¹ of every item."""
        of_items_own = (self.grams * variances[:, None, :]) @ self.grams
        length = (expected**2 + variances).sum(1)
        (diagonal,) = beside(self.grams, np.eye(self.grams.shape[1]))
        noise = (self.deviation**2 + self.gram_variance * length + TINY)[:, None, None] * diagonal
        return library_of(noise).linalg.inv(of_items_own + self.residual_variance[:, None, None] * self.grams + noise)

    def map_of(self, features: Doubles, start: Doubles, variances: Doubles, spreads: Doubles) -> Doubles:
        """W above, d × features, about ``start`` with ``spreads`` (of the same shape)."""
        (d, p), size = start.shape, len(features)
        f, w, variance = beside(self.grams, features, start, variances)
        from_precision = self.grams @ self._precisions(f @ w.T, variance)
        of_items = (from_precision @ self.grams).reshape(size, d * d)
        pairs = (f[:, :, None] * f[:, None, :]).reshape(size, p * p)
        gram = (of_items.T @ pairs).reshape(d, d, p, p).swapaxes(1, 2).reshape(d * p, d * p)
        left = (from_precision @ (self.moments - self._expected(f @ w.T))[:, :, None])[:, :, 0]
        moment = (left.T @ f).reshape(-1)
        step = np.linalg.solve(in_memory(gram) + np.diag(1 / spreads.ravel() ** 2), in_memory(moment))
        return np.asarray(start + step.reshape(d, p))

    def items(self, expected: Doubles, variances: Doubles) -> tuple[Doubles, Doubles]:
        """Posterior means and variances of x about ``expected``."""
        x, variance = beside(self.grams, expected, variances)
        towards = variance[:, :, None] * (self.grams @ self._precisions(x, variance))
        found = x + (towards @ (self.moments - self._expected(x))[:, :, None])[:, :, 0]
        removed = library_of(towards).einsum("iab,iba->ia", towards, self.grams * variance[:, None, :])
        return in_memory(found), in_memory((variance - removed).clip(0))

    def _expected(self, items: Any) -> Any:
        return (self.grams @ items[:, :, None])[:, :, 0]
