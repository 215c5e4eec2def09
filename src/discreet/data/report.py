"""One report: what a user sends, as a JSON file.

A report says how it was made (its :class:`ReportForm`), carries a random identifier that names nobody, and lists
items with perturbed values. docs/collection.md describes the file field by field. Whoever reads one trusts nothing
in it. Nothing heavy is imported to write one.
"""

import hashlib
import json
import math
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.data.catalogue import Scale
from discreet.errors import DataError
from discreet.files import write_whole
from discreet.types import Doubles

FORMAT = "discreet report"
VERSION = 2
ID_DIGITS = 32
LARGEST_FILE = 1 << 26
LARGEST_VALUE = 1e9

Reason = Literal[
    "unreadable file",
    "another version",
    "malformed",
    "another scale",
    "another mechanism",
    "unknown item",
    "repeated item",
    "value outside the perturbed scale",
    "second report of one user",
]


@dataclass(frozen=True)
class ReportForm:
    """What all reports of one collection have in common.

    Parameters
    ----------
    mechanism
        Name of the mechanism that perturbed the ratings.
    settings
        Its settings, for example ``{"gamma": 1.5}``.
    scale
        The scale of the ratings before they were perturbed.
    reported
        The scale of what is reported.
    seeded
        Whether the noise can be drawn again by whoever knows its seed: then reports promise nothing.
    in_process
        Whether all ratings were perturbed by one process, whose owner saw them. It is not a matter of the form itself.

    Examples
    --------
    >>> form = ReportForm("uniform", {"gamma": 1.5}, Scale(1, 5), Scale(-0.5, 6.5))
    >>> print(form)
    uniform (gamma 1.5)
    """

    mechanism: str
    settings: Mapping[str, float]
    scale: Scale
    reported: Scale
    seeded: bool = False
    in_process: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        settings = [f"{name} {value:g}" for name, value in sorted(self.settings.items())]
        said = ", ".join([*settings, "seeded"] if self.seeded else settings)
        return f"{self.mechanism} ({said})" if said else self.mechanism

    def __hash__(self) -> int:
        return hash((self.mechanism, tuple(sorted(self.settings.items())), self.scale, self.reported, self.seeded))


@dataclass(frozen=True, eq=False)
class UserReport:
    """One user's perturbed ratings, as they leave the device.

    Parameters
    ----------
    form
        How they were perturbed.
    items
        Identifiers or titles of the items, each once.
    values
        What is reported of each.
    id
        By which two reports of one user are known from reports of two users; random, and the name of nobody.
    guarantee
        What the report promises, for people who open the file. No reader relies on it.

    Examples
    --------
    >>> form = ReportForm("uniform", {"gamma": 1.5}, Scale(1, 5), Scale(-0.5, 6.5))
    >>> report = UserReport(form, ("Alien (1979)",), np.array([5.25]))
    >>> UserReport.from_json(report.to_json()).values.tolist()
    [5.25]
    """

    form: ReportForm
    items: tuple[str, ...]
    values: Doubles
    id: str = field(default_factory=lambda: secrets.token_hex(ID_DIGITS // 2))
    guarantee: str = ""

    def __len__(self) -> int:
        return len(self.items)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        form = self.form
        return {
            "format": FORMAT,
            "version": VERSION,
            "id": self.id,
            "mechanism": {"name": form.mechanism, **form.settings},
            "seeded": form.seeded,
            "scale": [form.scale.low, form.scale.high],
            "reported": [form.reported.low, form.reported.high],
            "guarantee": self.guarantee,
            "entries": [
                {"item": item, "value": value} for item, value in zip(self.items, self.values.tolist(), strict=True)
            ],
        }

    @classmethod
    def from_json(cls, data: Any) -> "UserReport":
        """Back from plain data, none of which is trusted."""
        try:
            return _checked(data)
        except RefusedReport as refusal:
            raise DataError(f"this is not a report that can be used: {refusal.sentence}") from None

    @property
    def digest(self) -> str:
        """SHA-256 of the identifier, the form and the entries, in whatever order the entries are.

        >>> form = ReportForm("uniform", {"gamma": 1.5}, Scale(1, 5), Scale(-0.5, 6.5))
        >>> one = UserReport(form, ("a", "b"), np.array([5.25, 1.0]), id="0" * 32)
        >>> other = UserReport(form, ("b", "a"), np.array([1.0, 5.25]), id="0" * 32)
        >>> one.digest == other.digest
        True
        """
        form = self.form
        content = (
            self.id,
            form.mechanism,
            sorted((name, float(value)) for name, value in form.settings.items()),
            (form.scale.low, form.scale.high, form.reported.low, form.reported.high, form.seeded),
            sorted(zip(self.items, self.values.tolist(), strict=True)),
        )
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the report as one file, an entry a line, whole or not at all."""
        data = self.to_json()
        entries = ",\n    ".join(json.dumps(entry, ensure_ascii=False) for entry in data.pop("entries"))
        head = "".join(f'  "{name}": {json.dumps(value, ensure_ascii=False)},\n' for name, value in data.items())
        write_whole(path, f'{{\n{head}  "entries": [\n    {entries}\n  ]\n}}\n'.encode(), private=True)

    @classmethod
    def load(cls, path: str | Path) -> "UserReport":
        """Read one report."""
        try:
            return read_report(Path(path))
        except RefusedReport as refusal:
            raise DataError(f"{path} is not a report that can be used: {refusal.sentence}") from None


class RefusedReport(Exception):  # noqa: N818  (never leaves this package: it becomes a line of a list)
    """Why a report is not used: ``reason`` to count by, ``sentence`` for people."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason, self.sentence = reason, sentence


def read_report(path: Path) -> UserReport:
    """The report in a file; raises :class:`RefusedReport` if it cannot be used."""
    try:
        if path.exists() and not path.is_file():  # a pipe may be waited for forever
            raise RefusedReport("unreadable file", "it is no plain file")
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RefusedReport("unreadable file", "it is not text in UTF-8") from None
    except (OSError, ValueError) as error:  # a zero byte in the name is a ValueError
        raise RefusedReport("unreadable file", f"it cannot be opened ({getattr(error, 'strerror', error)})") from None
    if len(content) > LARGEST_FILE:
        raise RefusedReport("unreadable file", f"it is larger than {LARGEST_FILE >> 20} MiB")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise RefusedReport("unreadable file", "it is cut off or is not JSON") from None
    return _checked(data)


def _checked(data: Any) -> UserReport:
    """The report in plain data; refuses whatever is not as :meth:`UserReport.to_json` writes it."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise RefusedReport("malformed", f"its format is not {FORMAT!r}")
    if data.get("version") != VERSION or isinstance(data["version"], bool):
        raise RefusedReport("another version", f"only version {VERSION} of the format is read, and it has another")
    name = data.get("id")
    if not (isinstance(name, str) and re.fullmatch(f"[0-9a-f]{{{ID_DIGITS}}}", name)):
        raise RefusedReport("malformed", f"its id is not {ID_DIGITS} hexadecimal digits")
    form = _checked_form(data)
    items, values = _checked_entries(data.get("entries"))
    outside = np.flatnonzero(~((values >= form.reported.low) & (values <= form.reported.high)))
    if len(outside):
        sentence = f"the value of entry {outside[0] + 1} is outside the perturbed scale {form.reported}"
        raise RefusedReport("value outside the perturbed scale", sentence)
    guarantee = data.get("guarantee")
    return UserReport(form, items, values, name, guarantee if isinstance(guarantee, str) else "")


def _checked_form(data: dict[str, Any]) -> ReportForm:
    mechanism = data.get("mechanism")
    if not isinstance(mechanism, dict) or not _is_word(mechanism.get("name")):
        raise RefusedReport("malformed", "it does not name its mechanism")
    settings = {key: value for key, value in mechanism.items() if key != "name"}
    if not all(_is_word(key) and _is_number(value) for key, value in settings.items()):
        raise RefusedReport("malformed", "a setting of its mechanism is not a number")
    if not isinstance(data.get("seeded"), bool):
        raise RefusedReport("malformed", "it does not say whether its noise was seeded")
    scale, reported = _checked_scale(data, "scale"), _checked_scale(data, "reported")
    return ReportForm(mechanism["name"], settings, scale, reported, data["seeded"])


def _checked_scale(data: dict[str, Any], name: str) -> Scale:
    ends = data.get(name)
    if (
        not isinstance(ends, list)
        or len(ends) != 2
        or not all(_is_number(end) and abs(end) <= LARGEST_VALUE for end in ends)
        or ends[0] >= ends[1]
    ):
        raise RefusedReport("malformed", f"{name!r} is not a pair of numbers, the lower one first")
    return Scale(float(ends[0]), float(ends[1]))


def _checked_entries(entries: Any) -> tuple[tuple[str, ...], Doubles]:
    if not isinstance(entries, list):
        raise RefusedReport("malformed", "it has no list of entries")
    items, values = [], np.empty(len(entries))
    for place, entry in enumerate(entries):
        if not isinstance(entry, dict) or not _is_name(entry.get("item")) or not _is_number(entry.get("value")):
            raise RefusedReport("malformed", f"entry {place + 1} is not an item with a value")
        items.append(entry["item"])
        values[place] = entry["value"]
    if len(set(items)) != len(items):
        raise RefusedReport("repeated item", "it names one item twice")
    return tuple(items), values


def _is_word(value: Any) -> bool:
    """Whether it may stand in a message: a short word, whoever wrote it."""
    return isinstance(value, str) and re.fullmatch("[a-z][a-z0-9_-]{0,39}", value) is not None


def _is_name(value: Any) -> bool:
    """Whether it can be the name of an item: text that can be written, without the character that ends text."""
    return isinstance(value, str) and value != "" and re.search("[\0\ud800-\udfff]", value) is None


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of a thousand digits
        return False
