"""What the paper's authors ran: NDCG@100, Recall@20 and Recall@50, examples split 8:1:1, five seeds.

A case is a method and what is measured of it: ``ndcg`` or ``recall`` up to some rank. It is read in four ways:

``masked``    ratings of each user split 8:1:1; items of the training and validation parts are left out of the ranking,
              and test items are to be found: the metric of the cited Mult-VAE
``unmasked``  the same, but nothing is left out
``training``  nothing is left out, and training items are to be found too: what the printed recalls look like
``users``     Mult-VAE's protocol: a tenth of the users is held out, 80 % of their ratings are their history, masked

Within a repetition all cases share the splits, the order of users, the first weights and who has which level.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.data.construction import bound_users
from discreet.data.ratings import Ratings
from discreet.evaluation.metrics import find_hits, ndcg_at, recall_at
from discreet.evaluation.protocols import HeldOutUsers
from discreet.papers.dp_vae.algorithm import DPVAE
from discreet.papers.dp_vae.baselines import BASELINES
from discreet.papers.dp_vae.construction import contribution_bounds
from discreet.papers.dp_vae.factors import Factors
from discreet.papers.dp_vae.rounds import fast_generator
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.sets import Sets
from discreet.privacy.randomness import Randomness
from discreet.releases.recommendations import best_items
from discreet.types import Floats

FULL = Grid(epsilon=(0.3, 0.5, 1.0, 1.5), rank=(10.0, 20.0, 50.0, 100.0))
QUICK = Grid(epsilon=(0.3, 1.0), rank=(10.0, 20.0, 50.0, 100.0))
SHARES = (0.8, 0.1, 0.1)
METRICS = (("ndcg", 100.0), ("recall", 20.0), ("recall", 50.0))
"""Of all tables."""
NETWORKS: dict[str, dict[str, Any]] = {
    "VAE": {"epsilon": None, "priors": False},
    "VAE, priors": {"epsilon": None},
    "DP-VAE, neither": {"clipping": "constant", "priors": False},
    "DP-VAE, priors": {"clipping": "constant"},
    "DP-VAE, optimal clip": {"priors": False},
    "DP-VAE": {},
    "AE": {"epsilon": None, "variational": False},
    "DPAE": {"clipping": "plain", "variational": False},
    "AE, their clip": {"levels": "same", "variational": False},
}
"""Methods that are autoencoders, and their settings: ``DP-VAE`` has both of the paper's improvements."""
FACTORS: dict[str, tuple[bool, str]] = {
    "SVD, DP": (True, "plain"),
    "SVD, their clip": (True, "optimal"),
    "MF, DP": (False, "plain"),
    "MF, their clip": (False, "optimal"),
}
"""Factors by Algorithm 3: whether they have biases, and how they are clipped."""
ONE_SPLIT = frozenset({*FACTORS, "DP-VAE, priors", "AE, their clip"})
"""Methods that are not run on strangers: factors know only the users they were trained on, and the others take long."""
BUILT = ("VAE", "KNN", "SVD", "LightFM")
"""Methods that are run on a built data set as well (Table 5); the others take longer."""


def measured(method: str, kind: str, rank: float, **settings: float | None) -> Case:
    """A method, and what is measured of it."""
    if method.startswith("DP-VAE"):
        settings = {"epsilon": 1.0, **settings}
    return Case(method, **settings, **{kind: rank})


class Repetition:
    """Both splits, and what was measured of each method."""

    def __init__(self, sets: Sets, seed: int) -> None:
        self.seed, self.ratings = seed, sets.ratings
        self.train, self.middle, self.test = sets.ratings.split_each_user(SHARES, seed)
        self.strangers = next(iter(HeldOutUsers(seed=seed).splits(sets.ratings)))
        self._found: dict[Case, dict[tuple[str, float], dict[str, float]]] = {}

    def measure(self, case: Case) -> Mapping[str, float]:
        """One metric in every reading."""
        whole = Case(case.method, **{name: value for name, value in case.settings if name not in ("ndcg", "recall")})
        kind = "ndcg" if case.get("ndcg") is not None else "recall"
        if whole not in self._found:
            self._found[whole] = self._measured(whole)
        return self._found[whole][kind, case[kind]]

    def _measured(self, case: Case) -> dict[tuple[str, float], dict[str, float]]:
        train = self.train
        if case.get("built") is not None:
            train = bound_users(train, **dict(zip(("least", "most"), contribution_bounds(train.n_items), strict=True)))
        scores = self.scores(case, train, self.train)
        hits = {
            "masked": ranked(scores, [self.train, self.middle], self.test),
            "unmasked": ranked(scores, [], self.test),
            "training": ranked(scores, [], self.ratings),
        }
        if case.method not in ONE_SPLIT and case.get("built") is None:
            known = self.strangers
            own = self.scores(case, known.train, known.histories)
            hits["users"] = ranked(own, [known.histories], known.test)
        found: dict[tuple[str, float], dict[str, float]] = {}
        for reading, (places, held_out) in hits.items():
            for rank in FULL["rank"]:
                for kind, formula in (("ndcg", ndcg_at), ("recall", recall_at)):
                    value = float(np.mean(formula(int(rank), places, held_out)))
                    found.setdefault((kind, rank), {})[reading] = value
        return found

    def scores(self, case: Case, train: Ratings, histories: Ratings) -> Floats:
        """Of all items, for the users of ``histories``."""
        name, randomness = case.method, Randomness(self.seed)
        if name in BASELINES:
            return BASELINES[name](train, histories, self.seed)
        epsilon = case.get("epsilon")
        if name in FACTORS:
            biased, clipping = FACTORS[name]
            rounds = DPVAE(clipping=clipping, levels="same", seed=self.seed).rounds(train.n_users)  # type: ignore[arg-type]
            return Factors(biased=biased, seed=self.seed).train(train, rounds, fast_generator(randomness))
        settings = NETWORKS[name] | ({} if epsilon is None else {"epsilon": epsilon})
        return DPVAE(seed=self.seed, **settings).fit(train, randomness=randomness).scores(histories)


def ranked(scores: Floats, hidden: list[Ratings], wanted: Ratings) -> tuple[Any, Any]:
    """For every user with something to find: which places of the ranking hold it, and how much there is."""
    best = best_items(np.nan_to_num(scores), hidden, int(max(FULL["rank"])))
    held_out = np.diff(wanted.indptr)
    return find_hits(best, wanted)[held_out > 0], held_out[held_out > 0]
