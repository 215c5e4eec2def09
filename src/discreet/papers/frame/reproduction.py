"""All that came out of a paper as one JSON document, and its files."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.errors import InputError, require
from discreet.files import write_whole
from discreet.pages.drawing import Picture
from discreet.pages.page import write_page
from discreet.papers.frame.claims import Judged, count, judge_all
from discreet.papers.frame.outcome import Outcome
from discreet.papers.frame.pages import document_name, document_of, page_of
from discreet.papers.frame.paper import Paper


@dataclass(frozen=True)
class Reproduction:
    """A paper and what came out: judged and drawn when it is asked for."""

    paper: Paper
    outcome: Outcome

    @cached_property
    def judged(self) -> list[Judged]:
        """Every claim with its verdicts."""
        return judge_all(self.paper.claims(self.outcome.grid), self.outcome, self.paper.judged, self.paper.run_on)

    @cached_property
    def pictures(self) -> list[Picture]:
        """Every figure that was run."""
        figures = self.paper.figures(self.outcome.grid)
        return [figure.draw(self.outcome) for figure in figures if figure.number in self.outcome.figures]

    def to_json(self) -> dict[str, Any]:
        """As plain data; the numbers and the verdicts made of them."""
        counts = {reading: count(self.judged, reading) for reading in self.paper.counts}
        return {
            "paper": self.paper.name,
            **self.outcome.to_json(),
            "reproduces": {reading: {"claims": held, "of": of} for reading, (held, of) in counts.items()},
            "claims": [judged.to_json() for judged in self.judged],
        }

    def write(self, folder: Path, command: str = "") -> list[Path]:
        """The page, the numbers and the pictures, each whole or not at all. Returns the pictures."""
        self._write_json(folder / "results.json")
        pictures = {folder / f"{picture.name}.png": picture for picture in self.pictures if picture.drawn}
        for path, picture in pictures.items():
            picture.save(path)
        page = page_of(self.paper, self.outcome, self.judged, self.pictures, command)
        write_page(folder / "page.html", title=page.title, lead=page.lead, sections=page.sections)
        return list(pictures)

    def document(self) -> str:
        """The page of the documentation, as Markdown."""
        return document_of(self.paper, self.outcome, self.judged, self.pictured)

    def write_document(self, folder: Path) -> Path:
        """The page of the documentation, with its numbers and its picture beside it."""
        name = document_name(self.paper, self.outcome)
        path = folder / f"{name}.md"
        self._write_json(path.with_suffix(".json"))
        for picture in self.pictured:
            picture.save(folder / f"{name}-{picture.name}.png")
        write_whole(path, self.document().encode())
        return path

    @property
    def pictured(self) -> Sequence[Picture]:
        """The pictures in the documentation."""
        return [picture for picture in self.pictures if picture.name in self.paper.pictured]

    def _write_json(self, path: Path) -> None:
        text = json.dumps(self.to_json(), indent=1)
        text = re.sub(r"\[[-+.e\d\s,]*\]", lambda numbers: " ".join(numbers.group().split()), text)  # on one line
        write_whole(path, (text + "\n").encode())


def read_reproduction(paper: Paper, path: Path) -> Reproduction:
    """What a run of this paper wrote: its numbers, from which all else is made again."""
    try:
        found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        name, outcome = found["paper"], Outcome.from_json(found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path} is no reproduction: name a results.json that `discreet reproduce` wrote") from None
    require(name == paper.name, f"{path} is a reproduction of {name}, not of {paper.name}")
    return Reproduction(paper, outcome)
