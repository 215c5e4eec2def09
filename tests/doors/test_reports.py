"""Doors in reports, streams of randomness and cards."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import discreet as dc
from discreet.cli.app import app
from discreet.data.reports import read_reports
from discreet.privacy.randomness import secret_key

SCALE = dc.Scale(1, 5)
RATINGS = dc.synthetic(users=40, items=30, ratings=600, seed=1)


def collected(folder, mechanism, randomness):
    for user in range(RATINGS.n_users):
        mechanism.perturb(RATINGS.history_at(user), randomness()).save(folder / f"{user}.json")
    return read_reports(folder, RATINGS.catalogue).ratings


def test_seeded_reports_promise_nothing(tmp_path, door):
    """Whoever knows the seed draws the noise again, for every rating that might have been given, and compares."""
    mechanism = dc.collect.Piecewise(epsilon=1.0)
    reported = collected(tmp_path, mechanism, lambda: dc.Randomness(seed=7))
    history, levels = RATINGS.history_at(0), [1, 2, 3, 4, 5]
    report = mechanism.perturb(history, dc.Randomness(seed=7))
    guesses = [
        mechanism.perturb(replace(history, values=np.full(len(history), level, np.float32)), dc.Randomness(seed=7))
        for level in levels
    ]
    fits = np.array([guess.values == report.values for guess in guesses])
    right = np.mean((fits.sum(axis=0) == 1) & (fits.argmax(axis=0) + 1 == history.values))
    promised = dc.Bias().fit(dc.NoPrivacy(reported)).guarantee
    door("proven: epsilon 1", f"with the seed, {right:.0%} of a user's ratings are known for certain", str(promised))
    assert right > 0.4  # without the seed it is none: every report is possible for every rating
    assert promised.proven is None and promised.seeded and "the noise was seeded" in str(promised)


def test_a_second_collection_costs_as_much_again(tmp_path, door):
    mechanism = dc.collect.RandomisedResponse(epsilon=1.0)
    rounds = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        reported = collected(tmp_path / name, mechanism, dc.Randomness)
        rounds.append(dc.Bias().fit(dc.NoPrivacy(reported)).spends)
    # The joint law of two rounds: reports of 5 both times, for a rating of 5 and for one of 1.
    odds = [float(mechanism.channel(SCALE).law.odds(np.array([4]), secret)[0]) for secret in (4, 0)]
    true = math.log(odds[0] ** 2 / odds[1] ** 2)
    booked = sum(spend.pure_epsilon for spend in {*rounds[0], *rounds[1]})
    door("two rounds of reports are one line of a budget: epsilon 1", f"epsilon {true:.3g}", f"epsilon {booked:.3g}")
    assert booked == pytest.approx(true) == pytest.approx(2.0)


def test_a_second_report_is_not_made_by_accident(tmp_path, door, capsys):
    history = tmp_path / "history.csv"
    history.write_text("title,rating\nAlien (1979),5\n")
    codes = []
    for name in ("a", "b"):
        with pytest.raises(SystemExit) as ended:
            app(["perturb", str(history), "--epsilon", "2", "-o", str(tmp_path / f"{name}.json")], prog_name="discreet")
        codes.append(int(ended.value.code or 0))
    said = capsys.readouterr().err.replace(str(tmp_path), "").strip()
    door("each of two reports of the same rating costs epsilon 2, and nothing is said", "together they cost 4", said)
    assert codes == [0, 2] and "2 reports, which together cost epsilon 4" in said
    assert not (tmp_path / "b.json").exists()


def test_hidden_items_on_a_list_of_ones_own_ratings(door):
    """A history without the item can never list it; one with it does not list it 500 times with odds below 1e-60."""
    mechanism, said = dc.collect.HiddenItems(epsilon=1.0), ""
    listed = []
    for own in ({"a": 5.0}, {"a": 5.0, "b": 5.0}):
        catalogue = dc.Catalogue.of(list(own), SCALE, declared=False)
        history = dc.History.of(catalogue, own)
        public = replace(history, catalogue=replace(catalogue, declared=True))
        listed.append(sum("b" in mechanism.perturb(public, dc.Randomness()).items for _ in range(500)))
        try:
            mechanism.perturb(history, dc.Randomness())
        except dc.InputError as error:
            said = str(error)
    door(
        "epsilon 1 for one rating, present or absent",
        f"an item is listed in {listed[0]} of 500 reports without its rating, in {listed[1]} with it: no epsilon",
        said,
    )
    assert listed[0] == 0 < listed[1]
    assert "read off the ratings" in said


def test_noise_of_a_key_is_drawn_again(door):
    """The difference of two releases with the same noise is the one rating that they differ in."""
    key, rows = secret_key(), np.arange(len(RATINGS)) != 100
    releases = [
        dc.Popularity().fit(
            dc.TrustedServer(part, dc.Ledger(epsilon=1.0), randomness=dc.Randomness.of_key(key, "noise"))
        )
        for part in (RATINGS, RATINGS.select(rows))
    ]
    changed = {
        int(item)
        for name in releases[0].arrays
        for item in np.flatnonzero(releases[0].arrays[name] != releases[1].arrays[name])
    }
    found = changed == {int(RATINGS.item_index[100])}
    promised = releases[0].guarantee
    door(
        "proven: epsilon 1",
        f"two releases differ in {len(changed)} of {RATINGS.n_items} items, {'the' if found else 'not the'} rated one",
        str(promised),
    )
    assert found
    assert promised.proven is None and promised.seeded


@pytest.fixture
def saved(tmp_path):
    release = dc.Bias().fit(dc.TrustedServer(RATINGS, dc.Ledger(epsilon=1.0)))
    release.save(tmp_path / "release")
    return tmp_path / "release"


def refusal(folder, **options) -> str:
    try:
        release = dc.Release.load(folder, **options)
    except dc.errors.ReleaseError as error:
        return str(error).replace(str(folder.parent), "")
    return str(release.guarantee)


def rewrite(folder, change) -> None:
    path = folder / "card.json"
    card = json.loads(path.read_text())
    change(card)
    said = dc.Guarantee.from_json(card["guarantee"])  # whoever forges a card forges its words too
    card["guarantee"]["sentence"] = str(said)
    path.write_text(json.dumps(card))


def test_a_card_that_promises_more_than_its_ledger_paid_for(saved, door):
    def lower(card):
        card["guarantee"]["proven"]["epsilon"] = 0.1

    rewrite(saved, lower)
    spent = sum(line["sensitivity"] / line["scale"] for line in json.loads((saved / "card.json").read_text())["ledger"])
    said = refusal(saved)
    door("proven: epsilon 0.1", f"its ledger adds up to epsilon {spent:.3g}", said)
    assert spent == pytest.approx(1.0, rel=1e-6)
    assert "the promise is false" in said


def test_a_card_whose_ledger_says_that_noise_was_seeded(saved, door):
    def seed(card):
        for line in card["ledger"]:
            line["seeded"] = True

    rewrite(saved, seed)
    said = refusal(saved)
    door("proven: epsilon 1", "every line of its ledger has seeded noise", said)
    assert "noise in its ledger was seeded" in said


def test_a_card_that_says_more_in_words_than_in_numbers(saved, door):
    path = saved / "card.json"
    card = json.loads(path.read_text())
    sentence = card["guarantee"]["sentence"]
    card["guarantee"]["sentence"] = sentence.replace("epsilon 1.", "epsilon 0.01.")
    path.write_text(json.dumps(card))
    said = refusal(saved)
    door("proven: epsilon 0.01, says the card", f"epsilon {card['guarantee']['proven']['epsilon']:.3g}", said)
    assert card["guarantee"]["sentence"] != sentence
    assert "something else in words" in said


def test_a_card_that_was_forged_whole(tmp_path, door):
    """Ledger, guarantee and words are changed together, so they add up: only the signature is not right any more."""
    from discreet.privacy.signing import SigningKey

    key, folder = SigningKey.new(), tmp_path / "release"
    dc.Bias().fit(dc.TrustedServer(RATINGS, dc.Ledger(epsilon=1.0))).save(folder, sign=key)
    assert refusal(folder, key=key.public).startswith("Proven")

    def forge(card):
        card["guarantee"]["proven"]["epsilon"] /= 100
        for line in card["ledger"]:
            line["scale"] *= 100

    rewrite(folder, forge)
    said = refusal(folder)
    (folder / "card.sig").unlink()
    unsigned = refusal(folder)
    door("proven: epsilon 0.01", "it was made with epsilon 1", said)
    assert "card.json is not what was signed: it was changed after it was signed" in said
    assert "epsilon 0.01" in unsigned  # without a signature nobody can tell, so whoever relies on it asks for the key
    assert "is not signed" in refusal(folder, key=key.public)
