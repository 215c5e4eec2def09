"""Files that lie in a folder or in a zip archive, opened alike, and read in blocks of whole records."""

import gzip
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from discreet.errors import DataError

BLOCK = 2**20  # bytes of text that are parsed at once: what is made of them on the way is as small
LONGEST_RECORD = 2**24
BREAK = b"\n"


@dataclass(frozen=True)
class Source:
    """A folder or a zip archive of files; which folder of the archive they are in does not matter.

    Parameters
    ----------
    path
        The folder, or the archive.
    files
        Where each file is, by its own name in lower case: a path, or the name of a member of the archive.
    """

    path: Path
    files: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, *, nested: bool = True) -> "Source":
        """List a folder (and, if ``nested``, the folders just inside it) or an archive."""
        if is_folder(path):
            with _whole(path):
                found = [*(path.glob("*/*") if nested else ()), *path.iterdir()]
                found.sort(key=lambda file: (-len(file.parts), str(file)))  # what lies higher up wins
                return cls(path, {file.name.lower(): str(file) for file in found if file.is_file()})
        require_plain(path)
        with _whole(path), zipfile.ZipFile(path) as archive:
            members = [member for member in archive.namelist() if not member.endswith("/") and "__MACOSX" not in member]
            ordered = sorted(members, key=lambda member: (-member.count("/"), member))
            return cls(path, {member.rpartition("/")[2].lower(): member for member in ordered})

    def __contains__(self, name: str) -> bool:
        return name in self.files

    def matching(self, prefix: str, suffix: str) -> list[str]:
        """Names that begin and end like this, in order."""
        return sorted(name for name in self.files if name.startswith(prefix) and name.endswith(suffix))

    def label(self, name: str) -> str:
        """What a file is called in messages."""
        return str(self.path / Path(self.files.get(name, name)).name)

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open one of the files for reading bytes."""
        if name not in self.files:
            raise DataError(f"{self.path} has no file {name}")
        if self.path.is_dir():
            with open_bytes(Path(self.files[name])) as file:
                yield file
        else:
            with _whole(self.path), zipfile.ZipFile(self.path) as archive, archive.open(self.files[name]) as member:
                yield member

    def size(self, name: str) -> int:
        """How many bytes a file has, unpacked."""
        if self.path.is_dir():
            return Path(self.files[name]).stat().st_size
        with _whole(self.path), zipfile.ZipFile(self.path) as archive:
            return archive.getinfo(self.files[name]).file_size

    def text(self, name: str) -> str:
        """The whole of a small file as text."""
        with self.open(name) as file:
            return decode(file.read(), self.label(name))


def require_plain(path: Path) -> None:
    """Raise unless there is a file that ends: a pipe or a device may be waited for, or read, forever."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise DataError(f"{path} cannot be read: there is no such file") from None
    except (OSError, ValueError) as error:  # a zero byte in the name is a ValueError
        raise DataError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISDIR(mode):
        raise DataError(f"{path} cannot be read: Is a directory, where a file is expected")
    if not stat.S_ISREG(mode):
        raise DataError(f"{path} cannot be read: it is a pipe, a socket or a device; copy it into a file first")


def is_there(path: Path) -> bool:
    """Whether there is a file or folder; a name that no file can have names none."""
    try:
        return path.exists()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder; a name that no folder can have names none."""
    try:
        return path.is_dir()
    except OSError:
        return False


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a plain or gzipped file for reading bytes."""
    require_plain(path)
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            yield file  # type: ignore[misc]
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError(f"{path} is damaged or cut off: it cannot be unpacked") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def decode(content: bytes, label: str) -> str:
    """Text in UTF-8, or else in Latin-1, as the older MovieLens files and the Netflix titles are."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content:
        raise DataError.at(f"{label}, row 1", "this is not text in UTF-8 or Latin-1; save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def record_blocks(file: IO[bytes], label: str, *, quoted: bool, size: int = BLOCK) -> Iterator[bytes]:
    """Cut a text file into blocks that end where a record ends.

    With ``quoted``, a line break between double quotes does not end a record.

    >>> from io import BytesIO
    >>> list(record_blocks(BytesIO(b"1,2\\n3,4\\n5,6"), "it", quoted=False, size=6))
    [b'1,2\\n', b'3,4\\n', b'5,6']
    """
    carry, row = b"", 1
    while chunk := file.read(size):
        if not carry and row == 1:
            chunk = chunk.removeprefix(b"\xef\xbb\xbf")
        if chunk.endswith(b"\r"):
            chunk += file.read(1)  # the other half of a line end
        block = _line_feeds(carry + chunk, quoted)
        end = _end_of_records(block, quoted)
        block, carry = block[:end], block[end:]
        if len(carry) > LONGEST_RECORD:
            what = "a quote that is opened here or further down is never closed" if quoted else "this row never ends"
            raise DataError.at(f"{label}, row {row + block.count(BREAK)}", f"{what}")
        if block:
            check_text(block, label, row)
            row += block.count(BREAK)
            yield block
    if carry.strip():
        check_text(carry, label, row)
        yield carry


def check_text(block: bytes, label: str, row: int) -> None:
    """Raise unless the block is UTF-8; ``row`` is the number of its first line."""
    if block.isascii() and b"\0" not in block:
        return
    try:
        block.decode("utf-8")
        at = block.find(b"\0")
    except UnicodeDecodeError as error:
        at = error.start
    if at >= 0:
        row += block.count(BREAK, 0, at)
        raise DataError.at(
            f"{label}, row {row}", "this is not text in UTF-8; save the file as UTF-8, or name its encoding"
        )


def _line_feeds(block: bytes, quoted: bool) -> bytes:
    """Lines that end with a carriage return alone, as on old Macs, end with a line feed; what is quoted stays.

    >>> _line_feeds(b'a\\rb\\r\\n"\\r"\\r', quoted=True)
    b'a\\nb\\r\\n"\\r"\\n'
    """
    if b"\r" not in block or block.count(b"\r") == block.count(b"\r\n"):
        return block
    content = np.frombuffer(block, dtype=np.uint8).copy()
    alone = content == ord("\r")
    alone[:-1] &= content[1:] != BREAK[0]
    if quoted and b'"' in block:
        alone &= np.cumsum(content == ord('"'), dtype=np.int32) & 1 == 0
    content[alone] = BREAK[0]
    return content.tobytes()


def _end_of_records(block: bytes, quoted: bool) -> int:
    if not quoted or b'"' not in block:
        return block.rfind(BREAK) + 1
    content = np.frombuffer(block, dtype=np.uint8)
    open_quote = np.cumsum(content == ord('"'), dtype=np.int32) & 1
    ends = np.flatnonzero((content == BREAK[0]) & (open_quote == 0))
    return int(ends[-1]) + 1 if len(ends) else 0


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Say plainly that an archive is broken, however the reading of it fails."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
        raise DataError(f"{path} is not a whole zip archive: it is cut off or damaged; fetch it again") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
