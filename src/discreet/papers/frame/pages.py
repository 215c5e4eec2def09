"""A reproduction as an HTML page and as a page of the documentation."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.pages.curves import Rows
from discreet.pages.drawing import Picture
from discreet.pages.page import Facts, Pictures, Section, Text
from discreet.pages.verdicts import SIGNS, Answer, Entry, Verdicts
from discreet.pages.words import count_of
from discreet.papers.frame.claims import Judged, RunOn, Source, Verdict, count, listed
from discreet.papers.frame.contents import table_of
from discreet.papers.frame.outcome import Outcome
from discreet.papers.frame.paper import Paper

SECTIONS: dict[Source, tuple[str, str]] = {
    "the paper": (
        "What the paper says, and what came out",
        "What it says of these data, or of all that it was run on. Only this is counted: {counted}.",
    ),
    "other data": (
        "What the paper says of other data",
        "Nothing is judged: these data are not those, or not all of those that it speaks of.",
    ),
    "ours": ("Our own questions", "The paper does not answer them, so they do not count for or against it."),
}
"""Of a page, by who says it; ``counted`` are the readings that count."""


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
    verdicts = [
        Verdicts(
            title=title,
            text=text.format(counted=in_words(paper, judged)),
            entries=[_entry(paper, one) for one in judged if one.source == source],
        )
        for source, (title, text) in SECTIONS.items()
        if any(one.source == source for one in judged)
    ]
    sections: list[Section] = [
        Facts(
            facts={
                **_counts(paper, judged),
                "data": outcome.data.title,
                "repetitions": str(outcome.seeds),
                "proven epsilon": paper.proven,
            }
        ),
        *verdicts,
        Pictures(title="The figures", pictures=pictures),
        *_printed(paper, outcome),
        *paper.tables(outcome),
        _data(paper, outcome),
        _numbers(paper, outcome),
        *([table_of(paper.contents)] if paper.contents else []),
        *([Text(title="Do it again", code=command)] if command else []),
    ]
    return Page(f"{paper.title}, on {outcome.data.title}", f"{paper.summary} {paper.citation}.", sections)


def document_of(paper: Paper, outcome: Outcome, judged: Sequence[Judged], pictures: Sequence[Picture] = ()) -> str:
    """Markdown: verdict and picture first, then the claims, the notes and the numbers.

    What is said of the paper once, whatever the data, is on its main page alone.
    """
    data, stem, main = outcome.data, document_name(paper, outcome), document_name(paper, outcome) == paper.name
    parts = [
        f"# {paper.title}" if main else f"# {paper.title}, on {data.title}",
        f"{paper.summary} {paper.citation}." if main else f"All about it is on [its page]({paper.name}.md).",
        f"**{in_words(paper, judged)}** on {data.title} ({data.users:,} users, {data.items:,} items, "
        f"{data.ratings:,} ratings; {_repetitions(outcome)}). Proven epsilon: {paper.proven}. All numbers, repetition "
        f"by repetition: [{stem}.json]({stem}.json).",
        *(f"![{picture.title}]({stem}-{picture.name}.png)\n\n{picture.caption}" for picture in pictures),
        f"```sh\n{_command(paper, outcome)}\n```",
    ]
    for source, (title, text) in SECTIONS.items():
        chosen = [one for one in judged if one.source == source]
        if chosen:
            parts += [f"## {title}", text.format(counted=in_words(paper, judged)), _claims_table(paper, chosen)]
    parts += [paper.notes.strip()] if paper.notes and main else []
    contents = [table_of(paper.contents)] if paper.contents and main else []
    made = (*_printed(paper, outcome), *paper.tables(outcome), _data(paper, outcome))
    for rows in (*made, _numbers(paper, outcome, shown=True), *contents):
        parts += [f"## {rows.title}", rows.text, _table(rows.columns, rows.rows)]
    again = f"discreet reproduce {paper.name} --from docs/papers/{stem}.json --document docs/papers"
    head = f"<!-- Written by `{again}`: change the paper, not this page. -->"
    return "\n\n".join([head, *filter(None, parts)]) + "\n"


def document_name(paper: Paper, outcome: Outcome) -> str:
    """What the files of the documentation are called: the paper's other data have pages of their own."""
    others = (known.name for known in paper.run_on[1:] if known.is_(outcome.data))
    return next((f"{paper.name}-{name}" for name in others), paper.name)


def _command(paper: Paper, outcome: Outcome) -> str:
    stem = document_name(paper, outcome)
    data = "" if stem == paper.name else f" --data {outcome.data.name}"
    quick = " --quick" if outcome.grid == paper.quick else ""
    return f"discreet reproduce {paper.name}{data}{quick} --seeds {outcome.seeds} -o {stem}"


def in_words(paper: Paper, judged: Sequence[Judged]) -> str:
    """How many claims reproduce, in every reading that counts."""
    counts = {reading: count(judged, reading) for reading in paper.counts}
    (first, (held, of)), *others = counts.items()
    if not any(of for _, of in counts.values()):
        return "none of its claims is counted"
    if not others:
        return f"{held} of {of} claims reproduce"
    rest = [f"{held} of {of} {paper.readings[reading]}" for reading, (held, of) in others]
    return listed([f"{held} of {of} claims reproduce {paper.readings[first]}", *rest])


def numbers_of(paper: Paper, judged: Judged) -> list[str]:
    """What the verdicts that count rest on, each after its reading; once where there is one, or they are the same."""
    own = [reading for reading in judged.verdicts if reading in paper.counts] or list(judged.verdicts)[:1]
    found = {reading: judged.verdicts[reading].numbers for reading in own}
    if len(set(found.values())) == 1:
        return [next(iter(found.values()))]
    return [f"{paper.readings[reading]}: {numbers}" for reading, numbers in found.items()]


def sign_of(verdict: Verdict, source: Source) -> str:
    """A sign and a word."""
    sign, reproduces, holds = SIGNS[verdict.reproduces]
    return f"{sign} {holds if source == 'ours' else reproduces}"


def _entry(paper: Paper, judged: Judged) -> Entry:
    return Entry(
        where=judged.at,
        text=judged.claim,
        question=judged.source == "ours",
        answers=[
            Answer(paper.readings[reading], verdict.reproduces, verdict.numbers)
            for reading, verdict in judged.verdicts.items()
        ],
    )


def _claims_table(paper: Paper, judged: Sequence[Judged]) -> str:
    """A column for each reading, and the numbers of those that count."""
    readings = list(dict.fromkeys(reading for one in judged for reading in one.verdicts))
    columns = ["where", "claim", *(paper.readings[reading] for reading in readings), "numbers"]
    rows = []
    for one in judged:
        signs = [SIGNS[one.verdicts[reading].reproduces][0] if reading in one.verdicts else "" for reading in readings]
        rows.append([one.at, one.claim, *signs, "; ".join(numbers_of(paper, one))])
    return _table(columns, rows)


def _counts(paper: Paper, judged: Sequence[Judged]) -> dict[str, str]:
    found = {reading: "{} of {}".format(*count(judged, reading)) for reading in paper.counts}
    if len(found) == 1:
        return {"claims that reproduce": next(iter(found.values()))}
    return {f"reproduce {paper.readings[reading]}": text for reading, text in found.items()}


def _printed(paper: Paper, outcome: Outcome) -> list[Rows]:
    """Its tables that were run, theirs beside ours."""
    chosen = [table for table in paper.printed(outcome.grid) if table.number in outcome.figures]
    return [table.beside(outcome, paper.readings) for table in chosen]


def _data(paper: Paper, outcome: Outcome) -> Rows:
    def row(known: RunOn) -> list[str]:
        run = "run" if known.is_(outcome.data) else "not on this page"
        return [known.name, known.sizes, known.test, known.clash or "none found", run]

    return Rows(
        title="The paper's data",
        columns=("data", "as the paper describes them", "its test set", "where its sizes clash", "here"),
        rows=[row(known) for known in paper.run_on],
        text=f"Run here: {outcome.data.title}, "
        + ("with the test set that came with them." if outcome.data.test_given else "with random splits."),
    )


def _numbers(paper: Paper, outcome: Outcome, *, shown: bool = False) -> Rows:
    """All means, or those that the documentation shows."""
    cases = [case for case in (paper.shown(outcome.grid) if shown else outcome.numbers) if case in outcome.numbers]
    names = list(dict.fromkeys(name for case in cases for name, _ in case.settings))
    aside = paper.aside if shown else ()
    readings = [one for one in paper.readings if one not in aside and any(outcome.has(case, one) for case in cases)]
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
