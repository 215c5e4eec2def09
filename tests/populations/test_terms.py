"""Terms say how much privacy, and refuse to be half said."""

import pytest

import discreet as dc
from discreet.errors import InputError

RATINGS = dc.synthetic(users=40, items=30, ratings=500, seed=1)


@pytest.mark.parametrize("said", [{"delta": 1e-6}, {"unit": "user"}, {"trust": "devices"}, {"noise_seed": 1}])
def test_how_without_how_much_is_refused(said):
    with pytest.raises(InputError, match=f"{next(iter(said))} says nothing without epsilon"):
        dc.Terms(**said)


@pytest.mark.parametrize("bad", [{"unit": "household"}, {"trust": "god"}, {"epsilon": -1.0}, {"delta": 1.0}])
def test_impossible_terms_are_refused(bad):
    with pytest.raises(InputError):
        dc.Terms(**({"epsilon": 1.0} | bad))


@pytest.mark.parametrize(
    ("terms", "kind"),
    [
        (dc.Terms(), dc.NoPrivacy),
        (dc.Terms(epsilon=1.0), dc.TrustedServer),
        (dc.Terms(epsilon=1.0, trust="devices"), dc.LocalDevices),
        (dc.Terms(epsilon=1.0, trust="two-servers"), dc.populations.UntrustedServer),
    ],
)
def test_choose_the_population(terms, kind):
    assert type(terms.population(RATINGS)) is kind


def test_defaults():
    assert dc.Terms(epsilon=1.0).ledger().delta == 0.0
    assert dc.Terms(epsilon=1.0, unit="user").ledger().delta == 1e-6
    assert dc.Terms(epsilon=1.0).ledger().unit == dc.Rating()


def test_every_fit_gets_a_ledger_of_its_own():
    terms = dc.Terms(epsilon=1.0)
    for _ in range(2):
        assert dc.Popularity().fit(terms.population(RATINGS)).guarantee.proven.epsilon == pytest.approx(1.0)
