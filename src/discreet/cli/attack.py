"""``discreet attack NAME``: run attacks on a published protocol and on ours, and say how far each one got."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import DataOptions, Json, grouped, this_command
from discreet.cli.progress import bar
from discreet.cli.tables import document, say, table
from discreet.fitting.outputs import check_file

if TYPE_CHECKING:
    from discreet.papers.untrusted.attacks import Attacks

app = typer.Typer(
    help="Attack a published protocol and ours, and compare.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class AttackData(DataOptions):
    """The data of an attack: the paper's own unless another is named."""

    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A data set by name (`discreet data list`), or a file or folder.")
    ] = "ml-100k"


@app.callback()
def attack() -> None:
    """Run attacks on a published protocol and on ours, and say how far each one got."""


@app.command("untrusted")
@grouped
def untrusted(
    source: AttackData,
    victims: Annotated[int, typer.Option(metavar="N", help="How many users are attacked.")] = 20,
    epsilon: Annotated[float, typer.Option(metavar="E", help="What the published protocol claims.")] = 0.1,
    seed: Annotated[int | None, typer.Option(metavar="SEED", help="Repeatable victims and noise.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page.")] = None,
    json: Json = False,
) -> None:
    """Attack an untrusted recommender (IJCAI 2015), and ours.

    The recommender of the published protocol chooses the spread of the noise, the group and the item vectors. Here it
    uses that to read users' ratings off what they send: by the difference of rounds, by H = 0, with a group of one, and
    with a group with and without a user. Then it tries the same with the sound protocol. Ends with 1 if the sound
    protocol gives ratings away. Nothing that is recovered is shown or kept, only how many ratings and how far off.
    """
    if html is not None:
        check_file(html)
    from discreet.papers.untrusted.attacks import attack as run

    with bar() as progress:
        ratings = source.load(progress)
    with bar() as progress:
        found = run(ratings, victims=victims, epsilon=epsilon, seed=seed, data=source.name, progress=progress)
    if html is not None:
        from discreet.papers.untrusted.attack_page import write_attacks

        write_attacks(found, html, this_command())
    if json:
        document(found.to_json())
    else:
        print_attacks(found)
        if html is not None:
            say(f"The page is {html}")
    if any(row.succeeds for row in found.rows if row.protocol == "sound"):
        raise typer.Exit(1)


def print_attacks(found: "Attacks") -> None:
    """What came of each, then what they say together."""
    from discreet.papers.untrusted.attack_page import COLUMNS, cells

    for protocol, title in (("published", "The published protocol"), ("sound", "The sound protocol")):
        table(title, COLUMNS, [cells(row) for row in found.rows if row.protocol == protocol])
    for sentence in found.sentences():
        say(sentence)
