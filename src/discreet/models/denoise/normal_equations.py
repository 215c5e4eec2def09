"""Item factors from normal equations with noise: post-processing, so it costs no privacy.

Of item i are known, with c_i its weight and m_i about how much it was rated (weighted likewise)

    G_i + noise of deviation s'     the left side of its normal equations, off the diagonal s'/√2
    h_i = G_i x_i + stray + noise   the right side: noise of deviation s, strays of variance σ² w c_i G_i

Three steps of empirical Bayes, from these noisy values and public constants alone:

**Left sides.** All items share a Ḡ: G_i = m_i Ḡ + m_i D_i. Ḡ is the ratio of sums over items, in which noise averages
out, cut to what is positive. How large deviations D are, τ², is what ‖G_i − m_i Ḡ‖² has beyond noise, and

    G_i  ←  m_i Ḡ + (G_i − m_i Ḡ) m_i² τ² / (m_i² τ² + noise)         cut to what is positive

With much noise all items have the common matrix and only their right sides speak; with little each has its own.

**The map of public features.** x_i = W f_i + free part of variances t². W by generalised ridge about what it was:
h_i has mean G_i W f_i and variance V_i = G_i diag(t²) G_i + σ² w c_i G_i + s² + g_i E‖x_i‖², where g_i is the variance
that is left on a cell of G_i. One W serves all items, so it is known when no item's own factors are.

**Items.** x_i = W f_i + diag(t²) G_i V_i⁻¹ (h_i − G_i W f_i), and what remains unknown of each coordinate.
"""

from dataclasses import dataclass

import numpy as np

from discreet.types import Doubles

FAINT = 1e-9


@dataclass(frozen=True, eq=False)
class NoisyEquations:
    """Normal equations of many items, as they were answered.

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
        """With the left sides behind their noise."""
        total = max(float(self.masses.sum()), FAINT)
        common = positive(self.grams.sum(axis=0) / total)
        pooled = self.masses[:, None, None] * common
        apart = self.grams - pooled
        d = len(common)
        noise = self.gram_deviation**2 * (d + d * (d - 1) / 2)
        beyond = float(((apart**2).sum(axis=(1, 2)) - noise).sum()) / max(float((self.masses**2).sum()), FAINT)
        own = self.masses**2 * max(beyond, 0.0)
        kept = own / (own + noise + FAINT)
        grams = positive(pooled + kept[:, None, None] * apart)
        return NormalEquations(grams, self.moments, self.deviation, self.residual_variance, kept * noise / d**2)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """Normal equations of many items, their left sides cleaned.

    Parameters
    ----------
    grams, moments, deviation, residual_variance
        As above.
    doubt
        The g above: the variance that is left on a cell of each item's left side.
    """

    grams: Doubles
    moments: Doubles
    deviation: float
    residual_variance: Doubles
    doubt: Doubles

    def _precisions(self, expected: Doubles, variances: Doubles) -> Doubles:
        """V⁻¹ of every item."""
        of_free = (self.grams * variances[:, None, :]) @ self.grams
        length = (expected**2 + variances).sum(axis=1)
        noise = (self.deviation**2 + self.doubt * length + FAINT)[:, None, None] * np.eye(self.grams.shape[1])
        return np.asarray(
            np.linalg.inv(of_free + self.residual_variance[:, None, None] * self.grams + noise), dtype=np.float64
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
        """x of every item about what is expected of it, and the variances of what remains unknown."""
        towards = variances[:, :, None] * (self.grams @ self._precisions(expected, variances))
        found = expected + (towards @ (self.moments - self._expected(expected))[:, :, None])[:, :, 0]
        removed = np.einsum("iab,iba->ia", towards, self.grams * variances[:, None, :])
        return np.asarray(found), np.maximum(variances - removed, 0)

    def _expected(self, items: Doubles) -> Doubles:
        return np.asarray((self.grams @ items[:, :, None])[:, :, 0])


def positive(matrices: Doubles) -> Doubles:
    """The nearest positive semidefinite matrices.

    >>> positive(np.array([[1.0, 0.0], [0.0, -2.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray((vectors * np.maximum(values, 0)[..., None, :]) @ np.swapaxes(vectors, -1, -2))
