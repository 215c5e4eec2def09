"""The user's client and the recommender's side of it, from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc

HEAVY = {"numba", "scipy", "polars", "altair", "vl_convert", "dp_accounting", "sqlalchemy", "torch", "pandas"}


@pytest.fixture
def history(tmp_path) -> Path:
    path = tmp_path / "history.csv"
    path.write_text("title,rating\nAlien (1979),5\nHeat (1995),2\n")
    return path


@pytest.fixture
def items(tmp_path) -> Path:
    path = tmp_path / "items.csv"
    path.write_text("item,title\n1,Alien (1979)\n2,Heat (1995)\n3,Solaris (1972)\n")
    return path


@pytest.fixture
def reports(discreet, history, tmp_path) -> Path:
    folder = tmp_path / "reports"
    for name in ("a", "b", "c"):
        assert discreet("perturb", history, "--gamma", 1.5, "-o", folder / f"{name}.json", "--again").code == 0
    return folder


def test_the_client_is_light(history, tmp_path):
    """What is loaded is counted, not seconds: numpy and cryptography, and no more than a few hundred modules."""
    program = (
        "import sys\n"
        f"sys.argv = ['discreet', 'perturb', {str(history)!r}, '--gamma', '1.5', '-o', {str(tmp_path / 'r.json')!r}]\n"
        "from discreet.cli import main\n"
        "try: main()\nexcept SystemExit as ended: assert ended.code in (None, 0)\n"
        "print('\\n'.join(sys.modules), file=sys.__stderr__)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = ran.stderr.splitlines()
    assert {"numpy", "cryptography"} <= set(modules)
    assert not {name.partition(".")[0] for name in modules} & HEAVY
    own = {name for name in modules if name.startswith("discreet.")}
    assert not {name for name in own if name.split(".")[1] in ("models", "populations", "kernels", "evaluation")}
    assert len(modules) < 1200
    assert dc.data.UserReport.load(tmp_path / "r.json").items == ("Alien (1979)", "Heat (1995)")


def test_uniform_noise_says_that_it_promises_nothing(discreet, history, tmp_path):
    shown = discreet("perturb", history, "--gamma", 1.5, "-o", tmp_path / "r.json")
    assert shown.code == 0
    assert "2 ratings, perturbed by uniform (gamma 1.5)" in shown.out
    assert "No privacy: " in shown.out
    assert "right about 56% of the ratings (34% without the reports)" in shown.out
    report = dc.data.UserReport.load(tmp_path / "r.json")
    assert ((report.values >= [3.5, 0.5]) & (report.values <= [6.5, 3.5])).all()
    assert str(tmp_path) not in (tmp_path / "r.json").read_text()


@pytest.mark.parametrize("mechanism", ["response", "piecewise"])
def test_local_privacy_says_what_it_proves(discreet, history, tmp_path, mechanism):
    shown = discreet("perturb", history, "--epsilon", 2, "--mechanism", mechanism, "-o", tmp_path / "r.json")
    assert "Proven: " in shown.out
    assert "All 2 ratings together: epsilon 4." in shown.out
    assert "Which items were rated is not hidden." in shown.out
    (tmp_path / "history.csv.sent").unlink()
    document = json.loads(
        discreet("perturb", history, "--epsilon", 2, "--mechanism", mechanism, "-o", tmp_path / "s.json", "--json").out
    )
    assert document["guarantee"]["proven"] == {"epsilon": 2.0, "delta": 0.0}
    assert document["mechanism"]["name"] == mechanism
    assert (document["ratings"], document["history"]["epsilon"]) == (2, 4.0)
    assert document["sent"] == {"reports": 1, "epsilon": 2.0, "record": str(tmp_path / "history.csv.sent")}


def test_hidden_items_need_the_public_list(discreet, items, tmp_path):
    (tmp_path / "mine.csv").write_text("item,rating\n2,4\n")
    arguments = (
        "perturb",
        tmp_path / "mine.csv",
        "--epsilon",
        1,
        "--mechanism",
        "hidden-items",
        "-o",
        tmp_path / "r.json",
    )
    refused = discreet(*arguments)
    assert (refused.code, "--items goes with" in refused.err) == (2, True)
    assert not (tmp_path / "r.json").exists()
    shown = discreet(*arguments, "--items", items)
    assert shown.code == 0
    assert "whether or not they gave a rating" in shown.out
    assert "not hidden" not in shown.out
    assert set(dc.data.UserReport.load(tmp_path / "r.json").items) <= {"1", "2", "3"}


def test_a_second_report_is_refused_and_again_keeps_the_id(discreet, history, tmp_path):
    arguments = ("perturb", history, "--gamma", 1.5, "-o", tmp_path / "r.json")
    assert discreet(*arguments).code == 0
    first = (tmp_path / "r.json").read_bytes()
    refused = discreet(*arguments)
    assert refused.code == 2
    assert "send it rather than a second report" in refused.err
    assert (tmp_path / "r.json").read_bytes() == first
    assert discreet(*arguments, "--again").code == 0
    assert (tmp_path / "r.json").read_bytes() != first
    assert dc.data.UserReport.load(tmp_path / "r.json").id == json.loads(first)["id"]


def test_a_report_into_another_file_is_counted_and_has_to_be_asked_for(discreet, history, tmp_path):
    arguments = ("perturb", history, "--epsilon", 2, "-o")
    first = discreet(*arguments, tmp_path / "a.json")
    assert f"Made of {history} so far: 1 report, which costs epsilon 2 for one rating;" in first.out
    before = (tmp_path / "history.csv.sent").read_bytes()
    refused = discreet(*arguments, tmp_path / "b.json")
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "another one would make 2 reports, which together cost epsilon 4 for one rating" in refused.err
    assert "with --again; nothing was written" in refused.err
    assert not (tmp_path / "b.json").exists() and (tmp_path / "history.csv.sent").read_bytes() == before
    again = discreet(*arguments, tmp_path / "b.json", "--again", "--json")
    assert json.loads(again.out)["sent"]["epsilon"] == 4.0
    reports = [dc.data.UserReport.load(tmp_path / f"{name}.json").id for name in "ab"]
    assert [line["id"] for line in json.loads((tmp_path / "history.csv.sent").read_text())["reports"]] == reports


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--gamma", -1), "gamma must be at least 0 and at most 1000, got -1"),
        (("--epsilon", 0), "epsilon must be positive and finite, got 0"),
        (("--epsilon", -2, "--mechanism", "piecewise"), "epsilon must be positive and finite, got -2"),
        (("--epsilon", "nan"), "epsilon must be positive and finite, got nan"),
        ((), "say how to perturb: --gamma for uniform noise, or --epsilon for local differential privacy"),
        (("--gamma", 1, "--epsilon", 1), "--gamma and --epsilon are different ways: choose one"),
        (("--gamma", 1, "--mechanism", "piecewise"), "the mechanism piecewise takes --epsilon, not --gamma"),
        (("--epsilon", 1, "--mechanism", "uniform"), "uniform noise takes --gamma, not --epsilon"),
        (("--epsilon", 1, "--mechanism", "respnse"), "there is no mechanism 'respnse'; did you mean 'response'?"),
        (("--gamma", 1, "--scale", "1-5"), "a rating scale is written LOW:HIGH, for example 1:5, got '1-5'"),
        (("--epsilon", 1, "--step", 0.3), "steps of 0.3 do not lead from one end of the scale 1 to 5 to the other"),
    ],
)
def test_bad_settings_are_a_sentence_and_nothing_is_written(discreet, history, tmp_path, options, sentence):
    outcome = discreet("perturb", history, *options, "-o", tmp_path / "out" / "r.json")
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"discreet: {sentence}\n")
    assert not (tmp_path / "out").exists()


def test_bad_files_are_a_sentence_and_nothing_is_written(discreet, history, tmp_path):
    output = tmp_path / "out.json"
    (tmp_path / "off.csv").write_text("item,rating\na,7\n")
    for arguments, sentence in (
        ((tmp_path / "nowhere.csv", "-o", output), "there is no such file"),
        ((tmp_path / "off.csv", "-o", output), "off.csv, row 2: the rating is outside the scale 1 to 5"),
        ((history, "-o", tmp_path), "is a folder: name a file to write to"),
        ((history, "-o", history / "r.json"), "is not a folder; nothing was written"),
    ):
        outcome = discreet("perturb", *arguments, "--gamma", 1)
        assert outcome.code == 2
        assert sentence in outcome.err
        assert outcome.err.count("\n") == 1
        assert not output.exists()
        assert not list(tmp_path.glob("*.sent"))


def test_collect_counts_what_was_rejected_and_why(discreet, reports, items):
    (reports / "cut.json").write_text((reports / "a.json").read_text()[:200])
    (reports / "copy.json").write_bytes((reports / "a.json").read_bytes())
    unknown = json.loads((reports / "b.json").read_text())
    unknown["entries"][0]["item"] = "Metropolis (1927)"
    (reports / "x.json").write_text(json.dumps(unknown | {"id": "0" * 32}))
    shown = discreet("collect", reports, "--items", items)
    assert shown.code == 0
    assert "reports used  3" in shown.out
    assert "3: 1 second report of one user, 1 unreadable file, 1 unknown item" in shown.out
    assert "cut.json was rejected: it is cut off or is not JSON" in shown.err
    assert "Metropolis" not in shown.out + shown.err
    document = json.loads(discreet("collect", reports, "--items", items, "--json").out)
    assert (document["used"], document["entries"], document["items"]) == (3, 6, 3)
    assert document["rejected"] == {"unreadable file": 1, "unknown item": 1, "second report of one user": 1}
    assert document["reported"] == [-0.5, 6.5]


def test_collect_takes_what_was_asked_for(discreet, reports):
    outcome = discreet("collect", reports, "--gamma", 2)
    assert outcome.code == 2
    assert "holds no report that can be used: 3 rejected (3 another mechanism)" in outcome.err
    assert outcome.err.count("\n") == 1
    assert discreet("collect", reports, "--gamma", 1.5).code == 0


def test_other_commands_take_a_folder_of_reports(discreet, reports, tmp_path):
    assert "-0.5 to 6.5" in discreet("data", "describe", reports).out
    assert discreet("fit", "bias", reports, "-o", tmp_path / "release").code == 0
    assert dc.Release.load(tmp_path / "release").catalogue.scale == dc.Scale(-0.5, 6.5)


@pytest.fixture
def private_reports(discreet, history, tmp_path) -> Path:
    folder = tmp_path / "private"
    for name in ("a", "b", "c"):
        assert discreet("perturb", history, "--epsilon", 2, "-o", folder / f"{name}.json", "--again").code == 0
    return folder


@pytest.mark.parametrize("model", ["bias", "mf:epochs=1", "ease", "svd"])
def test_a_fit_on_reports_promises_what_they_promise(discreet, private_reports, tmp_path, model):
    fitted = discreet("fit", model, private_reports, "-o", tmp_path / "release")
    assert fitted.code == 0 and "No privacy" not in fitted.out
    assert "whether they gave a rating this value or another: epsilon 2." in fitted.out
    assert "Not hidden: who rated which items." in fitted.out
    shown = discreet("certificate", tmp_path / "release")
    assert shown.code == 0
    assert "the value of one rating (not which items were rated)" in shown.out
    assert "perturbed at home by response (epsilon 2, step 1)" in shown.out


def test_reports_are_booked_once_however_often_they_are_used(discreet, private_reports, tmp_path):
    assert "It is booked" in discreet("fit", "bias", private_reports, "-o", tmp_path / "one").out
    assert "costs their users no more" in discreet("fit", "popularity", private_reports, "-o", tmp_path / "two").out
    document = json.loads(discreet("budget", private_reports, "--json").out)
    assert len(document["spendings"]) == 1 and not document["released_without_privacy"]
    assert document["spent"][0]["epsilon"] == pytest.approx(2)
    assert document["spent"][0]["unit"] == {"name": "rating", "neighbours": "replace"}
    # That an item was rated is out: a limit that promises to hide it comes too late.
    limit = discreet("budget", private_reports, "--epsilon", 5, "--unit", "user")
    assert limit.code == 2 and "was spent for another unit" in limit.err


def test_reports_that_were_made_again_are_booked_again(discreet, tmp_path):
    """Of 120 answers none comes out otherwise the second time with odds below 1e-41; of 6 with odds of 1 in 117."""
    history, folder = tmp_path / "long.csv", tmp_path / "private"
    history.write_text("\n".join(["title,rating", *(f"Film {number},{number % 5 + 1}" for number in range(40)), ""]))
    for again in ("one", "two"):
        for name in "abc":
            where = folder / f"{name}.json"
            assert discreet("perturb", history, "--epsilon", 2, "-o", where, "--again").code == 0
        assert "It is booked" in discreet("fit", "bias", folder, "-o", tmp_path / again).out
    assert "costs their users no more" in discreet("fit", "popularity", folder, "-o", tmp_path / "three").out
    document = json.loads(discreet("budget", folder, "--json").out)
    assert len(document["spendings"]) == 2
    assert document["spent"][0]["epsilon"] == pytest.approx(4)


def test_a_fit_on_uniform_noise_has_no_finite_epsilon(discreet, reports, tmp_path):
    fitted = discreet("fit", "bias", reports, "-o", tmp_path / "release")
    assert "No privacy: it was made from reports perturbed by uniform (gamma 1.5)" in fitted.out
    assert "no epsilon is finite" in fitted.out


def test_reports_take_items_and_scale_from_a_data_set(discreet, tmp_path):
    names = dc.load("synthetic").catalogue.items.names[:2].tolist()
    (tmp_path / "own.csv").write_text(f"item,rating\n{names[0]},5\n{names[1]},2\n")
    folder = tmp_path / "reports"
    assert discreet("perturb", tmp_path / "own.csv", "--epsilon", 2, "-o", folder / "a.json").code == 0
    fitted = discreet("fit", "bias", folder, "--items", "synthetic", "-o", tmp_path / "release")
    assert fitted.code == 0, fitted.err
    assert len(dc.Release.load(tmp_path / "release").catalogue) == 1700
    refused = discreet("fit", "bias", folder, "--items", "synthetic", "--scale", "1:10", "-o", tmp_path / "other")
    assert refused.code == 2 and "synthetic has the rating scale 1 to 5, but 1 to 10 was declared" in refused.err


def test_answers_about_every_item_are_no_ratings_to_fit(discreet, history, items, tmp_path):
    folder = tmp_path / "hidden"
    history.write_text("item,rating\n1,5\n2,2\n")
    how = ("--epsilon", 4, "--mechanism", "hidden-items", "--items", items)
    assert discreet("perturb", history, *how, "-o", folder / "a.json").code == 0
    refused = discreet("fit", "bias", folder, "-o", tmp_path / "release")
    assert refused.code == 2 and "holds answers about every item, not ratings" in refused.err
    assert not (tmp_path / "release").exists()


def test_an_epsilon_that_promises_nothing_is_not_called_proven(discreet, history, tmp_path):
    refused = discreet("perturb", history, "--epsilon", 1e9, "-o", tmp_path / "r.json")
    assert refused.code == 2 and "promises nothing: at most 1000" in refused.err
    assert not (tmp_path / "r.json").exists()
