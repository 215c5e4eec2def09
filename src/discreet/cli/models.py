"""``discreet models``: what can be fitted, and with which settings."""

import inspect
from typing import Any

from discreet.cli.options import Json
from discreet.cli.settings import settings_of
from discreet.cli.tables import document, table


def models(json: Json = False) -> None:
    """List the models and their settings.

    The column private says what a model can hide: one rating, or all ratings of one user. It is not known where
    libraries that the model needs are not installed; then the last line of the model says how to install them.
    """
    from discreet.names import every_kind

    described = [describe(name, kind) for name, kind in every_kind().items()]
    if json:
        document(described)
        return
    table(
        None,
        ("model", "for", "private", "what it does, and its settings"),
        [
            (
                model["model"],
                model["kind"],
                "?" if model["private"] is None else ", ".join(model["private"]) or "no",
                "\n".join([model["does"], *_settings(model["settings"]), *_missing(model["missing_extras"])]),
            )
            for model in described
        ],
        lines=True,
    )


def describe(name: str, kind: Any) -> dict[str, Any]:
    """What is known of a model without fitting it."""
    from discreet.extras import missing_extras
    from discreet.fitting.private_forms import private_units
    from discreet.releases.contract import needs_raw_ratings

    missing, raw = missing_extras(kind), needs_raw_ratings(kind)
    return {
        "model": name,
        "does": (inspect.getdoc(kind) or "").partition("\n")[0],
        "kind": "ratings" if hasattr(kind, "predict") else "ranking",
        "explains": hasattr(kind, "explain"),
        "private": list(private_units(kind())) if raw or not missing else None,
        "needs_raw_ratings": raw,
        "missing_extras": missing,
        "settings": settings_of(kind),
    }


def _settings(settings: dict[str, Any]) -> list[str]:
    return ["  ".join(f"{name}={shown(value)}" for name, value in settings.items())] if settings else []


def _missing(extras: list[str]) -> list[str]:
    from discreet.extras import install

    return [f"not installed, and needed: {install(extras)}"] if extras else []


def shown(value: Any) -> str:
    """A setting as one would type it."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
