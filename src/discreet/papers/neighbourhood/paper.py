"""Learned neighbourhoods as a paper: what the frame runs, judges, draws and documents."""

from discreet.pages.curves import Rows
from discreet.papers.frame.cases import Case, Grid
from discreet.papers.frame.contents import read_contents, read_notes
from discreet.papers.frame.outcome import Outcome, with_half_width
from discreet.papers.frame.paper import Paper
from discreet.papers.neighbourhood.audits import CLAIMED, CONFIDENCE, RUNS
from discreet.papers.neighbourhood.claims import RUN_ON, claims
from discreet.papers.neighbourhood.experiment import CONTROLS, FULL, QUICK, Repetition
from discreet.papers.neighbourhood.figures import AUDIT, READINGS, descent, figures, sampling
from discreet.papers.neighbourhood.privacy import amplified, furthest_change, worth_at_temperature

LEAKS = {
    "item means": ("item means, which have no noise", "DPSGD-PNBM to the letter"),
    "cosine start": ("similarities: the start has no noise", "DPSGD-PNBM, cosine start"),
    "constant start": ("similarities, of an ordinary user", "DPSGD-PNBM, constant start"),
    "no clamp": ("similarities: errors are not clamped", "the released code"),
    "one step": ("one noisy gradient, of a constructed user with 20 ratings", "DPSGD-PNBM, C enforced"),
}


def controls(outcome: Outcome) -> Rows:
    """What nothing was learned or hidden for, with half of its 95 % interval."""
    case = next(case for case in outcome.numbers if case.method in ("DPSGD", "DPPS", "neighbours"))
    found = {name: with_half_width(outcome.at(case, name).values) for name in CONTROLS if outcome.has(case, name)}
    return Rows(
        title="Controls",
        columns=("what", "RMSE"),
        rows=[[READINGS[name], f"{mean:.4f} ± {half:.4f}"] for name, (mean, half) in found.items()],
        text="None of these has an epsilon. S 1 is every similarity the same: by eq. (2) the item's mean and the "
        "user's mean deviation: what a private similarity has to beat. MAP is the paper's model without noise, MF the "
        "rival without noise, each with settings chosen on held-out training ratings. ± half the 95 % interval.",
    )


def changes(outcome: Outcome) -> Rows:
    """How far one rating moves the gradient, beside the bound that the paper has."""
    readings = ("constant", "constant, public means", "cosine", "cosine, public means", "code", "code, public means")
    cases = outcome.grid.cases("changed rating", "ratings")
    return Rows(
        title="What one changed rating does to the gradient",
        columns=(
            "ratings of the user",
            "the paper's bound",
            *(READINGS[reading] for reading in readings),
            "constructed pair",
            "proven bound",
            "DPPS: a user moves a step by",
            "by the code",
        ),
        rows=[
            [
                f"{case['ratings']:g}",
                "1",
                *(f"{outcome.at(case, reading).mean:.1f}" for reading in readings),
                f"{outcome.at(case, 'worst pair').mean:,.0f}",
                f"{furthest_change(int(case['ratings']), features_clamped=True):,.0f}",
                f"{outcome.at(case, 'step').mean:.2g} deviations",
                f"{outcome.at(case, 'step of the code').mean:,.0f} deviations",
            ]
            for case in cases
            if case in outcome.numbers
        ],
        text="L1 change of the first gradient when one rating goes to the other end of the scale, in what its noise is "
        "made for (ΔF; by the code ΔF/√2): the factor by which epsilon is larger than claimed in that step, for this "
        "rating. The largest of five ratings of one user of the first fold's training data; with item means that "
        "move, as published, and with public ones. The constructed pair has public means, the clamps of the paper and "
        "|S_i| I_u of at least C; the proof of that bound is in `privacy.py`. The last columns: how far a user moves "
        "one Langevin step at epsilon 200, in deviations of its noise.",
    )


def worth(outcome: Outcome) -> Rows:
    """What a claimed epsilon of 1 is worth."""
    rows = [
        [f"DPSGD-PNBM, a user with {count} ratings", f"up to {furthest_change(count, features_clamped=True):,.0f}"]
        for count in (20, 50, 200)
    ]
    rows += [
        [f"DPSGD-PNBM, batches of {rate:.0%}, 10 steps, a right bound", f"{10 * amplified(1 / (10 * rate), rate):.3g}"]
        for rate in (0.5, 0.1, 0.01)
    ]
    rows += [
        [f"DPPS, temperature {rho:g}, sampled exactly", f"{worth_at_temperature(1.0, rho, 'replaced'):,.0f}"]
        for rho in (0.001, 0.006, 0.09)
    ]
    return Rows(
        title="What epsilon 1 is worth",
        columns=("what", "epsilon"),
        rows=rows,
        text="Where 1 is claimed, one fault at a time, and item means and start taken for public. With the exact item "
        "means that are published no epsilon holds at all.",
    )


def leaks(outcome: Outcome) -> Rows:
    """What attacks show."""
    return Rows(
        title="Audits",
        columns=("what is attacked", "of", "claimed", "shown, at least"),
        rows=[
            [what, of, f"{CLAIMED:g}", f"{outcome.at(AUDIT, f'audit: {name}').mean:.2f}"]
            for name, (what, of) in LEAKS.items()
        ],
        text=f"The system is run {RUNS} times on each of two sets of made-up ratings that differ in the value of one "
        f"rating, and the best attack on one released array tells them apart; {CONFIDENCE:.0%} confidence. {RUNS} runs "
        "cannot show more than about 5. `tests/papers/test_neighbourhood_audits.py` has them, and `discreet audit "
        "paper:dpsgd-pnbm` audits all of a release at once.",
    )


def tables(outcome: Outcome) -> list[Rows]:
    """Those whose cases were run."""
    found = [worth(outcome)]
    if any(case.method in ("DPSGD", "DPPS", "neighbours") for case in outcome.numbers):
        found.insert(0, controls(outcome))
    if any(case.method == "changed rating" for case in outcome.numbers):
        found.append(changes(outcome))
    if AUDIT in outcome.numbers:
        found.append(leaks(outcome))
    return found


def shown(grid: Grid) -> list[Case]:
    """What is over epsilon, and over the neighbour size."""
    return [*descent(grid), *sampling(grid), *grid.cases("neighbours", "neighbours")]


PAPER = Paper(
    name="neighbourhood",
    title="Learned neighbourhoods",
    citation="Wang and Tang, arXiv 1701.02120",
    summary="Item similarities are learned by gradient descent with Laplace noise (DPSGD-PNBM), or are one sample of "
    "their posterior by Langevin dynamics (DPPS-PNBM); an item's mean and the user's neighbouring ratings predict. "
    "Rivals are matrix factorisation in the same two ways, and cosine and Pearson neighbours without privacy.",
    run_on=RUN_ON,
    grid=FULL,
    quick=QUICK,
    seeds=5,
    quick_seeds=1,
    repetition=Repetition,
    readings=READINGS,
    judged=("constant", "cosine", "all", "code"),
    counted=("constant", "cosine"),
    contents=read_contents(__package__),
    claims=claims,
    figures=figures,
    tables=tables,
    shown=shown,
    aside=CONTROLS,
    pictured=("figure-3", "figure-4", "figure-5", "figure-6"),
    metric="RMSE on the test ratings of a fold",
    notes=read_notes(__package__),
)
