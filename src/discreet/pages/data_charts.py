"""Pictures of ratings: how often items are rated, and how often each value was given."""

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import require
from discreet.pages.drawing import HALF, Picture, altair, needs_altair, plot, scaled, styled
from discreet.pages.style import INK, PALE, SERIES


@needs_altair
def popularity_chart(ratings: Ratings, most: int = 300) -> Picture:
    """How often items are rated, most rated first: the long tail.

    >>> import discreet as dc
    >>> popularity_chart(dc.synthetic(users=50, items=30, ratings=600, seed=1)).name
    'popularity'
    """
    alt = altair()
    counts = np.sort(np.bincount(ratings.item_index, minlength=ratings.n_items))[::-1]
    counts = counts[counts > 0]
    require(len(counts) > 0, "there are no ratings to draw")
    head = max(1, round(0.1 * len(counts)))
    share = counts[:head].sum() / counts.sum()
    ranks = np.unique(np.append(np.linspace(0, len(counts) - 1, min(most, len(counts))).astype(int), [0, head - 1]))
    values = [{"rank": int(rank) + 1, "ratings": int(counts[rank]), "head": bool(rank < head)} for rank in ranks]
    base = plot(values).encode(
        x=scaled(alt.X, "rank:Q", [1, len(counts)], title="items, most rated first", format=",d", tickCount=6),
        y=alt.Y("ratings:Q", axis=alt.Axis(title="ratings", format=",d", tickCount=5)),
    )
    tail = base.mark_area(color=PALE, opacity=1, interpolate="monotone")
    top = base.transform_filter(alt.datum.rank <= head).mark_area(color=SERIES[0], opacity=0.9, interpolate="monotone")
    note = (
        plot([{"rank": head, "ratings": int(counts[0]) * 0.72, "text": f"{share:.0%} of all ratings"}])
        .mark_text(align="left", dx=10, fontSize=14, fontWeight=600, color=INK)
        .encode(x="rank:Q", y="ratings:Q", text="text:N")
    )
    return Picture(
        name="popularity",
        title=f"One item in ten gets {share:.0%} of the ratings",
        caption=f"Ratings of each item, most rated first. The coloured head is the most rated tenth of the "
        f"{len(counts):,} items that anybody rated.",
        alt=f"Area chart of ratings by item. The most rated item has {counts[0]:,} ratings, the middle one "
        f"{counts[len(counts) // 2]:,}; the top tenth holds {share:.0%} of all.",
        chart=styled(alt.layer(tail, top, note).properties(width=HALF, height=230)),
    )


@needs_altair
def values_chart(ratings: Ratings) -> Picture:
    """How often each rating was given."""
    alt = altair()
    given, counts = np.unique(ratings.values, return_counts=True)
    require(len(given) > 0, "there are no ratings to draw")
    if len(given) > 20:  # a continuous scale: twenty bins
        counts, edges = np.histogram(ratings.values, bins=20)
        given = (edges[:-1] + edges[1:]) / 2
    shares = counts / counts.sum()
    most = int(np.argmax(counts))
    values = [
        {"value": f"{value:.3g}", "share": float(share), "top": place == most, "text": f"{share:.0%}"}
        for place, (value, share) in enumerate(zip(given, shares, strict=True))
    ]
    base = plot(values).encode(
        x=alt.X("value:N", sort=None, axis=alt.Axis(title="rating given", labelAngle=0, labelFontSize=13)),
        y=alt.Y("share:Q", axis=None),
    )
    bars = base.mark_bar(cornerRadiusTopLeft=4, cornerRadiusTopRight=4).encode(
        color=alt.condition("datum.top", alt.value(SERIES[0]), alt.value(PALE))
    )
    text = base.mark_text(dy=-9, fontSize=12, fontWeight=600, color=INK).encode(text="text:N")
    return Picture(
        name="ratings",
        title=f"The most common rating is {given[most]:.3g}",
        caption=f"Share of each value among all ratings; their mean is {float(ratings.values.mean()):.2f}.",
        alt="Bar chart of ratings given: "
        + ", ".join(f"{value:.3g}: {share:.0%}" for value, share in zip(given, shares, strict=True)),
        chart=styled(alt.layer(bars, text).properties(width=HALF, height=230)),
    )
