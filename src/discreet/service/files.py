"""The files of the page in memory: types, checksums, compressed forms, and what a browser may do there."""

import base64
import gzip
import hashlib
import logging
import mimetypes
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import InputError
from discreet.releases.release import Release
from discreet.web import export_release

LOG = logging.getLogger("discreet.service")

TYPES = {
    ".js": "text/javascript",
    ".ts": "text/plain",
    ".html": "text/html",
    ".css": "text/css",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
"""The system's own table differs between machines."""
WORTH_IT = 0.9
"""A file that compresses to more than this share is sent as it is."""


@dataclass(frozen=True, eq=False)
class File:
    """One file as it is sent."""

    content: bytes
    kind: str
    tag: str
    compressed: bytes | None
    policy: str

    @classmethod
    def of(cls, name: str, content: bytes) -> "File":
        """A file of that name."""
        ending = Path(name).suffix
        kind = TYPES.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        text = kind.startswith("text/") or kind == "application/json"
        packed = gzip.compress(content, 9, mtime=0)
        return cls(
            content,
            f"{kind}; charset=utf-8" if text else kind,
            f'"{hashlib.sha256(content).hexdigest()[:32]}"',
            packed if len(packed) < WORTH_IT * len(content) else None,
            _policy(ending, content),
        )


NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""The policy of answers that are no page."""


def policy_of(page: str) -> str:
    """The Content-Security-Policy of a page: files of this server, and the very styles and scripts that are in it.

    Nothing may be loaded from, or sent to, anywhere else. A page may say more strictly what it needs.

    >>> "script-src 'self' 'sha256-" in policy_of("<script>1</script>")
    True
    """
    scripts = _hashes(page, r"<script(?![^>]*\bsrc\b)[^>]*>(.*?)</script>")
    styles = _hashes(page, r"<style[^>]*>(.*?)</style>")
    return (
        f"default-src 'none'; script-src 'self'{scripts}; style-src 'self'{styles}; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )


def _policy(ending: str, content: bytes) -> str:
    """Of a file: a service worker is bound by its own, and fetches the files of the page."""
    if ending == ".html":
        return policy_of(content.decode("utf-8", "replace"))
    return policy_of("") if ending == ".js" else NOTHING


def _hashes(page: str, pattern: str) -> str:
    found = dict.fromkeys(re.findall(pattern, page, flags=re.DOTALL | re.IGNORECASE))
    return "".join(f" 'sha256-{base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()}'" for own in found)


def page_files(release: Release) -> dict[str, File]:
    """The page that computes everything in the browser, by path; empty where this release cannot be exported."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "page"
        if not export(release, folder):
            return {}
        return {
            path.relative_to(folder).as_posix(): File.of(path.name, path.read_bytes())
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }


def export(release: Release, folder: Path) -> bool:
    """Write the page of a release; False where it has none."""
    try:
        export_release(release, folder)
    except InputError as error:  # a model that no browser can compute
        LOG.info("there is no page: %s", error)
        return False
    return True
