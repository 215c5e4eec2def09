"""Mechanisms that are broken on purpose, as a hostile reviewer would. ``benchmarks/audits.py`` prints them."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import discreet as dc
from discreet.models.sums.item_statistics import item_counts
from discreet.populations.around import innermost
from discreet.populations.held import held_by
from discreet.populations.population import exact_total

RATINGS = dc.synthetic(users=40, items=20, ratings=400, seed=1)
MANY = dc.synthetic(users=300, items=20, ratings=3000, seed=1)
SERVER = dc.TrustedServer
RATING, USER = dc.Terms(epsilon=1.0), dc.Terms(epsilon=1.0, unit="user", delta=1e-5)
BOUNDS = (dc.Bound("rating", "l1", 1.0, cells=1), dc.Bound("rating", "l2", 1.0, cells=1))


def held(population: Any) -> dc.Ratings:
    """The ratings themselves, which no model should reach. The one place that says how a bug gets at them."""
    return held_by(innermost(population))


def asked_counts(population: Any) -> dc.Contribution:
    return item_counts(len(population.catalogue), population.unit)


@dataclass(frozen=True)
class Counts:
    """A right model: noisy counts."""

    def fit(self, population, progress=None):
        return dc.Release.of(self, population, {"counts": population.sum(asked_counts(population))})


@dataclass(frozen=True)
class TwoLooks:
    """A right model: counts, and counts of high ratings; each costs half."""

    def fit(self, population, progress=None):
        size = len(population.catalogue)

        def high(ratings):
            return np.bincount(ratings.item_index[ratings.values >= 4], minlength=size)

        counts = population.sum(item_counts(size), share=0.5)
        highs = population.sum(dc.Contribution("high ratings", (size,), high, BOUNDS), share=0.5)
        return dc.Release.of(self, population, {"counts": counts, "highs": highs})


@dataclass(frozen=True)
class Asks:
    """Asks for one statistic, as a function of the size of the catalogue and the unit."""

    statistic: Callable[[int, Any], dc.Contribution]

    def fit(self, population, progress=None):
        answer = population.sum(self.statistic(len(population.catalogue), population.unit))
        return dc.Release.of(self, population, {"answer": answer})


# ── Statistics that are not what they declare ──


def plain_counts(size, unit):
    """Right, if a population caps users."""
    return item_counts(size)


def threes_weigh_too_much(size, unit):
    def total(ratings):
        weights = np.where(ratings.values == 3, 2.0, 1.0)
        return np.bincount(ratings.item_index, weights=weights, minlength=size)

    return dc.Contribution("counts", (size,), total, BOUNDS)


def assumes_a_cap(size, unit):
    """No user is expected to have more than 4 ratings, and nobody sees to it."""
    return dc.Contribution("counts", (size,), item_counts(size).total, (dc.Bound("user", "l2", 2.0),))


def wrong_norm(size, unit):
    """Each rating moves two cells by 1, which is √2 in l2 and 2 in l1."""

    def total(ratings):
        return np.tile(np.bincount(ratings.item_index, minlength=size), 2)

    return dc.Contribution("counts twice", (2 * size,), total, (dc.Bound("rating", "l1", 2**0.5, cells=2),))


def clipped_after_the_sum(size, unit):
    def total(ratings):
        return np.clip(np.bincount(ratings.item_index, minlength=size), 0, 10)

    return dc.Contribution("clipped counts", (size,), total, BOUNDS)


def centred_by_everyone(size, unit):
    """Ratings about the mean of all of them: one more moves every item a little."""

    def total(ratings):
        mean = ratings.values.mean(dtype=np.float64) if len(ratings) else 3.0
        return np.bincount(ratings.item_index, weights=(ratings.values - mean) / 4, minlength=size)

    return dc.Contribution("ratings about their mean", (size,), total, BOUNDS)


def every_fifth_row_left_out(size, unit):
    def total(ratings):
        return np.bincount(ratings.item_index[np.arange(len(ratings)) % 5 > 0], minlength=size)

    return dc.Contribution("counts", (size,), total, BOUNDS)


# ── Populations that do not do what they say ──


class ThreesCountTwice(SERVER):
    """A rating of 3 is added again behind the statistic's back, three times."""

    def _noisy(self, contribution, ratings, calibrated):
        threes = exact_total(contribution, ratings.select(ratings.values == 3))
        return super()._noisy(contribution, ratings, calibrated) + 3 * threes


class ForgetsTheCap(SERVER):
    """Noise for 2 ratings of a user, and all of them are used."""

    def __init__(self, ratings, ledger, **options):
        super().__init__(ratings, dc.Ledger(ledger.epsilon, ledger.delta, dc.User(max_ratings=2)), **options)
        self._whole = ratings

    def _noisy(self, contribution, ratings, calibrated):
        return super()._noisy(contribution, self._whole, calibrated)


class RestartsTheStream(SERVER):
    """Fresh in every fit; every look draws the same."""

    def __init__(self, ratings, ledger, **options):
        super().__init__(ratings, ledger, **options)
        self._start = int(self._randomness.words(1)[0])

    def _noisy(self, contribution, ratings, calibrated):
        return calibrated.add_noise(exact_total(contribution, ratings), dc.Randomness(seed=self._start))


class ThirdWithoutNoise(SERVER):
    def _noisy(self, contribution, ratings, calibrated):
        exact, noisy = exact_total(contribution, ratings), super()._noisy(contribution, ratings, calibrated)
        return np.where(np.arange(exact.shape[-1]) % 3 == 1, exact, noisy)


class SplitByRowNumber(SERVER):
    """Every fifth row is held out, to test on."""

    def _noisy(self, contribution, ratings, calibrated):
        return super()._noisy(contribution, ratings.select(np.arange(len(ratings)) % 5 > 0), calibrated)


class PositionalNames(SERVER):
    """Half of the users take part, by a hash of where they stand."""

    def _noisy(self, contribution, ratings, calibrated):
        digests = [hashlib.sha256(str(place).encode()).digest()[0] for place in range(ratings.n_users)]
        kept = np.array(digests) % 2 == 0
        return super()._noisy(contribution, ratings.select(kept[ratings.user_index]), calibrated)


class LedgerByMaximum(dc.Ledger):
    """Every line alone is within the limit."""

    def charge(self, *spends):
        self._batches = (*self._batches, spends)


class ByMaximum(SERVER):
    def __init__(self, ratings, ledger, **options):
        super().__init__(ratings, LedgerByMaximum(ledger.epsilon, ledger.delta, ledger.unit), **options)


class BooksLess(SERVER):
    """Noise for the whole budget each time, booked as if it were for half of it."""

    def sum(self, contribution, share=1.0):
        calibrated = self.calibrate(contribution, 1.0)
        self.ledger.charge(self.calibrate(contribution, 0.5).spend)
        return calibrated.add_noise(exact_total(contribution, held(self)), self._randomness)


@dataclass(frozen=True)
class WholeBudgetTwice:
    def fit(self, population, progress=None):
        asked = asked_counts(population)
        looks = [population.sum(asked), population.sum(replace(asked, name="counts again"))]
        return dc.Release.of(self, population, {"counts": np.mean(looks, axis=0)})


class NoiseThatDependsOnTheData(SERVER):
    """Never less than was booked, and three times as much where the number of ratings is odd."""

    def _noisy(self, contribution, ratings, calibrated):
        exact = exact_total(contribution, ratings)
        noise = calibrated.add_noise(np.zeros_like(exact), self._randomness)
        return exact + noise * (3 if len(ratings) % 2 else 1)


class NoiseSeededByTheData(SERVER):
    def _noisy(self, contribution, ratings, calibrated):
        exact = exact_total(contribution, ratings)
        seed = int.from_bytes(hashlib.sha256(exact.tobytes()).digest()[:4])
        return calibrated.add_noise(exact, dc.Randomness(seed=seed))


class NoiseLeftOutAtTimes(SERVER):
    """One fit in forty is exact."""

    def _noisy(self, contribution, ratings, calibrated):
        noisy = super()._noisy(contribution, ratings, calibrated)
        return noisy if self._randomness.words(1)[0] % 40 else exact_total(contribution, ratings)


class OneNoiseForAllCells(SERVER):
    def _noisy(self, contribution, ratings, calibrated):
        return exact_total(contribution, ratings) + calibrated.add_noise(np.zeros(1), self._randomness)[0]


class EvenNoise(SERVER):
    """Rounded so that the answer is odd where the count is."""

    def _noisy(self, contribution, ratings, calibrated):
        exact = exact_total(contribution, ratings)
        return exact + 2 * np.round(calibrated.add_noise(np.zeros_like(exact), self._randomness))


class NoiseThatIsCutOff(SERVER):
    """Never more than three scales, so that nobody is surprised."""

    def _noisy(self, contribution, ratings, calibrated):
        exact = exact_total(contribution, ratings)
        noise = calibrated.add_noise(np.zeros_like(exact), self._randomness)
        return exact + np.clip(noise, -3 * calibrated.spend.scale, 3 * calibrated.spend.scale)


# ── Releases with more in them than noisy sums ──


@dataclass(frozen=True)
class ExactCountIn:
    where: str

    def fit(self, population, progress=None):
        count = len(held(population))
        asked = asked_counts(population)
        if self.where == "spend":
            asked = replace(asked, name=f"counts of {count} ratings")
        arrays = {"counts": population.sum(asked)}
        release = dc.Release.of(self, population, arrays)
        if self.where == "string":  # past Release.of, which refuses arrays of strings
            return replace(release, arrays=arrays | {"about": np.array(["made of", f"{count} ratings"])})
        if self.where == "note":
            return replace(release, note=f"Made of {count} ratings, and {arrays['counts'].sum():.1f} with noise.")
        if self.where == "catalogue":
            titles = np.array([f"{title} ({count})" for title in release.catalogue.titles])
            return replace(release, catalogue=replace(release.catalogue, titles=titles))
        return release


@dataclass(frozen=True)
class Also:
    """Noisy counts, and what a function makes of the ratings."""

    what: Callable[[dc.Ratings], np.ndarray]

    def fit(self, population, progress=None):
        arrays = {"counts": population.sum(asked_counts(population))}
        release = dc.Release.of(self, population, arrays)  # which refuses some of what is added here
        return replace(release, arrays=arrays | {"also": self.what(held(population))})


def one_zero_for_each_user(ratings):
    return np.zeros(ratings.n_users)


def type_tells(ratings):
    return np.zeros(3, dtype=np.float32 if len(ratings) % 2 else np.float64)


def exact_maximum(ratings):
    return np.array([np.bincount(ratings.item_index).max()])


def ratings_of_the_last_user(ratings):
    return np.array([len(ratings) - ratings.indptr[-2]])


def items_by_popularity(ratings):
    order = np.argsort(np.bincount(ratings.item_index, minlength=20), kind="stable")
    return np.asarray(ratings.catalogue.items.names)[order]


def not_a_number_where_odd(ratings):
    return np.where(np.bincount(ratings.item_index, minlength=20) % 2, np.nan, 0.0)


@dataclass(frozen=True)
class AsksForNothing:
    """Nothing is booked, and the exact counts are released."""

    def fit(self, population, progress=None):
        counts = np.bincount(held(population).item_index, minlength=len(population.catalogue))
        return replace(
            dc.Release.of(self, population, {}), arrays={"counts": counts}, guarantee=dc.Guarantee.none("no")
        )


@dataclass(frozen=True)
class LowOrderBits:
    """The exact count stands in the digits that nobody reads."""

    def fit(self, population, progress=None):
        noisy = np.round(population.sum(asked_counts(population)), 6)
        exact = np.bincount(held(population).item_index, minlength=len(noisy))
        return dc.Release.of(self, population, {"counts": noisy + exact * 1e-9})


@dataclass(frozen=True, eq=False)
class Bug:
    name: str
    unit: str
    model: Any
    kind: Any = SERVER
    ratings: dc.Ratings = RATINGS
    only_by_replay: bool = False

    def audit(self, **options: Any) -> dc.audit.Audit:
        def make(ratings: dc.Ratings, ledger: dc.Ledger, noise: dc.Randomness) -> Any:
            return self.kind(ratings, ledger, randomness=noise)

        terms = RATING if self.unit == "rating" else USER
        return dc.audit.audit_by_runs(self.model, self.ratings, terms, make_population=make, **options)


BUGS = [
    Bug("weights wrong for ratings of 3, in the statistic", "rating", Asks(threes_weigh_too_much)),
    Bug("weights wrong for ratings of 3, in the population", "rating", Counts(), ThreesCountTwice),
    Bug("a cap that the statistic assumes", "user", Asks(assumes_a_cap)),
    Bug("a cap that the population does not enforce", "user", Asks(plain_counts), ForgetsTheCap),
    Bug("the noise stream restarted for each sum", "rating", TwoLooks(), RestartsTheStream),
    Bug("an exact count in the note", "rating", ExactCountIn("note")),
    Bug("an exact count in an array of strings", "rating", ExactCountIn("string")),
    Bug("an exact count in a spend's name", "rating", ExactCountIn("spend")),
    Bug("an exact count in a column of the catalogue", "rating", ExactCountIn("catalogue")),
    Bug("composition by max, Gaussian noise", "user", WholeBudgetTwice(), ByMaximum),
    Bug("two Gaussian sums charged as halves of one", "user", WholeBudgetTwice(), BooksLess),
    Bug("a third of the items without noise", "rating", Counts(), ThirdWithoutNoise),
    Bug("a third of the items without noise", "user", Counts(), ThirdWithoutNoise),
    Bug("a split by row number, in the population", "rating", Counts(), SplitByRowNumber),
    Bug("a split by row number, in the statistic", "rating", Asks(every_fifth_row_left_out)),
    Bug("positional user names", "user", Counts(), PositionalNames, MANY),
    Bug("sensitivity in the wrong norm", "rating", Asks(wrong_norm)),
    Bug("a clip after the sum", "rating", Asks(clipped_after_the_sum)),
    Bug("centred by the mean of all ratings", "rating", Asks(centred_by_everyone)),
    Bug("noise whose scale depends on the data", "rating", Counts(), NoiseThatDependsOnTheData),
    Bug("noise seeded by the data", "rating", Counts(), NoiseSeededByTheData),
    Bug("noise left out in one fit of forty", "rating", Counts(), NoiseLeftOutAtTimes),
    Bug("one noise for all cells", "rating", Counts(), OneNoiseForAllCells),
    Bug("noise that keeps even counts even", "rating", Counts(), EvenNoise),
    Bug("noise cut off at three scales", "rating", Counts(), NoiseThatIsCutOff),
    Bug("an array with an entry for each user", "user", Also(one_zero_for_each_user)),
    Bug("a type that depends on the data", "rating", Also(type_tells)),
    Bug("an exact maximum", "rating", Also(exact_maximum)),
    Bug("the last user's number of ratings", "rating", Also(ratings_of_the_last_user)),
    Bug("items sorted by their exact counts", "rating", Also(items_by_popularity)),
    Bug("NaN where a count is odd", "rating", Also(not_a_number_where_odd)),
    Bug("exact counts, and nothing in the ledger", "rating", AsksForNothing()),
    Bug("exact counts in the digits that nobody reads", "rating", LowOrderBits(), only_by_replay=True),
]
