"""The tables of a paper: what it printed beside what came out here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.pages.curves import Rows
from discreet.papers.frame.cases import Case
from discreet.papers.frame.outcome import Outcome, with_half_width


@dataclass(frozen=True)
class PrintedRow:
    """One number of a table: which method, what is measured, the case here, and what is printed for each data set."""

    method: str
    metric: str
    case: Case
    printed: Mapping[str, float]


@dataclass(frozen=True)
class PrintedTable:
    """A table with results; no figure of the same paper has its number."""

    number: int
    title: str
    rows: Sequence[PrintedRow]

    @property
    def cases(self) -> list[Case]:
        """What must be run for it, each case once."""
        return list(dict.fromkeys(row.case for row in self.rows))

    def beside(self, outcome: Outcome, readings: Mapping[str, str]) -> Rows:
        """Theirs beside ours, in every reading that some case has."""
        cases = self.cases
        shown = [name for name in readings if any(outcome.has(case, name) for case in cases)]
        data, rows = outcome.data.name, []
        for row in self.rows:
            printed = f"{row.printed[data]:.2f}" if data in row.printed else "·"
            ours = [self._written(outcome, row.case, name) for name in shown]
            rows.append([row.method, row.metric, printed, *ours])
        known = any(data in row.printed for row in self.rows)
        other = ", ".join(dict.fromkeys(name for row in self.rows for name in row.printed))
        return Rows(
            title=f"Table {self.number}: {self.title}",
            columns=("method", "metric", "printed", *(readings[name] for name in shown)),
            rows=rows,
            text="Ours: means over the repetitions, ± half their 95 % interval."
            + ("" if known else f" The paper has these numbers for {other} alone."),
        )

    @staticmethod
    def _written(outcome: Outcome, case: Case, reading: str) -> str:
        if not outcome.has(case, reading):
            return "·"
        mean, half = with_half_width(outcome.at(case, reading).values)
        return f"{mean:.3f} ± {half:.3f}"
