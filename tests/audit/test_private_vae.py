"""An audit of the private autoencoder: canaries found as often as they may be, in one step and in a whole run."""

import numpy as np
import pytest

import discreet as dc
from discreet.kernels.autoencoder import Sizes
from discreet.models.sums.network_gradient import NetworkGradient
from discreet.privacy.gaussian import mu_of

pytest.importorskip("torch")

OTHERS = dc.synthetic(users=6, items=8, ratings=20, seed=1)
SIZES = Sizes(items=8, hidden=0, latent=2, variational=False)


def test_one_step_shows_a_canary_exactly_as_often_as_was_paid_for():
    """The canary's own clipped gradient is the direction that tells most; along it the answers move by μ deviations.

    The mean over n answers on either side is known to √(2/n): the bounds are five of these.
    """
    runs, epsilon, noise = 800, 8.0, dc.Randomness(seed=7)
    gradient = NetworkGradient(SIZES, steps=1, fixed=("output_bias",))
    question = gradient.contribution(SIZES.start(1), 1e-6, 0)  # a clip so small that everybody reaches it
    direction = question.total(OTHERS.select_users(np.array([2])))
    assert np.linalg.norm(direction) == pytest.approx(1)
    along: list[list[float]] = [[], []]
    for side, ratings in enumerate((OTHERS, OTHERS.select_users(np.array([0, 1, 3, 4, 5])))):
        for _ in range(runs):
            server = dc.TrustedServer(ratings, dc.Ledger(epsilon, 1e-6, dc.User()), randomness=noise)
            drawn = server.steps(gradient.asked)
            along[side].append(float(drawn.sum(question) @ direction) / drawn.deviation)
    apart = np.mean(along[0]) - np.mean(along[1])
    theory = mu_of(epsilon, 1e-6)
    assert theory > 1.5 and abs(apart - theory) < 5 * np.sqrt(2 / runs)


def test_a_whole_run_is_not_accused():
    model = dc.models.PrivateVAE(audience=6, latent=1, steps=3, clip=1e-3)
    audit = dc.audit.audit_by_runs(
        model, OTHERS, dc.Terms(epsilon=1.0, delta=0.05, unit="user"), runs=60, randomness=dc.Randomness(seed=5)
    )
    assert not audit.accuses and audit.faults == (), str(audit)
    assert audit.proven.epsilon == pytest.approx(1, rel=1e-2)
