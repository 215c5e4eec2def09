"""``discreet export``: a release for users' own devices."""

from pathlib import Path
from typing import Annotated, cast

import typer

from discreet.cli.options import Json
from discreet.cli.tables import document, facts, note, say
from discreet.errors import require


def export(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="Folder of a release.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder to write; FILE.html for one page.")
    ],
    web: Annotated[bool, typer.Option("--web", help="For browsers: a page, a module and one file.")] = False,
    precision: Annotated[
        str, typer.Option(metavar="TYPE", help="Of matrices: float32, float16 or int8; the loss is measured.")
    ] = "float32",
    replace: Annotated[bool, typer.Option("--replace", help="Replace an earlier export in DIR.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Ask the export in node and in Chromium too, and compare with Python.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a release for browsers and other devices.

    With a page that recommends in the browser and sends nothing. Any web server can serve the folder, and `discreet
    serve` does. `discreet.js` in it is the module for programs of your own. docs/device.md describes the file, so
    that other programs can read it. With -o FILE.html everything is in one page, which needs no server.
    """
    from discreet.releases.release import Release
    from discreet.web.agreement import PROGRAMS, agreement, program_of
    from discreet.web.export import RELEASE, export_release
    from discreet.web.file_format import PRECISIONS, Precision
    from discreet.web.loss import precision_loss
    from discreet.web.one_page import export_page

    require(web, "say what to export for: --web, for browsers")
    require(precision in PRECISIONS, f"--precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    chosen = cast(Precision, precision)
    loaded = Release.load(release)
    if output.suffix.lower() in (".html", ".htm"):
        require(not check, "--check asks a folder: name one with -o DIR")
        require(replace or not output.exists(), f"{output} exists: name another file, or replace it with --replace")
        folder, file = output, export_page(loaded, output, precision=chosen)
    else:
        folder = export_release(loaded, output, precision=chosen, replace=replace)
        file = folder / RELEASE
    loss = None if chosen == "float32" else precision_loss(loaded, chosen)
    found = []
    for where in PROGRAMS if check else ():
        if program_of(where) is None:
            note(f"{where} is not on this machine, and was not asked")
            continue
        found.append(agreement(loaded, folder, where))
    size = file.stat().st_size
    if json:
        document(
            {
                "folder": str(folder),
                "bytes": size,
                "precision": precision,
                "loss": None if loss is None else vars(loss),
                "agreement": [vars(one) for one in found],
            }
        )
        return
    facts(
        [
            ("page", str(folder if folder == file else folder / "index.html")),
            (file.name, f"{size:,} bytes"),
            *([] if loss is None else [(f"loss by {precision}", str(loss))]),
            *(
                (
                    f"in {one.where}",
                    f"scores within {one.score:.1e} of Python's, "
                    f"{one.equal_lists} of {one.histories} lists of 20 the same",
                )
                for one in found
            ),
        ]
    )
    say(str(loaded.guarantee))
    say(f"Open {file} in a browser." if folder == file else f"Now try: discreet serve {release}")
