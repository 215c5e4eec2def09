"""``discreet fit`` makes a release out of ratings, ``discreet show`` says what is in one."""

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.accounts import AccountOption, RunId, TunedOn, check_tuning, paying_account, place_of
from discreet.cli.audience import AudienceOption, audience_of, takes_audience
from discreet.cli.budget import account_name, print_left, print_retry
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
from discreet.errors import require

if TYPE_CHECKING:
    from discreet.privacy.account import Account
    from discreet.privacy.guarantee import Guarantee

CHOSEN_BY_RULE = "public facts alone (auto)"


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
    tuned_on: TunedOn = None,
    account: AccountOption = None,
    run_id: RunId = None,
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
    limit was declared; after one, none can be declared any more. Where these ratings were evaluated, compared or
    audited before, settings other than the defaults need a word: --tuned-on.
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
    key = signing_key(sign)  # one that cannot be read is found before anything is spent
    has_privacy = terms.epsilon is not None and terms.noise_seed is None
    require(run_id is None or has_privacy, "--run-id is for what is paid for: give --epsilon, and no --noise-seed")
    require(tuned_on is None or terms.epsilon is not None, "--tuned-on says nothing without --epsilon: leave it out")
    from discreet.fitting.fit_on import fit_on
    from discreet.fitting.spending import book, mark, spend_and_release
    from discreet.populations.accounts import sketch_of
    from discreet.privacy.budget import Budget
    from discreet.releases.tuning import DEFAULT_KIND, settings_hash

    kept, expected = Budget(budget), account or account_name(source.data)
    before = kept.report(expected)  # a database that is down is found before the data are read
    again = check_folder(output, before, run_id, replace=replace)
    if not has_privacy:
        before.check_unlimited("a release" if chosen is None else repr(chosen))
    elif chosen is not None:
        check_tuning(chosen, kept.looks(expected), source.data, expected, tuned_on)

    booked = None
    with bar() as progress:
        ratings = source.load(progress)
        started = time.perf_counter()
        data = paying_account(kept, source.data, account, ratings)
        if chosen is None:
            chosen, reason = choose_for(ratings, told, terms)
            if tuned_on is None and name_of(chosen) != DEFAULT_KIND.lower():
                tuned_on = CHOSEN_BY_RULE
        if has_privacy:
            population = terms.population(
                ratings, tuning=tuned_on, account=data, budget=kept, place=place_of(source.data)
            )
            check_promise(population.guarantee)
            release = spend_and_release(
                chosen, population, output, note=reason, sign=key, run_id=run_id, progress=progress
            )
        else:
            release = dataclasses.replace(fit_on(chosen, ratings, terms, progress), note=reason)
            progress(1, 1, "writing the release")
            purpose = repr(chosen) + ("" if terms.noise_seed is None else ", with noise from a seed")
            # Nothing is out before it is written: it is booked only now.
            booked = book(kept, data, purpose, release, settings=settings_hash(chosen), digest=ratings.report_digest)
            kept.remember(data, sketch_of(ratings, kept.key()), place_of(source.data))
            release.save(output, sign=key)
            if booked is not None:
                mark(booked, lambda sentence: note(f"{sentence[:1].upper()}{sentence[1:]}."))
        seconds = time.perf_counter() - started
    after = kept.report(data)
    paid_before = again or (release.guarantee.proven is not None and not has_privacy and booked is None)
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
                "account": data,
                "run_id": run_id,
                "booked": "before" if paid_before else "now",
                "budget": after.summary() | {"kept_in": kept.place},
            }
        )
        return
    if reason:
        say(f"{reason}.")
    if not again:
        say(f"Fitted {chosen!r} in {seconds:.1f} s.")
    say(str(release.guarantee))
    if remark:
        say(f"{remark}.")
    if again:
        print_retry(str(run_id))
    elif paid_before:
        say(
            "What is made of these reports was booked before, and costs their users no more, unless they have replaced "
            "their reports since: see `discreet budget`."
        )
    else:
        print_left(after)
    more = ["show", "recommend"] if release.guarantee.proven is None else ["show", "certificate", "recommend"]
    commands = [f"`discreet {command} {output}`" for command in more]
    say(f"The release is in {output}; see {', '.join(commands[:-1])} and {commands[-1]}.")


def check_folder(output: Path, account: "Account", run_id: str | None, *, replace: bool) -> bool:
    """Whether a run that was named is done and its release is in this folder; else raise unless one can be written."""
    from discreet.fitting.spending import is_published

    line = None if run_id is None else account.run(run_id)
    if line is not None and line.arrays is not None and is_published(output, line.arrays):
        return True
    check_release_folder(output, replace=replace)
    return False


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
    from discreet.releases.release import Release
    from discreet.releases.storage import read_card

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
