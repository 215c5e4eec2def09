"""A folder of reports, as a recommender reads it: what can be used, and why the rest cannot.

No report is trusted. One that cannot be used is rejected with one sentence, and the others are used all the same.
Reports are of use together only if they were made alike, so one :class:`ReportForm` is agreed upon: the one that
the recommender asked for, or else the one that most reports have, so that a few liars cannot choose it.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.data.catalogue import Catalogue, Scale
from discreet.data.handling import Handling
from discreet.data.report import FORMAT, Reason, RefusedReport, ReportForm, read_report
from discreet.data.sources import is_folder
from discreet.doors import checked
from discreet.errors import DataError, UnknownNameError
from discreet.types import Doubles, Indices, Progress, no_progress

if TYPE_CHECKING:
    from discreet.data.ratings import Ratings


@dataclass(frozen=True)
class Rejected:
    """A report that was not used, and why: ``reason`` to count by, ``sentence`` for people."""

    file: str
    reason: Reason
    sentence: str

    def __str__(self) -> str:
        return f"{self.file} was rejected: {self.sentence}"


@dataclass(frozen=True, eq=False)
class ReadReports:
    """What came out of a folder of reports.

    Parameters
    ----------
    ratings
        What was reported, one user for each report, on the scale of what is reported.
    form
        How all of it was perturbed.
    rejected
        The reports that were not used, in the order of their files.

    ``digest`` tells this collection from any other, and so do ``ratings``: users who send reports once more have spent
    once more.
    """

    ratings: "Ratings"
    form: ReportForm
    rejected: tuple[Rejected, ...]

    @property
    def digest(self) -> str:
        """SHA-256 over the reports that were used, identifiers and contents, whatever their files are called."""
        assert self.ratings.report_digest is not None
        return self.ratings.report_digest

    @property
    def counts(self) -> dict[str, int]:
        """How many reports were rejected, by reason, the most frequent first."""
        return _counts(self.rejected)

    def __str__(self) -> str:
        used = self.ratings.n_users
        return f"{used:,} {'report' if used == 1 else 'reports'} used, {_summary(self.rejected)}"


@checked
def read_reports(
    folder: str | Path,
    catalogue: Catalogue | None = None,
    *,
    form: ReportForm | None = None,
    progress: Progress = no_progress,
) -> ReadReports:
    """Read every ``.json`` file of a folder as a report, and reject those that cannot be used.

    Parameters
    ----------
    folder
        Where the reports are.
    catalogue
        The public items, and the scale before perturbation. Without it every item that a report names is taken
        for one, and none is unknown.
    form
        What the users were asked for. Without it, what most reports have.
    progress
        Called while files are read.

    Examples
    --------
    >>> import tempfile
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=3, items=30, ratings=20, seed=1)
    >>> folder = Path(tempfile.mkdtemp())
    >>> for user in range(3):
    ...     report = dc.collect.UniformNoise(gamma=1.5).perturb(ratings.history_at(user), dc.Randomness())
    ...     report.save(folder / f"{user}.json")
    >>> _ = (folder / "cut.json").write_text('{"format": "discreet re')
    >>> found = read_reports(folder, ratings.catalogue)
    >>> print(found)
    3 reports used, 1 rejected (1 unreadable file)
    >>> found.ratings
    Ratings(20 ratings, 3 users, 30 items, scale -0.5 to 6.5)
    """
    folder = Path(folder)
    files = _files(folder)
    vocabulary = _Vocabulary(catalogue)
    usable: list[_Usable] = []
    rejected: dict[str, Rejected] = {}
    for done, path in enumerate(files, start=1):
        try:
            usable.append(_usable(path, vocabulary))
        except RefusedReport as refusal:
            rejected[path.name] = Rejected(path.name, refusal.reason, refusal.sentence)
        if done % 1000 == 0 or done == len(files):
            progress(done, len(files), "reading reports")
    if form is None and usable:
        form = Counter(report.form for report in usable).most_common(1)[0][0]
    kept: dict[str, _Usable] = {}
    for report in usable:
        if report.form != form:
            sentence = f"it was perturbed by {report.form} and not by {form}"
            if str(report.form) == str(form):
                sentence = "its scales are not those of the other reports"
            rejected[report.file] = Rejected(report.file, "another mechanism", sentence)
        elif report.id in kept:
            sentence = f"{kept[report.id].file} is a report of the same user"
            rejected[report.file] = Rejected(report.file, "second report of one user", sentence)
        else:
            kept[report.id] = report
    refused = tuple(rejected[path.name] for path in files if path.name in rejected)
    if form is None or not kept:
        raise DataError(f"{folder} holds no report that can be used: {_summary(refused)}; {refused[0]}")
    return ReadReports(_gather(list(kept.values()), form, vocabulary), form, refused)


def ratings_of_reports(
    folder: str | Path, catalogue: Catalogue | None = None, *, progress: Progress = no_progress
) -> "Ratings":
    """The ratings in a folder of reports; how many were rejected, and why, is logged.

    This is :meth:`discreet.Ratings.from_reports`.
    """
    found = read_reports(folder, catalogue, progress=progress)
    if found.form.mechanism == "hidden-items":
        # Most of these answers are noise about items that nobody rated: as ratings they would mean nothing.
        raise DataError(
            f"{folder} holds answers about every item, not ratings: "
            "count them with HiddenItems.estimate(read_reports(folder).ratings)"
        )
    log = logging.getLogger("discreet")
    for rejected in found.rejected:
        log.info("%s", rejected)
    if found.rejected:
        log.warning("%s: %s. %s.", folder, found, found.rejected[0])
    return found.ratings


def holds_reports(folder: Path) -> bool:
    """Whether a folder has ``.json`` files and one of the first hundred says that it is a report."""
    if not is_folder(folder):
        return False
    for path in sorted(folder.glob("*.json"))[:100]:
        if not path.is_file():
            continue
        try:
            with path.open("rb") as file:
                if FORMAT.encode() in file.read(1000):
                    return True
        except OSError:
            continue
    return False


@dataclass(frozen=True, eq=False)
class _Usable:
    """What is kept of a report while the others are read: numbers, no names of items."""

    file: str
    id: str
    digest: str
    form: ReportForm
    items: Indices
    values: Doubles


class _Vocabulary:
    """Positions of items: those of a catalogue, or else in the order in which reports name them."""

    def __init__(self, catalogue: Catalogue | None) -> None:
        self.catalogue = catalogue
        self.names: dict[str, int] = {}

    def index(self, name: str) -> int:
        if name not in self.names:
            self.names[name] = len(self.names) if self.catalogue is None else self.catalogue.find(name)
        return self.names[name]


def _files(folder: Path) -> list[Path]:
    if not is_folder(folder):
        raise DataError(f"{folder} is not a folder of reports")
    files = sorted(folder.glob("*.json"))
    if not files:
        raise DataError(f"{folder} holds no report: there is no .json file in it")
    return files


def _usable(path: Path, vocabulary: _Vocabulary) -> _Usable:
    report = read_report(path)
    if vocabulary.catalogue is not None and report.form.scale != vocabulary.catalogue.scale:
        sentence = f"its ratings were on the scale {report.form.scale} and not {vocabulary.catalogue.scale}"
        raise RefusedReport("another scale", sentence)
    items = np.empty(len(report), dtype=np.int32)
    for place, name in enumerate(report.items):
        try:
            items[place] = vocabulary.index(name)
        except UnknownNameError:  # which item it is stays out of the message: a user rated it
            sentence = f"entry {place + 1} names an item that is not in the catalogue"
            raise RefusedReport("unknown item", sentence) from None
    if len(np.unique(items)) != len(items):
        raise RefusedReport("repeated item", "it names one item twice, by title and by identifier")
    return _Usable(path.name, report.id, report.digest, report.form, items, report.values)


def _gather(reports: list[_Usable], form: ReportForm, vocabulary: _Vocabulary) -> "Ratings":
    from discreet.data.labels import Labels
    from discreet.data.ratings import Ratings
    from discreet.strings import Strings

    reports.sort(key=lambda report: report.id)  # the names of the files mean nothing, and nothing depends on them
    items = np.concatenate([report.items for report in reports])
    scale = in_32_bits(form.reported)
    if vocabulary.catalogue is None:
        names = list(vocabulary.names)
        used = sorted(np.unique(items).tolist(), key=lambda position: names[position])
        catalogue = Catalogue.of([names[position] for position in used], scale, declared=False)
        positions = np.zeros(len(names), dtype=np.int32)
        positions[used] = np.arange(len(used))
        items = positions[items]
    else:
        catalogue = replace(vocabulary.catalogue, scale=scale)
    ratings = Ratings.of_columns(
        catalogue,
        Labels(Strings.of(report.id for report in reports), what="user"),
        np.repeat(np.arange(len(reports)), [len(report.items) for report in reports]),
        items,
        np.concatenate([report.values for report in reports]),
        handling=Handling(),
    )
    return replace(ratings, perturbed=form, report_digest=digest_of(report.digest for report in reports))


def digest_of(reports: Iterable[str]) -> str:
    """One digest of the digests of all reports, in whatever order they come.

    >>> digest_of(["a", "b"]) == digest_of(["b", "a"]) != digest_of(["a"])
    True
    """
    return hashlib.sha256("\n".join(sorted(reports)).encode()).hexdigest()


def in_32_bits(scale: Scale) -> Scale:
    """The scale with its ends moved outwards to numbers of 32 bits, in which ratings are kept."""
    low, high = np.float32(scale.low), np.float32(scale.high)
    if float(low) > scale.low:
        low = np.nextafter(low, np.float32(-np.inf))
    if float(high) < scale.high:
        high = np.nextafter(high, np.float32(np.inf))
    return Scale(float(low), float(high))


def _counts(rejected: tuple[Rejected, ...]) -> dict[str, int]:
    return dict(Counter(str(entry.reason) for entry in rejected).most_common())


def _summary(rejected: tuple[Rejected, ...]) -> str:
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in _counts(rejected).items())
    return f"{len(rejected):,} rejected" + (f" ({reasons})" if reasons else "")
