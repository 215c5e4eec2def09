"""A release made ready to answer: everything that does not depend on a user is made here, before the first request."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.errors import ReleaseError
from discreet.releases.contract import ExplainingModel, Model
from discreet.releases.loading import CARD
from discreet.releases.release import Release
from discreet.releases.scorer import Scorer
from discreet.service.certificate import Certificate
from discreet.service.files import File, page_files
from discreet.service.searching import Search

Stamp = tuple[str, int, int, int, int]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where releases come from, and what they have to be.

    Parameters
    ----------
    path
        A folder, or a link to one: whoever puts a new one there exchanges the release.
    key
        The file of the public key that must have signed every one.
    model
        The class of its model as ``module:Class``, where it is not one of Discreet's.
    page
        Whether the page for browsers is made and offered.
    """

    path: Path
    key: Path | None = None
    model: str | None = None
    page: bool = True

    def stamp(self) -> Stamp:
        """What changes when the release is exchanged."""
        folder = self.path.resolve()
        try:
            card = (folder / CARD).stat()
        except OSError:
            raise ReleaseError(f"{self.path} does not hold a release: it has no {CARD}") from None
        return str(folder), card.st_dev, card.st_ino, card.st_mtime_ns, card.st_size


@dataclass(frozen=True, eq=False)
class Names:
    """What items are called, looked up without searching: names come from strangers, and by the thousand.

    >>> names = Names.of(["1", "2", "3"], ["2", "b", "b"])
    >>> names.find("2"), names.find("3"), names.find("b"), names.find("c"), names.all_of("b"), names.all_of("2")
    (0, 2, 1, None, [1, 2], [1])
    """

    identifiers: dict[str, int]
    titles: dict[str, list[int]]

    @classmethod
    def of(cls, items: list[str], titles: list[str]) -> "Names":
        """The names of items, position by position."""
        places: dict[str, list[int]] = {}
        for place, title in enumerate(titles):
            places.setdefault(title, []).append(place)
        return cls({item: place for place, item in enumerate(items)}, places)

    def find(self, name: str) -> int | None:
        """The item of a history, as :meth:`~discreet.Catalogue.find` reads it: by title first, the first of several."""
        titled = self.titles.get(name)
        return self.identifiers.get(name) if titled is None else titled[0]

    def all_of(self, name: str) -> list[int]:
        """The items to exclude, or in stock, as :func:`~discreet.releases.stock.allowed_items` reads them."""
        place = self.identifiers.get(name)
        return self.titles.get(name, []) if place is None else [place]


@dataclass(frozen=True, eq=False, kw_only=True)
class Ready:
    """A release with all that answers need. It holds no user, and requests that have begun with it end with it."""

    name: str
    model: str
    guarantee: str
    scorer: Scorer
    names: Names
    items: list[str]
    titles: list[str]
    search: Search
    explains: bool
    certificate: File
    certificate_page: File
    page: dict[str, File]
    stamp: Stamp

    @property
    def catalogue(self) -> Catalogue:
        """Its items."""
        return self.scorer.catalogue

    @classmethod
    def load(cls, source: Source) -> "Ready":
        """Read the release that is there now; one that is exchanged meanwhile is read again."""
        kind = _kind(source.model)
        while True:
            stamp = source.stamp()
            folder = Path(stamp[0])
            try:
                release = Release.load(folder, key=source.key, model=kind)
                certificate = Certificate.of(folder, release)
            except Exception:
                if source.stamp() == stamp:
                    raise
                continue
            if source.stamp() == stamp:
                return cls._of(release, certificate, stamp, page=source.page)

    @classmethod
    def _of(cls, release: Release, certificate: Certificate, stamp: Stamp, *, page: bool) -> "Ready":
        catalogue, scorer = release.catalogue, release.scorer()
        items, titles = list(catalogue.items), [str(title) for title in catalogue.titles]
        explains = isinstance(release.model, ExplainingModel)
        # Models prepare when they are first asked, and no request should wait for that.
        somebody = History.of_likes(catalogue, [items[0]])
        scorer.recommend(somebody, 1, explain=explains)
        if scorer.predicts_ratings:
            scorer.predict(Ratings.of_history(somebody), np.zeros(1, np.int32), np.zeros(1, np.int32))
        return cls(
            name=str(certificate.data["arrays_sha256"])[:16],
            model=type(release.model).__name__,
            guarantee=str(release.guarantee),
            scorer=scorer,
            names=Names.of(items, titles),
            items=items,
            titles=titles,
            search=Search(titles),
            explains=explains,
            certificate=File.of("certificate.json", json.dumps(certificate.data, ensure_ascii=False).encode()),
            certificate_page=File.of("certificate.html", certificate.page.encode()),
            page=page_files(release) if page else {},
            stamp=stamp,
        )


def _kind(name: str | None) -> type[Model] | None:
    if name is None:
        return None
    from discreet.fitting.own_models import import_model

    found: type[Model] = import_model(name)
    return found
