"""The figures of the paper, drawn from what came out here.

The paper's own numbers are in pictures without values, so what stands beside ours is what its text says about them.
Its Fig. 5 and 7 do not name their axes; here they are those of Fig. 4 and 6, which they are ratios of. Ours, sound,
stands in the same picture or, where it has as many lines, in one beside it.
"""

from collections.abc import Callable, Mapping, Sequence

from discreet.papers.hybrid_knn.algorithm import FORMS, Form
from discreet.papers.hybrid_knn.experiment import SOUND, Case, Method, Outcome, Reading, Timing
from discreet.papers.hybrid_knn.sound import epsilon_of
from discreet.reports.curves import Point, curves_chart
from discreet.reports.drawing import Picture

GAMMA, EPSILON = "gamma of the perturbation", "epsilon (claimed, log scale)"
OURS_GAMMA, OURS_EPSILON = "gamma of equal noise", "epsilon (proven, log scale)"
FORM_NAMES: dict[Form, str] = {
    "average": "averages alone",
    "plain": "plain kNN",
    "joint": "joint weights",
    "shrunk": "shrunk kNN",
    "damped": "damped kNN",
}
READINGS: tuple[Reading, ...] = (*FORMS, "sent", "home")
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
    return [draw(outcome) for figure in sorted(outcome.figures) for draw in DRAW[figure]]


def figure_2(outcome: Outcome) -> Picture:
    """RP alone, over gamma."""
    curves = {
        FORM_NAMES[form]: [_point(outcome, Case("RP", gamma), gamma, form) for gamma in outcome.grid.gammas]
        for form in FORMS
    }
    curves["ours: private reports"] = _over_gamma(outcome, "sound reports")
    curves["ours: at home"] = _over_gamma(outcome, "sound reports", "home")
    guessed: Method = "sound reports, as hard to guess"
    if any(outcome.has(Case(guessed, gamma)) for gamma in outcome.grid.gammas):
        curves["ours: as hard to guess"] = _over_gamma(outcome, guessed)
    return curves_chart(
        curves,
        dashed=_ours(curves),
        name="figure-2",
        title="Fig. 2: perturbation alone",
        caption="RMSE over gamma, without noise. The paper: accuracy falls as gamma grows, on all data sets. "
        "The dashed line is no privacy at all, with plain kNN. Ours has a proven epsilon for the value of a rating, "
        f"where RP has none: {_epsilons(outcome)}, with as much noise as RP; at home it predicts from true ratings. "
        "The last line is for reports from which no more is guessed right than from RP's.",
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
    ours: tuple[Method, ...] = ("sound averages", "sound covariances")
    for method in ours:
        curves[method.replace("sound", "ours:")] = [
            _point(outcome, Case(method, 0.0, epsilon), epsilon) for epsilon in outcome.grid.epsilons
        ]
    return curves_chart(
        curves,
        dashed=_ours(curves),
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
    return curves_chart(
        _over_epsilon_by_gamma(outcome, "DP alone", DRAWN),
        name="figure-4",
        title="Fig. 4: what perturbation does to noise",
        caption="RMSE of the hybrid over epsilon, plain kNN. The paper: the trend of DP stays whatever gamma is, a "
        "larger gamma is often less accurate, and on Netflix the two together are sometimes better.",
        x=EPSILON,
        y="RMSE",
        log_x=True,
    )


def sound_figure_4(outcome: Outcome) -> Picture:
    """Ours beside it."""
    return curves_chart(
        _over_epsilon_by_gamma(outcome, "noise alone", "sent"),
        name="figure-4-sound",
        title="Fig. 4, ours: private reports, and noise",
        caption="RMSE over epsilon of covariances of private reports, as noisy as RP with this gamma, predicted from "
        f"the reports. Proven: epsilon (delta 1e-6) that a rating is there, and {_epsilons(outcome)} for its value, "
        "towards the recommender too.",
        x=OURS_EPSILON,
        y="RMSE",
        log_x=True,
    )


def figure_5(outcome: Outcome) -> Picture:
    """Hybrid in DP, over epsilon."""
    return curves_chart(
        _in_dp_over_epsilon(outcome, DRAWN),
        name="figure-5",
        title="Fig. 5: hybrid beside noise alone",
        caption="RMSE of the hybrid in that of DP, plain kNN; below 1 the hybrid is better. The paper: sometimes "
        "below 1 on Netflix with a small gamma; the loss on MovieLens is acceptable.",
        x=EPSILON,
        y="RMSE ratio, hybrid to DP",
        log_x=True,
        level=("equal", 1.0),
    )


def sound_figure_5(outcome: Outcome) -> Picture:
    """Ours beside it."""
    return curves_chart(
        _in_dp_over_epsilon(outcome, "sent"),
        name="figure-5-sound",
        title="Fig. 5, ours: reports and noise beside noise alone",
        caption="RMSE of ours with private reports in that without: what hiding values from the recommender costs.",
        x=OURS_EPSILON,
        y="RMSE ratio, both to noise",
        log_x=True,
        level=("equal", 1.0),
    )


def figure_6(outcome: Outcome) -> Picture:
    """Both, over gamma."""
    return curves_chart(
        _over_gamma_by_epsilon(outcome, "RP alone", DRAWN),
        name="figure-6",
        title="Fig. 6: what noise does to perturbation",
        caption="RMSE of the hybrid over gamma, plain kNN. The paper: the trend of RP stays whatever epsilon is, and a "
        "smaller epsilon tends to be less accurate.",
        x=GAMMA,
        y="RMSE",
    )


def sound_figure_6(outcome: Outcome) -> Picture:
    """Ours beside it."""
    return curves_chart(
        _over_gamma_by_epsilon(outcome, "reports alone", "sent"),
        name="figure-6-sound",
        title="Fig. 6, ours: private reports, and noise",
        caption="The numbers of Fig. 4, ours, over the gamma whose noise the reports have: "
        f"{_epsilons(outcome)} for the value of a rating.",
        x=OURS_GAMMA,
        y="RMSE",
    )


def figure_7(outcome: Outcome) -> Picture:
    """Hybrid in RP, over gamma."""
    return curves_chart(
        _in_rp_over_gamma(outcome, DRAWN),
        name="figure-7",
        title="Fig. 7: hybrid beside perturbation alone",
        caption="RMSE of the hybrid in that of RP, plain kNN; below 1 the hybrid is better. The paper: nothing is lost "
        "on Netflix for any setting, and an acceptable amount on MovieLens.",
        x=GAMMA,
        y="RMSE ratio, hybrid to RP",
        level=("equal", 1.0),
    )


def sound_figure_7(outcome: Outcome) -> Picture:
    """Ours beside it."""
    return curves_chart(
        _in_rp_over_gamma(outcome, "sent"),
        name="figure-7-sound",
        title="Fig. 7, ours: reports and noise beside reports alone",
        caption="RMSE of ours with noise in that of private reports without: what hiding from everyone else that a "
        "rating is there costs. Below 1 where noise keeps covariances from being asked for that reports have drowned.",
        x=OURS_GAMMA,
        y="RMSE ratio, both to reports",
        level=("equal", 1.0),
    )


def figure_8(outcome: Outcome) -> Picture:
    """Seconds, over users."""

    def point(timing: Timing, seconds: float) -> Point:
        return Point(timing.users, seconds, seconds, seconds)

    return curves_chart(
        {
            "hybrid, end to end": [point(timing, timing.seconds) for timing in outcome.timings],
            "ours: end to end": [point(timing, timing.sound_seconds) for timing in outcome.timings],
        },
        dashed=["ours: end to end"],
        name="figure-8",
        title="Fig. 8: running time",
        caption="Seconds on this machine, from ratings to predictions, for the first users, all "
        f"{outcome.timings[-1].items:,} items; ours at epsilon {outcome.grid.epsilons[-1]:g}, where it asks for "
        "covariances if it ever does. The paper: 33 s for the matrix of MovieLens (about 1000 by "
        "1700) on a server at 2.2 GHz, less than 2.5 hours for 380,000 by 500.",
        x="users",
        y="seconds",
    )


def figure_9(outcome: Outcome) -> Picture:
    """With and without regard to the perturbation, over gamma."""
    epsilon = outcome.grid.fixed_epsilon
    names = {"hybrid": "hybrid", "DP that ignores RP": "DP on RP"}
    curves = {
        name: [_point(outcome, Case(method, gamma, epsilon), gamma) for gamma in outcome.grid.gammas]  # type: ignore[arg-type]
        for name, method in names.items()
    }
    curves["ours: reports and noise"] = _over_gamma(outcome, "sound hybrid", epsilon=epsilon)
    curves["ours: at home"] = _over_gamma(outcome, "sound hybrid", "home", epsilon)
    return curves_chart(
        curves,
        dashed=_ours(curves),
        name="figure-9",
        title="Fig. 9: noise that knows of the perturbation, or not",
        caption=f"RMSE over gamma on perturbed ratings, epsilon {epsilon:g}, plain kNN. The paper: DP that ignores RP "
        "is more accurate, by little. For the raw ratings it is no less private: see what is proven. Of ours there "
        "is one kind: a report that is there or not moves the sums by its own scale, so nothing sound ignores the "
        "perturbation.",
        x=GAMMA,
        y="RMSE",
    )


DRAW: dict[int, Sequence[Callable[[Outcome], Picture]]] = {
    2: (figure_2,),
    3: (figure_3,),
    4: (figure_4, sound_figure_4),
    5: (figure_5, sound_figure_5),
    6: (figure_6, sound_figure_6),
    7: (figure_7, sound_figure_7),
    8: (figure_8,),
    9: (figure_9,),
}


def table(outcome: Outcome) -> tuple[Sequence[str], list[list[str]]]:
    """All RMSEs: columns, and a row for each setting."""
    columns = ["setting", "gamma", "epsilon", *FORM_NAMES.values(), "ours, as sent", "ours, at home"]
    rows = []
    for case, readings in outcome.errors.items():
        means = [f"{outcome.rmse(case, reading):.4f}" if reading in readings else "·" for reading in READINGS]
        epsilon = "none" if case.epsilon is None else f"{case.epsilon:g}"
        name = case.method.replace("sound", "ours:", 1).replace(":,", ":") if case.method in SOUND else case.method
        rows.append([name, f"{case.gamma:g}", epsilon, *means])
    return columns, rows


def reports_table(outcome: Outcome) -> tuple[Sequence[str], list[list[str]]]:
    """What is sent for each gamma, by the paper's users and by ours."""
    columns = [
        "gamma",
        "RP: deviation",
        "guessed right",
        "for certain",
        "ours, as noisy: epsilon",
        "guessed right",
        "ours, as hard to guess: epsilon",
        "deviation",
    ]
    rows = []
    for gamma, reports in outcome.reports.items():
        risk, noisy, hard = reports.risk(reports.of_the_paper), reports.as_noisy, reports.as_hard_to_guess
        rows.append(
            [
                f"{gamma:g}",
                f"{reports.variance_of(reports.of_the_paper) ** 0.5:.2f}",
                f"{risk.accuracy:.0%}",
                f"{risk.certain:.0%}",
                f"{epsilon_of(noisy):.2f} ({noisy.name})",
                f"{reports.risk(noisy).accuracy:.0%}",
                "none" if hard is None else f"{epsilon_of(hard):.2f} ({hard.name})",
                "·" if hard is None else f"{reports.variance_of(hard) ** 0.5:.2f}",
            ]
        )
    return columns, rows


def _over_gamma(
    outcome: Outcome, method: Method, reading: Reading = "sent", epsilon: float | None = None
) -> list[Point]:
    cases = [Case(method, gamma, epsilon) for gamma in outcome.grid.gammas]
    return [_point(outcome, case, case.gamma, reading) for case in cases if outcome.has(case)]


def _over_epsilon_by_gamma(outcome: Outcome, alone: str, reading: Reading) -> dict[str, list[Point]]:
    epsilons = outcome.grid.epsilons
    curves = {alone: [_point(outcome, Case("DP", 0.0, epsilon), epsilon, reading) for epsilon in epsilons]}
    for gamma in outcome.grid.gammas:
        points = [_point(outcome, Case("hybrid", gamma, epsilon), epsilon, reading) for epsilon in epsilons]
        curves[f"gamma {gamma:g}"] = points
    return curves


def _over_gamma_by_epsilon(outcome: Outcome, alone: str, reading: Reading) -> dict[str, list[Point]]:
    gammas = outcome.grid.gammas
    curves = {alone: [_point(outcome, Case("RP", gamma), gamma, reading) for gamma in gammas]}
    for epsilon in outcome.grid.epsilons:
        points = [_point(outcome, Case("hybrid", gamma, epsilon), gamma, reading) for gamma in gammas]
        curves[f"epsilon {epsilon:g}"] = points
    return curves


def _in_dp_over_epsilon(outcome: Outcome, reading: Reading) -> dict[str, list[Point]]:
    return {
        f"gamma {gamma:g}": [
            _ratio(outcome, Case("hybrid", gamma, epsilon), Case("DP", 0.0, epsilon), epsilon, reading)
            for epsilon in outcome.grid.epsilons
        ]
        for gamma in outcome.grid.gammas
    }


def _in_rp_over_gamma(outcome: Outcome, reading: Reading) -> dict[str, list[Point]]:
    return {
        f"epsilon {epsilon:g}": [
            _ratio(outcome, Case("hybrid", gamma, epsilon), Case("RP", gamma), gamma, reading)
            for gamma in outcome.grid.gammas
        ]
        for epsilon in outcome.grid.epsilons
    }


def _ours(curves: Mapping[str, object]) -> list[str]:
    """What is ours is dashed where it stands among the paper's."""
    return [name for name in curves if name.startswith("ours")]


def _epsilons(outcome: Outcome) -> str:
    """The epsilon of the reports for every gamma."""
    return "epsilon " + ", ".join(
        f"{epsilon_of(outcome.reports[gamma].as_noisy):g} (gamma {gamma:g})" for gamma in outcome.grid.gammas
    )


def _point(outcome: Outcome, case: Case, x: float, reading: Reading = DRAWN) -> Point:
    return Point(x, outcome.rmse(case, reading), *outcome.interval(case, reading))


def _ratio(outcome: Outcome, above: Case, below: Case, x: float, reading: Reading) -> Point:
    ratio = outcome.ratio(above, below, reading)
    return Point(x, ratio, ratio, ratio)
