"""What a release promises to the people whose ratings it was made of."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from discreet import markup
from discreet.doors import checked, checked_methods
from discreet.errors import InputError, require
from discreet.privacy.ledger import Ledger
from discreet.privacy.unit import Unit, unit_from_json, unit_to_json

Tuning = Literal["defaults", "stated", "paid", "unpaid", "unrecorded"]
_TUNING = {
    "defaults": "Settings are the model's defaults.",
    "stated": "Settings were chosen on {tuned_on}, says whoever ran the fit.",
    "paid": "Settings were chosen on these ratings, and the search is paid for in the ledger.",
    "unpaid": "Settings may have been chosen on these ratings, and that was not paid for.",
    "unrecorded": "Nobody said on what the settings were chosen; no look at these ratings was on record.",
}
NOTHING = "nothing"
"""Said of settings that were chosen before anyone looked at any ratings."""

NEGLIGIBLE = 1e-15
"""A delta below this, which only the samplers leave, is not worth a word to people; it stays in the JSON."""


@checked
@checked_methods
@dataclass(frozen=True)
class Loss:
    """How far the odds of any outcome can differ between neighbours: by a factor e^epsilon, plus delta.

    >>> print(Loss(1.0, 1e-6))
    epsilon 1, delta 1e-06
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        require(
            math.isfinite(self.epsilon) and self.epsilon >= 0 and 0 <= self.delta < 1,
            f"a privacy loss needs a finite epsilon and a delta in [0, 1), got {self.epsilon} and {self.delta}",
        )

    def for_group(self, size: int) -> "Loss":
        """The loss of ``size`` units together (group privacy): kε, and δ(e^(kε) − 1)/(e^ε − 1).

        This is how a guarantee for one rating becomes one for a user, where a user has at most ``size`` ratings.

        >>> Loss(0.5).for_group(4)
        Loss(epsilon=2.0, delta=0.0)
        """
        require(size >= 1, f"a group has at least 1 member, got {size}")
        if self.delta == 0 or size == 1:
            return Loss(size * self.epsilon, self.delta)
        growth = size if self.epsilon == 0 else math.expm1(size * self.epsilon) / math.expm1(self.epsilon)
        return Loss(size * self.epsilon, min(self.delta * growth, 1 - 2.0**-53))

    def __str__(self) -> str:
        return f"epsilon {_rounded_up(self.epsilon)}" + (f", delta {_rounded_up(self.delta)}" if self.delta else "")


def _rounded_up(number: float) -> str:
    """Three digits, never less than the number: what is printed must hold.

    >>> _rounded_up(0.99991), _rounded_up(1.0001), _rounded_up(1e-06), _rounded_up(1000)
    ('1', '1.01', '1e-06', '1000')
    """
    if number < 1e-300:
        return "0" if number == 0 else "1e-300"
    step = 10.0 ** (math.floor(math.log10(number)) - 2)
    return f"{math.ceil(number / step * (1 - 1e-12)) * step:.{6 if number >= 1 else 3}g}"


LARGEST_IN_WORDS = 700.0
"""A larger epsilon promises nothing: e^epsilon is about the largest number that there is."""


def times_as_likely(epsilon: float) -> str:
    """e^ε in words, never less than it is.

    >>> times_as_likely(1.0), times_as_likely(1000)
    ('2.72', 'e^1000')
    """
    return _rounded_up(math.exp(epsilon)) if epsilon <= LARGEST_IN_WORDS else f"e^{_rounded_up(epsilon)}"


@checked
@dataclass(frozen=True)
class LevelLoss:
    """What is proven for whoever chose a privacy level, or for each rating that it was chosen for.

    ``weight`` multiplied what they contributed; ``rate`` is how likely they, or each such rating, were in the sample
    that was looked at; ``offered`` is the epsilon under which the level was on offer.

    >>> print(LevelLoss("strict", 0.25, Loss(0.25, 1e-6)))
    strict: epsilon 0.25, delta 1e-06
    """

    name: str
    weight: float
    loss: Loss
    rate: float = 1.0
    each_rating: bool = False
    offered: float = 0.0

    def __post_init__(self) -> None:
        shares = 0 < self.weight <= 1 and 0 < self.rate <= 1
        require(shares, f"the weight and the rate of a privacy level lie in (0, 1], got {self.weight} and {self.rate}")

    def __str__(self) -> str:
        return f"{self.name}: {_worth_a_word(self.loss)}"


def _worth_a_word(loss: Loss) -> Loss:
    return Loss(loss.epsilon) if loss.delta < NEGLIGIBLE else loss


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The promise that travels inside a release.

    Parameters
    ----------
    reason
        In one sentence: why it holds, or why it does not.
    proven
        The loss that is proven, or None.
    levels
        The loss that is proven for each privacy level on offer, where there are several; none of them is more than
        ``proven``.
    claimed
        The loss that a publication claims, where it differs from what is proven.
    unit
        Whose secret is kept.
    protects_from, exposed_to
        Who learns no more than that, and who sees the ratings all the same.
    public
        What is taken to be known to everyone, and not hidden.
    tuning
        How the settings were chosen: they are the defaults, it was stated on what, it was paid for or not, or it is not
        on record. None where there are no settings to choose.
    tuned_on
        On what the settings were chosen, where that was stated.
    seeded
        Whether the noise can be drawn again by whoever knows the seed; then nothing is proven.
    notes
        What else has to be said for the promise to be read rightly, a sentence each: what was done to the ratings
        before, on what settings were chosen, whether it is booked.

    Examples
    --------
    >>> print(Guarantee.none("exact sums were released"))
    No privacy: exact sums were released.
    """

    reason: str
    proven: Loss | None = None
    levels: tuple[LevelLoss, ...] = ()
    claimed: Loss | None = None
    unit: Unit | None = None
    protects_from: tuple[str, ...] = ()
    exposed_to: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    tuning: Tuning | None = None
    tuned_on: str = ""
    seeded: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(self.tuning is None or self.tuning in _TUNING, f"there is no tuning {self.tuning!r}")
        require(
            self.proven is None or (self.unit is not None and not self.seeded and self.tuning != "unpaid"),
            "a proven guarantee needs a unit, noise that was not seeded, and settings that were not tuned for free",
        )
        if self.proven is None:  # then nothing is for any level
            object.__setattr__(self, "levels", ())

    @classmethod
    def none(cls, reason: str) -> "Guarantee":
        """No promise at all, and why."""
        return cls(reason=reason)

    @classmethod
    def of_ledger(
        cls,
        ledger: Ledger,
        *,
        protects_from: tuple[str, ...],
        exposed_to: tuple[str, ...] = (),
        public: tuple[str, ...] = (),
        tuning: str | None = None,
        seeded: bool = False,
        doubts: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> "Guarantee":
        """What a ledger proves, unless the noise was seeded, the settings tuned for free, or there are other doubts.

        That is what its plan costs, or else its limit, as soon as anything was spent (see :class:`Ledger`).
        """
        chosen = any(spend.chooses for spend in ledger.spends)
        kind, tuned_on = read_tuning(tuning)
        require(
            kind != "paid" or chosen,
            "tuning='paid' needs a choice that this ledger paid for: see discreet.privacy.choose",
        )
        epsilon, delta = ledger.epsilon if ledger.planned is None else ledger.spent, 0.0
        if ledger.spends:
            delta = max(ledger.delta, ledger.sampler_delta)
        else:  # no look tells nothing, and cannot go wrong
            epsilon = 0.0
        if chosen and kind == "unrecorded":
            kind = "paid"
        seeded = seeded or any(spend.seeded for spend in ledger.spends)
        doubt = doubts[0] if doubts else ""
        if seeded:
            doubt = "the noise was seeded, so whoever knows the seed can take it away"
        elif kind == "unpaid":
            doubt = "the settings were tuned on these ratings, and that was not paid for"
        elif delta >= 1 or epsilon > LARGEST_IN_WORDS:
            doubt = f"an epsilon of {epsilon:.4g} is so large that it promises nothing"
        levels = tuple(
            LevelLoss(
                level.name,
                level.weight,
                Loss(ledger.cost_of(level), level.paid(epsilon, delta)[1]) if ledger.spends else Loss(0.0),
                level.rate,
                ledger.offered.each_rating,
                ledger.offered.epsilons[level.name],
            )
            for level in (() if doubt else ledger.levels)
        )
        return cls(
            reason=doubt or "every look at the ratings is in the ledger, with noise fitted to its proven sensitivity",
            proven=None if doubt else Loss(epsilon, delta),
            unit=ledger.unit,
            protects_from=protects_from,
            exposed_to=exposed_to,
            public=public,
            tuning=kind,
            tuned_on=tuned_on,
            seeded=seeded,
            notes=notes,
            levels=levels,
        )

    def __str__(self) -> str:
        return " ".join(self.sentences())

    @property
    def word(self) -> str:
        """Whether it is ``proven``, only ``claimed``, or ``none``."""
        return "proven" if self.proven else "claimed" if self.claimed else "none"

    def _repr_html_(self) -> str:
        """The promise for a notebook: the first sentence large, the others below."""
        first, *others = self.sentences()
        badge = {"proven": "proven", "claimed": "claimed, not proven", "none": "no privacy"}[self.word]
        return markup.box(
            markup.title("Guarantee", badge, self.word),
            markup.paragraph(first),
            *(markup.paragraph(sentence, small=True) for sentence in others),
        )

    def sentences(self) -> list[str]:
        """In plain words, the most important first."""
        if self.proven is None:
            lines = [f"No privacy: {self.reason}."]
            if self.claimed is not None:
                lines = [f"Claimed, not proven: {self.claimed} for {self.unit}.", f"Why not: {self.reason}."]
            return lines
        assert self.unit is not None
        whom = " and ".join(self.protects_from) or "nobody"
        what = "took part" if self.unit.name == "user" else "gave a rating"
        if self.unit.neighbours == "replace":
            what = (
                "whether they gave these ratings or quite others"
                if self.unit.name == "user"
                else "whether they gave a rating this value or another"
            )
        else:
            what = f"whether or not they {what}"
        loss = _worth_a_word(self.proven)
        lines = [
            f"Proven: whoever sees this release ({whom}) learns almost the same about a user {what}: {loss}.",
            f"Whatever they may conclude is at most {times_as_likely(loss.epsilon)} times as likely "
            + "in the one case as in the other"
            + (f", plus {_rounded_up(loss.delta)}." if loss.delta else "."),
        ]
        if loss == Loss(0.0):
            lines = [f"Proven: whoever sees this release ({whom}) learns nothing about any user: {loss}."]
        if self.levels:
            whose = "a rating, by the privacy level that was chosen for it"
            whose = whose if self.levels[0].each_rating else "whoever chose a privacy level"
            lines.append(f"For {whose}: {'; '.join(map(str, self.levels))}.")
        if self.claimed is not None:
            lines.append(f"Claimed: {self.claimed}.")
        if self.public:
            lines.append(f"Not hidden: {', '.join(self.public)}.")
        if self.exposed_to:
            lines.append(f"Not hidden from {' and '.join(self.exposed_to)}.")
        return [*lines, *self._tuning_sentence(), *self.notes]

    def _tuning_sentence(self) -> tuple[str, ...]:
        if self.tuning is None:
            return ()
        if self.tuning == "stated" and self.tuned_on == NOTHING:
            return ("Settings were chosen before anyone looked at any ratings, says whoever ran the fit.",)
        return (_TUNING[self.tuning].format(tuned_on=self.tuned_on),)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return fields | {"unit": None if self.unit is None else unit_to_json(self.unit), "sentence": str(self)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Guarantee":
        """Back from plain data."""
        try:
            return cls(
                reason=data["reason"],
                proven=None if data["proven"] is None else Loss(**data["proven"]),
                claimed=None if data["claimed"] is None else Loss(**data["claimed"]),
                unit=None if data["unit"] is None else unit_from_json(data["unit"]),
                protects_from=tuple(data["protects_from"]),
                exposed_to=tuple(data["exposed_to"]),
                public=tuple(data["public"]),
                # Earlier versions wrote "public" for all that was not said to be otherwise.
                tuning="unrecorded" if data["tuning"] == "public" else data["tuning"],
                tuned_on=data.get("tuned_on", ""),
                seeded=data["seeded"],
                notes=tuple(data["notes"]),
                levels=tuple(
                    LevelLoss(**(level | {"loss": Loss(**level["loss"])})) for level in data.get("levels", [])
                ),
            )
        except (KeyError, TypeError) as error:
            raise InputError(f"this is not a guarantee: {error}") from None


def read_tuning(said: str | None) -> tuple[Tuning, str]:
    """What ``tuning=`` of a population says: paid, unpaid, or on what the settings were chosen.

    >>> read_tuning(None), read_tuning("paid"), read_tuning("ml-1m")
    (('unrecorded', ''), ('paid', ''), ('stated', 'ml-1m'))
    """
    if said is None:
        return "unrecorded", ""
    if said in ("paid", "unpaid"):
        return ("paid" if said == "paid" else "unpaid"), ""
    plain = isinstance(said, str) and 0 < len(said.strip()) <= 200 and said.isprintable()
    require(
        plain and said.lower() not in {*_TUNING, "public"},
        "tuning must be 'paid', 'unpaid', 'nothing' or on what the settings were chosen, for example 'ml-1m', "
        f"got {said!r}",
    )
    return "stated", said
