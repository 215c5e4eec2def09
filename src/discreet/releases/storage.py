"""A release on disk: a folder with one JSON card, one file of arrays and, if asked for, a signature.

What a card promises is not believed but recomputed from its ledger whenever it is read. The signature is over the exact
bytes of the card, which holds the checksum of the arrays: a changed byte in either is noticed. Arrays are in the layout
of :mod:`~discreet.releases.arrays_file`; reading is in :mod:`~discreet.releases.loading`.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import discreet
from discreet.errors import InputError
from discreet.names import name_of
from discreet.releases.arrays_file import write_arrays
from discreet.releases.contract import check_settings
from discreet.releases.declared import check_values
from discreet.releases.loading import ARRAYS as ARRAYS
from discreet.releases.loading import CARD as CARD
from discreet.releases.loading import CATALOGUE_PREFIX, FORMAT
from discreet.releases.loading import SIGNATURE as SIGNATURE
from discreet.releases.loading import check_promise as check_promise
from discreet.releases.loading import load as load
from discreet.releases.loading import read_card as read_card
from discreet.releases.loading import signer_of as signer_of
from discreet.releases.places import Place, claimed
from discreet.releases.release import Release
from discreet.releases.tuning import unpaid_choice

if TYPE_CHECKING:
    from discreet.privacy.signing import SigningKey

NOT_WRITTEN = "nothing was written"


def save(
    release: Release,
    folder: Path | Place,
    sign: "SigningKey | None" = None,
    publishing: "Telling | None" = None,
    *,
    replace: bool = False,
) -> None:
    """Write beside the folder first and rename, so that a release is there whole or not at all.

    A release that is there is replaced only where ``replace`` says so. Just before it appears ``publishing`` is called
    with the checksum of its arrays, and may refuse: then it does not. When this returns, all of it is on the disk.
    """
    check_promise(release)
    release.require_unchanged(NOT_WRITTEN)
    check_looks(release)
    check_settings(release.model)
    check_values(release.model, release.arrays, release.guarantee.proven is not None)
    own = nullcontext(folder) if isinstance(folder, Place) else claimed(folder, replace=replace, outcome=NOT_WRITTEN)
    with own as place, _sentence(place):
        temporary = place.start(None if publishing is None else publishing.budget)
        columns = {CATALOGUE_PREFIX + key: column for key, column in release.catalogue.columns().items()}
        declared = write_arrays(temporary / ARRAYS, {**release.arrays, **columns})
        card = {
            "format": FORMAT,
            "discreet": discreet.__version__,
            "model": name_of(type(release.model)),
            "settings": dataclasses.asdict(release.model),  # type: ignore[call-overload]
            "note": release.note,
            "guarantee": release.guarantee.to_json(),
            "ledger": [spend.to_json() for spend in release.spends],
            "sources": {name: list(looks) for name, looks in release.sources.items()},
            "scale": [release.catalogue.scale.low, release.catalogue.scale.high],
            "genres": release.catalogue.genres,
            "catalogue_declared": release.catalogue.declared,
            "catalogue_fingerprint": release.catalogue.fingerprint,
            "arrays": declared,
            "arrays_sha256": _checksum(temporary / ARRAYS),
        }
        content = (json.dumps(card, indent=2, sort_keys=True, default=_plain) + "\n").encode()
        (temporary / CARD).write_bytes(content)
        if sign is not None:
            (temporary / SIGNATURE).write_bytes(sign.sign(content))
        checksum = str(card["arrays_sha256"])
        place.publish(temporary, None if publishing is None else lambda: publishing.tell(checksum))


class Telling(NamedTuple):
    """Who is told of a release just before it appears: where a budget is kept, and what is called with a checksum."""

    budget: str
    tell: Callable[[str], None]


@contextmanager
def _sentence(place: Place) -> Iterator[None]:
    """What the system refuses, in one sentence that says what became of the release."""
    try:
        yield
    except OSError as error:
        kept = place.waiting()
        later = f"it is complete, and kept in {kept}: the next command that looks there moves it"
        outcome = NOT_WRITTEN if kept is None else later
        raise InputError(f"cannot write the release to {place.asked}: {error.strerror or error}; {outcome}") from None


def check_looks(release: Release) -> None:
    """Raise if the ratings were looked at after the fit, by which one of several releases may have been chosen."""
    if release.guarantee.proven is None:
        return
    if reason := unpaid_choice(release.guarantee, release.model, release.log, release.reading):
        raise InputError(f"{reason}; nothing was written")


def _plain(setting: object) -> object:
    """Numbers of numpy as Python's own."""
    if isinstance(setting, np.generic):
        return setting.item()
    raise InputError(f"a setting of the kind {type(setting).__name__} cannot be saved; nothing was written")


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
