"""``discreet data``: which data sets there are, getting one, and what is in one."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import DataOptions, Json, grouped

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="List, fetch and describe data sets.")


@app.command("list")
def list_(json: Json = False) -> None:
    """List the data sets that Discreet knows by name."""


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set by name.")],
    path: Annotated[Path | None, typer.Option("--path", metavar="DIR", help="Folder to put it in.")] = None,
    json: Json = False,
) -> None:
    """Get a data set, so that it is there when there is no network."""


@app.command()
@grouped
def describe(source: DataOptions, json: Json = False) -> None:
    """Say how many ratings, users and items there are, and how they are spread."""
