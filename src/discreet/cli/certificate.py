"""``discreet certificate``: what a release promises, to whom, and every look at the ratings that it is made of.

``discreet keys`` makes the keys with which releases are signed.
"""

import dataclasses
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import BudgetUrl, Json, OwnModel
from discreet.cli.settings import own_kind
from discreet.cli.tables import document, facts, say
from discreet.errors import InputError, require
from discreet.fitting.outputs import check_file

if TYPE_CHECKING:
    from discreet.privacy.budget import Budget
    from discreet.privacy.signing import SigningKey
    from discreet.releases.release import Release


def certificate(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a release.")],
    key: Annotated[
        Path | None, typer.Option(metavar="KEY.pub", help="Refuse a release that this public key did not sign.")
    ] = None,
    model: OwnModel = None,
    level: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="What is promised at this privacy level, an epsilon or a name.")
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your own ratings: what is promised to you. The file stays here."),
    ] = None,
    epsilon_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Column of FILE with the level that you wished for.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE",
            help="Also write the certificate as a page to print and sign; with --history, a page for you alone.",
        ),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option("--audit", metavar="FILE", help="With --html: an audit beside it (`discreet audit … --json`)."),
    ] = None,
    budget: BudgetUrl = None,
    account: Annotated[
        str | None,
        typer.Option("--account", metavar="NAME", help="With --html: the account that paid (default: looked up)."),
    ] = None,
    json: Json = False,
) -> None:
    """Show the guarantee of a release, and the ledger behind it.

    What is printed is recomputed from the ledger, and a signature is checked. Without --key it says only that whoever
    has that key signed it: compare the fingerprint with one that you know.

    Where users chose privacy levels, --level says what is promised at one of them, and --history, with your own
    ratings and the level that you wished for, what is promised to you, in a page too with --html. The release holds
    no user. Without --history, --html writes the certificate itself as a page to print and sign, with the account
    that paid and, if there is one, an audit.
    """
    from discreet.privacy.budget import Budget
    from discreet.releases.choices import choices_of
    from discreet.releases.priors import AS_PRIORS
    from discreet.releases.promises import of_level
    from discreet.releases.release import Release
    from discreet.releases.storage import read_card, signer_of

    loaded, card, signer = Release.load(release, key=key, model=own_kind(model)), read_card(release), signer_of(release)
    guarantee = loaded.guarantee
    require(audit is None or html is not None, "--audit goes onto a page: name it with --html PAGE")
    require(epsilon_column is None or history is not None, "--epsilon-column is a column of --history FILE: name both")
    if history is not None:
        own_page(loaded, history, level, epsilon_column, html, as_json=json)
        return
    if level is not None:
        level_page(loaded, level, as_json=json)
        return
    if html is not None:
        sign_off(loaded, release, card, None if signer is None else str(signer), html, audit, Budget(budget), account)
        if not json:
            say(f"The page is {html}")
            return
    if json:
        shown = {name: card[name] for name in ("model", "settings", "ledger", "sources", "arrays_sha256")}
        shown["choices"] = list(choices_of(loaded))
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
            *((("" if place else "asked"), said) for place, said in enumerate(choices_of(loaded))),
            ("proven", "nothing" if guarantee.proven is None else str(guarantee.proven)),
            *((f"  level {level.name}", of_level(level)) for level in guarantee.levels),
            *([("claimed", str(guarantee.claimed))] if guarantee.claimed else []),
            ("unit", "-" if guarantee.unit is None else str(guarantee.unit)),
            ("protects from", ", ".join(guarantee.protects_from) or "nobody" if guarantee.proven else "nobody"),
            ("seen by", ", ".join(guarantee.exposed_to) or "nobody" if guarantee.proven else "anyone"),
            ("noise", _noise(loaded)),
            ("sha256", card["arrays_sha256"]),
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
        beside = (
            ", beside what is known from priors" if any(note.startswith(AS_PRIORS) for note in guarantee.notes) else ""
        )
        say(f"Which arrays are computed from which looks{beside}:")
        made: dict[str, list[str]] = {}
        for name in loaded.arrays:
            made.setdefault("; ".join(loaded.sources.get(name, ())) or "not said", []).append(name)
        for looks, names in made.items():
            say(f"  {', '.join(names)}: {looks}")


def sign_off(
    loaded: "Release",
    folder: Path,
    card: dict[str, Any],
    signer: str | None,
    page: Path,
    audit: Path | None,
    budget: "Budget",
    account: str | None,
) -> None:
    """The certificate as a page to print and sign."""
    import hashlib

    from discreet.pages.sign_off import Booked, SignOff, missing_in, write_sign_off
    from discreet.releases.storage import CARD

    check_file(page)
    found = None
    if audit is not None:
        try:
            found = loads(audit.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise InputError(
                f"{audit} is not the outcome of an audit: write it with `discreet audit … --json`"
            ) from None
        missing = missing_in(found)
        require(not missing, f"{audit} is not the outcome of an audit: it has no {missing[0] if missing else ''}")
    paid = budget.paid_by(str(card["arrays_sha256"]))
    require(
        account is None or (paid is not None and paid[0].data == budget.resolve(account)),
        f"the account {account} did not pay for this release",
    )
    write_sign_off(
        page,
        SignOff(
            release=loaded,
            card=card,
            folder=folder.name,
            card_checksum=hashlib.sha256((folder / CARD).read_bytes()).hexdigest(),
            signer=signer,
            booked=None if paid is None else Booked(*paid),
            audit=found,
        ),
    )


def level_page(release: "Release", wish: str, *, as_json: bool) -> None:
    """What is promised at one privacy level."""
    from discreet.releases.promises import level_of, lowered, sentences_of

    found = level_of(release.guarantee, wish)
    if as_json:
        document(dataclasses.asdict(found) | {"unit": str(release.guarantee.unit)})
        return
    if note := lowered(release.guarantee, wish):
        say(note)
    for sentence in sentences_of(found, release.guarantee):
        say(sentence)


def own_page(
    release: "Release", history: Path, level: str | None, column: str | None, html: Path | None, *, as_json: bool
) -> None:
    """What is promised to one person, from that person's own file."""
    from discreet.data.choice_file import read_own_choices
    from discreet.data.history_file import read_history
    from discreet.releases.promises import lowered, promised_to

    require(level is None or column is None, "--level is for all of your ratings, --epsilon-column for each: give one")
    if html is not None:
        check_file(html)
        require(html.resolve() != history.resolve(), "--html would replace your ratings: name another file")
    own = read_history(history, release.catalogue)
    found = promised_to(release.guarantee, own, level if column is None else read_own_choices(history, column))
    if html is not None:
        from discreet.pages.own_page import write_own_page

        write_own_page(html, release, own, found)
    if as_json:
        each = [
            {"item": one.item, "title": one.title, "level": one.level.name, "epsilon": one.level.loss.epsilon}
            for one in found.ratings
        ]
        together = {"epsilon": found.together.epsilon, "delta": found.together.delta}
        document({"ratings": each, "together": together, "sentences": found.sentences()})
        return
    if column is None and (note := lowered(release.guarantee, level)):
        say(note)
    for sentence in found.sentences():
        say(sentence)
    if html is not None:
        say(f"Your page is {html}")


def keys(
    path: Annotated[Path, typer.Argument(metavar="KEY", help="File for the secret key; the public one is KEY.pub.")],
    json: Json = False,
) -> None:
    """Make a pair of keys to sign releases with.

    Sign with `discreet fit … --sign KEY`, check with `discreet certificate DIR --key KEY.pub`. Keep KEY to yourself,
    and give KEY.pub to whoever is to check what you release.
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


def _noise(release: "Release") -> str:
    if release.guarantee.seeded:
        return "seeded, not private"
    if release.spends:
        return "secret"
    return "none" if release.guarantee.claimed is None else "as the publication has it, in no ledger"
