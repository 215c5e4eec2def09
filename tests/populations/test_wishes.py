"""A privacy level for every user or rating: where wishes come from, what they prove, and what people are told."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.labels import Labels
from discreet.fitting.private_forms import has_private_form
from discreet.names import every_model
from discreet.populations.rehearsal import follow, rehearse
from discreet.privacy.levels import Offer, group_of, sampled_levels
from discreet.releases.contract import ChoosingModel, needs_raw_ratings
from discreet.releases.promises import level_of
from discreet.releases.release import HERE

RATINGS = dc.synthetic(users=120, items=25, ratings=1500, seed=1)
LEVELS = {"strict": 0.1, "middle": 0.2, "lax": 1.0}
SOME = dc.Wishes.by_rule(lambda part: np.where(part.item_index % 2 == 0, 0.1, 1.0), of="rating", levels=LEVELS)


def planned(model, population):
    """As a fit that is paid for: what is decided on the way is not planned, but stays within the limit."""
    if not (isinstance(model, ChoosingModel) and model.chooses_on_the_way(population)):
        follow(rehearse(model, population), population)
    return model.fit(population)


# ── What a level of a sample proves, by brute force ──


@pytest.mark.parametrize("threshold", [0.4, 1.0])
def test_no_outcome_is_likelier_than_the_level_of_the_rating_allows(threshold):
    """All tables of two users and two items, all choices of levels, all samples: the exact law of a released choice."""
    catalogue = dc.Catalogue.of(["a", "b"], dc.Scale(1, 5), declared=True)
    asked = dc.populations.quantile_of_users(
        "ratings of a user", lambda part: np.diff(part.indptr), 0.5, np.array([0.0, 1.0, 2.0])
    )
    from discreet.populations.mechanism import Allowance

    spend = asked.spend(Allowance(unit=dc.Rating(), epsilon=threshold))
    levels = sampled_levels(LEVELS, threshold)
    cells = [(user, item) for user in range(2) for item in range(2)]
    laws = {}

    def law_of_sample(kept):
        if kept not in laws:
            user, item = (np.array(column, dtype=np.int32) for column in zip(*kept, strict=True)) if kept else ([], [])
            names = Labels(np.array(["0", "1"]), what="user")
            table = dc.Ratings.of_columns(catalogue, names, user, item, np.full(len(kept), 5.0))
            laws[kept] = np.exp(asked._log_law(table, spend))
        return laws[kept]

    def law(chosen):
        """``chosen`` maps rated cells to their level."""
        total = 0.0
        rated = sorted(chosen)
        for kept in itertools.product([False, True], repeat=len(rated)):
            odds = math.prod(
                levels[chosen[cell]].rate if one else 1 - levels[chosen[cell]].rate
                for cell, one in zip(rated, kept, strict=True)
            )
            total = total + odds * law_of_sample(tuple(cell for cell, one in zip(rated, kept, strict=True) if one))
        return total

    furthest = dict.fromkeys(range(3), 0.0)
    for choice in itertools.product([None, 0, 1, 2], repeat=4):
        chosen = {cell: level for cell, level in zip(cells, choice, strict=True) if level is not None}
        if (1, 1) not in chosen:
            continue
        without = {cell: level for cell, level in chosen.items() if cell != (1, 1)}
        gap = float(np.abs(np.log(law(chosen)) - np.log(law(without))).max())
        furthest[chosen[1, 1]] = max(furthest[chosen[1, 1]], gap)
    for place, level in enumerate(levels):
        assert 0.3 * level.epsilon < furthest[place] <= level.epsilon * (1 + 1e-9)


def test_golden_rates_and_the_better_bound_for_another_value():
    """Section 7 of the analysis: pi .2185 at .1 of .393; .2 of .7 costs .2 for a replaced value, and not .4."""
    strict, free = sampled_levels({"a": 0.1, "b": 1.0}, 0.393)
    assert strict.rate == pytest.approx(0.2185, abs=1e-4) and free.rate == 1 and free.epsilon == 0.393
    (level,) = sampled_levels({"a": 0.2}, 0.7)
    worst = 0.0
    for b, other in itertools.product(np.exp(np.linspace(-0.7, 0.7, 81)), repeat=2):
        if abs(math.log(other)) <= 0.7 and abs(math.log(b / other)) <= 0.7:
            ratio = (level.rate + (1 - level.rate) * b) / (level.rate * other + (1 - level.rate) * b)
            worst = max(worst, math.log(ratio))
    assert 0.199 < worst <= 0.2 + 1e-12


def test_ratings_are_kept_at_the_rate_of_their_level():
    """False alarm: each share lies within 5 deviations, odds below 1e-6."""
    ratings = dc.synthetic(users=800, items=100, ratings=40_000, seed=2)
    wishes = dc.populations.Groups(seed=3).wishes()
    ledger = dc.Ledger(0.393)
    kept = wishes.applied(ratings, ledger, dc.Randomness())
    before = np.bincount(wishes.chosen(ratings), minlength=3)
    after = np.bincount(wishes.chosen(kept), minlength=3)
    for level, count, left in zip(ledger.levels, before, after, strict=True):
        deviation = math.sqrt(count * level.rate * (1 - level.rate))
        assert abs(left - count * level.rate) <= 5 * deviation + 1e-9
    assert kept.handling == ratings.handling and kept.n_users == ratings.n_users


def unlisted():
    """Users who are known by their ratings alone."""
    return replace(RATINGS, handling=replace(RATINGS.handling, users_listed=False))


def test_a_user_without_a_rating_in_the_sample_is_as_if_never_there():
    """One rating in 34 is kept: none of 1,500 with odds of 1e-20, one of each of 120 users with far smaller odds."""
    few = dc.Wishes.by_rule(lambda part: np.full(len(part), 0.05), of="rating", levels=(0.05, 1.0))
    kept = few.applied(unlisted(), dc.Ledger(1.0), dc.Randomness())
    assert kept.n_users < RATINGS.n_users and np.diff(kept.indptr).min() >= 1
    assert few.applied(RATINGS, dc.Ledger(1.0), dc.Randomness()).n_users == RATINGS.n_users


def test_devices_stay_whoever_is_drawn():
    """How many devices send something is public, so that the sample must not change it."""
    counted = dc.Contribution("one", (), lambda part: 1.0 * part.n_users, (dc.Bound("user", "l1", 1.0, replace=2.0),))
    wishes = dc.Wishes.of_users({}, levels=(0.01, 1.0), by="sampling")
    ledger = dc.Ledger(1.0, unit=dc.User(neighbours="replace"))
    devices = dc.LocalDevices(unlisted(), ledger, wishes=wishes)
    assert devices.deviation(counted) == pytest.approx(
        dc.LocalDevices(unlisted(), dc.Ledger(1.0, unit=dc.User(neighbours="replace"))).deviation(counted)
    )
    assert "which privacy level a user chose" in devices.guarantee.public


def test_nothing_public_depends_on_the_ratings():
    """Threshold, rates and levels are the same for any ratings: they come from the offer and the ledger alone."""
    offers = []
    for ratings in (RATINGS, RATINGS._kept(np.arange(len(RATINGS)) > 0, RATINGS.handling)):
        ledger = dc.Ledger(0.5)
        dc.TrustedServer(ratings, ledger, wishes=SOME)
        offers.append((ledger.levels, ledger.offered))
    assert offers[0] == offers[1]


def test_one_rating_counts_as_two_users_where_users_come_and_go():
    assert group_of(dc.User(), each_rating=True) == 2
    assert group_of(dc.User(neighbours="replace"), each_rating=True) == 1
    ledger = dc.Ledger(0.5, 1e-6, dc.User())
    guarantee = dc.Bias().fit(dc.TrustedServer(RATINGS, ledger, wishes=SOME)).guarantee
    for level in guarantee.levels:
        rate = (math.exp(min(level.offered, 1.0)) - 1) / (math.exp(1.0) - 1)
        assert level.rate == pytest.approx(rate) and level.loss.epsilon <= level.offered * (1 + 1e-9)
        assert level.loss.delta == pytest.approx(rate * 1e-6 * (1 + math.exp(0.5)))


def test_a_ledger_for_values_alone_has_no_sample():
    with pytest.raises(dc.InputError, match="does not hide that"):
        dc.TrustedServer(RATINGS, dc.Ledger(1.0, unit=dc.Rating("replace")), wishes=SOME)


# ── Every private model, both ways ──

PRIVATE = [
    name
    for name, kind in every_model().items()
    if not needs_raw_ratings(kind)
    and name != "own-taste"
    and has_private_form(kind(), dc.Terms(epsilon=1.0, unit="user", delta=1e-6))
]


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("of", ["user", "rating"])
def test_every_private_model_takes_wishes(name, of, tmp_path):
    model = every_model()[name]()
    wishes = dc.populations.Groups(of=of).wishes()
    unit = dc.Rating() if has_private_form(model, dc.Terms(epsilon=1.0, delta=1e-6)) else dc.User()
    release = planned(model, dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6, unit), wishes=wishes))
    assert [level.name for level in release.guarantee.levels] == ["conservative", "moderate", "liberal"]
    for level in release.guarantee.levels:
        assert 0 < level.loss.epsilon <= level.offered * (1 + 1e-9)
    release.save(tmp_path / "release")
    assert dc.Release.load(tmp_path / "release").guarantee == release.guarantee


def test_a_forged_rate_is_refused(tmp_path):
    release = planned(dc.Bias(), dc.TrustedServer(RATINGS, dc.Ledger(0.5), wishes=SOME))
    levels = tuple(
        replace(level, loss=dc.privacy.Loss(level.loss.epsilon / 2, level.loss.delta))
        for level in release.guarantee.levels
    )
    with pytest.raises(dc.InputError, match="the promise is false"):
        replace(release, guarantee=replace(release.guarantee, levels=levels), made=HERE).save(tmp_path / "release")


# ── Where wishes come from ──


def test_a_column_of_the_ratings_and_a_small_file_say_the_same(tmp_path):
    frame = RATINGS.to_frame()
    wished = np.random.default_rng(1).choice(["0.1", "0.15", "middle", "", "7"], frame.height)
    frame = frame.with_columns(pl.Series("privacy", wished))
    frame.write_csv(tmp_path / "ratings.csv")
    frame.select("user", "item", pl.col("privacy").alias("epsilon")).reverse().write_csv(tmp_path / "small.csv")
    one = dc.Wishes.read(tmp_path / "ratings.csv", "privacy", levels=LEVELS).chosen(RATINGS)
    other = dc.Wishes.read(tmp_path / "small.csv", levels=LEVELS).chosen(RATINGS)
    expected = np.array([{"0.1": 0, "0.15": 0, "middle": 1, "": 0, "7": 2}[wish] for wish in wished])
    assert one.tolist() == other.tolist() == expected.tolist()
    users = dc.Wishes.read(tmp_path / "ratings.csv", "privacy", of="user", levels=LEVELS)
    strictest = [expected[RATINGS.user_index == user].min() for user in range(RATINGS.n_users)]
    assert users.by == "weights" and users.chosen(RATINGS).tolist() == strictest


def test_wishes_of_a_part_are_those_of_the_whole():
    train, test = RATINGS.split(test=0.3, seed=1)
    frame = RATINGS.to_frame()
    pairs = zip(frame["user"], frame["item"], strict=True)
    by_pair = dc.Wishes.of_ratings({pair: "lax" if n % 3 else "strict" for n, pair in enumerate(pairs)}, levels=LEVELS)
    for wishes in (by_pair, dc.populations.Groups().wishes(), SOME):
        whole = dict(zip(_keys(RATINGS), wishes.chosen(RATINGS), strict=True))
        for part in (train, test):
            assert [whole[key] for key in _keys(part)] == wishes.chosen(part).tolist()


def _keys(ratings):
    return (ratings.user_index.astype(int) * ratings.n_items + ratings.item_index).tolist()


def test_users_who_wish_for_nothing_get_the_strictest_and_strangers_change_nothing():
    wishes = dc.Wishes.of_users({"1": 1.0, "nobody here": 0.2}, levels=LEVELS)
    assert np.bincount(wishes.chosen(RATINGS), minlength=3).tolist() == [RATINGS.n_users - 1, 0, 1]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: dc.Wishes.of_users({"1": 0.0}, levels=LEVELS), "must be positive and finite"),
        (lambda: dc.Wishes.of_users({"1": -1.0}, levels=LEVELS), "must be positive and finite"),
        (lambda: dc.Wishes.of_users({"1": math.nan}, levels=LEVELS), "must be positive and finite"),
        (lambda: dc.Wishes.of_users({"1": 0.01}, levels=LEVELS), "below the lowest level on offer, 0.1"),
        (lambda: dc.Wishes.of_users({"1": "none"}, levels=LEVELS), "neither an epsilon nor a level on offer"),
        (lambda: dc.Wishes.of_users({}, levels={"a": 0.0}), "positive and finite epsilon"),
        (lambda: dc.Wishes.of_users({}, levels=()), "at least one privacy level"),
        (lambda: dc.populations.Groups(conservative=0.7, moderate=0.4), "at most 1"),
        (lambda: dc.populations.Groups(epsilons=(0.2, 0.1, 1)), "must be positive and rise"),
        (lambda: replace(SOME, by="weights"), "goes by sampling"),
    ],
)
def test_bad_wishes_are_one_sentence(make, sentence):
    with pytest.raises(dc.DiscreetError, match=sentence):
        make()


@pytest.mark.parametrize(
    ("wishes", "ledger", "sentence"),
    [
        (dc.Wishes.of_ratings({("1", "no such item"): 1.0}), dc.Ledger(1.0), "not in the catalogue"),
        (SOME, dc.Ledger(0.05), "below every level on offer, from 0.1 on"),
        (SOME, dc.Ledger(3.0), "above every level on offer, up to 1"),
        (SOME, dc.Ledger(1.0, levels={"a": 0.5}), "offers other privacy levels already"),
        (
            dc.Wishes.by_rule(lambda part: np.full(len(part), 0.1 if len(part) > 1000 else 1.0), of="rating"),
            dc.Ledger(1.0),
            "look at each by itself",
        ),
        (dc.Wishes.by_rule(lambda part: np.ones(3), of="user"), dc.Ledger(1.0), "one epsilon for each user"),
        ({"1": 0.5}, dc.Ledger(1.0), "wishes must be Wishes"),
    ],
)
def test_wishes_that_do_not_fit_are_refused_before_anything_is_computed(wishes, ledger, sentence):
    with pytest.raises(dc.DiscreetError, match=sentence):
        dc.TrustedServer(RATINGS, ledger, wishes=wishes)
    assert ledger.spends == ()


def test_two_wishes_for_one_rating_are_refused(tmp_path):
    (tmp_path / "wishes.csv").write_text("user,item,epsilon\n1,1,0.1\n1,1,1\n")
    wishes = dc.Wishes.read(tmp_path / "wishes.csv")
    with pytest.raises(dc.InputError, match="different wishes for one rating"):
        dc.TrustedServer(RATINGS, dc.Ledger(1.0), wishes=wishes)


def test_a_mechanism_needs_a_sample_where_weights_would_count_it_in_full():
    asked = dc.populations.quantile_of_users("ratings of a user", lambda part: np.diff(part.indptr), 0.5, [5.0, 10.0])
    wishes = {"1": 0.1, "2": 1.0}
    with pytest.raises(dc.OverspentError, match=r"level '0\.1'"):
        dc.TrustedServer(RATINGS, dc.Ledger(1.0, unit=dc.User()), wishes=dc.Wishes.of_users(wishes)).run(asked)
    sampled = dc.Wishes.of_users(wishes, by="sampling")
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0, unit=dc.User()), wishes=sampled)
    server.run(asked)
    assert [level.loss.epsilon for level in server.guarantee.levels][:2] == [0.1, 0.2]


def test_a_ledger_keeps_an_offer_in_json():
    ledger = dc.Ledger(0.5, 1e-6, dc.User())
    ledger.offer(Offer(epsilons=LEVELS, by="sampling", each_rating=True))
    again = dc.Ledger.from_json(json.loads(json.dumps(ledger.to_json())))
    assert again.levels == ledger.levels == ledger.copy().levels and again.offered == ledger.offered


# ── What people are told ──


def told_independently(release, level):
    """From the lines of the ledger, with no function of the library: Laplace noise, one rating."""
    epsilon = sum(
        ((spend.sensitivity - spend.rounding) * level.weight + spend.rounding) / spend.scale for spend in release.spends
    )
    return math.log(1 + level.rate * (math.exp(epsilon) - 1))


@pytest.mark.parametrize("of", ["user", "rating"])
def test_what_users_are_told_is_what_the_ledger_says(of):
    groups = dc.populations.Groups(of=of)
    wishes, names = groups.wishes(), ["conservative", "moderate", "liberal"]
    release = planned(dc.Bias(), dc.TrustedServer(RATINGS, dc.Ledger(1.0), wishes=wishes))
    chosen = wishes.chosen(RATINGS)
    for user in np.random.default_rng(5).choice(RATINGS.n_users, 12, replace=False):
        history = RATINGS.history_at(int(user))
        rows = slice(RATINGS.indptr[user], RATINGS.indptr[user + 1])
        if of == "rating":
            own = {RATINGS.catalogue.items[int(i)]: names[c] for i, c in zip(history.items, chosen[rows], strict=True)}
        else:
            own = names[chosen[user]]
        told = dc.releases.promised_to(release.guarantee, history, own)
        assert len(told.ratings) == len(history)
        for place, promise in enumerate(told.ratings):
            wish = names[chosen[rows][place]] if of == "rating" else own
            level = level_of(release.guarantee, wish)
            expected = told_independently(release, level)
            assert promise.level.loss.epsilon == pytest.approx(expected, rel=1e-9)
            assert expected <= dict(zip(names, groups.epsilons, strict=True))[wish]
        assert told.together.epsilon == pytest.approx(sum(p.level.loss.epsilon for p in told.ratings))
        assert f"Your rating of {told.ratings[0].title} is protected at epsilon" in told.sentences()[0]


def test_a_user_of_gaussian_noise_is_told_what_their_weight_costs():
    """Independent: the exact delta of Gaussian noise, solved for epsilon by bisection."""
    wishes = dc.populations.Groups(of="user").wishes()
    release = planned(dc.Bias(), dc.TrustedServer(RATINGS, dc.Ledger(1.0, 1e-6, dc.User()), wishes=wishes))
    for name, wished in zip(["conservative", "moderate", "liberal"], (0.1, 0.2, 1.0), strict=True):
        told = dc.releases.promised_to(release.guarantee, RATINGS.history_at(3), name)
        level = level_of(release.guarantee, name)
        mu = math.sqrt(
            sum((((s.sensitivity - s.rounding) * level.weight + s.rounding) / s.scale) ** 2 for s in release.spends)
        )
        low, high = 0.0, 10.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if _delta(middle, mu) > 1e-6 * (1 - 1e-3) else (low, middle)
        assert told.ratings == () and told.together.epsilon == pytest.approx(high, rel=1e-4)
        assert 0.99 * wished < high <= wished
        assert "All your ratings together" in told.sentences()[0]


def _delta(epsilon, mu):
    from scipy.stats import norm

    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


def test_an_empty_history_is_promised_nothing_and_told_so():
    release = dc.Bias().fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0), wishes=SOME))
    told = dc.releases.promised_to(release.guarantee, dc.History.of(RATINGS.catalogue, {}))
    assert told.together.epsilon == 0 and told.sentences() == [
        "You have no ratings here: this release can say nothing about you."
    ]


def test_the_release_holds_no_wish(tmp_path):
    wishes = dc.Wishes.of_users({"17": 0.2}, levels=LEVELS)
    dc.Bias().fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0), wishes=wishes)).save(tmp_path / "with")
    everybody = dc.Wishes.of_users({}, levels=LEVELS)
    dc.Bias().fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0), wishes=everybody)).save(tmp_path / "without")
    cards = [json.loads((tmp_path / name / "card.json").read_text()) for name in ("with", "without")]
    for card in cards:
        card.pop("arrays_sha256")
    assert cards[0] == cards[1]


@pytest.mark.parametrize("unit", [dc.Rating(), dc.User()], ids=["rating", "user"])
@pytest.mark.parametrize("of", ["user", "rating"])
def test_an_account_pays_for_looks_that_are_chosen_on_the_way(of, unit, tmp_path):
    """All that the ledger allows counts for the account, and is no more than levels below it allow."""
    budget = dc.Budget(tmp_path / "budget.sqlite")
    budget.declare("films", epsilon=2.0, delta=1e-5, unit=unit)
    wishes = dc.populations.Groups(of=of).wishes()
    ledger = dc.Ledger(1.0, 1e-6, unit)
    population = dc.TrustedServer(RATINGS, ledger, wishes=wishes, account="films", budget=budget)
    release = dc.spend_and_release(dc.Almanac(), population, tmp_path / "release")
    assert all(level.loss.epsilon <= level.offered * (1 + 1e-9) for level in release.guarantee.levels)
    assert 1.0 - 1e-6 <= budget.account("films").remaining < 2.0
