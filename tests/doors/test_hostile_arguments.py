"""Wrong arguments and command lines end in a result or in one clear sentence, and never in another library's error."""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import InputError

from ..fuzz import arguments, commands
from ..fuzz.outcome import wrong


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """Nothing of whoever runs this is read or written."""
    monkeypatch.chdir(tmp_path)
    for variable in ("HOME", "DISCREET_DATA", "DISCREET_CACHE", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setenv("DISCREET_BUDGET", str(tmp_path / "budgets.db"))


def test_every_wrong_argument_is_refused_in_a_sentence(tmp_path):
    assert arguments.unknown(tmp_path) == [], "these tables name arguments that are gone"
    bad, counts = wrong(arguments.cases(tmp_path))
    assert not bad, f"{len(bad)} of {counts.total()}:\n" + "\n".join(bad[:20])
    assert counts.total() > 20_000


def test_every_wrong_command_line_is_refused_in_a_sentence(tmp_path):
    bad, counts = wrong(commands.cases(tmp_path, every=12))
    assert not bad, f"{len(bad)} of {counts.total()}:\n" + "\n".join(bad[:20])
    assert counts.total() > 100


def test_arrays_that_no_memory_holds_are_refused_before_anything_is_fitted():
    with pytest.raises(InputError, match="factors must be at most 10,000"):
        dc.ALS(factors=1_000_000_000)


def test_a_cut_beyond_all_items_is_refused():
    ratings = dc.synthetic(users=12, items=15, ratings=90, seed=1)
    train, test = ratings.split(test=0.3, seed=1)
    with pytest.raises(InputError, match="below 1,000,000,000"):
        dc.evaluate(dc.Bias().fit(dc.NoPrivacy(train)), train, test, metrics=[f"ndcg@{10**23}"])


@pytest.mark.parametrize("index", [[-1], [2**40], [0.5], ["0"], [[0]], None])
def test_columns_that_point_outside_are_refused(index):
    """Kernels read where an index points: one outside would be read out of bounds."""
    catalogue, users = dc.Catalogue.of(["a", "b"], dc.Scale(1, 5)), dc.data.Labels.of(["u"])
    sound = {"user_index": np.zeros(1, int), "item_index": np.zeros(1, int), "values": np.ones(1)}
    for name in ("user_index", "item_index"):
        with pytest.raises(InputError, match=name):
            dc.Ratings.of_columns(catalogue, users, **{**sound, name: index})
