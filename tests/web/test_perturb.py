"""Perturbing at home in JavaScript: the laws of Python bit by bit, the same report, and the right odds in the end."""

import json
import subprocess

import numpy as np
import pytest
from scipy.stats import chi2

import discreet as dc
from discreet.collect.promise import mechanism_of, promise_of
from discreet.data.report import UserReport
from discreet.web.export import site_files

SCALE = dc.Scale(1, 5)
SETTINGS = [
    {"name": "response", "epsilon": 1.0, "step": 1.0},
    {"name": "response", "epsilon": 0.3, "step": 0.5},
    {"name": "response", "epsilon": 1000.0, "step": 1.0},
    {"name": "piecewise", "epsilon": 2.0},
    {"name": "piecewise", "epsilon": 0.07},
    {"name": "uniform", "gamma": 1.5},
    {"name": "uniform", "gamma": 0.0},
    {"name": "hidden-items", "epsilon": 3.0, "step": 1.0},
]
KINDS = {
    "response": dc.collect.RandomisedResponse,
    "piecewise": dc.collect.Piecewise,
    "uniform": dc.collect.UniformNoise,
    "hidden-items": dc.collect.HiddenItems,
}
FALSE_ALARM = 1e-9


def mechanism(settings):
    return KINDS[settings["name"]](**{name: value for name, value in settings.items() if name != "name"})


@pytest.fixture(scope="module")
def ask(node, tmp_path_factory):
    """Run a script in node that has the module as ``home``; what it prints as JSON."""
    folder = tmp_path_factory.mktemp("perturb")
    for name in ("perturb.js", "package.json"):
        (folder / name).write_bytes(site_files()[name])

    def run(script: str, *given: object):
        whole = (
            f"import * as home from 'file://{folder}/perturb.js'; const given = JSON.parse(process.argv[1]);{script}"
        )
        command = [node, "--input-type=module", "-e", whole, json.dumps(given)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


class Words(dc.Randomness):
    """Words that JavaScript is given too."""

    def __init__(self, words):
        super().__init__(seed=1)
        self.all = np.array(words, dtype=np.uint64)
        self.place = 0

    def words(self, count):
        self.place += count
        return self.all[self.place - count : self.place]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_same_words_give_the_same_report(settings, ask):
    items = [f"item {n}" for n in range(40)]
    values = [1.0 + n % 5 for n in range(40)]
    catalogue = dc.Catalogue.of(items, SCALE, declared=True)
    history = dc.History.of(catalogue, dict(zip(items, values, strict=True)))
    words = np.random.default_rng(5).integers(0, 1 << 64, 400, dtype=np.uint64).tolist()
    mine = mechanism(settings).perturb(history, Words(words))
    theirs = ask(
        """let place = 0;
        const words = () => BigInt(given[2][place++]);
        console.log(JSON.stringify(home.perturb(given[0], given[1], {scale: [1, 5], items: given[3], words})));""",
        list(zip(items, values, strict=True)),
        settings,
        [str(word) for word in words],
        items,
    )
    report = UserReport.from_json(theirs)
    assert report.form == mine.form and report.items == mine.items
    assert report.values.tolist() == mine.values.tolist()
    assert report.form.seeded and theirs["guarantee"] == mine.guarantee


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_python_reads_the_report_and_its_promise(settings, ask, tmp_path):
    report = ask(
        """console.log(JSON.stringify(home.perturb(given[0], given[1], {scale: [1, 5], items: ["a", "b", "c"]})));""",
        {"a": 5, "b": 1.5 if settings["name"] in ("uniform", "piecewise") else 2},
        settings,
    )
    (tmp_path / "report.json").write_text(json.dumps(report))
    found = UserReport.load(tmp_path / "report.json")
    assert mechanism_of(found.form) == mechanism(settings) and not found.form.seeded
    assert report["guarantee"] == str(mechanism(settings).guarantee)
    assert (promise_of(found.form).proven is None) == (settings["name"] == "uniform")


def test_a_collection_reads_them(ask, tmp_path, ratings):
    names = [ratings.catalogue.items[n] for n in range(3)]
    for user in range(3):
        report = ask(
            "console.log(JSON.stringify(home.perturb(given[0], {name: 'piecewise', epsilon: 2}, {scale: [1, 5]})));",
            dict.fromkeys(names, 4),
        )
        (tmp_path / f"{user}.json").write_text(json.dumps(report))
    found = dc.data.read_reports(tmp_path, catalogue=ratings.catalogue)
    assert len(found.ratings) == 9 and not found.rejected


def statistic(counts, expected):
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_law_is_right(epsilon, ask):
    """A chi-squared test of 200,000 answers, which fails by chance once in a thousand million times.

    It has power: an epsilon that is a tenth larger would be told.
    """
    draws = 200_000
    told = ask(
        """const law = home.Windows.ofEpsilon(5, 1, given[0]), counts = [0, 0, 0, 0, 0];
        for (let n = 0; n < given[1]; n++) counts[law.draw(3, home.secureWords)] += 1;
        console.log(JSON.stringify(counts));""",
        epsilon,
        draws,
    )
    counts, limit = np.array(told), chi2.isf(FALSE_ALARM, 4)

    def expected(at):
        return dc.collect.RandomisedResponse(epsilon=at).channel(SCALE).law.odds(np.arange(5), 3) * draws

    assert counts.sum() == draws
    assert statistic(counts, expected(epsilon)) < limit
    assert statistic(counts, expected(1.1 * epsilon)) > limit


def test_a_wide_window_is_uniform_inside_and_outside(ask):
    """The piecewise mechanism, in ten cells inside the window and ten outside; the same false-alarm rate."""
    draws, cells = 100_000, 10
    law = dc.collect.Piecewise(epsilon=2.0).channel(SCALE).law
    outputs = ask(
        """const law = home.Windows.ofEpsilon(given[1], given[2], 2), out = [];
        for (let n = 0; n < given[0]; n++) out.push(law.draw(given[3], home.secureWords));
        console.log(JSON.stringify(out));""",
        draws,
        law.inputs,
        law.width,
        300_000,
    )
    inside = np.linspace(300_000, 300_000 + law.width, cells + 1).round()
    edges = np.unique(np.concatenate([np.linspace(0, 300_000, cells // 2 + 1).round(), inside, [law.size]]))
    counts = np.histogram(np.array(outputs) + 0.5, edges)[0]
    odds = np.diff([law.odds(np.arange(edge), 300_000).sum() for edge in edges])
    assert statistic(counts, odds * draws) < chi2.isf(FALSE_ALARM, len(counts) - 1)


@pytest.mark.parametrize(
    ("history", "settings", "sentence"),
    [
        ({}, {"name": "response", "epsilon": 1}, "holds no rating"),
        ({"a": 6}, {"name": "response", "epsilon": 1}, "outside the scale"),
        ({"a": 2.5}, {"name": "response", "epsilon": 1}, "not one of the levels"),
        ({"a": 2}, {"name": "response", "epsilon": 0}, "epsilon must be"),
        ({"a": 2}, {"name": "uniform", "gamma": -1}, "gamma must be"),
        ({"a": 2}, {"name": "laplace", "epsilon": 1}, "no mechanism"),
        ({"a": 2}, {"name": "hidden-items", "epsilon": 1}, "public list"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(history, settings, sentence, ask):
    said = ask(
        """try { home.perturb(given[0], given[1], {scale: [1, 5]}); console.log("0"); }
        catch (error) { console.log(JSON.stringify(error.message)); }""",
        history,
        settings,
    )
    assert sentence in said


def test_a_second_report_is_counted_and_has_to_be_asked_for(ask):
    said = ask(
        """const kept = new Map();
        const storage = {getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value)};
        const report = home.perturb({a: 2}, {name: "response", epsilon: 1}, {scale: [1, 5]});
        home.countReport(report, "mine", {storage});
        let refused = "";
        try { home.countReport(report, "mine", {storage}); } catch (error) { refused = error.message; }
        const after = home.countReport(report, "mine", {storage, again: true});
        console.log(JSON.stringify([refused, after.length, kept.size]));""",
    )
    assert "once more" in said[0] and said[1:] == [2, 1]
