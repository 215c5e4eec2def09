"""Small releases of every model, exported; node and a browser, where the machine has them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.fitting.fit_on import fit_on
from discreet.names import every_model
from discreet.web import export_release
from discreet.web.agreement import program_of

SETTINGS: dict[str, dict[str, Any]] = {
    "bayesian-mf": {"factors": 4},
    "mf": {"factors": 8},
    "pmf": {"factors": 5},
    "svd": {"factors": 10},
    "implicit-als": {"factors": 8, "sweeps": 3},
    "warp": {"factors": 8},
    "mult-vae": {"hidden": 16, "latent": 4, "epochs": 3, "patience": 0},
    "auto-encoder": {"hidden": 0, "latent": 6, "epochs": 3, "patience": 0},
}
OTHER_FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "covariance-knn, neighbours": ("covariance-knn", {"form": "neighbours"}),
    "covariance-knn, interpolation": ("covariance-knn", {"form": "interpolation"}),
    "pnbm, lists": ("pnbm", {"neighbours": 20}),
    "pnbm, item": ("pnbm", {"centre": "item", "floor": 2.0}),
    "cosine, plain": ("cosine", {"damping": 0, "centre": "none", "neighbours": 30}),
    "mf, not biased": ("mf", {"factors": 4, "biased": False}),
    "mult-vae, no hidden layer": ("mult-vae", {"hidden": 0, "latent": 6, "epochs": 2, "patience": 0}),
}
"""Settings by which a device has to do something else."""


@dataclass(frozen=True)
class Exported:
    release: dc.Release
    folder: Path


@pytest.fixture(scope="session")
def ratings() -> dc.Ratings:
    return dc.synthetic(users=400, items=150, ratings=9000, seed=2)


@pytest.fixture(scope="session")
def exported(ratings, tmp_path_factory) -> Any:
    """A function from a name to a release of that model and its export."""
    made: dict[str, Exported] = {}

    def of(name: str) -> Exported:
        if name not in made:
            kind, settings = OTHER_FORMS.get(name, (name, SETTINGS.get(name, {})))
            release = fit_on(every_model()[kind](**settings), ratings)
            folder = tmp_path_factory.mktemp("exports") / "web"
            made[name] = Exported(release, export_release(release, folder))
        return made[name]

    return of


@pytest.fixture(scope="session")
def node() -> str:
    if (found := program_of("node")) is None:
        pytest.skip("no node on this machine")
    return found


@pytest.fixture(scope="session")
def chromium() -> str:
    if (found := program_of("chromium")) is None:
        pytest.skip("no chromium on this machine")
    return found
