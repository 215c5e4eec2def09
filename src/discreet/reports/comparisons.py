"""What evaluating and comparing found, as a page with pictures, and the pictures as files of their own."""

from pathlib import Path

from discreet.evaluation.results import Report
from discreet.files import write_whole
from discreet.reports.charts import pictures_of
from discreet.reports.drawing import Picture
from discreet.reports.page import Pictures, Section, Table, Text, render_page
from discreet.reports.privacy_charts import is_sweep
from discreet.reports.sweeps import sweep_sections
from discreet.reports.words import MEASURED


def write_comparison(report: Report, path: Path, command: str = "", *, pictures_too: bool = False) -> list[Path]:
    """Write one page: what came out, in pictures and in numbers, and the command to do it again.

    With ``pictures_too`` its pictures are written as PNG beside it. All are drawn before the first is written.
    """
    pictures = pictures_of(report)
    kept = [picture for picture in pictures if pictures_too and picture.drawn]
    drawn = {path.with_name(f"{picture.name}.png"): picture.png() for picture in kept}
    for place, content in (drawn | {path: _page(report, pictures, command).encode()}).items():
        write_whole(place, content)
    return list(drawn)


def _page(report: Report, pictures: list[Picture], command: str) -> str:
    split = f"{report.split[:1].upper()}{report.split[1:]}."
    again = [Text(title="Do it again", code=command)] if command else []
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
    return render_page(title=title, lead=lead, sections=[*sections, *again])


def promise(report: Report) -> str:
    """What the releases behind a report promise to the users; where they differ, a line for each promise.

    They promise it of themselves, and not of what was measured.
    """
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
