"""Releases to damage, and what people do with a release: the parts that all hostile cases have in common."""

import io
import json
import os
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import discreet as dc
from discreet.data.catalogue import Catalogue, Scale
from discreet.data.labels import Labels
from discreet.fitting.fit_on import fit_on
from discreet.names import every_kind
from discreet.releases.arrays_file import read_arrays, read_table, strings, write_arrays
from discreet.releases.loading import ARRAYS, CARD
from discreet.releases.storage import _checksum as checksum

from .undeclared_model import Neighbours

SMALL = {
    "almanac": {"factors": 3, "taste_factors": 4},
    "mf": {"factors": 3, "epochs": 2},
    "pmf": {"factors": 3, "steps": 3},
    "als": {"factors": 3, "sweeps": 2},
    "implicit-als": {"factors": 3, "sweeps": 2},
    "bayesian-mf": {"factors": 3, "sweeps": 2},
    "svd": {"factors": 3},
    "warp": {"factors": 3, "epochs": 2},
    "pattern-mf": {"factors": 2},
    "filtered-mf": {"factors": 2},
    "paper:dpsgd-mf": {"factors": 3, "iterations": 2},
    "paper:dpps-mf": {"factors": 3, "iterations": 2},
    "paper:dpps-pnbm": {"iterations": 2},
    "paper:objective-perturbation": {"factors": 3, "iterations": 2},
    "paper:personalised": {"factors": 3, "iterations": 2, "private_iterations": 2},
    "mult-vae": {"hidden": 4, "latent": 2, "epochs": 2},
    "private-vae": {"latent": 2, "steps": 2},
    "auto-encoder": {"latent": 2, "epochs": 2},
    "paper:dp-vae": {"epsilon": None, "hidden": 4, "latent": 2, "epochs": 2},
    "paper:untrusted": {"epsilon": None, "factors": 2},
    "paper:dp-pmf": {"factors": 3, "iterations": 2, "private_iterations": 2},
}
RATINGS = dc.synthetic(users=40, items=12, ratings=240, seed=1)
USER_TERMS = dc.Terms(epsilon=2.0, delta=1e-6, unit="user")


class Case(NamedTuple):
    """One thing to try: its kind in the table, its name, and what to call."""

    kind: str
    name: str
    run: Callable[[], Any]


# ── Releases to damage ──


def prepare(home: Path) -> None:
    """Fit and save one release of every model, and of a few in another form."""
    home.mkdir(parents=True, exist_ok=True)
    made = {name: kind(**SMALL.get(name, {})) for name, kind in every_kind().items()}
    releases = {name: fit_on(model, RATINGS) for name, model in made.items()}
    releases |= {
        "covariance-knn, lists": fit_on(dc.CovarianceKNN(form="neighbours"), RATINGS),
        "covariance-knn, interpolation": fit_on(dc.CovarianceKNN(form="interpolation"), RATINGS),
        "pnbm, lists": dc.truncated(releases["pnbm"], 5),
        "bias, private": fit_on(dc.Bias(), RATINGS, dc.Terms(epsilon=1.0)),
        "almanac, private": fit_on(made["almanac"], RATINGS, USER_TERMS),
        "als, private": fit_on(made["als"], RATINGS, USER_TERMS),
        "noisy-pnbm, private": fit_on(dc.NoisyPNBM(steps=2), RATINGS, USER_TERMS),
        "third party": Neighbours(neighbours=5).fit(dc.NoPrivacy(RATINGS)),
    }
    for name, release in releases.items():
        release.save(home / name.replace(":", "-"))


# ── Use ──


def use(folder: Path) -> None:
    """What people do with a release; only errors of Discreet may come out of it."""
    release = dc.Release.load(folder, model=_class_of(folder))
    catalogue = release.catalogue
    rated = dict.fromkeys(list(catalogue.items)[:4], catalogue.scale.low)
    rated[catalogue.items[0]] = catalogue.scale.high
    history = dc.History.of(catalogue, rated)
    empty = dc.History(catalogue, np.zeros(0, np.int32), np.zeros(0, np.float32))
    many = dc.Ratings.of_histories([history, empty] * 10)  # enough for the compiled kernels
    explains, predicts = hasattr(release.model, "explain"), release.predicts_ratings
    errors = []
    for asked in (
        lambda: str(release.guarantee) + repr(release) + release.remark,
        lambda: release.scores(many),
        lambda: repr(release.recommend(history, k=3, explain=explains)),
        lambda: release.recommend(empty, k=3),
        lambda: release.recommend_many(many, k=2),
        lambda: explains and release.explain(history, catalogue.items[len(catalogue) - 1]),
        lambda: predicts and release.predict(many, np.arange(20), np.arange(20) % len(catalogue)),
        lambda: predicts and release.predict(dc.Ratings.of_history(history), [0], [0]),
    ):
        try:
            asked()
        except dc.DiscreetError as error:  # go on: what follows may end otherwise
            errors.append(error)
    command("show", folder)
    command("show", folder, "--json")
    command("certificate", folder)
    command("certificate", folder, "--json")
    command("recommend", folder, "--likes", catalogue.items[0], "-k", "3")
    if errors:
        raise errors[0]


def command(*arguments: object) -> None:
    """Run a command in this process: it must end with 0 or 2, and print no control character."""
    printed, code = io.StringIO(), 0
    try:
        with redirect_stdout(printed), redirect_stderr(printed):
            parser().main([str(argument) for argument in arguments], prog_name="discreet")
    except SystemExit as ended:
        code = int(ended.code or 0)
    text = printed.getvalue()
    unsafe = [letter for letter in text if (letter < " " and letter not in "\n\t") or letter in UNSAFE]
    assert not unsafe and code in (0, 2), (code, unsafe, text[-300:])


@cache
def parser() -> Any:
    """The command line, read once: that takes longer than most cases."""
    import typer

    from discreet.cli.app import app

    return typer.main.get_command(app)


UNSAFE = {*map(chr, range(0x7F, 0xA0)), *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}


def _class_of(folder: Path) -> Any:
    """The class of the third party, where whoever opens the folder asked for it."""
    return Neighbours if "third party" in folder.name else None


# ── Damage ──


def case_of(kind: str, original: Path, what: str, damage: Callable[[Path], None]) -> Case:
    def run() -> None:
        # The name of the original stays part of it: it says whether a third party's class is asked for.
        folder = original.parent / f".{os.getpid()} {original.name}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(original, folder)
        try:
            damage(folder)
            use(folder)
        finally:
            remove(folder)

    return Case(kind, f"{original.name}: {what}", run)


def remove(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)
    else:
        folder.unlink(missing_ok=True)


def card_of(folder: Path) -> dict[str, Any]:
    card: dict[str, Any] = json.loads((folder / CARD).read_bytes())
    return card


def write_card(folder: Path, card: dict[str, Any]) -> None:
    (folder / CARD).write_text(json.dumps(card))


def members_of(folder: Path) -> dict[str, Any]:
    path = folder / ARRAYS
    return read_arrays(path, read_table(path), card_of(folder)["arrays_sha256"])


def rewrite(folder: Path, members: dict[str, Any]) -> None:
    """Write other arrays, with everything in the card that follows from them."""
    card = card_of(folder)
    card["arrays"] = write_arrays(folder / ARRAYS, members)
    card["arrays_sha256"] = checksum(folder / ARRAYS)
    card["catalogue_fingerprint"] = _fingerprint(folder, card, dict(members)) or card["catalogue_fingerprint"]
    for name in members:
        card["sources"].setdefault(name, [])
    write_card(folder, card)


def _fingerprint(folder: Path, card: dict[str, Any], members: dict[str, Any]) -> str | None:
    try:
        items, titles = (strings(folder, members, f"catalogue.{name}") for name in ("items", "titles"))
        return Catalogue(
            items=Labels(items, what="item"),
            scale=Scale(*card["scale"]),
            titles=titles,
            genres=tuple(card["genres"]),
            item_genres=members["catalogue.item_genres"],
            years=members["catalogue.years"],
        ).fingerprint
    except Exception:
        return None
