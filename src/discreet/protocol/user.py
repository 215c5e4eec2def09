"""A user's own program: what it agrees to, what it sends, and what it refuses.

The recommender is not trusted, so everything it says is checked against what the user agreed to and against what the
user's own copy of the model asks for. A question is answered once: asked again, the same bytes are sent again, under
the same name and with the same mask, so that retries tell nothing new.
"""

import os
import zlib
from dataclasses import dataclass, field

import numpy as np

from discreet.errors import OverspentError, require
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.privacy.unit import Unit, User, units_changed
from discreet.protocol.encoding import word_type
from discreet.protocol.masks import DrawBytes, Expand, expand, fresh_seed
from discreet.protocol.message import NAME_BYTES
from discreet.protocol.messages import MaskedValue, MaskSeed, Receipt, read_message
from discreet.protocol.questions import Offer, Question
from discreet.protocol.state import packed_state, unpacked_state
from discreet.protocol.wire import RefusedError, refuse_unless
from discreet.types import AnyArray


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a user agrees to.

    Parameters
    ----------
    epsilon, delta
        At most so much may be learned, against each server and in one run.
    unit
        Whose secret must be kept.
    minimum_group
        How many users must take part in every sum.
    rounds
        How many questions are answered at most.

    Examples
    --------
    >>> Policy(epsilon=1.0, delta=1e-6).minimum_group
    100
    """

    epsilon: float
    delta: float = 1e-6
    unit: Unit = field(default_factory=User)
    minimum_group: int = 100
    rounds: int = 20

    def __post_init__(self) -> None:
        Ledger(self.epsilon, self.delta, self.unit)  # checks them
        require(self.minimum_group >= 2, f"minimum_group must be at least 2, got {self.minimum_group}")
        require(self.rounds >= 1, f"rounds must be at least 1, got {self.rounds}")

    def check(self, offer: Offer) -> None:
        """Raise where an offer is worse than this."""
        more = offer.epsilon > self.epsilon or offer.delta > self.delta
        refuse_unless(not more, f"epsilon {offer.epsilon:g}, delta {offer.delta:g} is more than this user agreed to")
        kept = units_changed(self.unit, offer.unit) == 1
        refuse_unless(kept, f"the offer hides {offer.unit}, and this user wants {self.unit} hidden")
        enough = offer.minimum_group >= self.minimum_group
        refuse_unless(enough, f"sums over {offer.minimum_group} users are too few for this user: {self.minimum_group}")


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What a user sent about one question, kept to send it again: the seed, and what it masks.

    The words are compressed. Before they are masked most of them are zeros.
    """

    seed: MaskSeed
    plain: bytes


class UserMachine:
    """One user in one run.

    Parameters
    ----------
    policy
        What this user agrees to.
    offer
        What the recommender offers; it is refused where it is worse than the policy.
    catalogue
        Digest of the items that the user's own program knows.
    draw
        Where random bytes come from.

    **Guarantee.** What leaves is a masked value, whose words are uniform to whoever does not have the seed, and a seed
    that is independent of the ratings. The user's own ledger is charged with every question before it is answered, and
    refuses what would bring it over the limit that was agreed to. A question is answered only if it equals the
    one that the user's own copy of the model asks for (``expected``): statistic, shape, sensitivity, noise,
    step and all answers before are the user's own, and nothing the recommender sends can change them.
    """

    def __init__(
        self, policy: Policy, offer: Offer, *, catalogue: bytes, draw: DrawBytes = os.urandom, mask: Expand = expand
    ) -> None:
        policy.check(offer)
        refuse_unless(offer.catalogue == catalogue, "the offer is about another list of items than this user has")
        self.policy, self.offer = policy, offer
        self.ledger = Ledger(offer.epsilon, offer.delta, offer.unit)
        self._draw, self._mask = draw, mask
        self._last_round = -1
        self._answered = 0
        self._steps: Question | None = None
        self._sent: Sent | None = None

    @property
    def answered(self) -> int:
        """How many questions were answered."""
        return self._answered

    def answer(self, question: Question, expected: Question, values: AnyArray) -> MaskSeed:
        """Charge the question and mask the user's own statistic; the seed is for the third party.

        ``values`` is the statistic of this user alone, of which zeros are sent if the question is about a sample and
        the user is not in it. Save :meth:`to_bytes` before the seed is sent.
        """
        if self._sent is not None and self._sent.seed.question == question.digest:
            return self._sent.seed
        plain = zlib.compress(self._agreed(question, expected, values).tobytes(), level=1)
        sender, seed = self._draw(NAME_BYTES), fresh_seed(self._draw)
        message = MaskSeed(label=question.label, sender=sender, question=question.digest, seed=seed)
        self._sent = Sent(seed=message, plain=plain)
        return message

    def confirmed(self, receipt: Receipt) -> MaskedValue:
        """The masked value for the recommender, once the third party has confirmed the seed."""
        sent = self._sent
        if sent is None or (receipt.mask_label, receipt.question) != (sent.seed.mask_label, sent.seed.question):
            raise RefusedError("this receipt is for nothing that this user sent last")
        own, words = sent.seed, np.frombuffer(zlib.decompress(sent.plain), dtype=word_type(self.offer.bits))
        words = words + self._mask(own.seed, own.mask_label, len(words), self.offer.bits)
        return MaskedValue(label=own.label, sender=own.sender, question=own.question, code=receipt.code, words=words)

    def _agreed(self, question: Question, expected: Question, values: AnyArray) -> AnyArray:
        """The user's own statistic as words, once the question is checked and charged."""
        self._check(question, expected)
        refuse_unless(np.shape(values) == question.shape, "the user's own statistic has another shape than is asked")
        points = question.points(self.offer)
        if question.number == 0:
            try:
                self.ledger.charge(question.spend)
            except OverspentError as error:
                raise RefusedError(f"this user's own budget refuses: {error}") from None
        self._steps = question if question.spend.times > 1 else None
        self._last_round, self._answered = question.label.round, self._answered + 1
        taking_part = question.spend.sampling_rate == 1 or self._coin() < question.spend.sampling_rate
        return points.encode(np.ravel(values) if taking_part else np.zeros(question.cells))

    def _check(self, question: Question, expected: Question) -> None:
        refuse_unless(question.label.run == self.offer.label.run, "this question belongs to another run")
        refuse_unless(question.offer == self.offer.digest, "the public parameters are not those that were agreed to")
        refuse_unless(question.label.round > self._last_round, "this round was answered before, with another question")
        refuse_unless(question.label.round < self.offer.rounds, "there are more rounds than were offered")
        refuse_unless(self._answered < self.policy.rounds, f"this user answers {self.policy.rounds} questions at most")
        refuse_unless(
            question.matches(expected),
            "this is not what the user's own copy of the model asks for next; nothing was sent",
        )
        if question.number > 0:
            steps = self._steps
            planned = steps is not None and (steps.name, steps.spend) == (question.name, question.spend)
            refuse_unless(planned and steps is not None and question.number > steps.number, "this step was not planned")

    def _coin(self) -> float:
        return int.from_bytes(self._draw(8), "little") / 2.0**64

    def to_bytes(self) -> bytes:
        """All that has to be kept. It is this user's own and holds secrets."""
        head = {"ledger": self.ledger.to_json(), "last_round": self._last_round, "answered": self._answered}
        steps = b"" if self._steps is None else self._steps.to_bytes()
        sent = self._sent
        seed, plain = (b"", b"") if sent is None else (sent.seed.to_bytes(), sent.plain)
        return packed_state("a user", head, self.offer.to_bytes(), steps, seed, plain)

    @classmethod
    def from_bytes(
        cls, data: bytes, policy: Policy, *, catalogue: bytes, draw: DrawBytes = os.urandom
    ) -> "UserMachine":
        """Back from bytes that :meth:`to_bytes` made."""
        head, (offer, steps, seed, plain) = unpacked_state("a user", data)
        user = cls(policy, read_message(offer, Offer), catalogue=catalogue, draw=draw)
        user.ledger = Ledger.from_json(head["ledger"])
        user._last_round, user._answered = head["last_round"], head["answered"]
        user._steps = read_message(steps, Question) if steps else None
        if seed:
            user._sent = Sent(seed=read_message(seed, MaskSeed), plain=plain)
        return user


def seeded_bytes(seed: int) -> DrawBytes:
    """Repeatable bytes, for tests and experiments: what is masked with them is not secret."""
    stream = Randomness(seed)

    def draw(count: int) -> bytes:
        return stream.words(-(-count // 8)).tobytes()[:count]

    return draw
