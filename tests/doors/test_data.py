"""Doors about what was done to ratings before anyone asked for a sum of them."""

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.labels import Labels
from discreet.errors import DataError
from discreet.models.denoise.private_als import ALSQueries, sample_factor_sums
from discreet.models.sums.factor_sums import FactorSums
from discreet.models.sums.item_statistics import item_counts, item_statistics
from discreet.models.sums.item_sums import ItemSums
from discreet.models.sums.pair_sums import PairSums
from discreet.populations.contribution import Contribution
from discreet.populations.population import exact_total

STARS = dc.Scale(1, 5)
RULES = ("last", "mean", "recency")


def catalogue(size):
    return dc.Catalogue.of([str(item) for item in range(size)], STARS, declared=True)


# ── Repeats that were merged: one more event may replace a value ──


def merged(events, items, rule):
    """One user's events ``{item: [value, value, …]}``, in order of time, merged."""
    rows = [(item, value, time) for item, values in events.items() for time, value in enumerate(values)]
    item, value, time = np.array(rows).T if rows else np.zeros((3, 0))
    user = np.zeros(len(rows), dtype=np.int32)
    whole = dc.Ratings.of_columns(
        catalogue(items), Labels.of(["u"], what="user"), user, item.astype(np.int32), value, time.astype(np.int64)
    )
    return whole.merge(rule)


def pair_sums(items, weighting, user_damping=None):
    listed, base = np.arange(items, dtype=np.int32), np.full(items, 3, dtype=np.float32)
    return PairSums(listed, base, 1.0, 1.0, user_damping, weighting).contribution


def planned(ratings, contribution, delta, neighbours="add-or-remove"):
    ledger = dc.Ledger(1.0, delta, dc.Rating(neighbours))
    return dc.TrustedServer(ratings, ledger).calibrate(contribution).spend


def size(moved, norm):
    return float(np.abs(moved).sum() if norm == "l1" else np.sqrt((moved**2).sum()))


ASKED = {
    "Bias": (item_statistics(3, STARS), 0.0),
    "Bias, l2": (dc.Contribution(**(vars(item_statistics(3, STARS)) | {"noise": "gaussian"})), 1e-6),
    "item sums": (ItemSums.of(catalogue(3), "rating").contribution, 0.0),
    "pair sums, l2": (pair_sums(3, "rating, l2"), 1e-6),
    "pair sums, centred": (pair_sums(3, "rating, l2", user_damping=2.0), 1e-6),
    "pair sums, l1": (pair_sums(3, "rating, l1"), 0.0),
    "counts": (item_counts(3), 0.0),
}


def one_more(own, values=(1.0, 5.0)):
    """All that one further event can make of the events of an item: another value, at any time."""
    for value, place in itertools.product(values, range(len(own) + 1)):
        yield [*own[:place], value, *own[place:]]


@pytest.mark.parametrize("name", ASKED)
def test_one_more_event_stays_within_what_was_planned(name):
    """All events of a small universe, by brute force: up to two of each item, two values, and one event more."""
    contribution, delta = ASKED[name]
    each = [list(own) for count in range(3) for own in itertools.product((1.0, 5.0), repeat=count)]
    for rule in RULES:
        spend = planned(merged({}, 3, rule), contribution, delta)

        def value(own, rule=rule):
            return tuple(merged({0: own}, 3, rule).values.tolist())  # of one rating, or of none

        steps = {(value(own), value(more)) for own in each for more in one_more(own)}
        levels = {before for before, _ in steps}
        totals = {
            table: exact_total(contribution, merged({item: list(own) for item, own in enumerate(table)}, 3, rule))
            for table in itertools.product(levels | {after for _, after in steps}, repeat=3)
        }
        for table in itertools.product(levels, repeat=3):
            for item, (before, after) in itertools.product(range(3), steps):
                if table[item] == before:
                    other = (*table[:item], after, *table[item + 1 :])
                    assert size(totals[other] - totals[table], spend.norm) <= spend.sensitivity


def test_an_event_that_replaces_a_merged_rating(door):
    measured = []
    for name, contribution, delta, items in (
        ("Bias", item_statistics(100, STARS), 0.0, 100),
        ("pair sums", pair_sums(100, "rating, l2"), 1e-6, 100),
    ):
        before = {item: [5.0] for item in range(items)}
        first, then = (merged(events, items, "last") for events in (before, before | {0: [5.0, 1.0]}))
        spend = planned(first, contribution, delta)
        moved = size(exact_total(contribution, then) - exact_total(contribution, first), spend.norm)
        bound = next(b.value for b in contribution.bounds if (b.unit, b.norm) == ("rating", spend.norm))
        measured.append((name, bound, moved, spend.sensitivity))
        assert moved > bound  # so the bound for one rating more would not do
        assert moved <= spend.sensitivity
    guarantee = dc.Bias().fit(dc.TrustedServer(first, dc.Ledger(1.0))).guarantee
    assert "A rating means an event" in str(guarantee) and "merged (last)" in str(guarantee)
    door(
        ", ".join(f"one event moves {name} by {bound:.2f}" for name, bound, _, _ in measured),
        ", ".join(f"{name} {moved:.2f}" for name, _, moved, _ in measured),
        ", ".join(f"noise for {planned:.2f}" for *_, planned in measured) + "; the guarantee speaks of events",
    )


def test_the_mark_does_not_depend_on_the_ratings(tmp_path):
    """Else one event more would change what is printed."""
    once = pl.DataFrame({"user": ["a", "b"], "item": ["x", "x"], "rating": [1, 5], "time": [0, 0]})
    twice = pl.concat([once, once.with_columns(pl.lit(9, dtype=pl.Int64).alias("time"))])
    for frame in (once, twice):
        frame.write_csv(tmp_path / "it.csv")
        read = dc.from_frame(frame, scale=STARS, time="time", repeats="last")
        loaded = dc.load(tmp_path / "it.csv", scale=STARS, time="time", repeats="recency")
        parts = dc.data.RatingsInParts([tmp_path / "it.csv"], scale=STARS, time="time", repeats="mean")
        assert (read.handling.merged, loaded.handling.merged, parts.handling.merged) == ("last", "recency", "mean")
        assert [len(part) for part in parts.parts()] == [2]
        assert next(parts.parts()).handling == parts.handling
        assert dc.from_frame(frame, scale=STARS, time="time").handling.merged is None


@pytest.mark.parametrize("neighbours", ["add-or-remove", "replace"])
def test_noise_for_events_whatever_the_neighbours(neighbours):
    own = merged({0: [5.0]}, 3, "last")
    spend = planned(own, item_statistics(3, STARS), 0.0, neighbours)
    assert spend.sensitivity == pytest.approx(3.0, rel=1e-3)
    with_user = dc.TrustedServer(own, dc.Ledger(1.0, 1e-6, dc.User())).calibrate(item_statistics(3, STARS, dc.User()))
    assert with_user.spend.sensitivity == pytest.approx(1.0, rel=1e-3)  # a user's events come and go together


# ── Names ──


def ratings_of(users, items, seed=0):
    """Everybody rated everything."""
    rng = np.random.default_rng(seed)
    names = Labels.of([f"user {n}" for n in range(users)], what="user")
    index = np.repeat(np.arange(users), items), np.tile(np.arange(items), users)
    return dc.Ratings.of_columns(catalogue(items), names, *index, rng.integers(1, 6, users * items))


def uniform_factor_sums(items, kept=3) -> FactorSums:
    """A step of private ALS in which every user speaks about a few of their ratings, drawn at random."""
    plan = ALSQueries(
        factors=2, sweeps=1, items=items, item_sums_share=0.5, weighting="uniform", kept=kept, exponent=0.25,
        features=False, free=True, seed=0,
    )  # fmt: skip
    return replace(sample_factor_sums(plan, catalogue(items)), base=np.full(items, 3, dtype=np.float32))


def comparison_of(items):
    """What a search asks for at last: which of two candidates foresees held-out ratings best."""
    few = ratings_of(3, items)
    models = [dc.Bias(item_damping=0.1), dc.Bias(item_damping=1000.0)]
    return dc.evaluation.Search(candidates=models, held_out=0.5).comparison(
        [model.fit(dc.NoPrivacy(few)) for model in models]
    )


def test_a_removed_history_renames_nobody(door, monkeypatch):
    """Random names are dealt to histories before anything is known, so each history has the same one in both worlds."""
    items, moved, numbered = 12, {}, {}
    for name, users, contribution in (
        ("ALS", 2400, uniform_factor_sums(items).contribution),
        ("Search", 600, comparison_of(items)),
    ):
        ratings = ratings_of(users, items)
        histories = [ratings.history_at(user) for user in range(users)]
        totals = []
        for those in (range(users), range(1, users)):
            names = iter([f"{user:024x}" for user in those])
            monkeypatch.setattr("secrets.token_hex", lambda size, names=names: next(names))
            world = dc.Ratings.of_histories([histories[user] for user in those])
            by_number = replace(world, users=Labels(np.arange(len(those)).astype(np.str_), what="user"))
            totals.append([exact_total(contribution, one) for one in (world, by_number)])
        bound = contribution.bound("user", "l2").value
        with_user, without = totals
        moved[name], numbered[name] = (
            size(one - other, "l2") / bound for one, other in zip(with_user, without, strict=True)
        )
    assert max(moved.values()) <= 1 + 1e-9
    assert min(numbered.values()) > 2  # what numbers for names did
    door(
        "one user moves sums of ALS and Search by at most their bound",
        f"with numbers for names by {numbered['ALS']:.1f} and {numbered['Search']:.1f} times that",
        f"with random names by {moved['ALS']:.2f} and {moved['Search']:.2f} times",
    )


def test_nameless_users_have_random_names():
    ratings = ratings_of(4, 3)
    histories = [ratings.history_at(user) for user in range(4)]
    first, second = dc.Ratings.of_histories(histories), dc.Ratings.of_histories(histories)
    assert len({*first.users, *second.users}) == 8
    assert first.handling.nameless and not ratings.handling.nameless
    server = dc.TrustedServer(first, dc.Ledger(1.0, 1e-6, dc.User()))
    assert "Users came without names" in str(dc.Bias().fit(server).guarantee)


def seen_by(population):
    """The ratings as they come to the totals of a population, but for the nameless user on whom a total is tried."""
    seen = []
    bounds = dc.Bound("user", "l2", 1.0), dc.Bound("rating", "l1", 1.0), dc.Bound("rating", "l2", 1.0)
    population.sum(Contribution("spy", (1,), lambda part: seen.append(part) or np.zeros(1), bounds))
    return [part for part in seen if not part.handling.nameless]


def choices(population):
    """Which ratings a search holds out, and which ones private ALS keeps."""
    found = []
    for part in seen_by(population):
        held = dc.evaluation.Search(candidates=[dc.Bias(), dc.Bias()], held_out=0.5)._parts(part)[1]
        kept = uniform_factor_sums(12)._keeps(part, np.arange(12, dtype=np.int32))
        pairs = zip(held.users.names[held.user_index].tolist(), held.item_index.tolist(), strict=True)
        rows = zip(part.users.names[part.user_index[kept]].tolist(), part.item_index[kept].tolist(), strict=True)
        found += [("held out", *pair) for pair in pairs] + [("kept", *row) for row in rows]
    return set(found)


def test_what_is_chosen_at_random_is_secret(door, tmp_path):
    ratings, unit = ratings_of(60, 12), dc.User()

    def server(data=ratings, **settings):
        return dc.TrustedServer(data, dc.Ledger(1.0, 1e-6, unit), **settings)

    one, other = choices(server()), choices(server())
    same = len(one & other) / len(one)
    # Of some 540 choices 42% agree by chance, with a deviation of 2%: above 70% with odds far below 1e-30.
    assert same < 0.7
    assert choices(server(key=bytes(32))) == choices(server(key=bytes(32)))
    seeded = [choices(server(randomness=dc.Randomness(seed=7))) for _ in range(2)]
    assert seeded[0] == seeded[1]
    public = [choices(dc.NoPrivacy(ratings)) for _ in range(2)]
    assert public[0] == public[1]
    ratings.select_users(range(20)).to_frame().write_parquet(tmp_path / "1.parquet")
    ratings.select_users(range(20, 60)).to_frame().write_parquet(tmp_path / "2.parquet")
    parts = dc.data.RatingsInParts(tmp_path, scale=STARS)
    numbers = parts.catalogue.items.indices(ratings.catalogue.items.names)  # items of parts have an order of their own
    assert numbers.tolist() == list(range(12))
    assert choices(server(parts, key=bytes(32))) == choices(server(key=bytes(32)))
    door(
        "which ratings are held out or kept is anybody's guess",
        f"a public constant chose: {len(public[0] & public[1]) / len(public[0]):.0%} the same in two fits",
        f"a secret key for each population: {same:.0%} the same in two fits",
    )


# ── Random splits ──


def test_one_rating_more_deals_a_split_anew(door):
    ratings = dc.synthetic(users=60, items=40, ratings=900, seed=1)
    fewer = ratings.select(np.arange(len(ratings)) > 0)

    def pairs(part):
        return set(zip(part.user_index.tolist(), part.item_index.tolist(), strict=True))

    train, without = (pairs(one.split(test=0.5, seed=1)[0]) for one in (ratings, fewer))
    both = pairs(fewer)
    moved = len((train ^ without) & both)
    assert moved > 100
    parts = [
        *ratings.split(test=0.2, seed=1),
        *next(ratings.folds(3, seed=1)),
        *ratings.split_each_user((0.5, 0.5), seed=1),
        *ratings.split_users(0.5, seed=1),
        *(
            split.train
            for protocol in (
                dc.evaluation.Folds(), dc.evaluation.HoldOut(), dc.evaluation.EachUser(), dc.evaluation.HeldOutUsers(),
                dc.evaluation.PublishedRatings(), dc.evaluation.PublishedRanking(held_out=5, at_least=1),
            )
            for split in protocol.splits(ratings)
        ),
    ]  # fmt: skip
    assert all(part.handling.split for part in parts) and not ratings.handling.split
    for part in parts[:2]:
        guarantee = dc.Popularity().fit(dc.TrustedServer(part, dc.Ledger(1.0))).guarantee
        assert guarantee.proven is not None and "one part of a random split, not about all ratings" in str(guarantee)
    door(
        "one rating more or less: epsilon 1",
        f"{moved} of {len(both)} other ratings change sides in a split",
        "the guarantee says that it is about this part of a random split",
    )


# ── The list of items ──


def test_a_list_of_items_is_public_only_if_somebody_says_so(door):
    frame = pl.DataFrame({"user": ["a", "a", "b"], "item": ["x", "y", "z"], "rating": [5, 1, 3]})
    found = {}
    for who in ("a and b", "a"):
        rows = frame.filter(pl.col("user").is_in(who.split(" and ")))
        names = rows["item"].unique(maintain_order=True)
        by_hand = dc.Catalogue.of(names.to_list(), STARS)
        read = dc.from_frame(rows, scale=STARS, items=names.to_frame())
        assert not by_hand.declared and not read.catalogue.declared
        found[who] = dc.Popularity().fit(dc.TrustedServer(read, dc.Ledger(1.0)))
        assert found[who].guarantee.proven is None
    said = dc.from_frame(frame, scale=STARS, items=frame.select("item").unique(), items_public=True)
    assert dc.Popularity().fit(dc.TrustedServer(said, dc.Ledger(1.0))).guarantee.proven is not None
    lengths = [len(release.arrays["counts"]) for release in found.values()]
    assert lengths == [3, 2]
    door(
        "proven, epsilon 1, with a list of items made of the ratings",
        f"the released list itself has {lengths[0]} items with a user and {lengths[1]} without",
        "no privacy, unless the caller says items_public=True",
    )


# ── Identifiers in floating point ──


def test_a_user_is_not_two_because_of_a_decimal_point(door, tmp_path):
    """A table in which some identifiers have fractions wrote 1.0 where another wrote 1."""
    item, rating = ["x", "y"], [5, 5]
    first = pl.DataFrame({"user": [1.0, 2.5], "item": item, "rating": rating})
    second = pl.DataFrame({"user": [1, 3], "item": ["z", "z"], "rating": rating})
    first.write_parquet(tmp_path / "1.parquet")
    second.write_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"1\.parquet, row 2: the user is a number in floating point that is not whole"):
        dc.data.RatingsInParts(tmp_path, scale=STARS)
    with pytest.raises(DataError, match="the frame, row 2: the user is a number in floating point"):
        dc.from_frame(first, scale=STARS)
    with pytest.raises(DataError, match="the frame, row 1: the item is a number in floating point"):
        dc.from_frame(pl.DataFrame({"user": ["a"], "item": [1.5], "rating": [5]}), scale=STARS)
    with pytest.raises(DataError, match="too large to be exact"):
        dc.from_frame(pl.DataFrame({"user": [2.0**60], "item": ["x"], "rating": [5]}), scale=STARS)
    # Whole numbers are the same user, however they are stored.
    for number in (1.0, 1):
        whole = pl.DataFrame({"user": [number, 2], "item": item, "rating": rating}, strict=False)
        assert list(dc.from_frame(whole, scale=STARS).users) == ["1", "2"]
    pl.DataFrame({"user": [1.0, 2.0], "item": item, "rating": rating}).write_parquet(tmp_path / "1.parquet")
    with pytest.raises(DataError, match="a user who is in another part too"):
        dc.data.RatingsInParts(tmp_path, scale=STARS)
    # In text 1.0 may be a name; but not beside 1.
    (tmp_path / "1.parquet").unlink()
    (tmp_path / "1.csv").write_text("user,item,rating\n1.0,x,5\n2.0,x,5\n")
    with pytest.raises(DataError, match="a user who is in another part too"):
        dc.data.RatingsInParts(tmp_path, scale=STARS)
    assert list(dc.load(tmp_path / "1.csv", scale=STARS).users) == ["1.0", "2.0"]
    for head, what in (("user,item,rating", "user"), ("item,user,rating", "item")):
        (tmp_path / "1.csv").write_text(f"{head}\n1.0,x,5\n1,y,5\n")
        with pytest.raises(DataError, match=f"the same {what} is written as 1 and as 1.0"):
            dc.load(tmp_path / "1.csv", scale=STARS)
    door(
        "all ratings of one user: epsilon 1",
        "user 1 counted as two users, 1.0 in one part and 1 in another: 2 with group privacy",
        "one user, or refused in a sentence",
    )


# ── Devices with the unit rating ──


def test_taking_back_an_only_rating_takes_away_a_device(door, tmp_path):
    frame = pl.DataFrame({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "rating": [5, 1, 3]})
    items = pl.DataFrame({"item": ["x", "y"]})
    sent, listed, public = [], [], []
    for rows in (frame, frame.filter(pl.col("user") == "a")):
        read = dc.from_frame(rows, scale=STARS, items=items, items_public=True)
        devices = dc.LocalDevices(read, dc.Ledger(1.0))
        sent.append(len(seen_by(devices)))
        public.append(devices.guarantee.public)
        devices = dc.LocalDevices(read.with_users(["a", "b", "c"]), dc.Ledger(1.0))
        listed.append(len(seen_by(devices)))
        assert devices.guarantee.public == ("which devices take part",)
    assert sent == [2, 1] and listed == [3, 3]
    assert public == [("which devices take part, and that each of them has at least one rating",)] * 2
    assert "each of them has at least one rating" in str(dc.LocalDevices(read, dc.Ledger(1.0)).guarantee)
    door(
        "which devices take part is all that is not hidden",
        f"one rating less: {sent[1]} messages in place of {sent[0]}",
        f"with listed users {listed[0]} and {listed[1]}; else the guarantee says that each device has a rating",
    )


def test_a_device_without_ratings_sends_noise_too(tmp_path):
    frame = pl.DataFrame({"user": ["a"], "item": ["x"], "rating": [5]})
    read = dc.from_frame(frame, scale=STARS)
    frame.write_csv(tmp_path / "it.csv")
    for ratings in (read, dc.data.RatingsInParts([tmp_path / "it.csv"], scale=STARS)):
        everyone = ratings.with_users([f"silent {n}" for n in range(400)] + ["a"])
        assert everyone.n_users == 401 and everyone.handling.users_listed and not ratings.handling.users_listed
        silent = everyone
        if isinstance(everyone, dc.Ratings):
            silent = everyone.select_users(np.arange(400))
        devices = dc.LocalDevices(silent, dc.Ledger(0.01))
        found = abs(devices.sum(item_counts(1))[0])
        # 400 times Laplace noise of deviation 141: below 50 with odds of about 1 in 70,
        # and 20 sums all below with odds below 1e-30.
        more = [abs(dc.LocalDevices(silent, dc.Ledger(0.01)).sum(item_counts(1))[0]) for _ in range(19)]
        assert max(found, *more) > 50
    with pytest.raises(dc.errors.InputError, match="a user with ratings is not in the list"):
        read.with_users(["b"])
    with pytest.raises(dc.errors.InputError, match="a user with ratings is not in the list"):
        dc.data.RatingsInParts([tmp_path / "it.csv"], scale=STARS).with_users(["b"])


def test_listed_users_keep_their_ratings():
    ratings = dc.synthetic(users=20, items=15, ratings=120, seed=1)
    order = [str(n) for n in range(25, 0, -1)]
    listed = ratings.with_users(order)
    assert list(listed.users) == order and len(listed) == len(ratings)
    for name in ratings.users:
        own, before = listed.history(name), ratings.history(name)
        assert own.items.tolist() == before.items.tolist() and own.values.tolist() == before.values.tolist()
    assert len(listed.history("25")) == 0


# ── The value of a rating ──


@pytest.mark.parametrize("population", [dc.TrustedServer, dc.LocalDevices])
def test_the_unit_of_a_value_says_what_it_does_not_hide(door, population):
    ratings = dc.synthetic(users=30, items=20, ratings=200, seed=1)
    guarantee = dc.Bias().fit(population(ratings, dc.Ledger(1.0, unit=dc.Rating("replace")))).guarantee
    assert "which items a user rated" in guarantee.public
    assert "which items a user rated." in str(guarantee).partition("Not hidden: ")[2]
    assert "which items" not in str(dc.Bias().fit(population(ratings, dc.Ledger(1.0))).guarantee)
    door("one rating, epsilon 1", "only its value: which items were rated shows", 'says "Not hidden: which items …"')


def test_an_only_rating_taken_back_moves_no_sum_by_its_user(door):
    """A statistic that counts users, too: its bound for a rating says nothing of the user who leaves with it."""
    asked = dc.Contribution(
        "ratings, and users twice",
        (1,),
        lambda ratings: np.array([len(ratings) + 2.0 * ratings.n_users]),
        (dc.Bound("rating", "l1", 1.0),),
    )
    frame = pl.DataFrame({"user": ["a", "b", "b"], "item": ["x", "x", "y"], "rating": [1, 5, 3]})
    catalogue = dc.Catalogue.of(["x", "y"], dc.Scale(1, 5), declared=True)
    whole, without = (
        replace(dc.from_frame(rows, scale=dc.Scale(1, 5)), catalogue=catalogue) for rows in (frame, frame[1:])
    )
    moved = abs(asked.total(whole) - asked.total(without)).sum()
    assert moved == 3
    server = dc.TrustedServer(whole, dc.Ledger(1.0))
    with pytest.raises(dc.InputError, match="counts users without ratings"):
        server.sum(asked)
    assert server.spends == ()
    listed = dc.TrustedServer(whole.with_users(["a", "b", "c"]), dc.Ledger(1.0))
    assert listed.sum(asked).shape == (1,)
    door("one rating moves the sum by 1: epsilon 1", f"by {moved:.0f}: epsilon {moved:.0f}", "refused, nothing spent")
