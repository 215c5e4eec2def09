"""``discreet fit`` makes a release out of ratings, ``discreet show`` says what is in one."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.budget import print_left, print_retry, settled
from discreet.cli.certificate import signing_key
from discreet.cli.cluster import ClusterOptions
from discreet.cli.models import shown
from discreet.cli.nights import OncePer, run_name
from discreet.cli.progress import bar
from discreet.cli.purposes import check_purpose, noting
from discreet.cli.settings import model_name, own_kind, planned_model
from discreet.cli.tables import document, facts, note, say
from discreet.cli.wishes import WishOptions

if TYPE_CHECKING:
    from discreet.fitting.fit_and_save import Fitted


@options.grouped
def fit(
    *,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL", help="A model by name (`discreet models`); without one, what suits is chosen (auto)."
        ),
    ] = [],  # noqa: B006 (typer copies it)
    source: options.DataOptions,
    privacy: options.PrivacyOptions,
    wished: WishOptions,
    cluster: ClusterOptions,
    output: options.ReleaseFolder,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The same as MODEL.")] = None,
    settings: options.Settings = [],  # noqa: B006 (typer copies it)
    audience: options.AudienceOption = None,
    purpose: options.PurposeOption = None,
    tuned_on: options.TunedOn = None,
    account: options.AccountOption = None,
    run_id: options.RunId = None,
    once_per: OncePer = None,
    budget: options.BudgetUrl = None,
    replace: options.Replace = False,
    sign: options.Sign = None,
    prior: options.PriorOption = None,
    check_replay: Annotated[
        bool, typer.Option("--check-replay", help="Fit again on the noisy answers alone, and refuse what differs.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only show what would be asked for and its cost: see `discreet plan`."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Fit a model and write a release.

    Without a model, one is chosen by public facts alone: the announced number of users, the number of items, epsilon,
    the unit, and whether the items have genres or years.

    The release is a folder with what was learned about the items, and nothing about any user. The budget of DATA is
    charged first, and refuses what exceeds its limit; a release without privacy is refused where a limit was declared,
    and after one no limit can be declared any more. If these ratings were evaluated, compared or audited before,
    settings other than the defaults need --tuned-on.
    """
    name, terms = model_name(words, model, source.data), privacy.terms(spark=True)
    run_id = run_name(run_id, once_per)
    wished.check(terms)
    known = None
    if prior is not None and (prior != options.PREVIOUS or output.exists()):
        from discreet.releases.release import Release

        known = Release.load(output if prior == options.PREVIOUS else Path(prior))
    from discreet.privacy.budget import Budget

    kept = Budget(budget)
    if dry_run:
        from discreet.cli.planning import show_plan

        show_plan(
            name,
            source,
            terms,
            settings,
            audience,
            purpose=purpose,
            prior=known,
            account=account,
            budget=kept,
            json=json,
        )
        if not json:
            say(f"This was a dry run: nothing was fitted, and {output} was not written.")
        return
    from discreet.fitting.audience import audience_of, takes_audience
    from discreet.fitting.fit_and_save import fit_and_save

    told = audience_of(source.data, audience)
    chosen = planned_model(name, settings, users=told.users, purpose=purpose)
    check_purpose(purpose, [chosen], implicit=source.implicit)
    key = signing_key(sign)  # one that cannot be read is found before anything is spent
    with bar() as progress, cluster.loading(source, privacy.engine, progress) as load:
        done = fit_and_save(
            chosen,
            noting(load, chosen, terms, users=told.users, purpose=purpose),
            output,
            data=source.data,
            terms=terms,
            audience=audience,
            purpose=purpose or "both",
            account=account,
            budget=kept,
            tuned_on=tuned_on,
            wishes=lambda: wished.read(source, terms, progress),
            run_id=run_id,
            replace=replace,
            sign=key,
            prior=known,
            check_replay=check_replay,
            progress=progress,
            warn=note,
        )
    fitted: Any = done.release.model
    remark = done.release.remark.replace("a delta of 1e-06", "--delta 1e-6")  # the library speaks of settings
    if terms.epsilon is not None and told.known == "assumed" and (chosen is None or takes_audience(fitted)):
        note(f"About {told.users:,} users were assumed; --audience N announces how many there are, roughly.")
    if json:
        own = {"reason": done.reason or None, "remark": remark or None, "fit_seconds": done.seconds}
        document(to_json(done, run_id, kept.place) | own)
        return
    if done.reason:
        say(f"{done.reason}.")
    if not done.run_was_done:
        say(f"Fitted {fitted!r} in {done.seconds:.1f} s.")
    say(str(done.release.guarantee))
    if remark:
        say(f"{remark}.")
    print_paid(done, run_id)
    more = ["show", "recommend"] if done.release.guarantee.proven is None else ["show", "certificate", "recommend"]
    commands = [f"`discreet {command} {output}`" for command in more]
    say(f"The release is in {named(output)}; see {', '.join(commands[:-1])} and {commands[-1]}.")


def named(folder: Path) -> str:
    """A folder as it was asked for; where that is a link, also where it leads: that is what was written."""
    return f"{folder}, a link to {folder.resolve()}" if folder.is_symlink() else str(folder)


def print_paid(done: "Fitted", run_id: str | None) -> None:
    """What it cost, or why it cost nothing."""
    if done.run_was_done:
        print_retry(str(run_id))
    elif done.paid_before:
        say(
            "What is made of these reports was booked before, and costs their users no more, unless they have replaced "
            "their reports since: see `discreet budget`."
        )
    else:
        print_left(done.account)


def to_json(done: "Fitted", run_id: str | None, place: str) -> dict[str, Any]:
    """What came of a fit or a search, for machines."""
    from discreet.names import name_of

    model: Any = done.release.model
    return {
        "release": str(done.folder),
        "model": name_of(type(model)),
        "settings": dataclasses.asdict(model),
        "guarantee": str(done.release.guarantee),
        "account": done.account.data,
        "run_id": run_id,
        "booked": "before" if done.paid_before else "now",
        "budget": settled(done.account.summary()) | {"kept_in": place},
    }


def show(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a release.")],
    model: options.OwnModel = None,
    json: options.Json = False,
) -> None:
    """Show what is in a release.

    Its model and settings, its guarantee, its catalogue and its arrays.
    """
    card = describe(release, own_kind(model))
    if json:
        document(card)
        return
    catalogue = card["catalogue"]
    ends = catalogue["scale"]
    scale = ", no ratings" if ends is None else f", scale {ends[0]:g} to {ends[1]:g}"
    facts(
        [
            ("model", card["model"]),
            ("settings", ", ".join(f"{name}={shown(value)}" for name, value in card["settings"].items()) or "none"),
            *([("chosen", card["note"])] if card["note"] else []),
            *((("" if place else "asked"), said) for place, said in enumerate(card["choices"])),
            ("guarantee", card["guarantee"]),
            ("catalogue", f"{catalogue['items']:,} items, {catalogue['genres']} tags{scale}"),
            *(
                ("holds" if place == 0 else "", f"{name}: {words}")
                for place, (name, words) in enumerate(card["holds"].items())
            ),
            ("written by", f"Discreet {card['discreet']}"),
        ]
    )


def describe(folder: Path, model: Any = None) -> dict[str, Any]:
    """What a release says of itself. It is read whole first, so a damaged one is refused."""
    from discreet.releases.choices import choices_of
    from discreet.releases.contents import described
    from discreet.releases.release import Release
    from discreet.releases.storage import read_card

    release, card = Release.load(folder, model=model), read_card(folder)
    scale = release.catalogue.scale
    return {
        "model": card["model"],
        "settings": card["settings"],
        "note": release.note,
        "choices": list(choices_of(release)),
        "guarantee": str(release.guarantee),
        "predicts_ratings": release.predicts_ratings,
        "catalogue": {
            "items": len(release.catalogue),
            "genres": len(release.catalogue.genres),
            "scale": None if scale.implicit else [scale.low, scale.high],
            "fingerprint": release.catalogue.fingerprint,
        },
        "arrays": {
            name: {"shape": list(array.shape), "type": str(array.dtype)} for name, array in release.arrays.items()
        },
        "holds": described(release.arrays),
        "discreet": card["discreet"],
    }
