"""``discreet demo``: the whole way in one go, from ratings to what privacy costs, and to private recommendations."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Json
from discreet.cli.progress import bar
from discreet.cli.recommending import predicted_ratings, print_suggestions, suggestions_to_json
from discreet.cli.tables import document, note, say
from discreet.errors import DiscreetError
from discreet.fitting.outputs import check_release_folder, check_writable

if TYPE_CHECKING:
    from discreet.data.history import History
    from discreet.data.ratings import Ratings
    from discreet.evaluation.results import Report
    from discreet.releases.release import Recommendations, Release

MODELS = ("almanac", "bias", "popularity", "own-taste", "cosine", "implicit-als")
EPSILONS = (0.1, 1.0, 10.0)  # for everything that one user rated
RECOMMENDING, EPSILON = "almanac", 1.0
METRICS = ("rmse", "mae", "ndcg@100")
NOTE = "Made by discreet demo from public ratings, and not booked on any budget"
HISTORY = 30  # the user who gets recommendations has about this many ratings, so that single ones can be named


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the report and a release.")
    ] = Path("discreet-demo"),
    json: Json = False,
) -> None:
    """Compare models with and without privacy, recommend for one user, say why, and write a report with pictures."""
    check_writable(output)
    check_release_folder(output / "release", replace=is_of_a_demo(output / "release"))
    import numpy as np

    from discreet.cli.audience import audience_of
    from discreet.cli.evaluation import print_report
    from discreet.cli.settings import parse_models
    from discreet.evaluation.comparison import compare
    from discreet.evaluation.protocols import HoldOut
    from discreet.fitting.fit_on import fit_on
    from discreet.populations.terms import Terms

    note("Getting MovieLens-100K …")
    name, known_as, ratings = get_ratings()
    models = parse_models(MODELS, audience=audience_of(known_as, None).users)
    if not json:
        say(f"{name}: {len(ratings):,} ratings of {ratings.n_items:,} items by {ratings.n_users:,} users.")
    numbers = ", ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    note(f"Comparing {len(models)} models with epsilon {numbers} and without privacy (the first run compiles them) …")
    terms = [Terms(epsilon=epsilon, unit="user") for epsilon in EPSILONS]
    with bar() as progress:
        report = compare(
            models,
            ratings,
            HoldOut(test=0.2, seed=1),
            terms=[*terms, Terms()],
            data=name,
            progress=progress,
            metrics=METRICS,
        )
    note(f"Fitting {RECOMMENDING} on all ratings, with epsilon {EPSILON:g} for every user …")
    with bar() as progress:
        release = fit_on(models[RECOMMENDING], ratings, Terms(epsilon=EPSILON, unit="user"), progress)
        release = replace(release, note=NOTE)
    history = ratings.history_at(int(abs(np.diff(ratings.indptr) - HISTORY).argmin()))
    suggestions = release.recommend(history, 10, explain=True)
    note("Drawing the report …")
    release.save(output / "release")
    write_report(output / "report.html", name, ratings, report, release, history, suggestions)
    predicted = predicted_ratings(release, history, suggestions)
    if json:
        document(
            report.to_json()
            | {
                "recommended_by": RECOMMENDING,
                "guarantee": str(release.guarantee),
                "suggestions": suggestions_to_json(suggestions, predicted),
                "page": str(output / "report.html"),
                "release": str(output / "release"),
            }
        )
        return
    say("")
    print_report(report)
    say("")
    liked = [str(ratings.catalogue.titles[item]) for item in history.items[(-history.values).argsort(kind="stable")]]
    say(
        f"For a user who rated {len(history)} items and liked {', '.join(liked[:3])}, {RECOMMENDING} "
        f"with epsilon {EPSILON:g} recommends:"
    )
    print_suggestions(suggestions, predicted)
    say(str(release.guarantee))
    say(f"The report is {(output / 'report.html').absolute()}")
    say(f'Now try: discreet recommend {output / "release"} --likes "{liked[0]}" --explain')


def is_of_a_demo(folder: Path) -> bool:
    """Whether an earlier demo wrote this release: its ratings are public and nobody paid, so it can be replaced."""
    from discreet.releases.storage import read_card

    try:
        return bool(read_card(folder).get("note") == NOTE)
    except DiscreetError:
        return False


def get_ratings() -> tuple[str, str, "Ratings"]:
    """MovieLens-100K, or ratings that nobody gave where it cannot be had; and the name of the data set."""
    from discreet.data.datasets import SYNTHETIC
    from discreet.data.loading import load
    from discreet.data.synthetic import synthetic

    try:
        with bar() as progress:
            return "MovieLens-100K", "ml-100k", load("ml-100k", progress=progress)
    except DiscreetError as error:  # no network, no place to keep it, a damaged file: the demo goes on all the same
        note(f"{error}.")
        note("Using the built-in synthetic ratings instead.")
        return "synthetic ratings", SYNTHETIC, synthetic(seed=1)


def write_report(
    path: Path,
    name: str,
    ratings: "Ratings",
    report: "Report",
    release: "Release",
    history: "History",
    suggestions: "Recommendations",
) -> None:
    """One page with everything that the demo showed and pictures of the data; the report's picture as a file too."""
    from discreet.reports.data_charts import popularity_chart, values_chart
    from discreet.reports.page import Facts, Pictures, Section, Suggestions, Table, Text, write_page
    from discreet.reports.privacy_charts import privacy_chart
    from discreet.reports.sweeps import sweep_sections
    from discreet.reports.words import MEASURED, SHOWN

    picture, *grids = sweep_sections(report)
    sections: list[Section] = [
        Facts(
            facts={
                "ratings": f"{len(ratings):,}",
                "users": f"{ratings.n_users:,}",
                "items": f"{ratings.n_items:,}",
                f"RMSE of {RECOMMENDING}, epsilon {EPSILON:g}": f"{report.at(EPSILON)[RECOMMENDING]['rmse']:.3f}",
            }
        ),
        picture,
        Suggestions(
            recommendations=suggestions,
            history=history,
            text=f"By {RECOMMENDING} with epsilon {EPSILON:g}. Under each title: the user's own ratings that carried "
            "it. They are read at home, and the release holds nothing about any user.",
        ),
        Text(title="What is promised to every user", note=f"{release.guarantee} {MEASURED} {SHOWN}"),
        Pictures(title="What the ratings are like", pictures=[popularity_chart(ratings), values_chart(ratings)]),
        *grids,
        Table(report=report),
        Text(title="Do it again", code="discreet demo"),
    ]
    write_page(
        path,
        title=f"Private recommendations from {name}",
        lead=f"{len(MODELS)} models learned from four fifths of the ratings and were measured on the rest: with "
        "privacy for everything that a user rated, and without.",
        sections=sections,
    )
    if (chart := privacy_chart(report)).drawn:
        chart.save(path.with_name("privacy.png"))
