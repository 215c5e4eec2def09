"""``--engine spark``: the ratings stay on a cluster, which computes the sums."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.cli.grouping import option
from discreet.errors import DataError, InputError, require

if TYPE_CHECKING:
    from discreet.cli.options import DataOptions
    from discreet.data.parts import RatingsInParts
    from discreet.data.ratings import Ratings
    from discreet.types import Progress

SPARK = "spark"


@dataclass(frozen=True)
class ClusterOptions:
    """Which cluster, where sums are computed on one."""

    master: str | None = option(
        metavar="URL", help="With --engine spark: which cluster, as spark://host:7077 (default: local[*])."
    )

    @contextmanager
    def loading(
        self, source: "DataOptions", engine: str, progress: "Progress"
    ) -> "Iterator[Callable[[], Ratings | RatingsInParts]]":
        """How the ratings are read, when all else is in order; a session of Spark ends with it."""
        require(engine == SPARK or self.master is None, "--master goes with --engine spark: give both, or neither")
        if engine != SPARK:
            yield lambda: source.load(progress)
            return
        with ExitStack() as sessions:
            yield lambda: self._on_spark(source, progress, sessions)

    def _on_spark(self, source: "DataOptions", progress: "Progress", sessions: ExitStack) -> "RatingsInParts":
        from discreet.data.catalogue import Scale
        from discreet.spark.ratings import from_spark
        from discreet.spark.session import read_frame, session_on

        for name, value in (("--path", source.path), ("--users", source.users)):
            require(
                value is None, f"{name} is for data on this machine, and --engine spark reads a table: leave it out"
            )
        require(
            source.items is not None or not source.items_public, "--items-public goes with --items FILE: name the file"
        )
        if source.scale is None:
            raise InputError(f"{source.data} does not say its rating scale: declare it, for example --scale 1:5")
        scale = Scale.parse(source.scale)
        user, item, rating = (
            source.user_column or "user",
            source.item_column or "item",
            source.rating_column or "rating",
        )
        named = (user, item, rating) if source.time_column is None else (user, item, rating, source.time_column)
        progress(0, 1, "starting Spark")
        session = sessions.enter_context(session_on(self.master or "local[*]"))
        frame = read_frame(session, source.data, named)
        progress(0, 1, "dealing ratings by user")
        try:
            return from_spark(
                frame,
                scale=scale,
                user=user,
                item=item,
                rating=rating,
                time=source.time_column,
                items=None if source.items is None else str(source.items),
                items_public=source.items_public,
                repeats=source.repeats or "keep",  # type: ignore[arg-type]
            )
        except DataError as error:  # the library speaks of arguments, the command line of options
            raise DataError(str(error).replace("repeats='last'", "--repeats last"), place=error.place) from None
