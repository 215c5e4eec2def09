"""Reports as a page with pictures, and the pictures as files of their own."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.evaluation.results import Report


def write_report(report: "Report", path: Path) -> None:
    """Write one page: what came out, in pictures and in numbers, and how to do it again."""
    from discreet.reports.charts import pictures_of
    from discreet.reports.page import Pictures, Table, Text, write_page

    names = ", ".join(row.model for row in report.rows)
    write_page(
        path,
        title=f"{names} on {report.data}" if len(report.rows) <= 3 else f"{len(report.rows)} models on {report.data}",
        lead=f"{report.split[:1].upper()}{report.split[1:]}. {promise(report)}",
        sections=[
            Pictures(title="How good they are", pictures=pictures_of(report), lead=True),
            Table(report=report),
            Text(title="Do it again", code=shlex.join(["discreet", *sys.argv[1:]])),
        ],
    )


def write_pictures(report: "Report", folder: Path) -> list[Path]:
    """Write every picture of the report as PNG."""
    from discreet.reports.charts import pictures_of

    written = []
    for picture in pictures_of(report):
        picture.save(folder / f"{picture.name}.png")
        written.append(folder / f"{picture.name}.png")
    return written


def promise(report: "Report") -> str:
    """What the releases behind a report promise to the users; where they differ, a line for each promise."""
    models: dict[str, list[str]] = {}
    for row in report.rows:
        sentence = row.guarantee or "No privacy: the models were fitted on exact ratings or exact sums of them."
        models.setdefault(sentence, []).append(row.model)
    if len(models) == 1:
        return next(iter(models))
    return "\n".join(f"{', '.join(names)}: {sentence}" for sentence, names in models.items())
