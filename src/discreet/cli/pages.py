"""Reports as a page with pictures, and the pictures as files of their own."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.evaluation.results import Report
    from discreet.reports.drawing import Picture


def write_report(report: "Report", path: Path) -> None:
    """Write one page: what came out, in pictures and in numbers, and how to do it again."""
    from discreet.files import write_whole
    from discreet.reports.charts import pictures_of

    write_whole(path, _page(report, pictures_of(report)).encode())


def write_report_and_pictures(report: "Report", path: Path) -> list[Path]:
    """Write the page, and its pictures as PNG beside it. All are drawn before the first is written."""
    from discreet.files import write_whole
    from discreet.reports.charts import pictures_of

    pictures = pictures_of(report)
    contents = {path.with_name(f"{picture.name}.png"): picture.png() for picture in pictures if picture.drawn}
    for place, content in (contents | {path: _page(report, pictures).encode()}).items():
        write_whole(place, content)
    return list(contents)


def _page(report: "Report", pictures: "list[Picture]") -> str:
    from discreet.reports.page import Pictures, Section, Table, Text, render_page
    from discreet.reports.privacy_charts import is_sweep
    from discreet.reports.sweeps import sweep_sections

    split = f"{report.split[:1].upper()}{report.split[1:]}."
    again = Text(title="Do it again", code=shlex.join(["discreet", *sys.argv[1:]]))
    sections: list[Section]
    if is_sweep(report):
        title, lead = f"What privacy costs on {report.data}", f"{len(report.models)} models. {split}"
        sections = [
            *sweep_sections(report),
            Table(report=report),
            Text(title="What is promised", paragraphs=promise(report).splitlines()),
        ]
    else:
        names = ", ".join(report.models) if len(report.models) <= 3 else f"{len(report.models)} models"
        title, lead = f"{names} on {report.data}", f"{split} {promise(report)}"
        sections = [Pictures(title="How good they are", pictures=pictures, lead=True), Table(report=report)]
    return render_page(title=title, lead=lead, sections=[*sections, again])


def promise(report: "Report") -> str:
    """What the releases behind a report promise to the users; where they differ, a line for each promise.

    They promise it of themselves, and not of what was measured.
    """
    from discreet.reports.words import MEASURED

    models: dict[str, list[str]] = {}
    for row in report.rows:
        sentence = row.guarantee or "No privacy: the models were fitted on exact ratings or exact sums of them."
        models.setdefault(sentence, []).append(row.model)
    lines = [f"{', '.join(names)}: {sentence}" for sentence, names in models.items()]
    if len(models) == 1:
        lines = list(models)
    if any(row.promise == "proven" for row in report.rows):
        lines.append(MEASURED)
    return "\n".join(lines)
