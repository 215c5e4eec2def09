"""``discreet perturb`` for users and ``discreet collect`` for a recommender: ratings perturbed at home.

``perturb`` is meant for small devices, so it loads numpy and ``cryptography`` and nothing else that is heavy.
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.grouping import option
from discreet.cli.options import Json, grouped
from discreet.cli.progress import bar
from discreet.cli.tables import document, facts, note, say
from discreet.errors import InputError, UnknownNameError, require
from discreet.fitting.outputs import check_file

if TYPE_CHECKING:
    from discreet.collect.mechanisms import Piecewise, RandomisedResponse, UniformNoise
    from discreet.collect.presence import HiddenItems
    from discreet.collect.reconstruction import Risk
    from discreet.data.catalogue import Scale

NAMES = ("uniform", "response", "piecewise", "hidden-items")
SHOWN = 20  # rejected reports that are named one by one


@dataclass(frozen=True)
class MechanismOptions:
    """How ratings are perturbed."""

    gamma: float | None = option(metavar="G", help="Uniform noise on [-G, G]. Promises nothing: see the output.")
    epsilon: float | None = option(metavar="E", help="Local differential privacy for each rating.")
    mechanism: str | None = option(metavar="NAME", help=f"One of {', '.join(NAMES)}; default: uniform or response.")
    step: float = option(metavar="S", help="Distance of two levels of the scale (response, hidden-items).", default=1.0)

    def chosen(self) -> "UniformNoise | RandomisedResponse | Piecewise | HiddenItems":
        """The mechanism that the options name; what is out of range is refused here, before any work."""
        from discreet.collect.mechanisms import Piecewise, RandomisedResponse, UniformNoise
        from discreet.collect.presence import HiddenItems

        require(
            self.gamma is not None or self.epsilon is not None,
            "say how to perturb: --gamma for uniform noise, or --epsilon for local differential privacy",
        )
        require(self.gamma is None or self.epsilon is None, "--gamma and --epsilon are different ways: choose one")
        name = self.mechanism or ("response" if self.gamma is None else "uniform")
        if name not in NAMES:
            raise UnknownNameError.among("mechanism", name, NAMES)
        if name == "uniform":
            if self.gamma is None:
                raise InputError("uniform noise takes --gamma, not --epsilon")
            return UniformNoise(gamma=self.gamma)
        if self.epsilon is None:
            raise InputError(f"the mechanism {name} takes --epsilon, not --gamma")
        if name == "piecewise":
            return Piecewise(epsilon=self.epsilon)
        response = RandomisedResponse if name == "response" else HiddenItems
        return response(epsilon=self.epsilon, step=self.step)

    @property
    def given(self) -> bool:
        """Whether any of them was."""
        return self.gamma is not None or self.epsilon is not None or self.mechanism is not None


ScaleOption = Annotated[str, typer.Option(metavar="LOW:HIGH", help="The rating scale.")]


@grouped
def perturb(
    history: Annotated[Path, typer.Argument(metavar="HISTORY", help="CSV with the columns item or title, and rating.")],
    how: MechanismOptions,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where to write the report.")],
    scale: ScaleOption = "1:5",
    items: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The public list of items, for hidden-items: a column item.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Make one more report of these ratings. It costs epsilon once more.")
    ] = False,
    json: Json = False,
) -> None:
    """Perturb your own ratings here, and write a report to send.

    HISTORY.sent keeps count of the reports that were made of HISTORY. Each costs epsilon, so a second one has to be
    asked for with --again; at the same -o it replaces the first, under the same id.
    """
    from discreet.collect.client import make_report
    from discreet.collect.sent import record_of
    from discreet.data.catalogue import Scale

    mechanism, declared = how.chosen(), Scale.parse(scale)
    hides_items = mechanism.name == "hidden-items"
    require(hides_items == (items is not None), "--items goes with --mechanism hidden-items, which needs it")
    check_file(output)
    try:
        public = items is not None  # as the option's help has it: the public list of items
        made = make_report(history, mechanism, output, scale=declared, items=items, items_public=public, again=again)
    except InputError as error:  # the library speaks of arguments, the command line of options
        raise InputError(str(error).replace("again=True", "--again"), place=error.place) from None
    report, own, sent, guarantee = made.report, made.ratings, made.sent, mechanism.guarantee
    together = None if guarantee.proven is None else guarantee.proven.for_group(own)
    risk = _risk(mechanism, declared)
    if json:
        document(
            {
                "report": str(output),
                "ratings": own,
                "entries": len(report),
                "mechanism": {"name": mechanism.name, **mechanism.settings},
                "guarantee": guarantee.to_json(),
                "history": None if together is None else dataclasses.asdict(together),
                "sent": {"reports": len(sent), "epsilon": sent.epsilon, "record": str(record_of(history))},
                "risk": None if risk is None else dataclasses.asdict(risk),
            }
        )
        return
    say(f"{output}: {own} ratings, perturbed by {report.form}")
    say(str(guarantee))
    if together is not None:
        say(f"All {own} ratings together: {together}.")
        if not hides_items:
            say("Which items were rated is not hidden.")
    say(f"Made of {history} so far: {sent}; {record_of(history).name} keeps count.")
    if risk is not None:
        say(f"Someone who knows how often each rating is given guesses from such reports: {risk}.")


@grouped
def collect(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of reports, one .json file each.")],
    how: MechanismOptions,
    scale: ScaleOption = "1:5",
    items: Annotated[
        str | None, typer.Option(metavar="FILE", help="The public items: a table, or a data set by name.")
    ] = None,
    json: Json = False,
) -> None:
    """Read reports, and count those that cannot be used, and why.

    With --gamma or --epsilon, reports that were perturbed otherwise are rejected; without, those that were not
    perturbed like most of them. Every command that takes DATA takes such a folder.
    """
    from discreet.data.catalogue import Scale
    from discreet.data.loading import public_items
    from discreet.data.reports import read_reports

    declared = Scale.parse(scale)
    form = how.chosen().form(declared) if how.given else None
    with bar() as progress:
        catalogue = None if items is None else public_items(items, declared, items_public=True)
        found = read_reports(folder, catalogue, form=form, progress=progress)
    if json:
        document(
            {
                "folder": str(folder),
                "used": found.ratings.n_users,
                "entries": len(found.ratings),
                "items": found.ratings.n_items,
                "mechanism": {"name": found.form.mechanism, **found.form.settings},
                "seeded": found.form.seeded,
                "digest": found.digest,
                "scale": [found.form.scale.low, found.form.scale.high],
                "reported": [found.form.reported.low, found.form.reported.high],
                "rejected": found.counts,
                "reports": [dataclasses.asdict(rejected) for rejected in found.rejected],
            }
        )
        return
    rejected = ", ".join(f"{count:,} {reason}" for reason, count in found.counts.items())
    facts(
        [
            ("reports used", f"{found.ratings.n_users:,}"),
            ("rejected", f"{len(found.rejected):,}" + (f": {rejected}" if rejected else "")),
            ("perturbed by", str(found.form)),
            ("scale", f"{found.form.scale}, reported {found.form.reported}"),
            ("entries", f"{len(found.ratings):,}, of {found.ratings.n_items:,} items"),
        ]
    )
    for entry in found.rejected[:SHOWN]:
        note(str(entry))
    if len(found.rejected) > SHOWN:
        note(f"… and {len(found.rejected) - SHOWN:,} more; --json lists all of them")


def _risk(mechanism: "UniformNoise | RandomisedResponse | Piecewise | HiddenItems", scale: "Scale") -> "Risk | None":
    """What the best attack on values achieves, where it is known how often each rating is given."""
    from discreet.collect.presence import HiddenItems
    from discreet.collect.reconstruction import MOVIELENS, risk_of
    from discreet.data.catalogue import Scale

    if isinstance(mechanism, HiddenItems) or scale != Scale(1, 5):
        return None
    return risk_of(mechanism, MOVIELENS)
