"""What may be spent on a data set in all: kept in a database, so that it outlives processes and is shared by them.

A spending goes through two states, and never back:

    reserved    booked before anything is computed, in a transaction that refuses what would overspend
    released    marked after the release was written

Both count as spent, so a process that dies in between has lost nothing of the account: there are no refunds. All
spends of a data set, of all its fits, are composed together at the delta of its limit, which costs less than adding
up their epsilons. Each line is planned as a whole, and may be chosen after seeing all answers of the lines before it
(:mod:`discreet.privacy.account`).

A release without privacy is a line too, of infinite epsilon: where a limit was declared it is refused, and after it
none can be declared.

A run that is named (``run_id``) is paid once, however often it is tried again with the answers that it drew
(``claim``), and once more where these are lost; of all who try, one publishes.

The database holds mechanisms, settings, times, which models were looked at without paying, and a sketch of each data
set's users and items under a secret key (:mod:`discreet.privacy.fingerprint`); no rating and no name of a user.
"""

import json
import math
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from discreet.doors import checked, checked_methods
from discreet.errors import BudgetError, InputError
from discreet.looks import Look, kept_reading
from discreet.privacy.account import Account, Spending
from discreet.privacy.connections import Connection, Row
from discreet.privacy.database import Database, rows_of
from discreet.privacy.database import default_path as default_path
from discreet.privacy.ledger import Ledger
from discreet.privacy.lines import account_of, look_of
from discreet.privacy.schema import DATA_SETS, EXACT, LOOKS, SKETCHES, SPENDINGS
from discreet.privacy.unit import Unit

if TYPE_CHECKING:
    from discreet.privacy.fingerprint import Sketch

PATIENCE = 60
"""Seconds to wait for others who are booking."""
PAID_FOR = "the release is paid for all the same"


@dataclass(frozen=True)
class Reservation:
    """A spending that is booked. What is computed with it is paid for, whether or not it is ever released.

    ``claim`` names the answers of a run that may be tried again, and is the right to publish it; ``published`` is the
    checksum of what was published under its run id before.
    """

    budget: "Budget"
    id: int
    claim: str | None = None
    published: str | None = None

    def publishing(self, arrays: str) -> bool:
        """Write down the checksum of a release that is about to appear: whoever is killed now is found by it.

        False where another process has begun a run anew that may be tried again, or published it: then nothing may
        appear here.
        """
        own = "" if self.claim is None else " AND arrays IS NULL AND claim = :claim"
        statement = f"UPDATE {SPENDINGS} SET arrays = :arrays WHERE id = :id AND released_at IS NULL{own}"
        values = {"id": self.id, "arrays": arrays} | ({} if self.claim is None else {"claim": self.claim})
        with self.budget._writing(outcome=PAID_FOR) as connection:
            return connection.run(statement, **values) == 1 or self.claim is None

    def stopped(self, claim: str) -> None:
        """Give the answers of a run that stops with an error a new name: a copy that was made on the way has the old.

        Raises where another process has taken the run over.
        """
        statement = f"UPDATE {SPENDINGS} SET claim = :claim WHERE claim = :known"
        with self.budget._writing() as connection:
            if not connection.run(statement, claim=claim, known=self.claim):
                raise BudgetError("another process has taken this run over")

    def released(self) -> None:
        """Note that the release was written. It was paid for when it was reserved."""
        with self.budget._writing(outcome=PAID_FOR) as connection:
            connection.run(
                f"UPDATE {SPENDINGS} SET released_at = :now WHERE id = :id AND released_at IS NULL",
                id=self.id,
                now=_now(),
            )


class Unfinished(NamedTuple):
    """A line whose release was not noted as written: its process may be at it, or was killed."""

    line: Reservation
    folder: str
    arrays: str | None


@checked
@partial(checked_methods, own_first=False)
class Budget(Database):
    """The accounts of all data sets, in SQLite or PostgreSQL.

    Parameters
    ----------
    url
        A path of a SQLite file, ``sqlite:///…``, or ``postgresql://user@host/database``. By default the variable
        ``DISCREET_BUDGET``, or else a file in the user's data folder.

    Examples
    --------
    >>> import tempfile
    >>> from discreet.privacy.spend import Spend
    >>> folder = tempfile.TemporaryDirectory()
    >>> budget = Budget(f"{folder.name}/budget.sqlite")
    >>> budget.declare("our ratings", epsilon=1.0)
    >>> plan = Ledger(epsilon=0.75)
    >>> plan.charge(Spend(what="counts", mechanism="laplace", norm="l1", sensitivity=3, scale=4.0))
    >>> budget.reserve("our ratings", plan, "popularity").released()
    >>> budget.account("our ratings").remaining
    0.25
    >>> budget.reserve("our ratings", plan, "popularity again")
    Traceback (most recent call last):
    discreet.errors.OverspentError: popularity again asks for epsilon 0.75 of our ratings, where 0.25 of 1 is left: \
together that comes to 1.5, 0.5 over the limit; nothing was computed or spent
    >>> folder.cleanup()
    """

    def __init__(self, url: str | Path | None = None) -> None:
        super().__init__(url, PATIENCE)

    def declare(self, data: str, epsilon: float, delta: float | None = None, unit: Unit | None = None) -> None:
        """Set the limit of a data set. Later it can be lowered, as far as is not yet spent, and never raised.

        Declared before the first fit is paid it is promised, and stays so. Declared or lowered later it refuses more.
        """
        before = self.account(data)
        data = before.data
        before.limited(epsilon, delta, unit)  # as in reserve
        with self._writing() as connection:
            account = self._lock(connection, data).limited(epsilon, delta, unit)
            assert account.unit is not None
            connection.run(
                f"UPDATE {DATA_SETS} SET epsilon = :epsilon, delta = :delta, unit = :unit, neighbours = :neighbours, "
                "promised_epsilon = :promised_epsilon, promised_delta = :promised_delta WHERE name = :name",
                name=data,
                epsilon=account.epsilon,
                delta=account.delta,
                unit=account.unit.name,
                neighbours=account.unit.neighbours,
                promised_epsilon=None if account.promised is None else account.promised.epsilon,
                promised_delta=None if account.promised is None else account.promised.delta,
            )

    def reserve(
        self,
        data: str,
        plan: Ledger,
        purpose: str,
        *,
        settings: str = "",
        digest: str | None = None,
        run_id: str | None = None,
        claim: str | None = None,
        answers: str | None = None,
        folder: str | None = None,
    ) -> Reservation:
        """Book what ``plan`` holds, before anything is computed; raises where that would overspend.

        Of several who ask at the same instant for the last of a budget, one gets it. Without a declared limit
        everything is booked and nothing is refused; what is spent for different units is then kept apart.

        Parameters
        ----------
        data
            Which account pays.
        plan, purpose
            What is spent, and on what, in words.
        settings
            A hash of the model and its settings.
        digest
            Of the reports that are paid for, where users perturbed their ratings themselves.
        run_id, claim, answers
            Name the run, its answers from now on, and those that are at hand for it, by default the same. A line that
            has these, with the same plan and settings, is gone on with; a run without its answers is booked again.
        folder
            Where the release will be, so that what a killed process leaves there is found.
        """
        # Once without a lock: loading the accountant and composing are slow, and what is found is remembered.
        before, answers = self.account(data), answers or claim
        data = before.data
        if run_id is None or (line := before.run(run_id)) is None or not line.is_of(answers):
            before.total_with(plan, purpose)
        own = plan.spent
        with self._writing() as connection:
            account = self._lock(connection, data)
            if run_id is not None:
                claim = claim or secrets.token_hex(16)
                if (line := account.run(run_id)) is not None and self._goes_on(
                    connection, line, plan, settings, claim, answers, folder
                ):
                    return Reservation(self, line.id, claim, line.arrays)
            total = account.total_with(plan, purpose)
            number = connection.insert(
                SPENDINGS,
                reserved_at=_now(),
                data_set=data,
                unit=plan.unit.name,
                neighbours=plan.unit.neighbours,
                purpose=purpose,
                epsilon=own,
                delta=plan.delta,
                total=total,
                spends=json.dumps([spend.to_json() for spend in plan.spends]),
                settings=settings or None,
                digest=digest,
                run_id=run_id,
                claim=claim,
                folder=folder,
            )
        return Reservation(self, number, claim)

    def _goes_on(
        self,
        connection: Connection,
        line: Spending,
        plan: Ledger,
        settings: str,
        claim: str,
        answers: str | None,
        folder: str | None,
    ) -> bool:
        """Whether a line pays for a run that is tried again; else nobody publishes it any more."""
        goes_on = line.is_of(answers)
        if (line.settings or "") != settings or (goes_on and (line.spends, line.delta) != (plan.spends, plan.delta)):
            raise InputError(
                f"the run {line.run_id} was booked for something else ({line.purpose}): name this one otherwise; "
                "nothing was computed or spent"
            )
        if line.arrays is not None:
            return goes_on
        if goes_on:
            connection.run(f"UPDATE {SPENDINGS} SET folder = :folder WHERE id = :id", id=line.id, folder=folder)
        # The run and each look that was booked on its way.
        connection.run(
            f"UPDATE {SPENDINGS} SET claim = :claim WHERE claim = :known",
            claim=claim if goes_on else None,
            known=line.claim,
        )
        return goes_on

    def expose(self, data: str, purpose: str, *, settings: str = "", folder: str | None = None) -> Reservation:
        """Book a release without privacy, before it is written; raises where a limit was declared.

        From then on no limit can be declared: no epsilon bounds what is out.
        """
        before = self.account(data)
        data = before.data
        before.check_unlimited(purpose)
        with self._writing() as connection:
            self._lock(connection, data).check_unlimited(purpose)
            number = connection.insert(
                SPENDINGS,
                reserved_at=_now(),
                data_set=data,
                unit=EXACT,
                neighbours=EXACT,
                purpose=purpose,
                epsilon=math.inf,
                delta=0.0,
                total=math.inf,
                spends="[]",
                settings=settings or None,
                folder=folder,
            )
        return Reservation(self, number)

    def unfinished(self) -> tuple[Unfinished, ...]:
        """Every line of any data set whose release was not noted as written, and where it is written."""
        with self._reading() as connection:
            if connection is None or "folder" not in connection.columns(SPENDINGS):
                return ()
            rows = connection.rows(
                f"SELECT id, arrays, folder FROM {SPENDINGS} "
                "WHERE released_at IS NULL AND folder IS NOT NULL ORDER BY id"
            )
        return tuple(Unfinished(Reservation(self, row["id"]), row["folder"], row["arrays"]) for row in rows)

    def write_look(self, data: str, look: Look) -> None:
        """Write down an unpaid look at a data set, before it is taken."""
        data, key = self.resolve(data), self.key()
        with self._writing("nothing was computed") as connection:
            self._lock(connection, data)
            kept = look.models, kept_reading(look.reading, key)
            models, reading = (json.dumps([list(pair) for pair in pairs]) for pairs in kept)
            connection.insert(LOOKS, data_set=data, at=look.at, what=look.what, models=models, reading=reading)

    def looks(self, data: str) -> tuple[Look, ...]:
        """Every unpaid look at a data set, the oldest first."""
        with self._reading() as connection:
            if connection is None:
                return ()
            rows = rows_of(connection, LOOKS, _kept_name(data, rows_of(connection, DATA_SETS, None)))
        return tuple(look_of(row, self.place) for row in rows)

    def remember(self, data: str, sketch: "Sketch", place: str = "") -> None:
        """Keep what a data set looks like, and where it was read from, unless both are kept already."""
        kept = {"users": sketch.users, "tastes": sketch.tastes, "items": sketch.items, "key_id": sketch.key_id}
        same = " AND ".join(f"{name} = :{name}" for name in (*kept, "data_set", "place"))
        with self._writing() as connection:
            data = _kept_name(data, rows_of(connection, DATA_SETS, None))
            kept |= {"data_set": data, "place": place}
            self._lock(connection, data)
            if not connection.rows(f"SELECT id FROM {SKETCHES} WHERE {same}", **kept):
                connection.insert(SKETCHES, at=_now(), **kept)

    def sketches(self) -> "dict[str, list[Sketch]]":
        """What every data set looks like, as far as that is kept."""
        rows = self._rows(SKETCHES)
        if not rows:
            return {}
        from discreet.privacy.fingerprint import Sketch

        found: dict[str, list[Sketch]] = {}
        for row in rows:
            sketch = Sketch(row["key_id"], row["users"], row["tastes"], row["items"])
            found.setdefault(row["data_set"], []).append(sketch)
        return found

    def key(self) -> bytes:
        """The secret key of the sketches; raises where there are some that were made under another."""
        from discreet.privacy.fingerprint import key_id

        kept = {row["key_id"] for row in self._rows(SKETCHES)}
        if kept and not (self._has_key() and kept == {key_id(super().key())}):
            raise BudgetError(
                f"the key in {self.key_place} is not the one under which the data sets of this budget are known: "
                "put it back from a backup, or, if it is lost, empty the table discreet_sketches, and name the account "
                "of every data set that had one; nothing was computed or spent"
            )
        return super().key()

    def resolve(self, data: str) -> str:
        """How an account is called that is kept: letters are compared as one reads them, paths as they are.

        >>> Budget("budget.sqlite").resolve(" Films")
        'films'
        """
        return data if Path(data).is_absolute() else _kept_name(data, self._rows(DATA_SETS))

    def knows(self, data: str) -> bool:
        """Whether there is an account of this name, with a limit, a spending or a look."""
        account = self.account(data)
        return account.epsilon is not None or bool(account.spendings) or bool(self.looks(account.data))

    def paid_by(self, arrays: str) -> tuple[Account, Spending] | None:
        """The account and the line that paid for a release, found by the checksum of its arrays."""
        with self._reading() as connection:
            if connection is None or "arrays" not in connection.columns(SPENDINGS):
                return None
            rows = connection.rows(f"SELECT id, data_set FROM {SPENDINGS} WHERE arrays = :arrays", arrays=arrays)
            if not rows:
                return None
            account = self._read(connection, rows[-1]["data_set"])
        return account, next(line for line in account.spendings if line.id == rows[-1]["id"])

    def account(self, data: str) -> Account:
        """The account of a data set; an empty one where nothing is known of it."""
        with self._reading() as connection:
            if connection is None:
                return Account(data=_kept_name(data, []))
            return self._read(connection, _kept_name(data, rows_of(connection, DATA_SETS, None)))

    def _lock(self, connection: Connection, data: str) -> Account:
        """The account as it is now, which nobody else can change before the transaction ends."""
        connection.run(f"INSERT INTO {DATA_SETS} (name) VALUES (:name) ON CONFLICT (name) DO NOTHING", name=data)
        connection.rows(f"SELECT name FROM {DATA_SETS} WHERE name = :name{self._backend.for_update}", name=data)
        return self._read(connection, data)

    def _read(self, connection: Connection, data: str) -> Account:
        if not connection.columns(SPENDINGS):
            return Account(data=data)
        found = connection.rows(f"SELECT * FROM {DATA_SETS} WHERE name = :name", name=data)
        lines = rows_of(connection, SPENDINGS, data)
        return account_of(data, found[0] if found else None, lines, self.place)


def _kept_name(data: str, rows: Sequence[Row]) -> str:
    if Path(data).is_absolute():
        return data
    name, kept = _read_aloud(data), [row["name"] for row in rows]
    if data in kept or name in kept:
        return data if data in kept else name
    return next((other for other in kept if not Path(other).is_absolute() and _read_aloud(other) == name), name)


def _read_aloud(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
