"""Our draws and OpenDP's, whose samplers are proved elsewhere, have the same law."""

import numpy as np
import pytest
from scipy import stats

from discreet.privacy.noise import draw_discrete_gaussian, draw_discrete_laplace
from discreet.privacy.randomness import Randomness

dp = pytest.importorskip("opendp.prelude")


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_two_samples_of_one_law(law):
    """Two-sample chi-square; OpenDP cannot be seeded, so a false alarm has odds of one in a billion."""
    dp.enable_features("contrib")
    integers = dp.vector_domain(dp.atom_domain(T=int))
    if law == "laplace":
        theirs = dp.m.make_laplace(integers, dp.l1_distance(T=int), 3.0)
        ours = draw_discrete_laplace
    else:
        theirs = dp.m.make_gaussian(integers, dp.l2_distance(T=int), 3.0)
        ours = draw_discrete_gaussian
    reference = np.clip(theirs([0] * 40_000), -9, 9) + 9
    for scale, alike in ((3.0, True), (3.0 * 0.7, False), (3.0 * 1.3, False)):
        draws = np.clip(ours(scale, 40_000, Randomness(seed=1)), -9, 9) + 9
        table = np.stack([np.bincount(draws, minlength=19), np.bincount(reference, minlength=19)])
        table = table[:, table.sum(axis=0) > 20]
        p_value = stats.chi2_contingency(table).pvalue
        assert p_value > 1e-9 if alike else p_value < 1e-20
