"""The options that say which ratings a command works on, and how their files are written."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.grouping import argument, option
from discreet.cli.hints import in_options
from discreet.cli.tables import note
from discreet.errors import DataError, UnknownNameError, require

if TYPE_CHECKING:
    from discreet.data.catalogue import Catalogue
    from discreet.data.gather import Repeats
    from discreet.data.ratings import Ratings
    from discreet.data.remote import Table
    from discreet.data.text_format import TextFormat
    from discreet.data.user_file import UserFacts
    from discreet.types import Progress


@dataclass(frozen=True)
class DataOptions:
    """Which ratings to work on: DATA and the options that say how to read it."""

    data: str = argument(
        metavar="DATA",
        help="A data set by name (`discreet data list`), a file or folder, or an address: "
        "postgresql://…?table=NAME, s3://…, gs://…, hf://….",
    )
    path: Path | None = option("--path", metavar="DIR", help="Folder in which to look for a named data set.")
    user_column: str | None = option(metavar="NAME", help="In a table: column of the users (default: user).")
    item_column: str | None = option(metavar="NAME", help="In a table: column of the items (default: item).")
    rating_column: str | None = option(metavar="NAME", help="In a table: column of the ratings (default: rating).")
    time_column: str | None = option(metavar="NAME", help="In a table: column of the times.")
    scale: str | None = option(metavar="LOW:HIGH", help="The rating scale of a table, for example 1:5.")
    implicit: bool = option(
        "--implicit", help="There are no ratings, only who used what (clicks, plays): rank by that.", default=False
    )
    columns: str | None = option(
        metavar="NAMES", help="Of a table without a header: its columns, as in user,item,rating,time."
    )
    separator: str | None = option(
        metavar="MARK", help="Between the fields of a table (default: recognised by its first row)."
    )
    encoding: str = option(metavar="NAME", help="Encoding of text tables, for example latin-1.", default="utf-8")
    items: str | None = option(
        metavar="FILE", help="A second table, of the items, or its address: title, genres, year."
    )
    items_id_column: str | None = option(metavar="NAME", help="In that table: the items (default: as in the ratings).")
    items_columns: str | None = option(metavar="NAMES", help="Of that table, if it has no header: its columns.")
    title_column: str | None = option(metavar="NAME", help="In that table: the titles (default: title).")
    features: str | None = option(
        metavar="COLUMN,…", help="In that table: columns to use as tags, as in brand,price:number."
    )
    drop_unlisted: bool = option(
        "--drop-unlisted", help="Leave out ratings of items that are not listed.", default=False
    )
    items_public: bool = option(
        "--items-public",
        help="That table, or the list that comes with DATA, is public: it was made without looking at the ratings.",
        default=False,
    )
    users: str | None = option(
        "--users", metavar="FILE", help="A table of the users, or its address: age, gender, occupation."
    )
    repeats: str | None = option(
        metavar="RULE", help="How to merge several ratings of one item: last, mean or recency."
    )
    query: str | None = option("--query", metavar="SQL", help="In a database: what to ask for, in place of a table.")

    def __post_init__(self) -> None:
        for name in ("items", "users"):
            object.__setattr__(self, name, shown_place(getattr(self, name)))
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
        of_movielens = place.name == "ratings.csv" and place.with_name("movies.csv").exists() and not self.implicit
        if not remote and (self.data in DATA_SETS or not place.is_file() or not is_table(place) or of_movielens):
            return None
        return Table(place=self.data, text=self._text(self.columns, self.separator), **self._roles)

    @property
    def _roles(self) -> dict[str, Any]:
        """What the columns of a table are called, by what they mean; what ``--columns`` calls time is the times."""
        return {
            "user": self.user_column or "user",
            "item": self.item_column or "item",
            "rating": None if self.implicit else self.rating_column or "rating",
            "time": self.time_column or ("time" if "time" in (_names(self.columns) or ()) else None),
        }

    def _text(self, columns: str | None, separator: str | None = None) -> "TextFormat":
        """How a table of text is written."""
        from discreet.data.text_format import TextFormat

        names = _names(columns)
        return TextFormat(
            columns=None if names is None else tuple(names),
            separator=separator and separator.replace("\\t", "\t"),
            encoding=self.encoding,
        )

    def load(self, progress: "Progress", *, merged: bool = True) -> "Ratings":
        """Read the ratings; with ``merged``, refuse several ratings of one item that no rule was given for."""
        from discreet.data.catalogue import Scale
        from discreet.data.loading import load
        from discreet.data.reports import holds_reports

        rule = self.rule
        listed = self.items is not None or (self.table() is None and not holds_reports(Path(self.data)))
        require(listed or not self.items_public, "--items-public goes with --items FILE: name the file")
        scale = None if self.scale is None else Scale.parse(self.scale)
        self.check()
        try:
            ratings = load(
                self.data,
                path=self.path,
                scale=scale,
                **self._roles,
                items=self.items,
                items_public=self.items_public,
                items_id=self.items_id_column,
                title=self.title_column,
                features=_names(self.features) or (),
                drop_unlisted=self.drop_unlisted,
                columns=_names(self.columns),
                items_columns=_names(self.items_columns),
                separator=self.separator and self.separator.replace("\\t", "\t"),
                encoding=self.encoding,
                repeats=rule,
                progress=progress,
            )
        except DataError as error:  # the library speaks of arguments, the command line of options
            raise in_options(error, self) from None
        except UnknownNameError as error:
            raise error.with_hint("`discreet data list` lists them") from None
        self._note_columns(ratings.catalogue)
        if (known := self.facts()) is not None:
            ratings = known.of(ratings)
        require(
            not (merged and ratings.has_repeats),
            f"{self.data} has several ratings of one item by one user: merge them with --repeats last, mean or recency",
        )
        return ratings

    def facts(self) -> "UserFacts | None":
        """What is known of the users besides their ratings."""
        if self.users is None:
            return None
        from discreet.data.user_file import read_users

        return read_users(self.users, self.user_column or "user")

    def public_catalogue(self) -> "Catalogue":
        """The public items, without reading a rating; of a table of ratings the first row alone is looked at."""
        from discreet.data.catalogue import Scale
        from discreet.data.public_facts import check_header, public_catalogue
        from discreet.data.tables import is_table, roles

        self.check()
        place = Path(self.data)
        try:
            if place.is_file() and is_table(place) and self.items is not None:
                check_header(place, self._text(self.columns, self.separator), roles(**self._roles))
            found = public_catalogue(
                self.data,
                path=self.path,
                scale=None if self.scale is None else Scale.parse(self.scale),
                implicit=self.implicit,
                items=self.items,
                item=self.items_id_column or self.item_column or "item",
                items_public=self.items_public,
                title=self.title_column,
                features=_names(self.features) or (),
                columns=_names(self.items_columns),
                encoding=self.encoding,
            )
        except DataError as error:
            raise in_options(error, self) from None
        self._note_columns(found)
        require(
            found.declared,
            "without a public list of items --epsilon would promise nothing: say with --items-public that the table of "
            "--items, or the list that comes with the data, is public",
        )
        return found

    def _note_columns(self, catalogue: "Catalogue") -> None:
        """Say how columns of the table of items became tags, and which are not used, before anything is spent."""
        from discreet.data.columns import LONGEST_NAME
        from discreet.data.item_file import TITLE, ItemColumns, unused_columns
        from discreet.data.tables import is_table

        if self.items is None:
            return
        file = Path(self.items)
        if catalogue.tags_from:
            note(f"Tags from {file.name}: {'; '.join(catalogue.tags_from)}.")
        if not file.is_file() or not is_table(file):
            return
        item = self.items_id_column or self.item_column or "item"
        columns = ItemColumns(item=item, title=self.title_column, features=tuple(_names(self.features) or ()))
        there, left = unused_columns(file, columns, self._text(self.items_columns))
        if not left:
            return
        shown = ", ".join(name[:LONGEST_NAME] for name in left)
        more = f"Of {file.name} these columns are not used: {shown}; --features NAMES would."
        named = next((name for name in left if name.lower().endswith(("name", "title"))), None)
        if named is not None and self.title_column is None and TITLE not in there:
            more += f" Titles can be had with --title-column {named[:LONGEST_NAME]}."
        note(more)

    def check(self) -> None:
        """Raise for an option that says nothing about these data: it was meant to change something."""
        stray = self._given("rating_column", "scale", "repeats") if self.implicit else []
        require(not stray, f"{' and '.join(stray)} is about ratings, and --implicit says there are none: leave it out")
        of_items = self._given("items_id_column", "items_columns", "title_column", "features", "drop_unlisted")
        alone = of_items if self.items is None else []
        require(not alone, f"{' and '.join(alone)} goes with --items FILE: name the file")
        from discreet.data.datasets import DATA_SETS
        from discreet.data.loading import has_own_format
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
                self.scale is not None or of_movielens or self.implicit,
                f"{self.data} does not say its rating scale: declare it with --scale LOW:HIGH, as in --scale 1:5; "
                "--implicit says that there are no ratings",
            )
            kind, own = "a table", {"--user-column", "--item-column", "--rating-column", "--time-column", "--items"}
            own |= {"--columns", "--separator"}
            if self.scale is None and not self.implicit:
                kind, own = "a file of MovieLens", set()
        elif holds_reports(place):
            kind, own = "a folder of reports", {"--items", "--item-column"}
        elif not has_own_format(place):
            return  # loading will say what is wrong with it
        else:
            kind = "in a format of its own"
        columns = ("user_column", "item_column", "rating_column", "time_column")
        stray = [name for name in self._given("path", *columns, "items", "columns", "separator") if name not in own]
        require(not stray, f"{self.data} is {kind}, which {' and '.join(stray)} cannot change: leave it out")

    def _given(self, *names: str) -> list[str]:
        """Which of these options were given, as they are typed."""
        return [f"--{name.replace('_', '-')}" for name in names if getattr(self, name) not in (None, False)]

    @property
    def name(self) -> str:
        """What reports call the data: its name, or that of its file."""
        return Path(self.data).name or self.data


def shown_place(place: str | None) -> str | None:
    """A path, or an address that shows no password from here on."""
    if place is None or "://" not in place:
        return place
    from discreet.data.remote import Remote, is_remote, local_path

    return Remote.of(place) if is_remote(place) else local_path(place)


def _names(text: str | None) -> list[str] | None:
    """Names that were written with commas between them."""
    return None if text is None else [name.strip() for name in text.split(",")]
