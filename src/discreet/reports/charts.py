"""Pictures of reports and of ratings.

altair is imported here only, and only when a picture is drawn. Every colour stands for a role (ink, line,
one of ten series), so that a page can give each role another colour in the dark: see ``reports/style.py``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import InputError, require
from discreet.evaluation.results import Report, Row
from discreet.reports.files import write_whole
from discreet.reports.placing import place_names
from discreet.reports.style import DASHES, FONT, INK, LINE, PALE, QUIET, SERIES, SHAPES

WIDTH, HALF = 620, 430  # a picture across the page, and one of two beside each other
NARROW, NARROW_DOTS = 250, 150  # on a phone: where nothing, and where names and numbers stand beside the drawing


@dataclass(frozen=True)
class Picture:
    """A chart with its title, what it shows in a sentence, and a name for a file.

    In a notebook ``picture.chart`` displays itself.

    Parameters
    ----------
    name
        Short, for file names.
    title
        What a reader should see first.
    caption
        One sentence or two: how to read it.
    alt
        What it shows, for people who cannot see it.
    chart
        The altair chart.
    wide
        Whether it goes across the page.
    narrow
        The same chart for a narrow page, with letters that can be read there; None to let the one chart scroll.
    """

    name: str
    title: str
    caption: str
    alt: str
    chart: Any
    wide: bool = False
    narrow: Any = None

    def svg(self) -> str:
        """The picture as SVG text, without a background."""
        return self._svg(self.chart)

    def narrow_svg(self) -> str | None:
        """The same for a narrow page, or None."""
        return None if self.narrow is None else self._svg(self.narrow)

    def _svg(self, chart: Any) -> str:
        import vl_convert

        return str(vl_convert.vegalite_to_svg(chart.properties(background="transparent").to_dict()))

    def png(self) -> bytes:
        """The picture as PNG on white, two pixels to a point."""
        import vl_convert

        return bytes(vl_convert.vegalite_to_png(self._spec("white"), scale=2))

    def save(self, path: str | Path) -> None:
        """Write the picture as ``.svg`` or ``.png``, whole or not at all."""
        import vl_convert

        path = Path(path)
        require(path.suffix in (".svg", ".png"), f"a picture is saved as .svg or .png, got {path.name!r}")
        if path.suffix == ".svg":
            write_whole(path, str(vl_convert.vegalite_to_svg(self._spec("white"))).encode())
        else:
            write_whole(path, self.png())

    def _spec(self, background: str) -> dict[str, Any]:
        spec: dict[str, Any] = self.chart.properties(background=background).to_dict()
        return spec


def pictures_of(report: Report) -> list[Picture]:
    """Every picture that the report has the numbers for.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> report = dc.compare({"bias": dc.Bias(), "plain": dc.Bias(item_damping=0)}, ratings, dc.Folds(count=2))
    >>> [picture.name for picture in pictures_of(report)]
    ['rmse', 'rmse-and-time', 'errors']
    """
    return [picture for metric in leading_metrics(report) for picture in pictures_for(report, metric)]


def pictures_for(report: Report, metric: str) -> list[Picture]:
    """The pictures that belong to one leading metric: itself across the page, then what goes with it."""
    pictures = [metric_chart(report, metric)]
    if sum(metric in row.metrics and row.fit_seconds is not None for row in report.rows) > 1:
        pictures.append(speed_chart(report, metric))
    if "@" not in metric:
        if any(row.cdf for row in report.rows):
            pictures.append(error_chart(report))
    else:
        recall = next((name for name in report.metric_names if name.startswith("recall@") and name != metric), None)
        if recall is not None:
            pictures.append(metric_chart(report, recall, width=HALF - 100))
    if len(pictures) == 2:  # the last one has no neighbour, so it goes across the page too
        pictures[1] = speed_chart(report, metric, width=WIDTH) if "time" in pictures[1].name else pictures[1]
    return pictures


def leading_metrics(report: Report) -> list[str]:
    """The one metric of ratings and the one of rankings that tell most."""
    names = report.metric_names
    ratings = [name for name in ("rmse", "mae", *names) if name in names and "@" not in name]
    rankings = [name for name in ("ndcg@100", "ndcg@10", *names) if name in names and "@" in name]
    return [*ratings[:1], *rankings[:1]]


def is_error(metric: str) -> bool:
    """Whether a lower value is better."""
    return metric in ("rmse", "mae")


def display_name(metric: str) -> str:
    """How people write a metric: ``RMSE``, ``NDCG@10``, ``Recall@20``, ``within 0.5``."""
    kind, at, k = metric.partition("@")
    return {"rmse": "RMSE", "mae": "MAE", "ndcg": "NDCG", "recall": "Recall"}.get(kind, kind) + at + k


def ordered_rows(report: Report, metric: str) -> list[Row]:
    """The rows that have the metric, best first."""
    rows = [row for row in report.rows if metric in row.metrics]
    return sorted(rows, key=lambda row: row[metric] if is_error(metric) else -row[metric])


def metric_chart(report: Report, metric: str, *, width: int = WIDTH) -> Picture:
    """A dot and its interval for each model, best first.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> report = dc.compare({"bias": dc.Bias(), "plain": dc.Bias(item_damping=0)}, ratings, dc.Folds(count=2))
    >>> metric_chart(report, "mae").title
    'bias comes first by MAE'
    """
    import altair as alt

    rows, label = ordered_rows(report, metric), display_name(metric)
    if not rows:
        raise InputError(f"no model of the report has the metric {metric!r}")
    order = [row.model for row in rows]
    values = [
        {
            "model": row.model,
            "mean": row.metrics[metric].mean,
            "low": row.metrics[metric].low,
            "high": row.metrics[metric].high,
            "text": f"{row[metric]:.3f}",
            "note": f"{row.model}: {label} {row[metric]:.4f} "
            f"({row.metrics[metric].low:.4f} to {row.metrics[metric].high:.4f})",
        }
        for row in rows
    ]
    low = min(row.metrics[metric].low for row in rows)
    high = max(row.metrics[metric].high for row in rows)
    room = 0.06 * max(high - low, 1e-3)
    better = "lower is better" if is_error(metric) else "higher is better"
    scale = alt.Scale(domain=[low - room, high + room], zero=False, nice=False)

    def draw(width: int) -> Any:
        axis = alt.Axis(title=f"{label} ({better})", tickCount=5 if width > NARROW else 3, grid=True)
        base = _chart(values).encode(
            y=alt.Y("model:N", sort=order, axis=alt.Axis(title=None, labelFontSize=13, domain=False, labelPadding=10)),
            color=_model_colour(report),
        )
        layers = [
            base.mark_rule(strokeWidth=5, opacity=0.28, strokeCap="round").encode(
                x=alt.X("low:Q", axis=axis, scale=scale), x2="high:Q", description="note:N"
            ),
            base.mark_point(filled=True, size=130, opacity=1).encode(
                x=alt.X("mean:Q", scale=scale), shape=_model_shape(report), description="note:N"
            ),
            base.mark_text(align="left", fontSize=12.5, fontWeight=600, color=INK).encode(
                x=alt.value(width + 14), text="text:N", color=alt.value(INK)
            ),
        ]
        return _styled(alt.layer(*layers).properties(width=width, height=max(60, 34 * len(rows))))

    best = rows[0]
    return Picture(
        name=_file_name(metric),
        title=f"{best.model} comes first by {label}" if len(rows) > 1 else f"{label} of {best.model}",
        caption=f"{_meaning(metric)} {report.interval or '95 % intervals'}, drawn as bars; {better}.",
        alt=f"{label} of {_count(len(rows), 'model')}, best first: "
        + ", ".join(f"{row.model} {row[metric]:.3f}" for row in rows),
        chart=draw(width),
        wide=width >= WIDTH,
        narrow=draw(NARROW_DOTS),
    )


def speed_chart(report: Report, metric: str, *, width: int = HALF) -> Picture:
    """Accuracy against the time that the fit took."""
    import altair as alt

    label = display_name(metric)
    rows = [row for row in ordered_rows(report, metric) if row.fit_seconds is not None]
    require(len(rows) > 0, f"no model of the report has both {metric!r} and a fit time")
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
        ticks = _ticks(float(10 ** across[0]), float(10 ** across[1]), most=7 if width > NARROW else 4)
        dots = _chart(values).encode(
            x=alt.X(
                "seconds:Q",
                scale=alt.Scale(type="log", domain=(10**across).tolist(), nice=False),
                axis=alt.Axis(title="seconds to fit, log scale", format="~g", values=ticks),
            ),
            y=alt.Y(
                "mean:Q",
                scale=alt.Scale(domain=[float(bottom), float(top)], nice=False, zero=False),
                axis=alt.Axis(title=f"{label}, better is up", tickCount=5),
            ),
            color=_model_colour(report),
            shape=_model_shape(report),
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
        names = _chart(named).encode(x=alt.X("x:Q", scale=None), y=alt.Y("y:Q", scale=None), text="name:N")
        lines = _chart(named).encode(
            x=alt.X("from_x:Q", scale=None), y=alt.Y("from_y:Q", scale=None), x2="to_x:Q", y2="to_y:Q"
        )
        layers = [
            lines.mark_rule(color=QUIET, strokeWidth=0.8),
            dots.mark_point(filled=True, size=130, opacity=1),
            names.mark_text(align="left", fontSize=12, color=INK),
        ]
        return _styled(alt.layer(*layers).properties(width=width, height=height))

    return Picture(
        name=f"{_file_name(metric)}-and-time",
        title="What accuracy costs in time",
        caption="Each mark is a model: up is better, left is quicker. Times are means over the splits on this machine.",
        alt=f"{label} against seconds to fit: "
        + ", ".join(f"{row.model} {row[metric]:.3f} in {_seconds(row.fit_seconds)}" for row in rows),
        chart=draw(width, 340),
        wide=width >= WIDTH,
        narrow=draw(NARROW, 330),
    )


def error_chart(report: Report) -> Picture:
    """The share of predicted ratings that are off by at most x, one line for each model."""
    import altair as alt

    rows = [row for row in report.rows if row.cdf]
    require(len(rows) > 0, "no model of the report predicts ratings")
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
        base = _chart(values).encode(
            x=alt.X(
                "x:Q", scale=alt.Scale(domain=[0, end], nice=False), axis=alt.Axis(title="off by at most", tickCount=6)
            ),
            y=alt.Y(
                "share:Q",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(title="share of held-out ratings", format=".0%", tickCount=5),
            ),
            color=_model_colour(report, named, columns),
        )
        lines = base.mark_line(strokeWidth=2.2, interpolate="monotone").encode(
            strokeDash=_model_dash(report, named, columns)
        )
        touch = base.mark_circle(size=60, opacity=0).encode(description="note:N")
        rows_of_legend = -(-len(named) // columns)
        height = max(200, 318 - 20 * rows_of_legend) if width > NARROW else 240  # as tall as its neighbour
        return _styled(alt.layer(lines, touch).properties(width=width, height=height))

    within = {row.model: next(share for x, share in row.cdf if x >= min(1.0, end)) for row in rows}
    best = max(within, key=lambda model: within[model])
    return Picture(
        name="errors",
        title=f"{within[best]:.0%} of held-out ratings are foreseen within {min(1.0, end):.3g}",
        caption=f"For each distance, the share of held-out ratings that a prediction misses by no more than it. "
        f"The figure in the title is for {best}.",
        alt="Cumulative distribution of absolute errors; within 1: "
        + ", ".join(f"{model} {share:.1%}" for model, share in within.items()),
        chart=draw(HALF, 4),
        narrow=draw(NARROW, 2),
    )


def popularity_chart(ratings: Ratings, most: int = 300) -> Picture:
    """How often items are rated, most rated first: the long tail.

    >>> import discreet as dc
    >>> popularity_chart(dc.synthetic(users=50, items=30, ratings=600, seed=1)).name
    'popularity'
    """
    import altair as alt

    counts = np.sort(np.bincount(ratings.item_index, minlength=ratings.n_items))[::-1]
    counts = counts[counts > 0]
    require(len(counts) > 0, "there are no ratings to draw")
    head = max(1, round(0.1 * len(counts)))
    share = counts[:head].sum() / counts.sum()
    ranks = np.unique(np.append(np.linspace(0, len(counts) - 1, min(most, len(counts))).astype(int), [0, head - 1]))
    values = [{"rank": int(rank) + 1, "ratings": int(counts[rank]), "head": bool(rank < head)} for rank in ranks]
    base = _chart(values).encode(
        x=alt.X(
            "rank:Q",
            scale=alt.Scale(domain=[1, len(counts)], nice=False),
            axis=alt.Axis(title="items, most rated first", format=",d", tickCount=6),
        ),
        y=alt.Y("ratings:Q", axis=alt.Axis(title="ratings", format=",d", tickCount=5)),
    )
    tail = base.mark_area(color=PALE, opacity=1, interpolate="monotone")
    top = base.transform_filter(alt.datum.rank <= head).mark_area(color=SERIES[0], opacity=0.9, interpolate="monotone")
    note = (
        _chart([{"rank": head, "ratings": int(counts[0]) * 0.72, "text": f"{share:.0%} of all ratings"}])
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
        chart=_styled(alt.layer(tail, top, note).properties(width=HALF, height=230)),
    )


def values_chart(ratings: Ratings) -> Picture:
    """How often each rating was given."""
    import altair as alt

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
    base = _chart(values).encode(
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
        chart=_styled(alt.layer(bars, text).properties(width=HALF, height=230)),
    )


def _model_colour(report: Report, named: Sequence[str] = (), columns: int = 4) -> Any:
    """One colour for each model, the same in every picture of a report; a legend of the ones to be named."""
    import altair as alt

    models = [row.model for row in report.rows]
    scale = alt.Scale(domain=models, range=colours(len(models)))
    return alt.Color("model:N", scale=scale, legend=_legend(named, columns))


def _model_shape(report: Report) -> Any:
    """After ten models the colours come again, in another shape."""
    import altair as alt

    models = [row.model for row in report.rows]
    return alt.Shape("model:N", scale=alt.Scale(domain=models, range=shapes(len(models))), legend=None)


def _model_dash(report: Report, named: Sequence[str], columns: int) -> Any:
    """The same for lines."""
    import altair as alt

    models = [row.model for row in report.rows]
    dashes = [DASHES[position // len(SERIES) % len(DASHES)] for position in range(len(models))]
    return alt.StrokeDash("model:N", scale=alt.Scale(domain=models, range=dashes), legend=_legend(named, columns))


def _legend(named: Sequence[str], columns: int) -> Any:
    import altair as alt

    if not named:
        return None
    return alt.Legend(title=None, orient="bottom", columns=columns, symbolType="stroke", values=list(named))


def colours(count: int) -> list[str]:
    """The first ``count`` colours of series; they repeat after ten, in other shapes."""
    return [SERIES[position % len(SERIES)] for position in range(count)]


def shapes(count: int) -> list[str]:
    """The shapes that go with them: colour and shape together are one model's own.

    >>> len(set(zip(colours(40), shapes(40), strict=True)))
    40
    """
    return [SHAPES[position // len(SERIES) % len(SHAPES)] for position in range(count)]


def _chart(values: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Chart(alt.Data(values=values))  # type: ignore[no-untyped-call]


def _styled(chart: Any) -> Any:
    axis = {
        "labelColor": QUIET,
        "titleColor": QUIET,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 12,
        "titlePadding": 12,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
        "ticks": False,
        "labelPadding": 6,
    }
    return (
        chart.configure(font=FONT, padding=6)
        .configure_view(stroke=None)
        .configure_axis(**axis)
        .configure_axisY(domain=False)
        .configure_legend(labelColor=INK, labelFontSize=12, symbolSize=110, columnPadding=18, padding=10)
        .configure_text(font=FONT)
    )


def _meaning(metric: str) -> str:
    kind, _, k = metric.partition("@")
    if kind == "ndcg":
        return f"NDCG@{k}: how many held-out items are among the {k} best, early places counting more."
    if kind == "recall":
        return f"Recall@{k}: the share of held-out items found among the {k} best."
    if kind == "rmse":
        return "RMSE: how far predictions lie from held-out ratings, large errors counting more."
    if kind == "mae":
        return "MAE: how far predictions lie from held-out ratings, on average."
    return f"Share of held-out ratings predicted {metric}."


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return "an unknown time"
    return f"{seconds:.3f} s" if seconds < 1 else f"{seconds:.1f} s"


def _ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Powers of ten between two numbers, with 2 and 5 times them where there are only a few; at most so many."""
    powers = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    steps = (1.0,) if high / low > 300 else (1.0, 3.0) if high / low > 30 else (1.0, 2.0, 5.0)
    ticks = [power * step for power in powers for step in steps if low <= power * step <= high]
    return ticks[:: -(-len(ticks) // most) or 1]


def _file_name(metric: str) -> str:
    return metric.replace("@", "-").replace(" ", "-")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
