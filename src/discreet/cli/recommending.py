"""``discreet recommend``: from a release and one person's own ratings to suggestions, and why."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Json
from discreet.cli.tables import document, note, table
from discreet.errors import require

if TYPE_CHECKING:
    from discreet.models.release import Recommendations


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
    json: Json = False,
) -> None:
    """Recommend to one person, from that person's own ratings. They stay on this machine."""
    require(k >= 1, f"k must be at least 1, got {k}")
    require(bool(history) != bool(likes), "say what is liked: either --history FILE or --likes TITLE")
    require(bool(likes) or not more_likes, "titles follow --likes, for example --likes 'Toy Story (1995)'")
    from discreet.data.history import History
    from discreet.data.tables import read_history
    from discreet.models.release import Release

    loaded = Release.load(release)
    catalogue = loaded.catalogue
    if history:
        own = read_history(history, catalogue)
    else:
        own = History.of_likes(catalogue, [*(likes or ()), *(more_likes or ())])
    suggestions = loaded.recommend(own, k, explain=explain)
    if json:
        document(
            {
                "release": str(release),
                "guarantee": str(loaded.guarantee),
                "suggestions": [dataclasses.asdict(suggestion) for suggestion in suggestions],
            }
        )
        return
    print_suggestions(suggestions)
    if len(suggestions) < k:
        note(f"The catalogue holds no more than {len(suggestions)} other items.")


def print_suggestions(suggestions: "Recommendations") -> None:
    """A table, best first, with the reasons where there are some."""
    explained = any(suggestion.because for suggestion in suggestions)
    rows = []
    for place, suggestion in enumerate(suggestions, start=1):
        why = ", ".join(f"{reason.title} ({reason.share:.0%})" for reason in suggestion.because)
        rows.append((str(place), suggestion.title, f"{suggestion.score:.3g}", *((why,) if explained else ())))
    table(None, ("", "title", "score", *(("because of",) if explained else ())), rows, right=("", "score"))
