"""Pictures of an audit: the two distributions that should look alike, and the bound beside what is promised."""

from typing import Any

import numpy as np

from discreet.audit.results import Audit
from discreet.pages.drawing import NARROW, NARROW_DOTS, WIDTH, Picture, altair, needs_altair, plot, scaled, styled
from discreet.pages.style import INK, LINE, QUIET, SERIES

BINS = 48
ABSENT, PRESENT = "without the canary", "with the canary"


def pictures_of_audit(audit: Audit) -> list[Picture]:
    """All pictures of an audit.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> audit = dc.audit.audit_by_runs(dc.Popularity(), ratings, dc.Terms(epsilon=1.0), runs=100)
    >>> [picture.name for picture in pictures_of_audit(audit)]
    ['audit', 'audit-epsilon']
    """
    return [distributions_chart(audit), epsilon_chart(audit)]


@needs_altair
def distributions_chart(audit: Audit) -> Picture:
    """How the scores of the attack fall without and with the canary, as two outlines."""
    alt = altair()
    low, high = _range(audit)
    edges = np.linspace(low, high, BINS + 1)
    values, middles = [], (edges[:-1] + edges[1:]) / 2
    tallest = 0.0
    for name, scores in ((ABSENT, audit.absent), (PRESENT, audit.present)):
        counts, _ = np.histogram(np.clip(scores, low, high), bins=edges)
        shares = counts / max(1, counts.sum())
        tallest = max(tallest, float(shares.max()))
        values += [
            {"side": name, "score": float(middle), "share": float(share)}
            for middle, share in zip(middles, shares, strict=True)
        ]
    top = 1.16 * tallest or 1.0  # room for words above
    what = "runs" if audit.method == "runs" else "canaries"
    y = scaled(alt.Y, "share:Q", [0, top], title=f"share of {what}", format=".0%", tickCount=4).stack(None)

    def draw(width: int, title: str, line_at: str) -> Any:
        base = plot(values).encode(
            x=scaled(alt.X, "score:Q", [low, high], title=title, tickCount=7, grid=False),
            y=y,
            color=alt.Color(
                "side:N",
                scale=alt.Scale(domain=[ABSENT, PRESENT], range=[SERIES[0], SERIES[1]]),
                legend=alt.Legend(title=None, orient="top", symbolType="circle", direction="horizontal"),
            ),
        )
        area = base.mark_area(interpolate="step", opacity=0.28)
        line = base.mark_line(interpolate="step", strokeWidth=1.8)
        layers = [area, line]
        if audit.threshold is not None and low < audit.threshold < high:
            cut = plot([{"score": audit.threshold, "share": 1.1 * tallest, "text": line_at}])
            layers.append(cut.mark_rule(color=QUIET, strokeDash=[4, 4]).encode(x="score:Q"))
            right = audit.threshold < (low + high) / 2
            layers.append(
                cut.mark_text(align="left" if right else "right", dx=8 if right else -8, fontSize=12, color=INK).encode(
                    x="score:Q", y="share:Q", text="text:N"
                )
            )
        return styled(alt.layer(*layers).properties(width=width, height=240))

    return Picture(
        name="audit",
        title=f"{audit.model}: {_headline(audit)}",
        caption=f"{_counted(audit)}. The more the two outlines look alike, the less a release tells. "
        f"Canary: {audit.canary}. Attack: {audit.attack}.",
        alt=f"Two distributions of scores. Without the canary their middle is {_median(audit.absent)}, with it "
        f"{_median(audit.present)}. {audit}",
        chart=draw(
            WIDTH, "score of the attack: further right speaks for the canary", "where the attack draws the line"
        ),
        wide=True,
        narrow=draw(NARROW, "score: further right speaks for it", "the attack's line"),
    )


@needs_altair
def epsilon_chart(audit: Audit) -> Picture:
    """What was measured, proven and allowed, on one axis of epsilon."""
    alt = altair()
    rows = [("measured, at least", audit.epsilon_low, SERIES[1])]
    if audit.epsilon_of_mu is not None:
        rows.append(("measured by mu, at least", audit.epsilon_of_mu, SERIES[1]))
    if audit.proven is not None:
        rows.append(("proven by the ledger", audit.proven.epsilon, SERIES[0]))
    if audit.claimed is not None:
        rows.append(("claimed", audit.claimed.epsilon, SERIES[3]))
    rows.append(("limit", audit.limit.epsilon, QUIET))
    values = [{"what": what, "epsilon": value, "text": f"{value:.3g}", "start": 0.0} for what, value, _ in rows]

    def draw(width: int) -> Any:
        base = plot(values).encode(
            y=alt.Y(
                "what:N",
                sort=None,
                axis=alt.Axis(title=None, labelFontSize=13 if width == WIDTH else 12, domain=False, labelPadding=10),
            ),
            color=alt.Color(
                "what:N",
                scale=alt.Scale(domain=[what for what, _, _ in rows], range=[colour for _, _, colour in rows]),
                legend=None,
            ),
        )
        most = 1.1 * max(value for _, value, _ in rows) or 1.0
        ticks = 6 if width == WIDTH else 3
        x = scaled(alt.X, "epsilon:Q", [0, most], title="epsilon", tickCount=ticks, grid=True, gridColor=LINE)
        layers = [
            base.mark_rule(strokeWidth=5, opacity=0.28, strokeCap="round").encode(x=x, x2="start:Q"),
            base.mark_circle(size=130, opacity=1).encode(x=x),
            base.mark_text(align="left", dx=12, fontSize=12.5, fontWeight=600).encode(
                x=x, text="text:N", color=alt.value(INK)
            ),
        ]
        return styled(alt.layer(*layers).properties(width=width, height=34 * len(rows)))

    return Picture(
        name="audit-epsilon",
        title="What an attack showed, and what is promised",
        caption=f"Measured bounds hold with {audit.confidence:.0%} confidence. A sound mechanism stays below what is "
        "proven; how far below depends on the number of runs as well.",
        alt=", ".join(f"{what}: epsilon {value:.3g}" for what, value, _ in rows),
        chart=draw(WIDTH),
        wide=True,
        narrow=draw(NARROW_DOTS),
    )


def _range(audit: Audit) -> tuple[float, float]:
    """Where nearly all scores lie, so that a few far ones do not squeeze the picture."""
    pooled = np.concatenate([audit.absent, audit.present])
    if len(pooled) == 0:
        return -1.0, 1.0
    low, high = (float(edge) for edge in np.quantile(pooled, [0.002, 0.998]))
    room = 0.04 * (high - low) or 1.0
    return low - room, high + room


def _median(scores: np.ndarray) -> str:
    return f"{float(np.median(scores)):.3g}" if len(scores) else "not known"


def _counted(audit: Audit) -> str:
    if audit.method == "one run":
        return f"One fit with {audit.trials:,} canaries, each there or not by a coin of its own"
    return f"{len(audit.absent):,} of {audit.trials:,} runs on each side, which no choice depended on"


def _headline(audit: Audit) -> str:
    if audit.mu is not None and audit.mu_proven is not None:
        between = f"{audit.mu.low:.2f} to {audit.mu.high:.2f}"
        return f"mu is {audit.mu.estimate:.2f} ({between}), {audit.mu_proven:.2f} is proven"
    proven = "nothing is proven" if audit.proven is None else f"{audit.proven.epsilon:.3g} is proven"
    return f"epsilon is at least {audit.epsilon_low:.2f}, {proven}"
