"""The options that several commands share: where the data are and how to read them, ``--set``, ``--json``."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from discreet.cli.grouping import grouped as grouped
from discreet.cli.grouping import this_command as this_command
from discreet.cli.grouping import typed as typed
from discreet.errors import DataError, InputError, UnknownNameError, require

if TYPE_CHECKING:
    from discreet.data.gather import Repeats
    from discreet.data.ratings import Ratings
    from discreet.data.remote import Table
    from discreet.evaluation.protocols import SplitProtocol
    from discreet.populations.terms import Terms
    from discreet.types import Progress

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
        help="What the release is for, for models that plan by it: foreseeing ratings, ranking, or both (the default).",
    ),
]


@dataclass(frozen=True)
class DataOptions:
    """Which ratings to work on: DATA and the options that say how to read it."""

    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A data set by name (`discreet data list`), a file or folder, or an address: "
            "postgresql://…?table=NAME, s3://…, gs://…, hf://….",
        ),
    ]
    path: Annotated[
        Path | None, typer.Option("--path", metavar="DIR", help="Folder in which to look for a named data set.")
    ] = None
    user_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="In a table: column of the users (default: user).")
    ] = None
    item_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="In a table: column of the items (default: item).")
    ] = None
    rating_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="In a table: column of the ratings (default: rating).")
    ] = None
    time_column: Annotated[str | None, typer.Option(metavar="NAME", help="In a table: column of the times.")] = None
    scale: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="The rating scale of a table, for example 1:5.")
    ] = None
    items: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A second table, of the items: title, genres, year.")
    ] = None
    items_public: Annotated[
        bool,
        typer.Option("--items-public", help="That table is public: it was made without looking at the ratings."),
    ] = False
    users: Annotated[
        Path | None,
        typer.Option("--users", metavar="FILE", help="A second table, of the users: age, gender, occupation."),
    ] = None
    repeats: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="How to merge several ratings of one item: last, mean or recency."),
    ] = None
    query: Annotated[
        str | None, typer.Option("--query", metavar="SQL", help="In a database: what to ask for, in place of a table.")
    ] = None

    def __post_init__(self) -> None:
        if "://" not in self.data and self.query is None:
            return
        from discreet.data.remote import Remote, is_remote, local_path

        require(is_remote(self.data) or self.query is None, "--query is for a database: postgresql://…")
        data = Remote.of(self.data, self.query) if is_remote(self.data) else local_path(self.data)
        object.__setattr__(self, "data", data)  # from here on it shows no password

    @property
    def rule(self) -> "Repeats":
        """What becomes of several ratings of one item by one user."""
        rules: dict[str | None, Repeats] = {None: "keep", "last": "last", "mean": "mean", "recency": "recency"}
        require(self.repeats in rules, f"--repeats must be last, mean or recency, got {self.repeats!r}")
        return rules[self.repeats]

    def table(self) -> "Table | None":
        """The table that DATA is, to be read a bounded number of rows at a time; None for other formats."""
        from discreet.data.datasets import DATA_SETS
        from discreet.data.remote import Remote, Table
        from discreet.data.tables import is_table

        place, remote = Path(self.data), isinstance(self.data, Remote)
        of_movielens = place.name == "ratings.csv" and place.with_name("movies.csv").exists()
        if not remote and (self.data in DATA_SETS or not place.is_file() or not is_table(place) or of_movielens):
            return None
        return Table(
            place=self.data,
            user=self.user_column or "user",
            item=self.item_column or "item",
            rating=self.rating_column or "rating",
            time=self.time_column,
        )

    def load(self, progress: "Progress", *, merged: bool = True) -> "Ratings":
        """Read the ratings; with ``merged``, refuse several ratings of one item that no rule was given for."""
        from discreet.data.catalogue import Scale
        from discreet.data.loading import load

        rule = self.rule
        require(self.items is not None or not self.items_public, "--items-public goes with --items FILE: name the file")
        scale = None if self.scale is None else Scale.parse(self.scale)
        self._check_options()
        try:
            ratings = load(
                self.data,
                path=self.path,
                scale=scale,
                user=self.user_column or "user",
                item=self.item_column or "item",
                rating=self.rating_column or "rating",
                time=self.time_column,
                items=self.items,
                items_public=self.items_public,
                repeats=rule,
                progress=progress,
            )
        except DataError as error:  # the library speaks of arguments, the command line of options
            raise DataError(str(error).replace("repeats='last'", "--repeats last"), place=error.place) from None
        except UnknownNameError as error:
            raise error.with_hint("`discreet data list` lists them") from None
        if self.users is not None:
            from discreet.data.user_file import read_users

            ratings = read_users(self.users, self.user_column or "user").of(ratings)
        require(
            not (merged and ratings.has_repeats),
            f"{self.data} has several ratings of one item by one user: merge them with --repeats last, mean or recency",
        )
        return ratings

    def _check_options(self) -> None:
        """Raise for an option that says nothing about these data: it was meant to change something."""
        from discreet.data.datasets import DATA_SETS
        from discreet.data.reports import holds_reports
        from discreet.data.tables import is_table

        place = Path(self.data)
        if self.data not in DATA_SETS and not place.exists():
            return  # nothing is known of them, and loading will say so
        own: set[str] = set()
        if self.data in DATA_SETS:
            kind, own = "a data set with a name and a format of its own", {"--path"}
        elif place.is_file() and is_table(place):
            of_movielens = place.name == "ratings.csv" and place.with_name("movies.csv").exists()
            require(
                self.scale is not None or of_movielens,
                f"{self.data} does not say its rating scale: declare it with --scale LOW:HIGH, for example --scale 1:5",
            )
            kind, own = "a table", {"--user-column", "--item-column", "--rating-column", "--time-column", "--items"}
            if self.scale is None:
                kind, own = "a file of MovieLens", set()
        elif holds_reports(place):
            kind, own = "a folder of reports", {"--items", "--item-column"}
        else:
            kind = "in a format of its own"
        given = {
            "--path": self.path,
            "--user-column": self.user_column,
            "--item-column": self.item_column,
            "--rating-column": self.rating_column,
            "--time-column": self.time_column,
            "--items": self.items,
        }
        stray = [option for option, value in given.items() if value is not None and option not in own]
        require(not stray, f"{self.data} is {kind}, which {' and '.join(stray)} cannot change: leave it out")

    @property
    def name(self) -> str:
        """What reports call the data: its name, or that of its file."""
        return Path(self.data).name or self.data


@dataclass(frozen=True)
class SplitOptions:
    """How the ratings are divided: one of five ways, and a seed."""

    folds: Annotated[
        int | None,
        typer.Option(metavar="N", help="Cross-validate: every rating is held out once (default: 5)."),
    ] = None
    test: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Hold out a share of all ratings, for example 0.2.")
    ] = None
    each_user: Annotated[
        bool, typer.Option("--each-user", help="Divide each user's ratings 8:1:1 and measure rankings.")
    ] = False
    held_out_users: Annotated[
        bool, typer.Option("--held-out-users", help="Hold out a tenth of the users; 80% of their ratings are history.")
    ] = False
    published: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="The split of the published tables: ml-10m (ratings) or ml-20m (ranking)."),
    ] = None
    seed: Annotated[int, typer.Option(metavar="SEED", help="Which random split.")] = 0
    seeds: Annotated[
        int, typer.Option(metavar="N", help="How many splits, with seeds from SEED on (not with folds).")
    ] = 1

    def protocol(self) -> "SplitProtocol":
        """The protocol that the options name; settings out of range are refused here, before any work."""
        from discreet.evaluation.protocols import EachUser, Folds, HeldOutUsers, HoldOut

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
        if self.each_user:
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
        help="Whose secret is kept: one rating (default), all of one user (user), or only a value (value).",
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

    epsilon: Annotated[
        float | None, typer.Option(metavar="E", help="The privacy budget; without it there is no privacy.")
    ] = None
    delta: Delta = None
    unit: UnitOption = None
    trust: Trust = None
    noise_seed: NoiseSeed = None
    engine: Annotated[
        str,
        typer.Option(
            metavar="ENGINE",
            help="What computes sums: numba (default); torch, on a GPU if there is one; spark, a cluster (only fit).",
        ),
    ] = "numba"

    def terms(self, *, spark: bool = False) -> "Terms":
        """The terms that the options name; what is out of range is refused here, before any work."""
        known = ("numba", "torch", "spark") if spark else ("numba", "torch")
        require(self.engine in known, f"--engine must be {', '.join(known[:-1])} or {known[-1]}, got {self.engine!r}")
        engine = "numba" if self.engine == "spark" else self.engine  # on every executor
        return replace(_terms(self, self.epsilon), engine=engine)  # type: ignore[arg-type]


@dataclass(frozen=True)
class SeveralPrivacyOptions:
    """The same with one epsilon or several, to be compared."""

    epsilon: Annotated[
        str | None,
        typer.Option(metavar="E,…", help="One privacy budget or several, for example .1,1,10; without it, no privacy."),
    ] = None
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
