"""``discreet similar``: items like an item, from a release alone."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Json, OwnModel
from discreet.cli.recommending import Only, names_of, suggestions_to_json
from discreet.cli.settings import own_kind
from discreet.cli.tables import document, table


def similar(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a release.")],
    item: Annotated[str, typer.Argument(metavar="ITEM", help="An item, by title or identifier.")],
    k: Annotated[int, typer.Option("-k", metavar="K", help="How many.")] = 10,
    only: Only = None,
    model: OwnModel = None,
    json: Json = False,
) -> None:
    """Show what somebody who likes ITEM may like too.

    The score is what one highest rating of ITEM adds to that of another, so popular items do not come first everywhere.
    """
    from discreet.releases.release import Release

    found = Release.load(release, model=own_kind(model)).similar(item, k, only=names_of(only))
    if json:
        document({"release": str(release), "item": item, "similar": suggestions_to_json(found, None)})
        return
    rows = [(str(place), one.title, f"{one.score:.3g}") for place, one in enumerate(found, start=1)]
    table(None, ("", "title", "score"), rows, right=("", "score"))
