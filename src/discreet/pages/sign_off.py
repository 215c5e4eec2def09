"""The certificate of a release as one printable page, for a privacy officer to sign and for users to read.

Light, without scripts, in the measures of A4. It says what is promised and what that means, who learns what, from
which account it was paid and what that has spent so far, every look at the ratings, the audit beside it, versions, and
who signed the release. Everything on it is public but for the account, which belongs to whoever holds the ratings.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from discreet.files import write_whole
from discreet.names import name_of
from discreet.pages.rendering import render
from discreet.privacy.account import Account, Spending
from discreet.privacy.guarantee import Guarantee, Loss, _worth_a_word, times_as_likely
from discreet.privacy.spend import Spend
from discreet.releases.promises import of_level
from discreet.releases.release import Release

MODELS = {
    "popularity": "ranks items by how many users rated them",
    "bias": "knows the average rating of each item",
    "almanac": "knows how much each item is liked, and which items are liked by the same people",
}
MOST_LINES = 12
"""Lines of an account that are shown one by one; older ones are counted."""


class Booked(NamedTuple):
    """Who paid for a release: the account as it is now, and its line."""

    account: Account
    line: Spending


@dataclass(frozen=True, kw_only=True)
class SignOff:
    """What is on the page.

    Parameters
    ----------
    release, card
        The release, and its card as it was read.
    folder
        Where it is, for the command that checks it.
    card_checksum
        SHA-256 of the card, which holds that of the arrays.
    signer
        Fingerprint of the key that signed it; None where nobody did.
    booked
        The account that paid; None where none is known.
    audit
        What ``discreet audit --json`` said; None without one.
    """

    release: Release
    card: dict[str, Any]
    folder: str
    card_checksum: str
    signer: str | None = None
    booked: Booked | None = None
    audit: dict[str, Any] | None = None

    def html(self) -> str:
        """The whole page."""
        guarantee = self.release.guarantee
        return render(
            "sign_off.html",
            style=Markup(files("discreet.pages").joinpath("sign_off.css").read_text(encoding="utf-8")),
            proven=guarantee.proven is not None,
            verdict=verdict(guarantee),
            lead=meaning(guarantee),
            facts=self._facts(),
            parties=parties(guarantee),
            sentences=guarantee.sentences(),
            remark=f"{self.release.remark}." if self.release.remark else "",
            levels=[(level.name, of_level(level)) for level in guarantee.levels],
            looks=[look(spend) for spend in self.release.spends],
            account=self._account(),
            audit=None if self.audit is None else audit_facts(self.audit, self.release),
            signer=self.signer,
            folder=self.folder,
            checks=self._checks(),
        )

    def _facts(self) -> list[tuple[str, str]]:
        model, catalogue = self.card["model"], self.release.catalogue
        what = f"{model}, which {MODELS[model]}" if model in MODELS else model
        when = "not booked, so not recorded"
        if self.booked is not None:
            line = self.booked.line
            when = _day(line.released_at or line.reserved_at)
        return [
            ("What", f"A recommender model ({what}). It holds numbers about {len(catalogue):,} items and no user."),
            *([("Chosen", self.release.note)] if self.release.note else []),
            ("Released", when),
            ("Protected", "nothing" if self.release.guarantee.unit is None else str(self.release.guarantee.unit)),
            ("Noise", _noise(self.release)),
        ]

    def _account(self) -> dict[str, Any] | None:
        if self.booked is None:
            return None
        account, own = self.booked
        shown = account.spendings[-MOST_LINES:]
        if own not in shown:
            shown = (own, *shown[1:])
        bounded = account.bounds_its_unit and len(account.parts) == 1
        left = account.one_more()
        return {
            "name": account.data,
            "limit": "none declared" if account.epsilon is None else str(Loss(account.epsilon, account.delta or 0.0)),
            "promise": account.promise,
            "spent": f"epsilon {account.spent:.4g}" if bounded else "not bounded by any epsilon",
            "left": "" if left is None else f"{left.fits:,} more like the last release",
            "older": len(account.spendings) - len(shown),
            "lines": [
                (
                    line.id == own.id,
                    _day(line.reserved_at),
                    line.purpose.partition("(")[0],
                    "no privacy" if line.is_exact else f"{line.epsilon:.4g}",
                    "-" if math.isinf(line.total) else f"{line.total:.4g}",
                    "released" if line.state == "released" else "reserved, counts as spent",
                )
                for line in shown
            ],
        }

    def _checks(self) -> list[tuple[str, str]]:
        return [
            ("Written by", f"Discreet {self.card['discreet']}, format {self.card['format']}"),
            ("Settings", ", ".join(f"{name} = {value}" for name, value in self.card["settings"].items()) or "none"),
            ("Card", f"SHA-256 {self.card_checksum}"),
            ("Arrays", f"SHA-256 {self.card['arrays_sha256']}"),
        ]


def write_sign_off(path: Path, page: SignOff) -> None:
    """Write the page."""
    write_whole(path, page.html().encode())


def verdict(guarantee: Guarantee) -> str:
    """The promise in a few words.

    >>> verdict(Guarantee.none("noise was seeded"))
    'No privacy is promised'
    """
    if guarantee.proven is not None:
        return f"Proven: {_worth_a_word(guarantee.proven)}"
    return f"Claimed, not proven: {guarantee.claimed}" if guarantee.claimed is not None else "No privacy is promised"


def meaning(guarantee: Guarantee) -> list[str]:
    """What that means for somebody whose ratings were used, without a word of the field.

    A likelihood ratio of at most e^ε turns even odds into odds of at most e^ε to 1. With a delta this holds but for
    outcomes of that probability.
    """
    proven, unit = guarantee.proven, guarantee.unit
    if proven is None or unit is None:
        return [f"Nothing is proven about what this release tells of the people in the data: {guarantee.reason}."]
    loss = _worth_a_word(proven)
    sure = 100 / (1 + math.exp(-min(loss.epsilon, 700.0)))
    if unit.name == "user":
        bet = "you took part at all" if unit.neighbours != "replace" else "these ratings are yours and not quite others"
    else:
        bet = "you rated a certain item" if unit.neighbours != "replace" else "you gave an item this rating or another"
    sentences = [
        f"Suppose somebody would bet even money on whether {bet}. After seeing this release, with whatever else they "
        f"know, they can be at most {_percent(sure)} sure, in place of 50 %.",
        f"In general, whatever anybody concludes from it about you is at most {times_as_likely(loss.epsilon)} times as "
        "likely as it would have been without your data.",
    ]
    if loss.delta:
        sentences.append(f"This holds but for a chance of one in {math.floor(1 / loss.delta):,}.")
    if unit.name == "rating":
        sentences.append("It is about one rating at a time: about all that one person gave, more can be learned.")
    return sentences


def parties(guarantee: Guarantee) -> list[tuple[str, str]]:
    """Who learns what."""
    if guarantee.proven is None:
        return [("Anybody who sees the release", "There is no bound on what they may learn.")]
    hidden = " and ".join(guarantee.protects_from)
    rows = [(_capital(hidden), "See the release, and learn about one person no more than stated above.")]
    rows = rows if hidden else []
    rows += [(_capital(whom), "Sees the data. Nothing is hidden from them.") for whom in guarantee.exposed_to]
    rows += [("Everybody", f"Knows {what}: it is not hidden.") for what in guarantee.public]
    rows.append(
        (
            "Whoever computes your recommendations",
            "Uses your own ratings for it. On your own device, nobody else learns them.",
        )
    )
    return rows


def look(spend: Spend) -> tuple[str, str, str, str]:
    """A line of the ledger: what was asked, its noise, what one unit can change, and how often."""
    sampled = "" if spend.sampling_rate == 1 else f", samples of {spend.sampling_rate:.3g}"
    often = "once" if spend.times == 1 else f"{spend.times:,} times"
    noise = f"{spend.mechanism}, scale {spend.scale:.4g}"
    return spend.what, noise, f"{spend.sensitivity:.4g} ({spend.norm})", often + sampled


def audit_facts(audit: dict[str, Any], release: Release) -> dict[str, Any]:
    """What an attack showed, beside what is promised; says it if the audit was of something else."""
    proven, kind = release.guarantee.proven, name_of(type(release.model))
    promised = "nothing" if proven is None else f"epsilon {proven.epsilon:.4g}"
    runs = audit.get("runs", audit.get("canaries", 0))
    how = f"{runs:,} {'runs on each side' if 'runs' in audit else 'canaries in one run'}"
    other = "" if str(audit["model"]).startswith(kind) else f"This audit was of {audit['model']}, not of {kind}."
    return {
        "found": "The promise is broken" if audit["accuses"] else "No leak was found",
        "broken": bool(audit["accuses"]),
        "text": f"Attacks on fits with the same settings, on {audit['data']} ({how}): epsilon is at least "
        f"{audit['epsilon_low']:.3g} with {audit['confidence']:.0%} confidence, where {promised} is promised.",
        "other": other,
        "faults": [*audit.get("faults", []), *audit.get("noise", [])],
    }


def missing_in(audit: Any) -> Sequence[str]:
    """What is missing in the outcome of an audit, for a file that is none."""
    needed = ("model", "data", "confidence", "epsilon_low", "accuses")
    return [name for name in needed if not isinstance(audit, dict) or name not in audit]


def _percent(share: float) -> str:
    """Rounded up: a bound must not look smaller than it is.

    >>> _percent(73.10585)
    '73.2 %'
    """
    return f"{min(100.0, math.ceil(share * 10) / 10):g} %"


def _day(moment: str) -> str:
    return moment.removesuffix("+00:00").replace("T", " ") + " UTC"


def _noise(release: Release) -> str:
    if release.guarantee.seeded:
        return "from a seed: whoever knows it can take the noise away"
    if release.spends:
        return "secret, from a cryptographic generator of the operating system"
    return "none" if release.guarantee.claimed is None else "as a publication has it, in no ledger"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
