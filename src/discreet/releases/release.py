"""What a fit returns: everything that leaves the ratings, and nothing about any user."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discreet import markup
from discreet.collect.promise import promise_of, spends_of
from discreet.data.catalogue import Catalogue
from discreet.data.history import History
from discreet.data.ratings import Ratings
from discreet.doors import checked_methods
from discreet.errors import InputError, ReleaseError, library_for, require
from discreet.looks import Looks, Reading
from discreet.populations.population import Population
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.spend import Spend
from discreet.releases.contract import Model, RatingModel
from discreet.releases.declared import check_declared
from discreet.releases.promises import level_cost
from discreet.releases.read_only import ReadOnly
from discreet.releases.recommendations import Reason as Reason
from discreet.releases.recommendations import Recommendations as Recommendations
from discreet.releases.recommendations import Suggestion as Suggestion
from discreet.releases.releasable import CHANGED, check_arrays, checksum, unreplayed
from discreet.releases.scorer import Scorer as Scorer
from discreet.types import AnyArray, Floats

if TYPE_CHECKING:
    import polars as pl

    from discreet.privacy.signing import PublicKey, SigningKey


HERE = object()
"""What a release is marked with that was just fitted or read; nobody else has it."""


@checked_methods
@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """The outcome of a fit: item-side arrays, the public catalogue and the guarantee. It holds no user.

    Parameters
    ----------
    model
        The settings it was fitted with; they know how to score.
    arrays
        What was learned, by name. Every axis is items or factors, never users.
    catalogue
        The public items.
    guarantee
        What is promised to the users whose ratings were used.
    spends
        Every look at the ratings that went into it: the lines of the ledger.
    sources
        For each array, which of these looks it was made from. A proven guarantee needs them for every array: a
        release whose ledger does not cover something it contains cannot be built as proven.
    log
        Where unpaid looks at its ratings are written down, so that a choice by them is noticed later. Not saved.
    reading
        How its ratings were read. Not saved.
    note
        What else should travel with it, in a sentence: why this model was chosen. Public, like everything here.
    made
        A checksum of all that is saved, as the fit made it: what was changed since is not proven. Not saved.
        Empty where nothing was proven then.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> release = dc.Popularity().fit(dc.NoPrivacy(ratings))
    >>> release.score(ratings.history_at(0)).shape
    (30,)
    >>> len(release.recommend(ratings.history_at(0), k=3))
    3
    >>> release
    Release(Popularity, 30 items, no privacy)
    """

    model: Model
    arrays: Mapping[str, AnyArray]
    catalogue: Catalogue
    guarantee: Guarantee
    spends: tuple[Spend, ...] = ()
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    note: str = ""
    log: Looks = field(default_factory=Looks)
    reading: Reading = ()
    made: object = ""

    def __post_init__(self) -> None:
        for name in ("arrays", "sources"):
            if not isinstance(getattr(self, name), ReadOnly):
                object.__setattr__(self, name, ReadOnly(getattr(self, name)))
        self.require_covered()
        check_declared(self.model, self.arrays, self.catalogue)
        found = "" if self.guarantee.proven is None else checksum(self)
        if self.made is HERE:
            object.__setattr__(self, "made", found)
        elif found and self.made != found:
            object.__setattr__(self, "guarantee", Guarantee.none(CHANGED))

    def require_unchanged(self, outcome: str) -> None:
        """Raise if arrays were changed in place since."""
        if replace(self, arrays=dict(self.arrays)).guarantee != self.guarantee:
            raise InputError(f"nothing is proven of this release: {CHANGED}; {outcome}")

    def require_covered(self) -> None:
        """Raise if the guarantee is proven and some array was made from something that the ledger does not list."""
        if self.guarantee.proven is None:
            return
        booked = {spend.what for spend in self.spends}
        for name in self.arrays:
            sources = self.sources.get(name, ())
            if not sources or not booked.issuperset(sources):
                raise InputError(
                    f"the array {name!r} is not covered by the ledger, so this release cannot promise anything; "
                    "make it from the sums of a population, or release it without a guarantee"
                )

    def require_paid(self) -> None:
        """Raise if a guarantee is proven that its own ledger does not add up to. May load the accountant.

        What is proven is the cost of a plan, or the limit of a ledger: never less than what its spends cost together.
        """
        proven = self.guarantee.proven
        if proven is None:
            return
        from discreet.privacy.composition import composed_epsilon

        with library_for("adding up this ledger"):
            spent = composed_epsilon(self.spends, proven.delta)
        if spent > proven.epsilon * (1 + 1e-6):
            raise InputError(
                f"this release promises {proven}, but its ledger adds up to epsilon {spent:.4g}: the promise is false"
            )
        for level in self.guarantee.levels:
            with library_for("adding up this ledger"):
                own = level_cost(level, self.spends, proven, self.guarantee.unit)
            if own > level.loss.epsilon * (1 + 1e-6):
                raise InputError(
                    f"this release promises {level.loss} to the level {level.name!r}, but its ledger adds up to "
                    f"epsilon {own:.4g}: the promise is false"
                )

    def __repr__(self) -> str:
        promised = self.guarantee.proven or self.guarantee.claimed
        word = "proven" if self.guarantee.proven else "claimed, not proven:"
        promise = f"{word} epsilon {promised.epsilon:g}" if promised else "no privacy"
        return f"Release({type(self.model).__name__}, {len(self.catalogue):,} items, {promise})"

    def _repr_html_(self) -> str:
        """What it is and what it promises, for a notebook."""
        guarantee = self.guarantee
        promised = guarantee.proven or guarantee.claimed
        pairs = [
            ("model", type(self.model).__name__),
            ("items", f"{len(self.catalogue):,}"),
            ("promises", "nothing" if promised is None else f"{promised} for {guarantee.unit}"),
            ("arrays", ", ".join(f"{name} {shape_of(array)}" for name, array in self.arrays.items())),
            ("looks at the ratings", f"{len(self.spends):,}" if self.spends else "not in a ledger"),
        ]
        return markup.box(
            markup.title("Release", guarantee.word if promised else "no privacy", guarantee.word),
            markup.facts(pairs),
            markup.paragraph(guarantee.sentences()[0]),
            markup.paragraph(self.remark, small=True) if self.remark else "",
        )

    @classmethod
    def of(
        cls, model: Model, population: Population, arrays: Mapping[str, AnyArray], public: Iterable[str] = ()
    ) -> "Release":
        """What a model made of a population's answers, and of nothing else: so every look covers every array.

        How its settings were chosen is part of the promise: see :mod:`discreet.releases.tuning`. Of the arrays only
        kind and shape are checked here. Whether they come from the answers alone shows in a replay
        (:mod:`discreet.fitting.replay`), by which releases that a budget pays for are checked; the guarantee says so.
        ``public`` names what the model takes as public of each user, beside what the population does.
        """
        from discreet.releases.tuning import tuned

        guarantee = unreplayed(population, tuned(model, population))
        guarantee = replace(guarantee, public=(*guarantee.public, *public))
        check_arrays(model, population, arrays, guarantee.proven is not None)
        spends = population.spends
        looks = tuple(dict.fromkeys(spend.what for spend in spends))
        sources = dict.fromkeys(arrays, looks)
        return cls(
            model,
            arrays,
            population.catalogue,
            guarantee,
            spends,
            sources,
            log=population.log,
            reading=population.reading,
            made=HERE,
        )

    @classmethod
    def of_ratings(cls, model: Model, ratings: Ratings, arrays: Mapping[str, AnyArray]) -> "Release":
        """What a model made of ratings themselves: no promise, but for what users did to them at home."""
        form = ratings.perturbed
        if form is None:
            return cls(model, arrays, ratings.catalogue, Guarantee.none("it was trained on the raw ratings"))
        spends = spends_of(form, ratings.report_digest)
        sources = dict.fromkeys(arrays, tuple(spend.what for spend in spends))
        return cls(model, arrays, ratings.catalogue, promise_of(form), spends, sources, made=HERE)

    @property
    def remark(self) -> str:
        """What its model finds worth saying of it in a sentence, for example that noise left nothing but averages."""
        found = getattr(self.model, "remark", None)
        return "" if found is None else str(found(self))

    @property
    def predicts_ratings(self) -> bool:
        """Whether :meth:`predict` works, or the model only ranks, or there were no ratings to learn from."""
        return isinstance(self.model, RatingModel) and not self.catalogue.scale.implicit

    def scorer(self) -> Scorer:
        """The release made ready to serve: prepared when it is first asked for, then for any number of users.

        The methods below go through it.

        >>> import discreet as dc
        >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
        >>> dc.Almanac().fit(dc.NoPrivacy(ratings)).scorer()
        Scorer(Almanac, 30 items)
        """
        return self._prepared

    @cached_property
    def _prepared(self) -> Scorer:
        return Scorer.of(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_prepared"}

    def score(self, history: History) -> Floats:
        """Ranking score of every item for one user, from that user's own ratings. Higher is better."""
        return self.scorer().score(history)

    def scores(self, histories: Ratings) -> Floats:
        """Ranking scores for many users at once, users by items.

        The result is dense: pass a batch of users (see :meth:`batches`) when there are many.
        """
        return self.scorer().scores(histories)

    def batches(self, histories: Ratings) -> Iterator[tuple[int, Floats]]:
        """Scores of all users, a bounded block at a time: ``(position of the first user, scores)``."""
        return self.scorer().batches(histories)

    def predict(self, histories: Ratings, users: AnyArray, items: AnyArray) -> Floats:
        """The expected rating of each pair (position of a user in ``histories``, position of an item).

        :meth:`predict_frame` takes names instead.
        """
        return self.scorer().predict(histories, users, items)

    def predict_frame(
        self, histories: Ratings, pairs: Any, *, user: str = "user", item: str = "item"
    ) -> "pl.DataFrame":
        """The expected rating of each row of a table that names users and items.

        Parameters
        ----------
        histories
            What is known of the users.
        pairs
            A polars frame, or anything that becomes one: a dictionary of columns, a frame of pandas.
        user, item
            Its columns of names.

        Returns
        -------
        polars.DataFrame
            The same rows and columns, with a column ``predicted``.

        Examples
        --------
        >>> import discreet as dc
        >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
        >>> release = dc.Bias().fit(dc.NoPrivacy(ratings))
        >>> names = ratings.users[0], ratings.users[7]
        >>> release.predict_frame(ratings, {"user": names, "item": [ratings.catalogue.items[3]] * 2}).columns
        ['user', 'item', 'predicted']
        """
        return self.scorer().predict_frame(histories, pairs, user=user, item=item)

    def recommend(
        self,
        history: History,
        k: int = 10,
        *,
        explain: bool = False,
        exclude: Iterable[str] | None = None,
        only: Iterable[str] | None = None,
    ) -> Recommendations:
        """The ``k`` best items that the history does not hold, best first.

        With ``explain=True`` each names the user's own ratings that carried it (not every model can). ``exclude`` and
        ``only`` name items, by identifier or title, that must not be recommended, or that alone may be.
        :meth:`recommend_many` serves many users at once.
        """
        return self.scorer().recommend(history, k, explain=explain, exclude=exclude, only=only)

    def similar(self, item: str, k: int = 10, *, only: Iterable[str] | None = None) -> Recommendations:
        """The ``k`` items that liking an item speaks for most, best first; it needs no user.

        The score of an item is what one highest rating of ``item`` adds to it, over what somebody without ratings is
        shown; so popular items do not come first everywhere. Where the release knows nothing that goes beyond
        averages, items are compared by their public genres and years.

        >>> import discreet as dc
        >>> ratings = dc.synthetic(users=80, items=40, ratings=1500, seed=1)
        >>> len(dc.Cosine().fit(dc.NoPrivacy(ratings)).similar(ratings.catalogue.items[3], k=5))
        5
        """
        return self.scorer().similar(item, k, only=only)

    def explain(self, history: History, item: str) -> tuple[Reason, ...]:
        """The own ratings that carry the score of an item, named by title or identifier; the strongest first."""
        return self.scorer().explain(history, item)

    def recommend_many(
        self,
        histories: Ratings,
        k: int = 10,
        *,
        exclude: Iterable[str] | None = None,
        only: Iterable[str] | None = None,
        engine: Literal["numba", "torch"] = "numba",
    ) -> "pl.DataFrame":
        """The ``k`` best new items of every user, as a table.

        Parameters
        ----------
        histories
            What is known of the users; these items are left out.
        k
            How many each.
        exclude, only
            Items that are recommended to nobody, and the only ones that are, by identifier or title.
        engine
            What ranks: ``numba``, or ``torch``, on a GPU where there is one, if the model can; the lists are the same.

        Returns
        -------
        polars.DataFrame
            Columns user, rank (from 1), item, title and score; users in the order of the histories, best first. A user
            who has rated nearly everything has fewer than ``k`` rows.

        Examples
        --------
        >>> import discreet as dc
        >>> ratings = dc.synthetic(users=50, items=40, ratings=600, seed=1)
        >>> table = dc.Cosine().fit(dc.NoPrivacy(ratings)).recommend_many(ratings, k=3)
        >>> table.columns, table.height
        (['user', 'rank', 'item', 'title', 'score'], 150)
        """
        return self.scorer().recommend_many(histories, k, exclude=exclude, only=only, engine=engine)

    def save(self, folder: str | Path, *, sign: "SigningKey | str | Path | None" = None, replace: bool = False) -> None:
        """Write the release into a folder, whole or not at all; a release that is there is kept, unless ``replace``.

        ``sign`` is a key, or its file (``discreet keys``): its signature of the card is then written beside the card.
        """
        from discreet.releases.storage import save

        if isinstance(sign, str | Path):
            from discreet.privacy.signing import SigningKey

            sign = SigningKey.read(sign)
        require(sign is None or hasattr(sign, "sign"), f"sign must be a key, or its file, got {type(sign).__name__}")
        save(self, Path(folder), sign, replace=replace)

    @staticmethod
    def load(
        folder: str | Path, *, key: "PublicKey | str | Path | None" = None, model: "type[Model] | None" = None
    ) -> "Release":
        """Read a release that :meth:`save` wrote; checks version, names, shapes, types and checksum.

        What it promises is recomputed from its ledger, and a signature must fit. ``key`` is a public key, or its file:
        a release that this very key did not sign is refused. ``model`` is the class of a model that is not Discreet's.
        """
        from discreet.releases.places import settle
        from discreet.releases.storage import load

        if isinstance(key, str | Path):
            with library_for("checking a signature"):
                from discreet.privacy.signing import PublicKey

            key = PublicKey.read(key)
        require(model is None or isinstance(model, type), "model must be the class of a model")
        settle(folder)  # what a killed process left there
        release = load(Path(folder), key, () if model is None else (model,))
        if model is not None and type(release.model) is not model:
            raise ReleaseError(f"{folder} holds a model {type(release.model).__name__}, not {model.__name__}")
        return release


def shape_of(array: AnyArray) -> str:
    """The shape of an array in words.

    >>> import numpy as np
    >>> shape_of(np.zeros((1000, 40)))
    '1,000 by 40'
    """
    return " by ".join(f"{size:,}" for size in array.shape) or "1"
