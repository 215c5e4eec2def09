"""Claims: what a paper says, of which data, and whether it holds here.

Every claim has a source, and only what the paper says of the data at hand is counted:

    the paper       it says so of these data, or of all that it was run on, these among them
    other data      it says so of other data, or was never run on these: nothing is judged, and the verdict says why
    ours            a question of our own, which the paper does not answer

``docs/papers/rules.md`` has the rules.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from discreet.papers.frame.cases import Case
from discreet.papers.frame.judges import Finding
from discreet.papers.frame.outcome import Data, Outcome, Sample

Source = Literal["the paper", "other data", "ours"]


@dataclass(frozen=True, kw_only=True)
class RunOn:
    """Data that a paper was run on, as it describes them.

    Parameters
    ----------
    name
        What we call them.
    sizes, test
        How large it says they are, and how it says a test set was held out.
    clash
        Where what it says does not agree with itself or with the data.
    most_rated
        To how many items it cut them, where it did.
    """

    name: str
    sizes: str
    test: str
    clash: str = ""
    most_rated: int | None = None

    def is_(self, data: Data) -> bool:
        """Whether these are they: all of them, or cut as the paper did."""
        return data.name == self.name and data.most_rated in (None, self.most_rated)


@dataclass(frozen=True)
class Seen:
    """An outcome in one reading, as a judge sees it: call it with cases for their line."""

    outcome: Outcome
    reading: str

    def __call__(self, cases: Iterable[Case], reading: str | None = None) -> list[Sample]:
        """The line of these cases, in this reading or another."""
        return self.outcome.line(cases, self.reading if reading is None else reading)


@dataclass(frozen=True)
class Claim:
    """Something that can be judged.

    Parameters
    ----------
    figure
        Where the paper shows it, or would: it is judged when this is run.
    text
        What is claimed, in our words.
    judge
        From what was seen in a reading to a finding; None where nothing was run that it is about.
    data
        Which data sets the paper says it of; empty for all that it was run on.
    ours
        Whether it is a question of our own.
    readings
        In which it is judged; empty for all that the paper is judged in.
    not_for
        Readings for which nothing can be run, with the reason.
    at
        Where the paper says it, if not at the figure.
    """

    figure: int
    text: str
    judge: Callable[[Seen], Finding | None]
    _: KW_ONLY
    data: Sequence[str] = ()
    ours: bool = False
    readings: Sequence[str] = ()
    not_for: Mapping[str, str] = field(default_factory=dict)
    at: str = ""

    def source(self, data: Data, run_on: Sequence[RunOn]) -> Source:
        """Who says it, of these data; ``run_on`` is all that the paper was run on."""
        if self.ours:
            return "ours"
        meant = (known for known in run_on if not self.data or known.name in self.data)
        return "the paper" if any(known.is_(data) for known in meant) else "other data"

    def judged(self, outcome: Outcome, readings: Sequence[str], run_on: Sequence[RunOn]) -> "Judged":
        """In its readings, or in these."""
        source = self.source(outcome.data, run_on)
        there = listed(self.data or [known.name for known in run_on])
        verdicts = {
            reading: self._verdict(Seen(outcome, reading), source, there) for reading in self.readings or readings
        }
        return Judged(self.figure, self.text, source, verdicts, self.at or f"Fig. {self.figure}")

    def _verdict(self, seen: Seen, source: Source, there: str) -> "Verdict":
        if seen.reading in self.not_for:
            return Verdict(None, self.not_for[seen.reading])
        found = self.judge(seen)
        if found is None:
            return Verdict(None, "nothing was run that it is about")
        if source == "other data":
            return Verdict(
                None, f"the paper says it of {there}, not of {seen.outcome.data.title}; here: {found.numbers}"
            )
        return Verdict(found.holds, found.numbers)


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds in one reading; None where it cannot be judged, and ``numbers`` then says why."""

    reproduces: bool | None
    numbers: str


@dataclass(frozen=True)
class Judged:
    """A claim with its verdicts, by reading, and where the paper has it."""

    figure: int
    claim: str
    source: Source
    verdicts: Mapping[str, Verdict]
    at: str = ""

    @property
    def first(self) -> Verdict:
        """In the first reading."""
        return next(iter(self.verdicts.values()))

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "figure": self.figure,
            "at": self.at,
            "claim": self.claim,
            "source": self.source,
            "verdicts": {reading: vars(verdict) for reading, verdict in self.verdicts.items()},
        }


def judge_all(
    claims: Sequence[Claim], outcome: Outcome, readings: Sequence[str], run_on: Sequence[RunOn]
) -> list[Judged]:
    """Every claim about a figure that was run."""
    return [claim.judged(outcome, readings, run_on) for claim in claims if claim.figure in outcome.figures]


def count(judged: Iterable[Judged], reading: str) -> tuple[int, int]:
    """How many of the paper's claims about these data reproduce in a reading, and how many there are."""
    verdicts = [one.verdicts[reading] for one in judged if one.source == "the paper" and reading in one.verdicts]
    counted = [verdict.reproduces for verdict in verdicts if verdict.reproduces is not None]
    return sum(counted), len(counted)


def listed(names: Sequence[str]) -> str:
    """In words.

    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else "no data"
