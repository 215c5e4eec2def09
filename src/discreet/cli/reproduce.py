"""``discreet reproduce NAME``: run a paper's experiments again, draw its figures, and judge its claims by the numbers.

There is one command for each line of the table of papers, all of them alike.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.grouping import option
from discreet.cli.options import DataOptions, Json, grouped, this_command
from discreet.cli.progress import bar
from discreet.cli.tables import document, note, say, table
from discreet.errors import require
from discreet.fitting.outputs import check_file
from discreet.papers.names import PAPERS, Listed

if TYPE_CHECKING:
    from discreet.data.ratings import Ratings
    from discreet.papers.frame.outcome import Outcome
    from discreet.papers.frame.paper import Paper
    from discreet.papers.frame.reproduction import Reproduction
    from discreet.papers.frame.sets import Sets
    from discreet.types import Progress

NETFLIX, PROBE = "netflix", "probe"

app = typer.Typer(
    help="Run a paper's experiments again, and judge its claims.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class PaperData(DataOptions):
    """The data of an experiment: the paper's own unless another is named."""

    data: str = option(
        "--data",
        metavar="DATA",
        help="A data set by name (`discreet data list`), or a file or folder (default: the paper's).",
        default="",
    )
    test: str | None = option(
        "--test", metavar="FILE", help="A given test set, as DATA is; `probe` for the one that Netflix came with."
    )
    most_rated: int | None = option("--most-rated", metavar="N", help="Keep only the N items with the most ratings.")
    called: str | None = option(
        "--called", metavar="NAME", help="Which of the paper's data these are, where their file does not say so."
    )

    def sets(self, progress: "Progress") -> "Sets":
        """The ratings, with the test set that is given with them, if one is."""
        from discreet.papers.frame.sets import Sets

        if self.test is None:
            found = Sets(self.load(progress))
        elif self.test == PROBE:
            found = Sets.with_test(*self._probe(progress))
        else:
            found = Sets.with_test(self.load(progress), replace(self, data=self.test).load(progress))
        return found if self.most_rated is None else found.keep_most_rated(self.most_rated)

    def _probe(self, progress: "Progress") -> "tuple[Ratings, Ratings]":
        from discreet.data.datasets import DATA_SETS, locate
        from discreet.data.netflix import read_netflix_probe

        place = locate(DATA_SETS[NETFLIX], self.path) if self.data == NETFLIX else Path(self.data)
        require(place is not None, "the Netflix Prize is not on this machine: name its folder with --data or --path")
        assert place is not None
        return read_netflix_probe(place, progress=progress)


@app.callback()
def reproduce() -> None:
    """Run a paper's experiments again, and judge its claims by the numbers."""


def add_paper(name: str, listed: Listed) -> None:
    """Make a command of a line of the table."""
    app.command(name, help=f"{listed.what}\n\nIts figures again, ours beside them, and a verdict on every claim.")(
        command_of(name, listed)
    )


def command_of(name: str, listed: Listed) -> Callable[..., None]:
    """The command of one paper."""

    @grouped
    def command(
        source: PaperData,
        figure: Annotated[
            list[int], typer.Option(metavar="N", help="Which figure; repeatable (default: all of them).")
        ] = [],  # noqa: B006 (typer copies it)
        tables: Annotated[
            list[int],
            typer.Option("--table", metavar="N", help="Which table; repeatable (default: all figures and tables)."),
        ] = [],  # noqa: B006
        seeds: Annotated[
            int | None, typer.Option(metavar="N", help="Repetitions (default: as in the paper, a few with --quick).")
        ] = None,
        quick: Annotated[bool, typer.Option("--quick", help="A coarse grid of settings, in about a minute.")] = False,
        output: Annotated[
            Path | None,
            typer.Option(
                "--output",
                "-o",
                metavar="DIR",
                help=f"Folder for the page, the pictures and the numbers (default: discreet-{name}).",
            ),
        ] = None,
        stored: Annotated[
            Path | None,
            typer.Option("--from", metavar="RESULTS", help="Judge and draw a results.json again; nothing is run."),
        ] = None,
        documents: Annotated[
            Path | None, typer.Option("--document", metavar="DIR", help="Also write the page of the documentation.")
        ] = None,
        json: Json = False,
    ) -> None:
        from discreet.papers.frame.reproduction import Reproduction, read_reproduction

        paper = listed.load()
        folder = Path(f"discreet-{name}") if output is None else output
        page = folder / "page.html"
        if stored is not None:
            asked = figure or tables or seeds is not None or quick
            require(not asked, "--from runs nothing: leave out what is to be run")
            found = read_reproduction(paper, stored)
        else:
            chosen = paper.figures_to_draw(figure, tables)
            seeds = (paper.quick_seeds if quick else paper.seeds) if seeds is None else seeds
            require(seeds >= 1, f"seeds must be at least 1, got {seeds}")
            check_file(page)
            found = Reproduction(paper, _run(paper, source, chosen, seeds, quick, folder / "repetitions", json))
        pictures = []
        if output is not None or stored is None or documents is None:
            pictures = found.write(folder, this_command())
        written = None if documents is None else found.write_document(documents)
        if json:
            files = {"page": str(page) if pictures else None, "pictures": [str(picture) for picture in pictures]}
            document(found.to_json() | files)
            return
        _print(found)
        if pictures:
            say(f"The page is {page}; its numbers are in {folder / 'results.json'}, its pictures beside it.")
        if written is not None:
            say(f"The page of the documentation is {written}.")

    return command


def _run(
    paper: "Paper", source: PaperData, figures: tuple[int, ...], seeds: int, quick: bool, kept: Path, json: bool
) -> "Outcome":
    from discreet.papers.frame.repetitions import run

    named = replace(source, data=source.data or paper.data)
    with bar() as progress:
        sets = named.sets(progress)
    if not json:
        note("The first run compiles a few kernels.")
        note(f"What is done is kept in {kept}: the same command goes on from there …")
    with bar() as progress:
        return run(
            paper,
            sets,
            data=named.called or named.name,
            seeds=seeds,
            figures=figures,
            grid=paper.quick if quick else paper.grid,
            folder=kept,
            progress=progress,
        )


def _print(found: "Reproduction") -> None:
    from discreet.pages.words import count_of
    from discreet.papers.frame.pages import SECTIONS, in_words, numbers_of, sign_of

    paper, outcome = found.paper, found.outcome
    for source, (title, _) in SECTIONS.items():
        chosen = [one for one in found.judged if one.source == source]
        counted = [reading for reading in paper.counts if any(reading in one.verdicts for one in chosen)]
        rows = []
        for judged in chosen:
            shown = {reading: judged.verdicts[reading] for reading in counted if reading in judged.verdicts}
            signs = [sign_of(shown[reading], source) if reading in shown else "" for reading in counted]
            if not shown:  # a comparison of ours with the paper's best
                signs[:1], shown = [sign_of(judged.first, source)], dict(judged.verdicts)
            differ = [
                f"{paper.readings[reading]}: {sign_of(verdict, source)} ({verdict.numbers})"
                for reading, verdict in judged.verdicts.items()
                if verdict.reproduces not in {other.reproduces for other in shown.values()}
            ]
            rows.append([*signs, "\n".join([f"{judged.at}: {judged.claim}", *numbers_of(paper, judged), *differ])])
        if rows:
            heads = [paper.readings[reading] for reading in counted] or ["verdict"]
            table(title, (*heads, "claim, and the numbers"), rows, lines=True)
    words = in_words(paper, found.judged)
    say(f"{words[0].upper()}{words[1:]} on {outcome.data.title}, with {count_of(outcome.seeds, 'repetition')}.")


for _name, _listed in PAPERS.items():
    add_paper(_name, _listed)
