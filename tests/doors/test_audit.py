"""Bugs that an audit did not find: each is planted, and found now."""

import importlib.util
from pathlib import Path

import pytest

import discreet as dc

_path = Path(__file__).resolve().parents[1] / "audit" / "planted.py"
_spec = importlib.util.spec_from_file_location("planted_bugs", _path)
planted = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(planted)

MISSED = {
    "weights wrong for ratings of 3, in the statistic": "one rating of 3 moves the counts by 2 in l1, beyond 1",
    "weights wrong for ratings of 3, in the population": "one rating of 3 moves the counts by 4, and 1 is allowed",
    "an exact count in the note": "the note changes with every rating",
    "an exact count in an array of strings": "the array changes with every rating",
    "an exact count in a spend's name": "the ledger's line changes with every rating",
    "an exact count in a column of the catalogue": "every title changes with every rating",
    "composition by max, Gaussian noise": "two sums together cost epsilon 1.465",
    "two Gaussian sums charged as halves of one": "two sums together cost epsilon 1.465",
    "a third of the items without noise": "7 of 20 counts are exact",
    "a split by row number, in the population": "one rating in front decides for every other whether it counts",
    "positional user names": "one user in front decides for every other whether they count",
}
RUNS = {"positional user names": 600}
BUGS = {bug.name: bug for bug in reversed(planted.BUGS)}  # of both units, the unit rating: that of users was found


@pytest.mark.parametrize("bug", [BUGS[name] for name in MISSED], ids=lambda bug: bug.name)
def test_an_audit_finds_what_it_missed(bug, door):
    audit = bug.audit(runs=RUNS.get(bug.name, 240), randomness=dc.Randomness(seed=5))
    assert audit.accuses, str(audit)
    said = [*audit.faults, *getattr(audit, "noise", ())] or [f"epsilon is at least {audit.epsilon_low:.3g}"]
    if audit.mu is not None and audit.mu.low > audit.mu_proven:
        said.append(f"mu is at least {audit.mu.low:.3g}, and {audit.mu_proven:.3g} by the ledger")
    door("no leak was found", MISSED[bug.name], f"the promise is broken: {said[0]}")
