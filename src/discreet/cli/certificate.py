"""``discreet certificate``: what a release promises, to whom, and every look at the ratings that it is made of."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Json
from discreet.cli.tables import document, facts, say

if TYPE_CHECKING:
    from discreet.models.release import Release


def certificate(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a release.")],
    json: Json = False,
) -> None:
    """Show the certificate of a release: its guarantee, and the ledger behind it."""
    from discreet.models.release import Release
    from discreet.models.storage import read_card

    loaded, card = Release.load(release), read_card(release)
    loaded.require_paid()  # what is printed here is recomputed, not believed
    guarantee = loaded.guarantee
    if json:
        shown = {key: card[key] for key in ("model", "settings", "guarantee", "ledger", "sources", "arrays_sha256")}
        document(shown | {"remark": loaded.remark or None})
        return
    for sentence in guarantee.sentences():
        say(sentence)
    if loaded.remark:
        say(f"{loaded.remark}.")
    say("")
    facts(
        [
            ("model", card["model"]),
            ("proven", "nothing" if guarantee.proven is None else str(guarantee.proven)),
            *([("claimed", str(guarantee.claimed))] if guarantee.claimed else []),
            ("unit", "-" if guarantee.unit is None else str(guarantee.unit)),
            ("protects from", ", ".join(guarantee.protects_from) or "nobody" if guarantee.proven else "nobody"),
            ("not hidden from", ", ".join(guarantee.exposed_to) or "nobody" if guarantee.proven else "anyone"),
            ("noise", _noise(loaded)),
            ("arrays", f"sha256 {card['arrays_sha256']}"),
            ("written by", f"Discreet {card['discreet']}"),
        ]
    )
    if loaded.spends:
        say("Every look at the ratings:")
        for spend in loaded.spends:
            sampled = "" if spend.sampling_rate == 1 else f", each unit with probability {spend.sampling_rate:.3g}"
            times = "" if spend.times == 1 else f", {spend.times} times"
            say(
                f"  {spend.what}: {spend.mechanism} noise of scale {spend.scale:.5g} "
                f"on a sensitivity of {spend.sensitivity:.5g} in {spend.norm}{sampled}{times}"
            )
        say("Which array is made from which look:")
        for name in loaded.arrays:
            say(f"  {name}: {'; '.join(loaded.sources[name])}")


def _noise(release: "Release") -> str:
    if release.guarantee.seeded:
        return "seeded, not private"
    if release.spends:
        return "secret"
    return "none" if release.guarantee.claimed is None else "as the publication has it, in no ledger"
