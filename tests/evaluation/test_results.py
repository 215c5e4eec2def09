"""Intervals, and the three ways to read results."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InputError, UnknownNameError
from discreet.evaluation.results import Estimate, Results, Row

ONE = Row("bias", {"rmse": Estimate(0.94, 0.93, 0.95)}, 0.1, 0.2, 300.0)
PROMISE = {"guarantee": "epsilon 1 for every user", "epsilon": 1.0, "promise": "proven", "unit": "user"}
TWO = Row("ease", {"ndcg@10": Estimate(0.3, 0.2, 0.4)}, 1.5, 0.2, None, **PROMISE)


def test_student_interval_by_hand():
    estimate = Estimate.over_runs([1.0, 2.0, 3.0, 4.0, 5.0])
    half = 2.7764451 * math.sqrt(2.5 / 5)  # t quantile of 0.975 with 4 degrees of freedom
    assert estimate.mean == 3
    assert (estimate.low, estimate.high) == pytest.approx((3 - half, 3 + half))
    assert estimate.values == (1, 2, 3, 4, 5)


def test_one_run_has_no_interval():
    alone = Estimate.over_runs([0.7])
    assert alone == Estimate(0.7, None, None, (0.7,))
    assert (str(alone), alone.half, alone.ends) == ("0.7000", None, (0.7, 0.7))


def test_users_with_one_rating_each_give_the_textbook_interval():
    values = np.array([0.0, 1.0, 0.5, 0.25])
    estimate = Estimate.over_users(values, np.ones(4))
    half = 1.959964 * values.std(ddof=1) / 2
    assert (estimate.mean, estimate.high) == pytest.approx((values.mean(), values.mean() + half))
    assert estimate.low == max(0.0, values.mean() - half)


def test_a_user_alone_has_no_interval():
    assert Estimate.over_users(np.array([4.0]), np.array([2])) == Estimate(2, None, None, (2,))
    assert Estimate.over_users(np.array([8.0]), np.array([2]), root=True) == Estimate(2, None, None, (2,))


def test_root_is_taken_of_mean_and_ends():
    sums, weights = np.array([4.0, 9.0, 20.0]), np.array([4, 3, 5])
    square, root = Estimate.over_users(sums, weights), Estimate.over_users(sums, weights, root=True)
    assert [root.mean**2, root.low**2, root.high**2] == pytest.approx([square.mean, square.low, square.high])


def test_interval_over_users_covers_the_truth_about_95_times_in_100():
    rng = np.random.default_rng(1)
    covered, rounds = 0, 400
    for _ in range(rounds):
        weights = rng.integers(1, 30, 200)
        levels = rng.gamma(2.0, 0.5, 200)  # users differ in how predictable they are
        estimate = Estimate.over_users(levels * weights, weights)
        covered += estimate.low <= 1.0 <= estimate.high
    assert 0.91 <= covered / rounds <= 0.99


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30))
def test_mean_lies_in_its_interval(values):
    low, high = Estimate.over_runs(values).ends
    assert low - 1e-9 <= Estimate.over_runs(values).mean <= high + 1e-9


def test_reading_one_row():
    results = Results("tiny", "as given", (ONE,))
    assert results["rmse"] == 0.94
    assert results["bias"]["rmse"] == 0.94
    with pytest.raises(UnknownNameError, match="did you mean 'rmse'"):
        results["rmsee"]


def test_reading_several_rows():
    results = Results("tiny", "as given", (ONE, TWO))
    assert results["ease"]["ndcg@10"] == 0.3
    assert results.metric_names == ("rmse", "ndcg@10")
    with pytest.raises(InputError, match=r"the results have 2 models: write results\['ease'\]\['ndcg@10'\]"):
        results["ndcg@10"]
    with pytest.raises(UnknownNameError, match="did you mean 'ease'"):
        results["eas"]


def test_json_has_exactly_what_is_promised():
    document = json.loads(json.dumps(Results("tiny", "as given", (ONE, TWO)).to_json(), allow_nan=False))
    assert document == {
        "data": "tiny",
        "split": "as given",
        "rows": [
            {
                "model": "bias",
                "metrics": {"rmse": {"mean": 0.94, "low": 0.93, "high": 0.95}},
                "fit_seconds": 0.1,
                "predict_seconds": 0.2,
                "peak_memory_mb": 300.0,
                "epsilon": None,
                "promise": None,
                "unit": None,
                "guarantee": None,
                "chosen": None,
                "reason": None,
            },
            {
                "model": "ease",
                "metrics": {"ndcg@10": {"mean": 0.3, "low": 0.2, "high": 0.4}},
                "fit_seconds": 1.5,
                "predict_seconds": 0.2,
                "peak_memory_mb": None,
                "epsilon": 1.0,
                "promise": "proven",
                "unit": "user",
                "guarantee": "epsilon 1 for every user",
                "chosen": None,
                "reason": None,
            },
        ],
    }


def test_printing():
    lines = str(Results("tiny", "as given", (ONE, TWO), "95 % intervals over 2 folds")).splitlines()
    assert lines[0] == "tiny: as given"
    assert lines[1].split() == ["model", "rmse", "ndcg@10", "fit", "s", "predict", "s", "memory", "MB", "guarantee"]
    assert lines[3].split() == ["bias", "0.9400", "±0.0100", "-", "0.100", "0.200", "300", "none"]
    assert lines[4].endswith("epsilon 1 for every user")
    assert lines[-1] == "95 % intervals over 2 folds"


def test_a_report_shows_itself_as_it_prints():
    results = Results("tiny", "as given", (ONE, TWO))
    assert repr(results) == str(results)
    assert len(repr(Results("tiny", "as given", (ONE,))).splitlines()) == 4


def test_one_row_reads_like_a_dictionary_of_metrics():
    results = Results("tiny", "as given", (ONE,))
    assert list(results) == ["rmse"] and len(results) == 1
    assert dict(results) == {"rmse": 0.94}
    assert {**results} == {"rmse": 0.94}
    assert "rmse" in results and "bias" in results and "mae" not in results


def test_several_rows_read_like_a_dictionary_of_models():
    results = Results("tiny", "as given", (ONE, TWO))
    assert list(results) == ["bias", "ease"] and len(results) == 2
    assert dict(results) == {"bias": ONE, "ease": TWO}
    metrics = {"bias": {"rmse": 0.94}, "ease": {"ndcg@10": 0.3}}
    assert {name: dict(row) for name, row in dict(results).items()} == metrics
    assert "ease" in results and "rmse" not in results
    assert "rmse" in ONE and list(ONE) == ["rmse"] and len(ONE) == 1


def test_a_position_is_no_name():
    with pytest.raises(UnknownNameError, match="there is no model in the results '0'"):
        Results("tiny", "as given", (ONE, TWO))[0]
    with pytest.raises(UnknownNameError, match="there is no metric of bias '0'"):
        Results("tiny", "as given", (ONE,))[0]


def test_as_a_table():
    table = Results("tiny", "as given", (ONE, TWO)).to_frame()
    assert table.to_dicts() == [
        {
            "model": "bias",
            "epsilon": None,
            "rmse": 0.94,
            "rmse low": 0.93,
            "rmse high": 0.95,
            "ndcg@10": None,
            "ndcg@10 low": None,
            "ndcg@10 high": None,
            "fit_seconds": 0.1,
            "predict_seconds": 0.2,
            "peak_memory_mb": 300.0,
            "guarantee": None,
        },
        {
            "model": "ease",
            "epsilon": 1.0,
            "rmse": None,
            "rmse low": None,
            "rmse high": None,
            "ndcg@10": 0.3,
            "ndcg@10 low": 0.2,
            "ndcg@10 high": 0.4,
            "fit_seconds": 1.5,
            "predict_seconds": 0.2,
            "peak_memory_mb": None,
            "guarantee": "epsilon 1 for every user",
        },
    ]
