"""What the service answers is what the release says, over a real socket."""

import json
import subprocess
import sys

import numpy as np
import pytest

import discreet as dc

from .conftest import RATINGS, SOURCE, released


def asked(history: dc.History, **more) -> dict:
    names = RATINGS.catalogue.items
    pairs = zip(history.items, history.values, strict=True)
    return {"history": {names[int(item)]: float(value) for item, value in pairs}, **more}


def test_the_same_items_scores_and_reasons(server, folder):
    release = dc.Release.load(folder)
    for user in range(20):
        history = RATINGS.history_at(user)
        found = server.client.post("/recommend", json=asked(history, k=7)).json()
        expected = release.recommend(history, 7, explain=True)
        assert [one["item"] for one in found["items"]] == [one.item for one in expected]
        assert [one["title"] for one in found["items"]] == [one.title for one in expected]
        np.testing.assert_allclose([one["score"] for one in found["items"]], [one.score for one in expected], rtol=1e-6)
        reasons = [[(why["item"], why["title"]) for why in one["because"]] for one in found["items"]]
        assert reasons == [[(why.item, why.title) for why in one.because] for one in expected]
        assert found["ignored"] == 0


def test_likes_are_the_highest_ratings(server, folder):
    release, names = dc.Release.load(folder), list(RATINGS.catalogue.items)[:3]
    found = server.client.post("/recommend", json={"history": names, "explain": False}).json()["items"]
    expected = release.recommend(dc.History.of_likes(release.catalogue, names))
    assert [one["item"] for one in found] == [one.item for one in expected]
    assert all(one["because"] == [] for one in found)


def test_nobody_gets_the_most_popular(server, folder):
    release = dc.Release.load(folder)
    found = server.client.post("/recommend", json={"history": {}}).json()["items"]
    expected = release.recommend(dc.History.of(release.catalogue, {}))
    assert [one["item"] for one in found] == [one.item for one in expected]


def test_exclude_and_only(server, folder):
    history = RATINGS.history_at(4)
    first = [one["item"] for one in server.client.post("/recommend", json=asked(history)).json()["items"]]
    rest = server.client.post("/recommend", json=asked(history, exclude=[*first[:3], "not there"])).json()["items"]
    assert [one["item"] for one in rest][:7] == first[3:]
    rated = RATINGS.catalogue.items[int(history.items[0])]
    few = server.client.post("/recommend", json=asked(history, only=[first[5], first[2], rated, "not there"])).json()
    assert [one["item"] for one in few["items"]] == [first[2], first[5]]
    release, titles = dc.Release.load(folder), [str(title) for title in RATINGS.catalogue.titles]
    expected = release.recommend(history, exclude=titles[:20], only=titles[:50])
    found = server.client.post("/recommend", json=asked(history, exclude=titles[:20], only=titles[:50])).json()["items"]
    assert [one["item"] for one in found] == [one.item for one in expected]
    both = server.client.post("/recommend", json=asked(history, only=first[:3], exclude=first[:1])).json()["items"]
    assert [one["item"] for one in both] == first[1:3]
    assert server.client.post("/recommend", json=asked(history, only=[])).json()["items"] == []


def test_predicted_ratings(server, folder):
    release, history = dc.Release.load(folder), RATINGS.history_at(5)
    names = list(RATINGS.catalogue.items)[10:15]
    found = server.client.post("/predict", json=asked(history, items=names)).json()["items"]
    alone = dc.Ratings.of_history(history)
    expected = release.predict(alone, np.zeros(5, np.int32), np.arange(10, 15, dtype=np.int32))
    assert [one["item"] for one in found] == names
    np.testing.assert_allclose([one["predicted"] for one in found], expected, rtol=1e-6)


def test_unknown_items_are_left_out_where_asked(server):
    body = {"history": ["1", "no such item", "2"], "ignore_unknown": True}
    found = server.client.post("/recommend", json=body).json()
    assert found["ignored"] == 1 and len(found["items"]) == 10


def test_search_and_similar_items(server, folder):
    title = str(RATINGS.catalogue.titles[7])
    found = server.client.get("/items", params={"q": title.lower(), "limit": 5}).json()["items"]
    assert found[0]["title"] == title and len(found) <= 5
    assert server.client.get("/items", params={"q": "no such words"}).json()["items"] == []
    alike = server.client.get(f"/items/{found[0]['item']}/similar", params={"k": 3}).json()["items"]
    assert [one["item"] for one in alike] == [one.item for one in dc.Release.load(folder).similar(found[0]["item"], 3)]
    assert server.client.get("/items/none of these/similar").status_code == 404


def test_certificate_as_data_and_as_a_page(server, folder):
    found = server.client.get("/certificate").json()
    said = subprocess.run(
        [sys.executable, "-m", "discreet", "certificate", folder, "--json"],
        capture_output=True,
        check=True,
        env={"PYTHONPATH": str(SOURCE)},
    )
    assert found == json.loads(said.stdout)
    page = server.client.get("/certificate", headers={"accept": "text/html"})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<h1" in page.text and str(folder) not in page.text
    assert server.client.get("/certificate", params={"format": "html"}).text == page.text
    again = server.client.get("/certificate?format=html", headers={"if-none-match": page.headers["etag"]})
    assert again.status_code == 304 and not again.content


def test_openapi_has_examples_and_every_route(server):
    described = server.client.get("/openapi.json").json()
    routes = {"/recommend", "/predict", "/items", "/certificate", "/health", "/ready", "/metrics"}
    assert routes <= set(described["paths"])
    schema = described["paths"]["/recommend"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    for example in schema["examples"]:
        assert server.client.post("/recommend", json=example).status_code in (200, 422)  # other items, but well formed
    assert schema["properties"]["history"]["description"]


def test_the_page_for_browsers(server, folder, tmp_path):
    dc.web.export_release(dc.Release.load(folder), tmp_path / "page")
    for path in (tmp_path / "page").iterdir():
        found = server.client.get(f"/{path.name}")
        assert found.status_code == 200 and found.content == path.read_bytes(), path.name
        if path.suffix == ".js":
            assert found.headers["content-type"] == "text/javascript; charset=utf-8"
    front = server.client.get("/")
    assert front.content == (tmp_path / "page/index.html").read_bytes()
    policy = front.headers["content-security-policy"]
    assert "connect-src 'self'" in policy and "script-src 'self'" in policy and "http" not in policy
    plain = server.client.get("/release.discreet", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers


@pytest.mark.parametrize("model", [dc.Popularity(), dc.Bias(), dc.Cosine()], ids=lambda model: type(model).__name__)
def test_other_models(start, tmp_path, model):
    release = released(tmp_path / "release", model)
    client = start(tmp_path / "release").client
    history = RATINGS.history_at(1)
    found = client.post("/recommend", json=asked(history, k=5))
    assert [one["item"] for one in found.json()["items"]] == [one.item for one in release.recommend(history, 5)]
    predicted = client.post("/predict", json=asked(history, items=["1"]))
    assert predicted.status_code == (200 if release.predicts_ratings else 422)
    about = client.get("/release").json()
    assert about["predicts"] is release.predicts_ratings and about["model"] == type(model).__name__


def test_numba_is_not_loaded(folder):
    """A service answers by numpy alone: nothing is compiled, and no ratings or budget are needed."""
    code = (
        "import sys; from pathlib import Path; from discreet.service.ready import Ready, Source\n"
        "from discreet.service import answers, asked; from discreet.service.limits import Limits\n"
        f"ready = Ready.load(Source(path=Path({str(folder)!r}), page=False))\n"
        'body = asked.read(asked.Recommend, b\'{"history": ["1", "2"]}\')\n'
        "assert len(answers.recommend(ready, body, Limits())['items']) == 10\n"
        "assert 'numba' not in sys.modules and 'sqlite3' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(SOURCE)})
