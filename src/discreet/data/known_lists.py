"""Lists of items that are public because their publisher put them out, known by a checksum and not by file names.

Whoever has a folder with the file names of MovieLens may have made its list of items from the ratings. So such a list
is public only by somebody's word, or if it is the published one to the last letter.
"""

import hashlib

from discreet.data.catalogue import Catalogue
from discreet.data.sources import Source

_LISTS = {
    "781710028dbb730df864a007de234a08b86b9a6ef7e634d756edcac610e39fdd": "ml-100k",
    "7ea1b564f6152b0fada2f8cbabbae185655859c0f3fa0b268049de69a9d75063": "ml-1m",
    "83697d657a73c0ec7e4f49d8fdb8b323c5256f48898399772a059182e4fd88a4": "ml-latest-small",  # of 2016
}
"""By the fingerprint of the catalogue that they make. Larger ones are known by the checksum of their archive."""


def known_list(catalogue: Catalogue, source: Source) -> str:
    """The data set whose published list a catalogue is, as read from a folder or an archive; empty for others."""
    from discreet.data.datasets import DATA_SETS

    known = _LISTS.get(catalogue.fingerprint, "")
    archives = {entry.md5: entry.name for entry in DATA_SETS.values() if entry.items == len(catalogue)}
    if known or not archives or source.path.is_dir():
        return known
    with source.path.open("rb") as file:
        return archives.get(hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest(), "")
