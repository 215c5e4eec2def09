"""The data sets that Discreet's own defaults were chosen on, recognised by their public items.

A path, a copy or a split is the same data set as far as this goes, so it is the catalogue that is compared. A table of
the same ratings may have no titles; then the identifiers alone decide.
"""

import hashlib

from discreet.data.catalogue import Catalogue

_CHECKSUMS = {
    "01f8ba3bea95f32bd9f1dec3c942bfcc4b0283f0fdfaf9adfb1a51e4f2658713": "ml-100k",
    "0725f24e5ce4b459d0efea006d3bd8f56f2d5badb18f7d78fce6fcf69cdb6ef4": "ml-100k",  # without titles
    "b88ea2cc2652dafdb283be6d600f98edf5fb69227e43a0b6c89098b4963696ac": "ml-1m",
    "addcf8804beefd572b462f3fca0bec4ce36d2e99564cb700a16ff60cb649b539": "ml-1m",  # without titles
    "38c1709da2628db8f40e7cec14683573ba5f3eb437c127ba524c5082f900c8ce": "ml-1m",  # the items that were rated
}
_SIZES = (1682, 3706, 3883)


def chosen_on(catalogue: Catalogue) -> str | None:
    """The name of the data set, if it is one that our defaults were chosen on.

    >>> from discreet.data.catalogue import Scale
    >>> chosen_on(Catalogue.of(["1", "2"], Scale(1, 5))) is None
    True
    """
    if len(catalogue) not in _SIZES:
        return None
    return _CHECKSUMS.get(_checksum(catalogue))


def _checksum(catalogue: Catalogue) -> str:
    items, titles = catalogue.items.names.tolist(), catalogue.titles.tolist()
    order = sorted(range(len(items)), key=lambda place: str(items[place]))
    words = [items[place] for place in order]
    if titles != items:
        words += [titles[place] for place in order]
    return hashlib.sha256("\x1f".join(words).encode()).hexdigest()
