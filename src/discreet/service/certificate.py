"""What a release promises, as data and as a page."""

from pathlib import Path
from typing import Any

from discreet.pages.page import Facts, Section, Text, render_page
from discreet.releases.release import Release
from discreet.releases.storage import read_card, signer_of


def certificate_of(folder: Path, release: Release) -> dict[str, Any]:
    """The same document as ``discreet certificate --json``."""
    card, signer = read_card(folder), signer_of(folder)
    shown = {name: card[name] for name in ("model", "settings", "ledger", "sources", "arrays_sha256")}
    return shown | {
        "guarantee": release.guarantee.to_json(),
        "remark": release.remark or None,
        "signed_by": None if signer is None else str(signer),
    }


def certificate_page(release: Release, certificate: dict[str, Any]) -> str:
    """The certificate as one page."""
    guarantee = release.guarantee
    promised = "nothing" if guarantee.proven is None else str(guarantee.proven)
    sections: list[Section] = [
        Facts(
            facts={
                "proven": promised,
                "unit": "-" if guarantee.unit is None else str(guarantee.unit),
                "items": f"{len(release.catalogue):,}",
                "signed by": certificate["signed_by"] or "nobody",
            }
        ),
        Text(title="What is promised", paragraphs=guarantee.sentences()),
        Text(
            title="Every look at the ratings",
            paragraphs=[
                f"{spend.what}: {spend.mechanism} noise of scale {spend.scale:.5g} on a sensitivity of "
                f"{spend.sensitivity:.5g} in {spend.norm}."
                for spend in release.spends
            ]
            or ["The ledger lists none."],
            note=f"sha256 of the arrays: {certificate['arrays_sha256']}",
        ),
    ]
    return render_page(title="Certificate of this release", lead=str(guarantee), sections=sections)
