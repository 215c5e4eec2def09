"""``discreet data``: which data sets there are, getting one, and what is in one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import DataOptions, Json, grouped
from discreet.cli.progress import bar
from discreet.cli.tables import document, facts, say, table

if TYPE_CHECKING:
    from discreet.data.description import Description, Spread

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="List, fetch and describe data sets.")

Folder = Annotated[Path | None, typer.Option("--path", metavar="DIR", help="Folder to look in, before the cache.")]


@app.command("list")
def list_(path: Folder = None, json: Json = False) -> None:
    """List the data sets that have a name, and whether they are here."""
    from discreet.data.datasets import available

    listed = available(path)
    if json:
        document([entry.to_json() for entry in listed])
        return
    table(
        None,
        ("name", "ratings", "users", "items", "here", "from"),
        [
            (
                entry.name,
                f"{entry.ratings:,}",
                f"{entry.users:,}",
                f"{entry.items:,}",
                "yes" if entry.here else "no",
                entry.source,
            )
            for entry in listed
        ],
        right=("ratings", "users", "items"),
    )


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set by name.")],
    path: Annotated[
        Path | None, typer.Option("--path", metavar="DIR", help="Folder to look in and to put it in, not the cache.")
    ] = None,
    json: Json = False,
) -> None:
    """Get a data set, so that it is there when there is no network."""
    from discreet.data.datasets import fetch

    with bar() as progress:
        place = fetch(name, path, progress)
    if json:
        document({"name": name, "path": None if place is None else str(place)})
    else:
        say(f"{name} is made on the spot" if place is None else f"{name} is in {place}")


@app.command()
@grouped
def describe(source: DataOptions, json: Json = False) -> None:
    """Count ratings, users and items, and say how they are spread."""
    from discreet.data.description import describe

    with bar() as progress:
        found = describe(source.load(progress, merged=False))
    if json:
        document({"data": source.name} | found.to_json())
    else:
        print_description(found)


def print_description(found: "Description") -> None:
    """The description as names and values, one a line."""
    what = "ratings" if found.scale is not None else "pairs"
    shares = ", ".join(f"{value:g}: {count / found.ratings:.1%}" for value, count in found.values.items())
    pairs = [
        ("ratings", f"{found.ratings:,}, {found.density:.2%} of all pairs"),
        ("users", f"{found.users:,}, {_spread(found.per_user, what)}"),
        ("items", f"{found.items:,}, {found.rated_items:,} of them rated, {_spread(found.per_item, what)}"),
    ]
    if found.scale is None:
        pairs[0] = ("used", f"{found.ratings:,} pairs of user and item, {found.density:.2%} of all; no ratings")
    else:
        low, high = found.scale
        pairs += [
            ("scale", f"{low:g} to {high:g}, mean {found.mean:.3f}, deviation {found.deviation:.3f}"),
            ("values", shares if len(found.values) <= 20 else f"{len(found.values):,} different ones"),
        ]
    if found.repeats:
        ratings = "rating" if found.repeats == 1 else "ratings"
        pairs.append(("repeats", f"{found.repeats:,} {ratings} of an item that the user had rated before"))
    if found.first is not None:
        pairs.append(("days", f"{found.first} to {found.last}"))
    if found.genres:
        of_columns = any(": " in name for name in found.genres)  # brand: Acme, beside or in place of genres
        pairs.append(
            (
                "tags" if of_columns else "genres",
                ", ".join(f"{genre} {count:,}" for genre, count in found.genres.items()),
            )
        )
    if found.user_facts:
        pairs.append(("of users", ", ".join(found.user_facts)))
    facts(pairs)


def _spread(spread: "Spread", what: str) -> str:
    return f"{spread.least:,} to {spread.most:,} {what} each (mean {spread.mean:,.1f}, median {spread.median:,.0f})"
