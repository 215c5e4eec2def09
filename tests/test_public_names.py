"""The public surface: what is typed every day is at the top, the rest in the folder that it belongs to."""

import inspect
import subprocess
import sys

import pytest

import discreet as dc
from discreet import errors

TOP = {
    "data": "Catalogue History Ratings Scale from_frame from_spark load synthetic",
    "populations": "Contribution LocalDevices NoPrivacy Terms TrustedServer Wishes",
    "privacy": "Bound Budget Guarantee Ledger Randomness Rating User",
    "models": "ALS Almanac BayesianMF Bias Cosine CovarianceKNN EASE FilteredMF HuberMF ImplicitALS LangevinPNBM MF "
    "NeighbourList NoisyPNBM OwnTaste PNBM PatternMF Pearson Popularity SVD WARP truncated",
    "releases": "Release compare evaluate spend_and_release",
    "errors": "DiscreetError InputError OverspentError",
}
NAMES = [name for names in TOP.values() for name in names.split()]

FOLDERS = {
    "audit": "Audit audit_by_runs audit_in_one_run check_sensitivity",
    "collect": "HiddenItems Piecewise RandomisedResponse UniformNoise make_report perturb_ratings reconstruct risk_of "
    "sent_reports",
    "data": "Handling Labels RatingsInParts UserReport available bound_users describe fetch keep_popular_items "
    "read_history read_movielens_split read_netflix_probe read_reports read_users without_ratings word_vectors",
    "evaluation": "ByTime EachUser Folds HeldOutUsers HoldOut PublishedRanking PublishedRatings Results Search",
    "models": "AutoEncoder MultVAE PMF PrivateVAE",
    "nightly": "Night recommend_all",
    "papers": "DPPMF DPPSMF DPPSPNBM DPSGDMF DPSGDPNBM DPVAE HybridKNN ObjectivePerturbedMF PDPPMF UntrustedMF",
    "populations": "Choice Groups Mechanism Steps UntrustedServer quantile_of_users",
    "privacy": "LevelLoss Loss PublicKey SigningKey Spend choose private_count private_mean private_quantile",
    "spark": "SparkRatings evaluate_frames recommend_frame",
    "releases": "Array PersonalPromise Recommendations Suggestion promised_to with_prior",
    "web": "PrecisionLoss export_page export_release precision_loss",
}
OFFERED = [(dc, name) for name in dc.__all__] + [
    (getattr(dc, folder), name) for folder in FOLDERS for name in getattr(dc, folder).__all__
]


def test_the_top_holds_these_names_and_no_others():
    assert sorted(dc.__all__) == sorted([*NAMES, *FOLDERS, "errors"])


def test_the_top_stays_small():
    assert len(NAMES) <= 50


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_holds_these_names_and_none_of_the_top(folder):
    assert getattr(dc, folder).__all__ == sorted(FOLDERS[folder].split())
    assert not set(getattr(dc, folder).__all__) & set(dc.__all__)


@pytest.mark.parametrize(("holder", "name"), OFFERED, ids=[f"{holder.__name__}.{name}" for holder, name in OFFERED])
def test_every_public_name_is_there_and_documented(holder, name):
    assert getattr(holder, name).__doc__
    assert name in dir(holder)


@pytest.mark.parametrize(
    "name", [name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)]
)
def test_every_error_can_be_caught_by_its_public_name(name):
    assert issubclass(getattr(dc.errors, name), dc.DiscreetError)
    assert getattr(dc, name, getattr(errors, name)) is getattr(errors, name)


def test_what_calls_return_can_be_named():
    ratings = dc.synthetic(users=30, items=20, ratings=200, seed=1)
    release = dc.Popularity().fit(dc.NoPrivacy(ratings))
    found = release.recommend(ratings.history_at(0), k=1)
    assert isinstance(found, dc.releases.Recommendations) and isinstance(found[0], dc.releases.Suggestion)
    assert isinstance(ratings.users, dc.data.Labels) and isinstance(release, dc.Release)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="No discreet attribute Recomendations"):
        dc.Recomendations  # noqa: B018


def test_the_namespaces_load_nothing_heavy():
    folders = "; ".join(f"dc.{folder}" for folder in FOLDERS)
    code = f"import sys, discreet as dc; {folders}; print(sorted({{'numpy', 'numba', 'polars'}} & {{*sys.modules}}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
