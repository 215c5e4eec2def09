"""What reports promise, read off their form: whatever is made of them is post-processing, and tells no more than they.

A form is what reports say of themselves. Its promise is that of the mechanism, if there is such a one and its reports
look as the form says; a device that did something else has only itself to blame, and no other user loses by it.
"""

from dataclasses import replace
from typing import Any

from discreet.collect.channel import SEEDED
from discreet.collect.mechanisms import Piecewise, RandomisedResponse, UniformNoise
from discreet.collect.presence import HiddenItems
from discreet.data.report import ReportForm
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Spend

MECHANISMS: dict[str, Any] = {kind.name: kind for kind in (UniformNoise, RandomisedResponse, Piecewise, HiddenItems)}

IN_PROCESS = "whoever ran the devices in one process"
"""Who holds everybody's ratings where the devices of all users are simulated."""


def mechanism_of(form: ReportForm) -> UniformNoise | RandomisedResponse | Piecewise | HiddenItems | None:
    """The mechanism that makes reports of this form; None where there is none.

    >>> from discreet.data.catalogue import Scale
    >>> mechanism_of(Piecewise(epsilon=1.0).form(Scale(1, 5)))
    Piecewise(epsilon=1.0)
    """
    try:
        mechanism: UniformNoise | RandomisedResponse | Piecewise | HiddenItems
        mechanism = MECHANISMS[form.mechanism](**form.settings)
        own = mechanism.form(form.scale, seeded=form.seeded)
    except (KeyError, TypeError, DiscreetError):
        return None
    return mechanism if own == form else None


def promise_of(form: ReportForm) -> Guarantee:
    """What a release promises that was made from such reports and from nothing else, without further noise.

    >>> from discreet.data.catalogue import Scale
    >>> print(promise_of(Piecewise(epsilon=1.0).form(Scale(1, 5))).proven)
    epsilon 1
    >>> promise_of(UniformNoise(gamma=1.0).form(Scale(1, 5))).proven is None
    True
    >>> print(promise_of(Piecewise(epsilon=1.0).form(Scale(1, 5), seeded=True)))
    No privacy: it was made from reports perturbed by piecewise (epsilon 1, seeded): the noise was seeded, so
    whoever knows the seed can take it away.
    """
    mechanism = mechanism_of(form)
    if form.seeded:
        return Guarantee(reason=f"it was made from reports perturbed by {form}: {SEEDED.reason}", seeded=True)
    if mechanism is None:
        return Guarantee.none(f"it was made from reports perturbed by {form}, of which nothing is known")
    own = mechanism.guarantee
    if own.proven is None:
        return replace(own, reason=f"it was made from reports perturbed by {form}: {own.reason}")
    return replace(
        own,
        reason=f"every rating was perturbed at home by {form}, and whatever is made of reports tells no more than they",
        exposed_to=(IN_PROCESS,) if form.in_process else (),
        public=("who sent reports",) if isinstance(mechanism, HiddenItems) else ("who rated which items",),
    )


def spends_of(form: ReportForm, digest: str | None = None) -> tuple[Spend, ...]:
    """The line of a ledger for all that is ever made of one collection of reports; none where they promise nothing.

    ``digest`` says which collection it is (:attr:`discreet.Ratings.report_digest`). Another one from the same users is
    another line: k rounds of reports of the same ratings cost k times epsilon, by composition.
    """
    proven = promise_of(form).proven
    if proven is None:
        return ()
    what = f"reports of ratings that were perturbed at home by {form}"
    if digest is not None:
        what += f", collection {digest[:16]}"
    return (Spend(what=what, mechanism="pure", norm="l1", sensitivity=proven.epsilon, scale=1.0),)
