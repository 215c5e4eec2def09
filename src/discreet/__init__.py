"""Discreet: a recommender system whose users' ratings stay secret.

>>> import discreet as dc
>>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
>>> train, test = ratings.split(test=0.2, seed=1)
>>> release = dc.Bias().fit(dc.NoPrivacy(train))
>>> len(release.recommend(train.history_at(0), k=2))
2
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from discreet import papers as papers
    from discreet.audit.one_run import audit_in_one_run as audit_in_one_run
    from discreet.audit.results import Audit as Audit
    from discreet.audit.runs import audit_by_runs as audit_by_runs
    from discreet.audit.sensitivity import check_sensitivity as check_sensitivity
    from discreet.collect.client import make_report as make_report
    from discreet.collect.mechanisms import Piecewise as Piecewise
    from discreet.collect.mechanisms import RandomisedResponse as RandomisedResponse
    from discreet.collect.mechanisms import UniformNoise as UniformNoise
    from discreet.collect.presence import HiddenItems as HiddenItems
    from discreet.collect.reconstruction import reconstruct as reconstruct
    from discreet.collect.reconstruction import risk_of as risk_of
    from discreet.collect.sent import sent_reports as sent_reports
    from discreet.collect.simulation import perturb_ratings as perturb_ratings
    from discreet.data.catalogue import Catalogue as Catalogue
    from discreet.data.catalogue import Scale as Scale
    from discreet.data.datasets import available as available
    from discreet.data.datasets import fetch as fetch
    from discreet.data.description import describe as describe
    from discreet.data.handling import Handling as Handling
    from discreet.data.history import History as History
    from discreet.data.history_file import read_history as read_history
    from discreet.data.labels import Labels as Labels
    from discreet.data.loading import load as load
    from discreet.data.movielens import read_movielens_split as read_movielens_split
    from discreet.data.netflix import read_netflix_probe as read_netflix_probe
    from discreet.data.parts import RatingsInParts as RatingsInParts
    from discreet.data.ratings import Ratings as Ratings
    from discreet.data.report import UserReport as UserReport
    from discreet.data.reports import read_reports as read_reports
    from discreet.data.synthetic import synthetic as synthetic
    from discreet.data.tables import from_frame as from_frame
    from discreet.errors import BudgetError as BudgetError
    from discreet.errors import DataError as DataError
    from discreet.errors import DiscreetError as DiscreetError
    from discreet.errors import FetchError as FetchError
    from discreet.errors import InputError as InputError
    from discreet.errors import OverspentError as OverspentError
    from discreet.errors import ReleaseError as ReleaseError
    from discreet.errors import UnknownNameError as UnknownNameError
    from discreet.evaluation.comparison import compare as compare
    from discreet.evaluation.comparison import evaluate as evaluate
    from discreet.evaluation.protocols import EachUser as EachUser
    from discreet.evaluation.protocols import Folds as Folds
    from discreet.evaluation.protocols import HeldOutUsers as HeldOutUsers
    from discreet.evaluation.protocols import HoldOut as HoldOut
    from discreet.evaluation.published import PublishedRanking as PublishedRanking
    from discreet.evaluation.published import PublishedRatings as PublishedRatings
    from discreet.evaluation.results import Report as Report
    from discreet.evaluation.search import Search as Search
    from discreet.fitting.spending import spend_and_release as spend_and_release
    from discreet.models.almanac import Almanac as Almanac
    from discreet.models.als import ALS as ALS
    from discreet.models.bayesian_mf import BayesianMF as BayesianMF
    from discreet.models.bias import Bias as Bias
    from discreet.models.cosine import Cosine as Cosine
    from discreet.models.covariance_knn import CovarianceKNN as CovarianceKNN
    from discreet.models.ease import EASE as EASE
    from discreet.models.implicit_als import ImplicitALS as ImplicitALS
    from discreet.models.mf import MF as MF
    from discreet.models.own_taste import OwnTaste as OwnTaste
    from discreet.models.pearson import Pearson as Pearson
    from discreet.models.pmf import PMF as PMF
    from discreet.models.pnbm import PNBM as PNBM
    from discreet.models.popularity import Popularity as Popularity
    from discreet.models.svd import SVD as SVD
    from discreet.models.warp import WARP as WARP
    from discreet.populations.choice import Choice as Choice
    from discreet.populations.choice import quantile_of_users as quantile_of_users
    from discreet.populations.contribution import Contribution as Contribution
    from discreet.populations.local import LocalDevices as LocalDevices
    from discreet.populations.mechanism import Mechanism as Mechanism
    from discreet.populations.population import NoPrivacy as NoPrivacy
    from discreet.populations.steps import Steps as Steps
    from discreet.populations.terms import Terms as Terms
    from discreet.populations.trusted import TrustedServer as TrustedServer
    from discreet.privacy.budget import Budget as Budget
    from discreet.privacy.guarantee import Guarantee as Guarantee
    from discreet.privacy.guarantee import LevelLoss as LevelLoss
    from discreet.privacy.guarantee import Loss as Loss
    from discreet.privacy.ledger import Ledger as Ledger
    from discreet.privacy.quantiles import private_count as private_count
    from discreet.privacy.quantiles import private_mean as private_mean
    from discreet.privacy.quantiles import private_quantile as private_quantile
    from discreet.privacy.randomness import Randomness as Randomness
    from discreet.privacy.selection import choose as choose
    from discreet.privacy.signing import PublicKey as PublicKey
    from discreet.privacy.signing import SigningKey as SigningKey
    from discreet.privacy.spend import Spend as Spend
    from discreet.privacy.unit import Bound as Bound
    from discreet.privacy.unit import Rating as Rating
    from discreet.privacy.unit import User as User
    from discreet.releases.recommendations import Recommendations as Recommendations
    from discreet.releases.recommendations import Suggestion as Suggestion
    from discreet.releases.release import Release as Release

# Where each public name lives. Loaded on first use, so that `import discreet` is quick and light.
_HOMES = {
    "Catalogue": "data.catalogue",
    "Scale": "data.catalogue",
    "Handling": "data.handling",
    "History": "data.history",
    "Ratings": "data.ratings",
    "RatingsInParts": "data.parts",
    "Labels": "data.labels",
    "synthetic": "data.synthetic",
    "available": "data.datasets",
    "describe": "data.description",
    "fetch": "data.datasets",
    "from_frame": "data.tables",
    "load": "data.loading",
    "read_history": "data.history_file",
    "read_movielens_split": "data.movielens",
    "read_netflix_probe": "data.netflix",
    "read_reports": "data.reports",
    "UserReport": "data.report",
    "HiddenItems": "collect.presence",
    "Piecewise": "collect.mechanisms",
    "RandomisedResponse": "collect.mechanisms",
    "UniformNoise": "collect.mechanisms",
    "make_report": "collect.client",
    "perturb_ratings": "collect.simulation",
    "reconstruct": "collect.reconstruction",
    "risk_of": "collect.reconstruction",
    "sent_reports": "collect.sent",
    "compare": "evaluation.comparison",
    "evaluate": "evaluation.comparison",
    "EachUser": "evaluation.protocols",
    "Folds": "evaluation.protocols",
    "HeldOutUsers": "evaluation.protocols",
    "HoldOut": "evaluation.protocols",
    "PublishedRanking": "evaluation.published",
    "PublishedRatings": "evaluation.published",
    "Report": "evaluation.results",
    "Search": "evaluation.search",
    "Audit": "audit.results",
    "audit_by_runs": "audit.runs",
    "audit_in_one_run": "audit.one_run",
    "check_sensitivity": "audit.sensitivity",
    "Almanac": "models.almanac",
    "Bias": "models.bias",
    "Cosine": "models.cosine",
    "CovarianceKNN": "models.covariance_knn",
    "OwnTaste": "models.own_taste",
    "Pearson": "models.pearson",
    "PNBM": "models.pnbm",
    "Popularity": "models.popularity",
    "MF": "models.mf",
    "EASE": "models.ease",
    "ALS": "models.als",
    "ImplicitALS": "models.implicit_als",
    "BayesianMF": "models.bayesian_mf",
    "PMF": "models.pmf",
    "SVD": "models.svd",
    "WARP": "models.warp",
    "Release": "releases.release",
    "Recommendations": "releases.recommendations",
    "Suggestion": "releases.recommendations",
    "spend_and_release": "fitting.spending",
    "Bound": "privacy.unit",
    "Choice": "populations.choice",
    "Contribution": "populations.contribution",
    "Mechanism": "populations.mechanism",
    "quantile_of_users": "populations.choice",
    "NoPrivacy": "populations.population",
    "Steps": "populations.steps",
    "Terms": "populations.terms",
    "TrustedServer": "populations.trusted",
    "LocalDevices": "populations.local",
    "Ledger": "privacy.ledger",
    "Budget": "privacy.budget",
    "Spend": "privacy.spend",
    "Rating": "privacy.unit",
    "User": "privacy.unit",
    "LevelLoss": "privacy.guarantee",
    "Loss": "privacy.guarantee",
    "PublicKey": "privacy.signing",
    "Randomness": "privacy.randomness",
    "SigningKey": "privacy.signing",
    "choose": "privacy.selection",
    "private_count": "privacy.quantiles",
    "private_mean": "privacy.quantiles",
    "private_quantile": "privacy.quantiles",
    "Guarantee": "privacy.guarantee",
    "BudgetError": "errors",
    "DataError": "errors",
    "DiscreetError": "errors",
    "FetchError": "errors",
    "InputError": "errors",
    "OverspentError": "errors",
    "ReleaseError": "errors",
    "UnknownNameError": "errors",
}

__all__ = sorted([*_HOMES, "papers"])


def __getattr__(name: str) -> Any:
    if name == "papers":
        return import_module("discreet.papers")
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return getattr(import_module(f"discreet.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
