"""``discreet recommend``: from a release and own ratings to suggestions, for one person with reasons, or for all."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.data_options import shown_place
from discreet.cli.grouping import option
from discreet.cli.options import DataOptions, Json, OwnModel, grouped, typed
from discreet.cli.progress import bar
from discreet.cli.settings import own_kind
from discreet.cli.tables import document, note, say, table
from discreet.errors import require
from discreet.fitting.outputs import check_file

if TYPE_CHECKING:
    from discreet.data.catalogue import Catalogue
    from discreet.data.history import History
    from discreet.releases.release import Recommendations, Release, Scorer


Exclude = Annotated[
    str | None,
    typer.Option(
        "--exclude", metavar="FILE", help="Items that are not recommended: a column item, or one a line; or an address."
    ),
]
Only = Annotated[
    str | None,
    typer.Option("--only", metavar="FILE", help="The only items that are, for example those in stock; or an address."),
]


@dataclass(frozen=True)
class NightOptions:
    """What goes with ``--all``: how the ratings are read, and where the table is written."""

    data: str | None = option("--data", metavar="DATA", help="With --all: the ratings, as after --all.")
    query: str | None = option("--query", metavar="SQL", help="With --all: what to ask a database for.")
    output: Path | None = option("-o", "--output", metavar="FILE", help="With --all: .parquet, .csv or .jsonl.")
    user_column: str | None = option(metavar="NAME", help="With --all: as for `discreet fit`.")
    item_column: str | None = option(metavar="NAME", help="With --all: as for `discreet fit`.")
    rating_column: str | None = option(metavar="NAME", help="With --all: as for `discreet fit`.")
    time_column: str | None = option(metavar="NAME", help="With --all: as for `discreet fit`.")
    columns: str | None = option(metavar="NAMES", help="With --all: as for `discreet fit`.")
    separator: str | None = option(metavar="MARK", help="With --all: as for `discreet fit`.")
    encoding: str = option(metavar="NAME", help="With --all: as for `discreet fit`.", default="utf-8")
    repeats: str | None = option(metavar="RULE", help="With --all: as for `discreet fit`.")
    users: str | None = option("--users", metavar="FILE", help="With --all: as for `discreet fit`.")
    chunk: int | None = option("--chunk", metavar="N", help="With --all: users that are worked on at a time.")
    engine: str = option(
        metavar="ENGINE",
        help="With --all: what ranks, numba (default) or torch, on a GPU if there is one.",
        default="numba",
    )
    titles: bool = option("--titles", help="With --all: a column of titles too.", default=False)


@grouped
def recommend(
    *,
    ctx: typer.Context,
    release: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a release.")],
    more_likes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TITLE|DATA]...", help="Titles after --likes, or DATA after --all.", show_default=False
        ),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option("--history", metavar="FILE", help="CSV or TSV with the columns title (or item) and rating."),
    ] = None,
    likes: Annotated[
        list[str] | None,
        typer.Option("--likes", metavar="TITLE", help="An item that is liked, by title or identifier; repeatable."),
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="Recommend to every user of DATA, and write a table: --all DATA -o FILE.")
    ] = False,
    night: NightOptions,
    k: Annotated[
        int | None, typer.Option("-k", metavar="K", help="How many suggestions (default: 10; 20 with --all).")
    ] = None,
    exclude: Exclude = None,
    only: Only = None,
    explain: Annotated[bool, typer.Option("--explain", help="Name the ratings that carried each suggestion.")] = False,
    model: OwnModel = None,
    json: Json = False,
) -> None:
    """Recommend to one person, or with --all to every user of DATA.

    One person's ratings stay on this machine. With --all the users come in chunks, so memory is bounded; a run that was
    interrupted goes on where it stopped when the same command is given again; and one that is done has nothing to do.
    """
    require(k is None or k >= 1, f"k must be at least 1, got {k}")
    if everyone:
        require(
            not (history or likes or explain), "--all is for every user: leave out --history, --likes and --explain"
        )
        recommend_to_all(release, more_likes or [], night, k, exclude, only, own_kind(model), as_json=json)
        return
    stray = [f"--{field.name.replace('_', '-')}" for field in dataclasses.fields(night) if typed(ctx, field.name)]
    require(not stray, f"{' and '.join(stray)} goes with --all: leave it out, or recommend to every user")
    require(bool(history) != bool(likes), "say what is liked: either --history FILE or --likes TITLE; or --all DATA")
    require(bool(likes) or not more_likes, "titles follow --likes, for example --likes 'Toy Story (1995)'")
    from discreet.data.history import History
    from discreet.data.history_file import read_history
    from discreet.releases.release import Release

    k = k or 10
    loaded = Release.load(release, model=own_kind(model))
    catalogue = loaded.catalogue
    if history:
        own = read_history(history, catalogue)
    else:
        names = [*(likes or ()), *(more_likes or ())]
        own = History.of_likes(catalogue, names)
        for sentence in shared_titles(catalogue, names):
            note(sentence)
    scorer = loaded.scorer()
    suggestions = scorer.recommend(own, k, explain=explain, exclude=names_of(exclude), only=names_of(only))
    if explain and not any(suggestion.because for suggestion in suggestions):
        note("No rating of this history carried any of these: here the release knows no more than averages.")
    predicted = predicted_ratings(scorer, own, suggestions)
    if json:
        document(
            {
                "release": str(release),
                "guarantee": str(loaded.guarantee),
                "suggestions": suggestions_to_json(suggestions, predicted),
            }
        )
        return
    print_suggestions(suggestions, predicted)
    if len(suggestions) < k:
        what = "catalogue holds" if only is None and exclude is None else "catalogue and what was allowed hold"
        note(f"The {what} no more than {len(suggestions)} other items.")


def names_of(place: str | None) -> list[str] | None:
    """The items that a file, a database or an object store lists."""
    place = shown_place(place)
    if place is None:
        return None
    from discreet.data.names_file import read_names

    return read_names(place)


def recommend_to_all(
    folder: Path,
    words: Sequence[str],
    night: NightOptions,
    k: int | None,
    exclude: str | None,
    only: str | None,
    model: Any,
    *,
    as_json: bool,
) -> None:
    """Every user of DATA: a table of recommendations, written in chunks."""
    require(len(words) <= 1, f"--all takes one DATA, got {len(words)} words: write `discreet recommend DIR --all DATA`")
    data = words[0] if words else night.data
    require(data is not None, "--all needs the ratings of the users: write `discreet recommend DIR --all DATA -o FILE`")
    require(night.output is not None, "--all writes a table: name it with -o, for example -o recs.parquet")
    assert data is not None and night.output is not None
    check_file(night.output)
    from discreet.nightly.everyone import CHUNK, recommend_all
    from discreet.releases.release import Release

    options = DataOptions(
        data=data,
        user_column=night.user_column,
        item_column=night.item_column,
        rating_column=night.rating_column,
        time_column=night.time_column,
        columns=night.columns,
        separator=night.separator,
        encoding=night.encoding,
        repeats=night.repeats,
        users=night.users,
        query=night.query,
    )
    loaded = Release.load(folder, model=model)
    with bar() as progress:
        done = recommend_all(
            loaded,
            options.table() or (lambda: options.load(progress)),
            night.output,
            k=k or 20,
            exclude=names_of(exclude),
            only=names_of(only),
            repeats=options.rule,
            users=options.facts(),
            titles=night.titles,
            chunk=CHUNK if night.chunk is None else night.chunk,
            engine=night.engine,
            progress=progress,
        )
    if as_json:
        document(
            {
                "recommendations": str(done.output),
                "release": str(folder),
                "guarantee": str(loaded.guarantee),
                "k": k or 20,
                "done_before": done.done_before,
                "resumed": done.resumed > 0,
                "ratings_left_out": done.incomplete,
            }
        )
        return
    for sentence in done.sentences():
        say(sentence)
    if not done.done_before:
        say(f"The recommendations are in {done.output}. Each row is for its user alone, and is no release.")


def shared_titles(catalogue: "Catalogue", names: Sequence[str]) -> list[str]:
    """A sentence for each title that several items have: which of them was taken, and how to name another."""
    titles = catalogue.titles.tolist()
    sentences = []
    for name in dict.fromkeys(names):
        shared = [catalogue.items[place] for place, title in enumerate(titles) if title == name]
        if len(shared) > 1:
            sentences.append(
                f"{len(shared)} items are called {name!r}: the first is taken, {shared[0]}; "
                f"name another by its identifier, {' or '.join(shared[1:4])}."
            )
    return sentences


def predicted_ratings(
    release: "Release | Scorer", history: "History", suggestions: "Recommendations"
) -> list[float] | None:
    """The rating that this person would give to each suggestion, or None for a model that only ranks."""
    if not release.predicts_ratings:
        return None
    import numpy as np

    from discreet.data.ratings import Ratings

    items = np.array([release.catalogue.items.index(suggestion.item) for suggestion in suggestions], dtype=np.int32)
    predicted = release.predict(Ratings.of_history(history), np.zeros_like(items), items)
    return [float(rating) for rating in predicted]


def suggestions_to_json(suggestions: "Recommendations", predicted: list[float] | None) -> list[dict[str, Any]]:
    """Suggestions as plain data; ``predicted`` is null for a model that only ranks."""
    ratings = [None] * len(suggestions) if predicted is None else predicted
    return [
        dataclasses.asdict(suggestion) | {"predicted": rating}
        for suggestion, rating in zip(suggestions, ratings, strict=True)
    ]


def print_suggestions(suggestions: "Recommendations", predicted: list[float] | None) -> None:
    """A table, best first, with the rating to expect or else the score, and the reasons where there are some."""
    explained = any(suggestion.because for suggestion in suggestions)
    numbers = "score" if predicted is None else "predicted"
    rows = []
    for place, suggestion in enumerate(suggestions):
        why = ", ".join(f"{reason.title} ({reason.share:.0%})" for reason in suggestion.because)
        number = f"{suggestion.score:.3g}" if predicted is None else f"{predicted[place]:.2f}"
        rows.append((str(place + 1), suggestion.title, number, *((why,) if explained else ())))
    table(None, ("", "title", numbers, *(("because of",) if explained else ())), rows, right=("", numbers))
    if predicted is None:
        say("Scores put the items in order and mean nothing else: this model does not predict ratings.")
    elif any(later > earlier + 0.005 for earlier, later in pairwise(predicted)):
        say("The order is by how well an item fits, which is more than the rating that is predicted for it.")
