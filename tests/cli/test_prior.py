"""``discreet fit --prior``: from a public release, and from one night to the next."""

import json

import pytest

import discreet as dc

SYNTHETIC = dc.synthetic(users=60, items=40, ratings=900, seed=1)


@pytest.fixture
def public(tmp_path):
    folder = tmp_path / "public"
    dc.Almanac().fit(dc.NoPrivacy(SYNTHETIC)).save(folder)
    return folder


def test_one_night_after_another_on_one_account(discreet, table, items, tmp_path, public):
    data = (table, "--scale", "1:5", "--items", items, "--items-public", "--epsilon", 0.5, "--unit", "user")
    first = discreet("fit", "almanac", *data, "--prior", public, "-o", tmp_path / "1")
    assert first.code == 0 and "used as a prior" in first.out, first.err
    second = discreet("fit", *data, "--prior", tmp_path / "1", "--check-replay", "-o", tmp_path / "2")
    assert second.code == 0, second.err
    release = dc.Release.load(tmp_path / "2")
    for said in (second.out, str(release.guarantee)):  # what went into the prior went into this, too
        assert "used as a prior: Almanac, epsilon 0.5" in said and "; Almanac, without a proven guarantee" in said
    assert "noisy_sums" in release.arrays
    shown = discreet("certificate", tmp_path / "2").out
    assert "beside what is known from priors" in shown and "nothing else but its prior went into it" in shown
    spendings = json.loads(discreet("budget", table, "--json").out)["spendings"]
    assert len(spendings) == 2 and spendings[1]["total"] > spendings[0]["total"]


def test_a_release_without_privacy_of_the_same_ratings_is_no_prior(discreet, table, items, tmp_path):
    """Nor is one that was made with it: what is learned from it could not be promised."""
    data = (table, "--scale", "1:5", "--items", items, "--items-public")
    assert discreet("fit", "almanac", *data, "-o", tmp_path / "exact").code == 0
    private = (*data, "--epsilon", 0.5, "--unit", "user")
    refused = discreet("fit", *private, "--prior", tmp_path / "exact", "-o", tmp_path / "out")
    assert refused.code == 2 and "the prior promises nothing" in refused.err and refused.err.count("\n") == 1
    assert not (tmp_path / "out").exists()
    assert (
        discreet("fit", *private, "--account", "other", "--prior", tmp_path / "exact", "-o", tmp_path / "1").code == 0
    )
    refused = discreet("fit", *private, "--prior", tmp_path / "1", "-o", tmp_path / "out")
    assert refused.code == 2 and "the prior promises nothing" in refused.err


def test_what_takes_no_prior_refuses_before_anything_is_spent(discreet, table, items, tmp_path, public):
    data = (table, "--scale", "1:5", "--items", items, "--items-public", "--epsilon", 1, "--unit", "user")
    refused = discreet("fit", "bias", *data, "--prior", public, "-o", tmp_path / "out")
    assert refused.code == 2 and "Bias makes nothing of a prior" in refused.err
    missing = discreet("fit", "almanac", *data, "--prior", tmp_path / "no", "-o", tmp_path / "out")
    assert missing.code == 2 and "is not a release" in missing.err
    assert json.loads(discreet("budget", table, "--json").out)["spendings"] == []


def test_previous_is_the_release_that_is_replaced_if_there_is_one(discreet, table, items, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "discreet.toml").write_text(
        f'[data]\nsource = "{table}"\nscale = "1:5"\nitems = "{items}"\nitems-public = true\n'
        '[fit]\nmodel = "almanac"\nepsilon = 0.5\nunit = "user"\nprior = "previous"\n'
        'purpose = "both"\nrelease = "release"\n'
    )
    first = discreet("fit", "--run-id", "1")
    assert first.code == 0 and "prior" not in first.out, first.err
    second = discreet("fit", "--run-id", "2", "--replace")
    assert second.code == 0 and "their ledgers compose" in second.out, second.err
    again = discreet("fit", "--run-id", "2", "--replace")
    assert again.code == 0 and "nothing spent" in again.out, again.out + again.err
