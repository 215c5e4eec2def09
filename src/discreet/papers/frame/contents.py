"""Every equation, theorem, figure and claim of a paper, each with its place in the code or why it has none."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Any

from discreet.pages.curves import Rows
from discreet.papers.frame.claims import Claim


@dataclass(frozen=True)
class Entry:
    """One thing that the paper has.

    Parameters
    ----------
    place
        Where: ``Theorem 1``, ``Fig. 2``, ``4.2.3``.
    says
        What it is; a claim in the paper's own words, in quotes.
    code
        Where it is in the code: ``module.name`` below the paper's folder.
    claims
        The texts of the claims by which it is judged.
    because
        Why it is not there, or what else there is to say.
    """

    place: str
    says: str
    code: Sequence[str] = ()
    claims: Sequence[str] = ()
    because: str = ""


def read_contents(package: str) -> tuple[Entry, ...]:
    """The entries in ``contents.tsv`` of a paper's package: a row each, several places or claims with "; " between."""
    head, *rows = files(package).joinpath("contents.tsv").read_text(encoding="utf-8").splitlines()
    entries = []
    for row in rows:
        given = dict(zip(head.split("\t"), row.split("\t"), strict=False))
        code, claims = (given.pop(name, "") for name in ("code", "claims"))
        entries.append(Entry(**given, code=_listed(code), claims=_listed(claims)))
    return tuple(entries)


def _listed(text: str) -> list[str]:
    return text.split("; ") if text else []


def read_notes(package: str) -> str:
    """The text of ``notes.md`` in a paper's package."""
    return files(package).joinpath("notes.md").read_text(encoding="utf-8")


def table_of(contents: Sequence[Entry]) -> Rows:
    """All of them."""
    rows = []
    for entry in contents:
        judged = [f"verdict: {claim}" for claim in entry.claims]
        rows.append([entry.place, entry.says, "; ".join(filter(None, [*entry.code, *judged, entry.because]))])
    return Rows(
        title="Everything in the paper, and where it is",
        columns=("place", "what it says", "where it is, or why not"),
        rows=rows,
        text="Names are modules and what they hold, in the folder of the paper; verdicts are those above.",
    )


def missing(contents: Sequence[Entry], folder: str, claims: Sequence[Claim]) -> list[str]:
    """What an entry names that there is not, and entries that name nothing and give no reason."""
    texts, wrong = {claim.text for claim in claims}, []
    for entry in contents:
        wrong += [f"{entry.place}: {name}" for name in entry.code if not _exists(folder, name)]
        wrong += [f"{entry.place}: {text}" for text in entry.claims if text not in texts]
        if not (entry.code or entry.claims or entry.because):
            wrong.append(f"{entry.place}: neither a place nor a reason")
    return wrong


def _exists(folder: str, name: str) -> bool:
    module, *path = name.split(".")
    try:
        found: Any = import_module(f"discreet.papers.{folder}.{module}")
    except ModuleNotFoundError:
        return False
    for part in path:
        if part in getattr(found, "__dataclass_fields__", {}):  # without a default it is no attribute of its class
            return True
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True
