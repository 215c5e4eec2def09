"""Reading a release, which may come from anyone: nothing that it says is believed before it was checked.

In this order, and each refused in one sentence: the card (an ordinary file of bounded size, every field of its kind),
the signature where there is one, the header of the arrays against the card and against what the model declares, only
then the arrays themselves (checksum, positions, finite numbers), the catalogue by its fingerprint, and the promise,
which is recomputed from the ledger. A card names a model by our table or by a class that the caller passed, and never
code to import.
"""

import dataclasses
import json
import logging
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import discreet
from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.errors import InputError, MissingLibraryError, ReleaseError, library_for
from discreet.names import find_kind
from discreet.printable import printable
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import MOST_LINES
from discreet.privacy.spend import Spend
from discreet.releases.arrays_file import (
    STARTS,
    TEXT,
    Table,
    damaged,
    read_arrays,
    read_table,
    strings,
    without_repeats,
)
from discreet.releases.card_schema import CARD as CARD_KIND
from discreet.releases.card_schema import check_kind
from discreet.releases.declared import check_shapes, check_values
from discreet.releases.regular_files import read_regular
from discreet.releases.release import HERE, Release
from discreet.types import AnyArray

if TYPE_CHECKING:
    from discreet.privacy.signing import PublicKey

_LOG = logging.getLogger("discreet")

FORMAT = 2
CARD, ARRAYS, SIGNATURE = "card.json", "arrays.safetensors", "card.sig"
CATALOGUE_PREFIX = "catalogue."
MOST_CARD, MOST_SIGNATURE = 1 << 24, 1 << 14
"""In bytes."""
LONGEST = 600
"""Of a sentence, in characters."""
MOST_STEPS, MOST_SAMPLED = 1_000_000, 100
"""Of a ledger: so many are added up in a few seconds."""
NOT_RECOMPUTED = (
    "So says its card: what it promises was not recomputed from its ledger here, where a library for that is missing."
)


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
    except MissingLibraryError:
        raise
    except ReleaseError as error:
        raise ReleaseError(_shortened(str(error))) from None
    except Exception as error:  # whatever a card made of its own model, or of the numbers in it
        raise ReleaseError(_shortened(f"{folder / CARD} is incomplete or damaged: {error}")) from error


def _shortened(sentence: str) -> str:
    """A sentence that may quote a card: on one line, and not a page long."""
    sentence = printable(sentence)
    return sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 100]} … {sentence[-90:]}"


def _load(folder: Path, card: dict[str, Any], own: Collection[Any]) -> Release:
    found = card.get("format")
    if found != FORMAT or type(found) is not int:
        older = type(found) is int and found < FORMAT
        advice = ": it was written by an earlier version, so fit and save it again" if older else ""
        raise ReleaseError(f"{folder} has format {found!r:.100}, this version of Discreet reads {FORMAT}{advice}")
    check_kind(card, CARD_KIND, f"{folder / CARD} is incomplete or damaged: card")
    kind = _kind(folder, card["model"], own)
    try:
        model = kind(**_present_settings(kind, card["settings"]))
    except (TypeError, InputError) as error:
        raise ReleaseError(f"{folder} holds settings that this version cannot use: {error}") from None
    path = folder / ARRAYS
    table = read_table(path)
    if {name: entry.to_json() for name, entry in table.items()} != card["arrays"]:
        raise ReleaseError(f"{path} does not hold the arrays that its card declares")
    _check_table(path, table, model, len(card["genres"]))
    arrays = read_arrays(path, table, card["arrays_sha256"])
    catalogue = _catalogue(path, card, arrays)
    release = Release(
        model=model,
        arrays=arrays,
        catalogue=catalogue,
        guarantee=Guarantee.from_json(card["guarantee"]),
        spends=tuple(Spend.from_json(line) for line in card["ledger"]),
        sources={name: tuple(looks) for name, looks in card["sources"].items()},
        note=card["note"],
        made=HERE,
    )
    check_values(model, arrays, release.guarantee.proven is not None)
    _check_length(folder, release)
    recomputed = True
    try:
        check_promise(release)
    except MissingLibraryError as missing:
        recomputed = False
        _LOG.warning("what %s promises was not recomputed from its ledger: %s", folder, missing)
    # Other versions may say it in other words.
    sentence = str(release.guarantee)
    if card["discreet"] == discreet.__version__ and card["guarantee"]["sentence"] != sentence:
        raise ReleaseError(f"{folder / CARD} promises something else in words than in numbers")
    if recomputed:
        return release
    notes = (*release.guarantee.notes, NOT_RECOMPUTED)
    return dataclasses.replace(release, guarantee=dataclasses.replace(release.guarantee, notes=notes), made=HERE)


def _check_table(path: Path, table: Table, model: Any, genres: int) -> None:
    """Raise unless the header fits the catalogue and the model; the arrays themselves were not read yet."""
    starts = table.get(f"{CATALOGUE_PREFIX}items{STARTS}")
    items = starts.shape[0] - 1 if starts is not None and len(starts.shape) == 1 else -1
    if items < 1:
        raise damaged(path, "it has no list of items")
    for name, kind, shape in (
        (f"items{STARTS}", "I64", (items + 1,)),
        (f"titles{STARTS}", "I64", (items + 1,)),
        (f"items{TEXT}", "U8", None),
        (f"titles{TEXT}", "U8", None),
        ("item_genres", "BOOL", (items, genres)),
        ("years", "I16", (items,)),
    ):
        entry = table.get(CATALOGUE_PREFIX + name)
        if entry is None or entry.type != kind or (entry.shape != shape if shape else len(entry.shape) != 1):
            raise damaged(path, f"the array {CATALOGUE_PREFIX + name!r} does not fit its list of {items:,} items")
    own = {name: entry for name, entry in table.items() if not name.startswith(CATALOGUE_PREFIX)}
    try:
        check_shapes(model, {name: (entry.shape, entry.dtype) for name, entry in own.items()}, items, genres)
    except InputError as error:
        raise damaged(path, str(error)) from None


def _catalogue(path: Path, card: dict[str, Any], arrays: dict[str, AnyArray]) -> Catalogue:
    """Take the catalogue out of the arrays; it must be the one that the card names."""
    catalogue = Catalogue(
        items=Labels.of(strings(path, arrays, f"{CATALOGUE_PREFIX}items"), what="item"),
        scale=Scale.of_ends(*card["scale"]),
        titles=strings(path, arrays, f"{CATALOGUE_PREFIX}titles"),
        genres=tuple(card["genres"]),
        item_genres=arrays.pop(f"{CATALOGUE_PREFIX}item_genres"),
        years=arrays.pop(f"{CATALOGUE_PREFIX}years"),
        declared=card["catalogue_declared"],
    )
    if any(name.startswith(CATALOGUE_PREFIX) for name in arrays):
        raise damaged(path, "it says something of items that this version does not know")
    if catalogue.fingerprint != card["catalogue_fingerprint"]:
        raise damaged(path, "its items are not those that the card names by their fingerprint")
    return catalogue


def _check_length(folder: Path, release: Release) -> None:
    """Raise where adding up the ledger would take minutes: whoever wrote it may want just that."""
    sampled = [spend for spend in release.spends if spend.mechanism == "gaussian" and spend.sampling_rate < 1]
    kinds = len({(spend.noise_multiplier, spend.sampling_rate) for spend in sampled}) * (
        1 + len(release.guarantee.levels)
    )
    for count, most, what in (
        (len(release.spends), MOST_LINES, "lines"),
        (sum(spend.times for spend in sampled), MOST_STEPS, "sampled steps"),
        (kinds, MOST_SAMPLED, "kinds of sampled steps and privacy levels"),
    ):
        if count > most:
            raise ReleaseError(f"{folder / CARD} has a ledger of {count:,} {what}, and at most {most:,} are added up")


def _kind(folder: Path, name: str, own: Collection[Any]) -> Any:
    """The class of a model: ours by its name, another only if whoever loads the release has passed it."""
    _, colon, last = name.partition(":")
    found = find_kind(name) or next((kind for kind in own if colon and kind.__qualname__ == last), None)
    if found is None and colon and not name.startswith("paper:"):
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


def read_card(folder: Path) -> dict[str, Any]:
    """The card alone, as it was written."""
    return _parsed(folder, _content(folder))


def signer_of(folder: Path) -> "PublicKey | None":
    """Who signed a release; None if nobody did. A signature that does not fit is refused."""
    return _signer(folder, _content(folder))


def _content(folder: Path) -> bytes:
    try:
        return read_regular(folder / CARD, MOST_CARD)
    except FileNotFoundError:
        raise ReleaseError(f"{folder} is not a release: it has no {CARD}") from None


def _parsed(folder: Path, content: bytes) -> dict[str, Any]:
    try:
        card = json.loads(content.decode(), object_pairs_hook=without_repeats, parse_constant=_infinite)
    except (ValueError, RecursionError) as error:
        raise ReleaseError(f"{folder / CARD} cannot be read: {error}") from None
    if not isinstance(card, dict):
        raise ReleaseError(f"{folder / CARD} is not the card of a release")
    return card


def _infinite(word: str) -> float:
    """Settings may be infinite; what else must be finite is checked with its field."""
    if word == "NaN":
        raise ValueError("NaN is not a number")
    return float(word)


def _signer(folder: Path, content: bytes) -> "PublicKey | None":
    try:
        signature = read_regular(folder / SIGNATURE, MOST_SIGNATURE)
    except FileNotFoundError:
        return None
    with library_for("checking a signature"):
        from discreet.privacy.signing import PublicKey

    try:
        return PublicKey.of_signature(signature, content)
    except InputError as error:
        raise ReleaseError(f"{folder / CARD} is not what was signed: {error}") from None


def _present_settings(kind: type[Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Without ``engine`` where it was a setting once: it says what computed the sums, and these are the same."""
    own = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in settings.items() if name in own or name != "engine"}
