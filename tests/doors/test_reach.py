"""What a model can reach of the ratings, and what an error can tell of them."""

import types
from dataclasses import dataclass

import numpy as np
import pytest

import discreet as dc
from discreet.audit.recording import RecordingPopulation
from discreet.data.labels import Labels
from discreet.data.parts import RatingsInParts
from discreet.data.ratings import Ratings
from discreet.errors import DataError, DiscreetError, InputError
from discreet.models.sums.item_statistics import item_counts
from discreet.populations.rehearsal import Rehearsal
from discreet.privacy.selection import choose

RATINGS = dc.synthetic(users=300, items=30, ratings=3000, seed=1)
SIZE = RATINGS.n_items


# ── Raw ratings out of reach ──


def reached(start):
    """Every object that attributes, containers, bound methods and closures lead to; not by modules and classes."""
    seen, waiting = {}, [start]
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, type | types.ModuleType | str | bytes | int | float):
            continue
        seen[id(found)] = found
        if isinstance(found, dict):
            waiting.extend([*found.keys(), *found.values()])
        elif isinstance(found, list | tuple | set | frozenset):
            waiting.extend(found)
        elif isinstance(found, types.FunctionType):
            waiting.extend([found.__defaults__, found.__kwdefaults__, found.__dict__])
            waiting.extend(cell.cell_contents for cell in found.__closure__ or ())
        elif isinstance(found, types.MethodType):
            waiting.extend([found.__self__, found.__func__])
        elif not isinstance(found, np.ndarray | Ratings | RatingsInParts):
            waiting.append(getattr(found, "__dict__", {}))
            names = [name for name in dir(found) if not name.startswith("__")]
            for name in names:
                try:
                    waiting.append(getattr(found, name))
                except DiscreetError:
                    continue
    return list(seen.values())


def leading_to_ratings(population):
    columns = [RATINGS.values, RATINGS.item_index, RATINGS.user_index]
    return [
        found
        for found in reached(population)
        if isinstance(found, Ratings | RatingsInParts)
        or (isinstance(found, np.ndarray) and any(np.shares_memory(found, column) for column in columns))
    ]


@dataclass(frozen=True, kw_only=True)
class Curious(dc.Bias):
    """Bias that notes which populations it was handed."""

    handed: tuple = ([],)

    def fit(self, population, progress=None):
        self.handed[0].append(population)
        return super().fit(population)


def populations(tmp_path):
    RATINGS.to_frame().write_parquet(tmp_path / "1.parquet")
    parts = dc.data.RatingsInParts(tmp_path, scale=(1, 5))
    server = dc.TrustedServer(RATINGS, dc.Ledger(2.0))
    yield from (dc.NoPrivacy(RATINGS), server, dc.TrustedServer(parts, dc.Ledger(2.0)))
    yield dc.TrustedServer(RATINGS, dc.Ledger(2.0, 1e-6, dc.User(max_ratings=5)))
    yield dc.TrustedServer(parts, dc.Ledger(2.0, 1e-6, dc.User(max_ratings=5)))
    yield dc.LocalDevices(RATINGS, dc.Ledger(2.0))
    yield from (Rehearsal(server), RecordingPopulation(server))
    handed = []
    candidates = [Curious(handed=(handed,)), Curious(item_damping=9.0, handed=(handed,))]
    dc.evaluation.Search(candidates=candidates).fit(server)
    asked = next(population for population in handed if type(population).__name__ == "Asked")
    handed.clear()  # the others are rehearsals, which hold made-up ratings
    yield asked


def test_no_attribute_of_a_population_leads_to_a_rating(door, tmp_path):
    asked = list(populations(tmp_path))
    ways = {type(population).__name__: len(leading_to_ratings(population)) for population in asked}
    door(
        "a model never sees a rating",
        "population._ratings held them all",
        f"{sum(ways.values())} objects with ratings are reached from {len(asked)} populations",
    )
    assert set(ways.values()) == {0}, ways


# ── What never went through the population is not released ──


@dataclass(frozen=True)
class KeepsAside:
    """Asks for counts, as it should; and keeps the ratings that its contribution is shown."""

    def fit(self, population, progress=None):
        kept = []

        def total(ratings):
            kept.append(ratings)
            return item_counts(SIZE).total(ratings)

        counts = population.sum(dc.Contribution("counts", (SIZE,), total, item_counts(SIZE).bounds))
        means = np.zeros(SIZE)
        for ratings in kept:
            means += np.bincount(ratings.item_index, weights=ratings.values, minlength=SIZE)
        return dc.Release.of(self, population, {"counts": counts, "means": means})

    def score(self, release, histories):
        return np.zeros((histories.n_users, SIZE), dtype=np.float32)


def paid(model, tmp_path, population=None, **more):
    budget = dc.Budget(tmp_path / "budget.sqlite")
    population = dc.TrustedServer(RATINGS, dc.Ledger(1.0)) if population is None else population
    return dc.spend_and_release(model, population, tmp_path / "release", budget=budget, data="data", **more)


def test_exact_sums_that_a_contribution_kept_aside_are_not_released(door, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.releases.release.Release.save", lambda self, folder: None)  # no name of a kept model
    exact = np.bincount(RATINGS.item_index, weights=RATINGS.values, minlength=SIZE)
    plain = KeepsAside().fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0)))
    wrong = np.abs(plain.arrays["means"] - exact).max()
    refusal = "does not come to the same release from the same answers without the ratings"
    door("proven, epsilon 1", f"it holds the exact sums of ratings: off by {wrong:g}", f"refused: {refusal}")
    assert wrong == 0
    with pytest.raises(InputError, match=refusal):
        paid(KeepsAside(), tmp_path)


def test_a_fit_outside_of_a_budget_says_that_it_was_not_replayed(door):
    release = KeepsAside().fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0)))
    said = [note for note in getattr(release.guarantee, "notes", ()) if "replay" in note]
    door("proven, epsilon 1, made from the ledger's sums", "nobody had checked that", " ".join(said))
    assert said == ["No replay has checked that it was computed from the noisy answers alone."]


def test_one_of_our_models_with_another_fit_is_not_one_of_ours(door, tmp_path):
    model = dc.Popularity()
    object.__setattr__(model, "fit", KeepsAside().fit)
    door("proven, one of Discreet's models", "its fit kept exact sums aside", "replayed, and refused")
    with pytest.raises(InputError, match="does not come to the same release"):
        paid(model, tmp_path)


@pytest.mark.parametrize(
    "model", [dc.Popularity(), dc.Almanac(), dc.ALS(), dc.CovarianceKNN()], ids=lambda model: type(model).__name__
)
@pytest.mark.parametrize("ledger", [(4.0, 1e-6, dc.Rating()), (4.0, 1e-6, dc.User())], ids=["rating", "user"])
def test_models_are_checked_by_replay(model, ledger, tmp_path):
    ledger = dc.Ledger(*ledger)
    release = paid(model, tmp_path, dc.TrustedServer(RATINGS, ledger), check_replay=True)
    assert (
        release.guarantee.notes[-1]
        == "A replay of the noisy answers gave the same release, so nothing else went into it."
    )


@dataclass(frozen=True)
class Releases:
    """Noisy counts, and something beside them."""

    beside: object

    def fit(self, population, progress=None):
        counts = population.sum(item_counts(SIZE))
        return dc.Release.of(self, population, {"counts": counts, "beside": self.beside})


def test_an_array_with_a_row_for_every_user_is_not_released(door):
    """Users rated 10 of 30 items; what they are is in the cells, and that there are 300 in the shape."""
    per_user = np.diff(RATINGS.indptr).astype(np.float32)
    server = dc.TrustedServer(RATINGS, dc.Ledger(1.0))
    refusal = "an axis of the array 'beside' is 300 long"
    door("proven, epsilon 1", f"the release has a row for each of {len(per_user)} users", f"refused: {refusal}, …")
    with pytest.raises(InputError, match=refusal):
        Releases(per_user).fit(server)


@pytest.mark.parametrize("beside", [np.array(["user 7 gave 5"]), np.array([{"user": 7}], dtype=object)])
def test_words_are_not_released(door, beside):
    refusal = "the array 'beside' does not hold numbers"
    door("proven, epsilon 1", f"an array of kind {beside.dtype.kind!r} holds any text", f"refused: {refusal}")
    with pytest.raises(InputError, match=refusal):
        Releases(beside).fit(dc.TrustedServer(RATINGS, dc.Ledger(1.0)))


# ── Errors after the charge ──


def world(values):
    """Each user rates one item."""
    catalogue = dc.Catalogue.of([f"i{n}" for n in range(4)], dc.Scale(1, 5), declared=True)
    users = Labels.of([f"u{n}" for n in range(len(values))], what="user")
    return Ratings.of_columns(catalogue, users, np.arange(len(values)), np.arange(len(values)) % 4, values)


WITH, WITHOUT = world([4.0] * 40 + [3.0]), world([4.0] * 40)


def no_number_for_threes(ratings):
    values = np.where(ratings.values == 3, np.nan, 1.0)
    return np.bincount(ratings.item_index, weights=values, minlength=4)


def test_what_is_no_number_does_not_show_who_took_part(door):
    asked = dc.Contribution("broken", (4,), no_number_for_threes, (dc.Bound("user", "l2", 1.0, cells=1),))
    answers = []
    for ratings in (WITH, WITHOUT):
        server = dc.TrustedServer(ratings, dc.Ledger(20.0, 1e-6, dc.User()), randomness=dc.Randomness(seed=1))
        answers.append(server.sum(asked))
    moved = float(np.abs(answers[0] - answers[1]).max())
    door(
        "the bound holds: 1",
        "with one user more the sum was an error, after the charge",
        f"no error, and the same noise on sums that differ by {moved:g}",
    )
    assert moved <= 1


def test_an_error_in_a_contribution_does_not_say_what_it_met(door):
    def fails(ratings):
        if (ratings.values == 3).any():
            raise KeyError("u40 gave 3.0")
        return np.zeros(4)

    ledger = dc.Ledger(1.0)
    asked = dc.Contribution("fails", (4,), fails, (dc.Bound("rating", "l1", 1.0),))
    with pytest.raises(Exception) as error:
        dc.TrustedServer(WITH, ledger).sum(asked)
    said = str(error.value)
    door("messages carry no rating", "the message was 'u40 gave 3.0'", said)
    assert said == "'fails' could not be computed, and what was booked for it stays spent"
    assert error.value.__context__ is None and error.value.__cause__ is None
    assert len(ledger.spends) == 1


def test_a_shape_that_depends_on_ratings_is_not_told(door):
    def shaped(ratings):
        return np.zeros(4 + int((ratings.values == 3).sum()))

    asked = dc.Contribution("shaped", (4,), shaped, (dc.Bound("rating", "l1", 1.0),))
    with pytest.raises(InputError) as error:
        dc.TrustedServer(WITH, dc.Ledger(1.0)).sum(asked)
    door("messages carry no rating", "'… its total has shape (5,)': one user gave a 3", str(error.value))
    assert "(5,)" not in str(error.value)


def test_a_wrong_shape_is_found_before_the_charge(door):
    ledger = dc.Ledger(1.0)
    asked = dc.Contribution("shaped", (4,), lambda ratings: np.zeros(3), (dc.Bound("rating", "l1", 1.0),))
    with pytest.raises(InputError, match="declares shape"):
        dc.TrustedServer(WITH, ledger).sum(asked)
    door("a ledger is charged for what is computed", "it was charged 1 for nothing", f"it is charged {ledger.spent:g}")
    assert ledger.spends == ()


def test_a_file_that_changed_is_found_before_the_charge(door, tmp_path):
    RATINGS.to_frame().write_parquet(tmp_path / "1.parquet")
    parts, ledger = dc.data.RatingsInParts(tmp_path, scale=(1, 5)), dc.Ledger(1.0)
    RATINGS.select(np.arange(len(RATINGS)) > 0).to_frame().write_parquet(tmp_path / "1.parquet")
    with pytest.raises(DataError, match="has changed since it was checked"):
        dc.TrustedServer(parts, ledger).sum(item_counts(SIZE))
    door("a ledger is charged for what is computed", "it was charged 1 for nothing", f"it is charged {ledger.spent:g}")
    assert ledger.spends == ()


def test_a_score_that_is_no_number_is_no_error(door):
    scores = {1: np.nan, 2: 0.0}
    chosen = choose([1, 2], scores.__getitem__, 1.0, dc.Ledger(1.0))
    door("choose() costs epsilon 1", "'every score must be finite', after the charge", f"candidate {chosen} is chosen")
    assert chosen == 2


# ── Sums on a lattice ──


@pytest.mark.parametrize(
    ("model", "unit", "most"),
    [
        pytest.param(dc.Bias(), dc.Rating(), int(2**23 / 1.5), id="bias, rating"),
        pytest.param(dc.Bias(), dc.User(), 2**23, id="bias, user"),
        pytest.param(dc.Popularity(), dc.User(), 2**23, id="popularity"),
        pytest.param(dc.Almanac(), dc.User(), 2**23, id="almanac"),
        pytest.param(dc.ALS(), dc.User(), 2**23, id="als"),
        pytest.param(dc.Almanac(), dc.Rating(), 2**22, id="almanac, rating"),
        pytest.param(dc.Almanac(purpose="ratings"), dc.Rating(), 2**22, id="almanac for ratings, rating"),
    ],
)
def test_more_users_than_are_summed_exactly_are_refused(door, model, unit, most, tmp_path, monkeypatch):
    RATINGS.to_frame().write_parquet(tmp_path / "1.parquet")
    parts, ledger = dc.data.RatingsInParts(tmp_path, scale=(1, 5)), dc.Ledger(1.0, 1e-6, unit)
    monkeypatch.setattr(RatingsInParts, "n_users", property(lambda self: most + 1), raising=False)  # as if
    lost = (2.0**23 + 2.0**-30) - 2.0**23
    refusal = f"is for at most {most:,} users"
    door("sums are exact", f"2^23 and 2^-30 add up to 2^23 and {lost:g} in doubles", f"refused: {refusal}")
    with pytest.raises(InputError, match=refusal):
        model.fit(dc.TrustedServer(parts, ledger))
    assert ledger.spends == ()


# ── Reports ──


def test_svd_is_fitted_on_reports(door):
    reports = dc.collect.perturb_ratings(dc.collect.Piecewise(epsilon=1.0), RATINGS, dc.Randomness())
    release = dc.SVD().fit(dc.NoPrivacy(reports))
    said = f"SVD promises epsilon {release.guarantee.proven.epsilon:g}"
    door("whatever is made of reports costs no more", "SVD was refused: 'not covered by the ledger'", said)


def test_no_attribute_of_steps_leads_to_a_rating():
    asked = dc.populations.Steps(name="users", shape=(), bounds=(dc.Bound("user", "l2", 1.0),), count=3)
    one, two = (dc.TrustedServer(RATINGS, dc.Ledger(2.0, 1e-6, dc.User())) for _ in range(2))
    for population in (dc.NoPrivacy(RATINGS), one, RecordingPopulation(two)):
        drawn = population.steps(asked)
        drawn.sum(asked.contribution(lambda ratings: float(ratings.n_users)))
        assert leading_to_ratings(drawn) == []
