"""What sampled Gaussian noise costs, by Discreet's ledger and by others: they must agree.

    python benchmarks/accounting.py
    pip install opacus==1.6.0 torch==2.13.0        # for the last column, in an environment of its own

Every row is Gaussian noise of a standard deviation ``sigma`` on sensitivity 1, with Poisson sampling at a rate, so many
times, at delta 1e-6. Discreet composes the distribution of the privacy loss with dp-accounting. Beside it are
that library's own accountants used directly, PLD (the same idea) and RDP (looser by design), and Opacus's PRV
accountant, which is independent code: it must agree to 2%. Seconds are of one run each. The exit code is 1 if
an accountant that should agree does not. Opacus's results are golden values in the tests.
"""

import logging
import sys
import time
import warnings
from collections.abc import Callable

from discreet.privacy.accounting import epsilon_of
from discreet.privacy.spend import Spend

DELTA = 1e-6
TOLERANCE = 0.02
GRID = [
    (sigma, rate, times)
    for sigma in (0.8, 1.0, 2.0, 5.0)
    for rate, times in ((0.001, 1000), (0.01, 100), (0.01, 1000), (0.05, 200), (0.2, 50))
]


def ours(sigma: float, rate: float, times: int) -> float:
    spend = Spend(
        what="step", mechanism="gaussian", norm="l2", sensitivity=1, scale=sigma, sampling_rate=rate, times=times
    )
    return epsilon_of([spend], DELTA)


def of_library(accountant: str) -> Callable[[float, float, int], float]:
    """dp-accounting's own accountants, as its documentation uses them."""
    import dp_accounting as dp

    def epsilon(sigma: float, rate: float, times: int) -> float:
        kinds = {"pld": dp.pld.PLDAccountant, "rdp": dp.rdp.RdpAccountant}
        step = dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(sigma))
        return float(kinds[accountant]().compose(step, times).get_epsilon(DELTA))

    return epsilon


def opacus_prv() -> Callable[[float, float, int], float] | None:
    """Opacus's PRV accountant, where it is installed."""
    try:
        from opacus.accountants import PRVAccountant
    except ImportError:
        return None

    def epsilon(sigma: float, rate: float, times: int) -> float:
        accountant = PRVAccountant()
        accountant.history = [(sigma, rate, times)]
        # It answers with an upper bound that lies this much above its estimate: 0.01 unless told otherwise.
        error = ours(sigma, rate, times) / 500
        return float(accountant.get_epsilon(DELTA, eps_error=error, delta_error=DELTA / 1000))

    return epsilon


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)  # RDP tells of every order that it leaves out
    columns = {"Discreet": ours, "PLD": of_library("pld"), "RDP": of_library("rdp")}
    prv = opacus_prv()
    if prv is None:
        print("Opacus is not installed: no independent check (pip install opacus torch)\n")
    else:
        columns["Opacus PRV"] = prv
    print(f"{'sigma':>6}{'rate':>7}{'times':>7}" + "".join(f"{name:>14}" for name in columns))
    seconds = dict.fromkeys(columns, 0.0)
    worst = dict.fromkeys(columns, 0.0)
    looser = True
    for row in GRID:
        found = {}
        for name, epsilon in columns.items():
            begin = time.perf_counter()
            found[name] = epsilon(*row)
            seconds[name] += time.perf_counter() - begin
            worst[name] = max(worst[name], abs(found[name] / found["Discreet"] - 1))
        looser &= found["RDP"] >= found["Discreet"] * (1 - TOLERANCE)
        print(f"{row[0]:6}{row[1]:7}{row[2]:7}" + "".join(f"{value:14.6f}" for value in found.values()), flush=True)
    print(f"{'seconds':>20}" + "".join(f"{value:14.1f}" for value in seconds.values()))
    print(f"{'furthest from ours':>20}" + "".join(f"{value:14.2%}" for value in worst.values()))
    agree = looser and all(worst[name] <= TOLERANCE for name in columns if name != "RDP")
    print("agreement to 2%, and RDP never below: " + ("yes" if agree else "NO"))
    sys.exit(not agree)


if __name__ == "__main__":
    main()
