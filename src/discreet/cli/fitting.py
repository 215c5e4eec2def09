"""``discreet fit`` makes a release out of ratings, ``discreet show`` says what is in one."""

import dataclasses
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.budget import account_name, print_left
from discreet.cli.models import shown
from discreet.cli.options import DataOptions, Json, PrivacyOptions, Settings, grouped
from discreet.cli.outputs import check_release_folder
from discreet.cli.progress import bar
from discreet.cli.settings import parse_models, split_name
from discreet.cli.tables import document, facts, say


@grouped
def fit(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model by name (`discreet models`).")],
    source: DataOptions,
    privacy: PrivacyOptions,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write the release to.")],
    settings: Settings = [],  # noqa: B006 (typer copies it)
    budget: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the budget of DATA is kept (`discreet budget`).")
    ] = None,
    json: Json = False,
) -> None:
    """Fit a model and write a release.

    The release is a folder with what was learned about the items, and nothing about any user. What it costs is
    booked on the budget of DATA first; what would overspend that is refused.
    """
    chosen = parse_models([model], settings)[model]
    terms = privacy.terms()
    check_release_folder(output)
    from discreet.models.fitting import check_terms, fit_on
    from discreet.models.spending import spend_and_release
    from discreet.privacy.budget import Budget

    check_terms(chosen, terms)
    kept, name = Budget(budget), account_name(source.data)
    account = kept.report(name)  # a database that is down is found before the data are read
    has_privacy = terms.epsilon is not None and terms.noise_seed is None
    if not has_privacy:
        account.check_unlimited(repr(chosen))

    with bar() as progress:
        ratings = source.load(progress)
        started = time.perf_counter()
        if has_privacy:
            population = terms.population(ratings)
            release = spend_and_release(chosen, population, output, budget=kept, data=name, progress=progress)
        else:
            release = fit_on(chosen, ratings, terms, progress)
            release.save(output)
        seconds = time.perf_counter() - started
    if json:
        document(
            {
                "release": str(output),
                "model": split_name(model)[0],
                "settings": dataclasses.asdict(chosen),
                "guarantee": str(release.guarantee),
                "fit_seconds": seconds,
            }
        )
        return
    say(f"Fitted {chosen!r} in {seconds:.1f} s.")
    say(str(release.guarantee))
    if has_privacy:
        print_left(kept.report(name))
    say(f"The release is in {output}; see `discreet show {output}` and `discreet recommend {output}`.")


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
