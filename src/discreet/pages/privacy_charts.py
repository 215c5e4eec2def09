"""What privacy costs: accuracy over epsilon, a curve for each model, between what is free and what has no privacy.

ceiling   the best model of those that were fitted without privacy, as a line across
free      the best of those that ask nothing of the users (epsilon 0), as another
curves    every model that was fitted with some epsilon; on the right, what it would reach without noise
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import InputError
from discreet.evaluation.results import Results, Row
from discreet.pages.drawing import NARROW, Picture, altair, colours, needs_altair, plot, scaled, styled
from discreet.pages.style import INK, QUIET
from discreet.pages.words import bars, between, display_name, is_error, leading_metrics, meaning, ordered_rows

PANEL, HEIGHT = 340, 300
LETTER, TALL = 6.1, 14.0  # at most the size of 12-pixel letters
DODGE = 1.04  # neighbouring curves stand this factor of epsilon apart, so that intervals do not cover each other
BELOW = 0.5  # how far below what is free a panel reaches, in distances from there to the ceiling
CLAIMED = (6, 3)


def is_sweep(results: Results) -> bool:
    """Whether the results have models with and without privacy, or with several epsilons, to draw over each other."""
    private = [row for row in results.rows if row.epsilon]
    return len({row.epsilon for row in private}) > 1 or (bool(private) and any(not row.epsilon for row in results.rows))


@dataclass(frozen=True)
class Panel:
    """One metric: the rows of the curves, and the two lines across."""

    metric: str
    curves: tuple[str, ...]
    private: tuple[Row, ...]
    exact: tuple[Row, ...]
    ceiling: Row | None
    free: Row | None

    @classmethod
    def of(cls, results: Results, metric: str) -> "Panel":
        """What the results knows of the metric."""
        rows = ordered_rows(results, metric)
        private = tuple(row for row in rows if row.epsilon)
        curves = tuple(name for name in results.models if any(row.model == name for row in private))
        without = [row for row in rows if row.epsilon is None]
        return cls(
            metric,
            curves,
            private,
            tuple(row for row in without if row.model in curves),
            without[0] if without else None,
            next((row for row in rows if row.epsilon == 0), None),
        )

    @property
    def domain(self) -> tuple[float, float]:
        """The worst and the best that is shown. What is far worse than what is free is not worth the room."""
        lines = [row for row in (self.ceiling, self.free) if row is not None]
        ends = [end for row in self.private for end in row.metrics[self.metric].ends]
        ends += [row[self.metric] for row in (*lines, *self.exact)]
        low, high = min(ends), max(ends)
        if len(lines) == 2:
            best, free = (row[self.metric] for row in lines)
            floor = free - BELOW * (best - free)
            low, high = (low, min(high, floor)) if is_error(self.metric) else (max(low, floor), high)
        room = 0.07 * max(high - low, 1e-3)
        return (high + room, low - room) if is_error(self.metric) else (max(low - room, -room), high + room)

    @property
    def hidden(self) -> tuple[Row, ...]:
        """Private rows that are worse than the panel reaches."""
        worst = self.domain[0]
        return tuple(
            row
            for row in self.private
            if (row[self.metric] > worst if is_error(self.metric) else row[self.metric] < worst)
        )


@needs_altair
def privacy_chart(results: Results, metrics: Sequence[str] | None = None) -> Picture:
    """Accuracy over epsilon: a panel for each metric, a curve with intervals for each model, its promise in the legend.

    >>> import discreet as dc
    >>> ratings = dc.synthetic(users=50, items=30, ratings=600, seed=1)
    >>> terms = [dc.Terms(epsilon=1.0), dc.Terms(epsilon=10.0), dc.Terms()]
    >>> models = {"bias": dc.Bias(), "own-taste": dc.OwnTaste()}
    >>> results = dc.compare(models, ratings, dc.evaluation.HoldOut(), terms=terms, metrics=["rmse"])
    >>> picture = privacy_chart(results)
    >>> picture.name, "own-taste" in picture.alt
    ('privacy', True)
    """
    alt = altair()
    panels = [Panel.of(results, metric) for metric in metrics or leading_metrics(results)]
    panels = [panel for panel in panels if panel.private]
    if not panels:
        raise InputError("no model of the results was fitted with an epsilon, so there is nothing to draw over it")
    names = legend_names(results)

    def draw(width: int, height: int, columns: int, *, beside: bool) -> Any:
        drawn = [_panel(results, panel, names, width, height, columns) for panel in panels]
        joined = alt.hconcat(*drawn, spacing=34) if beside else alt.vconcat(*drawn, spacing=26)
        return styled(joined.resolve_scale(color="shared", strokeDash="shared", shape="shared"))

    beside = len(panels) > 1
    return Picture(
        name="privacy",
        title=_title(results, panels),
        caption=_caption(results, panels),
        alt=_alt(panels),
        chart=draw(PANEL if beside else 2 * PANEL - 60, HEIGHT, 3, beside=True),
        wide=True,
        narrow=draw(NARROW, 230, 1, beside=False),
    )


def legend_names(results: Results) -> dict[str, str]:
    """Every model that was fitted with an epsilon, with what its guarantee is worth.

    >>> rows = [Row("a", {}, epsilon=1.0, promise="proven", unit="user"), Row("b", {}, epsilon=1.0, promise="claimed")]
    >>> legend_names(Results("films", "", tuple(rows)))
    {'a': 'a (proven)', 'b': 'b (only claimed)'}
    """
    private = [row for row in results.rows if row.epsilon]
    proven = {row.unit for row in private if row.promise == "proven"}
    names = {}
    for row in private:
        kind = {"proven": "proven", "claimed": "only claimed", None: "nothing promised"}[row.promise]
        if row.promise == "claimed" and row.unit is not None and proven and row.unit not in proven:
            kind += f", for one {row.unit}"  # another promise than that of its neighbours
        names[row.model] = f"{row.model} ({kind})"
    return names


def _panel(results: Results, panel: Panel, names: dict[str, str], width: int, height: int, columns: int) -> Any:
    alt = altair()
    label, (worst, best) = display_name(panel.metric), panel.domain
    epsilons = [epsilon for epsilon in results.epsilons if epsilon > 0]
    step = math.sqrt(epsilons[-1] / epsilons[0]) if len(epsilons) > 1 else 4.0
    exact = epsilons[-1] * min(max(step, 3.0), 8.0) if panel.exact else epsilons[-1]
    across = [epsilons[0] / 1.35, exact * 1.35]
    order = list(names)
    middle = (len(order) - 1) / 2

    def place(row: Row) -> float:
        return float((row.epsilon or exact) * DODGE ** (order.index(row.model) - middle))

    def point(row: Row) -> dict[str, Any]:
        estimate = row.metrics[panel.metric]
        noise = "without privacy" if row.epsilon is None else f"epsilon {row.epsilon:g}"
        return {
            "series": names[row.model],
            "x": place(row),
            "y": estimate.mean,
            "low": estimate.ends[0],
            "high": estimate.ends[1],
            "note": f"{row.model}, {noise}: {label} {between(estimate)}",
        }

    domain = [names[model] for model in order]
    claims = [any(row.model == model and row.promise != "proven" for row in panel.private) for model in order]
    legend = alt.Legend(
        title=None,
        orient="bottom",
        columns=columns,
        symbolType="stroke",
        symbolStrokeWidth=2.6,
        symbolOpacity=1,
        labelLimit=320,
        offset=6,
    )
    x = scaled(
        alt.X,
        "x:Q",
        across,
        log=True,
        title=f"epsilon for {_unit(panel)}, log scale: less is more private",
        values=[*epsilons, *([exact] if panel.exact else [])],
        labelExpr=f"datum.value > {epsilons[-1]} ? 'no noise' : format(datum.value, '~g')",
        grid=False,
    )
    y_scale = alt.Scale(domain=[worst, best], zero=False, nice=False)
    y = alt.Y("y:Q", scale=y_scale, axis=alt.Axis(title=f"{label}, better is up", tickCount=5))
    own = colours(len(results.models))  # as in the tables beside it
    hues = [own[results.models.index(model)] for model in order]
    colour = alt.Color("series:N", scale=alt.Scale(domain=domain, range=hues), legend=legend)
    dash = alt.StrokeDash(
        "series:N",
        scale=alt.Scale(domain=domain, range=[CLAIMED if claim else (1, 0) for claim in claims]),
        legend=legend,
    )
    curves = plot([point(row) for row in panel.private]).encode(x=x, color=colour)
    continued = {row.model for row in panel.exact}
    ends = [row for row in panel.private if row.epsilon == epsilons[-1] and row.model in continued]
    beyond = plot([point(row) for row in (*ends, *panel.exact)]).encode(x=x, y=y, color=colour)
    pixels = {
        model: [
            (
                math.log(place(row) / across[0]) / math.log(across[1] / across[0]) * width,
                (best - row[panel.metric]) / (best - worst) * height,
            )
            for row in sorted((*panel.private, *panel.exact), key=place)
            if row.model == model
        ]
        for model in panel.curves
    }
    layers = [
        *_across(panel, y_scale, list(pixels.values()), width, height),
        beyond.mark_line(strokeWidth=1.6, strokeDash=[1.5, 4], opacity=0.65, clip=True),
        curves.mark_rule(strokeWidth=4.5, opacity=0.25, strokeCap="round", clip=True).encode(
            y=alt.Y("low:Q", scale=y_scale), y2="high:Q"
        ),
        curves.mark_line(strokeWidth=2.3, clip=True).encode(y=y, strokeDash=dash),
        curves.mark_circle(size=70, opacity=1, clip=True).encode(y=y, description="note:N"),
        plot([point(row) for row in panel.exact])
        .mark_point(size=46, strokeWidth=1.8, opacity=0.8, clip=True)
        .encode(x=x, y=y, color=colour, description="note:N"),
    ]
    return alt.layer(*layers).properties(width=width, height=height)


def _across(panel: Panel, scale: Any, curves: list[list[tuple[float, float]]], width: int, height: int) -> list[Any]:
    """The ceiling and what is free, as lines across, each named where its name covers least."""
    alt = altair()
    layers, (worst, best) = [], panel.domain
    for row, text, dash in ((panel.ceiling, "without privacy", [5, 4]), (panel.free, "costs nothing", [1.5, 3])):
        if row is None:
            continue
        value = row[panel.metric]
        words = f"{row.model}, {text}: {value:.3f}"
        x, above = _quiet_place(LETTER * len(words), (best - value) / (best - worst) * height, curves, width, height)
        base = plot([{"y": value, "text": words}]).encode(y=alt.Y("y:Q", scale=scale))
        layers.append(base.mark_rule(color=QUIET, strokeWidth=1.4, strokeDash=dash).encode(description="text:N"))
        layers.append(
            base.mark_text(align="left", dy=-9 if above else 11, fontSize=12, color=INK).encode(
                x=alt.value(x), text="text:N"
            )
        )
    return layers


def _quiet_place(
    length: float, line: float, curves: list[list[tuple[float, float]]], width: int, height: int
) -> tuple[float, bool]:
    """Where along a line across its name covers the fewest curves: the left end, and whether it stands above.

    >>> _quiet_place(50, 100, [[(0, 90), (200, 90)]], 200, 200)
    (2.0, False)
    """
    points = [
        (ax + (bx - ax) * part / 60, ay + (by - ay) * part / 60)
        for curve in curves
        for (ax, ay), (bx, by) in itertools.pairwise(curve)
        for part in range(61)
    ]
    choices = []
    room = max(width - length - 4, 0)
    for above in (True, False):
        top = line - 4 - TALL if above else line + 4
        outside = 1000 if top + TALL > height else 0  # above the panel there is room, below it the axis
        for step in range(25):
            left = 2 + room * step / 24
            covered = sum(left - 6 < x < left + length + 6 and top - 3 < y < top + TALL + 3 for x, y in points)
            choices.append((outside + covered, not above, step, left))
    _, below, _, left = min(choices)
    return float(left), not below


def _unit(panel: Panel) -> str:
    units = {row.unit for row in panel.private if row.promise == "proven"} or {row.unit for row in panel.private}
    return {frozenset({"user"}): "a user", frozenset({"rating"}): "a rating"}.get(frozenset(units - {None}), "privacy")  # type: ignore[arg-type]


def _title(results: Results, panels: Sequence[Panel]) -> str:
    middle = [epsilon for epsilon in results.epsilons if epsilon > 0]
    epsilon = middle[(len(middle) - 1) // 2]
    firsts: dict[str, list[str]] = {}
    for panel in panels:
        best = next((row.model for row in panel.private if row.epsilon == epsilon and row.promise == "proven"), None)
        if best is not None:
            firsts.setdefault(best, []).append(display_name(panel.metric))
    if not firsts:
        return "What privacy costs"
    parts = [f"{model} by {' and '.join(metrics)}" for model, metrics in firsts.items()]
    first, *others = parts
    return f"With epsilon {epsilon:g}, {first.replace(' by ', ' comes first by ', 1)}" + "".join(
        f", and {other}" for other in others
    )


def _caption(results: Results, panels: Sequence[Panel]) -> str:
    sentences = [meaning(panel.metric) for panel in panels]
    drawn = bars(results, [panel.metric for panel in panels])
    sentences += [f"{drawn}."] if drawn else []
    if any(row.promise != "proven" for panel in panels for row in panel.private):
        sentences.append("Solid lines are proven, dashed ones are not.")
    if any(panel.exact for panel in panels):
        sentences.append("On the right, open: the same model on exact sums.")
    for panel in panels:
        if panel.hidden:
            words = [f"{row.model} with epsilon {row.epsilon:g} ({row[panel.metric]:.3f})" for row in panel.hidden]
            sentences.append(f"Below the panel of {display_name(panel.metric)}: {', '.join(words)}.")
    return " ".join(sentences)


def _alt(panels: Sequence[Panel]) -> str:
    parts = []
    for panel in panels:
        curves = [
            f"{model} "
            + ", ".join(
                f"{row[panel.metric]:.3f} at {row.epsilon:g}"
                for row in sorted(panel.private, key=lambda row: row.epsilon or 0.0)
                if row.model == model
            )
            for model in panel.curves
        ]
        for row, words in ((panel.ceiling, "without privacy"), (panel.free, "for nothing")):
            if row is not None:
                curves.append(f"{row.model} {row[panel.metric]:.3f} {words}")
        parts.append(f"{display_name(panel.metric)} by epsilon: {'; '.join(curves)}.")
    return " ".join(parts)
