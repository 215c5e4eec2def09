"""Audits of mechanisms that are right, and of mechanisms with a planted bug: who is accused?

    python benchmarks/audits.py                  # 200 audits of right mechanisms (half an hour); 1 if one is accused
    python benchmarks/audits.py --planted        # every planted bug, at the effort of the command line
    python benchmarks/audits.py --audits 15 --runs 120   # each once

The planted bugs are those of ``tests/audit/planted.py``.
"""

import argparse
import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import discreet as dc

SMALL = dc.synthetic(users=60, items=16, ratings=500, seed=1)
RIGHT = {
    "popularity, rating": (dc.Popularity(), dc.Terms(epsilon=1.0)),
    "popularity, user": (dc.Popularity(), dc.Terms(epsilon=1.0, unit="user")),
    "popularity, rating, devices": (dc.Popularity(), dc.Terms(epsilon=1.0, trust="devices")),
    "popularity, user, devices": (dc.Popularity(), dc.Terms(epsilon=1.0, unit="user", trust="devices")),
    "bias, rating": (dc.Bias(), dc.Terms(epsilon=1.0)),
    "bias, user": (dc.Bias(), dc.Terms(epsilon=1.0, unit="user")),
    "bias, rating, devices": (dc.Bias(), dc.Terms(epsilon=1.0, trust="devices")),
    "bias, user, devices": (dc.Bias(), dc.Terms(epsilon=1.0, unit="user", trust="devices")),
    "own-taste, rating": (dc.OwnTaste(), dc.Terms(epsilon=1.0)),
    "own-taste, user": (dc.OwnTaste(), dc.Terms(epsilon=1.0, unit="user")),
    "covariance-knn, rating": (dc.CovarianceKNN(), dc.Terms(epsilon=5.0, delta=1e-6)),
    "almanac, rating": (dc.Almanac(), dc.Terms(epsilon=1.0, delta=1e-6)),
    "almanac, user": (dc.Almanac(), dc.Terms(epsilon=5.0, delta=1e-6, unit="user")),
}


def load_planted() -> Any:
    """What is planted in the tests."""
    path = Path(__file__).resolve().parents[1] / "tests" / "audit" / "planted.py"
    spec = importlib.util.spec_from_file_location("planted_bugs", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PLANTED = load_planted()
for rate, count in ((0.3, 6), (0.05, 20)):
    RIGHT[f"{count} steps, user, each in {rate:.0%}"] = (
        PLANTED.step_model.Descent(count=count, sampling_rate=rate),
        dc.Terms(epsilon=1.0, delta=1e-5, unit="user"),
    )


def audit_right_ones(audits: int, runs: int, confidence: float) -> int:
    """One audit for each seed, of one mechanism after the other; how many were accused."""
    names, rows = list(RIGHT), {name: [0, 0, 0.0] for name in RIGHT}
    for seed in range(audits):
        name = names[seed % len(names)]
        model, terms = RIGHT[name]
        began = time.perf_counter()
        audit = dc.audit.audit_by_runs(
            model, SMALL, terms, runs=runs, confidence=confidence, randomness=dc.Randomness(seed), name=name
        )
        row = rows[name]
        row[0], row[1], row[2] = row[0] + 1, row[1] + audit.accuses, row[2] + time.perf_counter() - began
        if audit.accuses:
            print(f"seed {seed}, {name}: {audit}", flush=True)
    print("| mechanism | audits | accused | seconds each |\n|---|---|---|---|")
    for name, (count, accused, seconds) in rows.items():
        print(f"| {name} | {count} | {accused} | {seconds / max(1, count):.1f} |")
    alarms = sum(row[1] for row in rows.values())
    print(f"| all | {audits} | {alarms} | |")
    return alarms


def audit_planted_ones(runs: int, confidence: float) -> int:
    """Every bug, and how it was found; how many were missed."""
    bugs = PLANTED.BUGS
    print("| bug | unit | found by | shown, of what is allowed |\n|---|---|---|---|")
    missed = 0
    for bug in bugs:
        audit = bug.audit(runs=runs, confidence=confidence, randomness=dc.Randomness(1))
        missed += not audit.accuses
        print(
            f"| {bug.name} | {bug.unit} | {'; '.join(found_by(audit)) or '**not found**'} | {shown(audit)} |",
            flush=True,
        )
    return missed


def found_by(audit: dc.audit.Audit) -> list[str]:
    """What speaks against the mechanism, the surest first."""
    found = []
    if any("moves '" in fault or 'moves "' in fault or "not a sum" in fault for fault in audit.faults):
        found.append("exact totals")
    if any("moves the answer" in fault or "not the sum over a sample" in fault for fault in audit.faults):
        found.append("probes")
    if any("tells whether" in fault for fault in audit.faults):
        found.append("the card")
    if any("ledger" in fault and "tells" not in fault for fault in audit.faults):
        found.append("the ledger")
    if any("never went" in fault for fault in audit.faults):
        found.append("replay")
    if audit.noise:
        again = any("have the same noise" in fault or "comes again" in fault for fault in audit.noise)
        samples = any("fresh coins" in fault for fault in audit.noise)
        found.append("repeated noise" if again else "samples" if samples else "too little noise")
    if refuted(audit):
        found.append(audit.attack)
    return found


def refuted(audit: dc.audit.Audit) -> bool:
    """Whether the statistics of the attack alone refute what is proven."""
    by_mu = audit.mu is not None and audit.mu_proven is not None and audit.mu.low > audit.mu_proven
    return by_mu or audit.epsilon_low > (audit.proven or audit.limit).epsilon


def shown(audit: dc.audit.Audit) -> str:
    """How much, beside what is proven."""
    text = f"epsilon ≥ {audit.epsilon_low:.2f} of {(audit.proven or audit.limit).epsilon:.3g}"
    if audit.mu is not None and audit.mu_proven is not None:
        text += f", mu ≥ {audit.mu.low:.2f} of {audit.mu_proven:.2f}"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--runs", type=int, default=None)
    parser.add_argument("--confidence", type=float, default=0.99)
    options = parser.parse_args()
    if options.planted:
        return int(audit_planted_ones(options.runs or 4000, options.confidence) > 0)
    return int(audit_right_ones(options.audits, options.runs or 200, options.confidence) > 0)


if __name__ == "__main__":
    sys.exit(main())
