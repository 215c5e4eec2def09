import json

import pytest

import discreet as dc
from discreet.web.file_format import read_header


@pytest.fixture
def release(tmp_path):
    ratings = dc.synthetic(users=200, items=80, ratings=4000, seed=1)
    found = dc.ALS(factors=8).fit(dc.NoPrivacy(ratings))
    found.save(tmp_path / "release")
    return tmp_path / "release"


def test_a_folder_for_browsers(discreet, release, tmp_path):
    outcome = discreet("export", release, "--web", "-o", tmp_path / "web")
    assert outcome.code == 0 and "No privacy" in outcome.out and "release.discreet" in outcome.out
    assert (tmp_path / "web" / "index.html").exists()
    again = discreet("export", release, "--web", "-o", tmp_path / "web")
    assert again.code == 2 and "--replace" in again.err
    assert discreet("export", release, "--web", "-o", tmp_path / "web", "--replace").code == 0


def test_one_page(discreet, release, tmp_path):
    outcome = discreet("export", release, "--web", "-o", tmp_path / "mine.html")
    assert outcome.code == 0 and f"Open {tmp_path / 'mine.html'}" in outcome.out.replace("\n", " ")
    assert discreet("export", release, "--web", "-o", tmp_path / "mine.html").code == 2
    assert "check" in discreet("export", release, "--web", "-o", tmp_path / "other.html", "--check").err


def test_the_loss_of_a_lower_precision_is_measured_and_printed(discreet, release, tmp_path):
    outcome = discreet("export", release, "--web", "-o", tmp_path / "web", "--precision", "float16", "--json")
    found = json.loads(outcome.out)
    assert found["precision"] == "float16" and 0 < found["loss"]["rating"] < 0.01
    assert 0.5 < found["loss"]["equal_lists"] <= 1
    content = (tmp_path / "web" / "release.discreet").read_bytes()
    assert len(content) == found["bytes"] and read_header(content)["card"]["precision"] == "float16"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "say what to export for: --web"),
        (("--web", "--precision", "float8"), "--precision must be one of float32, float16, int8"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(discreet, release, tmp_path, options, sentence):
    outcome = discreet("export", release, "-o", tmp_path / "web", *options)
    assert outcome.code == 2 and sentence in outcome.err and not (tmp_path / "web").exists()
