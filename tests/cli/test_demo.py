import json

import discreet as dc
from discreet.errors import FetchError


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
    for word in (*words, str(tmp_path / "demo" / "report.html")):
        assert word in outcome.out
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 4
    for word in ("because of", "almanac (proven)", "own-taste, costs nothing", "Proven: whoever sees this release"):
        assert word in page
    assert (tmp_path / "demo" / "privacy.png").read_bytes().startswith(b"\x89PNG")
    release = dc.Release.load(tmp_path / "demo" / "release")
    assert release.catalogue.fingerprint == small.catalogue.fingerprint
    assert isinstance(release.model, dc.Almanac)
    assert release.guarantee.proven is not None and release.guarantee.proven.epsilon <= 1

    document = json.loads(discreet("demo", "-o", tmp_path / "demo", "--json").out)  # a second time, over the first
    assert {row["epsilon"] for row in document["rows"]} == {0.0, 0.1, 1.0, 10.0, None}
    assert document["guarantee"].startswith("Proven: ") and len(document["suggestions"]) == 10
    assert document["page"] == str(tmp_path / "demo" / "report.html")


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
