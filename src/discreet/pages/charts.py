"""Pictures of results: how good each model is, what that costs in time, and how far off predictions are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.errors import InputError, require
from discreet.evaluation.results import Results
from discreet.pages import drawing
from discreet.pages.placing import place_names
from discreet.pages.privacy_charts import is_sweep, privacy_chart
from discreet.pages.style import INK, QUIET
from discreet.pages.words import (
    bars,
    between,
    count_of,
    display_name,
    file_name,
    is_error,
    leading_metrics,
    meaning,
    ordered_rows,
)


def pictures_of(results: Results) -> list[drawing.Picture]:
    """Every picture that the results have the numbers for.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> models = {"bias": dc.Bias(), "plain": dc.Bias(item_damping=0)}
    >>> results = dc.compare(models, ratings, dc.evaluation.Folds(count=2))
    >>> [picture.name for picture in pictures_of(results)]
    ['rmse', 'rmse-and-time', 'errors']
    """
    if is_sweep(results):
        return [privacy_chart(results)]
    return [picture for metric in leading_metrics(results) for picture in pictures_for(results, metric)]


def pictures_for(results: Results, metric: str) -> list[drawing.Picture]:
    """The pictures that belong to one leading metric: itself across the page, then what goes with it."""
    pictures = [metric_chart(results, metric)]
    if sum(metric in row.metrics and row.fit_seconds is not None for row in results.rows) > 1:
        pictures.append(speed_chart(results, metric))
    if "@" not in metric:
        if any(row.cdf for row in results.rows):
            pictures.append(error_chart(results))
    else:
        recall = next((name for name in results.metric_names if name.startswith("recall@") and name != metric), None)
        if recall is not None:
            pictures.append(metric_chart(results, recall, width=drawing.HALF - 100))
    if len(pictures) == 2:  # the last one has no neighbour, so it goes across the page too
        pictures[1] = speed_chart(results, metric, width=drawing.WIDTH) if "time" in pictures[1].name else pictures[1]
    return pictures


@drawing.needs_altair
def metric_chart(results: Results, metric: str, *, width: int = drawing.WIDTH) -> drawing.Picture:
    """A dot and its interval for each model, best first.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> models = {"bias": dc.Bias(), "plain": dc.Bias(item_damping=0)}
    >>> results = dc.compare(models, ratings, dc.evaluation.Folds(count=2))
    >>> metric_chart(results, "mae").title
    'bias comes first by MAE'
    """
    alt = drawing.altair()
    rows, label = ordered_rows(results, metric), display_name(metric)
    if not rows:
        raise InputError(f"no model of the results have the metric {metric!r}")
    order = [row.model for row in rows]
    values = [
        {
            "model": row.model,
            "mean": row.metrics[metric].mean,
            "low": row.metrics[metric].ends[0],
            "high": row.metrics[metric].ends[1],
            "text": f"{row[metric]:.3f}",
            "note": f"{row.model}: {label} {between(row.metrics[metric])}",
        }
        for row in rows
    ]
    low = min(row.metrics[metric].ends[0] for row in rows)
    high = max(row.metrics[metric].ends[1] for row in rows)
    room = 0.06 * max(high - low, 1e-3)
    better = "lower is better" if is_error(metric) else "higher is better"
    scale = alt.Scale(domain=[low - room, high + room], zero=False, nice=False)

    def draw(width: int) -> Any:
        axis = alt.Axis(title=f"{label} ({better})", tickCount=5 if width > drawing.NARROW else 3, grid=True)
        base = drawing.plot(values).encode(
            y=alt.Y("model:N", sort=order, axis=alt.Axis(title=None, labelFontSize=13, domain=False, labelPadding=10)),
            color=_by_model(alt.Color, results, drawing.colours),
        )
        layers = [
            base.mark_rule(strokeWidth=5, opacity=0.28, strokeCap="round").encode(
                x=alt.X("low:Q", axis=axis, scale=scale), x2="high:Q", description="note:N"
            ),
            base.mark_point(filled=True, size=130, opacity=1).encode(
                x=alt.X("mean:Q", scale=scale),
                shape=_by_model(alt.Shape, results, drawing.shapes),
                description="note:N",
            ),
            base.mark_text(align="left", fontSize=12.5, fontWeight=600, color=INK).encode(
                x=alt.value(width + 14), text="text:N", color=alt.value(INK)
            ),
        ]
        return drawing.styled(alt.layer(*layers).properties(width=width, height=max(60, 34 * len(rows))))

    best, drawn = rows[0], bars(results, [metric])
    return drawing.Picture(
        name=file_name(metric),
        title=f"{best.model} comes first by {label}" if len(rows) > 1 else f"{label} of {best.model}",
        caption=f"{meaning(metric)} {f'{drawn}; {better}' if drawn else better.capitalize()}.",
        alt=f"{label} of {count_of(len(rows), 'model')}, best first: "
        + ", ".join(f"{row.model} {row[metric]:.3f}" for row in rows),
        chart=draw(width),
        wide=width >= drawing.WIDTH,
        narrow=draw(drawing.NARROW_DOTS),
    )


@drawing.needs_altair
def speed_chart(results: Results, metric: str, *, width: int = drawing.HALF) -> drawing.Picture:
    """Accuracy against the time that the fit took."""
    alt = drawing.altair()
    label = display_name(metric)
    rows = [row for row in ordered_rows(results, metric) if row.fit_seconds is not None]
    require(len(rows) > 0, f"no model of the results have both {metric!r} and a fit time")
    seconds = np.maximum([row.fit_seconds or 0.0 for row in rows], 1e-4)
    means = np.array([row[metric] for row in rows])
    room = 0.15 * max(means.max() - means.min(), 1e-3)
    across = np.log10([seconds.min() / 2.2, seconds.max() * 2.2])
    bottom, top = means.min() - room, means.max() + room
    if is_error(metric):
        bottom, top = top, bottom
    values = [
        {
            "model": row.model,
            "seconds": float(seconds[number]),
            "mean": row[metric],
            "note": f"{row.model}: {label} {row[metric]:.4f}, fitted in {_seconds(row.fit_seconds)}",
        }
        for number, row in enumerate(rows)
    ]

    def draw(width: int, height: int) -> Any:
        ends = (10**across).tolist()
        ticks = drawing.ticks_between(ends[0], ends[1], most=7 if width > drawing.NARROW else 4)
        dots = drawing.plot(values).encode(
            x=drawing.scaled(
                alt.X, "seconds:Q", ends, log=True, title="seconds to fit, log scale", format="~g", values=ticks
            ),
            y=drawing.scaled(alt.Y, "mean:Q", [float(bottom), float(top)], title=f"{label}, better is up", tickCount=5),
            color=_by_model(alt.Color, results, drawing.colours),
            shape=_by_model(alt.Shape, results, drawing.shapes),
            description="note:N",
        )
        x = (np.log10(seconds) - across[0]) / (across[1] - across[0]) * width
        y = (top - means) / (top - bottom) * height
        corners = list(zip(x.tolist(), y.tolist(), strict=True))
        places = place_names([row.model for row in rows], corners, width, height)
        named = [
            {"name": row.model, "x": place.x, "y": place.y, "from_x": place.line[0], "from_y": place.line[1]}
            | {"to_x": place.line[2], "to_y": place.line[3]}
            for row, place in zip(rows, places, strict=True)
            if place is not None
        ]
        names = drawing.plot(named).encode(x=alt.X("x:Q", scale=None), y=alt.Y("y:Q", scale=None), text="name:N")
        lines = drawing.plot(named).encode(
            x=alt.X("from_x:Q", scale=None), y=alt.Y("from_y:Q", scale=None), x2="to_x:Q", y2="to_y:Q"
        )
        layers = [
            lines.mark_rule(color=QUIET, strokeWidth=0.8),
            dots.mark_point(filled=True, size=130, opacity=1),
            names.mark_text(align="left", fontSize=12, color=INK),
        ]
        return drawing.styled(alt.layer(*layers).properties(width=width, height=height))

    return drawing.Picture(
        name=f"{file_name(metric)}-and-time",
        title="What accuracy costs in time",
        caption="Each mark is a model: up is better, left is quicker. Times are means over the splits on this machine.",
        alt=f"{label} against seconds to fit: "
        + ", ".join(f"{row.model} {row[metric]:.3f} in {_seconds(row.fit_seconds)}" for row in rows),
        chart=draw(width, 340),
        wide=width >= drawing.WIDTH,
        narrow=draw(drawing.NARROW, 330),
    )


@drawing.needs_altair
def error_chart(results: Results) -> drawing.Picture:
    """The share of predicted ratings that are off by at most x, one line for each model."""
    alt = drawing.altair()
    rows = [row for row in results.rows if row.cdf]
    require(len(rows) > 0, "no model of the results predicts ratings")
    # Beyond the point where everybody has arrived there is nothing to see.
    end = min(
        max(next((x for x, share in row.cdf if share >= 0.985), row.cdf[-1][0]) for row in rows), rows[0].cdf[-1][0]
    )
    values = [
        {"model": row.model, "x": x, "share": share, "note": f"{row.model}: {share:.1%} are off by at most {x:.2f}"}
        for row in rows
        for x, share in row.cdf
        if x <= end
    ]
    named = [row.model for row in rows] if len(rows) > 1 else []

    def draw(width: int, columns: int) -> Any:
        base = drawing.plot(values).encode(
            x=drawing.scaled(alt.X, "x:Q", [0, end], title="off by at most", tickCount=6),
            y=drawing.scaled(alt.Y, "share:Q", [0, 1], title="share of held-out ratings", format=".0%", tickCount=5),
            color=_by_model(alt.Color, results, drawing.colours, named, columns),
        )
        dash = _by_model(alt.StrokeDash, results, drawing.dashes, named, columns)
        lines = base.mark_line(strokeWidth=2.2, interpolate="monotone").encode(strokeDash=dash)
        touch = base.mark_circle(size=60, opacity=0).encode(description="note:N")
        rows_of_legend = -(-len(named) // columns)
        height = max(200, 318 - 20 * rows_of_legend) if width > drawing.NARROW else 240  # as tall as its neighbour
        return drawing.styled(alt.layer(lines, touch).properties(width=width, height=height))

    within = {row.model: next(share for x, share in row.cdf if x >= min(1.0, end)) for row in rows}
    best = max(within, key=lambda model: within[model])
    return drawing.Picture(
        name="errors",
        title=f"{within[best]:.0%} of held-out ratings are foreseen within {min(1.0, end):.3g}",
        caption=f"For each distance, the share of held-out ratings that a prediction misses by no more than it. "
        f"The figure in the title is for {best}.",
        alt="Cumulative distribution of absolute errors; within 1: "
        + ", ".join(f"{model} {share:.1%}" for model, share in within.items()),
        chart=draw(drawing.HALF, 4),
        narrow=draw(drawing.NARROW, 2),
    )


def _by_model(channel: Any, results: Results, looks: Any, named: Sequence[str] = (), columns: int = 4) -> Any:
    """One colour, shape or dash for each model, the same in every picture of results; a legend of those to be named."""
    alt, models = drawing.altair(), [row.model for row in results.rows]
    legend = alt.Legend(title=None, orient="bottom", columns=columns, symbolType="stroke", values=list(named))
    scale = alt.Scale(domain=models, range=looks(len(models)))
    return channel("model:N", scale=scale, legend=legend if named else None)


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "an unknown time"
    return f"{seconds:.3f} s" if seconds < 1 else f"{seconds:.1f} s"
