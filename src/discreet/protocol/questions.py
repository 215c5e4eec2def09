"""What a recommender offers, and what it asks. Both are public."""

import math
import struct
from dataclasses import dataclass, replace
from typing import ClassVar

from discreet.privacy.spend import MechanismName, Spend
from discreet.privacy.unit import Norm, Rating, Unit, User
from discreet.protocol.encoding import FixedPoint
from discreet.protocol.message import DIGEST_BYTES, Label, Message
from discreet.protocol.noise import check_sum
from discreet.protocol.wire import Reader, refuse_unless, text_bytes
from discreet.types import AnyArray

MOST_CELLS = 1 << 26
MOST_TEXT = 4096
_UNITS: tuple[Unit, ...] = (Rating(), Rating("replace"), User(), User(neighbours="replace"))
_MECHANISMS: tuple[MechanismName, ...] = ("laplace", "gaussian")


@dataclass(frozen=True, kw_only=True)
class Offer(Message):
    """The public parameters of a run: what users agree to before it begins, and what never changes after.

    Parameters
    ----------
    label
        The run; round and group are 0.
    catalogue
        Digest of the public items.
    model
        What is learned, in words: the model with its settings.
    epsilon, delta, unit
        What is promised against each of the servers.
    rounds
        How many questions there are at most.
    minimum_group
        How many users take part in a sum at the least.
    most_users
        How many take part at most: sums over more might wrap around.
    bits
        Of a word: 64, or 32.
    """

    kind: ClassVar[int] = 1
    catalogue: bytes
    model: str
    epsilon: float
    delta: float
    unit: Unit
    rounds: int
    minimum_group: int
    most_users: int
    bits: int = 64

    def __post_init__(self) -> None:
        what = "an offer"
        refuse_unless(len(self.catalogue) == DIGEST_BYTES, f"{what} names its catalogue by {DIGEST_BYTES} bytes")
        fine = math.isfinite(self.epsilon) and self.epsilon > 0 and 0 <= self.delta < 1
        refuse_unless(fine, f"{what} needs a positive epsilon and a delta in [0, 1)")
        refuse_unless(1 <= self.rounds < 2**16, f"{what} has between 1 and 65,535 rounds")
        refuse_unless(2 <= self.minimum_group <= self.most_users < 2**32, f"{what} needs groups of at least 2 users")
        refuse_unless(self.bits in (32, 64), f"{what} has words of 32 or 64 bits")
        refuse_unless(len(self.model.encode()) <= MOST_TEXT, f"{what} describes its model in too many words")

    def _body(self) -> bytes:
        most = getattr(self.unit, "max_ratings", None) or 0
        bare = User(neighbours=self.unit.neighbours) if isinstance(self.unit, User) else self.unit
        return (
            self.catalogue
            + text_bytes(self.model)
            + struct.pack("<ddBI", self.epsilon, self.delta, _UNITS.index(bare), most)
            + struct.pack("<HIIB", self.rounds, self.minimum_group, self.most_users, self.bits)
        )

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Offer":
        catalogue, model = reader.take(DIGEST_BYTES), reader.text(MOST_TEXT)
        epsilon, delta, unit, most = reader.double(), reader.double(), reader.number("B"), reader.number("I")
        refuse_unless(unit < len(_UNITS), "an offer hides a unit that is not known")
        whose = _UNITS[unit]
        if most:
            refuse_unless(isinstance(whose, User), "an offer caps the ratings of what is no user")
            whose = User(max_ratings=most, neighbours=whose.neighbours)
        return cls(
            label=label,
            catalogue=catalogue,
            model=model,
            epsilon=epsilon,
            delta=delta,
            unit=whose,
            rounds=reader.number("H"),
            minimum_group=reader.number("I"),
            most_users=reader.number("I"),
            bits=reader.number("B"),
        )


@dataclass(frozen=True, kw_only=True)
class Question(Message):
    """What is asked in a round: always the whole statistic, never some of its cells.

    Parameters
    ----------
    offer
        Digest of the offer it belongs to.
    before
        Digest of all answers so far: whoever was told others would compute another statistic.
    name, shape
        The statistic.
    spend
        What it costs against each server: the noise of one of them alone, and the proven sensitivity.
    step
        The value of one whole number.
    largest, signed
        What an honest device sends in a cell at most, before rounding, and whether it may be negative.
    number
        Which of ``spend.times`` sums that were planned together this is, from 0.
    """

    kind: ClassVar[int] = 2
    offer: bytes
    before: bytes
    name: str
    shape: tuple[int, ...]
    spend: Spend
    step: float
    largest: float
    signed: bool = True
    number: int = 0

    def __post_init__(self) -> None:
        what = "a question"
        refuse_unless(len(self.offer) == len(self.before) == DIGEST_BYTES, f"{what} has a digest of the wrong size")
        refuse_unless(len(self.shape) <= 8 and self.cells <= MOST_CELLS, f"{what} has too many cells")
        refuse_unless(self.spend.mechanism in _MECHANISMS, f"{what} adds Laplace or Gaussian noise")
        refuse_unless(self.spend.what == self.name, f"{what} books another name than it has")
        refuse_unless(0 <= self.number < self.spend.times < 2**32, f"{what} is none of those that were planned")
        exact = math.isfinite(self.step) and self.step > 0 and math.frexp(self.step)[0] == 0.5
        refuse_unless(exact, f"{what} has a step that is no power of two")
        bounded = math.isfinite(self.largest) and self.largest > 0
        refuse_unless(bounded, f"{what} does not say what an honest device sends at most")

    @property
    def cells(self) -> int:
        """How many numbers every user sends."""
        return math.prod(self.shape)

    def matches(self, other: "Question") -> bool:
        """Whether both ask the same, in whatever round; numbers may differ in what two computers round differently."""
        mine, theirs = self.spend, other.spend
        numbers = ("sensitivity", "scale", "slack", "rounding")
        near = all(math.isclose(getattr(mine, name), getattr(theirs, name), rel_tol=1e-9) for name in numbers)
        near = near and math.isclose(self.largest, other.largest, rel_tol=1e-9)
        same = replace(mine, **{name: getattr(theirs, name) for name in numbers})
        return near and replace(self, label=other.label, spend=same, largest=other.largest) == other

    def points(self, offer: Offer) -> FixedPoint:
        """How values become words."""
        return FixedPoint(step=self.step, most_users=offer.most_users, bits=offer.bits)

    def check_sum(self, words: AnyArray, users: int, offer: Offer) -> None:
        """Raise where so many honest devices cannot have sent this, which has both servers' noise in it."""
        whole = self.points(offer).signed(words)
        known = self.spend, self.step
        check_sum(self.name, whole, *known, users=users, largest=self.largest, signed=self.signed)

    def _body(self) -> bytes:
        spend = self.spend
        doubles = (spend.sensitivity, spend.scale, spend.sampling_rate, spend.slack, spend.rounding)
        flags = spend.seeded | spend.chooses << 1 | spend.weighted << 2 | self.signed << 3
        return (
            self.offer
            + self.before
            + text_bytes(self.name)
            + struct.pack(f"<B{len(self.shape)}I", len(self.shape), *self.shape)
            + struct.pack("<BB7d", _MECHANISMS.index(spend.mechanism), flags, *doubles, self.step, self.largest)
            + struct.pack("<II", spend.times, self.number)
        )

    @classmethod
    def _read(cls, label: Label, reader: Reader) -> "Question":
        offer, before, name = reader.take(DIGEST_BYTES), reader.take(DIGEST_BYTES), reader.text(MOST_TEXT)
        shape = tuple(reader.number("I") for _ in range(reader.number("B")))
        mechanism, flags = reader.number("B"), reader.number("B")
        refuse_unless(mechanism < len(_MECHANISMS) and flags < 16, "a question adds noise of a kind that is not known")
        sensitivity, scale, rate, slack, rounding, step, largest = (reader.double() for _ in range(7))
        norm: Norm = "l1" if _MECHANISMS[mechanism] == "laplace" else "l2"
        spend = Spend(
            what=name,
            mechanism=_MECHANISMS[mechanism],
            norm=norm,
            sensitivity=sensitivity,
            scale=scale,
            sampling_rate=rate,
            times=reader.number("I"),
            slack=slack,
            rounding=rounding,
            seeded=bool(flags & 1),
            chooses=bool(flags & 2),
            weighted=bool(flags & 4),
        )
        return cls(
            label=label,
            offer=offer,
            before=before,
            name=name,
            shape=shape,
            spend=spend,
            step=step,
            largest=largest,
            signed=bool(flags & 8),
            number=reader.number("I"),
        )
