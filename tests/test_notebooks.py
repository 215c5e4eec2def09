"""What notebooks show: as much as ``print`` and no more, every name escaped; and progress while they wait."""

import io
import sys
import types
from html.parser import HTMLParser

import polars as pl
import pytest

import discreet as dc
from discreet.progress import show_progress

RATINGS = dc.synthetic(users=60, items=30, ratings=700, seed=1)
EVIL = '<script>alert("x")</script>\x1b[2J'


class Balanced(HTMLParser):
    """Fails on tags that do not match; keeps what is text."""

    def __init__(self):
        super().__init__()
        self.open, self.words, self.tags = [], [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def words_of(html: str) -> str:
    parser = Balanced()
    parser.feed(html)
    parser.close()
    assert not parser.open
    assert parser.tags <= {"div", "p", "strong", "span", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    return " ".join(parser.words)


def private_release() -> dc.Release:
    ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=dc.User())
    return dc.Almanac().fit(dc.TrustedServer(RATINGS, ledger))


def test_ratings_show_sizes_and_nobody():
    names = [f"somebody-{number}" for number in range(3)]
    rows = {"user": names, "item": ["i", "j", "i"], "rating": [4.0, 2.0, 3.0]}
    few = dc.from_frame(pl.DataFrame(rows), scale=dc.Scale(1, 5))
    shown = words_of(few._repr_html_())
    assert "somebody" not in shown and "4.0" not in shown
    numbers = {word for word in repr(few).replace("(", " ").replace(",", "").split() if word.isdigit()}
    assert {word for word in shown.split() if word.isdigit()} == numbers | {"1", "5"}


def test_a_release_and_its_guarantee_show_the_promise():
    release = private_release()
    for html in (release._repr_html_(), release.guarantee._repr_html_()):
        assert "proven" in words_of(html) and "epsilon 1" in words_of(html)
    exact = dc.Popularity().fit(dc.NoPrivacy(RATINGS))
    assert "no privacy" in words_of(exact._repr_html_()) and "No privacy" in words_of(exact.guarantee._repr_html_())
    claimed = dc.papers.HybridKNN(epsilon=1.0).fit(RATINGS)
    assert "claimed" in words_of(claimed._repr_html_()).lower()


def test_recommendations_show_titles_and_reasons():
    release, history = private_release(), RATINGS.history_at(3)
    found = release.recommend(history, k=4, explain=True)
    shown = words_of(found._repr_html_())
    assert all(one.title in shown for one in found)
    assert all(reason.title in shown for one in found for reason in one.because)
    assert "because" not in words_of(release.recommend(history, k=4)._repr_html_())


def test_titles_of_strangers_are_escaped():
    catalogue = dc.Catalogue.of(["1", "2"], dc.Scale(1, 5), titles=[EVIL, "b"])
    found = dc.releases.Recommendations([dc.releases.Suggestion("1", str(catalogue.titles[0]), 1.0)])
    html = found._repr_html_()
    assert "<script" not in html and "\x1b" not in html and "alert" in words_of(html)


def test_results_show_the_table():
    results = dc.compare({"bias": dc.Bias(), EVIL: dc.Popularity()}, RATINGS, dc.evaluation.Folds(count=2))
    html = results._repr_html_()
    shown = words_of(html)
    assert "<script" not in html and "rmse" in shown and f"{results['bias']['rmse']:.4f}" in shown


def test_progress_is_lines_outside_notebooks():
    stream, times = io.StringIO(), iter([0.0, 1.0, 2.0, 9.0, 9.5])
    show = show_progress(stream, clock=lambda: next(times))
    for done in range(1, 6):
        show(done, 5, "epochs")
    assert stream.getvalue() == "epochs: 1 of 5\nepochs: 4 of 5\nepochs: 5 of 5\n"


def test_progress_is_one_bar_in_a_notebook(monkeypatch):
    drawn = []
    handle = types.SimpleNamespace(update=lambda shown: drawn.append(shown._repr_html_()))
    shell = type("ZMQInteractiveShell", (), {})()
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    display = types.ModuleType("IPython.display")
    display.display = lambda shown, display_id: handle
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    dc.Almanac().fit(dc.NoPrivacy(RATINGS), progress=show_progress())
    assert drawn and "3 of 3" in drawn[-1] and '<progress value="3" max="3">' in drawn[-1]


@pytest.mark.parametrize("kind", [dc.Ratings, dc.Release, dc.Guarantee, dc.releases.Recommendations])
def test_every_view_is_there(kind):
    assert callable(kind._repr_html_)
