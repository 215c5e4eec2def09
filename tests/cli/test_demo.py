import html
import json

import numpy as np

import discreet as dc
from discreet.errors import FetchError
from discreet.pages.demo import FEWEST, MOST, user_of_own_taste


def release_lists(folder, ratings):
    """The titles that the user of the demo gets, from the release on disk."""
    release = dc.Release.load(folder)
    history = ratings.history_at(user_of_own_taste(release, ratings))
    return [suggestion.title for suggestion in release.recommend(history, 10)]


def test_the_user_is_the_one_whose_list_is_least_like_the_others():
    ratings = dc.synthetic(users=150, items=120, ratings=4000, seed=1)
    release = dc.Cosine().fit(dc.NoPrivacy(ratings))
    lists = {
        user: {suggestion.item for suggestion in release.recommend(ratings.history_at(user), 10)}
        for user in range(ratings.n_users)
        if FEWEST <= np.diff(ratings.indptr)[user] <= MOST
    }
    shared = {user: sum(len(own & other) for other in lists.values()) for user, own in lists.items()}
    assert len(lists) > 10
    assert shared[user_of_own_taste(release, ratings)] == min(shared.values())


def test_somebody_is_shown_where_nobody_has_so_few_ratings():
    ratings = dc.synthetic(users=20, items=120, ratings=2000, seed=1)
    few = np.diff(ratings.indptr)
    user = user_of_own_taste(dc.Popularity().fit(dc.NoPrivacy(ratings)), ratings)
    assert abs(few[user] - MOST) == abs(few - MOST).min() or FEWEST <= few[user] <= MOST


def test_the_demo_goes_all_the_way_without_a_network(discreet, tmp_path, monkeypatch):
    def fail(*_arguments, **_named):
        raise FetchError("ml-100k could not be had: there is no network")

    small = dc.synthetic(users=80, items=60, ratings=1600, seed=1)
    monkeypatch.setattr("discreet.data.loading.load", fail)
    monkeypatch.setattr("discreet.data.synthetic.synthetic", lambda **_: small)
    outcome = discreet("demo", "-o", tmp_path / "demo")
    assert outcome.code == 0
    assert "ml-100k could not be had" in outcome.err
    assert "Using the built-in synthetic ratings instead." in outcome.err
    words = ("almanac", "bias", "own-taste", "epsilon 10", "because of", "Proven: ", "asks for nothing")
    for word in (*words, str(tmp_path / "demo" / "page.html")):
        assert word in outcome.out
    page = (tmp_path / "demo" / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 4
    for word in ("because of", "almanac (proven)", "own-taste, costs nothing", "Proven: whoever sees this release"):
        assert word in page
    user = next(line for line in outcome.out.splitlines() if line.startswith("A user who rated"))
    shown = release_lists(tmp_path / "demo" / "release", small)
    assert user.partition(". To this user")[0] in html.unescape(page)  # the same user on the page and in the terminal
    assert all(title in html.unescape(page) and title in outcome.out for title in shown)
    assert (tmp_path / "demo" / "privacy.png").read_bytes().startswith(b"\x89PNG")
    assert str(tmp_path / "demo" / "recommend.html") in outcome.out and (tmp_path / "demo" / "recommend.html").exists()
    release = dc.Release.load(tmp_path / "demo" / "release")
    assert release.catalogue.fingerprint == small.catalogue.fingerprint
    assert isinstance(release.model, dc.Almanac)
    assert release.guarantee.proven is not None and release.guarantee.proven.epsilon <= 1

    document = json.loads(discreet("demo", "-o", tmp_path / "demo", "--json").out)  # a second time, over the first
    assert {row["epsilon"] for row in document["rows"]} == {0.0, 0.1, 1.0, 10.0, None}
    assert document["guarantee"].startswith("Proven: ") and len(document["suggestions"]) == 10
    assert document["page"] == str(tmp_path / "demo" / "page.html")


def test_the_demo_spares_a_release_that_was_paid_for(discreet, tmp_path, table, items):
    folder = tmp_path / "demo" / "release"
    private = ("--scale", "1:5", "--items", items, "--items-public", "--epsilon", 1)
    assert discreet("fit", "popularity", table, *private, "-o", folder).code == 0
    outcome = discreet("demo", "-o", tmp_path / "demo")
    assert outcome.code == 2
    assert "holds a private release that was paid for" in outcome.err
    assert dc.Release.load(folder).model == dc.Popularity()


def test_the_demo_needs_a_place_to_write(discreet, tmp_path):
    (tmp_path / "demo").write_text("taken")
    outcome = discreet("demo", "-o", tmp_path / "demo")
    assert outcome.code == 2
    assert outcome.out == ""
    assert (tmp_path / "demo").read_text() == "taken"
