"""Ratings that nobody gave, made to look like those of a film site.

An item has genres, a year, a popularity that falls with its rank as a power, a bias (popular items are a
little better liked) and a factor vector, of which a share is common to its genres. A user has an activity
(how many ratings, heavy-tailed), a bias, a factor vector p_u (what the user likes) and one of interests s_u
(what the user looks at), which agree in part. Then, in order,

    odds that user u picks item i      popularity_i · σ(s_u·q_i − reserve), without repetition
    opinion of user u on item i        b_u + b_i + p_u·q_i + noise
    rating                             the opinion cut at quantiles, so that the values are as frequent as
                                       they are in MovieLens (6, 11, 27, 34 and 21 % from lowest to highest)

Everything follows from the seed alone, however many threads work. Users are drawn a block at a time straight into the
columns, so a hundred million ratings need little more memory than the columns themselves (1.6 GB).
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.handling import Handling
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.doors import checked
from discreet.errors import InputError, require, require_seed
from discreet.looks import Looks
from discreet.strings import Strings
from discreet.types import AnyArray, Booleans, Doubles, Floats, Offsets, Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class _Making:
    """How choices and opinions are made up; deviations are in units of all of an opinion's, about 1.

    ``popular_is_liked`` is the correlation of an item's bias with the logarithm of its popularity, ``genre_share`` the
    share of the variance of item factors that is common to a genre, ``reserve`` how much interest it takes before an
    item is likely to be picked, ``interest_is_taste`` the correlation of what users look at with what they like. The
    powers say how fast factors become weaker: those of items, of tastes and of interests. ``head`` is how many items at
    most are about equally popular.
    """

    user_bias: float = 0.36
    item_bias: float = 0.36
    taste: float = 0.62
    noise: float = 0.76
    popular_is_liked: float = 0.5
    genre_share: float = 0.4
    interest: float = 4.0
    reserve: float = 4.0
    interest_is_taste: float = 0.3
    factors: int = 12
    item_power: float = 0.7
    taste_power: float = 0.7
    interest_power: float = 0.7
    popularity_power: float = 1.0
    head: float = math.inf
    activity_power: float = 0.9


_PLAIN = _Making()
"""At the default size the bias model has the error it has on MovieLens 100K (.94)."""
_MOVIELENS = _Making(
    user_bias=0.47, item_bias=0.5, taste=0.6, noise=0.7, genre_share=0.3, interest=3.7, interest_is_taste=0.35,
    factors=40, item_power=0.15, taste_power=0.35, interest_power=0.3, popularity_power=1.4, head=75,
    activity_power=1.15,
)  # fmt: skip
"""Chosen so that a set of the size of MovieLens 1M has its errors of averages, features and factors, its NDCG of
popularity and of EASE, and its eigenvalues, of residuals and of who rates what: `benchmarks/almanac.py
--check-synthetic` prints both. The head stays as large in larger catalogues, where a few items are rated by a large
part of the users too."""
MOVIELENS_CUMULATIVE = (0.0, 0.061, 0.175, 0.446, 0.788, 1.0)
"""Share of the ratings of MovieLens 100K up to each fifth of the scale."""

GENRES = {  # and how often each is drawn
    "Drama": 7.0,
    "Comedy": 5.0,
    "Action": 2.5,
    "Thriller": 2.5,
    "Romance": 2.5,
    "Adventure": 1.4,
    "Family": 1.2,
    "Crime": 1.1,
    "Science Fiction": 1.0,
    "Horror": 0.9,
    "War": 0.7,
    "Mystery": 0.6,
    "Musical": 0.6,
    "Documentary": 0.5,
    "Animation": 0.4,
    "Western": 0.3,
    "Fantasy": 0.3,
    "Noir": 0.25,
}

_FIRST = (  # noqa: SIM905 (a list of words reads better in lines)
    "Quiet Broken Golden Silent Distant Crimson Hidden Frozen Burning Lost Gentle Hollow Endless Midnight Paper "
    "Silver Wild Last Empty Velvet Restless Northern Painted Secret Bitter Drifting Forgotten Electric Narrow Blind "
    "Second Borrowed Crooked Tender Iron Little Scarlet Sleeping Stolen Summer Winter Wandering Invisible Perfect "
    "Reckless Savage Shallow Simple Thirsty Twisted Unlikely Vanishing Weary Yellow Amber Brave Careless Dancing"
).split()
_SECOND = (  # noqa: SIM905
    "Harbour River Garden Witness Letter Mountain Stranger Orchard Mirror Promise Station Carnival Island Shadow "
    "Lantern Voyage Window Kingdom Sparrow Bridge Detective Summer Highway Tide Violin Lighthouse Circus Desert "
    "Waltz Village Reunion Photograph Valley Neighbour Sailor Theatre Machine Prairie Duchess Echo Ferry Gambler "
    "Honeymoon Inheritance Jury Kitchen Labyrinth Meadow Notebook Ocean Pianist Quarry Rendezvous Signal Teacher "
    "Umbrella Verdict Whistle Yard Zeppelin Ambush Boulevard Cathedral Daughter"
).split()
_PATTERNS = ("{0} {1}", "The {0} {1}", "A {0} {1}", "My {0} {1}", "{0} {1} at Dawn", "Return to {0} {1}")
BLOCK = 4096  # users that are drawn together
_FIRST_YEAR, _LAST_YEAR = 1931, 2000
_SITE_OPENED, _SITE_SPAN = 874_000_000, 200 * 86_400  # seconds: ratings fall into some 200 days from late 1997


@checked
def synthetic(
    *,
    users: int = 1_000,
    items: int = 1_700,
    ratings: int = 100_000,
    seed: int = 1,
    factors: int | None = None,
    scale: Scale = Scale(1, 5),  # noqa: B008  (immutable)
    step: float = 1.0,
    popularity_power: float | None = None,
    activity_power: float | None = None,
    like: Literal["movielens"] | None = None,
    progress: Progress = no_progress,
) -> Ratings:
    """Generate ratings that look like MovieLens; the same arguments always give the same ratings.

    Parameters
    ----------
    users, items, ratings
        How many of each. Every user has at least 10 ratings where there are enough to go round.
    seed
        Decides everything that is random.
    factors
        Length of the factor vectors that tastes are made of; 12, or 40 like MovieLens.
    scale, step
        The rating scale and the distance between neighbouring ratings, for example ``Scale(0.5, 5)`` and 0.5.
    popularity_power
        How steeply popularity falls with rank; 0 makes all items equally popular. 1, or 1.4 like MovieLens.
    activity_power
        Spread of the logarithm of the users' activity; 0 gives all users the same number of ratings. 0.9, or 1.15.
    like
        None for a few strong factors, or ``"movielens"`` for many weak ones, so that what averages, features, factors
        and popularity achieve, and by how much each improves on the other, is what they do on MovieLens 1M.
    progress
        Called with the number of users done.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> ratings
    Ratings(5,000 ratings, 200 users, 100 items, scale 1 to 5)
    >>> sorted(set(ratings.values.tolist()))
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    require(like in (None, "movielens"), f"like must be 'movielens' or left out, got {like!r}")
    making = _PLAIN if like is None else _MOVIELENS
    factors = making.factors if factors is None else factors
    popularity_power = making.popularity_power if popularity_power is None else popularity_power
    activity_power = making.activity_power if activity_power is None else activity_power
    for name, count in (("users", users), ("items", items), ("ratings", ratings), ("factors", factors)):
        require(count >= 1, f"{name} must be at least 1, got {count}")
    require(popularity_power >= 0, f"popularity_power must not be negative, got {popularity_power}")
    require(activity_power >= 0, f"activity_power must not be negative, got {activity_power}")
    if ratings > users * items:
        raise InputError(f"{users} users and {items} items have {users * items} pairs, too few for {ratings} ratings")
    levels = _levels(scale, step)
    require_seed(seed)
    rng = np.random.default_rng(seed)
    popularity = _popularity(items, popularity_power, making.head, rng)
    item_genres, years = _genres_and_years(items, rng)
    rank = np.arange(1, factors + 1, dtype=np.float64)
    item_factors = _item_factors(item_genres, rank**-making.item_power, making.genre_share, rng)
    likes, other = rng.standard_normal((2, users, factors))
    agree = making.interest_is_taste
    looks = agree * likes + (1 - agree**2) ** 0.5 * other
    user_factors = _with_deviation(likes * rank**-making.taste_power, item_factors, making.taste)
    interests = _with_deviation(looks * rank**-making.interest_power, item_factors, making.interest)
    del likes, other, looks
    liked = np.log(popularity)
    liked = (liked - liked.mean()) / max(liked.std(), 1e-9)
    rho = making.popular_is_liked
    item_bias = making.item_bias * (rho * liked + (1 - rho**2) ** 0.5 * rng.standard_normal(items))
    user_bias = making.user_bias * rng.standard_normal(users)
    indptr = np.concatenate([[0], np.cumsum(_activity(users, items, ratings, activity_power, rng))]).astype(np.int64)
    start = (_SITE_OPENED + rng.random(users) * _SITE_SPAN).astype(np.int64)
    catalogue = Catalogue(
        items=Labels(Strings.of(map(str, range(1, items + 1))), what="item"),
        scale=scale,
        titles=_titles(years, rng),
        genres=tuple(GENRES),
        item_genres=item_genres,
        years=years,
        declared=True,
    )
    columns = _draw(
        indptr,
        popularity,
        interests,
        user_factors,
        item_factors,
        user_bias.astype(np.float32),
        item_bias.astype(np.float32),
        start,
        making,
        int(rng.integers(2**63)),
        progress,
    )
    user_index, item_index, opinions, times = columns
    _cut(opinions, levels)
    names = Labels(Strings.of(map(str, range(1, users + 1))), what="user")
    return Ratings(
        catalogue,
        names,
        user_index,
        item_index,
        opinions,
        times,
        handling=Handling(users_listed=True),
        looks=Looks(apart=True),
    )


def _levels(scale: Scale, step: float) -> Floats:
    """The ratings that can be given."""
    require(step > 0, f"step must be positive, got {step}")
    count = round(scale.width / step)
    require(
        count >= 1 and abs(count * step - scale.width) < 1e-6,
        f"step must divide the rating scale {scale} into equal parts, got {step}",
    )
    return np.linspace(scale.low, scale.high, count + 1).astype(np.float32)


def _popularity(items: int, power: float, head: float, rng: np.random.Generator) -> Doubles:
    """Odds of being picked: (rank + 2 % of the items)^-power, falling faster in the tail, in random order."""
    rank = rng.permutation(items) + 1.0
    odds = (rank + min(0.02 * items, head)) ** -power * np.exp(-2.5 * power * rank / items)
    return np.asarray(odds / odds.sum(), dtype=np.float64)


def _activity(users: int, items: int, ratings: int, power: float, rng: np.random.Generator) -> Offsets:
    """Ratings of each user: a floor for all, the rest in log-normal shares, none above the number of items."""
    floor = min(10, ratings // users, items)
    shares = np.exp(power * rng.standard_normal(users))
    counts = np.full(users, floor, dtype=np.int64)
    # No one goes beyond a third of the catalogue unless the numbers asked for leave no other way.
    for most in (max(floor, items // 3), items):
        while (left := ratings - counts.sum()) > 0 and (counts < most).any():
            odds = np.where(counts < most, shares, 0.0)
            extra = np.minimum(np.floor(left * odds / odds.sum()).astype(np.int64), most - counts)
            if not extra.any():
                extra[np.argsort(-odds, kind="stable")[: min(left, np.count_nonzero(odds))]] = 1
            counts += extra
    return counts


def _genres_and_years(items: int, rng: np.random.Generator) -> tuple[Booleans, AnyArray]:
    """One to three genres an item, years that crowd towards the end."""
    odds = np.array(list(GENRES.values()))
    keys = rng.exponential(size=(items, len(odds))) / odds
    rank = keys.argsort(axis=1).argsort(axis=1)
    many = rng.choice([1, 2, 3], p=[0.5, 0.34, 0.16], size=items)
    years = _LAST_YEAR - (_LAST_YEAR - _FIRST_YEAR) * rng.beta(0.6, 3.0, size=items)
    return rank < many[:, None], years.astype(np.int16)


def _item_factors(item_genres: Booleans, spectrum: Doubles, genre_share: float, rng: np.random.Generator) -> Floats:
    """Part from the genres, part an item's own; the later factors are weaker."""
    of_genre = rng.standard_normal((item_genres.shape[1], len(spectrum)))
    common = item_genres @ of_genre / np.sqrt(item_genres.sum(axis=1))[:, None]
    own = rng.standard_normal((len(item_genres), len(spectrum)))
    mixed = np.sqrt(genre_share) * common + np.sqrt(1 - genre_share) * own
    return np.asarray(mixed * spectrum, dtype=np.float32)


def _with_deviation(user_factors: Doubles, item_factors: Floats, deviation: float) -> Floats:
    """Rescale the users' vectors: p·q over random pairs shall have this standard deviation, √ Σ_ab C_ab D_ab."""
    second = [factors.T @ factors / len(factors) for factors in (user_factors, item_factors)]
    present = np.sqrt((second[0] * second[1]).sum())
    return np.asarray(user_factors * (deviation / present), dtype=np.float32)


def _titles(years: AnyArray, rng: np.random.Generator) -> Strings:
    """Invented titles, no two alike: 'Quiet Harbour (1987)'."""
    choices = len(_PATTERNS) * len(_FIRST) * len(_SECOND)
    rounds, titles = -(-len(years) // choices), []
    # The plain pattern comes first, so that small catalogues have short titles.
    plain = len(_FIRST) * len(_SECOND)
    order = np.concatenate([plain * turn + rng.permutation(plain) for turn in range(len(_PATTERNS))])
    for position, year in enumerate(years.tolist()):
        pattern, word = divmod(int(order[position % choices]), plain)
        title = _PATTERNS[pattern].format(_FIRST[word // len(_SECOND)], _SECOND[word % len(_SECOND)])
        part = f", Part {position // choices + 1}" if rounds > 1 and position >= choices else ""
        titles.append(f"{title}{part} ({year})")
    return Strings.of(titles)


def _draw(
    indptr: Offsets,
    popularity: Doubles,
    interests: Floats,
    user_factors: Floats,
    item_factors: Floats,
    user_bias: Floats,
    item_bias: Floats,
    start: Offsets,
    making: _Making,
    key: int,
    progress: Progress,
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """All columns, drawn in blocks of users by several threads."""
    from discreet.kernels.synthetic import draw_users  # here, so that reading files never waits for numba

    size, users = int(indptr[-1]), len(indptr) - 1
    user_index, item_index = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    opinions, times = np.empty(size, dtype=np.float32), np.empty(size, dtype=np.int32)
    cumulative = np.cumsum(popularity)
    block = max(1, min(BLOCK, users // 8))

    def fill(first: int) -> int:
        last = min(first + block, users)
        draw_users(
            first, last, np.uint64(key), indptr, popularity, cumulative, interests, user_factors,
            item_factors, user_bias, item_bias, making.reserve, making.noise, start, 60.0,
            user_index, item_index, opinions, times,
        )  # fmt: skip
        return last

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for last in threads.map(fill, range(0, users, block)):
            progress(last, users, "drawing users")
    return user_index, item_index, opinions, times


def _cut(opinions: Floats, levels: Floats) -> None:
    """Turn opinions into ratings, in place: cut at quantiles, those of a sample when there are many."""
    wanted = np.interp(
        np.arange(1, len(levels)) / len(levels), np.linspace(0, 1, len(MOVIELENS_CUMULATIVE)), MOVIELENS_CUMULATIVE
    )
    sample = opinions[:: max(1, len(opinions) // 1_000_000)]
    thresholds = np.quantile(sample, wanted).astype(np.float32)
    for first in range(0, len(opinions), 1_000_000):
        part = opinions[first : first + 1_000_000]
        part[:] = levels[np.searchsorted(thresholds, part)]
