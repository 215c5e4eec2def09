"""The options that several commands share: where the data are and how to read them, ``--set``, ``--json``."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli.data_options import DataOptions as DataOptions
from discreet.cli.grouping import grouped as grouped
from discreet.cli.grouping import option
from discreet.cli.grouping import this_command as this_command
from discreet.cli.grouping import typed as typed
from discreet.errors import InputError, require

if TYPE_CHECKING:
    from discreet.evaluation.protocols import SplitProtocol
    from discreet.populations.terms import Terms

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
ReleaseFolder = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write the release to.")]
BudgetUrl = Annotated[
    str | None, typer.Option("--budget", metavar="URL", help="Where the budget of DATA is kept (`discreet budget`).")
]
Replace = Annotated[bool, typer.Option("--replace", help="Replace the release in DIR; one that was paid for is lost.")]
Sign = Annotated[
    Path | None,
    typer.Option("--sign", metavar="KEY", help="Sign the release with this secret key (`discreet keys`)."),
]
OwnModel = Annotated[
    str | None,
    typer.Option("--model", metavar="MODULE:CLASS", help="The class of its model, if it is not one of Discreet's."),
]
Settings = Annotated[
    list[str],
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the model, for example neighbours=100; repeatable."),
]

AccountOption = Annotated[
    str | None,
    typer.Option(
        "--account", metavar="NAME", help="Which account of the budget pays (default: found by DATA and its users)."
    ),
]
TunedOn = Annotated[
    str | None,
    typer.Option(
        "--tuned-on",
        metavar="DATA",
        help="On what the settings were chosen, for example ml-1m; nothing: before anyone looked.",
    ),
]
RunId = Annotated[
    str | None, typer.Option("--run-id", metavar="ID", help="Names this run: tried again, it is paid once.")
]
AudienceOption = Annotated[
    int | None,
    typer.Option(
        "--audience",
        metavar="N",
        help="About how many users take part, as far as this is publicly known; an order of magnitude is enough "
        "(default: what the publisher of a data set states, or 1000).",
    ),
]

PurposeOption = Annotated[
    Literal["ratings", "ranking", "both"] | None,
    typer.Option(
        "--for",
        help="What the release is for, for models that plan by it: predicting ratings, ranking, or both (the default).",
    ),
]

PREVIOUS = "previous"
PriorOption = Annotated[
    str | None,
    typer.Option(
        "--prior",
        metavar="DIR",
        help="A public release to start from; believed as far as the noisy sums agree with it. "
        f"'{PREVIOUS}': the one that a fit replaces, if there is one.",
    ),
]


@dataclass(frozen=True)
class SplitOptions:
    """How the ratings are divided: one of five ways, and a seed."""

    folds: int | None = option(metavar="N", help="Cross-validate: every rating is held out once (default: 5).")
    test: float | None = option(metavar="SHARE", help="Hold out a share of all ratings, for example 0.2.")
    each_user: bool = option(
        "--each-user", help="Divide each user's ratings 8:1:1 and measure rankings.", default=False
    )
    held_out_users: bool = option(
        "--held-out-users", help="Hold out a tenth of the users; 80% of their ratings are history.", default=False
    )
    split: str | None = option(
        metavar="WAY",
        help="time: hold out the last tenth (or --test) of all ratings; last: those of each user. Rankings.",
    )
    published: str | None = option(
        metavar="TABLE", help="The split of the published tables: ml-10m (ratings) or ml-20m (ranking)."
    )
    seed: int = option(metavar="SEED", help="Which random split.", default=0)
    seeds: int = option(metavar="N", help="How many splits, with seeds from SEED on (not with folds).", default=1)

    def protocol(self, *, ranking: bool = False) -> "SplitProtocol":
        """The protocol that the options name; settings out of range are refused here, before any work.

        Without a name it is one for rankings where nothing else can be measured.
        """
        from discreet.evaluation.protocols import ByTime, EachUser, Folds, HeldOutUsers, HoldOut

        if self.split is not None:
            require(self.split in ("time", "last"), f"--split must be time or last, got {self.split!r}")
            others = [self.folds, self.each_user or None, self.held_out_users or None, self.published]
            require(
                all(other is None for other in others) and self.seed == 0 and self.seeds == 1,
                "--split goes by time, and with --test SHARE alone: leave out other ways to split, and seeds",
            )
            return ByTime(test=0.1 if self.test is None else self.test, each_user=self.split == "last")

        ways = {
            "--folds": self.folds is not None,
            "--test": self.test is not None,
            "--each-user": self.each_user,
            "--held-out-users": self.held_out_users,
            "--published": self.published is not None,
        }
        chosen = [name for name, given in ways.items() if given]
        require(len(chosen) <= 1, f"{' and '.join(chosen)} are different ways to split: choose one")
        if self.published is not None:
            from discreet.evaluation.published_tables import published_table

            require(
                self.seed == 0 and self.seeds == 1, "--published has a seed of its own: leave out --seed and --seeds"
            )
            return published_table(self.published).protocol
        if self.test is not None:
            return HoldOut(test=self.test, seed=self.seed, repeats=self.seeds)
        if self.each_user or (ranking and not chosen):
            return EachUser(seed=self.seed, repeats=self.seeds)
        if self.held_out_users:
            return HeldOutUsers(seed=self.seed, repeats=self.seeds)
        require(self.seeds == 1, "--seeds goes with --test, --each-user or --held-out-users, not with folds")
        return Folds(count=5 if self.folds is None else self.folds, seed=self.seed)


Delta = Annotated[
    float | None, typer.Option(metavar="D", help="Default: 0 for the unit rating, 1e-6 for the unit user.")
]
UnitOption = Annotated[
    str | None,
    typer.Option(
        metavar="UNIT",
        help="What is hidden: one rating (default), all ratings of a user (user), or only values (value).",
    ),
]
Trust = Annotated[
    str | None,
    typer.Option(
        metavar="WHO", help="Who sees ratings: one server (default); only devices; two-servers, which see noisy sums."
    ),
]
NoiseSeed = Annotated[
    int | None, typer.Option(metavar="SEED", help="Repeatable noise, for experiments: gives no privacy.")
]


@dataclass(frozen=True)
class PrivacyOptions:
    """How much privacy a fit must give; without ``--epsilon`` there is none."""

    epsilon: float | None = option(metavar="E", help="The privacy budget; without it there is no privacy.")
    delta: Delta = None
    unit: UnitOption = None
    trust: Trust = None
    noise_seed: NoiseSeed = None
    engine: str = option(
        metavar="ENGINE",
        help="What computes sums: numba (default); torch, on a GPU if there is one; spark, a cluster (only fit).",
        default="numba",
    )

    def terms(self, *, spark: bool = False) -> "Terms":
        """The terms that the options name; what is out of range is refused here, before any work."""
        known = ("numba", "torch", "spark") if spark else ("numba", "torch")
        require(self.engine in known, f"--engine must be {', '.join(known[:-1])} or {known[-1]}, got {self.engine!r}")
        engine = "numba" if self.engine == "spark" else self.engine  # on every executor
        return replace(_terms(self, self.epsilon), engine=engine)  # type: ignore[arg-type]


@dataclass(frozen=True)
class SeveralPrivacyOptions:
    """The same with one epsilon or several, to be compared."""

    epsilon: str | None = option(
        metavar="E,…", help="One privacy budget or several, for example .1,1,10; without it, no privacy."
    )
    delta: Delta = None
    unit: UnitOption = None
    trust: Trust = None
    noise_seed: NoiseSeed = None

    def terms(self) -> "list[Terms]":
        """The terms for every epsilon, smallest first; empty without ``--epsilon``."""
        if self.epsilon is None:
            _terms(self, None)  # refuses what says how, and not how much
            return []
        return [_terms(self, epsilon) for epsilon in sorted(set(_numbers(self.epsilon)))]


def _terms(options: PrivacyOptions | SeveralPrivacyOptions, epsilon: float | None) -> "Terms":
    from discreet.populations.terms import Terms

    given: dict[str, Any] = {
        name: value
        for name in ("delta", "unit", "trust", "noise_seed")
        if (value := getattr(options, name)) is not None
    }
    require(
        epsilon is not None or not given,
        f"{' and '.join('--' + name.replace('_', '-') for name in given)} would give no privacy without --epsilon: "
        "give --epsilon too, or leave it out",
    )
    known = options.unit in (None, "rating", "user", "value")
    require(known, f"--unit must be rating, user or value, got {options.unit!r}")
    known = options.trust in (None, "server", "devices", "two-servers")
    require(known, f"--trust must be server, devices or two-servers, got {options.trust!r}")
    return Terms(epsilon=epsilon, **given)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--epsilon must be a number, or several as in .1,1,10, got {text!r}") from None
