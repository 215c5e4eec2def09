"""A model outside the package: the page about it runs as printed, and what is wrong with one is one sentence."""

import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import InputError, ReleaseError
from discreet.names import find_kind

PAGE = (Path(__file__).parents[2] / "docs/your_own_model.md").read_text(encoding="utf-8")
CODE, *_ = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
COMMANDS = [
    line.removeprefix("discreet ")
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
RAW = """
from dataclasses import dataclass
import numpy as np
import discreet as dc

@dataclass(frozen=True, kw_only=True)
class Counts:
    least: int
    raw_ratings = True

    def fit(self, ratings, progress=None):
        counts = np.bincount(ratings.item_index, minlength=ratings.n_items)
        return dc.Release.of_ratings(self, ratings, {"counts": counts})

    def score(self, release, histories):
        return np.tile(release.arrays["counts"] >= self.least, (histories.n_users, 1)).astype(float)
"""
BAD = """
from dataclasses import dataclass, field
import discreet as dc

class NoDataclass:
    def fit(self, population, progress=None): ...
    def score(self, release, histories): ...

@dataclass
class NoFit:
    def score(self, release, histories): ...

@dataclass
class Nothing:
    pass

@dataclass
class OtherFit:
    def fit(self, ratings): ...
    def score(self, release, histories): ...

@dataclass
class Strict:
    size: int = 3
    def __post_init__(self):
        if self.size < 1:
            raise ValueError("size must be positive")
    def fit(self, population, progress=None): ...
    def score(self, release, histories): ...

@dataclass
class Sets:
    allowed: tuple = (1, 2)
    def fit(self, population, progress=None): return dc.Release.of(self, population, {})
    def score(self, release, histories): ...
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with the file of the page, forgotten afterwards."""
    (tmp_path / "my_models.py").write_text(CODE)
    (tmp_path / "raw_models.py").write_text(RAW)
    (tmp_path / "bad_models.py").write_text(BAD)
    (tmp_path / "broken.py").write_text("import nowhere_at_all")
    (tmp_path / "loud.py").write_text("open('imported', 'w').close()\nclass Loud: ...")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    importlib.invalidate_caches()
    yield tmp_path
    for name in ("my_models", "raw_models", "bad_models", "broken", "loud"):
        sys.modules.pop(name, None)


@pytest.fixture
def small(monkeypatch):
    """The data set ``synthetic``, smaller."""
    ratings = dc.synthetic(users=120, items=60, ratings=2400, seed=1)
    monkeypatch.setattr("discreet.data.loading.synthetic", lambda **_: ratings)
    return ratings


def test_it_is_about_twenty_lines():
    assert sum(bool(line.strip()) and "import" not in line for line in CODE.splitlines()) <= 20


def test_every_command_of_the_page_runs(discreet, here, small):
    verbs = [command.split()[0] for command in COMMANDS]
    assert {"evaluate", "compare", "audit", "fit", "show", "certificate", "recommend", "search"} == set(verbs)
    for command in COMMANDS:
        liked = str(small.catalogue.titles[0])
        words = [liked if word == "Yellow Sailor (1983)" else word for word in shlex.split(command)]
        outcome = discreet(*words)
        assert outcome.code == 0, (command, outcome.err)
        assert words[0] in ("search", "recommend", "certificate") or "GenreVotes" in outcome.out, command
    release = dc.Release.load("votes", model=sys.modules["my_models"].GenreVotes)
    assert release.model.pull == 2 and release.guarantee.proven.epsilon <= 1


@pytest.mark.parametrize(
    "arguments", [("show", "votes"), ("certificate", "votes"), ("recommend", "votes", "--likes", "x")]
)
def test_a_card_names_no_code_to_import(discreet, here, small, arguments):
    """A release that was downloaded is not trusted: what its card names is never imported."""
    assert discreet("fit", "my_models:GenreVotes", "synthetic", "-o", "votes").code == 0
    card = here / "votes/card.json"
    for name in ("my_models:GenreVotes", "loud:Loud", "os:system"):
        card.write_text(re.sub(r'"model": "[^"]*"', f'"model": "{name}"', card.read_text()))
        outcome = discreet(*arguments)
        assert outcome.code == 2
        assert (
            f"holds the model '{name}', which is not one of Discreet's: if you trust its code, pass the class"
            in outcome.err
        )
        assert not (here / "imported").exists() and "loud" not in sys.modules
        assert find_kind(name) is None


def test_another_class_than_that_of_the_card_is_refused(discreet, here, small):
    assert discreet("fit", "my_models:GenreVotes", "synthetic", "-o", "votes").code == 0
    assert discreet("fit", "popularity", "synthetic", "-o", "popularity").code == 0
    outcome = discreet("show", "votes", "--model", "popularity")
    assert outcome.code == 2 and "and Popularity is another" in outcome.err
    outcome = discreet("show", "popularity", "--model", "my_models:GenreVotes")
    assert outcome.code == 2 and "holds a model Popularity, not GenreVotes" in outcome.err
    with pytest.raises(ReleaseError, match=r"pass the class \(Release.load\(folder, model=Class\)"):
        dc.Release.load("votes")


def test_raw_ratings_and_a_setting_without_a_default(discreet, here, small):
    outcome = discreet("fit", "raw_models:Counts", "synthetic", "-o", "counts")
    assert (
        outcome.code == 2
        and "raw_models:Counts has no default for least: write raw_models:Counts:least=VALUE" in outcome.err
    )
    assert discreet("fit", "raw_models:Counts:least=5", "synthetic", "-o", "counts").code == 0
    assert "least=5" in discreet("show", "counts", "--model", "raw_models:Counts").out
    assert discreet("evaluate", "raw_models:Counts", "synthetic", "--test", 0.2, "--set", "least=9").code == 0
    outcome = discreet("fit", "raw_models:Counts:least=5", "synthetic", "--epsilon", 1, "-o", "private")
    assert outcome.code == 2 and "Counts has no private form" in outcome.err


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere:Model", "there is no module 'nowhere', neither in this folder nor installed"),
        ("nowhere.at.all:Model", "there is no module 'nowhere.at.all'"),
        ("broken:Model", "the module 'broken' cannot be imported: No module named 'nowhere_at_all'"),
        (
            "my_models:GenreVote",
            "there is no class in the module 'my_models' called 'GenreVote'; did you mean 'GenreVotes'?",
        ),
        ("my_models:np", "my_models:np is no class"),
        ("bad_models:NoDataclass", "bad_models:NoDataclass is no dataclass"),
        ("bad_models:NoFit", "bad_models:NoFit is no model: it has no fit(self, population, progress=None) -> Release"),
        ("bad_models:Nothing", "-> Release and no score(self, release, histories)"),
        ("bad_models:OtherFit", "the fit of bad_models:OtherFit takes other arguments than a model's"),
        ("bad_models:Strict:size=0", "bad_models:Strict cannot be made with these settings: size must be positive"),
        ("bad_models:Sets", "Sets cannot be saved: its setting allowed is a tuple"),
        ("my_models:GenreVotes:push=1", "there is no my_models:GenreVotes setting 'push'; it has pull"),
    ],
)
def test_what_is_wrong_is_one_sentence(discreet, here, small, name, sentence):
    outcome = discreet("fit", name, "synthetic", "-o", "new")
    assert outcome.code == 2
    assert sentence in outcome.err and len(outcome.err.splitlines()) == 1
    assert not (here / "new").exists()


def test_a_model_alone_is_not_taken_for_data(discreet, here):
    assert "DATA is missing" in discreet("fit", "my_models:GenreVotes", "-o", "new").err
    assert "DATA is missing" in discreet("evaluate", "my_models:GenreVotes").err


def test_a_run_that_is_tried_again_finds_its_release(discreet, here, small):
    fit = (
        "fit",
        "my_models:GenreVotes",
        "synthetic",
        "--epsilon",
        1,
        "--unit",
        "user",
        "--run-id",
        "one",
        "-o",
        "votes",
    )
    assert discreet(*fit).code == 0
    outcome = discreet(*fit)
    assert outcome.code == 0 and "released before" in outcome.out


def test_nobody_knows_how_the_defaults_of_others_were_chosen(discreet, here, small):
    """Once it was looked at, its defaults may be what looked best."""
    fit = ("fit", "my_models:GenreVotes", "synthetic", "--epsilon", 1, "--unit", "user", "-o", "votes")
    assert discreet("evaluate", "my_models:GenreVotes", "synthetic", "--test", 0.2).code == 0
    outcome = discreet(*fit)
    assert outcome.code == 2
    assert (
        "GenreVotes is not one of Discreet's models, so its defaults may have been chosen by what came out"
        in outcome.err
    )
    assert discreet(*fit, "--tuned-on", "nothing").code == 0


def test_a_model_without_settings_that_can_be_saved_is_refused_in_python(tmp_path, small):
    class Plain(dc.Popularity):
        pass

    release = dc.Popularity().fit(dc.NoPrivacy(small))
    object.__setattr__(release, "model", object())
    with pytest.raises(InputError, match="must be fields of a dataclass"):
        release.save(tmp_path / "new")
    Plain().fit(dc.NoPrivacy(small)).save(tmp_path / "plain")
    assert isinstance(dc.Release.load(tmp_path / "plain", model=Plain).model, Plain)
