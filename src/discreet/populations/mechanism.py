"""Mechanisms that are no sums: a choice, a perturbed objective, a sample of a posterior.

A model hands one to a population, which books it, runs it where the ratings are, and gives back what it drew. So a
model that needs more than sums still never sees a rating, and whatever it learned stands in the ledger.

A mechanism brings its own proof, in its docstring, and its own :meth:`~Mechanism.check`: brute force over neighbours in
a small universe, or a test of what it draws. The tests run it for every mechanism, and an audit for every one that a
model uses.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require
from discreet.kernels.compiling import always_compiled
from discreet.populations.guarded import nobody
from discreet.populations.population import InParts
from discreet.privacy.ledger import ROUNDING, Ledger
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Unit
from discreet.strings import Strings
from discreet.types import AnyArray, Doubles

ABSENT = -1
TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What one mechanism may spend.

    Parameters
    ----------
    unit
        Whose secret is kept.
    epsilon
        What a pure mechanism may cost.
    mu
        What Gaussian noise may cost instead: its sensitivity over its standard deviation; 0 where there is no delta.
    merged
        Whether repeats were merged: with the unit rating one event more may then replace the value of a rating.
    weighted
        Whether users have privacy levels by weights. A mechanism that keeps to them says so in its line of the ledger,
        and finds everybody's weight among the facts about users; for any other a look counts in full.
    """

    unit: Unit
    epsilon: float
    mu: float = 0.0
    merged: bool = False
    weighted: bool = False

    @classmethod
    def of(cls, ledger: Ledger, share: float, merged: bool = False) -> "Allowance":
        """A share of a ledger's limit."""
        from discreet.privacy.composition import SET_ASIDE
        from discreet.privacy.gaussian import mu_of
        from discreet.privacy.selection import pure_share

        mu = mu_of(ledger.epsilon, ledger.delta * (1 - SET_ASIDE)) * share**0.5
        epsilon = pure_share(ledger, share)
        return cls(unit=ledger.unit, epsilon=epsilon, mu=mu, merged=merged, weighted=ledger.weighted)

    def check(self, spend: Spend) -> None:
        """Raise where a mechanism would take more than it may."""
        most = self.mu if spend.mechanism == "gaussian" else self.epsilon
        require(
            spend.times == 1 and spend.sampling_rate == 1 and 1 / spend.noise_multiplier <= most * (1 + ROUNDING),
            f"{spend.what!r} asks for more than its share; nothing was computed",
        )


@runtime_checkable
class Mechanism(Protocol):
    """A frozen dataclass of public settings that draws something from ratings."""

    @property
    def name(self) -> str:
        """What it finds, in words: this is what a ledger shows."""
        ...

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The arrays that it draws, with their shapes. Public."""
        ...

    def spend(self, allowed: Allowance) -> Spend:
        """Its line in the ledger, at most what is allowed: ``pure``, or ``gaussian`` with the μ that it has."""
        ...

    def draw(self, ratings: InParts, spend: Spend, randomness: Randomness) -> Mapping[str, AnyArray]:
        """Look at the ratings. Whatever is random comes from ``randomness``, and from nowhere else."""
        ...

    def exact(self, ratings: InParts) -> Mapping[str, AnyArray]:
        """What it would find without noise, for a population that hides nothing."""
        ...

    def check(self, catalogue: Catalogue) -> None:
        """Raise if it is not as private as its line in the ledger says."""
        ...


Drawn = dict[str, Doubles]


def draw_guarded(mechanism: Mechanism, ratings: InParts, spend: Spend, randomness: Randomness) -> Drawn:
    """What a mechanism draws. Whatever goes wrong is said in one sentence, which is the same for all ratings."""
    drawn: Drawn | None = None
    try:
        with np.errstate(all="ignore"), always_compiled():
            drawn = as_declared(mechanism, mechanism.draw(ratings, spend, randomness))
    except KeyboardInterrupt:
        raise
    except BaseException:  # whatever it is, its words may tell of the ratings
        pass
    if drawn is None:  # outside of the handler, so that it carries no other error along
        raise InputError(f"{mechanism.name!r} could not be drawn, and what was booked for it stays spent")
    return drawn


def check_on_nobody(mechanism: Mechanism, catalogue: Catalogue, spend: Spend) -> None:
    """Raise for what would fail on any ratings, before anything is charged."""
    as_declared(mechanism, mechanism.draw(nobody(catalogue), replace(spend, seeded=True), Randomness(seed=0)))


def as_declared(mechanism: Mechanism, found: Mapping[str, AnyArray]) -> Drawn:
    """The arrays in the order in which they are declared; raises where one has another shape or is not finite."""
    drawn = {name: np.array(found[name], dtype=np.float64) for name in mechanism.shapes}
    for name, shape in mechanism.shapes.items():
        require(drawn[name].shape == tuple(shape), f"{mechanism.name!r} declares shape {shape} for {name!r}")
        require(bool(np.isfinite(drawn[name]).all()), f"{mechanism.name!r} draws what is no finite number")
    return drawn


# ── Checking by brute force ──


def check_ratios(
    mechanism: Mechanism,
    log_law: Callable[[Ratings, Spend], AnyArray],
    catalogue: Catalogue,
    allowed: Allowance,
    *,
    users: int = 2,
    items: int = 2,
) -> float:
    """Raise if some outcome is more than e^ε times as likely on some data set as on a neighbour; else the greatest ε.

    ``log_law`` gives the logarithms of the probabilities of all outcomes, or of their density at some of them. The
    universe is every way in which a few users can give a few items the lowest or the highest rating.
    """
    spend = mechanism.spend(allowed)
    allowed.check(spend)
    require(spend.mechanism != "gaussian", "ratios are bounded for pure mechanisms only")
    greatest = 0.0
    for one, other in neighbouring(catalogue, allowed.unit, users, items):
        gap = np.abs(np.asarray(log_law(one, spend)) - np.asarray(log_law(other, spend))).max()
        greatest = max(greatest, float(gap))
        if not gap <= spend.pure_epsilon * (1 + TOLERANCE) + TOLERANCE:
            raise InputError(
                f"{mechanism.name!r} is booked with epsilon {spend.pure_epsilon:.4g}, and some outcome is e^{gap:.4g} "
                "times as likely on a data set as on its neighbour"
            )
    return greatest


def neighbouring(catalogue: Catalogue, unit: Unit, users: int = 2, items: int = 2) -> Iterator[tuple[Ratings, Ratings]]:
    """Pairs of small data sets that differ in one unit: all there are, with the extreme ratings of a few items."""
    items = min(items, len(catalogue))
    values = np.array([catalogue.scale.low, catalogue.scale.high], dtype=np.float32)
    for number in range(3 ** (users * items)):
        cells = np.array([number // 3**place % 3 for place in range(users * items)]) + ABSENT
        table = cells.reshape(users, items)
        one = _ratings_of(catalogue, table, values, np.arange(users))
        for other, rows in _changed(table, unit):
            yield one, _ratings_of(catalogue, other, values, rows)


def _changed(table: AnyArray, unit: Unit) -> Iterator[tuple[AnyArray, AnyArray]]:
    """The last user, or one of their ratings, comes, goes or is another; everybody else is anybody anyhow."""
    everyone, last = np.arange(len(table)), len(table) - 1
    if unit.name == "user" and unit.neighbours == "add-or-remove":
        yield table[:last], everyone[:last]
        return
    if unit.name == "user":
        for number in range(3 ** table.shape[1]):
            other = table.copy()
            other[last] = np.array([number // 3**place % 3 for place in range(table.shape[1])]) + ABSENT
            yield other, everyone
        return
    for item in np.flatnonzero(table[last] != ABSENT):
        other = table.copy()
        other[last, item] = ABSENT if unit.neighbours == "add-or-remove" else 1 - table[last, item]
        yield other, everyone
        if (other[last] == ABSENT).all():  # where only users with ratings are listed, this one leaves the list
            yield other[:last], everyone[:last]


def _ratings_of(catalogue: Catalogue, table: AnyArray, values: AnyArray, rows: AnyArray) -> Ratings:
    user, item = np.nonzero(table != ABSENT)
    names = Labels(Strings.of(map(str, rows.tolist())), what="user")
    return Ratings.of_columns(catalogue, names, user, item, values[table[user, item]])
