"""Runs that happen once: a night that is tried again pays once, and says what stands."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from discreet.errors import InputError, require

PERIODS = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m"}

OncePer = Annotated[
    str | None,
    typer.Option(
        "--once-per", metavar="PERIOD", help="day, week or month (UTC): tried again within it, the run is paid once."
    ),
]


def run_name(run_id: str | None, once_per: str | None, now: datetime | None = None) -> str | None:
    """The name of a run: as it was given, or the day, the week or the month.

    >>> march = datetime(2026, 3, 1, tzinfo=UTC)
    >>> run_name(None, "day", march), run_name(None, "week", march)
    ('2026-03-01', '2026-W09')
    """
    if once_per is None:
        return run_id
    require(run_id is None, "--run-id and --once-per both name the run: give one")
    if once_per not in PERIODS:
        raise InputError(f"--once-per must be day, week or month, got {once_per!r}")
    return (now or _now()).strftime(PERIODS[once_per])


def _now() -> datetime:
    return datetime.now(UTC)
