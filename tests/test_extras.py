"""Where an extra is not installed: one sentence that says what is missing, or a page without pictures."""

import sys

import numpy as np
import pytest

import discreet as dc
from discreet.pages import drawing
from discreet.pages.charts import pictures_of
from discreet.pages.comparisons import write_comparison
from discreet.pages.drawing import check_picture
from discreet.privacy.accounting import delta_of, epsilon_of, sampled_noise_multiplier
from discreet.privacy.spend import Spend

RATINGS = dc.synthetic(users=60, items=30, ratings=600, seed=1)


@pytest.fixture
def without(monkeypatch):
    """Hide libraries, as if they were not installed."""
    found = drawing.find_spec

    def hide(*names: str) -> None:
        for loaded in [name for name in sys.modules if name.partition(".")[0] in names]:
            monkeypatch.delitem(sys.modules, loaded)
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)
        monkeypatch.setattr(drawing, "find_spec", lambda name: None if name in names else found(name))

    return hide


def test_noise_on_samples_needs_the_accounting(without):
    without("dp_accounting")
    command = r"needs a library that is not installed: pip install 'discreet\[accounting\]'$"
    with pytest.raises(dc.errors.MissingLibraryError, match=command):
        sampled_noise_multiplier(1.0, 1e-6, 0.125, 17)
    step = Spend(what="a", mechanism="gaussian", norm="l2", sensitivity=1, scale=3.125, sampling_rate=0.375)
    with pytest.raises(ImportError, match=command):
        epsilon_of([step], 1e-6)


def test_pure_and_gaussian_spends_need_nothing(without):
    without("dp_accounting")
    gaussian = Spend(what="a", mechanism="gaussian", norm="l2", sensitivity=1, scale=3.0)
    assert 0 < epsilon_of([gaussian], 1e-6) < 5 and delta_of([gaussian], 1.0) < 1
    for delta in (0.0, 1e-6):
        ledger = dc.Ledger(epsilon=1.0, delta=delta, unit=dc.User())
        release = dc.Almanac().fit(dc.TrustedServer(RATINGS, ledger))
        assert release.guarantee.proven.epsilon <= 1.0
        assert np.isfinite(release.recommend(RATINGS.history_at(0), k=3)[0].score)
    pure = dc.Popularity().fit(dc.TrustedServer(RATINGS, dc.Ledger(epsilon=1.0, unit=dc.Rating())))
    assert pure.guarantee.proven.epsilon <= 1.0


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_pages_without_pictures_say_how_to_get_them(without, tmp_path, missing):
    report = dc.compare({"bias": dc.Bias(), "popularity": dc.Popularity()}, RATINGS, dc.evaluation.HoldOut())
    without(missing)
    write_comparison(report, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<figure" not in page and "pip install &#39;discreet[pictures]&#39;" in page
    assert 'data-model="bias"' in page  # the table has all numbers
    assert not any(picture.drawn for picture in pictures_of(report))
    command = r"^a picture needs .*: pip install 'discreet\[pictures\]'$"
    with pytest.raises(dc.errors.MissingLibraryError, match=command):
        pictures_of(report)[0].save(tmp_path / "pictures" / "rmse.png")
    assert not (tmp_path / "pictures").exists()
    with pytest.raises(dc.errors.MissingLibraryError, match=command):  # before the work starts
        check_picture()
