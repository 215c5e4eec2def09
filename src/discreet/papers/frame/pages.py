"""A reproduction as an HTML page and as a page of the documentation."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.papers.frame.claims import Judged, Source, Verdict, count
from discreet.papers.frame.outcome import Outcome
from discreet.papers.frame.paper import Paper
from discreet.reports.curves import Rows
from discreet.reports.drawing import Picture
from discreet.reports.page import Facts, Pictures, Section, Text
from discreet.reports.verdicts import SIGNS, Answer, Entry, Verdicts
from discreet.reports.words import count_of

SECTIONS: dict[Source, tuple[str, str]] = {
    "the paper": (
        "What the paper says, and what came out",
        "What it says of these data, or of all that it was run on. Only this is counted, as read by {first}.",
    ),
    "other data": (
        "What the paper says of other data",
        "Nothing is judged: these data are not those.",
    ),
    "ours": ("Our own questions", "The paper does not answer them, so they do not count for or against it."),
}
"""Of a page, by who says it; ``first`` is the reading that counts."""


@dataclass(frozen=True)
class Page:
    """What goes onto an HTML page."""

    title: str
    lead: str
    sections: Sequence[Section]


def page_of(
    paper: Paper, outcome: Outcome, judged: Sequence[Judged], pictures: Sequence[Picture], command: str = ""
) -> Page:
    """Verdicts, figures, what is proven, all numbers."""
    held, of = count(judged)
    verdicts = [
        Verdicts(
            title=title,
            text=text.format(first=paper.readings[paper.judged[0]]),
            entries=[_entry(paper, one) for one in judged if one.source == source],
        )
        for source, (title, text) in SECTIONS.items()
        if any(one.source == source for one in judged)
    ]
    sections: list[Section] = [
        Facts(
            facts={
                "claims that reproduce": f"{held} of {of}",
                "data": outcome.data.name,
                "repetitions": str(outcome.seeds),
                "proven epsilon": paper.proven,
            }
        ),
        *verdicts,
        Pictures(title="The figures", pictures=pictures),
        *paper.tables(outcome),
        _numbers(paper, outcome),
        *([Text(title="Do it again", code=command)] if command else []),
    ]
    return Page(f"{paper.title}, on {outcome.data.name}", f"{paper.summary} {paper.citation}.", sections)


def document_of(paper: Paper, outcome: Outcome, judged: Sequence[Judged], pictures: Sequence[Picture] = ()) -> str:
    """Markdown: verdict and picture first, then the claims, the notes and the numbers."""
    held, of = count(judged)
    data = outcome.data
    parts = [
        f"# {paper.title}",
        f"{paper.summary} {paper.citation}.",
        f"**{held} of {of} claims reproduce** on {data.name} ({data.users:,} users, {data.items:,} items, "
        f"{data.ratings:,} ratings; {_repetitions(outcome)}). Proven epsilon: {paper.proven}. All numbers, repetition "
        f"by repetition: [{paper.name}.json]({paper.name}.json).",
        *(f"![{picture.title}]({paper.name}-{picture.name}.png)\n\n{picture.caption}" for picture in pictures),
        f"```sh\ndiscreet reproduce {paper.name} --seeds {outcome.seeds} -o {paper.name}\n```",
    ]
    for source, (title, text) in SECTIONS.items():
        chosen = [one for one in judged if one.source == source]
        if chosen:
            first = paper.readings[paper.judged[0]]
            parts += [f"## {title}", text.format(first=first), _claims_table(paper, chosen)]
    parts += [paper.notes.strip()] if paper.notes else []
    for rows in (*paper.tables(outcome), _numbers(paper, outcome, shown=True)):
        parts += [f"## {rows.title}", rows.text, _table(rows.columns, rows.rows)]
    again = f"discreet reproduce {paper.name} --from docs/papers/{paper.name}.json --document docs/papers"
    head = f"<!-- Written by `{again}`: change the paper, not this page. -->"
    return "\n\n".join([head, *filter(None, parts)]) + "\n"


def sign_of(verdict: Verdict, source: Source) -> str:
    """A sign and a word."""
    sign, reproduces, holds = SIGNS[verdict.reproduces]
    return f"{sign} {holds if source == 'ours' else reproduces}"


def _entry(paper: Paper, judged: Judged) -> Entry:
    return Entry(
        where=f"Fig. {judged.figure}",
        text=judged.claim,
        question=judged.source == "ours",
        answers=[
            Answer(paper.readings[reading], verdict.reproduces, verdict.numbers)
            for reading, verdict in judged.verdicts.items()
        ],
    )


def _claims_table(paper: Paper, judged: Sequence[Judged]) -> str:
    """A column for each reading; the words of the first, and of another where its verdict differs."""
    readings = list(dict.fromkeys(reading for one in judged for reading in one.verdicts))
    columns = ["Fig.", "claim", *(paper.readings[reading] for reading in readings), "numbers"]
    rows = []
    for one in judged:
        signs = [SIGNS[one.verdicts[reading].reproduces][0] if reading in one.verdicts else "" for reading in readings]
        rows.append([str(one.figure), one.claim, *signs, one.first.numbers])
    return _table(columns, rows)


def _numbers(paper: Paper, outcome: Outcome, *, shown: bool = False) -> Rows:
    """All means, or those that the documentation shows."""
    cases = [case for case in (paper.shown(outcome.grid) if shown else outcome.numbers) if case in outcome.numbers]
    names = list(dict.fromkeys(name for case in cases for name, _ in case.settings))
    readings = [reading for reading in paper.readings if any(outcome.has(case, reading) for case in cases)]
    rows = []
    for case in cases:
        settings = [case.get(name) for name in names]
        means = [
            f"{outcome.at(case, one).mean:.{3 if shown else 4}f}" if outcome.has(case, one) else "·" for one in readings
        ]
        rows.append([case.method, *("·" if value is None else f"{value:g}" for value in settings), *means])
    return Rows(
        title="Numbers" if shown else "All numbers",
        columns=["method", *names, *(paper.readings[reading] for reading in readings)],
        rows=rows,
        text=f"{paper.metric}, mean over {_repetitions(outcome)}.",
    )


def _repetitions(outcome: Outcome) -> str:
    return count_of(outcome.seeds, "repetition")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', '/').replace(chr(10), ' ') for cell in line)} |" for line in lines
    )
