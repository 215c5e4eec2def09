"""A release as the prior of another: its items matched by identifier or title, its guarantee put into a sentence.

Items are matched by identifier where most identifiers that both know also have the same title; else (another shop
numbers otherwise) by title, letter case and punctuation aside. Titles that several items share are left out.
"""

import re
from collections import Counter
from dataclasses import replace
from typing import Any, overload

import numpy as np

from discreet.data.catalogue import Catalogue
from discreet.data.parts import RatingsInParts
from discreet.data.prior import ItemPrior
from discreet.data.ratings import Ratings
from discreet.errors import InputError, require, require_type
from discreet.privacy.guarantee import Guarantee
from discreet.releases.release import Release
from discreet.types import AnyArray, Indices

AS_PRIORS = "Other releases were used as a prior: "
ALONE = ". What is promised here is about this fit alone"
UNPROVEN = "without a proven guarantee"
_SEVERAL = re.compile(r"(.*) \((\d+) times\)")
_OTHER = re.compile(r"[\W_]+")


@overload
def with_prior(ratings: Ratings, release: Release) -> Ratings: ...
@overload
def with_prior(ratings: RatingsInParts, release: Release) -> RatingsInParts: ...
def with_prior(ratings: Ratings | RatingsInParts, release: Release) -> Ratings | RatingsInParts:
    """The same ratings, with what another release says of their items as a prior for models that take one.

    Parameters
    ----------
    ratings
        What a model is to be fitted on.
    release
        Of public data, of last month, of another shop. How far it is believed is estimated from noisy sums.

    Examples
    --------
    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=200, items=100, ratings=5000, seed=1)
    >>> before = dc.Almanac().fit(dc.NoPrivacy(ratings))
    >>> ledger = dc.Ledger(0.1, 1e-6, dc.User())
    >>> release = dc.Almanac().fit(dc.TrustedServer(with_prior(ratings, before), ledger))
    >>> release.guarantee.proven.epsilon <= 0.1, "as a prior" in str(release.guarantee)
    (True, True)
    """
    require_type(release, Release, "a prior is a release: load one with Release.load(folder)")
    release.require_unchanged("it is no prior")
    prior = prior_of(release, ratings.catalogue)
    catalogue = replace(ratings.catalogue, prior=prior)
    handling = replace(ratings.handling, prior=prior.sentence)
    if isinstance(ratings, RatingsInParts):
        return ratings._with(catalogue=catalogue, handling=handling)
    return replace(ratings, catalogue=catalogue, handling=handling)


def check_takes_prior(model: Any) -> None:
    """Raise where a prior says nothing: to models but Almanac (None is for a rule)."""
    takes = model is None or getattr(model, "takes_prior", False)
    require(takes, f"{type(model).__name__} makes nothing of a prior: take almanac, or leave it out")


def prior_of(release: Release, catalogue: Catalogue) -> ItemPrior:
    """What a release says of the items of a catalogue."""
    here, there = matches(catalogue, release.catalogue)
    if len(here) == 0:
        raise InputError("the prior knows none of these items, neither by identifier nor by title: leave it out")
    arrays, size = release.arrays, len(catalogue)
    if "counts" not in arrays:
        raise InputError(f"{type(release.model).__name__} releases no counts of items: take a release of Almanac")
    ratio = catalogue.scale.width / release.catalogue.scale.width

    def placed(column: AnyArray) -> AnyArray:
        own = np.zeros((size, *column.shape[1:]), dtype=column.dtype)
        own[here] = column[there]
        return own

    matched = np.zeros(size, dtype=np.bool_)
    matched[here] = True
    base = None
    if "item_bias" in arrays and not (catalogue.scale.implicit or release.catalogue.scale.implicit):
        expected = (arrays["mean"][0] + arrays["item_bias"] - release.catalogue.scale.low) * ratio
        base = placed((catalogue.scale.low + expected).astype(np.float32))
    none = np.zeros((len(release.catalogue), 0), dtype=np.float32)
    same = "noisy_sums" in arrays and catalogue.scale == release.catalogue.scale
    return ItemPrior(
        matched=matched,
        counts=placed(np.maximum(arrays["counts"], 0)),
        base=base,
        factors=placed(arrays.get("item_factors", none) * np.float32(ratio)),
        tastes=placed(arrays.get("taste_factors", none)),
        sums=placed(arrays["noisy_sums"].T.astype(np.float64)).T if same else None,
        sums_noise=placed(arrays["sums_noise"].T.astype(np.float64)).T if same else None,
        sums_kind=arrays["sums_kind"] if same else None,
        prior_scales=arrays.get("prior_scales"),
        sentence=sentence_about(release),
    )


def sentence_about(release: Release) -> str:
    """What the guarantee of a fit has to say about its prior, and about the priors of that.

    >>> from discreet.privacy.guarantee import Guarantee
    >>> sorted(_listed(Guarantee(reason="", notes=(f"{AS_PRIORS}A; B (3 times){ALONE}; more.",))).items())
    [('A', 1), ('B', 3)]
    """
    guarantee = release.guarantee
    promised = UNPROVEN if guarantee.proven is None else f"{guarantee.proven}, for {guarantee.unit}"
    all_of_them = Counter([f"{type(release.model).__name__}, {promised}"])
    all_of_them.update(_listed(guarantee))
    listed = "; ".join(name if often == 1 else f"{name} ({often} times)" for name, often in all_of_them.items())
    if any(name.endswith(UNPROVEN) for name in all_of_them):
        return f"{AS_PRIORS}{listed}{ALONE}, and says nothing to those whose ratings went into what has no guarantee."
    return (
        f"{AS_PRIORS}{listed}{ALONE}. Whoever's ratings went into several has spent them all: their ledgers compose, "
        "as they do in a budget that books them on one account."
    )


def unproven_priors(release: Release) -> bool:
    """Whether a release promises nothing, or one that went into it did not."""
    behind = any(name.endswith(UNPROVEN) for name in _listed(release.guarantee))
    return release.guarantee.proven is None or behind


def _listed(guarantee: Guarantee) -> Counter[str]:
    """The releases that a guarantee names as priors, and how often."""
    found: Counter[str] = Counter()
    for note in guarantee.notes:
        if note.startswith(AS_PRIORS):
            for name in note.removeprefix(AS_PRIORS).split(ALONE)[0].split("; "):
                several = _SEVERAL.fullmatch(name)
                found[several[1] if several else name] += int(several[2]) if several else 1
    return found


def matches(catalogue: Catalogue, other: Catalogue) -> tuple[Indices, Indices]:
    """Positions of the same items in two catalogues.

    >>> from discreet.data.catalogue import Scale
    >>> ours = Catalogue.of(["1", "2"], Scale(1, 5), titles=["Toy Story (1995)", "Heat (1995)"])
    >>> theirs = Catalogue.of(["2", "7"], Scale(1, 5), titles=["Jumanji (1995)", "HEAT (1995)"])
    >>> [place.tolist() for place in matches(ours, theirs)]
    [[1], [1]]
    """
    titles, others = ([_plain(title) for title in known.titles.tolist()] for known in (catalogue, other))
    ids = {name: place for place, name in enumerate(other.items)}
    both = [(place, ids[name]) for place, name in enumerate(catalogue.items) if name in ids]
    agree = sum(titles[place] == others[there] for place, there in both)
    nameless = catalogue.titles.equals(catalogue.items.names) or other.titles.equals(other.items.names)
    if not (both and (nameless or 2 * agree > len(both))):
        once, known = Counter(titles), Counter(others)
        by_title = {title: there for there, title in enumerate(others) if known[title] == 1}
        both = [
            (place, by_title[title]) for place, title in enumerate(titles) if once[title] == 1 and title in by_title
        ]
    pairs = np.array(both, dtype=np.int32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _plain(title: str) -> str:
    return _OTHER.sub(" ", title.casefold()).strip()
