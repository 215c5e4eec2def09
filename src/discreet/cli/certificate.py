"""``discreet certificate``: what a release promises, to whom, and every look at the ratings that it is made of.

``discreet keys`` makes the keys with which releases are signed.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Json, OwnModel
from discreet.cli.settings import own_kind
from discreet.cli.tables import document, facts, say
from discreet.fitting.outputs import check_file

if TYPE_CHECKING:
    from discreet.privacy.guarantee import LevelLoss
    from discreet.privacy.signing import SigningKey
    from discreet.releases.release import Release


def certificate(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a release.")],
    key: Annotated[
        Path | None, typer.Option(metavar="KEY.pub", help="Refuse a release that this public key did not sign.")
    ] = None,
    model: OwnModel = None,
    json: Json = False,
) -> None:
    """Show the certificate of a release: its guarantee, the ledger behind it, and who signed it.

    What is printed is recomputed from the ledger, and a signature is checked. Without --key it says only that whoever
    has that key signed it: compare the fingerprint with one that you know.
    """
    from discreet.releases.release import Release
    from discreet.releases.storage import read_card, signer_of

    loaded, card, signer = Release.load(release, key=key, model=own_kind(model)), read_card(release), signer_of(release)
    guarantee = loaded.guarantee
    if json:
        shown = {name: card[name] for name in ("model", "settings", "ledger", "sources", "arrays_sha256")}
        shown |= {"guarantee": guarantee.to_json()}
        document(shown | {"remark": loaded.remark or None, "signed_by": None if signer is None else str(signer)})
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
            *((f"  level {level.name}", _of_level(level)) for level in guarantee.levels),
            *([("claimed", str(guarantee.claimed))] if guarantee.claimed else []),
            ("unit", "-" if guarantee.unit is None else str(guarantee.unit)),
            ("protects from", ", ".join(guarantee.protects_from) or "nobody" if guarantee.proven else "nobody"),
            ("not hidden from", ", ".join(guarantee.exposed_to) or "nobody" if guarantee.proven else "anyone"),
            ("noise", _noise(loaded)),
            ("arrays", f"sha256 {card['arrays_sha256']}"),
            ("signed by", "nobody: not signed" if signer is None else f"the key {signer}"),
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


def keys(
    path: Annotated[Path, typer.Argument(metavar="KEY", help="File for the secret key; the public one is KEY.pub.")],
    json: Json = False,
) -> None:
    """Make a pair of keys to sign releases with: `discreet fit … --sign KEY`, `discreet certificate DIR --key KEY.pub`.

    Keep KEY to yourself, and give KEY.pub to whoever is to check what you release.
    """
    from discreet.privacy.signing import SigningKey

    check_file(path)
    made = SigningKey.new()
    public = made.save(path)
    if json:
        document({"key": str(path), "public": str(public), "fingerprint": str(made.public)})
        return
    say(f"{path} is the secret key, {public} the public one: {made.public}")


def signing_key(path: Path | None) -> "SigningKey | None":
    """The key that --sign names, if it names one."""
    if path is None:
        return None
    from discreet.privacy.signing import SigningKey

    return SigningKey.read(path)


def _of_level(level: "LevelLoss") -> str:
    return f"{level.loss} (contributions count {level.weight:.3g} times)"


def _noise(release: "Release") -> str:
    if release.guarantee.seeded:
        return "seeded, not private"
    if release.spends:
        return "secret"
    return "none" if release.guarantee.claimed is None else "as the publication has it, in no ledger"
