"""What an almanac plans on MovieLens 100K: a line for each purpose, unit and epsilon, and a picture of J over shares.

    python benchmarks/plan.py                                       # the lines
    python benchmarks/plan.py --picture docs/pictures/plan.png      # J by the share that pairs of items get, for both

A plan follows from noisy answers, so the last digit changes from run to run.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.models.almanac.planner import PURPOSES, Plan, Planner

EPSILONS = (0.1, 1.0, 5.0, 10.0)


class Recorded:
    """Every plan that a fit had the choice of."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []

    def of(self, ratings: dc.Ratings, purpose: Any, unit: Any, epsilon: float) -> tuple[Plan, list[Plan]]:
        """The plan that was followed, and all of them."""
        every = Planner.plans

        def recorded(planner: Planner, *asked: Any) -> Iterator[Plan]:
            self.plans = list(every(planner, *asked))
            return iter(self.plans)

        Planner.plans = recorded  # type: ignore[method-assign]
        try:
            dc.Almanac(purpose=purpose).fit(dc.Terms(epsilon=epsilon, unit=unit, delta=1e-6).population(ratings))
        finally:
            Planner.plans = every  # type: ignore[method-assign]
        return min(self.plans, key=lambda plan: plan.expected), self.plans


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--picture", type=Path)
    picture = options.parse_args().picture
    ratings, rows = dc.load("ml-100k"), []
    for purpose in PURPOSES:
        for unit in ("user", "rating"):
            for epsilon in EPSILONS:
                plan, plans = Recorded().of(ratings, purpose, unit, epsilon)
                print(f"{purpose:<8} {unit:<6} epsilon {epsilon:<4g} {plan}")
                if purpose == "both" and unit == "user":
                    rows += least_by_share(plans, epsilon)
    if picture is not None:
        draw(rows, picture)
    return 0


def least_by_share(plans: list[Plan], epsilon: float) -> list[dict[str, float]]:
    """For each share of pairs the least J, and how far it is above the least of all."""
    least: dict[float, float] = {}
    for plan in plans:
        share = round(plan.counts + plan.products, 6)
        least[share] = min(least.get(share, plan.expected), plan.expected)
    best = min(least.values())
    return [{"epsilon": epsilon, "share": share, "nats": value - best} for share, value in sorted(least.items())]


def draw(rows: list[dict[str, float]], path: Path) -> None:
    import altair

    lines = (
        altair.Chart(altair.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=altair.X("share:Q", title="share of the budget that pairs of items get"),
            y=altair.Y("nats:Q", title="J above the best plan, nats per held-out rating"),
            color=altair.Color("epsilon:O", title="epsilon"),
        )
    )
    lines.properties(width=520, height=300).save(str(path), scale_factor=2)


if __name__ == "__main__":
    raise SystemExit(main())
