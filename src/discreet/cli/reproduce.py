"""``discreet reproduce``: run a paper's experiments again, draw its figures, and judge its claims by the numbers."""

import json as json_format
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import DataOptions, Json, grouped
from discreet.cli.outputs import check_file
from discreet.cli.progress import bar
from discreet.cli.tables import document, note, say, table
from discreet.errors import require

if TYPE_CHECKING:
    from discreet.papers.hybrid_knn.experiment import Outcome
    from discreet.papers.hybrid_knn.verdicts import Verdict

app = typer.Typer(
    help="Run a paper's experiments again, and judge its claims by the numbers.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
TESTED = {
    "plain": "plain kNN",
    "joint": "joint weights",
    "shrunk": "shrunk kNN",
    "damped": "damped kNN",
    "sent": "ours",
}
"""How the publication is read when a claim is judged."""


@dataclass(frozen=True)
class PaperData(DataOptions):
    """The data of an experiment: MovieLens 100K unless another is named."""

    data: Annotated[
        str,
        typer.Option("--data", metavar="DATA", help="A data set by name (`discreet data list`), or a file or folder."),
    ] = "ml-100k"


@app.callback()
def reproduce() -> None:
    """Run a paper's experiments again, and judge its claims by the numbers."""


@app.command()
@grouped
def hybrid(
    source: PaperData,
    figure: Annotated[
        list[int], typer.Option(metavar="2..9", help="Which figure; repeatable (default: all of them).")
    ] = [],  # noqa: B006 (typer copies it)
    seeds: Annotated[
        int | None, typer.Option(metavar="N", help="Repetitions (default: 10 as in the paper, 3 with --quick).")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A coarse grid of settings, in about a minute.")] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the page, the pictures and the numbers.")
    ] = Path("discreet-hybrid"),
    json: Json = False,
) -> None:
    """Perturbation at home plus noise at the recommender's (DASFAA 2017).

    Figures 2 to 9: as published, and ours beside it; with a verdict on every claim.
    """
    from discreet.papers.hybrid_knn.experiment import FIGURES, Grid, run
    from discreet.papers.hybrid_knn.figures import pictures
    from discreet.papers.hybrid_knn.verdicts import comparisons, verdicts

    chosen = tuple(sorted(set(figure))) or FIGURES
    require(set(chosen) <= set(FIGURES), f"the figures with results are 2 to 9, got {', '.join(map(str, chosen))}")
    seeds = (3 if quick else 10) if seeds is None else seeds
    require(seeds >= 1, f"seeds must be at least 1, got {seeds}")
    page = output / "report.html"
    check_file(page)
    with bar() as progress:
        ratings = source.load(progress)
    if not json:
        note("The first run compiles a few kernels; a repetition of all figures takes about a minute on one core.")
        note(f"What is done is kept in {output / 'repetitions.json'}: the same command goes on from there …")
    with bar() as progress:
        outcome = run(
            ratings,
            data=source.name,
            seeds=seeds,
            figures=chosen,
            grid=Grid.quick() if quick else Grid(),
            kept=output / "repetitions.json",
            progress=progress,
        )
    judged = {form: verdicts(outcome, form) for form in TESTED}  # type: ignore[arg-type]
    compared = comparisons(outcome)
    drawn = pictures(outcome)
    files = []
    for picture in drawn:
        picture.save(output / f"{picture.name}.png")
        files.append(output / f"{picture.name}.png")
    described = outcome.to_json() | {
        "verdicts": {
            "ours" if form == "sent" else form: [verdict.to_json() for verdict in found]
            for form, found in judged.items()
        },
        "comparisons": [verdict.to_json() for verdict in compared],
    }
    from discreet.reports.files import write_whole

    write_whole(output / "report.json", (json_format.dumps(described, indent=2) + "\n").encode())
    _write_page(page, outcome, judged, compared, drawn)
    if json:
        document(described | {"page": str(page), "pictures": [str(file) for file in files]})
        return
    _print_verdicts(outcome, judged, compared)
    say(f"The page is {page}; its numbers are in {output / 'report.json'}, its pictures beside it.")


def _print_verdicts(outcome: "Outcome", judged: "dict[str, list[Verdict]]", compared: "list[Verdict]") -> None:
    rows = []
    for claim, *words, numbers, own in _verdict_rows(judged):
        others = [f"{name}: {word}" for name, word in zip(TESTED.values(), words, strict=True) if word != words[0]]
        others = [f"{line} ({own})" if line.startswith("ours") else line for line in others]
        rows.append([words[0], "\n".join([claim, numbers, *others])])
    title = f"{outcome.data}: 80 % to learn from, 20 % to test, {_repetitions(outcome)}, plain kNN"
    table(title, ("verdict", "claim, and the numbers"), rows)
    table("Ours, proven, beside it", ("holds", "what, and the numbers"), _comparison_rows(compared))


def _verdict_rows(judged: "dict[str, list[Verdict]]") -> list[list[str]]:
    """The claim, a word for each reading, and the numbers of the first and of the last: ours."""
    rows = []
    for found in zip(*judged.values(), strict=True):
        words = [verdict.word for verdict in found]
        rows.append([f"Fig. {found[0].figure}: {found[0].claim}", *words, found[0].numbers, found[-1].numbers])
    return rows


def _comparison_rows(compared: "list[Verdict]") -> list[list[str]]:
    return [
        ["yes" if verdict.reproduces else "no", f"Fig. {verdict.figure}: {verdict.claim}\n{verdict.numbers}"]
        for verdict in compared
    ]


def _repetitions(outcome: "Outcome") -> str:
    return f"{outcome.seeds} repetition{'' if outcome.seeds == 1 else 's'}"


def _write_page(
    path: Path, outcome: "Outcome", judged: "dict[str, list[Verdict]]", compared: "list[Verdict]", drawn: Any
) -> None:
    """Verdicts, figures, what is proven, all numbers."""
    from discreet.data.catalogue import Scale
    from discreet.papers.hybrid_knn.figures import reports_table
    from discreet.papers.hybrid_knn.figures import table as numbers
    from discreet.papers.hybrid_knn.privacy import corrected_epsilon
    from discreet.reports.curves import Rows
    from discreet.reports.page import Facts, Pictures, Section, Text, write_page

    held = sum(verdict.reproduces is True for verdict in judged["plain"])
    scale, gammas = Scale(1, 5), (0.0, *outcome.grid.gammas)
    worth = [
        [
            f"{gamma:g}",
            f"{corrected_epsilon(1.0, gamma, scale=scale):.3f}",
            f"{corrected_epsilon(1.0, gamma, scale=scale, ratings_of_a_user=100):.1f}",
            f"{corrected_epsilon(1.0, gamma, scale=scale, relation='replace'):.3f}",
        ]
        for gamma in gammas
    ]
    columns, rows = numbers(outcome)
    sent_columns, sent_rows = reports_table(outcome)
    reported = [
        Rows(
            title="What is sent for a gamma",
            columns=sent_columns,
            rows=sent_rows,
            text="Uniform noise bounds no epsilon; ours does, for the value of a rating. Guessed right: by the best "
            "attack, knowing how often each rating is given. As noisy: the least epsilon of randomised response and of "
            "the piecewise mechanism at which reports vary as much about ratings. As hard to guess: the one that "
            "varies least of those from which no more is guessed right; none where RP gives everything away.",
        )
    ][: 1 if sent_rows else 0]
    sections: list[Section] = [
        Facts(
            facts={
                "claims that reproduce": f"{held} of {len(judged['plain'])}",
                "data": outcome.data,
                "repetitions": str(outcome.seeds),
                "proven epsilon": "none",
            }
        ),
        Rows(
            title="What was claimed, and what came out",
            columns=("claim, and the numbers (plain kNN, then ours)", *TESTED.values()),
            rows=[[f"{claim}\n{found}\nOurs: {own}", *words] for claim, *words, found, own in _verdict_rows(judged)],
            text="Every verdict is computed from the numbers on this page. Plain is a weighted mean over the nearest "
            "items by the published covariance, joint is by the weights of Bell and Koren from it; "
            "shrunk and damped are kinder readings of the same publication. Ours is what stands beside it, with a "
            "proven epsilon: private reports for RP, noisy covariances for DP, both for the hybrid.",
        ),
        Rows(
            title="Ours, proven, beside it",
            columns=("what, and the numbers", "holds"),
            rows=[[text, word] for word, text in _comparison_rows(compared)],
            text="RMSE of ours, predicted from what was sent, beside the form in which the paper's publication "
            "predicts best, setting by setting.",
        ),
        Pictures(title="The figures", pictures=drawn),
        Rows(
            title="What epsilon 1 is worth",
            columns=("gamma", "averages clamped", "as published, 100 ratings", "value changes only"),
            rows=worth,
            text="What the published noise really bounds for one rating of 1 to 5 where 1 is claimed, if the dampings "
            "are public: for a rating that is there or not, with item averages clamped to the scale, and as published "
            "for a user with 100 ratings; and for a rating that only changes its value.",
        ),
        *reported,
        Rows(title="All numbers", columns=columns, rows=rows, text=f"RMSE, mean over {_repetitions(outcome)}."),
        Text(title="Do it again", code=shlex.join(["discreet", *sys.argv[1:]])),
    ]
    write_page(
        path,
        title=f"Perturbation at home plus noise, on {outcome.data}",
        lead="A hybrid of randomized perturbation and differential privacy as it was published in 2017, its figures "
        f"drawn again with {_repetitions(outcome)}, and ours beside it.",
        sections=sections,
    )
