"""What a fit would ask for and cost, found out from public facts alone: nothing is spent, and no rating is read.

Looked at are the catalogue, the announced audience, the terms and the model's settings. What is said here says nothing
about anybody's ratings, so it may be asked for as often as one likes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.features import item_features
from discreet.data.handling import Handling
from discreet.data.labels import Labels
from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.fitting.choosing import choose_for
from discreet.fitting.private_forms import check_private
from discreet.models.almanac.planner import Purpose
from discreet.models.own_taste import OwnTaste
from discreet.models.sums.item_statistics import ITEM_COUNTS
from discreet.populations.asking import check_takes
from discreet.populations.population import Population
from discreet.populations.rehearsal import rehearse
from discreet.populations.terms import Terms
from discreet.privacy.booking import follows_gaussian, wholes
from discreet.privacy.composition import Filter
from discreet.privacy.ledger import Ledger
from discreet.privacy.spend import Spend
from discreet.releases.contract import ChoosingModel
from discreet.releases.priors import check_takes_prior, prior_of
from discreet.releases.release import Release

MOST_FITS = 1000
"""More are not counted."""
NIGHTS = (30, 365)
"""For how many fits the cost together is said."""
EPSILONS, AUDIENCES = (1e-3, 1e3), (10.0, 1e9)
"""Between which it is searched where patterns begin to stand out."""


@dataclass(frozen=True)
class Look:
    """One question: what is asked, with what noise, and which share of the budget it takes."""

    what: str
    noise: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a fit would do.

    Parameters
    ----------
    model, reason
        The model with its settings, and why it was chosen, where a rule chose it.
    audience, items, features
        The public facts that it rests on: announced users, items, columns of public features.
    epsilon, delta, unit
        What is promised.
    prior
        What another release knows of these items, a sentence; empty without one.
    looks
        What is asked; where the model decides on the way, what it asks first.
    on_the_way
        Whether noisy answers decide what is asked next; the limit is then spent in full.
    begins
        From which epsilon or number of users it pays to publish, or patterns of items stand out, a sentence each.
    fits
        How many such fits the limit allows, None without a limit.
    limit
        That limit.
    next_fit
        How much of the limit the next such fit takes after what was spent before; None without a limit.
    nights
        What 30 and 365 of them cost together: epsilon by how many.
    """

    model: str
    reason: str
    audience: int
    items: int
    features: int
    epsilon: float
    delta: float
    unit: str
    prior: str
    looks: tuple[Look, ...]
    on_the_way: bool
    begins: tuple[str, ...]
    fits: int | None
    limit: float | None
    next_fit: float | None
    nights: dict[int, float]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def plan_for(
    model: Any,
    catalogue: Catalogue,
    terms: Terms,
    audience: int,
    *,
    purpose: Purpose = "both",
    prior: Release | None = None,
    limit: tuple[float, float] | None = None,
    spent: Sequence[Sequence[Spend]] = (),
) -> tuple[Any, Plan]:
    """The model that would be fitted (None lets the rule choose), and what it would do.

    ``purpose`` is for the rule, ``prior`` as in a fit; ``limit`` is an epsilon and a delta, of which ``spent`` was
    spent before.

    Examples
    --------
    >>> import discreet as dc
    >>> catalogue = dc.synthetic(users=50, items=300, ratings=600, seed=1).catalogue
    >>> _, plan = plan_for(dc.Bias(), catalogue, dc.Terms(epsilon=1.0, unit="user"), 1000, limit=(4.0, 1e-6))
    >>> plan.looks[0].share, plan.fits > 4
    (1.0, True)
    """
    require(terms.epsilon is not None, "a plan is about what privacy costs: give --epsilon")
    assert terms.epsilon is not None
    reason = ""
    if prior is not None:
        check_takes_prior(model)
        catalogue = replace(catalogue, prior=prior_of(prior, catalogue))
    if model is None:
        model, reason = choose_for(catalogue, audience, terms, purpose)
    check_takes(model, catalogue)
    check_private(model, terms)
    population = population_of_nobody(catalogue, terms)
    on_the_way = isinstance(model, ChoosingModel) and model.chooses_on_the_way(population)
    ledger = terms.ledger()
    spends = rehearse(model, population).spends
    # What is chosen on the way takes the whole limit, with one noise or another: what is said holds for each.
    batches, asks = _wholes(ledger, limit, spent) if on_the_way else [spends], bool(spends) or on_the_way
    return model, Plan(
        model=repr(model),
        reason=reason,
        audience=audience,
        items=len(catalogue),
        features=item_features(catalogue).shape[1],
        epsilon=terms.epsilon,
        delta=ledger.delta,
        unit=str(ledger.unit),
        prior=_known(catalogue),
        looks=_first_looks(spends, ledger) if on_the_way else _looks(spends),
        on_the_way=on_the_way,
        begins=publication_pays(model, catalogue, terms, audience),
        fits=None if limit is None or not asks else min(fits_within(limit, batch, spent) for batch in batches),
        limit=None if limit is None else limit[0],
        next_fit=None if limit is None or not asks else max(cost_after(limit, batch, spent) for batch in batches),
        nights={}
        if not asks
        else {many: max(_together(batch, many, ledger.delta) for batch in batches) for many in NIGHTS},
    )


def _known(catalogue: Catalogue) -> str:
    if catalogue.prior is None:
        return ""
    matched = int(catalogue.prior.matched.sum())
    return (
        f"knows {matched:,} of {len(catalogue):,} items, and costs nothing; how far it is believed, noisy sums decide. "
        "What is tried on made-up ratings does without it."
    )


def population_of_nobody(catalogue: Catalogue, terms: Terms) -> Population:
    """Someone to ask who holds no rating."""
    nobody = Ratings.of_columns(catalogue, Labels.of(["0"], what="user"), *np.zeros((3, 0)), handling=Handling())
    return terms.population(nobody)


def fits_within(limit: tuple[float, float], batch: Sequence[Spend], spent: Sequence[Sequence[Spend]] = ()) -> int:
    """How many more batches a limit allows, each planned by itself, at most so many as are counted.

    >>> once = Spend(what="a", mechanism="laplace", norm="l1", sensitivity=1, scale=1.0)
    >>> fits_within((3.5, 0.0), [once]), fits_within((3.5, 0.0), [once], [[once]])
    (3, 2)
    """
    counted = Filter(epsilon=limit[0], delta=limit[1])
    for before in spent:
        counted = counted.after(before)
    for many in range(MOST_FITS):
        counted = counted.after(batch)
        if counted.spent > limit[0] * (1 + 1e-9):
            return many
    return MOST_FITS


def publication_pays(model: Any, catalogue: Catalogue, terms: Terms, audience: int) -> tuple[str, ...]:
    """From which epsilon, and from how many users, the rule would publish something."""
    if not isinstance(model, OwnTaste):
        return ()

    def pays(epsilon: float, users: float) -> bool:
        chosen, _ = choose_for(catalogue, max(1, round(users)), replace(terms, epsilon=epsilon))
        return not isinstance(chosen, OwnTaste)

    assert terms.epsilon is not None
    own = float(terms.epsilon)
    epsilon = _least(lambda value: pays(value, audience), EPSILONS)
    users = _least(lambda value: pays(own, value), AUDIENCES)
    if epsilon is None or users is None:
        return ()
    return (
        f"To publish something pays from epsilon {epsilon:.2g} on with about {audience:,} users, and from about "
        f"{float(f'{users:.2g}'):,.0f} users on with epsilon {own:g}.",
    )


def _least(holds: Callable[[float], bool], between: tuple[float, float]) -> float | None:
    """The least number for which something holds that holds for all larger ones; by bisection, within 3 %."""
    low, high = (math.log(end) for end in between)
    if not holds(math.exp(high)):
        return None
    while high - low > 0.03:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(math.exp(middle)) else (middle, high)
    return math.exp(high)


def _looks(spends: Sequence[Spend]) -> tuple[Look, ...]:
    """Each question with its share: of the squares of μ, or of epsilon where no noise is Gaussian."""
    gaussian = any(spend.mechanism == "gaussian" for spend in spends)
    costs = [spend.times * spend.noise_multiplier ** (-2 if gaussian else -1) for spend in spends]
    total = math.fsum(costs) or 1.0
    return tuple(
        Look(
            spend.what + ("" if spend.times == 1 else f", {spend.times} times"),
            f"{spend.mechanism} noise, {spend.noise_multiplier:.3g} times what one unit moves",
            cost / total,
        )
        for spend, cost in zip(spends, costs, strict=True)
    )


def _first_looks(spends: Sequence[Spend], ledger: Ledger) -> tuple[Look, ...]:
    """Those that are the same whatever is answered, with their shares of the limit.

    With the unit user these are all up to the first item sums, with the unit rating it is one: how many pairs users
    rate decides what item sums get.
    """
    counted = [place for place, spend in enumerate(spends) if spend.what.startswith(ITEM_COUNTS)]
    first = spends[: 1 + (counted[0] if counted and ledger.unit.name == "user" else 0)]
    whole = wholes(ledger)[-1].spends[0].noise_multiplier ** -2
    shares = [
        spend.noise_multiplier**-2 / whole if spend.mechanism == "gaussian" else spend.pure_epsilon / ledger.epsilon
        for spend in first
    ]
    return tuple(replace(look, share=share) for look, share in zip(_looks(first), shares, strict=True))


def _wholes(
    ledger: Ledger, limit: tuple[float, float] | None, spent: Sequence[Sequence[Spend]]
) -> list[tuple[Spend, ...]]:
    """Looks that take all of the budget, in place of those that are chosen on the way.

    With the unit rating all may have Laplace noise, or the last ones Gaussian noise; after a fit of the latter kind all
    fits that the same limit pays for have Gaussian noise (:mod:`discreet.fitting.spending`).
    """
    found = [plan.spends for plan in wholes(ledger)]
    only_gaussian = limit is not None and any(follows_gaussian(batch) for batch in spent)
    return found[-1:] if ledger.unit.name == "user" or only_gaussian else found


def cost_after(limit: tuple[float, float], batch: Sequence[Spend], spent: Sequence[Sequence[Spend]] = ()) -> float:
    """How much more of a limit is used up by one more batch.

    >>> once = Spend(what="a", mechanism="laplace", norm="l1", sensitivity=1, scale=1.0)
    >>> cost_after((3.5, 0.0), [once], [[once]])
    1.0
    """
    counted = Filter(epsilon=limit[0], delta=limit[1])
    for before in spent:
        counted = counted.after(before)
    return counted.after(batch).spent - counted.spent


def _together(batch: Sequence[Spend], many: int, delta: float) -> float:
    """Without a limit: the odds that a sampler is off, which a limit bounds, are left aside."""
    counted, exact = Filter(epsilon=None, delta=delta), [replace(spend, slack=0.0) for spend in batch]
    for _ in range(many):
        counted = counted.after(exact)
    return counted.spent
