"""Sums without a third party: masks between every two users cancel in the sum (Bonawitz and others 2017).

User i sends z_i + noise share + own mask B_i + Σ_{j>i} M_ij − Σ_{j<i} M_ij, where M_ij is made of a secret that i and j
agree on (X25519, HKDF), and B_i of a seed of i's own. In the sum over everyone the M cancel. Users have Shamir shares
of each other's seeds and keys. When values are in, the users who are left hand out one share about each user: of the
seed of whoever sent a value, so that B_i can be taken away, or of the key of whoever vanished, so that the M_ij with
them can. Never both: a value that comes late stays under its own mask.

**Who must be honest.** Let n users take part, and at most c collude with the server: (1 − ``honest``) of all who are in
the register, every one of whom the server may have chosen to take part (:mod:`~discreet.protocol.register`). The
threshold is t = ⌊(n + c)/2⌋ + 1, for shares and for all else. Before users hand out shares they confirm to each other,
in codes that the server cannot make, which list L of survivors they saw, and go on only with the codes of t users
(themselves included) for one list of at least t. Two lists would need 2(t − c) honest users, and there are
n − c < 2(t − c) of them: so all honest users who hand out shares saw one L. Of users in L the server then learns the
seed and, with at most c < t shares, never the key; of the others the key and never the seed. So masks M_ij between
honest users of L stay secret, and cancel only in the sum over all of them. ∎ (ChaCha20, X25519, HKDF taken as ideal.)

**Noise.** L has at least t users, of whom at least m = t − c are honest, and each has added a share of Gaussian noise
of variance σ²/m: the sum over the honest users of L, which is all that the server and its friends can get at, has
noise of variance at least σ² (:mod:`discreet.privacy.noise_shares`). The price is more noise than needed where more
users are honest: up to n/m times the variance.

The server must not be able to pass off keys of its own as those of users: then everybody but one would collude. So keys
are signed by users of a register that it does not write.
"""

import hmac
import math
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from discreet.errors import library_for, require
from discreet.privacy.noise_shares import draw_gaussian_share
from discreet.privacy.randomness import Randomness
from discreet.protocol.encoding import Integers
from discreet.protocol.masks import DrawBytes, add_mask, fresh_seed
from discreet.protocol.message import NAME_BYTES
from discreet.protocol.pairwise_messages import (
    MOST_USERS,
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
from discreet.protocol.register import check_roster, identity_of, signed
from discreet.protocol.shamir import SHARE_BYTES, split_secret
from discreet.protocol.user import Policy, UserMachine
from discreet.protocol.wire import RefusedError, refuse_unless
from discreet.types import AnyArray

DrawShare = Callable[[Question, int], Integers]
"""A user's share of the noise on all cells, for so many honest survivors."""


@dataclass(frozen=True)
class Group:
    """How many users take part, and what follows from how many of the register are honest; by default all take part.

    >>> Group(100, honest=0.8).threshold, Group(100, honest=0.8).noisy
    (61, 41)
    >>> Group(100, honest=0.8, register=400).noisy  # all 80 who collude may be among the hundred
    11
    """

    users: int
    honest: float
    register: int | None = None

    def __post_init__(self) -> None:
        require(0 < self.honest <= 1, f"honest must lie in (0, 1], got {self.honest}")
        require(2 <= self.users <= MOST_USERS, f"a group has 2 to {MOST_USERS:,} users, got {self.users}")
        require(self.register is None or self.register >= self.users, "a group is larger than its register")
        require(self.colluding < self.users, f"of {self.users} users all may collude: take a larger group")

    @property
    def colluding(self) -> int:
        """How many may collude with the server."""
        everyone = self.users if self.register is None else self.register
        return everyone - math.ceil(self.honest * everyone - 1e-9)

    @property
    def threshold(self) -> int:
        """How many must be left, and how many shares give a secret back."""
        return (self.users + self.colluding) // 2 + 1

    @property
    def noisy(self) -> int:
        """How many honest users are left at the least: their noise together is what the ledger counts."""
        return self.threshold - self.colluding


def public_key(secret: bytes) -> bytes:
    """The X25519 public key of a secret one."""
    with library_for("secure sums"):
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def agreed(secret: bytes, public: bytes, purpose: bytes) -> bytes:
    """What two users derive from one's secret and the other's public key, for one purpose: X25519 and HKDF."""
    with library_for("secure sums"):
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    try:
        shared = X25519PrivateKey.from_private_bytes(secret).exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:  # a public key of low order: the shared secret would be 0
        raise RefusedError("a public key in the list is no proper key") from None
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"discreet pairwise 1" + purpose).derive(shared)


def add_pair_mask(words: AnyArray, secret: bytes, own: bytes, other: bytes, public: bytes, label: bytes) -> None:
    """Add the mask between two users, with the sign that it has on the side of ``own``."""
    pair = min(own, other) + max(own, other)
    seed = agreed(secret, public, b"mask" + label + pair)
    add_mask(words, seed, label + pair, sign=1 if own < other else -1)


def _box(key: bytes) -> "object":
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305(key)


class PairwiseUser(UserMachine):
    """One user of a sum without a third party; a user who restarts within a round drops out of that round.

    Parameters
    ----------
    policy, offer, catalogue, draw
        As for :class:`UserMachine`.
    honest
        What part of the register is taken to be honest. Public, and the same for everyone.
    identity
        This user's own secret key, of which the register has the public one (:func:`identity_of`).
    register
        The public keys of all who may take part, from somewhere that the server does not control.
    noise
        Replaced in tests only.
    """

    def __init__(
        self,
        policy: Policy,
        offer: Offer,
        *,
        catalogue: bytes,
        honest: float,
        identity: bytes,
        register: Collection[bytes],
        draw: DrawBytes = os.urandom,
        noise: DrawShare | None = None,
    ) -> None:
        super().__init__(policy, offer, catalogue=catalogue, draw=draw)
        self.honest, self._identity, self._register = honest, identity, frozenset(register)
        require(identity_of(identity) in self._register, "this user is not in the register")
        self._noise_share = noise or _fresh_share
        self._forget()

    def _forget(self) -> None:
        self._question: Question | None = None
        self._roster: Roster | None = None
        self._inbox: dict[bytes, tuple[bytes, bytes]] | None = None
        self._told: Survivors | None = None

    def join(self, question: Question, expected: Question) -> Keys:
        """Agree to a question, with fresh keys."""
        self._check(question, expected)
        self._forget()
        self._question = question
        self._name, self._seed_own = self._draw(NAME_BYTES), fresh_seed(self._draw)
        self._mask_key, self._share_key = self._draw(32), self._draw(32)
        member = self._name, public_key(self._mask_key), public_key(self._share_key)
        return Keys(
            label=question.label,
            sender=self._name,
            question=question.digest,
            mask_key=member[1],
            share_key=member[2],
            identity=identity_of(self._identity),
            signature=signed(self._identity, question.label, question.digest, member),
        )

    def _group(self, roster: Roster) -> Group:
        return Group(len(roster.members), self.honest, len(self._register))

    def share(self, roster: Roster) -> Shares:
        """Shares of the own seed and of the mask key, locked for each other user."""
        question = self._question
        if question is None or self._roster is not None:
            raise RefusedError("this list of users comes out of order")
        mine = roster.label == question.label and roster.question == question.digest
        refuse_unless(mine, "this message belongs to another run, round or question")
        refuse_unless(roster.honest == self.honest, "the list counts on another part of honest users than was agreed")
        least = max(self.policy.minimum_group, self.offer.minimum_group)
        enough = least <= len(roster.members) <= min(self.offer.most_users, MOST_USERS)
        refuse_unless(enough, f"a sum over {len(roster.members)} users is refused: at least {least} were promised")
        own = (self._name, public_key(self._mask_key), public_key(self._share_key))
        refuse_unless(own in roster.members, "the list does not hold this user's own keys")
        check_roster(self._register, roster)
        few = len(roster.members) <= Group(len(self._register), self.honest).colluding
        refuse_unless(not few, "everyone but this user may collude in so small a group")
        group = self._group(roster)
        both = [
            split_secret(each, group.users, group.threshold, self._draw) for each in (self._seed_own, self._mask_key)
        ]
        boxes = []
        for place, (name, _, share_key) in enumerate(roster.members):
            if name == self._name:
                self._kept = both[0][place], both[1][place]
                continue
            key = agreed(self._share_key, share_key, b"box" + roster.digest + self._name + name)
            boxes.append((name, _box(key).encrypt(bytes(12), both[0][place] + both[1][place], None)))  # type: ignore[attr-defined]
        self._roster = roster
        return Shares(label=roster.label, sender=self._name, roster=roster.digest, boxes=tuple(boxes))

    def value(self, delivered: Delivered, values: AnyArray, expected: Question) -> PairwiseValue:
        """Charge the question; the user's own statistic with a share of the noise, masked."""
        question, roster = self._question, self._roster
        if question is None or roster is None or self._inbox is not None:
            raise RefusedError("these shares come out of order")
        mine = delivered.label == roster.label and delivered.roster == roster.digest
        refuse_unless(mine and delivered.receiver == self._name, "these shares are for another user or round")
        keys = {name: (mask, share) for name, mask, share in roster.members}
        group = self._group(roster)
        refuse_unless(len(delivered.boxes) + 1 >= group.threshold, "too few users are left")
        inbox = {self._name: self._kept}
        for name, box in delivered.boxes:
            refuse_unless(name in keys and name != self._name, "shares came from nobody in the list")
            inbox[name] = self._opened(name, keys[name][1], box, roster)
        words = self._agreed(question, expected, values)
        words = words + self._noise_share(question, group.noisy).astype(words.dtype)
        label = roster.label.to_bytes()
        add_mask(words, self._seed_own, label + self._name)
        for name in inbox:
            if name != self._name:
                add_pair_mask(words, self._mask_key, self._name, name, keys[name][0], label)
        self._inbox = inbox
        return PairwiseValue(label=roster.label, sender=self._name, roster=roster.digest, words=words)

    def _opened(self, name: bytes, share_key: bytes, box: bytes, roster: Roster) -> tuple[bytes, bytes]:
        from cryptography.exceptions import InvalidTag

        key = agreed(self._share_key, share_key, b"box" + roster.digest + name + self._name)
        try:
            both = _box(key).decrypt(bytes(12), box, None)  # type: ignore[attr-defined]
        except InvalidTag:
            raise RefusedError("shares were changed on their way") from None
        refuse_unless(len(both) == 2 * SHARE_BYTES, "shares have another size than they should")
        return both[:SHARE_BYTES], both[SHARE_BYTES:]

    def confirm(self, survivors: Survivors) -> Confirmation:
        """Tell the others which list of survivors came here; one list in a round."""
        roster, inbox = self._roster, self._inbox
        if roster is None or inbox is None:
            raise RefusedError("this list of survivors comes out of order")
        mine = survivors.label == roster.label and survivors.roster == roster.digest
        refuse_unless(mine, "this list of survivors belongs to another round")
        told = self._told
        refuse_unless(told is None or told.digest == survivors.digest, "another list of survivors came before")
        enough = len(survivors.senders) >= self._group(roster).threshold
        refuse_unless(enough, "too few users are left for a sum")
        refuse_unless(set(survivors.senders) <= set(inbox), "the list names users without shares")
        refuse_unless(self._name in survivors.senders, "this user's value is not in the sum")
        self._told = survivors
        codes = tuple((name, self._code(self._name, name, name)) for name in survivors.senders if name != self._name)
        return Confirmation(label=roster.label, sender=self._name, survivors=survivors.digest, codes=codes)

    def _code(self, sender: bytes, receiver: bytes, other: bytes) -> bytes:
        """What the sender tells the receiver about the list that came here."""
        assert self._roster is not None and self._told is not None
        keys = {name: share for name, _, share in self._roster.members}
        key = agreed(self._share_key, keys[other], b"list" + self._roster.digest + sender + receiver)
        return hmac.digest(key, self._told.digest, "sha256")

    def unmask(self, confirmed: Confirmed) -> Unmasking:
        """One share about each user, once enough others have confirmed the same list."""
        roster, inbox, told = self._roster, self._inbox, self._told
        if roster is None or inbox is None or told is None:
            raise RefusedError("these confirmations come out of order")
        mine = confirmed.label == roster.label and confirmed.receiver == self._name
        refuse_unless(mine and confirmed.survivors == told.digest, "these confirmations are for another user or list")
        alive = set(told.senders)
        for name, code in confirmed.codes:
            known = name in alive and name != self._name
            right = known and hmac.compare_digest(self._code(name, self._name, name), code)
            refuse_unless(right, "some user saw another list of survivors")
        enough = len(confirmed.codes) + 1 >= self._group(roster).threshold
        refuse_unless(enough, "too few users have confirmed the list of survivors")
        shares = tuple((name, inbox[name][0 if name in alive else 1]) for name in sorted(inbox))
        return Unmasking(label=roster.label, sender=self._name, survivors=told.digest, shares=shares)


def _fresh_share(question: Question, honest: int) -> Integers:
    spend = question.spend
    refuse_unless(spend.mechanism == "gaussian", "users draw shares of Gaussian noise only")
    return np.asarray(draw_gaussian_share(spend.scale / question.step, honest, question.cells, Randomness()))
