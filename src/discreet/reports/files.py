"""Files that are there whole or not at all."""

import os
import tempfile
from pathlib import Path

from discreet.errors import InputError


def write_whole(path: str | Path, content: bytes) -> None:
    """Write beside the file first and rename, so that nobody ever sees half of it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "new" / "page.html", b"hello")
    ...     (Path(folder) / "new" / "page.html").read_text()
    'hello'
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file to write")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InputError(f"cannot write to {path.parent}: {error.strerror}; nothing was written") from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror}; nothing was written") from None
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
