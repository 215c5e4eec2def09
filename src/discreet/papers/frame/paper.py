"""What a paper hands in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from discreet.errors import require
from discreet.pages.curves import Rows
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.claims import Claim, RunOn
from discreet.papers.frame.contents import Entry
from discreet.papers.frame.figures import Figure
from discreet.papers.frame.outcome import Outcome
from discreet.papers.frame.printed import PrintedTable
from discreet.papers.frame.sets import Sets


class Repetition(Protocol):
    """One split of the ratings, with whatever is drawn once for all cases."""

    def measure(self, case: Case) -> Mapping[str, float]:
        """Run a case, and give its number in every reading that it has."""
        ...


def _none(of: Outcome | Grid) -> Sequence[Any]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper's experiments, claims and figures. The frame does the rest.

    Parameters
    ----------
    name, title, citation, summary
        On the command line, at the head of pages, where it appeared, and what it does in a sentence or two.
    proven
        What its epsilon is worth, in a word or two.
    data
        The data set it is run on unless another is named.
    run_on
        All data that the paper was run on: on others none of its claims is judged.
    grid, quick
        The settings, and a few of them to try things out.
    seeds, quick_seeds
        How often they are repeated.
    repetition
        Makes one repetition from the sets of ratings and a seed.
    readings
        How what came out is read, with what pages call it.
    judged
        The readings in which claims are judged.
    counted
        Those of them whose verdicts are counted; the first if none is named.
    claims, figures, printed
        For a grid; printed are its tables with results, whose numbers are not those of figures.
    tables
        What else belongs on a page.
    shown, aside
        The cases in the table of numbers in the documentation, and the readings that are shown elsewhere.
    pictured
        The names of the pictures in the documentation.
    metric
        What the numbers are.
    contents
        Every equation, theorem, figure and claim of the paper, and where each is in the code.
    notes
        Markdown for the documentation: what is claimed and what is true, what was learned.
    """

    name: str
    title: str
    citation: str
    summary: str
    proven: str = "none"
    data: str = "ml-100k"
    run_on: Sequence[RunOn]
    grid: Grid
    quick: Grid
    seeds: int = 10
    quick_seeds: int = 3
    repetition: Callable[[Sets, int], Repetition]
    readings: Mapping[str, str]
    judged: Sequence[str]
    counted: Sequence[str] = ()
    claims: Callable[[Grid], Sequence[Claim]]
    figures: Callable[[Grid], Sequence[Figure]]
    printed: Callable[[Grid], Sequence[PrintedTable]] = _none
    tables: Callable[[Outcome], Sequence[Rows]] = _none
    shown: Callable[[Grid], Sequence[Case]]
    aside: Sequence[str] = ()
    pictured: Sequence[str] = ()
    metric: str = "RMSE"
    contents: Sequence[Entry] = ()
    notes: str = field(default="", repr=False)

    @property
    def counts(self) -> Sequence[str]:
        """The readings whose verdicts are counted."""
        return self.counted or self.judged[:1]

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of its figures and tables."""
        return tuple(sorted({*self._figure_numbers, *self._table_numbers}))

    @property
    def _figure_numbers(self) -> set[int]:
        return {figure.number for figure in self.figures(self.grid)}

    @property
    def _table_numbers(self) -> set[int]:
        return {table.number for table in self.printed(self.grid)}

    def figures_to_draw(self, chosen: Sequence[int] = (), tables: Sequence[int] = ()) -> tuple[int, ...]:
        """The chosen figures and tables in order, or all; raises for one that there is not."""
        for what, asked, known in (
            ("figures", chosen, self._figure_numbers),
            ("tables", tables, self._table_numbers),
        ):
            unknown = ", ".join(map(str, sorted(set(asked) - known)))
            require(bool(known) or not asked, f"this paper has no {what} with results, got {unknown}")
            require(not unknown, f"the {what} with results are {', '.join(map(str, sorted(known)))}, got {unknown}")
        return tuple(sorted({*chosen, *tables})) or self.numbers

    def numbers_to_run(self, chosen: Sequence[int] = ()) -> tuple[int, ...]:
        """The same by numbers alone: those of tables are theirs, and all others of figures."""
        tables = [number for number in chosen if number in self._table_numbers]
        return self.figures_to_draw([number for number in chosen if number not in tables], tables)

    def cases(self, grid: Grid, figures: Sequence[int]) -> list[Case]:
        """What must be run for these figures and tables, each case once."""
        shown: list[Figure | PrintedTable] = [*self.figures(grid), *self.printed(grid)]
        wanted = (case for one in shown if one.number in figures for case in one.cases)
        return list(dict.fromkeys(wanted))
