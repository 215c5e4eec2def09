"""One person's own page: what it says for every kind of promise, in a browser as wide as a phone, and to whom."""

import html
import json
import math
import re
import shutil
import stat
import subprocess

import numpy as np
import pytest

import discreet as dc
from discreet.data.catalogue import Catalogue
from discreet.pages.own_page import headline, write_own_page
from discreet.releases.promises import lowered, promised_to

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NASTY = "<script>document.title='taken'</script><img src=x onerror=alert(1)> \"'&"
LONG = "W" * 300

# What sticks out of the page or of its box; every table of this page folds.
PROBE = """
<script>
addEventListener("load", function () {
  var cut = [], seen = 0;
  document.querySelectorAll("body *").forEach(function (one) {
    var box = one.getBoundingClientRect();
    if (!box.width || !box.height) return;
    seen += 1;
    var hides = getComputedStyle(one).overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1;
    if (hides || box.left < -.5 || box.right > innerWidth + .5)
      cut.push(one.tagName + " " + one.textContent.slice(0, 40));
  });
  parent.postMessage(JSON.stringify({
    width: innerWidth, page: document.documentElement.scrollWidth, cut: cut, seen: seen, title: document.title,
    images: document.images.length, back: getComputedStyle(document.body).backgroundColor,
    asked: performance.getEntriesByType("resource").length
  }), "*");
});
</script></body>
"""
OUTSIDE = """<!doctype html><body><script>addEventListener("message", function (told) {
  document.body.dataset.told = told.data; });</script><iframe src="page.html" width="360" height="800"></iframe></body>
"""


def in_a_browser(page: str, folder, *options: str) -> dict:
    (folder / "page.html").write_text(page.replace("</body>", PROBE), encoding="utf-8")
    (folder / "outside.html").write_text(OUTSIDE, encoding="utf-8")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command += ["--no-first-run", "--disable-component-update", "--disable-sync", "--virtual-time-budget=10000"]
    command += [*options, f"--user-data-dir={folder / 'profile'}", "--dump-dom", (folder / "outside.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    told = re.search(r'data-told="([^"]*)"', done.stdout)
    assert told is not None, done.stdout[-2000:]
    return json.loads(html.unescape(told.group(1)))


def ratings() -> dc.Ratings:
    plain = dc.synthetic(users=60, items=20, ratings=600, seed=1)
    titles = ["Toy Story (1995)", NASTY, LONG, *(f"Film {item}" for item in range(3, 20))]
    catalogue = Catalogue.of(plain.catalogue.items.names.tolist(), plain.catalogue.scale, titles=titles, declared=True)
    return dc.Ratings(catalogue, plain.users, plain.user_index, plain.item_index, plain.values)


RATINGS = ratings()
EACH = dc.Wishes.by_rule(lambda part: np.where(part.item_index < 1, 0.2, 1.0), of="rating", levels=(0.1, 0.2, 1.0))
USERS = dc.Wishes.of_users({"7": 0.1}, levels={"careful": 0.1, "usual": 0.5})
KINDS = {
    "a level for each rating": (dc.Ledger(0.5), EACH, {"Toy Story (1995)": "0.2", NASTY: "1"}),
    "a level for each rating, unit user": (dc.Ledger(1.0, 1e-6, dc.User()), EACH, {"Toy Story (1995)": "0.2"}),
    "a level for each user": (dc.Ledger(0.5, 1e-6, dc.User()), USERS, "careful"),
    "a level for each user, unit rating": (dc.Ledger(0.5), USERS, "careful"),
    "no levels": (dc.Ledger(1.0), None, None),
    "no levels, values only": (dc.Ledger(1.0, unit=dc.Rating("replace")), None, None),
    "no levels, unit user": (dc.Ledger(1.0, 1e-6, dc.User()), None, None),
}


def history(*titles: str) -> dc.History:
    return dc.History.of(RATINGS.catalogue, dict.fromkeys(titles, 4.0))


@pytest.fixture(scope="module")
def releases() -> dict[str, dc.Release]:
    return {
        kind: dc.Bias().fit(dc.TrustedServer(RATINGS, ledger, **({} if wishes is None else {"wishes": wishes})))
        for kind, (ledger, wishes, _) in KINDS.items()
    }


@pytest.fixture(scope="module")
def pages(releases, tmp_path_factory) -> dict[str, str]:
    folder, made, mine = tmp_path_factory.mktemp("own"), {}, history("Toy Story (1995)", NASTY, LONG)
    for kind, release in releases.items():
        path = folder / "own.html"
        write_own_page(path, release, mine, promised_to(release.guarantee, mine, KINDS[kind][2]))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, "only its owner can read it"
        made[kind] = path.read_text(encoding="utf-8")
    return made


def words(page: str) -> str:
    body = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", body).split()))


@pytest.mark.parametrize(
    ("kind", "lead", "told"),
    [
        (
            "a level for each rating",
            "Each of your 3 ratings is protected at epsilon 0.5 or less, and all of them together at epsilon 0.8.",
            [
                "Toy Story (1995) 0.2 epsilon 0.2 1.23 times",
                "Where you wished for nothing you have the strictest level",
            ],
        ),
        (
            "a level for each rating, unit user",
            "Each of your 3 ratings is protected at epsilon 0.2, delta",
            ["and all of them together at epsilon 1, delta 1e-06.", "may be higher by that much"],
        ),
        (
            "a level for each user",
            "All your 3 ratings together are protected at epsilon 0.1",
            ["none of them has a level of its own", "without all of your ratings"],
        ),
        (
            "a level for each user, unit rating",
            "Each of your 3 ratings is protected at epsilon 0.1, and all of them together at epsilon 0.3.",
            ["Toy Story (1995) careful epsilon 0.1 1.11 times"],
        ),
        (
            "no levels",
            "Each of your 3 ratings is protected at epsilon 1, and all of them together at epsilon 3.",
            ["Toy Story (1995) epsilon 1 2.72 times", "as it would be without the rating"],
        ),
        (
            "no levels, values only",
            "Each of your 3 ratings is protected at epsilon 1",
            ["if the rating had another value", "Which items you rated is not."],
        ),
        ("no levels, unit user", "All your 3 ratings together are protected at epsilon 1, delta 1e-06.", []),
    ],
)
def test_what_a_person_is_told(kind, lead, told, pages):
    page = pages[kind]
    found = re.search(r'<p class="lead">(.*?)</p>', page)
    assert found is not None and found.group(1).startswith(lead)
    text = words(page)
    for part in (*told, "keep it to yourself"):
        assert part in text, part
    order = [text.index(part) for part in ("Your ratings", "What that means", "Every look at the ratings")]
    assert order == sorted(order) and ", scale " in text and " in l" in text


def test_titles_are_text_and_no_value_is_shown(pages):
    for page in pages.values():
        assert NASTY not in page and "<img" not in page and page.count("<script>") == 1
        assert html.escape("<img src=x onerror=alert(1)>") in page
        assert "http://" not in page and "https://" not in page
        assert not re.search(r"<t[dh][^>]*>4(\.0)?<", page)


def test_one_rating_and_none(releases, tmp_path):
    release = releases["no levels"]
    one, none = history("Toy Story (1995)"), dc.History.of(RATINGS.catalogue, {})
    assert (
        headline(promised_to(release.guarantee, one), 1) == "Your rating of Toy Story (1995) is protected at epsilon 1."
    )
    write_own_page(tmp_path / "none.html", release, none, promised_to(release.guarantee, none))
    text = words((tmp_path / "none.html").read_text(encoding="utf-8"))
    assert "can say nothing about you" in text and "Your rating of" not in text


def test_a_wish_that_is_not_on_offer_is_told_what_is(releases):
    guarantee = releases["a level for each rating"].guarantee
    assert lowered(guarantee, "0.3") == (
        "There is no privacy level 0.3: on offer are 0.1, 0.2, 1, and such a wish is lowered to 0.2."
    )
    assert lowered(guarantee, "0.20") == lowered(guarantee, None) == lowered(guarantee, 1) == ""
    with pytest.raises(dc.InputError, match=r"below the lowest level on offer; on offer are 0\.1, 0\.2, 1"):
        lowered(guarantee, 0.05)
    assert math.isclose(guarantee.levels[1].loss.epsilon, 0.2)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
@pytest.mark.parametrize("kind", ["a level for each rating", "a level for each user", "no levels"])
def test_nothing_is_cut_on_a_phone(kind, pages, tmp_path):
    light = in_a_browser(pages[kind], tmp_path)
    assert light["width"] == 360 and light["page"] <= 360
    assert light["cut"] == [] and light["seen"] > 25
    assert light["title"] == "What this release promises you" and light["images"] == 0 and light["asked"] == 0
    dark = in_a_browser(pages[kind].replace("<html ", '<html data-theme="dark" '), tmp_path)
    assert dark["back"] != light["back"]


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_the_probe_sees_what_is_cut(pages, tmp_path):
    unbroken = pages["no levels"].replace('class="stacks folds"', 'class="stacks"')
    assert in_a_browser(unbroken, tmp_path)["cut"] != []
