"""The whole way in one go, from ratings to what privacy costs, and to private recommendations: ``discreet demo``."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from discreet.data import loading, synthetic
from discreet.data.datasets import SYNTHETIC
from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.evaluation.comparison import compare
from discreet.evaluation.protocols import HoldOut
from discreet.evaluation.results import Results
from discreet.fitting.audience import audience_of, takes_audience
from discreet.fitting.fit_on import fit_on
from discreet.names import find_kind
from discreet.pages.data_charts import popularity_chart, values_chart
from discreet.pages.page import Facts, Pictures, Section, Suggestions, Table, Text, write_page
from discreet.pages.privacy_charts import privacy_chart
from discreet.pages.sweeps import sweep_sections
from discreet.pages.words import MEASURED, SHOWN
from discreet.populations.terms import Terms
from discreet.releases.recommendations import best_items
from discreet.releases.release import HERE, Recommendations, Release
from discreet.releases.storage import read_card
from discreet.types import Progress

MODELS = ("almanac", "bias", "popularity", "own-taste", "cosine", "implicit-als")
EPSILONS = (0.1, 1.0, 10.0)  # for everything that one user rated
RECOMMENDING, EPSILON = "almanac", 1.0
METRICS = ("rmse", "mae", "ndcg@100")
NOTE = "Made by discreet demo from public ratings, and not booked on any budget"
FEWEST, MOST, K = 20, 40, 10  # ratings of the user who is shown, few enough to name single ones; how many suggestions


@dataclass(frozen=True, kw_only=True)
class Demo:
    """What was found; ``history`` is of the one user who gets ``suggestions``."""

    data: str
    ratings: Ratings
    results: Results
    release: Release
    history: History
    suggestions: Recommendations

    @property
    def liked(self) -> list[str]:
        """The titles that the user rated, best first."""
        best_first = (-self.history.values).argsort(kind="stable")
        return [str(title) for title in self.ratings.catalogue.titles[self.history.items[best_first]]]

    @property
    def user(self) -> str:
        """Who is shown, and why this user: it is an example, and not the average."""
        return (
            f"A user who rated {len(self.history)} items and liked {', '.join(self.liked[:3])}: of those with {FEWEST} "
            f"to {MOST} ratings, the one whose suggestions are least like the others'"
        )

    def write(self, folder: Path) -> Path:
        """The release, a page with everything and pictures of the data, and the page's first picture as a file too."""
        self.release.save(folder / "release", replace=True)  # whose it is was checked before
        page = folder / "page.html"
        write_page(
            page,
            title=f"Private recommendations from {self.data}",
            lead=f"{len(MODELS)} models learned from four fifths of the ratings and were measured on the rest: with "
            "privacy for everything that a user rated, and without.",
            sections=self._sections(),
        )
        if (chart := privacy_chart(self.results)).drawn:
            chart.save(folder / "privacy.png")
        return page

    def _sections(self) -> list[Section]:
        ratings, rmse = self.ratings, self.results.at(EPSILON)[RECOMMENDING]["rmse"]
        picture, *grids = sweep_sections(self.results)
        return [
            Facts(
                facts={
                    "ratings": f"{len(ratings):,}",
                    "users": f"{ratings.n_users:,}",
                    "items": f"{ratings.n_items:,}",
                    f"RMSE of {RECOMMENDING}, epsilon {EPSILON:g}": f"{rmse:.3f}",
                }
            ),
            picture,
            Suggestions(
                recommendations=self.suggestions,
                history=self.history,
                text=f"{self.user}. By {RECOMMENDING} with epsilon {EPSILON:g}. Under each title: the user's own "
                "ratings that carried it. They are read at home, and the release holds nothing about any user.",
            ),
            Text(title="What is promised to every user", note=f"{self.release.guarantee} {MEASURED} {SHOWN}"),
            Pictures(title="What the ratings are like", pictures=[popularity_chart(ratings), values_chart(ratings)]),
            *grids,
            Table(results=self.results),
            Text(title="Do it again", code="discreet demo"),
        ]


def run_demo(progress: Progress, say: Callable[[str], None]) -> Demo:
    """Compare models with and without privacy, fit one, and recommend to one user; ``say`` is told what goes on."""
    data, known_as, ratings = _public_ratings(progress, say)
    users = audience_of(known_as, None).users
    kinds = {name: find_kind(name) for name in MODELS}
    models = {name: kind(audience=users) if takes_audience(kind) else kind() for name, kind in kinds.items()}
    numbers = ", ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    say(f"Comparing {len(models)} models with epsilon {numbers} and without privacy (the first run compiles them) …")
    terms = [*(Terms(epsilon=epsilon, unit="user") for epsilon in EPSILONS), Terms()]
    split = HoldOut(test=0.2, seed=1)
    results = compare(models, ratings, split, terms=terms, data=data, progress=progress, metrics=METRICS)
    say(f"Fitting {RECOMMENDING} on all ratings, with epsilon {EPSILON:g} for every user …")
    release = fit_on(models[RECOMMENDING], ratings, Terms(epsilon=EPSILON, unit="user"), progress)
    history = ratings.history_at(user_of_own_taste(release, ratings))
    return Demo(
        data=data,
        ratings=ratings,
        results=results,
        release=replace(release, note=NOTE, made=HERE),
        history=history,
        suggestions=release.recommend(history, K, explain=True),
    )


def user_of_own_taste(release: Release, ratings: Ratings) -> int:
    """Of the users with few ratings, the one whose suggestions are least often suggested to the others.

    It counts suggestions for everybody, so it is for public ratings alone.
    """
    counts = np.diff(ratings.indptr)
    few = np.flatnonzero((counts >= FEWEST) & (counts <= MOST))
    if len(few) == 0:
        few = np.array([abs(counts - MOST).argmin()])
    part = ratings.select_users(few)
    best = best_items(release.scores(part), [part], K)
    often = np.bincount(best[best >= 0], minlength=ratings.n_items)
    return int(few[np.where(best >= 0, often[best], 0).sum(axis=1).argmin()])


def is_of_a_demo(folder: Path) -> bool:
    """Whether an earlier demo wrote this release: its ratings are public and nobody paid, so it can be replaced."""
    try:
        return bool(read_card(folder).get("note") == NOTE)
    except DiscreetError:
        return False


def _public_ratings(progress: Progress, say: Callable[[str], None]) -> tuple[str, str, Ratings]:
    """MovieLens-100K, or ratings that nobody gave where it cannot be had; and the name of the data set."""
    say("Getting MovieLens-100K …")
    try:
        return "MovieLens-100K", "ml-100k", loading.load("ml-100k", progress=progress)
    except DiscreetError as error:  # no network, no place to keep it, a damaged file: the demo goes on all the same
        say(f"{error}.")
        say("Using the built-in synthetic ratings instead.")
        return "synthetic ratings", SYNTHETIC, synthetic.synthetic(seed=1)
