"""The same sums over a network: a population that asks users' devices, and a device that knows what may be asked.

What a model asks next depends on its settings and on the public answers so far, and on nothing else. So a device that
runs the same model on the same answers knows the next question beforehand, and refuses any other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Never, TypeAlias

from discreet.data.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.populations.calibration import CalibratedNoise
from discreet.populations.contribution import Contribution
from discreet.populations.guarded import nobody
from discreet.populations.held import held_by
from discreet.populations.secure_sums import MINIMUM_GROUP, MOST_USERS, SecureSums
from discreet.populations.steps import Steps, StepSums
from discreet.populations.untrusted import UntrustedServer
from discreet.privacy.ledger import Ledger
from discreet.protocol.message import Label
from discreet.protocol.messages import Answer
from discreet.protocol.questions import Offer, Question
from discreet.protocol.recommender import START, chained
from discreet.protocol.wire import RefusedError, refuse_unless
from discreet.types import Doubles

Told: TypeAlias = tuple[Question, Answer]
"""A question and its answer: public."""


def offer_of(
    model: Any,
    catalogue: Catalogue,
    ledger: Ledger,
    run: bytes,
    *,
    rounds: int = 20,
    minimum_group: int = MINIMUM_GROUP,
    most_users: int = MOST_USERS,
    bits: int = 64,
) -> Offer:
    """The public parameters of a run: what every user is asked to agree to."""
    require(not ledger.levels, "privacy levels are not offered over a network: leave them out")
    return Offer(
        label=Label(run=run, round=0),
        catalogue=bytes.fromhex(catalogue.fingerprint),
        model=repr(model),
        epsilon=ledger.epsilon,
        delta=ledger.delta,
        unit=ledger.unit,
        rounds=rounds,
        minimum_group=minimum_group,
        most_users=most_users,
        bits=bits,
    )


class _Asking(SecureSums):
    """Answers that were given before are given again; what comes next is asked."""

    def __init__(self, ratings: Ratings, ledger: Ledger, offer: Offer, told: Sequence[Told], **settings: Any) -> None:
        self._set_protocol(bits=offer.bits, minimum_group=offer.minimum_group, most_users=offer.most_users)
        same = (ledger.epsilon, ledger.delta, ledger.unit) == (offer.epsilon, offer.delta, offer.unit)
        require(same, "the ledger has another limit than the offer")
        super().__init__(ratings, ledger, **settings)
        require(offer.catalogue == bytes.fromhex(self.catalogue.fingerprint), "the offer is about other items")
        self.offer, self.told = offer, list(told)
        self._given, self._before, self._round = 0, START, 0

    guarantee = UntrustedServer.guarantee
    guarantees = UntrustedServer.guarantees

    @property
    def _exposed(self) -> tuple[str, ...]:
        return ("both servers if they put together what they saw",)

    def sum(self, contribution: Contribution, share: float = 1.0) -> Doubles:
        """The noisy sum; booked before it is asked for."""
        return self._reply(contribution, self._charged(contribution, share), 0)

    def steps(self, steps: Steps, share: float = 1.0) -> StepSums:
        """Sums over samples that every device draws for itself; all of them are booked before the first."""
        noise, numbers = self._charged_steps(steps, share), iter(range(steps.count))

        def answer(contribution: Contribution) -> Doubles:
            self._check_step(contribution)
            return self._reply(contribution, noise, next(numbers))

        return StepSums(steps, noise.deviation, answer)

    def _reply(self, contribution: Contribution, noise: CalibratedNoise, number: int) -> Doubles:
        question = Question(
            label=replace(self.offer.label, round=self._round),
            offer=self.offer.digest,
            before=self._before,
            name=contribution.name,
            shape=contribution.shape,
            spend=noise.spend,
            step=noise.grid,
            largest=self._honest(contribution),
            signed=contribution.signed,
            number=number,
        )
        if self._given == len(self.told):
            self.told.append(self._ask(question, contribution))
        asked, answer = self.told[self._given]
        refuse_unless(asked.matches(question), "an answer was given to another question than the model asks")
        fits = answer.question == asked.digest and answer.label == asked.label and len(answer.words) == asked.cells
        refuse_unless(fits, "an answer does not belong to its question")
        self._given, self._before, self._round = self._given + 1, chained(self._before, answer), asked.label.round + 1
        return asked.points(self.offer).decode(answer.words).reshape(asked.shape)

    def _ask(self, question: Question, contribution: Contribution) -> Told:
        raise NotImplementedError


class RemoteDevices(_Asking):
    """Devices on a network, as the recommender sees them: it holds no ratings.

    Parameters
    ----------
    catalogue
        The public items.
    ledger
        What each user may lose to either server; its limit is that of the offer.
    offer
        The public parameters of the run.
    ask
        Runs a round with users and the third party. It may ask in a later round than the question says, where one
        failed, and gives back what was asked and answered.
    told
        Questions and answers of this run so far: a restarted recommender goes on after them.
    settings
        As for :class:`TrustedServer`: ``tuning``, ``account``, …

    **Guarantee.** As for :class:`UntrustedServer`, with each party on its own machine.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        ledger: Ledger,
        offer: Offer,
        ask: Callable[[Question], Told],
        *,
        told: Sequence[Told] = (),
        **settings: Any,
    ) -> None:
        super().__init__(nobody(catalogue), ledger, offer, told, **settings)
        self._transport = ask

    def _ask(self, question: Question, contribution: Contribution) -> Told:
        return self._transport(question)


class _NextQuestion(BaseException):
    """What the model asks next. No Exception: a model may catch those, and do without an answer."""

    def __init__(self, question: Question, contribution: Contribution) -> None:
        self.asked = question, contribution


class _AtHome(_Asking):
    def __init__(self, ratings: Ratings, offer: Offer, told: Sequence[Told] = (), **settings: Any) -> None:
        super().__init__(ratings, Ledger(offer.epsilon, offer.delta, offer.unit), offer, told, **settings)

    def _ask(self, question: Question, contribution: Contribution) -> Never:
        raise _NextQuestion(question, contribution)

    def own(self, contribution: Contribution) -> Doubles:
        return self._own(contribution, held_by(self))  # type: ignore[arg-type]


class ModelCopy:
    """A user's own copy of the model that an offer names: what may be asked next, by public answers alone.

    Devices in one program share it, so that the model is run once for all of them.
    """

    def __init__(self, model: Any, catalogue: Catalogue, offer: Offer) -> None:
        refuse_unless(repr(model) == offer.model, "the offer names another model than this user has")
        self.offer, self._model, self._nobody = offer, model, nobody(catalogue)
        self._last: tuple[list[bytes], tuple[Question, Contribution] | None] | None = None

    def next(self, told: Sequence[Told]) -> tuple[Question, Contribution] | None:
        """What is asked after these questions and answers; None where the model has all it needs."""
        known = [message.digest for each in told for message in each]
        if self._last is None or self._last[0] != known:
            self._last = known, self._asked_after(told)
        return self._last[1]

    def _asked_after(self, told: Sequence[Told]) -> tuple[Question, Contribution] | None:
        try:
            self._model.fit(_AtHome(self._nobody, self.offer, told))
        except _NextQuestion as found:
            return found.asked
        except RefusedError:
            raise
        except Exception as error:  # answers come from a server that may say anything
            raise RefusedError(f"the model cannot go on from these answers: {type(error).__name__}") from None
        return None


@dataclass(frozen=True, eq=False)
class Asked:
    """The next question as a device expects it, and this user's own statistic."""

    question: Question
    values: Doubles


class Device:
    """What a user's own program computes: the question that may come next, and the answer to it.

    Parameters
    ----------
    copy
        The user's own copy of the model that the offer names.
    ratings
        Of this user alone.
    key
        This user's own secret of 32 bytes, by which ratings are chosen where only some of them are used.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=30, items=20, ratings=200, seed=1)
    >>> ledger = dc.Ledger(1.0, 1e-6, dc.User())
    >>> offer = offer_of(dc.Popularity(), ratings.catalogue, ledger, run=bytes(16))
    >>> copy = ModelCopy(dc.Popularity(), ratings.catalogue, offer)
    >>> device = Device(copy, ratings.select_users([3]), key=bytes(32))
    >>> device.next([]).question.name
    'how often each item was rated'
    """

    def __init__(self, copy: ModelCopy, ratings: Ratings, *, key: bytes) -> None:
        require(ratings.n_users == 1, f"a device holds the ratings of one user, got {ratings.n_users}")
        self._copy, self._own = copy, _AtHome(ratings, copy.offer, key=key)

    def next(self, told: Sequence[Told]) -> Asked | None:
        """What is asked after these questions and answers; None where the model has all it needs."""
        found = self._copy.next(told)
        return None if found is None else Asked(found[0], self._own.own(found[1]))
