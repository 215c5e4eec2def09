"""Recommendations for every user, from one release: ``discreet recommend RELEASE --all DATA -o recs.parquet``.

Users come in chunks. What is in memory is one chunk of histories, a bounded block of its scores, and its table; so
memory does not grow with users times items. The same inputs give the same bytes, an interrupted run goes on where it
stopped, and a run that is done says so (:mod:`discreet.nightly.parts`).
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import discreet
from discreet.data.gather import Repeats
from discreet.data.loading import load
from discreet.data.ratings import Ratings
from discreet.data.remote import Table
from discreet.data.user_file import UserFacts
from discreet.errors import require, require_whole
from discreet.nightly.histories import Histories, Loaded, Spilled, require_chunk
from discreet.nightly.parts import (
    FORMAT,
    FORMATS,
    RATINGS,
    Manifest,
    cleared,
    is_done,
    join,
    note_of,
    part_of,
    parts_of,
    write_note,
    write_part,
)
from discreet.processes import require_threads
from discreet.releases.frames import recommend_many
from discreet.releases.release import Release
from discreet.releases.stock import allowed_items
from discreet.types import Booleans, Progress, no_progress

CHUNK = 20_000
"""Users in a part: some seconds of work, which is what an interruption costs."""


@dataclass(frozen=True, kw_only=True)
class Night:
    """What came of it.

    Parameters
    ----------
    output
        The file.
    done_before
        Whether it was there already, made from exactly this: then nothing was computed.
    resumed
        How many parts an interrupted run had left.
    started_anew
        Whether an interrupted run had left parts that were made from something else, and were thrown away.
    incomplete
        Whether some ratings were left out, because the release does not know their items.
    """

    output: Path
    done_before: bool = False
    resumed: int = 0
    started_anew: bool = False
    incomplete: bool = False

    def sentences(self) -> list[str]:
        """What should be known of it."""
        said = []
        if self.done_before:
            said.append(f"{self.output} was made from this release, these ratings and these settings: nothing to do.")
        if self.started_anew:
            said.append("An earlier run was about other inputs: what it had left was thrown away, and this began anew.")
        if self.resumed:
            said.append("An earlier run had been interrupted: this went on where it stopped.")
        if self.incomplete:
            said.append("Some ratings are of items that the release does not know: they were left out.")
        return said


def recommend_all(
    release: Release | str | Path,
    data: Ratings | Table | str | Path | Callable[[], Ratings],
    output: str | Path,
    *,
    k: int = 20,
    exclude: Iterable[str] | None = None,
    only: Iterable[str] | None = None,
    repeats: Repeats = "keep",
    users: UserFacts | None = None,
    titles: bool = False,
    chunk: int = CHUNK,
    engine: str = "numba",
    progress: Progress = no_progress,
) -> Night:
    """Write the ``k`` best new items of every user into a table.

    Parameters
    ----------
    release
        A release, or its folder.
    data
        What is known of the users: a :class:`~discreet.data.remote.Table` is read a bounded number of rows at a time;
        ratings, the name of a data set, or a function that reads ratings, are in memory as a whole.
    output
        Where to write: ``.parquet``, ``.csv`` or ``.jsonl``, with the columns user, rank (from 1), item and score, and
        ``title`` with ``titles``. Users come in the order of :class:`~discreet.Ratings`, best items first.
    k
        How many each.
    exclude, only
        Items that are recommended to nobody, and the only ones that are, by identifier or title.
    repeats
        How several ratings of one item by one user are merged, in a table.
    users
        What is known of the users besides (:func:`discreet.data.read_users`), for models that use it.
    chunk
        How many users are worked on at a time.
    engine
        What ranks: ``numba``, or ``torch``, on a GPU where there is one; the lists are the same.
    progress
        Called as it goes on.

    Examples
    --------
    >>> import tempfile
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=40, ratings=600, seed=1)
    >>> release = dc.Cosine().fit(dc.NoPrivacy(ratings))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = recommend_all(release, ratings, f"{folder}/recs.csv", k=3)
    ...     again = recommend_all(release, ratings, f"{folder}/recs.csv", k=3)
    >>> first.done_before, again.done_before
    (False, True)
    """
    output = Path(output)
    require_whole("k", k, least=1)
    require_chunk(chunk)
    require(engine in ("numba", "torch"), f"engine must be 'numba' or 'torch', got {engine!r}")
    require(
        output.suffix.lower() in FORMATS and output.suffix.islower(),
        f"recommendations are written as {', '.join(FORMATS)}: {output} should end in one of these",
    )
    require(not output.is_dir(), f"{output} is a folder: name a file to write to")
    require(
        not (isinstance(data, Table) and data.is_file(output)), f"{output} would replace the ratings: name another file"
    )
    require_threads("polars")
    loaded = release if isinstance(release, Release) else Release.load(release)
    if isinstance(data, Table) and loaded.catalogue.scale.implicit:
        data = replace(data, rating=None)
    if isinstance(data, str | Path):
        name = str(data)
        data = lambda: load(name, repeats=repeats)  # noqa: E731
    work = _Work(
        release=loaded,
        output=output,
        k=int(k),
        allowed=allowed_items(loaded.catalogue, exclude, only),
        repeats=repeats,
        users=users,
        titles=titles,
        chunk=int(chunk),
        engine=engine,
        progress=progress,
    )
    with parts_of(output) as folder:
        return work.run(data, folder)


@dataclass(frozen=True, kw_only=True)
class _Work:
    """The settings of one night, and how it is done."""

    release: Release
    output: Path
    k: int
    allowed: Booleans | None
    engine: str
    repeats: Repeats
    users: UserFacts | None
    titles: bool
    chunk: int
    progress: Progress

    def run(self, data: Ratings | Table | Callable[[], Ratings], folder: Path) -> Night:
        """Find out what is left to do, and do it."""
        before = Manifest.read(folder)
        if isinstance(data, Table) and (digest := data.digest(self.progress)) is not None:
            fingerprint = self._fingerprint(digest)
            if (noted := is_done(self.output, fingerprint)) is not None:
                return self._nothing_to_do(folder, noted)
            histories = self._laid_down(data, folder, before, fingerprint)
        else:
            # What they hold is known only after reading them: a database has no checksum.
            histories, digest = self._read(data, folder)
            fingerprint = self._fingerprint(digest)
            if (noted := is_done(self.output, fingerprint)) is not None:
                return self._nothing_to_do(folder, noted)
            if before is not None and before.fingerprint != fingerprint:
                for part in folder.glob("part-*"):
                    part.unlink()
        chunks = -(-histories.n_users // self.chunk)
        manifest = Manifest(fingerprint, chunks, isinstance(histories, Spilled), histories.incomplete)
        manifest.write(folder)
        there = [number for number in range(chunks) if self._part(folder, number).exists()]
        self._compute(histories, folder, chunks, set(there))
        self._finish(folder, chunks, fingerprint, histories.incomplete)
        return Night(
            output=self.output,
            resumed=len(there),
            started_anew=before is not None and before.fingerprint != fingerprint,
            incomplete=histories.incomplete,
        )

    def _nothing_to_do(self, folder: Path, noted: dict[str, Any]) -> Night:
        cleared(folder)
        return Night(output=self.output, done_before=True, incomplete=bool(noted["ratings_left_out"]))

    def _laid_down(self, table: Table, folder: Path, before: Manifest | None, fingerprint: str) -> Histories:
        """The ratings of a file: those that an earlier run laid down, if it is about the same."""
        place = folder / RATINGS
        if before is not None and before.fingerprint == fingerprint and before.laid_down:
            return Spilled.read(place, self.release.catalogue, self.chunk, self.repeats, incomplete=before.incomplete)
        cleared(folder)
        return self._spill(table, place)

    def _read(self, data: Ratings | Table | Callable[[], Ratings], folder: Path) -> tuple[Histories, str]:
        """The ratings of all else, and a digest of them."""
        histories: Histories
        if isinstance(data, Table):
            histories = self._spill(data, folder / RATINGS)
        else:
            ratings = data if isinstance(data, Ratings) else data()
            require(
                isinstance(ratings, Ratings), f"data must be ratings or where they are, got {type(ratings).__name__}"
            )
            if self.repeats != "keep" and ratings.has_repeats:
                ratings = ratings.merge(self.repeats)
            histories = Loaded.of(ratings, self.release.catalogue, self.chunk)
        digest = hashlib.sha256()
        for number in range(-(-histories.n_users // self.chunk)):
            part = histories.chunk(number)
            digest.update(part.users.names.bytes.tobytes())
            for column in (part.users.names.offsets, part.indptr, part.item_index, part.values):
                digest.update(column.tobytes())
        return histories, digest.hexdigest()

    def _spill(self, table: Table, place: Path) -> Spilled:
        place.mkdir(exist_ok=True)
        return Spilled.of(
            table.batches(self.progress),
            place,
            self.release.catalogue,
            self.chunk,
            self.repeats,
            table.label,
            self.progress,
        )

    def _compute(self, histories: Histories, folder: Path, chunks: int, there: set[int]) -> None:
        scorer = self.release.scorer()
        for number in range(chunks):
            if number not in there:
                own = histories.chunk(number)
                own = own if self.users is None else self.users.of(own)
                table = recommend_many(scorer, own, self.k, self.allowed, self.engine)
                columns = ["user", "rank", "item", *(["title"] if self.titles else []), "score"]
                write_part(self._part(folder, number), table.select(columns), header=number == 0)
            done = min((number + 1) * self.chunk, histories.n_users)
            self.progress(done, histories.n_users, "recommending")

    def _finish(self, folder: Path, chunks: int, fingerprint: str, incomplete: bool) -> None:
        self.progress(1, 1, "writing the table")
        note_of(self.output).unlink(missing_ok=True)  # it is about what is replaced now
        checksum = join([self._part(folder, number) for number in range(chunks)], self.output, folder)
        from discreet.names import name_of

        noted = {
            "fingerprint": fingerprint,
            "sha256": checksum,
            "k": self.k,
            "model": name_of(type(self.release.model)),
            "guarantee": str(self.release.guarantee),
            "ratings_left_out": incomplete,
            "discreet": discreet.__version__,
        }
        write_note(self.output, noted)
        cleared(folder)

    def _part(self, folder: Path, number: int) -> Path:
        return part_of(folder, number, self.output.suffix)

    def _fingerprint(self, data: str) -> str:
        """Of everything that the result depends on."""
        digest = hashlib.sha256()
        for name, array in sorted(self.release.arrays.items()):
            digest.update(f"{name}:{array.dtype}:{array.shape}".encode())
            digest.update(array.tobytes())
        said = {
            "format": FORMAT,
            "discreet": discreet.__version__,
            "release": digest.hexdigest(),
            "model": repr(self.release.model),
            "catalogue": self.release.catalogue.fingerprint,
            "data": data,
            "kind": self.output.suffix,
            "k": self.k,
            "allowed": None if self.allowed is None else hashlib.sha256(self.allowed.tobytes()).hexdigest(),
            "repeats": self.repeats,
            "users": None if self.users is None else self.users.digest(),
            "titles": self.titles,
            "chunk": self.chunk,
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
