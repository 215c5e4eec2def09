"""The recommender: asks, adds up masked values as they come, and publishes sums with both servers' noise.

Masked values are added to one vector as they arrive, so a round takes the memory of one value, however many users
there are. That needs to know that the third party will be able to take every mask away again: hence the receipts.
"""

import hmac

import numpy as np

from discreet.errors import require
from discreet.privacy.randomness import Randomness
from discreet.protocol.encoding import Integers, word_type
from discreet.protocol.message import digest
from discreet.protocol.messages import Answer, Arrived, MaskedValue, NoisyMasks, Receipt, read_message
from discreet.protocol.questions import Offer, Question
from discreet.protocol.state import packed_state, unpacked_state
from discreet.protocol.third_party import DrawNoise, noise_for, receipt_code
from discreet.protocol.wire import RefusedError, refuse_unless
from discreet.types import AnyArray

START = bytes(32)
"""The digest of no answers."""


def chained(before: bytes, answer: Answer) -> bytes:
    """The digest of all answers up to and with this one: the ``before`` of the next question."""
    return digest(before + answer.digest)


class RecommenderMachine:
    """The recommender in one run.

    Parameters
    ----------
    offer
        The public parameters of the run.
    key
        32 bytes that both servers know and nobody else, for receipts.
    randomness
        Where the secret comes from that its noise is made of (:func:`~discreet.protocol.third_party.noise_for`).
    noise
        Replaced in tests only.

    **Guarantee.** An answer holds this party's fresh noise beside that of the third party. Whoever knows the third
    party's noise, and that is the third party with whoever colludes with it, sees Σz + noise of this party alone: what
    the ledger says. Everyone else sees a sum with both.

    Save :meth:`to_bytes` before anything that a method returned is sent: a round must not be closed or answered twice.
    """

    def __init__(
        self, offer: Offer, *, key: bytes, randomness: Randomness | None = None, noise: DrawNoise | None = None
    ) -> None:
        require(len(key) == 32, f"the key of receipts has 32 bytes, got {len(key)}")
        self.offer, self._key = offer, key
        self._secret = (Randomness() if randomness is None else randomness).words(4).tobytes()
        self._noise = noise
        self._before = START
        self._question: Question | None = None
        self._senders: set[bytes] = set()
        self._total: AnyArray = np.zeros(0, dtype=word_type(offer.bits))
        self._arrived: Arrived | None = None
        self._answer: Answer | None = None

    @property
    def question(self) -> Question | None:
        """What is being asked, or was asked last."""
        return self._question

    @property
    def answered(self) -> Answer | None:
        """The answer of this round, if it is finished."""
        return self._answer

    @property
    def before(self) -> bytes:
        """The digest of all answers so far, for the next question."""
        return self._before

    @property
    def values(self) -> int:
        """How many masked values came in this round."""
        return len(self._senders)

    def ask(self, question: Question) -> None:
        """Begin a round."""
        last = self._question
        if last is not None and last.digest == question.digest:
            return
        refuse_unless(question.offer == self.offer.digest, "the question belongs to another offer")
        refuse_unless(question.label.run == self.offer.label.run, "this question belongs to another run")
        refuse_unless(question.before == self._before, "the question rests on other answers than were given")
        after = last is None or question.label.round > last.label.round
        refuse_unless(after, "this round was asked before, with another question")
        refuse_unless(question.label.round < self.offer.rounds, "there are more rounds than were offered")
        question.points(self.offer).check_noise(2 * question.spend.scale)
        self._question, self._arrived, self._answer = question, None, None
        self._senders, self._total = set(), np.zeros(question.cells, dtype=word_type(self.offer.bits))

    def receive(self, value: MaskedValue) -> None:
        """Add a masked value; whatever else comes under the same name changes nothing."""
        question = self._asked()
        refuse_unless(value.label == question.label, "this message belongs to another run, round or group")
        refuse_unless(value.question == question.digest, "this message is about another question")
        fits = value.words.dtype == self._total.dtype and len(value.words) == question.cells
        refuse_unless(fits, f"a masked value must have {question.cells} words of {self.offer.bits} bits")
        receipt = Receipt(label=value.label, sender=value.sender, question=value.question, code=value.code)
        known_code = hmac.compare_digest(receipt_code(self._key, receipt), value.code)
        refuse_unless(known_code, "this receipt was not given by the third party")
        if value.sender in self._senders:
            return
        refuse_unless(self._arrived is None, "this round is closed")
        refuse_unless(len(self._senders) < self.offer.most_users, "more users came than were announced")
        self._senders.add(value.sender)
        self._total += value.words

    def close(self) -> Arrived:
        """Take no more values, and ask the third party for the masks of those that came."""
        question = self._asked()
        if self._arrived is None:
            many, least = len(self._senders), self.offer.minimum_group
            refuse_unless(many >= least, f"{many} users came, and a sum is over at least {least}")
            senders = tuple(sorted(self._senders))
            self._arrived = Arrived(label=question.label, question=question.digest, senders=senders)
        return self._arrived

    def finish(self, masks: NoisyMasks) -> Answer:
        """Take the masks away, add noise, and publish, if honest devices can have sent this."""
        question = self._asked()
        if self._answer is not None:
            return self._answer
        if self._arrived is None:
            raise RefusedError("this round is not closed yet")
        refuse_unless(masks.label == question.label, "this message belongs to another run, round or group")
        refuse_unless(masks.arrived == self._arrived.digest, "these are the masks of other users")
        fits = masks.words.dtype == self._total.dtype and len(masks.words) == question.cells
        refuse_unless(fits, f"the sum of masks must have {question.cells} words of {self.offer.bits} bits")
        seen = (masks.digest, self._total.tobytes())
        drawn = self._noise or (lambda asked: noise_for(self._secret, asked, *seen))
        noise = np.asarray(drawn(question), dtype=np.int64).astype(self._total.dtype)
        words = self._total - masks.words + noise
        question.check_sum(words, len(self._arrived.senders), self.offer)
        self._answer = Answer(label=question.label, question=question.digest, words=words)
        self._before = chained(self._before, self._answer)
        self._total = np.zeros(0, dtype=self._total.dtype)
        return self._answer

    def whole(self, answer: Answer) -> Integers:
        """An answer in whole steps."""
        return self._asked().points(self.offer).signed(answer.words)

    def _asked(self) -> Question:
        if self._question is None:
            raise RefusedError("nothing was asked yet")
        return self._question

    def to_bytes(self) -> bytes:
        """All that has to be kept, the receipts' key apart."""
        messages = (self._question, self._arrived, self._answer)
        blocks = [b"" if each is None else each.to_bytes() for each in messages]
        senders = b"".join(sorted(self._senders))
        head = {"offer": self.offer.to_bytes().hex(), "before": self._before.hex(), "secret": self._secret.hex()}
        return packed_state("a recommender", head, *blocks, senders, self._total.tobytes())

    @classmethod
    def from_bytes(cls, data: bytes, *, key: bytes, randomness: Randomness | None = None) -> "RecommenderMachine":
        """Back from bytes that :meth:`to_bytes` made."""
        head, (question, arrived, answer, senders, total) = unpacked_state("a recommender", data)
        machine = cls(read_message(bytes.fromhex(head["offer"]), Offer), key=key, randomness=randomness)
        machine._before, machine._secret = bytes.fromhex(head["before"]), bytes.fromhex(head["secret"])
        machine._question = read_message(question, Question) if question else None
        machine._arrived = read_message(arrived, Arrived) if arrived else None
        machine._answer = read_message(answer, Answer) if answer else None
        machine._senders = {senders[at : at + 16] for at in range(0, len(senders), 16)}
        machine._total = np.frombuffer(total, dtype=word_type(machine.offer.bits)).copy()
        return machine
