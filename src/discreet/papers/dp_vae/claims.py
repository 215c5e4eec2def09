"""The paper's claims, and our own questions. What "about" or "sharply" means it does not say: the limits are ours.

NDCG and recall are better when they are higher. A claim about a model is about NDCG@100, Recall@20 and Recall@50, all
three of them, as in the tables.
"""

from collections.abc import Callable, Sequence

import numpy as np

from discreet.papers.dp_vae.experiment import BUILT, METRICS, measured
from discreet.papers.dp_vae.printed import MODELS
from discreet.papers.frame import judges
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.claims import Claim, RunOn, Seen
from discreet.papers.frame.judges import Finding
from discreet.papers.frame.outcome import with_half_width

AROUND = 0.25
"""Within this share of a number counts as around it."""
MUCH = 0.10
"""By so much less is sharply less, and by so much more is much more: less is close."""
SLACK = 0.002
"""What may go the wrong way between two neighbouring settings, beside what chance explains."""
LOST_NDCG, LOST_RECALL = 0.068, 0.16
"""What DP-VAE is said to lose to VAE."""
PRINTED = MODELS["VAE, priors"]
STANDARD = ("KNN", "SVD", "LightFM", "DPMF", "DPAE")
"""All that DP-VAE is compared with but VAE."""
LARGE = ("ml-20m", "netflix")
SPLIT = "examples split 8:1:1"
RUN_ON = (
    RunOn(
        name="ml-100k",
        sizes="100,000 ratings of 1,682 items by 943 users, none left out",
        test=SPLIT,
        clash="the bounds of [3, 1772] ratings a user are not those of the formula, which are [34, 33,707]",
    ),
    RunOn(
        name="ml-20m",
        sizes="20,000,263 ratings of 26,744 items by 138,493 users; 18,723,768 of 11,210 by 96,772 after building",
        test=SPLIT,
        clash="5,384,804 parameters are those of 26,744 items, not of the 11,210 that are left",
    ),
    RunOn(
        name="netflix",
        sizes="70,613,395 ratings of 17,523 items by 311,266 users, drawn at random; 69,511,359 of 17,509 by 279,128 "
        "after building",
        test=SPLIT,
        clash="3,587,070 parameters are those of 17,770 items",
    ),
)


def three(method: str, **settings: float) -> list[Case]:
    """The three metrics of the tables."""
    return [measured(method, kind, rank, **settings) for kind, rank in METRICS]


def higher(seen: Seen, one: Sequence[Case], other: Sequence[Case], by: float = 0.0) -> Finding | None:
    """Every number of one method is above that of another; None where one was not run."""
    above, below = seen(one), seen(other)
    if len(above) < len(one) or len(below) < len(other):
        return None
    return judges.better(below, above, by=by)


def improves(seen: Seen, one: Sequence[Case], other: Sequence[Case]) -> Finding | None:
    """No number of one method is below that of another by more than chance and slack, and some is above by more."""
    above, below = seen(one), seen(other)
    if len(above) < len(one) or len(below) < len(other):
        return None
    gaps = [with_half_width(high.values - low.values) for high, low in zip(above, below, strict=True)]
    holds = all(gap >= -chance - SLACK for gap, chance in gaps) and any(gap > chance + SLACK for gap, chance in gaps)
    listed = ", ".join(f"{gap:+.3f} ± {chance:.3f}" for gap, chance in gaps)
    return Finding(holds, f"{listed}; one must be above chance and {SLACK:g}, and none as far below")


def over_all(seen: Seen, one: Sequence[Case], others: dict[str, list[Case]], what: str) -> Finding | None:
    """Above all of these methods."""
    found = {name: higher(seen, one, cases) for name, cases in others.items()}
    run = {name: finding for name, finding in found.items() if finding is not None}
    return judges.all_of(run, what) if run else None


def lost(seen: Seen, one: Sequence[Case], other: Sequence[Case], share: float) -> Finding | None:
    """One method is below another by around a share."""
    below, above = seen(one), seen(other)
    if len(below) < len(one) or len(above) < len(other):
        return None
    gaps = [1 - float(np.mean(low.values / high.values)) for low, high in zip(below, above, strict=True)]
    near = all(abs(gap / share - 1) <= AROUND for gap in gaps)
    listed = ", ".join(f"{gap:.1%}" for gap in gaps)
    return Finding(near, f"lower by {listed}; {share:.1%} give or take {AROUND:.0%} is around it")


def much_above(seen: Seen, one: Sequence[Case], others: Sequence[str]) -> Finding | None:
    """Above the best of several methods by more than what is close, and than chance, in all three metrics."""
    line = seen(one)
    rivals = [found for name in others if len(found := seen(three(name))) == len(one)]
    if len(line) < len(one) or not rivals:
        return None
    best = [max((found[place] for found in rivals), key=lambda found: found.mean) for place in range(len(one))]
    gaps = [with_half_width(own.values - other.values) for own, other in zip(line, best, strict=True)]
    gains = [own.mean / other.mean - 1 for own, other in zip(line, best, strict=True)]
    certain = all(gap > chance for gap, chance in gaps)
    return Finding(
        certain and min(gains) > MUCH,
        f"{min(gains):+.1%} to {max(gains):+.1%} of the best, more than {MUCH:.0%} is much",
    )


def sharply_below(seen: Seen, one: Sequence[Case], other: Sequence[Case]) -> Finding | None:
    """Below by more than what is close."""
    below, above = seen(one), seen(other)
    if len(below) < len(one) or len(above) < len(other):
        return None
    gaps = [with_half_width(high.values - low.values) for low, high in zip(below, above, strict=True)]
    certain = all(gap > chance for gap, chance in gaps)
    drops = [1 - low.mean / high.mean for low, high in zip(below, above, strict=True)]
    return Finding(
        certain and min(drops) > MUCH,
        ", ".join(f"{-drop:+.1%}" for drop in drops) + f"; sharply: by more than {MUCH:.0%}, and than chance",
    )


def claims(grid: Grid) -> Sequence[Claim]:
    """In the order of the tables."""
    best = three("DP-VAE")
    levels = grid["epsilon"]
    ranks = grid["rank"]

    def recalls(method: str) -> list[Case]:
        return [measured(method, "recall", rank) for rank in ranks]

    def first(seen: Seen) -> Finding | None:
        own = [measured("DP-VAE", "ndcg", ranks[0])]
        others = {name: higher(seen, [measured(name, "ndcg", ranks[0])], own) for name in ("KNN", "SVD")}
        run = {name: finding for name, finding in others.items() if finding is not None}
        return judges.all_of(run, "models") if run else None

    def degrade(seen: Seen) -> Finding | None:
        ends = {
            name: sharply_below(seen, [measured(name, "ndcg", ranks[-1])], [measured(name, "ndcg", ranks[0])])
            for name in ("KNN", "SVD")
        }
        run = {name: finding for name, finding in ends.items() if finding is not None}
        return judges.all_of(run, "models") if run else None

    def trade_off(seen: Seen) -> Finding | None:
        found = {}
        for kind, rank in METRICS:
            line = seen([measured("DP-VAE", kind, rank, epsilon=level) for level in levels])
            if len(line) < len(levels):
                return None
            gain, chance = with_half_width(line[-1].values - line[0].values)
            holds = judges.rises(line, slack=SLACK).holds and gain > chance + SLACK
            found[f"{kind}@{rank:g}"] = Finding(holds, f"{gain:+.3f}")
        return judges.all_of(found, "metrics")

    def generalises(seen: Seen) -> Finding | None:
        pairs = {"SVD": ("SVD, their clip", "SVD, DP"), "MF": ("MF, their clip", "MF, DP")}
        pairs["AE"] = ("AE, their clip", "DPAE")
        found = {name: higher(seen, three(one), three(other)) for name, (one, other) in pairs.items()}
        run = {name: finding for name, finding in found.items() if finding is not None}
        return judges.all_of(run, "models") if run else None

    def built(seen: Seen) -> Finding | None:
        found = {name: improves(seen, three(name, built=1.0), three(name)) for name in BUILT}
        run = {name: finding for name, finding in found.items() if finding is not None}
        return judges.all_of(run, "models") if run else None

    def as_printed(seen: Seen) -> Finding:
        line = seen(three("VAE, priors")[1:])
        near = all(abs(found.mean / number - 1) <= AROUND for found, number in zip(line, PRINTED[1:], strict=True))
        listed = " and ".join(f"{found.mean:.3f}" for found in line)
        return Finding(near, f"{listed}; {PRINTED[1]:g} and {PRINTED[2]:g} give or take {AROUND:.0%} is near")

    def reversed_order(seen: Seen) -> Finding:
        at_20, at_50 = seen(three("VAE, priors")[1:])
        return Finding(at_20.mean > at_50.mean, f"{at_20.mean:.3f} at 20, {at_50.mean:.3f} at 50")

    def chance(seen: Seen) -> Finding | None:
        return much_above(seen, best, ("random",))

    def asked(one: str, other: str) -> Callable[[Seen], Finding | None]:
        return lambda seen: higher(seen, three(one), three(other))

    def improved(one: str, other: str) -> Callable[[Seen], Finding | None]:
        return lambda seen: improves(seen, three(one), three(other))

    def near_vae(seen: Seen) -> Finding:
        return judges.close(seen(three("VAE, priors")), seen(three("Almanac, proven")), within=MUCH)

    def better_than(others: Sequence[str]) -> Callable[[Seen], Finding | None]:
        return lambda seen: over_all(seen, best, {name: three(name) for name in others}, "models")

    every_reading = ("masked", "training", "unmasked", "users")
    return [
        Claim(5, "data sets as built give better models", built, data=LARGE, at="4.2.1, Table 5"),
        Claim(6, "priors improve DP-VAE", improved("DP-VAE, priors", "DP-VAE, neither"), at="4.2.2, Table 6"),
        Claim(6, "priors improve VAE", improved("VAE, priors", "VAE"), at="4.2.2, Table 6"),
        Claim(
            7,
            "the optimal clipping bound improves DP-VAE",
            improved("DP-VAE, optimal clip", "DP-VAE, neither"),
            at="4.2.3, Table 7",
        ),
        Claim(8, "DP-VAE is better than all models but VAE", better_than(STANDARD), at="4.2.4, Table 8"),
        Claim(
            8,
            "DP-VAE loses about 6.8 % of NDCG@100 to VAE",
            lambda seen: lost(seen, best[:1], three("VAE, priors")[:1], LOST_NDCG),
            data=("ml-100k",),
            at="4.2.4, Table 8",
        ),
        Claim(
            8,
            "its recalls are around 16 % lower",
            lambda seen: lost(seen, best[1:], three("VAE, priors")[1:], LOST_RECALL),
            data=("ml-100k",),
            at="4.2.4, Table 8",
        ),
        Claim(8, "VAE has the printed recalls", as_printed, ours=True, readings=every_reading, at="Table 8"),
        Claim(
            8, "its Recall@20 is above its Recall@50", reversed_order, ours=True, readings=every_reading, at="Table 8"
        ),
        Claim(8, "DP-VAE is much better than a random ranking", chance, ours=True, at="Table 8"),
        Claim(
            8,
            "popularity with a proven epsilon of 1 for whole users is better than DP-VAE",
            asked("popularity, proven", "DP-VAE"),
            ours=True,
            at="Table 8",
        ),
        Claim(
            8,
            "Almanac with a proven epsilon of 1 for whole users is better than DP-VAE",
            asked("Almanac, proven", "DP-VAE"),
            ours=True,
            at="Table 8",
        ),
        Claim(8, "it is close to the paper's VAE, which has no privacy", near_vae, ours=True, at="Table 8"),
        Claim(
            8,
            "the same network is better trained with Adam than by the paper's steps",
            asked("Mult-VAE, Adam", "VAE"),
            ours=True,
            at="Table 8",
        ),
        Claim(8, "EASE is better than that", asked("EASE", "Mult-VAE, Adam"), ours=True, at="Table 8"),
        Claim(
            9,
            "both improvements together are better than neither",
            improved("DP-VAE", "DP-VAE, neither"),
            data=LARGE,
            at="4.2.4, Table 9",
        ),
        Claim(
            3,
            "Recall@R of DP-VAE is above all but VAE's, whatever R",
            lambda seen: over_all(seen, recalls("DP-VAE"), {name: recalls(name) for name in STANDARD}, "models"),
            at="4.2.4, Fig. 3",
        ),
        Claim(3, "KNN and SVD are better than DP-VAE in NDCG@10", first, data=("ml-100k",), at="4.2.4, Fig. 3(a)"),
        Claim(3, "their NDCG falls sharply as R grows", degrade, data=("ml-100k",), at="4.2.4, Fig. 3(a)"),
        Claim(10, "a larger epsilon gives a better model", trade_off, data=("ml-100k",), at="4.2.5, Table 10"),
        Claim(
            10,
            "at an epsilon of 0.5 DP-VAE is much better than all models but VAE",
            lambda seen: much_above(seen, three("DP-VAE", epsilon=0.5), STANDARD),
            data=("ml-100k",),
            at="4.2.5, Table 10",
        ),
        Claim(
            10,
            "at 0.3 its recalls are sharply lower than at 0.5",
            lambda seen: sharply_below(seen, three("DP-VAE", epsilon=0.3)[1:], three("DP-VAE", epsilon=0.5)[1:]),
            data=("ml-100k",),
            at="4.2.5, Table 10",
        ),
        Claim(
            11,
            "their clipping is better than plain DP-SGD for SVD, MF and the autoencoder",
            generalises,
            data=("ml-100k",),
            at="4.2.6, Table 11",
        ),
    ]
