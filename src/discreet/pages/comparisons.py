"""What evaluating and comparing found, as a page with pictures, and the pictures as files of their own."""

from pathlib import Path

from discreet.evaluation.results import Results
from discreet.files import write_whole
from discreet.pages.charts import pictures_of
from discreet.pages.drawing import Picture
from discreet.pages.page import Pictures, Section, Table, Text, render_page
from discreet.pages.privacy_charts import is_sweep
from discreet.pages.sweeps import sweep_sections
from discreet.pages.words import MEASURED


def write_comparison(results: Results, path: Path, command: str = "", *, pictures_too: bool = False) -> list[Path]:
    """Write one page: what came out, in pictures and in numbers, and the command to do it again.

    With ``pictures_too`` its pictures are written as PNG beside it. All are drawn before the first is written.
    """
    pictures = pictures_of(results)
    kept = [picture for picture in pictures if pictures_too and picture.drawn]
    drawn = {path.with_name(f"{picture.name}.png"): picture.png() for picture in kept}
    for place, content in (drawn | {path: _page(results, pictures, command).encode()}).items():
        write_whole(place, content)
    return list(drawn)


def _page(results: Results, pictures: list[Picture], command: str) -> str:
    split = f"{results.split[:1].upper()}{results.split[1:]}."
    again = [Text(title="Do it again", code=command)] if command else []
    sections: list[Section]
    if is_sweep(results):
        title, lead = f"What privacy costs on {results.data}", f"{len(results.models)} models. {split}"
        sections = [
            *sweep_sections(results),
            Table(results=results),
            Text(title="What is promised", paragraphs=promise(results).splitlines()),
        ]
    else:
        names = ", ".join(results.models) if len(results.models) <= 3 else f"{len(results.models)} models"
        title, lead = f"{names} on {results.data}", f"{split} {promise(results)}"
        sections = [Pictures(title="How good they are", pictures=pictures, lead=True), Table(results=results)]
    rule = [Text(title="What was chosen", paragraphs=results.choices)] if results.choices else []
    return render_page(title=title, lead=lead, sections=[*sections, *rule, *again])


EXACT = "No privacy: the models were fitted on exact ratings or exact sums of them."
NOTHING_PROMISED = "Nothing is promised in spite of the noise: it was seeded, or the list of items is not public."


def promise(results: Results) -> str:
    """What the releases behind results promise to the users; where they differ, a line for each promise.

    They promise it of themselves, and not of what was measured.
    """
    models: dict[str, list[str]] = {}
    for row in results.rows:
        sentence = row.guarantee or (NOTHING_PROMISED if row.epsilon else EXACT)
        models.setdefault(sentence, []).append(row.model)
    lines = [f"{', '.join(dict.fromkeys(names))}: {sentence}" for sentence, names in models.items()]
    if len(models) == 1:
        lines = list(models)
    if any(row.promise == "proven" for row in results.rows):
        lines.append(MEASURED)
    return "\n".join(lines)
