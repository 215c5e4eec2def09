"""What the two kinds of audit share: whom a model asks, one observed fit, and what its ledger proves."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.audit.attack import Adversary
from discreet.audit.recording import Look, RecordingPopulation
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require
from discreet.fitting.fit_on import check_terms
from discreet.fitting.replay import fault_by_replay
from discreet.populations.population import Population
from discreet.populations.replayed import Recorded
from discreet.populations.terms import Terms
from discreet.privacy.guarantee import Loss
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Unit, User
from discreet.releases.published import Published
from discreet.releases.release import Release

MOST_SAMPLED = 50
"""Looks at samples, whose losses are composed one by one to see how much of them a canary can show."""

MakePopulation = Callable[[Ratings, Ledger, Randomness], Population]
"""Someone to ask, from ratings, a fresh ledger and a stream of noise. Each call is one run of the mechanism."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What one fit left behind."""

    looks: Sequence[Look]
    release: Release
    spends: tuple[Spend, ...]
    unit: Unit | None = None
    fault: str = ""

    @property
    def faults(self) -> tuple[str, ...]:
        """What a replay found, if there was one."""
        return (self.fault,) if self.fault else ()

    @property
    def cap(self) -> int | None:
        """How many ratings of a user are used at most, according to whoever was asked."""
        return self.unit.max_ratings if isinstance(self.unit, User) else None


@dataclass(frozen=True, eq=False)
class Audited:
    """A model on certain terms: what is run again and again, each time with fresh noise."""

    model: Any
    terms: Terms
    randomness: Randomness
    make_population: MakePopulation | None = None

    def __post_init__(self) -> None:
        require(self.terms.epsilon is not None, "an audit tests a promise: give an epsilon")
        require(
            self.terms.unit != "value",
            "canaries come and go, which the unit value does not hide: audit the unit rating",
        )
        if isinstance(self.model, Published):
            check_claim(self.model, self.terms)
        else:
            check_terms(self.model, self.terms)

    def run(self, ratings: Ratings, *, replay: bool = False) -> Seen:
        """Fit once. What comes out is looked at and thrown away.

        With ``replay`` it is made again from the answers alone, to see whether something took another way into it.
        """
        if isinstance(self.model, Published):
            release, looks = self.model.observe(ratings, self.randomness)
            return Seen(looks, release, tuple(spend for look in looks for spend in look.spends))
        looked_at = RecordingPopulation(self.population(ratings))
        kept = Recorded(looked_at) if replay else None
        release = self.model.fit(looked_at if kept is None else kept)
        fault = "" if kept is None else fault_by_replay(self.model, kept, release)
        return Seen(tuple(looked_at.looks), release, looked_at.spends, looked_at.unit, fault)

    def population(self, ratings: Ratings) -> Population:
        """Someone to ask, with a fresh ledger."""
        if self.make_population is not None:
            return self.make_population(ratings, self.terms.ledger(), self.randomness)
        return self.terms.kind(ratings, self.terms.ledger(), randomness=self.randomness)

    @property
    def proves(self) -> bool:
        """Whether it asks a population with a ledger; a paper only claims."""
        return not isinstance(self.model, Published)

    @property
    def limit(self) -> Loss:
        """What a fit may spend."""
        ledger = self.terms.ledger()
        return Loss(ledger.epsilon, ledger.delta)

    def proven(self, seen: Seen) -> Loss | None:
        """What the ledger of a fit adds up to, seeded or not; None where nothing was booked, or only claimed."""
        from discreet.privacy.composition import composed_epsilon

        delta = self.limit.delta
        if not seen.spends or isinstance(self.model, Published):
            return None
        return Loss(composed_epsilon(seen.spends, delta), delta)


def check_claim(model: Any, terms: Terms) -> None:
    """Raise unless the terms are what a paper claims: its epsilon and unit (a rating, if it says none), a server."""
    unit = getattr(model, "claims_for", "rating")
    require(model.epsilon is not None, f"{type(model).__name__} with epsilon none claims nothing that could be tested")
    require(
        terms.unit_name == unit and terms.trusted == "server",
        f"{type(model).__name__} makes its claim for one {unit} and a server: "
        + ("leave out unit and trust" if unit == "rating" else "give unit='user', and leave out trust"),
    )
    require(
        terms.epsilon == model.epsilon and terms.ledger().delta == 0,
        f"{type(model).__name__} claims epsilon {model.epsilon:g} and no delta: an audit can test that, and no other",
    )


def mu_of(spends: Sequence[Spend]) -> float | None:
    """The loss of Gaussian noise in standard deviations; None where there is none, or sampling amplifies it."""
    gaussian = [spend for spend in spends if spend.mechanism == "gaussian"]
    if not gaussian or any(spend.sampling_rate < 1 for spend in gaussian):
        return None
    return float(np.sqrt(sum(spend.times / spend.noise_multiplier**2 for spend in gaussian)))


def exercised(seen: Seen, adversary: Adversary, delta: float) -> float | None:
    """How much of what the ledger allows a canary can show: what it would allow if nobody moved a sum further.

    In deviations where all noise is Gaussian, else in epsilon. None where not every look has one line in the ledger,
    or there are too many looks at samples to compose.
    """
    from discreet.privacy.composition import composed_epsilon

    if not seen.looks or any(len(look.spends) != 1 or look.law == "other" for look in seen.looks):
        return None
    if sum(look.sampling_rate < 1 for look in seen.looks) > MOST_SAMPLED:
        return None
    moved = []
    for place, look in enumerate(seen.looks):
        (spend,), (_, own) = look.spends, adversary.totals(place, look)
        size = float(np.abs(own).sum() if spend.norm == "l1" else np.sqrt((own**2).sum()))
        if size > 0:
            moved.append(replace(spend, sensitivity=size, rounding=0.0))
    allowed, shown = mu_of(seen.spends), mu_of(moved)
    if allowed is not None and all(spend.mechanism == "gaussian" for spend in seen.spends):
        return (shown or 0.0) / allowed
    return composed_epsilon(moved, delta) / composed_epsilon(seen.spends, delta) if moved else 0.0


def sure_faults(audited: Audited, seen: Seen) -> tuple[str, ...]:
    """What the ledger of a fit shows by itself."""
    return (
        *_unbooked(seen),
        *_beyond_claim(seen),
        *_beyond_limit(audited, seen),
        *_false_mechanisms(seen),
    )


def _unbooked(seen: Seen) -> tuple[str, ...]:
    """Looks that are not in the ledger."""
    count = sum(not look.spends for look in seen.looks)
    if count == 0:
        return ()
    return (f"{count} of {len(seen.looks)} looks at the ratings {'is' if count == 1 else 'are'} not in the ledger",)


def _false_mechanisms(seen: Seen) -> list[str]:
    """Mechanisms that their own check refutes."""
    faults = []
    for look in seen.looks:
        if look.mechanism is not None:
            try:
                look.mechanism.check(seen.release.catalogue)
            except InputError as error:
                faults.append(str(error))
    return faults


def _beyond_claim(seen: Seen) -> tuple[str, ...]:
    """Whether the lines of a publication, taken as it has them, add up to more than it claims."""
    from discreet.privacy.composition import composed_epsilon

    claimed = seen.release.guarantee.claimed
    if claimed is None or not seen.spends:
        return ()
    together = composed_epsilon(seen.spends, claimed.delta)
    if together <= claimed.epsilon * (1 + 1e-9):
        return ()
    return (f"the noise of its {len(seen.spends)} sums adds up to epsilon {together:.3g}, where {claimed} is claimed",)


def _beyond_limit(audited: Audited, seen: Seen) -> tuple[str, ...]:
    """Whether the lines of a ledger add up to more than the limit, and whether the card shows all of them."""
    proven, limit = audited.proven(seen), audited.limit
    if proven is None:
        return ()
    faults = []
    promised = [("the limit", limit), ("what the release promises", seen.release.guarantee.proven)]
    for what, loss in promised:
        if loss is not None and proven.epsilon > loss.epsilon * (1 + 1e-6):
            faults.append(
                f"the {len(seen.spends)} lines of the ledger add up to epsilon {proven.epsilon:.4g}, "
                f"and {what} is {loss}"
            )
    hidden = sum((Counter(seen.spends) - Counter(seen.release.spends)).values())
    if hidden:
        faults.append(f"the card leaves out {hidden} of the {len(seen.spends)} lines of the ledger")
    return tuple(faults)


def check_confidence(confidence: float) -> None:
    """Raise unless this is a confidence that one could want."""
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence must lie between 0.5 and 1, got {confidence}")
