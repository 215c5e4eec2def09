"""The third party: keeps users' seeds for one round, and gives away one noisy sum of their masks.

It never sees a value. What it could learn, it learns from the published sums, where the recommender's noise hides it.
"""

import hmac
from collections.abc import Callable

import numpy as np

from discreet.errors import OverspentError, require
from discreet.privacy.ledger import Ledger
from discreet.privacy.randomness import Randomness
from discreet.protocol.encoding import Integers, word_type
from discreet.protocol.masks import Expand, expand, sum_of_masks
from discreet.protocol.message import digest
from discreet.protocol.messages import Answer, Arrived, MaskSeed, NoisyMasks, Receipt, read_message
from discreet.protocol.noise import draw_noise
from discreet.protocol.questions import Offer, Question
from discreet.protocol.state import packed_state, unpacked_state
from discreet.protocol.wire import RefusedError, refuse_unless
from discreet.types import AnyArray

DrawNoise = Callable[[Question], Integers]
"""The noise of a server on all cells of a question, in whole steps."""


def noise_for(secret: bytes, question: Question, *seen: bytes) -> Integers:
    """As the question describes it, by a stream of the server's own secret and of all that the answer is made of.

    A server that was put back to an older state, by a snapshot or a copy, then gives the same answer again where it
    would otherwise draw a second one: two draws would hide half as much as was paid for. Whatever the answer is made of
    goes into the stream, so that no noise hides two different sums.
    """
    stream = Randomness.of_key(secret, digest(b"".join(map(digest, (question.digest, *seen)))).hex())
    return draw_noise(question.spend, question.step, question.cells, stream)


def receipt_code(key: bytes, message: MaskSeed | Receipt) -> bytes:
    """What proves to the recommender that the third party has a seed; the key is known to both servers only."""
    return hmac.digest(key, message.label.to_bytes() + message.sender + message.question, "sha256")


class ThirdPartyMachine:
    """The third party in one run.

    Parameters
    ----------
    offer
        The public parameters of the run. Another offer is another run.
    key
        32 bytes that both servers know and nobody else, for receipts.
    randomness
        Where the secret comes from that its noise is made of.
    noise, mask
        Replaced in tests only.

    **Guarantee.** The recommender learns of the masks of a round one sum with fresh noise, over at least
    ``minimum_group`` users, and never a second one over others: a round is closed once, and closing it again in the
    same words gives the same bytes. With the masked values this sum is all that depends on ratings, so the recommender,
    whoever colludes with it, sees Σz + noise of this party alone: what the ledger says. ∎ The ledger is this party's
    own: it refuses questions that together cost more than was offered. The seeds of a round are forgotten when it is
    closed: whoever gets at this party's memory later unmasks nobody.

    Save :meth:`to_bytes` before anything that a method returned is sent.
    """

    def __init__(
        self,
        offer: Offer,
        *,
        key: bytes,
        randomness: Randomness | None = None,
        noise: DrawNoise | None = None,
        mask: Expand = expand,
    ) -> None:
        require(len(key) == 32, f"the key of receipts has 32 bytes, got {len(key)}")
        self.offer, self._key, self._mask = offer, key, mask
        self.ledger = Ledger(offer.epsilon, offer.delta, offer.unit)
        self._secret = (Randomness() if randomness is None else randomness).words(4).tobytes()
        self._noise = noise
        self._question: Question | None = None
        self._seeds: dict[bytes, bytes] = {}
        self._users = 0
        self._closed: NoisyMasks | None = None

    @property
    def question(self) -> Question | None:
        """What is being asked, or was asked last."""
        return self._question

    @property
    def is_closed(self) -> bool:
        """Whether the sum of this round was given away."""
        return self._closed is not None

    @property
    def seeds(self) -> int:
        """How many seeds came in this round."""
        return len(self._seeds)

    def ask(self, question: Question) -> None:
        """Begin a round; seeds of a round before that was never closed are forgotten."""
        last = self._question
        if last is not None and last.digest == question.digest:
            return
        refuse_unless(question.offer == self.offer.digest, "the question belongs to another offer")
        refuse_unless(question.label.run == self.offer.label.run, "this question belongs to another run")
        after = last is None or question.label.round > last.label.round
        refuse_unless(after, "this round was asked before, with another question")
        refuse_unless(question.label.round < self.offer.rounds, "there are more rounds than were offered")
        question.points(self.offer).check_noise(2 * question.spend.scale)
        if question.number == 0:
            try:
                self.ledger.charge(question.spend)
            except OverspentError as error:
                raise RefusedError(f"this costs more than was offered: {error}") from None
        else:
            planned = last is not None and (last.name, last.spend) == (question.name, question.spend)
            refuse_unless(planned and last is not None and question.number > last.number, "this step was not planned")
        self._question, self._seeds, self._closed = question, {}, None

    def receive(self, seed: MaskSeed) -> Receipt:
        """Keep a seed and confirm it; the same one again is confirmed again, while the round is open."""
        question = self._open_for(seed.label.to_bytes(), seed.question)
        refuse_unless(not self.is_closed, "this round is closed")
        known = self._seeds.get(seed.sender)
        refuse_unless(known is None or known == seed.seed, "another seed came under this name")
        if known is None:
            refuse_unless(len(self._seeds) < self.offer.most_users, "more users sent seeds than were announced")
            self._seeds[seed.sender] = seed.seed
        return Receipt(
            label=question.label,
            sender=seed.sender,
            question=seed.question,
            code=receipt_code(self._key, seed),
        )

    def close(self, arrived: Arrived) -> NoisyMasks:
        """The sum of the masks of all who arrived, with noise; once in a round."""
        question = self._open_for(arrived.label.to_bytes(), arrived.question)
        if self._closed is not None:
            refuse_unless(self._closed.arrived == arrived.digest, "this round was closed with other users")
            return self._closed
        many, least = len(arrived.senders), self.offer.minimum_group
        refuse_unless(many >= least, f"a sum over {many} users is refused: at least {least} were promised")
        refuse_unless(many <= self.offer.most_users, "more users arrived than were announced")
        known = all(sender in self._seeds for sender in arrived.senders)
        refuse_unless(known, "the recommender lists users whose seeds never came")
        label = arrived.label.to_bytes()
        seeds = [(self._seeds[sender], label + sender) for sender in arrived.senders]
        total = self._sum(seeds, question.cells)
        drawn = self._noise or (lambda asked: noise_for(self._secret, asked, arrived.digest, total.tobytes()))
        words = total + np.asarray(drawn(question), dtype=np.int64).astype(total.dtype)
        self._closed, self._seeds = NoisyMasks(label=arrived.label, arrived=arrived.digest, words=words), {}
        self._users = many
        return self._closed

    def check(self, answer: Answer) -> None:
        """Raise where the sum that is to be published is none that honest devices can have sent."""
        question = self._open_for(answer.label.to_bytes(), answer.question)
        refuse_unless(self.is_closed, "this round is not closed yet")
        fits = answer.words.dtype == word_type(self.offer.bits) and len(answer.words) == question.cells
        refuse_unless(fits, f"an answer must have {question.cells} words of {self.offer.bits} bits")
        question.check_sum(answer.words, self._users, self.offer)

    def _sum(self, seeds: list[tuple[bytes, bytes]], cells: int) -> AnyArray:
        if self._mask is expand:
            return sum_of_masks(seeds, cells, self.offer.bits)
        total = np.zeros(cells, dtype=word_type(self.offer.bits))
        for seed, label in seeds:
            total += self._mask(seed, label, cells, self.offer.bits)
        return total

    def _open_for(self, label: bytes, question: bytes) -> Question:
        asked = self._question
        if asked is None:
            raise RefusedError("nothing was asked yet")
        refuse_unless(label == asked.label.to_bytes(), "this message belongs to another run, round or group")
        refuse_unless(question == asked.digest, "this message is about another question")
        return asked

    def to_bytes(self) -> bytes:
        """All that has to be kept, the receipts' key apart. It holds users' seeds: keep it secret."""
        own = {"ledger": self.ledger.to_json(), "secret": self._secret.hex(), "users": self._users}
        head = {"offer": self.offer.to_bytes().hex(), **own}
        blocks = [b"" if each is None else each.to_bytes() for each in (self._question, self._closed)]
        seeds = b"".join(sender + seed for sender, seed in self._seeds.items())
        return packed_state("a third party", head, *blocks, seeds)

    @classmethod
    def from_bytes(cls, data: bytes, *, key: bytes, randomness: Randomness | None = None) -> "ThirdPartyMachine":
        """Back from bytes that :meth:`to_bytes` made."""
        head, (question, closed, seeds) = unpacked_state("a third party", data)
        machine = cls(read_message(bytes.fromhex(head["offer"]), Offer), key=key, randomness=randomness)
        machine.ledger, machine._secret = Ledger.from_json(head["ledger"]), bytes.fromhex(head["secret"])
        machine._users = head["users"]
        machine._question = read_message(question, Question) if question else None
        machine._closed = read_message(closed, NoisyMasks) if closed else None
        machine._seeds = {seeds[at : at + 16]: seeds[at + 16 : at + 48] for at in range(0, len(seeds), 48)}
        return machine
