"""A release on disk: a folder with one JSON card, one arrays file without pickle and, if asked for, a signature.

What a card promises is not believed but recomputed from its ledger whenever it is read. The signature is over the exact
bytes of the card, which holds the checksum of the arrays: a changed byte in either is noticed.
"""

import dataclasses
import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import discreet
from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.errors import InputError, MissingLibraryError, ReleaseError, library_for
from discreet.names import find_kind, name_of
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Spend
from discreet.releases.contract import check_settings
from discreet.releases.places import Place, claimed
from discreet.releases.release import Release
from discreet.releases.tuning import unpaid_reason
from discreet.types import AnyArray

if TYPE_CHECKING:
    from discreet.privacy.signing import PublicKey, SigningKey

_LOG = logging.getLogger("discreet")

FORMAT = 1
CARD, ARRAYS, SIGNATURE = "card.json", "arrays.npz", "card.sig"
CATALOGUE_PREFIX = "catalogue."
NOT_WRITTEN = "nothing was written"
NOT_RECOMPUTED = (
    "So says its card: what it promises was not recomputed from its ledger here, where a library for that is missing."
)


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
    check_looks(release)
    check_settings(release.model)
    own = nullcontext(folder) if isinstance(folder, Place) else claimed(folder, replace=replace, outcome=NOT_WRITTEN)
    with own as place, _sentence(place):
        temporary = place.start(None if publishing is None else publishing.budget)
        arrays = dict(release.arrays)
        arrays |= {CATALOGUE_PREFIX + key: column for key, column in release.catalogue.columns().items()}
        np.savez_compressed(temporary / ARRAYS, allow_pickle=False, **arrays)
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
            "arrays": {key: {"shape": value.shape, "type": value.dtype.str} for key, value in arrays.items()},
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


def load(folder: Path, key: "PublicKey | None" = None, own: Collection[Any] = ()) -> Release:
    """Read a release, and refuse one that is damaged, from another version, or that promises more than it paid for.

    A signature that is there must fit; with ``key`` there must be one, and by this key. ``own`` are classes of models
    that are not Discreet's: a card names one of them, and never code to import.
    """
    content = _content(folder)
    try:
        signer = _signer(folder, content)
    except MissingLibraryError as missing:
        if key is not None:
            raise
        _LOG.warning("the signature of %s was not checked: %s", folder, missing)
        signer = None
    if key is not None and signer is None:
        raise ReleaseError(f"{folder} is not signed, and it should be by the key {key}")
    if key is not None and signer != key:
        raise ReleaseError(f"{folder} is signed by the key {signer}, and it should be by {key}")
    try:
        return _load(folder, _parsed(folder, content), own)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, InputError) as error:
        raise ReleaseError(f"{folder / CARD} is incomplete or damaged: {error}") from None


def _load(folder: Path, card: dict[str, Any], own: Collection[Any]) -> Release:
    if card.get("format") != FORMAT:
        raise ReleaseError(f"{folder} has format {card.get('format')!r}, this version of Discreet reads {FORMAT}")
    kind = _kind(folder, card.get("model"), own)
    path = folder / ARRAYS
    if not path.is_file() or _checksum(path) != card["arrays_sha256"]:
        raise ReleaseError(f"{path} is missing or damaged: its checksum is not the one in the card")
    with np.load(path, allow_pickle=False) as archive:
        arrays: dict[str, AnyArray] = {key: archive[key] for key in archive.files}
    declared = {key: (tuple(entry["shape"]), entry["type"]) for key, entry in card["arrays"].items()}
    if {key: (value.shape, value.dtype.str) for key, value in arrays.items()} != declared:
        raise ReleaseError(f"{path} does not hold the arrays that its card declares")
    columns = {
        key.removeprefix(CATALOGUE_PREFIX): arrays.pop(key) for key in list(arrays) if key.startswith(CATALOGUE_PREFIX)
    }
    catalogue = Catalogue(
        items=Labels(columns["items"], what="item"),
        scale=Scale(*card["scale"]),
        titles=columns["titles"],
        genres=tuple(card["genres"]),
        item_genres=columns["item_genres"],
        years=columns["years"],
        declared=card.get("catalogue_declared") is True,
    )
    try:
        model = kind(**_present_settings(kind, card["settings"]))
    except (TypeError, InputError) as error:
        raise ReleaseError(f"{folder} holds settings that this version cannot use: {error}") from None
    release = Release(
        model=model,
        arrays=arrays,
        catalogue=catalogue,
        guarantee=Guarantee.from_json(card["guarantee"]),
        spends=tuple(Spend.from_json(line) for line in card["ledger"]),
        sources={name: tuple(looks) for name, looks in card["sources"].items()},
        note=str(card.get("note", "")),
    )
    recomputed = True
    try:
        check_promise(release)
    except MissingLibraryError as missing:
        recomputed = False
        _LOG.warning("what %s promises was not recomputed from its ledger: %s", folder, missing)
    # Other versions may say it in other words.
    if card["discreet"] == discreet.__version__ and card["guarantee"]["sentence"] != str(release.guarantee):
        raise ReleaseError(f"{folder / CARD} promises something else in words than in numbers")
    if recomputed:
        return release
    notes = (*release.guarantee.notes, NOT_RECOMPUTED)
    return dataclasses.replace(release, guarantee=dataclasses.replace(release.guarantee, notes=notes))


def _kind(folder: Path, name: object, own: Collection[Any]) -> Any:
    """The class of a model: ours by its name, another only if whoever loads the release has passed it."""
    _, colon, last = str(name).partition(":")
    found = find_kind(str(name)) or next((kind for kind in own if colon and kind.__qualname__ == last), None)
    if found is None and colon and not str(name).startswith("paper:"):
        given = f", and {' and '.join(kind.__name__ for kind in own)} is another" if own else ""
        raise ReleaseError(
            f"{folder} holds the model {name!r}, which is not one of Discreet's{given}: if you trust its code, pass "
            "the class (Release.load(folder, model=Class), on the command line --model module:Class)"
        )
    if found is None:
        raise ReleaseError(f"{folder} holds a model {name!r} that this version does not know")
    return found


def check_promise(release: Release) -> None:
    """Raise if a release promises what its own ledger does not pay for, or what its noise cannot keep."""
    release.require_covered()
    if release.guarantee.proven is not None and any(spend.seeded for spend in release.spends):
        promised = release.guarantee.proven
        raise InputError(f"this release promises {promised}, but noise in its ledger was seeded: the promise is false")
    release.require_paid()


def check_looks(release: Release) -> None:
    """Raise if the ratings were looked at after the fit, by which one of several releases may have been chosen."""
    if release.guarantee.proven is None or release.guarantee.tuning not in ("defaults", "unrecorded"):
        return
    if reason := unpaid_reason(release.model, release.log):
        raise InputError(f"{reason}; nothing was written")


def read_card(folder: Path) -> dict[str, Any]:
    """The card alone, as it was written."""
    return _parsed(folder, _content(folder))


def signer_of(folder: Path) -> "PublicKey | None":
    """Who signed a release; None if nobody did. A signature that does not fit is refused."""
    return _signer(folder, _content(folder))


def _content(folder: Path) -> bytes:
    path = folder / CARD
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise ReleaseError(f"{folder} is not a release: it has no {CARD}") from None
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error}") from None


def _parsed(folder: Path, content: bytes) -> dict[str, Any]:
    try:
        card = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise ReleaseError(f"{folder / CARD} cannot be read: {error}") from None
    if not isinstance(card, dict):
        raise ReleaseError(f"{folder / CARD} is not the card of a release")
    return card


def _signer(folder: Path, content: bytes) -> "PublicKey | None":
    path = folder / SIGNATURE
    try:
        signature = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error}") from None
    with library_for("checking a signature"):
        from discreet.privacy.signing import PublicKey

    try:
        return PublicKey.of_signature(signature, content)
    except InputError as error:
        raise ReleaseError(f"{folder / CARD} is not what was signed: {error}") from None


def _plain(setting: object) -> object:
    """Numbers of numpy as Python's own."""
    if isinstance(setting, np.generic):
        return setting.item()
    raise InputError(f"a setting of the kind {type(setting).__name__} cannot be saved; nothing was written")


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _present_settings(kind: type[Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Without ``engine`` where it was a setting once: it says what computed the sums, and these are the same."""
    own = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in settings.items() if name in own or name != "engine"}
