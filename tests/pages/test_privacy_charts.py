"""What privacy costs, drawn: the numbers are in it, the guarantees are in the legend, and it works in a browser."""

import re
import shutil
import subprocess

import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.evaluation.results import Estimate, Results, Row
from discreet.pages.charts import pictures_of
from discreet.pages.comparisons import write_comparison
from discreet.pages.page import Table, render_page
from discreet.pages.privacy_charts import Panel, is_sweep, legend_names, privacy_chart
from discreet.pages.sweeps import grid_of, sweep_sections


def row(model, epsilon, rmse, ndcg=None, promise="proven", unit="user"):
    metrics = {} if rmse is None else {"rmse": Estimate(rmse, rmse - 0.01, rmse + 0.01)}
    if ndcg is not None:
        metrics["ndcg@100"] = Estimate(ndcg, ndcg - 0.01, ndcg + 0.01)
    if epsilon is None:
        promise = unit = None
    return Row(
        model, metrics, 0.5, 0.1, 100.0, promise and f"{promise} it is", epsilon=epsilon, promise=promise, unit=unit
    )


ROWS = (
    row("almanac", 0.1, 0.99, 0.10),
    row("almanac", 1.0, 0.96, 0.30),
    row("almanac", 10.0, 0.93, 0.35),
    row("almanac", None, 0.90, 0.40),
    row("popularity", 0.1, None, 0.08),
    row("popularity", 1.0, None, 0.24),
    row("popularity", 10.0, None, 0.25),
    row("paper", 0.1, 2.0, 0.02, promise="claimed", unit="rating"),
    row("paper", 1.0, 1.2, 0.05, promise="claimed", unit="rating"),
    row("paper", 10.0, 0.97, 0.10, promise="claimed", unit="rating"),
    row("own-taste", 0.0, 1.0, 0.05),
    row("bayesian-mf", None, 0.89),
    row("implicit-als", None, None, 0.5),
)
RESULTS = Results("films", "20% of all ratings held out, seed 1", ROWS, "95 % intervals over 5 seeds (Student t)")


def test_the_legend_says_what_each_guarantee_is_worth():
    assert legend_names(RESULTS) == {
        "almanac": "almanac (proven)",
        "popularity": "popularity (proven)",
        "paper": "paper (only claimed, for one rating)",
    }
    svg = privacy_chart(RESULTS).svg()
    for words in legend_names(RESULTS).values():
        assert f">{words}</text>" in svg
    seeded = Results("films", "", (row("bias", 1.0, 0.9, promise=None), row("bias", 2.0, 0.8, promise=None)))
    assert legend_names(seeded) == {"bias": "bias (nothing promised)"}


def test_ceiling_and_what_is_free_are_drawn_in():
    svg = privacy_chart(RESULTS).svg()
    for words in (
        "bayesian-mf, without privacy: 0.890",
        "implicit-als, without privacy: 0.500",
        "own-taste, costs nothing: 1.000",
        "own-taste, costs nothing: 0.050",
        "no noise",
        "epsilon for a user, log scale: less is more private",
        "almanac, epsilon 1: RMSE 0.9600 (0.9500 to 0.9700)",
        "almanac, without privacy: NDCG@100 0.4000 (0.3900 to 0.4100)",
    ):
        assert words in svg


def test_in_words():
    picture = privacy_chart(RESULTS)
    assert picture.title == "With epsilon 1, almanac comes first by RMSE and NDCG@100"
    assert "almanac 0.990 at 0.1, 0.960 at 1, 0.930 at 10" in picture.alt
    assert "bayesian-mf 0.890 without privacy" in picture.alt and "own-taste 1.000 for nothing" in picture.alt
    assert "95 % intervals over 5 seeds (Student t), drawn as bars." in picture.caption
    assert "Below the panel of RMSE: paper with epsilon 1 (1.200), paper with epsilon 0.1 (2.000)." in picture.caption
    assert picture.wide


def test_a_claim_never_comes_first():
    better = Results(
        "films", "", (row("paper", 1.0, 0.5, promise="claimed"), row("bias", 1.0, 0.9), row("x", None, 0.4))
    )
    assert privacy_chart(better).title == "With epsilon 1, bias comes first by RMSE"


def test_what_is_far_worse_than_free_does_not_squeeze_the_rest():
    panel = Panel.of(RESULTS, "rmse")
    worst, best = panel.domain
    assert best < 0.89 and 1.05 < worst < 1.1
    assert [each.epsilon for each in panel.hidden] == [1.0, 0.1]
    ranking = Panel.of(RESULTS, "ndcg@100")
    assert ranking.hidden == () and ranking.ceiling.model == "implicit-als"
    assert ranking.domain[0] < 0.02 < 0.5 < ranking.domain[1]


@pytest.mark.parametrize(
    "rows",
    [
        (row("bias", 1.0, 0.9), row("bias", None, 0.8)),
        (row("bias", 1.0, 0.9), row("bias", 2.0, 0.9)),
        (row("bias", 1.0, 0.9), row("own-taste", 0.0, 0.9)),
        (row("pop", 1.0, None, 0.2), row("pop", 3.0, None, 0.2), row("ease", None, None, 0.2)),
    ],
)
def test_the_smallest_sweeps_can_be_drawn(rows):
    results = Results("films", "", rows)
    assert is_sweep(results)
    picture = pictures_of(results)[0]
    assert picture.name == "privacy"
    assert "NaN" not in picture.svg() and "NaN" not in (picture.narrow_svg() or "")


def test_what_is_no_sweep_is_drawn_as_ever():
    alone = Results("films", "", (row("bias", 1.0, 0.9), row("almanac", 1.0, 0.8)))
    assert not is_sweep(alone) and pictures_of(alone)[0].name == "rmse"
    assert not is_sweep(Results("films", "", (row("bias", None, 0.9),)))
    with pytest.raises(InputError, match="no model of the results was fitted with an epsilon"):
        privacy_chart(Results("films", "", (row("bias", None, 0.9),)))


def test_a_phone_gets_the_panels_below_each_other():
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', privacy_chart(RESULTS).narrow_svg() or "")
    assert box is not None
    assert float(box.group(1)) <= 400 < float(box.group(2))


def test_models_by_epsilons():
    grid = grid_of(RESULTS, "rmse")
    assert grid.columns == ("model", "epsilon 0.1", "epsilon 1", "epsilon 10", "no privacy", "guarantee")
    rows = {cells[0]: cells[1:] for cells in grid.rows}
    assert rows["almanac"] == ("0.9900 ±.0100", "0.9600 ±.0100", "0.9300 ±.0100", "0.9000 ±.0100", "proven")
    assert rows["own-taste"] == ("1.0000 ±.0100",) * 4 + ("asks for nothing",)
    assert rows["bayesian-mf"] == ("-", "-", "-", "0.8900 ±.0100", "none")
    assert rows["paper"][3:] == ("-", "only claimed, for one rating")
    assert "popularity" not in rows


def test_the_table_of_a_sweep_has_epsilons_and_one_colour_a_model():
    html = Table(results=RESULTS).html()
    assert html.count('data-model="almanac"') == 4
    assert len(set(re.findall(r'data-model="almanac".*?background:var\(--(series\d)\)', html))) == 1
    assert ">epsilon</button>" in html and 'data-value="Infinity">none<' in html
    assert html.count('class="best"') == 2 * 5  # of two metrics the best at every epsilon and without
    assert "proven it is" not in html


@pytest.mark.parametrize(("promise", "said"), [("proven", True), (None, False)])
def test_a_page_with_a_promise_says_that_its_numbers_are_not_private(tmp_path, promise, said):
    results = Results("films", "", (row("bias", 1.0, 0.9, promise=promise), row("bias", None, 0.8, promise=None)))
    write_comparison(results, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert ("comes from held-out ratings and is not private" in page) is said


def test_results_of_a_sweep_is_a_page(tmp_path):
    pictures = write_comparison(RESULTS, tmp_path / "page.html", pictures_too=True)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("What privacy costs on films", "6 models", "almanac (proven)"):
        assert words in page
    assert page.count("almanac: proven it is") == 1
    assert [path.name for path in pictures] == ["privacy.png"]


# ── In a browser, where there is one ──

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PROBE = """
<script>
var heads = Array.from(document.querySelectorAll("table.sortable th button"));
heads.filter(function (head) { return head.textContent === "epsilon"; })[0].click();
var order = Array.from(document.querySelectorAll("table.sortable tbody tr")).map(function (row) {
  return row.cells[1].textContent; });
document.querySelector("button.theme").click();
var curve = document.querySelector("figure svg path[stroke='#3366a8']");
document.body.dataset.order = order.join(" ");
document.body.dataset.colour = getComputedStyle(curve).stroke;
document.body.dataset.wide = String(document.documentElement.scrollWidth > innerWidth);
document.body.dataset.shown = String(Array.from(document.querySelectorAll(".on-wide svg")).filter(function (drawn) {
  return drawn.getBoundingClientRect().width > 300; }).length);
document.body.dataset.asked = String(performance.getEntriesByType("resource").filter(function (entry) {
  return entry.name.indexOf("data:") !== 0; }).length);
</script></body>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_in_a_browser(tmp_path):
    """Epsilons sort as numbers with none last, curves follow the theme, nothing sticks out, nothing is fetched."""
    page = render_page(title="What privacy costs", sections=[*sweep_sections(RESULTS), Table(results=RESULTS)])
    probed = tmp_path / "probed.html"
    probed.write_text(page.replace("</body>", PROBE), encoding="utf-8")
    command = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--no-first-run",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1200,900",
        "--dump-dom",
        probed.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    body = re.search(r"<body ([^>]*)>", done.stdout)
    assert body is not None
    facts = dict(re.findall(r'data-(\w+)="([^"]*)"', body.group(1)))
    assert facts["order"] == "0 0.1 0.1 0.1 1 1 1 10 10 10 none none none"
    assert facts["colour"] == "rgb(122, 167, 224)"
    assert (facts["wide"], facts["asked"], facts["shown"]) == ("false", "0", "1")


def test_a_real_comparison_is_drawn(tmp_path):
    ratings = dc.synthetic(users=60, items=40, ratings=900, seed=1)
    terms = [dc.Terms(epsilon=epsilon, unit="user") for epsilon in (1.0, 10.0)]
    models = {"bias": dc.Bias(), "popularity": dc.Popularity(), "own-taste": dc.OwnTaste()}
    results = dc.compare(
        models, ratings, dc.evaluation.HoldOut(), terms=[*terms, dc.Terms()], metrics=["rmse", "ndcg@100"]
    )
    privacy_chart(results).save(tmp_path / "privacy.png")
    assert (tmp_path / "privacy.png").read_bytes().startswith(b"\x89PNG")
