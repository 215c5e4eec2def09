"""Tuning that nobody paid for, and accounts that did not follow the data."""

import csv
import json
import logging
import os
import shutil
import threading

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError, OverspentError
from discreet.privacy.booking import Booking
from discreet.privacy.composition import composed_epsilon, filtered_epsilon

DAMPINGS = (0.5, 2.0, 8.0, 32.0)


def write(ratings, folder, name="ratings.csv"):
    """The ratings as a table, and its items as another; users have names, not numbers."""
    folder.mkdir(exist_ok=True)
    with (folder / name).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "item", "rating"])
        users, items = ratings.users.names[ratings.user_index], ratings.catalogue.items.names[ratings.item_index]
        writer.writerows(zip([f"member {user}" for user in users], items, ratings.values.tolist(), strict=True))
    (folder / "items.csv").write_text("\n".join(["item", *ratings.catalogue.items.names.tolist(), ""]))
    return folder / name


def fit(discreet, table, output, *options):
    items = table.parent / "items.csv"
    return discreet(
        "fit",
        "popularity",
        table,
        "--scale",
        "1:5",
        "--items",
        items,
        "--items-public",
        "--epsilon",
        "1",
        "-o",
        output,
        *options,
    )


def test_settings_that_were_chosen_on_the_ratings_are_not_proven(door):
    ratings = dc.synthetic(users=60, items=40, ratings=700, seed=3)

    def chosen(data):
        models = {f"{damping:g}": dc.Bias(item_damping=damping) for damping in DAMPINGS}
        report = dc.compare(models, data, dc.evaluation.HoldOut(test=0.3, seed=1), metrics=["rmse"])
        return min(report.rows, key=lambda row: row.metrics["rmse"].mean).model

    with_everyone = chosen(ratings)
    flipped = sum(
        chosen(ratings.select_users(np.delete(np.arange(ratings.n_users), user))) != with_everyone for user in range(25)
    )
    model = dc.Bias(item_damping=float(with_everyone))
    card = model.fit(dc.TrustedServer(ratings, dc.Ledger(1.0))).guarantee
    stated = model.fit(dc.TrustedServer(ratings, dc.Ledger(1.0), tuning="ml-1m")).guarantee
    door(
        "proven: epsilon 1, and settings were chosen without looking at these ratings",
        f"one removed user changes item_damping in {flipped} of 25 cases: the card gives away who took part",
        f"no privacy: {card.reason[:90]}…",
    )
    assert flipped > 0
    assert card.proven is None and card.tuning == "unpaid" and "compare" in card.reason
    assert stated.proven is not None and stated.tuning == "stated"
    assert "Settings were chosen on ml-1m, says whoever ran the fit." in str(stated)


def test_a_comparison_is_remembered_by_the_next_command(door, discreet, budget, tmp_path):
    table = write(dc.synthetic(users=50, items=30, ratings=500, seed=1), tmp_path / "data")
    assert discreet("evaluate", "bias", "bias:item_damping=1", table, "--scale", "1:5", "--test", ".2")[0] == 0
    code, out, err = discreet(
        "fit", "bias", table, "--scale", "1:5", "--items", table.parent / "items.csv", "--items-public",
        "--epsilon", "1", "--set", "item_damping=1", "-o", tmp_path / "release",
    )  # fmt: skip
    spent = dc.Budget(budget).account(str(table)).spendings
    door("proven: settings were chosen without looking", "they were chosen by evaluate", err.strip()[:110] + "…")
    assert (code, out, spent) == (2, "", ()) and "looked at without paying (compare)" in err
    assert err.count("\n") == 1 and not (tmp_path / "release").exists()


@pytest.mark.parametrize("way", ["renamed", "copied", "hard link", "dated export"])
def test_a_file_under_another_name_has_no_fresh_account(door, discreet, budget, tmp_path, way):
    ratings = dc.synthetic(users=100, items=60, ratings=2000, seed=1)
    fewer = ratings.select_users(np.arange(90)).select(
        np.random.default_rng(1).random(len(ratings.select_users(np.arange(90)))) < 0.9
    )
    table = write(fewer, tmp_path / "data")
    assert discreet("budget", table, "--epsilon", "1")[0] == 0
    assert fit(discreet, table, tmp_path / "release")[0] == 0
    other = table.with_name("other.csv")
    if way == "renamed":
        table.rename(other)
    elif way == "copied":
        shutil.copy(table, other)
    elif way == "hard link":
        os.link(table, other)
    else:
        write(ratings, tmp_path / "data", "other.csv")
    code, out, err = fit(discreet, other, tmp_path / "again")
    kept = dc.Budget(budget)
    door(
        "proven: epsilon 1, and the new account says that nothing else was spent",
        f"{way}: epsilon 2 was spent on the same people, whose limit is 1",
        f"exit {code}: …{err.partition('yet, and ')[2].strip()[:80]}…",
    )
    assert (code, out) == (2, "") and f"--account {table}" in err
    assert kept.account(str(other)).spendings == () and len(kept.account(str(table)).spendings) == 1
    assert "asks for epsilon 1" in fit(discreet, other, tmp_path / "again", "--account", table)[2]
    assert fit(discreet, other, tmp_path / "again", "--account", "other people")[0] == 0


def test_a_fit_from_python_is_booked_or_says_that_it_is_not(door, budget):
    ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    kept = dc.Budget(budget)
    kept.declare("films", epsilon=1.0)
    free = dc.Popularity().fit(dc.TrustedServer(ratings, dc.Ledger(1.0))).guarantee
    paid = dc.Popularity().fit(dc.TrustedServer(ratings, dc.Ledger(1.0), account="films")).guarantee
    with pytest.raises(OverspentError, match="of films, where 0 of 1 is left"):
        dc.Popularity().fit(dc.LocalDevices(ratings, dc.Ledger(1.0), account="films", budget=kept))
    door(
        "proven: epsilon 1", "nobody counted it", next(note for note in free.notes if "No account was charged" in note)
    )
    assert "No account was charged" in str(free) and "No account was charged" not in str(paid)
    assert "films" not in str(paid) and str(budget) not in str(paid)
    assert kept.account("films").spent == pytest.approx(1.0)


def test_a_run_that_is_tried_again_is_paid_once(door, discreet, budget, tmp_path):
    table = write(dc.synthetic(users=50, items=30, ratings=600, seed=1), tmp_path / "data")
    codes = [fit(discreet, table, tmp_path / "release", "--run-id", "nightly")[0] for _ in range(3)]
    account = dc.Budget(budget).account(str(table))
    card = json.loads((tmp_path / "release" / "card.json").read_text())
    door("a job that is started three times", "pays three times", f"{len(account.spendings)} line in the account")
    assert codes == [0, 0, 0] and len(account.spendings) == 1
    assert account.spendings[0].arrays == card["arrays_sha256"]


def test_another_round_of_reports_is_another_spend(door, budget):
    from discreet.fitting.spending import book

    ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    release = dc.Popularity().fit(dc.TrustedServer(ratings, dc.Ledger(0.5)))
    kept = dc.Budget(budget)
    lines = [book(kept, "films", "reports", release, digest=digest) for digest in ("first", "first", "second")]
    door(
        "what is made of these reports was booked before",
        "a second round of reports costs as much as the first",
        f"{sum(line is not None for line in lines)} of 3 fits pay: one for each round",
    )
    assert [line is not None for line in lines] == [True, False, True]
    assert kept.account("films").spent == pytest.approx(1.0)


def test_data_that_the_defaults_were_chosen_on_say_so(door, ml_100k):
    train, _ = ml_100k.split(test=0.2, seed=1)
    guarantee = dc.Popularity().fit(dc.TrustedServer(train, dc.Ledger(1.0))).guarantee
    door("settings were chosen without looking at these ratings", "defaults were chosen on ML-100K", guarantee.notes[0])
    assert any("items of ml-100k, on which Discreet's own defaults were chosen" in note for note in guarantee.notes)
    with pytest.raises(InputError, match="which these ratings are"):
        server = dc.TrustedServer(train, dc.Ledger(1.0), tuning="ml-100k", account="x")
        dc.spend_and_release(dc.Bias(item_damping=2), server, "nowhere")


def test_the_best_of_several_fits_that_were_evaluated_is_not_saved_as_proven(door, tmp_path):
    """As choosing settings by a comparison, in another order: fit all of them first, and keep the best."""
    ratings = dc.synthetic(users=60, items=30, ratings=900, seed=1)
    train, test = ratings.split(test=0.2, seed=1)
    fits = [dc.Bias(item_damping=damping).fit(dc.TrustedServer(train, dc.Ledger(1.0))) for damping in (1.0, 50.0)]
    best = min(fits, key=lambda release: dc.evaluate(release, train, test)["rmse"])
    assert best.guarantee.proven is not None  # its fit was private; which one is kept says something of the ratings
    with pytest.raises(dc.InputError, match="looked at without paying") as refused:
        best.save(tmp_path / "best")
    assert not (tmp_path / "best").exists()
    stated = dc.Bias(item_damping=1.0).fit(dc.TrustedServer(train, dc.Ledger(1.0), tuning="ml-1m"))
    dc.evaluate(stated, train, test)
    stated.save(tmp_path / "stated")
    door("the best of two evaluated fits: proven epsilon 1", "2, and the choice unpaid", str(refused.value))


def gaussian(mu):
    return dc.privacy.Spend(what="means", mechanism="gaussian", norm="l2", sensitivity=mu, scale=1.0)


def laplace(epsilon):
    return dc.privacy.Spend(what="counts", mechanism="laplace", norm="l1", sensitivity=epsilon, scale=1.0)


@pytest.mark.parametrize("populations", [1, 2])
def test_sums_that_are_chosen_on_the_way_are_not_one_plan(door, budget, populations):
    """Pure epsilon after Gaussian noise counts as Gaussian noise, whoever of those who pay asks for it."""
    kept = dc.Budget(budget)
    kept.declare("films", epsilon=2.0, delta=1e-6)
    bookings = [Booking(kept, "films") for _ in range(populations)]
    ledgers = [dc.Ledger(16.0, 1e-6) for _ in range(populations)]
    first, second = gaussian(0.019), laplace(1.93)
    bookings[0].pay(ledgers[0], first)
    ledgers[0].charge(first)
    with pytest.raises(OverspentError, match="of films") as refused:
        bookings[-1].pay(ledgers[-1], second)
    planned = composed_epsilon([first, second], 1e-6)
    chosen = filtered_epsilon([[first], [second]], 1e-6, 2.0)
    door(
        f"the account: epsilon {planned:.4g} of 2 is spent",
        f"the second sum was chosen after the first answer: {chosen:.4g}",
        f"…{str(refused.value).partition('where ')[2][:80]}…",
    )
    assert planned < 2 < chosen
    assert kept.account("films").spends == (first,)


def test_a_plan_of_a_ledger_is_one_line(budget):
    kept, ledger, planned = dc.Budget(budget), dc.Ledger(16.0, 1e-6), (gaussian(0.019), laplace(1.93))
    kept.declare("films", epsilon=2.0, delta=1e-6)
    ledger.plan(*planned)
    booking = Booking(kept, "films")
    for spend in planned:
        booking.pay(ledger, spend)
        ledger.charge(spend)
    [line] = kept.account("films").spendings
    assert line.spends == planned and kept.account("films").spent < 2


def test_threads_of_one_population_pay_for_all_their_sums(door, budget):
    ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    kept = dc.Budget(budget)
    counts = dc.Contribution("counts", (1,), lambda data: np.array([len(data)]), (dc.Bound("rating", "l1", 1.0),))
    server = dc.TrustedServer(ratings, dc.Ledger(4.0), account="films", budget=kept)
    threads = [threading.Thread(target=lambda: [server.sum(counts, share=0.02) for _ in range(4)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    account = kept.account("films")
    door(
        "the account: epsilon 0.5 was spent",
        f"four threads asked for 16 sums, {server.ledger.spent:.4g} in all",
        f"the account: {account.spent:.4g}",
    )
    assert len(server.spends) == len(account.spends) == 16
    assert account.spent == pytest.approx(server.ledger.spent) and account.spent == pytest.approx(16 * 0.08)


def test_a_limit_that_is_declared_for_a_copy_is_no_account_of_its_own(door, discreet, budget, tmp_path):
    table = write(dc.synthetic(users=100, items=60, ratings=2000, seed=1), tmp_path / "data")
    copy = table.with_name("copy.csv")
    shutil.copy(table, copy)
    assert fit(discreet, table, tmp_path / "release")[0] == 0
    assert discreet("budget", copy, "--epsilon", "1")[0] == 0
    code, out, err = fit(discreet, copy, tmp_path / "again")
    door(
        "proven: epsilon 1 of the limit of the copy",
        "epsilon 2 was spent on the same people",
        f"exit {code}: …{err.partition(', but ')[2].strip()[:80]}…",
    )
    assert (code, out) == (2, "") and f"--account {table}" in err
    assert dc.Budget(budget).account(str(copy)).spendings == ()


def test_a_file_that_is_overwritten_is_compared_again(door, discreet, budget, tmp_path):
    folder, month = tmp_path / "data", "month.csv"
    people = [dc.synthetic(users=100, items=60, ratings=2000, seed=seed) for seed in (1, 2)]
    first = write(people[0], folder, month)
    assert fit(discreet, first, tmp_path / "first")[0] == 0
    second = write(people[1], folder, "films.csv")
    second.write_text(second.read_text().replace("member", "someone"))
    assert fit(discreet, second, tmp_path / "second")[0] == 0
    assert fit(discreet, write(people[0], folder, month), tmp_path / "third")[0] == 0
    shutil.copy(second, first)
    code, out, err = fit(discreet, first, tmp_path / "fourth")
    kept = dc.Budget(budget)
    door(
        "month.csv pays: epsilon 1 was spent on the people of films.csv",
        "2: month.csv holds them now",
        f"exit {code}: …{err.partition(', but ')[2].strip()[:80]}…",
    )
    assert (code, out) == (2, "") and f"--account {second}" in err
    assert len(kept.account(str(first)).spendings) == 2
    first.write_text(second.read_text().replace("someone", "nobody else"))
    assert fit(discreet, first, tmp_path / "fifth")[0] == 0  # others, whom no account knows: this one pays
    assert len(kept.sketches()[str(first)]) == 2


@pytest.mark.parametrize("part", ["of", "and more"])
def test_a_part_of_the_users_has_no_account_of_its_own(door, discreet, budget, tmp_path, part):
    ratings = dc.synthetic(users=400, items=60, ratings=8000, seed=1)
    some = ratings.select_users(np.sort(np.random.default_rng(1).choice(400, size=100, replace=False)))
    before, after = (ratings, some) if part == "of" else (some, ratings)
    table = write(before, tmp_path / "data")
    assert fit(discreet, table, tmp_path / "release")[0] == 0
    code, out, err = fit(discreet, write(after, tmp_path / "data", "other.csv"), tmp_path / "again")
    door(
        "a new account is opened: its items are those of ratings.csv, its users others",
        f"100 users {part} 400",
        f"exit {code}: …{err.partition('yet, and ')[2].strip()[:80]}…",
    )
    assert (code, out) == (2, "") and f"--account {table}" in err


def test_other_people_with_the_same_items_are_not_called_others(discreet, budget, tmp_path):
    table = write(dc.synthetic(users=100, items=60, ratings=2000, seed=1), tmp_path / "data")
    assert fit(discreet, table, tmp_path / "release")[0] == 0
    other = table.with_name("other.csv")
    other.write_text(table.read_text().replace("member", "someone"))
    code, _, err = fit(discreet, other, tmp_path / "again")
    assert code == 0 and "if these are the same people, pay from there" in " ".join(err.split())


def test_a_key_that_is_lost_is_missed(door, discreet, budget, tmp_path):
    table = write(dc.synthetic(users=100, items=60, ratings=2000, seed=1), tmp_path / "data")
    assert fit(discreet, table, tmp_path / "release")[0] == 0
    copy = table.with_name("copy.csv")
    shutil.copy(table, copy)
    key = budget.with_name(budget.name + ".key")
    aside = key.rename(tmp_path / "aside")
    code, out, err = fit(discreet, copy, tmp_path / "again")
    door("proven: epsilon 1 of a new account", "the sketches of all others are not compared", err.strip()[:100] + "…")
    assert (code, out) == (2, "") and str(key) in err and err.count("\n") == 1 and not key.exists()
    assert fit(discreet, copy, tmp_path / "again", "--account", "films")[0] == 2
    key.write_text("ab" * 32)  # another one
    assert "is not the one" in fit(discreet, copy, tmp_path / "again")[2]
    assert len(dc.Budget(budget).account(str(table)).spendings) == 1 and not dc.Budget(budget).knows("films")
    aside.replace(key)
    assert f"--account {table}" in fit(discreet, copy, tmp_path / "again")[2]


def test_a_name_that_reads_alike_is_the_same_account(door, budget, caplog):
    ratings = dc.synthetic(users=100, items=30, ratings=1500, seed=1)
    kept = dc.Budget(budget)
    kept.declare("films", epsilon=1.0)
    dc.Popularity().fit(dc.TrustedServer(ratings, dc.Ledger(1.0), account="films", budget=kept))
    for name in ("films ", "Films", "\ufb01lms", "FILMS"):
        with pytest.raises(OverspentError, match="of films, where 0 of 1 is left"):
            dc.Popularity().fit(dc.TrustedServer(ratings, dc.Ledger(1.0), account=name, budget=kept))
    with caplog.at_level(logging.WARNING, logger="discreet"):
        dc.Popularity().fit(dc.TrustedServer(ratings, dc.Ledger(1.0), account="series", budget=kept))
    door("'Films' has spent nothing", "'films' has spent all", f"one account; for a new one: {caplog.messages[0]}")
    assert "series is new, and these users look like those of films" in caplog.text


def test_looks_on_another_account_of_the_same_users_count(door, discreet, budget, tmp_path):
    table = write(dc.synthetic(users=50, items=30, ratings=500, seed=1), tmp_path / "data")
    assert discreet("evaluate", "bias", "bias:item_damping=1", table, "--scale", "1:5", "--test", ".2")[0] == 0
    code, out, err = discreet(
        "fit", "bias", table, "--scale", "1:5", "--items", table.parent / "items.csv", "--items-public",
        "--epsilon", "1", "--set", "item_damping=1", "--account", "films", "-o", tmp_path / "release",
    )  # fmt: skip
    door("proven: no look is on record for films", "one is, for the file", err.strip()[:100] + "…")
    assert (code, out) == (2, "") and "looked at without paying (compare)" in err
    assert dc.Budget(budget).account("films").spendings == ()
