"""``discreet demo``: the whole way in one go."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Json
from discreet.cli.progress import bar
from discreet.cli.recommending import predicted_ratings, print_suggestions, suggestions_to_json
from discreet.cli.tables import document, note, say
from discreet.fitting.outputs import check_release_folder, check_writable


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the page and a release.")
    ] = Path("discreet-demo"),
    json: Json = False,
) -> None:
    """Compare models, recommend for one user, and write a page."""
    from discreet.cli.evaluation import print_results
    from discreet.pages.demo import EPSILON, RECOMMENDING, is_of_a_demo, run_demo
    from discreet.web.one_page import export_page

    check_writable(output)
    check_release_folder(output / "release", replace=is_of_a_demo(output / "release"))
    with bar() as progress:
        found = run_demo(progress, note)
    note("Drawing the page …")
    page = found.write(output)
    own = export_page(found.release, output / "recommend.html")
    predicted = predicted_ratings(found.release, found.history, found.suggestions)
    if json:
        document(
            found.results.to_json()
            | {
                "recommended_by": RECOMMENDING,
                "guarantee": str(found.release.guarantee),
                "user": found.user,
                "suggestions": suggestions_to_json(found.suggestions, predicted),
                "page": str(page),
                "try_it": str(own),
                "release": str(output / "release"),
            }
        )
        return
    ratings = found.ratings
    say(f"{found.data}: {len(ratings):,} ratings of {ratings.n_items:,} items by {ratings.n_users:,} users.")
    say("")
    print_results(found.results)
    say("")
    say(f"{found.user}. To this user {RECOMMENDING} with epsilon {EPSILON:g} recommends:")
    print_suggestions(found.suggestions, predicted)
    say(str(found.release.guarantee))
    say(f"The page is {page.absolute()}")
    say(f"Type what you like yourself, in a page that sends nothing: {own.absolute()}")
    say(f'Now try: discreet recommend {output / "release"} --likes "{found.liked[0]}" --explain')
