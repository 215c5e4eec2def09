"""What a release promises, as data and as a page."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from discreet.pages.sign_off import SignOff
from discreet.releases.choices import choices_of
from discreet.releases.release import Release
from discreet.releases.storage import CARD, read_card, signer_of


class Certificate(NamedTuple):
    """The same document as ``discreet certificate --json``, and the same page as ``--html``, without any account."""

    data: dict[str, Any]
    page: str

    @classmethod
    def of(cls, folder: Path, release: Release) -> "Certificate":
        """Of the release that was read from a folder."""
        card, signer = read_card(folder), signer_of(folder)
        signed_by = None if signer is None else str(signer)
        data = {name: card[name] for name in ("model", "settings", "ledger", "sources", "arrays_sha256")} | {
            "choices": list(choices_of(release)),
            "guarantee": release.guarantee.to_json(),
            "remark": release.remark or None,
            "signed_by": signed_by,
        }
        page = SignOff(
            release=release,
            card=card,
            folder="RELEASE",  # where it lies on this machine is nobody's business
            card_checksum=hashlib.sha256((folder / CARD).read_bytes()).hexdigest(),
            signer=signed_by,
        )
        return cls(data, page.html())
