"""``discreet recommend``: from a release and one person's own ratings to suggestions, and why."""

import dataclasses
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import Json, OwnModel
from discreet.cli.settings import own_kind
from discreet.cli.tables import document, note, say, table
from discreet.errors import require

if TYPE_CHECKING:
    from discreet.data.catalogue import Catalogue
    from discreet.data.history import History
    from discreet.releases.release import Recommendations, Release, Scorer


def recommend(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a release.")],
    more_likes: Annotated[
        list[str] | None, typer.Argument(metavar="[TITLE]...", help="More titles, after --likes.", show_default=False)
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option("--history", metavar="FILE", help="CSV or TSV with the columns title (or item) and rating."),
    ] = None,
    likes: Annotated[
        list[str] | None,
        typer.Option("--likes", metavar="TITLE", help="An item that is liked, by title or identifier; repeatable."),
    ] = None,
    k: Annotated[int, typer.Option("-k", metavar="K", help="How many suggestions.")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="Name the ratings that carried each suggestion.")] = False,
    model: OwnModel = None,
    json: Json = False,
) -> None:
    """Recommend to one person, from that person's own ratings. They stay on this machine."""
    require(k >= 1, f"k must be at least 1, got {k}")
    require(bool(history) != bool(likes), "say what is liked: either --history FILE or --likes TITLE")
    require(bool(likes) or not more_likes, "titles follow --likes, for example --likes 'Toy Story (1995)'")
    from discreet.data.history import History
    from discreet.data.history_file import read_history
    from discreet.releases.release import Release

    loaded = Release.load(release, model=own_kind(model))
    catalogue = loaded.catalogue
    if history:
        own = read_history(history, catalogue)
    else:
        names = [*(likes or ()), *(more_likes or ())]
        own = History.of_likes(catalogue, names)
        for sentence in shared_titles(catalogue, names):
            note(sentence)
    scorer = loaded.scorer()
    suggestions = scorer.recommend(own, k, explain=explain)
    if explain and not any(suggestion.because for suggestion in suggestions):
        note("No rating of this history carried any of these: here the release knows no more than averages.")
    predicted = predicted_ratings(scorer, own, suggestions)
    if json:
        document(
            {
                "release": str(release),
                "guarantee": str(loaded.guarantee),
                "suggestions": suggestions_to_json(suggestions, predicted),
            }
        )
        return
    print_suggestions(suggestions, predicted)
    if len(suggestions) < k:
        note(f"The catalogue holds no more than {len(suggestions)} other items.")


def shared_titles(catalogue: "Catalogue", names: Sequence[str]) -> list[str]:
    """A sentence for each title that several items have: which of them was taken, and how to name another."""
    titles = catalogue.titles.tolist()
    sentences = []
    for name in dict.fromkeys(names):
        shared = [catalogue.items[place] for place, title in enumerate(titles) if title == name]
        if len(shared) > 1:
            sentences.append(
                f"{len(shared)} items are called {name!r}: the first is taken, {shared[0]}; "
                f"name another by its identifier, {' or '.join(shared[1:4])}."
            )
    return sentences


def predicted_ratings(
    release: "Release | Scorer", history: "History", suggestions: "Recommendations"
) -> list[float] | None:
    """The rating that this person would give to each suggestion, or None for a model that only ranks."""
    if not release.predicts_ratings:
        return None
    import numpy as np

    from discreet.data.ratings import Ratings

    items = np.array([release.catalogue.items.index(suggestion.item) for suggestion in suggestions], dtype=np.int32)
    predicted = release.predict(Ratings.of_history(history), np.zeros_like(items), items)
    return [float(rating) for rating in predicted]


def suggestions_to_json(suggestions: "Recommendations", predicted: list[float] | None) -> list[dict[str, Any]]:
    """Suggestions as plain data; ``predicted`` is null for a model that only ranks."""
    ratings = [None] * len(suggestions) if predicted is None else predicted
    return [
        dataclasses.asdict(suggestion) | {"predicted": rating}
        for suggestion, rating in zip(suggestions, ratings, strict=True)
    ]


def print_suggestions(suggestions: "Recommendations", predicted: list[float] | None) -> None:
    """A table, best first, with the rating to expect or else the score, and the reasons where there are some."""
    explained = any(suggestion.because for suggestion in suggestions)
    numbers = "score" if predicted is None else "predicted"
    rows = []
    for place, suggestion in enumerate(suggestions):
        why = ", ".join(f"{reason.title} ({reason.share:.0%})" for reason in suggestion.because)
        number = f"{suggestion.score:.3g}" if predicted is None else f"{predicted[place]:.2f}"
        rows.append((str(place + 1), suggestion.title, number, *((why,) if explained else ())))
    table(None, ("", "title", numbers, *(("because of",) if explained else ())), rows, right=("", numbers))
    if predicted is None:
        say("Scores put the items in order and mean nothing else: this model does not predict ratings.")
    elif any(later > earlier + 0.005 for earlier, later in pairwise(predicted)):
        say("The order is by how well an item fits, which is more than the rating that is predicted for it.")
