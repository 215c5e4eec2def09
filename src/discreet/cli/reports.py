"""``discreet reports``: what a recommender does with the reports that users sent, besides reading them."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import Json
from discreet.cli.tables import document, say
from discreet.errors import InputError, require

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Delete a user's report from a folder of reports.")


@app.callback()
def reports() -> None:
    """Look after a folder of reports."""


@app.command()
def delete(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of reports.")],
    identifier: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The id of the report: 32 hexadecimal digits.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="In place of ID: the user's own copy of the report.")
    ] = None,
    json: Json = False,
) -> None:
    """Delete a user's report. Releases that were made from it are out, and stay within what it promised."""
    require((identifier is None) != (report is None), "name the report either by its ID or by --report FILE")
    from discreet.data.report_deletion import delete_report, identifier_of

    wanted = identifier_of(report) if report is not None else str(identifier)
    count = delete_report(folder, wanted)
    if count == 0:
        raise InputError(f"{folder} holds no report with this id: nothing was deleted")
    if json:
        document({"folder": str(folder), "deleted": count})
        return
    say(f"{count} {'report was' if count == 1 else 'reports were'} deleted from {folder}.")
    say(
        "What was released from it before is out, and tells no more of it than the report promised. What is fitted "
        "from now on does not use it; a collection without it is a new one, and is booked anew."
    )
