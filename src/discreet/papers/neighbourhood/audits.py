"""What an attacker learns from the published releases: each leak by itself, by runs of the system on two data sets.

The two differ in the value of one rating, which is what DPSGD-PNBM claims to hide. With one iteration the released
similarities are a function of the ratings plus Laplace noise, so the likelihood ratio is known and the attack is the
best there is. Half of the runs choose a threshold, the other half bound epsilon (Clopper and Pearson, 95 %): what is
shown is a lower bound, limited by the number of runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from discreet.audit.judging import judge
from discreet.data.ratings import Ratings
from discreet.data.synthetic import synthetic
from discreet.papers.neighbourhood.change import worst_pair
from discreet.papers.neighbourhood.descent import DPSGDPNBM
from discreet.privacy.noise import add_laplace, grid_of
from discreet.privacy.randomness import Randomness
from discreet.types import Doubles

CONFIDENCE = 0.95
CLAIMED = 1.0
RUNS = 1000
PROFILE = 20
"""Ratings of the user of the constructed pair."""
RARE, COMMON = None, 399
"""Which rating is changed: one of the item with the fewest, or one that moves the gradient of the code far."""
LETTER = DPSGDPNBM(epsilon=CLAIMED)
CODE = DPSGDPNBM(epsilon=CLAIMED, start="random", as_released_code=True, learning_rate=0.4, bound=10.0)
ATTACKED: Mapping[str, tuple[str, DPSGDPNBM, int | None]] = {
    "item means": ("item_mean", LETTER, RARE),
    "cosine start": ("similarities", replace(LETTER, start="cosine"), RARE),
    "constant start": ("similarities", LETTER, COMMON),
    "no clamp": ("similarities", CODE, COMMON),
}
"""What is attacked, by the leak that it shows: an array of a release, the system, and the changed rating."""
STEP = "one step"
"""The gradient with its noise, to the letter and C enforced, on the constructed pair of :mod:`.change`."""


def changed_rating(place: int | None) -> tuple[Ratings, Ratings]:
    """Made-up ratings, and the same with one of them at the other end of the scale."""
    before = synthetic(users=40, items=30, ratings=700, seed=1)
    counts = np.bincount(before.item_index, minlength=before.n_items)
    if place is None:
        place = int(np.argmin(counts[before.item_index]))
    values = before.values.copy()
    values[place] = 1.0 if values[place] > 3 else 5.0
    return before, replace(before, values=values)


def shown_epsilon(name: str, randomness: Randomness, runs: int = RUNS) -> float:
    """The epsilon that an attack shows, at least."""
    draw = _step if name == STEP else _release
    exact, runs_of = draw(name, randomness)

    def score(seen: Doubles) -> float:
        return float(np.abs(seen - exact[0]).sum() - np.abs(seen - exact[1]).sum())

    sides = [np.array([score(run()) for _ in range(runs)]) for run in runs_of]
    return judge({name: (sides[0], sides[1])}, runs // 2, 0.0, CONFIDENCE).epsilon


Runs = tuple[Callable[[], Doubles], Callable[[], Doubles]]


def _release(name: str, randomness: Randomness) -> tuple[list[Doubles], Runs]:
    """An array of the release: what it is without noise on either side, and runs of both."""
    array, model, place = ATTACKED[name]
    before, after = changed_rating(place)

    def released(ratings: Ratings, epsilon: float | None) -> Doubles:
        release = replace(model, epsilon=epsilon).fit(ratings, randomness=randomness)
        return release.arrays[array].astype(np.float64)

    exact = [released(side, None) for side in (before, after)]
    return exact, (lambda: released(before, CLAIMED), lambda: released(after, CLAIMED))


def _step(name: str, randomness: Randomness) -> tuple[list[Doubles], Runs]:
    """The noisy gradient of the constructed pair, the same way."""
    model = replace(LETTER, enforces_bound=True)
    before, after, means, near = worst_pair(PROFILE, model.bound)
    exact = [model.gradient(side, means, near, 1) for side in (before, after)]
    scale = model.noise_scale(1, 4.0)

    def run(side: int) -> Callable[[], Doubles]:
        return lambda: add_laplace(exact[side], scale, grid_of(scale), randomness)

    return exact, (run(0), run(1))
