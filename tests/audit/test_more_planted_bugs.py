"""Every bug in :mod:`planted` is found, and right mechanisms are left in peace.

Fewer runs than the command line makes are enough: of each bug the test asks no more than that it is found.
"""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.populations.population import exact_total

_spec = importlib.util.spec_from_file_location("planted_bugs", Path(__file__).with_name("planted.py"))
planted = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(planted)


@pytest.mark.parametrize("bug", planted.BUGS, ids=lambda bug: f"{bug.name} ({bug.unit})")
def test_a_planted_bug_is_found(bug):
    audit = bug.audit(runs=240, randomness=dc.Randomness(seed=5))
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


class CapsUsers(dc.TrustedServer):
    """Which ratings of a user are used is drawn anew in every fit, so others move an answer as well."""

    def __init__(self, ratings, ledger, **options):
        unit = dc.User(max_ratings=3)
        super().__init__(ratings, dc.Ledger(ledger.epsilon, ledger.delta, unit), **options)


class RefusesExtremes(dc.TrustedServer):
    def _noisy(self, contribution, ratings, calibrated):
        if np.abs(exact_total(contribution, ratings)).max() > 1e4:
            raise ValueError("no users have so much to say")
        return super()._noisy(contribution, ratings, calibrated)


class ClipsUsers(dc.TrustedServer):
    """Whatever a user says, it is clipped at the bound."""

    def _noisy(self, contribution, ratings, calibrated):
        most = contribution.bound("user", "l2").value
        total = np.zeros(contribution.shape)
        for part in () if ratings is None else ratings.parts():
            for user in range(part.n_users):
                own = exact_total(contribution, part.select_users(np.array([user])))
                total += own * min(1.0, most / max(float(np.linalg.norm(own)), 1e-12))
        return calibrated.add_noise(total, self._randomness)


class SmallWords(dc.populations.UntrustedServer):
    def __init__(self, ratings, ledger, **options):
        super().__init__(ratings, ledger, bits=32, minimum_group=2, most_users=1000, **options)


class Levels(dc.TrustedServer):
    def __init__(self, ratings, ledger, **options):
        wishes = dc.Wishes.of_users(
            dict.fromkeys(ratings.users.names[::2].tolist(), 0.5), levels={"half": 0.5, "all": 1.0}
        )
        super().__init__(ratings, ledger, wishes=wishes, **options)


OF_USERS = [
    *((dc.Popularity(), kind) for kind in (CapsUsers, RefusesExtremes, ClipsUsers)),
    *((planted.DESCENT, kind) for kind in (RefusesExtremes, ClipsUsers, SmallWords, Levels)),
]


@pytest.mark.parametrize(("model", "kind"), OF_USERS)
def test_right_populations_of_users_own_are_left_in_peace(model, kind):
    audit = dc.audit.audit_by_runs(
        model,
        planted.RATINGS,
        planted.USER,
        runs=80,
        confidence=0.9,
        randomness=dc.Randomness(seed=5),
        make_population=lambda ratings, ledger, noise: kind(ratings, ledger, randomness=noise),
    )
    assert audit.faults == () == audit.noise, str(audit)


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
