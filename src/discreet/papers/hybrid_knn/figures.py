"""The figures of the paper, drawn from what came out here.

The paper's own numbers are in pictures without values, so what stands beside ours is what its text says about them.
Its Fig. 5 and 7 do not name their axes; here they are those of Fig. 4 and 6, which they are ratios of.
"""

from collections.abc import Callable, Sequence

from discreet.papers.hybrid_knn.algorithm import FORMS, Form
from discreet.papers.hybrid_knn.experiment import SOUND, Case, Outcome, Timing
from discreet.reports.curves import Point, curves_chart
from discreet.reports.drawing import Picture

GAMMA, EPSILON = "gamma of the perturbation", "epsilon (claimed, log scale)"
FORM_NAMES: dict[Form, str] = {
    "average": "averages alone",
    "plain": "plain kNN",
    "shrunk": "shrunk kNN",
    "damped": "damped kNN",
}
DRAWN: Form = "plain"
"""The form in which a figure is drawn that has lines for something else."""


def pictures(outcome: Outcome) -> list[Picture]:
    """Every figure that was asked for, in order.

    >>> import discreet as dc
    >>> from discreet.papers.hybrid_knn.experiment import Grid, run
    >>> ratings = dc.synthetic(users=100, items=50, ratings=2000, seed=1)
    >>> outcome = run(ratings, seeds=1, figures=[2, 9], grid=Grid.quick())
    >>> [picture.name for picture in pictures(outcome)]
    ['figure-2', 'figure-9']
    """
    return [DRAW[figure](outcome) for figure in sorted(outcome.figures)]


def figure_2(outcome: Outcome) -> Picture:
    """RP alone, over gamma."""
    curves = {
        FORM_NAMES[form]: [_point(outcome, Case("RP", gamma), gamma, form) for gamma in outcome.grid.gammas]
        for form in FORMS
    }
    return curves_chart(
        curves,
        name="figure-2",
        title="Fig. 2: perturbation alone",
        caption="RMSE over gamma, without noise. The paper: accuracy falls as gamma grows, on all data sets. "
        "The dashed line is no privacy at all, with plain kNN.",
        x=GAMMA,
        y="RMSE",
        level=("no privacy", outcome.rmse(Case("no privacy"))),
    )


def figure_3(outcome: Outcome) -> Picture:
    """DP alone, over epsilon; beside it ours."""
    curves = {
        FORM_NAMES[form]: [
            _point(outcome, Case("DP", 0.0, epsilon), epsilon, form) for epsilon in outcome.grid.epsilons
        ]
        for form in FORMS
    }
    for method in SOUND:
        curves[f"ours: {method}"] = [
            _point(outcome, Case(method, 0.0, epsilon), epsilon) for epsilon in outcome.grid.epsilons
        ]
    return curves_chart(
        curves,
        name="figure-3",
        title="Fig. 3: noise alone",
        caption="RMSE over epsilon. The paper: accuracy falls rapidly below epsilon 1 and is constant beyond. What is "
        "ours has the same epsilon, proven for one rating (Bias with delta 0, CovarianceKNN with 1e-6); what is the "
        "paper's only claims it.",
        x=EPSILON,
        y="RMSE",
        log_x=True,
        level=("no privacy", outcome.rmse(Case("no privacy"))),
    )


def figure_4(outcome: Outcome) -> Picture:
    """Both, over epsilon."""
    curves = {"DP alone": [_point(outcome, Case("DP", 0.0, epsilon), epsilon) for epsilon in outcome.grid.epsilons]}
    for gamma in outcome.grid.gammas:
        cases = [Case("hybrid", gamma, epsilon) for epsilon in outcome.grid.epsilons]
        curves[f"gamma {gamma:g}"] = [_point(outcome, case, case.epsilon or 0.0) for case in cases]
    return curves_chart(
        curves,
        name="figure-4",
        title="Fig. 4: what perturbation does to noise",
        caption="RMSE of the hybrid over epsilon, plain kNN. The paper: the trend of DP stays whatever gamma is, a "
        "larger gamma is often less accurate, and on Netflix the two together are sometimes better.",
        x=EPSILON,
        y="RMSE",
        log_x=True,
    )


def figure_5(outcome: Outcome) -> Picture:
    """Hybrid in DP, over epsilon."""
    curves = {
        f"gamma {gamma:g}": [
            _ratio(outcome, Case("hybrid", gamma, epsilon), Case("DP", 0.0, epsilon), epsilon)
            for epsilon in outcome.grid.epsilons
        ]
        for gamma in outcome.grid.gammas
    }
    return curves_chart(
        curves,
        name="figure-5",
        title="Fig. 5: hybrid beside noise alone",
        caption="RMSE of the hybrid in that of DP, plain kNN; below 1 the hybrid is better. The paper: sometimes "
        "below 1 on Netflix with a small gamma; the loss on MovieLens is acceptable.",
        x=EPSILON,
        y="RMSE ratio, hybrid to DP",
        log_x=True,
        level=("equal", 1.0),
    )


def figure_6(outcome: Outcome) -> Picture:
    """Both, over gamma."""
    curves = {"RP alone": [_point(outcome, Case("RP", gamma), gamma) for gamma in outcome.grid.gammas]}
    for epsilon in outcome.grid.epsilons:
        curves[f"epsilon {epsilon:g}"] = [
            _point(outcome, Case("hybrid", gamma, epsilon), gamma) for gamma in outcome.grid.gammas
        ]
    return curves_chart(
        curves,
        name="figure-6",
        title="Fig. 6: what noise does to perturbation",
        caption="RMSE of the hybrid over gamma, plain kNN. The paper: the trend of RP stays whatever epsilon is, and a "
        "smaller epsilon tends to be less accurate.",
        x=GAMMA,
        y="RMSE",
    )


def figure_7(outcome: Outcome) -> Picture:
    """Hybrid in RP, over gamma."""
    curves = {
        f"epsilon {epsilon:g}": [
            _ratio(outcome, Case("hybrid", gamma, epsilon), Case("RP", gamma), gamma) for gamma in outcome.grid.gammas
        ]
        for epsilon in outcome.grid.epsilons
    }
    return curves_chart(
        curves,
        name="figure-7",
        title="Fig. 7: hybrid beside perturbation alone",
        caption="RMSE of the hybrid in that of RP, plain kNN; below 1 the hybrid is better. The paper: nothing is lost "
        "on Netflix for any setting, and an acceptable amount on MovieLens.",
        x=GAMMA,
        y="RMSE ratio, hybrid to RP",
        level=("equal", 1.0),
    )


def figure_8(outcome: Outcome) -> Picture:
    """Seconds, over users."""

    def point(timing: Timing) -> Point:
        return Point(timing.users, timing.seconds, timing.seconds, timing.seconds)

    return curves_chart(
        {"hybrid, from ratings to predictions": [point(timing) for timing in outcome.timings]},
        name="figure-8",
        title="Fig. 8: running time",
        caption=f"Seconds on this machine, for the first users, all {outcome.timings[-1].items:,} items. The paper: "
        "33 s for the matrix of MovieLens (about 1000 by 1700) on a server at 2.2 GHz, less than 2.5 hours for 380,000 "
        "by 500.",
        x="users",
        y="seconds",
    )


def figure_9(outcome: Outcome) -> Picture:
    """With and without regard to the perturbation, over gamma."""
    epsilon = outcome.grid.fixed_epsilon
    names = {"hybrid": "hybrid", "DP that ignores the perturbation": "DP on RP"}
    curves = {
        name: [_point(outcome, Case(method, gamma, epsilon), gamma) for gamma in outcome.grid.gammas]  # type: ignore[arg-type]
        for name, method in names.items()
    }
    return curves_chart(
        curves,
        name="figure-9",
        title="Fig. 9: noise that knows of the perturbation, or not",
        caption=f"RMSE over gamma on perturbed ratings, epsilon {epsilon:g}, plain kNN. The paper: DP that ignores RP "
        "is more accurate, by little. For the raw ratings it is no less private: see what is proven.",
        x=GAMMA,
        y="RMSE",
    )


DRAW: dict[int, Callable[[Outcome], Picture]] = {
    2: figure_2,
    3: figure_3,
    4: figure_4,
    5: figure_5,
    6: figure_6,
    7: figure_7,
    8: figure_8,
    9: figure_9,
}


def table(outcome: Outcome) -> tuple[Sequence[str], list[list[str]]]:
    """All RMSEs: columns, and a row for each setting."""
    columns = ["setting", "gamma", "epsilon", *(FORM_NAMES[form] for form in FORMS)]
    rows = []
    for case, forms in outcome.errors.items():
        means = [f"{outcome.rmse(case, form):.4f}" if form in forms else "·" for form in FORMS]
        epsilon = "none" if case.epsilon is None else f"{case.epsilon:g}"
        rows.append(
            [f"ours: {case.method}" if case.method in SOUND else case.method, f"{case.gamma:g}", epsilon, *means]
        )
    return columns, rows


def _point(outcome: Outcome, case: Case, x: float, form: Form = DRAWN) -> Point:
    return Point(x, outcome.rmse(case, form), *outcome.interval(case, form))


def _ratio(outcome: Outcome, above: Case, below: Case, x: float) -> Point:
    ratio = outcome.ratio(above, below, DRAWN)
    return Point(x, ratio, ratio, ratio)
