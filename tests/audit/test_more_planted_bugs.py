"""Every bug in :mod:`planted` is found, and right mechanisms are left in peace.

Fewer runs than the command line makes are enough: of each bug the test asks no more than that it is found.
"""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

import discreet as dc

_spec = importlib.util.spec_from_file_location("planted_bugs", Path(__file__).with_name("planted.py"))
planted = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(planted)

RUNS = {"a cap that the population does not enforce": 2000, "positional user names": 600}


@pytest.mark.parametrize("bug", planted.BUGS, ids=lambda bug: f"{bug.name} ({bug.unit})")
def test_a_planted_bug_is_found(bug):
    audit = bug.audit(runs=RUNS.get(bug.name, 240), randomness=dc.Randomness(seed=5))
    assert audit.accuses, str(audit)
    # What reaches for the ratings fails in a replay; all but one bug must be found without it, too.
    others = tuple(fault for fault in audit.faults if "never went through the population" not in fault)
    assert replace(audit, faults=others).accuses != bug.only_by_replay, str(audit)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("weights wrong for ratings of 3, in the statistic", "a canary moves 'counts' by 2 in l1, and the noise is"),
        ("an exact count in a spend's name", "line 1 of the ledger tells whether the canary is there, in every run"),
        ("an exact count in a column of the catalogue", "the column 'titles' of the catalogue tells whether"),
        ("an exact count in an array of strings", "the array 'about' tells whether the canary is there"),
        ("a split by row number, in the statistic", "'counts' is not a sum over users"),
        ("a clip after the sum", "'clipped counts' is not a sum over users"),
        ("composition by max, Gaussian noise", "the 2 lines of the ledger add up to epsilon 1.465, and the limit is"),
        (
            "the noise stream restarted for each sum",
            "'how often each item was rated' and 'high ratings' have",
        ),
        ("noise seeded by the data", "the noise on 'how often each item was rated' comes again in other runs"),
        ("one noise for all cells", "the noise on 'how often each item was rated' comes again in other cells"),
        (
            "a third of the items without noise",
            "there is less noise on 'how often each item was rated' than",
        ),
    ],
)
def test_what_was_found_is_said_in_words(name, sentence):
    bug = next(bug for bug in planted.BUGS if bug.name == name)
    audit = bug.audit(runs=80, randomness=dc.Randomness(seed=6))
    assert any(fault.startswith(sentence) for fault in (*audit.faults, *audit.noise)), str(audit)
    assert audit.accuses and audit.to_json()["faults"] == list(audit.faults)


def test_a_cap_that_is_enforced_is_left_in_peace():
    """The canary's own total lies beyond the bound; what is used of it does not."""

    def capped(ratings, ledger, noise):
        unit = dc.User(max_ratings=2)
        return dc.TrustedServer(ratings, dc.Ledger(ledger.epsilon, ledger.delta, unit), randomness=noise)

    model = planted.Asks(planted.plain_counts)
    audit = dc.audit.audit_by_runs(
        model, planted.RATINGS, planted.USER, runs=400, make_population=capped, randomness=dc.Randomness(seed=5)
    )
    assert not audit.accuses, str(audit)


RIGHT = {
    "popularity": (dc.Popularity(), dc.Terms(epsilon=1.0)),
    "popularity, users": (dc.Popularity(), dc.Terms(epsilon=1.0, unit="user")),
    "bias": (dc.Bias(), dc.Terms(epsilon=1.0)),
    "bias, devices": (dc.Bias(), dc.Terms(epsilon=1.0, trust="devices")),
    "bias, users of devices": (dc.Bias(), dc.Terms(epsilon=1.0, unit="user", trust="devices")),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", RIGHT)
def test_right_mechanisms_are_left_in_peace(name, seed):
    """Twenty audits at 0.999: all together accuse a right mechanism with odds below 2%, and the noise is seeded."""
    model, terms = RIGHT[name]
    audit = dc.audit.audit_by_runs(
        model, planted.RATINGS, terms, runs=120, confidence=0.999, randomness=dc.Randomness(seed=seed)
    )
    assert not audit.accuses, str(audit)
