"""``discreet demo``: the whole way in one go, from ratings to recommendations and a report."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Json
from discreet.cli.outputs import check_release_folder, check_writable
from discreet.cli.progress import bar
from discreet.cli.recommending import predicted_ratings, print_suggestions, suggestions_to_json
from discreet.cli.tables import document, note, say
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.data.history import History
    from discreet.data.ratings import Ratings
    from discreet.evaluation.results import Report
    from discreet.models.release import Recommendations

MODELS = ("bias", "popularity", "cosine", "mf", "ease")
PRIVATE = ("bias", "popularity")  # shown a second time, with a guarantee for every user
EPSILON = 1.0
EXPLAINING = "cosine"
METRICS = ("rmse", "mae", "ndcg@10")
HISTORY = 30  # the user who gets recommendations has about this many ratings, so that single ones can be named


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the report and a release.")
    ] = Path("discreet-demo"),
    json: Json = False,
) -> None:
    """Compare models, recommend for one user, say why, and write a report with pictures."""
    check_writable(output)
    check_release_folder(output / "release")
    import numpy as np

    from discreet.cli.evaluation import print_report
    from discreet.cli.settings import parse_models
    from discreet.evaluation.comparison import compare
    from discreet.evaluation.protocols import HoldOut
    from discreet.models.fitting import fit_on
    from discreet.populations.terms import Terms

    models = parse_models(MODELS)
    note("Getting MovieLens-100K …")
    name, ratings = get_ratings()
    if not json:
        say(f"{name}: {len(ratings):,} ratings of {ratings.n_items:,} items by {ratings.n_users:,} users.")
    note(f"Comparing {len(models)} models (the first run compiles them, which takes a while) …")
    split, private = HoldOut(test=0.2, seed=1), Terms(epsilon=EPSILON, unit="user")
    with bar() as progress:
        report = compare(models, ratings, split, data=name, progress=progress, metrics=METRICS)
    note(f"The same for {' and '.join(PRIVATE)} with privacy for every user, epsilon {EPSILON:g} …")
    with bar() as progress:
        hidden = {f"private {name}": models[name] for name in PRIVATE}
        rows = compare(hidden, ratings, split, terms=private, progress=progress, metrics=METRICS).rows
    report = replace(report, rows=report.rows + rows)
    note(f"Fitting {EXPLAINING} on all ratings …")
    with bar() as progress:
        release = fit_on(models[EXPLAINING], ratings, progress=progress)
    history = ratings.history_at(int(abs(np.diff(ratings.indptr) - HISTORY).argmin()))
    suggestions = release.recommend(history, 10, explain=True)
    note("Drawing the report …")
    release.save(output / "release")
    write_report(output / "report.html", name, ratings, report, history, suggestions)
    predicted = predicted_ratings(release, history, suggestions)
    if json:
        document(
            report.to_json()
            | {
                "recommended_by": EXPLAINING,
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
    say(f"For a user who rated {len(history)} items and liked {', '.join(liked[:3])}, {EXPLAINING} recommends:")
    print_suggestions(suggestions, predicted)
    say(f"The report is {(output / 'report.html').absolute()}")
    say(f'Now try: discreet recommend {output / "release"} --likes "{liked[0]}" --explain')


def get_ratings() -> tuple[str, "Ratings"]:
    """MovieLens-100K, or ratings that nobody gave where it cannot be had."""
    from discreet.data.loading import load
    from discreet.data.synthetic import synthetic

    try:
        with bar() as progress:
            return "MovieLens-100K", load("ml-100k", progress=progress)
    except DiscreetError as error:  # no network, no place to keep it, a damaged file: the demo goes on all the same
        note(f"{error}.")
        note("Using the built-in synthetic ratings instead.")
        return "synthetic ratings", synthetic(seed=1)


def write_report(
    path: Path, name: str, ratings: "Ratings", report: "Report", history: "History", suggestions: "Recommendations"
) -> None:
    """One page with everything that the demo showed and pictures of the data; the report's pictures as files too."""
    from discreet.cli.pages import promise
    from discreet.reports.charts import pictures_of
    from discreet.reports.data_charts import popularity_chart, values_chart
    from discreet.reports.page import Facts, Pictures, Section, Suggestions, Table, Text, write_page

    errors = [row for row in report.rows if "rmse" in row.metrics]
    best = min(errors, key=lambda row: row["rmse"])
    pictures = pictures_of(report)
    sections: list[Section] = [
        Facts(
            facts={
                "ratings": f"{len(ratings):,}",
                "users": f"{ratings.n_users:,}",
                "items": f"{ratings.n_items:,}",
                f"RMSE of {best.model}": f"{best['rmse']:.3f}",
            }
        ),
        Pictures(title="How good the models are", pictures=pictures, lead=True),
        Suggestions(recommendations=suggestions, history=history),
        Pictures(title="What the ratings are like", pictures=[popularity_chart(ratings), values_chart(ratings)]),
        Table(report=report),
        Text(title="Privacy", paragraphs=promise(report).splitlines()),
        Text(title="Do it again", code="discreet demo"),
    ]
    write_page(
        path,
        title=f"Recommendations from {name}",
        lead=f"{len(MODELS)} models learned from four fifths of the ratings and were measured on the rest; "
        f"{' and '.join(PRIVATE)} learned once more with every user's ratings hidden (epsilon {EPSILON:g}).",
        sections=sections,
    )
    for picture in pictures:
        picture.save(path.with_name(f"{picture.name}.png"))
