"""The paper's claims, and our own questions. What "much" or "approximately" means it does not say: the limits are ours.

Every claim is judged in all readings; the errors of Fig. 3 and 5 are shares of small errors, so more is better.
"""

from collections.abc import Callable, Sequence

import numpy as np

from discreet.papers.frame import judges
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.claims import Claim, RunOn, Seen
from discreet.papers.frame.judges import Finding
from discreet.papers.frame.outcome import Line, with_half_width
from discreet.papers.personalised.experiment import DP, GROUPS, PMF, SWEPT, personal, within

MUCH = 0.10
"""Less than so much less is not much less: it is close."""
LINEAR = 0.10
"""A line is about straight if it is nowhere further from the best straight one than this share of its range."""
AROUND = 0.25
"""Within this share of a number counts as around it."""
SMALL = 0.10
"""A share of this size counts as slight and quite small."""
FLAT = 0.02
"""Within this share of the last counts as flat."""
SLACK = 0.002
"""RMSE, or a share, that may go the wrong way between two neighbouring settings, beside what chance explains."""
USUAL = 0.96
"""RMSE that plain PMF reaches on MovieLens 100K with the published constants."""
BEST, FAR, GAP = 0.7, 1.0, 0.022
"""Of Fig. 5: the best threshold, the liberal one, and what is between them."""
BEYOND = 0.4
"""From this threshold on little changes."""
LARGE = ("ml-1m", "netflix")
RUN_ON = (
    RunOn(name="ml-100k", sizes="100 thousand ratings of 1,682 movies by 943 users", test="tenfold cross-validation"),
    RunOn(
        name="ml-1m",
        sizes="1 million ratings of 4,000 movies by 6,000 users",
        test="tenfold cross-validation",
        clash="the data have 6,040 users and 3,706 rated movies: rounded",
    ),
    RunOn(
        name="netflix",
        sizes="1.5 million ratings of 16,907 movies by 7,128 users, drawn at random",
        test="tenfold cross-validation",
        clash="how they were drawn is not said",
    ),
)


def claims(grid: Grid) -> Sequence[Claim]:
    """In the order of the figures."""
    by_share = [personal(share) for share in grid["conservative"]]
    groups = [personal(share) for share in GROUPS]
    by_middle = {share: [personal(share, middle) for middle in grid["middle"]] for share in GROUPS}
    swept = [Case("PDP-PMF", **SWEPT, threshold=threshold) for threshold in grid["threshold"]]
    sizes = [size for size in (1.0, 1.5, 2.0) if size in grid["error"]]

    def all_groups(judge: Callable[[Line], Finding]) -> Callable[[Seen], Finding]:
        def judged(seen: Seen) -> Finding:
            lines = {f"f_c {share:g}": seen(cases) for share, cases in by_middle.items()}
            return judges.all_of({name: judge(line) for name, line in lines.items()}, "groups")

        return judged

    def much_below(seen: Seen, cases: Sequence[Case]) -> Finding:
        """Every mean is less than that of DP-PMF by more than what is close."""
        (other,), line = seen([DP]), seen(cases)
        shares = [1 - float(np.mean(one.values / other.values)) for one in line]
        count = sum(share > MUCH for share in shares)
        return Finding(
            count == len(line),
            f"less by {min(shares):.1%} to {max(shares):.1%}, by more than {MUCH:.0%} in {count} of {len(line)}",
        )

    def in_order(seen: Seen) -> Finding:
        """At every size of an error, more conservative ratings leave fewer errors below it."""
        found = {
            f"{size:g}": judges.falls([one for case in groups[::-1] for one in seen([within(case, size)])], slack=SLACK)
            for size in grid["error"]
        }
        return judges.all_of(found, "sizes of errors")

    def below_one(seen: Seen) -> Finding:
        line = seen([within(case, 1.0) for case in groups])
        return Finding(all(one.mean >= 0.7 for one in line), ", ".join(f"{one.mean:.1%}" for one in line))

    def overlap(seen: Seen) -> Finding:
        lines = [[one.mean for one in seen([within(case, size) for case in groups])] for size in grid["error"]]
        gaps = [max(means) - min(means) for means in lines]
        return Finding(max(gaps) <= FLAT, f"curves lie up to {max(gaps):.3f} apart, and {FLAT:g} is the limit")

    def share_line(seen: Seen, size: float, least: float = 0.0) -> Line:
        return seen([within(case, size) for case in swept if case["threshold"] >= least])

    def quite_small(seen: Seen) -> Finding:
        spread = {f"{size:g}": [one.mean for one in share_line(seen, size, BEYOND)] for size in sizes}
        worst = max(max(means) / min(means) - 1 for means in spread.values())
        return Finding(worst <= SMALL, f"shares of errors vary by up to {worst:.1%}, and {SMALL:.0%} is the limit")

    def best_threshold(seen: Seen) -> Finding:
        best = max(share_line(seen, 1.0), key=lambda one: one.mean)
        place = best.case["threshold"]
        return Finding(abs(place / BEST - 1) <= AROUND, f"most errors are up to 1 at {place:g} ({best.mean:.1%})")

    def liberal_gap(seen: Seen) -> Finding | None:
        gaps = {}
        for size in sizes:
            ends = [seen([within(Case("PDP-PMF", **SWEPT, threshold=place), size)]) for place in (BEST, FAR)]
            if not all(ends):
                return None
            gaps[size] = with_half_width(ends[0][0].values - ends[1][0].values)[0]
        near = all(abs(gap / GAP - 1) <= AROUND for gap in gaps.values())
        listed = ", ".join(f"{100 * gap:+.1f} points up to {size:g}" for size, gap in gaps.items())
        return Finding(near, f"{listed}; {100 * GAP:g} points give or take {AROUND:.0%} is around it")

    def around_one(seen: Seen) -> Finding:
        line = seen(by_share)
        return Finding(all(abs(one.mean - 1) <= AROUND for one in line), ", ".join(map(str, line)))

    def tends(seen: Seen) -> Finding:
        ends = [seen(cases)[-1].mean for cases in by_middle.values()]
        return Finding(all(0.94 <= end <= 0.97 for end in ends), f"{min(ends):.3f} to {max(ends):.3f} at the end")

    def last_flat(seen: Seen) -> Finding:
        return judges.flat(seen(by_middle[GROUPS[-1]]), over="middle", beyond=grid["middle"][0], within=FLAT)

    def beats(reading: str) -> Callable[[Seen], Finding]:
        return lambda seen: judges.better(seen([DP]), seen([PMF if reading == "mean" else DP], reading))

    at2, at3, at4, at5 = "6.2, Fig. 2", "6.2, Fig. 3", "6.2, Fig. 4", "6.2, Fig. 5"
    return [
        Claim(
            2,
            "RMSE of PDP-PMF rises with the share of conservative ratings",
            lambda seen: judges.rises(seen(by_share), slack=SLACK),
            at=at2,
        ),
        Claim(2, "it rises about linearly", lambda seen: straight(seen(by_share), "conservative"), at=at2),
        Claim(
            2,
            "it is much smaller than that of DP-PMF, whatever the share",
            lambda seen: much_below(seen, by_share),
            at=at2,
        ),
        Claim(
            2,
            "PDP-PMF outperforms DP-PMF",
            lambda seen: judges.better(seen(by_share), seen([DP] * len(by_share))),
            at="6.2; 7",
        ),
        Claim(2, "RMSE of PDP-PMF is always around 1.0", around_one, data=LARGE, at="6.2, Fig. 2(b), (c)"),
        Claim(
            2,
            f"PMF without privacy reaches {USUAL:g} with the published constants",
            lambda seen: judges.at_most(seen([PMF])[0], limit=USUAL),
            ours=True,
        ),
        Claim(2, "DP-PMF is more accurate than always saying the mean", beats("mean"), ours=True),
        Claim(
            2,
            "DP-PMF is more accurate than averages with a proven epsilon of .1 (`bias`)",
            beats("bias"),
            ours=True,
        ),
        Claim(3, "more conservative ratings give worse predictions", in_order, at=at3),
        Claim(3, "70 % of errors are below 1 for all three", below_one, data=LARGE, at="6.2, Fig. 3(b), (c)"),
        Claim(3, "the curves of all three overlap", overlap, data=LARGE, at="6.2, Fig. 3(b), (c)"),
        Claim(
            4,
            "RMSE of PDP-PMF falls as epsilon_m grows",
            all_groups(lambda line: judges.falls(line, slack=SLACK)),
            at=at4,
        ),
        Claim(4, "it falls about linearly", all_groups(lambda line: straight(line, "middle")), at=at4),
        Claim(
            4,
            "it is much smaller than that of DP-PMF, whatever epsilon_m",
            lambda seen: much_below(seen, [case for cases in by_middle.values() for case in cases]),
            at=at4,
        ),
        Claim(4, "RMSE tends to .94 to .97", tends, data=LARGE, at="6.2, Fig. 4(b), (c)"),
        Claim(4, "RMSE of PDP-PMF3 is almost flat", last_flat, data=LARGE, at="6.2, Fig. 4(b), (c)"),
        Claim(5, "the threshold hardly matters above 0.4", quite_small, data=("ml-100k",), at=at5),
        Claim(5, "the best threshold is about 0.70", best_threshold, data=("ml-100k",), at=at5),
        Claim(
            5,
            "a threshold of 0.7 has about 2.2 points more of small errors than 1.0",
            liberal_gap,
            data=("ml-100k",),
            at=at5,
        ),
    ]


def straight(line: Line, over: str) -> Finding:
    """How far a line is from the best straight one, in its own range."""
    x, y = np.array([one.case[over] for one in line]), np.array([one.mean for one in line])
    away = float(np.abs(y - np.polyval(np.polyfit(x, y, 1), x)).max() / max(float(np.ptp(y)), 1e-12))
    return Finding(away <= LINEAR, f"up to {away:.0%} of its range from a straight line, and {LINEAR:.0%} is the limit")
