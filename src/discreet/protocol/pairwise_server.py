"""The one server of a sum without a third party: it forwards locked shares, and learns the sum of who is left."""

from collections.abc import Collection

import numpy as np

from discreet.protocol.encoding import Integers, word_type
from discreet.protocol.masks import add_mask
from discreet.protocol.messages import Answer
from discreet.protocol.pairwise import Group, add_pair_mask, public_key
from discreet.protocol.pairwise_messages import (
    Confirmation,
    Confirmed,
    Delivered,
    Keys,
    PairwiseValue,
    Roster,
    Shares,
    Survivors,
    Unmasking,
)
from discreet.protocol.questions import Offer, Question
from discreet.protocol.register import check_signature
from discreet.protocol.shamir import join_shares
from discreet.protocol.wire import RefusedError, refuse_unless


class PairwiseServer:
    """One round; a server that restarts within it asks again in a later one.

    Parameters
    ----------
    offer, question
        What is asked, and the public parameters.
    honest, register
        What part of the users in the register is taken to be honest, and their public keys.
    """

    def __init__(self, offer: Offer, question: Question, *, honest: float, register: Collection[bytes]) -> None:
        refuse_unless(question.offer == offer.digest, "the question belongs to another offer")
        self.offer, self.question, self.honest, self._register = offer, question, honest, frozenset(register)
        self._keys: dict[bytes, Keys] = {}
        self._roster: Roster | None = None
        self._boxes: dict[bytes, dict[bytes, bytes]] = {}
        self._delivered = False
        self._total = np.zeros(question.cells, dtype=word_type(offer.bits))
        self._values: set[bytes] = set()
        self._survivors: Survivors | None = None
        self._codes: dict[bytes, dict[bytes, bytes]] = {}
        self._shares: dict[bytes, dict[bytes, bytes]] = {}

    @property
    def group(self) -> Group:
        """How many users there are, and how many are needed."""
        return Group(len(self._made().members), self.honest, len(self._register))

    def join(self, keys: Keys) -> None:
        """Take a user's keys."""
        refuse_unless(self._roster is None, "the list of users is closed")
        mine = keys.label == self.question.label and keys.question == self.question.digest
        refuse_unless(mine, "this message belongs to another run, round or question")
        refuse_unless(self._keys.get(keys.sender) in (None, keys), "other keys came under this name")
        refuse_unless(len(self._keys) < self.offer.most_users, "more users came than were announced")
        check_signature(self._register, keys.label, keys.question, keys.member, keys.identity, keys.signature)
        again = any(each.identity == keys.identity and each.sender != keys.sender for each in self._keys.values())
        refuse_unless(not again, "this user is in the list already, under another name")
        self._keys[keys.sender] = keys

    def roster(self) -> Roster:
        """Close the list of users."""
        if self._roster is None:
            many, least = len(self._keys), self.offer.minimum_group
            refuse_unless(many >= least, f"{many} users came, and a sum is over at least {least}")
            in_order = [each for _, each in sorted(self._keys.items())]
            self._roster = Roster(
                label=self.question.label,
                question=self.question.digest,
                honest=self.honest,
                register=len(self._register),
                members=tuple(each.member for each in in_order),
                signed=tuple((each.identity, each.signature) for each in in_order),
            )
        return self._roster

    def receive_shares(self, shares: Shares) -> None:
        """Take a user's locked shares."""
        roster = self._made()
        refuse_unless(not self._delivered, "shares were handed out already")
        refuse_unless(
            shares.label == roster.label and shares.roster == roster.digest, "these shares are of another round"
        )
        others = [name for name, _, _ in roster.members if name != shares.sender]
        refuse_unless(shares.sender in self._keys, "shares came from nobody in the list")
        refuse_unless([name for name, _ in shares.boxes] == others, "shares must be for all other users")
        refuse_unless(self._boxes.get(shares.sender) in (None, dict(shares.boxes)), "other shares came under this name")
        self._boxes[shares.sender] = dict(shares.boxes)

    def deliver(self) -> dict[bytes, Delivered]:
        """For each user whose shares came, those of the others."""
        roster = self._made()
        refuse_unless(len(self._boxes) >= self.group.threshold, "too few users are left")
        self._delivered = True
        senders = sorted(self._boxes)
        return {
            receiver: Delivered(
                label=roster.label,
                receiver=receiver,
                roster=roster.digest,
                boxes=tuple((sender, self._boxes[sender][receiver]) for sender in senders if sender != receiver),
            )
            for receiver in senders
        }

    def receive(self, value: PairwiseValue) -> None:
        """Add a masked value; whatever else comes under the same name changes nothing."""
        roster = self._made()
        refuse_unless(value.label == roster.label and value.roster == roster.digest, "this value is of another round")
        refuse_unless(self._delivered and value.sender in self._boxes, "a value came from nobody whose shares came")
        fits = value.words.dtype == self._total.dtype and len(value.words) == len(self._total)
        refuse_unless(fits, f"a masked value must have {len(self._total)} words of {self.offer.bits} bits")
        if value.sender in self._values:
            return
        refuse_unless(self._survivors is None, "this round is closed")
        self._values.add(value.sender)
        self._total += value.words

    def close(self) -> Survivors:
        """Take no more values."""
        roster = self._made()
        if self._survivors is None:
            refuse_unless(len(self._values) >= self.group.threshold, "too few users are left for a sum")
            senders = tuple(sorted(self._values))
            self._survivors = Survivors(label=roster.label, roster=roster.digest, senders=senders)
        return self._survivors

    def receive_confirmation(self, message: Confirmation) -> None:
        """Take what a survivor tells the others about the list."""
        survivors = self._survivors
        if survivors is None:
            raise RefusedError("this round is not closed yet")
        mine = message.label == survivors.label and message.survivors == survivors.digest
        refuse_unless(mine and message.sender in self._values, "this confirmation is of another round or list")
        others = [name for name in survivors.senders if name != message.sender]
        refuse_unless([name for name, _ in message.codes] == others, "a code for each survivor is needed")
        self._codes[message.sender] = dict(message.codes)

    def confirmed(self) -> dict[bytes, Confirmed]:
        """For each survivor who confirmed, the codes of the others."""
        survivors = self._survivors
        if survivors is None or len(self._codes) < self.group.threshold:
            raise RefusedError("too few users have confirmed the list of survivors")
        return {
            receiver: Confirmed(
                label=survivors.label,
                receiver=receiver,
                survivors=survivors.digest,
                codes=tuple((name, self._codes[name][receiver]) for name in sorted(self._codes) if name != receiver),
            )
            for receiver in self._codes
        }

    def receive_unmasking(self, message: Unmasking) -> None:
        """Take a survivor's shares."""
        survivors = self._survivors
        if survivors is None:
            raise RefusedError("this round is not closed yet")
        mine = message.label == survivors.label and message.survivors == survivors.digest
        refuse_unless(mine and message.sender in self._values, "these shares are of another round, or of nobody in it")
        names = [name for name, _ in message.shares]
        refuse_unless(names == sorted(self._boxes), "one share about each user is needed")
        self._shares[message.sender] = dict(message.shares)

    def finish(self) -> Answer:
        """The sum over the survivors, with their noise in it."""
        roster, survivors = self._made(), self._survivors
        needed = self.group.threshold
        if survivors is None or len(self._shares) < needed:
            raise RefusedError(f"{len(self._shares)} users handed out shares, and {needed} are needed")
        places = {name: place for place, (name, _, _) in enumerate(roster.members, start=1)}
        mask_keys = {name: key for name, key, _ in roster.members}
        givers = sorted(self._shares)[:needed]
        total, label, alive = self._total.copy(), roster.label.to_bytes(), set(survivors.senders)
        for name in sorted(self._boxes):
            secret = join_shares({places[giver]: self._shares[giver][name] for giver in givers})
            refuse_unless(secret is not None, "the shares of a user do not fit together")
            assert secret is not None
            if name in alive:
                add_mask(total, secret, label + name, sign=-1)
                continue
            refuse_unless(public_key(secret) == mask_keys[name], "the shares of a user do not fit together")
            for other in alive:  # what this user would have sent, were it here, cancels what others added
                add_pair_mask(total, secret, name, other, mask_keys[other], label)
        return Answer(label=roster.label, question=self.question.digest, words=total)

    def whole(self, answer: Answer) -> Integers:
        """An answer in whole steps."""
        return self.question.points(self.offer).signed(answer.words)

    def _made(self) -> Roster:
        if self._roster is None:
            raise RefusedError("the list of users is not closed yet")
        return self._roster
