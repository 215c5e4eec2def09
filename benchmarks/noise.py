"""Draws of noise per second of one core: Discreet's exact integers, beside OpenDP's samplers and numpy's.

    python benchmarks/noise.py                     # about a minute
    pip install opendp==0.16.0                     # for the comparison; not a dependency of Discreet

Seconds are of this thread's processor time, so that a busy machine does not change the result much; the best of several
runs counts. Populations draw on lattices of 2**28 steps and more to the noise's scale: there the target holds. OpenDP's
samplers are exact as well, from integers and the operating system's randomness. Numpy's are neither: doubles, whose
set of reachable values gives away what they hide, from a generator that is not secret; they are the speed limit of
those who do not care. The exit code is 1 if the target is missed.
"""

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np

from discreet.privacy.noise import draw_discrete_gaussian, draw_discrete_laplace, draw_rounded_gaussian
from discreet.privacy.noise_ball import draw_ball
from discreet.privacy.randomness import Randomness

TARGET = 8e6
FINE = 2.0**28.5


def speed(draw: Callable[[int], object], count: int, runs: int) -> float:
    """Draws per second of this thread."""
    draw(min(count, 1000))  # compile, build tables
    best = 0.0
    for _ in range(runs):
        begin = time.thread_time()
        draw(count)
        best = max(best, count / (time.thread_time() - begin))
    return best


def opendp_samplers() -> dict[str, Callable[[float], Callable[[int], object]]]:
    """OpenDP's samplers on vectors of whole numbers; empty where it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return {}
    dp.enable_features("contrib")
    integers = dp.vector_domain(dp.atom_domain(T=int))

    def sampler(make, metric):
        def of_scale(scale: float) -> Callable[[int], object]:
            mechanism = make(integers, metric, scale)
            return lambda count: mechanism([0] * count)

        return of_scale

    return {
        "laplace": sampler(dp.m.make_laplace, dp.l1_distance(T=int)),
        "gaussian": sampler(dp.m.make_gaussian, dp.l2_distance(T=int)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    secret, rng, opendp = Randomness(), np.random.default_rng(1), opendp_samplers()
    if not opendp:
        print("OpenDP is not installed: its columns stay empty (pip install opendp)\n")

    numpy_speed = {
        "laplace": speed(lambda count: rng.laplace(0.0, 3.0, count), options.draws, options.runs),
        "gaussian": speed(lambda count: rng.normal(0.0, 3.0, count), options.draws, options.runs),
    }
    rows = [
        (law, name, label, scale, draw)
        for law, name, draw in (
            ("laplace", "discrete Laplace", draw_discrete_laplace),
            ("gaussian", "discrete Gaussian", draw_discrete_gaussian),
            ("gaussian", "rounded Gaussian", draw_rounded_gaussian),
        )
        for label, scale in (("1", 1.0), ("100", 100.0), ("2**20", 2.0**20), ("2**28.5", FINE), ("2**36", 2.0**36))
        if name != "rounded Gaussian" or scale >= 2.0**26
    ]
    print(f"{'million draws a second':22}{'scale':>9}{'Discreet':>10}{'OpenDP':>9}{'ratio':>8}{'numpy':>8}{'ratio':>8}")
    opendp_speed: dict[tuple[str, float], float] = {}
    reached = []
    for law, name, label, scale, draw in rows:
        ours = speed(lambda count, d=draw, s=scale: d(s, count, secret), options.draws, options.runs)
        if law in opendp and (law, scale) not in opendp_speed:
            opendp_speed[law, scale] = speed(opendp[law](scale), 20_000, 2)
        theirs = ratio = "-"
        if (law, scale) in opendp_speed:
            theirs = f"{opendp_speed[law, scale] / 1e6:.3f}"
            ratio = f"{ours / opendp_speed[law, scale]:.0f}"
        print(
            f"{name:22}{label:>9}{ours / 1e6:>10.1f}{theirs:>9}{ratio:>8}{numpy_speed[law] / 1e6:>8.1f}"
            f"{ours / numpy_speed[law]:>8.2f}",
            flush=True,
        )
        if scale == FINE:
            reached.append((name, ours))

    others = [
        (
            "noise by length, 10**5 dims",
            lambda count: [draw_ball(FINE, 100_000, secret) for _ in range(count // 100_000)],
        ),
        ("64-bit words of ChaCha20", secret.words),
    ]
    for name, draw in others:
        print(f"{name:31}{speed(draw, options.draws // 2, options.runs) / 1e6:>10.1f}", flush=True)

    print(f"\nat scale 2**28.5, target {TARGET / 1e6:g} million a second:")
    for name, ours in reached:
        print(f"  {name:20}{ours / 1e6:6.1f}  {'reached' if ours >= TARGET else 'MISSED'}")
    sys.exit(any(ours < TARGET for _, ours in reached))


if __name__ == "__main__":
    main()
