"""Mechanisms that are broken on purpose, as a hostile reviewer would. ``benchmarks/audits.py`` prints them."""

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.models.sums.item_statistics import item_counts
from discreet.populations.around import innermost
from discreet.populations.held import held_by
from discreet.populations.population import exact_total
from discreet.populations.some import sampled_users, some_users
from discreet.populations.steps import StepSums

_spec = spec_from_file_location("step_model", Path(__file__).parent.parent / "populations" / "step_model.py")
step_model = sys.modules["step_model"] = module_from_spec(_spec)
_spec.loader.exec_module(step_model)

DESCENT = step_model.Descent(count=6, sampling_rate=0.3)
RATINGS = dc.synthetic(users=40, items=20, ratings=400, seed=1)
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


def weighed(by):
    """Counts, in which each rating has the weight that ``by`` gives its user, from the user's items."""

    def statistic(size, unit):
        def total(ratings):
            owned = np.split(ratings.item_index, ratings.indptr[1:-1])
            weights = np.array([by(set(own.tolist())) for own in owned], dtype=np.float64)
            return np.bincount(ratings.item_index, weights=weights[ratings.user_index], minlength=size)

        return dc.Contribution("counts", (size,), total, BOUNDS)

    return statistic


def weighed_by_name(odd):
    """Counts, in which the ratings of whoever has an odd name weigh twice."""

    def statistic(size, unit):
        def total(ratings):
            weights = np.array([1.0 + odd(name) for name in ratings.users.names.tolist()])
            return np.bincount(ratings.item_index, weights=weights[ratings.user_index], minlength=size)

        return dc.Contribution("counts", (size,), total, BOUNDS)

    return statistic


def in_a_quarter(name):
    return hashlib.md5(name.encode()).digest()[0] % 4 == 0


def clipped_for_each_rating(size, unit):
    """Every rating is clipped to 1, and a user is said to be."""

    def total(ratings):
        values = np.clip(ratings.values - 3.0, -1, 1)
        return np.bincount(ratings.item_index, weights=values, minlength=size)

    return dc.Contribution("ratings", (size,), total, (dc.Bound("user", "l2", 1.0),))


# ── Populations that do not do what they say ──


class TwoRatingsCountTwice(SERVER):
    """Whoever has two ratings is added again behind the statistic's back, twice."""

    def _noisy(self, contribution, ratings, calibrated):
        two = np.diff(ratings.indptr) == 2
        return super()._noisy(contribution, ratings, calibrated) + 2 * exact_total(
            contribution, ratings.select(two[ratings.user_index])
        )


class AQuarterOfTheNamesCountsTwice(SERVER):
    def _noisy(self, contribution, ratings, calibrated):
        odd = np.array([in_a_quarter(name) for name in ratings.users.names.tolist()], dtype=bool)
        again = exact_total(contribution, ratings.select(odd[ratings.user_index]))
        return super()._noisy(contribution, ratings, calibrated) + again


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


# ── Steps over samples that are not what they should be ──


class Sampling(SERVER):
    """Right: whoever breaks it says who is in a step, or how it is answered."""

    def steps(self, steps, share=1.0):
        self.noise, self.number = self._charged_steps(steps, share), -1

        def answer(contribution):
            self.number += 1
            chosen = self.chosen(held_by(self).n_users, steps)
            return self.answered(contribution, some_users(held_by(self), chosen), int(chosen.sum()))

        return StepSums(steps, self.noise.deviation, answer)

    def chosen(self, users, steps):
        return sampled_users(held_by(self), steps.sampling_rate, self._randomness)

    def answered(self, contribution, ratings, size):
        return self._noisy(contribution, ratings, self.noise)

    def order(self, users):
        return np.random.default_rng(int(self._randomness.words(1)[0])).permutation(users)


class OneSample(Sampling):
    """Drawn once, and used in every step."""

    def chosen(self, users, steps):
        if self.number == 0:
            self.kept = super().chosen(users, steps)
        return self.kept


class TwoSamplesInTurn(Sampling):
    def chosen(self, users, steps):
        if self.number == 0:
            self.kept = [super(TwoSamplesInTurn, self).chosen(users, steps) for _ in range(2)]
        return self.kept[self.number % 2]


class LastSampleIsTheFirst(Sampling):
    def chosen(self, users, steps):
        drawn = super().chosen(users, steps)
        if self.number == 0:
            self.kept = drawn
        return self.kept if self.number == steps.count - 1 else drawn


class ShortHistoriesKeepTheirCoin(Sampling):
    """Whoever has one rating is in all steps or in none; the others are sampled anew."""

    def chosen(self, users, steps):
        drawn = super().chosen(users, steps)
        if self.number == 0:
            self.kept = drawn
        return np.where(np.diff(held_by(self).indptr) == 1, self.kept, drawn)


class SampleByName(Sampling):
    """Another one in every step; but anybody can compute whose names are in it."""

    def chosen(self, users, steps):
        names = held_by(self).users.names.tolist()
        digests = [hashlib.sha256(f"{name} {self.number}".encode()).digest()[:4] for name in names]
        return np.array([int.from_bytes(digest) < steps.sampling_rate * 2**32 for digest in digests])


class SampleOfFixedSize(Sampling):
    def chosen(self, users, steps):
        return self.order(users) < round(steps.sampling_rate * users)


class Batches(Sampling):
    """Users are shuffled and dealt out, as is the custom without privacy."""

    def chosen(self, users, steps):
        turns = round(1 / steps.sampling_rate)
        if self.number % turns == 0:
            self.shuffled = self.order(users)
        return self.shuffled % turns == self.number % turns


class LargerSample(Sampling):
    def chosen(self, users, steps):
        return sampled_users(held_by(self), min(1.0, 1.3 * steps.sampling_rate), self._randomness)


class ShortHistoriesAlwaysIn(Sampling):
    def chosen(self, users, steps):
        return super().chosen(users, steps) | (np.diff(held_by(self).indptr) == 1)


class DividedBySampleSize(Sampling):
    """A mean over the sample, whose exact size is divided by."""

    def answered(self, contribution, ratings, size):
        return super().answered(contribution, ratings, size) / max(size, 1)


class ScaledToTheExpectedSize(Sampling):
    """As large as if the sample had its expected size; the noise is as it should be."""

    def answered(self, contribution, ratings, size):
        total = exact_total(contribution, ratings) * (0.3 * held_by(self).n_users / max(size, 1))
        return self.noise.add_noise(total, self._randomness)


class OneNoiseForAllSteps(Sampling):
    def answered(self, contribution, ratings, size):
        if self.number == 0:
            self.kept = self.noise.add_noise(np.zeros(contribution.shape), self._randomness)
        return exact_total(contribution, ratings) + self.kept


class NoiseDividedAmongSteps(Sampling):
    """The noise of all steps together is what one of them needs."""

    def answered(self, contribution, ratings, size):
        spend = self.noise.spend
        weak = replace(self.noise, spend=replace(spend, scale=spend.scale / spend.times**0.5))
        return self._noisy(contribution, ratings, weak)


class NoiseForTheSampleAlone(Sampling):
    """Sampling is counted twice: in the ledger, and here."""

    def answered(self, contribution, ratings, size):
        spend = self.noise.spend
        weak = replace(self.noise, spend=replace(spend, scale=spend.scale * spend.sampling_rate))
        return self._noisy(contribution, ratings, weak)


class BooksOneStep(Sampling):
    def _charged_steps(self, steps, share):
        noise = self.calibrate(replace(steps, count=1), share)
        self._pay(noise.spend, steps.shape)
        return noise


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


def number_of_users(ratings):
    return np.array([ratings.n_users])


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
    Bug("positional user names", "user", Counts(), PositionalNames),
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
    Bug("the exact number of users", "user", Also(number_of_users)),
    Bug("a bound that breaks at the second rating", "rating", Asks(weighed(lambda own: 2 if len(own) == 2 else 1))),
    Bug("a bound that breaks at the third rating", "rating", Asks(weighed(lambda own: 2 if len(own) == 3 else 1))),
    Bug("a bound that breaks at the sixth rating", "rating", Asks(weighed(lambda own: 2 if len(own) == 6 else 1))),
    Bug(
        "a bound that breaks for few ratings with a certain item",
        "rating",
        Asks(weighed(lambda own: 2 if len(own) < 4 and 7 in own else 1)),
    ),
    Bug("a bound that breaks at the second rating, in the population", "rating", Counts(), TwoRatingsCountTwice),
    Bug("a bound that breaks for a quarter of the names", "rating", Asks(weighed_by_name(in_a_quarter))),
    Bug("a bound that breaks for long names", "rating", Asks(weighed_by_name(lambda name: len(name) > 20))),
    Bug("a bound that breaks for names that are not ASCII", "rating", Asks(weighed_by_name(lambda n: not n.isascii()))),
    Bug("a quarter of the names counts twice, in the population", "rating", Counts(), AQuarterOfTheNamesCountsTwice),
    Bug("clipped for each rating, not for each user", "user", Asks(clipped_for_each_rating)),
    Bug("one sample for all steps", "user", DESCENT, OneSample),
    Bug("two samples in turn", "user", DESCENT, TwoSamplesInTurn),
    Bug("the first sample again in the last step", "user", DESCENT, LastSampleIsTheFirst),
    Bug("users with one rating in all samples or in none", "user", DESCENT, ShortHistoriesKeepTheirCoin),
    Bug("a sample by names", "user", DESCENT, SampleByName),
    Bug("a sample of fixed size", "user", DESCENT, SampleOfFixedSize),
    Bug("shuffled batches", "user", DESCENT, Batches),
    Bug("a larger sample than was booked", "user", DESCENT, LargerSample),
    Bug("users with one rating in every sample", "user", DESCENT, ShortHistoriesAlwaysIn),
    Bug("steps divided by the size of the sample", "user", DESCENT, DividedBySampleSize),
    Bug("steps scaled to the expected size of the sample", "user", DESCENT, ScaledToTheExpectedSize),
    Bug("one noise for all steps", "user", DESCENT, OneNoiseForAllSteps),
    Bug("noise divided among the steps", "user", DESCENT, NoiseDividedAmongSteps),
    Bug("noise made for the sample, and amplified again", "user", DESCENT, NoiseForTheSampleAlone),
    Bug("one step booked of many", "user", DESCENT, BooksOneStep),
    Bug("exact counts in the digits that nobody reads", "rating", LowOrderBits(), only_by_replay=True),
]
