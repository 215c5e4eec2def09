"""Pages of papers and of audits in a real browser, 360 pixels wide: nothing is cut, letters can be read."""

import html
import json
import re
import shutil
import subprocess

import pytest

import discreet as dc
from discreet.pages.audit_pages import write_audit
from discreet.papers.frame.repetitions import run
from discreet.papers.frame.reproduction import Reproduction
from discreet.papers.hybrid_knn.experiment import QUICK
from discreet.papers.hybrid_knn.paper import PAPER

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDE, SMALLEST = 360, 9  # pixels: of a small phone, and of the smallest letters that can be read

# What sticks out of the page, or of the box it belongs to; tables that are too long to fold scroll in their own box.
PROBE = """
<script>
addEventListener("load", function () {
  document.querySelectorAll("details").forEach(function (one) { one.open = true; });
  var cut = [], small = [], seen = 0;
  function name(one) { return one.tagName + "." + one.getAttribute("class") + " " + one.textContent.slice(0, 40); }
  document.querySelectorAll("body *").forEach(function (one) {
    var box = one.getBoundingClientRect();
    if (!box.width || !box.height || one.closest(".unseen")) return;
    seen += 1;
    var table = one.closest("table");
    if (table && !table.classList.contains("stacks")) return;
    if (box.left < -.5 || box.right > innerWidth + .5) cut.push(name(one));
    var figure = one.closest("figure");
    if (figure && one.tagName === "text") {
      var card = figure.getBoundingClientRect();
      if (box.left < card.left || box.right > card.right) cut.push("outside its card: " + name(one));
      if (box.height < SMALLEST) small.push(name(one));
    }
    if (getComputedStyle(one).overflowX === "hidden" && one.scrollWidth > one.clientWidth + 1) cut.push(name(one));
  });
  document.querySelectorAll(".scrolls, .stacks").forEach(function (one) {
    var box = one.closest(".scroll") || one;
    if (box.clientWidth && box.scrollWidth > box.clientWidth + 1) cut.push("scrolls: " + name(one));
  });
  var chips = Array.from(document.querySelectorAll(".chip"));
  parent.postMessage(JSON.stringify({
    width: innerWidth, page: document.documentElement.scrollWidth, cut: cut, small: small, seen: seen,
    drawings: Array.from(document.querySelectorAll("figure svg")).filter(
      function (one) { return one.getBoundingClientRect().width > 0; }).length,
    signs: chips.map(function (one) { return one.textContent.trim()[0]; }).join(""),
    colours: Array.from(new Set(chips.map(function (one) { return getComputedStyle(one).color; }))).length
  }), "*");
});
</script></body>
""".replace("SMALLEST", str(SMALLEST))
OUTSIDE = """<!doctype html><body><script>addEventListener("message", function (told) {
  document.body.dataset.told = told.data; });</script><iframe src="page.html" width="360" height="800"></iframe></body>
"""


def on_a_phone(page: str, folder) -> dict:
    """What the browser says of a page in a frame as wide as a phone: its window cannot be made so narrow."""
    (folder / "page.html").write_text(page.replace("</body>", PROBE), encoding="utf-8")
    (folder / "outside.html").write_text(OUTSIDE, encoding="utf-8")
    command = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--no-first-run",
        "--disable-component-update",
        "--disable-sync",
        "--virtual-time-budget=10000",
        f"--user-data-dir={folder / 'profile'}",
        "--dump-dom",
        (folder / "outside.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    told = re.search(r'data-told="([^"]*)"', done.stdout)
    assert told is not None, done.stdout[-2000:]
    return json.loads(html.unescape(told.group(1)))


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory) -> str:
    ratings = dc.synthetic(users=100, items=40, ratings=1800, seed=1)
    outcome = run(PAPER, ratings, data="ml-100k", seeds=2, grid=QUICK)
    folder = tmp_path_factory.mktemp("reproduction")
    Reproduction(PAPER, outcome).write(folder, "discreet reproduce hybrid --quick")
    return (folder / "page.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def audit(tmp_path_factory) -> str:
    ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    terms = dc.Terms(epsilon=1.0, unit="user", noise_seed=1)
    path = tmp_path_factory.mktemp("audit") / "audit.html"
    write_audit(dc.audit.audit_by_runs(dc.Popularity(), ratings, terms, runs=200, randomness=dc.Randomness(1)), path)
    return path.read_text(encoding="utf-8")


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
@pytest.mark.parametrize(("name", "drawings"), [("reproduction", 12), ("audit", 2)])
def test_nothing_is_cut_on_a_phone(name, drawings, request, tmp_path):
    found = on_a_phone(request.getfixturevalue(name), tmp_path)
    assert found["width"] == WIDE and found["page"] <= WIDE
    assert found["cut"] == [] and found["small"] == []
    assert found["drawings"] == drawings and found["seen"] > 50
    if name == "reproduction":
        assert set(found["signs"]) == {"✓", "✗", "\N{EN DASH}"} and found["colours"] == 3


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_the_probe_sees_what_is_cut(audit, tmp_path):
    """The same page with its wide pictures, as it was: the test above would have said so."""
    wide = audit.replace('class="drawing on-wide"', 'class="drawing scrolls"')
    wide = wide.replace("</main>", '<p style="width:500px">too wide</p></main>')
    found = on_a_phone(wide, tmp_path)
    assert any("too wide" in name for name in found["cut"]) and any("scrolls" in name for name in found["cut"])


def test_signs_and_words_are_there_without_colour(reproduction):
    """Every chip has a sign and a word: colour is never alone."""
    chips = re.findall(r'<span class="chip (\w+)" title="[^"]*: ([a-z ]+)"><b aria-hidden="true">(.)</b>', reproduction)
    assert len(chips) == reproduction.count('class="chip ') > 50
    words = {"good": {"reproduces", "holds"}, "bad": {"does not", "does not hold"}, "open": {"not judged"}}
    signs = {"good": "✓", "bad": "✗", "open": "\N{EN DASH}"}
    assert all(word in words[look] and sign == signs[look] for look, word, sign in chips)
