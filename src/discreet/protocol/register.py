"""Who may take part in sums without a third party: a public register of users' keys that the server does not write.

How many users collude is a belief about people, so it needs a list of people. Without one a server can invent users, or
ask those who collude and one other: of a hundred users in a group ninety-nine are then its own, though few of all are.
So every user has an Ed25519 key for good, and signs with it the keys of a round. Others check that every signature is
of somebody in the register, and count *all* colluding users of the register as if they took part
(:class:`~discreet.protocol.pairwise.Group`): whoever the server chooses, there are no more of them. ∎
"""

from collections.abc import Collection

from discreet.errors import library_for
from discreet.protocol.message import Label
from discreet.protocol.pairwise_messages import Roster
from discreet.protocol.wire import RefusedError, refuse_unless

PURPOSE = b"discreet pairwise keys 1"


def identity_of(secret: bytes) -> bytes:
    """The public key of a user, for the register.

    >>> len(identity_of(bytes(32)))
    32
    """
    with library_for("secure sums"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def signed(secret: bytes, label: Label, question: bytes, member: tuple[bytes, bytes, bytes]) -> bytes:
    """A user's signature under the name and both keys that are used in one round, for one question."""
    with library_for("secure sums"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret).sign(_text(label, question, member))


def check_signature(
    register: Collection[bytes],
    label: Label,
    question: bytes,
    member: tuple[bytes, bytes, bytes],
    identity: bytes,
    signature: bytes,
) -> None:
    """Raise unless somebody in the register has signed this."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    refuse_unless(identity in register, "somebody takes part who is not in the register")
    try:
        Ed25519PublicKey.from_public_bytes(identity).verify(signature, _text(label, question, member))
    except (InvalidSignature, ValueError):
        raise RefusedError("the keys of a user were not signed by that user for this question") from None


def check_roster(register: Collection[bytes], roster: Roster) -> None:
    """Raise unless everyone in a list is in the register, is there once, and has signed for this question."""
    refuse_unless(roster.register == len(register), "the list counts on another register than this user has")
    identities = [identity for identity, _ in roster.signed]
    refuse_unless(len(set(identities)) == len(identities), "the list names one person twice")
    for member, (identity, signature) in zip(roster.members, roster.signed, strict=True):
        check_signature(register, roster.label, roster.question, member, identity, signature)


def _text(label: Label, question: bytes, member: tuple[bytes, bytes, bytes]) -> bytes:
    return PURPOSE + label.to_bytes() + question + b"".join(member)
