"""Taking a report out of a folder of reports, for a user who asks for it.

A report has no name of its user: the user knows its identifier, or has the report itself.
"""

import re
from pathlib import Path

from discreet.data.report import RefusedReport, read_report
from discreet.data.sources import is_folder
from discreet.errors import DataError, InputError
from discreet.files import sync_folder

IDENTIFIER = re.compile(r"[0-9a-f]{32}")


def delete_report(folder: str | Path, identifier: str) -> int:
    """Delete every report of a folder that has this identifier; returns how many there were.

    When this returns they are gone from the folder, also after a power cut. Backups are another matter.
    """
    folder = Path(folder)
    if not is_folder(folder):
        raise DataError(f"{folder} is not a folder of reports")
    if not IDENTIFIER.fullmatch(identifier):
        raise InputError("the identifier of a report has 32 hexadecimal digits: it stands in the report as id")
    found = [path for path in sorted(folder.glob("*.json")) if path.is_file() and _identifier(path) == identifier]
    for path in found:
        path.unlink()
    sync_folder(folder)
    return len(found)


def identifier_of(path: str | Path) -> str:
    """The identifier that stands in a report."""
    try:
        return read_report(Path(path)).id
    except RefusedReport as refusal:
        raise DataError(f"{path} is no report that can be read: {refusal.sentence}") from None


def _identifier(path: Path) -> str | None:
    """That of a report, also of one that cannot be used for another reason."""
    try:
        return read_report(path).id
    except RefusedReport:
        pass
    try:
        found = re.search(rb'"id"\s*:\s*"([0-9a-f]{32})"', path.read_bytes())
    except OSError:
        return None
    return None if found is None else found[1].decode()
