"""``discreet certificate --html``: one page to print and sign."""

import html
import json
import re
import shutil
import subprocess

import pytest

import discreet as dc


@pytest.fixture
def paid(discreet, table, items, tmp_path):
    """A release that was paid for and signed, and the command that shows its certificate."""
    discreet("keys", tmp_path / "key")
    discreet("budget", "--account", "films", "--epsilon", 5, "--unit", "user")
    source = (table, "--scale", "1:5", "--items", items, "--items-public", "--account", "films")
    private = ("--epsilon", 1, "--unit", "user")
    discreet("fit", "popularity", *source, *private, "-o", tmp_path / "first")
    done = discreet("fit", "almanac", *source, *private, "-o", tmp_path / "release", "--sign", tmp_path / "key")
    assert done.code == 0, done.err
    return tmp_path / "release"


def text_of(path) -> str:
    content = path.read_text(encoding="utf-8")
    assert "<script" not in content and "http:" not in content.replace("http-equiv", "") and "src=" not in content
    body = content[content.index("<body>") :]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_everything_an_officer_asks_for_is_on_the_page(discreet, paid, tmp_path):
    page = tmp_path / "page.html"
    outcome = discreet("certificate", paid, "--html", page, "--key", tmp_path / "key.pub")
    assert outcome.code == 0 and outcome.out == f"The page is {page}\n"
    text = text_of(page)
    account = json.loads(discreet("budget", "--account", "films", "--json").out)
    release = dc.Release.load(paid)
    for words in (
        "Proven: epsilon 1, delta 1e-06",
        "at most 73.2 % sure, in place of 50 %",  # e/(1 + e), rounded up
        "at most 2.72 times as likely",
        "one in 1,000,000",
        "no user",
        "Paid from the account films . Limit: epsilon 5, delta 1e-06.",
        f"epsilon {account['spent'][0]['epsilon']:.4g}",
        f"{account['one_more']['fits']} more like the last release",
        "Almanac (this release)",
        account["spendings"][1]["released_at"][:10],
        "The recommender, who holds the ratings Sees the data.",
        *(spend.what for spend in release.spends),
        *release.guarantee.sentences(),
        json.loads((paid / "card.json").read_text())["arrays_sha256"],
        f"the key {dc.privacy.PublicKey.read(tmp_path / 'key.pub')}",
        "discreet certificate release --key KEY.pub",
        "No audit was given",
        f"Discreet {dc.__version__}",
        "Checked by",
    ):
        assert words in text, words
    assert str(tmp_path) not in text  # no path of this machine


def test_an_audit_beside_it(discreet, paid, table, items, tmp_path):
    asked = ("--scale", "1:5", "--items", items, "--items-public", "--epsilon", 1, "--json")
    runs = ("--runs", 60, "--seed", 3)  # with secret noise one audit in 10,000 accuses what is right
    for model in ("almanac", "popularity"):
        (tmp_path / f"{model}.json").write_text(discreet("audit", model, table, *asked, *runs).out)
    page = tmp_path / "page.html"
    discreet("certificate", paid, "--html", page, "--audit", tmp_path / "almanac.json")
    text = text_of(page)
    assert "No leak was found." in text and "60 runs on each side" in text and "not of almanac" not in text
    discreet("certificate", paid, "--html", page, "--audit", tmp_path / "popularity.json")
    assert "This audit was of popularity, not of almanac." in text_of(page)
    accusing = json.loads((tmp_path / "almanac.json").read_text()) | {"accuses": True, "faults": ["it is off"]}
    (tmp_path / "accusing.json").write_text(json.dumps(accusing))
    discreet("certificate", paid, "--html", page, "--audit", tmp_path / "accusing.json")
    assert "The promise is broken." in text_of(page) and "it is off" in text_of(page)


def test_a_release_without_privacy_says_so(discreet, release, tmp_path):
    assert discreet("certificate", release, "--html", tmp_path / "page.html").code == 0
    text = text_of(tmp_path / "page.html")
    for words in ("No privacy is promised", "no bound on what they may learn", "No account is known", "not signed"):
        assert words in text


def test_the_unit_rating_is_said_to_be_less(tmp_path):
    from discreet.pages.sign_off import meaning

    ratings = dc.synthetic(users=60, items=40, ratings=900, seed=1)
    release = dc.Popularity().fit(dc.TrustedServer(ratings, dc.Ledger(epsilon=0.5)))
    sentences = " ".join(meaning(release.guarantee))
    assert "you rated a certain item" in sentences and "62.3 % sure" in sentences and "more can be learned" in sentences


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("{}", "it has no model"), ("no json", "is not the outcome of an audit"), ("[]", "no model")],
)
def test_an_audit_that_is_none(discreet, release, tmp_path, content, sentence):
    (tmp_path / "audit.json").write_text(content)
    outcome = discreet("certificate", release, "--html", tmp_path / "page.html", "--audit", tmp_path / "audit.json")
    assert outcome.code == 2 and sentence in outcome.err and not (tmp_path / "page.html").exists()
    assert "name it with --html" in discreet("certificate", release, "--audit", tmp_path / "audit.json").err


def test_another_account_did_not_pay(discreet, paid, tmp_path):
    outcome = discreet("certificate", paid, "--html", tmp_path / "page.html", "--account", "others")
    assert outcome.code == 2 and "the account others did not pay for this release" in outcome.err


def test_what_a_stranger_wrote_is_only_text(discreet, tmp_path):
    ratings = dc.synthetic(users=60, items=40, ratings=900, seed=1)
    release = dc.Popularity().fit(dc.NoPrivacy(ratings))
    from dataclasses import replace

    replace(release, note="<script>alert(1)</script>").save(tmp_path / "odd")
    discreet("certificate", tmp_path / "odd", "--html", tmp_path / "page.html")
    assert (
        "&lt;script&gt;" in (tmp_path / "page.html").read_text()
        and "<script" not in (tmp_path / "page.html").read_text()
    )


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium to print with")
def test_it_prints_on_one_sheet_of_a4(discreet, paid, tmp_path):
    discreet("certificate", paid, "--html", tmp_path / "page.html")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/browser"]
    printed = tmp_path / "page.pdf"
    subprocess.run(
        [*command, "--no-pdf-header-footer", f"--print-to-pdf={printed}", f"file://{tmp_path}/page.html"],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    content = printed.read_bytes()
    assert len(re.findall(rb"/Type /Page\b", content)) == 1
    width, height = (float(side) for side in re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", content).groups())
    assert (round(width), round(height)) == (595, 842)
