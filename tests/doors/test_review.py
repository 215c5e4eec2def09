"""Doors that a second review found, after the others were closed."""

import json
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError, ReleaseError

RATINGS = dc.synthetic(users=60, items=30, ratings=900, seed=1)


def test_users_chosen_by_how_much_they_rated(door):
    def core(ratings):
        return ratings.select_users(np.flatnonzero(np.diff(ratings.indptr) >= 15))

    user = int(np.flatnonzero(np.diff(RATINGS.indptr) == 15)[0])
    rows = np.ones(len(RATINGS), dtype=bool)
    rows[RATINGS.indptr[user]] = False
    one, two = (np.bincount(core(ratings).item_index, minlength=30) for ratings in (RATINGS, RATINGS.select(rows)))
    moved = int(abs(one - two).sum())
    assert moved == 15
    guarantee = dc.Popularity().fit(dc.TrustedServer(core(RATINGS), dc.Ledger(1.0))).guarantee
    said = [note for note in guarantee.notes if "chosen among others" in note]
    assert len(said) == 1
    assert not core(RATINGS.with_users(RATINGS.users)).handling.users_listed
    whole = dc.Popularity().fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6, dc.User(max_ratings=5)))).guarantee
    assert "chosen among others" not in str(whole)  # a cap by a secret key is proven
    door("epsilon 1 for one rating of users with at least 15", f"one rating moves the counts by {moved}", said[0])


def test_parts_that_were_changed_are_checked_again(door, tmp_path):
    RATINGS.to_frame().write_parquet(tmp_path / "1.parquet")
    parts = dc.data.RatingsInParts([tmp_path / "1.parquet"], scale=(1, 5))

    def repeated(part):
        columns = {name: np.repeat(getattr(part, name), 500) for name in ("user_index", "item_index", "values")}
        return replace(part, times=None, **columns)

    for change, why in ((repeated, "more than once"), (lambda part: replace(part, values=part.values * 9), "scale")):
        with pytest.raises(InputError, match=why):
            list(parts.changed(change).parts())
    fewer = parts.changed(lambda part: part.select(part.values > 2))
    assert fewer.handling.selected and sum(len(part) for part in fewer.parts()) < len(RATINGS)
    door("counts of 500 times each rating: proven 1", "one rating moves them by 500", "refused, nothing computed")


def test_an_audience_that_was_tried_out(door):
    ratings = dc.synthetic(users=60, items=30, ratings=900, seed=2)
    dc.compare({str(n): dc.ALS(audience=n) for n in (10, 10**5)}, ratings, dc.evaluation.HoldOut(test=0.2, seed=1))
    guarantee = dc.ALS(audience=10**5).fit(dc.TrustedServer(ratings, dc.Ledger(1.0, 1e-6))).guarantee
    assert guarantee.proven is None and guarantee.tuning == "unpaid"
    assert dc.ALS().fit(dc.TrustedServer(ratings, dc.Ledger(1.0, 1e-6))).guarantee.proven is not None
    door("settings are the model's defaults", "the better of two audiences was kept", guarantee.reason)


def test_another_kind_than_the_one_that_was_looked_at():
    ratings = dc.synthetic(users=60, items=30, ratings=900, seed=3)
    dc.compare({"bias": dc.Bias()}, ratings, dc.evaluation.HoldOut(test=0.2, seed=1))
    server = dc.TrustedServer(ratings, dc.Ledger(1.0))
    assert dc.Popularity().fit(server).guarantee.tuning == "unpaid"
    assert dc.Bias().fit(dc.TrustedServer(ratings, dc.Ledger(1.0))).guarantee.tuning == "defaults"


@pytest.mark.parametrize("said", ["these ratings", "These Ratings "])
def test_chosen_on_these_ratings_is_not_proven(said):
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0), tuning=said)
    assert dc.Bias(item_damping=2.0).fit(server).guarantee.proven is None


def test_a_release_that_was_read_again_remembers_what_it_was_evaluated_on(door, tmp_path):
    ratings = dc.synthetic(users=60, items=30, ratings=900, seed=4)
    train, test = ratings.split(test=0.2, seed=1)
    dc.Bias(item_damping=2.0).fit(dc.TrustedServer(train, dc.Ledger(1.0))).save(tmp_path / "one")
    read = dc.Release.load(tmp_path / "one")
    dc.evaluate(read, train, test)
    with pytest.raises(InputError, match="looked at without paying"):
        read.save(tmp_path / "best")
    door("the best of several saved fits: no look on record", "two looks", "refused, nothing written")


def test_the_limit_of_a_ledger_cannot_be_set_afterwards():
    ledger = dc.Ledger(100.0)
    for name, value in (("epsilon", 0.1), ("delta", 0.5), ("unit", dc.User())):
        with pytest.raises(AttributeError):
            setattr(ledger, name, value)


@pytest.mark.parametrize(
    "change",
    [
        {"arrays": []},
        {"sources": []},
        {"scale": ["a", "b"]},
        {"settings": {"item_damping": 10**400}},
        {"ledger": [{"what": "x", "mechanism": "laplace", "norm": "l1", "sensitivity": 10**400, "scale": 1.0}]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_damaged_card_is_refused_in_a_sentence(change, tmp_path):
    dc.Bias().fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0))).save(tmp_path / "release")
    card = tmp_path / "release" / "card.json"
    card.write_text(json.dumps(json.loads(card.read_text()) | change))
    with pytest.raises(ReleaseError):
        dc.Release.load(tmp_path / "release")


def test_answers_about_every_item_are_no_ratings():
    with pytest.raises(InputError, match="about every item"):
        dc.collect.perturb_ratings(dc.collect.HiddenItems(epsilon=1.0), RATINGS, dc.Randomness())


def test_an_exit_in_a_statistic_tells_nothing():
    def total(ratings):
        if len(ratings):
            raise SystemExit("user 7 rated Alien")
        return np.zeros(1)

    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0))
    with pytest.raises(InputError, match="could not be computed") as refused:
        server.sum(dc.Contribution("leaky", (1,), total, (dc.Bound("rating", "l1", 1.0),)))
    assert "Alien" not in str(refused.value) and refused.value.__context__ is None


def test_whatever_is_charged_to_a_ledger_is_booked(door, tmp_path):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("films", epsilon=0.5)
    ledger = dc.Ledger(1.0)
    dc.Popularity().fit(dc.TrustedServer(RATINGS, ledger, account="films", budget=budget, share=0.5))
    with pytest.raises(dc.OverspentError):
        dc.privacy.private_count(len(RATINGS), ledger, share=0.5)
    assert ledger.spent == pytest.approx(0.5) and budget.account("films").spent == pytest.approx(0.5)
    door("booked: epsilon 0.5 of 0.5", "a count beside it brought the ledger to 1", "refused, nothing computed")
