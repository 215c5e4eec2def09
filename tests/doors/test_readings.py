"""How ratings are read is chosen too: features, rules to merge, scales, lists of items, and what was done before."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.populations import accounts

HOLD_OUT = dc.evaluation.HoldOut(seed=1)

# ── What is said of private rows ──


def test_how_many_ratings_are_left_out_is_not_said(door, discreet, tmp_path, caplog, monkeypatch):
    """It is a count of private rows: one user more or less moves it."""
    (tmp_path / "items.csv").write_text("item\na\nb\n")
    said = {}
    for who in ("ann bob cyd", "ann bob"):
        rows = [f"{user},{item},4" for user in who.split() for item in ("a", "b", "x")]
        (tmp_path / "ratings.csv").write_text("\n".join(["user,item,rating", *rows, ""]))
        monkeypatch.setenv("DISCREET_BUDGET", str(tmp_path / f"{who}.sqlite"))
        caplog.clear()
        data = (tmp_path / "ratings.csv", "--scale", "1:5", "--items", tmp_path / "items.csv", "--items-public")
        more = ("--drop-unlisted", "--epsilon", "1", "-o", tmp_path / "release", "--replace")
        code, _, err = discreet("fit", "popularity", *data, *more)
        assert code == 0, err
        said[who] = caplog.messages
    door(
        "proven: epsilon 1",
        "beside it was said: 3 ratings of items that are not listed left out, and 2 without one of the users",
        f"the same for both: {said['ann bob'][0].partition(': ')[2]}",
    )
    assert said["ann bob cyd"] == said["ann bob"]
    assert "ratings of items that are not listed are left out" in said["ann bob"][0]


# ── The list of items ──


def another_process():
    """What was looked at in this one is not known there."""
    accounts._LOOKED.clear()
    accounts._FITTED.clear()


def movielens(folder, ratings, movies, genres=("Drama",)):
    """A folder with the file names of MovieLens: its list has the items that were rated, and no others."""
    folder.mkdir()
    (folder / "ratings.csv").write_text("\n".join(["userId,movieId,rating,timestamp", *ratings, ""]))
    listed = [f'{item},"Film {item} (1999)",{genres[place % len(genres)]}' for place, item in enumerate(movies)]
    (folder / "movies.csv").write_text("\n".join(["movieId,title,genres", *listed, ""]))
    return folder


def test_file_names_of_movielens_make_no_list_public(door, discreet, budget, tmp_path):
    rows = ["1,1,5,10", "1,2,3,20", "2,1,4,30", "3,7,2,40"]
    whole = movielens(tmp_path / "whole", rows, [1, 2, 7])
    without = movielens(tmp_path / "without", rows[:3], [1, 2])
    sizes = {}
    for place in (whole, without):
        ratings = dc.load(place)
        guarantee = dc.Popularity().fit(dc.TrustedServer(ratings, dc.Ledger(1.0))).guarantee
        assert not ratings.catalogue.declared and guarantee.proven is None and "items public" in guarantee.reason
        sizes[place.name] = ratings.n_items
    fit = ("fit", "popularity", whole, "--epsilon", "1", "-o", tmp_path / "release")
    code, out, err = discreet(*fit)
    assert (code, out) == (2, "") and "--items-public" in err and not (tmp_path / "release").exists()
    code, out, err = discreet("plan", whole, "--epsilon", "1")
    assert code == 2 and "--items-public" in err
    code, out, err = discreet(*fit, "--items-public")
    assert code == 0 and "list of items is public was declared" in out, err
    door(
        "proven: epsilon 1, for any folder with a movies.csv beside its ratings.csv",
        f"the released list has {sizes['whole']} items with a user, and {sizes['without']} without",
        "no privacy, unless somebody says --items-public, and then the guarantee says that somebody did",
    )


def test_a_published_list_is_known_by_its_checksum(ml_100k):
    notes = dc.Popularity().fit(dc.TrustedServer(ml_100k, dc.Ledger(1.0))).guarantee.notes
    assert ml_100k.catalogue.published == "ml-100k"
    assert any("that of ml-100k, known by its checksum and taken as public" in note for note in notes)


# ── Options of the data are settings too ──


PRICES = [1, 2, 3, 50, 60, 70, 2, 3, 80, 1, 90, 4]


def shop(folder, users=80):
    """Ratings of cheap and dear products, tables of them that say something of each, and the columns that are tags."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    rows = []
    for user in range(users):
        for item in rng.choice(12, size=6, replace=False):
            rows += [f"member {user},{item},{rng.integers(1, 6)},{day},{-day}" for day in range(1 + (item == 3))]
    (folder / "r.csv").write_text("\n".join(["user,item,rating,time,changed", *rows, ""]))
    kinds = [("a", "b")[item % 2] for item in range(12)]
    products = [f"{item},{kind},{price}" for item, (kind, price) in enumerate(zip(kinds, PRICES, strict=True))]
    (folder / "items.csv").write_text("\n".join(["item,brand,price", *products, ""]))
    others = [f"{item},{'ab'[item // 6]},{PRICES[-item]}" for item in range(12)]
    (folder / "others.csv").write_text("\n".join(["item,brand,price", *others, ""]))
    return folder


READINGS = {
    "features": ({"features": "brand"}, {"features": "price:number"}),
    "repeats": ({"repeats": "last"}, {"repeats": "mean"}),
    "scale": ({"scale": "1:5"}, {"scale": "0:6"}),
    "items": ({"items": "items.csv", "features": "brand"}, {"items": "others.csv", "features": "brand"}),
    "items, of numbers": tuple({"items": name, "features": "price:number"} for name in ("items.csv", "others.csv")),
    "time": ({"time-column": "time"}, {"time-column": "changed"}),  # by which of several the last one is kept
}


@pytest.mark.parametrize("what", READINGS)
def test_how_data_are_read_is_chosen_like_a_setting(door, discreet, budget, tmp_path, what):
    """Looked at in two ways, and fitted in the better one: that is a choice on private data that nobody paid for."""
    folder = shop(tmp_path / "shop")

    def words(reading):
        chosen = {"scale": "1:5", "items": "items.csv", "repeats": "last", "time-column": "time"} | reading
        named = [word for name, value in chosen.items() if name != "items" for word in (f"--{name}", value)]
        return (
            folder / "r.csv",
            *named,
            "--items",
            folder / chosen["items"],
            "--items-public",
        )

    for reading in READINGS[what]:
        code, _, err = discreet("evaluate", "almanac", *words(reading), "--test", ".2", "--metrics", "rmse")
        assert code == 0, err
    fit = ("fit", "almanac", *words(READINGS[what][1]), "--epsilon", "1", "-o", tmp_path / "release")
    code, out, err = discreet(*fit)
    door(
        "proven: epsilon 1, settings are the model's defaults",
        f"two readings of the ratings were compared on them ({what}), and the better one was fitted",
        err.strip()[:110] + "…",
    )
    assert (code, out) == (2, "") and "how these ratings are read may have been chosen" in err
    assert f"({what.partition(',')[0]})" in err
    assert dc.Budget(budget).account(str(folder / "r.csv")).spendings == () and not (tmp_path / "release").exists()
    code, out, err = discreet("search", "bias", "bias:item_damping=1", *fit[2:])
    assert code == 2 and "how these ratings are read" in err  # a search pays for the model alone
    code, out, err = discreet(*fit, "--tuned-on", "nothing")
    assert code == 0 and "before anyone looked" in out, err


def test_a_reading_that_was_looked_at_alone_is_no_choice(discreet, budget, tmp_path):
    folder = shop(tmp_path / "shop")
    data = (folder / "r.csv", "--scale", "1:5", "--repeats", "last", "--time-column", "time")
    listed = ("--items", folder / "items.csv", "--items-public", "--features", "brand")
    assert discreet("evaluate", "almanac", *data, "--test", ".2", "--metrics", "rmse")[0] == 0  # a list is no choice:
    bare = ("fit", "almanac", *data, *listed[:3], "--epsilon", "1", "-o", tmp_path / "bare", "--account", "bare")
    code, out, err = discreet(*bare)  # a private fit cannot do without one
    assert code == 0 and "Settings are the model's defaults." in out, err
    code, out, err = discreet("fit", "almanac", *data, *listed, "--epsilon", "1", "-o", tmp_path / "more")
    assert code == 2 and "(features)" in err  # which nobody looked at, but something else


@pytest.mark.parametrize("shorter", [9, 11])
def test_looks_at_two_lists_that_are_nearly_alike_are_a_choice(door, discreet, budget, tmp_path, shorter):
    """A list may grow between a look and a fit; between two looks it is chosen, as any setting."""
    folder = shop(tmp_path / "shop")
    lines = (folder / "items.csv").read_text().splitlines(keepends=True)
    (folder / "few.csv").write_text("".join(lines[: 1 + shorter]))
    data = (folder / "r.csv", "--scale", "1:5", "--repeats", "last", "--time-column", "time", "--drop-unlisted")
    few = ("--items", folder / "few.csv", "--items-public")
    for listed in (few, ("--items", folder / "items.csv", "--items-public")):
        assert discreet("evaluate", "almanac", *data, *listed, "--test", ".2", "--metrics", "rmse")[0] == 0
        another_process()
    code, out, err = discreet("fit", "almanac", *data, *few, "--epsilon", "1", "-o", tmp_path / "release")
    door("proven: epsilon 1", f"of 12 items {shorter} were fitted, after both lists were looked at", err[:110])
    assert (code, out) == (2, "") and "(items)" in err


@pytest.mark.parametrize("way", ["file", "frame", "filtered"])
def test_ratings_that_are_read_again_are_known_again(door, tmp_path, way):
    """In one process, without an account: each reading is an object of its own, with a log of its own."""
    folder = shop(tmp_path / "shop")
    frame, items = pl.read_csv(folder / "r.csv"), pl.read_csv(folder / "items.csv")

    def read(features):
        more = {"scale": (1, 5), "items_public": True, "features": [features], "repeats": "last", "time": "time"}
        if way == "file":
            return dc.load(folder / "r.csv", items=folder / "items.csv", **more)
        rows = frame if way == "frame" or features == "brand" else frame.filter(pl.col("rating") > 1)
        return dc.from_frame(rows, items=items, **more)

    found = {}
    for features in ("brand", "price:number"):
        report = dc.compare({"bias": dc.Bias()}, read(features), dc.evaluation.HoldOut(seed=1), metrics=["rmse"])
        found[features] = report["rmse"]
    best = min(found, key=found.get)
    guarantee = dc.Bias().fit(dc.TrustedServer(read(best), dc.Ledger(1.0))).guarantee
    door(
        "proven: epsilon 1, settings are the model's defaults",
        f"of {' and '.join(found)} the better one was taken, by what came out on these ratings",
        f"no privacy: {guarantee.reason[:100]}…",
    )
    assert guarantee.tuning == "unpaid" and guarantee.proven is None and "(features)" in guarantee.reason
    said = dc.Bias().fit(dc.TrustedServer(read(best), dc.Ledger(1.0), tuning="nothing")).guarantee
    assert said.proven is not None and said.tuning == "stated"
    other = dc.synthetic(users=80, items=12, ratings=500, seed=2)
    assert dc.Bias().fit(dc.TrustedServer(other, dc.Ledger(1.0))).guarantee.tuning == "defaults"


@pytest.mark.parametrize("fitted", ["whole", "bounded"])
def test_numbered_users_of_whom_few_ratings_were_looked_at_are_known_again(door, fitted):
    whole = dc.synthetic(users=100, items=120, ratings=3300, seed=1)
    frame = whole.to_frame().drop("time").with_columns(user=pl.Series(whole.user_index + 1))

    def read(which):
        ratings = dc.from_frame(frame, scale=(1, 5), items=titles(whole), items_public=True)
        return dc.data.bound_users(ratings, most=5) if which == "bounded" else ratings

    for which in ("bounded", "whole") if fitted == "whole" else ("whole", "bounded"):
        dc.compare({"bias": dc.Bias()}, read(which), HOLD_OUT, metrics=["rmse"])
    guarantee = dc.Bias().fit(dc.TrustedServer(read(fitted), dc.Ledger(1.0))).guarantee
    door("proven: epsilon 1", "of five ratings of each user and all of them the better was fitted", guarantee.tuning)
    assert guarantee.tuning == "unpaid" and guarantee.proven is None


def test_a_release_of_another_reading_is_looked_at_too(door, tmp_path):
    """On held-out ratings that both have in common."""
    folder, releases = shop(tmp_path / "shop"), {}
    more = {"scale": (1, 5), "items": folder / "items.csv", "items_public": True, "time": "time"}
    for repeats in ("last", "mean"):
        train, test = dc.load(folder / "r.csv", repeats=repeats, **more).split(test=0.2, seed=1)
        releases[repeats] = dc.Bias().fit(dc.TrustedServer(train, dc.Ledger(1.0)))
    for release in releases.values():
        dc.evaluate(release, train, test, metrics=["rmse"])
    for repeats, release in releases.items():
        with pytest.raises(dc.DiscreetError, match="how these ratings are read may have been chosen"):
            release.save(tmp_path / repeats)
    again = dc.load(folder / "r.csv", repeats="mean", **more)
    guarantee = dc.Bias().fit(dc.TrustedServer(again, dc.Ledger(1.0))).guarantee
    door("proven: epsilon 1", "releases of two readings were measured on one test set", guarantee.reason[:100] + "…")
    assert guarantee.proven is None and "(repeats)" in guarantee.reason


@pytest.mark.parametrize("way", ["evaluate", "compare"])
def test_the_better_of_two_readings_is_not_saved_as_proven(door, tmp_path, way):
    folder, fitted = shop(tmp_path / "shop"), []
    more = {"scale": (1, 5), "items": folder / "items.csv", "items_public": True, "time": "time"}
    for repeats in ("last", "mean"):
        train, test = dc.load(folder / "r.csv", repeats=repeats, **more).split(test=0.2, seed=1)
        release = dc.Bias().fit(dc.TrustedServer(train, dc.Ledger(1.0)))
        fitted.append((release, train, test))
    for (release, train, test), repeats in zip(fitted, ("last", "mean"), strict=True):
        assert release.guarantee.proven is not None
        if way == "evaluate":
            dc.evaluate(release, train, test, metrics=["rmse"])
        else:  # of the same file, read once more
            again = dc.load(folder / "r.csv", repeats=repeats, **more)
            dc.compare({"bias": dc.Bias()}, again, dc.evaluation.HoldOut(seed=1), metrics=["rmse"])
    with pytest.raises(dc.DiscreetError, match="how these ratings are read may have been chosen") as refused:
        fitted[0][0].save(tmp_path / "release")
    door("proven: epsilon 1", "the better of two ways to merge was saved", str(refused.value)[:100] + "…")


def test_a_list_is_known_by_what_it_says(door, discreet, budget, tmp_path):
    """Across processes, in which only the account is known, and though nobody declared it when it was looked at."""
    folder = shop(tmp_path / "shop")
    data = (folder / "r.csv", "--scale", "1:5", "--repeats", "last", "--time-column", "time", "--features", "brand")

    def fit(items):
        another_process()
        words = ("--items", items, "--items-public", "--epsilon", "1", "-o", tmp_path / "release", "--replace")
        return discreet("fit", "almanac", *data, *words)

    listed = ("--items", folder / "items.csv")
    assert discreet("evaluate", "almanac", *data, *listed, "--test", ".2", "--metrics", "rmse")[0] == 0
    tomorrow = [*reversed((folder / "items.csv").read_text().split()[1:]), "12,a,7"]
    (tmp_path / "tomorrow.csv").write_text("\n".join(["item,brand,price", *tomorrow, ""]))
    code, _, err = fit(tmp_path / "tomorrow.csv")  # at another place, in another order, with one item more
    assert code == 0, err
    (folder / "items.csv").write_text((folder / "others.csv").read_text())
    code, out, err = fit(folder / "items.csv")
    door("proven: epsilon 1", "the table of items was overwritten after it was looked at", err.strip()[:110] + "…")
    assert (code, out) == (2, "") and "(items)" in err


def test_other_genres_in_a_folder_of_movielens_are_another_reading(door, tmp_path):
    kept = dc.Budget(tmp_path / "budget.sqlite")
    rows = [f"{user},{item},{1 + (user * item) % 5},{item}" for user in range(1, 41) for item in range(1, 9)]
    for name, genres in {"one": ("Drama", "War"), "other": ("Drama", "Drama", "War")}.items():
        data = dc.load(movielens(tmp_path / name, rows, range(1, 9), genres))
        dc.compare({"almanac": dc.Almanac()}, data, HOLD_OUT, metrics=["rmse"], account="films", budget=kept)
        another_process()
    data = dc.load(tmp_path / "other", items_public=True)
    guarantee = dc.Almanac().fit(dc.TrustedServer(data, dc.Ledger(1.0), account="films", budget=kept)).guarantee
    door("proven: epsilon 1", "of two lists of genres the better one was fitted", guarantee.reason[:100] + "…")
    assert guarantee.proven is None and "(items)" in guarantee.reason


@pytest.mark.parametrize("public", [True, False])
def test_lists_in_one_process_are_told_apart_by_what_they_say(door, tmp_path, monkeypatch, public):
    """Also within one second, in frames, and where nobody declared them while they were looked at."""
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    monkeypatch.setattr("discreet.looks.datetime", type("Stopped", (), {"now": lambda zone: noon}))
    folder = shop(tmp_path / "shop")
    more = {"scale": (1, 5), "features": ["brand"], "repeats": "last", "time": "time"}
    frame, *lists = (pl.read_csv(folder / name) for name in ("r.csv", "items.csv", "others.csv"))
    for items in lists:
        ratings = dc.from_frame(frame, items=items, items_public=public, **more)
        dc.compare({"bias": dc.Bias()}, ratings, HOLD_OUT, metrics=["rmse"])
    for items in lists:
        best = dc.from_frame(frame, items=items, items_public=True, **more)
        guarantee = dc.Bias().fit(dc.TrustedServer(best, dc.Ledger(1.0))).guarantee
        assert guarantee.proven is None and "(items)" in guarantee.reason
    door("proven: epsilon 1", "of two tables of items the better one was fitted", guarantee.reason[:100] + "…")


def test_the_same_reading_under_other_names_is_no_choice(tmp_path):
    folder = shop(tmp_path / "shop")
    more = {"scale": (1, 5), "items_public": True, "features": ["brand"], "repeats": "last", "time": "time"}
    frame, items = pl.read_csv(folder / "r.csv"), pl.read_csv(folder / "items.csv")
    dc.compare({"bias": dc.Bias()}, dc.from_frame(frame, items=items, **more), HOLD_OUT, metrics=["rmse"])
    renamed = {"user": "who", "item": "what"}
    grown = pl.concat([items, pl.DataFrame({"item": [12], "brand": ["b"], "price": [5]})])
    for same in (
        dc.load(folder / "r.csv", items=folder / "items.csv", **more),
        dc.from_frame(frame, items=grown, **more),
        dc.from_frame(frame.rename(renamed), items=items.rename({"item": "what"}), user="who", item="what", **more),
    ):
        guarantee = dc.Bias().fit(dc.TrustedServer(same, dc.Ledger(1.0))).guarantee
        assert guarantee.tuning == "defaults" and guarantee.proven is not None, guarantee.reason


def test_a_list_that_nobody_declared_is_not_said_to_be_declared(tmp_path):
    release = dc.Popularity().fit(dc.TrustedServer(dc.synthetic(users=50, items=30, ratings=600, seed=1), dc.Ledger(1)))
    assert any("was declared" in note for note in release.guarantee.notes)
    frame = pl.DataFrame({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "rating": [5, 1, 3]})
    ratings = dc.from_frame(frame, scale=(1, 5), items=pl.DataFrame({"item": ["x", "y"]}))
    dc.Popularity().fit(dc.TrustedServer(ratings, dc.Ledger(1.0))).save(tmp_path / "release")
    guarantee = dc.Release.load(tmp_path / "release").guarantee
    assert "items public" in guarantee.reason and not any("was declared" in note for note in guarantee.notes)


# ── What was chosen among the ratings ──


SELECTIONS = {
    "ratings": lambda ratings, best: ratings.select(ratings.values < 5 if best else ratings.values > 1),
    "users": lambda ratings, best: ratings.select_users(np.arange(int(best), 80, 2)),
    "seeds": lambda ratings, best: dc.data.bound_users(ratings, most=5, seed=int(best)),
}


@pytest.mark.parametrize("what", SELECTIONS)
def test_what_is_selected_is_chosen_like_a_setting(door, tmp_path, what):
    kept = dc.Budget(tmp_path / "budget.sqlite")
    whole = dc.synthetic(users=80, items=12, ratings=500, seed=1)
    whole = dc.from_frame(whole.to_frame().drop("time"), scale=(1, 5), items=titles(whole), items_public=True)
    for best in (False, True):
        part = SELECTIONS[what](whole, best)
        dc.compare({"bias": dc.Bias()}, part, HOLD_OUT, metrics=["rmse"], account="films", budget=kept)
    best = SELECTIONS[what](whole, True)
    guarantee = dc.Bias().fit(dc.TrustedServer(best, dc.Ledger(1.0, 1e-6, dc.User()))).guarantee
    door("proven: epsilon 1", f"of two selections ({what}) the better one was fitted", guarantee.reason[:100] + "…")
    assert guarantee.tuning == "unpaid" and guarantee.proven is None
    for look in kept.looks("films"):  # which rows were selected may say something of them
        assert "selection" not in dict(look.reading)
        assert not best.handling.selection or best.handling.selection not in str(look.reading)
    if what != "seeds":
        everybody = dc.Bias().fit(dc.TrustedServer(whole, dc.Ledger(1.0, 1e-6, dc.User()))).guarantee
        assert everybody.tuning == "defaults"  # whoever looks at some of them need not fit some of them


def titles(ratings):
    return pl.DataFrame({"item": ratings.catalogue.items.names.tolist()})


def test_splits_are_no_selection():
    whole = dc.synthetic(users=80, items=12, ratings=500, seed=1)
    train, test = whole.split(test=0.2, seed=1)
    release = dc.Bias().fit(dc.TrustedServer(train, dc.Ledger(1.0)))
    dc.evaluate(release, train, test, metrics=["rmse"])
    for part in (*whole.split_users(test=0.5, seed=2), *next(whole.folds(3, seed=1)), train, whole):
        assert dc.Bias().fit(dc.TrustedServer(part, dc.Ledger(1.0))).guarantee.tuning == "defaults"


# ── What was done before travels with a table ──


@pytest.mark.parametrize("way", ["frame", "rows", "pandas", "csv", "parquet", "parts"])
def test_what_was_done_is_not_forgotten_on_the_way_through_a_table(door, discreet, budget, tmp_path, way):
    whole = dc.synthetic(users=60, items=20, ratings=600, seed=1)
    done = {
        "a random split": (whole.merge("last").split(test=0.3, seed=1)[0], "one part of a random split"),
        "popular items": (dc.data.keep_popular_items(whole, least=20), "left out by how many users rated them"),
        "bounds": (dc.data.bound_users(whole, least=5, most=9), "the ratings of each user were bounded"),
        "chosen users": (whole.select_users(np.arange(40)), "chosen among others before"),
        "random names": (dc.Ratings.of_histories([whole.history_at(user) for user in range(30)]), "came without names"),
    }
    (tmp_path / "items.csv").write_text("\n".join(["item", *whole.catalogue.items.names, ""]))
    items = pl.read_csv(tmp_path / "items.csv", infer_schema=False)

    def again(frame, number):
        listed = {"scale": (1, 5), "items": tmp_path / "items.csv", "items_public": True}
        if way in ("frame", "rows", "pandas"):
            frame = {"rows": frame.sample(fraction=0.5, seed=1), "pandas": frame.to_pandas()}.get(way, frame)
            return dc.from_frame(frame, **listed | {"items": items})
        if way == "parts":
            (tmp_path / str(number)).mkdir()
            frame.write_parquet(tmp_path / str(number) / "1.parquet")
            return dc.data.RatingsInParts(tmp_path / str(number), **listed)
        path = tmp_path / f"{number}.{way}"
        frame.write_csv(path) if way == "csv" else frame.write_parquet(path)
        return dc.load(path, **listed)

    for number, (what, (ratings, said)) in enumerate(done.items()):
        read, unit = again(ratings.to_frame(), number), dc.User() if what == "random names" else dc.Rating()
        found, before = (
            str(dc.Popularity().fit(dc.TrustedServer(one, dc.Ledger(1.0, 1e-6 if unit.name == "user" else 0.0, unit)))
                .guarantee) for one in (read, ratings)
        )  # fmt: skip
        assert said in before and said in found, what
        assert what == "random names" or "Nothing says what was done" not in found
    door(
        "proven: epsilon 1, for all ratings of a user or one of them",
        f"of ratings that {', '.join(done)} had changed, nothing was known on the way back from a {way}",
        "a table carries what was done, in a column, and a frame without one is said to be without",
    )


def test_a_frame_that_says_nothing_is_said_to_say_nothing(tmp_path):
    rows, items = (
        {"user": ["a", "a", "b"], "item": ["x", "y", "x"], "rating": [5, 1, 3]},
        pl.DataFrame({"item": ["x", "y"]}),
    )
    plain = dc.from_frame(pl.DataFrame(rows), scale=(1, 5), items=items, items_public=True)
    notes = dc.Popularity().fit(dc.TrustedServer(plain, dc.Ledger(1.0))).guarantee.notes
    assert any("says what was done" in note for note in notes)
    own = pl.DataFrame(rows | {"handling": ["express", "post", "post"]})  # a column that only has this name
    assert dc.from_frame(own, scale=(1, 5)).handling == plain.handling
    own.write_csv(tmp_path / "own.csv")
    read = dc.load(tmp_path / "own.csv", scale=(1, 5), items_public=False)
    assert read.handling.words == "" and dc.load(tmp_path / "own.csv", scale=(1, 5), item="handling").n_items == 2


@pytest.mark.parametrize("way", ["frame", "csv"])
def test_rows_that_say_nothing_are_said_to_say_nothing_beside_others(door, tmp_path, way):
    whole = dc.synthetic(users=60, items=20, ratings=600, seed=1)
    marked, silent = whole.merge("last").to_frame(), whole.split(test=0.3, seed=1)[0].to_frame().drop("handling")
    silent = silent.with_columns(user="b" + silent["user"])  # another shop's, say
    both = pl.concat([marked.cast({"handling": pl.String}), silent], how="diagonal")
    listed = {"scale": (1, 5), "items_public": True}
    titles(whole).write_csv(tmp_path / "items.csv")
    both.write_csv(tmp_path / "both.csv")
    made = {
        "frame": lambda: dc.from_frame(both, items=titles(whole), **listed),
        "csv": lambda: dc.load(tmp_path / "both.csv", items=tmp_path / "items.csv", **listed),
    }[way]()
    notes = dc.Popularity().fit(dc.TrustedServer(made, dc.Ledger(1.0))).guarantee.notes
    door("proven: epsilon 1, for ratings that were merged", "some of them are part of a random split", notes[1])
    assert any("merged (last)" in note for note in notes) and any("says what was done" in note for note in notes)


@pytest.mark.parametrize("way", ["columns", "histories"])
def test_arrays_and_histories_that_say_nothing_are_said_to_say_nothing(door, way):
    train, _ = dc.synthetic(users=60, items=20, ratings=600, seed=1).merge("last").split(test=0.3, seed=1)
    columns = train.users, train.user_index, train.item_index, train.values
    made = {
        "columns": lambda: dc.Ratings.of_columns(train.catalogue, *columns),
        "histories": lambda: dc.Ratings.of_histories([train.history_at(user) for user in range(train.n_users)]),
    }[way]()
    notes = dc.Popularity().fit(dc.TrustedServer(made, dc.Ledger(1.0))).guarantee.notes
    door("proven: epsilon 1, for one rating of all", "these are one part of a random split", notes[0][:110] + "…")
    assert any("says what was done" in note for note in notes)
    said = dc.Ratings.of_columns(train.catalogue, *columns, handling=train.handling)
    assert said.handling == train.handling
    whole = dc.synthetic(users=60, items=20, ratings=600, seed=1)
    assert not any("says what was done" in note for note in dc.TrustedServer(whole, dc.Ledger(1.0)).guarantee.notes)
