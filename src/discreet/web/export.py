"""From a release to a folder that any web server can serve: one file with the release, and the page that reads it."""

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import discreet
from discreet.doors import checked
from discreet.errors import InputError, require
from discreet.files import beside, exchange, sync_files, sync_folder
from discreet.names import name_of
from discreet.releases.contract import ExplainingModel
from discreet.releases.release import Release
from discreet.web.file_format import PRECISIONS, FileArrays, Precision
from discreet.web.forms import form_of

RELEASE = "release.discreet"
WORKER = "service-worker.js"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a server should send with the page: nothing from elsewhere, no forms, no frames.

``connect-src`` is for the release alone; the page forbids itself every further request once it has it.
"""
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""All headers that a server should send with the files."""
NOTHING = "nothing was written"


@checked
def export_release(
    release: Release, folder: str | Path, *, precision: Precision = "float32", replace: bool = False
) -> Path:
    """Write a folder with the release for devices, the JavaScript module that reads it, and a page.

    Parameters
    ----------
    release
        What to export. Its guarantee and its ledger travel inside.
    folder
        Where to. It must not exist, or be empty, or hold an earlier export and ``replace`` be true.
    precision
        Of matrices: ``float16`` and ``int8`` make the file smaller and scores less exact
        (:func:`~discreet.web.loss.precision_loss` measures by how much).

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> import discreet as dc, tempfile
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> folder = Path(tempfile.mkdtemp()) / "web"
    >>> found = export_release(dc.Almanac().fit(dc.NoPrivacy(ratings)), folder)
    >>> (found / "index.html").exists(), (found / "release.discreet").stat().st_size < 20_000
    (True, True)
    """
    require(precision in PRECISIONS, f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}; {NOTHING}")
    folder = Path(folder)
    content = {**site_files(), RELEASE: release_file(release, precision)}
    content[WORKER] = _worker(content)
    _check_occupant(folder, replace=replace)
    with beside(folder) as temporary:
        made = temporary / "web"
        made.mkdir()
        try:
            for name, data in content.items():
                (made / name).write_bytes(data)
            sync_files(made)
            _move(made, folder)
            sync_folder(folder.absolute().parent)
        except OSError as error:
            raise InputError(f"cannot write to {folder}: {error.strerror}; {NOTHING}") from None
    return folder


def release_file(release: Release, precision: Precision = "float32") -> bytes:
    """The one file that a device needs: see :mod:`discreet.web.file_format`."""
    arrays, catalogue = FileArrays(precision), release.catalogue
    form = form_of(release, arrays)
    arrays.text("items", catalogue.items.names)
    if not catalogue.titles.equals(catalogue.items.names):
        arrays.text("titles", catalogue.titles)
    if catalogue.years.any():
        arrays.signed("years", catalogue.years)
    if catalogue.genres:
        arrays.whole("genres", catalogue.item_genres.astype(np.uint8))
    if "counts" in release.arrays:
        arrays.whole("popular", np.argsort(-release.arrays["counts"], kind="stable"))
    header: dict[str, Any] = {
        "model": name_of(type(release.model)),
        "scale": [catalogue.scale.low, catalogue.scale.high],
        "width": catalogue.scale.width,
        "genres": list(catalogue.genres),
        "rank": form.rank,
        "rate": form.rate,
        "predicts": release.predicts_ratings,
        "explains": isinstance(release.model, ExplainingModel),
        "guarantee": release.guarantee.to_json() | {"sentences": release.guarantee.sentences()},
        "card": {
            "discreet": discreet.__version__,
            "settings": dataclasses.asdict(release.model),  # type: ignore[call-overload]
            "note": release.note,
            "remark": release.remark,
            "ledger": [spend.to_json() for spend in release.spends],
            "catalogue_fingerprint": catalogue.fingerprint,
            "precision": precision,
        },
    }
    return arrays.file(header)


def site_files() -> dict[str, bytes]:
    """The page and the modules, by name: the same for every release."""
    site = files("discreet.web") / "site"
    return {file.name: file.read_bytes() for file in sorted(site.iterdir(), key=lambda file: file.name)}


def _worker(content: Mapping[str, bytes]) -> bytes:
    """The service worker, which must change whenever any file does: browsers compare its bytes."""
    digest = hashlib.sha256()
    for name in sorted(content):
        digest.update(name.encode() + b"\0" + hashlib.sha256(content[name]).digest())
    kept = sorted(name for name in content if name != WORKER and not name.endswith(".d.ts"))
    head = f"const VERSION = {json.dumps(digest.hexdigest()[:16])};\nconst FILES = {json.dumps(['./', *kept])};\n"
    return head.encode() + content[WORKER]


def _check_occupant(folder: Path, *, replace: bool) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file: name a folder to export to; {NOTHING}")
    occupied = any(folder.iterdir())
    if occupied and not (folder / RELEASE).is_file():
        raise InputError(f"{folder} holds something other than an export: name another folder; {NOTHING}")
    if occupied and not replace:
        raise InputError(f"{folder} holds an export: name another folder, or replace it with --replace; {NOTHING}")


def _move(made: Path, folder: Path) -> None:
    """Put the new folder in its place; whoever serves an earlier one sees the old files or the new ones."""
    if not folder.exists():
        made.rename(folder)
        return
    if exchange(made, folder):
        shutil.rmtree(made, ignore_errors=True)
        return
    folder.rename(made.with_name("previous"))
    made.rename(folder)
