"""``discreet fit`` makes a release out of ratings, ``discreet show`` says what is in one."""

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.audience import AudienceOption, audience_of, takes_audience
from discreet.cli.budget import account_name, print_left
from discreet.cli.certificate import signing_key
from discreet.cli.choosing import AUTO, choose_for, model_name, name_of
from discreet.cli.models import shown
from discreet.cli.options import (
    BudgetUrl,
    DataOptions,
    Json,
    PrivacyOptions,
    ReleaseFolder,
    Replace,
    Settings,
    Sign,
    grouped,
)
from discreet.cli.outputs import check_release_folder
from discreet.cli.private_forms import check_private
from discreet.cli.progress import bar
from discreet.cli.settings import parse_models, split_name
from discreet.cli.tables import document, facts, note, say
from discreet.errors import BudgetError, require

if TYPE_CHECKING:
    from discreet.models.release import Release
    from discreet.privacy.budget import Budget, Reservation
    from discreet.privacy.guarantee import Guarantee


@grouped
def fit(
    *,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL", help="A model by name (`discreet models`); without one, what suits is chosen (auto)."
        ),
    ] = [],  # noqa: B006 (typer copies it)
    source: DataOptions,
    privacy: PrivacyOptions,
    output: ReleaseFolder,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The same as MODEL.")] = None,
    settings: Settings = [],  # noqa: B006 (typer copies it)
    audience: AudienceOption = None,
    budget: BudgetUrl = None,
    replace: Replace = False,
    sign: Sign = None,
    json: Json = False,
) -> None:
    """Fit a model and write a release.

    Without a model, one is chosen by public facts alone: about how many users take part, as far as that was announced,
    how many items there are, the privacy that is asked for, and whether the items have genres or years.

    The release is a folder with what was learned about the items, and nothing about any user. What it costs is
    booked on the budget of DATA first; what would overspend that is refused. So is a release without privacy, where a
    limit was declared; after one, none can be declared any more.
    """
    name = model_name(words, model, source.data)
    told, terms = audience_of(source.data, audience), privacy.terms()
    chosen, reason = None, ""
    if name == AUTO:
        require(not settings, "--set is for a model with a name, and auto has not chosen one yet: name the model")
    else:
        chosen = parse_models([name], settings, audience=told.users)[name]
        require(
            audience is None or takes_audience(chosen),
            f"{split_name(name)[0]} does not plan by the number of users: leave out --audience",
        )
        check_private(chosen, terms)
    check_release_folder(output, replace=replace)
    key = signing_key(sign)  # one that cannot be read is found before anything is spent
    from discreet.models.fitting import fit_on
    from discreet.models.spending import spend_and_release
    from discreet.privacy.budget import Budget

    kept, data = Budget(budget), account_name(source.data)
    account = kept.report(data)  # a database that is down is found before the data are read
    has_privacy = terms.epsilon is not None and terms.noise_seed is None
    if not has_privacy:
        account.check_unlimited("a release" if chosen is None else repr(chosen))

    booked = None
    with bar() as progress:
        ratings = source.load(progress)
        started = time.perf_counter()
        population = terms.population(ratings)
        if has_privacy:
            check_promise(population.guarantee)
        if chosen is None:
            chosen, reason = choose_for(ratings, told, terms)
        if has_privacy:
            release = spend_and_release(
                chosen, population, output, budget=kept, data=data, note=reason, sign=key, progress=progress
            )
        else:
            release = dataclasses.replace(fit_on(chosen, ratings, terms, progress), note=reason)
            progress(1, 1, "writing the release")
            purpose = repr(chosen) + ("" if terms.noise_seed is None else ", with noise from a seed")
            booked = book(kept, data, purpose, release)  # nothing is out before it is written: it is booked only now
            release.save(output, sign=key)
            try:
                if booked is not None:
                    booked.released()
            except BudgetError as error:
                note(f"The release was written, but not marked as such: {error}.")
        seconds = time.perf_counter() - started
    account = kept.report(data)
    remark = release.remark.replace("a delta of 1e-06", "--delta 1e-6")  # the library speaks of settings
    if terms.epsilon is not None and told.known == "assumed" and takes_audience(chosen):
        note(f"About {told.users:,} users were assumed; --audience N announces how many there are, roughly.")
    if json:
        document(
            {
                "release": str(output),
                "model": name_of(chosen),
                "reason": reason or None,
                "settings": dataclasses.asdict(chosen),
                "guarantee": str(release.guarantee),
                "remark": remark or None,
                "fit_seconds": seconds,
                "budget": account.summary() | {"kept_in": kept.place},
            }
        )
        return
    if reason:
        say(f"{reason}.")
    say(f"Fitted {chosen!r} in {seconds:.1f} s.")
    say(str(release.guarantee))
    if remark:
        say(f"{remark}.")
    if release.guarantee.proven is not None and not has_privacy and booked is None:
        say(
            "What is made of these reports was booked before, and costs their users no more, unless they have replaced "
            "their reports since: see `discreet budget`."
        )
    else:
        print_left(account)
    more = ["show", "recommend"] if release.guarantee.proven is None else ["show", "certificate", "recommend"]
    commands = [f"`discreet {command} {output}`" for command in more]
    say(f"The release is in {output}; see {', '.join(commands[:-1])} and {commands[-1]}.")


def book(budget: "Budget", data: str, purpose: str, release: "Release") -> "Reservation | None":
    """Book a release that no ledger limits: one without privacy, or one from reports that users had perturbed.

    What is made of reports costs their users what the reports did, once, however often it is done. Which reports they
    were is not kept, so a second report of the same ratings goes unnoticed: users are told when they make one.
    """
    if release.guarantee.proven is None or release.guarantee.unit is None:
        return budget.expose(data, purpose)
    if set(release.spends) <= set(budget.report(data).spends):
        return None
    from discreet.privacy.ledger import Ledger

    reports = Ledger(release.guarantee.proven.epsilon, unit=release.guarantee.unit)
    reports.charge(*release.spends)
    return budget.reserve(data, reports, purpose)


def check_promise(guarantee: "Guarantee") -> None:
    """Raise where privacy was asked for and cannot be promised for these data, whatever the model."""
    hint = ", in a table that --items FILE names, with --items-public" if "items" in guarantee.reason else ""
    require(
        guarantee.proven is not None,
        f"with these data --epsilon would promise nothing: {guarantee.reason}{hint}; nothing was computed or spent",
    )


def show(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a release.")],
    json: Json = False,
) -> None:
    """Show what is in a release.

    Its model and settings, its guarantee, its catalogue and its arrays.
    """
    card = describe(release)
    if json:
        document(card)
        return
    catalogue = card["catalogue"]
    scale = " to ".join(f"{end:g}" for end in catalogue["scale"])
    facts(
        [
            ("model", card["model"]),
            ("settings", ", ".join(f"{name}={shown(value)}" for name, value in card["settings"].items()) or "none"),
            *([("chosen", card["note"])] if card["note"] else []),
            ("guarantee", card["guarantee"]),
            ("catalogue", f"{catalogue['items']:,} items, {catalogue['genres']} genres, scale {scale}"),
            *(
                ("arrays" if place == 0 else "", f"{name}: {' by '.join(map(str, array['shape']))} {array['type']}")
                for place, (name, array) in enumerate(card["arrays"].items())
            ),
            ("written by", f"Discreet {card['discreet']}"),
        ]
    )


def describe(folder: Path) -> dict[str, Any]:
    """What a release says of itself. It is read whole first, so a damaged one is refused."""
    from discreet.models.release import Release
    from discreet.models.storage import read_card

    release, card = Release.load(folder), read_card(folder)
    scale = release.catalogue.scale
    return {
        "model": card["model"],
        "settings": card["settings"],
        "note": release.note,
        "guarantee": str(release.guarantee),
        "predicts_ratings": release.predicts_ratings,
        "catalogue": {
            "items": len(release.catalogue),
            "genres": len(release.catalogue.genres),
            "scale": [scale.low, scale.high],
            "fingerprint": release.catalogue.fingerprint,
        },
        "arrays": {
            name: {"shape": list(array.shape), "type": str(array.dtype)} for name, array in release.arrays.items()
        },
        "discreet": card["discreet"],
    }
