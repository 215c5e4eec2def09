"""Claims: what a paper says, of which data, and whether it holds here.

Every claim has a source, and only what the paper says of the data at hand is counted:

    the paper       it says so of these data, or of all that it was run on
    other data      it says so of other data: nothing is judged, and the verdict says why
    ours            a question of our own, which the paper does not answer
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from discreet.papers.frame.cases import Case
from discreet.papers.frame.judges import Finding
from discreet.papers.frame.outcome import Outcome, Sample

Source = Literal["the paper", "other data", "ours"]


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
        Where the paper shows it, or would.
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
    """

    figure: int
    text: str
    judge: Callable[[Seen], Finding | None]
    _: KW_ONLY
    data: Sequence[str] = ()
    ours: bool = False
    readings: Sequence[str] = ()
    not_for: Mapping[str, str] = field(default_factory=dict)

    def source(self, data: str) -> Source:
        """Who says it, of the data of this name."""
        if self.ours:
            return "ours"
        return "the paper" if not self.data or data in self.data else "other data"

    def judged(self, outcome: Outcome, readings: Sequence[str]) -> "Judged":
        """In its readings, or in these."""
        source = self.source(outcome.data.name)
        verdicts = {reading: self._verdict(Seen(outcome, reading), source) for reading in self.readings or readings}
        return Judged(self.figure, self.text, source, verdicts)

    def _verdict(self, seen: Seen, source: Source) -> "Verdict":
        if seen.reading in self.not_for:
            return Verdict(None, self.not_for[seen.reading])
        found = self.judge(seen)
        if found is None:
            return Verdict(None, "nothing was run that it is about")
        if source == "other data":
            there, here = " and ".join(self.data), seen.outcome.data.name
            return Verdict(None, f"the paper says it of {there}, not of {here}; here: {found.numbers}")
        return Verdict(found.holds, found.numbers)


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds in one reading; None where it cannot be judged, and ``numbers`` then says why."""

    reproduces: bool | None
    numbers: str


@dataclass(frozen=True)
class Judged:
    """A claim with its verdicts, by reading; the first reading is the one that counts."""

    figure: int
    claim: str
    source: Source
    verdicts: Mapping[str, Verdict]

    @property
    def first(self) -> Verdict:
        """In the first reading."""
        return next(iter(self.verdicts.values()))

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "figure": self.figure,
            "claim": self.claim,
            "source": self.source,
            "verdicts": {reading: vars(verdict) for reading, verdict in self.verdicts.items()},
        }


def judge_all(claims: Sequence[Claim], outcome: Outcome, readings: Sequence[str]) -> list[Judged]:
    """Every claim about a figure that was run."""
    return [claim.judged(outcome, readings) for claim in claims if claim.figure in outcome.figures]


def count(judged: Iterable[Judged]) -> tuple[int, int]:
    """How many of the paper's claims about these data reproduce, and how many there are."""
    counted = [one.first.reproduces for one in judged if one.source == "the paper"]
    counted = [held for held in counted if held is not None]
    return sum(held is True for held in counted), len(counted)
