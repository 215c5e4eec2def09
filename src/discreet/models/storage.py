"""A release on disk: a folder with one JSON card and one arrays file without pickle."""

import dataclasses
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import discreet
from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.errors import InputError, ReleaseError
from discreet.models.names import every_kind
from discreet.models.release import Release
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Spend
from discreet.types import AnyArray

FORMAT = 1
CARD, ARRAYS = "card.json", "arrays.npz"
CATALOGUE_PREFIX = "catalogue."


def save(release: Release, folder: Path, publishing: Callable[[str], None] | None = None) -> None:
    """Write beside the folder first and rename, so that a release is there whole or not at all.

    Just before it appears ``publishing`` is called with the checksum of its arrays, and may raise: then it does not.
    """
    release.require_covered()
    release.require_paid()
    name = next((name for name, kind in every_kind().items() if type(release.model) is kind), None)
    if name is None:
        raise InputError(f"{type(release.model).__name__} is not one of Discreet's models and cannot be saved")
    if folder.exists() and not (folder / CARD).exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not a release; nothing was written")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise InputError(f"cannot write to {folder.parent}: {error.strerror}; nothing was written") from None
    try:
        arrays = dict(release.arrays)
        arrays |= {CATALOGUE_PREFIX + key: column for key, column in release.catalogue.columns().items()}
        np.savez_compressed(temporary / ARRAYS, allow_pickle=False, **arrays)
        card = {
            "format": FORMAT,
            "discreet": discreet.__version__,
            "model": name,
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
        (temporary / CARD).write_text(
            json.dumps(card, indent=2, sort_keys=True, default=_plain) + "\n", encoding="utf-8"
        )
        temporary.chmod(0o755)
        if publishing is not None:
            publishing(str(card["arrays_sha256"]))
        if folder.exists():
            previous = temporary.with_name(temporary.name + ".previous")
            folder.replace(previous)
            temporary.replace(folder)
            shutil.rmtree(previous)
        else:
            temporary.replace(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def load(folder: Path) -> Release:
    """Read a release, and refuse one that is damaged or from another version."""
    try:
        return _load(folder, read_card(folder))
    except (KeyError, TypeError, InputError) as error:
        raise ReleaseError(f"{folder / CARD} is incomplete or damaged: {error}") from None


def _load(folder: Path, card: dict[str, Any]) -> Release:
    if card.get("format") != FORMAT:
        raise ReleaseError(f"{folder} has format {card.get('format')!r}, this version of Discreet reads {FORMAT}")
    kinds = every_kind()
    if card.get("model") not in kinds:
        raise ReleaseError(f"{folder} holds a model {card.get('model')!r} that this version does not know")
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
        model = kinds[card["model"]](**card["settings"])
    except (TypeError, InputError) as error:
        raise ReleaseError(f"{folder} holds settings that this version cannot use: {error}") from None
    return Release(
        model=model,
        arrays=arrays,
        catalogue=catalogue,
        guarantee=Guarantee.from_json(card["guarantee"]),
        spends=tuple(Spend.from_json(line) for line in card["ledger"]),
        sources={name: tuple(looks) for name, looks in card["sources"].items()},
        note=str(card.get("note", "")),
    )


def read_card(folder: Path) -> dict[str, Any]:
    """The card alone, as it was written."""
    path = folder / CARD
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise ReleaseError(f"{folder} is not a release: it has no {CARD}") from None
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{path} cannot be read: {error}") from None
    if not isinstance(card, dict):
        raise ReleaseError(f"{path} is not the card of a release")
    return card


def _plain(setting: object) -> object:
    """Numbers of numpy as Python's own."""
    if isinstance(setting, np.generic):
        return setting.item()
    raise InputError(f"a setting of the kind {type(setting).__name__} cannot be saved; nothing was written")


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
