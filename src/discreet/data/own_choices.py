"""The data sets that Discreet's own defaults were chosen on, recognised by their public items.

A path, a copy or a split is the same data set as far as this goes, so it is the catalogue that is compared. A table of
the same ratings may have no titles; then the identifiers alone decide. Other editions of data that grow are not
recognised: of MovieLens latest-small ours is that of 2016, of MovieTweetings that of 6 November 2013.
"""

import hashlib

from discreet.data.catalogue import Catalogue

_CHECKSUMS = {
    "01f8ba3bea95f32bd9f1dec3c942bfcc4b0283f0fdfaf9adfb1a51e4f2658713": "ml-100k",
    "0725f24e5ce4b459d0efea006d3bd8f56f2d5badb18f7d78fce6fcf69cdb6ef4": "ml-100k",  # without titles
    "b88ea2cc2652dafdb283be6d600f98edf5fb69227e43a0b6c89098b4963696ac": "ml-1m",
    "addcf8804beefd572b462f3fca0bec4ce36d2e99564cb700a16ff60cb649b539": "ml-1m",  # without titles
    "38c1709da2628db8f40e7cec14683573ba5f3eb437c127ba524c5082f900c8ce": "ml-1m",  # the items that were rated
    "fcf6c7d2d625b0ae28de8ac07927738c4ad6ce7a495dbdb2cb0a760840cbe64c": "ml-latest-small",
    "51bcd540ea45d0bd98f097272d48afce090522b71f25fbfe9262ab4864a40563": "ml-latest-small",  # titles as in its table
    "3cce92866fef66b31228fb724b5fef4c9eb787d78bb37eaeb37ce1dcc589538a": "ml-latest-small",  # without titles
    "a6ae7fd654f4a84cbe1464047d9ae7a347c239441af6353e01a18aeb36db7df5": "ml-latest-small",  # that were rated
    "fa4bdbf166494bc9801bca4ff457f9793dc9ed8b88abff978bb71c5144789903": "ml-latest-small",  # these without titles
    "1e823d0af28cbee59678282f008455c9ed7795279367e06c2cfe7e37f6a3c02c": "filmtrust",  # which has no titles
    "6c4f76425d640b57f6432d84ef5da45126b5a96b997da68975154c6424d68e8c": "movietweetings",
    "d64b6e6cb3aed9c50a4b8186dee112a7487be76570f2ec8dd085dbb61a0f791b": "movietweetings",  # without titles
}
_SIZES = (1682, 2071, 3706, 3883, 9066, 9125, 12611)


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
