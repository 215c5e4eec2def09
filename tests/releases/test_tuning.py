"""What a guarantee says of how settings were chosen, and when nothing is proven because of it."""

import pickle

import pytest

import discreet as dc
from discreet.releases.tuning import other_settings, settings_hash


@pytest.fixture
def ratings():
    return dc.synthetic(users=40, items=30, ratings=500, seed=1)


def tuning(model, ratings, **more):
    guarantee = model.fit(dc.TrustedServer(ratings, dc.Ledger(1.0), **more)).guarantee
    return guarantee.tuning, guarantee.proven is not None


def look(ratings, *models):
    return dc.compare(
        {repr(model): model for model in models}, ratings, dc.evaluation.HoldOut(test=0.2, seed=1), metrics=["rmse"]
    )


def test_without_a_look_everything_is_as_it_was_said(ratings):
    assert tuning(dc.Bias(), ratings) == ("defaults", True)
    assert tuning(dc.Almanac(), ratings) == ("defaults", True)
    assert tuning(dc.Bias(item_damping=2), ratings) == ("unrecorded", True)
    assert tuning(dc.Bias(item_damping=2), ratings, tuning="ml-1m") == ("stated", True)
    assert tuning(dc.Bias(item_damping=2), ratings, tuning="nothing") == ("stated", True)
    assert tuning(dc.Bias(), ratings, tuning="unpaid") == ("unpaid", False)


def test_a_look_is_remembered_by_all_that_comes_of_the_same_ratings(ratings):
    train, test = ratings.split(test=0.2, seed=1)
    dc.evaluate(dc.Bias().fit(dc.NoPrivacy(train)), train, test)
    for part in (ratings, train, test, pickle.loads(pickle.dumps(ratings))):
        assert len(part.looks) == 1 and tuning(dc.Bias(item_damping=2), part) == ("unpaid", False)
        assert tuning(dc.Bias(), part) == ("defaults", True)
    some = ratings.select_users([0, 1, 2])
    assert len(some.looks) == 1 and tuning(dc.Bias(), some) == ("unpaid", False)  # these were not looked at
    assert len(dc.synthetic(users=40, items=30, ratings=500, seed=1).looks) == 0


def test_an_audit_is_a_look(ratings):
    dc.audit.audit_by_runs(dc.Popularity(), ratings, dc.Terms(epsilon=1.0), runs=200, randomness=dc.Randomness(1))
    assert [(entry.what, entry.models[0][0]) for entry in ratings.looks] == [("audit", "Popularity")]


def test_which_model_it_is_is_a_choice_too(ratings):
    look(ratings, dc.Bias())
    assert tuning(dc.Bias(), ratings) == ("defaults", True)
    look(ratings, dc.Almanac())
    assert tuning(dc.Bias(), ratings) == ("unpaid", False)
    assert tuning(dc.Almanac(), ratings) == ("defaults", True)
    assert tuning(dc.Bias(), ratings, tuning="ml-1m") == ("stated", True)


def test_a_comparison_measures_what_would_be_promised(ratings):
    """However often it is repeated: what it fits is thrown away."""
    for _ in range(2):
        report = dc.compare(
            {"bias": dc.Bias(item_damping=2)},
            ratings,
            dc.evaluation.HoldOut(test=0.2, seed=1),
            terms=dc.Terms(epsilon=1.0),
        )
        assert report.rows[0].promise == "proven"


def test_a_search_pays_for_its_choice_and_not_for_its_candidates(ratings):
    search = dc.evaluation.Search(candidates=[dc.Bias(item_damping=1), dc.Bias(item_damping=9)])
    clean = search.fit(dc.TrustedServer(ratings, dc.Ledger(4.0))).guarantee
    look(ratings, dc.Bias(item_damping=1), dc.Bias(item_damping=9))
    after = search.fit(dc.TrustedServer(ratings, dc.Ledger(4.0))).guarantee
    assert clean.tuning == after.tuning == "paid" and after.proven is not None
    assert "not for how these were thought of" in str(after) and "thought of" not in str(clean)


def test_a_look_on_an_account_counts_in_another_process(ratings, tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    models = {"bias": dc.Bias(), "more": dc.Bias(item_damping=9)}
    dc.compare(models, ratings, dc.evaluation.HoldOut(test=0.2, seed=1), account="films", budget=budget)
    fresh = dc.synthetic(users=40, items=30, ratings=500, seed=1)
    assert tuning(dc.Bias(item_damping=9), fresh) == ("unrecorded", True)
    assert tuning(dc.Bias(item_damping=9), fresh, account="films", budget=budget) == ("unpaid", False)
    [kept] = budget.looks("films")
    assert kept.models == tuple(("Bias", settings_hash(model)) for model in models.values())


@pytest.mark.parametrize("said", ["", " ", "Unpaid", "PUBLIC", "two\nlines", "x" * 201])
def test_what_says_nothing_is_refused(ratings, said):
    with pytest.raises(dc.DiscreetError, match="tuning must be 'paid', 'unpaid', 'nothing' or on what"):
        dc.TrustedServer(ratings, dc.Ledger(1.0), tuning=said)


def test_settings_are_compared_with_the_defaults_of_their_class():
    assert other_settings(dc.Almanac()) == ()
    assert other_settings(dc.Bias(item_damping=5)) == ()
    assert other_settings(dc.Bias(item_damping=4, user_damping=4)) == ("item_damping", "user_damping")
    hashes = {settings_hash(model) for model in (dc.Bias(), dc.Popularity(), dc.Bias(item_damping=4))}
    assert len(hashes) == 3
