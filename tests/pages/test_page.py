"""Pages: well-formed, self-contained, accessible, whole or not there."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

import discreet as dc
from discreet import files
from discreet.data.catalogue import Catalogue, Scale
from discreet.errors import InputError
from discreet.evaluation.results import Estimate, Results, Row
from discreet.pages.charts import pictures_of
from discreet.pages.comparisons import promise, write_comparison
from discreet.pages.data_charts import popularity_chart, values_chart
from discreet.pages.page import Facts, Pictures, Suggestions, Table, Text, render_page, write_page
from discreet.pages.pictures import inline
from discreet.pages.style import IN_PICTURES, ROLES, style_sheet
from discreet.releases.release import Reason, Recommendations, Suggestion

VOID = {"meta", "link", "br", "img", "input", "hr"}
NASTY = "<script>alert('&')</script> \"quoted\""


class Checker(HTMLParser):
    """Every tag that opens closes, in order; collects what the tests ask about."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def check(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    return checker


@pytest.fixture(scope="module")
def ratings():
    return dc.synthetic(users=60, items=40, ratings=900, seed=1)


@pytest.fixture(scope="module")
def results(ratings):
    models = {"bias": dc.Bias(), "plain": dc.Bias(item_damping=0), "popularity": dc.Popularity()}
    return dc.compare(models, ratings, dc.evaluation.Folds(count=2), data="made-up ratings")


@pytest.fixture(scope="module")
def page(results, ratings, tmp_path_factory):
    history = ratings.history_at(0)
    own = int(history.items[0])
    because = (Reason(ratings.catalogue.items[own], str(ratings.catalogue.titles[own]), 0.6),)
    path = tmp_path_factory.mktemp("page") / "page.html"
    suggested = Recommendations([Suggestion("7", "Seven & a half", 4.5, because), Suggestion("8", "Eight", 4)])
    sections = [
        Facts(facts={"users": f"{ratings.n_users:,}"}),
        Pictures(title="How good they are", pictures=pictures_of(results), lead=True),
        Suggestions(recommendations=suggested, history=history, text="By cosine."),
        Table(results=results),
        Pictures(title="The ratings themselves", pictures=[values_chart(ratings), popularity_chart(ratings)]),
        Text(title="What is promised to the users", note=promise(results), code="discreet demo"),
    ]
    return write_page(path, title="Three recommenders on made-up ratings", sections=sections)


def test_the_page_is_well_formed_and_has_everything(page):
    checker = check(page.read_text(encoding="utf-8"))
    assert "Three recommenders on made-up ratings" in checker.text
    assert "Seven & a half" in checker.text
    assert "60%" in checker.text
    assert "95 % intervals over 2 folds (Student t)" in checker.text
    assert "the models were fitted on exact ratings" in checker.text
    assert "discreet demo" in checker.text
    assert sum(tag == "figure" for tag, _ in checker.tags) == 8  # ratings 3, rankings 3, data 2


def test_the_page_asks_the_network_for_nothing(page):
    text = page.read_text(encoding="utf-8")
    checker = check(text)
    for tag, attributes in checker.tags:
        assert tag not in ("iframe", "object", "embed", "base", "form"), tag
        for name in ("src", "href", "xlink:href", "srcset", "action", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith(("data:", "#")), (tag, name)
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink", "http://www.w3.org/2000/xmlns/"}
    assert set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\"' <)]*", text)) <= namespaces
    assert "@import" not in text
    assert "url(" not in text.replace('clip-path="url(#', "")


def test_pictures_and_tables_can_be_read_aloud(page):
    checker = check(page.read_text(encoding="utf-8"))
    pictures = [attributes for tag, attributes in checker.tags if tag == "svg"]
    assert pictures
    assert all(attributes["role"] == "img" and len(attributes["aria-label"] or "") > 30 for attributes in pictures)
    tags = [tag for tag, _ in checker.tags]
    assert tags.count("caption") == tags.count("table") == 1
    assert ("html", {"lang": "en"}) in checker.tags
    heads = [attributes for tag, attributes in checker.tags if tag == "th"]
    assert all(attributes["scope"] in ("col", "row") for attributes in heads)
    assert tags.count("h1") == 1


def test_names_inside_pictures_are_not_shared(page):
    svg = '<svg viewBox="0 0 1 1"><clipPath id="clip0"/><g clip-path="url(#clip0)"/></svg>'
    first, second = inline(svg, "one"), inline(svg, "two")
    name = re.search(r'id="([^"]+)"', first)
    assert name is not None
    assert f"url(#{name.group(1)})" in first
    assert name.group(1) not in second
    found = re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8"))
    assert len(found) == len(set(found))


def test_it_is_small(page):
    assert page.stat().st_size < 400_000


def test_whatever_people_call_things_is_text():
    row = Row(NASTY, {"rmse": Estimate(0.9, 0.8, 1.0)}, settings={"name": NASTY}, guarantee=NASTY)
    history = dc.History.of(Catalogue.of(["a"], Scale(1, 5), titles=[NASTY]), {NASTY: 4})
    text = render_page(
        title=NASTY,
        lead=NASTY,
        sections=[
            Facts(facts={NASTY: NASTY}),
            Text(title=NASTY, paragraphs=[NASTY], note=NASTY, code=NASTY),
            Table(results=Results(NASTY, NASTY, (row,), NASTY), title=NASTY, text=NASTY),
            Suggestions(
                recommendations=Recommendations([Suggestion("a", NASTY, 1.0, (Reason("a", NASTY, 1.0),))]),
                history=history,
                title=NASTY,
                text=NASTY,
            ),
        ],
    )
    checker = check(text)
    assert sum(tag == "script" for tag, _ in checker.tags) == 1
    assert "alert('&')" not in text.split("<body>")[1].split("<script>")[0]
    assert NASTY in checker.text


def test_a_table_marks_the_best_and_admits_gaps(results):
    text = Table(results=results).html()
    best = re.findall(r'class="best" data-value="([\d.]+)"', text)
    assert float(best[0]) == min(results["bias"]["rmse"], results["plain"]["rmse"])
    assert text.count("not measured") == 4  # popularity predicts no ratings: four metrics
    assert "guarantee" not in text


def test_a_guarantee_gets_its_column():
    row = Row("private", {"rmse": Estimate(0.9, 0.8, 1.0)}, guarantee="epsilon 1 for every user")
    assert "epsilon 1 for every user" in Table(results=Results("d", "s", (row,))).html()


def test_suggestions_without_reasons_or_history():
    text = Suggestions(recommendations=Recommendations([Suggestion("a", "A film", 1.0)])).html()
    assert "A film" in text
    assert "because" not in text
    assert "What this user rated" not in text


def test_ratings_on_another_scale_are_numbers():
    history = dc.History.of(Catalogue.of(["a"], Scale(0, 100)), {"a": 70})
    text = Suggestions(recommendations=Recommendations([]), history=history).html()
    assert ">70<" in text
    assert "★" not in text


def test_one_model_alone(tmp_path, ratings):
    train, test = ratings.split(test=0.2, seed=1)
    results = dc.evaluate(dc.Bias().fit(dc.NoPrivacy(train)), train, test)
    write_comparison(results, tmp_path / "one.html")
    checker = check((tmp_path / "one.html").read_text(encoding="utf-8"))
    assert "bias on ratings" in checker.text


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    write_page(path, title="first", sections=[])

    class Broken:
        def html(self) -> str:
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        write_page(path, title="second", sections=[Broken()])
    assert "first" in path.read_text(encoding="utf-8")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.Path, "replace", full)
    with pytest.raises(InputError, match=r"cannot write .*No space left on device; nothing was written"):
        write_page(path, title="third", sections=[])
    assert "first" in path.read_text(encoding="utf-8")
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


def test_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("here")
    with pytest.raises(InputError, match="cannot write to"):
        write_page(tmp_path / "file" / "page.html", title="x", sections=[])
    with pytest.raises(InputError, match="is a folder"):
        write_page(tmp_path, title="x", sections=[])


def test_every_role_has_two_colours_and_pictures_follow():
    sheet = style_sheet()
    for role, (light, dark) in ROLES.items():
        assert f"--{role}:{light};" in sheet
        assert f"--{role}:{dark};" in sheet
        assert light != dark
    assert len({ROLES[role][0] for role in IN_PICTURES}) == len(IN_PICTURES), "a colour stands for one role"


def contrast(first: str, second: str) -> float:
    """As the accessibility guidelines define it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_letters_and_dots_stand_out(mode):
    card, page_colour = ROLES["card"][mode], ROLES["page"][mode]
    for role in ("ink", "quiet", "accent"):
        assert contrast(ROLES[role][mode], card) >= 4.5, role
        assert contrast(ROLES[role][mode], page_colour) >= 4.5, role
    for role in IN_PICTURES:
        if role.startswith("series"):
            assert contrast(ROLES[role][mode], card) >= 2.7, role


def test_pictures_of_results_are_saved(results, tmp_path):
    pictures = {tmp_path / "new" / f"{picture.name}.svg": picture for picture in pictures_of(results)}
    for path, picture in pictures.items():
        picture.save(path)
    assert [path.name for path in pictures] == [
        "rmse.svg",
        "rmse-and-time.svg",
        "errors.svg",
        "ndcg-100.svg",
        "ndcg-100-and-time.svg",
        "recall-20.svg",
    ]
    assert all(path.read_text(encoding="utf-8").startswith("<svg") for path in pictures)


# ── In a browser, where there is one ──

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PROBE = """
<script>
document.querySelector("th:nth-child(2) button").click();
var order = Array.from(document.querySelectorAll("tbody tr")).map(function (row) { return row.dataset.model; });
document.querySelector("button.theme").click();
var dot = document.querySelector("figure svg [fill='#3366a8'], figure svg [stroke='#3366a8']");
document.body.dataset.order = order.join(" ");
document.body.dataset.theme = document.documentElement.dataset.theme;
document.body.dataset.colour = getComputedStyle(dot)[dot.getAttribute("fill") === "#3366a8" ? "fill" : "stroke"];
document.body.dataset.wide = String(document.documentElement.scrollWidth > innerWidth);
document.body.dataset.asked = String(performance.getEntriesByType("resource").filter(function (entry) {
  return entry.name.indexOf("data:") !== 0; }).length);
</script></body>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_in_a_browser(page, results, tmp_path):
    """The script sorts, the theme changes, pictures take its colours, nothing sticks out, nothing is fetched."""
    probed = tmp_path / "probed.html"
    probed.write_text(page.read_text(encoding="utf-8").replace("</body>", PROBE), encoding="utf-8")
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
        "--dump-dom",
        probed.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    body = re.search(r"<body ([^>]*)>", done.stdout)
    assert body is not None
    facts = dict(re.findall(r'data-(\w+)="([^"]*)"', body.group(1)))
    ordered = sorted(("bias", "plain"), key=lambda model: results[model]["rmse"])
    assert facts["order"] == " ".join([*ordered, "popularity"])
    assert facts["theme"] == "dark"
    assert facts["colour"] == "rgb(122, 167, 224)"
    assert facts["wide"] == "false"
    assert facts["asked"] == "0"


def test_a_picture_with_a_form_for_phones_is_shown_in_one_of_them(page):
    text = page.read_text(encoding="utf-8")
    assert text.count('class="drawing on-wide"') == text.count('class="drawing on-narrow"') >= 4
    css = style_sheet().replace("\n", " ")
    assert re.search(r"\.on-narrow \{\s*display: none;", css)  # first, so that the rules for narrow pages come later
    narrow = css[css.index(".on-narrow {") :]
    assert re.search(
        r"@media \(max-width:720px\) .*\.on-wide \{\s*display: none;\s*\}\s*\.on-narrow \{\s*display: block;", narrow
    )


def test_what_scrolls_says_so():
    css = style_sheet().replace("\n", " ")
    assert re.search(r"\.scroll, \.scrolls, pre \{\s*background:[^}]*local[^}]*scroll", css)


def test_the_table_shows_the_shape_of_every_model():
    rows = tuple(Row(f"m{place}", {"mae": Estimate(0.7, 0.6, 0.8)}) for place in range(12))
    html = Table(results=Results("films", "as given", rows)).html()
    assert html.count('class="dot circle"') == 10
    assert html.count('class="dot square"') == 2
